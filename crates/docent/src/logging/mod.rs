//! Owns log lines, including panics: which are written, where, in which format, with secrets masked. Also passes spans
//! to the exporter.
//!
//! Never writes to standard output, which belongs to the protocol.

mod panics;
mod recent;
mod redact;
mod telemetry;

pub(crate) use recent::lines_between;
pub use redact::Redactor;
pub use telemetry::{parent_from, set_parent};

use crate::{
    config::{Config, LogFormat, LogLevel, LoggingConfig, SecretText, TransportKind},
    state::resolve_folder,
};
use anyhow::Context as _;
use docent_files::{FileAccess, ManagedFolder};
use opentelemetry_sdk::trace::SdkTracerProvider;
use redact::MaskingWriter;
use std::{
    fs::File,
    io::{self, IsTerminal},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, PoisonError, RwLock},
};
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::{LevelFilter, Targets, filter_fn},
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
};

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Keeps the span exporter alive; dropping it sends the last spans.
#[must_use = "the last spans are sent when this is dropped"]
pub struct TelemetryGuard {
    provider: Option<SdkTracerProvider>,
}

impl Drop for TelemetryGuard {
    fn drop(&mut self) {
        if let Some(provider) = &self.provider {
            telemetry::finish(provider);
        }
    }
}

/// Sets up logging for the whole process. Must be called once, before the runtime starts.
pub fn init(config: &Config) -> anyhow::Result<TelemetryGuard> {
    let logging = &config.server.logging;
    let redactor = Redactor::new(&config.secrets());
    REDACTOR.set(redactor.clone()).unwrap_or_default();
    panics::install_hook();
    let colors = io::stderr().is_terminal() && !logging.no_color;
    let mut layers: Vec<BoxedLayer> =
        vec![lines(logging, MaskedStderr(redactor.clone(), colors), colors)?];
    if let Some(path) = &logging.file {
        let path = resolve_folder(path);
        let file = open(&path).with_context(|| {
            format!("cannot open the log file {} (server.logging.file)", path.display())
        })?;
        let file: SharedLogFile = Arc::new(RwLock::new(Arc::new(file)));
        layers.push(lines(logging, LogFile(Arc::clone(&file), redactor.clone()), false)?);
        LOG_FILE.set((path, file)).unwrap_or_default();
    }
    // Only a network listener has an inspector.
    if config.server.inspector && config.server.transports != [TransportKind::Stdio] {
        layers.push(recent::RecentLines(redactor).with_filter(directives(logging)).boxed());
    }
    let mut provider = None;
    if let Some(endpoint) = &config.telemetry.otlp_endpoint {
        let (started, tracer) =
            telemetry::start(endpoint, &config.telemetry).with_context(|| {
                format!("cannot export spans to {endpoint} (telemetry.otlp_endpoint)")
            })?;
        let ours =
            Targets::new().with_targets([("docent", LogLevel::Info), ("mcp", LogLevel::Info)]);
        // Events inside spans are not exported: only log output is masked.
        let spans = filter_fn(move |metadata| {
            metadata.is_span() && ours.would_enable(metadata.target(), metadata.level())
        });
        layers.push(tracing_opentelemetry::layer().with_tracer(tracer).with_filter(spans).boxed());
        provider = Some(started);
    }
    tracing::subscriber::set_global_default(Registry::default().with(layers))
        .context("logging is already set up")?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    Ok(TelemetryGuard { provider })
}

/// Whether `DEBUG` names one of docent's log targets.
pub(crate) fn traces(config: &Config) -> bool {
    debug_names(&config.server.logging).any(|name| debug_target(name).is_some())
}

fn debug_names(logging: &LoggingConfig) -> impl Iterator<Item = &str> {
    logging.debug.as_deref().unwrap_or_default().split([',', ' ']).map(str::trim)
}

/// Creates a layer that writes lines to one output.
fn lines<W>(logging: &LoggingConfig, writer: W, colors: bool) -> anyhow::Result<BoxedLayer>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let layer = fmt::layer().with_writer(writer).with_ansi(colors);
    let layer = match logging.format {
        LogFormat::Text => layer.boxed(),
        LogFormat::Json => layer.json().boxed(),
    };
    let directives = directives(logging);
    Ok(match &logging.rust_log {
        Some(text) => {
            let filter = EnvFilter::try_new(text).with_context(|| {
                format!("RUST_LOG={text} is not a valid filter; example: info,mcp::protocol=debug")
            })?;
            layer.with_filter(filter).boxed()
        }
        None => layer.with_filter(directives).boxed(),
    })
}

/// Returns the default filter: docent at the configured level, its dependencies one level quieter, and the targets in
/// `DEBUG`.
fn directives(logging: &LoggingConfig) -> Targets {
    let others = match logging.level {
        LogLevel::Error => LogLevel::Error,
        LogLevel::Warn | LogLevel::Info => LogLevel::Warn,
        LogLevel::Debug | LogLevel::Trace => LogLevel::Info,
    };
    let mut targets = Targets::new()
        .with_default(others)
        .with_targets([("docent", logging.level), ("mcp", logging.level)]);
    if !matches!(logging.level, LogLevel::Debug | LogLevel::Trace) {
        // The SDK warns of every error response and every disconnect: both are normal.
        targets = targets.with_target("rmcp", LevelFilter::OFF);
    }
    for target in debug_names(logging).filter_map(debug_target) {
        // A name in DEBUG adds lines, and never removes lines that the level shows.
        if logging.level != LogLevel::Trace {
            targets = target
                .iter()
                .fold(targets, |targets, target| targets.with_target(*target, LogLevel::Debug));
        }
    }
    targets
}

