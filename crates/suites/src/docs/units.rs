//! Documents as units of the index: one for each section.

use super::ingest::Format;
use docent_index::{Span, Unit};
use std::collections::HashSet;

/// Words of a piece.
const PIECE_WORDS: usize = 200;

/// The sections of a document; `None` where no format is known by the ending of its name.
pub fn prose_units(path: &str, bytes: &[u8]) -> Option<Vec<Unit>> {
    let document = Format::of(path)?.read(path, bytes);
    let mut taken = HashSet::new();
    let mut units = Vec::new();
    for section in document.sections {
        let name = section.anchor.clone().unwrap_or_else(|| slug(section.heading()));
        let signature = section.path.join(" > ");
        for body in pieces(&section.text) {
            units.push(Unit {
                id: distinct(&mut taken, &name),
                kind: "section".into(),
                language: String::new(),
                name: document.title.clone(),
                signature: signature.clone(),
                doc: String::new(),
                body,
                span: Span::default(),
                extra: String::new(),
            });
        }
    }
    Some(units)
}

/// A long section in pieces of whole paragraphs: one vector can't stand for a thousand words.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = vec![String::new()];
    let mut words = 0;
    for paragraph in text.split("\n\n") {
        let count = paragraph.split_whitespace().count();
        if words > 0 && words + count > PIECE_WORDS {
            pieces.push(String::new());
            words = 0;
        }
        let Some(piece) = pieces.last_mut() else { continue };
        if !piece.is_empty() {
            piece.push_str("\n\n");
        }
        piece.push_str(paragraph);
        words += count;
    }
    pieces
}

/// A name for what has no anchor.
fn slug(heading: Option<&str>) -> String {
    let heading = heading.unwrap_or("top").to_lowercase();
    let words = heading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The name itself, or the first of `name-2`, `name-3`, … that is free.
fn distinct(taken: &mut HashSet<String>, name: &str) -> String {
    let mut id = name.to_owned();
    let mut times = 1;
    while !taken.insert(id.clone()) {
        times += 1;
        id = format!("{name}-{times}");
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_section_is_a_unit() {
        let text = b"Before.\n\n# Guide\n\nFirst.\n\n## Set up\n\nSecond.\n\n## Set up\n\nThird.\n";
        let units = prose_units("docs/guide.md", text).unwrap();
        let shown: Vec<[&str; 4]> = units
            .iter()
            .map(|one| [&one.id, &one.name, &one.signature, &one.body].map(String::as_str))
            .collect();
        let want = [
            ["top", "Guide", "", "Before."],
            ["guide", "Guide", "Guide", "First."],
            ["set-up", "Guide", "Guide > Set up", "Second."],
            ["set-up-2", "Guide", "Guide > Set up", "Third."],
        ];
        assert_eq!(shown, want);
        assert!(units.iter().all(|one| one.kind == "section" && one.language.is_empty()));
        assert_eq!(prose_units("a.png", b""), None);
        assert_eq!(prose_units("a.txt", b""), Some(Vec::new()));
    }

    #[test]
    fn a_long_section_comes_in_pieces_of_whole_paragraphs() {
        let paragraph = |word: &str| format!("{word} ").repeat(90).trim_end().to_owned();
        let all = ["one", "two", "three", "four", "five"].map(paragraph);
        let text = format!("# Long\n\n{}\n", all.join("\n\n"));
        let units = prose_units("long.md", text.as_bytes()).unwrap();
        let ids: Vec<&str> = units.iter().map(|one| one.id.as_str()).collect();
        assert_eq!(ids, ["long", "long-2", "long-3"]);
        let bodies: Vec<&str> = units.iter().map(|one| one.body.as_str()).collect();
        assert_eq!(bodies.join("\n\n"), all.join("\n\n"));
        assert_eq!(pieces(&"word ".repeat(900)).len(), 1);
        assert_eq!(pieces(""), [""]);
    }

    #[test]
    fn ids_are_distinct() {
        let mut taken = HashSet::new();
        let ids = ["a", "a", "a-2", "a"].map(|name| distinct(&mut taken, name));
        assert_eq!(ids, ["a", "a-2", "a-2-2", "a-3"]);
    }
}
