//! Checks tasks and subcommands named in the code itself: Rake, Mix, Nox, and the project's programs.
//!
//! No file lists them, so a name is suspect only if no source file contains it in any spelling.

use super::{
    DocumentDrift, MentionFamily, SuspectMention, SuspicionBasis, flags,
    project_index::ProjectIndex,
    runners::{Runner, TargetStatus},
    shell::{CommandWord, DocumentedCommand},
};
use crate::repo::report::{MentionKind, Severity};

/// Tasks and namespaces that libraries add to Rake and Mix.
const LIBRARY_TASKS: [&str; 58] = [
    "about",
    "app",
    "archive",
    "ash",
    "assets",
    "build",
    "bundle",
    "cache",
    "clean",
    "clobber",
    "cmd",
    "compile",
    "console",
    "coveralls",
    "credo",
    "cucumber",
    "db",
    "default",
    "deps",
    "dialyzer",
    "do",
    "doc",
    "docs",
    "ecto",
    "environment",
    "escript",
    "eval",
    "features",
    "firmware",
    "format",
    "gem",
    "gettext",
    "help",
    "hex",
    "install",
    "local",
    "log",
    "new",
    "notes",
    "phx",
    "profile",
    "publish",
    "release",
    "routes",
    "rspec",
    "rubocop",
    "run",
    "secret",
    "spec",
    "standard",
    "stats",
    "sobelow",
    "test",
    "time",
    "tmp",
    "version",
    "xref",
    "yard",
];

/// Checks the tasks that a command runs.
pub(super) fn check_tasks(
    known: &ProjectIndex<'_>,
    step: &DocumentedCommand<'_>,
    found: &mut DocumentDrift,
) {
    let Some((program, arguments)) = step.program() else { return };
    match program {
        "nox" => nox(known, step, arguments, found),
        "rake" | "mix" => {
            let file = if program == "rake" { "Rakefile" } else { "mix.exs" };
            let name = arguments.iter().find(|word| !word.text.starts_with('-'));
            let Some(name) = name.filter(|name| !name.opaque) else { return };
            if known.files().ending(file).next().is_some() {
                task(known, step, program, &name.text, found);
            }
        }
        _ => subcommand(known, step, found),
    }
}

fn task(
    known: &ProjectIndex<'_>,
    step: &DocumentedCommand<'_>,
    program: &str,
    name: &str,
    found: &mut DocumentDrift,
) {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return };
    let plain = parts.iter().all(|part| is_word(part));
    if !plain || LIBRARY_TASKS.contains(first) || known.is_dependency(first) {
        return;
    }
    found.checked += 1;
    if !flags::is_in_code(known, last) {
        let evidence = format!("no source file contains {last} in any spelling");
        found.doubts.push(doubt(step, format!("{program} {name}"), evidence, Severity::Medium));
    }
}

fn nox(
    known: &ProjectIndex<'_>,
    step: &DocumentedCommand<'_>,
    arguments: &[CommandWord],
    found: &mut DocumentDrift,
) {
    let mut named = false;
    for word in arguments.iter().take_while(|word| word.text != "--") {
        let text = word.text.as_str();
        let given =
            ["-s=", "--session=", "--sessions="].iter().find_map(|it| text.strip_prefix(it));
        if given.is_none() && text.starts_with('-') {
            named = matches!(text, "-s" | "--session" | "--sessions");
            continue;
        }
        let Some(name) = given.or_else(|| named.then_some(text)) else { continue };
        // A session for one version or parameter is named after it: `tests-3.12`, `tests(a=1)`.
        let name = name.split('(').next().unwrap_or(name);
        let bare = name
            .rsplit_once('-')
            .filter(|(_, tail)| tail.starts_with(|c: char| c.is_ascii_digit()));
        let bare = bare.map_or(name, |(bare, _)| bare);
        if word.opaque || !is_word(bare) {
            continue;
        }
        let spelt = bare.replace('-', "_");
        match known.runners.find(known, Runner::Nox, &step.folders(), &spelt) {
            TargetStatus::Absent { file, .. } => {
                let evidence = format!("{file} has no session {bare}");
                found.doubts.push(doubt(step, format!("nox -s {name}"), evidence, Severity::High));
                found.checked += 1;
            }
            TargetStatus::There => found.checked += 1,
            TargetStatus::Unsure | TargetStatus::Gone { .. } => {}
        }
    }
}

fn doubt(
    step: &DocumentedCommand<'_>,
    mention: String,
    evidence: String,
    severity: Severity,
) -> SuspectMention {
    SuspectMention {
        line: step.line,
        mention,
        kind: MentionKind::Command,
        evidence,
        severity,
        suggestion: None,
        ground: SuspicionBasis::Presumed,
        family: None,
    }
}

fn is_word(word: &str) -> bool {
    word.len() > 2
        && word.starts_with(|c: char| c.is_ascii_lowercase())
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_'))
        && !super::files::is_placeholder(word)
}

/// Checks the first argument of a project program if it may be a subcommand.
fn subcommand(known: &ProjectIndex<'_>, step: &DocumentedCommand<'_>, found: &mut DocumentDrift) {
    let Some((program, [first, ..])) = flags::own(known, step) else { return };
    let name = first.text.as_str();
    if first.opaque || !is_word(name) || known.has_path(step.home, name) {
        return;
    }
    let family = MentionFamily::Subcommands(program.to_owned());
    let spelt = flags::spellings(name);
    let declared = spelt.iter().any(|name| known.symbols().contains_key(name.as_str()));
    if declared || known.is_module(&name.replace('-', "_")) {
        found.here.push((family, name.to_owned()));
    } else if !flags::is_in_code(known, name) {
        let mention = format!("{program} {name}");
        let doubt =
            doubt(step, mention, flags::missing_spelling_evidence(program, name), Severity::Low);
        found.doubts.push(SuspectMention { family: Some(family), ..doubt });
    }
}
