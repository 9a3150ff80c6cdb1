//! Files of the configuration, watched: collections and servers that come and go in them do so while docent runs. Where a
//! server that is held to something may write to one of them, none is followed: what it writes there would be put in force,
//! also when another file changes, because all of them are read together.

use crate::{
    collections,
    config::{self, Config, ConfigInputs},
    logging, sandbox,
    servers::{self, ServerDialer},
};
use docent_hub::Hub;
use docent_suites::{
    docs::DocsSuite,
    watch::{ChangeBatch, FileWatcher},
};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::runtime::Handle;

/// What is odd about the configuration. Each thing is told once, for as long as it is so.
pub(crate) struct ConfigWarnings {
    start: Config,
    inputs: Arc<ConfigInputs>,
    warned: Mutex<Vec<String>>,
}

impl ConfigWarnings {
    /// What was told at the start is not told again.
    pub(crate) fn new(start: &Config, inputs: &Arc<ConfigInputs>) -> Arc<Self> {
        let mut told = start.warnings.clone();
        told.extend(exposed_files(start, inputs));
        Arc::new(Self { start: start.clone(), inputs: Arc::clone(inputs), warned: Mutex::new(told) })
    }

    pub(crate) fn warn(&self, next: &Config) {
        let mut now = next.warnings.clone();
        now.extend(exposed_files(next, &self.inputs));
        now.extend(sandbox::not_opened_warning(&self.start, next));
        let mut told = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        for odd in now.iter().filter(|odd| !told.contains(odd)) {
            tracing::warn!("{odd}");
        }
        *told = now;
    }
}

/// What servers may write to of the configuration, in words.
pub(crate) fn exposed_files(config: &Config, inputs: &ConfigInputs) -> Vec<String> {
    sandbox::exposed_files(config, inputs).iter().map(ToString::to_string).collect()
}

/// Follows the files of the configuration.
pub(crate) struct ConfigWatcher {
    pub(crate) inputs: Arc<ConfigInputs>,
    pub(crate) docs: DocsSuite,
    pub(crate) hub: Arc<Hub>,
    pub(crate) dial: Arc<ServerDialer>,
    pub(crate) oddities: Arc<ConfigWarnings>,
}

/// The files that are followed, and what hears of them.
#[derive(Default)]
struct WatchedFiles {
    paths: Mutex<Vec<PathBuf>>,
    watch: OnceLock<Weak<FileWatcher>>,
    /// Whether it was said that a change is not followed: whoever changes files all the time must not fill the log.
    has_warned: AtomicBool,
}

impl ConfigWatcher {
    /// Follows until what is returned is dropped. Must be called inside a runtime.
    pub(crate) fn start(self, config: &Config) -> Option<Arc<FileWatcher>> {
        let files = Arc::new(WatchedFiles::default());
        let (runtime, heard) = (Handle::current(), Arc::clone(&files));
        let inputs = Arc::clone(&self.inputs);
        let changed = move |batch: ChangeBatch| {
            if heard.are_in(&batch) {
                let _inside = runtime.enter();
                self.on_change(&heard);
            }
        };
        let watch = FileWatcher::start(changed)
            .inspect_err(|error| tracing::warn!(%error, "the configuration is not watched"))
            .ok()
            .map(Arc::new)?;
        files.watch.get_or_init(|| Arc::downgrade(&watch));
        files.set(&inputs, config);
        Some(watch)
    }

    /// Reads the files again, if whoever changed them is the user.
    fn on_change(&self, files: &WatchedFiles) {
        // What is in force says who may write where; a signal may have changed it.
        let exposed = sandbox::exposed_files(&self.dial.config(), &self.inputs);
        if exposed.is_empty() {
            files.has_warned.store(false, Ordering::Relaxed);
            return self.reload(files);
        }
        if !files.has_warned.swap(true, Ordering::Relaxed) {
            let files = exposed.iter().map(|one| one.file.display().to_string());
            let files = files.collect::<Vec<_>>().join(", ");
            tracing::warn!(
                "the configuration was changed, which is not followed because servers may write to {files}: look at what was changed, and send SIGHUP to put it in force"
            );
        }
    }

    fn reload(&self, files: &WatchedFiles) {
        let config = match Config::load(&self.inputs) {
            Ok(config) => config,
            Err(error) => {
                tracing::warn!(%error, "the configuration was changed and can't be used; collections and servers stay as they are");
                return;
            }
        };
        files.set(&self.inputs, &config);
        self.docs.replace(collections::configured_collections(&config));
        logging::mask_secrets(&config.secrets());
        servers::reconfigure(&self.hub, &self.dial, &config);
        self.oddities.tell(&config);
    }
}

impl WatchedFiles {
    fn contains_any(&self, batch: &ChangeBatch) -> bool {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        batch.lost || batch.paths.iter().any(|path| paths.contains(path))
    }

    /// Follows those that a configuration is made of: its own, whether they are there or not, and those that they name.
    fn set(&self, inputs: &ConfigInputs, config: &Config) {
        let mut paths = config::files_of(inputs);
        paths.extend(config.secret_files.iter().cloned());
        let Some(watch) = self.watch.get().and_then(Weak::upgrade) else { return };
        let folders = paths.iter().filter_map(|file| file.parent());
        for folder in folders.filter(|folder: &&Path| folder.is_dir()) {
            if let Err(error) = watch.add(folder) {
                tracing::warn!(%error, "changes of the configuration are not seen without SIGHUP");
            }
        }
        *self.paths.lock().unwrap_or_else(PoisonError::into_inner) = paths;
    }
}
