//! Writing: each line under a lock, in the chain, in a file that is rotated; and handling of write failures.

use crate::{
    AuditEntry,
    chain::{ChainHead, HashChain},
    event::{AuditLogEvent, FileStart},
    file,
};
use docent_files::{DataFile, FileIdentity, ManagedFolder};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Minimum interval between log messages about a log that cannot be written.
const FAILURE_LOG_INTERVAL: Duration = Duration::from_mins(1);
/// How long to wait for other processes, which write their lines or rotate the file. Either takes microseconds; a
/// process stopped in the middle of it must not block this one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout for each further line once another process has held the file for that long.
const STUCK_LOCK_TIMEOUT: Duration = Duration::from_millis(10);

/// What to do with a call whose line cannot be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteFailurePolicy {
    /// Refuse the call, so that nothing happens unrecorded.
    Refuse,
    /// Let the call continue. The line is counted, and the number is recorded once lines can be written again.
    #[default]
    Drop,
}

/// Settings of an audit log.
#[derive(Clone)]
pub struct AuditLogSettings {
    /// Bytes after which a file is rotated.
    pub max_bytes: u64,
    /// Number of older files to keep.
    pub keep: usize,
    /// What to do when a line cannot be written.
    pub on_full: WriteFailurePolicy,
    /// Makes the chain an HMAC, which cannot be forged without the key. An empty key counts as no key.
    pub key: Option<Vec<u8>>,
    /// Waits for the disk after each line, so that a power failure loses no line.
    pub sync: bool,
}

impl Default for AuditLogSettings {
    fn default() -> Self {
        Self {
            max_bytes: 16 << 20,
            keep: 5,
            on_full: WriteFailurePolicy::default(),
            key: None,
            sync: false,
        }
    }
}

impl std::fmt::Debug for AuditLogSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuditLogSettings")
            .field("max_bytes", &self.max_bytes)
            .field("keep", &self.keep)
            .field("on_full", &self.on_full)
            .field("keyed", &self.key.is_some())
            .field("sync", &self.sync)
            .finish()
    }
}

/// A line cannot be written, and the call must be refused.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the audit line: {}", reason(.0))]
pub struct AuditWriteError(#[source] io::Error);

/// The failure in words for clients; the path of the log is not disclosed.
fn reason(error: &io::Error) -> String {
    if docent_files::is_link_error(error) {
        "the log was replaced by a symbolic link".to_owned()
    } else {
        error.to_string()
    }
}

/// An audit log open for writing. Shared between threads; several processes may write to one file.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    folder: ManagedFolder,
    name: OsString,
    settings: AuditLogSettings,
    chain: HashChain,
    state: Mutex<AuditLogState>,
    failures: AtomicU64,
    /// Whether the last attempt to open or write succeeded.
    sound: AtomicBool,
}

#[derive(Debug, Default)]
struct AuditLogState {
    file: Option<DataFile>,
    known: Option<LastWrittenFile>,
    /// The file written to before it was moved away.
    left: Option<DataFile>,
    /// Since when every attempt has found the lock taken by another process.
    held_since: Option<Instant>,
    /// Lines that could not be written, and since when.
    lost: Option<(u64, String)>,
    failure_logged_at: Option<Instant>,
    size_logged_at: Option<Instant>,
}

/// What this process knows about the file it wrote to last. Outlives the file's handle.
#[derive(Debug, Clone, Copy)]
struct LastWrittenFile {
    identity: FileIdentity,
    length: u64,
    /// The number of its first line.
    first: u64,
    head: ChainHead,
    /// Whether this process rotated the file.
    turned: bool,
}

