//! Extracts the links and robots directives of an HTML page.
//!
//! Scans the tags in one pass and builds no tree: pages are untrusted, and a tree of a malicious page takes quadratic
//! time.

/// Maximum number of attributes per tag.
const MAX_ATTRIBUTES: usize = 64;
/// Maximum number of links per page.
const MAX_LINKS: usize = 20_000;
/// Elements whose content is not markup.
const RAW_TEXT_ELEMENTS: [&str; 8] =
    ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

/// Links of a page, as written.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct CrawlLinks {
    /// Base URL of the other links.
    pub(crate) base: Option<String>,
    /// Links to follow.
    pub(crate) follow: Vec<String>,
    /// Canonical URL.
    pub(crate) canonical: Option<String>,
    pub(crate) asks: RobotsDirectives,
}

/// Robots directives of a page, from its head or its headers.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RobotsDirectives {
    pub(crate) no_index: bool,
    pub(crate) no_follow: bool,
}

impl RobotsDirectives {
    /// Parses a list such as `noindex, nofollow`.
    pub(crate) fn add(&mut self, list: &str) {
        for word in list.split([',', ' ']).map(str::trim) {
            let is = |name: &str| word.eq_ignore_ascii_case(name);
            self.no_index |= is("noindex") || is("none");
            self.no_follow |= is("nofollow") || is("none");
        }
    }
}

/// Scans a page, even a malformed one.
pub(crate) fn scan(html: &str) -> CrawlLinks {
    let mut links = CrawlLinks::default();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        if let Some(comment) = after.strip_prefix("!--") {
            // `<!-->` is a complete comment.
            let empty = comment.strip_prefix('>');
            rest = empty.unwrap_or_else(|| after_first(comment, "-->"));
        } else if after.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            let (tag, after) = LinkTag::read(after);
            rest = after;
            if let Some(name) = RAW_TEXT_ELEMENTS.iter().find(|name| tag.is(name)) {
                rest = after_raw(rest, name);
            }
            links.take(&tag);
        } else if after.starts_with(['!', '?', '/']) {
            rest = after_first(after, ">");
        } else {
            rest = after;
        }
    }
    links
}

fn after_first<'a>(text: &'a str, end: &str) -> &'a str {
    text.split_once(end).map_or("", |(_, after)| after)
}

/// The text after the element's end tag.
fn after_raw<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("</") {
        if after.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return after_first(after, ">");
        }
        rest = after;
    }
    ""
}

/// A start tag.
struct LinkTag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> LinkTag<'a> {
    /// Parses a tag from its name on. Also returns the rest.
    fn read(text: &'a str) -> (Self, &'a str) {
        let (name, mut rest) =
            cut(text, |letter: char| letter.is_ascii_whitespace() || matches!(letter, '/' | '>'));
        let mut attributes = Vec::new();
        loop {
            rest = rest
                .trim_start_matches(|letter: char| letter.is_ascii_whitespace() || letter == '/');
            if let Some(after) = rest.strip_prefix('>') {
                return (Self { name, attributes }, after);
            }
            if rest.is_empty() {
                // A tag without an end is not a tag.
                return (Self { name: "", attributes: Vec::new() }, "");
            }
            let (key, value, after) = attribute(rest);
            rest = after;
            if attributes.len() < MAX_ATTRIBUTES {
                attributes.push((key, value));
            }
        }
    }

    fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The first attribute with a name counts.
    fn get(&self, name: &str) -> Option<&'a str> {
        self.attributes.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|it| it.1)
    }

    fn has_word(&self, name: &str, word: &str) -> bool {
        let value = self.get(name).unwrap_or_default();
        value.split_ascii_whitespace().any(|it| it.eq_ignore_ascii_case(word))
    }

    fn href(&self) -> Option<String> {
        self.get("href").map(|value| unescape(value.trim()))
    }
}

/// Parses an attribute's name and value. Also returns the rest.
fn attribute(text: &str) -> (&str, &str, &str) {
    // A name may begin with an equals sign, so this always consumes a character.
    let first = text.chars().next().map_or(0, char::len_utf8);
    let ends = |letter: char| letter.is_ascii_whitespace() || matches!(letter, '/' | '>' | '=');
    let length = text.get(first..).and_then(|it| it.find(ends)).map_or(text.len(), |at| first + at);
    let (key, rest) = text.split_at_checked(length).unwrap_or((text, ""));
    let Some(value) = rest.trim_ascii_start().strip_prefix('=') else { return (key, "", rest) };
    let value = value.trim_ascii_start();
    for quote in ['"', '\''] {
        if let Some(inside) = value.strip_prefix(quote) {
            let (value, after) = inside.split_once(quote).unwrap_or((inside, ""));
            return (key, value, after);
        }
    }
    let (value, after) = cut(value, |letter: char| letter.is_ascii_whitespace() || letter == '>');
    (key, value, after)
}

