//! Detects what this machine's kernel and installed programs support for a sandbox.

use serde::Serialize;
use std::path::{Path, PathBuf};

/// Where bubblewrap is looked up. Fixed paths, so that a `PATH` that others can write to can't supply another program.
const BUBBLEWRAP_PATHS: [&str; 3] = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];

/// The sandbox features of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SandboxSupport {
    /// Landlock's ABI as reported by its system call, or 0 without Landlock.
    pub landlock: u32,
    /// Whether system calls can be filtered.
    pub seccomp: bool,
    /// Whether a process can give up gaining privileges.
    pub no_new_privs: bool,
    /// bubblewrap's program, if it is installed.
    pub bubblewrap: Option<PathBuf>,
}

impl SandboxSupport {
    /// Queries the kernel and looks for programs. Changes nothing.
    pub fn look() -> Self {
        let bubblewrap =
            BUBBLEWRAP_PATHS.iter().find(|path| Path::new(path).is_file()).map(PathBuf::from);
        Self { bubblewrap, ..kernel() }
    }

    /// Whether Landlock limits reading, writing and executing files.
    pub fn files(&self) -> bool {
        self.landlock >= 1
    }

    /// Whether Landlock also limits truncating files.
    pub fn truncation(&self) -> bool {
        self.landlock >= 3
    }

    /// Whether Landlock limits TCP connections and listeners by port.
    pub fn tcp(&self) -> bool {
        self.landlock >= 4
    }

    /// Whether Landlock limits commands to devices.
    pub fn devices(&self) -> bool {
        self.landlock >= 5
    }

    /// Whether Landlock keeps signals inside the sandbox.
    pub fn signals(&self) -> bool {
        self.landlock >= 6
    }

    /// Whether Landlock keeps connections to abstract Unix sockets inside the sandbox.
    pub fn abstract_unix(&self) -> bool {
        self.landlock >= 6
    }
}

#[cfg(target_os = "linux")]
fn kernel() -> SandboxSupport {
    use rustix::thread;
    // An architecture that the filter does not support counts as one without filters.
    let table = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));
    SandboxSupport {
        landlock: crate::linux::paths::abi_of_kernel(),
        seccomp: table && thread::secure_computing_mode().is_ok() && errors_can_be_returned(),
        no_new_privs: thread::no_new_privs().is_ok(),
        bubblewrap: None,
    }
}

/// Whether a filter may return an error. On a kernel without the list of actions, applying the filter shows it.
#[cfg(target_os = "linux")]
fn errors_can_be_returned() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail")
        .map_or(true, |actions| actions.split_whitespace().any(|action| action == "errno"))
}

#[cfg(not(target_os = "linux"))]
fn kernel() -> SandboxSupport {
    SandboxSupport::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_abi_brings_what_the_kernel_documents() {
        for (abi, expected) in [
            (0, [false; 6]),
            (1, [true, false, false, false, false, false]),
            (2, [true, false, false, false, false, false]),
            (3, [true, true, false, false, false, false]),
            (4, [true, true, true, false, false, false]),
            (5, [true, true, true, true, false, false]),
            (6, [true; 6]),
            (7, [true; 6]),
        ] {
            let offered = SandboxSupport { landlock: abi, ..SandboxSupport::default() };
            let found = [
                offered.files(),
                offered.truncation(),
                offered.tcp(),
                offered.devices(),
                offered.signals(),
                offered.abstract_unix(),
            ];
            assert_eq!(found, expected, "ABI {abi}");
        }
    }

    #[test]
    fn looking_changes_nothing() {
        let before = SandboxSupport::look();
        assert_eq!(SandboxSupport::look(), before);
        std::fs::read_dir("/").unwrap();
    }
}
