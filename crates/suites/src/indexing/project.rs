//! The files of the roots as an index source: code and documents.

use super::{
    CODE, IndexPhase, IndexReport,
    background::{BackgroundIndex, FollowContext, IndexSource, StoreOpener},
    follow::{FollowError, IndexFollower},
    survey::{self, Wanted},
};
use crate::{
    files::{RootPath, ServedRoots},
    watch::ChangeBatch,
};
use docent_syntax::Language;
use docent_tool::CallContext;
use std::sync::{Arc, PoisonError, RwLock};

/// The roots, and files requested by name.
#[derive(Debug)]
pub struct ProjectIndexSource {
    roots: ServedRoots,
    wanted: RwLock<Wanted>,
}

impl IndexSource for ProjectIndexSource {
    type Report = IndexReport;

    fn follow(&self, following: FollowContext<'_, IndexReport>) -> Result<(), FollowError> {
        let FollowContext {
            store,
            callbacks,
            pending,
            on_listening: listening,
            on_touched: heard,
            on_synced: synced,
        } = following;
        let wanted = || self.wanted.read().unwrap_or_else(PoisonError::into_inner).clone();
        let follower = IndexFollower {
            roots: &self.roots,
            store,
            callbacks,
            pending,
            requested: &wanted,
            on_listening: listening,
        };
        follower.run(heard, synced)
    }

    fn is_other_set(report: &IndexReport) -> bool {
        report.added + report.removed > 0
    }
}

impl BackgroundIndex<ProjectIndexSource> {
    /// Creates an index of these roots. Opens and reads nothing until first use.
    pub fn new(roots: ServedRoots, opener: StoreOpener) -> Arc<Self> {
        Self::with_source(ProjectIndexSource { roots, wanted: RwLock::default() }, opener)
    }

    /// Adds files requested by name, even if the project ignores them. Waits a moment if an up-to-date index lacks them,
    /// so that the next query finds them.
    pub(crate) fn request_files(
        &self,
        files: impl IntoIterator<Item = (RootPath, Language)>,
        context: &CallContext,
    ) {
        let (mut batch, mut paths) = (ChangeBatch::default(), Vec::new());
        let mut wanted = self.source.wanted.write().unwrap_or_else(PoisonError::into_inner);
        for (place, language) in files {
            if wanted.insert(place.clone(), language) != Some(language) {
                batch.paths.insert(self.source.roots.absolute(&place));
                paths.push(self.source.roots.name(&place));
            }
        }
        drop(wanted);
        if batch.paths.is_empty() {
            return;
        }
        let generation = self.status().map(|status| status.generation);
        let is_in_step = self.phase() == IndexPhase::UpToDate;
        match generation.filter(|_| is_in_step && self.lacks(CODE, &paths)) {
            Some(generation) => self.rescan(batch, generation, context),
            None => self.pending.add(batch),
        }
    }

    /// Paths of the source files that belong in the index, whether it is built or not.
    pub(crate) fn code_files(&self, stopped: &(dyn Fn() -> bool + Sync)) -> Vec<String> {
        let wanted = self.source.wanted.read().unwrap_or_else(PoisonError::into_inner).clone();
        survey::code_files(&self.source.roots, &wanted, stopped)
    }

    /// The language a file was requested with.
    pub(crate) fn requested_language(&self, place: &RootPath) -> Option<Language> {
        self.source.wanted.read().unwrap_or_else(PoisonError::into_inner).get(place).copied()
    }

    /// Requests an update of these files and waits a moment for it.
    pub(crate) fn refresh(
        &self,
        places: impl IntoIterator<Item = RootPath>,
        generation: u64,
        context: &CallContext,
    ) {
        let paths = places.into_iter().map(|place| self.source.roots.absolute(&place)).collect();
        self.rescan(ChangeBatch { paths, lost: false }, generation, context);
    }
}
