//! Starts a program as ordered, within the limits that the supervisor got at its own start.

use super::{
    marks::{Mark, Marks},
    oom::OomScores,
};
use crate::{
    Commands, Failed, Launch, OWN_EXECUTABLE,
    order::{Order, Setup},
};
use docent_sandbox::{InForce, Offered, Refused};
use rustix::process::Pid;
use std::{
    error::Error,
    ffi::{OsStr, OsString},
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A started program.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: Pid,
    pub(super) mark: Mark,
    /// docent's ends of standard input, output and error.
    pub(super) pipes: Vec<OwnedFd>,
    /// Which controls of its sandbox are not in force.
    pub(super) warnings: Vec<String>,
}

/// Starts programs.
#[derive(Debug)]
pub(super) struct Starter {
    executable: OsString,
    commands: Commands,
    /// The first argument with which [`OWN_EXECUTABLE`] may be started, whatever `commands` says.
    own: Option<OsString>,
    most: usize,
    /// The machine's support for sandboxes, detected once when the supervisor starts.
    offered: Offered,
    scores: OomScores,
    pub(super) marks: Marks,
}

impl Starter {
    pub(super) fn new(setup: Setup, offered: Offered, scores: OomScores) -> Self {
        Self {
            executable: setup.executable.into_os(),
            commands: setup.commands,
            own: setup.own.map(OsString::from),
            most: setup.most,
            offered,
            scores,
            marks: Marks::new(),
        }
    }

    /// Whether this is a worker of docent itself, which the policy does not apply to.
    fn is_own(&self, launch: &Launch) -> bool {
        let is_itself = launch.program.as_os_str() == OWN_EXECUTABLE;
        is_itself && self.own.is_some() && launch.args.first() == self.own.as_ref()
    }

    /// Starts an ordered program while `running` others are running.
    pub(super) fn start(&mut self, order: Order, running: usize) -> Result<Started, Failed> {
        let launch = order.launch(&self.executable);
        if !self.is_own(&launch) {
            let path = launch.environment.kept.get(OsStr::new("PATH"));
            let path = path.map(OsString::as_os_str);
            self.commands.check_within(launch.program.as_os_str(), path)?;
        }
        if running >= self.most {
            return Err(Failed::TooMany { most: self.most });
        }
        if let Some(folder) = launch.cwd.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(Failed::NoFolder { folder: text(folder) });
        }
        let ready =
            launch.forked_with(&self.offered).map_err(|refused| explain(&launch, &refused))?;
        let mut command = ready.command;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        let mark = self.marks.next();
        let child = self.scores.for_program(|| spawn(&mut command, &launch))?;
        let warnings = warnings(&ready.report);
        Ok(Started { pid: Pid::from_child(&child), mark, warnings, pipes: pipes(child) })
    }
}

/// Which controls will not be in force.
fn warnings(report: &InForce) -> Vec<String> {
    let missing = report.missing();
    missing.map(|control| format!("{} is not in force: {}", control.name, control.detail)).collect()
}

fn spawn(command: &mut Command, launch: &Launch) -> Result<Child, Failed> {
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => Failed::NoRoom,
        // The program itself was found.
        io::ErrorKind::NotFound => Failed::Start {
            program: text(&launch.program),
            reason: "the interpreter that its first line or its header names was not found".into(),
        },
        _ => Failed::Start { program: text(&launch.program), reason: error.to_string() },
    })
}

/// Takes the child's pipes. Its process is waited for by pid, like all others.
fn pipes(child: Child) -> Vec<OwnedFd> {
    let Child { stdin, stdout, stderr, .. } = child;
    let input = stdin.map(OwnedFd::from);
    input.into_iter().chain(stdout.map(OwnedFd::from)).chain(stderr.map(OwnedFd::from)).collect()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Converts the refusal of a launch.
fn explain(launch: &Launch, refused: &Refused) -> Failed {
    if matches!(refused, Refused::NoProgram { .. }) {
        return missing(launch);
    }
    let mut reason = refused.to_string();
    let mut cause = refused.source();
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    Failed::Sandbox { program: text(&launch.program), reason }
}

/// Distinguishes a missing program from one that is not executable.
fn missing(launch: &Launch) -> Failed {
    let program = &launch.program;
    let searched = launch.environment.kept.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    let by_path = program.components().count() > 1 || program.is_absolute();
    let mut places: Vec<PathBuf> = if by_path {
        vec![launch.cwd.clone().unwrap_or_default().join(program)]
    } else {
        std::env::split_paths(&searched)
            .filter(|entry| entry.is_absolute())
            .map(|entry| entry.join(program))
            .collect()
    };
    places.retain(|place| place.exists());
    match places.first() {
        Some(place) if by_path || place.is_file() => Failed::NotExecutable { program: text(place) },
        _ if by_path => Failed::NotFound { program: text(program) },
        _ => Failed::NotOnPath {
            program: text(program),
            searched: searched.to_string_lossy().into_owned(),
        },
    }
}
