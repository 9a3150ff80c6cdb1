//! `DuckDuckGo`'s two pages for browsers without scripts: requests and parsing.
//!
//! Both are parsed by the classes of their elements. A page without results counts as an answer only if it says that
//! there are none.

use crate::{
    error::ProviderError,
    query::WebQuery,
    scan::{MarkupPiece, StartTag, pieces},
    search::{ProviderResults, WebHit, host_of},
    text::fold,
};
use docent_net::{BodyLimit, FetchRequest, GuardedClient};
use url::{Url, form_urlencoded};

/// Maximum size of a result page, which usually has about 30 kB.
const MAX_PAGE_BYTES: u64 = 2 << 20;
/// Texts for no results, on pages without a class for it.
const NO_RESULTS_TEXTS: [&str; 3] = ["No results.", "No more results.", "No results found."];

/// Requests one of the two pages, like its own form.
pub(crate) fn ask(
    query: &WebQuery,
    page: &Url,
    client: &GuardedClient,
) -> Result<ProviderResults, ProviderError> {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("q", query.text());
    form.append_pair("b", "");
    let region = query.region.as_ref().map_or_else(|| "wt-wt".to_owned(), ToString::to_string);
    form.append_pair("kl", &region);
    form.append_pair("df", query.time.map_or("", |time| time.letter()));
    let body = form.finish().into_bytes();
    let request = FetchRequest::post(page.clone(), "application/x-www-form-urlencoded", body);
    let response = client.send(&request.accept("text/html"), BodyLimit::AtMost(MAX_PAGE_BYTES))?;
    let host = host_of(page);
    if !(200..300).contains(&response.status) {
        return Err(ProviderError::of_status(&host, &response));
    }
    let text = String::from_utf8_lossy(&response.body);
    let seen = read(&text, page);
    if seen.is_challenge {
        return Err(ProviderError::Challenge { host });
    }
    if response.status == 202 && seen.results.is_empty() {
        return Err(ProviderError::Accepted { host });
    }
    let is_empty = seen.says_no_results && seen.adverts == 0 && seen.unusable == 0;
    if !seen.results.is_empty() || is_empty {
        return Ok(ProviderResults { results: seen.results, notes: Vec::new() });
    }
    Err(if text.trim().is_empty() {
        ProviderError::Empty { host }
    } else if !seen.is_whole {
        ProviderError::CutOff { host }
    } else {
        let expected = "results (elements of class result__a or result-link) and no message that there are none";
        ProviderError::UnknownLayout { host, expected }
    })
}

/// Parsed contents of a result page.
#[derive(Debug, Default)]
struct DuckDuckGoPage {
    results: Vec<WebHit>,
    adverts: usize,
    /// Number of results with unusable links.
    unusable: usize,
    says_no_results: bool,
    is_challenge: bool,
    is_whole: bool,
}

/// Part of a result whose text is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DuckDuckGoField {
    Title,
    Snippet,
    Shown,
    Date,
}

/// Text being read until its element ends.
struct OpenField<'s> {
    part: DuckDuckGoField,
    element: &'s str,
    /// Depth of nested elements with the same name.
    depth: usize,
    text: String,
}

#[derive(Default)]
struct DuckDuckGoReader<'s> {
    seen: DuckDuckGoPage,
    /// Whether the current result is an advertisement.
    is_advert: bool,
    /// Link of the open title.
    href: Option<Url>,
    /// Whether a result is open, so that later parts belong to it.
    is_open: bool,
    open: Option<OpenField<'s>>,
}

fn read(text: &str, page: &Url) -> DuckDuckGoPage {
    let mut reader = DuckDuckGoReader::default();
    for piece in pieces(text) {
        match piece {
            MarkupPiece::Open(tag) => reader.on_open(tag, page),
            MarkupPiece::Text(text) => reader.text(text),
            MarkupPiece::Close(name) => reader.on_close(name),
            MarkupPiece::Raw(_) => {}
        }
    }
    reader.seen
}

