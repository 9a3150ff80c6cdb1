//! The built-in embedding table, with a row per word piece. A text is the sum of its pieces' rows.
//!
//! `models/` describes how the table was trained.

use super::{EmbedError, Embedder, EmbeddingInput, ModelIdentity, Vector};
use crate::{
    analysis::{content, words},
    unit::{Genre, IndexUnit},
};
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, OnceLock},
};

static WEIGHTS: &[u8] = include_bytes!("../../../../models/table.bin");

/// Magic number of a table.
const MAGIC: &[u8; 8] = b"DOCENTV1";
/// Maximum length of a piece in characters.
const MAX_PIECE_CHARS: usize = 40;
/// Maximum number of words used of a code body.
const MAX_CODE_WORDS: usize = 100;
/// Maximum number of words used of a section.
const MAX_PROSE_WORDS: usize = 250;

/// The built-in table.
pub struct EmbeddingTable {
    identity: ModelIdentity,
    dimensions: usize,
    scales: Vec<f32>,
    rows: &'static [u8],
    /// Pieces that start a word.
    starts: HashMap<&'static str, u32>,
    /// Pieces inside a word.
    inner: HashMap<&'static str, u32>,
}

impl fmt::Debug for EmbeddingTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddingTable").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Pieces of a text with their weights; may contain duplicates.
type TokenWeights = Vec<(u32, f32)>;

impl EmbeddingTable {
    /// The table, parsed on first use.
    ///
    /// # Panics
    ///
    /// If the built-in table is corrupt, which the tests rule out.
    pub fn built_in() -> Arc<Self> {
        static TABLE: OnceLock<Arc<EmbeddingTable>> = OnceLock::new();
        let read = || Arc::new(Self::read(WEIGHTS).expect("the built-in table is valid"));
        Arc::clone(TABLE.get_or_init(read))
    }

    fn read(bytes: &'static [u8]) -> Option<Self> {
        let number = |at: usize| -> Option<usize> {
            let four = bytes.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_le_bytes(four)).ok()
        };
        if bytes.get(..8)? != MAGIC {
            return None;
        }
        let (count, dimensions) = (number(8)?, number(12)?);
        let (scales, rest) = bytes.get(16..)?.split_at_checked(count * 4)?;
        let (rows, vocabulary) = rest.split_at_checked(count * dimensions)?;
        let (scales, _) = scales.as_chunks::<4>();
        let scales = scales.iter().map(|four| f32::from_le_bytes(*four)).collect();
        let (mut starts, mut inner) = (HashMap::new(), HashMap::new());
        for (piece, row) in std::str::from_utf8(vocabulary).ok()?.lines().zip(0_u32..) {
            match piece.strip_prefix("##") {
                Some(piece) => inner.insert(piece, row),
                None => starts.insert(piece, row),
            };
        }
        let digest = crate::unit::Digest::of(&[bytes]);
        let identity = ModelIdentity { model: format!("docent-static-{digest:?}"), dimensions };
        (starts.len() + inner.len() == count).then_some(Self {
            identity,
            dimensions,
            scales,
            rows,
            starts,
            inner,
        })
    }

    /// Adds the pieces of a text to a bag with this weight, up to a number of words.
    fn add(&self, bag: &mut TokenWeights, text: &str, weight: f32, most: usize) {
        let mut pieces = Vec::new();
        let mut count = 0;
        words(text, |word| {
            count += 1;
            if count <= most {
                self.pieces(word, &mut pieces);
                bag.extend(pieces.drain(..).map(|piece| (piece, weight)));
            }
        });
    }

    /// Splits a word greedily into the longest pieces; empty if part of it is unknown.
    fn pieces(&self, word: &str, pieces: &mut Vec<u32>) {
        let mut rest = word;
        while !rest.is_empty() {
            let known = if rest.len() == word.len() { &self.starts } else { &self.inner };
            let mut end = rest.char_indices().nth(MAX_PIECE_CHARS).map_or(rest.len(), |(at, _)| at);
            let found = loop {
                let Some(head) = rest.get(..end).filter(|head| !head.is_empty()) else {
                    break None;
                };
                if let Some(&row) = known.get(head) {
                    break Some(row);
                }
                end = rest.floor_char_boundary(end - 1);
            };
            let Some(row) = found else { return pieces.clear() };
            pieces.push(row);
            rest = rest.get(end..).unwrap_or_default();
        }
    }

    fn vector(&self, mut bag: TokenWeights) -> Vector {
        let mut sum = vec![0.0_f32; self.dimensions];
        bag.sort_unstable_by_key(|(row, _)| *row);
        for same in bag.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((row, _)) = same.first() else { continue };
            let (row, count) = (*row as usize, same.iter().map(|(_, weight)| weight).sum::<f32>());
            let factor = self.scales[row] * count.sqrt();
            let codes = &self.rows[row * self.dimensions..(row + 1) * self.dimensions];
            for (sum, code) in sum.iter_mut().zip(codes) {
                *sum += factor * f32::from(code.cast_signed());
            }
        }
        Vector::new(&sum)
    }

    fn text(&self, text: &str) -> Vector {
        let mut bag = TokenWeights::new();
        self.add(&mut bag, text, 1.0, usize::MAX);
        self.vector(bag)
    }

    fn document(&self, document: &EmbeddingInput<'_>) -> Vector {
        let EmbeddingInput { unit, path, genre } = *document;
        let mut bag = TokenWeights::new();
        match genre {
            Genre::Code => {
                self.add(&mut bag, &unit.name, 10.0, usize::MAX);
                self.add(&mut bag, path, 1.5, usize::MAX);
                self.add(&mut bag, owner(unit), 1.5, usize::MAX);
                self.add(&mut bag, &unit.doc, 1.0, MAX_CODE_WORDS);
                self.add(&mut bag, &unit.body, 1.0, MAX_CODE_WORDS);
            }
            Genre::Prose => {
                let heading = unit.signature.rsplit(" > ").next().unwrap_or_default();
                self.add(&mut bag, heading, 4.0, usize::MAX);
                self.add(&mut bag, &unit.name, 2.0, usize::MAX);
                self.add(&mut bag, &unit.body, 1.0, MAX_PROSE_WORDS);
            }
        }
        self.vector(bag)
    }
}

