//! Which documents, and which lines of them, speak of the project as it is today.
//!
//! Changelogs, guides for moving on and records of decisions name what is gone on purpose; so does a sentence with
//! `renamed` in it. Knows words, not what they name.

use super::{Doubt, Ground, known::Known};
use crate::repo::{
    facts::DocumentFacts,
    tree::{folder_of, name_of},
};

/// Folders whose documents tell of the past, of plans, or of somebody else's project.
const FOLDERS: [&str; 78] = [
    ".changeset",
    "__fixtures__",
    "__snapshots__",
    "__tests__",
    "_posts",
    "adr",
    "adrs",
    "archive",
    "archived",
    "archives",
    "attic",
    "blog",
    "boilerplate",
    "boilerplates",
    "changelog",
    "changelog.d",
    "changelogs",
    "changes",
    "decision-records",
    "decisions",
    "deprecated",
    "design-docs",
    "drafts",
    "enhancements",
    "external",
    "fixture",
    "fixtures",
    "history",
    "ideas",
    "incidents",
    "keps",
    "legacy",
    "meetings",
    "migrating",
    "migration",
    "migrations",
    "minutes",
    "mocks",
    "news",
    "newsfragments",
    "node_modules",
    "obsolete",
    "old",
    "plans",
    "postmortems",
    "posts",
    "proposal",
    "proposals",
    "release-notes",
    "release_notes",
    "releasenotes",
    "releases",
    "research",
    "retrospectives",
    "rfc",
    "rfcs",
    "roadmap",
    "scaffold",
    "scaffolds",
    "skeleton",
    "snapshots",
    "specs",
    "template",
    "templates",
    "test",
    "test-data",
    "test_data",
    "testdata",
    "tests",
    "third-party",
    "third_party",
    "thirdparty",
    "upgrade",
    "upgrading",
    "vendor",
    "versioned_docs",
    "whats_new",
    "whatsnew",
];

/// Words in the name of a document that does so.
const NAMES: [&str; 50] = [
    "adr",
    "archive",
    "archived",
    "authors",
    "backlog",
    "breaking",
    "changelog",
    "changelogs",
    "changes",
    "conduct",
    "contributors",
    "copying",
    "copyright",
    "credits",
    "decisions",
    "deprecated",
    "deprecation",
    "deprecations",
    "draft",
    "history",
    "legacy",
    "licence",
    "licences",
    "license",
    "licenses",
    "migrate",
    "migrating",
    "migration",
    "migrations",
    "news",
    "notes",
    "notice",
    "obsolete",
    "old",
    "plan",
    "plans",
    "postmortem",
    "proposal",
    "proposals",
    "releases",
    "rfc",
    "roadmap",
    "template",
    "thanks",
    "todo",
    "todos",
    "upgrade",
    "upgrading",
    "whatsnew",
    "wishlist",
];

/// Phrases in a title or a heading above which names are not of today.
const HEADINGS: [&str; 44] = [
    "backward compatibility",
    "backwards compatibility",
    "before",
    "breaking change",
    "breaking changes",
    "change log",
    "changelog",
    "changes",
    "deprecated",
    "deprecation",
    "deprecations",
    "earlier",
    "future",
    "history",
    "ideas",
    "legacy",
    "migrate",
    "migrating",
    "migration",
    "migrations",
    "news",
    "next steps",
    "non goals",
    "not planned",
    "obsolete",
    "old",
    "out of scope",
    "planned",
    "plans",
    "previous",
    "previously",
    "proposal",
    "proposed",
    "release notes",
    "removal",
    "removed",
    "renamed",
    "roadmap",
    "todo",
    "upgrade",
    "upgrading",
    "what changed",
    "what s new",
    "wishlist",
];

