//! The tool `analyze_repository`.

use super::{
    LOGGER, address,
    analysis::RepositoryAnalysis,
    analysis_scope::AnalysisScope,
    folder,
    report::{Depth, Report},
    report_cache::ReportCache,
    text,
};
use crate::{
    apps,
    files::{RootPath, ServedRoots},
};
use docent_tool::{
    AnswerBlock, CallContext, ResourceInfo, SyslogLevel, ToolAnswer, ToolError, TypedTool, WorkSlot,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// `analyze_repository`: describes a project and finds documentation gaps.
#[derive(Debug)]
pub struct AnalyzeRepository {
    pub(super) roots: ServedRoots,
    pub(super) kept: Arc<ReportCache>,
}

/// Arguments of `analyze_repository`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyzeArgs {
    /// Folder to analyze: relative to the root (`.` is the root itself), or absolute inside a root.
    #[schemars(length(min = 1))]
    pub path: String,
    /// How much to read: `quick` reads names and sizes; `standard` adds lines, dependencies, commands, license and
    /// documents; `deep` adds doc coverage, broken links, drift, git history and duplicates.
    #[serde(default)]
    pub depth: Depth,
}

impl TypedTool for AnalyzeRepository {
    const NAME: &'static str = "analyze_repository";
    const TITLE: &'static str = "Analyze repository";
    const DESCRIPTION: &'static str = "Analyze a repository's structure and documentation needs: languages, dependencies, \
        entry points, how to build, test and run it, license, README health, documentation gaps ranked with next steps. \
        Call it first in an unknown repository. `deep` adds doc coverage, broken links, stale documents, hot spots, \
        owners and releases from git.";
    const APP: Option<&'static str> = Some(apps::REPORT.uri);
    type Args = AnalyzeArgs;
    type Answer = Report;

    async fn call(
        &self,
        args: AnalyzeArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<Report>, ToolError> {
        let place = folder(&self.roots, &args.path)?;
        let report = report(&self.roots, &place, args.depth, context).await?;
        let partial = !report.missing.is_empty();
        let summary = text::conclusion(&report);
        let link = link(&self.roots, &place, &report);
        if !partial {
            self.kept.put(place, args.depth, Arc::new(report.clone()));
        }
        Ok(ToolAnswer::new(report, summary).with(link).partial(partial))
    }
}

/// Links to the full report.
fn link(roots: &ServedRoots, place: &RootPath, report: &Report) -> AnswerBlock {
    AnswerBlock::Link(ResourceInfo {
        uri: address::report_uri(roots, place, report.depth),
        name: format!("Report on {}", report.name),
        title: Some("Full report".into()),
        about: Some("All results, as Markdown and as JSON".into()),
        mime: Some("text/markdown".into()),
        size: None,
        ..ResourceInfo::default()
    })
}

/// Analyzes a folder and emits partial results after each phase.
pub(super) async fn report(
    roots: &ServedRoots,
    place: &RootPath,
    depth: Depth,
    context: &CallContext,
) -> Result<Report, ToolError> {
    let start = json!({
        "message": "Repository analysis started", "path": place.relative(), "depth": depth,
    });
    context.log(SyslogLevel::Debug, LOGGER, start);
    let analysis =
        RepositoryAnalysis::new(roots.clone(), place.clone(), depth, AnalysisScope::of(depth));
    // One slot for all phases: a phase that had to wait for another slot could lose earlier results at the deadline.
    let slot = context.wait_for_work_slot().await?;
    let (analysis, slot) = phase(analysis, slot, context, RepositoryAnalysis::walk).await?;
    context.emit(AnswerBlock::text(text::structure(&analysis.report))).await;
    let (analysis, slot) =
        phase(analysis, slot, context, RepositoryAnalysis::read_manifests).await?;
    context.emit(AnswerBlock::text(text::stack(&analysis.report))).await;
    let (analysis, slot) =
        phase(analysis, slot, context, RepositoryAnalysis::read_contents).await?;
    let (mut analysis, slot) = phase(analysis, slot, context, RepositoryAnalysis::compare).await?;
    drop(slot);
    context.emit(AnswerBlock::text(text::documentation(&analysis.report))).await;
    analysis.conclude(context);
    let report = analysis.report;
    let end = json!({
        "message": text::completion(&report), "path": report.path, "depth": report.depth, "files": report.structure.files,
        "gaps": report.gaps.len(), "problems": report.problem_count, "partial": !report.missing.is_empty(),
    });
    context.log(SyslogLevel::Info, LOGGER, end);
    Ok(report)
}

/// Runs one phase off the async threads and returns the analysis with the slot.
pub(super) async fn phase<F>(
    mut analysis: RepositoryAnalysis,
    slot: WorkSlot,
    context: &CallContext,
    work: F,
) -> Result<(RepositoryAnalysis, WorkSlot), ToolError>
where
    F: FnOnce(&mut RepositoryAnalysis, &CallContext) -> Result<(), ToolError> + Send + 'static,
{
    let run = move |context: &CallContext| {
        work(&mut analysis, context)?;
        Ok(analysis)
    };
    context.blocking_in(slot, run).await
}
