//! Keeps an index in step for as long as somebody wants it.

use super::{Callbacks, Report, sync};
use crate::{
    files::{Kind, Place, Roots},
    watch::{Batch, Watch, WatchError},
};
use docent_index::{Store, StoreError};
use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::Duration,
};

/// Batches of changes that may wait; the watcher itself holds back what comes after them.
const WAITING: usize = 16;
/// How often it is asked whether to stop while nothing changes.
const LOOK_UP: Duration = Duration::from_millis(100);

/// Why an index is not kept in step any more.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// Changes can't be heard.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The first run failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Brings a store in step with the files, and again whenever they change, until it is told to stop.
///
/// `synced` hears of the first run and of every one that changed something or failed: what failed is tried again with
/// the next change.
pub fn follow(
    roots: &Roots,
    store: &dyn Store,
    callbacks: Callbacks<'_>,
    mut synced: impl FnMut(Result<Report, StoreError>),
) -> Result<(), FollowError> {
    let (sender, batches) = sync_channel(WAITING);
    // Nobody takes batches any more once the loop below has ended.
    let watch = Watch::start(move |batch| drop(sender.send(batch)))?;
    let mut watched = BTreeSet::new();
    // Listening comes first: what changes during the first run is then heard of.
    listen(roots, &watch, &mut watched)?;
    synced(Ok(sync(roots, store, callbacks)?));
    while let Some(batch) = next(&batches, callbacks.stopped) {
        // A folder that was removed and made again is another folder, under the same name.
        for folder in watched.iter().filter(|folder| batch.lost || batch.paths.contains(*folder)) {
            watch.forget(folder);
        }
        listen(roots, &watch, &mut watched)?;
        let report = sync(roots, store, callbacks);
        let idle =
            |report: &Report| report.changed + report.removed == 0 && report.rebuilt.is_none();
        if !report.as_ref().is_ok_and(idle) {
            synced(report);
        }
    }
    Ok(())
}

/// The next batch; `None` when it is time to stop.
fn next(batches: &Receiver<Batch>, stopped: &dyn Fn() -> bool) -> Option<Batch> {
    loop {
        if stopped() {
            return None;
        }
        match batches.recv_timeout(LOOK_UP) {
            Ok(batch) => return Some(batch),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Listens to every folder that there is now, and to no other.
fn listen(roots: &Roots, watch: &Watch, watched: &mut BTreeSet<PathBuf>) -> Result<(), WatchError> {
    let tops: BTreeSet<Place> = roots.paths().filter_map(|path| roots.locate(path)).collect();
    let mut there: BTreeSet<PathBuf> = tops.iter().map(|top| roots.absolute(top)).collect();
    for entry in tops.iter().flat_map(|top| roots.walk(top)).flatten() {
        if entry.kind == Kind::Folder {
            there.insert(roots.absolute(&entry.place));
        }
    }
    for gone in watched.difference(&there) {
        watch.forget(gone);
    }
    for folder in &there {
        match watch.add(folder) {
            // It went away since the walk, and whoever is above it hears of that.
            Err(_) if !folder.exists() => {}
            added => added?,
        }
    }
    *watched = there;
    Ok(())
}
