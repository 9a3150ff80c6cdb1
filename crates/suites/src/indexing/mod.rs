//! Brings the search index in step with the files of the roots.
//!
//! Owns which files are read for it, how a change to one is told, and in which portions the store gets them. Files are
//! reached through [`crate::files`] alone; what the store does with units is not known here.

mod batches;
mod follow;
mod index_sync;
mod exclusions;
mod background;
mod project;
mod survey;
mod explanation;

pub use crate::watch::WatchError;
pub(crate) use batches::{UNITS_PER_BATCH, Batches, Written};
pub use follow::{FollowError, follow};
pub use exclusions::ExcludedFiles;
pub(crate) use background::{FollowContext, IndexSource, FileEvent, IndexPhase, IndexSearchAnswer, once};
pub use background::{BackgroundIndex, OpenedStore, StoreOpener};
pub use project::ProjectIndexSource;
pub(crate) use survey::digest_now;
pub use explanation::HitExplanation;
pub(crate) use explanation::score;

use crate::files::{ReadFailure, ServedRoots};
use docent_index::{IndexStore, IndexStoreError};
use index_sync::IndexSync;
use rayon::prelude::*;
use serde::Serialize;
use std::time::Duration;
use survey::{SurveyedFile, KnownDigests, FileCheck, FileSurvey, Wanted};

/// The collection of what source code defines.
pub const CODE: &str = "code";
/// The collection of what documents say.
pub const DOCS: &str = "docs";

/// How whoever waits takes part.
#[derive(Clone, Copy)]
pub struct SyncCallbacks<'a> {
    /// Hears how many files are done, and of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    /// Says whether to stop. What is written by then stays.
    pub stopped: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for SyncCallbacks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Callbacks").finish_non_exhaustive()
    }
}

impl Default for SyncCallbacks<'_> {
    /// Nobody listens, and nothing stops it.
    fn default() -> Self {
        Self { progress: &|_, _| {}, stopped: &|| false }
    }
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexReport {
    /// Files that the index is made of.
    pub files: usize,
    /// Those that were new or different, and were written.
    pub changed: usize,
    /// Those of them that were not in the index before.
    pub added: usize,
    /// Files that are no longer in the index.
    pub removed: usize,
    /// Units that can be found now.
    pub units: u64,
    /// The generation that holds them.
    pub generation: u64,
    /// How long it took.
    pub seconds: f64,
    /// Whether it was stopped before the end: the next run goes on from there.
    pub stopped: bool,
    /// Why the whole index was made anew, where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<String>,
    /// The model whose vectors were made anew with another one, where they were.
    #[serde(rename = "embeddedAnew", skip_serializing_if = "Option::is_none")]
    pub reembedded: Option<String>,
    /// Files that don't belong into an index, by reason.
    pub left_out: ExcludedFiles,
    /// What can't be read, and is not in the index.
    pub problems: Vec<ReadFailure>,
}

/// How far an index is behind the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexLag {
    /// Files that are new or different.
    pub changed: usize,
    /// Files that are gone, or can't be read any more.
    pub removed: usize,
}

/// Brings a store in step with the files. Only what changed is parsed and written.
pub fn sync(
    roots: &ServedRoots,
    store: &dyn IndexStore,
    callbacks: SyncCallbacks<'_>,
) -> Result<IndexReport, IndexStoreError> {
    IndexSync::new(roots, store).sync_all(&Wanted::default(), callbacks)
}

/// Tells how far a store is behind the files, and leaves it as it is.
pub fn measure_lag(
    roots: &ServedRoots,
    store: &dyn IndexStore,
    callbacks: SyncCallbacks<'_>,
) -> Result<IndexLag, IndexStoreError> {
    let known = KnownDigests::of(store)?;
    let survey = FileSurvey::survey_all(roots, &Wanted::default(), callbacks.stopped);
    let was_there =
        |file: &SurveyedFile| IndexLag { changed: 0, removed: usize::from(known.digest(file).is_some()) };
    let unlike = |file: &SurveyedFile| match file.check(roots, &known) {
        Ok(FileCheck::Same) => IndexLag::default(),
        Ok(FileCheck::Changed { .. }) => IndexLag { changed: 1, removed: 0 },
        Ok(FileCheck::LeftOut(_)) | Err(_) => was_there(file),
    };
    let add = |a: IndexLag, b: IndexLag| IndexLag {
        changed: a.changed + b.changed,
        removed: a.removed + b.removed,
    };
    let gone = IndexLag { changed: 0, removed: known.removals(&survey.files).len() };
    Ok(add(gone, survey.files.par_iter().map(unlike).reduce(IndexLag::default, add)))
}

/// To the millisecond: nobody wants to read more.
#[expect(clippy::cast_precision_loss, reason = "a run takes less than a thousand years")]
pub(crate) fn seconds_rounded(time: Duration) -> f64 {
    time.as_millis() as f64 / 1000.0
}

#[cfg(test)]
mod tests;
