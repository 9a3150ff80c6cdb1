//! docent's side: starting the keeper, and handing it orders.

use crate::{
    Commands, Failed, Launch, SUBCOMMAND,
    order::{Answer, Order, Request, Setup, Word},
    packet,
    process::{Child, Link, Process},
};
use rustix::net::{Shutdown, shutdown};
use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{net::unix::pipe, time::sleep};

/// How long to wait before a busy keeper is asked again, and how often.
const PAUSE: Duration = Duration::from_millis(2);
const ATTEMPTS: usize = 2_500;

/// What a keeper is told once, for all orders.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The executable that calls [`crate::run`] for [`SUBCOMMAND`] and [`docent_sandbox::run_confined`] for its own.
    pub executable: PathBuf,
    /// Which programs may be started.
    pub commands: Commands,
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
            grace: Duration::from_millis(500),
            most: 256,
        }
    }
}

/// The process that starts programs. Clones stand for the same one; when the last is dropped, it ends every program and
/// then itself.
#[derive(Debug, Clone)]
pub struct Keeper(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    socket: OwnedFd,
    process: Mutex<std::process::Child>,
    pid: u32,
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
            grace_ms: milliseconds(settings.grace),
            most: settings.most,
        };
        for part in packet::parts(&serde_json::to_vec(&setup)?) {
            part.send(self.socket.as_fd(), &[])?;
        }
        let Self { socket, process } = self;
        let pid = process.id();
        Ok(Keeper(Arc::new(Inner { socket, process: Mutex::new(process), pid })))
    }
}

impl Keeper {
    /// Starts the keeper. To be called before docent confines itself; needs no runtime and leaves no thread.
    ///
    /// A keeper that fails after its start is noticed at the first [`Keeper::spawn`].
    pub fn start(settings: Settings) -> io::Result<Self> {
        Begun::start(&settings.executable)?.settle(settings)
    }

    /// The keeper's process number.
    pub fn pid(&self) -> u32 {
        self.0.pid
    }

    /// Starts a program. What `launch` says of the executable to start it through is the keeper's own matter.
    ///
    /// Dropping the future ends what it may have started. Needs a tokio runtime with I/O and time.
    pub async fn spawn(&self, launch: &Launch) -> Result<Child, Failed> {
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

    /// Ends every program, and returns when none is left and the keeper has ended. Blocks up to the grace and a little
    /// more.
    pub fn close(&self) -> io::Result<()> {
        // It fails where the keeper is gone already.
        shutdown(&self.0.socket, Shutdown::Both).ok();
        let mut process = self.0.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.wait().map(drop)
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
