//! Outlines of line-based formats: `reStructuredText`, `AsciiDoc`, Org and plain text.

use super::{OutlineContent, OutlinePart, OutlineWriter, collapse};

/// Parses `reStructuredText`.
pub(super) fn restructured(text: &str, writer: &mut OutlineWriter) {
    OutlineLines::new(text).restructured(writer, false);
}

/// Parses plain text: headings are underlined or in capitals, code is indented.
pub(super) fn plain(text: &str, writer: &mut OutlineWriter) {
    OutlineLines::new(text).restructured(writer, true);
}

/// Parses `AsciiDoc`, and the similar part of `RDoc`.
pub(super) fn asciidoc(text: &str, writer: &mut OutlineWriter) {
    let mut lines = OutlineLines::new(text);
    let mut language = None;
    while let Some((number, line)) = lines.next() {
        let level = line.chars().take_while(|c| *c == '=').count();
        let title = line.trim_start_matches('=');
        if (1..=6).contains(&level) && title.starts_with(' ') {
            heading(writer, number, level, title);
        } else if let Some(kind) = line.strip_prefix("[source") {
            language = kind.trim_matches([',', ']', '%', ' ']).split(',').next().map(str::to_owned);
        } else if let Some(fence) = fence(line) {
            let code = lines.until(|line| line.trim_end() == fence);
            let named = line.strip_prefix("```").map(str::to_owned);
            writer.code_block(number, language.take().or(named).as_deref(), code);
        } else if let Some((target, rest)) =
            line.strip_prefix("image:").and_then(|it| it.split_once('['))
        {
            let text = rest.split([',', ']']).next().unwrap_or_default();
            writer.picture(number, text, target.trim_start_matches(':'));
        } else if line.starts_with("//")
            || is_setting(line)
            || line.starts_with("ifdef::")
            || line.starts_with("endif::")
        {
            writer.end_prose();
        } else {
            running(writer, number, line.trim_start_matches(['*', '.', '-']));
        }
    }
}

/// Parses Org.
pub(super) fn org(text: &str, writer: &mut OutlineWriter) {
    let mut lines = OutlineLines::new(text);
    while let Some((number, line)) = lines.next() {
        let level = line.chars().take_while(|c| *c == '*').count();
        let title = line.trim_start_matches('*');
        let lower = line.trim_start().to_ascii_lowercase();
        if level > 0 && title.starts_with(' ') {
            heading(writer, number, level, title);
        } else if let Some(title) = lower.strip_prefix("#+title:") {
            let written = line.trim_start().get(line.trim_start().len() - title.len()..);
            heading(writer, number, 1, written.unwrap_or(title));
        } else if let Some(language) = lower.strip_prefix("#+begin_src") {
            let code =
                lines.until(|line| line.trim_start().to_ascii_lowercase().starts_with("#+end_src"));
            writer.code_block(number, Some(language.trim()), code);
        } else if lower.starts_with("#+begin_example") {
            let code = lines
                .until(|line| line.trim_start().to_ascii_lowercase().starts_with("#+end_example"));
            writer.code_block(number, None, code);
        } else if lower.starts_with("#+") {
            writer.end_prose();
        } else {
            running(writer, number, line);
        }
    }
}

/// The lines of a text, with lookahead.
struct OutlineLines<'a> {
    all: Vec<&'a str>,
    at: usize,
    /// Underlines in order of appearance: the first one marks the outermost level.
    underlines: Vec<(char, bool)>,
}

impl<'a> Iterator for OutlineLines<'a> {
    type Item = (u64, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.all.get(self.at)?;
        self.at += 1;
        Some((self.at as u64, line))
    }
}

impl<'a> OutlineLines<'a> {
    fn new(text: &'a str) -> Self {
        Self { all: text.lines().collect(), at: 0, underlines: Vec::new() }
    }

