//! In-memory search over a few hundred short texts, by words and vectors, without a store.

use crate::{
    Genre, IndexUnit,
    analysis::terms,
    embed::{Embedder, EmbeddingInput, Vector},
};
use std::{collections::HashMap, sync::Arc};

/// Weight of a name relative to a description.
const NAME_WEIGHT: f32 = 3.0;
/// Weight of the vector similarity.
const VECTOR_WEIGHT: f32 = 0.5;
/// BM25 parameters.
const TERM_SATURATION: f32 = 1.2;
const LENGTH_NORMALIZATION: f32 = 0.5;

/// A searchable text.
#[derive(Debug, Clone, Default)]
pub struct ShortlistItem {
    /// Name.
    pub name: String,
    /// Description.
    pub text: String,
}

/// The searchable texts.
#[derive(Debug)]
pub struct Shortlist {
    embedder: Arc<dyn Embedder>,
    rows: Vec<ShortlistRow>,
    spread: HashMap<Box<str>, f32>,
    average: f32,
}

#[derive(Debug)]
struct ShortlistRow {
    counts: HashMap<Box<str>, f32>,
    length: f32,
    vector: Option<Vector>,
}

impl Shortlist {
    /// Indexes the texts.
    pub fn new(embedder: Arc<dyn Embedder>, items: &[ShortlistItem]) -> Self {
        let units: Vec<IndexUnit> = items
            .iter()
            .map(|item| IndexUnit {
                name: item.name.clone(),
                doc: item.text.clone(),
                body: item.text.clone(),
                ..IndexUnit::default()
            })
            .collect();
        let documents: Vec<EmbeddingInput<'_>> = units
            .iter()
            .map(|unit| EmbeddingInput { unit, path: "", genre: Genre::Prose })
            .collect();
        // Without vectors, search by words only.
        let vectors = embedder.documents(&documents).unwrap_or_default();
        let mut vectors = vectors.into_iter();
        let rows: Vec<ShortlistRow> = items.iter().map(|item| row(item, vectors.next())).collect();
        let mut spread = HashMap::new();
        for row in &rows {
            for term in row.counts.keys() {
                *spread.entry(term.clone()).or_insert(0.0) += 1.0;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "few rows")]
        let average = rows.iter().map(|row| row.length).sum::<f32>() / rows.len().max(1) as f32;
        Self { embedder, rows, spread, average }
    }

    /// Indexes of the best matching texts, with scores, best first. Omits texts without a match.
    pub fn search(&self, question: &str, most: usize) -> Vec<(usize, f32)> {
        let mut wanted: Vec<Box<str>> = Vec::new();
        terms(question, |term, _| {
            if !wanted.iter().any(|known| **known == *term) {
                wanted.push(term.into());
            }
        });
        let vector = self.embedder.query(question).ok();
        let mut found: Vec<(usize, f32)> = self
            .rows
            .iter()
            .enumerate()
            .map(|(place, row)| (place, self.score(row, &wanted, vector.as_ref())))
            .filter(|(_, score)| *score > 0.0)
            .collect();
        found.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
        found.truncate(most);
        found
    }

    fn score(&self, row: &ShortlistRow, wanted: &[Box<str>], vector: Option<&Vector>) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "few rows")]
        let all = self.rows.len() as f32;
        let (mut words, mut best) = (0.0, 0.0);
        for term in wanted {
            let spread = self.spread.get(term).copied().unwrap_or(0.0);
            let rarity = (1.0 + (all - spread + 0.5) / (spread + 0.5)).ln();
            best += rarity;
            let Some(count) = row.counts.get(term) else { continue };
            let length = 1.0 - LENGTH_NORMALIZATION
                + LENGTH_NORMALIZATION * row.length / self.average.max(1.0);
            words += rarity * count / (count + TERM_SATURATION * length);
        }
        let words = if best > 0.0 { words / best } else { 0.0 };
        let near = vector.zip(row.vector.as_ref()).map_or(0.0, |(one, other)| one.cosine(other));
        // A vector always finds something, so without a matching word it must be close.
        let near = if words > 0.0 || near > 0.45 { near.max(0.0) } else { 0.0 };
        words + VECTOR_WEIGHT * near
    }
}

fn row(item: &ShortlistItem, vector: Option<Vector>) -> ShortlistRow {
    let mut counts = HashMap::new();
    let mut length = 0.0;
    for (text, weight) in [(&item.name, NAME_WEIGHT), (&item.text, 1.0)] {
        terms(text, |term, _| {
            *counts.entry(Box::from(term)).or_insert(0.0) += weight;
            length += 1.0;
        });
    }
    ShortlistRow { counts, length, vector }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::EmbeddingTable;

    #[test]
    fn the_right_tool_comes_first() {
        let tools = [
            ("filesystem read_text_file", "Read the complete contents of a file as text."),
            ("filesystem write_file", "Create a new file or overwrite an existing one."),
            ("git git_log", "Shows the commit logs."),
            ("time get_current_time", "Get current time in a specific timezone."),
            ("memory create_entities", "Create multiple new entities in the knowledge graph."),
        ];
        let items: Vec<ShortlistItem> = tools
            .iter()
            .map(|(name, text)| ShortlistItem { name: (*name).into(), text: (*text).into() })
            .collect();
        let list = Shortlist::new(EmbeddingTable::built_in(), &items);
        let cases = [
            ("read a file", 0),
            ("history of commits", 2),
            ("what time is it in Tokyo", 3),
            ("overwriting files", 1),
            ("knowledge graph entity", 4),
        ];
        for (question, want) in cases {
            let found = list.search(question, 3);
            assert_eq!(found.first().map(|(place, _)| *place), Some(want), "{question}: {found:?}");
        }
        assert!(list.search("", 3).is_empty());
        assert!(Shortlist::new(EmbeddingTable::built_in(), &[]).search("file", 3).is_empty());
    }
}
