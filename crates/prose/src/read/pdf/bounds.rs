//! Measures how much the streams of a PDF unpack to, before the parser unpacks them without a limit.

use crate::format::Unreadable;
use flate2::bufread::ZlibDecoder;
use hayro_syntax::{
    Pdf,
    object::{ObjectIdentifier, Stream},
};
use memchr::memmem;
use std::io::{BufRead, BufReader, Read};

/// Maximum unpacked bytes of all streams except images.
pub(super) const MAX_TOTAL_UNPACKED_BYTES: u64 = 1 << 30;
/// Maximum unpacked bytes of one stream.
pub(super) const MAX_STREAM_BYTES: u64 = 256 << 20;
/// Maximum compression ratio of one deflate layer.
const MAX_DEFLATE_RATIO: u64 = 1032;
/// Maximum filter layers; more are decompression bombs.
const MAX_FILTER_LAYERS: usize = 4;
/// Maximum bytes before its data searched for a stream's dictionary.
const MAX_DICTIONARY_BYTES: usize = 1 << 10;

const TOO_LARGE: Unreadable = Unreadable::TooLarge { limit: MAX_TOTAL_UNPACKED_BYTES };

/// Rejects a file whose streams unpack to too much. Ignores encrypted streams.
pub(super) fn check(bytes: &[u8]) -> Result<(), Unreadable> {
    measure_unpacked(bytes, MAX_TOTAL_UNPACKED_BYTES).map(|_| ())
}

/// How many bytes the streams of a file unpack to, if they are not too many.
fn measure_unpacked(bytes: &[u8], most: u64) -> Result<u64, Unreadable> {
    let mut total = 0;
    for (at, data) in streams(bytes) {
        total += unpacked_size(data, dictionary(bytes, at), most - total)?;
    }
    Ok(total)
}

/// Rejects an encrypted file by the same measure, once its streams can be decrypted.
pub(super) fn check_encrypted(pdf: &Pdf, bytes: &[u8]) -> Result<(), Unreadable> {
    let mut total = 0;
    for (at, _) in streams(bytes) {
        let dictionary = dictionary(bytes, at);
        let Some(id) = identifier(dictionary) else { continue };
        let Some(stream) = pdf.xref().get::<Stream<'_>>(id) else { continue };
        total += unpacked_size(&stream.raw_data(), dictionary, MAX_TOTAL_UNPACKED_BYTES - total)?;
    }
    Ok(())
}

/// What follows each word `stream`, with where that is, up to the word that ends it.
fn streams(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    // Streams may lack their end, so the next one is looked for only once it is passed.
    let mut end = 0;
    memmem::find_iter(bytes, b"stream").filter_map(move |at| {
        if at >= 3 && bytes.get(at - 3..at) == Some(b"end") {
            return None;
        }
        let start = match bytes.get(at + 6..)? {
            [b'\r', b'\n', ..] => at + 8,
            [b'\n' | b'\r', ..] => at + 7,
            _ => return None,
        };
        if end < start {
            let next = memmem::find(bytes.get(start..)?, b"endstream");
            end = next.map_or(bytes.len(), |next| start + next);
        }
        Some((at, bytes.get(start..end)?))
    })
}

/// The text before the data of a stream, from its object's number on.
fn dictionary(bytes: &[u8], at: usize) -> &[u8] {
    let near = bytes.get(at.saturating_sub(MAX_DICTIONARY_BYTES)..at).unwrap_or_default();
    let start = memmem::rfind(near, b"endobj").map_or(0, |end| end + 6);
    near.get(start..).unwrap_or_default()
}

/// The number of the object, `12 0 obj`.
fn identifier(dictionary: &[u8]) -> Option<ObjectIdentifier> {
    let before = dictionary.get(..memmem::find(dictionary, b"obj")?)?;
    let text = String::from_utf8_lossy(before);
    let mut numbers = text.split_whitespace().rev();
    let generation = numbers.next()?.parse().ok()?;
    Some(ObjectIdentifier::new(numbers.next()?.parse().ok()?, generation))
}