    fn ahead(&self, by: usize) -> &'a str {
        self.all.get(self.at + by).copied().unwrap_or_default()
    }

    /// Returns everything before a line, which is consumed too.
    fn until(&mut self, is_end: impl Fn(&str) -> bool) -> String {
        let lines: Vec<&str> =
            self.map(|(_, line)| line).take_while(|line| !is_end(line)).collect();
        lines.join("\n")
    }

    /// Returns the indented lines, including blank lines between them.
    fn indented(&mut self) -> Vec<&'a str> {
        let mut block = Vec::new();
        while self.at < self.all.len() {
            let line = self.ahead(0);
            if !line.trim().is_empty() && !line.starts_with([' ', '\t']) {
                break;
            }
            block.push(line);
            self.at += 1;
        }
        block
    }

    fn restructured(&mut self, writer: &mut OutlineWriter, plain: bool) {
        while let Some((number, line)) = self.next() {
            let trimmed = line.trim();
            if let Some(mark) = underline(line).filter(|mark| {
                underline(self.ahead(1)) == Some(*mark) && !self.ahead(0).trim().is_empty()
            }) {
                let level = self.level(mark, true);
                let title = self.ahead(0);
                self.at += 2;
                heading(writer, number + 1, level, title);
            } else if let Some(mark) =
                underline(self.ahead(0)).filter(|_| is_title(line, self.ahead(0)))
            {
                let level = self.level(mark, false);
                self.at += 1;
                heading(writer, number, level, trimmed);
            } else if let Some(directive) = trimmed.strip_prefix(".. ").filter(|_| !plain) {
                self.directive(writer, number, directive);
            } else if let Some(text) = trimmed.strip_prefix(":Abstract:") {
                running(writer, number, text);
            } else if !plain && is_setting(trimmed) {
                writer.end_prose();
            } else if trimmed.starts_with(">>> ") {
                let more = self.until(|line| line.trim().is_empty());
                writer.code_block(number, Some("python"), format!("{trimmed}\n{more}"));
            } else if plain
                && (line.starts_with("    ") || line.starts_with('\t'))
                && writer.prose.text.is_empty()
            {
                self.at -= 1;
                let block = self.indented();
                writer.code_block(number, None, block.join("\n"));
            } else if plain && is_capitals(trimmed) && self.ahead(0).trim().is_empty() {
                heading(writer, number, 2, trimmed);
            } else {
                running(writer, number, line.trim_start_matches(['*', '-', ' ']));
                if trimmed.ends_with("::") && self.ahead(0).trim().is_empty() && !plain {
                    writer.end_prose();
                    let block = self.indented();
                    writer.code_block(number + 1, None, block.join("\n"));
                }
            }
        }
    }

    fn level(&mut self, mark: char, over: bool) -> usize {
        let known = self.underlines.iter().position(|known| *known == (mark, over));
        known.unwrap_or_else(|| {
            self.underlines.push((mark, over));
            self.underlines.len() - 1
        }) + 1
    }

    fn directive(&mut self, writer: &mut OutlineWriter, number: u64, directive: &str) {
        writer.end_prose();
        let (name, argument) = directive.split_once("::").unwrap_or((directive, ""));
        let argument = argument.trim();
        match name.rsplit(' ').next().unwrap_or(name) {
            "code-block" | "code" | "sourcecode" | "parsed-literal" => {
                let block = self.indented();
                let block: Vec<&str> = block
                    .into_iter()
                    .skip_while(|line| is_setting(line.trim()) || line.trim().is_empty())
                    .collect();
                writer.code_block(number, Some(argument), block.join("\n"));
            }
            "image" | "figure" => {
                let block = self.indented();
                let setting = |name: &str| {
                    block.iter().find_map(|line| line.trim().strip_prefix(name)).map(str::trim)
                };
                let text = setting(":alt:").unwrap_or_default();
                writer.picture(number, text, argument);
                if let Some(target) = setting(":target:") {
                    writer.open_link(number, target);
                    writer.close_link();
                }
                writer.end_prose();
            }
            _ if directive.starts_with('_') => {
                if let Some((name, target)) = directive.trim_start_matches('_').split_once(": ") {
                    writer.open_link(number, target.trim());
                    writer.text(number, name.trim_matches('`'));
                    writer.prose.text.clear();
                    writer.end_prose();
                }
            }
            // Notes and warnings are prose; comments and settings are not shown.
            "note" | "warning" | "tip" | "important" | "attention" | "caution" | "hint"
            | "admonition" => running(writer, number, argument),
            _ => drop(self.indented()),
        }
    }
}