/// The part of a result in an element, on either page.
fn part_of(tag: &StartTag<'_>) -> Option<DuckDuckGoField> {
    let classes = tag.get("class")?;
    classes.split_ascii_whitespace().find_map(|class| match class {
        "result__a" | "result-link" => Some(DuckDuckGoField::Title),
        "result__snippet" | "result-snippet" => Some(DuckDuckGoField::Snippet),
        "result__url" | "link-text" => Some(DuckDuckGoField::Shown),
        "timestamp" | "result__timestamp" => Some(DuckDuckGoField::Date),
        _ => None,
    })
}

/// Whether an element is part of a bot challenge.
fn is_challenge(tag: &StartTag<'_>) -> bool {
    tag.get("id").is_some_and(|id| id == "challenge-form")
        || tag.any_class(|class| class.starts_with("anomaly-modal"))
        || tag.is("form") && tag.get("action").is_some_and(|to| to.contains("/anomaly.js"))
}

impl<'s> DuckDuckGoReader<'s> {
    fn on_open(&mut self, tag: StartTag<'s>, page: &Url) {
        self.seen.is_challenge |= is_challenge(&tag);
        let part = part_of(&tag);
        if part == Some(DuckDuckGoField::Title) {
            // A new result ends any unclosed one.
            self.open = None;
        }
        if let Some(open) = &mut self.open {
            if tag.is(open.element) {
                open.depth += 1;
            }
            return;
        }
        if tag.is("div") && tag.has_class("result") {
            self.is_advert = tag.has_class("result--ad");
            self.is_open = false;
        } else if tag.is("tr") {
            // On the lite page, each row is marked separately as an advertisement.
            self.is_advert = tag.has_class("result-sponsored");
        }
        self.seen.says_no_results |=
            tag.has_class("no-results") || tag.has_class("result--no-result");
        let Some(part) = part else { return };
        if part == DuckDuckGoField::Title {
            self.is_open = false;
            self.href = tag.get("href").and_then(|href| page.join(href.trim()).ok());
        }
        self.open = Some(OpenField { part, element: tag.name(), depth: 0, text: String::new() });
    }

    fn text(&mut self, text: &str) {
        match &mut self.open {
            Some(open) => open.text.push_str(&htmlize::unescape(text)),
            None if text.len() < 100 && !self.is_advert => {
                let text = fold(&htmlize::unescape(text));
                self.seen.says_no_results |= NO_RESULTS_TEXTS.contains(&text.as_str());
                if is_date(&text) {
                    self.part(DuckDuckGoField::Date, &text);
                }
            }
            None => {}
        }
    }

    fn on_close(&mut self, name: &str) {
        if name.eq_ignore_ascii_case("html") {
            self.seen.is_whole = true;
        }
        let Some(open) = &mut self.open else { return };
        if !name.eq_ignore_ascii_case(open.element) {
            return;
        }
        if open.depth > 0 {
            open.depth -= 1;
            return;
        }
        if let Some(open) = self.open.take() {
            self.part(open.part, &open.text);
        }
    }

    fn part(&mut self, part: DuckDuckGoField, text: &str) {
        if part == DuckDuckGoField::Title {
            let href = self.href.take();
            if self.is_advert || href.as_ref().is_some_and(is_advert) {
                self.seen.adverts += 1;
            } else if let Some(url) = href.and_then(redirect_target) {
                self.is_open = true;
                self.seen.results.push(WebHit {
                    title: fold(text),
                    url: url.into(),
                    snippet: String::new(),
                    date: None,
                    source: None,
                    provider: "duckduckgo",
                });
            } else {
                self.seen.unusable += 1;
            }
            return;
        }
        let Some(hit) = self.seen.results.last_mut().filter(|_| self.is_open) else { return };
        match part {
            DuckDuckGoField::Snippet if hit.snippet.is_empty() => hit.snippet = fold(text),
            DuckDuckGoField::Shown if hit.source.is_none() => hit.source = Some(fold(text)),
            DuckDuckGoField::Date if hit.date.is_none() => hit.date = Some(fold(text)),
            DuckDuckGoField::Title
            | DuckDuckGoField::Snippet
            | DuckDuckGoField::Shown
            | DuckDuckGoField::Date => {}
        }
    }
}

