//! Writing: each line under a lock, in the chain, in a file that is turned over; and what happens when it can't be.

use crate::{
    AuditEntry,
    chain::{HashChain, ChainHead},
    event::{FileStart, AuditLogEvent},
    file,
};
use docent_files::{DataFile, ManagedFolder, FileIdentity};
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

/// A log that can't be written is told of at most this often.
const FAILURE_LOG_INTERVAL: Duration = Duration::from_mins(1);
/// How long to wait for other processes, which write their lines or turn the file over. Either takes microseconds; one
/// that was stopped in the middle of it must not stop this one.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// The same for each line once one has held the file for that long.
const STUCK_LOCK_TIMEOUT: Duration = Duration::from_millis(10);

/// What to do with a call whose line can't be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteFailurePolicy {
    /// Refuse it: nothing happens unrecorded.
    Refuse,
    /// Let it go on. The line is counted, and the number is recorded once there is room again.
    #[default]
    Drop,
}

/// How a log is kept.
#[derive(Clone)]
pub struct AuditLogSettings {
    /// Bytes after which a file is turned over.
    pub max_bytes: u64,
    /// Older files that stay.
    pub keep: usize,
    /// What to do when a line can't be written.
    pub on_full: WriteFailurePolicy,
    /// Makes the chain an HMAC, which nobody without the key can forge. An empty key is none.
    pub key: Option<Vec<u8>>,
    /// Waits for the disk after each line, so that a power cut loses none.
    pub sync: bool,
}

impl Default for AuditLogSettings {
    fn default() -> Self {
        Self { max_bytes: 16 << 20, keep: 5, on_full: WriteFailurePolicy::default(), key: None, sync: false }
    }
}

impl std::fmt::Debug for AuditLogSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("max_bytes", &self.max_bytes)
            .field("keep", &self.keep)
            .field("on_full", &self.on_full)
            .field("keyed", &self.key.is_some())
            .field("sync", &self.sync)
            .finish()
    }
}

/// A line can't be written, and the call is to be refused.
#[derive(Debug, thiserror::Error)]
#[error("audit line can't be written: {}", reason(.0))]
pub struct AuditWriteError(#[source] io::Error);

/// Why a line can't be written, for clients: where the log is stays on the server.
fn reason(error: &io::Error) -> String {
    if docent_files::is_link_error(error) {
        "the log was replaced by a symbolic link".to_owned()
    } else {
        error.to_string()
    }
}

/// A log that lines are written to. Shared between threads; several processes may write to one file.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    folder: ManagedFolder,
    name: OsString,
    settings: AuditLogSettings,
    chain: HashChain,
    state: Mutex<AuditLogState>,
    failures: AtomicU64,
    /// The last attempt to write, or to open, went well.
    sound: AtomicBool,
}

#[derive(Debug, Default)]
struct AuditLogState {
    file: Option<DataFile>,
    known: Option<LastWrittenFile>,
    /// The file that was written to before it was moved away.
    left: Option<DataFile>,
    /// Since when every attempt has found another process with the lock.
    held_since: Option<Instant>,
    /// Lines that could not be written, and since when.
    lost: Option<(u64, String)>,
    failure_logged_at: Option<Instant>,
    size_logged_at: Option<Instant>,
}

/// What this process knows of the file that it wrote to last. It outlives the file's handle.
#[derive(Debug, Clone, Copy)]
struct LastWrittenFile {
    identity: FileIdentity,
    length: u64,
    /// The number of its first line.
    first: u64,
    head: ChainHead,
    /// This process turned the file over.
    turned: bool,
}

/// A file whose lock is held, and how the chain goes on in it.
struct LockedLogFile {
    identity: FileIdentity,
    /// A file on a disk, not a device.
    regular: bool,
    length: u64,
    /// The number of its first line, if it has one.
    first: Option<u64>,
    /// The line that the next one follows.
    head: ChainHead,
    /// Its last line lacks a newline.
    newline: bool,
    /// What is to be said before the next line.
    event: Option<AuditLogEvent>,
    /// What is to be said of a file that has no line yet.
    begun: Option<AuditLogEvent>,
    /// Older files that are removed once that is said.
    beyond: Vec<OsString>,
}

