//! Writes a document or a part of it as Markdown of bounded length, cut between blocks.

use docent_prose::{BlockKind, DocumentSection, ProseDocument};
use std::cell::Cell;

/// The Markdown written so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BoundedMarkdown {
    pub(crate) text: String,
    /// Length of the whole text in characters.
    pub(crate) characters: usize,
    pub(crate) is_cut: bool,
    /// Start of trailing headings without text.
    bare: Option<usize>,
}

/// Writes sections, up to a number of characters.
///
/// A link of a few bytes may have a URL of thousands. Once the URLs alone exceed the limit, the text is cut before the
/// next link, and further links are only counted.
pub(crate) fn write(
    sections: &[DocumentSection],
    resolve: &dyn Fn(&str) -> Option<String>,
    most: usize,
) -> BoundedMarkdown {
    let (spent, unwritten) = (Cell::new(0_usize), Cell::new(0_usize));
    let resolve = |target: &str| {
        let address = resolve(target)?;
        let length = address.chars().count();
        if spent.get() > most {
            unwritten.set(unwritten.get() + "[]()".len() + length);
            return None;
        }
        spent.set(spent.get() + length);
        Some(address)
    };
    let mut written =
        BoundedMarkdown { text: String::new(), characters: 0, is_cut: false, bare: None };
    for section in sections {
        if let Some(heading) = section.heading() {
            let marks = "#".repeat(section.level.clamp(1, 6).into());
            written.add(&format!("{marks} {heading}"), None, most);
        }
        for block in &section.blocks {
            let text = block.text.to_markdown(&resolve);
            match block.kind {
                BlockKind::Quote => written.add(&quote(&text), Some(block.kind), most),
                _ => written.add(&text, Some(block.kind), most),
            }
        }
    }
    written.characters += unwritten.get();
    written
}

/// Length of a section as Markdown, in characters.
pub(crate) fn length(section: &DocumentSection) -> usize {
    let blocks = section.blocks.iter().map(|block| block.text.plain.chars().count() + 2);
    section.heading().map_or(0, |heading| heading.chars().count() + 3) + blocks.sum::<usize>()
}

/// Length of the text without headings, in characters.
pub(crate) fn text_length(document: &ProseDocument) -> usize {
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    blocks.map(|block| block.text.plain.trim().chars().count()).sum()
}

fn quote(text: &str) -> String {
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

impl BoundedMarkdown {
    fn add(&mut self, block: &str, kind: Option<BlockKind>, most: usize) {
        let gap = if self.characters == 0 { 0 } else { 2 };
        let length = block.chars().count() + gap;
        let room = most.saturating_sub(self.characters);
        self.characters += length;
        if self.is_cut {
            return;
        }
        let before = self.text.len();
        if length <= room {
            if gap > 0 {
                self.text.push_str("\n\n");
            }
            self.text.push_str(block);
            self.bare = if kind.is_none() { Some(self.bare.unwrap_or(before)) } else { None };
            return;
        }
        self.is_cut = true;
        match self.bare {
            // Drop a heading without its text.
            Some(at) if at > 0 => self.text.truncate(at),
            None if before > 0 => {}
            // A single oversized block is cut inside, rather than dropped.
            _ => self.cut(block, kind, room.saturating_sub(gap)),
        }
    }

    fn cut(&mut self, block: &str, kind: Option<BlockKind>, room: usize) {
        let ticks =
            block.chars().take_while(|c| *c == '`' && kind == Some(BlockKind::Code)).count();
        // The closing code fence counts too.
        let closing = if ticks == 0 { 0 } else { ticks + 1 };
        let room = room.saturating_sub(closing);
        if room <= ticks {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.extend(block.chars().take(room));
        if ticks > 0 {
            let end = self.text.trim_end().len();
            self.text.truncate(end);
            self.text.push('\n');
            self.text.push_str(&"`".repeat(ticks));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_prose::{DocumentWriter, LinkedText};

    fn document() -> ProseDocument {
        let mut writer = DocumentWriter::default();
        writer.heading(1, "Top", None);
        writer.plain(BlockKind::Paragraph, "Größe one.");
        writer.plain(BlockKind::Quote, "said\nso");
        writer.code("rs", "fn a() {}");
        writer.finish(None, "f")
    }

    #[test]
    fn sections_are_written_in_whole_blocks() {
        let document = document();
        let whole = "# Top\n\nGröße one.\n\n> said\n> so\n\n```rs\nfn a() {}\n```";
        let characters = whole.chars().count();
        for (most, want) in [
            (characters, whole),
            (characters - 1, "# Top\n\nGröße one.\n\n> said\n> so"),
            (17, "# Top\n\nGröße one."),
            (16, "# Top\n\nGröße one"),
            (7, "# Top"),
            (3, "# T"),
        ] {
            let got = write(&document.sections, &|_| None, most);
            assert_eq!((got.text.as_str(), got.characters), (want, characters), "{most}");
            assert_eq!(got.is_cut, most < characters, "{most}");
        }
    }

    #[test]
    fn links_beyond_the_cut_are_counted() {
        let mut writer = DocumentWriter::default();
        for kind in [BlockKind::Paragraph, BlockKind::Quote] {
            let mut text = LinkedText::new("see ");
            for _ in 0..3 {
                text.link("a", "x");
                text.plain.push(' ');
            }
            writer.block(kind, text);
        }
        let sections = writer.finish(None, "f").sections;
        let link = "[a](https://a.test/far/away)";
        let whole = format!("see {link} {link} {link}\n\n> see {link} {link} {link}");
        let resolve = |_: &str| Some("https://a.test/far/away".to_owned());
        for most in 0..whole.len() {
            let got = write(&sections, &resolve, most);
            assert!(got.is_cut && whole.starts_with(&got.text), "{most}: {}", got.text);
            assert_eq!(got.characters, whole.len(), "{most}");
        }
        assert!(!write(&sections, &resolve, whole.len()).is_cut);
    }

    #[test]
    fn a_cut_leaves_no_heading_without_its_text() {
        let mut writer = DocumentWriter::default();
        writer.plain(BlockKind::Paragraph, "one");
        writer.heading(1, "A", None);
        writer.heading(2, "B", None);
        writer.plain(BlockKind::Paragraph, "two");
        let sections = writer.finish(None, "f").sections;
        for (most, want) in [(18, "one"), (19, "one\n\n# A\n\n## B\n\ntwo")] {
            assert_eq!(write(&sections, &|_| None, most).text, want, "{most}");
        }
    }

    #[test]
    fn code_that_is_cut_ends_its_fence() {
        let mut writer = DocumentWriter::default();
        writer.code("", &"x\n".repeat(100));
        let sections = writer.finish(None, "f").sections;
        for (most, want) in [(13, "```\nx\nx\nx\n```"), (10, "```\nx\n```"), (7, "")] {
            let got = write(&sections, &|_| None, most);
            assert_eq!(got.text, want, "{most}");
            assert!(got.is_cut && got.text.chars().count() <= most, "{most}");
        }
    }
}
