//! Injects failures into file operations, for tests.
//!
//! It affects the whole process, so a test that uses this needs its own process.

use crate::operation::{FileOperation, OPERATION_POINT};
use fail::FailScenario;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Decides which operations fail, for as long as it exists.
pub struct FileFaults {
    _scenario: FailScenario<'static>,
}

impl std::fmt::Debug for FileFaults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileFaults").finish_non_exhaustive()
    }
}

impl FileFaults {
    /// Waits until no other thread of this process uses it.
    pub fn begin() -> Self {
        Self { _scenario: FailScenario::setup() }
    }

    /// Counts the operations of a run by kind; unused kinds are left out.
    pub fn count(&self, run: impl FnOnce()) -> BTreeMap<FileOperation, usize> {
        let counts: Vec<_> =
            FileOperation::ALL.into_iter().map(|kind| (kind, watch(kind))).collect();
        run();
        let counts = counts.into_iter().map(|(kind, count)| {
            fail::remove(kind.point());
            (kind, count.load(Ordering::Relaxed))
        });
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Fails operation number `n` of a run, counted from 0, and no other.
    ///
    /// # Panics
    ///
    /// If the fail points are not compiled in.
    pub fn fail_nth<T>(&self, n: usize, run: impl FnOnce() -> T) -> T {
        let actions = format!("{n}*off->1*return->off");
        let configured = fail::cfg(OPERATION_POINT, &actions);
        assert_eq!(configured, Ok(()), "{actions}");
        let ended = run();
        fail::remove(OPERATION_POINT);
        ended
    }
}

fn watch(kind: FileOperation) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let increment = move || {
        counted.fetch_add(1, Ordering::Relaxed);
    };
    let configured = fail::cfg_callback(kind.point(), increment);
    assert_eq!(configured, Ok(()), "{kind:?}");
    count
}
