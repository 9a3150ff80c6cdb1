//! Extracts page metadata: author, date, site, and whether the page has content without scripts.

use crate::{
    links,
    scan::{Piece, Tag, pieces},
    words::{LONGEST_FACT, said},
};
use serde_json::Value;
use url::Url;

/// Limits on the size of a linked data block and on the number of blocks.
const LARGEST_DATA: usize = 256 << 10;
const MOST_DATA: usize = 20;
/// Limits on the depth and number of linked data values.
const DEEPEST: usize = 8;
const MOST_VALUES: usize = 2000;
/// Ids of elements that scripts fill.
const MOUNTS: [&str; 7] = ["root", "app", "__next", "__nuxt", "___gatsby", "svelte", "app-root"];

/// Metadata of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
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
enum Rank {
    Meta,
    Data,
    Marked,
    Element,
}

/// A fact and its source.
#[derive(Debug, Default)]
struct Ranked(Option<(Rank, String)>);

impl Ranked {
    /// Keeps the first fact from the most reliable source.
    fn offer(&mut self, rank: Rank, text: &str) {
        if self.0.as_ref().is_none_or(|(known, _)| rank < *known)
            && let Some(text) = said(&htmlize::unescape(text), LONGEST_FACT)
        {
            self.0 = Some((rank, text));
        }
    }

    fn take(self) -> Option<String> {
        self.0.map(|(_, text)| text)
    }
}

/// Meaning of the text being read.
enum Wanted<'s> {
    Byline { rank: Rank, element: &'s str, text: String },
    Data,
    Noscript,
}

struct Reader<'s, 'u> {
    url: &'u Url,
    facts: Facts,
    byline: Ranked,
    date: Ranked,
    site: Ranked,
    data: usize,
    wanted: Option<Wanted<'s>>,
}

/// Extracts the metadata of a page.
pub(crate) fn read(page: &str, url: &Url) -> Facts {
    let mut reader = Reader {
        url,
        facts: Facts::default(),
        byline: Ranked::default(),
        date: Ranked::default(),
        site: Ranked::default(),
        data: 0,
        wanted: None,
    };
    for piece in pieces(page) {
        match piece {
            Piece::Open(tag) => reader.opened(tag),
            Piece::Text(text) => reader.text(text),
            Piece::Raw(text) => reader.raw(text),
            Piece::Close(name) => reader.closed(name),
        }
    }
    let Reader { facts, byline, date, site, .. } = reader;
    Facts { byline: byline.take(), date: date.take(), site: site.take(), ..facts }
}

impl<'s> Reader<'s, '_> {
    fn opened(&mut self, tag: Tag<'s>) {
        match tag.name().to_ascii_lowercase().as_str() {
            "html" => {
                let language = tag.get("lang").or_else(|| tag.get("xml:lang"));
                self.facts.language = language.and_then(|language| said(&language, 35));
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
                    self.wanted = Some(Wanted::Data);
                }
                return;
            }
            "noscript" => self.wanted = Some(Wanted::Noscript),
            "input" => {
                let kind = tag.get("type").unwrap_or_default();
                self.facts.asks_for_password |= kind.trim().eq_ignore_ascii_case("password");
            }
            "time" => {
                if let Some(date) = tag.get("datetime") {
                    self.date.offer(Rank::Element, &date);
                }
            }
            _ => {}
        }
        if tag.get("id").is_some_and(|id| MOUNTS.contains(&&*id)) {
            self.facts.is_made_by_script = true;
        }
        self.marked(&tag);
    }

    fn link(&mut self, tag: &Tag<'_>) {
        let rel = tag.get("rel").unwrap_or_default();
        if self.facts.canonical.is_none() && rel.eq_ignore_ascii_case("canonical") {
            let url = tag.get("href").and_then(|href| self.url.join(href.trim()).ok());
            self.facts.canonical = url.filter(links::is_page);
        }
    }

    fn meta(&mut self, tag: &Tag<'_>) {
        let name = tag.get("name").or_else(|| tag.get("property"));
        let (Some(name), Some(content)) = (name, tag.get("content")) else { return };
        match name.trim().to_ascii_lowercase().as_str() {
            // Some give a profile URL instead of a name.
            "author" | "article:author" | "dc.creator" | "parsely-author" | "sailthru.author"
                if !content.trim_start().starts_with("http") =>
            {
                self.byline.offer(Rank::Meta, &content);
            }
            "article:published_time"
            | "date"
            | "dc.date"
            | "dc.date.issued"
            | "pubdate"
            | "datepublished"
            | "parsely-pub-date" => self.date.offer(Rank::Meta, &content),
            "og:site_name" => self.site.offer(Rank::Meta, &content),
            "application-name" => self.site.offer(Rank::Marked, &content),
            _ => {}
        }
    }

    /// Reads facts from attributes: `rel=author`, `itemprop`.
    fn marked(&mut self, tag: &Tag<'s>) {
        let property = tag.get("itemprop").unwrap_or_default();
        if property == "datePublished"
            && let Some(date) = tag.get("content").or_else(|| tag.get("datetime"))
        {
            self.date.offer(Rank::Marked, &date);
        }
        let rel = tag.get("rel").unwrap_or_default();
        let is_author = property.split_ascii_whitespace().any(|word| word == "author")
            || tag.is("a") && rel.split_ascii_whitespace().any(|word| word == "author");
        if !is_author {
            return;
        }
        if let Some(name) = tag.get("content") {
            self.byline.offer(Rank::Marked, &name);
        } else if self.wanted.is_none() && !tag.is("link") && !tag.is("meta") {
            let (element, text) = (tag.name(), String::new());
            self.wanted = Some(Wanted::Byline { rank: Rank::Marked, element, text });
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.wanted {
            Some(Wanted::Byline { text: known, .. }) if known.len() <= 4 * LONGEST_FACT => {
                known.push_str(text);
            }
            Some(Wanted::Noscript) => {
                let text = text.to_ascii_lowercase();
                self.facts.is_made_by_script |= text.contains("javascript");
            }
            _ => {}
        }
    }

    fn raw(&mut self, text: &str) {
        if matches!(self.wanted, Some(Wanted::Data)) {
            self.data += 1;
            if self.data <= MOST_DATA && text.len() <= LARGEST_DATA {
                self.data(text);
            }
        }
    }

    fn closed(&mut self, name: &str) {
        let ends = match &self.wanted {
            Some(Wanted::Byline { element, .. }) => name.eq_ignore_ascii_case(element),
            Some(Wanted::Data) => name.eq_ignore_ascii_case("script"),
            Some(Wanted::Noscript) => name.eq_ignore_ascii_case("noscript"),
            None => false,
        };
        if ends && let Some(Wanted::Byline { rank, text, .. }) = self.wanted.take() {
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
            if looked > MOST_VALUES || depth > DEEPEST {
                continue;
            }
            match value {
                Value::Array(items) => {
                    open.extend(items.iter().rev().map(|item| (item, depth + 1)));
                }
                Value::Object(members) => {
                    if let Some(name) = members.get("author").and_then(name_of) {
                        self.byline.offer(Rank::Data, &name);
                    }
                    if let Some(Value::String(date)) = members.get("datePublished") {
                        self.date.offer(Rank::Data, date);
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

    fn facts(page: &str) -> Facts {
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
