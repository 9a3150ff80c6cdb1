//! The step that repeats the tests of the step `clone` without root privileges, if CI runs as root. Nothing is compiled
//! again: nextest runs the programs that root built. The user can't write to the clone or its parent folder, and the
//! path of the home folder goes through a symbolic link.

use super::{
    CheckContext,
    cargo_tests::{self, NEXTEST_OPTIONS, TEST_LIMIT},
    clone::ClonePlace,
    skips::SkipReport,
    tally,
};
use crate::{
    process::{self, OutputMode},
    report::CheckCounts,
    workspace::XtaskWorkspace,
};
use anyhow::{Context as _, Result};
use std::{
    fs, io,
    os::unix::{
        fs::{chown, symlink},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::Command,
};

/// The ids of the system's unprivileged user and group, which own no files and should own no processes.
const UNPRIVILEGED_ID: u32 = 65534;
/// Where the home folder is created. Not a temporary folder, because the sandbox treats those differently.
const HOME_PARENTS: [&str; 2] = ["/home", "/var/lib"];
const HOME: &str = "docent-ci-user";
const HOME_LINK: &str = "docent-ci-user-link";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Runs a command with its standard output redirected to a file.
const REDIRECT_SCRIPT: &str = "file=$1; shift; exec \"$@\" >\"$file\"";

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    if !rustix::process::geteuid().is_root() {
        println!("not needed: the step `clone` runs as an ordinary user");
        return Ok(CheckCounts::default());
    }
    let Some(nextest) = find_nextest() else {
        println!("skipped: the tests as an ordinary user: cargo-nextest is not installed");
        return Ok(CheckCounts::ONE_SKIPPED);
    };
    let place = ClonePlace::in_temporary()?;
    let clone = place.update(&context.workspace.root)?;
    let lists = ["cargo", "binaries"].map(|name| place.folder.join(name).with_extension("json"));
    let [metadata, binaries] = &lists;
    let all = ["metadata", "--format-version", "1", "--all-features"];
    write_json(&clone, &all, metadata)?;
    let built = ["nextest", "list", "--workspace", "--list-type", "binaries-only"];
    write_json(&clone, &[&built[..], &["--message-format", "json"]].concat(), binaries)?;
    // Other users can't reach programs in root's home.
    let program = place.folder.join("cargo-nextest");
    fs::copy(&nextest, &program).with_context(|| format!("copying {}", nextest.display()))?;

    let home = UserHome::make()?;
    let skips = SkipReport::inside(&home.folder);
    let mut tests = Command::new(program);
    tests.args(["nextest", "run", "--cargo-metadata"]).arg(metadata);
    tests.arg("--binaries-metadata").arg(binaries);
    tests.args(NEXTEST_OPTIONS).args(context.filter).current_dir(&clone.root);
    tests.env_clear().env("PATH", PATH).env("HOME", &home.link).envs([skips.variable()]);
    tests.envs(cargo_tests::test_files(&clone)?).uid(UNPRIVILEGED_ID).gid(UNPRIVILEGED_ID);
    let done = process::run(&mut tests, TEST_LIMIT, OutputMode::Shown)?;
    skips.count(tally::nextest(&done.text).unwrap_or_default().with_status(done.success))
}

fn find_nextest() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("cargo-nextest"));
    programs.find(|program| program.is_file())
}

fn write_json(clone: &XtaskWorkspace, arguments: &[&str], file: &Path) -> Result<()> {
    let cargo = clone.cargo(arguments.iter().copied());
    let mut command = Command::new("sh");
    command.args(["-c", REDIRECT_SCRIPT, "sh"]).arg(file).arg(cargo.get_program());
    command.args(cargo.get_args()).current_dir(&clone.root);
    command.env("CARGO_TARGET_DIR", &clone.target);
    let what = format!("cargo {}", arguments.join(" "));
    process::run(&mut command, TEST_LIMIT, OutputMode::Kept)?.or_fail(&what).map(drop)
}

/// The home folder of the user and a link to it, removed when dropped.
struct UserHome {
    folder: PathBuf,
    link: PathBuf,
}

impl UserHome {
    fn make() -> Result<Self> {
        let place = HOME_PARENTS.into_iter().map(Path::new).find(|place| place.is_dir());
        let place =
            place.with_context(|| format!("no such folder: {}", HOME_PARENTS.join(", ")))?;
        let home = Self { folder: place.join(HOME), link: place.join(HOME_LINK) };
        // Left over from a run that was killed.
        home.remove().with_context(|| format!("emptying {}", home.folder.display()))?;
        fs::create_dir(&home.folder)
            .with_context(|| format!("making {}", home.folder.display()))?;
        chown(&home.folder, Some(UNPRIVILEGED_ID), Some(UNPRIVILEGED_ID))?;
        symlink(HOME, &home.link).with_context(|| format!("making {}", home.link.display()))?;
        Ok(home)
    }

    fn remove(&self) -> io::Result<()> {
        for removed in [fs::remove_file(&self.link), fs::remove_dir_all(&self.folder)] {
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Drop for UserHome {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            println!("cannot remove {}: {error}", self.folder.display());
        }
    }
}
