//! `docent audit`: verifies, prints and summarizes the audit log.

use crate::{analyze::Printed, cli, config::ConfigInputs, state::StateDir};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use docent_audit::{
    AuditFilter, AuditLine, ChainHead, VerifyOptions, VerifyProblem, VerifyProblemKind,
};
use std::{
    fmt::Write as _,
    fs, io,
    ops::ControlFlow,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, SystemTime},
};

/// How often a followed log is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The subcommands of `docent audit`.
#[derive(Subcommand)]
pub(crate) enum AuditCommand {
    /// Verify that no line was changed, removed or inserted; exits 1 if one was
    Verify {
        /// Last line known to have been written, as SEQ:HASH
        #[arg(long, value_name = "SEQ:HASH")]
        expect: Option<ChainHead>,
        /// Accept missing older files: another tool, such as logrotate, moves them away
        #[arg(long)]
        rotated_elsewhere: bool,
        #[command(flatten)]
        common: AuditCommonArgs,
    },
    /// Show the last entries
    Tail {
        /// Number of entries
        #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
        lines: usize,
        /// Keep printing new entries
        #[arg(short, long)]
        follow: bool,
        #[command(flatten)]
        filter: FilterFlags,
        #[command(flatten)]
        common: AuditCommonArgs,
    },
    /// Count calls by tool, caller and outcome, with their durations
    Stats {
        /// Only the last N minutes
        #[arg(long, value_name = "MINUTES")]
        minutes: Option<u64>,
        #[command(flatten)]
        common: AuditCommonArgs,
    },
}

/// Flags that select entries.
#[derive(Args)]
pub(crate) struct FilterFlags {
    /// Only entries of this caller
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// Only entries of this tool, address or prompt
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only entries with this outcome, such as ok, error or refused
    #[arg(long, value_name = "OUTCOME")]
    outcome: Option<String>,
    /// Only failed calls
    #[arg(long)]
    failed: bool,
}

/// Flags of every `audit` command.
#[derive(Args)]
pub(crate) struct AuditCommonArgs {
    /// Log file [default: the configured one]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Root whose log to read [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Configuration file to read instead of the root's own
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl AuditCommonArgs {
    /// Returns the path of the log and the key of its chain. The log must exist unless `may_come` is set.
    fn log(
        &self,
        inputs: &ConfigInputs,
        may_come: bool,
    ) -> anyhow::Result<(PathBuf, Option<Vec<u8>>)> {
        let config = cli::load(inputs)?;
        let path = match (&self.file, &config.audit.file) {
            (Some(file), _) => inputs.working_dir.join(file),
            (None, Some(file)) => file.clone(),
            (None, None) => StateDir::open(&config)?.path().join("audit.jsonl"),
        };
        let found = fs::symlink_metadata(&path);
        let is_gone = found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        if is_gone && !may_come && docent_audit::files(&path).is_empty() {
            let why = match (&self.file, config.audit.enabled) {
                (Some(_), _) => "name the file that docent writes to, or omit --file",
                (None, true) => "docent creates it with the first call",
                (None, false) => "set `audit.enabled` to true to record calls",
            };
            bail!("no calls recorded yet: {} does not exist; {why}", path.display());
        }
        Ok((path, config.audit.settings.key))
    }
}

impl AuditCommand {
    /// Returns the flags to load the configuration with.
    pub(crate) fn flags(&self) -> crate::config::ConfigFlags {
        let (Self::Verify { common, .. } | Self::Tail { common, .. } | Self::Stats { common, .. }) =
            self;
        let (roots, config_file) = (common.root.clone(), common.config.clone());
        crate::config::ConfigFlags { roots, config_file, ..Default::default() }
    }
}

/// Runs an `audit` command.
pub(crate) fn run(command: AuditCommand, inputs: &ConfigInputs) -> anyhow::Result<Printed> {
    match command {
        AuditCommand::Verify { expect, rotated_elsewhere, common } => {
            let (path, key) = common.log(inputs, false)?;
            let check = VerifyOptions { key: key.as_deref(), expect, rotated_elsewhere };
            let report = docent_audit::verify(&path, &check)?;
            let mut text = if common.json { json(&report)? } else { format!("{report}\n") };
            let moved = |problem: &VerifyProblem| {
                matches!(problem.what, VerifyProblemKind::MovedAway { .. })
            };
            if !common.json && report.problems.iter().any(moved) {
                text.push_str("If your own tool moves the files, use --rotated-elsewhere.\n");
            }
            Ok(Printed { text, code: ExitCode::from(u8::from(!report.is_intact())) })
        }
        AuditCommand::Stats { minutes, common } => {
            let (path, _) = common.log(inputs, false)?;
            let since = minutes.and_then(|minutes| {
                SystemTime::now().checked_sub(Duration::from_secs(minutes.saturating_mul(60)))
            });
            let stats = docent_audit::stats(&path, since)?;
            let text = if common.json { json(&stats)? } else { format!("{stats}\n") };
            Ok(Printed { text, code: ExitCode::SUCCESS })
        }
        AuditCommand::Tail { lines, follow, filter, common } => {
            // With --follow, a log that does not exist yet is printed from its first line.
            let (path, _) = common.log(inputs, follow)?;
            let lines = if path.exists() { lines } else { 0 };
            let filter = AuditFilter {
                principal: filter.principal,
                target: filter.tool,
                outcome: filter.outcome,
                failed: filter.failed,
                since: None,
                until: None,
            };
            let mut text = String::new();
            for line in docent_audit::tail(&path, lines, &filter)? {
                writeln!(text, "{}", format_line(&line, common.json)?).unwrap_or_default();
            }
            if follow {
                cli::print(&text)?;
                text.clear();
                follow_log(&path, &filter, common.json)?;
            }
            Ok(Printed { text, code: ExitCode::SUCCESS })
        }
    }
}

/// Prints each new line until it is interrupted.
fn follow_log(path: &std::path::Path, filter: &AuditFilter, as_json: bool) -> anyhow::Result<()> {
    let mut failed = None;
    let mut each = |line: AuditLine| {
        let printed = format_line(&line, as_json).and_then(|text| cli::print(&format!("{text}\n")));
        match printed {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    };
    docent_audit::follow(path, filter, POLL_INTERVAL, &mut each)?;
    failed.map_or(Ok(()), Err)
}

fn format_line(line: &AuditLine, as_json: bool) -> anyhow::Result<String> {
    if as_json { Ok(serde_json::to_string(line)?) } else { Ok(line.to_string()) }
}

fn json(value: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(format!("{:#}\n", serde_json::to_value(value).context("cannot convert the report to JSON")?))
}
