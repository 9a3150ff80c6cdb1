//! Writes new, changed and removed files to the store, in batches.

use super::{
    Callbacks, Report,
    batches::{BATCH, Batches},
    left_out::LeftOut,
    rounded,
    survey::{File, Known, Read, Survey, Wanted},
};
use crate::files::{Place, Problem, Roots};
use docent_index::{Change, Repairs, Store, StoreError};
use rayon::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Path, PathBuf},
    time::Instant,
};

/// Files read in parallel between two checks for a stop.
pub(super) const AT_ONCE: usize = 256;

/// Updates a store from the files, and remembers what the store contains.
#[derive(Debug)]
pub(super) struct Keeper<'a> {
    roots: &'a Roots,
    store: &'a dyn Store,
    known: Known,
    most: usize,
    /// Problems of the last full scan.
    problems: Vec<Problem>,
    /// Files excluded in the last full scan.
    left_out: LeftOut,
}

/// Input of one run.
struct Work {
    survey: Survey,
    gone: Vec<Change>,
    repairs: Repairs,
    start: Instant,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(roots: &'a Roots, store: &'a dyn Store) -> Self {
        Self {
            roots,
            store,
            known: Known::default(),
            most: BATCH,
            problems: Vec::new(),
            left_out: LeftOut::default(),
        }
    }

    #[cfg(test)]
    pub(super) fn by(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Scans every file.
    pub(super) fn all(
        &mut self,
        wanted: &Wanted,
        callbacks: Callbacks<'_>,
    ) -> Result<Report, StoreError> {
        let start = Instant::now();
        let (known, survey) = rayon::join(
            || self.store.repair().and_then(|repairs| Ok((repairs, Known::of(self.store)?))),
            || Survey::whole(self.roots, wanted, callbacks.stopped),
        );
        let (repairs, known) = known?;
        self.known = known;
        // An incomplete walk does not show which files were removed.
        let gone = if survey.stopped { Vec::new() } else { self.known.gone(&survey.files) };
        let report = self.run(Work { survey, gone, repairs, start }, callbacks)?;
        (self.problems, self.left_out) = (report.problems.clone(), report.left_out);
        Ok(report)
    }

    /// Scans these places and everything under them. Also returns the folders among them. The report lists the problems
    /// of all files.
    pub(super) fn some(
        &mut self,
        places: &BTreeSet<Place>,
        wanted: &Wanted,
        callbacks: Callbacks<'_>,
    ) -> Result<(Report, Vec<Place>), StoreError> {
        let start = Instant::now();
        let mut survey = Survey::default();
        let mut by_folder: BTreeMap<Place, BTreeSet<Place>> = BTreeMap::new();
        for place in places {
            if let Some(parent) = place.parent() {
                by_folder.entry(parent).or_default().insert(place.clone());
            }
        }
        for (folder, inside) in &by_folder {
            survey.some(self.roots, folder, inside, wanted);
        }
        let asked: Wanted = wanted
            .iter()
            .filter(|(place, _)| places.contains(*place))
            .map(|(place, language)| (place.clone(), *language))
            .collect();
        survey.want(self.roots, &asked);
        let gone = self.known.gone_but(self.roots, places, &survey.files);
        let folders = std::mem::take(&mut survey.folders);
        let work = Work { survey, gone, repairs: Repairs::default(), start };
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

    fn run(&mut self, work: Work, callbacks: Callbacks<'_>) -> Result<Report, StoreError> {
        let Work { survey, gone, repairs, start } = work;
        let mut batches = Batches::new(self.store, self.most);
        let mut tally =
            Tally { left_out: survey.left_out, problems: survey.problems, ..Tally::default() };
        let mut stopped = survey.stopped;
        tally.removed = gone.len();
        for change in gone {
            batches.add(change, &mut |written| self.known.apply(written))?;
        }
        let total = survey.files.len();
        (callbacks.progress)(0, total);
        for (n, files) in survey.files.chunks(AT_ONCE).enumerate() {
            stopped = stopped || (callbacks.stopped)();
            if stopped {
                break;
            }
            let known = &self.known;
            let read: Vec<_> = files.par_iter().map(|file| file.read(self.roots, known)).collect();
            for (file, read) in files.iter().zip(read) {
                if let Some(change) = tally.take(file, read, &self.known) {
                    batches.add(change, &mut |written| self.known.apply(written))?;
                }
            }
            (callbacks.progress)((n * AT_ONCE + files.len()).min(total), total);
        }
        batches.write(&mut |written| self.known.apply(written))?;
        let Repairs { rebuilt, embedded_anew } = repairs;
        let status = self.store.status()?;
        Ok(Report {
            files: total,
            changed: tally.changed,
            added: tally.added,
            removed: tally.removed,
            units: status.units,
            generation: status.generation,
            seconds: rounded(start.elapsed()),
            stopped,
            rebuilt,
            embedded_anew: embedded_anew.map(|identity| identity.to_string()),
            left_out: tally.left_out,
            problems: tally.problems,
        })
    }
}

/// Counts of one run.
#[derive(Default)]
struct Tally {
    changed: usize,
    added: usize,
    removed: usize,
    left_out: LeftOut,
    problems: Vec<Problem>,
}

impl Tally {
    fn take(&mut self, file: &File, read: Result<Read, Problem>, known: &Known) -> Option<Change> {
        let was_there = known.digest(file).is_some();
        match read {
            Ok(Read::Same) => return None,
            Ok(Read::Changed(source)) => {
                self.changed += 1;
                self.added += usize::from(!was_there);
                return Some(Change::Put(source));
            }
            Ok(Read::LeftOut(reason)) => self.left_out.count(reason),
            Err(problem) => self.problems.push(problem),
        }
        // A file that became unreadable must not be found with its old content.
        self.removed += usize::from(was_there);
        was_there.then(|| file.removal())
    }
}
