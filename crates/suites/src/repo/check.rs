//! The tool `check_documentation`: turns an analysis into findings that can be fixed one by one.

use super::{
    LOGGER,
    analysis::RepositoryAnalysis,
    analysis_scope::AnalysisScope,
    analyze::phase,
    findings::{Check, Finding, Findings},
    folder, render,
    report::{
        BrokenLink, Depth, LinkProblem, MentionKind, Outdated, ReadmeItem, Report, Severity, Stale,
        Undocumented,
    },
    text::{counted, grouped},
};
use crate::files::ServedRoots;
use docent_tool::{AnswerBlock, CallContext, SyslogLevel, ToolAnswer, ToolError, TypedTool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// More findings than this are counted and not listed.
const MAX_LISTED_FINDINGS: usize = 1000;
/// More findings than this are left out of the text.
const MAX_FINDINGS_IN_TEXT: usize = 30;

/// `check_documentation`: links, coverage, drift and the README, as findings.
#[derive(Debug)]
pub struct CheckDocumentation {
    pub(super) roots: ServedRoots,
}

/// Format of the findings in the text result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One line per finding.
    #[default]
    Text,
    /// The structured result as JSON.
    Json,
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
}

/// Arguments of `check_documentation`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckArgs {
    /// Folder to check: relative to the root (`.` is the root itself), or absolute inside a root.
    #[schemars(length(min = 1))]
    pub path: String,
    /// Checks to run; all by default.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Format of the text result.
    #[serde(default)]
    pub format: Format,
}

impl TypedTool for CheckDocumentation {
    const NAME: &'static str = "check_documentation";
    const TITLE: &'static str = "Check documentation";
    const DESCRIPTION: &'static str = "Check a repository's documentation: broken links and anchors, public symbols without \
        doc comments, documents that mention things that no longer exist or that are older than their code, and missing \
        README sections. Every finding has a file, line, severity and fix.";
    type Args = CheckArgs;
    type Answer = Findings;

