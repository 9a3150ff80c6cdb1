//! docent's side: starts the supervisor, sends it orders, and detects that it was killed.

use crate::{
    CommandPolicy, Launch, LaunchError, ProgramEnd, SUBCOMMAND,
    packet::{self, PacketInbox, ReceiveOutcome},
    process::{SupervisedChild, SupervisedProcess, SupervisorLink},
    protocol::{
        CommandLineWord, LaunchOrder, SupervisorAnswer, SupervisorNotice, SupervisorRequest,
        SupervisorSetup,
    },
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::{Shutdown, shutdown},
};
use std::{
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::ExitStatusExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    net::unix::pipe,
    signal::unix::{SignalKind, signal},
    time::{sleep, timeout},
};

/// How long to wait before a send to a busy supervisor is retried, and how often.
const RETRY_PAUSE: Duration = Duration::from_millis(2);
const MAX_SEND_ATTEMPTS: usize = 2_500;

/// How often an order is sent, if the supervisor that got it was killed.
const MAX_LAUNCH_ATTEMPTS: usize = 3;

/// How long to wait for the guard once the supervisor is gone.
const GUARD_TIMEOUT: Duration = Duration::from_secs(1);

/// Settings of a supervisor for all orders.
#[derive(Debug, Clone)]
pub struct SupervisorSettings {
    /// The executable that calls [`crate::run`] for [`SUBCOMMAND`] and [`docent_sandbox::run_confined`] for its own.
    pub executable: PathBuf,
    /// Which programs may be started.
    pub commands: CommandPolicy,
    /// The first argument with which [`OWN_EXECUTABLE`](crate::OWN_EXECUTABLE) may be started, whatever `commands` says.
    pub own: Option<String>,
    /// How long programs have to end after they are asked to, because docent is gone or has dropped them.
    pub grace: Duration,
    /// Maximum number of running programs.
    pub max_programs: usize,
}

impl SupervisorSettings {
    /// Allows every program, 256 at a time, with 500 ms to end.
    pub fn new(executable: impl Into<PathBuf>) -> Self {
        Self {
            executable: executable.into(),
            commands: CommandPolicy::default(),
            own: None,
            grace: Duration::from_millis(500),
            max_programs: 256,
        }
    }
}

/// The process that starts programs, and its guard, which starts it again when it is killed. Clones refer to the same
/// one; when the last is dropped, every program ends, and then the supervisor and its guard.
#[derive(Debug, Clone)]
pub struct Supervisor(Arc<SupervisorInner>);

#[derive(Debug)]
struct SupervisorInner {
    socket: OwnedFd,
    guard: Mutex<std::process::Child>,
    guard_pid: u32,
}

/// An event of the supervisor, reported by [`Supervisor::watch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupervisorEvent {
    /// The supervisor ended in this way, and its programs with it. Another supervisor has replaced it.
    Restarted(ProgramEnd),
    /// The guard ended in this way. The supervisor and its programs continue, but if it is killed as well, no other is
    /// started.
    Unguarded(ProgramEnd),
    /// Keeper and guard are gone; no more programs can be started.
    Gone,
}

/// A supervisor that is starting and has no settings yet. It ends when this is dropped.
#[derive(Debug)]
pub struct UnconfiguredSupervisor {
    socket: OwnedFd,
    process: std::process::Child,
}

impl UnconfiguredSupervisor {
    /// Starts the process; `executable` is that of the [`SupervisorSettings`]. See [`Supervisor::start`] for when to call it.
    pub fn start(executable: &Path) -> io::Result<Self> {
        let (socket, theirs) = packet::pair()?;
        // Its environment is empty: other processes of the user may be able to read it, and docent's contains secrets.
        let process = Command::new(executable)
            .arg(SUBCOMMAND)
            .env_clear()
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { socket, process })
    }

    /// Sends it the settings for all orders.
    pub fn configure(self, settings: SupervisorSettings) -> io::Result<Supervisor> {
        let setup = SupervisorSetup {
            executable: CommandLineWord::of(settings.executable.as_os_str()),
            commands: settings.commands,
            own: settings.own,
            grace_ms: milliseconds(settings.grace),
            most: settings.max_programs,
        };
        for part in packet::parts(&serde_json::to_vec(&setup)?) {
            part.send(self.socket.as_fd(), &[])?;
        }
        let Self { socket, process } = self;
        let guard_pid = process.id();
        Ok(Supervisor(Arc::new(SupervisorInner { socket, guard: Mutex::new(process), guard_pid })))
    }
}