/// The scope of a definition, from the qualified name at the start of its signature.
fn owner(unit: &IndexUnit) -> &str {
    let qualified = unit.signature.split(' ').next().unwrap_or_default();
    let owner = qualified.strip_suffix(unit.name.as_str()).unwrap_or_default();
    owner.trim_end_matches(['.', ':'])
}

impl Embedder for EmbeddingTable {
    fn identity(&self) -> &ModelIdentity {
        &self.identity
    }

    fn documents(&self, documents: &[EmbeddingInput<'_>]) -> Result<Vec<Vector>, EmbedError> {
        Ok(documents.iter().map(|document| self.document(document)).collect())
    }

    fn query(&self, text: &str) -> Result<Vector, EmbedError> {
        // The table ignores word order, so question words would shift the vector away from the content.
        Ok(self.text(&content(text)))
    }

    fn phrase(&self, text: &str) -> Option<Vector> {
        Some(self.text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// A text as the program that trained the table saw it.
    #[derive(Deserialize)]
    struct GoldenEmbeddings {
        text: String,
        pieces: Vec<String>,
        vector: Vec<f32>,
    }

    fn named(table: &EmbeddingTable, row: u32) -> String {
        let find = |pieces: &HashMap<&'static str, u32>| {
            pieces.iter().find(|(_, known)| **known == row).map(|(piece, _)| (*piece).to_owned())
        };
        find(&table.starts).unwrap_or_else(|| format!("##{}", find(&table.inner).unwrap()))
    }

    #[test]
    fn texts_become_what_they_were_in_training() {
        let table = EmbeddingTable::built_in();
        let golden: Vec<GoldenEmbeddings> =
            serde_json::from_str(include_str!("../../../../models/golden.json")).unwrap();
        assert!(golden.len() > 10);
        for GoldenEmbeddings { text, pieces, vector } in golden {
            let mut got = Vec::new();
            words(&text, |word| {
                let mut of_word = Vec::new();
                table.pieces(word, &mut of_word);
                got.extend(of_word.into_iter().map(|row| named(&table, row)));
            });
            assert_eq!(got, pieces, "{text}");
            let made = table.text(&text);
            for (want, code) in vector.iter().zip(made.codes()) {
                let got = f32::from(*code) * made.scale();
                assert!((got - want).abs() < 0.01, "{text}: {got} {want}");
            }
        }
    }

    #[test]
    fn the_table_is_small_and_whole() {
        assert!(WEIGHTS.len() <= 10_000_000, "{}", WEIGHTS.len());
        let table = EmbeddingTable::built_in();
        assert_eq!(table.identity.dimensions, 256);
        assert_eq!(table.rows.len(), table.scales.len() * 256);
        assert!(EmbeddingTable::read(b"DOCENTV1\x01\0\0\0\x01\0\0\0").is_none());
        assert!(EmbeddingTable::read(b"something else altogether").is_none());
    }

    #[test]
    fn meaning_is_nearer_than_chance() {
        let table = EmbeddingTable::built_in();
        let near = |a: &str, b: &str| table.text(a).cosine(&table.text(b));
        let cases = [
            ("authenticate a user", "check login and password", "draw a circle"),
            ("delete a file", "remove path from disk", "parse json response"),
            (
                "retry with exponential backoff",
                "sleep and try again after a delay",
                "render template",
            ),
        ];
        for (question, like, unlike) in cases {
            let (like_it, unlike_it) = (near(question, like), near(question, unlike));
            assert!(like_it > unlike_it + 0.1, "{question}: {like_it} {unlike_it}");
        }
    }

    #[test]
    fn a_name_counts_more_than_a_body() {
        let table = EmbeddingTable::built_in();
        let unit = |name: &str, body: &str| IndexUnit {
            name: name.into(),
            body: body.into(),
            ..IndexUnit::default()
        };
        let (named, signed) = (unit("parse_header", "x y z"), unit("x", "parse_header y z"));
        let near = |unit: &IndexUnit| {
            let document = EmbeddingInput { unit, path: "", genre: Genre::Code };
            table.document(&document).cosine(&table.text("parse header"))
        };
        assert!(near(&named) > near(&signed));
    }
}
