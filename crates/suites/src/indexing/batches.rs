//! Collects changes and writes them to a store in batches.

use docent_index::{Digest, IndexStore, IndexStoreError, StoreChange};

/// Units per write; a killed run loses at most these.
pub(crate) const UNITS_PER_BATCH: usize = 20_000;
/// Units of the first write, which is smaller so that waiting queries find something sooner.
const UNITS_IN_FIRST_BATCH: usize = 2000;

/// A written source: collection, path, and digest unless it was removed.
pub(crate) type Written = (String, String, Option<Digest>);

/// Changes waiting to be written.
pub(crate) struct Batches<'a> {
    store: &'a dyn IndexStore,
    /// Maximum number of waiting units.
    most: usize,
    next: usize,
    waiting: Vec<StoreChange>,
    units: usize,
}

impl<'a> Batches<'a> {
    pub(crate) fn new(store: &'a dyn IndexStore, most: usize) -> Self {
        Self { store, most, next: UNITS_IN_FIRST_BATCH, waiting: Vec::new(), units: 0 }
    }

    /// Adds a change, and writes once enough are waiting. `written` is called with what was written.
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

    /// Writes all waiting changes.
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
                StoreChange::Remove { collection, path } => {
                    (collection.clone(), path.clone(), None)
                }
            }
        };
        let done = self.waiting.iter().map(about).collect();
        self.store.write(&mut self.waiting.drain(..))?;
        written(done);
        Ok(())
    }
}
