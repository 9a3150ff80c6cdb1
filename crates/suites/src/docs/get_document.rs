//! `get_document`: reads a document, a section or a page of it.

use super::{
    Metadata, address,
    collection::DocumentCollection,
    library::{DocumentLinks, Library},
    search_documentation::as_object,
};
use docent_prose::{DocumentSection, ProseDocument};
use docent_tool::{
    AnswerBlock, CallContext, DisabledTool, FailureKind, ToolAnswer, ToolError, ToolFailure,
    TypedTool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{ops::Range, sync::Arc};

/// Maximum number of names suggested in an error.
const MAX_SUGGESTIONS: usize = 3;
/// Maximum length compared of two names, in characters.
const MAX_COMPARED_CHARS: usize = 200;
/// Minimum similarity of a suggested name.
const MIN_SIMILARITY: f64 = 0.65;
/// Minimum length for a match by containment; shorter names match by chance.
const MIN_CONTAINED_BYTES: usize = 4;
/// Maximum size returned at once; a longer document is split into pages, unless it has its own.
const MAX_WHOLE_DOCUMENT_BYTES: usize = 200_000;
/// Page size for a document without pages, in bytes.
const PAGE_BYTES: usize = 24_000;

/// `get_document`.
#[derive(Debug)]
pub(crate) struct GetDocument {
    pub(crate) library: Arc<Library>,
}

/// Arguments of `get_document`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetArgs {
    /// The unique identifier or path of the document, such as `postgresql/indexes.html`.
    #[schemars(length(min = 1))]
    pub document_id: String,
    /// Only the section with this heading or anchor, including subsections.
    pub section: Option<String>,
    /// Only this page, from 1: the page of a book, or the part of any other long text.
    #[schemars(range(min = 1))]
    pub page: Option<u32>,
}

/// Answer of `get_document`; the text is in the content.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GetAnswer {
    /// Document id.
    pub id: String,
    /// Title.
    pub title: String,
    /// Source of the text.
    pub metadata: Metadata,
    /// Headings, in order.
    pub sections: Vec<SectionInfo>,
    /// Size of the text in the content, in bytes.
    pub bytes: usize,
    /// Page number, if this is not the whole document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Number of pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    /// Parts that could not be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A section in the table of contents.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SectionInfo {
    /// Heading.
    pub heading: String,
    /// Heading level, 1 to 6.
    pub level: u8,
    /// Anchor of the heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub anchor: Option<String>,
    /// Page on which it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

impl TypedTool for GetDocument {
    const NAME: &'static str = "get_document";
    const TITLE: &'static str = "Read a document";
    const DESCRIPTION: &'static str = "Retrieve a specific document by ID or path, or one section or page of it, as Markdown. Get ids from \
         search_documentation (source) or the tables of contents; links lead to further documents.";
    type Args = GetArgs;
    type Answer = GetAnswer;

    fn off(&self) -> Option<DisabledTool> {
        self.library.off()
    }

