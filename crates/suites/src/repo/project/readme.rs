//! Commands in the README and the contributing guide.

use super::{
    commands::{AvailableTargets, CommandCandidate},
    shell,
    sources::ProjectSources,
};
use crate::repo::{
    report::{CommandPurpose, ProjectKind},
    tree::name_of,
};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// Language labels of command blocks; an unlabeled block may be one.
const LANGUAGES: [&str; 13] = [
    "",
    "bash",
    "cli",
    "cmd",
    "commandline",
    "console",
    "powershell",
    "sh",
    "shell",
    "shell-session",
    "shellsession",
    "terminal",
    "zsh",
];

/// A code block.
#[derive(Debug, PartialEq, Eq)]
struct ReadmeCodeBlock {
    language: String,
    text: String,
    /// First line number, from 1.
    line: u32,
}

/// Markup format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadmeMarkup {
    Markdown,
    Restructured,
    AsciiDoc,
    Text,
}

/// Returns the markup format by file name.
pub(super) fn markup(path: &str) -> ReadmeMarkup {
    let ending = name_of(path).rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "md" | "markdown" | "mdx" | "mkd" => ReadmeMarkup::Markdown,
        "rst" | "rest" => ReadmeMarkup::Restructured,
        "adoc" | "asciidoc" | "asc" => ReadmeMarkup::AsciiDoc,
        _ => ReadmeMarkup::Text,
    }
}

/// Finds commands in the code blocks of these documents.
pub(super) fn commands(
    sources: &ProjectSources<'_>,
    workshop: &AvailableTargets<'_>,
    kind: ProjectKind,
) -> Vec<CommandCandidate> {
    let mut candidates = Vec::new();
    for (path, text) in &sources.documents {
        for block in blocks(text, markup(path)) {
            candidates.extend(in_block(sources, workshop, path, &block));
        }
    }
    // Users of a library start their own programs, which is not how to run the library.
    let is_kept = |candidate: &CommandCandidate| {
        candidate.purpose != CommandPurpose::Run || kind != ProjectKind::Library
    };
    candidates.retain(is_kept);
    candidates
}

fn in_block(
    sources: &ProjectSources<'_>,
    workshop: &AvailableTargets<'_>,
    path: &str,
    block: &ReadmeCodeBlock,
) -> Vec<CommandCandidate> {
    if !LANGUAGES.contains(&block.language.to_ascii_lowercase().as_str()) {
        return Vec::new();
    }
    let typed = shell::commands(&prompted(&block.text), "", sources);
    let candidate = |typed: shell::TypedCommand| {
        let (purpose, origin) = workshop.judge_documented(&typed)?;
        let line = u32::try_from(typed.line).ok().map(|line| line + block.line);
        let (command, folder, path) = (typed.text, typed.folder, path.to_owned());
        Some(CommandCandidate { purpose, command, folder, path, line, origin })
    };
    typed.into_iter().filter_map(candidate).collect()
}

/// Returns the typed lines of a block without prompts; if there are prompts, the rest is output. Lines keep their
/// numbers.
fn prompted(text: &str) -> String {
    let prompt = |line: &str| -> Option<String> {
        let line = line.trim_start();
        let rest = ["$ ", "% ", "PS> ", "> "].iter().find_map(|prompt| line.strip_prefix(prompt));
        rest.map(str::to_owned)
    };
    let has_prompts = text.lines().any(|line| prompt(line).is_some());
    let mut continued = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let typed = match prompt(line) {
            Some(typed) => typed,
            None if has_prompts && !continued => String::new(),
            None => line.to_owned(),
        };
        continued = typed.ends_with('\\');
        lines.push(typed);
    }
    lines.join("\n")
}

fn blocks(text: &str, markup: ReadmeMarkup) -> Vec<ReadmeCodeBlock> {
    match markup {
        ReadmeMarkup::Markdown => markdown_blocks(text),
        ReadmeMarkup::AsciiDoc => fenced_blocks(text),
        ReadmeMarkup::Restructured | ReadmeMarkup::Text => indented_blocks(text),
    }
}

