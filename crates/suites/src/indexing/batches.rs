//! Changes on their way to a store, in portions that it takes at once.

use docent_index::{StoreChange, Digest, IndexStore, IndexStoreError};

/// Units that are written at once: a run that is killed loses no more than these.
pub(crate) const UNITS_PER_BATCH: usize = 20_000;
/// The first ones are written sooner, so that whoever waits has something to find.
const UNITS_IN_FIRST_BATCH: usize = 2000;

/// A source that was written: its collection, its path, and its digest unless it is gone.
pub(crate) type Written = (String, String, Option<Digest>);

/// Changes that wait to be written.
pub(crate) struct Batches<'a> {
    store: &'a dyn IndexStore,
    /// Units that may wait.
    most: usize,
    next: usize,
    waiting: Vec<StoreChange>,
    units: usize,
}

impl<'a> Batches<'a> {
    pub(crate) fn new(store: &'a dyn IndexStore, most: usize) -> Self {
        Self { store, most, next: UNITS_IN_FIRST_BATCH, waiting: Vec::new(), units: 0 }
    }

    /// Adds a change, and writes when enough wait. `written` hears what the store has then.
    pub(crate) fn add(
        &mut self,
        change: StoreChange,
        written: &mut dyn FnMut(Vec<Written>),
    ) -> Result<(), IndexStoreError> {
        if let StoreChange::Put(source) = &change {
            self.units += source.units.len();
        }
        self.waiting.push(change);
        if self.units >= self.most.min(self.next) { self.write(written) } else { Ok(()) }
    }

    /// Writes whatever waits.
    pub(crate) fn write(
        &mut self,
        written: &mut dyn FnMut(Vec<Written>),
    ) -> Result<(), IndexStoreError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.units = 0;
        self.next *= 3;
        let about = |change: &StoreChange| -> Written {
            match change {
                StoreChange::Put(source) => {
                    (source.collection.clone(), source.path.clone(), Some(source.digest))
                }
                StoreChange::Remove { collection, path } => (collection.clone(), path.clone(), None),
            }
        };
        let done = self.waiting.iter().map(about).collect();
        self.store.write(&mut self.waiting.drain(..))?;
        written(done);
        Ok(())
    }
}