    async fn call(
        &self,
        args: GetArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<GetAnswer>, ToolError> {
        let library = Arc::clone(&self.library);
        context.blocking(move |context| get(&library, &args, context)).await
    }
}

fn get(
    library: &Library,
    args: &GetArgs,
    context: &CallContext,
) -> Result<ToolAnswer<GetAnswer>, ToolError> {
    let missing = || missing(library, &args.document_id, context);
    let (shelf, path, named) = find(library, &args.document_id).ok_or_else(missing)?;
    let document = library.document(&shelf, &path, context).ok_or_else(missing)??;
    let wanted = args.section.as_deref().or(named.as_deref());
    let range = match wanted {
        None => 0..document.sections.len(),
        Some(name) => document.section(name).ok_or_else(|| no_section(&document, name))?,
    };
    let section = wanted.and_then(|_| document.sections.get(range.start));
    let links = DocumentLinks::new(&shelf, &path, context);
    let shown = show(&links, &document, range, args.page)?;
    if let Some(stop) = context.stop() {
        return Err(ToolError::Stopped(stop));
    }
    let metadata = Metadata::of_section(&shelf.collection, &path, &document, section);
    let info = |section: &DocumentSection| {
        let heading = section.heading()?.to_owned();
        let (level, anchor, page) = (section.level, section.anchor.clone(), section.page);
        Some(SectionInfo { heading, level, anchor, page })
    };
    let structured = GetAnswer {
        id: metadata.source.clone(),
        title: document.title.clone(),
        sections: document.sections.iter().filter_map(info).collect(),
        bytes: shown.text.len(),
        page: shown.page,
        pages: shown.pages,
        problems: document.problems.clone(),
        metadata,
    };
    let metadata = Some(as_object(&structured.metadata)?);
    let mut blocks = vec![AnswerBlock::Text { text: shown.text, metadata, score: None }];
    if let (Some(page), Some(pages)) = (shown.page, shown.pages)
        && args.page.is_none()
    {
        blocks.push(AnswerBlock::text(format!(
            "This is page {page} of {pages}. Request the next with \"page\": {}, or a section by its heading.",
            page + 1
        )));
    }
    Ok(ToolAnswer { structured, content: blocks, partial: false })
}

/// The requested text.
struct DocumentText {
    text: String,
    page: Option<u32>,
    pages: Option<u32>,
}

fn show(
    links: &DocumentLinks<'_>,
    document: &ProseDocument,
    range: Range<usize>,
    page: Option<u32>,
) -> Result<DocumentText, ToolError> {
    let resolve = |target: &str| links.resolve(target);
    let sections = document.sections.get(range).unwrap_or_default();
    let last =
        |section: &DocumentSection| section.blocks.iter().filter_map(|block| block.page).max();
    let own_pages = document.sections.iter().filter_map(last).max();
    let pieces = pieces(sections, &resolve);
    let whole = |pieces: &[DocumentPiece]| {
        pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>().join("\n\n")
    };
    let Some(page) = page else {
        let text = whole(&pieces);
        if text.len() <= MAX_WHOLE_DOCUMENT_BYTES {
            return Ok(DocumentText { text, page: None, pages: own_pages });
        }
        let parts = parts(&pieces);
        let text = parts.first().map(|part| whole(part)).unwrap_or_default();
        let pages = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        // A book's own pages are too short for a first answer.
        let (page, pages) =
            if own_pages.is_some() { (None, own_pages) } else { (Some(1), Some(pages)) };
        return Ok(DocumentText { text, page, pages });
    };
    let (text, pages) = if let Some(pages) = own_pages {
        let on: Vec<DocumentPiece> =
            pieces.into_iter().filter(|piece| piece.page == Some(page)).collect();
        ((page <= pages).then(|| whole(&on)), pages)
    } else {
        let parts = parts(&pieces);
        let part = usize::try_from(page).ok().and_then(|page| parts.get(page.checked_sub(1)?));
        (part.map(|part| whole(part)), u32::try_from(parts.len()).unwrap_or(u32::MAX))
    };
    let text = text.ok_or_else(|| {
        ToolError::argument("page", format!("{} has {pages} pages", document.title))
    })?;
    Ok(DocumentText { text, page: Some(page), pages: Some(pages) })
}

/// A heading or block as Markdown.
#[derive(Debug, Clone)]
struct DocumentPiece {
    text: String,
    page: Option<u32>,
}

fn pieces(
    sections: &[DocumentSection],
    resolve: &dyn Fn(&str) -> Option<String>,
) -> Vec<DocumentPiece> {
    let mut all = Vec::new();
    for section in sections {
        if let Some(heading) = section.heading() {
            let text = format!("{} {heading}", "#".repeat(section.level.into()));
            all.push(DocumentPiece { text, page: section.page });
        }
        let blocks = section.blocks.iter();
        all.extend(blocks.map(|block| DocumentPiece {
            text: block.text.to_markdown(resolve),
            page: block.page,
        }));
    }
    all
}

/// Splits pieces into pages of similar length, at least one piece each.
fn parts(pieces: &[DocumentPiece]) -> Vec<Vec<DocumentPiece>> {
    let mut all: Vec<Vec<DocumentPiece>> = vec![Vec::new()];
    let mut bytes = 0;
    for piece in pieces {
        if bytes > 0 && bytes + piece.text.len() > PAGE_BYTES {
            all.push(Vec::new());
            bytes = 0;
        }
        bytes += piece.text.len();
        if let Some(part) = all.last_mut() {
            part.push(piece.clone());
        }
    }
    all
}

/// Finds a document by id, by URI, or by a path that only one collection has. Also returns the section in the name.
pub(crate) fn find(
    library: &Library,
    name: &str,
) -> Option<(DocumentCollection, String, Option<String>)> {
    let shelves = library.shelves();
    if let Some(Ok(address)) = address::parse(name) {
        let shelf = shelves.iter().find(|shelf| address.is_in(&shelf.collection))?;
        let path = address.path.filter(|path| shelf.find(path).is_some())?;
        return Some((shelf.clone(), path, address.section));
    }
    let with = |name: &str, section: Option<&str>| {
        let by_id = shelves.iter().find_map(|shelf| {
            let path = name.strip_prefix(shelf.collection.name.as_str())?.strip_prefix('/')?;
            shelf.find(path).map(|_| (shelf, path))
        });
        let by_path = || {
            let mut found = shelves.iter().filter(|shelf| shelf.find(name).is_some());
            let first = found.next();
            first.filter(|_| found.next().is_none()).map(|shelf| (shelf, name))
        };
        let (shelf, path) = by_id.or_else(by_path)?;
        Some((shelf.clone(), path.to_owned(), section.map(str::to_owned)))
    };
    with(name, None).or_else(|| {
        let (name, section) = name.split_once('#')?;
        with(name, Some(section))
    })
}

/// The error for a missing document, with the ids closest to the requested one.
pub(crate) fn missing(library: &Library, name: &str, context: &CallContext) -> ToolError {
    let failure = ToolFailure::new(FailureKind::NotFound, "Document not found");
    if let Some(off) = library.off() {
        return failure.hint(off.remedy).into();
    }
    let mut ids = Vec::new();
    let shelves = library.shelves();
    for shelf in shelves.iter() {
        let items = shelf.scan(&|| context.stop().is_some()).items.into_iter();
        ids.extend(items.map(|item| format!("{}/{}", shelf.collection.name, item.path)));
    }
    if ids.is_empty() {
        return failure
            .hint("no documents indexed; list_collections shows what is available")
            .into();
    }
    let near = closest_names(stem(name), ids, stem);
    if near.is_empty() {
        let lists: Vec<String> = shelves
            .iter()
            .take(MAX_SUGGESTIONS)
            .map(|shelf| address::contents(&shelf.collection))
            .collect();
        let hint = format!(
            "no similar id; find ids with search_documentation or in these resources: {}",
            lists.join(", ")
        );
        return failure.hint(hint).into();
    }
    failure.hint(format!("similar ids: {}", near.join(", "))).into()
}

fn no_section(document: &ProseDocument, name: &str) -> ToolError {
    let headings: Vec<String> =
        document.sections.iter().filter_map(DocumentSection::heading).map(str::to_owned).collect();
    let failure = ToolFailure::new(
        FailureKind::NotFound,
        format!("{} has no section named {name}", document.title),
    );
    if headings.is_empty() {
        return failure.hint("it has no headings; read the whole document").into();
    }
    let first = headings.iter().take(MAX_SUGGESTIONS).cloned().collect::<Vec<_>>().join(", ");
    let near = closest_names(name, headings, |heading| heading);
    if near.is_empty() {
        return failure.hint(format!("its first sections: {first}")).into();
    }
    failure.hint(format!("similar sections: {}", near.join(", "))).into()
}

/// The file name in an id, without its extension.
fn stem(id: &str) -> &str {
    let id = id.split('#').next().unwrap_or(id);
    let name = id.rsplit('/').next().unwrap_or(id);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The known names most similar to the wanted one, best first; `part` selects what is compared.
fn closest_names(wanted: &str, known: Vec<String>, part: fn(&str) -> &str) -> Vec<String> {
    let wanted = comparable(wanted);
    let mut known: Vec<(f64, String)> = known
        .into_iter()
        .map(|one| (similarity(&wanted, &comparable(part(&one))), one))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .collect();
    known.sort_by(|a, b| b.0.total_cmp(&a.0));
    known.into_iter().map(|(_, one)| one).take(MAX_SUGGESTIONS).collect()
}

/// The start of a name in lower case: comparison time grows with the product of the lengths.
fn comparable(text: &str) -> String {
    text.chars().take(MAX_COMPARED_CHARS).flat_map(char::to_lowercase).collect()
}

/// Similarity of two names from 0 to 1, by edit distance. A name contained in another is always similar to it.
fn similarity(a: &str, b: &str) -> f64 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let edits = strsim::normalized_damerau_levenshtein(a, b);
    if short.len() >= MIN_CONTAINED_BYTES && long.contains(short) {
        // More edits still rank a longer name lower.
        return MIN_SIMILARITY + (1.0 - MIN_SIMILARITY) * edits;
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_close_ids_are_offered() {
        let ids = ["xoper", "index", "indexes", "gin", "sql-createindex", "indexes-types"];
        let ids: Vec<String> = ids.iter().map(|id| format!("postgresql/{id}.html")).collect();
        let cases: [(&str, &[&str]); 7] = [
            ("postgresql/nope.html", &[]),
            ("postgresql/indxes.html", &["indexes", "index"]),
            ("indexes.md", &["indexes", "index", "indexes-types"]),
            ("ubuntu/deep/gin.html", &["gin"]),
            ("createindex", &["sql-createindex", "index"]),
            ("techdoc://postgresql/docs/XOPR.html#a/b.c", &["xoper"]),
            ("", &[]),
        ];
        for (wanted, want) in cases {
            let got = closest_names(stem(wanted), ids.clone(), stem);
            let got: Vec<&str> = got.iter().map(|id| stem(id)).collect();
            assert_eq!(got, want, "{wanted}");
        }
    }
}
