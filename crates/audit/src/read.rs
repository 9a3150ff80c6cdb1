//! Reading a log: a consistent view of its files, line by line, in bounded memory.

use crate::{MAX_LINE_BYTES, file};
use docent_files::{FileIdentity, LinkError};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Take},
    path::{Path, PathBuf},
    time::Duration,
};

/// How long to wait for writers.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);

/// A file of the log could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the audit file {}", path.display())]
pub struct AuditReadError {
    /// The file.
    pub path: PathBuf,
    /// The cause.
    #[source]
    pub source: io::Error,
}

impl AuditReadError {
    pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, source }
    }
}

/// One file, up to the length it had when it was opened.
#[derive(Debug)]
pub(crate) struct LogFileSource {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) length: u64,
}

impl LogFileSource {
    fn open(path: PathBuf) -> Result<Self, AuditReadError> {
        let open = || {
            let file = open(&path)?;
            let length = file.metadata()?.len();
            Ok((file, length))
        };
        let (file, length) = open().map_err(AuditReadError::at(&path))?;
        Ok(Self { path, file, length })
    }

    pub(crate) fn lines(&self) -> RawLines<BufReader<Take<&File>>> {
        RawLines::new(BufReader::with_capacity(MAX_LINE_BYTES, (&self.file).take(self.length)))
    }
}

/// Opens a regular file. A pipe is refused before it is opened, because opening would wait for another program.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    File::open(path)
}

/// Opens these files, in this order.
pub(crate) fn open_files(files: &[PathBuf]) -> Result<Vec<LogFileSource>, AuditReadError> {
    files.iter().cloned().map(LogFileSource::open).collect()
}

/// The files of the log at `path`, oldest first. No rotation or write happens while they are opened.
///
/// A link in place of the log is an error: docent never writes through a link.
pub(crate) fn sources(path: &Path) -> Result<Vec<LogFileSource>, AuditReadError> {
    if path.is_symlink() {
        return Err(AuditReadError::at(path)(LinkError { path: path.to_owned() }.into()));
    }
    for _ in 0..8 {
        let Ok(current) = open(path) else { break };
        // A log whose lock is not available is read anyway: at worst its last line looks truncated.
        let held = file::lock_shared(&current, LOCK_TIMEOUT);
        let identity = current.metadata().ok().map(|metadata| FileIdentity::of(&metadata));
        if held.is_ok() && file::identity_at(path) != identity {
            continue;
        }
        return open_files(&file::files(path));
    }
    let files = file::files(path);
    if files.is_empty() {
        // Opening the file yields the error.
        return LogFileSource::open(path.to_owned()).map(|source| vec![source]);
    }
    open_files(&files)
}

/// The content between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RawLine<'a> {
    /// A line without its newline.
    Line(&'a [u8]),
    /// The length of a line longer than the maximum.
    TooLong(u64),
    /// The end of the file, without a newline.
    Open(&'a [u8]),
}

impl<'a> RawLine<'a> {
    /// The bytes of a possible line.
    pub(crate) fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Line(bytes) | Self::Open(bytes) => Some(bytes),
            Self::TooLong(_) => None,
        }
    }
}

/// Lines of a file, none longer than [`MAX_LINE_BYTES`].
#[derive(Debug)]
pub(crate) struct RawLines<R> {
    reader: R,
    buffer: Vec<u8>,
}

impl<R: BufRead> RawLines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new() }
    }

    pub(crate) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.buffer.clear();
        let read =
            (&mut self.reader).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        if let Some(line) = self.buffer.strip_suffix(b"\n") {
            return Ok(Some(RawLine::Line(line)));
        }
        if read < MAX_LINE_BYTES {
            return Ok(Some(RawLine::Open(&self.buffer)));
        }
        let rest = self.reader.skip_until(b'\n')?;
        Ok(Some(RawLine::TooLong((read + rest) as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(bytes: &[u8]) -> Vec<String> {
        let mut lines = RawLines::new(bytes);
        let mut all = Vec::new();
        while let Some(piece) = lines.next().unwrap() {
            all.push(match piece {
                RawLine::Line(line) => String::from_utf8_lossy(line).into_owned(),
                RawLine::TooLong(bytes) => format!("<{bytes}>"),
                RawLine::Open(rest) => format!("{}|", String::from_utf8_lossy(rest)),
            });
        }
        all
    }

    #[test]
    fn lines_end_at_newlines_and_bounds() {
        let none: [&str; 0] = [];
        assert_eq!(pieces(b""), none);
        assert_eq!(pieces(b"a\n\nb"), ["a", "", "b|"]);
        let long = [&b"a\n"[..], &vec![b'x'; 3 * MAX_LINE_BYTES], b"\nb\n"].concat();
        assert_eq!(pieces(&long), ["a", &format!("<{}>", 3 * MAX_LINE_BYTES + 1), "b"]);
        assert_eq!(pieces(&vec![b'x'; MAX_LINE_BYTES]), [format!("<{MAX_LINE_BYTES}>")]);
    }

    #[test]
    fn a_missing_log_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path().join("none.jsonl"), folder.path().to_owned()] {
            let error = sources(&path).unwrap_err().to_string();
            assert!(error.contains(path.to_str().unwrap()), "{error}");
        }
    }
}