/// Whether a stream is an image, which is never unpacked and has no limit.
fn is_picture(dictionary: &[u8]) -> bool {
    let has = |word: &[u8]| memmem::find(dictionary, word).is_some();
    (has(b"/Subtype/Image") || has(b"/Subtype /Image")) && !has(b"ObjStm") && !has(b"XRef")
}

/// The unpacked bytes of a stream, over all its layers.
fn unpacked_size(data: &[u8], dictionary: &[u8], left: u64) -> Result<u64, Unreadable> {
    let picture = is_picture(dictionary);
    if picture && (data.len() as u64) * MAX_DEFLATE_RATIO <= MAX_STREAM_BYTES {
        return Ok(0);
    }
    let limit = if picture { MAX_TOTAL_UNPACKED_BYTES } else { left.min(MAX_STREAM_BYTES) };
    let plain;
    let data = match letters(data, dictionary) {
        Some(bytes) => {
            plain = bytes;
            &plain
        }
        None => data,
    };
    if memmem::find(dictionary, b"LZW").is_some() {
        return lzw(data, limit).ok_or(TOO_LARGE);
    }
    let mut total = 0;
    for layers in 0..MAX_FILTER_LAYERS {
        let mut layer: Box<dyn BufRead + '_> = Box::new(data);
        for _ in 0..layers {
            layer = Box::new(BufReader::new(ZlibDecoder::new(layer)));
        }
        if !layer.fill_buf().is_ok_and(is_packed) {
            break;
        }
        let room = limit - total;
        let mut stream = ZlibDecoder::new(layer).take(room + 1);
        let mut buffer = [0; 1 << 14];
        let mut count = 0;
        // What is damaged gives what comes before the damage.
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            count += read as u64;
        }
        if count > room {
            return Err(TOO_LARGE);
        }
        total += count;
    }
    Ok(if picture { 0 } else { total })
}

/// Decodes data in an ASCII encoding.
fn letters(data: &[u8], dictionary: &[u8]) -> Option<Vec<u8>> {
    let has = |word: &[u8]| memmem::find(dictionary, word).is_some();
    if has(b"ASCIIHex") {
        let digits = data.iter().filter_map(|byte| char::from(*byte).to_digit(16));
        let digits: Vec<u8> = digits.filter_map(|digit| digit.try_into().ok()).collect();
        let (pairs, _) = digits.as_chunks::<2>();
        return Some(pairs.iter().map(|[high, low]| high << 4 | low).collect());
    }
    if !has(b"ASCII85") {
        return None;
    }
    let (mut bytes, mut group) = (Vec::with_capacity(data.len()), Vec::new());
    for byte in data {
        match byte {
            b'~' => break,
            b'z' if group.is_empty() => bytes.extend([0; 4]),
            b'!'..=b'u' => group.push(u32::from(byte - b'!')),
            _ => {}
        }
        if group.len() == 5 {
            let value = group
                .drain(..)
                .fold(0_u32, |value, digit| value.wrapping_mul(85).wrapping_add(digit));
            bytes.extend(value.to_be_bytes());
        }
    }
    Some(bytes)
}

/// The unpacked bytes of an LZW stream; `None` above the limit.
fn lzw(data: &[u8], limit: u64) -> Option<u64> {
    let (mut bits, mut held) = (0_u32, 0_u32);
    let (mut total, mut before) = (0_u64, 0_u64);
    let mut lengths: Vec<u64> = Vec::new();
    for byte in data {
        (bits, held) = (bits << 8 | u32::from(*byte), held + 8);
        let width = match lengths.len() {
            0..=253 => 9,
            254..=765 => 10,
            766..=1789 => 11,
            _ => 12,
        };
        if held < width {
            continue;
        }
        held -= width;
        let code = bits >> held;
        bits &= (1 << held) - 1;
        let length = match code {
            0..=255 => 1,
            256 => {
                lengths.clear();
                before = 0;
                continue;
            }
            257 => break,
            code => {
                let known = usize::try_from(code - 258).ok().and_then(|at| lengths.get(at));
                known.copied().unwrap_or(before + 1)
            }
        };
        if before > 0 && lengths.len() < 4096 - 258 {
            lengths.push(before + 1);
        }
        before = length;
        total += length;
        if total > limit {
            return None;
        }
    }
    Some(total)
}