fn cut(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.find(ends).and_then(|at| text.split_at_checked(at)).unwrap_or((text, ""))
}

/// Decodes the character references used in URLs.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        // The longest has eight letters.
        let known = after.bytes().take(10).position(|byte| byte == b';').and_then(|end| {
            let (name, tail) = after.split_at_checked(end)?;
            Some((letter(name)?, tail.get(1..)?))
        });
        if let Some((letter, tail)) = known {
            out.push(letter);
            rest = tail;
        } else {
            out.push('&');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

fn letter(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

impl CrawlLinks {
    fn take(&mut self, tag: &LinkTag<'_>) {
        if tag.is("base") && self.base.is_none() {
            self.base = tag.href();
        } else if tag.is("meta") {
            let name = tag.get("name").unwrap_or_default();
            if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case("docent") {
                self.asks.add(tag.get("content").unwrap_or_default());
            }
        } else if tag.is("link") && tag.has_word("rel", "canonical") {
            self.canonical = self.canonical.take().or_else(|| tag.href());
        } else if tag.is("a") || tag.is("area") || (tag.is("link") && tag.has_word("rel", "next")) {
            let asked = !tag.has_word("rel", "nofollow");
            self.follow.extend(tag.href().filter(|_| asked && self.follow.len() < MAX_LINKS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, want: &[&str]) {
        assert_eq!(scan(html).follow, want, "{html:.80}");
    }

    #[test]
    fn links_are_found() {
        for (html, want) in [
            ("", &[][..]),
            ("<a href=x>", &["x"]),
            ("<A HREF = \"x y\" >", &["x y"]),
            ("<a\nclass='>' href='x'>", &["x"]),
            ("<a href=x/>", &["x/"]),
            ("<a href=\"?a=1&amp;b=2&#x26;c&#38;d&copy\">", &["?a=1&b=2&c&d&copy"]),
            ("<a href=x href=y>", &["x"]),
            ("<a name=x>", &[]),
            ("<a href>", &[""]),
            ("<area href=x><link rel=next href=y><link rel=stylesheet href=z>", &["x", "y"]),
            ("<a href=x rel='noopener NoFollow'>", &[]),
            ("<!-- <a href=x> --><a href=y>", &["y"]),
            ("<!--><a href=y>", &["y"]),
            ("<!-- <a href=x>", &[]),
            ("<script>'<a href=x>'</script ><a href=y>", &["y"]),
            ("<title><a href=x></TITLE><a href=y>", &["y"]),
            ("<script><a href=x>", &[]),
            ("1 < 2 <a href=y>", &["y"]),
            ("<abbr href=x><p href=y>", &[]),
            ("</a href=x><a href=y>", &["y"]),
            ("<a href=x", &[]),
            ("<a href='x", &[]),
            ("<a =href=x ==>", &[]),
            ("<a é=ü href=x>", &["x"]),
        ] {
            check(html, want);
        }
    }

    #[test]
    fn canonical_links_and_directives_are_read() {
        let links = scan(
            "<base href=/b/><base href=/c/><link rel='Canonical' href=/x><link rel=canonical href=/y>
             <meta name=Robots content='NOINDEX, follow'>",
        );
        assert_eq!(links.base.as_deref(), Some("/b/"));
        assert_eq!(links.canonical.as_deref(), Some("/x"));
        assert_eq!(links.asks, RobotsDirectives { no_index: true, no_follow: false });
        let none = scan("<meta content=none name=docent>").asks;
        assert_eq!(none, RobotsDirectives { no_index: true, no_follow: true });
        assert_eq!(scan("<meta name=other content=noindex>").asks, RobotsDirectives::default());
    }

    #[test]
    fn hostile_pages_end() {
        let size = 1 << 20;
        for piece in ["<", "<a ", "<a a=\"", "<!--", "<script>", "</", "&", "<a href=&", "<div>"] {
            let html = piece.repeat(size / piece.len());
            assert!(scan(&html).follow.len() <= MAX_LINKS, "{piece}");
        }
        let attributes: Vec<String> = (0..100_000).map(|number| format!("x{number}")).collect();
        check(&format!("<a {} href=x>", attributes.join(" ")), &[]);
        assert_eq!(scan(&"<a href=x>".repeat(30_000)).follow.len(), MAX_LINKS);
    }
}
