//! Commands for working with a project, from task files, documents, manifests and continuous integration, ranked and
//! deduplicated.
//!
//! Must not know how those are read.

use super::{
    purpose::{self, CommandJudgment, CommandRequirement, NamePurpose},
    runners::TaskTarget,
    shell::{self, TypedCommand},
    sources::{ProjectSources, depth, is_aside, is_documents},
};
use crate::repo::{
    manifests,
    report::{CommandPurpose, ProjectCommand},
    tree::{join, name_of},
};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Maximum number of commands.
const MAX_COMMANDS: usize = 60;
/// Maximum number of commands per purpose and origin.
const MAX_COMMANDS_PER_ORIGIN: usize = 5;
/// Maximum number of commands per purpose from an origin that mostly repeats others.
const MAX_REPEATED_COMMANDS: usize = 3;

/// Commands that do not determine a target's purpose.
const NON_DEFINING_COMMANDS: [&str; 12] =
    ["echo", "printf", "cd", "rm", "mkdir", "cp", "mv", "touch", "export", "set", "true", "test"];

/// Origin of a command, most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum CommandOrigin {
    /// A target of the project.
    Task,
    /// A special target of the project: `test-slow`.
    Variant,
    /// A document for people.
    Document,
    /// A default command of the manifest's tools.
    Manifest,
    /// A continuous integration command.
    Integration,
    /// A command that installs the published package.
    Package,
}

/// A command that may be reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandCandidate {
    pub(super) purpose: CommandPurpose,
    pub(super) command: String,
    /// Working folder; empty at the root.
    pub(super) folder: String,
    pub(super) path: String,
    /// Line number from 1.
    pub(super) line: Option<u32>,
    pub(super) origin: CommandOrigin,
}

/// Returns the best commands of each purpose, most reliable first.
pub(super) fn rank(
    sources: &ProjectSources<'_>,
    candidates: Vec<CommandCandidate>,
) -> Vec<ProjectCommand> {
    let mut kept = merge(candidates.into_iter().filter_map(adjust_to_folder).collect());
    kept.sort_by_cached_key(|kept| {
        let folder = depth(&kept.candidate.folder);
        let is_minor = ecosystem(&kept.candidate).is_some_and(|it| sources.is_minor(it));
        let is_package = kept.candidate.origin == CommandOrigin::Package;
        let place = (kept.candidate.purpose, folder > 0, is_package, is_minor);
        (place, kept.doubt(), kept.length(), !kept.confirmed, folder)
    });
    let mut seen: HashMap<(CommandPurpose, CommandOrigin), usize> = HashMap::new();
    let mut installed: HashSet<String> = HashSet::new();
    let few = |kept: &SelectedCommand| {
        let CommandCandidate { purpose, origin, folder, .. } = &kept.candidate;
        // Install commands in pipelines differ by job.
        let is_first = *purpose != CommandPurpose::Install || installed.insert(folder.clone());
        let count = seen.entry((*purpose, *origin)).or_default();
        *count += 1;
        match origin {
            CommandOrigin::Integration => is_first && *count <= MAX_REPEATED_COMMANDS,
            CommandOrigin::Package => *count <= MAX_REPEATED_COMMANDS,
            _ => *count <= MAX_COMMANDS_PER_ORIGIN,
        }
    };
    let to_command = |SelectedCommand { candidate, .. }| ProjectCommand {
        purpose: candidate.purpose,
        command: candidate.command,
        folder: if candidate.folder.is_empty() { ".".into() } else { candidate.folder },
        source: match candidate.line {
            Some(line) => format!("{}:{line}", candidate.path),
            None => candidate.path,
        },
    };
    kept.into_iter().filter(few).take(MAX_COMMANDS).map(to_command).collect()
}

/// Filters out candidates in test projects, and marks builds and runs in documentation folders as documentation.
fn adjust_to_folder(mut candidate: CommandCandidate) -> Option<CommandCandidate> {
    let inside = format!("{}/", candidate.folder);
    if is_aside(&inside) {
        return None;
    }
    let purpose = &mut candidate.purpose;
    if is_documents(&inside) && matches!(purpose, CommandPurpose::Build | CommandPurpose::Run) {
        *purpose = CommandPurpose::Docs;
    }
    let is_apart = *purpose == CommandPurpose::Other && !candidate.folder.is_empty();
    (!is_apart).then_some(candidate)
}