impl Supervisor {
    /// Starts the supervisor. Must be called before docent confines itself; needs no runtime and leaves no thread.
    ///
    /// A supervisor that fails after its start is detected by the first [`Supervisor::spawn`].
    pub fn start(settings: SupervisorSettings) -> io::Result<Self> {
        UnconfiguredSupervisor::start(&settings.executable)?.configure(settings)
    }

    /// Returns the pid of the guard, whose child the supervisor is.
    pub fn guard_pid(&self) -> u32 {
        self.0.guard_pid
    }

    /// Reports events of the supervisor and its guard, and reaps the guard. Returns after [`SupervisorEvent::Gone`].
    ///
    /// Must be called once. Needs a tokio runtime with I/O, time and signals.
    pub async fn watch(&self, mut report: impl FnMut(SupervisorEvent)) -> io::Result<()> {
        let mut children = signal(SignalKind::child())?;
        let link = SupervisorLink::new(self.0.socket.try_clone()?)?;
        let mut is_guarded = true;
        loop {
            if let Some(ended) = self.reap_guard().filter(|_| is_guarded) {
                is_guarded = false;
                // It also ends by itself, after the supervisor.
                if !self.is_hung_up() {
                    report(SupervisorEvent::Unguarded(ended));
                }
            }
            tokio::select! {
                news = link.receive() => match news {
                    Ok(Some(message)) => {
                        if let Ok(SupervisorNotice::Restarted(ended)) = serde_json::from_slice(&message.bytes) {
                            report(SupervisorEvent::Restarted(ended));
                        }
                    }
                    Ok(None) | Err(_) => break,
                },
                _ = children.recv(), if is_guarded => {}
            }
        }
        let reaped =
            async { while self.reap_guard().is_none() && children.recv().await.is_some() {} };
        drop(timeout(GUARD_TIMEOUT, reaped).await);
        report(SupervisorEvent::Gone);
        Ok(())
    }

