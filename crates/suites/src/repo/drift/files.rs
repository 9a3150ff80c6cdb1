//! Finds missing files and folders that documents mention.
//!
//! A path that is in git history but gone is certain. Without git, a path is suspect only if its folder exists and
//! contains files of the same kind.

use super::{
    DocumentDrift, SuspectMention, SuspicionBasis, edit_distance,
    names::{CONVENTIONAL_FILES, GENERATED_FOLDERS, WRITTEN_EXTENSIONS},
    project_index::{ProjectIndex, above},
    scope,
    shell::{CommandFolder, CommandWord, DocumentedCommand},
};
use crate::repo::{
    facts::DocumentFacts,
    history::FilePast,
    report::{MentionKind, Severity},
    tree::{folder_of, join, name_of},
};
use std::collections::BTreeMap;

/// How a document mentions a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathMentionKind {
    /// In running text.
    Named,
    /// In a command that needs it.
    Run,
    /// By changing into it.
    Entered,
}

/// A path that a document mentions.
struct PathMention<'a> {
    line: u32,
    /// As written.
    mention: &'a str,
    path: String,
    manner: PathMentionKind,
    /// Whether the document is for contributors.
    inward: bool,
    /// Folders that the path may be relative to, nearest first.
    bases: Vec<&'a str>,
}

/// Checks every path in a document.
pub(super) fn check_files(
    known: &ProjectIndex<'_>,
    document: &DocumentFacts,
    steps: &[DocumentedCommand<'_>],
    found: &mut DocumentDrift,
) {
    let home = folder_of(&document.path);
    let inward = scope::is_for_developers(known, &document.path);
    for mention in document.mentions.iter().filter(|mention| !mention.command) {
        if known.effort.is_over() {
            return;
        }
        if let Some(path) = as_path(&mention.text) {
            let bases = above(home).collect();
            let (line, manner, mention) =
                (mention.line, PathMentionKind::Named, mention.text.as_ref());
            check(known, &PathMention { line, mention, path, manner, inward, bases }, found);
        }
    }
    for step in steps.iter().filter(|step| step.folder != CommandFolder::Elsewhere) {
        let entered = step.program().is_some_and(|(program, _)| matches!(program, "cd" | "pushd"));
        for word in needed(step) {
            let slashed = if entered { format!("{word}/") } else { word.to_owned() };
            let Some(path) = as_path(&slashed) else { continue };
            let bases = step.folders();
            let manner = if entered { PathMentionKind::Entered } else { PathMentionKind::Run };
            let line = step.line;
            let named = PathMention { line, mention: word, path, manner, inward, bases };
            check(known, &named, found);
        }
    }
}

fn check(known: &ProjectIndex<'_>, named: &PathMention<'_>, found: &mut DocumentDrift) {
    if is_placeholder(&named.path) {
        return;
    }
    let home = named.bases.first().copied().unwrap_or_default();
    if known.has_path(home, &named.path) {
        found.checked += 1;
        return;
    }
    if is_made(known, named) {
        return;
    }
    let doubt = gone(known, named).or_else(|| gone_folder(known, named));
    if let Some(doubt) = doubt.or_else(|| absent(known, named)) {
        found.checked += 1;
        found.doubts.push(doubt);
    }
}

impl PathMention<'_> {
    fn doubt(
        &self,
        evidence: String,
        severity: Severity,
        suggestion: Option<String>,
    ) -> SuspectMention {
        let ground = if severity == Severity::High {
            SuspicionBasis::Certain
        } else {
            SuspicionBasis::Presumed
        };
        SuspectMention {
            line: self.line,
            mention: self.mention.to_owned(),
            kind: MentionKind::File,
            evidence,
            severity,
            suggestion,
            ground,
            family: None,
        }
    }

    fn is_bare(&self) -> bool {
        !self.path.contains('/')
    }
}

/// Checks for a deleted file in git history.
fn gone(known: &ProjectIndex<'_>, named: &PathMention<'_>) -> Option<SuspectMention> {
    let past = known.today.past?;
    let candidates = named.bases.iter().filter_map(|base| join(base, &named.path));
    let is_gone = |path: &String| past.files.get(path.as_str()).is_some_and(|past| past.gone);
    let end = named.path.trim_start_matches("./");
    let exact = candidates.into_iter().find(is_gone);
    let path = exact.or_else(|| only_ending(known, end))?;
    let lower = name_of(end).to_lowercase();
    let conventional = CONVENTIONAL_FILES.binary_search(&lower.as_str()).is_ok();
    let run = named.manner == PathMentionKind::Run && named.inward;
    if named.is_bare() && (!is_written(end) || (conventional && !run)) {
        return None;
    }
    let now = today(known, &path);
    let evidence = describe_removal(&path, past.files.get(path.as_str()), now.as_deref());
    let suggestion = now.or_else(|| namesake(known, end));
    Some(named.doubt(evidence, Severity::High, suggestion))
}

