//! The code suite: the syntax of a project as tools and resources.
//!
//! Owns which languages are read and what is said of their definitions. Files are reached through [`crate::files`] alone.

mod address;
pub(crate) mod analysis;
mod analyze_code;
mod annotation;
mod comment;
mod language;
pub(crate) mod parse;
mod parse_files;
mod project;
mod query_annotations;
mod sweep;
mod units;

pub use analysis::{
    complexity::{Complexity, FunctionFigures, Grade},
    dependencies::Import,
    rules::{Finding, Severity},
};
pub use analyze_code::{AnalysisType, AnalyzeAnswer, AnalyzeArgs};
pub use annotation::{Annotation, Kind, Parameter, Summary};
pub use language::Language;
pub use parse_files::{
    FileProblem, FileReport, ParseFilesAnswer, ParseFilesArgs, ParseFilesOptions,
};
pub use query_annotations::{QueryAnswer, QueryArgs, QueryHit, QueryOptions};
pub use units::{Documentation, code_units, documentation};

use crate::files::{Place, Roots};
use analyze_code::AnalyzeCode;
use annotation::Counts;
use docent_tool::{
    AnyTool, CallContext, Change, CompletionTarget, Contents, Provider, ResourceInfo, Running,
    Stop, TemplateInfo, ToolError, erase,
};
use parse_files::{ParseFiles, Totals, json_resource};
pub(crate) use project::LARGEST_FILE;
use project::Project;
use query_annotations::QueryAnnotations;
use serde::Serialize;
use std::sync::Arc;
use tokio::sync::broadcast;

/// As many values as a completion may have.
const COMPLETIONS: usize = 100;
/// A completion looks at this many files at most.
const LOOKED_AT: usize = 5000;

/// Tools and resources about source code.
pub struct CodeSuite {
    project: Arc<Project>,
    tools: Vec<Arc<dyn AnyTool>>,
}

impl std::fmt::Debug for CodeSuite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeSuite").field("project", &self.project).finish_non_exhaustive()
    }
}

/// What the resource of a file holds.
#[derive(Serialize)]
struct FileAnnotations {
    annotations: Vec<Annotation>,
}

impl CodeSuite {
    /// A suite about these roots. Nothing is read until it is asked for.
    pub fn new(roots: Roots) -> Self {
        let project = Project::new(roots);
        let tools = vec![
            erase(ParseFiles { project: Arc::clone(&project) }),
            erase(QueryAnnotations { project: Arc::clone(&project) }),
            erase(AnalyzeCode { project: Arc::clone(&project) }),
        ];
        Self { project, tools }
    }
}

