//! The hash chain: sealing a line, and parsing a sealed line.

use hmac::{Hmac, KeyInit, Mac};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::{fmt, io::Write, str::FromStr};

/// A SHA-256, or an HMAC with it.
pub(crate) type HashBytes = [u8; 32];

const HASH_DIGITS: usize = 64;
const HASH_MEMBER: &[u8] = b",\"hash\":\"";
const LINE_END: &[u8] = b"\"}";

/// A line's position in the chain. Its text form is `seq:hash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// The line's number, from 1.
    pub seq: u64,
    /// The line's hash.
    pub hash: [u8; 32],
}

impl ChainHead {
    /// The predecessor of the very first line.
    pub(crate) const NONE: Self = Self { seq: 0, hash: [0; 32] };
}

impl fmt::Display for ChainHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.seq)?;
        self.hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for ChainHead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once(':').and_then(|(seq, hash)| {
            Some(Self { seq: seq.parse().ok()?, hash: unhex(hash.as_bytes())? })
        });
        parsed.ok_or_else(|| {
            "expected SEQ:HASH, a number and 64 hexadecimal digits, as `audit verify` prints them"
                .to_owned()
        })
    }
}

impl Serialize for ChainHead {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Computes hashes, with a key or without.
#[derive(Clone)]
pub(crate) struct HashChain(Option<Hmac<Sha256>>);

impl fmt::Debug for HashChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HashChain").field(&if self.0.is_some() { "keyed" } else { "plain" }).finish()
    }
}

impl HashChain {
    /// Accepts a key of any length; an empty key counts as no key.
    pub(crate) fn new(key: Option<&[u8]>) -> Self {
        let key = key.filter(|key| !key.is_empty());
        Self(key.and_then(|key| Hmac::new_from_slice(key).ok()))
    }

    pub(crate) fn hash(&self, body: &[u8]) -> HashBytes {
        match &self.0 {
            None => Sha256::digest(body).into(),
            Some(keyed) => keyed.clone().chain_update(body).finalize().into_bytes().into(),
        }
    }

    /// Appends the line that follows `head` to `out`, and returns the new line's position.
    pub(crate) fn seal(&self, head: ChainHead, members: &[u8], out: &mut Vec<u8>) -> ChainHead {
        let start = out.len();
        let seq = head.seq.saturating_add(1);
        // Writing to a vector can't fail.
        write!(out, "{{\"seq\":{seq},\"prev\":\"").unwrap_or_default();
        hex(&head.hash, out);
        out.push(b'"');
        out.extend_from_slice(members);
        let hash = self.hash(out.get(start..).unwrap_or_default());
        out.extend_from_slice(HASH_MEMBER);
        hex(&hash, out);
        out.extend_from_slice(LINE_END);
        out.push(b'\n');
        ChainHead { seq, hash }
    }

    /// Whether the hash matches the line.
    pub(crate) fn matches_hash(&self, line: &SealedLine<'_>) -> bool {
        self.hash(line.body) == line.hash
    }
}

/// SHA-256 of bytes that do not form a line.
pub(crate) fn sha256(bytes: &[u8]) -> HashBytes {
    Sha256::digest(bytes).into()
}

/// A line in the chain's format. Its hash has not been checked yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SealedLine<'a> {
    pub(crate) seq: u64,
    pub(crate) prev: HashBytes,
    pub(crate) hash: HashBytes,
    /// The bytes that the hash is over.
    pub(crate) body: &'a [u8],
    /// The body after `prev`: the line's own content.
    pub(crate) members: &'a [u8],
}

impl<'a> SealedLine<'a> {
    /// Reads a line without its newline.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let (seq, rest) = number(line.strip_prefix(b"{\"seq\":")?)?;
        let rest = rest.strip_prefix(b",\"prev\":\"")?;
        let (prev, rest) = rest.split_at_checked(HASH_DIGITS)?;
        let rest = rest.strip_prefix(b"\"")?;
        let (members, end) = rest.split_at_checked(
            rest.len().checked_sub(HASH_MEMBER.len() + HASH_DIGITS + LINE_END.len())?,
        )?;
        let hash = end.strip_prefix(HASH_MEMBER)?.strip_suffix(LINE_END)?;
        let body = line.get(..line.len().checked_sub(end.len())?)?;
        Some(Self { seq, prev: unhex(prev)?, hash: unhex(hash)?, body, members })
    }

    pub(crate) fn head(&self) -> ChainHead {
        ChainHead { seq: self.seq, hash: self.hash }
    }
}

