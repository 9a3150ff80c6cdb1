//! `search_documentation`: the sections that answer a question.

use super::{
    DocumentProblem, Metadata,
    library::{Hit, Library},
};
use docent_tool::{Answer, Block, CallContext, Object, Tool, ToolError, argument_schema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Stands for every collection.
pub(crate) const ALL: &str = "all";

/// `search_documentation`.
#[derive(Debug)]
pub(crate) struct SearchDocumentation {
    pub(crate) library: Arc<Library>,
}

/// Arguments of `search_documentation`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchArgs {
    /// The search query or question.
    #[schemars(length(min = 1, max = 1000))]
    pub query: String,
    /// Maximum number of results to return.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 20))]
    pub max_results: usize,
    /// Which collection to search; all of them unless given.
    #[serde(default = "all")]
    pub doc_type: String,
}

fn five() -> usize {
    5
}

fn all() -> String {
    ALL.into()
}

/// Answer of `search_documentation`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchAnswer {
    /// Best first.
    pub results: Vec<SearchHit>,
    /// What could not be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<DocumentProblem>,
}

/// One section that matches.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchHit {
    /// What it says.
    pub text: String,
    /// Where it says so.
    pub metadata: Metadata,
    /// 0 to 1, higher is better.
    pub score: f64,
}

impl Tool for SearchDocumentation {
    const NAME: &'static str = "search_documentation";
    const TITLE: &'static str = "Search the documentation";
    const ABOUT: &'static str = "Search technical documentation: ask a question or name a setting and get the sections that say it, best first, each \
         with its source, section and score. Use get_document to read on.";
    type Args = SearchArgs;
    type Answer = SearchAnswer;

    fn input_schema(&self) -> Object {
        let mut schema = argument_schema::<SearchArgs>();
        let names = self.library.collections.iter().map(|collection| collection.name.clone());
        let values: Vec<String> = std::iter::once(ALL.to_owned()).chain(names).collect();
        let property =
            schema.get_mut("properties").and_then(|properties| properties.get_mut("doc_type"));
        if let Some(Value::Object(property)) = property {
            property.insert("enum".into(), json!(values));
        }
        schema
    }

    async fn call(
        &self,
        args: SearchArgs,
        context: &CallContext,
    ) -> Result<Answer<SearchAnswer>, ToolError> {
        let library = Arc::clone(&self.library);
        context.blocking(move |context| search(&library, &args, context)).await
    }
}

fn search(
    library: &Library,
    args: &SearchArgs,
    context: &CallContext,
) -> Result<Answer<SearchAnswer>, ToolError> {
    let collection = match args.doc_type.as_str() {
        ALL => None,
        name => Some(library.collection(name).ok_or_else(|| unknown(library, name))?),
    };
    let synced = library.sync(context)?;
    let hits = library.search(&args.query, args.max_results, collection);
    let results: Vec<SearchHit> = hits.into_iter().map(|hit| shown(library, hit)).collect();
    let problems: Vec<DocumentProblem> = library.problems().into_iter().map(Into::into).collect();
    let mut blocks = Vec::with_capacity(results.len());
    for hit in &results {
        let metadata = as_object(&hit.metadata)?;
        blocks.push(Block::Text {
            text: hit.text.clone(),
            metadata: Some(metadata),
            score: Some(hit.score),
        });
    }
    if results.is_empty() {
        blocks.push(Block::text(nothing(library, args, &problems)));
    }
    if synced.partial {
        blocks.push(Block::text("This is partial: time was up before every document was read. Ask again to go on from here."));
    }
    Ok(Answer {
        structured: SearchAnswer { results, problems },
        content: blocks,
        partial: synced.partial,
    })
}

fn unknown(library: &Library, name: &str) -> ToolError {
    let names: Vec<&str> =
        library.collections.iter().map(|collection| collection.name.as_str()).collect();
    ToolError::argument(
        "doc_type",
        format!("{name} is no collection; there are {ALL}, {}", names.join(", ")),
    )
}

fn shown(library: &Library, hit: Hit) -> SearchHit {
    let section = hit.document.sections.get(hit.section);
    let metadata = Metadata::new(library, &hit.source, &hit.document, section);
    SearchHit { text: hit.text, metadata, score: (hit.score * 10_000.0).round() / 10_000.0 }
}

/// A typed value as the metadata of a block.
pub(crate) fn as_object(metadata: &Metadata) -> Result<Object, ToolError> {
    match serde_json::to_value(metadata) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Ok(Object::new()),
        Err(error) => Err(ToolError::Bug(Box::new(error))),
    }
}

fn nothing(library: &Library, args: &SearchArgs, problems: &[DocumentProblem]) -> String {
    if library.collections.is_empty() {
        return "No documentation is configured: add a collection under docs.collections in docent.toml.".into();
    }
    let mut text =
        format!("Nothing in the documentation ({}) matches \"{}\".", args.doc_type, args.query);
    if library.len() == 0 {
        text.push_str(" No document was found: HTML, Markdown and plain text are read.");
    }
    for problem in problems.iter().take(5) {
        text.push_str("\n- ");
        text.push_str(&problem.path);
        text.push_str(": ");
        text.push_str(&problem.reason);
    }
    text
}
