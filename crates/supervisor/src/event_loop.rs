//! The supervisor's side: a process with one thread that starts programs, adopts their orphaned descendants and ends
//! everything; and its guard, which restarts it when it is killed.

mod family;
mod guard;
mod marks;
mod oom;
mod program;
mod start;

use crate::{
    LaunchError, ProgramEnd,
    packet::{PacketInbox, PacketMessage, ReceiveOutcome},
    protocol::{SupervisorRequest, SupervisorSetup},
};
use docent_sandbox::SandboxSupport;
use marks::ProgramMark;
use oom::OomScores;
use program::{ProgramState, SupervisedProgram};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, WaitIdOptions, getpid, set_child_subreaper, setsid, waitid},
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use start::ProgramStarter;
use std::{
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

/// Exit code for a usage error.
const USAGE_ERROR_EXIT_CODE: u8 = 2;

/// Packets that are read from one socket before the others get their turn.
const MAX_MESSAGES_PER_TURN: usize = 64;

/// How long to wait when `poll` fails.
const POLL_FAILURE_PAUSE: Duration = Duration::from_millis(20);

/// Main function of the supervisor and its guard. Standard input is the socket to docent; returns when docent is gone
/// and every program has ended. Must be called before the process has a second thread.
pub fn run() -> ExitCode {
    match run_supervisor() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is closed, there is only the exit code.
            drop(writeln!(
                io::stderr(),
                "docent: {}: {error}; docent calls this itself",
                crate::SUBCOMMAND
            ));
            ExitCode::from(USAGE_ERROR_EXIT_CODE)
        }
    }
}

fn run_supervisor() -> io::Result<()> {
    // docent may have inherited descriptors that were left open by mistake. Programs must not get them.
    close_fds::set_fds_cloexec(3, &[]);
    let signals = signals()?;
    // A session of its own: the terminal's signals are for docent, which decides what to do. Refused to the leader of a
    // group, which a process started by docent is not.
    if let Err(error) = setsid()
        && error != Errno::PERM
    {
        return Err(error.into());
    }
    set_child_subreaper(Some(getpid()))?;
    let docent = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    // Detected while docent prepares the setup.
    let offered = SandboxSupport::look();
    let Some(setup) = setup(&docent)? else { return Ok(()) };
    let scores = OomScores::apply();
    guard::run(&docent, || {
        let mut keep = SupervisorLoop {
            docent: Some(docent.try_clone()?),
            signals: signals.try_clone()?,
            grace: Duration::from_millis(setup.grace_ms),
            starter: ProgramStarter::new(setup.clone(), offered.clone(), scores),
            programs: Vec::new(),
        };
        while keep.run_once() {}
        Ok(())
    })
}

/// Returns a socket that becomes readable after a signal. The handlers also keep the signals from ending this process;
/// unlike ignored signals, handled ones are reset to the default in the programs.
fn signals() -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    for signal in [SIGCHLD, SIGINT, SIGHUP, SIGTERM] {
        signal_hook::low_level::pipe::register(signal, theirs.try_clone()?)?;
    }
    Ok(ours)
}

/// Reads the first message; `None` if docent ends before it.
fn setup(docent: &OwnedFd) -> io::Result<Option<SupervisorSetup>> {
    let mut inbox = PacketInbox::default();
    loop {
        match inbox.receive(docent.as_fd(), true)? {
            ReceiveOutcome::Message(message) => {
                return Ok(Some(serde_json::from_slice(&message.bytes)?));
            }
            ReceiveOutcome::Part => {}
            ReceiveOutcome::End => return Ok(None),
        }
    }
}

struct SupervisorLoop {
    /// docent's socket, until it closes.
    docent: Option<OwnedFd>,
    signals: UnixStream,
    starter: ProgramStarter,
    grace: Duration,
    programs: Vec<SupervisedProgram>,
}

impl SupervisorLoop {
    /// Waits for events and handles them. False when docent is gone and no process is left.
    fn run_once(&mut self) -> bool {
        for at in self.wait() {
            self.read_program_socket(at);
        }
        // Signals are read before the sweep: a later one causes another turn.
        let mut seen = [0; 64];
        while matches!(self.signals.read(&mut seen), Ok(1..)) {}
        self.read_control_socket();
        let now = Instant::now();
        for program in &mut self.programs {
            program.signal_when_due(now);
        }
        self.reap_ended_programs();
        let left = self.sweep();
        self.programs.retain(|program| !program.is_over());
        self.docent.is_some() || left || !self.programs.is_empty()
    }