/// Phrases that tell of what is gone, or was never there.
const PAST: [&str; 73] = [
    "back when",
    "before version",
    "coming soon",
    "delete",
    "deleted",
    "deprecate",
    "deprecated",
    "deprecates",
    "deprecation",
    "discontinued",
    "do not exist",
    "do not use",
    "does not exist",
    "doesn t exist",
    "don t exist",
    "don t use",
    "dropped",
    "earlier",
    "eliminated",
    "extracted",
    "folded into",
    "former",
    "formerly",
    "future",
    "gone",
    "historic",
    "historical",
    "historically",
    "in favor of",
    "in favour of",
    "instead of",
    "is not a",
    "isn t a",
    "legacy",
    "merged into",
    "moved",
    "no longer",
    "no more",
    "not exist",
    "not yet",
    "obsolete",
    "old",
    "older",
    "once",
    "once was",
    "originally",
    "planned",
    "previous",
    "previously",
    "prior",
    "rather than",
    "remove",
    "removed",
    "removes",
    "removing",
    "rename",
    "renamed",
    "renames",
    "renaming",
    "replace",
    "replaced",
    "replaces",
    "replacing",
    "superseded",
    "there are no",
    "there is no",
    "todo",
    "unlike",
    "used to",
    "used to be",
    "was",
    "were",
    "will be",
];

/// Phrases that tell of other people's code.
const FOREIGN: [&str; 15] = [
    "another project",
    "as in",
    "custom",
    "external",
    "hypothetical",
    "other projects",
    "plug in",
    "plugin",
    "plugins",
    "should provide",
    "third party",
    "upstream",
    "user defined",
    "vendored",
    "your own",
];

/// Words that make everything below them in a section an invention.
const INVENTED: [&str; 9] = [
    "fake",
    "fictional",
    "fictitious",
    "hypothetical",
    "imaginary",
    "imagine",
    "made up",
    "pretend",
    "suppose",
];

/// Lines above a name in which such a word counts.
const ABOVE: u32 = 15;

/// Phrases that tell of an example, of something to be made, or of what comes out.
const EXAMPLES: [&str; 52] = [
    "add a",
    "add the",
    "an example",
    "assume",
    "assuming",
    "call it",
    "called",
    "copy",
    "could",
    "create",
    "created",
    "creates",
    "creating",
    "e g",
    "emit",
    "emits",
    "equivalent",
    "expected",
    "for example",
    "for instance",
    "generate",
    "generated",
    "generates",
    "generating",
    "hypothetical",
    "if you have",
    "imagine",
    "let s",
    "like",
    "make a",
    "might",
    "my",
    "named",
    "new",
    "optional",
    "optionally",
    "output",
    "outputs",
    "produce",
    "produces",
    "put",
    "save",
    "say",
    "similar to",
    "such as",
    "suppose",
    "would",
    "write",
    "writes",
    "written",
    "you can add",
    "your",
];

/// Whether a document speaks of the project as it is today.
pub(super) fn is_of_today(document: &DocumentFacts) -> bool {
    let path = document.path.to_lowercase();
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let tells = |word: &str| NAMES.binary_search(&word).is_ok();
    if stem.split(['-', '_', ' ', '.']).any(tells) || is_version(name) || is_numbered(stem) {
        return false;
    }
    if parts.any(|part| FOLDERS.binary_search(&part).is_ok() || is_version(part)) {
        return false;
    }
    !document.title.as_deref().is_some_and(is_of_past)
}

/// Whether a document is for those who work on the project, and not for those who use it.
pub(super) fn is_for_developers(known: &Known<'_>, path: &str) -> bool {
    const WORDS: [&str; 22] = [
        "agents",
        "architecture",
        "build",
        "building",
        "claude",
        "contribute",
        "contributing",
        "contributor",
        "copilot",
        "dev",
        "developer",
        "developers",
        "developing",
        "development",
        "hacking",
        "install",
        "internals",
        "maintainers",
        "maintaining",
        "releasing",
        "setup",
        "testing",
    ];
    let lower = path.to_lowercase();
    let mut words = lower.split(['/', '-', '_', '.', ' ']);
    let package = || {
        let folder = folder_of(path);
        known.today.manifests.iter().any(|manifest| folder_of(&manifest.path) == folder)
    };
    words.any(|word| word == "github" || WORDS.binary_search(&word).is_ok())
        || (name_of(&lower).starts_with("readme") && (folder_of(path).is_empty() || package()))
}

