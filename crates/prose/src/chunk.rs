//! Splits documents into chunks that are short enough to be found and read as one hit.

use crate::document::{BlockKind, DocumentBlock, DocumentSection, ProseDocument};

/// Target words of a chunk: one embedding cannot represent a thousand.
const TARGET_CHUNK_WORDS: usize = 200;
/// Maximum words of an unsplit code block or table; longer ones are split between lines.
const MAX_BLOCK_WORDS: usize = 1500;
/// Bytes without spaces that count as one more word.
const BYTES_PER_EXTRA_WORD: usize = 40;
/// Maximum subsections listed for a section without text.
const MAX_NAMED_SUBSECTIONS: usize = 40;

/// A chunk of one section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Index of its section.
    pub section: usize,
    /// Its index within the section, from 0.
    pub part: usize,
    /// The page that it begins on, for paged formats.
    pub page: Option<u32>,
    /// Its text, as Markdown without links.
    pub text: String,
}

/// The chunks of a document, in order. Every section has at least one.
pub fn chunks(document: &ProseDocument) -> Vec<Chunk> {
    let mut all = Vec::new();
    for (section, what) in document.sections.iter().enumerate() {
        let pieces = if what.blocks.iter().all(is_contents) {
            vec![(what.page, contents(&document.sections, section))]
        } else {
            pieces(what)
        };
        let numbered = pieces.into_iter().enumerate();
        all.extend(numbered.map(|(part, (page, text))| Chunk { section, part, page, text }));
    }
    all
}

/// Whether a block is a table of contents, which repeats headings of other documents.
fn is_contents(block: &DocumentBlock) -> bool {
    block.kind == BlockKind::Contents
}

/// The text for a section without its own: the headings directly below it.
fn contents(sections: &[DocumentSection], at: usize) -> String {
    let level = sections[at].level;
    let below: Vec<&DocumentSection> =
        sections[at + 1..].iter().take_while(|section| section.level > level).collect();
    let nearest = below.iter().map(|section| section.level).min();
    let named =
        below.iter().filter(|section| Some(section.level) == nearest).take(MAX_NAMED_SUBSECTIONS);
    let lines: Vec<String> =
        named.filter_map(|section| Some(format!("- {}", section.heading()?))).collect();
    lines.join("\n")
}

/// Groups blocks until a chunk is full.
fn pieces(section: &DocumentSection) -> Vec<(Option<u32>, String)> {
    let mut pieces: Vec<(Option<u32>, String)> = Vec::new();
    let mut words = 0;
    for (page, text) in merge_blocks(&section.blocks) {
        let more = count(&text);
        match pieces.last_mut() {
            Some((_, piece)) if words + more <= TARGET_CHUNK_WORDS => {
                piece.push_str("\n\n");
                piece.push_str(&text);
                words += more;
            }
            _ => {
                pieces.push((page, text));
                words = more;
            }
        }
    }
    pieces
}

/// Units that must not be split: a block with its lead-in sentence.
fn merge_blocks(blocks: &[DocumentBlock]) -> Vec<(Option<u32>, String)> {
    let mut all: Vec<(Option<u32>, String)> = Vec::new();
    let mut led_in = false;
    for block in blocks.iter().filter(|block| !is_contents(block)) {
        for (n, text) in split_block(block).into_iter().enumerate() {
            match all.last_mut() {
                Some((_, before)) if led_in && n == 0 && block.kind != BlockKind::Paragraph => {
                    before.push_str("\n\n");
                    before.push_str(&text);
                }
                _ => all.push((block.page, text)),
            }
        }
        led_in = block.kind == BlockKind::Paragraph
            && block.text.plain.ends_with(':')
            && count(&block.text.plain) <= TARGET_CHUNK_WORDS;
    }
    all
}

