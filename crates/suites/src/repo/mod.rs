//! The repository suite: what a project is, and what its documentation lacks.
//!
//! Owns the tool `analyze_repository`. Reads through [`Roots`] alone.

mod analysis;
mod documents;
mod gaps;
mod languages;
mod manifests;
pub mod report;
mod survey;
mod text;

use crate::files::{Kind, PathError, Place, Roots};
use analysis::Analysis;
use docent_tool::{Answer, AnyTool, Block, CallContext, Level, Provider, Tool, ToolError, erase};
use report::{Depth, Report};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// Names the origin of log lines.
const LOGGER: &str = "docent.repo";

/// Offers `analyze_repository`.
#[derive(Debug)]
pub struct RepoSuite {
    roots: Roots,
}

impl RepoSuite {
    /// Over these folders.
    pub fn new(roots: Roots) -> Self {
        Self { roots }
    }
}

impl Provider for RepoSuite {
    fn key(&self) -> &'static str {
        "repo"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        vec![erase(AnalyzeRepository { roots: self.roots.clone() })]
    }
}

/// `analyze_repository`: what a project is, and what its documentation lacks.
#[derive(Debug)]
pub struct AnalyzeRepository {
    roots: Roots,
}

impl AnalyzeRepository {
    /// Over these folders.
    pub fn new(roots: Roots) -> Self {
        Self { roots }
    }
}

/// Arguments of `analyze_repository`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnalyzeArgs {
    /// Folder to analyse: relative to the root (`.` is the root itself), or absolute inside a root.
    #[schemars(length(min = 1))]
    pub path: String,
    /// How much to read: `quick` names and sizes, `standard` also source lines, manifests and README, `deep` every text file.
    #[serde(default)]
    pub depth: Depth,
}

impl Tool for AnalyzeRepository {
    const NAME: &'static str = "analyze_repository";
    const TITLE: &'static str = "Analyze repository";
    const ABOUT: &'static str = "Analyze a repository's structure and documentation needs: languages, manifests and \
        dependencies, tests, CI, licence, README, documentation gaps ranked with next steps. Call it first in an \
        unknown repository; `deep` also finds open tasks and broken links.";
    type Args = AnalyzeArgs;
    type Answer = Report;

    async fn call(
        &self,
        args: AnalyzeArgs,
        context: &CallContext,
    ) -> Result<Answer<Report>, ToolError> {
        let place = self.folder(&args.path)?;
        context.log(
            Level::Debug,
            LOGGER,
            json!({"event": "start", "path": place.relative(), "depth": args.depth}),
        );
        let analysis = Analysis::new(self.roots.clone(), place, args.depth);
        let analysis = phase(analysis, context, Analysis::walk).await?;
        context.emit(Block::text(text::structure(&analysis.report))).await;
        let analysis = phase(analysis, context, Analysis::read_manifests).await?;
        context.emit(Block::text(text::stack(&analysis.report))).await;
        let mut analysis = phase(analysis, context, Analysis::read_contents).await?;
        context.emit(Block::text(text::documentation(&analysis.report))).await;
        analysis.conclude(context);
        let partial = analysis.is_partial();
        let report = analysis.report;
        context.log(
            Level::Info,
            LOGGER,
            json!({
                "event": "end", "path": report.path, "depth": report.depth, "files": report.structure.files,
                "gaps": report.gaps.len(), "problems": report.problem_count, "partial": partial,
            }),
        );
        let told = text::conclusion(&report);
        Ok(Answer::new(report, told).partial(partial))
    }
}

impl AnalyzeRepository {
    fn folder(&self, path: &str) -> Result<Place, ToolError> {
        let place = self.roots.resolve(path).map_err(|error| match error {
            PathError::Missing { .. } => ToolError::not_found("Repository path does not exist"),
            other => other.into_tool_error("path"),
        })?;
        match self.roots.kind(&place) {
            Ok(Kind::Folder) => Ok(place),
            Ok(_) => Err(ToolError::argument(
                "path",
                format!("{place} is not a folder; name the folder it lies in"),
            )),
            Err(problem) => Err(problem.into_tool_error("path")),
        }
    }
}

/// Runs one phase off the async threads, and hands the analysis back.
async fn phase<F>(
    mut analysis: Analysis,
    context: &CallContext,
    work: F,
) -> Result<Analysis, ToolError>
where
    F: FnOnce(&mut Analysis, &CallContext) -> Result<(), ToolError> + Send + 'static,
{
    context
        .blocking(move |context| {
            work(&mut analysis, context)?;
            Ok(analysis)
        })
        .await
}

#[cfg(test)]
mod tests;
