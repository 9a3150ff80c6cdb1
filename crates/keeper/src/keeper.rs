//! docent's side: starting the keeper, handing it orders, and noticing that it was killed.

use crate::{
    Commands, Ended, Failed, Launch, SUBCOMMAND,
    order::{Answer, Notice, Order, Request, Setup, Word},
    packet::{self, Inbox, Received},
    process::{Child, Link, Process},
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

/// How long to wait before a busy keeper is asked again, and how often.
const PAUSE: Duration = Duration::from_millis(2);
const ATTEMPTS: usize = 2_500;

/// How often an order is given to another keeper, where the one that had it was killed.
const MAX_ORDERS: usize = 3;

/// How long the guard is waited for once nothing is left that could start programs.
const GUARD_TIMEOUT: Duration = Duration::from_secs(1);

/// What a keeper is told once, for all orders.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The executable that calls [`crate::run`] for [`SUBCOMMAND`] and [`docent_sandbox::run_confined`] for its own.
    pub executable: PathBuf,
    /// Which programs may be started.
    pub commands: Commands,
    /// The first argument with which [`OWN_EXECUTABLE`](crate::OWN_EXECUTABLE) may be started, whatever `commands` says.
    pub own: Option<String>,
    /// How long programs have to end, once they are asked to because docent is gone or has dropped them.
    pub grace: Duration,
    /// How many programs may run at a time.
    pub most: usize,
}

impl Settings {
    /// Everything may be started, 256 at a time, and has 500 ms to end.
    pub fn new(executable: impl Into<PathBuf>) -> Self {
        Self {
            executable: executable.into(),
            commands: Commands::default(),
            own: None,
            grace: Duration::from_millis(500),
            most: 256,
        }
    }
}

/// The process that starts programs, and its guard, which starts it again when it is killed. Clones refer to the same one;
/// when the last is dropped, every program ends, and then the keeper and its guard.
#[derive(Debug, Clone)]
pub struct Keeper(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    socket: OwnedFd,
    guard: Mutex<std::process::Child>,
    guard_pid: u32,
}

/// What happened to the keeper, as [`Keeper::watch`] reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeeperEvent {
    /// The keeper ended in this way. Its programs have ended with it, and another keeper has taken its place.
    Restarted(Ended),
    /// The guard ended in this way. The keeper and its programs go on, but when it is killed as well, no other is started.
    Unguarded(Ended),
    /// Keeper and guard are gone: no program can be started any more.
    Gone,
}

/// A keeper that starts and has not been told yet which programs it may start. Dropped, it ends.
#[derive(Debug)]
pub struct Begun {
    socket: OwnedFd,
    process: std::process::Child,
}

impl Begun {
    /// Starts the process: `executable` is that of the [`Settings`]. The same holds as for [`Keeper::start`].
    pub fn start(executable: &Path) -> io::Result<Self> {
        let (socket, theirs) = packet::pair()?;
        // Its environment is empty: other processes of the user may be able to read it, and docent's holds secrets.
        let process = Command::new(executable)
            .arg(SUBCOMMAND)
            .env_clear()
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { socket, process })
    }

    /// Tells it what holds for every order.
    pub fn settle(self, settings: Settings) -> io::Result<Keeper> {
        let setup = Setup {
            executable: Word::of(settings.executable.as_os_str()),
            commands: settings.commands,
            own: settings.own,
            grace_ms: milliseconds(settings.grace),
            most: settings.most,
        };
        for part in packet::parts(&serde_json::to_vec(&setup)?) {
            part.send(self.socket.as_fd(), &[])?;
        }
        let Self { socket, process } = self;
        let guard_pid = process.id();
        Ok(Keeper(Arc::new(Inner { socket, guard: Mutex::new(process), guard_pid })))
    }
}

impl Keeper {
    /// Starts the keeper. To be called before docent confines itself; needs no runtime and leaves no thread.
    ///
    /// A keeper that fails after its start is noticed at the first [`Keeper::spawn`].
    pub fn start(settings: Settings) -> io::Result<Self> {
        Begun::start(&settings.executable)?.settle(settings)
    }

    /// The process number of the guard, whose child the keeper is.
    pub fn guard_pid(&self) -> u32 {
        self.0.guard_pid
    }

