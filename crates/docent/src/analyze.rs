//! `docent analyze`: the repository suite for people and for continuous integration.

use crate::{
    cli,
    config::{Config, ConfigEnvironment, ConfigFlags, ConfigInputs, regular},
    in_process::{self, ProgressUpdate, ToolReply},
    serve,
};
use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use docent_server::{AuditSink, ServerLimits, ServerSetup, ToolPolicy};
use docent_suites::repo::{findings::Findings, render, report::Report};
use docent_tool::ToolProvider;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

/// The timeout of a call from the terminal: practically none.
const CALL_TIMEOUT: Duration = Duration::from_hours(24);
/// The message size limit within one process: there is no untrusted peer.
const MAX_MESSAGE_BYTES: usize = 1 << 40;

/// The flags of `docent analyze`.
#[derive(Args)]
pub(crate) struct AnalyzeFlags {
    /// Folder to analyze
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Depth of the analysis [default: standard]
    #[arg(long, value_enum, conflicts_with = "check")]
    depth: Option<DepthFlag>,
    /// Output format [default: text]
    #[arg(long, value_enum)]
    format: Option<FormatFlag>,
    /// Print JSON, same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Check the documentation instead, and exit 1 if there are findings
    #[arg(long)]
    check: bool,
    /// Checks to run with --check, comma-separated [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CHECK", requires = "check")]
    checks: Vec<CheckFlag>,
    /// File to write the result to instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DepthFlag {
    /// Names and sizes
    Quick,
    /// Also lines, dependencies, commands, license and documents
    Standard,
    /// Also doc coverage, links, drift, history and duplicates
    Deep,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatFlag {
    /// Plain text; with --check, one finding per line
    Text,
    /// The whole report as JSON
    Json,
    /// The whole report as Markdown
    Markdown,
    /// The whole report as one HTML page with charts
    Html,
    /// Findings as SARIF for code hosts and editors; requires --check
    Sarif,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFlag {
    /// Relative links, anchors and images
    Links,
    /// Public symbols without a doc comment
    Coverage,
    /// Documents that no longer match the code
    Drift,
    /// Sections missing from the README
    Readme,
}

/// Returns a flag's value as typed, which is also the tool's argument.
fn flag_word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The output and exit code of a command.
pub(crate) struct Printed {
    /// The text for standard output.
    pub(crate) text: String,
    /// The exit code.
    pub(crate) code: ExitCode,
}

/// Analyzes or checks a folder.
pub(crate) fn run(flags: &AnalyzeFlags, environment: ConfigEnvironment) -> anyhow::Result<Printed> {
    let format =
        if flags.json { FormatFlag::Json } else { flags.format.unwrap_or(FormatFlag::Text) };
    check_format(format, flags.check)?;
    let (root, path) = resolve_target(&flags.folder)?;
    let config = cli::load(&ConfigInputs {
        environment,
        home: std::env::home_dir(),
        working_dir: root.clone(),
        flags: ConfigFlags { roots: vec![root], ..ConfigFlags::default() },
    })?;
    let setup = setup(&config)?;
    let reply = if flags.check {
        let checks: Vec<String> = flags.checks.iter().map(flag_word).collect();
        ask(setup, "check_documentation", json!({"path": path, "checks": checks}))?
    } else {
        let depth = flag_word(&flags.depth.unwrap_or(DepthFlag::Standard));
        ask(setup, "analyze_repository", json!({"path": path, "depth": depth}))?
    };
    if reply.is_error {
        bail!("{}", reply.text.trim().trim_start_matches("Error: "));
    }
    let (text, found) = if flags.check {
        format_findings(&reply, format)?
    } else {
        (format_report(reply, format)?, false)
    };
    let code = ExitCode::from(u8::from(found));
    let Some(file) = &flags.output else { return Ok(Printed { text, code }) };
    let created = regular::create_argument(file);
    let written = created.and_then(|mut report| report.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Printed { text: format!("wrote {}\n", file.display()), code })
}

/// A usage error that clap's parser can't detect.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

fn check_format(format: FormatFlag, check: bool) -> Result<(), UsageError> {
    let usage_error = |message: String| Err(UsageError(message));
    match (format, check) {
        (FormatFlag::Sarif, false) => usage_error("--format sarif requires --check".into()),
        (FormatFlag::Markdown | FormatFlag::Html, true) => usage_error(format!(
            "--check supports text, json and sarif; for a {} report omit --check",
            flag_word(&format)
        )),
        _ => Ok(()),
    }
}

/// Returns the root to serve and the path inside it: for a folder in a git work tree, the root is the work tree.
fn resolve_target(folder: &Path) -> anyhow::Result<(PathBuf, String)> {
    let folder = folder.canonicalize().with_context(|| {
        format!("cannot analyze {}: name a folder that exists", folder.display())
    })?;
    let root = folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&folder);
    let inside = folder.strip_prefix(root).unwrap_or(Path::new(""));
    let path = inside.to_str().with_context(|| format!("{} is not UTF-8", folder.display()))?;
    let path = if path.is_empty() { "." } else { path };
    Ok((root.to_owned(), path.to_owned()))
}

/// The setup for a local call: no keys, no rate limits, and no audit log unless a file is configured.
fn setup(config: &Config) -> anyhow::Result<ServerSetup> {
    let audit = if config.audit.file.is_some() { serve::audit(config)? } else { AuditSink::off() };
    Ok(personal_setup(config, serve::suites(config)?.providers, audit))
}

/// The setup of a server for the local user alone.
pub(crate) fn personal_setup(
    config: &Config,
    providers: Vec<Arc<dyn ToolProvider>>,
    audit: AuditSink,
) -> ServerSetup {
    let limits = ServerLimits {
        message_bytes: MAX_MESSAGE_BYTES,
        page_bytes: MAX_MESSAGE_BYTES,
        tool_timeout: CALL_TIMEOUT,
        rate: None,
        ..ServerLimits::default()
    };
    let served = serve::setup(config, providers, audit);
    let policy = ToolPolicy::default();
    ServerSetup { keys: Vec::new(), auth_required: false, policy, limits, ..served }
}

fn ask(setup: ServerSetup, tool: &str, arguments: Value) -> anyhow::Result<ToolReply> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let bar = ProgressBar::new_spinner();
    bar.enable_steady_tick(Duration::from_millis(100));
    let show = |step: ProgressUpdate| {
        if let Some(total) = step.total.filter(|_| bar.length().is_none()) {
            let style = ProgressStyle::with_template("{spinner} {wide_bar} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_length(total);
        }
        bar.set_position(step.done);
        bar.set_message(step.message);
    };
    let reply = runtime.block_on(in_process::call(setup, tool, arguments, show));
    bar.finish_and_clear();
    reply
}

fn format_report(reply: ToolReply, format: FormatFlag) -> anyhow::Result<String> {
    let parsed = |structured| -> anyhow::Result<Report> {
        serde_json::from_value(structured).context("reading the report")
    };
    Ok(match format {
        FormatFlag::Text | FormatFlag::Sarif => reply.text,
        FormatFlag::Json => format!("{:#}\n", reply.structured),
        FormatFlag::Markdown => render::markdown(&parsed(reply.structured)?),
        FormatFlag::Html => render::html(&parsed(reply.structured)?),
    })
}

/// Formats the findings, and returns whether there are any.
fn format_findings(reply: &ToolReply, format: FormatFlag) -> anyhow::Result<(String, bool)> {
    let found: Findings =
        serde_json::from_value(reply.structured.clone()).context("reading the findings")?;
    let text = match format {
        FormatFlag::Json => format!("{:#}\n", reply.structured),
        FormatFlag::Sarif => format!("{:#}\n", render::sarif(&found)),
        _ => {
            let lines = found.findings.iter().map(|finding| finding.line_of_text() + "\n");
            let more = found.finding_count.saturating_sub(found.findings.len() as u64);
            let more = if more > 0 { format!("and {more} more\n") } else { String::new() };
            format!("{}{more}{}\n", lines.collect::<String>(), found.summary())
        }
    };
    Ok((text, found.finding_count > 0))
}