    /// Whether both the supervisor and its guard have closed the socket.
    fn is_hung_up(&self) -> bool {
        let mut sockets = [PollFd::new(&self.0.socket, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut sockets, Some(&now)).is_ok()
            && sockets.iter().any(|socket| socket.revents().contains(PollFlags::HUP))
    }

    /// Returns how the guard ended, if it has.
    fn reap_guard(&self) -> Option<ProgramEnd> {
        let mut guard = self.0.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let status = guard.try_wait().ok().flatten()?;
        let signal = status.signal().map(ProgramEnd::Signal);
        Some(signal.or(status.code().map(ProgramEnd::Code)).unwrap_or(ProgramEnd::KeeperGone))
    }

    /// Starts a program. The supervisor ignores the executable that `launch` would start it through.
    ///
    /// Dropping the future ends what it may have started. Needs a tokio runtime with I/O and time.
    pub async fn spawn(&self, launch: &Launch) -> Result<SupervisedChild, LaunchError> {
        for _ in 1..MAX_LAUNCH_ATTEMPTS {
            match self.order(launch).await {
                // It was killed while it handled the order. Its guard starts another one on the same socket.
                Err(LaunchError::KeeperGone) => {}
                other => return other,
            }
        }
        self.order(launch).await
    }

    async fn order(&self, launch: &Launch) -> Result<SupervisedChild, LaunchError> {
        let wrong = |reason: String| LaunchError::Order { reason };
        let order =
            serde_json::to_vec(&SupervisorRequest::Start(Box::new(LaunchOrder::of(launch))))
                .map_err(|error| wrong(error.to_string()))?;
        if order.len() > packet::MAX_MESSAGE_BYTES {
            return Err(wrong(format!("it is longer than {} bytes", packet::MAX_MESSAGE_BYTES)));
        }
        let (ours, theirs) = packet::pair().map_err(LaunchError::Unreachable)?;
        self.hand_over(theirs).await?;
        let link = SupervisorLink::new(ours).map_err(LaunchError::Unreachable)?;
        link.send(&order).await.map_err(unreachable)?;
        let Some(message) = link.receive().await.map_err(unreachable)? else {
            return Err(LaunchError::KeeperGone);
        };
        match serde_json::from_slice(&message.bytes) {
            Ok(SupervisorAnswer::Started { pid, warnings }) => {
                let process = SupervisedProcess::new(pid, warnings, link);
                child(process, message.descriptors).map_err(LaunchError::Unreachable)
            }
            Ok(SupervisorAnswer::Failed(failed)) => Err(failed),
            Ok(SupervisorAnswer::Ended(_)) | Err(_) => Err(LaunchError::KeeperGone),
        }
    }

    /// Sends the supervisor its end of a program's socket.
    async fn hand_over(&self, theirs: OwnedFd) -> Result<(), LaunchError> {
        let mut last = None;
        for _ in 0..MAX_SEND_ATTEMPTS {
            let part = packet::parts(b"program").next();
            let Some(part) = part else { break };
            match part.send(self.0.socket.as_fd(), &[theirs.as_fd()]) {
                Ok(()) => return Ok(()),
                // Many orders are queued, and the kernel limits the queue of a socket.
                Err(error) if busy(&error) => last = Some(error),
                Err(error) => return Err(unreachable(error)),
            }
            sleep(RETRY_PAUSE).await;
        }
        Err(LaunchError::Unreachable(last.unwrap_or_else(|| io::ErrorKind::TimedOut.into())))
    }

    /// Ends every program, and returns when none is left and the supervisor and its guard have ended. Blocks for
    /// slightly more than the grace at most.
    pub fn close(&self) -> io::Result<()> {
        // It fails if the supervisor is gone already.
        shutdown(&self.0.socket, Shutdown::Write).ok();
        // The guard may have ended before the supervisor; both have the socket open.
        let mut inbox = PacketInbox::default();
        loop {
            match inbox.receive(self.0.socket.as_fd(), false) {
                Ok(ReceiveOutcome::Message(_) | ReceiveOutcome::Part) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut sockets = [PollFd::new(&self.0.socket, PollFlags::IN)];
                    // An interrupted wait is repeated.
                    poll(&mut sockets, None).ok();
                }
                Ok(ReceiveOutcome::End) | Err(_) => break,
            }
        }
        let mut guard = self.0.guard.lock().unwrap_or_else(PoisonError::into_inner);
        guard.wait().map(drop)
    }
}

pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Whether a later attempt may succeed.
fn busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error() == Some(rustix::io::Errno::TOOMANYREFS.raw_os_error())
}

fn unreachable(error: io::Error) -> LaunchError {
    match error.kind() {
        io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::NotConnected => LaunchError::KeeperGone,
        _ => LaunchError::Unreachable(error),
    }
}

fn child(process: SupervisedProcess, descriptors: Vec<OwnedFd>) -> io::Result<SupervisedChild> {
    let Ok([stdin, stdout, stderr]) = <[OwnedFd; 3]>::try_from(descriptors) else {
        return Err(io::Error::other("a started program has no three pipes"));
    };
    Ok(SupervisedChild {
        stdin: pipe::Sender::from_owned_fd(stdin)?,
        stdout: pipe::Receiver::from_owned_fd(stdout)?,
        stderr: pipe::Receiver::from_owned_fd(stderr)?,
        process,
    })
}
