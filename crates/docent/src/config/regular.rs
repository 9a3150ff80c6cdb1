//! Reads the files that a configuration is made of, or names. A pipe, a socket or a device is refused before it is opened,
//! because opening one may block docent for ever.

use docent_suites::files::Kind;
use std::{
    fs::{self, Metadata, OpenOptions},
    io::{self, Read as _},
    path::Path,
};

/// Files in which programs list MCP servers are not longer.
pub(crate) const MAX_REGISTRY_BYTES: u64 = 16 << 20;

/// `O_NONBLOCK`.
#[cfg(unix)]
const NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();

/// The bytes of a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    check(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    // A pipe may take the file's place at this moment.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, NONBLOCK);
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    check_length(bytes.len(), limit)?;
    Ok(bytes)
}

/// The text of a regular file of at most `limit` bytes.
pub(crate) fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8");
    String::from_utf8(read(path, limit)?).map_err(not_text)
}

/// Refuses what is longer than the limit.
pub(super) fn check_length(length: usize, limit: u64) -> io::Result<()> {
    if length as u64 > limit {
        let reason = format!("it is longer than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(())
}

fn check(metadata: &Metadata) -> io::Result<()> {
    match Kind::of_open(metadata) {
        Kind::File => Ok(()),
        found => {
            let reason = format!("it is not a regular file ({found}): put one in its place");
            Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
        }
    }
}