impl Provider for CodeSuite {
    fn key(&self) -> &'static str {
        "code"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.clone()
    }

    fn resources(&self) -> Running<'_, Vec<ResourceInfo>> {
        let resource = |(report, language): (project::Report, Language)| {
            let name = report.path.rsplit('/').next().unwrap_or(&report.path).to_owned();
            let kinds = report.counts.words();
            let about = if kinds.is_empty() { "no definitions".to_owned() } else { kinds };
            ResourceInfo {
                uri: address::of(&report.path),
                name,
                title: Some(report.path.clone()),
                about: Some(format!("{}: {about}", language.name())),
                mime: Some("application/json".into()),
                size: None,
            }
        };
        let all = self.project.reports().into_iter().map(resource).collect();
        Box::pin(std::future::ready(all))
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        vec![TemplateInfo {
            uri_template: address::TEMPLATE.into(),
            name: "annotations".into(),
            title: Some("Annotations of a source file".into()),
            about: Some("Functions, classes and other definitions of one file, as JSON".into()),
            mime: Some("application/json".into()),
        }]
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a CallContext,
    ) -> Running<'a, Option<Result<Vec<Contents>, ToolError>>> {
        Box::pin(async move {
            let path = match address::path(uri)? {
                Ok(path) => path,
                Err(problem) => return Some(Err(ToolError::not_found(problem))),
            };
            let (project, uri) = (Arc::clone(&self.project), uri.to_owned());
            let work = move |context: &CallContext| match uri.as_str() {
                address::ANNOTATIONS => {
                    json_resource(&uri, &totals(&project)).map(|contents| vec![contents])
                }
                _ => read_file(&project, &uri, &path, context),
            };
            Some(context.blocking(work).await)
        })
    }

    fn watch(&self, uri: &str) -> bool {
        if uri == address::ANNOTATIONS {
            return true;
        }
        let place = address::path(uri)
            .and_then(Result::ok)
            .and_then(|path| self.project.roots.resolve(&path).ok());
        let Some(place) = place else { return false };
        self.project.watch_beside(&place);
        // A file that nobody parsed has no state to compare a change with.
        let reading = self.project.reading(&self.project.path_of(&place)).unwrap_or_default();
        matches!(self.project.parse(&place, reading, &|| false), Ok(Some(_)))
    }

    fn complete<'a>(
        &'a self,
        target: &'a CompletionTarget,
        argument: &'a str,
        typed: &'a str,
    ) -> Running<'a, Vec<String>> {
        let ours =
            matches!(target, CompletionTarget::Template(template) if template == address::TEMPLATE);
        if !ours || argument != "path" {
            return Box::pin(std::future::ready(Vec::new()));
        }
        let (project, typed) = (Arc::clone(&self.project), typed.to_owned());
        Box::pin(async move {
            tokio::task::spawn_blocking(move || paths(&project, &typed)).await.unwrap_or_default()
        })
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.project.changes())
    }
}

fn totals(project: &Project) -> Totals {
    let mut counts = Counts::default();
    let reports = project.reports();
    for (report, _) in &reports {
        counts.merge(&report.counts);
    }
    Totals {
        total_files: reports.len(),
        total_annotations: counts.total(),
        summary: counts.summary(),
    }
}

fn read_file(
    project: &Arc<Project>,
    uri: &str,
    path: &str,
    context: &CallContext,
) -> Result<Vec<Contents>, ToolError> {
    // Whatever is wrong with the address, the reader learns that nothing is there.
    let place = project
        .roots
        .resolve(path)
        .map_err(|error| ToolError::not_found(format!("{uri}: {error}")))?;
    let name = project.path_of(&place);
    let known = project.reading(&name);
    if known.is_none() {
        project.watch_beside(&place);
    }
    let parsed = project.parse(&place, known.unwrap_or_default(), &|| context.stop().is_some());
    match parsed {
        Ok(Some(_)) => {}
        Ok(None) => return Err(ToolError::Stopped(context.stop().unwrap_or(Stop::Deadline))),
        Err(problem) => return Err(ToolError::not_found(format!("{uri}: {problem}"))),
    }
    if known.is_none() {
        project.announce_set();
    }
    let annotations = project.annotations(&name).unwrap_or_default();
    Ok(vec![json_resource(uri, &FileAnnotations { annotations })?])
}

/// Real paths of source files that begin as typed; where none does, those that hold it.
fn paths(project: &Project, typed: &str) -> Vec<String> {
    let folder = typed.rsplit_once('/').and_then(|(folder, _)| project.roots.resolve(folder).ok());
    let start: Place = folder.unwrap_or_else(|| project.roots.top());
    let files = project
        .roots
        .walk(&start)
        .flatten()
        .take(LOOKED_AT)
        .map(|entry| project.path_of(&entry.place));
    let files: Vec<String> = files.filter(|path| Language::of(path).is_some()).collect();
    let begins: Vec<String> =
        files.iter().filter(|path| path.starts_with(typed)).take(COMPLETIONS).cloned().collect();
    if !begins.is_empty() {
        return begins;
    }
    files.into_iter().filter(|path| path.contains(typed)).take(COMPLETIONS).collect()
}

#[cfg(test)]
mod tests;