/// Splits a block that is far too long into parts that are readable on their own.
fn split_block(block: &DocumentBlock) -> Vec<String> {
    let text = &block.text.plain;
    if count(text) <= MAX_BLOCK_WORDS {
        return vec![text.clone()];
    }
    let lines: Vec<&str> = text.lines().collect();
    let (head, body, tail) = match block.kind {
        BlockKind::Code if lines.len() > 2 => {
            (&lines[..1], &lines[1..lines.len() - 1], &lines[lines.len() - 1..])
        }
        BlockKind::Table if lines.len() > 2 => (&lines[..2], &lines[2..], &lines[..0]),
        _ => (&lines[..0], &lines[..], &lines[..0]),
    };
    // Every part repeats them, so that long ones would grow with the square of the block.
    let repeated: usize = head.iter().chain(tail).map(|line| count(line)).sum();
    let (head, body, tail) = if repeated <= TARGET_CHUNK_WORDS {
        (head, body, tail)
    } else {
        (&lines[..0], &lines[..], &lines[..0])
    };
    let mut parts = Vec::new();
    let mut part: Vec<String> = Vec::new();
    let mut words = 0;
    let mut end = |part: &mut Vec<String>| {
        let own = part.iter().map(String::as_str);
        let all: Vec<&str> = head.iter().copied().chain(own).chain(tail.iter().copied()).collect();
        parts.push(all.join("\n"));
        part.clear();
    };
    for line in body.iter().flat_map(|line| lengths(line)) {
        // Blank lines have no words, but a length.
        let more = count(&line).max(1);
        if !part.is_empty() && words + more > MAX_BLOCK_WORDS {
            end(&mut part);
            words = 0;
        }
        words += more;
        part.push(line);
    }
    if !part.is_empty() {
        end(&mut part);
    }
    parts
}

/// Splits a line that is far too long between words, or within an overlong word.
fn lengths(line: &str) -> Vec<String> {
    if count(line) <= MAX_BLOCK_WORDS {
        return vec![line.to_owned()];
    }
    let mut parts: Vec<String> = Vec::new();
    let mut words = 0;
    for word in line.split_whitespace().flat_map(split_word) {
        let more = count(word);
        match parts.last_mut() {
            Some(part) if words + more <= MAX_BLOCK_WORDS => {
                part.push(' ');
                part.push_str(word);
                words += more;
            }
            _ => {
                parts.push(word.to_owned());
                words = more;
            }
        }
    }
    parts
}

/// Splits a run without spaces into pieces that each fill a part.
fn split_word(mut word: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while word.len() > MAX_BLOCK_WORDS * BYTES_PER_EXTRA_WORD {
        let (piece, rest) =
            word.split_at(word.floor_char_boundary(MAX_BLOCK_WORDS * BYTES_PER_EXTRA_WORD));
        pieces.push(piece);
        word = rest;
    }
    pieces.push(word);
    pieces
}

