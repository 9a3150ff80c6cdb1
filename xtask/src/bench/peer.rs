//! The measured servers: how each is installed and started, and how it can be called.

use super::post::PostForm;
use crate::{
    install,
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use clap::ValueEnum;
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const COMPILE_LIMIT: Duration = Duration::from_hours(1);
const QUESTION_LIMIT: Duration = Duration::from_secs(30);

/// A server by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PeerName {
    /// docent's own stack with the fixture tools: the conformance binary.
    Docent,
    /// The real `docent serve`: only its start and its memory.
    DocentServe,
    /// The bare Rust SDK.
    Rmcp,
    /// The TypeScript SDK, version 1, on Node.
    Typescript,
    /// The TypeScript SDK, version 2, on Node.
    TypescriptV2,
    /// The Python SDK.
    Python,
}

impl PeerName {
    /// The name in the table.
    pub(crate) const fn display_name(self) -> &'static str {
        match self {
            Self::Docent => "docent",
            Self::DocentServe => "docent serve",
            Self::Rmcp => "rmcp",
            Self::Typescript => "TypeScript SDK v1",
            Self::TypescriptV2 => "TypeScript SDK v2",
            Self::Python => "Python SDK",
        }
    }

    /// Whether this repository builds the server.
    pub(crate) const fn is_ours(self) -> bool {
        matches!(self, Self::Docent | Self::DocentServe)
    }

    /// The forms in which its echo tool can be called over HTTP; empty for a server without that tool.
    pub(crate) const fn forms(self) -> &'static [PostForm] {
        match self {
            Self::Docent => &[PostForm::Session, PostForm::Stateless, PostForm::Plain],
            Self::DocentServe => &[],
            Self::Typescript => &[PostForm::Session],
            Self::Rmcp | Self::TypescriptV2 | Self::Python => {
                &[PostForm::Session, PostForm::Stateless]
            }
        }
    }
}

/// An installed server.
#[derive(Debug)]
pub(crate) struct InstalledPeer {
    pub(crate) name: PeerName,
    /// The version built or installed.
    pub(crate) version: String,
    program: PathBuf,
    script: Vec<OsString>,
    folder: PathBuf,
}

impl InstalledPeer {
    /// Builds or installs the server.
    pub(crate) fn prepare(workspace: &XtaskWorkspace, name: PeerName) -> Result<Self> {
        eprint_step(&format!("preparing {}", name.display_name()));
        match name {
            PeerName::Docent | PeerName::DocentServe => ours(workspace, name),
            PeerName::Rmcp => rmcp(workspace),
            PeerName::Typescript => {
                typescript(workspace, name, ("@modelcontextprotocol/sdk", "server.mjs"))
            }
            PeerName::TypescriptV2 => {
                typescript(workspace, name, ("@modelcontextprotocol/server", "server-v2.mjs"))
            }
            PeerName::Python => python(workspace),
        }
        .with_context(|| format!("preparing {}; --peers can leave it out", name.display_name()))
    }

    /// Returns the command that runs the server over stdio.
    pub(crate) fn on_pipes(&self) -> Command {
        let flags: &[&str] = match self.name {
            PeerName::DocentServe => &["serve", "--transport", "stdio", "--root", "."],
            _ => &["--stdio"],
        };
        let mut command = self.command();
        command.args(flags);
        command
    }

    /// Returns the command that runs the server on a port.
    pub(crate) fn on_port(&self, port: u16) -> Command {
        let flags: &[&str] = match self.name {
            PeerName::DocentServe => &["serve", "--transport", "http", "--root", ".", "--port"],
            _ => &["--port"],
        };
        let mut command = self.command();
        command.args(flags).arg(port.to_string());
        command
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.script).current_dir(&self.folder);
        command
    }
}

/// Returns a folder for the benchmark under the target directory.
pub(crate) fn folder(workspace: &XtaskWorkspace, name: &str) -> Result<PathBuf> {
    let folder = workspace.target.join("bench").join(name);
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    Ok(folder)
}

/// Reports a slow step on standard error, so that standard output contains only the table.
pub(crate) fn eprint_step(text: &str) {
    use std::io::Write as _;
    // If standard error is closed, continue anyway.
    writeln!(std::io::stderr(), "{text}").ok();
}

/// Returns the folder of a peer's files.
pub(crate) fn sources(workspace: &XtaskWorkspace, name: &str) -> PathBuf {
    workspace.root.join("benches/peers").join(name)
}

fn ours(workspace: &XtaskWorkspace, name: PeerName) -> Result<InstalledPeer> {
    let binary = if matches!(name, PeerName::DocentServe) { "docent" } else { "conformance" };
    // Both packages at once, as the tests build them: cargo unifies features over the packages of one build.
    let mut build = workspace.cargo(["build", "--release", "-p", "docent", "-p", "docent-testkit"]);
    process::run(&mut build, COMPILE_LIMIT, OutputMode::Kept)?.or_fail("cargo build")?;
    let commit = command_output(
        Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(&workspace.root),
    );
    Ok(InstalledPeer {
        name,
        version: format!(
            "{} ({})",
            env!("CARGO_PKG_VERSION"),
            commit.unwrap_or_else(|_| "no commit yet".to_owned())
        ),
        program: workspace.binary("release", binary),
        script: Vec::new(),
        folder: folder(workspace, "root")?,
    })
}

fn rmcp(workspace: &XtaskWorkspace) -> Result<InstalledPeer> {
    let built = BaselineProgram::of(workspace, "rmcp")?;
    Ok(InstalledPeer {
        name: PeerName::Rmcp,
        version: built.version,
        program: built.program,
        script: Vec::new(),
        folder: built.folder,
    })
}

