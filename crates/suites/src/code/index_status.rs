//! `index_status`: reports what the index contains and whether it is up to date.

use super::{parse_files::count_noun, project::CodeProject, query_annotations::state};
use crate::indexing::{CODE, DOCS, ExcludedFiles, IndexPhase};
use docent_syntax::Language;
use docent_tool::{CallContext, ToolAnswer, ToolError, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

/// Maximum number of problems listed.
const MAX_LISTED_PROBLEMS: usize = 50;

/// `index_status`.
#[derive(Debug)]
pub(crate) struct IndexStatus {
    pub(crate) project: Arc<CodeProject>,
}

/// Arguments of `index_status`: none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusArgs {}

/// Freshness of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Freshness {
    /// Up to date with all files.
    InStep,
    /// Being built, or updated for the first time.
    Building,
    /// Not being updated; the notes give the reason.
    Behind,
}

/// Answer of `index_status`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusAnswer {
    /// Generation: the number of writes.
    pub generation: u64,
    /// Freshness of the index.
    pub freshness: Freshness,
    /// Number of definitions and sections in the index.
    pub units: u64,
    /// Source files by language.
    pub languages: BTreeMap<String, usize>,
    /// Definitions by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Number of documents.
    pub documents: usize,
    /// Embedding model.
    pub model: String,
    /// Number of excluded files by reason; known after a full scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<ExcludedFiles>,
    /// Unreadable files, and why.
    pub problems: Vec<String>,
    /// Remarks on the index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl TypedTool for IndexStatus {
    const NAME: &'static str = "index_status";
    const TITLE: &'static str = "Index status";
    const DESCRIPTION: &'static str = "Report what the project's search index contains and whether it is up to date: generation, languages, definitions by kind, excluded \
         files, problems. Starts building the index if needed.";
    type Args = StatusArgs;
    type Answer = StatusAnswer;

    async fn call(
        &self,
        _: StatusArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<StatusAnswer>, ToolError> {
        let project = Arc::clone(&self.project);
        context.blocking(move |context| status(&project, context)).await
    }
}

fn status(
    project: &CodeProject,
    context: &CallContext,
) -> Result<ToolAnswer<StatusAnswer>, ToolError> {
    let (view, phase) = project.live.view(context)?;
    let failed = |error: docent_index::IndexStoreError| ToolError::failed(error.to_string());
    let code = view.sources(CODE).map_err(failed)?;
    let documents = view.sources(DOCS).map_err(failed)?.len();
    let (mut languages, mut kinds) = (BTreeMap::new(), BTreeMap::new());
    for source in &code {
        let language =
            Language::from_path(&source.path).or_else(|| Language::from_name(&source.language));
        let language = language.map_or("other", Language::name);
        *languages.entry(language.to_owned()).or_default() += 1;
        for (kind, count) in &source.kinds {
            *kinds.entry(kind.clone()).or_default() += u64::from(*count);
        }
    }
    let status = view.status();
    let report = project.live.report();
    let answer = StatusAnswer {
        generation: status.generation,
        freshness: match phase {
            IndexPhase::UpToDate => Freshness::InStep,
            IndexPhase::Idle | IndexPhase::Building(..) => Freshness::Building,
            IndexPhase::Failed(_) => Freshness::Behind,
        },
        units: status.units,
        languages,
        kinds,
        documents,
        model: status.identity.to_string(),
        left_out: report.as_ref().map(|report| report.left_out),
        problems: report
            .iter()
            .flat_map(|report| &report.problems)
            .take(MAX_LISTED_PROBLEMS)
            .map(ToString::to_string)
            .collect(),
        notes: state(&phase).into_iter().collect(),
    };
    let text = render(&answer);
    Ok(ToolAnswer::new(answer, text))
}

fn render(answer: &StatusAnswer) -> String {
    let files: usize = answer.languages.values().sum();
    let fresh = match answer.freshness {
        Freshness::InStep => "up to date",
        Freshness::Building => "being built",
        Freshness::Behind => "not being updated",
    };
    let mut text = format!(
        "Generation {}, {fresh}: {} and {}, {} indexed",
        answer.generation,
        count_noun(files, "source file"),
        count_noun(answer.documents, "document"),
        count_noun(usize::try_from(answer.units).unwrap_or(usize::MAX), "unit"),
    );
    for (language, files) in &answer.languages {
        let _ok = write!(text, "\n- {language}: {}", count_noun(*files, "file"));
    }
    if let Some(left) = answer.left_out.filter(|left| left.total() > 0) {
        let ExcludedFiles { vendored, generated, minified, too_large } = left;
        let _ok = write!(
            text,
            "\nExcluded: {vendored} vendored, {generated} generated, {minified} minified, {too_large} too large"
        );
    }
    for problem in &answer.problems {
        let _ok = write!(text, "\nProblem: {problem}");
    }
    for note in &answer.notes {
        let _ok = write!(text, "\n{note}");
    }
    text
}
