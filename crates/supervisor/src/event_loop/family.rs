//! The supervisor's children: programs that it started, and descendants that it adopted when their parents ended.

use crate::ProgramEnd;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, waitpid};
use std::fs;

/// Lists every child, including zombies. Their numbers are not reused until this process reaps them.
pub(super) fn children() -> Vec<Pid> {
    // Some kernels are built without this file.
    match fs::read_to_string("/proc/thread-self/children") {
        Ok(list) => list.split_whitespace().filter_map(pid).collect(),
        Err(_) => children_of_each(),
    }
}

/// The same, from the status of every process.
fn children_of_each() -> Vec<Pid> {
    let own = getpid();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| pid(entry.file_name().to_str()?));
    pids.filter(|pid| parent(*pid) == Some(own)).collect()
}

fn parent(child: Pid) -> Option<Pid> {
    let status = fs::read_to_string(format!("/proc/{child}/status")).ok()?;
    pid(status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim())
}

fn pid(word: &str) -> Option<Pid> {
    Pid::from_raw(word.parse().ok()?)
}

/// Reaps a child if it has ended, which frees its number.
pub(super) fn reap(child: Pid) -> Option<ProgramEnd> {
    match waitpid(Some(child), WaitOptions::NOHANG) {
        Ok(Some((_, status))) => Some(how_ended(status)),
        Ok(None) => None,
        Err(_) => Some(ProgramEnd::KeeperGone),
    }
}

/// Converts a wait status.
pub(super) fn how_ended(status: WaitStatus) -> ProgramEnd {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ProgramEnd::Code(code),
        (None, Some(signal)) => ProgramEnd::Signal(signal),
        (None, None) => ProgramEnd::KeeperGone,
    }
}

/// Kills a child. False if this process is not permitted to.
pub(super) fn kill(child: Pid) -> bool {
    kill_process(child, Signal::KILL).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_child_is_found_both_ways_until_it_is_reaped() {
        // Children belong to the thread that starts them in one list, and to the process in the other.
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert_eq!(children(), [pid]);
        assert!(children_of_each().contains(&pid));
        assert!(reap(pid).is_none());
        assert!(kill(pid));
        let ended = loop {
            if let Some(ended) = reap(pid) {
                break ended;
            }
            std::thread::yield_now();
        };
        assert_eq!(ended, ProgramEnd::Signal(9));
        assert!(!children().contains(&pid) && !children_of_each().contains(&pid));
        assert!(child.wait().is_err(), "it was reaped already");
    }
}
