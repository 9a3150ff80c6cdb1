//! The repository suite: describes a project and finds documentation gaps.
//!
//! Owns the tools `analyze_repository` and `check_documentation`, and their reports. Reads only through [`ServedRoots`]; only
//! `history` opens git data.
//!
//! # Design
//!
//! An analysis works in phases, each off the async threads and each able to stop with what it has: the survey sums up names
//! and sizes during the walk; `manifests`, `project` and `license` read the few files that declare something; `scan` reads
//! every file of a known language once, on all cores, and keeps small facts about each (`facts`); `links`, `redundancy`,
//! `history` and `drift` compare these facts with each other and with the past; `coverage`, `inventory` and `gaps` judge. The
//! analysis scope lists which phases an answer needs, so that a check of links parses no code. `report` is the answer's type;
//! `text` renders it for a model, `render` for people, and neither reads files.

pub(crate) mod address;
mod analysis;
mod analysis_scope;
mod analyze;
mod check;
mod coverage;
mod documents;
mod drift;
mod facts;
pub mod findings;
mod gaps;
mod history;
mod inventory;
mod languages;
mod license;
mod links;
mod manifests;
mod path_suffixes;
mod project;
mod redundancy;
pub mod render;
pub mod report;
mod report_cache;
mod scan;
mod survey;
mod syntax;
mod text;
mod tree;
mod versions;
mod words;

pub use analyze::{AnalyzeArgs, AnalyzeRepository};
pub use check::{CheckArgs, CheckDocumentation, Format};
pub(crate) use versions::Versions;

use crate::{
    apps,
    files::{PathError, PathKind, RootPath, ServedRoots},
};
use docent_tool::{
    AnyTool, App, BoxedFuture, CallContext, CompletionRequest, CompletionTarget, CompletionValues,
    Contents, ResourceReading, TemplateInfo, ToolError, ToolProvider, erase, no_client,
};
use report::{Depth, Report};
use report_cache::ReportCache;
use std::sync::Arc;

/// Logger name.
const LOGGER: &str = "docent.repo";

/// Offers `analyze_repository` and `check_documentation`.
pub struct RepoSuite {
    roots: ServedRoots,
    kept: Arc<ReportCache>,
    tools: Vec<Arc<dyn AnyTool>>,
}

impl std::fmt::Debug for RepoSuite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RepoSuite").field("roots", &self.roots).finish_non_exhaustive()
    }
}

impl RepoSuite {
    /// Creates the suite for these roots.
    pub fn new(roots: ServedRoots) -> Self {
        let kept = Arc::<ReportCache>::default();
        let tools = vec![
            erase(AnalyzeRepository { roots: roots.clone(), kept: Arc::clone(&kept) }),
            erase(CheckDocumentation { roots: roots.clone() }),
        ];
        Self { roots, kept, tools }
    }
}

impl ToolProvider for RepoSuite {
    fn key(&self) -> &'static str {
        "repo"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.clone()
    }

    fn apps(&self) -> Vec<App> {
        vec![apps::REPORT]
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        vec![TemplateInfo {
            uri_template: address::TEMPLATE.into(),
            name: "report".into(),
            title: Some("Repository report".into()),
            about: Some(
                "Full report on a folder at a depth (quick, standard, deep), as Markdown and as JSON".into(),
            ),
            mime: Some("text/markdown".into()), ..TemplateInfo::default()
        }]
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Option<Result<ResourceReading, ToolError>>> {
        Box::pin(async move {
            let (depth, path) = address::parse(uri)?;
            Some(
                self.report(&path, depth, context)
                    .await
                    .and_then(|report| contents(uri, &report))
                    .map(Into::into),
            )
        })
    }

    fn complete<'a>(&'a self, asked: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        let (target, argument, typed) = asked.parts();
        let ours =
            matches!(target, CompletionTarget::Template(template) if template == address::TEMPLATE);
        let found: Vec<String> = match argument {
            "depth" if ours => {
                let words = address::DEPTHS.iter().map(|(word, _)| (*word).to_owned());
                words.filter(|word| word.starts_with(typed)).collect()
            }
            "path" if ours => {
                let (roots, typed) = (self.roots.clone(), typed.to_owned());
                return Box::pin(async move {
                    let look = move |context: &CallContext| {
                        let stopped = || context.stop().is_some();
                        Ok(roots.complete(&roots.top(), &typed, PathKind::Folder, &stopped))
                    };
                    no_client().blocking(look).await.unwrap_or_default().into()
                });
            }
            _ => Vec::new(),
        };
        Box::pin(std::future::ready(found.into()))
    }
}

impl RepoSuite {
    /// Returns a cached report or creates a new one.
    async fn report(
        &self,
        path: &str,
        depth: Depth,
        context: &CallContext,
    ) -> Result<Arc<Report>, ToolError> {
        let place = folder(&self.roots, path)?;
        if let Some(report) = self.kept.get(&place, depth) {
            return Ok(report);
        }
        let report = Arc::new(analyze::report(&self.roots, &place, depth, context).await?);
        if report.missing.is_empty() {
            self.kept.put(place, depth, Arc::clone(&report));
        }
        Ok(report)
    }
}

/// Returns a report as Markdown for people and as JSON for programs.
fn contents(uri: &str, report: &Report) -> Result<Vec<Contents>, ToolError> {
    let json = serde_json::to_string(report).map_err(|error| ToolError::Bug(Box::new(error)))?;
    let text = |mime: &str, text| Contents::Text {
        uri: uri.to_owned(),
        mime: Some(mime.to_owned()),
        text,
    };
    Ok(vec![text("text/markdown", render::markdown(report)), text("application/json", json)])
}

/// Resolves the folder named by the caller.
fn folder(roots: &ServedRoots, path: &str) -> Result<RootPath, ToolError> {
    let place = roots.resolve(path).map_err(|error| match error {
        PathError::Missing { .. } => ToolError::not_found("Repository path does not exist"),
        other => other.into_tool_error("path"),
    })?;
    match roots.kind(&place) {
        Ok(PathKind::Folder) => Ok(place),
        Ok(_) => Err(ToolError::argument(
            "path",
            format!("{place} is not a folder; pass the folder that contains it"),
        )),
        Err(problem) => Err(problem.into_tool_error("path")),
    }
}

#[cfg(test)]
mod tests;
