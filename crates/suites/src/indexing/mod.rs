//! Updates the search index from the files of the roots.
//!
//! Owns which files are indexed, how changes are detected, and in which batches they are written. Accesses files only
//! through [`crate::files`]; knows nothing of what the store does with units.
//!
//! # Design
//!
//! The survey lists the files of a walk, leaves out vendored, generated, minified and huge files, and detects by digest what
//! changed. The index sync parses changed files on all cores and writes them in batches, so that a run that ends early loses
//! little. The file watcher looks at the paths that changed, or at everything if many changed at once (a branch switch) or if
//! ignore rules changed. A running server has a background index: a thread opens the store when a tool first needs it, builds
//! it and follows the files; a question waits briefly, then gets an answer from what is ready, with a note.
//! `docent index` and `docent search` open the store in the state folder (`.docent/index-…`, or the user's cache if the root is
//! read-only) and sync before they answer. If an embedding endpoint is unreachable, search uses words only and says so.

mod background;
mod batches;
mod exclusions;
mod explanation;
mod follow;
mod index_sync;
mod project;
mod survey;

pub use crate::watch::WatchError;
pub use background::{BackgroundIndex, OpenedStore, StoreOpener};
pub(crate) use background::{
    FileEvent, FollowContext, IndexPhase, IndexSearchAnswer, IndexSource, once,
};
pub(crate) use batches::{Batches, UNITS_PER_BATCH, Written};
pub use exclusions::ExcludedFiles;
pub use explanation::HitExplanation;
pub(crate) use explanation::score;
pub use follow::{FollowError, follow};
pub use project::ProjectIndexSource;
pub(crate) use survey::digest_now;

use crate::files::{ReadFailure, ServedRoots};
use docent_index::{IndexStore, IndexStoreError};
use index_sync::IndexSync;
use rayon::prelude::*;
use serde::Serialize;
use std::time::Duration;
use survey::{FileCheck, FileSurvey, KnownDigests, SurveyedFile, Wanted};

/// Collection of definitions in source code.
pub const CODE: &str = "code";
/// Collection of sections of documents.
pub const DOCS: &str = "docs";

/// Callbacks of a run.
#[derive(Clone, Copy)]
pub struct SyncCallbacks<'a> {
    /// Called with the number of files done and the total.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    /// Returns whether to stop. Files written so far are kept.
    pub stopped: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for SyncCallbacks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SyncCallbacks").finish_non_exhaustive()
    }
}

impl Default for SyncCallbacks<'_> {
    /// No progress reports, and no stop.
    fn default() -> Self {
        Self { progress: &|_, _| {}, stopped: &|| false }
    }
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IndexReport {
    /// Number of files in the index.
    pub files: usize,
    /// Number of new or changed files written.
    pub changed: usize,
    /// How many of those were new.
    pub added: usize,
    /// Number of files removed from the index.
    pub removed: usize,
    /// Number of units in the index now.
    pub units: u64,
    /// Generation of the index after the run.
    pub generation: u64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Whether it was stopped early; the next run continues from there.
    pub stopped: bool,
    /// Why the whole index was rebuilt, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<String>,
    /// Previous embedding model, if all vectors were recomputed with another one.
    #[serde(rename = "embeddedAnew", skip_serializing_if = "Option::is_none")]
    pub reembedded: Option<String>,
    /// Number of excluded files, by reason.
    pub left_out: ExcludedFiles,
    /// Unreadable files, which are not in the index.
    pub problems: Vec<ReadFailure>,
}

/// How outdated an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexLag {
    /// Number of new or changed files.
    pub changed: usize,
    /// Number of files removed or no longer readable.
    pub removed: usize,
}

/// Updates a store from the files. Parses and writes only changed files.
pub fn sync(
    roots: &ServedRoots,
    store: &dyn IndexStore,
    callbacks: SyncCallbacks<'_>,
) -> Result<IndexReport, IndexStoreError> {
    IndexSync::new(roots, store).sync_all(&Wanted::default(), callbacks)
}

/// Measures how outdated a store is, without writing to it.
pub fn measure_lag(
    roots: &ServedRoots,
    store: &dyn IndexStore,
    callbacks: SyncCallbacks<'_>,
) -> Result<IndexLag, IndexStoreError> {
    let known = KnownDigests::load(store)?;
    let survey = FileSurvey::survey_all(roots, &Wanted::default(), callbacks.stopped);
    let was_there = |file: &SurveyedFile| IndexLag {
        changed: 0,
        removed: usize::from(known.digest(file).is_some()),
    };
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

/// Seconds, rounded to milliseconds.
#[expect(clippy::cast_precision_loss, reason = "a run takes less than a thousand years")]
pub(crate) fn seconds_rounded(time: Duration) -> f64 {
    time.as_millis() as f64 / 1000.0
}

#[cfg(test)]
mod tests;