/// Returns the ecosystem of a command, from its source file or its words.
fn ecosystem(candidate: &CommandCandidate) -> Option<&'static str> {
    match name_of(&candidate.path) {
        "tox.ini" | "noxfile.py" | "tasks.py" => Some("Python"),
        "Rakefile" => Some("Ruby"),
        name => manifests::ecosystem(name).or_else(|| purpose::ecosystem(&candidate.command)),
    }
}

/// A candidate, and whether another source confirms it.
struct SelectedCommand {
    candidate: CommandCandidate,
    confirmed: bool,
}

impl SelectedCommand {
    /// Returns how doubtful a command is.
    fn doubt(&self) -> u8 {
        match self.candidate.origin {
            CommandOrigin::Task => 0,
            // Installing one part does not install the dependencies.
            CommandOrigin::Variant if self.candidate.purpose == CommandPurpose::Install => 4,
            CommandOrigin::Variant if self.confirmed => 1,
            // A container is built in addition to the program.
            _ if self.candidate.command.starts_with("docker ") => 5,
            CommandOrigin::Document => 2,
            CommandOrigin::Manifest if self.confirmed => 2,
            CommandOrigin::Manifest => 3,
            CommandOrigin::Variant => 4,
            CommandOrigin::Integration => 5,
            CommandOrigin::Package => 6,
        }
    }

    /// Shorter commands are more general; the project's tasks keep their order.
    fn length(&self) -> usize {
        match self.candidate.origin {
            CommandOrigin::Task | CommandOrigin::Variant | CommandOrigin::Package => 0,
            _ => self.candidate.command.split_whitespace().count(),
        }
    }
}

/// Deduplicates commands, keeping the best source.
fn merge(mut candidates: Vec<CommandCandidate>) -> Vec<SelectedCommand> {
    candidates.sort_by_key(|candidate| candidate.origin);
    let mut at: HashMap<(String, String), usize> = HashMap::new();
    let mut kept: Vec<SelectedCommand> = Vec::new();
    for candidate in candidates {
        let place = (key(&candidate.command), candidate.folder.clone());
        if let Some(kept) = at.get(&place).and_then(|at| kept.get_mut(*at)) {
            kept.confirmed |= kept.candidate.origin != candidate.origin;
            continue;
        }
        at.insert(place, kept.len());
        kept.push(SelectedCommand { candidate, confirmed: false });
    }
    for index in 0..kept.len() {
        confirm_shorter(&mut kept, index, &at);
    }
    kept
}

/// `cargo test --all` confirms `cargo test`.
fn confirm_shorter(
    kept: &mut [SelectedCommand],
    index: usize,
    at: &HashMap<(String, String), usize>,
) {
    let Some(SelectedCommand { candidate, .. }) = kept.get(index) else { return };
    if !matches!(candidate.origin, CommandOrigin::Document | CommandOrigin::Integration) {
        return;
    }
    let (purpose, folder) = (candidate.purpose, candidate.folder.clone());
    let key = key(&candidate.command);
    let words: Vec<&str> = key.split(' ').collect();
    for length in 1..words.len() {
        let shorter = words.get(..length).unwrap_or_default().join(" ");
        let found = at.get(&(shorter, folder.clone()));
        if let Some(kept) = found.and_then(|at| kept.get_mut(*at)) {
            kept.confirmed |= kept.candidate.purpose == purpose;
        }
    }
}

