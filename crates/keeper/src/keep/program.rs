//! One program: its socket to docent, its state, and when to signal it.

use super::{marks::Mark, start::Started};
use crate::{
    Ended, Failed,
    order::Answer,
    packet::{Inbox, parts},
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
const LONGEST: Duration = Duration::from_mins(10);

/// State of a program.
#[derive(Debug)]
pub(super) enum State {
    /// Not ordered yet.
    Fresh,
    /// Running.
    Running(Running),
    /// Ended; descendants with this mark may be left.
    Leaving(Mark),
    /// Nothing is left, or it was never started.
    Over,
}

#[derive(Debug)]
pub(super) struct Running {
    pid: Pid,
    mark: Mark,
    terminate: Option<Instant>,
    kill: Option<Instant>,
}

/// One program.
#[derive(Debug)]
pub(super) struct Program {
    /// Its socket, until docent closes the other side.
    pub(super) socket: Option<OwnedFd>,
    pub(super) inbox: Inbox,
    pub(super) state: State,
}

impl Program {
    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket: Some(socket), inbox: Inbox::default(), state: State::Fresh }
    }

    /// Returns its process, if it is running.
    pub(super) fn running(&self) -> Option<Pid> {
        match &self.state {
            State::Running(running) => Some(running.pid),
            State::Fresh | State::Leaving(_) | State::Over => None,
        }
    }

    pub(super) fn mark(&self) -> Mark {
        match &self.state {
            State::Running(running) => running.mark,
            State::Leaving(mark) => *mark,
            State::Fresh | State::Over => None,
        }
    }

    /// Whether nothing is left to do.
    pub(super) fn is_over(&self) -> bool {
        self.socket.is_none() && matches!(self.state, State::Over)
    }

    /// Records the start, and sends its pipes to docent.
    pub(super) fn started(&mut self, started: Started, grace: Duration) {
        let Started { pid, mark, pipes, warnings } = started;
        self.state = State::Running(Running { pid, mark, terminate: None, kill: None });
        let descriptors: Vec<BorrowedFd<'_>> = pipes.iter().map(AsFd::as_fd).collect();
        let number = pid.as_raw_pid().cast_unsigned();
        if !self.say(&Answer::Started { pid: number, warnings }, &descriptors) {
            self.let_go(grace);
        }
    }

    /// Refuses to start it, and sends the reason to docent.
    pub(super) fn refuse(&mut self, failed: Failed) {
        self.state = State::Over;
        self.say(&Answer::Failed(failed), &[]);
        self.fall_silent();
    }

    /// Records its end, and reports it to docent.
    pub(super) fn ended(&mut self, ended: Ended) {
        self.state = State::Leaving(self.mark());
        self.say(&Answer::Ended(ended), &[]);
    }

    /// Finishes an ended program unless `any` finds descendants; docent sees the end of the stream.
    pub(super) fn leave(&mut self, any: impl FnOnce() -> bool) {
        if matches!(self.state, State::Leaving(_)) && !any() {
            self.state = State::Over;
            self.fall_silent();
        }
    }

    /// Handles a socket closed by docent: asks the program to end at once, and kills it after `grace`.
    pub(super) fn let_go(&mut self, grace: Duration) {
        self.socket = None;
        match &mut self.state {
            State::Fresh => self.state = State::Over,
            State::Running(running) => running.end(Duration::ZERO, grace),
            State::Leaving(_) | State::Over => {}
        }
    }

    /// Gives a program with closed standard input `grace` to end by itself, and the same again after it is asked to.
    pub(super) fn end_within(&mut self, grace: Duration) {
        if let State::Running(running) = &mut self.state {
            running.end(grace, grace);
        }
    }

    /// Returns when to signal it next.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.state {
            State::Running(running) => running.terminate.or(running.kill),
            State::Fresh | State::Leaving(_) | State::Over => None,
        }
    }

    pub(super) fn signal_when_due(&mut self, now: Instant) {
        let State::Running(running) = &mut self.state else { return };
        if running.terminate.take_if(|due| *due <= now).is_some() {
            running.signal(Signal::TERM);
        }
        if running.kill.take_if(|due| *due <= now).is_some() {
            running.signal(Signal::KILL);
        }
    }

    /// Kills its process and its group.
    pub(super) fn kill(&self) {
        if let State::Running(running) = &self.state {
            running.signal(Signal::KILL);
        }
    }

    /// Sends an answer to docent. False if that failed.
    fn say(&self, answer: &Answer, descriptors: &[BorrowedFd<'_>]) -> bool {
        let Some(socket) = &self.socket else { return false };
        let Ok(message) = serde_json::to_vec(answer) else { return false };
        parts(&message).all(|part| part.send(socket.as_fd(), descriptors).is_ok())
    }

    /// Sends nothing more. The socket stays open for what docent may still send.
    fn fall_silent(&self) {
        if let Some(socket) = &self.socket {
            // It fails if docent has closed its side; then there is no one to notify.
            shutdown(socket, Shutdown::Write).ok();
        }
    }
}

impl Running {
    /// Sets when to signal it. Earlier times that were already set stay.
    fn end(&mut self, terminate: Duration, kill: Duration) {
        let now = Instant::now();
        let terminate = now + terminate.min(LONGEST);
        let kill = terminate + kill.min(LONGEST);
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
        let fresh = || Running { pid: Pid::INIT, mark: None, terminate: None, kill: None };
        let check = |running: &Running, terminate: Option<u64>, kill: u64| {
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
