//! `search_documentation`: finds the sections that answer a question.

use super::{
    DocumentProblem, Metadata,
    library::{HOW_TO_ADD, Library, Passage, Passages},
};
use crate::{
    apps,
    indexing::{HitExplanation, IndexPhase},
};
use docent_tool::{
    AnswerBlock, CallContext, DisabledTool, Object, ToolAnswer, ToolError, TypedTool,
    argument_schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Value of `doc_type` for all collections.
pub(crate) const ALL_COLLECTIONS: &str = "all";
/// Maximum number of problems listed in an answer without hits.
const MAX_LISTED_PROBLEMS: usize = 5;
/// Maximum length of the query as quoted in an answer without hits.
const MAX_QUOTED_CHARS: usize = 80;

/// `search_documentation`.
#[derive(Debug)]
pub(crate) struct SearchDocumentation {
    pub(crate) library: Arc<Library>,
}

/// Arguments of `search_documentation`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchDocumentationArgs {
    /// The search query or question.
    #[schemars(length(min = 1, max = 1000))]
    pub query: String,
    /// Maximum number of results to return.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    pub max_results: usize,
    /// Collection to search; default: all.
    #[serde(default = "all")]
    pub doc_type: String,
}

fn five() -> usize {
    5
}

fn all() -> String {
    ALL_COLLECTIONS.into()
}

/// Answer of `search_documentation`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchDocumentationAnswer {
    /// Results, best first.
    pub results: Vec<SearchHit>,
    /// Generation of the index that was searched.
    pub generation: u64,
    /// Remarks, such as a corrected spelling of the query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Files that could not be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<DocumentProblem>,
}

/// A matching section.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchHit {
    /// Text of the section.
    pub text: String,
    /// Source of the text.
    pub metadata: Metadata,
    /// Score from 0 to 1, higher is better.
    pub score: f64,
    /// How the score was computed.
    pub why: HitExplanation,
}

impl TypedTool for SearchDocumentation {
    const NAME: &'static str = "search_documentation";
    const TITLE: &'static str = "Search the documentation";
    const DESCRIPTION: &'static str = "Search technical documentation for a question or a setting: returns matching sections, best first, each under a line \
         with source, section and score. Pass source and section to get_document to read on. For code use query_annotations.";
    const APP: Option<&'static str> = Some(apps::SEARCH.uri);
    type Args = SearchDocumentationArgs;
    type Answer = SearchDocumentationAnswer;

    fn input_schema(&self) -> Object {
        let mut schema = argument_schema::<SearchDocumentationArgs>();
        let values: Vec<String> =
            std::iter::once(ALL_COLLECTIONS.to_owned()).chain(self.library.doc_types()).collect();
        let property =
            schema.get_mut("properties").and_then(|properties| properties.get_mut("doc_type"));
        if let Some(Value::Object(property)) = property {
            property.insert("enum".into(), json!(values));
        }
        schema
    }

    fn off(&self) -> Option<DisabledTool> {
        self.library.off()
    }

    async fn call(
        &self,
        args: SearchDocumentationArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<SearchDocumentationAnswer>, ToolError> {
        let library = Arc::clone(&self.library);
        context.blocking(move |context| search(&library, &args, context)).await
    }
}

fn search(
    library: &Library,
    args: &SearchDocumentationArgs,
    context: &CallContext,
) -> Result<ToolAnswer<SearchDocumentationAnswer>, ToolError> {
    let asked =
        library.requested(&args.doc_type).ok_or_else(|| unknown(library, &args.doc_type))?;
    let found = if asked.collections.is_empty() {
        let (phase, notes) = (IndexPhase::UpToDate, Vec::new());
        Passages { all: Vec::new(), phase, generation: 0, notes }
    } else {
        library.search(&args.query, args.max_results, &asked, context)?
    };
    let mut notes = found.notes;
    let partial = unfinished(&found.phase, &mut notes);
    let problems = library.problems(&asked);
    let results: Vec<SearchHit> = found.all.into_iter().map(search_hit).collect();
    let mut blocks = Vec::with_capacity(results.len() + 1);
    for hit in &results {
        blocks.push(AnswerBlock::Text {
            text: format!("{}\n\n{}", citation(hit), hit.text),
            metadata: Some(as_object(&hit.metadata)?),
            score: Some(hit.score),
        });
    }
    if results.is_empty() {
        blocks.push(AnswerBlock::text(nothing(library, args, &problems)));
    }
    if results.is_empty() || partial {
        blocks.extend(notes.iter().map(AnswerBlock::text));
    }
    let structured =
        SearchDocumentationAnswer { results, generation: found.generation, notes, problems };
    Ok(ToolAnswer { structured, content: blocks, partial })
}

/// Formats the line above a passage. Many clients pass only the text to the model, which cites this line and passes its
/// source, section and page to `get_document`.
fn citation(hit: &SearchHit) -> String {
    let Metadata { source, section, path, page, .. } = &hit.metadata;
    let section = if path.is_empty() { section.clone() } else { path.join(" > ") };
    let page = page.map(|page| format!(" | page: {page}")).unwrap_or_default();
    format!("source: {source} | section: {section}{page} | score: {}", hit.score)
}

/// Notes if not every document is in the index yet. Returns whether results are partial.
fn unfinished(phase: &IndexPhase, notes: &mut Vec<String>) -> bool {
    match phase {
        IndexPhase::Idle | IndexPhase::Building(..) => {
            let (done, total) = if let IndexPhase::Building(done, total) = phase {
                (*done, *total)
            } else {
                (0, 0)
            };
            notes.push(format!("This is partial: the documents are being indexed ({done} of {total} files so far). Ask again in a moment."));
            true
        }
        IndexPhase::Failed(reason) => {
            notes.push(format!(
                "The documents are not watched for changes; results may be outdated: {reason}."
            ));
            false
        }
        IndexPhase::UpToDate => false,
    }
}

fn unknown(library: &Library, name: &str) -> ToolError {
    let names =
        std::iter::once(ALL_COLLECTIONS.to_owned()).chain(library.doc_types()).collect::<Vec<_>>();
    ToolError::argument(
        "doc_type",
        format!("unknown collection {name}; expected one of {}", names.join(", ")),
    )
}

fn search_hit(passage: Passage) -> SearchHit {
    let Passage { text, metadata, score, why } = passage;
    SearchHit { text, metadata, score, why }
}

/// Converts metadata into a JSON object for a block.
pub(crate) fn as_object(metadata: &Metadata) -> Result<Object, ToolError> {
    match serde_json::to_value(metadata) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Ok(Object::new()),
        Err(error) => Err(ToolError::Bug(Box::new(error))),
    }
}

fn nothing(
    library: &Library,
    args: &SearchDocumentationArgs,
    problems: &[DocumentProblem],
) -> String {
    if library.shelves().is_empty() {
        return format!("No documentation is configured: {HOW_TO_ADD}.");
    }
    let query = truncate(&args.query, MAX_QUOTED_CHARS);
    let mut text = format!("No match in the documentation ({}) for \"{query}\".", args.doc_type);
    for problem in problems.iter().take(MAX_LISTED_PROBLEMS) {
        text.push_str("\n- ");
        text.push_str(&problem.path);
        text.push_str(": ");
        text.push_str(&problem.reason);
    }
    text
}

/// Truncates a text to `max_chars` characters, with an ellipsis if anything was cut.
fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}
