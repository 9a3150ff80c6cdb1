//! The documentation suite: collections of documents as tools and resources.
//!
//! Owns which formats are read and how they fall into sections. Files are reached through [`crate::files`] alone, and
//! only what lies in a collection's folder is ever known.

mod address;
mod document;
mod get_document;
mod ingest;
mod library;
mod search_documentation;
mod units;

pub use get_document::{GetAnswer, GetArgs, SectionInfo};
pub use search_documentation::{SearchAnswer, SearchArgs, SearchHit};
pub use units::prose_units;

use crate::files::{Problem, Roots};
use address::Address;
use docent_tool::{
    AnyTool, CallContext, Change, CompletionTarget, Contents, Provider, ResourceInfo, Running,
    TemplateInfo, ToolError, erase,
};
use document::{Document, Section};
use get_document::GetDocument;
pub(crate) use ingest::Format;
pub(crate) use library::LARGEST_FILE;
use library::{Library, Source};
use schemars::JsonSchema;
use search_documentation::SearchDocumentation;
use serde::Serialize;
use std::{fmt::Write as _, sync::Arc};
use tokio::sync::broadcast;

/// As many values as a completion may have.
const COMPLETIONS: usize = 100;

/// A folder of documents with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// What callers call it: a value of `doc_type`, and the first part of a document's id.
    pub name: String,
    /// Its folder: relative to the first root, or absolute inside a root.
    pub path: String,
    /// What is in it, for people and models.
    pub description: String,
    /// Where the same documents are on the web, without the path of each.
    pub url: Option<String>,
}

impl Collection {
    /// A collection without an address on the web.
    pub fn new(
        name: impl Into<String>,
        path: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), path: path.into(), description: description.into(), url: None }
    }
}

/// Where a text comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Metadata {
    /// The document's id.
    pub source: String,
    /// Heading of the section; the title where it has none.
    pub section: String,
    /// Title of the document.
    pub title: String,
    /// Collection that it belongs to.
    pub collection: String,
    /// The headings above the section and its own, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// The same on the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Metadata {
    fn new(
        library: &Library,
        source: &Source,
        document: &Document,
        section: Option<&Section>,
    ) -> Self {
        let collection = &library.collections[source.collection];
        let anchor = section
            .and_then(|section| section.anchor.as_deref())
            .map(|anchor| format!("#{anchor}"));
        let address = |base: &String| {
            format!(
                "{}/{}{}",
                base.trim_end_matches('/'),
                source.path,
                anchor.as_deref().unwrap_or("")
            )
        };
        Self {
            source: library.id(source),
            section: section.and_then(Section::heading).unwrap_or(&document.title).to_owned(),
            title: document.title.clone(),
            collection: collection.name.clone(),
            path: section.map(|section| section.path.clone()).unwrap_or_default(),
            url: collection.url.as_ref().map(address),
        }
    }
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentProblem {
    /// Which file or folder.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl From<Problem> for DocumentProblem {
    fn from(problem: Problem) -> Self {
        Self { path: problem.path, reason: problem.reason }
    }
}

/// Tools and resources about documentation.
pub struct DocsSuite {
    library: Arc<Library>,
    tools: Vec<Arc<dyn AnyTool>>,
}

impl std::fmt::Debug for DocsSuite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DocsSuite").field("library", &self.library).finish_non_exhaustive()
    }
}

impl DocsSuite {
    /// A suite about these collections, in this order. Nothing is read until it is asked for.
    pub fn new(roots: Roots, collections: Vec<Collection>) -> Self {
        let library = Library::new(roots, collections);
        let tools = vec![
            erase(SearchDocumentation { library: Arc::clone(&library) }),
            erase(GetDocument { library: Arc::clone(&library) }),
        ];
        Self { library, tools }
    }

    /// The names of the collections, in order.
    pub fn collections(&self) -> impl Iterator<Item = &str> {
        self.library.collections.iter().map(|collection| collection.name.as_str())
    }
}

