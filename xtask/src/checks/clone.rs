//! The step that runs the workspace's tests from a clone under /tmp, in a folder with a space in its name. The sandbox
//! treats temporary folders differently, so tests that pass elsewhere can fail there.
//!
//! The target directory next to the clone is kept, and files unchanged since the last clone keep their times:
//! dependencies are compiled once, and crates that have not changed are not compiled again.

use super::{CheckContext, cargo_tests};
use crate::{report::CheckCounts, workspace::XtaskWorkspace};
use anyhow::{Context as _, Result, ensure};
use rustix::{fs::Mode, process};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs::{self, DirBuilder, File},
    io::ErrorKind,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{DirBuilderExt as _, MetadataExt as _, symlink},
    },
    path::{Path, PathBuf},
    process::Command,
};

/// TMPDIR may name a folder that the sandbox does not treat as temporary.
const TEMPORARY_FOLDER: &str = "/tmp";

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let place = ClonePlace::in_temporary()?;
    let clone = place.update(&context.workspace.root)?;
    cargo_tests::run(&CheckContext { workspace: &clone, ..*context })
}

/// The folder with the clone and its target directory, locked by this process.
pub(super) struct ClonePlace {
    pub(super) folder: PathBuf,
    _lock: File,
}

impl ClonePlace {
    /// Opens the folder in /tmp.
    pub(super) fn in_temporary() -> Result<Self> {
        Self::open(Path::new(TEMPORARY_FOLDER))
    }

    fn open(temporary: &Path) -> Result<Self> {
        // Other users run the programs built here.
        process::umask(Mode::from_raw_mode(0o022));
        let user = process::geteuid().as_raw();
        let folder = temporary.join(format!("docent-ci-{user}"));
        match DirBuilder::new().mode(0o755).create(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(error).with_context(|| format!("making {}", folder.display()));
            }
            Ok(()) | Err(_) => {}
        }
        // Any user can create a folder or a link with that name.
        let found = fs::symlink_metadata(&folder)?;
        ensure!(
            found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0,
            "{} is not a folder that only this user can write to; remove it",
            folder.display()
        );
        let lock = File::create(folder.join("lock"))?;
        lock.lock().context("waiting for another xtask to finish its tests")?;
        Ok(Self { folder, _lock: lock })
    }

    /// Clones the repository at `source`. Uncommitted changes are copied too, so that the tests cover the same files as
    /// the steps that run in place.
    pub(super) fn update(&self, source: &Path) -> Result<XtaskWorkspace> {
        let (clone, previous) = (self.folder.join("a clone"), self.folder.join("previous"));
        remove_folder(&previous)?;
        if clone.exists() {
            fs::rename(&clone, &previous)?;
        }
        let commit = text(git(source).args(["rev-parse", "HEAD"]))?;
        text(git(source).args(["clone", "--quiet", "--no-checkout"]).arg(source).arg(&clone))?;
        text(git(&clone).args(["checkout", "--quiet", "--detach", commit.trim()]))?;
        let changes = copy_changes(source, &clone)?;
        keep_times(&previous, &clone)?;
        remove_folder(&previous)?;
        let commit: String = commit.chars().take(12).collect();
        println!("{}: {commit} and {changes} uncommitted changes", clone.display());
        Ok(XtaskWorkspace {
            root: clone,
            target: self.folder.join("target"),
            metadata: Value::Null,
        })
    }
}

fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder);
    // A hook that runs xtask sets these for its own repository.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        git.env_remove(name);
    }
    git
}

/// Returns what git prints, or an error if it fails.
fn text(git: &mut Command) -> Result<String> {
    String::from_utf8(output(git)?).context("git's output is not UTF-8")
}

fn output(git: &mut Command) -> Result<Vec<u8>> {
    let ran = git.output().context("starting git")?;
    let said = String::from_utf8_lossy(&ran.stderr);
    ensure!(ran.status.success(), "{git:?} failed: {}", said.trim());
    Ok(ran.stdout)
}

/// Copies what differs from the last commit, untracked files included; returns the number of files.
fn copy_changes(source: &Path, clone: &Path) -> Result<usize> {
    let differing =
        output(git(source).args(["diff", "--name-only", "--no-renames", "-z", "HEAD"]))?;
    let new = output(git(source).args(["ls-files", "--others", "--exclude-standard", "-z"]))?;
    let names = differing.split(|byte| *byte == 0).chain(new.split(|byte| *byte == 0));
    let mut changes = 0;
    for name in names.filter(|name| !name.is_empty()).map(OsStr::from_bytes) {
        let (from, to) = (source.join(name), clone.join(name));
        if to.symlink_metadata().is_ok() {
            fs::remove_file(&to)?;
        }
        let Ok(found) = from.symlink_metadata() else {
            changes += 1;
            continue;
        };
        fs::create_dir_all(to.parent().unwrap_or(clone))?;
        if found.is_symlink() {
            symlink(fs::read_link(&from)?, &to)?;
        } else if found.is_file() {
            fs::copy(&from, &to).with_context(|| format!("copying {}", from.display()))?;
        } else {
            // A nested repository.
            continue;
        }
        changes += 1;
    }
    Ok(changes)
}

