//! The documentation suite: collections of documents as tools and resources.
//!
//! Owns the collections, their state in the index, and their tools. `docent-prose` reads the formats; files are
//! accessed only through [`crate::files`], and only inside a collection.
//!
//! # Design
//!
//! A collection is a folder, a file or an archive. The index updater reads new or changed documents, by digest, into the index
//! under `docs:<name>`, and lists what can't be read. A background index keeps it up to date while a server runs, as for code;
//! both share one store. The library searches it, checks whether the files of the hits are unchanged, merges versions and reads
//! documents from the disk. Only `docent docs sync` fetches the pages of a site (`net::crawl`) into the state folder; from then
//! on they are a folder like any other.

pub(crate) mod address;
mod collection;
mod collections;
mod get_document;
mod index_updater;
mod library;
mod list_collections;
mod search_documentation;
mod units;
mod versions;

pub use collection::{CollectionOrigin, CollectionSettings, collection_places};
pub use get_document::{GetAnswer, GetArgs, SectionInfo};
pub use index_updater::{CollectionReport, DocsReport, indexed_counts, outdated_counts, sync};
pub use list_collections::{CollectionInfo, ListCollectionsAnswer, ListCollectionsArgs};
pub use search_documentation::{SearchDocumentationAnswer, SearchDocumentationArgs, SearchHit};
pub use units::prose_units;

use crate::{
    apps,
    files::{ReadFailure, ServedRoots},
    indexing::{BackgroundIndex, StoreOpener},
};
use collections::DocumentCollections;
use docent_index::Synonyms;
use docent_prose::{DocumentSection, ProseDocument};
use docent_tool::{
    AnyTool, App, BoxedFuture, CallContext, CompletionRequest, CompletionTarget, CompletionValues,
    Contents, ProviderChange, ResourceInfo, ResourceReading, TemplateInfo, ToolError, ToolProvider,
    erase, no_client,
};
use get_document::GetDocument;
use library::{DocumentLinks, Library};
use list_collections::ListCollections;
use schemars::JsonSchema;
use search_documentation::SearchDocumentation;
use serde::Serialize;
use std::{collections::BTreeSet, fmt::Write as _, sync::Arc};
use tokio::sync::broadcast;
use units::DocumentUnitMetadata;

/// Maximum number of completion values.
const MAX_COMPLETIONS: usize = 100;
/// Maximum number of documents in a table of contents; the rest is counted.
const MAX_LISTED_DOCUMENTS: usize = 2000;

/// Source of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Metadata {
    /// Document id, for `get_document`.
    pub source: String,
    /// Page on which it starts, if the document has pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Heading of the section, or else the title.
    pub section: String,
    /// Title of the document.
    pub title: String,
    /// Name of the collection.
    pub collection: String,
    /// Version that it describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Headings from the outermost down to the section.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// URL of the same text on the web.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Previous section, as `section` for `get_document`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// Next section.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl Metadata {
    fn of_unit(
        collection: &CollectionSettings,
        path: &str,
        title: String,
        extra: DocumentUnitMetadata,
    ) -> Self {
        Self {
            source: format!("{}/{path}", collection.name),
            page: extra.page,
            section: extra.path.last().unwrap_or(&title).clone(),
            title,
            collection: collection.name.clone(),
            version: extra.version,
            url: web_address(collection, path, extra.anchor.as_deref()),
            path: extra.path,
            previous: extra.previous,
            next: extra.next,
        }
    }

    fn of_section(
        collection: &CollectionSettings,
        path: &str,
        document: &ProseDocument,
        section: Option<&DocumentSection>,
    ) -> Self {
        let extra = DocumentUnitMetadata {
            path: section.map(|section| section.path.clone()).unwrap_or_default(),
            anchor: section.and_then(|section| section.anchor.clone()),
            page: section.and_then(|section| section.page),
            version: collection.version.clone().or_else(|| document.version.clone()),
            ..DocumentUnitMetadata::default()
        };
        Self::of_unit(collection, path, document.title.clone(), extra)
    }
}

/// URL of a document on the web.
fn web_address(
    collection: &CollectionSettings,
    path: &str,
    anchor: Option<&str>,
) -> Option<String> {
    let anchor = anchor.map(|anchor| format!("#{anchor}")).unwrap_or_default();
    if let Some(address) = collection.addresses.get(path) {
        return Some(format!("{address}{anchor}"));
    }
    let base = collection.url.as_ref()?.trim_end_matches('/');
    Some(format!("{base}/{path}{anchor}"))
}