/// Whether data starts like what is packed.
fn is_packed(data: &[u8]) -> bool {
    match data {
        [first, second, ..] => {
            first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::ZlibEncoder};
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn file(dictionary: &str, data: &[u8]) -> Vec<u8> {
        let mut file = format!("%PDF-1.7\n1 0 obj\n<<{dictionary}>>\nstream\r\n").into_bytes();
        file.extend(data);
        file.extend(b"\nendstream\nendobj\n");
        file
    }

    fn hex(bytes: &[u8]) -> Vec<u8> {
        bytes.iter().flat_map(|byte| format!("{byte:02X}").into_bytes()).collect()
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused_however_it_is_packed() {
        let zeros = vec![0; 300_000];
        let once = packed(&zeros);
        let twice = packed(&once);
        let flate = "/Filter/FlateDecode";
        let cases = [
            ("plain", file("", &zeros), Some(0)),
            ("once", file(flate, &once), Some(300_000)),
            ("twice", file(flate, &twice), Some(300_000 + once.len() as u64)),
            (
                "in letters",
                file("/Filter[/ASCIIHexDecode/FlateDecode]", &hex(&once)),
                Some(300_000),
            ),
            ("a picture", file("/Subtype/Image/Filter/FlateDecode", &once), Some(0)),
            ("no picture", file("/Subtype/Image/Type/ObjStm", &once), Some(300_000)),
            ("cut off", file(flate, &once[..20]), None),
            ("empty", file(flate, b""), Some(0)),
        ];
        for (name, file, want) in cases {
            let got = measure_unpacked(&file, MAX_TOTAL_UNPACKED_BYTES);
            if let Some(want) = want {
                assert_eq!(got, Ok(want), "{name}");
            }
            let small = measure_unpacked(&file, 200_000);
            let over = want.is_some_and(|size| size > 200_000);
            assert_eq!(small == Err(TOO_LARGE), over, "{name}: {small:?}");
        }
    }

    #[test]
    fn the_old_packing_is_counted_without_unpacking() {
        // Clear, A, then twice the string that is just being made, then the end: 9 bits each.
        let codes = [256_u32, 65, 258, 259, 257];
        let bits = codes.map(|code| format!("{code:09b}")).concat();
        let bytes: Vec<u8> = bits
            .as_bytes()
            .chunks(8)
            .map(|bits| {
                u8::from_str_radix(&format!("{:0<8}", String::from_utf8_lossy(bits)), 2).unwrap()
            })
            .collect();
        assert_eq!(lzw(&bytes, 100), Some(6));
        assert_eq!(lzw(&bytes, 5), None);
        assert_eq!(lzw(&[], 5), Some(0));
    }

    #[test]
    fn streams_without_an_end_take_no_time() {
        let bytes = b"stream\n".repeat(200_000);
        assert_eq!(measure_unpacked(&bytes, MAX_TOTAL_UNPACKED_BYTES), Ok(0));
        assert_eq!(streams(&bytes).count(), 200_000);
    }

    #[test]
    fn numbers_of_objects_are_read() {
        let bytes = b"endobj\n12 0 obj\n<</Length 3>>\nstream\nabc\nendstream";
        let (at, data) = streams(bytes).next().unwrap();
        assert_eq!(
            (data, identifier(dictionary(bytes, at))),
            (&b"abc\n"[..], Some(ObjectIdentifier::new(12, 0)))
        );
    }
}
