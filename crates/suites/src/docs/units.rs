//! Converts documents into units of the index, one per chunk.

use docent_index::{IndexUnit, LineSpan};
use docent_prose::{ProseDocument, ProseFormat, Unreadable, chunks};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

/// Time limit for reading a document; a slower one is listed as a problem.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Metadata stored with a unit of a document.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct DocumentUnitMetadata {
    /// Headings from the outermost down to its section.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) path: Vec<String>,
    /// Anchor of its section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) anchor: Option<String>,
    /// Page on which it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) page: Option<u32>,
    /// Version that its document describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// Previous section, by anchor or headings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
    /// Next section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl DocumentUnitMetadata {
    /// Parses the metadata of a unit; empty if it has none.
    pub(crate) fn from_unit(unit: &IndexUnit) -> Self {
        serde_json::from_str(&unit.extra).unwrap_or_default()
    }
}

/// Reads a document for the index. No call waits for it, so the time limit is generous.
pub(crate) fn read_with_timeout(
    format: ProseFormat,
    path: &str,
    bytes: &[u8],
) -> Result<ProseDocument, Unreadable> {
    let start = Instant::now();
    format.read_until(path, bytes, &|| start.elapsed() > READ_TIMEOUT)
}

/// The chunks of a document; `None` if its name has no known format.
pub fn prose_units(path: &str, bytes: &[u8]) -> Option<Result<Vec<IndexUnit>, Unreadable>> {
    let read = read_with_timeout(ProseFormat::from_path(path)?, path, bytes);
    Some(read.map(|document| units(&document, None)))
}

/// The chunks of a document that describes a version.
pub(crate) fn units(document: &ProseDocument, version: Option<&str>) -> Vec<IndexUnit> {
    // An index page or a redirect would match queries without answering them.
    if document.is_boilerplate {
        return Vec::new();
    }
    let mut names = UnitNames::default();
    let version = version.or(document.version.as_deref());
    let name = |n: usize| {
        let section = document.sections.get(n)?;
        section.anchor.clone().or_else(|| section.heading().map(|_| section.path.join(" > ")))
    };
    let each = chunks(document).into_iter().filter_map(|chunk| {
        let section = document.sections.get(chunk.section)?;
        let own = section.anchor.clone().unwrap_or_else(|| slug(section.heading()));
        let extra = DocumentUnitMetadata {
            path: section.path.clone(),
            anchor: section.anchor.clone(),
            page: chunk.page,
            version: version.map(str::to_owned),
            previous: chunk.section.checked_sub(1).and_then(name),
            next: name(chunk.section + 1),
        };
        Some(IndexUnit {
            id: names.distinct(&own),
            kind: "section".into(),
            language: String::new(),
            name: document.title.clone(),
            signature: section.path.join(" > "),
            doc: String::new(),
            body: chunk.text,
            span: LineSpan::default(),
            extra: serde_json::to_string(&extra).unwrap_or_default(),
        })
    });
    each.collect()
}

/// A name for a section without an anchor.
fn slug(heading: Option<&str>) -> String {
    let heading = heading.unwrap_or("top").to_lowercase();
    let words = heading.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// Unit names used so far in a document.
#[derive(Debug, Default)]
struct UnitNames {
    used: HashSet<String>,
    /// Last number used per name: a document may have a hundred thousand sections with one name.
    numbers: HashMap<String, usize>,
    /// Number of names tried.
    #[cfg(test)]
    tried: usize,
}

impl UnitNames {
    /// Returns the name, or the first unused of `name-2`, `name-3`, ….
    fn distinct(&mut self, name: &str) -> String {
        let number = self.numbers.entry(name.to_owned()).or_insert(0);
        loop {
            *number += 1;
            let id = if *number == 1 { name.to_owned() } else { format!("{name}-{number}") };
            #[cfg(test)]
            {
                self.tried += 1;
            }
            if self.used.insert(id.clone()) {
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_one_name_are_numbered_in_linear_time() {
        let mut names = UnitNames::default();
        let given: Vec<String> =
            ["s", "s-2", "s", "s", "t"].iter().map(|name| names.distinct(name)).collect();
        assert_eq!(given, ["s", "s-2", "s-3", "s-4", "t"]);
        let mut names = UnitNames::default();
        for _ in 0..20_000 {
            names.distinct("s");
        }
        assert_eq!(names.tried, 20_000);
    }

    #[test]
    fn each_chunk_is_a_unit() {
        let text =
            b"Before.\n\n# Guide {#g}\n\nFirst.\n\n## Set up\n\nSecond.\n\n## Set up\n\nThird.\n";
        let units = prose_units("docs/guide.md", text).unwrap().unwrap();
        let shown: Vec<[&str; 3]> = units
            .iter()
            .map(|one| [&one.name, &one.signature, &one.body].map(String::as_str))
            .collect();
        let want = [
            ["Guide", "", "Before."],
            ["Guide", "Guide", "First."],
            ["Guide", "Guide > Set up", "Second."],
            ["Guide", "Guide > Set up", "Third."],
        ];
        assert_eq!(shown, want);
        assert!(units.iter().all(|one| one.kind == "section" && one.language.is_empty()));
        let extra = DocumentUnitMetadata::from_unit(&units[1]);
        assert_eq!(extra.anchor.as_deref(), Some("g"));
        assert_eq!(extra.previous, None, "what has no heading has no name");
        assert!(extra.next.is_some());
        assert_eq!(DocumentUnitMetadata::from_unit(&units[2]).previous.as_deref(), Some("g"));
        assert!(prose_units("a.png", b"").is_none());
        assert_eq!(prose_units("a.txt", b""), Some(Err(Unreadable::Empty)));
    }

    #[test]
    fn the_collection_s_version_comes_before_the_document_s() {
        let document = ProseDocument { version: Some("15".into()), ..ProseDocument::default() };
        assert!(units(&document, Some("16")).is_empty());
        let mut document = ProseFormat::Plain.read("a.txt", b"x").unwrap();
        document.version = Some("15".into());
        let version = |given| DocumentUnitMetadata::from_unit(&units(&document, given)[0]).version;
        assert_eq!(version(Some("16")).as_deref(), Some("16"));
        assert_eq!(version(None).as_deref(), Some("15"));
    }

    #[test]
    fn ids_are_distinct() {
        let mut names = UnitNames::default();
        let ids = ["a", "a", "a-2", "a"].map(|name| names.distinct(name));
        assert_eq!(ids, ["a", "a-2", "a-2-2", "a-3"]);
    }
}
