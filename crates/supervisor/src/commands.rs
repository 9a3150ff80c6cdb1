//! Policy of programs that may be started. The supervisor gets it once, at its start; no order changes it.

use crate::LaunchError;
use serde::{Deserialize, Serialize};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};

/// Which programs may be started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommandPolicy {
    /// The commands that may be started, as written. If empty, all may.
    pub allowed: Vec<String>,
    /// The commands that may not be started, as written or by file name.
    pub denied: Vec<String>,
    /// The `PATH` that the names in `allowed` refer to. Another one could map them to other programs, so orders with
    /// another one are refused if `allowed` has entries and this is set.
    pub path: Option<OsString>,
}

impl CommandPolicy {
    /// Checks whether `command` may start. A denied name is denied in every folder; an allowed command must match as
    /// written, since anyone can give a program the name of another.
    pub fn check(&self, command: &OsStr) -> Result<(), LaunchError> {
        let name = Path::new(command).file_name().unwrap_or(command);
        let is = |listed: &String, word: &OsStr| listed.as_bytes() == word.as_bytes();
        let text = || command.to_string_lossy().into_owned();
        if self.denied.iter().any(|denied| is(denied, command) || is(denied, name)) {
            return Err(LaunchError::Denied { command: text() });
        }
        if !self.allowed.is_empty() && !self.allowed.iter().any(|allowed| is(allowed, command)) {
            return Err(LaunchError::NotAllowed { command: text() });
        }
        Ok(())
    }

    /// The same for a command that is looked up in `path`.
    pub(crate) fn check_within(
        &self,
        command: &OsStr,
        path: Option<&OsStr>,
    ) -> Result<(), LaunchError> {
        self.check(command)?;
        let fixed = self.path.as_deref();
        if self.allowed.is_empty() || fixed.is_none() || fixed == path {
            return Ok(());
        }
        Err(LaunchError::OtherPath { command: command.to_string_lossy().into_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_held_to_both_lists() {
        let check = |allowed: &[&str], denied: &[&str], command: &[u8], expected: &str| {
            let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
            let commands =
                CommandPolicy { allowed: list(allowed), denied: list(denied), path: None };
            let found = match commands.check(OsStr::from_bytes(command)) {
                Ok(()) => "started",
                Err(LaunchError::Denied { .. }) => "denied",
                Err(LaunchError::NotAllowed { .. }) => "not allowed",
                Err(other) => panic!("{other}"),
            };
            assert_eq!(found, expected, "{command:?} of {allowed:?} but {denied:?}");
        };
        check(&[], &[], b"node", "started");
        check(&[], &[], b"", "started");
        check(&["node"], &[], b"node", "started");
        check(&["node"], &[], b"/tmp/node", "not allowed");
        check(&["node"], &[], b"./node", "not allowed");
        check(&["node"], &[], b"Node", "not allowed");
        check(&["node"], &[], b"node\xff", "not allowed");
        check(&["/usr/bin/node"], &[], b"node", "not allowed");
        check(&[], &["sh"], b"/bin/sh", "denied");
        check(&[], &["sh"], b"sh", "denied");
        check(&[], &["sh"], b"bash", "started");
        check(&[], &["/bin/sh"], b"/bin/sh", "denied");
        check(&[], &["/bin/sh"], b"sh", "started");
        check(&["sh"], &["sh"], b"sh", "denied");
    }

    #[test]
    fn an_order_cant_bring_its_own_path() {
        let path = Some(OsString::from("/usr/bin"));
        let commands = CommandPolicy { allowed: vec!["node".into()], denied: vec![], path };
        let check = |commands: &CommandPolicy, path: Option<&str>, allowed: bool| {
            let found = commands.check_within(OsStr::new("node"), path.map(OsStr::new));
            assert_eq!(found.is_ok(), allowed, "{path:?}");
        };
        check(&commands, Some("/usr/bin"), true);
        check(&commands, Some("/tmp:/usr/bin"), false);
        check(&commands, None, false);
        check(&CommandPolicy { allowed: vec![], ..commands.clone() }, Some("/tmp"), true);
        check(&CommandPolicy { path: None, ..commands }, Some("/tmp"), true);
    }
}
