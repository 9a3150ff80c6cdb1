//! Encodes a unit as bytes: terms first, because ranking reads them of many units, then texts.

use super::{
    super::IndexStoreError,
    codec::{CodecReader, put_text, put_u32, seal, u16_at, u32_at},
    file::corrupt,
};
use crate::{
    analysis::{TermCounts, UnitTerms},
    unit::{IndexUnit, LineSpan},
};

/// Maximum stored size of a body, so that a generated file does not fill the disk.
const MAX_BODY_BYTES: usize = 1 << 16;
/// The seal, the number of terms, and the lengths of the fields.
const RECORD_HEADER_BYTES: usize = 4 + 4 + 10;

/// Encodes a unit and its terms.
pub(super) fn encode(unit: &IndexUnit, terms: &UnitTerms) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64 + terms.counts.len() * 9 + unit.body.len());
    put_u32(&mut bytes, 0);
    put_u32(&mut bytes, u32::try_from(terms.counts.len()).unwrap_or(u32::MAX));
    terms.lengths.iter().for_each(|length| bytes.extend_from_slice(&length.to_le_bytes()));
    terms.counts.iter().for_each(|(key, _)| put_u32(&mut bytes, *key));
    terms.counts.iter().for_each(|(_, counts)| bytes.extend_from_slice(counts));
    let body = unit.body.get(..unit.body.floor_char_boundary(MAX_BODY_BYTES)).unwrap_or_default();
    let texts = [&unit.name, &unit.kind, &unit.signature, &unit.id, &unit.language, &unit.doc];
    for text in texts.map(String::as_str).into_iter().chain([body, &unit.extra]) {
        put_text(&mut bytes, text);
    }
    put_u32(&mut bytes, unit.span.first);
    put_u32(&mut bytes, unit.span.last);
    let hash = seal(bytes.get(4..).unwrap_or_default());
    bytes.splice(..4, hash.to_le_bytes());
    bytes
}

/// A verified record.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnitRecord<'a> {
    lengths: &'a [u8],
    keys: &'a [u8],
    counts: &'a [u8],
    texts: CodecReader<'a>,
}

impl<'a> UnitRecord<'a> {
    pub(super) fn open(bytes: &'a [u8], file: &'a str) -> Result<Self, IndexStoreError> {
        let (Some(head), Some(sealed)) = (bytes.get(..RECORD_HEADER_BYTES), bytes.get(4..)) else {
            return Err(corrupt(file, "a record ends too early"));
        };
        if seal(sealed) != u32_at(head, 0) {
            return Err(corrupt(file, "the checksum of a record is wrong"));
        }
        let count = u32_at(head, 1) as usize;
        let mut rest = CodecReader::new(bytes.get(RECORD_HEADER_BYTES..).unwrap_or_default(), file);
        let keys = rest.take(count * 4)?;
        let counts = rest.take(count * 5)?;
        Ok(Self { lengths: head.get(8..).unwrap_or_default(), keys, counts, texts: rest })
    }

    /// Terms in each field.
    pub(super) fn lengths(&self) -> [u16; 5] {
        std::array::from_fn(|n| u16_at(self.lengths, n))
    }

    /// Occurrences of a term in each field.
    pub(super) fn counts(&self, key: u32) -> TermCounts {
        let (mut low, mut high) = (0, self.keys.len() / 4);
        while low < high {
            let middle = usize::midpoint(low, high);
            if u32_at(self.keys, middle) < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low * 4 >= self.keys.len() || u32_at(self.keys, low) != key {
            return [0; 5];
        }
        let five = self.counts.get(low * 5..low * 5 + 5).and_then(|five| five.try_into().ok());
        five.unwrap_or_default()
    }

    /// Name, kind and signature, as needed for ranking.
    pub(super) fn title(&self) -> Result<(&'a str, &'a str, &'a str), IndexStoreError> {
        let mut texts = self.texts;
        Ok((texts.text()?, texts.text()?, texts.text()?))
    }

    pub(super) fn unit(&self) -> Result<IndexUnit, IndexStoreError> {
        let mut texts = self.texts;
        let mut next = || texts.text().map(str::to_owned);
        let (name, kind, signature) = (next()?, next()?, next()?);
        let (id, language, doc, body, extra) = (next()?, next()?, next()?, next()?, next()?);
        let span = LineSpan { first: texts.u32()?, last: texts.u32()? };
        Ok(IndexUnit { id, kind, language, name, signature, doc, body, span, extra })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analysis::key, unit::Genre};

    #[test]
    fn a_record_gives_back_terms_and_texts() {
        let unit = IndexUnit {
            id: "f".into(),
            kind: "function".into(),
            language: "rust".into(),
            name: "copy_file".into(),
            signature: "fn copy_file()".into(),
            doc: "Copies.".into(),
            body: "é".repeat(MAX_BODY_BYTES),
            span: LineSpan { first: 3, last: 9 },
            extra: "{}".into(),
        };
        let terms = UnitTerms::of(&unit, "a/b.rs", Genre::Code, 100, &mut String::new());
        let mut bytes = encode(&unit, &terms);
        let record = UnitRecord::open(&bytes, "f").unwrap();
        assert_eq!(record.lengths(), terms.lengths);
        for (key, counts) in &terms.counts {
            assert_eq!(record.counts(*key), *counts);
        }
        assert_eq!(record.counts(key("nowhere")), [0; 5]);
        assert_eq!(record.title().unwrap(), ("copy_file", "function", "fn copy_file()"));
        let back = record.unit().unwrap();
        assert_eq!(back.body.len(), MAX_BODY_BYTES);
        assert_eq!(
            IndexUnit { body: String::new(), ..back },
            IndexUnit { body: String::new(), ..unit }
        );
        for at in [0, 5, bytes.len() / 2, bytes.len() - 1] {
            bytes[at] ^= 1;
            UnitRecord::open(&bytes, "f").unwrap_err();
            bytes[at] ^= 1;
        }
        UnitRecord::open(&bytes[..10], "f").unwrap_err();
    }
}
