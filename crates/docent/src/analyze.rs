//! `docent analyze`: the repository suite for people and for continuous integration.

use crate::{
    cli,
    config::{Config, ConfigEnvironment, ConfigFlags, ConfigInputs, regular},
    in_process::{self, ToolReply, ProgressUpdate},
    serve,
};
use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use docent_server::{AuditSink, ServerLimits, ToolPolicy, ServerSetup};
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

/// Whoever waits at a terminal may wait as long as they like.
const CALL_TIMEOUT: Duration = Duration::from_hours(24);
/// A message within one process has no peer to be protected from.
const MAX_MESSAGE_BYTES: usize = 1 << 40;

/// What can be typed after `docent analyze`.
#[derive(Args)]
pub(crate) struct AnalyzeFlags {
    /// Folder to analyse
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// How much to read [default: standard]
    #[arg(long, value_enum, conflicts_with = "check")]
    depth: Option<DepthFlag>,
    /// How to print the result [default: text]
    #[arg(long, value_enum)]
    format: Option<FormatFlag>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Print what is wrong with the documentation instead, and exit with 1 where anything is
    #[arg(long)]
    check: bool,
    /// What --check looks at, comma-separated [default: all]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CHECK", requires = "check")]
    checks: Vec<CheckFlag>,
    /// File to write the result to, in place of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DepthFlag {
    /// Names and sizes
    Quick,
    /// Also lines, dependencies, commands, licence and documents
    Standard,
    /// Also doc coverage, links, drift, history and duplicates
    Deep,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FormatFlag {
    /// A page for the terminal, or a line for each finding
    Text,
    /// Everything, for programs
    Json,
    /// The whole report as Markdown
    Markdown,
    /// The whole report as one page with pictures
    Html,
    /// Findings for code hosts and editors; with --check
    Sarif,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFlag {
    /// Relative links, anchors and pictures
    Links,
    /// Public symbols without a doc comment
    Coverage,
    /// Documents that the code has left behind
    Drift,
    /// What a reader of the README needs
    Readme,
}

/// The word that a flag's value is typed as, which is also the tool's word for it.
fn flag_word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// What a command printed, and how it ended.
pub(crate) struct Printed {
    /// For standard output.
    pub(crate) text: String,
    /// How it ended.
    pub(crate) code: ExitCode,
}

/// Analyses or checks a folder.
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

/// Flags that don't go together, in a way that the parser of the command line can't tell.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

fn check_format(format: FormatFlag, check: bool) -> Result<(), UsageError> {
    let wrongly = |told: String| Err(UsageError(told));
    match (format, check) {
        (FormatFlag::Sarif, false) => wrongly("--format sarif tells findings: add --check".into()),
        (FormatFlag::Markdown | FormatFlag::Html, true) => wrongly(format!(
            "--check prints text, json or sarif; for a {} report leave --check out",
            word(&format)
        )),
        _ => Ok(()),
    }
}

/// The root to serve and the path inside it: a folder of a git work tree is analysed with the history above it.
fn resolve_target(folder: &Path) -> anyhow::Result<(PathBuf, String)> {
    let folder = folder.canonicalize().with_context(|| {
        format!("{} can't be analysed: name a folder that exists", folder.display())
    })?;
    let root = folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&folder);
    let inside = folder.strip_prefix(root).unwrap_or(Path::new(""));
    let path = inside.to_str().with_context(|| format!("{} is not UTF-8", folder.display()))?;
    let path = if path.is_empty() { "." } else { path };
    Ok((root.to_owned(), path.to_owned()))
}

/// One person's own call: no keys, no rates, and no trace in the folder that is looked at unless a file is configured.
fn setup(config: &Config) -> anyhow::Result<ServerSetup> {
    let audit = if config.audit.file.is_some() { serve::audit(config)? } else { AuditSink::off() };
    Ok(personal_setup(config, serve::suites(config)?.providers, audit))
}

/// docent for the one person who runs it.
pub(crate) fn personal_setup(config: &Config, providers: Vec<Arc<dyn ToolProvider>>, audit: AuditSink) -> ServerSetup {
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

/// The findings as text, and whether there are any.
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
