//! Fetches a web page as readable Markdown, with its metadata.
//!
//! Does not check robots.txt, which is for crawlers: this page was requested explicitly, once.

use crate::{
    allow::what_to_add,
    charset,
    facts::{self, PageFacts},
    images, links, markdown,
    media::{MediaHandling, reading},
    search::host_of,
    slot::{ReadingSlot, ReadingSlotGuard},
    text::{MAX_FACT_CHARS, MAX_TITLE_CHARS, bounded_text, fold, truncate},
};
use docent_net::{
    BadAddress, BodyLimit, CacheValidators, FetchRefusal, FetchResponse, GuardedClient,
    GuardedFetchError, PolicySetting, parse_url,
};
use docent_prose::{DocumentWriter, ProseDocument, ProseFormat, Unreadable};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};
use url::Url;

/// Maximum length of an anchor; longer ones are dropped, as the section has a heading.
const MAX_ANCHOR_BYTES: usize = 200;
/// Maximum number of sections listed.
const MAX_SECTIONS: usize = 200;
/// With less text than this, the content needs scripts.
const NO_CONTENT_CHARS: usize = 40;
/// With less text than this, the content may need scripts.
const LITTLE_CONTENT_CHARS: usize = 200;
/// With less text than this and a password field, it is a login page.
const LOGIN_PAGE_CHARS: usize = 600;

/// Maximum size of a text page. Parsing takes up to a hundred times as much memory.
const MAX_TEXT_BYTES: usize = 4 << 20;
/// Minimum size of a large page; these are parsed one at a time, to save memory.
const LARGE_PAGE_BYTES: usize = 1 << 20;
static LARGE_PAGE_SLOT: ReadingSlot = ReadingSlot::new();
/// Default time to wait for another large page.
const LARGE_PAGE_WAIT: Duration = Duration::from_secs(30);

/// Limits for fetching a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// Maximum size, before and after decompression.
    pub bytes: u64,
    /// Maximum number of characters of Markdown.
    pub characters: usize,
    /// Maximum number of links.
    pub links: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { bytes: 16 << 20, characters: 60_000, links: 100 }
    }
}

/// A page. All its texts come from the web: data, never instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPage {
    /// URL, after redirects.
    pub url: String,
    /// Canonical URL, if different.
    pub canonical: Option<String>,
    /// Title.
    pub title: String,
    /// Author.
    pub byline: Option<String>,
    /// Publication date given by the page, or else its last modification.
    pub date: Option<String>,
    /// Name of the site.
    pub site: Option<String>,
    /// Language, such as `en`.
    pub language: Option<String>,
    /// Format, such as `HTML`.
    pub format: &'static str,
    /// The requested section.
    pub section: Option<String>,
    /// The text, or as much of it as fits.
    pub markdown: String,
    /// Length of the whole page or section in characters.
    pub characters: usize,
    /// Whether the text was truncated.
    pub truncated: bool,
    /// Headings, up to a limit.
    pub sections: Vec<PageSection>,
    /// Links without duplicates, up to a limit.
    pub links: Vec<PageLink>,
    /// Remarks, such as what could not be read.
    pub notes: Vec<String>,
}

/// A heading of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSection {
    /// Text.
    pub heading: String,
    /// Heading level, 1 to 6.
    pub level: u8,
    /// Anchor of the heading.
    pub anchor: Option<String>,
    /// Approximate length, including subsections.
    pub characters: usize,
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// Text.
    pub text: String,
    /// Target URL.
    pub url: String,
}

