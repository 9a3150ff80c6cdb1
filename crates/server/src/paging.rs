//! Fits an answer to a page: text continues in further parts, structured content is shortened and stored in full.

use crate::{
    results::{ResultId, ResultParts},
    validate::SchemaChecker,
};
use docent_tool::Contents;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource, ResourceContents};
use serde::Serialize;
use serde_json::{Value, json};
use std::io;

const PARTS_META_KEY: &str = "docent/parts";
const CUT_META_KEY: &str = "docent/cut";
/// Where to read the rest of a resource that did not fit a page.
const NEXT_META_KEY: &str = "docent/next";
/// Bytes reserved for the link, the metadata and the braces around an answer.
const PAGE_OVERHEAD_BYTES: usize = 768;
/// Minimum bytes of a page.
const MIN_PAGE_BYTES: usize = 1024;
/// Structured strings up to this length stay whole while dropping items suffices: they may be names of sections.
const MIN_TEXT_BYTES: usize = 256;
/// A longer string without spaces is data, not an id.
const MAX_IDENTIFIER_BYTES: usize = 1024;

/// Bytes of an answer before JSON escapes: for the audit line, and as a cheap estimate of the size.
pub(crate) fn result_bytes(result: &CallToolResult) -> usize {
    let content: usize = result.content.iter().map(block_weight).sum();
    content + result.structured_content.as_ref().map_or(0, value_weight)
}

pub(crate) fn block_weight(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text(text) => {
            text.text.len()
                + text.meta.as_ref().map_or(0, |meta| meta.values().map(value_weight).sum())
        }
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Audio(audio) => audio.data.len(),
        ContentBlock::Resource(embedded) => contents_weight(&embedded.resource),
        ContentBlock::ResourceLink(link) => link.uri.len() + link.name.len(),
        _ => 0,
    }
}

pub(crate) fn contents_weight(contents: &ResourceContents) -> usize {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text.len(),
        ResourceContents::BlobResourceContents { blob, .. } => blob.len(),
        _ => 0,
    }
}

fn value_weight(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| value_weight(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => {
            map.iter().map(|(key, value)| key.len() + 4 + value_weight(value)).sum::<usize>() + 2
        }
    }
}