/// Returns the only deleted file with this path suffix, for a path relative to an unknown folder.
fn only_ending(known: &ProjectIndex<'_>, end: &str) -> Option<String> {
    let mut ending = known.gone().ending(end);
    let path = ending.next().filter(|_| !end.starts_with(".."))?;
    ending.next().is_none().then(|| path.to_owned())
}

/// Returns the current path of a renamed file, following all renames.
fn today(known: &ProjectIndex<'_>, path: &str) -> Option<String> {
    let past = known.today.past?;
    let next = |path: &&str| past.files.get(*path).and_then(|past| past.renamed_to.as_deref());
    let names = std::iter::successors(next(&path), |path| next(path));
    let mut here = names.take(16).filter(|path| known.today.tree.file(path).is_some());
    here.next().map(str::to_owned)
}

/// Returns the only current file with the same name.
fn namesake(known: &ProjectIndex<'_>, path: &str) -> Option<String> {
    let name = name_of(path);
    if CONVENTIONAL_FILES.binary_search(&name.to_lowercase().as_str()).is_ok() {
        return None;
    }
    let mut same = known.files().ending(name);
    let first = same.next()?;
    same.next().is_none().then(|| first.to_owned())
}

fn describe_removal(path: &str, past: Option<&FilePast>, now: Option<&str>) -> String {
    let when =
        past.and_then(|past| past.changes.first()).map(|seconds| super::outdated::date(*seconds));
    let when = when.map(|date| format!(" on {date}")).unwrap_or_default();
    match (now, past.and_then(|past| past.renamed_to.as_deref())) {
        (Some(now), _) => format!("according to git, {path} was renamed{when} and is now {now}"),
        (None, Some(to)) => {
            format!("according to git, {path} was renamed to {to}{when}, which is also gone")
        }
        (None, None) => format!("according to git, {path} was deleted{when}"),
    }
}

/// Checks for a folder whose files are all deleted in git history.
fn gone_folder(known: &ProjectIndex<'_>, named: &PathMention<'_>) -> Option<SuspectMention> {
    let past = known.today.past?;
    let end = named.path.trim_start_matches("./").trim_end_matches('/');
    let explicit = named.mention.ends_with('/') || named.mention.starts_with("./");
    // A bare word may be anything; with a slash, or after `cd`, it is a folder.
    if !(end.contains('/') || explicit || named.manner == PathMentionKind::Entered) {
        return None;
    }
    let tried = named.bases.iter().filter_map(|base| join(base, end));
    let path = tried
        .into_iter()
        .find(|path| known.gone_folders().ending(path).any(|gone| gone == path))?;
    if known.has_stem(&path) {
        return None;
    }
    let (mut last, mut count) = (None, 0_u64);
    let mut moved: BTreeMap<&str, u64> = BTreeMap::new();
    for file in known.gone_below(&path) {
        if !known.effort.spend(1) {
            return None;
        }
        let Some(past) = past.files.get(file) else { continue };
        count += 1;
        last = last.max(past.changes.first().copied());
        let rest = file.strip_prefix(&path).unwrap_or_default();
        let to = past.renamed_to.as_deref().and_then(|to| to.strip_suffix(rest));
        if let Some(to) = to {
            *moved.entry(to).or_default() += 1;
        }
    }
    let here = moved.into_iter().filter(|(to, _)| known.today.tree.has_folder(to));
    let moved = here.max_by_key(|(_, files)| *files).map(|(to, _)| to.to_owned());
    let when = last
        .map(|seconds| format!(" until {}", super::outdated::date(seconds)))
        .unwrap_or_default();
    let files = if count == 1 { "a file".into() } else { format!("{count} files") };
    let evidence = format!("according to git, {path} contained {files}{when}; nothing is left");
    Some(named.doubt(evidence, Severity::High, moved.filter(|to| !to.is_empty())))
}

/// Checks for a missing file in an existing folder with files of the same kind.
fn absent(known: &ProjectIndex<'_>, named: &PathMention<'_>) -> Option<SuspectMention> {
    // If the complete history does not contain the path, it never existed: an example, or a file to create.
    if known.today.past.is_some_and(|past| past.complete)
        || named.is_bare()
        || !is_written(&named.path)
    {
        return None;
    }
    if CONVENTIONAL_FILES.binary_search(&name_of(&named.path).to_lowercase().as_str()).is_ok() {
        return None;
    }
    let tried = named.bases.iter().filter_map(|base| join(base, &named.path));
    let tree = known.today.tree;
    let path = tried
        .into_iter()
        .find(|path| !folder_of(path).is_empty() && tree.has_folder(folder_of(path)))?;
    let (folder, ending) = (folder_of(&path), ending(&path)?);
    let alike = known.files_like(folder, ending);
    if alike.len() < 2 {
        return None;
    }
    let severity =
        if named.manner == PathMentionKind::Run { Severity::Medium } else { Severity::Low };
    let near =
        edit_distance::nearest(&known.effort, &path, alike.iter().copied()).map(str::to_owned);
    let suggestion = near.or_else(|| namesake(known, &path));
    let evidence =
        format!("{folder} has {} .{ending} files, and this is not one of them", alike.len());
    Some(named.doubt(evidence, severity, suggestion))
}

