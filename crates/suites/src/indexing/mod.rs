//! Brings the search index in step with the files of the roots.
//!
//! Owns which files are read for it, how a change to one is told, and in which portions the store gets them. Files are
//! reached through [`crate::files`] alone; what the store does with units is not known here.

mod follow;
mod survey;

pub use crate::watch::WatchError;
pub use follow::{FollowError, follow};

use crate::files::{Problem, Roots};
use docent_index::{Change, Repairs, Store, StoreError};
use rayon::prelude::*;
use serde::Serialize;
use std::time::{Duration, Instant};
use survey::{File, Known, Seen};

/// The collection of what source code defines.
pub const CODE: &str = "code";
/// The collection of what documents say.
pub const DOCS: &str = "docs";

/// Units that are written at once: a run that is killed loses no more than these.
const BATCH: usize = 20_000;
/// Files that are read at once, between two looks at whether to go on.
const AT_ONCE: usize = 256;

/// How whoever waits takes part.
#[derive(Clone, Copy)]
pub struct Callbacks<'a> {
    /// Hears how many files are done, and of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
    /// Says whether to stop. What is written by then stays.
    pub stopped: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for Callbacks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Callbacks").finish_non_exhaustive()
    }
}

impl Default for Callbacks<'_> {
    /// Nobody listens, and nothing stops it.
    fn default() -> Self {
        Self { progress: &|_, _| {}, stopped: &|| false }
    }
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Files that the index is made of.
    pub files: usize,
    /// Those that were new or different, and were written.
    pub changed: usize,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedded_anew: Option<String>,
    /// What can't be read, and is not in the index.
    pub problems: Vec<Problem>,
}

/// How far an index is behind the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Behind {
    /// Files that are new or different.
    pub changed: usize,
    /// Files that are gone, or can't be read any more.
    pub removed: usize,
}

/// Brings a store in step with the files. Only what changed is parsed and written.
pub fn sync(
    roots: &Roots,
    store: &dyn Store,
    callbacks: Callbacks<'_>,
) -> Result<Report, StoreError> {
    sync_by(BATCH, roots, store, callbacks)
}

/// Tells how far a store is behind the files, and leaves it as it is.
pub fn behind(
    roots: &Roots,
    store: &dyn Store,
    callbacks: Callbacks<'_>,
) -> Result<Behind, StoreError> {
    let known = Known::of(store)?;
    let survey = survey::survey(roots, callbacks.stopped);
    let unlike = |file: &File| match file.look(roots, &known) {
        Ok(Seen::Same) => Behind::default(),
        Ok(Seen::Changed { .. }) => Behind { changed: 1, removed: 0 },
        Err(_) => Behind { changed: 0, removed: usize::from(known.digest(file).is_some()) },
    };
    let add = |a: Behind, b: Behind| Behind {
        changed: a.changed + b.changed,
        removed: a.removed + b.removed,
    };
    let gone = Behind { changed: 0, removed: known.gone(&survey.files).len() };
    Ok(add(gone, survey.files.par_iter().map(unlike).reduce(Behind::default, add)))
}

fn sync_by(
    batch: usize,
    roots: &Roots,
    store: &dyn Store,
    callbacks: Callbacks<'_>,
) -> Result<Report, StoreError> {
    let start = Instant::now();
    let repairs = store.repair()?;
    let known = Known::of(store)?;
    let survey = survey::survey(roots, callbacks.stopped);
    let mut batches = Batches { store, most: batch, waiting: Vec::new(), units: 0 };
    let mut stopped = survey.stopped;
    let (mut changed, mut problems) = (0, survey.problems);
    // A walk that was cut short does not tell what is gone.
    let gone = if stopped { Vec::new() } else { known.gone(&survey.files) };
    let mut removed = gone.len();
    for change in gone {
        batches.add(change)?;
    }
    let total = survey.files.len();
    (callbacks.progress)(0, total);
    for (n, files) in survey.files.chunks(AT_ONCE).enumerate() {
        stopped = stopped || (callbacks.stopped)();
        if stopped {
            break;
        }
        let read: Vec<_> = files.par_iter().map(|file| file.read(roots, &known)).collect();
        for (file, read) in files.iter().zip(read) {
            match read {
                Ok(None) => {}
                Ok(Some(source)) => {
                    changed += 1;
                    batches.add(Change::Put(source))?;
                }
                Err(problem) => {
                    problems.push(problem);
                    // What can't be read any more must not be found as it once was.
                    if known.digest(file).is_some() {
                        removed += 1;
                        batches.add(file.removal())?;
                    }
                }
            }
        }
        (callbacks.progress)((n * AT_ONCE + files.len()).min(total), total);
    }
    batches.write()?;
    let Repairs { rebuilt, embedded_anew } = repairs;
    let status = store.status()?;
    Ok(Report {
        files: total,
        changed,
        removed,
        units: status.units,
        generation: status.generation,
        seconds: rounded(start.elapsed()),
        stopped,
        rebuilt,
        embedded_anew: embedded_anew.map(|identity| identity.to_string()),
        problems,
    })
}

/// To the millisecond: nobody wants to read more.
#[expect(clippy::cast_precision_loss, reason = "a run takes less than a thousand years")]
fn rounded(time: Duration) -> f64 {
    time.as_millis() as f64 / 1000.0
}

/// Changes on their way to the store.
struct Batches<'a> {
    store: &'a dyn Store,
    /// Units that may wait.
    most: usize,
    waiting: Vec<Change>,
    units: usize,
}

impl Batches<'_> {
    fn add(&mut self, change: Change) -> Result<(), StoreError> {
        if let Change::Put(source) = &change {
            self.units += source.units.len();
        }
        self.waiting.push(change);
        if self.units >= self.most { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), StoreError> {
        if !self.waiting.is_empty() {
            self.units = 0;
            self.store.write(&mut self.waiting.drain(..))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