/// Bytes of JSON, counted without storing it.
fn json_bytes(value: &impl Serialize) -> usize {
    struct JsonByteCounter(usize);
    impl io::Write for JsonByteCounter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = JsonByteCounter(0);
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

/// Shortens an answer to a page. Returns the rest, to be stored under the id.
pub(crate) fn fit(
    result: &mut CallToolResult,
    page: usize,
    output: Option<&SchemaChecker>,
) -> Option<(ResultId, ResultParts)> {
    // An escape takes at most six bytes per byte, so most answers need no counting.
    if result_bytes(result).saturating_mul(6) + PAGE_OVERHEAD_BYTES <= page
        || json_bytes(result) <= page
    {
        return None;
    }
    let id = ResultId::new();
    let mut parts = ResultParts::default();
    let mut meta = result.meta.take().unwrap_or_default();
    let room = page
        .max(MIN_PAGE_BYTES)
        .saturating_sub(PAGE_OVERHEAD_BYTES + json_bytes(&meta))
        .max(MIN_PAGE_BYTES / 4);

    let content_bytes = json_bytes(&result.content);
    let mut left = room;
    if let Some(structured) = result.structured_content.take() {
        let room = (room / 2).max(room.saturating_sub(content_bytes));
        let (kept, cuts) = shorten(&structured, room, output);
        left = left.saturating_sub(kept.as_ref().map_or(0, json_bytes));
        if !cuts.is_empty() {
            meta.insert(CUT_META_KEY.into(), json!(cuts));
            parts.add_text(&id, "structured", structured.to_string(), "application/json");
        }
        result.structured_content = kept;
    }
    let content = std::mem::take(&mut result.content);
    let (first, rest) = lay_out(content, left, &id, &mut parts);
    result.content = first;
    if !rest.is_empty() {
        let further =
            split(&rest, page.max(MIN_PAGE_BYTES).saturating_sub(PAGE_OVERHEAD_BYTES / 2));
        meta.insert(PARTS_META_KEY.into(), json!(further.len() + 1));
        for (at, text) in further.iter().enumerate() {
            parts.add_text(&id, &(at + 2).to_string(), (*text).to_owned(), "text/plain");
        }
        let link = Resource::new(id.uri(2), "part 2")
            .with_description(format!("The answer continues in {} more part(s).", further.len()))
            .with_mime_type("text/plain");
        result.content.push(ContentBlock::ResourceLink(link));
    }
    result.meta = (!meta.is_empty()).then_some(meta);
    (!parts.is_empty()).then_some((id, parts))
}

/// The blocks that fit, and the text that does not. A non-text block that does not fit becomes a link.
fn lay_out(
    content: Vec<ContentBlock>,
    room: usize,
    id: &ResultId,
    parts: &mut ResultParts,
) -> (Vec<ContentBlock>, String) {
    let mut first = Vec::with_capacity(content.len() + 1);
    let mut rest = String::new();
    let mut left = room;
    for (at, block) in content.into_iter().enumerate() {
        let size = json_bytes(&block) + 1;
        match block {
            ContentBlock::Text(mut text) if size > left || !rest.is_empty() => {
                if rest.is_empty() {
                    let around = size.saturating_sub(escaped_bytes(&text.text));
                    let (head, tail) = cut(&text.text, left.saturating_sub(around));
                    rest.push_str(tail);
                    text.text = String::from(head);
                    left = 0;
                    first.push(ContentBlock::Text(text));
                } else {
                    rest.push_str("\n\n");
                    rest.push_str(&text.text);
                }
            }
            block if size > left => first.push(set_aside(block, at, id, parts)),
            block => {
                left -= size;
                first.push(block);
            }
        }
    }
    (first, rest)
}

fn set_aside(
    block: ContentBlock,
    at: usize,
    id: &ResultId,
    parts: &mut ResultParts,
) -> ContentBlock {
    let part = format!("block-{at}");
    let uri = id.uri(&part);
    let (contents, mime) = match block {
        ContentBlock::Image(image) => (Ok(image.data), Some(image.mime_type)),
        ContentBlock::Audio(audio) => (Ok(audio.data), Some(audio.mime_type)),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { text, mime_type, .. } => {
                (Err(text), mime_type)
            }
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => (Ok(blob), mime_type),
            _ => return ContentBlock::text("(content too large for this page)"),
        },
        other => return other,
    };
    let contents = match contents {
        Ok(blob) => Contents::Blob { uri: uri.clone(), mime: mime.clone(), blob },
        Err(text) => Contents::Text { uri: uri.clone(), mime: mime.clone(), text },
    };
    parts.add(&part, contents);
    let mut link =
        Resource::new(uri, part).with_description("Too large for this page; read it here.");
    link.mime_type = mime;
    ContentBlock::ResourceLink(link)
}

/// Shortens the single text of a resource to a page; the rest is stored under the id.
pub(crate) fn fit_contents(
    contents: &mut [ResourceContents],
    page: usize,
) -> Option<(ResultId, ResultParts, MetaObject)> {
    let [ResourceContents::TextResourceContents { text, .. }] = contents else { return None };
    let room = page.max(MIN_PAGE_BYTES).saturating_sub(PAGE_OVERHEAD_BYTES / 2);
    if text.len().saturating_mul(6) <= room || escaped_bytes(text) <= room {
        return None;
    }
    let id = ResultId::new();
    let mut parts = ResultParts::default();
    let pieces = split(text, room);
    let mut meta = MetaObject::new();
    meta.insert(PARTS_META_KEY.into(), json!(pieces.len()));
    meta.insert(NEXT_META_KEY.into(), json!(id.uri(2)));
    for (at, piece) in pieces.iter().enumerate().skip(1) {
        parts.add_text(&id, &(at + 1).to_string(), (*piece).to_owned(), "text/plain");
    }
    *text = (*pieces.first()?).to_owned();
    Some((id, parts, meta))
}