/// Why a page could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FetchPageError {
    /// Not a URL of a page.
    #[error(
        "{url:?} is not a valid URL: {reason}; give an absolute URL, such as https://docs.example.com/guide"
    )]
    BadUrl {
        /// The text as given, truncated.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// The policy does not allow the host.
    #[error("{}; {}", not_named(host, *is_off, redirected_from.as_deref()), what_to_add(std::slice::from_ref(host), *is_off, setting))]
    NotAllowed {
        /// Host, as written in a rule.
        host: String,
        /// Whether the policy allows no host at all.
        is_off: bool,
        /// The host that redirected there.
        redirected_from: Option<String>,
        /// Where the policy is configured.
        setting: PolicySetting,
    },
    /// Refused for another reason.
    #[error(transparent)]
    Refused(FetchRefusal),
    /// No response in time, or one that is too large or malformed.
    #[error("{}", .0.to_chain())]
    Fetch(#[source] GuardedFetchError),
    /// The page does not exist.
    #[error("{url} does not exist (status {status}); check the URL")]
    NotThere {
        /// The URL.
        url: String,
        /// Status code, 404 or 410.
        status: u16,
    },
    /// The page requires a login.
    #[error("{url} requires a login, which is not supported")]
    LoginNeeded {
        /// The URL.
        url: String,
    },
    /// Too many requests.
    #[error("{host} is rate limiting requests; try again {}", retry_hint(*retry_after))]
    RateLimited {
        /// The host.
        host: String,
        /// Requested delay.
        retry_after: Option<Duration>,
    },
    /// Another status code.
    #[error("{url} returned status {status}")]
    Status {
        /// The URL.
        url: String,
        /// Status code, such as 500.
        status: u16,
    },
    /// Not text.
    #[error("{url} is not text ({media_type})")]
    Binary {
        /// The URL.
        url: String,
        /// Media type from the server.
        media_type: String,
    },
    /// Another large page was still being parsed when time ran out.
    #[error("{url} is large, and another large page is being parsed; try again")]
    Busy {
        /// The URL.
        url: String,
    },
    /// It could not be parsed.
    #[error("cannot read {url}: {source}")]
    Unreadable {
        /// The URL.
        url: String,
        /// The cause.
        #[source]
        source: Unreadable,
    },
    /// Its text is generated by scripts, which are not run.
    #[error(
        "{url} has no text without scripts, which are not run; look for another page with the same content"
    )]
    NeedsScript {
        /// The URL.
        url: String,
    },
    /// The page has no text.
    #[error("{url} has no text to read")]
    NoText {
        /// The URL.
        url: String,
    },
    /// No such section.
    #[error("{url} has no section {section:?}; its sections are: {known}")]
    NoSection {
        /// The URL.
        url: String,
        /// The requested section, truncated.
        section: String,
        /// First available sections.
        known: String,
    },
}

fn not_named(host: &str, is_off: bool, redirected_from: Option<&str>) -> String {
    match (is_off, redirected_from) {
        (true, _) => {
            format!("the network is off: the policy allows no host, so {host} can't be reached")
        }
        (false, Some(from)) => {
            format!("{from} redirects to {host}, which the network policy does not allow")
        }
        (false, None) => format!("the network policy does not allow {host}"),
    }
}

fn retry_hint(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(|| "later".to_owned(), |time| format!("in {} s", time.as_secs()))
}

/// Fetches and reads a page, or one section of it by heading or anchor.
pub fn fetch_page(
    url: &str,
    section: Option<&str>,
    client: &GuardedClient,
    limits: &PageLimits,
) -> Result<FetchedPage, FetchPageError> {
    fetch_page_until(url, section, client, limits, &PageWait { until: None, stopped: &|| false })
}

/// How long to wait for a page.
#[derive(Clone, Copy)]
pub struct PageWait<'a> {
    /// Deadline for a large page that waits for another one.
    pub until: Option<Instant>,
    /// Checked while a document is parsed; stops early if true.
    pub stopped: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for PageWait<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageWait").field("until", &self.until).finish_non_exhaustive()
    }
}

/// Like [`fetch_page`], with a deadline and cancellation.
pub fn fetch_page_until(
    url: &str,
    section: Option<&str>,
    client: &GuardedClient,
    limits: &PageLimits,
    wait: &PageWait<'_>,
) -> Result<FetchedPage, FetchPageError> {
    let asked = parse(url)?;
    let response = client
        .get_body(&asked, &CacheValidators::default(), BodyLimit::AtMost(limits.bytes))
        .map_err(|error| failed(error, &asked, client))?;
    accept(&response)?;
    let read = read(response, wait)?;
    let mut page = read.page(limits);
    match (section, asked.fragment()) {
        (Some(section), _) => read.select_section(&mut page, section, limits)?,
        (None, Some(fragment)) if !fragment.is_empty() => {
            let anchor = percent_decode_str(fragment).decode_utf8_lossy();
            if read.select_section(&mut page, &anchor, limits).is_err() {
                page.notes.push(format!(
                    "There is no section #{}; this is the whole page.",
                    truncate(&fold(&anchor), 100)
                ));
            }
        }
        (None, _) => {}
    }
    if page.truncated {
        page.notes.push(how_to_go_on(&page));
    }
    Ok(page)
}

