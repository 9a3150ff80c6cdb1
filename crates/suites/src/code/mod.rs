//! The code suite: the syntax of a project as tools and resources.
//!
//! Owns the list of languages and the annotations of definitions. Accesses files only through [`crate::files`].

pub(crate) mod address;
mod analyze_code;
mod find_references;
mod graph;
mod index_status;
mod listing;
mod outline;
mod parse_files;
mod project;
mod project_rules;
mod query_annotations;
mod read_symbol;
mod references;
mod sweep;
mod units;

pub use analyze_code::{AnalysisType, AnalyzeCodeAnswer, AnalyzeCodeArgs, InFile};
pub use docent_syntax::{
    Annotation, DocumentationRange, Kind, Language, Parameter, Summary, documentation,
};
pub use find_references::{ReferencesAnswer, ReferencesArgs};
pub use index_status::{Freshness, StatusAnswer, StatusArgs};
pub use outline::{Detail, FileOutline, OutlineAnswer, OutlineArgs, OutlineItem};
pub use parse_files::{
    FileProblem, FileReport, ParseFilesAnswer, ParseFilesArgs, ParseFilesOptions,
};
pub use query_annotations::{QueryAnswer, QueryArgs, QueryHit, QueryOptions};
pub use read_symbol::{Callee, SymbolAnswer, SymbolArgs};
pub use references::Occurrence;
pub use units::code_units;
pub(crate) use units::try_code_units;

use crate::{
    apps,
    files::{RootPath, ServedRoots},
    indexing::{BackgroundIndex, CODE},
};
use analyze_code::AnalyzeCode;
use docent_syntax::KindCounts;
use docent_tool::{
    AnyTool, App, BoxedFuture, CallContext, CompletionRequest, CompletionTarget, CompletionValues,
    Contents, ProviderChange, ResourceInfo, ResourceReading, TemplateInfo, ToolError, ToolProvider,
    erase, no_client,
};
use find_references::FindReferences;
use index_status::IndexStatus;
use outline::OutlineTool;
use parse_files::{ParseFiles, Totals, json_resource};
pub(crate) use project::MAX_FILE_BYTES;
use project::{CodeProject, ParseFailure};
use query_annotations::QueryAnnotations;
use read_symbol::ReadSymbol;
use std::sync::Arc;
use tokio::sync::broadcast;

/// Maximum number of completion values.
const MAX_COMPLETIONS: usize = 100;
/// Maximum number of files scanned for a completion.
const MAX_COMPLETION_FILES: usize = 5000;

/// Tools and resources about source code.
pub struct CodeSuite {
    project: Arc<CodeProject>,
    /// Whether listing the source files starts building the index.
    pub(crate) index_when_listed: bool,
    tools: Vec<Arc<dyn AnyTool>>,
}

impl std::fmt::Debug for CodeSuite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeSuite").field("project", &self.project).finish_non_exhaustive()
    }
}

impl CodeSuite {
    /// Creates the suite for these roots and their index. Reads nothing until a tool is called.
    pub fn new(roots: ServedRoots, live: Arc<BackgroundIndex>) -> Self {
        let project = CodeProject::new(roots, live);
        let tools = vec![
            erase(ParseFiles { project: Arc::clone(&project) }),
            erase(QueryAnnotations { project: Arc::clone(&project) }),
            erase(AnalyzeCode { project: Arc::clone(&project) }),
            erase(ReadSymbol { project: Arc::clone(&project) }),
            erase(FindReferences { project: Arc::clone(&project) }),
            erase(OutlineTool { project: Arc::clone(&project) }),
            erase(IndexStatus { project: Arc::clone(&project) }),
        ];
        Self { project, index_when_listed: false, tools }
    }
}

