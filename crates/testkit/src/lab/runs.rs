//! Questions with the features of their candidates, so that they can be ranked again with any method.

use crate::corpus::{ExpectedAnswer, JudgedCollection, JudgedQuestion};
use docent_index::{
    EmbeddedStore, EmbeddedStoreSettings, IndexQuery, IndexStore, IndexStoreError, StoreChange,
    StoreView,
    embed::{Embedder, EmbeddingTable},
    rank::{self, Features},
};
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

/// One question and its candidates.
#[derive(Debug, Clone)]
pub struct QuestionRun {
    /// The question's text.
    pub text: String,
    /// The features of each candidate.
    pub features: Vec<Features>,
    /// The group of each candidate. A group counts once: the units of a page, if pages are asked for.
    pub groups: Vec<u32>,
    /// Which candidates are answers.
    pub right: Vec<bool>,
    /// The number of groups that are answers, found or not.
    pub answers: usize,
}

/// A collection in its own store.
#[derive(Debug)]
pub struct FilledStore {
    store: EmbeddedStore,
    _folder: tempfile::TempDir,
}

impl FilledStore {
    /// Stores a collection.
    pub fn new(judged: &JudgedCollection) -> Result<Self, IndexStoreError> {
        let folder = tempfile::tempdir()
            .map_err(|source| IndexStoreError::File { path: std::env::temp_dir(), source })?;
        let store = EmbeddedStore::open(
            folder.path(),
            EmbeddingTable::built_in(),
            EmbeddedStoreSettings::default(),
        )?;
        store.write(&mut judged.sources.iter().cloned().map(StoreChange::Put))?;
        Ok(Self { store, _folder: folder })
    }

    /// Asks each question.
    pub fn ask(&self, questions: &[JudgedQuestion]) -> Result<Vec<QuestionRun>, IndexStoreError> {
        let view = self.store.view()?;
        let table = EmbeddingTable::built_in();
        let mut places = HashMap::new();
        questions.iter().map(|question| run(&view, table.as_ref(), question, &mut places)).collect()
    }
}

type UnitLocations = HashMap<docent_index::UnitRow, (String, String)>;

fn run(
    view: &Arc<dyn StoreView>,
    embedder: &dyn Embedder,
    question: &JudgedQuestion,
    places: &mut UnitLocations,
) -> Result<QuestionRun, IndexStoreError> {
    let (asked, candidates) = rank::candidates(view, embedder, &IndexQuery::new(&question.text))?;
    let features = rank::features(&asked, &candidates, embedder);
    let by_page = question.answers.iter().all(|answer| answer.unit.is_none());
    let mut groups = Vec::with_capacity(features.len());
    let mut right = Vec::with_capacity(features.len());
    let mut known: HashMap<String, u32> = HashMap::new();
    for row in candidates.rows() {
        let (path, id) = match places.entry(row) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let found = view.unit(row)?;
                free.insert((found.path, found.unit.id))
            }
        };
        let key = if by_page { path.clone() } else { format!("{path}\0{id}") };
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        groups.push(*known.entry(key).or_insert(next));
        right.push(question.answers.iter().any(|answer| answers(answer, path, id)));
    }
    let (text, answers) = (question.text.clone(), question.answers.len());
    Ok(QuestionRun { text, features, groups, right, answers })
}

fn answers(answer: &ExpectedAnswer, path: &str, id: &str) -> bool {
    answer.path == path && answer.unit.as_deref().is_none_or(|unit| unit == id)
}

impl QuestionRun {
    /// Ranks the groups by the primary feature and then by score, best first; returns whether each is an answer.
    pub fn rank(&self, order: impl Fn(&Features) -> (f32, f32)) -> Vec<bool> {
        let mut best: HashMap<u32, ((f32, f32), usize)> = HashMap::new();
        for (at, features) in self.features.iter().enumerate() {
            let one = (order(features), at);
            let kept = best.entry(self.groups[at]).or_insert(one);
            if one.0 > kept.0 {
                *kept = one;
            }
        }
        let mut order: Vec<((f32, f32), usize)> = best.into_values().collect();
        order.sort_by(|(a, first), (b, second)| {
            b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(first.cmp(second))
        });
        order.into_iter().map(|(_, at)| self.right[at]).collect()
    }
}