impl AuditLog {
    /// A log at `path`. The file is opened with the first line, or with the first question whether it is ready.
    ///
    /// Neither the file nor its folder may be a symbolic link; links further up are followed once, here.
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

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lines that could not be written, since the log was opened.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Writes the line of one call. With [`WriteFailurePolicy::Drop`] a line that can't be written is no error. This waits for other
    /// processes that hold the file.
    pub fn append(&self, entry: &AuditEntry<'_>) -> Result<(), AuditWriteError> {
        let (state, written) = self.wait(Some(entry));
        self.judge(state, written)
    }

    /// The same without waiting: `None` while another process holds the file, and nothing is written or counted.
    pub fn append_at_once(&self, entry: &AuditEntry<'_>) -> Option<Result<(), AuditWriteError>> {
        let mut state = self.state();
        let written = self.attempt(&mut state, Some(entry));
        (!file::is_held(&written)).then(|| self.judge(state, written))
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

    /// Whether a call may run as far as is known, which takes one load.
    pub fn is_sound(&self) -> bool {
        self.settings.on_full == WriteFailurePolicy::Drop || self.sound.load(Ordering::Acquire)
    }

    /// Whether a call may run: not if its line is known to be impossible and must be written. Unless the log is sound, this
    /// waits as [`AuditLog::append`] does.
    pub fn ready(&self) -> Result<(), AuditWriteError> {
        if self.is_sound() {
            return Ok(());
        }
        // Lines that were lost are recorded by this: if they can be, so can others.
        let (mut state, written) = self.wait(None);
        written.map_err(|error| {
            self.log_failure(&mut state, &error);
            AuditWriteError(error)
        })
    }

    /// Tries until no other process is in the way, or one has been for too long. Whoever waits holds up nobody: the state is
    /// free between two attempts.
    fn wait(&self, entry: Option<&AuditEntry<'_>>) -> (MutexGuard<'_, AuditLogState>, io::Result<()>) {
        let began = Instant::now();
        file::wait(|| {
            let mut state = self.state();
            // One that was opened earlier may have been moved away: it is given up only for what is at the path by now.
            let is_fresh = state.file.is_none();
            let written = self.attempt(&mut state, entry);
            let gives_up = is_fresh && state.is_stuck() && began.elapsed() >= STUCK_LOCK_TIMEOUT;
            (!file::is_held(&written) || gives_up).then_some((state, written))
        })
    }

    fn state(&self) -> MutexGuard<'_, AuditLogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At once, and then now and then.
    fn log_failure(&self, state: &mut AuditLogState, error: &io::Error) {
        if !is_log_due(&mut state.failure_logged_at) {
            return;
        }
        let (path, lost, policy) = (self.path.display(), self.failures(), self.settings.on_full);
        tracing::error!(%path, %error, lost, ?policy, "audit lines can't be written");
    }

    fn attempt(&self, state: &mut AuditLogState, entry: Option<&AuditEntry<'_>>) -> io::Result<()> {
        let written = self.write(state, entry);
        if file::is_held(&written) {
            state.held_since.get_or_insert_with(Instant::now);
            if state.is_stuck() {
                // It may be one that was moved away: the next attempt is for the file that is at the path by then.
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
                tracing::warn!(%path, lost, since, "audit lines are written again");
            }
        }
        written
    }

    /// Writes what is to be said of the log, and the entry, in one write. On an error the file is closed, and with it
    /// goes the lock, if this process had it; what is known of the file stays.
    fn write(&self, state: &mut AuditLogState, entry: Option<&AuditEntry<'_>>) -> io::Result<()> {
        let (file, place) = self.enter(state)?;
        let (buffer, head) = self.lines(&place, state.lost.as_ref(), entry);
        let length = place.length.saturating_add(buffer.len() as u64);
        // A torn line is closed where it is.
        let turn = place.length > 0 && !place.newline && length > self.settings.max_bytes;
        if buffer.is_empty() || !turn {
            return self.put(state, (file, place), &buffer, head);
        }
        let (file, place) = self.turn_over(state, file, place)?;
        let (buffer, head) = self.lines(&place, state.lost.as_ref(), entry);
        self.put(state, (file, place), &buffer, head)
    }

    /// Opens and locks the file at the path, and finds out how the chain goes on in it.
    fn enter(&self, state: &mut AuditLogState) -> io::Result<(DataFile, LockedLogFile)> {
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
                // Moved away, perhaps by another of us. Its lock is given back: others may still wait for it.
                // Closing the file gives it back as well.
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
            let place = self.place(empty, file.as_file(), state.known, left.as_ref())?;
            return Ok((file, place));
        }
        Err(io::Error::other("the audit file is moved away again and again"))
    }

