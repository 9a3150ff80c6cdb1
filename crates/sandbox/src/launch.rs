//! Starts a child that is confined before its first instruction.
//!
//! The child is this program again with a hidden subcommand: it confines itself and becomes the program asked for. So
//! nothing runs between fork and exec, and no shell sees the arguments. A process with one thread may fork itself
//! instead ([`Launch::forked_with`]), which saves loading this program again.

use crate::{
    ChildEnvironment, Confinement, ConfinementMode, SandboxError, SandboxReport, SandboxSupport,
    bubblewrap, clean_environment, confine_for,
    plan::{ConfinementTarget, plan_for, refuse_missing},
};
use serde::{Deserialize, Serialize};
use std::{
    error::Error,
    ffi::{OsStr, OsString},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// The hidden subcommand that calls [`run_confined`].
pub const SUBCOMMAND: &str = "__confine";

/// Exit code of a child that could not be confined or started, as in shells.
const NOT_STARTED_EXIT_CODE: u8 = 126;

/// Instructions for the child's side.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LaunchDescription {
    mode: ConfinementMode,
    confinement: Confinement,
    /// The process that the program must end with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<u32>,
}

/// A child to start.
#[derive(Debug, Clone)]
pub struct Launch {
    /// A path, or a name to look up in the child's `PATH`.
    pub program: PathBuf,
    /// Its arguments, passed unchanged.
    pub args: Vec<OsString>,
    /// Its working folder, if different from docent's.
    pub cwd: Option<PathBuf>,
    /// Its whole environment. The default is what [`clean_environment`] keeps of docent's.
    pub environment: ChildEnvironment,
    /// What it may access. The program itself may always be read and executed.
    pub confinement: Confinement,
    /// What to do with unavailable controls.
    pub mode: ConfinementMode,
    /// Whether to run it in bubblewrap. bubblewrap ends the child with the thread that started it, so that thread must
    /// live as long.
    pub bubblewrap: bool,
    /// Whether the kernel ends it with the thread that starts it. bubblewrap always does that.
    pub die_with_parent: bool,
    /// The program with the hidden subcommand, if it is not the running one.
    pub through: Option<PathBuf>,
}

/// A child that is ready to start.
#[derive(Debug)]
pub struct PreparedLaunch {
    /// The command. Its environment is set; the caller sets standard streams and the like.
    pub command: Command,
    /// Controls that will be in force.
    pub report: SandboxReport,
}

impl Launch {
    /// Creates a launch of `program` with `args` under `confinement`.
    pub fn new<A: Into<OsString>>(
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item = A>,
        confinement: Confinement,
        mode: ConfinementMode,
    ) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            cwd: None,
            environment: clean_environment(std::env::vars_os(), []),
            confinement,
            mode,
            bubblewrap: false,
            die_with_parent: false,
            through: None,
        }
    }

    /// Builds the command for this machine.
    pub fn command(&self) -> Result<PreparedLaunch, SandboxError> {
        self.command_with(&SandboxSupport::look())
    }

    /// Builds the command for a machine with `offered` support.
    pub fn command_with(&self, offered: &SandboxSupport) -> Result<PreparedLaunch, SandboxError> {
        let (program, report) = self.planned(offered)?;
        let mut command = if self.is_launched() {
            self.confined(&program, offered)?
        } else {
            Command::new(&program)
        };
        self.finish(&mut command);
        Ok(PreparedLaunch { command, report })
    }

    /// The same for a process that has one thread, also when the command is started. The child is a fork of it until it
    /// executes the program; with bubblewrap, [`Launch::command_with`] is used anyway.
    #[cfg(unix)]
    pub fn forked_with(&self, offered: &SandboxSupport) -> Result<PreparedLaunch, SandboxError> {
        use std::os::unix::process::CommandExt;
        if self.bubblewrap || !self.is_launched() {
            return self.command_with(offered);
        }
        let (program, report) = self.planned(offered)?;
        let description = self.described(false);
        let mut command = Command::new(&program);
        self.finish(&mut command);
        let confine = move || match confine_from_description(&description, &program) {
            Ok(()) => Ok(()),
            // Only a number would reach the parent.
            Err(refused) => {
                report_error(&refused);
                std::process::exit(NOT_STARTED_EXIT_CODE.into())
            }
        };
        #[expect(unsafe_code, reason = "the only way into a child before its exec")]
        // SAFETY: what a forked process must not do, such as allocating memory, is forbidden because another thread may
        // have been in the middle of it. There is no other thread.
        unsafe {
            command.pre_exec(confine);
        }
        Ok(PreparedLaunch { command, report })
    }

    fn finish(&self, command: &mut Command) {
        command.args(&self.args).env_clear().envs(&self.environment.kept);
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
    }

    /// Whether the child has work to do before it executes the program.
    fn is_launched(&self) -> bool {
        self.mode != ConfinementMode::Off || self.die_with_parent
    }

    /// Returns the program's absolute path, and the controls that will be in force.
    fn planned(&self, offered: &SandboxSupport) -> Result<(PathBuf, SandboxReport), SandboxError> {
        let program = self.find()?;
        let mut report =
            plan_for(&self.confinement, self.mode, offered, ConfinementTarget::Program)?;
        report.controls.push(bubblewrap::control(self.bubblewrap, self.mode, offered));
        refuse_missing(&report)?;
        Ok((program, report))
    }

    /// Returns the description of the sandbox for the child's side.
    fn described(&self, within_bubblewrap: bool) -> LaunchDescription {
        LaunchDescription {
            mode: self.mode,
            confinement: self.confinement.clone(),
            // Processes have other pids inside bubblewrap.
            parent: (self.die_with_parent && !within_bubblewrap).then(std::process::id),
        }
    }

    /// Returns the command up to the program, without its arguments.
    fn confined(&self, program: &Path, offered: &SandboxSupport) -> Result<Command, SandboxError> {
        let launcher = match &self.through {
            Some(path) => path.clone(),
            None => std::env::current_exe().map_err(SandboxError::NoLauncher)?,
        };
        let around = offered
            .bubblewrap
            .as_ref()
            .filter(|_| self.bubblewrap && self.mode != ConfinementMode::Off);
        let description = serde_json::to_string(&self.described(around.is_some()))?;
        let mut command = match around {
            Some(path) => {
                let mut command = Command::new(path);
                let files = [launcher.as_path(), program];
                command.args(bubblewrap::arguments(&self.confinement, &files, self.cwd.as_deref()));
                command.arg(&launcher);
                command
            }
            None => Command::new(&launcher),
        };
        command.args([SUBCOMMAND, description.as_str(), "--"]).arg(program);
        Ok(command)
    }

    /// Finds the program's absolute path. Done here, because the child can't read all of its `PATH`.
    fn find(&self) -> Result<PathBuf, SandboxError> {
        let missing = || SandboxError::NoProgram { program: self.program.clone() };
        let folder = match &self.cwd {
            Some(folder) => std::path::absolute(folder).map_err(|_| missing())?,
            None => std::env::current_dir().map_err(|_| missing())?,
        };
        if self.program.components().count() > 1 || self.program.is_absolute() {
            let path = folder.join(&self.program);
            return if executable(&path) { Ok(path) } else { Err(missing()) };
        }
        let search = self.environment.kept.get(OsStr::new("PATH")).cloned().unwrap_or_default();
        std::env::split_paths(&search)
            // A relative entry would depend on the folder that the child starts in.
            .filter(|entry| entry.is_absolute())
            .map(|entry| entry.join(&self.program))
            .find(|path| executable(path))
            .ok_or_else(missing)
    }
}