    async fn call(
        &self,
        args: CheckArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<Findings>, ToolError> {
        let place = folder(&self.roots, &args.path)?;
        let mut checks = args.checks;
        if checks.is_empty() {
            checks = vec![Check::Links, Check::Coverage, Check::Drift, Check::Readme];
        }
        checks.sort_unstable();
        checks.dedup();
        let parts = AnalysisScope::of_checks(&checks);
        let analysis = RepositoryAnalysis::new(self.roots.clone(), place, Depth::Deep, parts);
        let slot = context.wait_for_work_slot().await?;
        let (analysis, slot) = phase(analysis, slot, context, RepositoryAnalysis::walk).await?;
        let (analysis, slot) =
            phase(analysis, slot, context, RepositoryAnalysis::read_manifests).await?;
        let (analysis, slot) =
            phase(analysis, slot, context, RepositoryAnalysis::read_contents).await?;
        let (mut analysis, slot) =
            phase(analysis, slot, context, RepositoryAnalysis::compare).await?;
        drop(slot);
        analysis.conclude(context);
        let findings = collect(analysis.report, checks);
        let event = json!({
            "message": format!("Documentation check completed: {}", counted(findings.finding_count, "finding")),
            "path": findings.path, "findings": findings.finding_count,
        });
        context.log(SyslogLevel::Info, LOGGER, event);
        let partial = !findings.missing.is_empty();
        let output = render(&findings, args.format)?;
        let answer =
            ToolAnswer { structured: findings, content: vec![AnswerBlock::text(output)], partial };
        Ok(answer)
    }
}

fn render(findings: &Findings, format: Format) -> Result<String, ToolError> {
    match format {
        Format::Text => Ok(text(findings)),
        Format::Json => {
            serde_json::to_string(findings).map_err(|error| ToolError::Bug(Box::new(error)))
        }
        Format::Sarif => Ok(render::sarif(findings).to_string()),
    }
}

fn text(findings: &Findings) -> String {
    let mut lines = vec![findings.summary()];
    lines.extend(findings.findings.iter().take(MAX_FINDINGS_IN_TEXT).map(Finding::line_of_text));
    let more = findings.finding_count.saturating_sub(MAX_FINDINGS_IN_TEXT as u64);
    if more > 0 {
        let rest = "see the structured result, or narrow the checks or the folder";
        lines.push(format!("and {} more: {rest}.", grouped(more)));
    }
    lines.join("\n") + "\n"
}

/// Converts the report into findings.
fn collect(report: Report, checks: Vec<Check>) -> Findings {
    let mut all: Vec<Finding> = Vec::new();
    let mut beyond = 0;
    if let Some(links) = report.links.filter(|_| checks.contains(&Check::Links)) {
        beyond += links.broken_count.saturating_sub(links.broken.len() as u64);
        all.extend(links.broken.into_iter().map(link));
    }
    if let Some(coverage) = report.coverage.filter(|_| checks.contains(&Check::Coverage)) {
        let listed = coverage.undocumented.len() as u64;
        beyond += (coverage.public - coverage.documented).saturating_sub(listed);
        all.extend(coverage.undocumented.into_iter().map(undocumented));
    }
    if let Some(drift) = report.drift.filter(|_| checks.contains(&Check::Drift)) {
        beyond += drift.stale_count.saturating_sub(drift.stale.len() as u64);
        all.extend(drift.stale.into_iter().map(stale));
        all.extend(drift.outdated.into_iter().map(outdated));
    }
    if checks.contains(&Check::Readme) {
        match report.documentation.and_then(|found| found.readme) {
            Some(readme) => {
                let lacking = readme.items.into_iter().filter(|item| !item.found);
                all.extend(lacking.map(|item| lacking_item(&readme.path, &item)));
            }
            None if report.complete && report.presence.readme.is_none() => all.push(no_readme()),
            None => {}
        }
    }
    let finding_count = all.len() as u64 + beyond;
    all.sort_by(|a, b| {
        (a.severity, &a.file, a.line, &a.rule).cmp(&(b.severity, &b.file, b.line, &b.rule))
    });
    all.truncate(MAX_LISTED_FINDINGS);
    Findings {
        path: report.path,
        checks,
        findings: all,
        finding_count,
        missing: report.missing,
        problems: report.problems,
        problem_count: report.problem_count,
    }
}

fn link(link: BrokenLink) -> Finding {
    let (rule, what) = match link.problem {
        LinkProblem::MissingFile => ("missing-file", "points to a file that does not exist"),
        LinkProblem::MissingAnchor => ("missing-anchor", "points to a heading that does not exist"),
        LinkProblem::MissingImage => ("missing-image", "shows an image that does not exist"),
        LinkProblem::WrongCase => {
            ("wrong-case", "differs from the file name in upper and lower case")
        }
        LinkProblem::Outside => ("outside", "points outside the repository"),
    };
    let severity = match link.problem {
        LinkProblem::MissingFile | LinkProblem::MissingImage => Severity::Medium,
        LinkProblem::MissingAnchor | LinkProblem::WrongCase | LinkProblem::Outside => Severity::Low,
    };
    let fix = link.suggestion.map_or_else(
        || "Fix the target or remove the link.".to_owned(),
        |target| format!("Did you mean `{target}`?"),
    );
    Finding {
        rule: format!("links/{rule}"),
        check: Check::Links,
        file: link.path,
        line: Some(link.line),
        severity,
        message: format!("The link `{}` {what}.", link.target),
        fix,
    }
}

fn undocumented(symbol: Undocumented) -> Finding {
    Finding {
        rule: "coverage/undocumented".into(),
        check: Check::Coverage,
        file: symbol.path,
        line: Some(symbol.line),
        severity: Severity::Low,
        message: format!("The public {} `{}` has no doc comment.", symbol.kind, symbol.symbol),
        fix: "Describe in one sentence what it is for, or make it private.".into(),
    }
}

fn stale(stale: Stale) -> Finding {
    let rule = match stale.kind {
        MentionKind::Symbol => "symbol",
        MentionKind::File => "file",
        MentionKind::Flag => "flag",
        MentionKind::Command => "command",
    };
    let fix = stale.suggestion.map_or_else(
        || "Name its replacement, or remove the mention.".to_owned(),
        |meant| format!("Did you mean `{meant}`?"),
    );
    Finding {
        rule: format!("drift/{rule}"),
        check: Check::Drift,
        file: stale.path,
        line: Some(stale.line),
        severity: stale.severity,
        message: format!(
            "The {rule} `{}` does not exist: {}.",
            stale.mention,
            stale.evidence.trim_end_matches('.')
        ),
        fix,
    }
}

fn outdated(document: Outdated) -> Finding {
    let changed = document.changed.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let times = counted(document.changes, "time");
    Finding {
        rule: "drift/outdated".into(),
        check: Check::Drift,
        file: document.path,
        line: None,
        severity: Severity::Low,
        message: format!(
            "Last changed {}; the code it mentions has changed {times} since.",
            document.last_change
        ),
        fix: format!("Compare it with {changed}."),
    }
}

fn lacking_item(readme: &str, item: &ReadmeItem) -> Finding {
    Finding {
        rule: format!("readme/{}", item.item),
        check: Check::Readme,
        file: readme.to_owned(),
        line: None,
        severity: item.severity,
        message: format!("The README lacks {}.", item.item),
        fix: format!("Add it: docent {}.", item.evidence.trim_end_matches('.')),
    }
}

fn no_readme() -> Finding {
    Finding {
        rule: "readme/missing".into(),
        check: Check::Readme,
        file: "README.md".into(),
        line: None,
        severity: Severity::High,
        message: "There is no README.".into(),
        fix: "Write one: what it is, how to install it, one example, how to test it, the license."
            .into(),
    }
}
