//! Decides which documents and lines describe the project as it is now.
//!
//! Changelogs, migration guides and decision records mention removed things on purpose; so does a sentence with
//! `renamed` in it. Knows words, not what they name.

use super::{
    MentionFamily, SuspectMention, SuspicionBasis,
    phrases::{
        EXAMPLE_PHRASES, FOREIGN_PHRASES, INVENTED_WORDS, NON_CURRENT_FOLDERS,
        NON_CURRENT_HEADINGS, NON_CURRENT_NAMES, PAST_PHRASES, STRONG_PAST_PHRASES,
    },
    project_index::ProjectIndex,
};
use crate::repo::{
    facts::DocumentFacts,
    report::MentionKind,
    tree::{folder_of, name_of},
};

/// Lines below a mention in which a phrase counts.
const PHRASE_LINES_BELOW: u32 = 6;

/// Lines above a mention in which a word counts.
const WORD_LINES_ABOVE: u32 = 15;

/// Maximum number of blank lines between a code block and its introduction.
const MAX_BLANK_LINES: u32 = 50;

/// Bytes of a line that are read: people do not write longer lines.
const MAX_LINE_BYTES: usize = 2_000;

/// Whether a document describes the current project.
pub(super) fn is_current(document: &DocumentFacts) -> bool {
    let path = document.path.to_lowercase();
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    let is_listed = |word: &str| NON_CURRENT_NAMES.binary_search(&word).is_ok();
    if stem.split(['-', '_', ' ', '.']).any(is_listed) || is_version(name) || is_numbered(stem) {
        return false;
    }
    if parts.any(|part| NON_CURRENT_FOLDERS.binary_search(&part).is_ok() || is_version(part)) {
        return false;
    }
    !document.title.as_deref().is_some_and(is_past)
}

