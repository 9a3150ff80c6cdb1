//! Watches the configuration files, so that collections and servers can be added and removed while docent runs. If a
//! sandboxed server may write to one of them, none is followed: its changes would be applied, even when another file
//! changes, because all of them are read together.

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

/// Warnings about the configuration, each logged once for as long as it applies.
pub(crate) struct ConfigWarnings {
    start: Config,
    inputs: Arc<ConfigInputs>,
    warned: Mutex<Vec<String>>,
}

impl ConfigWarnings {
    /// Warnings that were logged at the start are not repeated.
    pub(crate) fn new(start: &Config, inputs: &Arc<ConfigInputs>) -> Arc<Self> {
        let mut warned = start.warnings.clone();
        warned.extend(exposed_files(start, inputs));
        let (start, inputs) = (start.clone(), Arc::clone(inputs));
        Arc::new(Self { start, inputs, warned: Mutex::new(warned) })
    }

    pub(crate) fn warn(&self, next: &Config) {
        let mut now = next.warnings.clone();
        now.extend(exposed_files(next, &self.inputs));
        now.extend(sandbox::not_opened_warning(&self.start, next));
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in now.iter().filter(|warning| !warned.contains(warning)) {
            tracing::warn!("{warning}");
        }
        *warned = now;
    }
}

/// Describes the configuration files that servers may write to.
pub(crate) fn exposed_files(config: &Config, inputs: &ConfigInputs) -> Vec<String> {
    sandbox::exposed_files(config, inputs).iter().map(ToString::to_string).collect()
}

/// Watches the configuration files and applies changes.
pub(crate) struct ConfigWatcher {
    pub(crate) inputs: Arc<ConfigInputs>,
    pub(crate) docs: DocsSuite,
    pub(crate) hub: Arc<Hub>,
    pub(crate) dial: Arc<ServerDialer>,
    pub(crate) oddities: Arc<ConfigWarnings>,
}

/// The watched files and their watcher.
#[derive(Default)]
struct WatchedFiles {
    paths: Mutex<Vec<PathBuf>>,
    watch: OnceLock<Weak<FileWatcher>>,
    /// Whether an ignored change was logged: repeated changes must not fill the log.
    has_warned: AtomicBool,
}

impl ConfigWatcher {
    /// Watches until the return value is dropped. Must be called inside a runtime.
    pub(crate) fn start(self, config: &Config) -> Option<Arc<FileWatcher>> {
        let files = Arc::new(WatchedFiles::default());
        let (runtime, heard) = (Handle::current(), Arc::clone(&files));
        let inputs = Arc::clone(&self.inputs);
        let changed = move |batch: ChangeBatch| {
            if heard.contains_any(&batch) {
                let _inside = runtime.enter();
                self.on_change(&heard);
            }
        };
        let watch = FileWatcher::start(changed)
            .inspect_err(|error| tracing::warn!(%error, "cannot watch the configuration"))
            .ok()
            .map(Arc::new)?;
        files.watch.get_or_init(|| Arc::downgrade(&watch));
        files.set(&inputs, config);
        Some(watch)
    }

    /// Reloads the files, provided that no server could have changed them.
    fn on_change(&self, files: &WatchedFiles) {
        // The current configuration determines who may write where; a signal may have changed it.
        let exposed = sandbox::exposed_files(&self.dial.config(), &self.inputs);
        if exposed.is_empty() {
            files.has_warned.store(false, Ordering::Relaxed);
            return self.reload(files);
        }
        if !files.has_warned.swap(true, Ordering::Relaxed) {
            let files = exposed.iter().map(|one| one.file.display().to_string());
            let files = files.collect::<Vec<_>>().join(", ");
            tracing::warn!(
                "configuration change ignored because servers can write to {files}: review the change, and send SIGHUP to apply it"
            );
        }
    }

    fn reload(&self, files: &WatchedFiles) {
        let config = match Config::load(&self.inputs) {
            Ok(config) => config,
            Err(error) => {
                tracing::warn!(%error, "the changed configuration is invalid; keeping collections and servers as they are");
                return;
            }
        };
        files.set(&self.inputs, &config);
        self.docs.replace(collections::configured_collections(&config));
        logging::mask_secrets(&config.secrets());
        servers::reconfigure(&self.hub, &self.dial, &config);
        self.oddities.warn(&config);
    }
}

impl WatchedFiles {
    fn contains_any(&self, batch: &ChangeBatch) -> bool {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        batch.lost || batch.paths.iter().any(|path| paths.contains(path))
    }

    /// Watches the files of a configuration, existing or not, and the files that they name.
    fn set(&self, inputs: &ConfigInputs, config: &Config) {
        let mut paths = config::files_of(inputs);
        paths.extend(config.secret_files.iter().cloned());
        let Some(watch) = self.watch.get().and_then(Weak::upgrade) else { return };
        let folders = paths.iter().filter_map(|file| file.parent());
        for folder in folders.filter(|folder: &&Path| folder.is_dir()) {
            if let Err(error) = watch.add(folder) {
                tracing::warn!(%error, "configuration changes will not be noticed without SIGHUP");
            }
        }
        *self.paths.lock().unwrap_or_else(PoisonError::into_inner) = paths;
    }
}
