//! The files of a log: opening, locking, reading the end, rotating.

use crate::{
    MAX_LINE_BYTES,
    chain::{ChainHead, HashBytes, HashChain, SealedLine, seq_of, sha256},
    event::{AuditLogEvent, FileStart},
};
use docent_files::{DataFile, FileAccess, FileIdentity, ManagedFolder};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Bytes at the end of a file that are searched for its last line.
const TAIL_WINDOW_BYTES: u64 = 2 * MAX_LINE_BYTES as u64;

/// The file at a path, if there is one.
pub(crate) fn identity_at(path: &Path) -> Option<FileIdentity> {
    fs::metadata(path).ok().map(|metadata| FileIdentity::of(&metadata))
}

/// Opens a log for appending. A file that others could read is made private; a symbolic link is not followed.
pub(crate) fn open(folder: &ManagedFolder, name: &OsStr) -> io::Result<DataFile> {
    // Opening a pipe would wait for a reader, and the error for a folder is unclear.
    if folder.status(name)?.is_some_and(|there| there.is_folder() || there.is_channel()) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the audit file is not a regular file; set audit.file to a file",
        ));
    }
    let file = folder.append(name, FileAccess::Private)?;
    make_private(file.as_file(), &folder.path().join(name))?;
    Ok(file)
}

/// Makes the file private. Devices keep their permissions: they are not ours.
fn make_private(file: &File, path: &Path) -> io::Result<()> {
    let metadata = file.metadata()?;
    if metadata.is_file()
        && metadata.permissions().mode() & 0o177 != 0
        && let Err(error) = file.set_permissions(fs::Permissions::from_mode(0o600))
    {
        tracing::warn!(path = %path.display(), %error, "other users can read the audit file: set its mode to 600");
    }
    Ok(())
}

/// Takes the write lock, unless another process has it. Closing the file releases it.
pub(crate) fn lock(file: &DataFile) -> io::Result<()> {
    convert_lock_result(file.try_lock())
}

/// Waits for a lock that prevents rotation.
pub(crate) fn lock_shared(file: &File, patience: Duration) -> io::Result<()> {
    let began = Instant::now();
    wait(|| {
        let locked = convert_lock_result(file.try_lock_shared());
        (!is_lock_held(&locked) || began.elapsed() >= patience).then_some(locked)
    })
}

fn convert_lock_result(attempt: Result<(), TryLockError>) -> io::Result<()> {
    match attempt {
        Ok(()) => Ok(()),
        // A file system without locks still lets one process write.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => Err(io::Error::new(
            io::ErrorKind::WouldBlock,
            "another process holds the lock of the audit file",
        )),
    }
}

/// Whether the only problem is that another process has the lock.
pub(crate) fn is_lock_held(attempt: &io::Result<()>) -> bool {
    attempt.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// Retries with growing pauses until the attempt succeeds or time is up.
pub(crate) fn wait<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let mut pause = Duration::from_micros(20);
    loop {
        if let Some(ended) = attempt() {
            return ended;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_micros(500));
    }
}

/// The end of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileTail {
    /// The last line that belongs to the chain.
    pub(crate) head: Option<ChainHead>,
    /// The last line has no newline.
    pub(crate) open: bool,
    /// A truncated line at the end: its bytes and their digest.
    pub(crate) torn: Option<(u64, HashBytes)>,
}

/// Finds the last lines of a file, reading a bounded number of bytes.
pub(crate) fn ending(mut file: &File, length: u64, chain: &HashChain) -> io::Result<FileTail> {
    let from = length.saturating_sub(TAIL_WINDOW_BYTES);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(length - from).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (lines, rest) = bytes.split_at_checked(whole).unwrap_or_default();
    if let Some(last) = SealedLine::parse(rest)
        && chain.matches_hash(&last)
    {
        // Complete except for the newline.
        return Ok(FileTail { head: Some(last.head()), open: true, torn: None });
    }
    let torn = (!rest.is_empty()).then(|| (rest.len() as u64, sha256(rest)));
    let mut backwards = lines.rsplit(|byte| *byte == b'\n');
    let head = backwards.find_map(|line| SealedLine::parse(line).map(|sealed| sealed.head()));
    Ok(FileTail { head, open: torn.is_some(), torn })
}