impl Provider for DocsSuite {
    fn key(&self) -> &'static str {
        "docs"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.clone()
    }

    fn resources(&self) -> Running<'_, Vec<ResourceInfo>> {
        let resource = |collection: &Collection| ResourceInfo {
            uri: address::contents(&collection.name),
            name: collection.name.clone(),
            title: None,
            about: Some(collection.description.clone()),
            mime: Some("application/x-documentation".into()),
            size: None,
        };
        Box::pin(std::future::ready(self.library.collections.iter().map(resource).collect()))
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        let template = |uri_template: &str, name: &str, about: &str, mime: &str| TemplateInfo {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            about: Some(about.into()),
            mime: Some(mime.into()),
        };
        vec![
            template(
                address::CONTENTS_TEMPLATE,
                "contents",
                "The documents of a collection",
                "application/x-documentation",
            ),
            template(
                address::DOCUMENT_TEMPLATE,
                "document",
                "One document as Markdown",
                "text/markdown",
            ),
        ]
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a CallContext,
    ) -> Running<'a, Option<Result<Vec<Contents>, ToolError>>> {
        Box::pin(async move {
            let address = match address::parse(uri)? {
                Ok(address) => address,
                Err(problem) => return Some(Err(ToolError::not_found(problem))),
            };
            let (library, uri) = (Arc::clone(&self.library), uri.to_owned());
            Some(context.blocking(move |context| read(&library, &uri, address, context)).await)
        })
    }

    fn watch(&self, uri: &str) -> bool {
        let collection = match address::parse(uri) {
            Some(Ok(Address::Contents(name) | Address::Document(name, _))) => {
                self.library.collection(&name)
            }
            _ => None,
        };
        if collection.is_some() {
            self.library.listen();
        }
        collection.is_some()
    }

    fn complete<'a>(
        &'a self,
        target: &'a CompletionTarget,
        argument: &'a str,
        typed: &'a str,
    ) -> Running<'a, Vec<String>> {
        let ours = matches!(target, CompletionTarget::Template(template)
            if [address::CONTENTS_TEMPLATE, address::DOCUMENT_TEMPLATE].contains(&template.as_str()));
        let begins = |name: &&str| name.starts_with(typed);
        match argument {
            "collection" if ours => {
                let names = self
                    .collections()
                    .filter(begins)
                    .take(COMPLETIONS)
                    .map(str::to_owned)
                    .collect();
                Box::pin(std::future::ready(names))
            }
            "path" if ours => {
                let (library, typed) = (Arc::clone(&self.library), typed.to_owned());
                let work = move || paths(&library, &typed);
                Box::pin(async move { tokio::task::spawn_blocking(work).await.unwrap_or_default() })
            }
            _ => Box::pin(std::future::ready(Vec::new())),
        }
    }

    fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        Some(self.library.changes())
    }
}

fn read(
    library: &Library,
    uri: &str,
    address: Address,
    context: &CallContext,
) -> Result<Vec<Contents>, ToolError> {
    library.sync(context)?;
    let (mime, text) = match address {
        Address::Contents(name) => {
            let collection = library.collection(&name);
            let collection = collection
                .ok_or_else(|| ToolError::not_found(format!("no collection is called {name}")))?;
            ("application/x-documentation", contents(library, collection))
        }
        Address::Document(..) => {
            let (_, document) = get_document::find(library, uri)
                .ok_or_else(|| get_document::missing(library, uri))?;
            ("text/markdown", document.text.clone())
        }
    };
    Ok(vec![Contents::Text { uri: uri.to_owned(), mime: Some(mime.into()), text }])
}

/// The table of contents of a collection, as Markdown.
fn contents(library: &Library, n: usize) -> String {
    let collection = &library.collections[n];
    let mut text = format!("# {}\n", collection.description);
    for (source, document) in library.documents(Some(n)) {
        let uri = address::document(&collection.name, &source.path);
        // Writing to a string can't fail.
        let _ok = write!(text, "\n- [{}]({uri})", document.title);
    }
    text.push('\n');
    text
}

/// Paths of documents that begin as typed, of any collection: which one is meant is not known here.
fn paths(library: &Library, typed: &str) -> Vec<String> {
    if library.sync(&docent_tool::nobody()).is_err() {
        return Vec::new();
    }
    let all = library.documents(None).into_iter().map(|(source, _)| source.path);
    let mut found: Vec<String> =
        all.filter(|path| path.starts_with(typed)).take(COMPLETIONS).collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests;
