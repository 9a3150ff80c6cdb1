//! A document as its reader sees it: sections with prose, code, links and images. Pure: no files, no judgment.

mod html;
mod lines;
mod markdown;

/// The sections of a document, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DocumentOutline {
    /// The first section is the text before the first heading.
    pub(super) sections: Vec<OutlineSection>,
}

/// The content below one heading, up to the next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OutlineSection {
    /// Level from 1, the outermost; 0 before the first heading.
    pub(super) level: u8,
    /// Text without markup.
    pub(super) heading: String,
    /// Line number from 1.
    pub(super) line: u64,
    pub(super) parts: Vec<OutlinePart>,
}

/// A part of a section.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OutlinePart {
    /// Line number from 1.
    pub(super) line: u64,
    pub(super) matter: OutlineContent,
}

/// Contents of a part.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OutlineContent {
    /// A paragraph, list item or table cell; its links follow as separate parts.
    Prose {
        text: String,
        /// Number of bytes of link text.
        linked: usize,
        /// Inline code.
        code: Vec<String>,
    },
    /// A code block.
    Code { language: Option<String>, text: String },
    /// A link and its text.
    Link { text: String, target: String },
    /// An image and its alt text.
    Picture { text: String, target: String },
}

impl DocumentOutline {
    /// Parses a document; the file extension decides the format.
    pub(super) fn read(name: &str, text: &str) -> Self {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        let mut writer = OutlineWriter::default();
        match ending.as_deref() {
            Some("rst" | "rest") => lines::restructured(text, &mut writer),
            Some("adoc" | "asciidoc" | "asc" | "rdoc") => lines::asciidoc(text, &mut writer),
            Some("org") => lines::org(text, &mut writer),
            Some("md" | "markdown" | "mdx" | "mkd" | "mdown" | "html" | "htm") => {
                markdown::read(text, &mut writer);
            }
            _ if is_markdown(text) => markdown::read(text, &mut writer),
            _ => lines::plain(text, &mut writer),
        }
        writer.finish()
    }

    /// Number of words in prose and headings.
    pub(super) fn words(&self) -> u64 {
        let words = self.sections.iter().map(|section| {
            let prose = section.parts.iter().map(|part| match &part.matter {
                OutlineContent::Prose { text, .. } => count_words(text),
                _ => 0,
            });
            count_words(&section.heading) + prose.sum::<u64>()
        });
        words.sum()
    }

    /// Returns the code blocks.
    pub(super) fn code_blocks(&self) -> u64 {
        let is_code = |part: &&OutlinePart| matches!(part.matter, OutlineContent::Code { .. });
        self.sections
            .iter()
            .map(|section| section.parts.iter().filter(is_code).count() as u64)
            .sum()
    }

    /// Returns the parts of a section and its subsections.
    pub(super) fn section_parts(&self, at: usize) -> impl Iterator<Item = &OutlinePart> {
        let level = self.sections.get(at).map_or(0, |section| section.level);
        let inner = self.sections.iter().skip(at + 1).take_while(move |inner| inner.level > level);
        self.sections.get(at).into_iter().chain(inner).flat_map(|section| &section.parts)
    }
}

/// Counts the words of a text; in scripts without spaces, two letters count as one word.
pub(super) fn count_words(text: &str) -> u64 {
    let spaced = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    let dense = text.chars().filter(|c| is_dense(*c)).count() as u64;
    spaced.count() as u64 + dense / 2
}