/// Returns the log targets of a name in `DEBUG`. Other programs use the variable too: their names are ignored.
fn debug_target(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "*" => Some(&["mcp", "docent"]),
        "mcp" | "mcp:*" => Some(&["mcp"]),
        "mcp:protocol" | "mcp:protocol:*" => Some(&["mcp::protocol"]),
        "docent" | "docent:*" => Some(&["docent"]),
        "docent:tools" | "docent:tools:*" => Some(&["docent::tools"]),
        _ => None,
    }
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
            LogLevel::Trace => Self::TRACE,
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    let folder = ManagedFolder::exact(path.parent().unwrap_or(Path::new("/")));
    folder.make(FileAccess::Private)?;
    let name = path.file_name().unwrap_or_default();
    if folder.status(name)?.is_some_and(|there| there.is_channel()) {
        let reason = "a named pipe or a socket; use a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    Ok(folder.append(name, FileAccess::Private)?.into_file())
}

struct MaskedStderr(Redactor, bool);

impl<'a> MakeWriter<'a> for MaskedStderr {
    type Writer = MaskingWriter<io::Stderr>;

    /// Locked for each whole line while it is written, but not while it is searched for secrets.
    fn make_writer(&'a self) -> Self::Writer {
        MaskingWriter { inner: io::stderr(), redactor: self.0.clone(), colors: self.1 }
    }
}

/// Opened for appending, so that each line is one write at the end of the file, even with other writers.
struct LogFile(SharedLogFile, Redactor);

/// A file that can be reopened.
type SharedLogFile = Arc<RwLock<Arc<File>>>;

/// The log file of this process, for [`reopen`].
static LOG_FILE: OnceLock<(PathBuf, SharedLogFile)> = OnceLock::new();

/// The redactor of every line.
static REDACTOR: OnceLock<Redactor> = OnceLock::new();

/// Masks secrets in a text, as in a log line.
pub(crate) fn mask_text(text: &str) -> String {
    match REDACTOR.get() {
        Some(redactor) => redactor.mask(text).into_owned(),
        None => text.to_owned(),
    }
}

/// Adds secrets to mask in every line from now on.
pub(crate) fn mask_secrets(secrets: &[SecretText]) {
    if let Some(redactor) = REDACTOR.get() {
        redactor.add_secrets(secrets);
    }
}

/// Reopens the log file by name, after log rotation has moved the open one.
pub(crate) fn reopen() {
    let Some((path, kept)) = LOG_FILE.get() else { return };
    match open(path) {
        Ok(file) => *kept.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(file),
        Err(error) => {
            tracing::error!(%error, path = %path.display(), "cannot reopen the log file");
        }
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = MaskingWriter<Arc<File>>;

    fn make_writer(&'a self) -> Self::Writer {
        let file = Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner));
        MaskingWriter { inner: file, redactor: self.1.clone(), colors: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level as Tracing;

    /// The least severe level that each of the four targets is written at.
    #[track_caller]
    fn check(level: LogLevel, debug: &str, want: [Tracing; 4]) {
        let debug = (!debug.is_empty()).then(|| debug.to_owned());
        let logging = LoggingConfig {
            level,
            file: None,
            format: LogFormat::Text,
            rust_log: None,
            debug,
            no_color: true,
        };
        let targets = directives(&logging);
        let all = [Tracing::TRACE, Tracing::DEBUG, Tracing::INFO, Tracing::WARN, Tracing::ERROR];
        let got = ["mcp::protocol", "mcp::session", "docent::tools", "hyper"].map(|target| {
            all.into_iter()
                .find(|level| targets.would_enable(target, level))
                .unwrap_or(Tracing::ERROR)
        });
        assert_eq!(got, want, "{level:?} {:?}", logging.debug);
    }

    #[test]
    fn levels_and_debug_names_choose_targets() {
        const D: Tracing = Tracing::DEBUG;
        const I: Tracing = Tracing::INFO;
        const W: Tracing = Tracing::WARN;
        const T: Tracing = Tracing::TRACE;
        check(LogLevel::Info, "", [I, I, I, W]);
        check(LogLevel::Info, "mcp:protocol", [D, I, I, W]);
        check(LogLevel::Info, "mcp:*", [D, D, I, W]);
        check(LogLevel::Info, "docent:tools", [I, I, D, W]);
        check(LogLevel::Warn, "docent:tools, mcp:protocol", [D, W, D, W]);
        check(LogLevel::Info, "*", [D, D, D, W]);
        check(LogLevel::Info, "express:*,1", [I, I, I, W]);
        check(LogLevel::Debug, "", [D, D, D, I]);
        check(LogLevel::Trace, "mcp:*", [T, T, T, I]);
        check(LogLevel::Error, "", [Tracing::ERROR; 4]);
    }

    #[test]
    fn the_sdk_is_heard_only_when_everything_is() {
        let heard = |level| {
            let logging = LoggingConfig {
                level,
                file: None,
                format: LogFormat::Text,
                rust_log: None,
                debug: None,
                no_color: true,
            };
            directives(&logging).would_enable("rmcp::service", &Tracing::ERROR)
        };
        assert_eq!(
            [LogLevel::Warn, LogLevel::Info, LogLevel::Debug].map(heard),
            [false, false, true]
        );
    }
}
