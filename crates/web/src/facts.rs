//! Extracts page metadata: author, date, site, and whether the page has content without scripts.

use crate::{
    links,
    scan::{MarkupPiece, StartTag, pieces},
    text::{MAX_FACT_CHARS, bounded_text},
};
use serde_json::Value;
use url::Url;

/// Limits on the size of a linked data block and on the number of blocks.
const MAX_DATA_BYTES: usize = 256 << 10;
const MAX_DATA_ELEMENTS: usize = 20;
/// Limits on the depth and number of linked data values.
const MAX_DATA_DEPTH: usize = 8;
const MAX_DATA_VALUES: usize = 2000;
/// Ids of elements that scripts fill.
const MOUNTS: [&str; 7] = ["root", "app", "__next", "__nuxt", "___gatsby", "svelte", "app-root"];

/// Metadata of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PageFacts {
    pub(crate) byline: Option<String>,
    pub(crate) date: Option<String>,
    pub(crate) site: Option<String>,
    pub(crate) language: Option<String>,
    pub(crate) canonical: Option<Url>,
    /// Base URL of links.
    pub(crate) base: Option<Url>,
    pub(crate) scripts: usize,
    pub(crate) asks_for_password: bool,
    /// Whether it has an element for a script to fill, or asks to enable scripts.
    pub(crate) is_made_by_script: bool,
}

/// Source of a fact, the most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FactRank {
    Meta,
    Data,
    Marked,
    Element,
}

/// A fact and its source.
#[derive(Debug, Default)]
struct RankedFact(Option<(FactRank, String)>);

impl RankedFact {
    /// Keeps the first fact from the most reliable source.
    fn offer(&mut self, rank: FactRank, text: &str) {
        if self.0.as_ref().is_none_or(|(known, _)| rank < *known)
            && let Some(text) = bounded_text(&htmlize::unescape(text), MAX_FACT_CHARS)
        {
            self.0 = Some((rank, text));
        }
    }

    fn take(self) -> Option<String> {
        self.0.map(|(_, text)| text)
    }
}

/// Meaning of the text being read.
enum PendingFact<'s> {
    Byline { rank: FactRank, element: &'s str, text: String },
    Data,
    Noscript,
}

struct PageFactReader<'s, 'u> {
    url: &'u Url,
    facts: PageFacts,
    byline: RankedFact,
    date: RankedFact,
    site: RankedFact,
    data: usize,
    wanted: Option<PendingFact<'s>>,
}

/// Extracts the metadata of a page.
pub(crate) fn read(page: &str, url: &Url) -> PageFacts {
    let mut reader = PageFactReader {
        url,
        facts: PageFacts::default(),
        byline: RankedFact::default(),
        date: RankedFact::default(),
        site: RankedFact::default(),
        data: 0,
        wanted: None,
    };
    for piece in pieces(page) {
        match piece {
            MarkupPiece::Open(tag) => reader.on_open(tag),
            MarkupPiece::Text(text) => reader.text(text),
            MarkupPiece::Raw(text) => reader.raw(text),
            MarkupPiece::Close(name) => reader.on_close(name),
        }
    }
    let PageFactReader { facts, byline, date, site, .. } = reader;
    PageFacts { byline: byline.take(), date: date.take(), site: site.take(), ..facts }
}