/// Whether a letter belongs to a script without spaces: Chinese and Japanese.
fn is_dense(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Whether a text without a known extension is Markdown.
fn is_markdown(text: &str) -> bool {
    text.lines()
        .any(|line| line.starts_with("# ") || line.starts_with("## ") || line.starts_with("```"))
}

/// Builds an outline from the events of a format's reader.
#[derive(Debug, Default)]
struct OutlineWriter {
    sections: Vec<OutlineSection>,
    heading: Option<OutlineSection>,
    prose: OpenParagraph,
    link: Option<(u64, String, String)>,
}

/// An open paragraph.
#[derive(Debug, Default)]
struct OpenParagraph {
    line: u64,
    text: String,
    linked: usize,
    code: Vec<String>,
    /// Links and images in it.
    inner: Vec<OutlinePart>,
}

impl OutlineWriter {
    fn open_heading(&mut self, level: u8, line: u64) {
        self.end_prose();
        self.heading = Some(OutlineSection { level, line, ..OutlineSection::default() });
    }

    fn close_heading(&mut self) {
        self.close_link();
        let Some(mut section) = self.heading.take() else { return };
        section.heading = collapse(&section.heading);
        let inner = std::mem::take(&mut self.prose.inner);
        if section.heading.is_empty() {
            let named = inner.iter().find_map(|part| match &part.matter {
                OutlineContent::Picture { text, .. } => Some(text.clone()),
                _ => None,
            });
            section.heading = named.unwrap_or_default();
        }
        section.parts = inner;
        self.sections.push(section);
    }

    fn text(&mut self, line: u64, text: &str) {
        if let Some((_, _, linked)) = &mut self.link {
            linked.push_str(text);
        }
        if let Some(heading) = &mut self.heading {
            heading.heading.push_str(text);
            return;
        }
        if self.prose.text.is_empty() {
            self.prose.line = line;
        }
        if self.link.is_some() {
            self.prose.linked += text.len();
        }
        self.prose.text.push_str(text);
    }

    fn code(&mut self, line: u64, text: &str) {
        self.text(line, text);
        if self.heading.is_none() {
            self.prose.code.push(text.to_owned());
            if is_document(text) {
                let matter =
                    OutlineContent::Link { text: text.to_owned(), target: text.to_owned() };
                self.prose.inner.push(OutlinePart { line, matter });
            }
        }
    }

    fn open_link(&mut self, line: u64, target: &str) {
        self.close_link();
        self.link = Some((line, target.to_owned(), String::new()));
    }

    fn close_link(&mut self) {
        if let Some((line, target, text)) = self.link.take() {
            let matter = OutlineContent::Link { text: collapse(&text), target };
            self.prose.inner.push(OutlinePart { line, matter });
        }
    }

    fn picture(&mut self, line: u64, text: &str, target: &str) {
        let matter = OutlineContent::Picture { text: collapse(text), target: target.to_owned() };
        self.prose.inner.push(OutlinePart { line, matter });
    }

    fn code_block(&mut self, line: u64, language: Option<&str>, text: String) {
        self.end_prose();
        let word = |language: &str| {
            let end = |c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}');
            language.trim_start_matches(['{', '.']).split(end).next().unwrap_or_default().to_owned()
        };
        let language = language.map(word).filter(|language| !language.is_empty());
        self.part(OutlinePart { line, matter: OutlineContent::Code { language, text } });
    }

    /// Ends a paragraph, list item or cell.
    fn end_prose(&mut self) {
        self.close_link();
        if self.heading.is_some() {
            return;
        }
        let OpenParagraph { line, text, linked, code, inner } = std::mem::take(&mut self.prose);
        let text = collapse(&text);
        if !text.is_empty() {
            self.part(OutlinePart { line, matter: OutlineContent::Prose { text, linked, code } });
        }
        for part in inner {
            self.part(part);
        }
    }

    fn part(&mut self, part: OutlinePart) {
        if self.sections.is_empty() {
            self.sections.push(OutlineSection { line: 1, ..OutlineSection::default() });
        }
        if let Some(section) = self.sections.last_mut() {
            section.parts.push(part);
        }
    }

    fn finish(mut self) -> DocumentOutline {
        self.close_heading();
        self.end_prose();
        DocumentOutline { sections: self.sections }
    }
}

/// Whether inline code is a document path, which guides readers like a link.
fn is_document(code: &str) -> bool {
    let endings = [".md", ".rst", ".txt", ".adoc", ".html"];
    let path = code.contains('/') && !code.contains([' ', '<', '*', '(']);
    path && (code.starts_with("docs/") || endings.iter().any(|ending| code.ends_with(ending)))
}

/// Collapses spaces and trims the ends.
fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
