//! Builds archives of fuzzed files, because checksums would stop the fuzzer from changing packed bytes.
//!
//! An input is lines of text: `=== name` starts a file, and its content follows.

use flate2::Crc;

/// Parses the files of an input.
pub fn parts(input: &[u8]) -> Vec<(&[u8], &[u8])> {
    let mut parts: Vec<(&[u8], &[u8])> = Vec::new();
    let mut rest = input;
    while let Some(at) = rest.windows(4).position(|window| window == b"=== ") {
        let named = &rest[at + 4..];
        let name_end = named.iter().position(|byte| *byte == b'\n').unwrap_or(named.len());
        let body = named.get(name_end + 1..).unwrap_or_default();
        let body_end = body.windows(5).position(|window| window == b"\n=== ").unwrap_or(body.len());
        parts.push((&named[..name_end.min(1000)], &body[..body_end]));
        rest = &body[body_end..];
    }
    parts
}

/// Builds an uncompressed zip archive.
pub fn zip(parts: &[(&[u8], &[u8])]) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for (name, body) in parts {
        let mut crc = Crc::new();
        crc.update(body);
        let length = (body.len() as u32).to_le_bytes();
        let mut fields = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        fields.extend(crc.sum().to_le_bytes());
        fields.extend(length.into_iter().chain(length));
        fields.extend((name.len() as u32).to_le_bytes());
        directory.extend(b"PK\x01\x02\x14\0".iter().chain(&fields).chain(&[0; 10]));
        directory.extend((zip.len() as u32).to_le_bytes());
        directory.extend_from_slice(name);
        zip.extend(b"PK\x03\x04".iter().chain(&fields).chain(*name).chain(*body));
    }
    let start = zip.len() as u32;
    zip.extend(&directory);
    zip.extend(b"PK\x05\x06\0\0\0\0");
    zip.extend([(parts.len() as u16).to_le_bytes(); 2].concat());
    zip.extend((directory.len() as u32).to_le_bytes());
    zip.extend(start.to_le_bytes());
    zip.extend([0, 0]);
    zip
}
