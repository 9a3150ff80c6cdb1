//! `docent index`: updates the search index of a folder.

use crate::{
    analyze::Printed,
    cli, collections,
    config::{Config, ConfigEnvironment, ConfigFlags, ConfigInputs},
    embedding,
    index_ownership::IndexFolder,
    serve,
    state::StateDir,
};
use anyhow::Context as _;
use clap::Args;
use docent_files::ManagedFolder;
use docent_index::{
    EmbeddedStore, EmbeddedStoreSettings, IndexStoreError, LockWait,
    embed::{Embedder, EmbeddingTable},
};
use docent_suites::{
    docs::{self, CollectionSettings, DocsReport},
    files::ServedRoots,
    indexing::{self, ExcludedFiles, IndexReport, OpenedStore, StoreOpener, SyncCallbacks},
};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// How long a server waits for another process that writes the index: it may be building all of it.
const INDEX_LOCK_TIMEOUT: Duration = Duration::from_mins(10);
/// Problems that are listed; more are counted.
const MAX_LISTED_PROBLEMS: usize = 10;

/// The flags of `docent index`.
#[derive(Args)]
pub(crate) struct IndexFlags {
    /// Folder to index [default: the configured roots, or else the working directory]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Keep running until Ctrl-C, and update the index whenever files change
    #[arg(long)]
    watch: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The roots and collections to index, and the folder of the index.
pub(crate) struct IndexTarget {
    pub(crate) config: Config,
    pub(crate) roots: ServedRoots,
    pub(crate) collections: Vec<CollectionSettings>,
    folder: ManagedFolder,
}

impl IndexTarget {
    /// Opens the named folder, or else the configured roots.
    pub(crate) fn open(
        folder: Option<&Path>,
        environment: ConfigEnvironment,
    ) -> anyhow::Result<Self> {
        let named = folder.map(|folder| {
            folder.canonicalize().with_context(|| {
                format!("cannot index {}: name a folder that exists", folder.display())
            })
        });
        let roots: Vec<PathBuf> = named.into_iter().collect::<Result<_, _>>()?;
        let working_dir = match roots.first() {
            Some(root) => root.clone(),
            None => std::env::current_dir().context("cannot determine the working directory")?,
        };
        Self::from_config(cli::load(&ConfigInputs {
            environment,
            home: std::env::home_dir(),
            working_dir,
            flags: ConfigFlags { roots, ..ConfigFlags::default() },
        })?)
    }

    /// The configured roots and collections.
    pub(crate) fn from_config(config: Config) -> anyhow::Result<Self> {
        let roots = serve::roots(&config)?;
        let collections = collections::configured_collections(&config);
        let shelved = docs::collection_places(&roots, &collections);
        let roots = roots.with_collection_places(shelved);
        let state = StateDir::open(&config)?;
        if let Some(unfit) = state.unusable_root_reason() {
            writeln!(io::stderr(), "warning: {unfit}").unwrap_or_default();
        }
        let IndexFolder { folder, warning } =
            state.index(&config).context("cannot clear an index that docent may not own")?;
        if let Some(warning) = warning {
            writeln!(io::stderr(), "warning: {warning}").unwrap_or_default();
        }
        Ok(Self { config, roots, collections, folder })
    }

    /// Opens the index for an embedder. Waits up to `patience` for another process that is writing it.
    pub(crate) fn store(
        &self,
        embedder: Arc<dyn Embedder>,
        patience: Duration,
    ) -> Result<EmbeddedStore, IndexStoreError> {
        let settings = EmbeddedStoreSettings {
            lock_timeout: patience,
            on_wait: Some(print_wait),
            ..EmbeddedStoreSettings::default()
        };
        EmbeddedStore::open(self.folder.clone(), embedder, settings)
    }

    /// Updates the index, with a progress bar on a terminal.
    pub(crate) fn sync(&self, store: &EmbeddedStore) -> Result<IndexReport, IndexStoreError> {
        progress(|callbacks| indexing::sync(&self.roots, store, callbacks))
    }