/// Whether a folder or a document is named by a version: `v2`, `1.4.x`, `version-3.0`.
fn is_version(part: &str) -> bool {
    if let Some(rest) = part.strip_prefix("version-") {
        return rest.starts_with(|c: char| c.is_ascii_digit());
    }
    let rest = part.strip_prefix('v').unwrap_or(part);
    let first = rest.split('.').next().unwrap_or_default();
    let number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    number && (rest.len() < part.len() || rest.contains('.'))
}

/// Whether a document is one of a row of records, or of posts: `0007-use-git`, `2024-02-03-hello`.
fn is_numbered(stem: &str) -> bool {
    stem.bytes().take_while(u8::is_ascii_digit).count() >= 3
}

/// Whether a title or a heading tells of the past or of plans.
fn is_of_past(heading: &str) -> bool {
    let plain = plain(heading);
    let version = heading.trim_start_matches(|c: char| !c.is_alphanumeric());
    HEADINGS.iter().any(|phrase| holds(&plain, phrase))
        || version.split_whitespace().next().is_some_and(|word| {
            is_version(&word.trim_end_matches([':', ']', ')']).to_ascii_lowercase())
                && word.contains('.')
                && word.matches('.').count() > usize::from(!word.starts_with(['v', 'V']))
        })
}

/// A text in small letters with one space around each word.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 2);
    plain.push(' ');
    for letter in text.chars() {
        if letter.is_alphanumeric() {
            plain.extend(letter.to_lowercase());
        } else if !plain.ends_with(' ') {
            plain.push(' ');
        }
    }
    if !plain.ends_with(' ') {
        plain.push(' ');
    }
    plain
}

/// Whether a phrase stands in a text made by [`plain`], word by word.
fn holds(plain: &str, phrase: &str) -> bool {
    plain.match_indices(phrase).any(|(at, _)| {
        let end = at + phrase.len();
        plain.get(..at).is_some_and(|before| before.ends_with(' '))
            && plain.get(end..).is_some_and(|after| after.starts_with(' '))
    })
}

/// The text around the names of one document.
pub(super) struct Surroundings<'a> {
    document: &'a DocumentFacts,
    lines: Vec<&'a str>,
    text: &'a str,
}

impl<'a> Surroundings<'a> {
    /// Of a document and its text.
    pub(super) fn new(document: &'a DocumentFacts, text: &'a str) -> Self {
        Self { document, lines: text.lines().collect(), text }
    }

    /// Whether the words around a name, or the headings above it, explain why it is not there.
    pub(super) fn clear(&self, doubt: &Doubt) -> bool {
        let plain = plain(&self.passage(doubt.line).replace(&doubt.mention, " "));
        PAST.iter().chain(&FOREIGN).any(|phrase| holds(&plain, phrase))
            || self.is_invented(doubt.line)
            || (doubt.ground == Ground::Presumed
                && EXAMPLES.iter().any(|phrase| holds(&plain, phrase)))
            || self.is_linked(doubt)
            || self.is_defined(doubt)
            || self.headings_above(doubt.line).any(is_of_past)
    }

    /// Whether the section has told that it makes things up.
    fn is_invented(&self, line: u32) -> bool {
        let headings = self.document.headings.iter().map(|heading| heading.line);
        let start = headings.filter(|heading| *heading <= line).max().unwrap_or(1);
        (start.max(line.saturating_sub(ABOVE))..=line).any(|line| {
            let plain = plain(self.line(line));
            INVENTED.iter().any(|word| holds(&plain, word))
        })
    }

