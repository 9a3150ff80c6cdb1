//! Finds a folder for tests that need a folder outside the temporary ones.

use std::{
    env, fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

/// The folders that docent treats as temporary: every guarded server may read and write them.
pub const TEMPORARY_FOLDERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

const FOLDER_PREFIX: &str = "docent-test-";
/// The age at which a killed test's folder is removed by a later test, because no test can still be using it.
const STALE_AFTER: Duration = Duration::from_hours(24);

/// Creates a folder outside the temporary ones, which is removed when dropped.
///
/// The repository and its target directory may be in a temporary folder, so the user's cache comes first. The
/// path has no symbolic links. The error is the reason to skip the test and lists the folders that were tried.
pub fn folder_outside_temporary() -> Result<TempDir, String> {
    make_outside(&candidates(), &TEMPORARY_FOLDERS.map(PathBuf::from))
}

/// The user's cache by the environment, then by the user database, then the folders of the program and of the package.
fn candidates() -> Vec<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let own_program = || Some(env::current_exe().ok()?.parent()?.to_owned());
    let found = [
        variable("XDG_CACHE_HOME"),
        variable("HOME").map(|home| home.join(".cache")),
        registered_home().map(|home| home.join(".cache")),
        own_program(),
        env::current_dir().ok(),
    ];
    let mut candidates: Vec<PathBuf> = found.into_iter().flatten().collect();
    candidates.dedup();
    candidates
}

/// The home folder in the user database, which may differ from HOME.
fn registered_home() -> Option<PathBuf> {
    let user = fs::metadata("/proc/self").ok()?.uid();
    home_in(&fs::read_to_string("/etc/passwd").ok()?, user)
}

fn home_in(database: &str, user: u32) -> Option<PathBuf> {
    let mut users = database.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let entry = users.find(|fields| fields.get(2).is_some_and(|id| *id == user.to_string()))?;
    entry.get(5).map(PathBuf::from).filter(|home| home.is_absolute())
}

fn make_outside(candidates: &[PathBuf], temporary: &[PathBuf]) -> Result<TempDir, String> {
    let mut tried = Vec::new();
    for candidate in candidates {
        match make_in(candidate, temporary) {
            Ok(folder) => return Ok(folder),
            Err(reason) => tried.push(format!("{}: {reason}", candidate.display())),
        }
    }
    let tried = if tried.is_empty() { "HOME is not set".to_owned() } else { tried.join("; ") };
    Err(format!("no writable folder outside the temporary ones ({tried})"))
}

fn make_in(candidate: &Path, temporary: &[PathBuf]) -> Result<TempDir, String> {
    let folder = resolve(candidate).map_err(|error| error.to_string())?;
    let is_temporary = |place: &PathBuf| {
        folder.starts_with(place)
            || place.canonicalize().is_ok_and(|place| folder.starts_with(place))
    };
    if temporary.iter().any(is_temporary) {
        return Err("it is in a temporary folder".to_owned());
    }
    // A new user has no cache folder.
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.to_string()),
        Ok(()) | Err(_) => {}
    }
    remove_stale(&folder, SystemTime::now() - STALE_AFTER);
    let made = tempfile::Builder::new().prefix(FOLDER_PREFIX).tempdir_in(&folder);
    made.map_err(|error| error.to_string())
}

/// The path without symbolic links. The folder itself may be missing, but not its parent.
fn resolve(candidate: &Path) -> io::Result<PathBuf> {
    match (candidate.canonicalize(), candidate.parent(), candidate.file_name()) {
        (Err(error), Some(around), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
            Ok(around.canonicalize()?.join(name))
        }
        (found, ..) => found,
    }
}

/// Removes stale folders. Another test may be removing the same folder, so errors are ignored.
fn remove_stale(folder: &Path, before: SystemTime) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(FOLDER_PREFIX);
        let changed = entry.metadata().and_then(|found| found.modified());
        if is_ours && changed.is_ok_and(|changed| changed < before) {
            fs::remove_dir_all(entry.path()).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Folders in which `tmp` plays the temporary folder.
    fn make(place: &TempDir, candidates: &[&str]) -> Result<TempDir, String> {
        let at = |name: &&str| place.path().join(name);
        let candidates: Vec<PathBuf> = candidates.iter().map(at).collect();
        make_outside(&candidates, &[at(&"tmp")])
    }

    #[test]
    fn the_first_folder_that_can_be_used_is() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["tmp/home", "home", "other"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("file"), "").unwrap();
        symlink("tmp/home", root.join("link-to-temporary")).unwrap();
        symlink("home", root.join("link")).unwrap();
        for (candidates, expected) in [
            (&["home/.cache", "other"][..], "home/.cache"),
            (&["tmp/home/.cache", "other"], "other"),
            (&["link-to-temporary/.cache", "other"], "other"),
            (&["link/.cache"], "home/.cache"),
            (&["missing/.cache", "other"], "other"),
            (&["file", "file/.cache", "other"], "other"),
        ] {
            let made = make(&place, candidates).unwrap();
            assert_eq!(made.path().parent(), Some(&*root.join(expected)), "{candidates:?}");
            let path = made.path().to_owned();
            drop(made);
            assert!(!path.exists());
        }
        assert!(!root.join("missing").exists() && !root.join("tmp/home/.cache").exists());
    }

    #[test]
    fn the_reason_names_each_folder_that_was_tried() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("tmp")).unwrap();
        let reason = make(&place, &["tmp/.cache", "missing/.cache"]).unwrap_err();
        assert!(reason.contains("tmp/.cache: it is in a temporary folder; "), "{reason}");
        assert!(reason.contains("missing/.cache: No such file"), "{reason}");
        assert!(make(&place, &[]).unwrap_err().contains("HOME is not set"));
    }

    #[test]
    fn folders_of_killed_tests_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let (left, foreign) = (place.path().join("docent-test-left"), place.path().join("other"));
        for folder in [&left, &foreign] {
            fs::create_dir_all(folder.join("inner")).unwrap();
        }
        remove_stale(place.path(), SystemTime::now() - STALE_AFTER);
        assert!(left.exists(), "a test may be using it");
        remove_stale(place.path(), SystemTime::now() + STALE_AFTER);
        assert!(!left.exists() && foreign.exists());
    }

    #[test]
    fn the_home_of_a_user_comes_from_the_database() {
        let database =
            "root:x:0:0:root:/root:/bin/bash\n\nbad\nann:x:1000:1000::/home/ann:\nb:x:7:7:::\n";
        for (user, expected) in
            [(0, Some("/root")), (1000, Some("/home/ann")), (7, None), (100, None)]
        {
            assert_eq!(home_in(database, user), expected.map(PathBuf::from), "{user}");
        }
    }

    #[test]
    fn this_machine_s_folder_is_outside_the_temporary_ones() {
        let folder = crate::or_skip!(folder_outside_temporary());
        let path = folder.path().canonicalize().unwrap();
        assert_eq!(path, folder.path());
        assert!(TEMPORARY_FOLDERS.iter().all(|place| !path.starts_with(place)), "{path:?}");
    }
}
