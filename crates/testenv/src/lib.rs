//! Helpers for tests that depend on the machine they run on.
//!
//! A test that can't run on this machine ends with [`skip!`]; a test that can't run one of its parts reports it with
//! [`skip_part!`]. libtest can't skip and counts the test as passed, so both also append a line to the file named by
//! the environment variable [`REPORT_VARIABLE`]. `cargo xtask test` sets the variable, counts those tests as skipped
//! and prints the reasons. [`or_skip!`] unwraps something that a test requires.
//!
//! This crate depends on no other crate of the workspace, so that the smallest crates can use it too.
//!
//! ```
//! fn reads_the_terminal() {
//!     let script = docent_testenv::or_skip!(docent_testenv::find_program("script"));
//!     assert!(script.is_absolute());
//! }
//! # reads_the_terminal();
//! ```

mod folder;
mod skip;

pub use folder::{TEMPORARY_FOLDERS, folder_outside_temporary};
pub use skip::{REPORT_VARIABLE, SkipExtent, report_skip};

use std::{
    env,
    ffi::OsStr,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// Where distributions install programs. Tests often start programs with only this search path.
const SYSTEM_PATH: &str = "/usr/bin:/bin";

/// Finds a system program, or returns the reason to skip the test that needs it.
pub fn find_program(name: &str) -> Result<PathBuf, String> {
    search(name, OsStr::new(SYSTEM_PATH)).ok_or_else(|| format!("{name} is not installed"))
}

fn search(name: &str, path: &OsStr) -> Option<PathBuf> {
    env::split_paths(path).map(|folder| folder.join(name)).find(|program| is_executable(program))
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_programs_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for (name, mode) in [("program", 0o755), ("text", 0o644)] {
            let file = folder.path().join(name);
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(folder.path().join("folder")).unwrap();
        let found = |name| search(name, folder.path().as_os_str());
        assert_eq!(found("program"), Some(folder.path().join("program")));
        assert_eq!((found("text"), found("folder"), found("missing")), (None, None, None));
        let reason = find_program("docent-no-such-program").unwrap_err();
        assert_eq!(reason, "docent-no-such-program is not installed");
    }
}
