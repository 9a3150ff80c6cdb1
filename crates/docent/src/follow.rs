//! Watches the configuration files, so that collections and servers can be added and removed while docent runs. If a
//! sandboxed server may write to one of them, none is followed: its changes would be applied, even when another file
//! changes, because all of them are read together.

use crate::{
    collections,
    config::{self, Config, Inputs},
    logging, sandbox,
    servers::{self, Dial},
};
use docent_hub::Hub;
use docent_suites::{
    docs::DocsSuite,
    watch::{Batch, Watch},
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
pub(crate) struct Oddities {
    start: Config,
    inputs: Arc<Inputs>,
    told: Mutex<Vec<String>>,
}

impl Oddities {
    /// Warnings that were logged at the start are not repeated.
    pub(crate) fn new(start: &Config, inputs: &Arc<Inputs>) -> Arc<Self> {
        let mut warned = start.warnings.clone();
        warned.extend(exposed(start, inputs));
        let (start, inputs) = (start.clone(), Arc::clone(inputs));
        Arc::new(Self { start, inputs, told: Mutex::new(warned) })
    }

    pub(crate) fn tell(&self, next: &Config) {
        let mut now = next.warnings.clone();
        now.extend(exposed(next, &self.inputs));
        now.extend(sandbox::not_opened(&self.start, next));
        let mut warned = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for warning in now.iter().filter(|warning| !warned.contains(warning)) {
            tracing::warn!("{warning}");
        }
        *warned = now;
    }
}

/// Describes the configuration files that servers may write to.
pub(crate) fn exposed(config: &Config, inputs: &Inputs) -> Vec<String> {
    sandbox::exposed(config, inputs).iter().map(ToString::to_string).collect()
}

/// Watches the configuration files and applies changes.
pub(crate) struct Follower {
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) docs: DocsSuite,
    pub(crate) hub: Arc<Hub>,
    pub(crate) dial: Arc<Dial>,
    pub(crate) oddities: Arc<Oddities>,
}

/// The watched files and their watcher.
#[derive(Default)]
struct Files {
    paths: Mutex<Vec<PathBuf>>,
    watch: OnceLock<Weak<Watch>>,
    /// Whether an ignored change was logged: repeated changes must not fill the log.
    passed_over: AtomicBool,
}

impl Follower {
    /// Watches until the return value is dropped. Must be called inside a runtime.
    pub(crate) fn start(self, config: &Config) -> Option<Arc<Watch>> {
        let files = Arc::new(Files::default());
        let (runtime, heard) = (Handle::current(), Arc::clone(&files));
        let inputs = Arc::clone(&self.inputs);
        let changed = move |batch: Batch| {
            if heard.are_in(&batch) {
                let _inside = runtime.enter();
                self.hear(&heard);
            }
        };
        let watch = Watch::start(changed)
            .inspect_err(|error| tracing::warn!(%error, "cannot watch the configuration"))
            .ok()
            .map(Arc::new)?;
        files.watch.get_or_init(|| Arc::downgrade(&watch));
        files.set(&inputs, config);
        Some(watch)
    }

    /// Reloads the files, provided that no server could have changed them.
    fn hear(&self, files: &Files) {
        // The current configuration determines who may write where; a signal may have changed it.
        let exposed = sandbox::exposed(&self.dial.config(), &self.inputs);
        if exposed.is_empty() {
            files.passed_over.store(false, Ordering::Relaxed);
            return self.read_again(files);
        }
        if !files.passed_over.swap(true, Ordering::Relaxed) {
            let files = exposed.iter().map(|one| one.file.display().to_string());
            let files = files.collect::<Vec<_>>().join(", ");
            tracing::warn!(
                "configuration change ignored because servers can write to {files}: review the change, and send SIGHUP to apply it"
            );
        }
    }

    fn read_again(&self, files: &Files) {
        let config = match Config::load(&self.inputs) {
            Ok(config) => config,
            Err(error) => {
                tracing::warn!(%error, "the changed configuration is invalid; keeping collections and servers as they are");
                return;
            }
        };
        files.set(&self.inputs, &config);
        self.docs.replace(collections::of(&config));
        logging::mask(&config.secrets());
        servers::reconfigure(&self.hub, &self.dial, &config);
        self.oddities.tell(&config);
    }
}

impl Files {
    fn are_in(&self, batch: &Batch) -> bool {
        let paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        batch.lost || batch.paths.iter().any(|path| paths.contains(path))
    }

    /// Watches the files of a configuration, existing or not, and the files that they name.
    fn set(&self, inputs: &Inputs, config: &Config) {
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
