//! `list_collections`: lists the documentation collections.

use super::{DocumentProblem, Library, address, collection::CollectionOrigin};
use crate::indexing::IndexPhase;
use docent_tool::{AnswerBlock, CallContext, ToolAnswer, ToolError, TypedTool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fmt::Write as _, sync::Arc};

/// `list_collections`.
#[derive(Debug)]
pub(crate) struct ListCollections {
    pub(crate) library: Arc<Library>,
}

/// Arguments of `list_collections`: none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListCollectionsArgs {}

/// Answer of `list_collections`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListCollectionsAnswer {
    /// Collections, in configured order.
    pub collections: Vec<CollectionInfo>,
    /// Whether all documents have been read; if not, counts may grow.
    pub complete: bool,
}

/// A collection.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CollectionInfo {
    /// Name: a value for `doc_type`, and the first part of its document ids.
    pub name: String,
    /// Topic; also a value for `doc_type`.
    pub doc_type: String,
    /// Version that it describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Description of its content.
    pub description: String,
    /// URI of its table of contents.
    pub uri: String,
    /// Path of its files.
    pub path: String,
    /// URL on the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Number of documents in the index.
    pub documents: usize,
    /// Number of indexed chunks.
    pub chunks: u64,
    /// Files that could not be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<DocumentProblem>,
}

impl TypedTool for ListCollections {
    const NAME: &'static str = "list_collections";
    const TITLE: &'static str = "List the documentation";
    const DESCRIPTION: &'static str = "List the documentation collections that search_documentation searches: name, version, description, number of documents, \
         and unreadable files.";
    type Args = ListCollectionsArgs;
    type Answer = ListCollectionsAnswer;

    async fn call(
        &self,
        _args: ListCollectionsArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<ListCollectionsAnswer>, ToolError> {
        let library = Arc::clone(&self.library);
        context.blocking(move |context| list(&library, context)).await
    }
}

fn list(
    library: &Library,
    context: &CallContext,
) -> Result<ToolAnswer<ListCollectionsAnswer>, ToolError> {
    let shelves = library.shelves();
    let phase =
        if shelves.is_empty() { IndexPhase::UpToDate } else { library.live.ready(context)? };
    let mut collections = Vec::with_capacity(shelves.len());
    for shelf in shelves.iter() {
        let sources = library.live.sources(&shelf.key, context)?;
        let (one, chunks) = (&shelf.collection, sources.iter().flat_map(|one| one.kinds.values()));
        collections.push(CollectionInfo {
            name: one.name.clone(),
            doc_type: one.doc_type().to_owned(),
            version: one.version.clone(),
            description: one.description.clone(),
            uri: address::contents(one),
            path: match &one.origin {
                CollectionOrigin::Roots(path) => path.clone(),
                CollectionOrigin::Anywhere(path) => path.display().to_string(),
            },
            url: one.url.clone(),
            documents: sources.iter().filter(|one| !one.kinds.is_empty()).count(),
            chunks: chunks.map(|count| u64::from(*count)).sum(),
            problems: library.problems_of(&one.name),
        });
    }
    let complete = phase == IndexPhase::UpToDate;
    let structured = ListCollectionsAnswer { collections, complete };
    let text = text(&structured);
    Ok(ToolAnswer { structured, content: vec![AnswerBlock::text(text)], partial: false })
}

fn text(answer: &ListCollectionsAnswer) -> String {
    if answer.collections.is_empty() {
        return "No documentation is configured: run `docent docs add NAME FOLDER`.".into();
    }
    let mut text = String::new();
    for one in &answer.collections {
        let version = one.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
        // Writing to a string can't fail.
        let _ok = writeln!(
            text,
            "- {}{version}: {} ({} documents, {} chunks; contents: {})",
            one.name, one.description, one.documents, one.chunks, one.uri
        );
        if !one.problems.is_empty() {
            let _ok = writeln!(
                text,
                "  {} problems; the first: {}: {}",
                one.problems.len(),
                one.problems[0].path,
                one.problems[0].reason
            );
        }
    }
    if !answer.complete {
        text.push_str("Documents are still being indexed: counts may grow.\n");
    }
    text
}
