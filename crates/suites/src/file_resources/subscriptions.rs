//! Subscriptions to files, by address. Tells of changes; must not know what the files contain.

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

/// Changes that a slow listener may leave unread.
const MAX_UNREAD_CHANGES: usize = 256;

/// Every file that a client subscribed to.
#[derive(Debug)]
pub(super) struct Subscriptions {
    this: Weak<Self>,
    roots: ServedRoots,
    changes: broadcast::Sender<ProviderChange>,
    state: Mutex<SubscriptionState>,
}

#[derive(Debug, Default)]
struct SubscriptionState {
    /// Started with the first subscription.
    watch: Option<FileWatcher>,
    /// The paths of each address: the file under the name in the address, and where symbolic links lead.
    files: BTreeMap<String, Vec<PathBuf>>,
    /// Folders that are watched, and for how many paths.
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

    /// Reports changes to a file from now on; `false` where the operating system watches no more.
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

    /// Reports no more changes to a file.
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

    /// The folders above a file, up to its root: when one of them is replaced, so is the file.
    fn folders_of<'a>(&self, file: &'a Path) -> impl Iterator<Item = &'a Path> + use<'a> {
        let roots: Vec<PathBuf> = self.roots.paths().map(Path::to_owned).collect();
        let is_inside = move |folder: &&Path| roots.iter().any(|root| folder.starts_with(root));
        file.ancestors().skip(1).take_while(is_inside)
    }

    /// Listens to the folders above a file that are there; `false` where that of the file itself can't be listened to.
    fn listen(&self, state: &SubscriptionState, file: &Path) -> bool {
        let Some(watch) = &state.watch else { return false };
        let results: Vec<_> = self.folders_of(file).map(|folder| watch.add(folder)).collect();
        match results.into_iter().next() {
            Some(Err(error)) => refuse(&error),
            first => first.is_some(),
        }
    }

    /// Reports the files that a batch of changes is about.
    fn report(&self, batch: &ChangeBatch) {
        let state = self.state();
        let touches =
            |path: &Path| batch.lost || batch.paths.iter().any(|changed| path.starts_with(changed));
        if let Some(watch) = &state.watch {
            // A folder that was removed and made again is another folder, under the same name.
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
                // There may be no client that listens any more.
                drop(self.changes.send(ProviderChange::Updated(uri.clone())));
            }
        }
    }
}

fn refuse(error: &(dyn std::error::Error + 'static)) -> bool {
    tracing::warn!(error, "changes to a file can't be followed");
    false
}
