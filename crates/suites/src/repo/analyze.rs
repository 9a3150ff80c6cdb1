//! The tool `analyze_repository`.

use super::{
    LOGGER, address,
    analysis::Analysis,
    folder,
    kept::Kept,
    parts::Parts,
    report::{Depth, Report},
    text,
};
use crate::{
    apps,
    files::{Place, Roots},
};
use docent_tool::{Answer, Block, CallContext, Level, ResourceInfo, Tool, ToolError, WorkSlot};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// `analyze_repository`: describes a project and finds documentation gaps.
#[derive(Debug)]
pub struct AnalyzeRepository {
    pub(super) roots: Roots,
    pub(super) kept: Arc<Kept>,
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

impl Tool for AnalyzeRepository {
    const NAME: &'static str = "analyze_repository";
    const TITLE: &'static str = "Analyze repository";
    const ABOUT: &'static str = "Analyze a repository's structure and documentation needs: languages, dependencies, \
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
    ) -> Result<Answer<Report>, ToolError> {
        let place = folder(&self.roots, &args.path)?;
        let report = report(&self.roots, &place, args.depth, context).await?;
        let partial = !report.missing.is_empty();
        let summary = text::conclusion(&report);
        let link = link(&self.roots, &place, &report);
        if !partial {
            self.kept.put(place, args.depth, Arc::new(report.clone()));
        }
        Ok(Answer::new(report, summary).with(link).partial(partial))
    }
}

/// Links to the full report.
fn link(roots: &Roots, place: &Place, report: &Report) -> Block {
    Block::Link(ResourceInfo {
        uri: address::of(roots, place, report.depth),
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
    roots: &Roots,
    place: &Place,
    depth: Depth,
    context: &CallContext,
) -> Result<Report, ToolError> {
    let start = json!({
        "message": "Repository analysis started", "path": place.relative(), "depth": depth,
    });
    context.log(Level::Debug, LOGGER, start);
    let analysis = Analysis::new(roots.clone(), place.clone(), depth, Parts::of(depth));
    // One slot for all phases: a phase that had to wait for another slot could lose earlier results at the deadline.
    let slot = context.wait_for_work_slot().await?;
    let (analysis, slot) = phase(analysis, slot, context, Analysis::walk).await?;
    context.emit(Block::text(text::structure(&analysis.report))).await;
    let (analysis, slot) = phase(analysis, slot, context, Analysis::read_manifests).await?;
    context.emit(Block::text(text::stack(&analysis.report))).await;
    let (analysis, slot) = phase(analysis, slot, context, Analysis::read_contents).await?;
    let (mut analysis, slot) = phase(analysis, slot, context, Analysis::compare).await?;
    drop(slot);
    context.emit(Block::text(text::documentation(&analysis.report))).await;
    analysis.conclude(context);
    let report = analysis.report;
    let end = json!({
        "message": text::completion(&report), "path": report.path, "depth": report.depth, "files": report.structure.files,
        "gaps": report.gaps.len(), "problems": report.problem_count, "partial": !report.missing.is_empty(),
    });
    context.log(Level::Info, LOGGER, end);
    Ok(report)
}

/// Runs one phase off the async threads and returns the analysis with the slot.
pub(super) async fn phase<F>(
    mut analysis: Analysis,
    slot: WorkSlot,
    context: &CallContext,
    work: F,
) -> Result<(Analysis, WorkSlot), ToolError>
where
    F: FnOnce(&mut Analysis, &CallContext) -> Result<(), ToolError> + Send + 'static,
{
    let run = move |context: &CallContext| {
        work(&mut analysis, context)?;
        Ok(analysis)
    };
    context.blocking_in(slot, run).await
}