impl ToolProvider for CodeSuite {
    fn key(&self) -> &'static str {
        "code"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.clone()
    }

    fn apps(&self) -> Vec<App> {
        vec![apps::CODE_MAP, apps::SEARCH]
    }

    fn resources(&self) -> BoxedFuture<'_, Vec<ResourceInfo>> {
        let project = Arc::clone(&self.project);
        if self.index_when_listed {
            project.live.start();
        }
        Box::pin(async move {
            let list = move |context: &CallContext| Ok(listing::resources(&project, context));
            no_client().blocking(list).await.unwrap_or_default()
        })
    }

    fn is_listed_last(&self) -> bool {
        true
    }

    fn describe(&self, uris: Vec<String>) -> BoxedFuture<'_, Vec<Option<String>>> {
        let project = Arc::clone(&self.project);
        Box::pin(async move {
            let work = move |context: &CallContext| Ok(listing::describe(&project, &uris, context));
            no_client().blocking(work).await.unwrap_or_default()
        })
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        vec![TemplateInfo {
            uri_template: address::TEMPLATE.into(),
            name: "annotations".into(),
            title: Some("Annotations of a source file".into()),
            about: Some("Functions, classes and other definitions of one file, as JSON".into()),
            mime: Some("application/json".into()),
            ..TemplateInfo::default()
        }]
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Option<Result<ResourceReading, ToolError>>> {
        Box::pin(async move {
            let path = match address::path(uri)? {
                Ok(path) => path,
                Err(problem) => return Some(Err(ToolError::not_found(problem))),
            };
            let (project, uri) = (Arc::clone(&self.project), uri.to_owned());
            let work = move |context: &CallContext| match uri.as_str() {
                address::ANNOTATIONS => {
                    project.live.ready(context)?;
                    json_resource(&uri, &totals(&project, context)?).map(|all| vec![all])
                }
                _ => read_file(&project, &uri, &path, context),
            };
            Some(context.blocking(work).await.map(Into::into))
        })
    }

    fn watch(&self, uri: &str) -> bool {
        if uri == address::ANNOTATIONS {
            return self.project.live.listening();
        }
        let place = address::path(uri)
            .and_then(Result::ok)
            .filter(|path| !matches!(path.as_str(), "" | "."))
            .and_then(|path| self.project.roots.resolve(&path).ok());
        place.is_some_and(|place| self.project.subscribe(&place))
    }

    fn complete<'a>(&'a self, asked: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        let (target, argument, typed) = asked.parts();
        let ours =
            matches!(target, CompletionTarget::Template(template) if template == address::TEMPLATE);
        if !ours || argument != "path" {
            return Box::pin(std::future::ready(CompletionValues::default()));
        }
        let (project, typed) = (Arc::clone(&self.project), typed.to_owned());
        Box::pin(async move {
            let work = move |context: &CallContext| Ok(paths(&project, &typed, context));
            no_client().blocking(work).await.unwrap_or_default().into()
        })
    }

    fn changes(&self) -> Option<broadcast::Receiver<ProviderChange>> {
        Some(self.project.changes())
    }
}

/// What all files of the index hold together.
fn totals(project: &CodeProject, context: &CallContext) -> Result<Totals, ToolError> {
    let sources = project.live.sources(CODE, context)?;
    let mut counts = KindCounts::default();
    for source in &sources {
        let kinds = source.kinds.iter();
        counts.merge(
            &kinds.filter_map(|(kind, count)| Some((Kind::from_name(kind)?, *count))).collect(),
        );
    }
    let (total_files, total_annotations) = (sources.len(), counts.total());
    Ok(Totals { total_files, total_annotations, summary: counts.summary() })
}

fn read_file(
    project: &CodeProject,
    uri: &str,
    path: &str,
    context: &CallContext,
) -> Result<Vec<Contents>, ToolError> {
    // Any problem with the URI is reported as not found.
    let place = project
        .roots
        .resolve(path)
        .map_err(|error| ToolError::not_found(format!("{uri}: {error}")))?;
    match project.annotations(&place, &|| context.stop().is_some()) {
        Ok(file) => Ok(vec![json_resource(uri, &file)?]),
        Err(ParseFailure::Problem(problem)) => {
            Err(ToolError::not_found(format!("{uri}: {problem}")))
        }
        Err(stopped @ ParseFailure::Stopped) => Err(stopped.into_tool_error(context.stop())),
    }
}

/// Paths of source files that start with the typed text; if there are none, those that contain it.
fn paths(project: &CodeProject, typed: &str, context: &CallContext) -> Vec<String> {
    let folder = typed.rsplit_once('/').and_then(|(folder, _)| project.roots.resolve(folder).ok());
    let start: RootPath = folder.unwrap_or_else(|| project.roots.top());
    let files = project
        .roots
        .walk(&start)
        .flatten()
        .take(MAX_COMPLETION_FILES)
        .take_while(|_| context.stop().is_none())
        .map(|entry| project.path_of(&entry.place));
    let files: Vec<String> = files.filter(|path| Language::from_path(path).is_some()).collect();
    let begins: Vec<String> = files
        .iter()
        .filter(|path| path.starts_with(typed))
        .take(MAX_COMPLETIONS)
        .cloned()
        .collect();
    if !begins.is_empty() {
        return begins;
    }
    files.into_iter().filter(|path| path.contains(typed)).take(MAX_COMPLETIONS).collect()
}

#[cfg(test)]
mod tests;