#[cfg(unix)]
fn executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn executable(path: &Path) -> bool {
    path.is_file()
}

/// The child's side: `args` follow [`SUBCOMMAND`]. Returns only if the program can't be started, with the reason on
/// standard error. Must be called before the process has a second thread.
pub fn run_confined(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let reason = match confine_from_arguments(args) {
        Ok(command) => become_program(command),
        Err(refused) => Err(refused.into()),
    };
    match reason {
        Ok(code) => code,
        Err(error) => {
            report_error(&*error);
            ExitCode::from(NOT_STARTED_EXIT_CODE)
        }
    }
}

/// Prints to standard error why the program was not started.
fn report_error(error: &dyn Error) {
    let mut text = format!("docent: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    // If standard error is closed, there is only the exit code.
    drop(writeln!(std::io::stderr(), "{text}"));
}

fn confine_from_arguments(
    args: impl IntoIterator<Item = OsString>,
) -> Result<Command, SandboxError> {
    let mut args = args.into_iter();
    let description = args.next().ok_or(SandboxError::Usage)?;
    if args.next().as_deref() != Some(OsStr::new("--")) {
        return Err(SandboxError::Usage);
    }
    let program = PathBuf::from(args.next().ok_or(SandboxError::Usage)?);
    if !program.is_absolute() {
        return Err(SandboxError::Usage);
    }
    let description: LaunchDescription = serde_json::from_slice(description.as_encoded_bytes())?;
    confine_from_description(&description, &program)?;
    let mut command = Command::new(program);
    command.args(args);
    Ok(command)
}

fn confine_from_description(
    description: &LaunchDescription,
    program: &Path,
) -> Result<(), SandboxError> {
    confine_for(&description.confinement, description.mode, Some(program))?;
    description.parent.map_or(Ok(()), die_with)
}

/// Makes the kernel end this process, and the program that it executes, with the process `parent`.
#[cfg(target_os = "linux")]
fn die_with(parent: u32) -> Result<(), SandboxError> {
    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| SandboxError::failed("end with its parent", error))?;
    // If the parent ended before the line above, no signal is sent.
    let now = Pid::as_raw(getppid()).cast_unsigned();
    if now == parent { Ok(()) } else { Err(SandboxError::Orphan) }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_parent: u32) -> Result<(), SandboxError> {
    Ok(())
}

#[cfg(unix)]
fn become_program(mut command: Command) -> Result<ExitCode, Box<dyn Error>> {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    // Quoted, because a name may contain control characters.
    let program = command.get_program().to_string_lossy();
    Err(format!("{program:?} can't be executed: {error}").into())
}

#[cfg(not(unix))]
fn become_program(mut command: Command) -> Result<ExitCode, Box<dyn Error>> {
    let status = command.status()?;
    Ok(status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}
