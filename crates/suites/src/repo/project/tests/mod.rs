//! Whole projects of many ecosystems, each with every field of what is told about it.

mod applications;
mod compiled;
mod scripted;

use super::*;
use crate::repo::report::{Dependency, Purpose};
use std::fs;
use tempfile::TempDir;

/// A project on disk, with what other modules read of it.
struct Fixture {
    folder: TempDir,
    manifests: Vec<Manifest>,
    presence: Presence,
}

impl Fixture {
    /// Of these files; README, guide and pipelines are found by their names.
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut presence = Presence::default();
        for (path, text) in files {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
            match *path {
                path if path.starts_with("README") => presence.readme = Some(path.into()),
                path if path.starts_with("CONTRIBUTING") => {
                    presence.contributing = Some(path.into());
                }
                path if path.starts_with(".github/workflows/") => presence.ci.push(path.into()),
                path if path.contains("test") => presence.test_files += 1,
                _ => {}
            }
        }
        Self { folder, manifests: Vec::new(), presence }
    }

    /// With a manifest: its path, ecosystem and name, and what it asks for.
    fn with(mut self, path: &str, ecosystem: &str, name: &str, asks_for: &[&str]) -> Self {
        let runtime = |name: &&str| dependency(name, Purpose::Runtime);
        self.manifests.push(Manifest {
            path: path.into(),
            ecosystem: ecosystem.into(),
            name: (!name.is_empty()).then(|| name.to_owned()),
            dependencies: asks_for.iter().map(runtime).collect(),
            ..Manifest::default()
        });
        self
    }

    /// Changes the manifest that was added last.
    fn where_it(mut self, change: impl FnOnce(&mut Manifest)) -> Self {
        change(self.manifests.last_mut().unwrap());
        self
    }

    /// Compares all that is told, one line for each thing.
    fn check(self, want: &[&str]) {
        let tree = ProjectTree::of(self.folder.path());
        let (project, problems) = describe(&tree, &self.manifests, &self.presence, &|| false);
        let mut told = vec![format!("{:?}: {}", project.kind, project.because)];
        told.extend(project.summary.iter().map(|it| format!("summary: {it}")));
        told.extend(project.frameworks.iter().map(|it| format!("framework: {it}")));
        told.extend(project.entry_points.iter().map(|it| {
            let path = it.path.as_deref().unwrap_or("nowhere");
            format!("{:?} {}: {path} by {}", it.kind, it.name, it.declared_in)
        }));
        told.extend(project.commands.iter().map(|it| {
            format!("{:?} in {}: {} by {}", it.purpose, it.folder, it.command, it.source)
        }));
        told.extend(
            project
                .toolchain
                .iter()
                .map(|it| format!("tool: {} {} by {}", it.name, it.requirement, it.source)),
        );
        told.extend(project.environment.iter().map(|it| format!("variable: {it}")));
        told.extend(problems.iter().map(|it| format!("problem: {it}")));
        assert_eq!(told, want, "{}", told.join("\n"));
    }
}

fn dependency(name: &str, purpose: Purpose) -> Dependency {
    Dependency { name: name.to_owned(), requirement: None, locked: None, purpose }
}

#[test]
fn an_empty_folder_tells_nothing() {
    Fixture::new(&[]).check(&["Unknown: no manifest and no file tells what it is"]);
}

#[test]
fn a_stopped_call_comes_back_with_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("Makefile"), "test:\n\ttrue\n").unwrap();
    let tree = ProjectTree::of(folder.path());
    let (project, problems) = describe(&tree, &[], &Presence::default(), &|| true);
    assert_eq!((project.commands, problems), (Vec::new(), Vec::new()));
}

#[test]
fn broken_files_are_problems_and_the_rest_still_comes() {
    Fixture::new(&[
        ("Cargo.toml", "[package\n"),
        ("Taskfile.yml", "tasks: [\n"),
        (".github/workflows/ci.yml", "jobs:\n\t- x\n"),
        ("compose.yml", "services: {a"),
        ("Makefile", "test:\n\tcargo test\n"),
        ("README.md", "# Tool\n\nA tool that counts lines of code.\n"),
        ("src/main.rs", "fn main() {}\n"),
    ])
    .with("Cargo.toml", "Cargo", "tool", &[])
    .check(&[
        "Unknown: no manifest and no file tells what it is",
        "summary: A tool that counts lines of code.",
        "Test in .: make test by Makefile:1",
        "problem: Taskfile.yml: is not valid YAML: line 1 column 8: unclosed bracket '['",
        "problem: .github/workflows/ci.yml: is not valid YAML: line 2 column 2: tabs disallowed within this context (block indentation)",
        "problem: compose.yml: is not valid YAML: line 1 column 11: unclosed bracket '{'",
    ]);
}