/// Whether a document is for contributors, not users.
pub(super) fn is_for_developers(known: &ProjectIndex<'_>, path: &str) -> bool {
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

/// Whether a folder or document is named after a version: `v2`, `1.4.x`, `version-3.0`.
fn is_version(part: &str) -> bool {
    if let Some(rest) = part.strip_prefix("version-") {
        return rest.starts_with(|c: char| c.is_ascii_digit());
    }
    let rest = part.strip_prefix('v').unwrap_or(part);
    let first = rest.split('.').next().unwrap_or_default();
    let number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    number && (rest.len() < part.len() || rest.contains('.'))
}

/// Whether a document is a numbered record or dated post: `0007-use-git`, `2024-02-03-hello`.
fn is_numbered(stem: &str) -> bool {
    stem.bytes().take_while(u8::is_ascii_digit).count() >= 3
}

/// Whether a title or heading is about the past or plans.
fn is_past(heading: &str) -> bool {
    let plain = normalize_words(heading);
    let version = heading.trim_start_matches(|c: char| !c.is_alphanumeric());
    NON_CURRENT_HEADINGS.iter().any(|phrase| contains_phrase(&plain, phrase))
        || version.split_whitespace().next().is_some_and(|word| {
            is_version(&word.trim_end_matches([':', ']', ')']).to_ascii_lowercase())
                && word.contains('.')
                && word.matches('.').count() > usize::from(!word.starts_with(['v', 'V']))
        })
}

/// Lowercases a text and puts one space around each word.
fn normalize_words(text: &str) -> String {
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

/// Whether a normalized text contains a phrase of whole words.
fn contains_phrase(plain: &str, phrase: &str) -> bool {
    plain.match_indices(phrase).any(|(at, _)| {
        let end = at + phrase.len();
        plain.get(..at).is_some_and(|before| before.ends_with(' '))
            && plain.get(end..).is_some_and(|after| after.starts_with(' '))
    })
}

/// The text around the mentions in one document.
pub(super) struct MentionContext<'a> {
    document: &'a DocumentFacts,
    /// Lines of headings, and start lines of code blocks, in order.
    headings: Vec<u32>,
    blocks: Vec<u32>,
    lines: Vec<&'a str>,
    text: &'a str,
}

impl<'a> MentionContext<'a> {
    /// Creates the context of a document with its text.
    pub(super) fn new(document: &'a DocumentFacts, text: &'a str) -> Self {
        let mut headings: Vec<u32> = document.headings.iter().map(|one| one.line).collect();
        let mut blocks: Vec<u32> = document.code_blocks.iter().map(|one| one.line).collect();
        headings.sort_unstable();
        blocks.sort_unstable();
        Self { document, headings, blocks, lines: text.lines().map(shortened).collect(), text }
    }

    /// Whether nearby words or headings explain why the name is missing.
    pub(super) fn clear(&self, known: &ProjectIndex<'_>, doubt: &SuspectMention) -> bool {
        // Searching for a definition reads the whole text; without budget, nothing is certain.
        if !known.effort.spend(self.text.len() + self.document.headings.len()) {
            return true;
        }
        let program =
            matches!(doubt.family, Some(MentionFamily::Flags(_) | MentionFamily::Subcommands(_)));
        let plain = normalize_words(&self.passage(doubt.line).replace(&doubt.mention, " "));
        PAST_PHRASES.iter().chain(&FOREIGN_PHRASES).any(|phrase| contains_phrase(&plain, phrase))
            || self.is_invented(doubt.line)
            || self.is_retracted(doubt.line)
            || (doubt.ground == SuspicionBasis::Presumed
                && EXAMPLE_PHRASES.iter().any(|phrase| contains_phrase(&plain, phrase)))
            || (program && self.has_plugin(known, doubt.line))
            || self.is_linked(doubt)
            || self.is_defined(doubt)
            || self.headings_above(doubt.line).any(is_past)
    }

    /// Whether the section said that its names are made up.
    fn is_invented(&self, line: u32) -> bool {
        self.section(line, WORD_LINES_ABOVE, 1).any(|line| {
            let plain = normalize_words(line);
            INVENTED_WORDS.iter().any(|word| contains_phrase(&plain, word))
        })
    }

    /// Returns the lines around a line under the same heading.
    fn section(&self, line: u32, above: u32, below: u32) -> impl Iterator<Item = &'a str> {
        let next = self.headings.partition_point(|heading| *heading <= line);
        let start = next.checked_sub(1).and_then(|at| self.headings.get(at)).map_or(1, |at| *at);
        let end = self.headings.get(next).copied().unwrap_or(u32::MAX);
        let lines = start.max(line.saturating_sub(above))..end.min(line.saturating_add(below));
        lines.map(|line| self.line(line))
    }

    /// Whether later text in the section says that the name is gone.
    fn is_retracted(&self, line: u32) -> bool {
        self.section(line, 0, PHRASE_LINES_BELOW).any(|line| {
            let plain = normalize_words(line);
            STRONG_PAST_PHRASES.iter().any(|phrase| contains_phrase(&plain, phrase))
        })
    }

    /// Whether the section mentions a plug-in of the project, which adds its own names.
    fn has_plugin(&self, known: &ProjectIndex<'_>, line: u32) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let mut words = self
            .section(line, WORD_LINES_ABOVE, PHRASE_LINES_BELOW)
            .flat_map(|line| line.split(move |c| !is_part(c)));
        let is_own = |word: &str| known.is_own_name(word) || known.is_own_program(word);
        words
            .any(|word| word.split_once('-').is_some_and(|(stem, _)| is_own(stem)) && !is_own(word))
    }

    fn line(&self, number: u32) -> &'a str {
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        at.checked_sub(1).and_then(|at| self.lines.get(at)).copied().unwrap_or_default()
    }

    /// Returns the line with its paragraph, or with the introduction of its code block.
    fn passage(&self, line: u32) -> String {
        let mut passage = self.line(line).to_owned();
        let mut add = |text: &str| {
            passage.push(' ');
            passage.push_str(text);
        };
        if let Some(fence) = self.fence_above(line) {
            let above = fence.saturating_sub(MAX_BLANK_LINES).max(1)..fence;
            let above = above.rev().map(|above| self.line(above));
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

    /// Returns the first line of the code block around a line.
    fn fence_above(&self, line: u32) -> Option<u32> {
        let fence = |text: &str| text.trim_start().starts_with(['`', '~'].as_slice());
        let above = self.blocks.partition_point(|block| *block <= line);
        let start = *self.blocks.get(above.checked_sub(1)?)?;
        let closed = (start + 1..line).any(|between| {
            let text = self.line(between).trim_start();
            text.starts_with("```") || text.starts_with("~~~")
        });
        // In indented blocks, the first line with less indentation ends the block.
        let indent = |text: &str| text.len() - text.trim_start().len();
        let inside = |number: u32| {
            let text = self.line(number);
            text.trim().is_empty() || indent(text) > 0
        };
        let open = fence(self.line(start)) || (start + 1..=line).all(inside);
        (open && !closed).then_some(start)
    }

    /// Whether the name is the text of a link: link targets are checked elsewhere.
    fn is_linked(&self, doubt: &SuspectMention) -> bool {
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

    /// Whether the document itself shows how to create the thing: a script, class or task option.
    fn is_defined(&self, doubt: &SuspectMention) -> bool {
        let Some(name) = doubt.mention.split_whitespace().next_back() else { return false };
        match doubt.kind {
            MentionKind::File => false,
            MentionKind::Flag => {
                let name = name.trim_start_matches('-');
                let snake = name.replace('-', "_");
                let shown = |name: &str| self.lines.iter().any(|line| declares(line, name));
                (snake != name && self.text.contains(&snake)) || shown(&snake)
            }
            MentionKind::Command | MentionKind::Symbol => {
                let name = name.split('(').next().unwrap_or(name);
                let last = name.rsplit(['.', '#']).next().unwrap_or(name);
                let last = last.rsplit("::").next().unwrap_or(last);
                self.text.contains(&format!("\"{name}\":"))
                    || self.lines.iter().any(|line| declares(line, last) || heads(line, name))
            }
        }
    }

    /// Returns the headings above a line, innermost first.
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

/// Returns the start of a line.
fn shortened(line: &str) -> &str {
    let end = (0..=MAX_LINE_BYTES.min(line.len())).rev().find(|end| line.is_char_boundary(*end));
    end.and_then(|end| line.get(..end)).unwrap_or(line)
}

/// Whether a line declares a name, in most languages.
fn declares(line: &str, name: &str) -> bool {
    const WORDS: [&str; 11] = [
        "class",
        "const",
        "def",
        "enum",
        "fn",
        "func",
        "function",
        "interface",
        "let",
        "struct",
        "trait",
    ];
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(name).any(|(at, _)| {
        let before = line.get(..at).and_then(|before| before.strip_suffix(' '));
        let after = line.get(at + name.len()..).unwrap_or_default();
        let word = before.and_then(|before| before.rsplit(|c| !is_part(c)).next());
        word.is_some_and(|word| WORDS.contains(&word)) && !after.starts_with(is_part)
    })
}

/// Whether a line starts a rule for a name: `name:`.
fn heads(line: &str, name: &str) -> bool {
    line.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(':'))
}

/// Whether a line starts a new item: a list item, table row, heading or blank line.
fn starts_item(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty()
        || line.starts_with(['|', '#', '>'])
        || ["- ", "* ", "+ ", "```", "~~~", ".. "].iter().any(|mark| line.starts_with(mark))
        || line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['.', ')'])
}
