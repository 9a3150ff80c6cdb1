//! Commands in continuous integration, as a person would type them. Machine setup is left out.

use super::{
    commands::{CommandCandidate, CommandOrigin},
    purpose::{self, CommandRequirement},
    shell::{self, TypedCommand},
    sources::{MAX_SOURCE_BYTES, ProjectSources, read},
};
use crate::{
    files::ReadFailure,
    repo::{
        report::CommandPurpose,
        tree::{join, name_of},
    },
};
use serde_json::{Map, Value};

/// Maximum number of files to read; the rest repeats them.
const MAX_CI_FILES: usize = 30;

/// Names of workflows that run on every change, which are most useful.
const PREFERRED_WORKFLOW_NAMES: [&str; 6] = ["ci", "test", "tests", "build", "main", "check"];

/// Command keys of all services except GitHub, which only has `run`.
const KEYS: [&str; 15] = [
    "script",
    "before_script",
    "commands",
    "command",
    "run",
    "bash",
    "pwsh",
    "powershell",
    "install",
    "before_install",
    "build_script",
    "test_script",
    "before_build",
    "install_script",
    "before_test",
];

/// Returns the commands in continuous integration, and problems with its files.
pub(super) fn commands(sources: &ProjectSources<'_>) -> (Vec<CommandCandidate>, Vec<ReadFailure>) {
    let mut paths: Vec<&str> = sources.presence.ci.iter().map(String::as_str).collect();
    paths.sort_by_key(|path| {
        let name = name_of(path);
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem).to_ascii_lowercase();
        !stem.split(['-', '_']).any(|part| PREFERRED_WORKFLOW_NAMES.contains(&part))
    });
    let mut candidates = Vec::new();
    let mut problems = Vec::new();
    let small =
        |path: &str| sources.tree.file(path).is_some_and(|file| file.bytes <= MAX_SOURCE_BYTES);
    let read_ones = paths.into_iter().filter(|path| is_read(path) && small(path));
    for path in read_ones.take(MAX_CI_FILES) {
        if sources.stopped() {
            break;
        }
        match read(sources.tree, path) {
            Ok((text, Value::Null)) => {
                let mut reader = CiFileReader::new(sources, path, &text);
                jenkins(&text).for_each(|(script, line)| reader.jenkins(script, line));
                candidates.append(&mut reader.found);
            }
            Ok((text, value)) => {
                let mut reader = CiFileReader::new(sources, path, &text);
                reader.walk(&value, Some(""));
                candidates.append(&mut reader.found);
            }
            Err(problem) => problems.push(problem),
        }
    }
    (candidates, problems)
}

fn is_read(path: &str) -> bool {
    let name = name_of(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(ending, "yml" | "yaml") || name == "Jenkinsfile"
}

/// A file being read.
struct CiFileReader<'r> {
    sources: &'r ProjectSources<'r>,
    path: &'r str,
    lines: Vec<&'r str>,
    /// Line up to which commands were found.
    at: usize,
    github: bool,
    found: Vec<CommandCandidate>,
}

impl<'r> CiFileReader<'r> {
    fn new(sources: &'r ProjectSources<'r>, path: &'r str, text: &'r str) -> Self {
        let github = path.contains("workflows/");
        Self { sources, path, lines: text.lines().collect(), at: 0, github, found: Vec::new() }
    }

    /// Walks the tree in file order; commands in an unknown folder are skipped.
    fn walk(&mut self, value: &Value, folder: Option<&str>) {
        match value {
            Value::Object(table) => {
                let own = own_folder(table);
                let inner = match own {
                    Some(path) => folder.and_then(|folder| self.enter(folder, path)),
                    None => folder.map(str::to_owned),
                };
                for (key, value) in table {
                    self.entry(table, key, value, inner.as_deref());
                }
            }
            Value::Array(all) => all.iter().for_each(|value| self.walk(value, folder)),
            _ => {}
        }
    }

    fn enter(&self, folder: &str, path: &str) -> Option<String> {
        join(folder, path).filter(|path| self.sources.tree.has_folder(path))
    }