/// Counts words; long runs without spaces count by their length, as do long runs of spaces.
fn count(text: &str) -> usize {
    let words: usize =
        text.split_whitespace().map(|word| 1 + word.len() / BYTES_PER_EXTRA_WORD).sum();
    words.max(text.len() / BYTES_PER_EXTRA_WORD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::DocumentWriter;

    fn words(word: &str, count: usize) -> String {
        vec![word; count].join(" ")
    }

    fn texts(document: &ProseDocument) -> Vec<String> {
        chunks(document).into_iter().map(|chunk| chunk.text).collect()
    }

    #[test]
    fn paragraphs_are_put_together_until_a_piece_is_full() {
        let mut writer = DocumentWriter::default();
        writer.heading(1, "T", None);
        for (page, word) in (1..).zip(["a", "b", "c"]) {
            writer.page(page);
            writer.plain(BlockKind::Paragraph, words(word, 90));
        }
        let all = chunks(&writer.finish(None, "f"));
        let [a, b, c] = ["a", "b", "c"].map(|word| words(word, 90));
        let want = [
            Chunk { section: 0, part: 0, page: Some(1), text: format!("{a}\n\n{b}") },
            Chunk { section: 0, part: 1, page: Some(3), text: c },
        ];
        assert_eq!(all, want);
    }

    #[test]
    fn code_tables_and_lists_stay_with_what_leads_in_to_them() {
        for kind in [BlockKind::Code, BlockKind::Table, BlockKind::List] {
            let mut writer = DocumentWriter::default();
            writer.plain(BlockKind::Paragraph, words("x", 190));
            writer.plain(BlockKind::Paragraph, "Choose one of these:");
            writer.plain(kind, words("y", 400));
            writer.plain(BlockKind::Paragraph, "After.");
            let got = texts(&writer.finish(None, "f"));
            let want = [
                words("x", 190),
                format!("Choose one of these:\n\n{}", words("y", 400)),
                "After.".into(),
            ];
            assert_eq!(got, want, "{kind:?}");
        }
    }

    #[test]
    fn a_block_without_end_is_parted_between_lines() {
        let rows: Vec<String> = (0..2000).map(|n| format!("| {n} | x |")).collect();
        let mut writer = DocumentWriter::default();
        writer.plain(BlockKind::Table, format!("| n | what |\n| --- | --- |\n{}", rows.join("\n")));
        writer.code("sh", &vec!["one two three"; 1000].join("\n"));
        writer.plain(BlockKind::Paragraph, words("p", 4000));
        let got = texts(&writer.finish(None, "f"));
        assert!(got.len() > 6, "{}", got.len());
        assert!(got.iter().all(|text| count(text) <= MAX_BLOCK_WORDS + 10));
        for table in got.iter().filter(|text| text.starts_with('|')) {
            assert!(table.starts_with("| n | what |\n| --- | --- |\n| "), "{table}");
        }
        for code in got.iter().filter(|text| text.starts_with('`')) {
            assert!(code.starts_with("```sh\none") && code.ends_with("three\n```"), "{code}");
        }
        let numbers = got.iter().flat_map(|text| text.lines()).filter(|line| line.ends_with("x |"));
        assert_eq!(numbers.count(), 2000);
    }

    #[test]
    fn nothing_makes_a_piece_without_end() {
        let head = words("h", 5000);
        let table = format!("| {head} |\n| --- |\n{}", vec!["| x |"; 5000].join("\n"));
        let cases = [
            (BlockKind::Paragraph, "語".repeat(100_000)),
            (BlockKind::Paragraph, words(&"w".repeat(1000), 500)),
            (BlockKind::Code, format!("```\na{}b\n```", "\n".repeat(300_000))),
            (BlockKind::Code, format!("```\na{}b\n```", " ".repeat(300_000))),
            (BlockKind::Table, table),
        ];
        for (kind, text) in cases {
            let letters = |text: &str| text.split_whitespace().map(str::len).sum::<usize>();
            let all = letters(&text);
            let mut writer = DocumentWriter::default();
            writer.plain(kind, text);
            let got = texts(&writer.finish(None, "f"));
            let longest = got.iter().map(String::len).max();
            assert!(
                longest <= Some((MAX_BLOCK_WORDS + TARGET_CHUNK_WORDS) * BYTES_PER_EXTRA_WORD),
                "{kind:?}: {longest:?}"
            );
            let kept: usize = got.iter().map(|text| letters(text)).sum();
            assert!((all..all + 2000).contains(&kept), "{kind:?}: {all} and {kept}");
        }
    }

    #[test]
    fn tables_of_contents_are_not_searched() {
        let mut writer = DocumentWriter::default();
        writer.heading(1, "Chapter", None);
        writer.plain(BlockKind::Contents, "- 1.1. Elsewhere");
        writer.plain(BlockKind::Paragraph, "text");
        writer.heading(1, "Book", None);
        writer.plain(BlockKind::Contents, "- 1. Chapter");
        let document = writer.finish(None, "f");
        assert_eq!(texts(&document), ["text", ""]);
        assert!(document.markdown(&|_| None).contains("- 1.1. Elsewhere\n\ntext"));
    }

    #[test]
    fn a_section_without_text_names_those_below() {
        let mut writer = DocumentWriter::default();
        writer.heading(1, "Top", None);
        writer.heading(2, "A", None);
        writer.heading(3, "Deep", None);
        writer.plain(BlockKind::Paragraph, "text");
        writer.heading(2, "B", None);
        assert_eq!(texts(&writer.finish(None, "f")), ["- A\n- B", "- Deep", "text", ""]);
    }
}
