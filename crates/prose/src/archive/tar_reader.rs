//! Tar archives, compressed or not, read in one pass.

use super::{ArchiveIntake, MIN_RATIO_CHECK_BYTES};
use crate::format::Unreadable;
use flate2::bufread::MultiGzDecoder;
use std::{
    cell::Cell,
    io::{Error, Read, Result as IoResult},
    mem,
};
use tar::{Archive as Tape, Entry, EntryType};

/// Maximum bytes of an extension record; longer ones are an attack on memory.
const MAX_EXTENSION_RECORD_BYTES: u64 = 1 << 20;

/// The byte source of a tar archive.
pub(super) enum TarSource<'a> {
    Plain(&'a [u8]),
    Gzip { stream: Box<MultiGzDecoder<&'a [u8]>>, packed: usize },
}

impl<'a> TarSource<'a> {
    pub(super) fn gzip(bytes: &'a [u8]) -> Self {
        Self::Gzip { stream: Box::new(MultiGzDecoder::new(bytes)), packed: bytes.len() }
    }
}

/// Counts unpacked bytes, and fails above the limits.
struct LimitedTarReader<'a, 'over> {
    source: TarSource<'a>,
    unpacked: u64,
    most: u64,
    ratio: u64,
    over: &'over Cell<bool>,
}

impl Read for LimitedTarReader<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> IoResult<usize> {
        let (read, taken) = match &mut self.source {
            TarSource::Plain(bytes) => return bytes.read(buffer),
            TarSource::Gzip { stream, packed } => {
                let read = stream.read(buffer)?;
                (read, *packed - stream.get_ref().len())
            }
        };
        self.unpacked += read as u64;
        let tight = self.unpacked > MIN_RATIO_CHECK_BYTES
            && self.unpacked / self.ratio.max(1) > taken as u64;
        if tight || self.unpacked > self.most {
            self.over.set(true);
            return Err(Error::other("it unpacks to too much"));
        }
        Ok(read)
    }
}

/// Reads the files of an archive.
pub(super) fn entries(
    source: TarSource<'_>,
    intake: &mut ArchiveIntake<'_>,
) -> Result<(), Unreadable> {
    let over = Cell::new(false);
    let (most, ratio) = (intake.limits.total_bytes, intake.limits.ratio);
    let mut tape = Tape::new(LimitedTarReader { source, unpacked: 0, most, ratio, over: &over });
    let read = files(&mut tape, intake);
    if over.get() {
        return Err(intake.too_large());
    }
    match read {
        Err(error) if intake.files == 0 => {
            Err(Unreadable::Damaged { format: "tar", reason: error.to_string() })
        }
        Err(_) => {
            intake.problems.add("", "it is damaged or truncated; only the part before is read");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn files(
    tape: &mut Tape<LimitedTarReader<'_, '_>>,
    intake: &mut ArchiveIntake<'_>,
) -> IoResult<()> {
    // The crate would read records about files without a limit, so they are read here.
    let mut name = None;
    for entry in tape.entries()?.raw(true) {
        let mut entry = entry?;
        match entry.header().entry_type() {
            EntryType::GNULongName => name = record(&mut entry)?.map(|bytes| text(&bytes)),
            EntryType::XHeader => {
                name = record(&mut entry)?.and_then(|bytes| extended_path(&bytes)).or(name);
            }
            EntryType::GNULongLink | EntryType::XGlobalHeader => {}
            EntryType::Directory => name = None,
            kind => {
                if !intake.has_room() {
                    return Ok(());
                }
                let own = || text(&entry.path_bytes());
                let name = mem::take(&mut name).unwrap_or_else(own);
                file(&mut entry, kind, &name, intake)?;
            }
        }
    }
    Ok(())
}

fn file(
    entry: &mut Entry<'_, LimitedTarReader<'_, '_>>,
    kind: EntryType,
    name: &str,
    intake: &mut ArchiveIntake<'_>,
) -> IoResult<()> {
    let what = match kind {
        EntryType::Regular | EntryType::Continuous => None,
        EntryType::Symlink | EntryType::Link => Some("links are not followed"),
        EntryType::GNUSparse => Some("its compression method is not supported"),
        _ => Some("devices are not read"),
    };
    if let Some(what) = what {
        intake.problems.add(name, what);
        return Ok(());
    }
    // Old archives mark folders by their name alone.
    if name.ends_with('/') {
        return Ok(());
    }
    let Some(path) = intake.path(name, entry.size()) else { return Ok(()) };
    let mut bytes = Vec::new();
    let size = entry.size();
    entry.take(size).read_to_end(&mut bytes)?;
    if (bytes.len() as u64) < size {
        return Err(Error::other("it is cut off"));
    }
    intake.hand_out(&path, &bytes);
    Ok(())
}

/// An extension record about the next file. `None` if it is too long.
fn record(entry: &mut Entry<'_, LimitedTarReader<'_, '_>>) -> IoResult<Option<Vec<u8>>> {
    if entry.size() > MAX_EXTENSION_RECORD_BYTES {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes)?;
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok(Some(bytes))
}

/// The path that an extended header gives: lines of `length key=value`, of which a value may hold line ends.
fn extended_path(mut bytes: &[u8]) -> Option<String> {
    let mut path = None;
    while let Some(space) = bytes.iter().position(|byte| *byte == b' ') {
        let length: usize = std::str::from_utf8(bytes.get(..space)?).ok()?.parse().ok()?;
        let line = bytes.get(space + 1..length)?;
        if let Some(value) = line.strip_prefix(b"path=") {
            path = Some(text(value.strip_suffix(b"\n").unwrap_or(value)));
        }
        bytes = bytes.get(length..)?;
    }
    path
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