    /// Waits until a socket is readable or a signal is due. Returns the programs whose sockets are readable.
    fn wait(&self) -> Vec<usize> {
        let mut sockets = vec![PollFd::new(&self.signals, PollFlags::IN)];
        sockets.extend(self.docent.iter().map(|socket| PollFd::new(socket, PollFlags::IN)));
        let others = sockets.len();
        let mut places = Vec::new();
        for (at, program) in self.programs.iter().enumerate() {
            if let Some(socket) = &program.socket {
                sockets.push(PollFd::new(socket, PollFlags::IN));
                places.push(at);
            }
        }
        let due = self.programs.iter().filter_map(SupervisedProgram::due).min();
        let wait = due.map(|due| due.saturating_duration_since(Instant::now()));
        // Rounded up, so that the signal is due when the wait is over.
        let wait = wait.and_then(|wait| Timespec::try_from(wait + Duration::from_micros(100)).ok());
        match poll(&mut sockets, wait.as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Vec::new(),
            Err(_) => {
                // The kernel is out of memory. Giving up would release all programs, so every socket is polled from
                // time to time.
                thread::sleep(POLL_FAILURE_PAUSE);
                return places;
            }
        }
        let ready = sockets.iter().skip(others).map(|socket| !socket.revents().is_empty());
        places.into_iter().zip(ready).filter_map(|(at, ready)| ready.then_some(at)).collect()
    }

    /// Reads docent's control socket, which carries only sockets of new programs.
    fn read_control_socket(&mut self) {
        let mut inbox = PacketInbox::default();
        for _ in 0..MAX_MESSAGES_PER_TURN {
            let Some(docent) = &self.docent else { return };
            match inbox.receive(docent.as_fd(), false) {
                Ok(ReceiveOutcome::Message(PacketMessage { descriptors, .. }))
                    if descriptors.len() == 1 =>
                {
                    self.programs.extend(descriptors.into_iter().map(SupervisedProgram::new));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Anything else is not from docent, or docent is broken.
                Ok(_) | Err(_) => self.close(),
            }
        }
    }

    /// Ends every program, because docent is gone.
    fn close(&mut self) {
        self.docent = None;
        for program in &mut self.programs {
            program.end_now(self.grace);
        }
    }

    fn read_program_socket(&mut self, at: usize) {
        for _ in 0..MAX_MESSAGES_PER_TURN {
            let Some(program) = self.programs.get_mut(at) else { return };
            let Some(socket) = &program.socket else { return };
            match program.inbox.receive(socket.as_fd(), false) {
                Ok(ReceiveOutcome::Part) => {}
                Ok(ReceiveOutcome::Message(message)) => self.handle_request(at, &message),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Ok(ReceiveOutcome::End) | Err(_) => program.end_now(self.grace),
            }
        }
    }

    fn handle_request(&mut self, at: usize, message: &PacketMessage) {
        let running = self.programs.iter().filter(|program| program.running().is_some()).count();
        let Some(program) = self.programs.get_mut(at) else { return };
        match (serde_json::from_slice(&message.bytes), &program.state) {
            (Ok(SupervisorRequest::Start(order)), ProgramState::Fresh) => {
                match self.starter.start(*order, running) {
                    Ok(started) => program.record_start(started, self.grace),
                    Err(failed) => program.refuse(failed),
                }
            }
            (Ok(SupervisorRequest::End { grace_ms }), ProgramState::Running(_)) => {
                program.end_within(Duration::from_millis(grace_ms));
            }
            // It has just ended.
            (Ok(SupervisorRequest::End { .. }), ProgramState::Leaving(_) | ProgramState::Over) => {}
            (Err(error), ProgramState::Fresh) => {
                program.refuse(LaunchError::Order { reason: error.to_string() });
            }
            (Ok(_) | Err(_), _) => program.end_now(self.grace),
        }
    }

    /// Records programs that have ended, and kills their groups.
    fn reap_ended_programs(&mut self) {
        for program in &mut self.programs {
            if let Some(pid) = program.running().filter(|pid| has_ended(*pid)) {
                // Before it is reaped, because until then no other group can get its number.
                program.kill();
                let ended = family::reap(pid).unwrap_or(ProgramEnd::KeeperGone);
                program.record_end(ended);
            }
        }
    }

    /// Kills orphaned descendants of ended programs. True if processes are left that can be ended.
    fn sweep(&mut self) -> bool {
        let (mut left, mut killed) = (false, Vec::new());
        let mut again = true;
        while again {
            (left, again) = (false, false);
            killed.clear();
            for child in family::children() {
                if self.programs.iter().any(|program| program.running() == Some(child)) {
                    left = true;
                } else if family::reap(child).is_some() {
                    // It may have ended after the list was read, leaving children that are not in it.
                    again = true;
                } else {
                    let mark = marks::of(child);
                    let owned = self.is_owned(mark);
                    // A process that can't be killed belongs to another user, and is not waited for.
                    if !owned && family::kill(child) {
                        killed.push(mark);
                        left = true;
                    }
                    left |= owned;
                }
            }
        }
        for program in &mut self.programs {
            let marks = &self.starter.marks;
            let mine = program.mark();
            program.leave(|| killed.iter().any(|mark| marks.belongs(*mark, mine)));
        }
        left
    }

    /// Whether a process with this mark belongs to a running program; then it may stay.
    fn is_owned(&self, mark: ProgramMark) -> bool {
        let mut running = self.programs.iter().filter(|program| program.running().is_some());
        running.any(|program| self.starter.marks.belongs(mark, program.mark()))
    }
}

/// Whether a child has ended and waits to be reaped.
fn has_ended(pid: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match waitid(rustix::process::WaitId::Pid(pid), options) {
        Ok(status) => status.is_some(),
        // It is not a child of this process any more.
        Err(error) => error == Errno::CHILD,
    }
}