impl<'s> PageFactReader<'s, '_> {
    fn on_open(&mut self, tag: StartTag<'s>) {
        match tag.name().to_ascii_lowercase().as_str() {
            "html" => {
                let language = tag.get("lang").or_else(|| tag.get("xml:lang"));
                self.facts.language = language.and_then(|language| bounded_text(&language, 35));
            }
            "base" if self.facts.base.is_none() => {
                let base = tag.get("href").and_then(|href| self.url.join(href.trim()).ok());
                self.facts.base = base.filter(links::is_page);
            }
            "link" => self.link(&tag),
            "meta" => self.meta(&tag),
            "script" => {
                self.facts.scripts += 1;
                let kind = tag.get("type").unwrap_or_default();
                if kind.trim().eq_ignore_ascii_case("application/ld+json") {
                    self.wanted = Some(PendingFact::Data);
                }
                return;
            }
            "noscript" => self.wanted = Some(PendingFact::Noscript),
            "input" => {
                let kind = tag.get("type").unwrap_or_default();
                self.facts.asks_for_password |= kind.trim().eq_ignore_ascii_case("password");
            }
            "time" => {
                if let Some(date) = tag.get("datetime") {
                    self.date.offer(FactRank::Element, &date);
                }
            }
            _ => {}
        }
        if tag.get("id").is_some_and(|id| MOUNTS.contains(&&*id)) {
            self.facts.is_made_by_script = true;
        }
        self.read_attributes(&tag);
    }

    fn link(&mut self, tag: &StartTag<'_>) {
        let rel = tag.get("rel").unwrap_or_default();
        if self.facts.canonical.is_none() && rel.eq_ignore_ascii_case("canonical") {
            let url = tag.get("href").and_then(|href| self.url.join(href.trim()).ok());
            self.facts.canonical = url.filter(links::is_page);
        }
    }

    fn meta(&mut self, tag: &StartTag<'_>) {
        let name = tag.get("name").or_else(|| tag.get("property"));
        let (Some(name), Some(content)) = (name, tag.get("content")) else { return };
        match name.trim().to_ascii_lowercase().as_str() {
            // Some give a profile URL instead of a name.
            "author" | "article:author" | "dc.creator" | "parsely-author" | "sailthru.author"
                if !content.trim_start().starts_with("http") =>
            {
                self.byline.offer(FactRank::Meta, &content);
            }
            "article:published_time"
            | "date"
            | "dc.date"
            | "dc.date.issued"
            | "pubdate"
            | "datepublished"
            | "parsely-pub-date" => self.date.offer(FactRank::Meta, &content),
            "og:site_name" => self.site.offer(FactRank::Meta, &content),
            "application-name" => self.site.offer(FactRank::Marked, &content),
            _ => {}
        }
    }

    /// Reads facts from attributes: `rel=author`, `itemprop`.
    fn read_attributes(&mut self, tag: &StartTag<'s>) {
        let property = tag.get("itemprop").unwrap_or_default();
        if property == "datePublished"
            && let Some(date) = tag.get("content").or_else(|| tag.get("datetime"))
        {
            self.date.offer(FactRank::Marked, &date);
        }
        let rel = tag.get("rel").unwrap_or_default();
        let is_author = property.split_ascii_whitespace().any(|word| word == "author")
            || tag.is("a") && rel.split_ascii_whitespace().any(|word| word == "author");
        if !is_author {
            return;
        }
        if let Some(name) = tag.get("content") {
            self.byline.offer(FactRank::Marked, &name);
        } else if self.wanted.is_none() && !tag.is("link") && !tag.is("meta") {
            let (element, text) = (tag.name(), String::new());
            self.wanted = Some(PendingFact::Byline { rank: FactRank::Marked, element, text });
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.wanted {
            Some(PendingFact::Byline { text: known, .. }) if known.len() <= 4 * MAX_FACT_CHARS => {
                known.push_str(text);
            }
            Some(PendingFact::Noscript) => {
                let text = text.to_ascii_lowercase();
                self.facts.is_made_by_script |= text.contains("javascript");
            }
            _ => {}
        }
    }

    fn raw(&mut self, text: &str) {
        if matches!(self.wanted, Some(PendingFact::Data)) {
            self.data += 1;
            if self.data <= MAX_DATA_ELEMENTS && text.len() <= MAX_DATA_BYTES {
                self.data(text);
            }
        }
    }

    fn on_close(&mut self, name: &str) {
        let ends = match &self.wanted {
            Some(PendingFact::Byline { element, .. }) => name.eq_ignore_ascii_case(element),
            Some(PendingFact::Data) => name.eq_ignore_ascii_case("script"),
            Some(PendingFact::Noscript) => name.eq_ignore_ascii_case("noscript"),
            None => false,
        };
        if ends && let Some(PendingFact::Byline { rank, text, .. }) = self.wanted.take() {
            self.byline.offer(rank, &text);
        }
    }

    /// Reads the first author and date from linked data, at any depth.
    fn data(&mut self, text: &str) {
        let Ok(whole) = serde_json::from_str::<Value>(text) else { return };
        let mut open = vec![(&whole, 0)];
        let mut looked = 0;
        while let Some((value, depth)) = open.pop() {
            looked += 1;
            if looked > MAX_DATA_VALUES || depth > MAX_DATA_DEPTH {
                continue;
            }
            match value {
                Value::Array(items) => {
                    open.extend(items.iter().rev().map(|item| (item, depth + 1)));
                }
                Value::Object(members) => {
                    if let Some(name) = members.get("author").and_then(name_of) {
                        self.byline.offer(FactRank::Data, &name);
                    }
                    if let Some(Value::String(date)) = members.get("datePublished") {
                        self.date.offer(FactRank::Data, date);
                    }
                    open.extend(members.values().rev().map(|member| (member, depth + 1)));
                }
                _ => {}
            }
        }
    }
}