/// A baseline program built here around an external crate.
#[derive(Debug)]
pub(crate) struct BaselineProgram {
    pub(crate) program: PathBuf,
    /// The version of the crate.
    pub(crate) version: String,
    folder: PathBuf,
}

impl BaselineProgram {
    /// Builds a copy with a copy of the main lock file, so that the baseline links the same versions as docent.
    pub(crate) fn of(workspace: &XtaskWorkspace, name: &str) -> Result<Self> {
        let (program, folder) = build(workspace, name)?;
        let lock = fs::read_to_string(folder.join("Cargo.lock"))?;
        Ok(Self {
            program,
            version: locked_version(&lock, name)
                .with_context(|| format!("Cargo.lock has no {name}"))?,
            folder,
        })
    }
}

/// Builds a copy of one of the peers in this repository; returns the program and its build folder.
pub(crate) fn build(workspace: &XtaskWorkspace, name: &str) -> Result<(PathBuf, PathBuf)> {
    let (from, folder) = (sources(workspace, name), folder(workspace, name)?);
    fs::create_dir_all(folder.join("src"))?;
    for file in ["Cargo.toml", "src/main.rs"] {
        copy_changed(&from.join(file), &folder.join(file))
            .with_context(|| format!("copying {file}"))?;
    }
    fs::copy(workspace.root.join("Cargo.lock"), folder.join("Cargo.lock"))
        .context("copying Cargo.lock")?;
    let mut build = workspace.cargo(["build", "--release", "--target-dir", "target"]);
    build.current_dir(&folder);
    process::run(&mut build, COMPILE_LIMIT, OutputMode::Kept)?.or_fail("cargo build")?;
    Ok((folder.join("target/release").join(format!("{name}-peer")), folder))
}

/// Copies a file unless the copy is identical: cargo would recompile because of the newer time.
fn copy_changed(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from)?;
    if !fs::read(to).is_ok_and(|found| found == bytes) {
        fs::write(to, bytes)?;
    }
    Ok(())
}

/// Returns the version of a package in a Cargo.lock.
fn locked_version(lock: &str, package: &str) -> Option<String> {
    let (_, after) = lock.split_once(&format!("name = \"{package}\"\nversion = \""))?;
    Some(after.split('"').next()?.to_owned())
}

fn typescript(
    workspace: &XtaskWorkspace,
    name: PeerName,
    (sdk, script): (&str, &str),
) -> Result<InstalledPeer> {
    let (from, node) = (sources(workspace, "typescript"), install::node(workspace)?);
    let folder = install::npm_packages(workspace, &node, "bench-typescript", &from)?;
    // Node looks for packages starting at the script's folder.
    fs::copy(from.join(script), folder.join(script))
        .with_context(|| format!("copying {script}"))?;
    let pins: serde_json::Value = serde_json::from_slice(&fs::read(from.join("package.json"))?)?;
    let version = pins["dependencies"][sdk]
        .as_str()
        .with_context(|| format!("package.json doesn't pin {sdk}"))?;
    Ok(InstalledPeer {
        name,
        version: format!(
            "{version} on node {}",
            command_output(Command::new(&node.program).arg("--version"))?
        ),
        program: node.program,
        script: vec![folder.join(script).into()],
        folder,
    })
}

fn python(workspace: &XtaskWorkspace) -> Result<InstalledPeer> {
    let from = sources(workspace, "python");
    let requirements = from.join("requirements.txt");
    let program = install::python_environment(workspace, "bench-python", &requirements)?;
    let sdk = pinned_version(&fs::read_to_string(&requirements)?, "mcp")
        .context("requirements.txt doesn't pin mcp")?;
    Ok(InstalledPeer {
        name: PeerName::Python,
        version: format!("{sdk} on {}", command_output(Command::new(&program).arg("--version"))?),
        program,
        script: vec![from.join("server.py").into()],
        folder: folder(workspace, "root")?,
    })
}

/// Returns the version of a package in a requirements file.
pub(crate) fn pinned_version(requirements: &str, package: &str) -> Option<String> {
    let line =
        requirements.lines().find_map(|line| line.strip_prefix(package)?.strip_prefix("=="))?;
    Some(line.trim().to_owned())
}

/// Returns the output of a short command.
pub(crate) fn command_output(command: &mut Command) -> Result<String> {
    let what = Path::new(command.get_program()).display().to_string();
    let said = process::run(command, QUESTION_LIMIT, OutputMode::Kept)?.or_fail(&what)?;
    Ok(said.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_files_are_copied() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        assert!(copy_changed(&from, &to).is_err());
        fs::write(&from, "one").unwrap();
        copy_changed(&from, &to).unwrap();
        let copied = fs::metadata(&to).unwrap().modified().unwrap();
        copy_changed(&from, &to).unwrap();
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), copied);
        fs::write(&from, "two").unwrap();
        copy_changed(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "two");
    }

    #[test]
    fn versions_are_parsed() {
        let lock = "[[package]]\nname = \"rmcp-macros\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"rmcp\"\nversion = \"3.8.0\"\n";
        assert_eq!(locked_version(lock, "rmcp").as_deref(), Some("3.8.0"));
        assert_eq!(locked_version(lock, "rm"), None);
        let requirements = "anyio==4.16.0\nmcp-types==1.0\nmcp==2.3.0\n";
        assert_eq!(pinned_version(requirements, "mcp").as_deref(), Some("2.3.0"));
        assert_eq!(pinned_version(requirements, "m"), None);
    }
}
