//! Subscriptions to files by URI. Reports changes; knows nothing of file contents.

use crate::{
    files::{RootPath, ServedRoots},
    watch::{ChangeBatch, FileWatcher},
};
use docent_tool::ProviderChange;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::sync::broadcast;

/// Capacity of the change channel.
const MAX_UNREAD_CHANGES: usize = 256;

/// All files with subscriptions.
#[derive(Debug)]
pub(super) struct Subscriptions {
    this: Weak<Self>,
    roots: ServedRoots,
    changes: broadcast::Sender<ProviderChange>,
    state: Mutex<SubscriptionState>,
}

#[derive(Debug, Default)]
struct SubscriptionState {
    /// Started by the first subscription.
    watch: Option<FileWatcher>,
    /// Paths per URI: the file as named in the URI, and the targets of symbolic links.
    files: BTreeMap<String, Vec<PathBuf>>,
    /// Watched folders, with the number of paths that need each.
    folders: BTreeMap<PathBuf, usize>,
}

impl Subscriptions {
    pub(super) fn new(roots: ServedRoots) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            roots,
            changes: broadcast::Sender::new(MAX_UNREAD_CHANGES),
            state: Mutex::default(),
        })
    }

    pub(super) fn changes(&self) -> broadcast::Receiver<ProviderChange> {
        self.changes.subscribe()
    }

    fn state(&self) -> MutexGuard<'_, SubscriptionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts reporting changes to a file; `false` if the operating system can't watch more.
    pub(super) fn add(&self, uri: &str, place: &RootPath) -> bool {
        let mut state = self.state();
        if state.files.contains_key(uri) {
            return true;
        }
        if state.watch.is_none() {
            let this = Weak::clone(&self.this);
            let heard = move |batch: ChangeBatch| {
                if let Some(this) = this.upgrade() {
                    this.report(&batch);
                }
            };
            match FileWatcher::start(heard) {
                Ok(watch) => state.watch = Some(watch),
                Err(error) => return refuse(&error),
            }
        }
        let mut paths = vec![self.roots.absolute(place)];
        let named = self.roots.parse(uri).map(|named| self.roots.absolute(&named));
        paths.extend(named.ok().filter(|named| !paths.contains(named)));
        for path in &paths {
            for folder in self.folders_of(path) {
                *state.folders.entry(folder.to_owned()).or_default() += 1;
            }
        }
        let listens = paths.iter().all(|path| self.listen(&state, path));
        state.files.insert(uri.to_owned(), paths);
        if !listens {
            self.forget(&mut state, uri);
        }
        listens
    }

    /// Stops reporting changes to a file.
    pub(super) fn remove(&self, uri: &str) {
        self.forget(&mut self.state(), uri);
    }

    fn forget(&self, state: &mut SubscriptionState, uri: &str) {
        for path in state.files.remove(uri).unwrap_or_default() {
            for folder in self.folders_of(&path) {
                let Some(users) = state.folders.get_mut(folder) else { continue };
                *users -= 1;
                if *users == 0 {
                    state.folders.remove(folder);
                    state.watch.iter().for_each(|watch| watch.forget(folder));
                }
            }
        }
    }

    /// Folders above a file, up to its root: if one of them is replaced, so is the file.
    fn folders_of<'a>(&self, file: &'a Path) -> impl Iterator<Item = &'a Path> + use<'a> {
        let roots: Vec<PathBuf> = self.roots.paths().map(Path::to_owned).collect();
        let is_inside = move |folder: &&Path| roots.iter().any(|root| folder.starts_with(root));
        file.ancestors().skip(1).take_while(is_inside)
    }

    /// Watches the existing folders above a file; `false` if the file's own folder can't be watched.
    fn listen(&self, state: &SubscriptionState, file: &Path) -> bool {
        let Some(watch) = &state.watch else { return false };
        let results: Vec<_> = self.folders_of(file).map(|folder| watch.add(folder)).collect();
        match results.into_iter().next() {
            Some(Err(error)) => refuse(&error),
            first => first.is_some(),
        }
    }

    /// Reports the files affected by a batch of changes.
    fn report(&self, batch: &ChangeBatch) {
        let state = self.state();
        let touches =
            |path: &Path| batch.lost || batch.paths.iter().any(|changed| path.starts_with(changed));
        if let Some(watch) = &state.watch {
            // A folder that was removed and created again is a different folder.
            state
                .folders
                .keys()
                .filter(|folder| touches(folder))
                .for_each(|folder| watch.forget(folder));
        }
        for (uri, paths) in &state.files {
            if paths.iter().any(|path| touches(path)) {
                for path in paths {
                    self.listen(&state, path);
                }
                // No receiver is not an error.
                drop(self.changes.send(ProviderChange::Updated(uri.clone())));
            }
        }
    }
}

fn refuse(error: &(dyn std::error::Error + 'static)) -> bool {
    tracing::warn!(error, "cannot watch a file for changes");
    false
}
