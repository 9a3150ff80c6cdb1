//! Invariants of every document, whatever its format.

use docent_prose::{DocumentSection, LinkedText, ProseDocument, ProseFormat, chunks};

/// The maximum size of a chunk, in bytes: words are counted, and a long word counts by its length.
const LONGEST_CHUNK: usize = 128 << 10;
/// The number of sections looked up by anchor.
const LOOKED_UP: usize = 20;

/// Reads a document, checks it and returns it if there is one.
pub fn read(format: ProseFormat, path: &str, bytes: &[u8]) -> Option<ProseDocument> {
    match format.read(path, bytes) {
        Ok(document) => {
            hold(&document);
            Some(document)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fn hold(document: &ProseDocument) {
    for (at, section) in document.sections.iter().enumerate() {
        assert!(at == 0 || section.heading().is_some(), "section {at} has no heading");
        assert!(section.path.len() <= 6, "{:?}", section.path);
        assert!(
            section.level <= 6 && (section.level == 0) == section.path.is_empty(),
            "level {}",
            section.level
        );
        section.blocks.iter().for_each(|block| links_hold(&block.text));
    }
    // A lookup scans all sections.
    document.sections.iter().take(LOOKED_UP).for_each(|section| found(document, section));
    let mut before = None;
    for chunk in chunks(document) {
        assert!(chunk.text.len() <= LONGEST_CHUNK, "a chunk of {} bytes", chunk.text.len());
        let next = match before {
            Some((section, part)) if section == chunk.section => (section, part + 1),
            Some((section, _)) => (section + 1, 0),
            None => (0, 0),
        };
        assert_eq!((chunk.section, chunk.part), next);
        before = Some(next);
    }
    assert_eq!(before.map_or(0, |(section, _)| section + 1), document.sections.len());
    document.markdown(&|target| Some(target.to_owned()));
    document.markdown(&|_| None);
}

fn links_hold(text: &LinkedText) {
    let mut from = 0;
    for link in &text.links {
        assert!(from <= link.label.start, "{:?} of {:?}", text.links, text.plain);
        let label = text.plain.get(link.label.clone());
        assert!(
            label.is_some_and(|label| !label.is_empty()),
            "{:?} of {:?}",
            text.links,
            text.plain
        );
        from = link.label.end;
    }
}

/// Checks that links to sections resolve. Names are trimmed and lose their `#` before the lookup.
fn found(document: &ProseDocument, section: &DocumentSection) {
    let Some(anchor) = &section.anchor else { return };
    if section.level == 0 || anchor.is_empty() || anchor.trim() != anchor || anchor.starts_with('#')
    {
        return;
    }
    let range = document.section(anchor).unwrap_or_else(|| panic!("{anchor:?} is not found"));
    assert!(!range.is_empty() && range.end <= document.sections.len());
}
