//! A launcher that is started before the first order comes, so that the order does not wait for it.

use super::{
    marks::{Mark, Marks},
    start::{Started, pipes},
};
use rustix::process::Pid;
use std::{
    io::Write,
    os::unix::process::CommandExt,
    process::{Child, Stdio},
};

/// A launcher that waits. Dropped, it ends: it sees the end of its input.
#[derive(Debug)]
pub(super) struct Spare {
    child: Child,
    mark: Mark,
}

impl Spare {
    /// Starts one. `None` where that fails: programs are then started as they are without it, and tell why.
    pub(super) fn start(marks: &mut Marks) -> Option<Self> {
        let mut command = docent_sandbox::waiting(&std::env::current_exe().ok()?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        let mark = marks.next();
        Some(Self { child: command.spawn().ok()?, mark })
    }

    /// Whether this is its process.
    pub(super) fn is(&self, process: Pid) -> bool {
        Pid::from_child(&self.child) == process
    }

    /// Has it become the program that it is told of. `None` where it is gone.
    pub(super) fn launch(mut self, told: &[u8], warnings: Vec<String>) -> Option<Started> {
        // The pipe is empty and takes all of it at once.
        self.child.stdin.as_mut()?.write_all(told).ok()?;
        let (pid, mark) = (Pid::from_child(&self.child), self.mark);
        Some(Started { pid, mark, warnings, pipes: pipes(self.child) })
    }
}