/// Bytes of a text as a JSON string, without the quotes.
fn escaped_bytes(text: &str) -> usize {
    text.chars().map(cost).sum()
}

fn cost(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\u{0}'..='\u{1f}' => 6,
        other => other.len_utf8(),
    }
}

/// Splits a text into pieces of at most `room` bytes of JSON each.
fn split(text: &str, room: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, tail) = cut(rest, room.max(8));
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

/// The longest prefix that fits, cut after a line if one ends in its second half, otherwise after a space or a comma,
/// so that ids and addresses stay whole.
fn cut(text: &str, room: usize) -> (&str, &str) {
    let (mut used, mut end, mut line, mut word) = (0, 0, 0, 0);
    for (at, character) in text.char_indices() {
        used += cost(character);
        if used > room {
            let nearest = [line, word].into_iter().find(|boundary| *boundary > end / 2);
            return text.split_at(nearest.unwrap_or(end));
        }
        end = at + character.len_utf8();
        if character == '\n' {
            line = end;
        }
        if character.is_whitespace() || character == ',' {
            word = end;
        }
    }
    (text, "")
}

/// Structured content with long strings, arrays and maps shortened until it fits, and the places that were cut. The
/// rest still matches the tool's schema; if it cannot, nothing is left.
fn shorten(
    whole: &Value,
    room: usize,
    output: Option<&SchemaChecker>,
) -> (Option<Value>, Vec<String>) {
    if json_bytes(whole) <= room {
        return (Some(whole.clone()), Vec::new());
    }
    // Prefer fewer items to shorter sentences: half of the hits are more useful than all of them truncated.
    let gentle = (0..16).map(|step| ShortenLimits {
        text: (room >> step).max(MIN_TEXT_BYTES),
        items: (4096 >> step).max(1),
    });
    let harsh = (1..5).map(|step| ShortenLimits { text: MIN_TEXT_BYTES >> step, items: 1 });
    for limits in gentle.chain(harsh) {
        let mut value = whole.clone();
        let mut cuts = Vec::new();
        limits.apply(&mut value, &mut String::new(), &mut cuts);
        if json_bytes(&value) <= room {
            if output.is_none_or(|output| output.accepts(&value)) {
                return (Some(value), cuts);
            }
            break;
        }
    }
    (None, vec![String::new()])
}

struct ShortenLimits {
    text: usize,
    items: usize,
}

/// Whether a string is an id, an anchor or an address: a part of one is useless.
fn is_identifier(text: &str) -> bool {
    text.len() <= MAX_IDENTIFIER_BYTES && !text.contains(char::is_whitespace)
}

impl ShortenLimits {
    fn apply(&self, value: &mut Value, path: &mut String, cuts: &mut Vec<String>) {
        match value {
            Value::String(text) if escaped_bytes(text) > self.text && !is_identifier(text) => {
                let (head, _) = cut(text, self.text.saturating_sub('…'.len_utf8()));
                *text = format!("{head}…");
                cuts.push(path.clone());
            }
            Value::Array(items) => {
                if items.len() > self.items {
                    items.truncate(self.items);
                    cuts.push(path.clone());
                }
                for (at, item) in items.iter_mut().enumerate() {
                    self.within(&at.to_string(), item, path, cuts);
                }
            }
            Value::Object(map) => {
                // A map from names to values may be long; an object with named fields is not.
                if map.len() > self.items.max(64) {
                    let mut kept = 0;
                    map.retain(|_, _| {
                        kept += 1;
                        kept <= self.items.max(64)
                    });
                    cuts.push(path.clone());
                }
                for (key, item) in map.iter_mut() {
                    self.within(&key.replace('~', "~0").replace('/', "~1"), item, path, cuts);
                }
            }
            _ => {}
        }
    }