/// A locked file, and how the chain continues in it.
struct LockedLogFile {
    identity: FileIdentity,
    /// A file on a disk, not a device.
    regular: bool,
    length: u64,
    /// The number of its first line, if it has one.
    first: Option<u64>,
    /// The predecessor of the next line.
    head: ChainHead,
    /// Whether its last line lacks a newline.
    newline: bool,
    /// Event to write before the next line.
    event: Option<AuditLogEvent>,
    /// Event to write to a file without lines.
    begun: Option<AuditLogEvent>,
    /// Older files to remove once that event is written.
    beyond: Vec<OsString>,
}

impl AuditLog {
    /// A log at `path`. The file is opened with the first line, or with the first call of [`AuditLog::ready`].
    ///
    /// Neither the file nor its folder may be a symbolic link; links further up are resolved once, here.
    pub fn open(path: impl Into<PathBuf>, settings: AuditLogSettings) -> Self {
        let path = path.into();
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => ManagedFolder::from(folder),
            _ => ManagedFolder::resolve(Path::new(".")),
        };
        Self {
            folder,
            name: path.file_name().unwrap_or_default().to_owned(),
            path,
            chain: HashChain::new(settings.key.as_deref()),
            settings,
            state: Mutex::default(),
            failures: AtomicU64::new(0),
            sound: AtomicBool::new(false),
        }
    }

    /// The path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of lines that could not be written since the log was opened.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Writes the line of one call. With [`WriteFailurePolicy::Drop`] a failure to write is not an error. Waits for other
    /// processes that hold the file.
    pub fn append(&self, entry: &AuditEntry<'_>) -> Result<(), AuditWriteError> {
        let (state, written) = self.wait(Some(entry));
        self.judge(state, written)
    }

    /// Like [`AuditLog::append`], without waiting: `None` while another process holds the file; then nothing is written or
    /// counted.
    pub fn append_at_once(&self, entry: &AuditEntry<'_>) -> Option<Result<(), AuditWriteError>> {
        let mut state = self.state();
        let written = self.attempt(&mut state, Some(entry));
        (!file::is_lock_held(&written)).then(|| self.judge(state, written))
    }

    /// Counts a line that could not be written.
    fn judge(
        &self,
        mut state: MutexGuard<'_, AuditLogState>,
        written: io::Result<()>,
    ) -> Result<(), AuditWriteError> {
        let Err(error) = written else { return Ok(()) };
        self.sound.store(false, Ordering::Release);
        self.failures.fetch_add(1, Ordering::Relaxed);
        let (count, _) = state.lost.get_or_insert_with(|| (0, now()));
        *count = count.saturating_add(1);
        self.log_failure(&mut state, &error);
        match self.settings.on_full {
            WriteFailurePolicy::Drop => Ok(()),
            WriteFailurePolicy::Refuse => Err(AuditWriteError(error)),
        }
    }

    /// Whether a call may run as far as is known, at the cost of one atomic load.
    pub fn is_sound(&self) -> bool {
        self.settings.on_full == WriteFailurePolicy::Drop || self.sound.load(Ordering::Acquire)
    }

    /// Whether a call may run: not if its line is known to fail and must be written. Unless the log is sound, this
    /// waits like [`AuditLog::append`].
    pub fn ready(&self) -> Result<(), AuditWriteError> {
        if self.is_sound() {
            return Ok(());
        }
        // This records the lost lines: if they can be written, so can others.
        let (mut state, written) = self.wait(None);
        written.map_err(|error| {
            self.log_failure(&mut state, &error);
            AuditWriteError(error)
        })
    }

    /// Retries until no other process is in the way, or one has been for too long. Waiting blocks no other caller: the
    /// state is unlocked between two attempts.
    fn wait(
        &self,
        entry: Option<&AuditEntry<'_>>,
    ) -> (MutexGuard<'_, AuditLogState>, io::Result<()>) {
        let began = Instant::now();
        file::wait(|| {
            let mut state = self.state();
            // A file opened earlier may have been moved away: it is only given up for the file that is now at the path.
            let is_fresh = state.file.is_none();
            let written = self.attempt(&mut state, entry);
            let gives_up = is_fresh && state.is_stuck() && began.elapsed() >= STUCK_LOCK_TIMEOUT;
            (!file::is_lock_held(&written) || gives_up).then_some((state, written))
        })
    }

    fn state(&self) -> MutexGuard<'_, AuditLogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs the failure at once, and then at intervals.
    fn log_failure(&self, state: &mut AuditLogState, error: &io::Error) {
        if !is_log_due(&mut state.failure_logged_at) {
            return;
        }
        let (path, lost, policy) = (self.path.display(), self.failures(), self.settings.on_full);
        tracing::error!(%path, %error, lost, ?policy, "cannot write audit lines");
    }

    fn attempt(&self, state: &mut AuditLogState, entry: Option<&AuditEntry<'_>>) -> io::Result<()> {
        let written = self.write(state, entry);
        if file::is_lock_held(&written) {
            state.held_since.get_or_insert_with(Instant::now);
            if state.is_stuck() {
                // The file may have been moved away: the next attempt opens the file that is at the path by then.
                state.file = None;
            }
            return written;
        }
        state.held_since = None;
        self.sound.store(written.is_ok(), Ordering::Release);
        if written.is_ok() {
            state.failure_logged_at = None;
            if let Some((lost, since)) = state.lost.take() {
                let path = self.path.display();
                tracing::warn!(%path, lost, since, "audit lines can be written again");
            }
        }
        written
    }

    /// Writes pending events and the entry in one write. On an error the file is closed, which releases its lock; what
    /// is known about the file is kept.
    fn write(&self, state: &mut AuditLogState, entry: Option<&AuditEntry<'_>>) -> io::Result<()> {
        let (file, place) = self.open_locked(state)?;
        let (buffer, head) = self.lines(&place, state.lost.as_ref(), entry);
        let length = place.length.saturating_add(buffer.len() as u64);
        // A truncated line is terminated in place.
        let turn = place.length > 0 && !place.newline && length > self.settings.max_bytes;
        if buffer.is_empty() || !turn {
            return self.write_once(state, (file, place), &buffer, head);
        }
        let (file, place) = self.turn_over(state, file, place)?;
        let (buffer, head) = self.lines(&place, state.lost.as_ref(), entry);
        self.write_once(state, (file, place), &buffer, head)
    }

    /// Opens and locks the file at the path, and determines how the chain continues in it.
    fn open_locked(&self, state: &mut AuditLogState) -> io::Result<(DataFile, LockedLogFile)> {
        let began = Instant::now();
        while began.elapsed() < LOCK_TIMEOUT {
            let file = match state.file.take() {
                Some(file) => file,
                None => file::open(&self.folder, &self.name)?,
            };
            if let Err(error) = file::lock(&file) {
                state.file = (error.kind() == io::ErrorKind::WouldBlock).then_some(file);
                return Err(error);
            }
            let metadata = file.metadata()?;
            let identity = FileIdentity::of(&metadata);
            let there = self.folder.status(&self.name)?.map(|there| there.identity);
            if there != Some(identity) {
                // Moved away, perhaps by another docent process. Release its lock: others may still wait for it.
                // Closing the file releases it as well.
                file.unlock().unwrap_or_default();
                state.left = Some(file);
                continue;
            }
            let regular = metadata.is_file();
            let length = if regular { metadata.len() } else { 0 };
            let empty = LockedLogFile {
                identity,
                regular,
                length,
                first: None,
                head: ChainHead::NONE,
                newline: false,
                event: None,
                begun: None,
                beyond: Vec::new(),
            };
            let left = state.left.take();
            self.report_replaced(state.known, identity);
            let place = self.locate_end(empty, file.as_file(), state.known, left.as_ref())?;
            return Ok((file, place));
        }
        Err(io::Error::other("the audit file keeps being moved away"))
    }

    /// Logs that the file is not the one this process wrote to last, unless it was rotated.
    fn report_replaced(&self, known: Option<LastWrittenFile>, now: FileIdentity) {
        let Some(known) = known.filter(|known| !known.turned && known.identity != now) else {
            return;
        };
        let is_old = |name: &OsString| {
            let there = self.folder.status(name).ok().flatten();
            there.is_some_and(|there| there.identity == known.identity)
        };
        if !file::older(&self.folder, &self.name).iter().any(is_old) {
            let (path, from, to) = (self.path.display(), known.first, known.head.seq);
            tracing::warn!(%path, from, to, "the audit file was replaced: these lines are in no file of the log");
        }
    }

    /// Determines how the chain continues in a file. The newest known line decides, so that a file restored to an
    /// earlier state shows up as missing lines.
    fn locate_end(
        &self,
        mut place: LockedLogFile,
        file: &File,
        known: Option<LastWrittenFile>,
        left: Option<&DataFile>,
    ) -> io::Result<LockedLogFile> {
        if let Some(known) = known
            && known.identity == place.identity
            && known.length == place.length
        {
            (place.head, place.first) = (known.head, Some(known.first));
            return Ok(place);
        }
        let mut newest = known.map(|known| known.head);
        if let Some(left) = left {
            newest = newer(newest, self.last_of(left.as_file())?);
        }
        if place.length > 0 {
            let ending = file::ending(file, place.length, &self.chain)?;
            place.first = file::first_seq(file)?;
            place.newline = ending.open;
            place.event = ending.torn.map(|(bytes, digest)| AuditLogEvent::Torn { bytes, digest });
            place.head = newer(newest, ending.head).unwrap_or(ChainHead::NONE);
            if ending.head.is_some() {
                return Ok(place);
            }
        }
        let before = file::older(&self.folder, &self.name).into_iter().next();
        let before = before.map_or(Ok(None), |name| self.read_older(&name))?;
        let last = match &before {
            Some(file) => self.last_of(file.as_file())?,
            None => None,
        };
        let head = newer(newest, last);
        place.head = head.unwrap_or(ChainHead::NONE);
        if place.length == 0 && place.head != ChainHead::NONE {
            // The lines before this one are in no file of the log.
            let moved = known.filter(|known| !known.turned && last != head);
            let from = moved.map(|known| known.first);
            place.event =
                from.map(|from| AuditLogEvent::RotatedElsewhere { from, to: place.head.seq });
        }
        if let Some(before) = before.filter(|_| place.regular && last.is_some()) {
            let first = place.head.seq.saturating_add(1);
            let begun = file::begun(before.as_file(), &self.chain)?.unwrap_or(FileStart::FIRST);
            place.begun = Some(AuditLogEvent::Begun(begun.next(first, self.settings.keep)));
            place.beyond = file::excess_files(&self.folder, &self.name, self.settings.keep);
        }
        Ok(place)
    }

    /// The file before the new one. A file that cannot be read at this moment is an error: without its `begun` line,
    /// files removed later would count as missing. A file that can never be read is skipped.
    fn read_older(&self, name: &OsStr) -> io::Result<Option<DataFile>> {
        use io::ErrorKind::{InvalidData, InvalidInput, NotFound, PermissionDenied};
        match self.folder.read(name) {
            Ok(file) => Ok(Some(file)),
            Err(error) => match error.kind() {
                NotFound | PermissionDenied | InvalidData | InvalidInput => Ok(None),
                _ => Err(error),
            },
        }
    }

    fn last_of(&self, file: &File) -> io::Result<Option<ChainHead>> {
        let length = file.metadata()?.len();
        Ok(file::ending(file, length, &self.chain)?.head)
    }

    /// The bytes to write, and the last line in them.
    fn lines(
        &self,
        place: &LockedLogFile,
        lost: Option<&(u64, String)>,
        entry: Option<&AuditEntry<'_>>,
    ) -> (Vec<u8>, ChainHead) {
        let time = now();
        let mut head = place.head;
        let mut buffer = Vec::with_capacity(1024);
        if place.newline {
            buffer.push(b'\n');
        }
        let dropped = lost
            .map(|(count, since)| AuditLogEvent::Dropped { count: *count, since: since.clone() });
        let events = place.event.iter().chain(&place.begun).chain(&dropped);
        let events = events.map(|event| event.members(&time));
        for members in events.chain(entry.map(|entry| entry.members(&time))) {
            head = self.chain.seal(head, members.bytes(), &mut buffer);
        }
        (buffer, head)
    }

    /// Starts a new file, or continues the old one if that fails: the record matters more than the size limit.
    fn turn_over(
        &self,
        state: &mut AuditLogState,
        file: DataFile,
        place: LockedLogFile,
    ) -> io::Result<(DataFile, LockedLogFile)> {
        if let Err(error) = file::turn_over(&self.folder, &self.name) {
            if is_log_due(&mut state.size_logged_at) {
                let path = self.path.display();
                tracing::error!(%path, %error, "cannot rotate the audit file; it grows past audit.max_bytes");
            }
            return Ok((file, place));
        }
        state.known =
            Some(LastWrittenFile { turned: true, ..place.known(place.length, place.head) });
        drop(file);
        self.open_locked(state)
    }

    /// Writes once. A partial write is undone, so that a full disk leaves no truncated line.
    fn write_once(
        &self,
        state: &mut AuditLogState,
        (mut file, place): (DataFile, LockedLogFile),
        buffer: &[u8],
        head: ChainHead,
    ) -> io::Result<()> {
        let written = loop {
            if buffer.is_empty() {
                break Ok(0);
            }
            match file.write(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        if !matches!(written, Ok(bytes) if bytes == buffer.len()) {
            if place.regular {
                file.set_len(place.length)?;
            }
            return Err(written.err().unwrap_or_else(|| io::ErrorKind::StorageFull.into()));
        }
        if self.settings.sync && !buffer.is_empty() {
            file.sync_data()?;
        }
        for old in &place.beyond {
            if let Err(error) = self.folder.remove(old)
                && is_log_due(&mut state.size_logged_at)
            {
                let path = self.path.with_file_name(old);
                let path = path.display();
                tracing::error!(%path, %error, "cannot remove the audit file beyond audit.keep");
            }
        }
        let length = if place.regular { place.length + buffer.len() as u64 } else { 0 };
        state.known = Some(place.known(length, head));
        // If the lock cannot be released, closing the file releases it.
        state.file = file.unlock().is_ok().then_some(file);
        Ok(())
    }
}

impl AuditLogState {
    /// Whether another process has held the file for longer than the timeout.
    fn is_stuck(&self) -> bool {
        self.held_since.is_some_and(|since| since.elapsed() >= LOCK_TIMEOUT)
    }
}

impl LockedLogFile {
    /// What is known about the file once it ends with this line.
    fn known(&self, length: u64, head: ChainHead) -> LastWrittenFile {
        let first = self.first.unwrap_or(self.head.seq.saturating_add(1));
        LastWrittenFile { identity: self.identity, length, first, head, turned: false }
    }
}

/// Whether enough time has passed to log again; if so, restarts the interval.
fn is_log_due(last: &mut Option<Instant>) -> bool {
    let is_time = last.is_none_or(|at| at.elapsed() >= FAILURE_LOG_INTERVAL);
    if is_time {
        *last = Some(Instant::now());
    }
    is_time
}

/// The head further along the chain; the second if they are equal.
fn newer(one: Option<ChainHead>, other: Option<ChainHead>) -> Option<ChainHead> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if one.seq > other.seq { one } else { other }),
        (one, other) => one.or(other),
    }
}

/// The current time in the format of the log: UTC with milliseconds, so that times sort as text.
pub(crate) fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