    fn entry(
        &mut self,
        table: &Map<String, Value>,
        key: &str,
        value: &Value,
        folder: Option<&str>,
    ) {
        let is_script = if self.github {
            key == "run" && is_plain_shell(table)
        } else {
            KEYS.contains(&key) || key.ends_with("_script")
        };
        match value {
            Value::String(script) if is_script => self.script(script, folder),
            Value::Array(all) if is_script => {
                let lines: Vec<&str> = all.iter().filter_map(Value::as_str).collect();
                self.script(&lines.join("\n"), folder);
                all.iter()
                    .filter(|value| value.is_object())
                    .for_each(|value| self.walk(value, folder));
            }
            _ => self.walk(value, folder),
        }
    }

    fn script(&mut self, script: &str, folder: Option<&str>) {
        let Some(folder) = folder else { return };
        let lines: Vec<&str> = script.lines().collect();
        for typed in shell::commands(script, folder, self.sources) {
            let line = lines.get(typed.line).and_then(|line| self.locate(line.trim()));
            self.take(&typed, line);
        }
    }

    /// Returns the file line of a script line, from 1. Scripts come in file order.
    fn locate(&mut self, line: &str) -> Option<u32> {
        let rest = self.lines.get(self.at..)?;
        let ends = |candidate: &&str| {
            let candidate = candidate.trim().trim_end_matches(['"', '\'']);
            let is_name = candidate.trim_start_matches("- ").starts_with("name:");
            candidate.ends_with(line) && !is_name
        };
        let holds = |candidate: &&str| candidate.contains(line);
        let found = rest.iter().position(ends).or_else(|| rest.iter().position(holds))?;
        self.at += found;
        u32::try_from(self.at + 1).ok()
    }

    fn jenkins(&mut self, script: &str, line: usize) {
        for typed in shell::commands(script, "", self.sources) {
            let line = u32::try_from(line + typed.line + 1).ok();
            self.take(&typed, line);
        }
    }

    fn take(&mut self, typed: &TypedCommand, line: Option<u32>) {
        let Some(judgement) = purpose::judge_command(&typed.words()) else { return };
        // A pipeline starts programs only to test them.
        let is_listed = !matches!(judgement.purpose, CommandPurpose::Run | CommandPurpose::Other);
        // Packages for pipeline tools are not project dependencies.
        let is_needed = match (judgement.purpose, judgement.need) {
            (CommandPurpose::Install, CommandRequirement::Ecosystem(ecosystem)) => {
                self.sources.ecosystem(ecosystem).next().is_some()
            }
            (CommandPurpose::Install, CommandRequirement::File(_)) => false,
            _ => true,
        };
        // A path upward depends on a folder that only the pipeline has.
        let is_placed = !typed.text.contains("../");
        if is_listed && is_needed && is_placed && typed.is_complete() {
            self.found.push(CommandCandidate {
                purpose: judgement.purpose,
                command: typed.text.clone(),
                folder: typed.folder.clone(),
                path: self.path.to_owned(),
                line,
                origin: CommandOrigin::Integration,
            });
        }
    }
}

/// Returns the working folder of a job or step, if set.
fn own_folder(table: &Map<String, Value>) -> Option<&str> {
    let keys = ["working-directory", "working_directory", "workingDirectory"];
    let own = keys.iter().find_map(|key| table.get(*key)).and_then(Value::as_str);
    let default = table.get("defaults").and_then(|it| it.pointer("/run/working-directory"));
    own.or_else(|| default.and_then(Value::as_str)).filter(|path| !path.starts_with(['~', '/']))
}

/// Whether a step uses a common shell.
fn is_plain_shell(step: &Map<String, Value>) -> bool {
    let shell = step.get("shell").and_then(Value::as_str).unwrap_or("bash");
    shell.starts_with("bash") || shell.starts_with("sh") || shell.starts_with("pwsh")
}