    fn within(&self, name: &str, item: &mut Value, path: &mut String, cuts: &mut Vec<String>) {
        let length = path.len();
        path.push('/');
        path.push_str(name);
        self.apply(item, path, cuts);
        path.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultStore;
    use std::{sync::Arc, time::Duration};

    fn result(content: Vec<ContentBlock>, structured: Option<Value>) -> CallToolResult {
        let mut result = CallToolResult::success(content);
        result.structured_content = structured;
        result
    }

    fn read(results: &ResultStore, id: &ResultId, part: &str) -> String {
        match results.read(&id.uri(part), "ann") {
            Some(Contents::Text { text, .. }) => text,
            other => panic!("{part}: {other:?}"),
        }
    }

    fn kept(id: &ResultId, parts: ResultParts) -> ResultStore {
        let results = ResultStore::new(Duration::from_mins(1));
        results.keep(id, &Arc::from("ann"), parts);
        results
    }

    #[test]
    fn the_parts_of_a_text_are_the_text() {
        let plain = (0..2000)
            .map(|n| format!("Paragraph {n} says nothing new.\n"))
            .collect::<Vec<_>>()
            .join("\n");
        let escapes = "\"\\\n\u{1}".repeat(5000);
        let wide = "ünï-✓-🦀".repeat(3000);
        for text in [plain, escapes, wide, "x".repeat(100_000)] {
            let mut answer = result(vec![ContentBlock::text(&text)], None);
            let (id, parts) = fit(&mut answer, 8192, None).unwrap();
            assert!(json_bytes(&answer) <= 8192, "{}", json_bytes(&answer));
            let count = answer.meta.as_ref().unwrap()[PARTS_META_KEY].as_u64().unwrap();
            assert!(count > 2);
            let results = kept(&id, parts);
            let mut whole = answer.content[0].as_text().unwrap().text.clone();
            for part in 2..=count {
                let more = read(&results, &id, &part.to_string());
                assert!(json_bytes(&more) <= 8192);
                whole.push_str(&more);
            }
            assert!(whole == text, "the parts differ from the whole");
            assert!(results.read(&id.uri(count + 1), "ann").is_none());
            let Some(ContentBlock::ResourceLink(link)) = answer.content.last() else {
                panic!("no link")
            };
            assert_eq!(link.uri, id.uri(2));
        }
    }

    #[test]
    fn an_answer_that_fits_is_unchanged() {
        let text = "y".repeat(7000);
        let mut answer = result(vec![ContentBlock::text(&text)], Some(json!({"n": 1})));
        let before = answer.clone();
        assert!(fit(&mut answer, 8192, None).is_none());
        assert_eq!(answer, before);
    }

    #[test]
    fn structured_content_is_shortened_and_stored_in_full() {
        let whole = json!({"hits": (0..3000).map(|n| json!({"text": format!("hit {n}")})).collect::<Vec<_>>(), "long/name": "z".repeat(9000), "count": 3000});
        let mut answer = result(vec![ContentBlock::text("found 3000")], Some(whole.clone()));
        let (id, parts) = fit(&mut answer, 8192, None).unwrap();
        assert!(json_bytes(&answer) <= 8192, "{}", json_bytes(&answer));
        let cut = answer.structured_content.as_ref().unwrap();
        assert_eq!(cut["count"], 3000);
        assert!(cut["hits"].as_array().unwrap().len() > 1);
        let pointers = answer.meta.as_ref().unwrap()[CUT_META_KEY].as_array().unwrap();
        assert!(
            pointers.contains(&json!("/hits")) && pointers.contains(&json!("/long~1name")),
            "{pointers:?}"
        );
        assert_eq!(answer.content[0].as_text().unwrap().text, "found 3000", "the text was not cut");
        let stored: Value =
            serde_json::from_str(&read(&kept(&id, parts), &id, "structured")).unwrap();
        assert_eq!(stored, whole);
    }

    #[test]
    fn ids_and_anchors_stay_whole() {
        let hit = |n: usize| {
            json!({
                "text": "Words of a long section. ".repeat(100),
                "metadata": {
                    "source": format!("postgresql/sql-createindex-{n}.html"),
                    "url": format!("https://example.org/{}/{n}#SQL-CREATEINDEX-CONCURRENTLY", "deep/".repeat(60)),
                    "next": format!("CREATE INDEX > Building Indexes Concurrently ({n})"),
                },
            })
        };
        let hits: Vec<Value> = (0..20).map(hit).collect();
        for page in [4096, 8192, 32_768] {
            let mut answer =
                result(vec![ContentBlock::text("found 20")], Some(json!({"results": hits})));
            fit(&mut answer, page, None).unwrap();
            assert!(json_bytes(&answer) <= page, "{page}: {}", json_bytes(&answer));
            let kept = answer.structured_content.unwrap();
            let kept = kept["results"].as_array().unwrap();
            assert!(!kept.is_empty(), "{page}");
            for (kept, whole) in kept.iter().zip(&hits) {
                assert_eq!(kept["metadata"], whole["metadata"], "{page}");
            }
        }
    }

    #[test]
    fn text_is_cut_between_words() {
        let id = "postgresql/sql-createindex.html";
        let text = vec![id; 500].join(" ");
        for room in [100, 1000] {
            for piece in split(&text, room) {
                assert!(piece.split_whitespace().all(|word| word == id), "{room}: {piece}");
            }
        }
        let json = json!(vec![id; 500]).to_string();
        assert!(
            split(&json, 1000).iter().all(|piece| piece.ends_with(',') || piece.ends_with(']'))
        );
    }

    #[test]
    fn shortened_structured_content_matches_the_schema() {
        let schema = json!({"type": "object", "properties": {"items": {"type": "array", "minItems": 2000}}, "required": ["items"]});
        let checker = SchemaChecker::new("t", Arc::new(schema.as_object().unwrap().clone()));
        let mut answer = result(vec![], Some(json!({"items": vec!["abcdefgh"; 3000]})));
        let (_, parts) = fit(&mut answer, 8192, Some(&checker)).unwrap();
        assert_eq!(
            answer.structured_content, None,
            "less than the schema allows is not given as the answer"
        );
        assert_eq!(answer.meta.unwrap()[CUT_META_KEY], json!([""]));
        assert!(!parts.is_empty());
    }

    #[test]
    fn later_texts_follow_and_images_become_links() {
        let blocks = vec![
            ContentBlock::text("short"),
            ContentBlock::image("A".repeat(20_000), "image/png"),
            ContentBlock::text("b".repeat(9000)),
            ContentBlock::text("the end"),
        ];
        let mut answer = result(blocks, None);
        let (id, parts) = fit(&mut answer, 4096, None).unwrap();
        assert!(json_bytes(&answer) <= 4096, "{}", json_bytes(&answer));
        let results = kept(&id, parts);
        let Some(Contents::Blob { blob, mime, .. }) = results.read(&id.uri("block-1"), "ann")
        else {
            panic!()
        };
        assert_eq!((blob.len(), mime.as_deref()), (20_000, Some("image/png")));
        let mut text = answer.content[2].as_text().unwrap().text.clone();
        for part in 2..=answer.meta.unwrap()[PARTS_META_KEY].as_u64().unwrap() {
            text.push_str(&read(&results, &id, &part.to_string()));
        }
        assert_eq!(text, format!("{}\n\nthe end", "b".repeat(9000)));
    }

    #[test]
    fn a_long_resource_comes_in_parts() {
        let text = "line\n".repeat(10_000);
        let mut contents = vec![ResourceContents::text(&text, "x://a")];
        let (id, parts, meta) = fit_contents(&mut contents, 8192).unwrap();
        let results = kept(&id, parts);
        let ResourceContents::TextResourceContents { text: first, .. } = &contents[0] else {
            panic!()
        };
        let mut whole = first.clone();
        assert_eq!(meta[NEXT_META_KEY], json!(id.uri(2)));
        for part in 2..=meta[PARTS_META_KEY].as_u64().unwrap() {
            whole.push_str(&read(&results, &id, &part.to_string()));
        }
        assert!(whole == text);
        assert!(fit_contents(&mut [ResourceContents::text("short", "x://a")], 8192).is_none());
    }
}