/// The number of a line of which only the beginning is present.
pub(crate) fn seq_of(beginning: &[u8]) -> Option<u64> {
    let (seq, rest) = number(beginning.strip_prefix(b"{\"seq\":")?)?;
    rest.starts_with(b",").then_some(seq)
}

fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit())?;
    let (digits, rest) = text.split_at_checked(end)?;
    Some((str::from_utf8(digits).ok()?.parse().ok()?, rest))
}

/// Writes two lower-case digits per byte.
pub(crate) fn hex(hash: &HashBytes, out: &mut Vec<u8>) {
    let digit = |value: u8| if value < 10 { b'0' + value } else { b'a' + value - 10 };
    out.extend(hash.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
}

/// Parses lower-case digits only, so that a hash has one spelling.
pub(crate) fn unhex(text: &[u8]) -> Option<HashBytes> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    let mut hash = [0; 32];
    if pairs.len() != hash.len() {
        return None;
    }
    for (byte, [high, low]) in hash.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(chain: &HashChain, head: ChainHead) -> (Vec<u8>, ChainHead) {
        let mut out = b"before\n".to_vec();
        let next = chain.seal(head, b",\"time\":\"t\",\"bytes\":5", &mut out);
        (out.split_off(7), next)
    }

    #[test]
    fn the_shape_is_the_documented_one() {
        let (line, head) = sealed(&HashChain::new(None), ChainHead::NONE);
        let zeros = "0".repeat(64);
        let body = format!("{{\"seq\":1,\"prev\":\"{zeros}\",\"time\":\"t\",\"bytes\":5");
        let text = head.to_string();
        let (_, hash) = text.split_once(':').unwrap();
        assert_eq!(String::from_utf8(line).unwrap(), format!("{body},\"hash\":\"{hash}\"}}\n"));
        // Computed with another implementation of SHA-256.
        assert_eq!(hash, "008d567f144f43c4bd13991159571fb36c41daa05ded157cfa3f8cb9e237a1cb");
        let (_, keyed) = sealed(&HashChain::new(Some(b"key")), ChainHead::NONE);
        assert_eq!(
            keyed.to_string(),
            "1:b1a95943733d635f7479398fdaaeca380161837fbf31182d879df39cf28118bb"
        );
        assert_eq!(
            sealed(&HashChain::new(Some(b"")), ChainHead::NONE).1,
            head,
            "an empty key counts as no key"
        );
    }

    #[test]
    fn a_sealed_line_reads_back() {
        let chain = HashChain::new(Some(b"key"));
        let (_, first) = sealed(&chain, ChainHead::NONE);
        let (line, second) = sealed(&chain, first);
        let read = SealedLine::parse(line.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!((read.head(), read.prev), (second, first.hash));
        assert_eq!(read.members, b",\"time\":\"t\",\"bytes\":5");
        assert!(chain.matches_hash(&read) && !HashChain::new(None).matches_hash(&read));
        assert_eq!(seq_of(&line[..20]), Some(2));
    }

    #[test]
    fn text_in_another_format_is_not_a_line() {
        let (line, _) = sealed(&HashChain::new(None), ChainHead::NONE);
        let text = String::from_utf8(line).unwrap();
        let text = text.trim_end();
        for bad in [
            String::new(),
            "{}".into(),
            "{\"seq\":".into(),
            text.replace("{\"seq\":1", "{ \"seq\":1"),
            text.replace("{\"seq\":1", "{\"seq\":99999999999999999999"),
            text.replace("{\"seq\":1", "{\"seq\":"),
            text.replace("\"hash\"", "\"Hash\""),
            text.to_uppercase(),
            format!("{text} "),
            text.strip_suffix('}').unwrap().into(),
            text.chars().take(90).collect(),
        ] {
            assert_eq!(SealedLine::parse(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(seq_of(b"{\"seq\":12"), None, "the number may continue");
    }

    #[test]
    fn a_head_round_trips() {
        let head = ChainHead { seq: 12, hash: sha256(b"x") };
        assert_eq!(head.to_string().parse(), Ok(head));
        for bad in ["", "12", ":", "x:00", "12:00", "1:2:3"] {
            assert!(bad.parse::<ChainHead>().unwrap_err().contains("SEQ:HASH"), "{bad}");
        }
    }
}
