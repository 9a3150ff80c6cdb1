//! Writes new, changed and removed files to the store, in batches.

use super::{
    IndexReport, SyncCallbacks,
    batches::{Batches, UNITS_PER_BATCH},
    exclusions::ExcludedFiles,
    seconds_rounded,
    survey::{FileRead, FileSurvey, KnownDigests, SurveyedFile, Wanted},
};
use crate::files::{ReadFailure, RootPath, ServedRoots};
use docent_index::{IndexStore, IndexStoreError, StoreChange, StoreRepairs};
use rayon::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Path, PathBuf},
    time::Instant,
};

/// Files read in parallel between two checks for a stop.
pub(super) const FILES_PER_STOP_CHECK: usize = 256;

/// Updates a store from the files, and remembers what the store contains.
#[derive(Debug)]
pub(super) struct IndexSync<'a> {
    roots: &'a ServedRoots,
    store: &'a dyn IndexStore,
    known: KnownDigests,
    batch_size: usize,
    /// Problems of the last full scan.
    problems: Vec<ReadFailure>,
    /// Files excluded in the last full scan.
    left_out: ExcludedFiles,
}

/// Input of one run.
struct SyncWork {
    survey: FileSurvey,
    gone: Vec<StoreChange>,
    repairs: StoreRepairs,
    start: Instant,
}

impl<'a> IndexSync<'a> {
    pub(super) fn new(roots: &'a ServedRoots, store: &'a dyn IndexStore) -> Self {
        Self {
            roots,
            store,
            known: KnownDigests::default(),
            batch_size: UNITS_PER_BATCH,
            problems: Vec::new(),
            left_out: ExcludedFiles::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn with_batch_size(self, most: usize) -> Self {
        Self { batch_size: most, ..self }
    }

    /// Scans every file.
    pub(super) fn sync_all(
        &mut self,
        wanted: &Wanted,
        callbacks: SyncCallbacks<'_>,
    ) -> Result<IndexReport, IndexStoreError> {
        let start = Instant::now();
        let (known, survey) = rayon::join(
            || {
                self.store
                    .repair()
                    .and_then(|repairs| Ok((repairs, KnownDigests::load(self.store)?)))
            },
            || FileSurvey::survey_all(self.roots, wanted, callbacks.stopped),
        );
        let (repairs, known) = known?;
        self.known = known;
        // An incomplete walk does not show which files were removed.
        let gone = if survey.stopped { Vec::new() } else { self.known.removals(&survey.files) };
        let report = self.run(SyncWork { survey, gone, repairs, start }, callbacks)?;
        (self.problems, self.left_out) = (report.problems.clone(), report.left_out);
        Ok(report)
    }

    /// Scans these places and everything under them. Also returns the folders among them. The report lists the problems
    /// of all files.
    pub(super) fn sync_places(
        &mut self,
        places: &BTreeSet<RootPath>,
        wanted: &Wanted,
        callbacks: SyncCallbacks<'_>,
    ) -> Result<(IndexReport, Vec<RootPath>), IndexStoreError> {
        let start = Instant::now();
        let mut survey = FileSurvey::default();
        let mut by_folder: BTreeMap<RootPath, BTreeSet<RootPath>> = BTreeMap::new();
        for place in places {
            if let Some(parent) = place.parent() {
                by_folder.entry(parent).or_default().insert(place.clone());
            }
        }
        for (folder, inside) in &by_folder {
            survey.add_changed(self.roots, folder, inside, wanted);
        }
        let asked: Wanted = wanted
            .iter()
            .filter(|(place, _)| places.contains(*place))
            .map(|(place, language)| (place.clone(), *language))
            .collect();
        survey.add_requested(self.roots, &asked);
        let gone = self.known.removals_under(self.roots, places, &survey.files);
        let folders = std::mem::take(&mut survey.folders);
        let work = SyncWork { survey, gone, repairs: StoreRepairs::default(), start };
        let mut report = self.run(work, callbacks)?;
        // Problems of other files are unchanged.
        let checked: HashSet<PathBuf> =
            places.iter().map(|place| self.roots.name(place).into()).collect();
        let is_checked = |path: &str| Path::new(path).ancestors().any(|at| checked.contains(at));
        self.problems.retain(|problem| !is_checked(&problem.path));
        self.problems.append(&mut report.problems);
        (report.problems, report.left_out) = (self.problems.clone(), self.left_out);
        Ok((report, folders))
    }

    fn run(
        &mut self,
        work: SyncWork,
        callbacks: SyncCallbacks<'_>,
    ) -> Result<IndexReport, IndexStoreError> {
        let SyncWork { survey, gone, repairs, start } = work;
        let mut batches = Batches::new(self.store, self.batch_size);
        let mut tally = SyncCounts {
            left_out: survey.left_out,
            problems: survey.problems,
            ..SyncCounts::default()
        };
        let mut stopped = survey.stopped;
        tally.removed = gone.len();
        for change in gone {
            batches.add(change, &mut |written| self.known.apply(written))?;
        }
        let total = survey.files.len();
        (callbacks.progress)(0, total);
        for (n, files) in survey.files.chunks(FILES_PER_STOP_CHECK).enumerate() {
            stopped = stopped || (callbacks.stopped)();
            if stopped {
                break;
            }
            let known = &self.known;
            let read: Vec<_> = files.par_iter().map(|file| file.read(self.roots, known)).collect();
            for (file, read) in files.iter().zip(read) {
                if let Some(change) = tally.add(file, read, &self.known) {
                    batches.add(change, &mut |written| self.known.apply(written))?;
                }
            }
            (callbacks.progress)((n * FILES_PER_STOP_CHECK + files.len()).min(total), total);
        }
        batches.write(&mut |written| self.known.apply(written))?;
        let StoreRepairs { rebuilt, reembedded } = repairs;
        let status = self.store.status()?;
        Ok(IndexReport {
            files: total,
            changed: tally.changed,
            added: tally.added,
            removed: tally.removed,
            units: status.units,
            generation: status.generation,
            seconds: seconds_rounded(start.elapsed()),
            stopped,
            rebuilt,
            reembedded: reembedded.map(|identity| identity.to_string()),
            left_out: tally.left_out,
            problems: tally.problems,
        })
    }
}

/// Counts of one run.
#[derive(Default)]
struct SyncCounts {
    changed: usize,
    added: usize,
    removed: usize,
    left_out: ExcludedFiles,
    problems: Vec<ReadFailure>,
}

impl SyncCounts {
    fn add(
        &mut self,
        file: &SurveyedFile,
        read: Result<FileRead, ReadFailure>,
        known: &KnownDigests,
    ) -> Option<StoreChange> {
        let was_there = known.digest(file).is_some();
        match read {
            Ok(FileRead::Same) => return None,
            Ok(FileRead::Changed(source)) => {
                self.changed += 1;
                self.added += usize::from(!was_there);
                return Some(StoreChange::Put(source));
            }
            Ok(FileRead::LeftOut(reason)) => self.left_out.count(reason),
            Err(problem) => self.problems.push(problem),
        }
        // A file that became unreadable must not be found with its old content.
        self.removed += usize::from(was_there);
        was_there.then(|| file.removal())
    }
}