    /// Updates the index of the wanted collections, with a progress bar on a terminal.
    pub(crate) fn sync_docs(
        &self,
        store: &EmbeddedStore,
        wanted: &(dyn Fn(&CollectionSettings) -> bool + Sync),
    ) -> Result<DocsReport, IndexStoreError> {
        progress(|callbacks| docs::sync(&self.roots, &self.collections, wanted, store, callbacks))
    }
}

/// Runs some work with a progress bar on a terminal.
pub(crate) fn progress<T>(work: impl FnOnce(SyncCallbacks<'_>) -> T) -> T {
    let bar = bar();
    let progress = |done, total| show(&bar, done, total);
    let done = work(SyncCallbacks { progress: &progress, ..SyncCallbacks::default() });
    bar.finish_and_clear();
    done
}

/// Returns a function that opens the index of the configured roots when a server needs it.
pub(crate) fn opener(config: Config) -> StoreOpener {
    Arc::new(move || {
        let IndexFolder { folder, warning } = StateDir::open(&config)?.index(&config)?;
        if let Some(warning) = warning {
            tracing::warn!("{warning}");
        }
        let open = |embedder: Arc<dyn Embedder>| -> Result<OpenedStore, IndexStoreError> {
            let patience = INDEX_LOCK_TIMEOUT;
            let settings = EmbeddedStoreSettings {
                lock_timeout: patience,
                on_wait: Some(log_wait),
                ..EmbeddedStoreSettings::default()
            };
            let store = EmbeddedStore::open(folder.clone(), Arc::clone(&embedder), settings)?;
            Ok(OpenedStore { store: Arc::new(store), embedder })
        };
        match embedding::connect(&config) {
            Ok(embedder) => Ok(open(embedder)?),
            // An existing index can still be searched by words.
            Err(error) => {
                let stored = open(EmbeddingTable::built_in())?.store.status()?;
                let away = embedding::UnreachableModel::new(&config, stored.identity, error);
                Ok(open(Arc::new(away))?)
            }
        }
    })
}

/// Reports the wait on standard error. Standard output is for the result, with `--json` too.
fn print_wait(wait: &LockWait<'_>) {
    let began = SystemTime::now().checked_sub(wait.waited).unwrap_or(UNIX_EPOCH);
    writeln!(io::stderr(), "{}", describe_wait(wait, began)).unwrap_or_default();
}

/// Whether this process id exists and runs this program.
fn is_docent(process: u32) -> bool {
    let name = |link: &str| Some(std::fs::read_link(link).ok()?.file_name()?.to_owned());
    let own = name("/proc/self/exe");
    own.is_some() && own == name(&format!("/proc/{process}/exe"))
}

fn describe_wait(wait: &LockWait<'_>, began: SystemTime) -> String {
    let (holder, advice) = match wait.holder {
        Some(holder) if is_docent(holder) => {
            (format!("process {holder}"), format!("let it finish, or end it with: kill {holder}"))
        }
        // The id may belong to a process in a container, or to one that has ended.
        _ => ("another process".into(), "let it finish, or end that process".into()),
    };
    let second = began.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() % (24 * 60 * 60);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!(
        "waiting for the index in {}: {holder} is writing to it (waiting since {hour:02}:{minute:02}:{second:02} UTC, for {} s at most); {advice}",
        wait.folder.display(),
        wait.patience.as_secs(),
    )
}

fn log_wait(wait: &LockWait<'_>) {
    tracing::warn!(
        folder = %wait.folder.display(),
        holder = wait.holder,
        waited_seconds = wait.waited.as_secs(),
        "waiting for the index: another process is writing to it"
    );
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn show(bar: &ProgressBar, done: usize, total: usize) {
    if bar.is_finished() {
        return;
    }
    if bar.length().is_none() {
        let style = ProgressStyle::with_template(
            "{spinner} {wide_bar} {pos}/{len} files, {per_sec:.0}, {eta} left",
        );
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_length(total as u64);
    }
    bar.set_position(done as u64);
}

/// Indexes a folder.
pub(crate) fn run(flags: &IndexFlags, environment: ConfigEnvironment) -> anyhow::Result<Printed> {
    let site = IndexTarget::open(flags.folder.as_deref(), environment)?;
    let embedder = embedding::connect(&site.config)?;
    let store = site.store(embedder, EmbeddedStoreSettings::default().lock_timeout)?;
    if flags.watch {
        watch(&site, &store, flags.json)?;
        return Ok(Printed { text: String::new(), code: ExitCode::SUCCESS });
    }
    let report = site.sync(&store)?;
    let text = if flags.json { format!("{:#}\n", json!(report)) } else { format_report(&report) };
    Ok(Printed { text, code: ExitCode::SUCCESS })
}

/// Keeps the index up to date until a signal arrives, and prints a report of each run, with `--json` one line each.
fn watch(site: &IndexTarget, store: &EmbeddedStore, json: bool) -> anyhow::Result<()> {
    let ended = CancellationToken::new();
    let bar = bar();
    let progress = |done, total| show(&bar, done, total);
    let stopped = || ended.is_cancelled();
    let callbacks = SyncCallbacks { progress: &progress, stopped: &stopped };
    let mut failed = Ok(());
    let followed = indexing::follow(&site.roots, store, callbacks, |report| {
        let printed = if bar.is_finished() {
            Ok(())
        } else {
            bar.finish_and_clear();
            // Until here a signal ends docent at once: the first run may be long, and little is lost.
            end_on_signal(ended.clone())
        };
        let printed = printed.and_then(|()| match report {
            Ok(report) if json => cli::print(&format!("{}\n", json!(report))),
            Ok(report) => cli::print(&format_report(&report)),
            Err(error) => {
                let error = anyhow::Error::from(error);
                writeln!(io::stderr(), "error: {error:#}; will retry on the next change")
                    .context("can't write to standard error")
            }
        });
        if printed.is_err() {
            ended.cancel();
            failed = printed;
        }
    });
    bar.finish_and_clear();
    followed?;
    failed
}

/// Cancels the token on SIGINT or SIGTERM.
fn end_on_signal(ended: CancellationToken) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let inside = runtime.enter();
    let mut interrupted = signal(SignalKind::interrupt()).context("cannot handle signals")?;
    let mut terminated = signal(SignalKind::terminate()).context("cannot handle signals")?;
    drop(inside);
    thread::Builder::new().name("docent-signals".into()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
            }
        });
        ended.cancel();
    })?;
    Ok(())
}