/// A file or folder that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DocumentProblem {
    /// Path of the file or folder.
    pub path: String,
    /// Reason.
    pub reason: String,
}

impl From<ReadFailure> for DocumentProblem {
    fn from(problem: ReadFailure) -> Self {
        Self { path: problem.path, reason: problem.reason }
    }
}

/// Tools and resources about documentation. Cheap to clone.
#[derive(Clone)]
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
    /// Creates the suite for these collections, in this order. Reads nothing until a tool is called.
    pub fn new(
        roots: ServedRoots,
        collections: Vec<CollectionSettings>,
        index: StoreOpener,
    ) -> Self {
        Self::of(Library::new(BackgroundIndex::with_source(
            DocumentCollections::new(roots, collections),
            index,
        )))
    }

    /// Returns the suite with these synonyms.
    #[must_use]
    pub fn with_synonyms(&self, synonyms: Arc<Synonyms>) -> Self {
        Self::of(self.library.with_synonyms(synonyms))
    }

    fn of(library: Library) -> Self {
        let library = Arc::new(library);
        let tools = vec![
            erase(SearchDocumentation { library: Arc::clone(&library) }),
            erase(GetDocument { library: Arc::clone(&library) }),
            erase(ListCollections { library: Arc::clone(&library) }),
        ];
        Self { library, tools }
    }

    /// The names of the collections, in order.
    pub fn collections(&self) -> Vec<String> {
        self.library.shelves().iter().map(|shelf| shelf.collection.name.clone()).collect()
    }

    /// Replaces the collections, and notifies clients if anything changed.
    pub fn replace(&self, collections: Vec<CollectionSettings>) {
        if self.library.replace(collections) {
            let shelves = self.library.live.source();
            shelves.announce(ProviderChange::Tools);
            shelves.announce(ProviderChange::Resources);
        }
    }
}

impl ToolProvider for DocsSuite {
    fn key(&self) -> &'static str {
        "docs"
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.tools.clone()
    }

    fn apps(&self) -> Vec<App> {
        vec![apps::SEARCH]
    }

    fn resources(&self) -> BoxedFuture<'_, Vec<ResourceInfo>> {
        let resource = |collection: &CollectionSettings| ResourceInfo {
            uri: address::contents(collection),
            name: collection.title.as_ref().unwrap_or(&collection.name).clone(),
            title: collection.title.clone(),
            about: Some(collection.description.clone()),
            mime: Some("application/x-documentation".into()),
            size: None,
            ..ResourceInfo::default()
        };
        let all = self.library.shelves().iter().map(|shelf| resource(&shelf.collection)).collect();
        Box::pin(std::future::ready(all))
    }

    fn templates(&self) -> Vec<TemplateInfo> {
        let template = |uri_template: &str, name: &str, about: &str, mime: &str| TemplateInfo {
            uri_template: uri_template.into(),
            name: name.into(),
            title: None,
            about: Some(about.into()),
            mime: Some(mime.into()),
            ..TemplateInfo::default()
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
                "One document as Markdown; with #section only that section",
                "text/markdown",
            ),
        ]
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: &'a CallContext,
    ) -> BoxedFuture<'a, Option<Result<ResourceReading, ToolError>>> {
        Box::pin(async move {
            if let Err(problem) = address::parse(uri)? {
                return Some(Err(ToolError::not_found(problem)));
            }
            let (library, uri) = (Arc::clone(&self.library), uri.to_owned());
            let work = move |context: &CallContext| read(&library, &uri, context);
            Some(context.blocking(work).await.map(Into::into))
        })
    }

    fn watch(&self, uri: &str) -> bool {
        let known = self.can_watch(uri);
        if known {
            self.library.live.source().watch(uri);
            self.library.live.listening();
        }
        known
    }

    /// Whether the URI is in a collection. The document need not exist yet.
    fn can_watch(&self, uri: &str) -> bool {
        let Some(Ok(address)) = address::parse(uri) else { return false };
        self.library.shelves().iter().any(|shelf| address.is_in(&shelf.collection))
    }

    fn unwatch(&self, uri: &str) {
        self.library.live.source().unwatch(uri);
    }

    fn complete<'a>(&'a self, asked: &'a CompletionRequest) -> BoxedFuture<'a, CompletionValues> {
        let (target, argument, typed) = asked.parts();
        let ours = matches!(target, CompletionTarget::Template(template)
            if [address::CONTENTS_TEMPLATE, address::DOCUMENT_TEMPLATE].contains(&template.as_str()));
        if !ours {
            return Box::pin(std::future::ready(CompletionValues::default()));
        }
        let shelves = self.library.shelves();
        let named = |part: fn((&str, &str)) -> String| -> Vec<String> {
            let all: BTreeSet<String> =
                shelves.iter().map(|shelf| part(address::parts(&shelf.collection))).collect();
            all.into_iter().filter(|name| name.starts_with(typed)).take(MAX_COMPLETIONS).collect()
        };
        let ready = match argument {
            "doc_type" => named(|(doc_type, _)| doc_type.to_owned()),
            "collection" => named(|(_, collection)| collection.to_owned()),
            "path" => {
                let (library, typed) = (Arc::clone(&self.library), typed.to_owned());
                let work = move |context: &CallContext| Ok(paths(&library, &typed, context));
                return Box::pin(async move {
                    no_client().blocking(work).await.unwrap_or_default().into()
                });
            }
            _ => Vec::new(),
        };
        Box::pin(std::future::ready(ready.into()))
    }

    fn changes(&self) -> Option<broadcast::Receiver<ProviderChange>> {
        Some(self.library.live.source().changes())
    }
}

