//! One program: its socket to docent, its state, and when to signal it.

use super::{marks::ProgramMark, start::StartedProgram};
use crate::{
    LaunchError, ProgramEnd,
    packet::{PacketInbox, parts},
    protocol::SupervisorAnswer,
};
use rustix::{
    net::{Shutdown, shutdown},
    process::{Pid, Signal, kill_process, kill_process_group},
};
use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

/// Maximum time that a program is given to end.
const MAX_GRACE: Duration = Duration::from_mins(10);

/// State of a program.
#[derive(Debug)]
pub(super) enum ProgramState {
    /// Not ordered yet.
    Fresh,
    /// Running.
    Running(RunningProgram),
    /// Ended; descendants with this mark may be left.
    Leaving(ProgramMark),
    /// Nothing is left, or it was never started.
    Over,
}

#[derive(Debug)]
pub(super) struct RunningProgram {
    pid: Pid,
    mark: ProgramMark,
    terminate: Option<Instant>,
    kill: Option<Instant>,
}

/// One program.
#[derive(Debug)]
pub(super) struct SupervisedProgram {
    /// Its socket, until docent closes the other side.
    pub(super) socket: Option<OwnedFd>,
    pub(super) inbox: PacketInbox,
    pub(super) state: ProgramState,
}

impl SupervisedProgram {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket: Some(socket), inbox: PacketInbox::default(), state: ProgramState::Fresh }
    }

    /// Returns its process, if it is running.
    pub(super) fn running(&self) -> Option<Pid> {
        match &self.state {
            ProgramState::Running(running) => Some(running.pid),
            ProgramState::Fresh | ProgramState::Leaving(_) | ProgramState::Over => None,
        }
    }

    pub(super) fn mark(&self) -> ProgramMark {
        match &self.state {
            ProgramState::Running(running) => running.mark,
            ProgramState::Leaving(mark) => *mark,
            ProgramState::Fresh | ProgramState::Over => None,
        }
    }

    /// Whether nothing is left to do.
    pub(super) fn is_over(&self) -> bool {
        self.socket.is_none() && matches!(self.state, ProgramState::Over)
    }

    /// Records the start, and sends its pipes to docent.
    pub(super) fn record_start(&mut self, started: StartedProgram, grace: Duration) {
        let StartedProgram { pid, mark, pipes, warnings } = started;
        self.state =
            ProgramState::Running(RunningProgram { pid, mark, terminate: None, kill: None });
        let descriptors: Vec<BorrowedFd<'_>> = pipes.iter().map(AsFd::as_fd).collect();
        let number = pid.as_raw_pid().cast_unsigned();
        if !self.send_answer(&SupervisorAnswer::Started { pid: number, warnings }, &descriptors) {
            self.end_now(grace);
        }
    }

    /// Refuses to start it, and sends the reason to docent.
    pub(super) fn refuse(&mut self, failed: LaunchError) {
        self.state = ProgramState::Over;
        self.send_answer(&SupervisorAnswer::Failed(failed), &[]);
        self.shut_down_writing();
    }

    /// Records its end, and reports it to docent.
    pub(super) fn record_end(&mut self, ended: ProgramEnd) {
        self.state = ProgramState::Leaving(self.mark());
        self.send_answer(&SupervisorAnswer::Ended(ended), &[]);
    }

    /// Finishes an ended program unless `any` finds descendants; docent sees the end of the stream.
    pub(super) fn leave(&mut self, any: impl FnOnce() -> bool) {
        if matches!(self.state, ProgramState::Leaving(_)) && !any() {
            self.state = ProgramState::Over;
            self.shut_down_writing();
        }
    }

    /// Handles a socket closed by docent: asks the program to end at once, and kills it after `grace`.
    pub(super) fn end_now(&mut self, grace: Duration) {
        self.socket = None;
        match &mut self.state {
            ProgramState::Fresh => self.state = ProgramState::Over,
            ProgramState::Running(running) => running.end(Duration::ZERO, grace),
            ProgramState::Leaving(_) | ProgramState::Over => {}
        }
    }

    /// Gives a program with closed standard input `grace` to end by itself, and the same again after it is asked to.
    pub(super) fn end_within(&mut self, grace: Duration) {
        if let ProgramState::Running(running) = &mut self.state {
            running.end(grace, grace);
        }
    }

    /// Returns when to signal it next.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.state {
            ProgramState::Running(running) => running.terminate.or(running.kill),
            ProgramState::Fresh | ProgramState::Leaving(_) | ProgramState::Over => None,
        }
    }

    pub(super) fn signal_when_due(&mut self, now: Instant) {
        let ProgramState::Running(running) = &mut self.state else { return };
        if running.terminate.take_if(|due| *due <= now).is_some() {
            running.signal(Signal::TERM);
        }
        if running.kill.take_if(|due| *due <= now).is_some() {
            running.signal(Signal::KILL);
        }
    }

    /// Kills its process and its group.
    pub(super) fn kill(&self) {
        if let ProgramState::Running(running) = &self.state {
            running.signal(Signal::KILL);
        }
    }

    /// Sends an answer to docent. False if that failed.
    fn send_answer(&self, answer: &SupervisorAnswer, descriptors: &[BorrowedFd<'_>]) -> bool {
        let Some(socket) = &self.socket else { return false };
        let Ok(message) = serde_json::to_vec(answer) else { return false };
        parts(&message).all(|part| part.send(socket.as_fd(), descriptors).is_ok())
    }

    /// Sends nothing more. The socket stays open for what docent may still send.
    fn shut_down_writing(&self) {
        if let Some(socket) = &self.socket {
            // It fails if docent has closed its side; then there is no one to notify.
            shutdown(socket, Shutdown::Write).ok();
        }
    }
}