fn format_report(report: &IndexReport) -> String {
    let mut text = String::new();
    for line in repairs(report) {
        writeln!(text, "{line}").unwrap_or_default();
    }
    let IndexReport { changed, removed, units, seconds, .. } = report;
    let (files, units) = (count(report.files, "file"), count(*units, "unit"));
    write!(text, "{files}, {units}: {changed} changed, {removed} removed, {seconds:.2} s")
        .unwrap_or_default();
    if let Some(left_out) = format_left_out(report.left_out) {
        write!(text, "; left out: {left_out}").unwrap_or_default();
    }
    let problems = &report.problems;
    if !problems.is_empty() {
        write!(text, "; not indexed, because of {}:", count(problems.len(), "problem"))
            .unwrap_or_default();
        for problem in problems.iter().take(MAX_LISTED_PROBLEMS) {
            write!(text, "\n  {problem}").unwrap_or_default();
        }
        if let Some(more) = problems.len().checked_sub(MAX_LISTED_PROBLEMS).filter(|more| *more > 0)
        {
            write!(text, "\n  and {more} more").unwrap_or_default();
        }
    }
    text.push('\n');
    text
}

/// `2 vendored, 1 minified`.
fn format_left_out(files: ExcludedFiles) -> Option<String> {
    let ExcludedFiles { vendored, generated, minified, too_large } = files;
    let counts = [
        (vendored, "vendored"),
        (generated, "generated"),
        (minified, "minified"),
        (too_large, "too large"),
    ];
    let parts = counts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, why)| format!("{count} {why}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Describes repairs that were needed before the index could be used.
pub(crate) fn repairs(report: &IndexReport) -> Vec<String> {
    let rebuilt = report.rebuilt.as_ref().map(|why| format!("Rebuilt the whole index: {why}."));
    let model = report.reembedded.as_ref();
    let embedded = model.map(|model| format!("Recomputed all embeddings: they were from {model}."));
    rebuilt.into_iter().chain(embedded).collect()
}

/// `1 file`, `2 files`.
pub(crate) fn count(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_suites::files::ReadFailure;

    fn report(problems: usize) -> IndexReport {
        let problem = |n| ReadFailure { path: format!("{n}.py"), reason: "not text".into() };
        IndexReport {
            files: 1,
            changed: 1,
            removed: 0,
            units: 12,
            generation: 3,
            seconds: 0.0512,
            stopped: false,
            rebuilt: None,
            reembedded: None,
            added: 0,
            left_out: ExcludedFiles::default(),
            problems: (0..problems).map(problem).collect(),
        }
    }

    #[test]
    fn a_report_is_one_line() {
        assert_eq!(format_report(&report(0)), "1 file, 12 units: 1 changed, 0 removed, 0.05 s\n");
        let with_one = format_report(&report(1));
        assert!(with_one.ends_with("; not indexed, because of 1 problem:\n  0.py: not text\n"));
        let left_out = ExcludedFiles { vendored: 2, too_large: 1, ..ExcludedFiles::default() };
        let with_left_out = format_report(&IndexReport { left_out, ..report(0) });
        assert!(
            with_left_out.ends_with("; left out: 2 vendored, 1 too large\n"),
            "{with_left_out}"
        );
        let many = format_report(&report(12));
        assert!(many.ends_with("\n  9.py: not text\n  and 2 more\n"), "{many}");
        assert!(!format_report(&report(10)).contains("more"));
    }

    #[test]
    fn repairs_come_first() {
        let reembedded = Some("old (3 dimensions)".into());
        let report = IndexReport { rebuilt: Some("it was cut".into()), reembedded, ..report(0) };
        let want = "Rebuilt the whole index: it was cut.\nRecomputed all embeddings: they were from old (3 dimensions).\n1 file";
        assert!(format_report(&report).starts_with(want), "{}", format_report(&report));
    }
}