fn parse(url: &str) -> Result<Url, FetchPageError> {
    let shown = || truncate(&fold(url), MAX_FACT_CHARS);
    let bad = |reason: String| FetchPageError::BadUrl { url: shown(), reason };
    let parsed = parse_url(url.trim()).map_err(|error| match error {
        BadAddress::Unreadable(error) => bad(error.to_string()),
        BadAddress::Refused(refusal) => FetchPageError::Refused(refusal),
    })?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(bad("only http and https are fetched".to_owned()));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        // The URL is not repeated, because it contains a password.
        let host = host_of(&parsed);
        return Err(FetchPageError::Refused(FetchRefusal::Credentials { host }));
    }
    Ok(parsed)
}

fn failed(error: GuardedFetchError, asked: &Url, client: &GuardedClient) -> FetchPageError {
    match error {
        GuardedFetchError::Refused(FetchRefusal::NotNamed { host, setting }) => {
            let redirected = client.policy().check(asked).is_ok();
            FetchPageError::NotAllowed {
                host,
                is_off: client.policy().hosts.is_empty(),
                redirected_from: redirected.then(|| host_of(asked)),
                setting,
            }
        }
        GuardedFetchError::Refused(refusal) => FetchPageError::Refused(refusal),
        other => FetchPageError::Fetch(other),
    }
}

fn accept(response: &FetchResponse) -> Result<(), FetchPageError> {
    let url = response.url.to_string();
    match response.status {
        200..=299 => Ok(()),
        401 | 407 => Err(FetchPageError::LoginNeeded { url }),
        status @ (404 | 410) => Err(FetchPageError::NotThere { url, status }),
        429 => Err(FetchPageError::RateLimited {
            host: host_of(&response.url),
            retry_after: response.retry_after(),
        }),
        status => Err(FetchPageError::Status { url, status }),
    }
}

/// A parsed page, not yet truncated.
struct ParsedPage {
    url: Url,
    base: Url,
    document: ProseDocument,
    facts: PageFacts,
    format: &'static str,
    notes: Vec<String>,
}

/// Waits for the slot to parse a large page; none is needed for a small one.
fn alone(
    reading: &MediaHandling,
    bytes: usize,
    until: Instant,
    url: &Url,
) -> Result<Option<ReadingSlotGuard<'static>>, FetchPageError> {
    if bytes <= LARGE_PAGE_BYTES || matches!(reading, MediaHandling::Refused(_)) {
        return Ok(None);
    }
    let taken = LARGE_PAGE_SLOT.acquire(until);
    taken.map(Some).ok_or_else(|| FetchPageError::Busy { url: url.to_string() })
}