fn read(library: &Library, uri: &str, context: &CallContext) -> Result<Vec<Contents>, ToolError> {
    let shelves = library.shelves();
    let Some(Ok(address)) = address::parse(uri) else {
        return Err(ToolError::not_found(format!("{uri} is not a document URI")));
    };
    let (mime, text) = if address.path.is_none() {
        let shelf = shelves.iter().find(|shelf| address.is_in(&shelf.collection));
        let shelf = shelf.ok_or_else(|| ToolError::not_found(format!("no collection at {uri}")))?;
        let titles = library.titles(shelf, context)?;
        ("application/x-documentation", contents(&shelf.collection, &titles))
    } else {
        let missing = || get_document::missing(library, uri, context);
        let (shelf, path, section) = get_document::find(library, uri).ok_or_else(missing)?;
        let document = library.document(&shelf, &path, context).ok_or_else(missing)??;
        let links = DocumentLinks::new(&shelf, &path, context);
        let resolve = |target: &str| links.resolve(target);
        let text = match section {
            None => document.markdown(&resolve),
            Some(name) => {
                let range = document.section(&name).ok_or_else(missing)?;
                let sections = document.sections.get(range).unwrap_or_default();
                let all: Vec<String> =
                    sections.iter().map(|section| section.markdown(&resolve)).collect();
                all.join("\n\n")
            }
        };
        ("text/markdown", text)
    };
    if let Some(stop) = context.stop() {
        return Err(ToolError::Stopped(stop));
    }
    Ok(vec![Contents::Text { uri: uri.to_owned(), mime: Some(mime.into()), text }])
}

/// The table of contents of a collection, as Markdown.
fn contents(collection: &CollectionSettings, titles: &[(String, String)]) -> String {
    let described = Some(&collection.description).filter(|description| !description.is_empty());
    let heading = collection.title.as_ref().or(described).unwrap_or(&collection.name);
    let mut text = format!("# {heading}\n");
    for (path, title) in titles.iter().take(MAX_LISTED_DOCUMENTS) {
        let uri = address::document(collection, path, None);
        // Writing to a string can't fail.
        let _ok = write!(text, "\n- [{title}]({uri})");
    }
    if titles.len() > MAX_LISTED_DOCUMENTS {
        let _ok = write!(
            text,
            "\n\nAnd {} more: use search_documentation to find them.",
            titles.len() - MAX_LISTED_DOCUMENTS
        );
    }
    text.push('\n');
    text
}

/// Paths of documents that start with the typed text, in any collection: the chosen one is not known here.
fn paths(library: &Library, typed: &str, context: &CallContext) -> Vec<String> {
    let mut found = BTreeSet::new();
    for shelf in library.shelves().iter() {
        let Ok(titles) = library.titles(shelf, context) else { continue };
        let all = titles.into_iter().map(|(path, _)| path);
        found.extend(all.filter(|path| path.starts_with(typed)).take(MAX_COMPLETIONS));
    }
    found.into_iter().take(MAX_COMPLETIONS).collect()
}

#[cfg(test)]
mod tests;