    /// Logs that the file is not the one that this process wrote to last, unless it was turned over.
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
            tracing::warn!(%path, from, to, "the audit file was replaced: these lines are in none of the files of the log");
        }
    }

    /// How the chain goes on in a file. The newest line that is known decides, so that a file that was put back to an
    /// earlier state shows as lines that are missing.
    fn place(
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
            // The lines before this one are in none of the files of the log.
            let moved = known.filter(|known| !known.turned && last != head);
            let from = moved.map(|known| known.first);
            place.event = from.map(|from| AuditLogEvent::RotatedElsewhere { from, to: place.head.seq });
        }
        if let Some(before) = before.filter(|_| place.regular && last.is_some()) {
            let first = place.head.seq.saturating_add(1);
            let begun = file::begun(before.as_file(), &self.chain)?.unwrap_or(FileStart::FIRST);
            place.begun = Some(AuditLogEvent::Begun(begun.next(first, self.settings.keep)));
            place.beyond = file::excess_files(&self.folder, &self.name, self.settings.keep);
        }
        Ok(place)
    }

    /// The file before the one that begins. One that can't be read at this moment is an error: without what it says of
    /// itself, files that are removed later would count as missing. One that can never be read is left out.
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

    /// What is to be written, and the last line of it.
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
        let dropped =
            lost.map(|(count, since)| AuditLogEvent::Dropped { count: *count, since: since.clone() });
        let events = place.event.iter().chain(&place.begun).chain(&dropped);
        let events = events.map(|event| event.members(&time));
        for members in events.chain(entry.map(|entry| entry.members(&time))) {
            head = self.chain.seal(head, members.bytes(), &mut buffer);
        }
        (buffer, head)
    }

    /// Begins a new file, or goes on in the old one if that can't be: the record is worth more than the bound.
    fn turn_over(
        &self,
        state: &mut AuditLogState,
        file: DataFile,
        place: LockedLogFile,
    ) -> io::Result<(DataFile, LockedLogFile)> {
        if let Err(error) = file::turn_over(&self.folder, &self.name) {
            if is_log_due(&mut state.size_logged_at) {
                let path = self.path.display();
                tracing::error!(%path, %error, "the audit file can't be turned over, and grows past audit.max_bytes");
            }
            return Ok((file, place));
        }
        state.known = Some(LastWrittenFile { turned: true, ..place.known(place.length, place.head) });
        drop(file);
        self.enter(state)
    }

    /// One write. What was written in part is taken back, so that a full disk leaves no torn line.
    fn put(
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
                && is_log_due(&mut state.told_of_size)
            {
                let path = self.path.with_file_name(old);
                let path = path.display();
                tracing::error!(%path, %error, "the audit file is one more than audit.keep, and can't be removed");
            }
        }
        let length = if place.regular { place.length + buffer.len() as u64 } else { 0 };
        state.known = Some(place.known(length, head));
        // A file whose lock can't be given back is closed, which does.
        state.file = file.unlock().is_ok().then_some(file);
        Ok(())
    }
}

impl AuditLogState {
    /// Whether another process has held the file for longer than it is waited for.
    fn is_stuck(&self) -> bool {
        self.held_since.is_some_and(|since| since.elapsed() >= LOCK_TIMEOUT)
    }
}

impl LockedLogFile {
    /// What is known of the file once it ends with this line.
    fn known(&self, length: u64, head: ChainHead) -> LastWrittenFile {
        let first = self.first.unwrap_or(self.head.seq.saturating_add(1));
        LastWrittenFile { identity: self.identity, length, first, head, turned: false }
    }
}

/// Whether something was not told of for a while; it is now.
fn is_log_due(told: &mut Option<Instant>) -> bool {
    let is_time = told.is_none_or(|told| told.elapsed() >= FAILURE_LOG_INTERVAL);
    if is_time {
        *told = Some(Instant::now());
    }
    is_time
}

/// The one further on in the chain; the second if they are as far.
fn newer(one: Option<ChainHead>, other: Option<ChainHead>) -> Option<ChainHead> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if one.seq > other.seq { one } else { other }),
        (one, other) => one.or(other),
    }
}

/// This moment, as lines have it: in UTC, with thousandths, so that times sort as texts.
pub(crate) fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