/// Returns the same key for equivalent commands: `npm t` and `npm run test`.
fn key(command: &str) -> String {
    let mut words: Vec<&str> = command.split_whitespace().collect();
    if let [manager @ ("npm" | "pnpm" | "yarn" | "bun"), rest @ ..] = words.as_slice() {
        words = match rest {
            ["run", rest @ ..] => [&[*manager][..], rest].concat(),
            [] => vec![manager, "install"],
            ["i" | "ci", rest @ ..] => [&[*manager, "install"][..], rest].concat(),
            ["t", rest @ ..] => [&[*manager, "test"][..], rest].concat(),
            _ => words,
        };
    }
    if let ["python" | "python3", "-m", rest @ ..] | ["bash" | "sh", rest @ ..] = words.as_slice() {
        words = rest.to_vec();
    }
    words.join(" ").trim_start_matches("./").to_owned()
}

/// Returns candidates from task files, judged by name and contents.
pub(super) fn from_offers(
    sources: &ProjectSources<'_>,
    offers: &[TaskTarget],
) -> Vec<CommandCandidate> {
    let judged: Vec<(&TaskTarget, NamePurpose)> =
        offers.iter().map(|offer| (offer, judge(sources, offer))).collect();
    let outer = judged.iter().filter(|(offer, _)| offer.folder().is_empty());
    let outer: HashSet<CommandPurpose> = outer.map(|(_, named)| named.purpose).collect();
    let members = sources.manifests.iter().filter(|opened| opened.is_member);
    let members: HashSet<&str> = members.map(|opened| opened.manifest.path.as_str()).collect();
    // Targets of the workspace root cover its members.
    let is_covered = |offer: &TaskTarget, named: NamePurpose| {
        members.contains(offer.path.as_str()) && outer.contains(&named.purpose)
    };
    let uncovered = judged.into_iter().filter(|(offer, named)| !is_covered(offer, *named));
    let candidates = uncovered.map(|(offer, NamePurpose { purpose, exact, .. })| {
        let origin = if exact { CommandOrigin::Task } else { CommandOrigin::Variant };
        CommandCandidate {
            purpose,
            command: offer.command.clone(),
            folder: offer.folder().to_owned(),
            path: offer.path.clone(),
            line: offer.line,
            origin,
        }
    });
    candidates.collect()
}

/// Returns the purpose of a target by name, or by what it runs.
fn judge(sources: &ProjectSources<'_>, offer: &TaskTarget) -> NamePurpose {
    // Test environments and Cargo aliases do not start a project.
    let starts = !["tox ", "nox ", "cargo "].iter().any(|tool| offer.command.starts_with(tool));
    let by_name = purpose::purpose_of_name(&offer.name)
        .filter(|named| starts || named.purpose != CommandPurpose::Run);
    if let Some(named) = by_name.filter(|named| named.exact || !named.weak) {
        return named;
    }
    let commands = shell::commands(&offer.body, offer.folder(), sources);
    let counts = |typed: &&TypedCommand| {
        !typed.words().first().is_some_and(|word| NON_DEFINING_COMMANDS.contains(word))
    };
    let judged = commands.iter().filter(counts).map(|typed| purpose::judge_command(&typed.words()));
    let judged: Option<BTreeSet<CommandPurpose>> =
        judged.map(|judgement| judgement.map(|it| it.purpose)).collect();
    // One unknown command may be the target's purpose.
    let mut purposes = judged.unwrap_or_default().into_iter();
    let by_body = match (purposes.next(), purposes.next()) {
        // A command that only starts something may do anything.
        (Some(CommandPurpose::Run), None) => None,
        (Some(purpose), None) => Some(purpose),
        (Some(first), Some(second)) if is_check(&offer.name) => {
            // A complete check includes the tests.
            let mut all = [first, second].into_iter().chain(purposes);
            let tests = all.any(|purpose| purpose == CommandPurpose::Test);
            Some(if tests { CommandPurpose::Test } else { CommandPurpose::Lint })
        }
        _ => None,
    };
    let convention = match offer.command.as_str() {
        "make check" => Some(CommandPurpose::Test),
        "make all" => Some(CommandPurpose::Build),
        _ => None,
    };
    let by_name = by_name.map(|named| named.purpose);
    let purpose = by_body.or(convention).or(by_name).unwrap_or(CommandPurpose::Other);
    NamePurpose { purpose, exact: false, weak: true }
}

