//! Reads a bounded number of bytes from possibly compressed input.

use flate2::read::MultiGzDecoder;
use std::{
    io::{self, Read},
    time::Instant,
};

/// Bytes per read; the deadline is checked in between.
const READ_STEP_BYTES: usize = 16 << 10;

/// Result of reading.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyRead {
    /// Everything.
    Whole(Vec<u8>),
    /// The first bytes; there are more.
    Cut(Vec<u8>),
    /// The deadline passed.
    Late,
}

/// Reads up to `most` bytes, before and after decompression.
pub(crate) fn read_bounded(
    reader: impl Read,
    packed: bool,
    most: u64,
    deadline: Option<Instant>,
) -> io::Result<BodyRead> {
    let mut raw = reader.take(most.saturating_add(1));
    if !packed {
        return read_up_to(&mut raw, most, deadline);
    }
    let mut unpacked = MultiGzDecoder::new(&mut raw);
    match read_up_to(&mut unpacked, most, deadline) {
        // Truncated at the limit, not corrupt.
        Err(_) if raw.limit() == 0 => Ok(BodyRead::Cut(Vec::new())),
        taken => taken,
    }
}

fn read_up_to(
    reader: &mut impl Read,
    most: u64,
    deadline: Option<Instant>,
) -> io::Result<BodyRead> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut bytes = Vec::new();
    let mut step = vec![0; READ_STEP_BYTES];
    loop {
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(BodyRead::Late);
        }
        let count = match reader.read(&mut step) {
            Ok(0) => return Ok(BodyRead::Whole(bytes)),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        bytes.extend_from_slice(step.get(..count).unwrap_or_default());
        if bytes.len() > most {
            bytes.truncate(most);
            return Ok(BodyRead::Cut(bytes));
        }
    }
}

/// Whether the bytes start with the gzip magic number.
pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

#[cfg(test)]
pub(crate) fn pack(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_read_is_bounded() {
        let whole = |bytes: &[u8]| Some(BodyRead::Whole(bytes.to_vec()));
        let cut = |bytes: &[u8]| Some(BodyRead::Cut(bytes.to_vec()));
        let empty_members = pack(b"").repeat(100);
        for (name, bytes, packed, want) in [
            ("empty", Vec::new(), false, whole(b"")),
            ("fits", b"12345678".to_vec(), false, whole(b"12345678")),
            ("one too many", b"123456789".to_vec(), false, cut(b"12345678")),
            ("members that unpack to nothing", empty_members, true, cut(b"")),
            ("no gzip", b"abc".to_vec(), true, None),
        ] {
            assert_eq!(read_bounded(bytes.as_slice(), packed, 8, None).ok(), want, "{name}");
        }
        let bomb = pack(&vec![b'a'; 1 << 20]);
        assert!(bomb.len() < 2_000);
        assert_eq!(
            read_bounded(&*bomb, true, 2_000, None).unwrap(),
            BodyRead::Cut(vec![b'a'; 2_000])
        );
        assert_eq!(
            read_bounded(&*bomb, true, 1 << 20, None).unwrap(),
            BodyRead::Whole(vec![b'a'; 1 << 20])
        );
        let torn = bomb.get(..bomb.len() / 2).unwrap();
        read_bounded(torn, true, 2 << 20, None).unwrap_err();
    }

    #[test]
    fn a_reader_without_an_end_ends_at_the_deadline() {
        struct DripReader;
        impl Read for DripReader {
            fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
                std::thread::sleep(Duration::from_millis(1));
                bytes[0] = b'a';
                Ok(1)
            }
        }
        let deadline = Instant::now() + Duration::from_millis(30);
        assert_eq!(
            read_bounded(DripReader, false, u64::MAX, Some(deadline)).unwrap(),
            BodyRead::Late
        );
    }
}