/// The number of a file's first line.
pub(crate) fn first_seq(mut file: &File) -> io::Result<Option<u64>> {
    let mut beginning = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(64).read_to_end(&mut beginning)?;
    Ok(seq_of(&beginning))
}

fn numbered(name: &OsStr, number: usize) -> OsString {
    let mut name = name.to_owned();
    name.push(format!(".{number}"));
    name
}

/// The numbers of the older files of a log, the newest (1) first.
fn older_numbers(folder: &Path, name: &OsStr) -> Vec<usize> {
    let Some(name) = name.to_str() else { return Vec::new() };
    let number = |entry: fs::DirEntry| -> Option<usize> {
        let found = entry.file_name();
        let digits = found.to_str()?.strip_prefix(name)?.strip_prefix('.')?;
        let number: usize = digits.parse().ok()?;
        (number > 0 && number.to_string() == digits).then_some(number)
    };
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut numbers: Vec<usize> = entries.filter_map(|entry| number(entry.ok()?)).collect();
    numbers.sort_unstable();
    numbers
}

/// The names of the older files of a log, the newest first.
pub(crate) fn older(folder: &ManagedFolder, name: &OsStr) -> Vec<OsString> {
    let numbers = older_numbers(folder.path(), name);
    numbers.into_iter().map(|number| numbered(name, number)).collect()
}

/// The existing files of the log at `path`, oldest first.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path.file_name().unwrap_or_default();
    let older = older_numbers(folder, name).into_iter().rev();
    let mut all: Vec<PathBuf> =
        older.map(|number| path.with_file_name(numbered(name, number))).collect();
    if path.exists() {
        all.push(path.to_owned());
    }
    all
}

/// Renames this file to the newest of the older ones. Its lock must be held. Nothing is removed yet: that happens once
/// the log records that the oldest files are gone.
pub(crate) fn turn_over(folder: &ManagedFolder, name: &OsStr) -> io::Result<()> {
    let older = older_numbers(folder.path(), name);
    // Only files up to the first free number have to move. If all moved, a file that cannot be renamed would push out
    // one older file per attempt.
    let moving = older.iter().zip(1..).take_while(|(number, next)| *number == next).count();
    for number in older.iter().take(moving).rev() {
        folder.rename(numbered(name, *number), numbered(name, number + 1))?;
    }
    // Last: until the name is free, no other process starts a new file.
    folder.rename(name, numbered(name, 1))
}

/// The names of the older files beyond `keep`, by their numbers.
pub(crate) fn excess_files(folder: &ManagedFolder, name: &OsStr, keep: usize) -> Vec<OsString> {
    let numbers = older_numbers(folder.path(), name).into_iter().filter(|number| *number > keep);
    numbers.map(|number| numbered(name, number)).collect()
}

