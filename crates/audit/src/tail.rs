//! The last lines of a log, read backwards.

use crate::{
    AuditFilter, AuditLine, AuditReadError, MAX_LINE_BYTES,
    read::{self, LogFileSource},
};
use std::{
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

const TAIL_BLOCK_BYTES: u64 = 64 * 1024;

/// The last `count` matching lines, oldest first, from as many files of the log as necessary. Unreadable lines are
/// skipped.
pub fn tail(
    path: &Path,
    count: usize,
    filter: &AuditFilter,
) -> Result<Vec<AuditLine>, AuditReadError> {
    let mut found = Vec::new();
    if count == 0 {
        return Ok(found);
    }
    for source in read::sources(path)?.iter().rev() {
        let mut past = false;
        let mut want = |bytes: &[u8]| {
            let line = AuditLine::parse(bytes);
            past = line.as_ref().is_some_and(|line| filter.is_past(line));
            found.extend(line.filter(|line| filter.fits(line)));
            found.len() < count && !past
        };
        backwards(source, &mut want).map_err(AuditReadError::at(&source.path))?;
        if found.len() >= count || past {
            break;
        }
    }
    found.reverse();
    Ok(found)
}

/// Yields lines from the last to the first, until no more are wanted. A line that is too long is skipped, so that
/// memory stays bounded.
fn backwards(source: &LogFileSource, want: &mut dyn FnMut(&[u8]) -> bool) -> io::Result<()> {
    let mut at = source.length;
    // The end of a line whose beginning is in an earlier block; `None` while it is too long.
    let mut rest = Some(Vec::new());
    while at > 0 {
        let size = at.min(TAIL_BLOCK_BYTES);
        at -= size;
        let mut file = &source.file;
        file.seek(SeekFrom::Start(at))?;
        let mut block = Vec::new();
        file.take(size).read_to_end(&mut block)?;
        let mut pieces = block.rsplit(|byte| *byte == b'\n');
        let last = pieces.next().unwrap_or_default();
        join(&mut rest, last);
        for piece in pieces {
            if let Some(line) = rest.take()
                && !line.is_empty()
                && !want(&line)
            {
                return Ok(());
            }
            rest = Some(piece.to_vec());
        }
    }
    if let Some(line) = rest.filter(|line| !line.is_empty()) {
        want(&line);
    }
    Ok(())
}

fn join(rest: &mut Option<Vec<u8>>, before: &[u8]) {
    *rest = rest.take().filter(|rest| rest.len() + before.len() <= MAX_LINE_BYTES).map(|rest| {
        let mut whole = before.to_vec();
        whole.extend_from_slice(&rest);
        whole
    });
}