/// Keeps the times of unchanged files: cargo recompiles what is newer than the last build.
fn keep_times(previous: &Path, clone: &Path) -> Result<()> {
    for entry in fs::read_dir(clone)? {
        let entry = entry?;
        let (old, new) = (previous.join(entry.file_name()), entry.path());
        let kind = entry.file_type()?;
        if kind.is_dir() && entry.file_name() != ".git" {
            keep_times(&old, &new)?;
        } else if kind.is_file()
            && let Ok(found) = old.symlink_metadata()
            && found.is_file()
            && fs::read(&old)? == fs::read(&new)?
        {
            File::options().write(true).open(&new)?.set_modified(found.modified()?)?;
        }
    }
    Ok(())
}

fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", folder.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        os::unix::fs::PermissionsExt as _,
        time::{Duration, SystemTime},
    };

    fn commit(repository: &Path) {
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        text(git(repository).args(["add", "--all"])).unwrap();
        text(git(repository).args(author).args(["commit", "--quiet", "-m", "x"])).unwrap();
    }

    fn times(folder: &Path, names: &[&str]) -> Vec<SystemTime> {
        let time = |name: &&str| folder.join(name).metadata().unwrap().modified().unwrap();
        names.iter().map(time).collect()
    }

    #[test]
    fn a_clone_has_uncommitted_changes_and_new_times_for_changed_files_alone() {
        let temporary = tempfile::tempdir().unwrap();
        let source = temporary.path().join("source");
        fs::create_dir_all(source.join("src")).unwrap();
        text(git(&source).args(["init", "--quiet"])).unwrap();
        let write = |name: &str, text: &str| fs::write(source.join(name), text).unwrap();
        write(".gitignore", "target\n");
        for name in ["src/same.rs", "src/changed.rs", "gone.rs"] {
            write(name, "fn first() {}\n");
        }
        commit(&source);
        let place = ClonePlace::open(temporary.path()).unwrap();
        let clone = place.update(&source).unwrap();
        let names = ["src/same.rs", "src/changed.rs"];
        let hour_ago = SystemTime::now() - Duration::from_hours(1);
        for name in names {
            let file = File::options().write(true).open(clone.root.join(name)).unwrap();
            file.set_modified(hour_ago).unwrap();
        }
        assert!(clone.root.to_str().unwrap().contains(' '));
        assert!(!clone.target.starts_with(&clone.root));

        write("src/changed.rs", "fn second() {}\n");
        commit(&source);
        write("src/same.rs", "fn third() {}\n");
        write("new.rs", "fn fourth() {}\n");
        write("target", "what was built\n");
        symlink("nowhere", source.join("link")).unwrap();
        fs::create_dir(source.join("inner")).unwrap();
        text(git(&source.join("inner")).args(["init", "--quiet"])).unwrap();
        fs::remove_file(source.join("gone.rs")).unwrap();
        place.update(&source).unwrap();
        let read = |name: &str| fs::read_to_string(clone.root.join(name)).unwrap_or_default();
        let found = ["src/changed.rs", "src/same.rs", "new.rs", "target", "gone.rs"].map(read);
        let expected = ["fn second() {}\n", "fn third() {}\n", "fn fourth() {}\n", "", ""];
        assert_eq!(found, expected);
        assert_eq!(fs::read_link(clone.root.join("link")).unwrap(), Path::new("nowhere"));
        assert!(!clone.root.join("inner/.git").exists());
        let second = times(&clone.root, &names);
        assert!(second.iter().all(|time| *time > hour_ago), "{second:?}");

        place.update(&source).unwrap();
        assert_eq!(times(&clone.root, &names), second, "nothing has changed");
        assert!(!place.folder.join("previous").exists());
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_refused() {
        let temporary = tempfile::tempdir().unwrap();
        let place = ClonePlace::open(temporary.path()).unwrap();
        let folder = place.folder.clone();
        drop(place);
        ClonePlace::open(temporary.path()).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = ClonePlace::open(temporary.path()).err().unwrap().to_string();
        assert!(refused.contains("remove it"), "{refused}");
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(temporary.path().join("elsewhere")).unwrap();
        symlink("elsewhere", &folder).unwrap();
        assert!(ClonePlace::open(temporary.path()).is_err(), "a link is followed");
    }
}