/// The `begun` line at the start of a file.
pub(crate) fn begun(mut file: &File, chain: &HashChain) -> io::Result<Option<FileStart>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(TAIL_WINDOW_BYTES).read_to_end(&mut bytes)?;
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(SealedLine::parse);
    let mut events = lines.filter_map(|line| match AuditLogEvent::parse(line.members) {
        Some(AuditLogEvent::Begun(begun)) if chain.matches_hash(&line) => Some(begun),
        _ => None,
    });
    Ok(events.next())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(folder: &Path, names: &[&str]) {
        for name in names {
            fs::write(folder.join(name), name).unwrap();
        }
    }

    fn names(paths: &[PathBuf]) -> Vec<&str> {
        paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect()
    }

    #[test]
    fn older_files_are_those_with_numbers() {
        let folder = tempfile::tempdir().unwrap();
        touch(folder.path(), &["a", "a.1", "a.2", "a.10", "a.01", "a.0", "a.x", "a.1.gz", "ba.1"]);
        let found = files(&folder.path().join("a"));
        assert_eq!(names(&found), ["a.10", "a.2", "a.1", "a"]);
        assert!(files(&folder.path().join("none")).is_empty());
    }

    #[test]
    fn rotation_keeps_the_configured_number() {
        for (keep, want) in [
            (0, vec![]),
            (1, vec!["a"]),
            (2, vec!["a", "a.1"]),
            (5, vec!["a", "a.1", "a.3", "a.4"]),
            (9, vec!["a", "a.1", "a.3", "a.4", "a.9"]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            touch(folder.path(), &["a", "a.1", "a.3", "a.4", "a.9"]);
            let (log, name) = (ManagedFolder::from(folder.path()), OsStr::new("a"));
            turn_over(&log, name).unwrap();
            assert!(!folder.path().join("a").exists());
            for old in excess_files(&log, name, keep) {
                log.remove(old).unwrap();
            }
            let read = |name: &OsString| fs::read_to_string(folder.path().join(name)).unwrap();
            let held: Vec<String> = older(&log, name).iter().map(read).collect();
            assert_eq!(held, want, "{keep}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_moved_pushes_out_no_other() {
        let folder = tempfile::tempdir().unwrap();
        touch(folder.path(), &["a.1", "a.2"]);
        let log = ManagedFolder::from(folder.path());
        for _ in 0..5 {
            assert!(turn_over(&log, OsStr::new("a")).is_err(), "there is no such file");
        }
        assert_eq!(names(&files(&folder.path().join("a"))), ["a.3", "a.2"]);
    }

    #[test]
    fn the_chain_continues_from_the_end_of_a_file() {
        let chain = HashChain::new(None);
        let mut whole = Vec::new();
        let first = chain.seal(ChainHead::NONE, b",\"a\":1", &mut whole);
        let end = whole.len();
        let second = chain.seal(first, b",\"a\":2", &mut whole);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let ends = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            ending(&File::open(&path).unwrap(), bytes.len() as u64, &chain).unwrap()
        };
        let closed = |head| FileTail { head, open: false, torn: None };
        assert_eq!(ends(b""), closed(None));
        assert_eq!(ends(&whole), closed(Some(second)));
        assert_eq!(ends(&[&whole[..], b"junk\n\n"].concat()), closed(Some(second)));
        assert_eq!(ends(b"junk\n"), closed(None));
        // Cut at every byte of the second line.
        for cut in end + 1..whole.len() - 1 {
            let torn = &whole[end..cut];
            let want = Some((torn.len() as u64, sha256(torn)));
            assert_eq!(ends(&whole[..cut]), FileTail { head: Some(first), open: true, torn: want });
        }
        let newline_cut = FileTail { head: Some(second), open: true, torn: None };
        assert_eq!(ends(&whole[..whole.len() - 1]), newline_cut);
        // A file far beyond the window.
        let mut long = whole.repeat(2000);
        long.truncate(long.len() - 3);
        assert_eq!(ends(&long).head, Some(first));
    }

    #[test]
    fn a_file_is_private_and_a_folder_is_not_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        set(folder.path(), 0o755);
        let log = ManagedFolder::from(folder.path());
        open(&log, OsStr::new("a")).unwrap();
        assert_eq!(mode(&path), 0o600);
        for wide in [0o644, 0o666, 0o640, 0o700] {
            set(&path, wide);
            open(&log, OsStr::new("a")).unwrap();
            assert_eq!(mode(&path), 0o600, "{wide:o}");
        }
        assert_eq!(mode(folder.path()), 0o755);
        fs::create_dir(folder.path().join("b")).unwrap();
        let error = open(&log, OsStr::new("b")).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }
}