fn read(response: FetchResponse, wait: &PageWait<'_>) -> Result<ParsedPage, FetchPageError> {
    let media_type = response.media_type();
    let modified =
        response.header("last-modified").and_then(|date| bounded_text(date, MAX_FACT_CHARS));
    let content_type = response.header("content-type").map(str::to_owned);
    let url = response.url;
    let path = percent_decode_str(url.path()).decode_utf8_lossy().into_owned();
    let known = |bytes: &[u8]| reading(media_type.as_deref(), &path, bytes);
    let mut bytes = response.body;
    // Decode only text: decoding would corrupt binary formats such as PDF.
    if !matches!(known(&bytes), MediaHandling::Document(format) if !format.is_text()) {
        bytes = charset::as_utf8(bytes, content_type.as_deref());
    }
    let reading = known(&bytes);
    let until = wait.until.unwrap_or_else(|| Instant::now() + LARGE_PAGE_WAIT);
    let _alone = alone(&reading, bytes.len(), until, &url)?;
    let unreadable = |source| match source {
        Unreadable::Binary => FetchPageError::Binary {
            url: url.to_string(),
            media_type: format!(
                "{}, but contains NUL bytes",
                media_type.as_deref().unwrap_or("untyped")
            ),
        },
        source => FetchPageError::Unreadable { url: url.to_string(), source },
    };
    let (mut facts, mut notes) = (PageFacts::default(), Vec::new());
    if bytes.len() > MAX_TEXT_BYTES && reading.is_text() {
        truncate_utf8(&mut bytes, MAX_TEXT_BYTES);
        let most = MAX_TEXT_BYTES >> 20;
        notes.push(format!("The page is longer than {most} MiB; the rest was dropped."));
    }
    let (document, format) = match reading {
        MediaHandling::Refused(media_type) => {
            return Err(FetchPageError::Binary { url: url.to_string(), media_type });
        }
        MediaHandling::Verbatim(language) => {
            (verbatim(&language, &path, &bytes).map_err(unreadable)?, "text")
        }
        MediaHandling::Document(ProseFormat::Html) => {
            let text = charset::html(&bytes).map_err(unreadable)?;
            facts = facts::read(&text, &url);
            let base = facts.base.as_ref().unwrap_or(&url);
            let shown = images::describe_images(&text, base);
            let document = ProseFormat::Html.read(&path, shown.as_bytes()).map_err(unreadable)?;
            notes.extend(check_content(&url, &facts, &document)?);
            (document, ProseFormat::Html.name())
        }
        MediaHandling::Document(format) => {
            let document = format.read_until(&path, &bytes, wait.stopped);
            (document.map_err(unreadable)?, format.name())
        }
    };
    if document.sections.is_empty() {
        return Err(FetchPageError::NoText { url: url.to_string() });
    }
    facts.date = facts.date.or(modified);
    notes.extend(document.problems.iter().map(|problem| truncate(&fold(problem), MAX_FACT_CHARS)));
    let base = facts.base.clone().unwrap_or_else(|| url.clone());
    Ok(ParsedPage { url, base, document, facts, format, notes })
}

/// Truncates to at most `most` bytes, at a character boundary.
fn truncate_utf8(bytes: &mut Vec<u8>, most: usize) {
    let continues = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = (most.saturating_sub(3)..=most).rev().find(|at| !continues(at));
    bytes.truncate(end.unwrap_or(most));
}

/// Wraps text other than prose in a code fence. Formats JSON.
fn verbatim(language: &str, path: &str, bytes: &[u8]) -> Result<ProseDocument, Unreadable> {
    let text = charset::html(bytes)?;
    let laid_out = || {
        let text = Some(&text).filter(|text| text.len() <= LARGE_PAGE_BYTES)?;
        let value: Value = serde_json::from_str(text).ok()?;
        serde_json::to_string_pretty(&value).ok()
    };
    let text = if language == "json" { laid_out().unwrap_or_else(|| text.clone()) } else { text };
    let mut writer = DocumentWriter::default();
    writer.code(language, &text);
    Ok(writer.finish(None, path))
}

/// Checks that the page has content: not a login page, and not empty without scripts.
fn check_content(
    url: &Url,
    facts: &PageFacts,
    document: &ProseDocument,
) -> Result<Option<String>, FetchPageError> {
    let characters = markdown::text_length(document);
    let url = || url.to_string();
    if facts.asks_for_password && characters < LOGIN_PAGE_CHARS {
        return Err(FetchPageError::LoginNeeded { url: url() });
    }
    if facts.scripts == 0 || characters >= LITTLE_CONTENT_CHARS {
        return Ok(None);
    }
    let blocks = document.sections.iter().flat_map(|section| &section.blocks);
    let asks =
        blocks.into_iter().any(|block| block.text.plain.to_lowercase().contains("javascript"));
    if characters < NO_CONTENT_CHARS || facts.is_made_by_script && asks {
        return Err(FetchPageError::NeedsScript { url: url() });
    }
    let note = "The page has little text without scripts, which are not run.";
    Ok(facts.is_made_by_script.then(|| note.to_owned()))
}

impl ParsedPage {
    fn resolve(&self, target: &str) -> Option<String> {
        links::absolute(&self.base, target)
    }