impl RunningProgram {
    /// Sets when to signal it. Earlier times that were already set stay.
    fn end(&mut self, terminate: Duration, kill: Duration) {
        let now = Instant::now();
        let terminate = now + terminate.min(MAX_GRACE);
        let kill = terminate + kill.min(MAX_GRACE);
        let asked_already = self.kill.is_some() && self.terminate.is_none();
        if !asked_already {
            self.terminate = Some(self.terminate.map_or(terminate, |set| set.min(terminate)));
        }
        self.kill = Some(self.kill.map_or(kill, |set| set.min(kill)));
    }

    /// Signals the group and the process, which may have left the group. Either may have ended already.
    fn signal(&self, signal: Signal) {
        kill_process_group(self.pid, signal).ok();
        if signal == Signal::KILL {
            kill_process(self.pid, signal).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_end_counts() {
        let minute = Duration::from_mins(1);
        let fresh = || RunningProgram { pid: Pid::INIT, mark: None, terminate: None, kill: None };
        let check = |running: &RunningProgram, terminate: Option<u64>, kill: u64| {
            let seconds =
                |due: Instant| due.saturating_duration_since(Instant::now()).as_secs_f64().ceil();
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let is = |due: Option<Instant>, expected: Option<u64>| match (due, expected) {
                (Some(due), Some(expected)) => seconds(due) <= expected as f64,
                (None, None) => true,
                _ => false,
            };
            assert!(is(running.terminate, terminate) && is(running.kill, Some(kill)));
        };
        let mut running = fresh();
        running.end(minute, minute);
        check(&running, Some(60), 120);
        running.end(Duration::ZERO, minute);
        check(&running, Some(0), 60);
        running.end(minute, minute);
        check(&running, Some(0), 60);
        // It was asked once. It is not asked again, only killed earlier.
        running.terminate = None;
        running.end(Duration::ZERO, Duration::ZERO);
        check(&running, None, 0);
        let mut running = fresh();
        running.end(Duration::MAX, Duration::MAX);
        check(&running, Some(600), 1200);
    }
}