    /// Reports what happens to the keeper and its guard, and reaps the guard. Returns after [`KeeperEvent::Gone`].
    ///
    /// To be called once. Needs a tokio runtime with I/O, time and signals.
    pub async fn watch(&self, mut report: impl FnMut(KeeperEvent)) -> io::Result<()> {
        let mut children = signal(SignalKind::child())?;
        let link = Link::new(self.0.socket.try_clone()?)?;
        let mut is_guarded = true;
        loop {
            if let Some(ended) = self.reap_guard().filter(|_| is_guarded) {
                is_guarded = false;
                // It also ends by itself, after the keeper.
                if !self.is_hung_up() {
                    report(KeeperEvent::Unguarded(ended));
                }
            }
            tokio::select! {
                news = link.receive() => match news {
                    Ok(Some(message)) => {
                        if let Ok(Notice::Restarted(ended)) = serde_json::from_slice(&message.bytes) {
                            report(KeeperEvent::Restarted(ended));
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
        report(KeeperEvent::Gone);
        Ok(())
    }

    /// Whether neither the keeper nor its guard has the socket open.
    fn is_hung_up(&self) -> bool {
        let mut sockets = [PollFd::new(&self.0.socket, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut sockets, Some(&now)).is_ok()
            && sockets.iter().any(|socket| socket.revents().contains(PollFlags::HUP))
    }

    /// How the guard ended, if it has.
    fn reap_guard(&self) -> Option<Ended> {
        let mut guard = self.0.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let status = guard.try_wait().ok().flatten()?;
        let signal = status.signal().map(Ended::Signal);
        Some(signal.or(status.code().map(Ended::Code)).unwrap_or(Ended::KeeperGone))
    }

    /// Starts a program. What `launch` says of the executable to start it through is the keeper's own matter.
    ///
    /// Dropping the future ends what it may have started. Needs a tokio runtime with I/O and time.
    pub async fn spawn(&self, launch: &Launch) -> Result<Child, Failed> {
        for _ in 1..MAX_ORDERS {
            match self.order(launch).await {
                // It was killed while it had the order. Its guard starts another one on the same socket.
                Err(Failed::KeeperGone) => {}
                other => return other,
            }
        }
        self.order(launch).await
    }

    async fn order(&self, launch: &Launch) -> Result<Child, Failed> {
        let wrong = |reason: String| Failed::Order { reason };
        let order = serde_json::to_vec(&Request::Start(Box::new(Order::of(launch))))
            .map_err(|error| wrong(error.to_string()))?;
        if order.len() > packet::LONGEST {
            return Err(wrong(format!("it is longer than {} bytes", packet::LONGEST)));
        }
        let (ours, theirs) = packet::pair().map_err(Failed::Unreachable)?;
        self.hand_over(theirs).await?;
        let link = Link::new(ours).map_err(Failed::Unreachable)?;
        link.send(&order).await.map_err(unreachable)?;
        let Some(message) = link.receive().await.map_err(unreachable)? else {
            return Err(Failed::KeeperGone);
        };
        match serde_json::from_slice(&message.bytes) {
            Ok(Answer::Started { pid, warnings }) => {
                let process = Process::new(pid, warnings, link);
                child(process, message.descriptors).map_err(Failed::Unreachable)
            }
            Ok(Answer::Failed(failed)) => Err(failed),
            Ok(Answer::Ended(_)) | Err(_) => Err(Failed::KeeperGone),
        }
    }

    /// Gives the keeper its end of a program's socket.
    async fn hand_over(&self, theirs: OwnedFd) -> Result<(), Failed> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let part = packet::parts(b"program").next();
            let Some(part) = part else { break };
            match part.send(self.0.socket.as_fd(), &[theirs.as_fd()]) {
                Ok(()) => return Ok(()),
                // Many orders are on their way, and the kernel bounds what waits in a socket.
                Err(error) if busy(&error) => last = Some(error),
                Err(error) => return Err(unreachable(error)),
            }
            sleep(PAUSE).await;
        }
        Err(Failed::Unreachable(last.unwrap_or_else(|| io::ErrorKind::TimedOut.into())))
    }

    /// Ends every program, and returns when none is left and the keeper and its guard have ended. Blocks up to the grace and
    /// a little more.
    pub fn close(&self) -> io::Result<()> {
        // It fails where the keeper is gone already.
        shutdown(&self.0.socket, Shutdown::Write).ok();
        // The guard may be gone, and the keeper not: both have the socket open.
        let mut inbox = Inbox::default();
        loop {
            match inbox.receive(self.0.socket.as_fd(), false) {
                Ok(Received::Message(_) | Received::Part) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut sockets = [PollFd::new(&self.0.socket, PollFlags::IN)];
                    // An interrupted wait is begun again.
                    poll(&mut sockets, None).ok();
                }
                Ok(Received::End) | Err(_) => break,
            }
        }
        let mut guard = self.0.guard.lock().unwrap_or_else(PoisonError::into_inner);
        guard.wait().map(drop)
    }
}

pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Whether a later attempt may pass.
fn busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || error.raw_os_error() == Some(rustix::io::Errno::TOOMANYREFS.raw_os_error())
}

fn unreachable(error: io::Error) -> Failed {
    match error.kind() {
        io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::NotConnected => Failed::KeeperGone,
        _ => Failed::Unreachable(error),
    }
}

fn child(process: Process, descriptors: Vec<OwnedFd>) -> io::Result<Child> {
    let Ok([stdin, stdout, stderr]) = <[OwnedFd; 3]>::try_from(descriptors) else {
        return Err(io::Error::other("a program came without its three pipes"));
    };
    Ok(Child {
        stdin: pipe::Sender::from_owned_fd(stdin)?,
        stdout: pipe::Receiver::from_owned_fd(stdout)?,
        stderr: pipe::Receiver::from_owned_fd(stderr)?,
        process,
    })
}