    /// The whole page.
    fn page(&self, limits: &PageLimits) -> FetchedPage {
        let all = self.document.sections.as_slice();
        let written = markdown::write(all, &|target| self.resolve(target), limits.characters);
        let facts = &self.facts;
        let canonical = facts.canonical.as_ref().filter(|url| **url != self.url);
        FetchedPage {
            url: self.url.to_string(),
            canonical: canonical.map(Url::to_string),
            title: truncate(&fold(&self.document.title), MAX_TITLE_CHARS),
            byline: facts.byline.clone(),
            date: facts.date.clone(),
            site: facts.site.clone(),
            language: facts.language.clone(),
            format: self.format,
            section: None,
            markdown: written.text,
            characters: written.characters,
            truncated: written.is_cut,
            sections: self.sections(),
            links: self.links(limits.links),
            notes: self.notes.clone(),
        }
    }

    /// Keeps one section with its subsections.
    fn select_section(
        &self,
        page: &mut FetchedPage,
        name: &str,
        limits: &PageLimits,
    ) -> Result<(), FetchPageError> {
        let range = self.document.section(name);
        let Some(sections) = range.and_then(|range| self.document.sections.get(range)) else {
            let known = page.sections.iter().take(30).map(|section| section.heading.as_str());
            let known = known.collect::<Vec<_>>().join("; ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            let section = truncate(&fold(name), MAX_FACT_CHARS);
            return Err(FetchPageError::NoSection { url: page.url.clone(), section, known });
        };
        let written = markdown::write(sections, &|target| self.resolve(target), limits.characters);
        page.section = sections.first().and_then(|section| section.heading()).map(str::to_owned);
        page.markdown = written.text;
        page.characters = written.characters;
        page.truncated = written.is_cut;
        Ok(())
    }

    fn sections(&self) -> Vec<PageSection> {
        let all = &self.document.sections;
        let mut listed = Vec::new();
        for (at, section) in all.iter().enumerate() {
            let Some(heading) = section.heading() else { continue };
            if listed.len() == MAX_SECTIONS {
                break;
            }
            let below = all.iter().skip(at + 1).take_while(|other| other.level > section.level);
            listed.push(PageSection {
                heading: heading.to_owned(),
                level: section.level,
                anchor: section.anchor.clone().filter(|anchor| anchor.len() <= MAX_ANCHOR_BYTES),
                characters: markdown::length(section) + below.map(markdown::length).sum::<usize>(),
            });
        }
        listed
    }

    fn links(&self, most: usize) -> Vec<PageLink> {
        let mut seen = HashSet::new();
        let blocks = self.document.sections.iter().flat_map(|section| &section.blocks);
        let links = blocks.flat_map(|block| block.text.links.iter().map(move |link| (block, link)));
        let listed = links.filter_map(|(block, link)| {
            // A link within this page is skipped.
            let url = self.resolve(&link.target).filter(|_| !link.target.starts_with('#'))?;
            let text = block.text.plain.get(link.label.clone())?;
            seen.insert(url.clone()).then(|| PageLink { text: truncate(&fold(text), 200), url })
        });
        listed.take(most).collect()
    }
}

fn how_to_go_on(page: &FetchedPage) -> String {
    let shown = page.markdown.chars().count();
    let whole = page.characters;
    if page.sections.len() > 1 {
        format!(
            "These are the first {shown} of {whole} characters; request a section by heading or anchor to read on."
        )
    } else {
        format!("These are the first {shown} of {whole} characters; the page has no sections.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The only test of this crate's own in which a turn is taken: what is read elsewhere is read in another process.
    #[test]
    fn a_large_page_waits_for_another_until_time_is_up() {
        let url = Url::parse("https://docs.test/large").unwrap();
        let ask = |reading: &MediaHandling, bytes| alone(reading, bytes, Instant::now(), &url);
        let html = MediaHandling::Document(ProseFormat::Html);
        let first = ask(&html, LARGE_PAGE_BYTES + 1).unwrap();
        assert!(first.is_some());
        let text = ask(&html, LARGE_PAGE_BYTES + 1).unwrap_err().to_string();
        assert!(text.contains("another large page is being parsed; try again"), "{text}");
        // What is not read, or takes little, does not wait.
        assert!(ask(&html, LARGE_PAGE_BYTES).unwrap().is_none());
        assert!(
            ask(&MediaHandling::Refused("image/png".to_owned()), LARGE_PAGE_BYTES + 1)
                .unwrap()
                .is_none()
        );
        drop(first);
        assert!(ask(&html, LARGE_PAGE_BYTES + 1).unwrap().is_some());
    }
}
