//! Starts a program as ordered, within the limits that the supervisor got at its own start.

use super::{
    marks::{ProgramMark, ProgramMarks},
    oom::OomScores,
};
use crate::{
    CommandPolicy, Launch, LaunchError, OWN_EXECUTABLE,
    protocol::{LaunchOrder, SupervisorSetup},
};
use docent_sandbox::{SandboxError, SandboxReport, SandboxSupport};
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
pub(super) struct StartedProgram {
    pub(super) pid: Pid,
    pub(super) mark: ProgramMark,
    /// docent's ends of standard input, output and error.
    pub(super) pipes: Vec<OwnedFd>,
    /// Which controls of its sandbox are not in force.
    pub(super) warnings: Vec<String>,
}

/// Starts programs.
#[derive(Debug)]
pub(super) struct ProgramStarter {
    executable: OsString,
    commands: CommandPolicy,
    /// The first argument with which [`OWN_EXECUTABLE`] may be started, whatever `commands` says.
    own: Option<OsString>,
    most: usize,
    /// The machine's support for sandboxes, detected once when the supervisor starts.
    offered: SandboxSupport,
    scores: OomScores,
    pub(super) marks: ProgramMarks,
}

impl ProgramStarter {
    pub(super) fn new(setup: SupervisorSetup, offered: SandboxSupport, scores: OomScores) -> Self {
        Self {
            executable: setup.executable.into_os(),
            commands: setup.commands,
            own: setup.own.map(OsString::from),
            most: setup.most,
            offered,
            scores,
            marks: ProgramMarks::new(),
        }
    }

    /// Whether this is a worker of docent itself, which the policy does not apply to.
    fn is_own(&self, launch: &Launch) -> bool {
        let is_itself = launch.program.as_os_str() == OWN_EXECUTABLE;
        is_itself && self.own.is_some() && launch.args.first() == self.own.as_ref()
    }

    /// Starts an ordered program while `running` others are running.
    pub(super) fn start(
        &mut self,
        order: LaunchOrder,
        running: usize,
    ) -> Result<StartedProgram, LaunchError> {
        let launch = order.launch(&self.executable);
        if !self.is_own(&launch) {
            let path = launch.environment.kept.get(OsStr::new("PATH"));
            let path = path.map(OsString::as_os_str);
            self.commands.check_within(launch.program.as_os_str(), path)?;
        }
        if running >= self.most {
            return Err(LaunchError::TooMany { most: self.most });
        }
        if let Some(folder) = launch.cwd.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(LaunchError::NoFolder { folder: text(folder) });
        }
        let ready = launch
            .forked_with(&self.offered)
            .map_err(|refused| start_failure(&launch, &refused))?;
        let mut command = ready.command;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        let mark = self.marks.next();
        let child = self.scores.for_program(|| spawn(&mut command, &launch))?;
        let warnings = warnings(&ready.report);
        Ok(StartedProgram { pid: Pid::from_child(&child), mark, warnings, pipes: pipes(child) })
    }
}

/// Which controls will not be in force.
fn warnings(report: &SandboxReport) -> Vec<String> {
    let missing = report.missing();
    missing.map(|control| format!("{} is not in force: {}", control.name, control.detail)).collect()
}

fn spawn(command: &mut Command, launch: &Launch) -> Result<Child, LaunchError> {
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => LaunchError::NoRoom,
        // The program itself was found.
        io::ErrorKind::NotFound => LaunchError::Start {
            program: text(&launch.program),
            reason: "the interpreter that its first line or its header names was not found".into(),
        },
        _ => LaunchError::Start { program: text(&launch.program), reason: error.to_string() },
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
fn start_failure(launch: &Launch, refused: &SandboxError) -> LaunchError {
    if matches!(refused, SandboxError::NoProgram { .. }) {
        return missing(launch);
    }
    let mut reason = refused.to_string();
    let mut cause = refused.source();
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    LaunchError::Sandbox { program: text(&launch.program), reason }
}

/// Distinguishes a missing program from one that is not executable.
fn missing(launch: &Launch) -> LaunchError {
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
        Some(place) if by_path || place.is_file() => {
            LaunchError::NotExecutable { program: text(place) }
        }
        _ if by_path => LaunchError::NotFound { program: text(program) },
        _ => LaunchError::NotOnPath {
            program: text(program),
            searched: searched.to_string_lossy().into_owned(),
        },
    }
}