/// The names in an `author` value: a text, a person, or a list.
fn name_of(author: &Value) -> Option<String> {
    match author {
        Value::String(name) => Some(name.clone()),
        Value::Object(person) => person.get("name").and_then(Value::as_str).map(str::to_owned),
        Value::Array(people) => {
            let one = |person: &Value| match person {
                Value::String(name) => Some(name.clone()),
                other => other.get("name").and_then(Value::as_str).map(str::to_owned),
            };
            let names: Vec<String> = people.iter().take(10).filter_map(one).collect();
            (!names.is_empty()).then(|| names.join(", "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(page: &str) -> PageFacts {
        read(page, &Url::parse("https://a.test/x/").unwrap())
    }

    #[test]
    fn authors_are_found_where_pages_put_them() {
        for (page, want) in [
            ("<meta name=author content='Ada &amp; Bob'>", Some("Ada & Bob")),
            ("<meta property='article:author' content='https://a.test/ada'>", None),
            ("by <a rel='author nofollow' href=/ada>Ada <b>L.</b></a>", Some("Ada L.")),
            ("<span itemprop=author><span itemprop=name>Ada</span></span>", Some("Ada")),
            ("<meta itemprop=author content=Ada>", Some("Ada")),
            (
                "<script type='application/ld+json'>{\"author\":{\"name\":\"Ada\"}}</script>",
                Some("Ada"),
            ),
            (
                "<script type='application/ld+json'>{\"@graph\":[{\"author\":[{\"name\":\"Ada\"},\"Bob\"]}]}</script>",
                Some("Ada, Bob"),
            ),
            ("<a rel=author>Marked</a><meta name=author content=Said>", Some("Said")),
            ("<script type='application/ld+json'>{\"author\":</script>", None),
            ("<p>no author", None),
        ] {
            assert_eq!(facts(page).byline.as_deref(), want, "{page}");
        }
    }

    #[test]
    fn dates_are_found_and_the_most_reliable_counts() {
        let data =
            "<script type='application/ld+json'>[{\"datePublished\":\"2024-02-02\"}]</script>";
        for (page, want) in [
            ("<time datetime=2024-03-03>March</time>", Some("2024-03-03")),
            (&format!("<time datetime=2024-03-03></time>{data}"), Some("2024-02-02")),
            (
                &format!("{data}<meta property=article:published_time content=2024-01-01T00:00Z>"),
                Some("2024-01-01T00:00Z"),
            ),
            ("<meta itemprop=datePublished content=2024-04-04>", Some("2024-04-04")),
            ("<time>March</time>", None),
        ] {
            assert_eq!(facts(page).date.as_deref(), want, "{page}");
        }
    }

    #[test]
    fn site_language_and_urls_are_read() {
        let got = facts(
            "<html lang=de-CH><base href=/docs/><link rel=canonical href='/c'><meta property=og:site_name content=S>\
             <link rel=canonical href=/other>",
        );
        assert_eq!(got.site.as_deref(), Some("S"));
        assert_eq!(got.language.as_deref(), Some("de-CH"));
        assert_eq!(got.base.as_ref().map(Url::as_str), Some("https://a.test/docs/"));
        assert_eq!(got.canonical.as_ref().map(Url::as_str), Some("https://a.test/c"));
        assert_eq!(facts("<link rel=canonical href='javascript:x'>").canonical, None);
    }

    #[test]
    fn linked_data_can_t_keep_us() {
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        let wide = format!("[{}1]", "{\"a\":1},".repeat(3_000));
        for data in [deep, wide] {
            let page = format!("<script type='application/ld+json'>{data}</script>").repeat(30);
            assert_eq!(facts(&page).byline, None);
        }
    }
}