fn markdown_blocks(text: &str) -> Vec<ReadmeCodeBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<ReadmeCodeBlock> = None;
    let (mut seen, mut line) = (0, 1);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match &kind {
                    CodeBlockKind::Fenced(info) => first_word(info),
                    CodeBlockKind::Indented => "",
                };
                let language = language.to_owned();
                open = Some(ReadmeCodeBlock { language, text: String::new(), line: 0 });
            }
            Event::Text(part) => {
                let Some(block) = &mut open else { continue };
                if block.line == 0 {
                    let between = text.get(seen..range.start).unwrap_or_default();
                    line += u32::try_from(between.matches('\n').count()).unwrap_or(0);
                    seen = range.start;
                    block.line = line;
                }
                block.text.push_str(&part);
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

/// Returns the language of `sh,ignore` and `{.sh .numbered}`.
fn first_word(info: &str) -> &str {
    let info = info.trim_start_matches(['{', '.', ' ']);
    info.split([' ', ',', '}', '{']).next().unwrap_or_default()
}

/// Finds blocks between lines of dashes or dots, as in `AsciiDoc`.
fn fenced_blocks(text: &str) -> Vec<ReadmeCodeBlock> {
    let mut blocks = Vec::new();
    let mut language = String::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let line = line.trim_end();
        if let Some(attributes) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            let mut parts = attributes.split(',');
            let is_source =
                parts.next().is_some_and(|it| it.is_empty() || it.starts_with("source"));
            let named = parts.next().map(str::trim).filter(|_| is_source);
            named.unwrap_or_default().clone_into(&mut language);
            continue;
        }
        let is_fence = line.len() >= 4
            && (line.bytes().all(|it| it == b'-') || line.bytes().all(|it| it == b'.'));
        if is_fence {
            let inner =
                lines.by_ref().map(|(_, inner)| inner).take_while(|it| it.trim_end() != line);
            let text = inner.collect::<Vec<_>>().join("\n");
            blocks.push(ReadmeCodeBlock {
                language: std::mem::take(&mut language),
                text,
                line: number + 1,
            });
        } else if !line.is_empty() {
            language.clear();
        }
    }
    blocks
}

/// Finds indented blocks, as in reStructuredText and plain text.
fn indented_blocks(text: &str) -> Vec<ReadmeCodeBlock> {
    let mut blocks: Vec<ReadmeCodeBlock> = Vec::new();
    let mut language: Option<String> = None;
    let mut open = false;
    for (number, line) in (1..).zip(text.lines()) {
        let is_indented = line.starts_with([' ', '\t']);
        if line.trim().is_empty() {
            if let (true, Some(block)) = (open, blocks.last_mut()) {
                block.text.push('\n');
            }
            continue;
        }
        if !is_indented {
            open = false;
            language = announced(line);
            continue;
        }
        // Directive options come between it and its block.
        if !open && line.trim_start().starts_with(':') {
            continue;
        }
        if !open && let Some(language) = language.take() {
            blocks.push(ReadmeCodeBlock { language, text: String::new(), line: number });
            open = true;
        }
        if let (true, Some(block)) = (open, blocks.last_mut()) {
            block.text.push_str(line.trim());
            block.text.push('\n');
        }
    }
    blocks
}

/// Returns the language of the block that a line introduces.
fn announced(line: &str) -> Option<String> {
    let directives = [".. code-block::", ".. code::", ".. sourcecode::", ".. prompt::"];
    let named = directives.iter().find_map(|directive| line.strip_prefix(directive));
    if let Some(language) = named {
        return Some(first_word(language.trim()).to_owned());
    }
    (line.ends_with(':') && !line.starts_with("..")).then(String::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(markup: ReadmeMarkup, text: &str, want: &[(&str, &str, u32)]) {
        let found = blocks(text, markup);
        let found: Vec<(&str, &str, u32)> =
            found.iter().map(|it| (it.language.as_str(), it.text.trim_end(), it.line)).collect();
        assert_eq!(found, want, "{text}");
    }

    #[test]
    fn blocks_of_every_markup() {
        check(
            ReadmeMarkup::Markdown,
            "# A\n\n```sh,ignore\nmake\nmake test\n```\n\n- in a list\n\n  ```console\n  $ ls\n  ```\n\n    indented\n",
            &[("sh", "make\nmake test", 4), ("console", "$ ls", 11)],
        );
        check(ReadmeMarkup::Markdown, "text\n\n    make\n", &[("", "make", 3)]);
        check(
            ReadmeMarkup::Restructured,
            "A\n=\n\n.. code-block:: console\n   :caption: x\n\n   $ make\n\n   $ make test\n\nThen::\n\n  tox\n\nEnd.\n",
            &[("console", "$ make\n\n$ make test", 7), ("", "tox", 13)],
        );
        check(
            ReadmeMarkup::AsciiDoc,
            "= A\n\n[source,bash]\n----\nmake\n----\n\n....\nout\n....\n",
            &[("bash", "make", 5), ("", "out", 9)],
        );
        check(ReadmeMarkup::Text, "To test:\n\n    make test\n", &[("", "make test", 3)]);
    }

    #[test]
    fn prompts_mark_what_is_typed() {
        let cases = [
            ("$ make\nok\n$ make \\\n  test\nok", "make\n\nmake \\\n  test\n"),
            ("make\nmake test", "make\nmake test"),
            ("> npm test", "npm test"),
        ];
        for (text, want) in cases {
            assert_eq!(prompted(text), want, "{text}");
        }
    }
}
