//! The guard: the parent process of the supervisor.
//!
//! The supervisor may be killed at any moment, for instance by the kernel when memory runs out, and docent can't start
//! another one from inside its sandbox. The guard only waits for the supervisor. When the supervisor is killed or
//! fails, its programs and their descendants become children of the guard, which kills and reaps them, notifies docent,
//! and starts another supervisor on the same socket. The supervisor is a fork of the guard, so the two share most of
//! their memory.

use super::family;
use crate::{ProgramEnd, packet, protocol::SupervisorNotice};
use rustix::{
    io::Errno,
    process::{Pid, WaitOptions, getpid, set_child_subreaper, setsid, wait},
};
use std::{
    collections::VecDeque,
    io,
    os::fd::{AsFd, OwnedFd},
    thread,
    time::{Duration, Instant},
};

/// Restarts within [`RESTART_WINDOW`] after which the guard gives up: a supervisor that keeps failing is useless.
const MAX_RESTARTS: usize = 5;
const RESTART_WINDOW: Duration = Duration::from_mins(1);

/// How long to wait for the descendants of a killed supervisor. The kernel may be unable to end one for a while.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(2);

/// Pause between checks of killed processes that have not ended.
const CLEANUP_INTERVAL: Duration = Duration::from_millis(2);

/// Runs `keeper` in a child process until it returns, and again when that process is killed or fails. In the child,
/// returns what `keeper` returns. Must be called while this process has one thread.
pub(super) fn run(docent: &OwnedFd, keeper: impl Fn() -> io::Result<()>) -> io::Result<()> {
    let mut restarts = Restarts::default();
    loop {
        let Some(child) = fork()? else {
            // A session of its own, so that no signal to a group reaches both. Neither this nor the adoption of orphans
            // is inherited.
            setsid()?;
            set_child_subreaper(Some(getpid()))?;
            return keeper();
        };
        let ended = wait_for(child);
        if ended == ProgramEnd::Code(0) {
            return Ok(());
        }
        end_children(CLEANUP_TIMEOUT);
        if !restarts.may_restart(Instant::now()) {
            return Err(io::Error::other(format!(
                "the process that starts programs ended {MAX_RESTARTS} times within a minute"
            )));
        }
        notify_docent(docent, &SupervisorNotice::Restarted(ended));
    }
}

/// Returns the pid of the child, or `None` in the child.
fn fork() -> io::Result<Option<Pid>> {
    #[expect(unsafe_code, reason = "the standard library can't fork")]
    // SAFETY: this process has one thread, so the copy lacks no thread that could hold a lock.
    let number = unsafe { libc::fork() };
    match number {
        0 => Ok(None),
        1.. => Ok(Pid::from_raw(number)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Waits until `child` has ended, and reaps other children that end until then.
fn wait_for(child: Pid) -> ProgramEnd {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return family::how_ended(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return ProgramEnd::KeeperGone,
        }
    }
}

/// Kills and reaps every child, including those that are adopted meanwhile.
fn end_children(timeout: Duration) {
    let deadline = Instant::now() + timeout;
    while Instant::now() < deadline {
        let (mut reaped, mut killed) = (false, false);
        for child in family::children() {
            if family::reap(child).is_some() {
                reaped = true;
            } else {
                // A process that may not be killed belongs to another user, and is not waited for.
                killed |= family::kill(child);
            }
        }
        if !reaped && !killed {
            return;
        }
        if !reaped {
            thread::sleep(CLEANUP_INTERVAL);
        }
    }
}

/// Notifies docent. If it is gone or does not read, the next supervisor finds out.
fn notify_docent(docent: &OwnedFd, notice: &SupervisorNotice) {
    let Ok(message) = serde_json::to_vec(notice) else { return };
    for part in packet::parts(&message) {
        part.send(docent.as_fd(), &[]).unwrap_or_default();
    }
}

/// Recent restarts of the supervisor.
#[derive(Debug, Default)]
struct Restarts(VecDeque<Instant>);

impl Restarts {
    /// Counts a restart, unless there were too many within the window.
    fn may_restart(&mut self, now: Instant) -> bool {
        self.0.retain(|at| now.duration_since(*at) < RESTART_WINDOW);
        if self.0.len() >= MAX_RESTARTS {
            return false;
        }
        self.0.push_back(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarts_are_bounded_within_a_window() {
        let (mut restarts, begin) = (Restarts::default(), Instant::now());
        for second in 0..5 {
            assert!(restarts.may_restart(begin + Duration::from_secs(second)));
        }
        assert!(!restarts.may_restart(begin + Duration::from_secs(59)));
        // The first one is out of the window, and one more is possible.
        assert!(restarts.may_restart(begin + Duration::from_mins(1)));
        assert!(!restarts.may_restart(begin + Duration::from_mins(1)));
        assert!(restarts.may_restart(begin + Duration::from_hours(1)));
    }
}