/// Returns the paths that a command needs.
fn needed<'a>(step: &'a DocumentedCommand<'_>) -> Vec<&'a str> {
    let Some((program, arguments)) = step.program() else { return Vec::new() };
    let plain = |word: &'a CommandWord| (!word.opaque).then_some(word.text.as_str());
    let script = || {
        let first = arguments.iter().find(|word| !word.text.starts_with('-'));
        let flags = arguments.iter().take_while(|word| word.text.starts_with('-'));
        // `-m` and `-c` take something other than a file.
        let elsewhere = flags.into_iter().any(|flag| flag.text.len() == 2);
        first.and_then(plain).filter(|_| !elsewhere)
    };
    match program {
        "python" | "python3" | "python2" | "py" | "bash" | "sh" | "zsh" | "node" | "ruby"
        | "perl" | "php" | "tsx" | "ts-node" | "source" | "." | "Rscript" | "lua" | "julia" => {
            script().into_iter().filter(|path| is_written(path)).collect()
        }
        "pip" | "pip3" | "pytest" | "mypy" | "ruff" | "cat" | "chmod" => {
            let files = arguments.iter().filter_map(plain);
            files.filter(|word| is_written(word) && word.contains('/')).collect()
        }
        "cd" | "pushd" => arguments.first().and_then(plain).into_iter().collect(),
        _ if program.contains('/') => vec![program],
        _ => Vec::new(),
    }
}

/// Parses a code mention as a path, without a trailing line number or test name.
fn as_path(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text.split_once("::").map_or(text, |(path, _)| path);
    let text = text.split_once('#').map_or(text, |(path, _)| path);
    let text = match text.split_once(':') {
        Some((path, line)) if line.starts_with(|c: char| c.is_ascii_digit()) => path,
        Some(_) => return None,
        None => text,
    };
    let allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+');
    let plain = !text.is_empty()
        && text.chars().all(allowed)
        && text.chars().any(char::is_alphabetic)
        && !text.starts_with(['/', '-', '+'])
        && !text.contains("//")
        && !text.contains("...")
        && !text.ends_with('.');
    let path = text.trim_end_matches('/');
    let shaped = path.contains('/') || ending(path).is_some() || text.ends_with('/');
    (plain && shaped && path.len() < 200).then(|| path.to_owned())
}

/// Returns the file extension if it consists of letters.
pub(super) fn ending(path: &str) -> Option<&str> {
    let (stem, ending) = name_of(path).rsplit_once('.')?;
    let letters = ending.chars().all(|c| c.is_ascii_alphanumeric())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    (!stem.is_empty() && letters && ending.len() < 9).then_some(ending)
}

fn is_written(path: &str) -> bool {
    ending(path).is_some_and(|ending| WRITTEN_EXTENSIONS.binary_search(&ending).is_ok())
}

/// Whether a path is a placeholder for the reader's own.
pub(super) fn is_placeholder(path: &str) -> bool {
    const WORDS: [&str; 24] = [
        "abc",
        "acme",
        "bar",
        "baz",
        "blah",
        "demo",
        "dummy",
        "example",
        "fname",
        "foo",
        "foobar",
        "hello",
        "my",
        "myapp",
        "mypackage",
        "myproject",
        "name",
        "placeholder",
        "qux",
        "sample",
        "some",
        "spam",
        "your",
        "xxx",
    ];
    let lower = path.to_lowercase();
    if lower.contains("path/to") || lower.contains("xxx") {
        return true;
    }
    lower.split('/').any(|part| {
        let stem = part.split_once('.').map_or(part, |(stem, _)| stem);
        WORDS.contains(&stem)
            || stem.split(['-', '_']).any(|word| matches!(word, "my" | "your" | "foo" | "bar"))
            || stem.starts_with("your")
    })
}

/// Whether a build or tool may create the missing path.
fn is_made(known: &ProjectIndex<'_>, named: &PathMention<'_>) -> bool {
    let tree = known.today.tree;
    let path = named.path.trim_start_matches("./").trim_start_matches("../");
    let name = name_of(path);
    if name.starts_with(".env")
        || ["example", "sample", "dist", "template", "tmpl", "default"]
            .iter()
            .any(|ending| known.files().ending(&format!("{name}.{ending}")).next().is_some())
    {
        return true;
    }
    let mut folder = String::new();
    for part in path.split('/').filter(|part| *part != ".") {
        folder = if folder.is_empty() { part.to_owned() } else { format!("{folder}/{part}") };
        let lower = part.to_lowercase();
        let made = GENERATED_FOLDERS.binary_search(&lower.as_str()).is_ok()
            || lower.ends_with(".egg-info");
        let here = named.bases.iter().filter_map(|base| join(base, &folder));
        if made && !here.into_iter().any(|path| tree.has_folder(&path)) {
            return true;
        }
    }
    named
        .bases
        .iter()
        .filter_map(|base| join(base, path))
        .any(|path| known.ignored.has(tree, &path))
}
