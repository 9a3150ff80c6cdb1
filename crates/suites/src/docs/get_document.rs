//! `get_document`: one document, or one section of it.

use super::{
    Metadata,
    address::{self, Address},
    document::{Document, Section},
    library::{Library, Source},
    search_documentation::as_object,
};
use docent_tool::{Answer, Block, CallContext, Failure, FailureKind, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How many names an error offers.
const OFFERED: usize = 3;

/// `get_document`.
#[derive(Debug)]
pub(crate) struct GetDocument {
    pub(crate) library: Arc<Library>,
}

/// Arguments of `get_document`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetArgs {
    /// The unique identifier or path of the document, as `postgresql/indexes.html`.
    #[schemars(length(min = 1))]
    pub document_id: String,
    /// Only this section, by its heading or anchor, with all below it.
    pub section: Option<String>,
}

/// Answer of `get_document`; the text itself is in the content.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GetAnswer {
    /// Its identifier.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Where it comes from.
    pub metadata: Metadata,
    /// Every heading, in order.
    pub sections: Vec<SectionInfo>,
    /// Bytes of the text in the content.
    pub bytes: usize,
}

/// A section as a table of contents shows it.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SectionInfo {
    /// Its heading.
    pub heading: String,
    /// 1 to 6.
    pub level: u8,
    /// What links point to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
}

impl Tool for GetDocument {
    const NAME: &'static str = "get_document";
    const TITLE: &'static str = "Read a document";
    const ABOUT: &'static str = "Retrieve a specific document by ID or path, whole or one section of it, as text. The ids come from \
         search_documentation (source) and from the tables of contents.";
    type Args = GetArgs;
    type Answer = GetAnswer;

    async fn call(
        &self,
        args: GetArgs,
        context: &CallContext,
    ) -> Result<Answer<GetAnswer>, ToolError> {
        let library = Arc::clone(&self.library);
        context.blocking(move |context| get(&library, &args, context)).await
    }
}

fn get(
    library: &Library,
    args: &GetArgs,
    context: &CallContext,
) -> Result<Answer<GetAnswer>, ToolError> {
    let synced = library.sync(context)?;
    let Some((source, document)) = find(library, &args.document_id) else {
        return Err(missing(library, &args.document_id));
    };
    let (section, text) = match &args.section {
        None => (None, document.text.clone()),
        Some(name) => {
            let (at, text) = document.section(name).ok_or_else(|| no_section(&document, name))?;
            (document.sections.get(at), text)
        }
    };
    let metadata = Metadata::new(library, &source, &document, section);
    let info = |section: &Section| {
        let heading = section.heading()?.to_owned();
        Some(SectionInfo { heading, level: section.level, anchor: section.anchor.clone() })
    };
    let structured = GetAnswer {
        id: library.id(&source),
        title: document.title.clone(),
        sections: document.sections.iter().filter_map(info).collect(),
        bytes: text.len(),
        metadata,
    };
    let block = Block::Text { text, metadata: Some(as_object(&structured.metadata)?), score: None };
    Ok(Answer { structured, content: vec![block], partial: synced.partial })
}

/// By id, by address, or by a path that only one collection has. Only what was found in a collection's folder is known.
pub(crate) fn find(library: &Library, name: &str) -> Option<(Source, Arc<Document>)> {
    let with = |source: Source| library.document(&source).map(|document| (source, document));
    if let Some(Ok(Address::Document(collection, path))) = address::parse(name) {
        return with(Source { collection: library.collection(&collection)?, path });
    }
    let by_id = library.collections.iter().enumerate().find_map(|(n, collection)| {
        let path = name.strip_prefix(collection.name.as_str())?.strip_prefix('/')?;
        with(Source { collection: n, path: path.to_owned() })
    });
    by_id.or_else(|| {
        let every = 0..library.collections.len();
        let mut found = every.filter_map(|n| with(Source { collection: n, path: name.to_owned() }));
        let first = found.next();
        first.filter(|_| found.next().is_none())
    })
}

/// Says that there is no such document, and what is called nearly so.
pub(crate) fn missing(library: &Library, name: &str) -> ToolError {
    let failure = Failure::new(FailureKind::NotFound, "Document not found");
    let ids = library.documents(None).into_iter().map(|(source, _)| library.id(&source)).collect();
    match nearest(name, ids) {
        near if near.is_empty() => {
            failure.hint("no document is there; look at the collections' folders").into()
        }
        near => failure.hint(format!("nearest ids: {}", near.join(", "))).into(),
    }
}

fn no_section(document: &Document, name: &str) -> ToolError {
    let headings =
        document.sections.iter().filter_map(Section::heading).map(str::to_owned).collect();
    let near = nearest(name, headings);
    let failure = Failure::new(
        FailureKind::NotFound,
        format!("{} has no section called {name}", document.title),
    );
    if near.is_empty() {
        return failure.hint("it has no headings; ask for the whole").into();
    }
    failure.hint(format!("nearest sections: {}", near.join(", "))).into()
}

fn nearest(name: &str, mut known: Vec<String>) -> Vec<String> {
    let wanted: String = name.to_lowercase().chars().take(200).collect();
    let likeness = |one: &String| strsim::jaro_winkler(&wanted, &one.to_lowercase());
    known.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    known.truncate(OFFERED);
    known
}