/// Whether a text is a date as the html page shows it next to a URL: `2025-11-25T00:00:00.0000000`.
fn is_date(text: &str) -> bool {
    let day = text.split('T').next().unwrap_or_default();
    let shape: String = day.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape == "0000-00-00"
}

fn is_its_own(url: &Url) -> bool {
    url.host_str().is_some_and(|host| host == "duckduckgo.com" || host.ends_with(".duckduckgo.com"))
}

/// Whether a link leads to an advertiser through `DuckDuckGo`.
fn is_advert(url: &Url) -> bool {
    is_its_own(url)
        && (url.path().ends_with("/y.js")
            || url.query_pairs().any(|(name, _)| matches!(&*name, "ad_provider" | "ad_domain")))
        || unwrap(url).is_some_and(|inner| is_its_own(&inner) && inner.path().ends_with("/y.js"))
}

/// The target URL in `//duckduckgo.com/l/?uddg=…`.
fn unwrap(url: &Url) -> Option<Url> {
    let wraps = is_its_own(url) && url.path().trim_end_matches('/') == "/l";
    let (_, inner) = url.query_pairs().filter(|_| wraps).find(|(name, _)| name == "uddg")?;
    Url::parse(&inner).ok()
}

/// The target URL of a result.
fn redirect_target(url: Url) -> Option<Url> {
    if is_its_own(&url) && url.path().trim_end_matches('/') == "/l" {
        return unwrap(&url);
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Url {
        Url::parse("https://html.duckduckgo.com/html/").unwrap()
    }

    #[test]
    fn links_are_unwrapped_and_adverts_are_recognized() {
        for (href, want) in [
            (
                "//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2Fx%3Fy%3D1%26z%3D%2520&rut=0f",
                Some("https://a.test/x?y=1&z=%20"),
            ),
            ("/l/?kh=-1&uddg=https%3A%2F%2Fa.test%2F", Some("https://a.test/")),
            ("https://a.test/", Some("https://a.test/")),
            (
                "https://a.test/l/?uddg=https://b.test",
                Some("https://a.test/l/?uddg=https://b.test"),
            ),
            ("//duckduckgo.com/l/?rut=0f", None),
            ("//duckduckgo.com/l/?uddg=%ff%fe", None),
        ] {
            let url = page().join(href).unwrap();
            assert!(!is_advert(&url), "{href}");
            assert_eq!(redirect_target(url).as_ref().map(Url::as_str), want, "{href}");
        }
        for href in [
            "https://duckduckgo.com/y.js?ad_domain=shop.test&ad_provider=bingv7aa&u3=x",
            "//duckduckgo.com/?q=x&ad_provider=bing",
            "//duckduckgo.com/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad_domain%3Dx",
        ] {
            assert!(is_advert(&page().join(href).unwrap()), "{href}");
        }
    }

    /// What a result says must not be taken for what the page is.
    #[test]
    fn results_can_t_pretend_to_be_the_page() {
        let text = "<div class='result web-result'><a class='result__a' href='https://a.test/'>\
                    class=\"anomaly-modal__mask\"</a><a class=result__snippet>No results. \
                    &lt;div id=challenge-form&gt;</a></div>";
        let seen = read(text, &page());
        assert_eq!(seen.results.len(), 1);
        assert!(!seen.is_challenge && !seen.says_no_results);
        assert_eq!(seen.results[0].snippet, "No results. <div id=challenge-form>");
    }
}
