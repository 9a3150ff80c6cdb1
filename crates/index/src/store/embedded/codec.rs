//! Numbers and texts as bytes: little-endian, texts after their length.

use super::super::IndexStoreError;
use xxhash_rust::xxh3::xxh3_64;

pub(super) fn put_u32(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

pub(super) fn put_text(bytes: &mut Vec<u8>, text: &str) {
    put_u32(bytes, u32::try_from(text.len()).unwrap_or(u32::MAX));
    bytes.extend_from_slice(text.as_bytes());
}

/// The low half of a hash, for records.
pub(super) fn seal(bytes: &[u8]) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the low half of a hash is a hash")]
    let low = xxh3_64(bytes) as u32;
    low
}

/// The n-th number of an array; zero beyond its end, which a checked array rules out.
pub(super) fn u32_at(bytes: &[u8], n: usize) -> u32 {
    bytes.get(n * 4..n * 4 + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

pub(super) fn u64_at(bytes: &[u8], n: usize) -> u64 {
    let eight = bytes.get(n * 8..n * 8 + 8).and_then(|eight| eight.try_into().ok());
    eight.map_or(0, u64::from_le_bytes)
}

pub(super) fn u16_at(bytes: &[u8], n: usize) -> u16 {
    bytes.get(n * 2..n * 2 + 2).and_then(|two| two.try_into().ok()).map_or(0, u16::from_le_bytes)
}

/// Reads values in the order they were written.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodecReader<'a> {
    bytes: &'a [u8],
    file: &'a str,
}

impl<'a> CodecReader<'a> {
    /// `file` is named in errors.
    pub(super) fn new(bytes: &'a [u8], file: &'a str) -> Self {
        Self { bytes, file }
    }

    pub(super) fn take(&mut self, length: usize) -> Result<&'a [u8], IndexStoreError> {
        let Some((head, rest)) = self.bytes.split_at_checked(length) else {
            return Err(self.corrupt("it ends too early"));
        };
        self.bytes = rest;
        Ok(head)
    }

    pub(super) fn u8(&mut self) -> Result<u8, IndexStoreError> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    pub(super) fn u32(&mut self) -> Result<u32, IndexStoreError> {
        Ok(u32_at(self.take(4)?, 0))
    }

    pub(super) fn text(&mut self) -> Result<&'a str, IndexStoreError> {
        let length = self.u32()? as usize;
        std::str::from_utf8(self.take(length)?).map_err(|_| self.corrupt("a text is not UTF-8"))
    }

    pub(super) fn corrupt(&self, reason: &str) -> IndexStoreError {
        IndexStoreError::Corrupt { file: self.file.to_owned(), reason: reason.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_comes_back() {
        let mut bytes = Vec::new();
        put_u32(&mut bytes, 7);
        put_text(&mut bytes, "größer");
        bytes.push(9);
        let mut reader = CodecReader::new(&bytes, "f");
        assert_eq!(reader.u32().unwrap(), 7);
        assert_eq!(reader.text().unwrap(), "größer");
        assert_eq!(reader.u8().unwrap(), 9);
        let error = reader.u8().unwrap_err().to_string();
        assert_eq!(error, "the index is corrupt: f: it ends too early");
        let mut lying = CodecReader::new(&[255, 255, 255, 255, 1], "f");
        lying.text().unwrap_err();
    }
}
