//! The lock that a writer of the store holds, and the wait for it.

use super::{super::IndexStoreError, file::failed};
use docent_files::{DataFile, FileIdentity, ManagedFolder};
use std::{
    fs::TryLockError,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::Path,
    thread,
    time::{Duration, Instant},
};

const LOCK_NAME: &str = "lock";
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Most writes take less: a shorter wait is not reported.
const FIRST_REPORT_AFTER: Duration = Duration::from_millis(300);
const REPORT_INTERVAL: Duration = Duration::from_secs(10);
/// Bytes of a lock file that are read: a process id is shorter.
const MAX_HOLDER_BYTES: u64 = 32;

/// A wait for another process that writes to the store.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct LockWait<'a> {
    /// The folder of the store.
    pub folder: &'a Path,
    /// The process that holds the lock, where it is known.
    pub holder: Option<u32>,
    /// How long the wait has lasted.
    pub waited: Duration,
    /// How long it lasts at most.
    pub patience: Duration,
}

/// Takes the lock of a store. `report` is called when the wait is long, and every few seconds after that.
pub(super) fn acquire(
    folder: &ManagedFolder,
    patience: Duration,
    report: Option<fn(&LockWait<'_>)>,
) -> Result<DataFile, IndexStoreError> {
    let path = folder.path().join(LOCK_NAME);
    let open = || folder.lock_file(LOCK_NAME).map_err(failed(&path));
    let began = Instant::now();
    let mut next_report = FIRST_REPORT_AFTER;
    let mut file = open()?;
    loop {
        match file.try_lock() {
            Ok(()) if is_in_place(folder, &file).map_err(failed(&path))? => {
                write_holder(&mut file);
                return Ok(file);
            }
            // The lock of a replaced file excludes no one.
            Ok(()) => file = open()?,
            Err(TryLockError::Error(source)) => return Err(IndexStoreError::File { path, source }),
            Err(TryLockError::WouldBlock) => {
                let waited = began.elapsed();
                if waited >= patience {
                    let holder = read_holder(&mut file);
                    return Err(IndexStoreError::Busy { folder: folder.path().to_owned(), holder });
                }
                if let Some(report) = report.filter(|_| waited >= next_report) {
                    let holder = read_holder(&mut file);
                    report(&LockWait { folder: folder.path(), holder, waited, patience });
                    next_report = waited + REPORT_INTERVAL;
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
    }
}

fn is_in_place(folder: &ManagedFolder, file: &DataFile) -> io::Result<bool> {
    let there = folder.status(LOCK_NAME)?.map(|there| there.identity);
    Ok(there == Some(FileIdentity::of(&file.metadata()?)))
}

/// Records this process in the lock file. It only serves messages, so a failure changes nothing.
fn write_holder(file: &mut DataFile) {
    let recorded = file
        .set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| writeln!(file, "{}", std::process::id()));
    if let Err(error) = recorded {
        tracing::debug!(%error, "the index lock does not name its holder");
    }
}

fn read_holder(file: &mut DataFile) -> Option<u32> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(MAX_HOLDER_BYTES).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
