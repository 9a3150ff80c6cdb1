//! Finds missing scripts, targets and subcommands that documents mention.

use super::{
    DocumentDrift, MentionFamily, SuspectMention, SuspicionBasis, edit_distance, outdated,
    project_index::ProjectIndex,
    runners::{Runner, TargetStatus},
    scope,
    shell::{CommandFolder, CommandWord, DocumentedCommand},
};
use crate::repo::{
    facts::DocumentFacts,
    report::{MentionKind, Severity},
    tree::join,
};

/// Common script names: on a page for users, they mean the user's own scripts.
const COMMON_SCRIPTS: [&str; 24] = [
    "build",
    "ci",
    "clean",
    "coverage",
    "deploy",
    "dev",
    "develop",
    "docs",
    "e2e",
    "format",
    "generate",
    "install",
    "lint",
    "preview",
    "prod",
    "production",
    "release",
    "serve",
    "start",
    "storybook",
    "test",
    "typecheck",
    "unit",
    "watch",
];

/// A target in a documented command.
struct RunInstruction<'a> {
    runner: Runner,
    /// As typed, up to the name: `npm run build`.
    shown: String,
    name: &'a str,
    folder: Option<&'a str>,
}

/// Checks every command in a document.
pub(super) fn check_commands(
    known: &ProjectIndex<'_>,
    document: &DocumentFacts,
    steps: &[DocumentedCommand<'_>],
    found: &mut DocumentDrift,
) {
    let developers = scope::is_for_developers(known, &document.path);
    let family = (!developers).then(|| MentionFamily::Scripts(document.path.to_string()));
    for step in steps.iter().filter(|step| step.folder != CommandFolder::Elsewhere) {
        for request in requests(step) {
            let own = developers || COMMON_SCRIPTS.binary_search(&request.name).is_err();
            if own && is_plain(request.name) {
                check_request(known, step, &request, family.as_ref(), found);
            }
        }
        super::cargo::check_cargo(known, step, found);
        super::tasks::check_tasks(known, step, found);
    }
}

fn check_request(
    known: &ProjectIndex<'_>,
    step: &DocumentedCommand<'_>,
    request: &RunInstruction<'_>,
    family: Option<&MentionFamily>,
    found: &mut DocumentDrift,
) {
    let mut folders = step.folders();
    let joined: Vec<String> = request
        .folder
        .iter()
        .flat_map(|to| folders.iter().filter_map(|base| join(base, to)))
        .filter(|path| known.today.tree.has_folder(path))
        .collect();
    if request.folder.is_some() {
        if joined.is_empty() {
            return;
        }
        folders = joined.iter().map(String::as_str).collect();
    }
    let verdict = known.runners.find(known, request.runner, &folders, request.name);
    let (evidence, suggestion) = match verdict {
        TargetStatus::Unsure => return,
        TargetStatus::There => {
            found.checked += 1;
            found.here.extend(family.map(|family| (family.clone(), request.shown.clone())));
            return;
        }
        TargetStatus::Absent { file, offer } => {
            let near = edit_distance::nearest(
                &known.effort,
                request.name,
                offer.names.iter().map(String::as_str),
            );
            (
                format!("{file} has no {}", request.name),
                near.map(|near| request.shown.replace(request.name, near)),
            )
        }
        TargetStatus::Gone { file } => {
            let past = known.today.past.and_then(|past| past.files.get(file.as_str()));
            let when = past.and_then(|past| past.changes.first()).map(|at| outdated::date(*at));
            let when = when.map(|date| format!(" on {date}")).unwrap_or_default();
            (format!("according to git, {file} was deleted{when}"), None)
        }
    };
    found.checked += 1;
    found.doubts.push(SuspectMention {
        line: step.line,
        mention: request.shown.clone(),
        kind: MentionKind::Command,
        evidence,
        severity: Severity::High,
        suggestion,
        ground: SuspicionBasis::Presumed,
        family: family.cloned(),
    });
}

/// Returns the targets that a command runs.
fn requests<'a>(step: &'a DocumentedCommand<'_>) -> Vec<RunInstruction<'a>> {
    let Some((program, arguments)) = step.program() else { return Vec::new() };
    let given = RunnerArguments::new(program, arguments);
    let [first, rest @ ..] = given.plain.as_slice() else { return Vec::new() };
    let one = |runner, shown: String, name| {
        vec![RunInstruction { runner, shown, name, folder: given.folder }]
    };
    let second = rest.first().copied();
    match (program, *first, second) {
        ("npm", "run" | "run-script", Some(name)) => {
            one(Runner::Npm, format!("npm run {name}"), name)
        }
        ("pnpm" | "yarn" | "bun", "run", Some(name)) if is_script(program, name) => {
            one(Runner::Npm, format!("{program} run {name}"), name)
        }
        ("pnpm" | "yarn", name, _) if name.contains(':') => {
            one(Runner::Npm, format!("{program} {name}"), name)
        }
        ("composer", "run" | "run-script", Some(name)) => {
            one(Runner::Composer, format!("composer run {name}"), name)
        }
        ("deno", "task", Some(name)) => one(Runner::Deno, format!("deno task {name}"), name),
        ("just", name, _) => one(Runner::Just, format!("just {name}"), name),
        ("task" | "go-task", name, _) => one(Runner::Task, format!("{program} {name}"), name),
        ("poe", name, _) => one(Runner::Poe, format!("poe {name}"), name),
        ("make" | "gmake", ..) if !given.has("-f") => given
            .plain
            .iter()
            .filter(|name| !name.contains(['=', '.', '/']))
            .map(|name| RunInstruction {
                runner: Runner::Make,
                shown: format!("make {name}"),
                name,
                folder: given.folder,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Whether a Yarn or Bun argument is a script and not a package's program.
fn is_script(program: &str, name: &str) -> bool {
    program == "pnpm" || name.contains(':')
}

/// Arguments of a runner.
struct RunnerArguments<'a> {
    /// Positional arguments.
    plain: Vec<&'a str>,
    folder: Option<&'a str>,
    options: Vec<&'a str>,
}

impl<'a> RunnerArguments<'a> {
    fn new(program: &str, arguments: &'a [CommandWord]) -> Self {
        let mut given = Self { plain: Vec::new(), folder: None, options: Vec::new() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if text == "--" {
                break;
            }
            if !text.starts_with('-') {
                if word.opaque {
                    break;
                }
                given.plain.push(text);
                continue;
            }
            given.options.push(text);
            let (name, value) =
                text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            if matches!(name, "-C" | "--prefix" | "--cwd" | "--directory" | "--dir" | "-d") {
                given.folder = value.or_else(|| words.next().map(|word| word.text.as_str()));
            } else if value.is_none() && takes_value(program, name) {
                words.next();
            }
        }
        given
    }

    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }
}

/// Whether an option takes a value.
fn takes_value(program: &str, option: &str) -> bool {
    match program {
        "make" | "gmake" => matches!(option, "-f" | "-I" | "-o" | "-W" | "-j" | "-l"),
        _ => matches!(
            option,
            "-w" | "--workspace"
                | "--filter"
                | "-F"
                | "-f"
                | "--justfile"
                | "--set"
                | "-t"
                | "--taskfile"
        ),
    }
}

/// Whether a word can be the name of a script.
fn is_plain(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':');
    name.len() > 1
        && name.chars().all(letters)
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !matches!(name, "foo" | "bar" | "target" | "name" | "task" | "recipe" | "script")
        && !name.contains("script-name")
}
