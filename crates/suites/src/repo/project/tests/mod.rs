//! Tests of whole projects in many ecosystems, with every reported field.

mod applications;
mod compiled;
mod scripted;

use super::*;
use crate::repo::report::{Dependency, Purpose};
use std::fs;
use tempfile::TempDir;

/// A project on disk, with results of other modules.
struct Fixture {
    folder: TempDir,
    manifests: Vec<Manifest>,
    presence: Presence,
}

impl Fixture {
    /// Creates these files; README, guide and pipelines are found by name.
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

    /// Adds a manifest: path, ecosystem, name and dependencies.
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

    /// Changes the last added manifest.
    fn where_it(mut self, change: impl FnOnce(&mut Manifest)) -> Self {
        change(self.manifests.last_mut().unwrap());
        self
    }

    /// Checks all results, one line per item.
    fn check(self, want: &[&str]) {
        let tree = ProjectTree::of(self.folder.path());
        let (project, problems) = describe(&tree, &self.manifests, &self.presence, &|| false);
        let mut lines = vec![format!("{:?}: {}", project.kind, project.because)];
        lines.extend(project.summary.iter().map(|it| format!("summary: {it}")));
        lines.extend(project.frameworks.iter().map(|it| format!("framework: {it}")));
        lines.extend(project.entry_points.iter().map(|it| {
            let path = it.path.as_deref().unwrap_or("nowhere");
            format!("{:?} {}: {path} by {}", it.kind, it.name, it.declared_in)
        }));
        lines.extend(project.commands.iter().map(|it| {
            format!("{:?} in {}: {} by {}", it.purpose, it.folder, it.command, it.source)
        }));
        lines.extend(
            project
                .toolchain
                .iter()
                .map(|it| format!("tool: {} {} by {}", it.name, it.requirement, it.source)),
        );
        lines.extend(project.environment.iter().map(|it| format!("variable: {it}")));
        lines.extend(problems.iter().map(|it| format!("problem: {it}")));
        assert_eq!(lines, want, "{}", lines.join("\n"));
    }
}

fn dependency(name: &str, purpose: Purpose) -> Dependency {
    Dependency { name: name.to_owned(), requirement: None, locked: None, purpose }
}

#[test]
fn an_empty_folder_gives_no_signal() {
    Fixture::new(&[]).check(&["Unknown: no manifest or file identifies it"]);
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
        "Unknown: no manifest or file identifies it",
        "summary: A tool that counts lines of code.",
        "Test in .: make test by Makefile:1",
        "problem: Taskfile.yml: is not valid YAML: line 1 column 8: unclosed bracket '['",
        "problem: .github/workflows/ci.yml: is not valid YAML: line 2 column 2: tabs disallowed within this context (block indentation)",
        "problem: compose.yml: is not valid YAML: line 1 column 11: unclosed bracket '{'",
    ]);
}
