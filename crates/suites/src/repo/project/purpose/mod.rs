//! Purpose of a command, by its words or the name of its target.
//!
//! Must not know where the command was found.

mod install;
mod names;
mod tools;

pub(super) use install::{InstallTarget, installed};

use crate::repo::{report::CommandPurpose, tree::name_of};
use names::{DOCUMENT_NAMES, NAMES, OTHER_NAMES, PLAIN_NAMES, WEAK_NAMES, WHOLE_NAMES};
use tools::{CHECKING, FIXING, PurposeRule, TOOLS, Verbs};

/// Prefixes that do not change what a command does.
const PREFIXES: [&str; 13] = [
    "sudo",
    "time",
    "env",
    "nohup",
    "exec",
    "command",
    "npx",
    "bunx",
    "pnpx",
    "xvfb-run",
    "cross-env",
    "dotenv",
    "uvx",
];

/// Two-word wrappers.
const WRAPPERS: [(&str, &str); 16] = [
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("rye", "run"),
    ("pixi", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
    ("npm", "exec"),
    ("yarn", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "dlx"),
    ("coverage", "run"),
    ("mise", "exec"),
    ("corepack", "exec"),
];

/// Flags that take the next word as value.
const VALUED: [&str; 26] = [
    "--python",
    "--with",
    "--extra",
    "--group",
    "--filter",
    "-F",
    "--prefix",
    "-C",
    "--cwd",
    "--dir",
    "--package",
    "-p",
    "--manifest-path",
    "--features",
    "--target",
    "-f",
    "--file",
    "-t",
    "--tag",
    "-e",
    "-s",
    "--session",
    "-n",
    "--jobs",
    "--configuration",
    "-c",
];

/// Script interpreters.
const INTERPRETERS: [&str; 12] = [
    "python", "python3", "python2", "py", "node", "ruby", "php", "perl", "bash", "sh", "zsh",
    "pwsh",
];

/// What a command requires here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandRequirement {
    /// Nothing that can be checked.
    Nothing,
    /// A manifest of an ecosystem.
    Ecosystem(&'static str),
    /// A target or script with this name.
    Target(String),
    /// A file.
    File(String),
}

/// The purpose and requirement of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CommandJudgment {
    pub(super) purpose: CommandPurpose,
    pub(super) need: CommandRequirement,
}

/// The purpose of a target or script by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NamePurpose {
    pub(super) purpose: CommandPurpose,
    /// Whether the name has only this meaning: `test`, not `test-slow`.
    pub(super) exact: bool,
    /// Whether the name is ambiguous, so that the target's commands may decide.
    pub(super) weak: bool,
}

/// Returns the purpose of a target or script by name; `None` if unknown.
///
/// The first and last words decide: `test-slow`, `ui-test`. Words between them are about something else.
pub(super) fn purpose_of_name(name: &str) -> Option<NamePurpose> {
    let parts = parts(name);
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (first, last) = (*parts.first()?, *parts.last()?);
    let has = |words: &[&str]| parts.iter().any(|part| words.contains(part));
    let exact = parts.len() == 1 && PLAIN_NAMES.contains(&first);
    if [first, last].iter().any(|part| OTHER_NAMES.contains(part)) {
        return Some(NamePurpose { purpose: CommandPurpose::Other, exact: false, weak: false });
    }
    let checks = |part: &str| matches!(part, "check" | "verify" | "validate");
    if (has(&["type", "types"]) && has(&["check", "checks"])) || (parts.len() > 1 && checks(first))
    {
        return Some(NamePurpose { purpose: CommandPurpose::Lint, exact: false, weak: false });
    }
    let find = |table: Verbs, part: &str| {
        table.iter().find(|(word, _)| *word == part).map(|(_, purpose)| *purpose)
    };
    let by_first = find(NAMES, first);
    let by_last = find(NAMES, last);
    let strong = match (by_first, by_last) {
        // `release-tests` are tests, and `build-tests` builds them.
        (Some(CommandPurpose::Release), Some(CommandPurpose::Test)) => by_last,
        _ => by_first.or(by_last),
    };
    let documents = has(&DOCUMENT_NAMES).then_some(CommandPurpose::Docs);
    let strong = match strong {
        None | Some(CommandPurpose::Build) => documents.or(strong),
        Some(CommandPurpose::Format) if has(&["check", "verify"]) => Some(CommandPurpose::Lint),
        Some(CommandPurpose::Lint) if has(&["fix"]) => Some(CommandPurpose::Format),
        strong => strong,
    };
    let whole = if parts.len() == 1 { WHOLE_NAMES } else { &[] };
    let strong = strong.or_else(|| find(whole, first));
    let weak = || find(WEAK_NAMES, last).or_else(|| find(WEAK_NAMES, first));
    let purpose = strong.or_else(weak)?;
    Some(NamePurpose { purpose, exact, weak: strong.is_none() })
}