    fn line(&self, number: u32) -> &'a str {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        at.checked_sub(1).and_then(|at| self.lines.get(at)).copied().unwrap_or_default()
    }

    /// The line of a name with its neighbours in the same paragraph, or with what leads to its block of code.
    fn passage(&self, line: u32) -> String {
        let mut passage = self.line(line).to_owned();
        let mut add = |text: &str| {
            passage.push(' ');
            passage.push_str(text);
        };
        if let Some(fence) = self.fence_above(line) {
            let above = (1..fence).rev().map(|above| self.line(above));
            above.skip_while(|text| text.trim().is_empty()).take(2).for_each(&mut add);
            if line > fence + 1 {
                add(self.line(line - 1));
            }
            return passage;
        }
        if !starts_item(self.line(line)) && line > 1 {
            add(self.line(line - 1));
        }
        if !starts_item(self.line(line + 1)) {
            add(self.line(line + 1));
        }
        passage
    }

    /// The first line of the block of code that a line lies in.
    fn fence_above(&self, line: u32) -> Option<u32> {
        let fence = |text: &str| text.trim_start().starts_with(['`', '~'].as_slice());
        let start = self.document.code_blocks.iter().rev().map(|block| block.line);
        let start = start.filter(|start| *start <= line).max()?;
        let closed = (start + 1..line).any(|between| {
            let text = self.line(between).trim_start();
            text.starts_with("```") || text.starts_with("~~~")
        });
        // Where blocks are set off by more space, the first line with less of it ends them.
        let indent = |text: &str| text.len() - text.trim_start().len();
        let inside = |number: u32| {
            let text = self.line(number);
            text.trim().is_empty() || indent(text) > 0
        };
        let open = fence(self.line(start)) || (start + 1..=line).all(inside);
        (open && !closed).then_some(start)
    }

    /// Whether the name is the text of a link: where that leads is checked with the links.
    fn is_linked(&self, doubt: &Doubt) -> bool {
        let line = self.line(doubt.line);
        line.match_indices(&doubt.mention).any(|(at, _)| {
            let before = line.get(..at).unwrap_or_default().trim_end_matches(['`', '*']);
            let after = line.get(at + doubt.mention.len()..).unwrap_or_default();
            let closed = after.trim_start_matches(['`', '*', '(', ')']);
            (before.ends_with('[') && closed.starts_with(']'))
                || closed.starts_with("](")
                || after.trim_start().starts_with("<http")
        })
    }

    /// Whether the document itself tells the reader to set up the script or target that it names.
    fn is_defined(&self, doubt: &Doubt) -> bool {
        let Some(name) = doubt.mention.split_whitespace().next_back() else { return false };
        doubt.ground == Ground::Presumed
            && (self.text.contains(&format!("\"{name}\":"))
                || self.lines.iter().any(|line| {
                    line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(':'))
                }))
    }

    /// The headings that a line lies under, innermost first.
    fn headings_above(&self, line: u32) -> impl Iterator<Item = &'a str> {
        let mut level = u8::MAX;
        let above = self.document.headings.iter().rev().skip_while(move |one| one.line > line);
        let outer = above.filter(move |heading| {
            let is_outer = heading.level < level;
            level = level.min(heading.level);
            is_outer
        });
        outer.map(|heading| heading.text.as_ref())
    }
}

/// Whether a line begins something of its own: an item of a list, a row, a heading, or nothing at all.
fn starts_item(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty()
        || line.starts_with(['|', '#', '>'])
        || ["- ", "* ", "+ ", "```", "~~~", ".. "].iter().any(|mark| line.starts_with(mark))
        || line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['.', ')'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(FOLDERS.is_sorted() && NAMES.is_sorted());
        assert!(
            HEADINGS.is_sorted() && PAST.is_sorted() && FOREIGN.is_sorted() && EXAMPLES.is_sorted()
        );
    }
}
