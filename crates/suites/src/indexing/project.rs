//! The files of the roots as an index source: code and documents.

use super::{
    CODE, Phase, Report,
    follow::{FollowError, Follower},
    live::{Following, Ground, Live, Opener},
    survey::{self, Wanted},
};
use crate::{
    files::{Place, Roots},
    watch::Batch,
};
use docent_syntax::Language;
use docent_tool::CallContext;
use std::sync::{Arc, PoisonError, RwLock};

/// The roots, and files requested by name.
#[derive(Debug)]
pub struct Project {
    roots: Roots,
    wanted: RwLock<Wanted>,
}

impl Ground for Project {
    type Report = Report;

    fn follow(&self, following: Following<'_, Report>) -> Result<(), FollowError> {
        let Following { store, callbacks, pending, listening, heard, synced } = following;
        let wanted = || self.wanted.read().unwrap_or_else(PoisonError::into_inner).clone();
        let follower =
            Follower { roots: &self.roots, store, callbacks, pending, wanted: &wanted, listening };
        follower.run(heard, synced)
    }

    fn is_other_set(report: &Report) -> bool {
        report.added + report.removed > 0
    }
}

impl Live<Project> {
    /// Creates an index of these roots. Opens and reads nothing until first use.
    pub fn new(roots: Roots, opener: Opener) -> Arc<Self> {
        Self::on(Project { roots, wanted: RwLock::default() }, opener)
    }

    /// Adds files requested by name, even if the project ignores them. Waits a moment if an up-to-date index lacks them,
    /// so that the next query finds them.
    pub(crate) fn want(
        &self,
        files: impl IntoIterator<Item = (Place, Language)>,
        context: &CallContext,
    ) {
        let (mut batch, mut paths) = (Batch::default(), Vec::new());
        let mut wanted = self.ground.wanted.write().unwrap_or_else(PoisonError::into_inner);
        for (place, language) in files {
            if wanted.insert(place.clone(), language) != Some(language) {
                batch.paths.insert(self.ground.roots.absolute(&place));
                paths.push(self.ground.roots.name(&place));
            }
        }
        drop(wanted);
        if batch.paths.is_empty() {
            return;
        }
        let generation = self.status().map(|status| status.generation);
        let is_in_step = self.phase() == Phase::InStep;
        match generation.filter(|_| is_in_step && self.lacks(CODE, &paths)) {
            Some(generation) => self.look_again(batch, generation, context),
            None => self.pending.add(batch),
        }
    }

    /// Paths of the source files that belong in the index, whether it is built or not.
    pub(crate) fn code_files(&self, stopped: &(dyn Fn() -> bool + Sync)) -> Vec<String> {
        let wanted = self.ground.wanted.read().unwrap_or_else(PoisonError::into_inner).clone();
        survey::code_files(&self.ground.roots, &wanted, stopped)
    }

    /// The language a file was requested with.
    pub(crate) fn wanted(&self, place: &Place) -> Option<Language> {
        self.ground.wanted.read().unwrap_or_else(PoisonError::into_inner).get(place).copied()
    }

    /// Requests an update of these files and waits a moment for it.
    pub(crate) fn refresh(
        &self,
        places: impl IntoIterator<Item = Place>,
        generation: u64,
        context: &CallContext,
    ) {
        let paths = places.into_iter().map(|place| self.ground.roots.absolute(&place)).collect();
        self.look_again(Batch { paths, lost: false }, generation, context);
    }
}
