//! Messages between docent and its supervisor, as JSON. Words of the command line need not be UTF-8.

use crate::{
    ChildEnvironment, CommandPolicy, Confinement, ConfinementMode, Launch, LaunchError,
    outcome::ProgramEnd,
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

/// The first message, with the settings for all orders.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SupervisorSetup {
    pub(crate) executable: CommandLineWord,
    pub(crate) commands: CommandPolicy,
    pub(crate) own: Option<String>,
    pub(crate) grace_ms: u64,
    pub(crate) most: usize,
}

/// A request on the socket of a program.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum SupervisorRequest {
    /// Starts this program. Must be the first request.
    Start(Box<LaunchOrder>),
    /// Ends a program with closed standard input after this time, and kills it after the same time again.
    End { grace_ms: u64 },
}

/// An answer of the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SupervisorAnswer {
    /// The program was started; standard input, output and error are attached.
    Started { pid: u32, warnings: Vec<String> },
    /// It was not started.
    Failed(LaunchError),
    /// It has ended.
    Ended(ProgramEnd),
}

/// A notification of the supervisor's guard on docent's socket.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SupervisorNotice {
    /// The supervisor ended in this way, all programs with it, and another one is started.
    Restarted(ProgramEnd),
}

/// A program to start.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LaunchOrder {
    program: CommandLineWord,
    args: Vec<CommandLineWord>,
    cwd: Option<CommandLineWord>,
    environment: Vec<(CommandLineWord, CommandLineWord)>,
    confinement: Confinement,
    mode: ConfinementMode,
    bubblewrap: bool,
}

impl LaunchOrder {
    pub(crate) fn of(launch: &Launch) -> Self {
        let kept = &launch.environment.kept;
        Self {
            program: CommandLineWord::of(launch.program.as_os_str()),
            args: launch.args.iter().map(|arg| CommandLineWord::of(arg)).collect(),
            cwd: launch.cwd.as_ref().map(|folder| CommandLineWord::of(folder.as_os_str())),
            environment: kept
                .iter()
                .map(|(k, v)| (CommandLineWord::of(k), CommandLineWord::of(v)))
                .collect(),
            confinement: launch.confinement.clone(),
            mode: launch.mode,
            bubblewrap: launch.bubblewrap,
        }
    }

    /// Returns the ordered launch, through the supervisor's configured executable.
    pub(crate) fn launch(self, through: &OsStr) -> Launch {
        let words =
            |words: Vec<CommandLineWord>| words.into_iter().map(CommandLineWord::into_os).collect();
        let variables = self.environment.into_iter();
        Launch {
            program: self.program.into_os().into(),
            args: words(self.args),
            cwd: self.cwd.map(|folder| folder.into_os().into()),
            environment: ChildEnvironment {
                kept: variables.map(|(name, value)| (name.into_os(), value.into_os())).collect(),
                dropped: Vec::new(),
            },
            confinement: self.confinement,
            mode: self.mode,
            bubblewrap: self.bubblewrap,
            die_with_parent: true,
            through: Some(through.into()),
        }
    }
}

/// A word of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum CommandLineWord {
    Text(String),
    Bytes(Vec<u8>),
}

impl CommandLineWord {
    pub(crate) fn of(word: &OsStr) -> Self {
        match word.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(word.as_bytes().to_vec()),
        }
    }

    pub(crate) fn into_os(self) -> OsString {
        match self {
            Self::Text(text) => text.into(),
            Self::Bytes(bytes) => OsString::from_vec(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_survives() {
        for word in [&b""[..], b"a b", b"\xff\xfe", b"\"\\\n", "ä\u{202e}".as_bytes(), b"[1]"] {
            let word = OsStr::from_bytes(word);
            let text = serde_json::to_string(&CommandLineWord::of(word)).unwrap();
            let back: CommandLineWord = serde_json::from_str(&text).unwrap();
            assert_eq!(back.into_os(), word, "{text}");
        }
    }

    #[test]
    fn an_order_carries_all_of_a_launch_but_the_way_it_is_started() {
        let mut launch =
            Launch::new("p", ["a", "b"], Confinement::for_child(["/srv"]), ConfinementMode::Strict);
        launch.environment.kept = [("K".into(), OsString::from_vec(vec![0xff]))].into();
        launch.cwd = Some("/".into());
        launch.bubblewrap = true;
        launch.through = Some("/hostile".into());
        let text =
            serde_json::to_string(&SupervisorRequest::Start(Box::new(LaunchOrder::of(&launch))))
                .unwrap();
        assert!(!text.contains("hostile"));
        let Ok(SupervisorRequest::Start(order)) = serde_json::from_str(&text) else {
            panic!("{text}")
        };
        let back = order.launch(OsStr::new("/opt/docent"));
        assert_eq!(
            (&back.program, &back.args, &back.cwd),
            (&launch.program, &launch.args, &launch.cwd)
        );
        assert_eq!(back.environment.kept, launch.environment.kept);
        assert_eq!((&back.confinement, back.mode), (&launch.confinement, launch.mode));
        assert!(back.bubblewrap && back.die_with_parent);
        assert_eq!(back.through.unwrap(), OsStr::new("/opt/docent"));
    }

    #[test]
    fn malformed_requests_are_refused() {
        for text in [
            "",
            "7",
            "{}",
            r#"{"start":{}}"#,
            r#"{"end":{}}"#,
            r#"{"end":{"grace_ms":-1}}"#,
            r#"{"end":{"grace_ms":1,"x":1}}"#,
            r#"{"signal":9}"#,
            &"[".repeat(10_000),
        ] {
            assert!(serde_json::from_str::<SupervisorRequest>(text).is_err(), "{text}");
        }
    }
}