/// Splits a name into lowercase words: `buildDocs-fast` is `build`, `docs`, `fast`, and `test:test` is `test`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut lower_before = false;
    for letter in name.chars() {
        let divides = !letter.is_alphanumeric();
        if divides || (letter.is_uppercase() && lower_before) {
            parts.push(String::new());
        }
        lower_before = letter.is_lowercase();
        if let (false, Some(part)) = (divides, parts.last_mut()) {
            part.extend(letter.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.dedup();
    parts
}

/// Returns the purpose of a command by its words; `None` for setup, output and anything unknown.
pub(super) fn judge_command(words: &[&str]) -> Option<CommandJudgment> {
    match installed(words) {
        Some(InstallTarget::Project) => return Some(install::judge(words)),
        // Installing packages by name is machine setup.
        Some(InstallTarget::Packages(_)) => return None,
        None => {}
    }
    let (words, wrapped) = bare(words);
    let (first, rest) = words.split_first().filter(|(first, _)| !first.starts_with('/'))?;
    let file = name_of(first);
    if INTERPRETERS.contains(&interpreter(file)) {
        return judge_interpreted(rest);
    }
    let known = TOOLS.iter().find(|tool| tool.names.contains(&file));
    let Some(tool) = known.filter(|_| !is_own_script(first)) else {
        if first.contains('/') {
            return judge_script(first);
        }
        // `hatch run lint`: a word that is not a program is a project script.
        let named = wrapped.then(|| purpose_of_name(first)).flatten()?;
        return Some(CommandJudgment { purpose: named.purpose, need: CommandRequirement::Nothing });
    };
    if flagged(rest, &["--version", "--help", "-V"]) {
        return None;
    }
    let purpose = match rest.iter().position(|word| *word == "--target") {
        Some(at) if file == "cmake" => purpose_of_name(rest.get(at + 1)?)?.purpose,
        _ => by_rule(tool.rule, file, rest)?,
    };
    // These flags mean other things to other tools.
    let checks = file == "gofmt" && flagged(rest, &["-l", "-d"]);
    let fixes = file == "rubocop" && flagged(rest, &["-a", "-A"]);
    let purpose = match purpose {
        CommandPurpose::Format if checks || flagged(rest, &CHECKING) => CommandPurpose::Lint,
        CommandPurpose::Lint if fixes || flagged(rest, &FIXING) => CommandPurpose::Format,
        CommandPurpose::Build if flagged(rest, &["--noEmit"]) => CommandPurpose::Lint,
        purpose => purpose,
    };
    Some(CommandJudgment { purpose, need: need(tool, first, rest) })
}

/// Whether a command is a project script: a path to anything but a wrapper in the project or an installed program.
fn is_own_script(first: &str) -> bool {
    let installed = ["vendor/bin/", "node_modules/.bin/", "bin/", "exe/", "venv/bin/"];
    let plain = first.trim_start_matches("./");
    let is_wrapper = matches!(plain, "gradlew" | "mvnw" | "manage.py" | "configure" | "artisan");
    first.contains('/') && !is_wrapper && !installed.iter().any(|folder| plain.contains(folder))
}

fn need(tool: &tools::CommandTool, first: &str, rest: &[&str]) -> CommandRequirement {
    match tool.rule {
        PurposeRule::Target(_) | PurposeRule::Scripts => {
            CommandRequirement::Target(target(rest).map(str::to_owned).unwrap_or_default())
        }
        _ if first.starts_with("./") => {
            CommandRequirement::File(first.trim_start_matches("./").to_owned())
        }
        _ => tool.ecosystem.map_or(CommandRequirement::Nothing, CommandRequirement::Ecosystem),
    }
}

/// Strips prefixes from a command; returns whether a project script runner was among them.
fn bare<'w>(mut words: &'w [&'w str]) -> (&'w [&'w str], bool) {
    let mut wrapped = false;
    loop {
        words = match words {
            [first, rest @ ..] if is_assignment(first) || PREFIXES.contains(first) => rest,
            [flag, _, rest @ ..] if VALUED.contains(flag) => rest,
            [flag, rest @ ..] if flag.starts_with('-') => rest,
            [first, second, rest @ ..] if WRAPPERS.contains(&(first, second)) => {
                wrapped |= matches!(*first, "pdm" | "hatch" | "pixi" | "rye");
                rest
            }
            _ => return (words, wrapped),
        };
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// `python3.12` is `python3`.
fn interpreter(name: &str) -> &str {
    name.split_once('.').map_or(name, |(name, _)| name)
}

fn judge_interpreted(rest: &[&str]) -> Option<CommandJudgment> {
    let mut words = rest;
    loop {
        words = match words {
            ["-m", _, ..] => return judge_command(words.get(1..)?),
            ["-c" | "-e" | "-r", ..] | [] => return None,
            [flag, rest @ ..] if flag.starts_with('-') => rest,
            [file, rest @ ..] => {
                let known = TOOLS.iter().find(|tool| tool.names.contains(&name_of(file)));
                let by_verb = known.and_then(|tool| by_rule(tool.rule, name_of(file), rest));
                let need = CommandRequirement::File(file.trim_start_matches("./").to_owned());
                return match by_verb {
                    Some(purpose) => Some(CommandJudgment { purpose, need }),
                    None => judge_script(file),
                };
            }
        };
    }
}

/// A script run by path: its name decides.
fn judge_script(path: &str) -> Option<CommandJudgment> {
    let name = name_of(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let purpose = purpose_of_name(stem).filter(|named| !named.weak)?.purpose;
    let need = CommandRequirement::File(path.trim_start_matches("./").to_owned());
    Some(CommandJudgment { purpose, need })
}

fn by_rule(rule: PurposeRule, tool: &str, rest: &[&str]) -> Option<CommandPurpose> {
    let find = |verbs: Verbs, word: &str| {
        verbs.iter().find(|(verb, _)| *verb == word).map(|(_, purpose)| *purpose)
    };
    match rule {
        PurposeRule::Always(purpose) => Some(purpose),
        PurposeRule::Verb(verbs) => {
            let (first, second) = (first_word(rest)?, second_word(rest));
            let by_two = second.and_then(|second| find(verbs, &format!("{first} {second}")));
            match first {
                "hack" => find(verbs, second?),
                // `cargo xtask test` and `deno task test` are judged by the task name.
                "xtask" | "make" | "task" => purpose_of_name(second?).map(|named| named.purpose),
                "compose" if second? == "up" => Some(CommandPurpose::Run),
                "compose" if second? == "build" => Some(CommandPurpose::Build),
                first => by_two.or_else(|| find(verbs, first)),
            }
        }
        PurposeRule::Anywhere(verbs) => {
            let words = rest.iter().filter(|word| !word.starts_with('-'));
            let ends = words.flat_map(|word| [Some(*word), word.rsplit(':').next()]).flatten();
            let ends: Vec<&str> = ends.collect();
            let found = verbs.iter().find(|(verb, _)| ends.contains(verb));
            found.map(|(_, purpose)| *purpose)
        }
        PurposeRule::Target(alone) => match target(rest) {
            Some("check") if tool == "make" => Some(CommandPurpose::Test),
            Some(name) => purpose_of_name(name).map(|named| named.purpose),
            None => Some(alone),
        },
        PurposeRule::Scripts => match target(rest) {
            Some("t" | "tst") => Some(CommandPurpose::Test),
            Some("publish") => Some(CommandPurpose::Release),
            Some("check") => Some(CommandPurpose::Lint),
            Some(name) => purpose_of_name(name).map(|named| named.purpose),
            None => None,
        },
    }
}

/// Returns the words that are neither flags nor their values.
fn plain_words<'w>(words: &'w [&'w str]) -> impl Iterator<Item = &'w str> {
    let mut skip = false;
    words.iter().copied().filter(move |word| {
        let is_value = std::mem::replace(&mut skip, VALUED.contains(word));
        !is_value && !word.starts_with(['-', '+']) && !is_assignment(word)
    })
}

fn first_word<'w>(words: &'w [&'w str]) -> Option<&'w str> {
    plain_words(words).next()
}

fn second_word<'w>(words: &'w [&'w str]) -> Option<&'w str> {
    plain_words(words).nth(1)
}

/// Returns the target or script of a command: after `-e`, `-s` or `run`.
fn target<'w>(words: &'w [&'w str]) -> Option<&'w str> {
    let chosen = words.iter().position(|word| matches!(*word, "-e" | "-s" | "--session"));
    if let Some(name) = chosen.and_then(|at| words.get(at + 1)) {
        return Some(name);
    }
    let mut plain = plain_words(words);
    let first = plain.next()?;
    match first {
        "run" | "run-script" => plain.next(),
        "workspace" => plain.nth(1),
        name => Some(name),
    }
}

fn flagged(words: &[&str], flags: &[&str]) -> bool {
    words.iter().any(|word| flags.contains(word))
}

/// Returns the ecosystem of a command.
pub(super) fn ecosystem(command: &str) -> Option<&'static str> {
    let words: Vec<&str> = command.split_whitespace().collect();
    if let Some(CommandJudgment { need: CommandRequirement::Ecosystem(ecosystem), .. }) =
        judge_command(&words)
    {
        return Some(ecosystem);
    }
    let name = tool(&words)?;
    TOOLS.iter().find(|tool| tool.names.contains(&name))?.ecosystem
}

/// Returns the tool that a command runs.
pub(super) fn tool<'w>(words: &'w [&'w str]) -> Option<&'w str> {
    let (words, _) = bare(words);
    match words {
        ["python" | "python3", "-m", module, ..] => Some(module),
        [first, ..] => Some(name_of(first)),
        [] => None,
    }
}

#[cfg(test)]
mod tests;
