//! Following a log: yields each new line, also across rotation.

use crate::{AuditFilter, AuditLine, AuditReadError, MAX_LINE_BYTES, file, read};
use docent_files::FileIdentity;
use std::{
    cell::Cell,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::Duration,
};

/// Bytes per read.
const READ_BLOCK_BYTES: usize = 256 * 1024;

/// A position in a log that advances with its lines.
#[derive(Debug)]
pub struct LogFollower {
    path: PathBuf,
    open: Option<FollowedFile>,
    /// The number of the last line yielded, so that no line is yielded twice.
    last: Cell<u64>,
}

#[derive(Debug)]
struct FollowedFile {
    file: File,
    identity: FileIdentity,
    at: u64,
    /// The beginning of a line that is still being written.
    rest: Vec<u8>,
    /// Inside a line that is too long.
    skipping: bool,
}

impl FollowedFile {
    fn new(path: &Path, at_end: bool) -> io::Result<Self> {
        let file = read::open(path)?;
        let metadata = file.metadata()?;
        let at = if at_end { metadata.len() } else { 0 };
        Ok(Self {
            file,
            identity: FileIdentity::of(&metadata),
            at,
            rest: Vec::new(),
            skipping: false,
        })
    }

    /// Yields the lines written since the last call.
    fn read(
        &mut self,
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> io::Result<ControlFlow<()>> {
        if self.file.metadata()?.len() < self.at {
            // Emptied by another tool.
            (self.at, self.skipping) = (0, false);
            self.rest.clear();
        }
        let mut block = vec![0; READ_BLOCK_BYTES];
        loop {
            self.file.seek(SeekFrom::Start(self.at))?;
            let read = self.file.read(&mut block)?;
            let Some(new) = block.get(..read).filter(|new| !new.is_empty()) else {
                return Ok(ControlFlow::Continue(()));
            };
            for part in new.split_inclusive(|byte| *byte == b'\n') {
                self.at += part.len() as u64;
                if self.part(part, each).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
    }

    fn part(
        &mut self,
        part: &[u8],
        each: &mut dyn FnMut(&[u8]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.rest.extend_from_slice(part);
        if !part.ends_with(b"\n") {
            if self.rest.len() > MAX_LINE_BYTES {
                self.skipping = true;
                self.rest.clear();
            }
            return ControlFlow::Continue(());
        }
        let line = std::mem::take(&mut self.rest);
        if std::mem::take(&mut self.skipping) { ControlFlow::Continue(()) } else { each(&line) }
    }
}

impl LogFollower {
    /// Starts at the end of the log at `path`, which need not exist yet.
    pub fn from_end(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { open: FollowedFile::new(&path, true).ok(), path, last: Cell::new(0) }
    }

    /// Yields each new line, and returns once there are no more or `each` breaks. Lines lost with a file that is
    /// already gone are skipped.
    pub fn poll(
        &mut self,
        filter: &AuditFilter,
        each: &mut dyn FnMut(AuditLine) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, AuditReadError> {
        let Self { path, open, last } = self;
        let mut hand_over = |bytes: &[u8]| {
            let Some(line) = AuditLine::parse(bytes) else { return ControlFlow::Continue(()) };
            match line.seq() {
                Some(seq) if seq <= last.get() => return ControlFlow::Continue(()),
                Some(seq) => last.set(seq),
                None => {}
            }
            if filter.fits(&line) { each(line) } else { ControlFlow::Continue(()) }
        };
        if let Some(open) = open
            && open.read(&mut hand_over).map_err(AuditReadError::at(path))?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        let here = open.as_ref().map(|open| open.identity);
        let now = file::identity_at(path);
        if now.is_none() || now == here {
            return Ok(ControlFlow::Continue(()));
        }
        // Rotated: read what was written to the old file since, then every newer file.
        let files = file::files(path);
        let passed =
            files.iter().position(|file| here.is_some() && file::identity_at(file) == here);
        for file in files.into_iter().skip(passed.unwrap_or(0)) {
            if file::identity_at(&file) != here || here.is_none() {
                // A file that was rotated again in between appears under its next name.
                let Ok(next) = FollowedFile::new(&file, false) else { continue };
                if file == *path && file::first_seq(&next.file).ok().flatten() == Some(1) {
                    // The log was deleted, and numbering starts again.
                    last.set(0);
                }
                *open = Some(next);
            }
            let Some(open) = open else { continue };
            if open.read(&mut hand_over).map_err(AuditReadError::at(&file))?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Yields each new line that matches, until `each` breaks. Polls again after each `pause`.
pub fn follow(
    path: &Path,
    filter: &AuditFilter,
    pause: Duration,
    each: &mut dyn FnMut(AuditLine) -> ControlFlow<()>,
) -> Result<(), AuditReadError> {
    let mut follow = LogFollower::from_end(path);
    while follow.poll(filter, each)?.is_continue() {
        std::thread::sleep(pause);
    }
    Ok(())
}
