//! A temporary folder with files for one test.

use std::{
    fs, io,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Describes the contents of a folder.
#[derive(Debug, Default)]
pub struct TestProjectBuilder {
    entries: Vec<(PathBuf, TestProjectEntry)>,
}

#[derive(Debug)]
enum TestProjectEntry {
    Folder,
    File(Vec<u8>),
    #[cfg(unix)]
    Link(PathBuf),
}

/// A folder that exists until this is dropped.
#[derive(Debug)]
pub struct TestProject {
    folder: TempDir,
}

/// Starts an empty layout.
pub fn project() -> TestProjectBuilder {
    TestProjectBuilder::default()
}

impl TestProjectBuilder {
    /// Adds a file and its parent folders. Paths are relative, with `/`.
    #[must_use]
    pub fn file(self, path: &str, contents: impl AsRef<[u8]>) -> Self {
        self.with(path, TestProjectEntry::File(contents.as_ref().to_vec()))
    }

    /// Adds an empty folder.
    #[must_use]
    pub fn folder(self, path: &str) -> Self {
        self.with(path, TestProjectEntry::Folder)
    }

    /// Adds a symbolic link; its target need not exist.
    #[cfg(unix)]
    #[must_use]
    pub fn link(self, path: &str, target: impl AsRef<Path>) -> Self {
        self.with(path, TestProjectEntry::Link(target.as_ref().to_owned()))
    }

    fn with(mut self, path: &str, entry: TestProjectEntry) -> Self {
        self.entries.push((PathBuf::from(path), entry));
        self
    }

    /// Writes everything into a new folder.
    pub fn build(self) -> io::Result<TestProject> {
        let project = TestProject { folder: tempfile::Builder::new().prefix("docent-").tempdir()? };
        for (path, entry) in self.entries {
            let path = project.path(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            match entry {
                TestProjectEntry::Folder => fs::create_dir_all(path)?,
                TestProjectEntry::File(contents) => fs::write(path, contents)?,
                #[cfg(unix)]
                TestProjectEntry::Link(target) => std::os::unix::fs::symlink(target, path)?,
            }
        }
        Ok(project)
    }
}

impl TestProject {
    /// The folder.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// A path inside the folder.
    pub fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(relative)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_its_contents_until_dropped() {
        let project = project()
            .file("src/main.rs", "fn main() {}")
            .file("raw.bin", [0xff, 0x00])
            .folder("empty")
            .link("src/link.rs", "main.rs")
            .build()
            .unwrap();
        assert_eq!(fs::read_to_string(project.path("src/link.rs")).unwrap(), "fn main() {}");
        assert_eq!(fs::read(project.path("raw.bin")).unwrap(), [0xff, 0x00]);
        assert!(project.path("empty").is_dir());
        let root = project.root().to_owned();
        drop(project);
        assert!(!root.exists());
    }
}