fn heading(writer: &mut OutlineWriter, number: u64, level: usize, text: &str) {
    writer.open_heading(u8::try_from(level).unwrap_or(u8::MAX), number);
    writer.text(number, &unmarked(text));
    writer.close_heading();
}

/// Parses a line of text: code, links and words. A blank line ends a paragraph.
fn running(writer: &mut OutlineWriter, number: u64, line: &str) {
    let text = line.trim();
    if text.is_empty() {
        writer.end_prose();
        return;
    }
    for (at, piece) in text.split("``").enumerate() {
        match at % 2 {
            1 => writer.code(number, piece),
            _ => words(writer, number, piece),
        }
    }
    writer.text(number, " ");
}

/// Parses words and URLs between pieces of code.
fn words(writer: &mut OutlineWriter, number: u64, text: &str) {
    writer.text(number, &unmarked(text));
    for (at, _) in text.match_indices("http") {
        let address = text.get(at..).unwrap_or_default();
        if !address.starts_with("http://") && !address.starts_with("https://") {
            continue;
        }
        let is_end = |c: char| c.is_whitespace() || "<>`[]\"".contains(c);
        let (target, after) = address
            .split_at_checked(address.find(is_end).unwrap_or(address.len()))
            .unwrap_or((address, ""));
        // Link text comes before the target (`text <target>`_) or after it (target[text], [[target][text]]).
        let after =
            after.trim_start_matches(']').strip_prefix('[').and_then(|rest| rest.split(']').next());
        let before = text.get(..at).and_then(|rest| rest.strip_suffix('<'));
        let before = before.and_then(|rest| rest.rsplit('`').next());
        let target = target.trim_end_matches(['.', ',', ')']).to_owned();
        let text = collapse(after.or(before).unwrap_or(&target));
        writer
            .prose
            .inner
            .push(OutlinePart { line: number, matter: OutlineContent::Link { text, target } });
    }
}

/// Strips the markup of links, substitutions and emphasis.
fn unmarked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        let bare = word.trim_end();
        let substitution = bare.len() > 2 && bare.starts_with('|') && bare.ends_with('|');
        let target = bare.starts_with('<') && bare.contains("://");
        if !substitution && !target {
            out.push_str(
                &word.replace("`__", "").replace("`_", "").replace("**", "").replace('`', ""),
            );
        }
    }
    out
}

/// Returns the character that fills a line.
fn underline(line: &str) -> Option<char> {
    let line = line.trim_end();
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    (line.len() >= 3 && line.chars().all(|c| c == mark)).then_some(mark)
}

/// Whether a line is a title with an underline below.
fn is_title(line: &str, below: &str) -> bool {
    let text = line.trim_end();
    !text.is_empty()
        && !text.starts_with([' ', '\t'])
        && underline(text).is_none()
        && below.trim_end().len() * 2 >= text.chars().count()
}

/// Whether a line of plain text is a heading in capitals.
fn is_capitals(line: &str) -> bool {
    let letters = line.chars().filter(|c| c.is_alphabetic());
    line.len() < 60 && letters.clone().count() > 3 && letters.into_iter().all(char::is_uppercase)
}

/// Whether a line is a setting: `:name: value`.
fn is_setting(line: &str) -> bool {
    line.strip_prefix(':').is_some_and(|rest| {
        rest.split_once(':').is_some_and(|(name, _)| !name.is_empty() && name.len() < 30)
    })
}

/// Returns the line that ends a block starting with this one.
fn fence(line: &str) -> Option<&str> {
    let line = line.trim_end();
    match line {
        "----" | "...." | "--" => Some(line),
        _ if line.starts_with("```") => Some("```"),
        _ => None,
    }
}