/// Returns the shell scripts in a Jenkinsfile, with their first line, from 0.
fn jenkins(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut seen = 0;
    let mut line = 0;
    text.match_indices("sh ").filter_map(move |(at, _)| {
        let starts = text.get(..at)?.chars().next_back().is_none_or(char::is_whitespace);
        line += text.get(seen..at)?.matches('\n').count();
        seen = at;
        let rest = text.get(at + 3..)?.trim_start().trim_start_matches('(');
        let quote = ["'''", "\"\"\"", "'", "\""].into_iter().find(|it| rest.starts_with(it))?;
        let (script, _) = rest.strip_prefix(quote)?.split_once(quote)?;
        starts.then_some((script, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::{
        report::{Manifest, Presence},
        tree::ProjectTree,
    };
    use std::fs;

    fn check(path: &str, text: &str, want: &[(CommandPurpose, &str, &str, Option<u32>)]) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::create_dir_all(folder.path().join("web")).unwrap();
        fs::write(file, text).unwrap();
        let manifests =
            [("package.json", "npm"), ("setup.py", "Python")].map(|(path, ecosystem)| {
                fs::write(folder.path().join(path), "{}").unwrap();
                Manifest { path: path.into(), ecosystem: ecosystem.into(), ..Manifest::default() }
            });
        let tree = ProjectTree::of(folder.path());
        let presence = Presence { ci: vec![path.into()], ..Presence::default() };
        let sources = ProjectSources::gather(&tree, &manifests, &presence, &|| false);
        let (found, problems) = commands(&sources);
        assert_eq!(problems, []);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.purpose, it.command.as_str(), it.folder.as_str(), it.line))
            .collect();
        assert_eq!(found, want, "{path}");
    }

    use CommandPurpose::{Build, Format, Install, Lint, Test};

    #[test]
    fn github() {
        check(
            ".github/workflows/ci.yml",
            "\
on: [push]
defaults:
  run:
    shell: bash
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: sudo apt-get install -y cmake
      - name: Test
        run: |
          echo start
          export A=1
          cargo test \\
            --all
          cargo test --features ${{ matrix.features }}
      - run: npm ci && npm run build
        working-directory: web
      - run: make lint
        working-directory: nowhere
      - run: print(1)
        shell: python
      - run: cargo fmt --check
      - run: cargo run -- --version
",
            &[
                (Test, "cargo test --all", "", Some(15)),
                (Install, "npm ci", "web", Some(18)),
                (Build, "npm run build", "web", Some(18)),
                (Lint, "cargo fmt --check", "", Some(24)),
            ],
        );
    }

    #[test]
    fn other_services() {
        check(
            ".gitlab-ci.yml",
            "image: rust\nbefore_script:\n  - rustup update\ntest:\n  script:\n    - cargo test\n    - !reference [.a, script]\n",
            &[(Test, "cargo test", "", Some(6))],
        );
        check(
            ".circleci/config.yml",
            "jobs:\n  build:\n    steps:\n      - checkout\n      - run: npm ci\n      - run:\n          name: Test\n          command: |\n            npm test\n          working_directory: web\n",
            &[(Install, "npm ci", "", Some(5)), (Test, "npm test", "web", Some(9))],
        );
        check(
            "azure-pipelines.yml",
            "steps:\n- script: dotnet build\n  displayName: Build\n- bash: dotnet test\n  workingDirectory: web\n",
            &[(Build, "dotnet build", "", Some(2)), (Test, "dotnet test", "web", Some(4))],
        );
        check(
            ".travis.yml",
            "language: python\ninstall:\n  - pip install tox\n  - pip install -e .\nscript: tox\n",
            &[(Install, "pip install -e .", "", Some(4)), (Test, "tox", "", Some(5))],
        );
        check(
            "Jenkinsfile",
            "node {\n  sh 'mvn -B verify'\n  sh '''\n    npm ci\n    npx prettier --write .\n  '''\n}\n",
            &[
                (Test, "mvn -B verify", "", Some(2)),
                (Install, "npm ci", "", Some(4)),
                (Format, "npx prettier --write .", "", Some(5)),
            ],
        );
    }

    #[test]
    fn a_broken_file_is_a_problem() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".travis.yml"), "script: [").unwrap();
        let tree = ProjectTree::of(folder.path());
        let presence = Presence { ci: vec![".travis.yml".into()], ..Presence::default() };
        let sources = ProjectSources::gather(&tree, &[], &presence, &|| false);
        let (found, problems) = commands(&sources);
        assert_eq!(found, []);
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].path, ".travis.yml");
        assert!(problems[0].reason.starts_with("is not valid YAML: "), "{}", problems[0].reason);
    }
}
