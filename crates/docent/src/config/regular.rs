//! Opens configuration files and files named by a configuration or the command line. A pipe, a socket or a device is
//! rejected before it is opened, because opening one may block forever.

use docent_suites::files::PathKind;
use rustix::fs::OFlags;
use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Maximum size of files that list MCP servers.
pub(crate) const MAX_REGISTRY_BYTES: u64 = 16 << 20;

/// `O_NONBLOCK`.
const NONBLOCK: i32 = OFlags::NONBLOCK.bits().cast_signed();

/// Special files that never block on open: docent's own streams, and the null device.
const OPEN_FILES: [&str; 4] = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/null"];

/// Folders of docent's open files, such as the pipe of `<(...)` in a shell.
const OPEN_FOLDERS: [&str; 2] = ["/dev/fd", "/proc/self/fd"];

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_bounded(open(path, OpenOptions::new().read(true))?, limit)
}

fn read_bounded(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    check_length(bytes.len(), limit)?;
    Ok(bytes)
}

/// Reads a regular text file of at most `limit` bytes.
pub(crate) fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    to_text(read(path, limit)?)
}

/// Reads up to `limit` bytes of text from a path on the command line, as [`open_argument`] opens it.
pub(crate) fn read_argument(path: &Path, limit: u64) -> io::Result<String> {
    to_text(read_bounded(open_argument(path)?, limit)?)
}

fn to_text(bytes: Vec<u8>) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "not UTF-8 text");
    String::from_utf8(bytes).map_err(not_text)
}

/// Opens a path from the command line for reading: a regular file, or a stream that docent was started with.
pub(crate) fn open_argument(path: &Path) -> io::Result<File> {
    open_file_or_stream(path, OpenOptions::new().read(true))
}

/// Creates or truncates a path from the command line: a regular file, or a stream that docent was started with. A link
/// is followed as in a shell; only the user can write to a created file.
pub(crate) fn create_argument(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Truncated only after it is known to be a file.
    options.write(true).create(true).truncate(false).mode(0o644);
    let file = open_file_or_stream(path, &mut options)?;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

fn open_file_or_stream(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let is_in = |folder: &&str| path.parent() == Some(Path::new(*folder));
    if !OPEN_FILES.iter().any(|file| path == Path::new(*file)) && !OPEN_FOLDERS.iter().any(is_in) {
        return open(path, options);
    }
    let file = options.custom_flags(NONBLOCK).open(path)?;
    // Reading and writing may block again.
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK))?;
    Ok(file)
}

/// Opens a regular file.
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match fs::metadata(path) {
        Ok(found) => check(&found)?,
        // A missing file may be about to be created.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // A pipe may have replaced the file in the meantime.
    let file = options.custom_flags(NONBLOCK).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Rejects a file larger than the limit.
pub(super) fn check_length(length: usize, limit: u64) -> io::Result<()> {
    if length as u64 > limit {
        let reason = format!("larger than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(())
}

fn check(metadata: &Metadata) -> io::Result<()> {
    match PathKind::of_open(metadata) {
        PathKind::File => Ok(()),
        found => {
            let reason = format!("not a regular file ({found}): replace it with one");
            Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
        }
    }
}