/// Whether a name means a complete check.
fn is_check(name: &str) -> bool {
    matches!(
        name,
        "check" | "verify" | "default" | "ci" | "all" | "qa" | "precommit" | "pre-commit"
    )
}

/// Available targets, and the files and manifests that commands need.
pub(super) struct AvailableTargets<'s> {
    sources: &'s ProjectSources<'s>,
    offered: HashSet<(String, String)>,
}

impl<'s> AvailableTargets<'s> {
    /// Creates it from a project and its task files.
    pub(super) fn new(sources: &'s ProjectSources<'s>, offers: &[TaskTarget]) -> Self {
        let offered = offers.iter().map(|it| (key(&it.command), it.folder().to_owned())).collect();
        Self { sources, offered }
    }

    /// Judges a documented command: one that cannot be run in this project is an example for others.
    pub(super) fn judge_documented(
        &self,
        typed: &TypedCommand,
    ) -> Option<(CommandPurpose, CommandOrigin)> {
        if !typed.is_complete() {
            return None;
        }
        let words = typed.words();
        if let Some(purpose::InstallTarget::Packages(names)) = purpose::installed(&words) {
            let is_own = names.iter().any(|name| self.is_own_package(name));
            return is_own.then_some((CommandPurpose::Install, CommandOrigin::Package));
        }
        // The project's own packages are shown for its users.
        let is_product = purpose::tool(&words).is_some_and(|tool| self.sources.is_called(tool));
        let CommandJudgment { purpose, need } = purpose::judge_command(&words)?;
        if is_product || purpose == CommandPurpose::Other {
            return None;
        }
        self.is_met(&need, typed, &words).then_some((purpose, CommandOrigin::Document))
    }

    fn is_own_package(&self, word: &str) -> bool {
        let word = word.trim_matches(['"', '\'']);
        let versioned = |letter| matches!(letter, '=' | '<' | '>' | '[' | '~');
        let name = word.split(versioned).next().unwrap_or_default();
        let name =
            name.rsplit_once('@').filter(|(name, _)| !name.is_empty()).map_or(name, |it| it.0);
        self.sources.is_called(name)
    }

    fn is_met(&self, need: &CommandRequirement, typed: &TypedCommand, words: &[&str]) -> bool {
        let tool = words.first().copied().unwrap_or_default();
        match need {
            CommandRequirement::Nothing => self.has_tool(tool, &typed.folder),
            CommandRequirement::Ecosystem(ecosystem) => {
                self.sources.ecosystem(ecosystem).next().is_some()
            }
            CommandRequirement::File(path) => join(&typed.folder, path)
                .is_some_and(|path| self.sources.tree.file(&path).is_some()),
            CommandRequirement::Target(name) => {
                let bare = [tool, name].join(" ");
                let known = [key(&typed.text), key(bare.trim())];
                let wrapped = matches!(tool, "bundle" | "uv" | "poetry" | "npx" | "pdm" | "hatch");
                known.into_iter().any(|it| self.offered.contains(&(it, typed.folder.clone())))
                    || (wrapped && self.names_target(name, &typed.folder))
                    || (name.is_empty() && self.has_tool(tool, &typed.folder))
                    || self.by_flag(tool, name, &typed.folder)
            }
        }
    }

    /// Whether a flag can select the target: `tox run -e style` is `tox -e style`, and `bundle exec rake` precedes its
    /// task.
    fn by_flag(&self, tool: &str, name: &str, folder: &str) -> bool {
        matches!(tool, "tox" | "nox") && self.names_target(name, folder)
    }

    fn names_target(&self, name: &str, folder: &str) -> bool {
        let ends = |command: &str| command.rsplit(' ').next() == Some(name);
        self.offered.iter().any(|(command, at)| at == folder && ends(command))
    }

