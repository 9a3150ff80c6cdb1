//! What tests need to know about the machine that they run on, for tests only.
//!
//! A test that can't run on this machine ends with [`skip!`], and a test of which one part can't run names that part with
//! [`skip_part!`]. libtest has no such result and counts the test as passed, so both also append a line to the file that
//! the environment variable [`REPORT_VARIABLE`] names. `cargo xtask test` sets the variable, counts those tests as
//! skipped and prints the reasons. [`or_skip!`] unwraps what a test can't do without.
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

/// Where distributions put their programs. Tests often start programs with this search path alone.
const SYSTEM_PATH: &str = "/usr/bin:/bin";

/// Finds a program of the system, or gives the reason to skip the test that needs it.
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