    /// Whether a folder has the file that a tool needs.
    fn has_tool(&self, tool: &str, folder: &str) -> bool {
        let files: &[&str] = match tool {
            "make" | "gmake" => &["Makefile", "makefile", "GNUmakefile"],
            "just" => &["justfile", "Justfile", ".justfile"],
            "task" => &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "Taskfile.dist.yml"],
            "pre-commit" | "prek" => &[".pre-commit-config.yaml"],
            "mkdocs" => &["mkdocs.yml"],
            "mdbook" => &["book.toml"],
            "docker" | "podman" | "docker-compose" => &[
                "Dockerfile",
                "docker-compose.yml",
                "compose.yml",
                "compose.yaml",
                "docker-compose.yaml",
            ],
            "terraform" | "tofu" => &["main.tf", "versions.tf"],
            "meson" => &["meson.build"],
            "nix" => &["flake.nix"],
            "bazel" | "bazelisk" => &["MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"],
            "zig" => &["build.zig"],
            "npm" | "pnpm" | "yarn" | "bun" => &["package.json"],
            "bundle" => &["Gemfile"],
            "composer" => &["composer.json"],
            "poetry" | "uv" | "pdm" | "pip" | "pip3" | "python" | "python3" => {
                &["pyproject.toml", "setup.py", "requirements.txt"]
            }
            "cargo" => &["Cargo.toml"],
            "go" => &["go.mod"],
            "tox" => &["tox.ini", "pyproject.toml"],
            "nox" => &["noxfile.py"],
            "rake" => &["Rakefile"],
            _ => return true,
        };
        self.sources.first_of(folder, files).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::{report::Presence, tree::ProjectTree};

    fn candidate(
        purpose: CommandPurpose,
        command: &str,
        folder: &str,
        origin: CommandOrigin,
    ) -> CommandCandidate {
        let path = format!("{origin:?}");
        CommandCandidate {
            purpose,
            command: command.into(),
            folder: folder.into(),
            path,
            line: Some(1),
            origin,
        }
    }

    fn ranked(candidates: Vec<CommandCandidate>) -> Vec<ProjectCommand> {
        let folder = tempfile::tempdir().unwrap();
        let (tree, presence) = (ProjectTree::of(folder.path()), Presence::default());
        rank(&ProjectSources::gather(&tree, &[], &presence, &|| false), candidates)
    }

    #[test]
    fn the_most_trustworthy_comes_first() {
        use CommandPurpose::{Build, Test};
        let found = ranked(vec![
            candidate(Test, "cargo test --all", "", CommandOrigin::Integration),
            candidate(Test, "cargo test", "", CommandOrigin::Manifest),
            candidate(Test, "npm test", "web", CommandOrigin::Task),
            candidate(Test, "make test-slow", "", CommandOrigin::Variant),
            candidate(Test, "make test-fast", "", CommandOrigin::Variant),
            candidate(Test, "make test-fast", "", CommandOrigin::Integration),
            candidate(Test, "make test", "", CommandOrigin::Task),
            candidate(Build, "cargo build", "", CommandOrigin::Manifest),
        ]);
        let found: Vec<(&str, &str, &str)> = found
            .iter()
            .map(|it| (it.command.as_str(), it.folder.as_str(), it.source.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                ("cargo build", ".", "Manifest:1"),
                ("make test", ".", "Task:1"),
                ("make test-fast", ".", "Variant:1"),
                ("cargo test", ".", "Manifest:1"),
                ("make test-slow", ".", "Variant:1"),
                ("cargo test --all", ".", "Integration:1"),
                ("npm test", "web", "Task:1"),
            ]
        );
    }

    #[test]
    fn the_same_command_is_listed_once() {
        let cases = [
            ("npm t", "npm test"),
            ("npm run test", "npm test"),
            ("npm ci", "npm install"),
            ("yarn", "yarn install"),
            ("python -m pytest -x", "pytest -x"),
            ("cargo  test", "cargo test"),
        ];
        for (one, other) in cases {
            assert_eq!(key(one), key(other), "{one}");
        }
    }

    #[test]
    fn one_place_does_not_fill_the_list() {
        let test = |at| {
            candidate(
                CommandPurpose::Test,
                &format!("cargo test -p a{at}"),
                "",
                CommandOrigin::Integration,
            )
        };
        assert_eq!(ranked((0..20).map(test).collect()).len(), MAX_REPEATED_COMMANDS);
    }
}
