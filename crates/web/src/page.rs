//! One page of the web as readable Markdown, with what it says about itself.
//!
//! robots.txt is not asked: it speaks to programs that wander, and this page was asked for by name, once.

use crate::{
    allow::what_to_add,
    charset,
    facts::{self, PageFacts},
    images, links, markdown,
    media::{MediaHandling, reading},
    search::host_of,
    slot::{ReadingSlotGuard, ReadingSlot},
    text::{MAX_FACT_CHARS, MAX_TITLE_CHARS, truncate, fold, bounded_text},
};
use docent_net::{
    BadAddress, BodyLimit, GuardedClient, GuardedFetchError, PolicySetting, FetchRefusal, FetchResponse, CacheValidators, parse_url,
};
use docent_prose::{ProseDocument, ProseFormat, Unreadable, DocumentWriter};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::{
    collections::HashSet,
    time::{Duration, Instant},
};
use url::Url;

/// Longer anchors are left out; the section has a heading.
const MAX_ANCHOR_BYTES: usize = 200;
/// The most sections that are listed.
const MAX_SECTIONS: usize = 200;
/// Less text than this is what is left of a page whose script did not run.
const NO_CONTENT_CHARS: usize = 40;
/// Less text than this may be.
const LITTLE_CONTENT_CHARS: usize = 200;
/// Less text than this, beside a field for a password, is a door.
const LOGIN_PAGE_CHARS: usize = 600;

/// Bytes of a page that is text, of which far less is given back. Reading takes up to a hundred times as much memory.
const MAX_TEXT_BYTES: usize = 4 << 20;
/// Pages of more bytes are read one after the other, for what they take.
const LARGE_PAGE_BYTES: usize = 1 << 20;
static LARGE_PAGE_SLOT: ReadingSlot = ReadingSlot::new();
/// How long one waits for another, where nobody says.
const LARGE_PAGE_WAIT: Duration = Duration::from_secs(30);

/// What one page may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimits {
    /// Bytes that are fetched, before and after they are unpacked.
    pub bytes: u64,
    /// Characters of Markdown that are given back.
    pub characters: usize,
    /// Links that are listed.
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
    /// Where it came from, after redirects.
    pub url: String,
    /// The address that it says is its own, where that is another one.
    pub canonical: Option<String>,
    /// For people.
    pub title: String,
    /// Who wrote it.
    pub byline: Option<String>,
    /// When it was published, as it says; or else when its server last changed it.
    pub date: Option<String>,
    /// What it is a part of.
    pub site: Option<String>,
    /// Such as `en`.
    pub language: Option<String>,
    /// What it was read as, such as `HTML`.
    pub format: &'static str,
    /// The section that was asked for.
    pub section: Option<String>,
    /// The text, or as much of it as fits.
    pub markdown: String,
    /// Characters of the whole, or of the whole section.
    pub characters: usize,
    /// Not all of it fits.
    pub truncated: bool,
    /// All headings, up to a bound.
    pub sections: Vec<PageSection>,
    /// Where the text links to, each place once, up to a bound.
    pub links: Vec<PageLink>,
    /// What to know before relying on it.
    pub notes: Vec<String>,
}

/// A heading of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSection {
    /// What it says.
    pub heading: String,
    /// 1 to 6.
    pub level: u8,
    /// What links point to.
    pub anchor: Option<String>,
    /// About how long it is, with all below it.
    pub characters: usize,
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// What it says.
    pub text: String,
    /// Where it leads.
    pub url: String,
}

/// Why there is no page to read.
#[derive(Debug, thiserror::Error)]
pub enum FetchPageError {
    /// No address of a page.
    #[error(
        "{url:?} is no address of a page: {reason}; write it whole, such as https://docs.example.com/guide"
    )]
    BadUrl {
        /// As it was given, bounded.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// The policy does not name the host.
    #[error("{}; {}", not_named(host, *is_off, redirected_from.as_deref()), what_to_add(std::slice::from_ref(host), *is_off, setting))]
    NotAllowed {
        /// As a rule names it.
        host: String,
        /// The policy names no host at all.
        is_off: bool,
        /// The host that sent us there.
        redirected_from: Option<String>,
        /// Where hosts are named.
        setting: PolicySetting,
    },
    /// It may not be fetched for another reason.
    #[error(transparent)]
    Refused(FetchRefusal),
    /// No answer in time, none at all, or one that is too large or makes no sense.
    #[error("{}", .0.told())]
    Fetch(#[source] GuardedFetchError),
    /// The server says that there is no such page.
    #[error("{url} is not there (status {status}); check the address")]
    NotThere {
        /// Which.
        url: String,
        /// 404 or 410.
        status: u16,
    },
    /// Only those who log in may see it.
    #[error("{url} is behind a login; a page that needs one can't be read")]
    LoginNeeded {
        /// Which.
        url: String,
    },
    /// Asked too often.
    #[error("{host} is asked too often; try again {}", later(*retry_after))]
    RateLimited {
        /// Who.
        host: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// Another status.
    #[error("{url} was answered with status {status}")]
    Status {
        /// Which.
        url: String,
        /// Such as 500.
        status: u16,
    },
    /// No text.
    #[error("{url} is no text: it is {media_type}, which is not read")]
    Binary {
        /// Which.
        url: String,
        /// As its server says.
        media_type: String,
    },
    /// Another one is being read, and still was when the time was up.
    #[error("{url} is large, and another large page is being read: try again")]
    Busy {
        /// Which.
        url: String,
    },
    /// It gives no document.
    #[error("{url} can't be read: {source}")]
    Unreadable {
        /// Which.
        url: String,
        /// Why.
        #[source]
        source: Unreadable,
    },
    /// Its text is made by scripts, which are not run.
    #[error(
        "{url} has no text without its scripts, and scripts are not run; look for another page that says the same"
    )]
    NeedsScript {
        /// Which.
        url: String,
    },
    /// There is nothing to read.
    #[error("{url} has no text to read")]
    NoText {
        /// Which.
        url: String,
    },
    /// No section is called so.
    #[error("{url} has no section {section:?}; its sections are: {known}")]
    NoSection {
        /// Which page.
        url: String,
        /// What was asked for, bounded.
        section: String,
        /// The first of those that there are.
        known: String,
    },
}

fn not_named(host: &str, is_off: bool, redirected_from: Option<&str>) -> String {
    match (is_off, redirected_from) {
        (true, _) => {
            format!("the network is off: the policy names no host, so {host} can't be reached")
        }
        (false, Some(from)) => {
            format!("{from} redirects to {host}, which the policy of the network does not name")
        }
        (false, None) => format!("the policy of the network does not name {host}"),
    }
}

fn retry_hint(retry_after: Option<Duration>) -> String {
    retry_after.map_or_else(|| "later".to_owned(), |time| format!("in {} s", time.as_secs()))
}

/// Fetches a page and reads it: all of it, or one section by its heading or its anchor.
pub fn fetch_page(
    url: &str,
    section: Option<&str>,
    client: &GuardedClient,
    limits: &PageLimits,
) -> Result<FetchedPage, FetchPageError> {
    fetch_page_until(url, section, client, limits, &PageWait { until: None, stopped: &|| false })
}

/// How long a caller waits for a page.
#[derive(Clone, Copy)]
pub struct PageWait<'a> {
    /// A large page that has to wait for another one fails at this time.
    pub until: Option<Instant>,
    /// Asked while a document is read; ends the work early.
    pub stopped: &'a dyn Fn() -> bool,
}

impl std::fmt::Debug for PageWait<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageWait").field("until", &self.until).finish_non_exhaustive()
    }
}

/// The same for a caller with a deadline, or who may lose interest.
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
        (Some(section), _) => read.cut_out(&mut page, section, limits)?,
        (None, Some(fragment)) if !fragment.is_empty() => {
            let anchor = percent_decode_str(fragment).decode_utf8_lossy();
            if read.cut_out(&mut page, &anchor, limits).is_err() {
                page.notes.push(format!(
                    "There is no section #{}; this is the whole page.",
                    bounded(&fold(&anchor), 100)
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
        // The address is not repeated, for what it holds.
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

/// A page that has been read, and not yet been cut to size.
struct ParsedPage {
    url: Url,
    base: Url,
    document: ProseDocument,
    facts: PageFacts,
    format: &'static str,
    notes: Vec<String>,
}

/// The turn to read so many bytes, where reading them takes one.
fn alone(
    reading: &MediaHandling,
    bytes: usize,
    until: Instant,
    url: &Url,
) -> Result<Option<ReadingSlotGuard<'static>>, FetchPageError> {
    if bytes <= LARGE_PAGE_BYTES || matches!(reading, Reading::Refused(_)) {
        return Ok(None);
    }
    let taken = LARGE_PAGE_SLOT.acquire(until);
    taken.map(Some).ok_or_else(|| FetchPageError::Busy { url: url.to_string() })
}

fn read(response: FetchResponse, wait: &PageWait<'_>) -> Result<ParsedPage, FetchPageError> {
    let media_type = response.media_type();
    let modified = response.header("last-modified").and_then(|date| bounded_text(date, MAX_FACT_CHARS));
    let content_type = response.header("content-type").map(str::to_owned);
    let url = response.url;
    let path = percent_decode_str(url.path()).decode_utf8_lossy().into_owned();
    let known = |bytes: &[u8]| reading(media_type.as_deref(), &path, bytes);
    let mut bytes = response.body;
    // Only text has an encoding: what is packed, such as a PDF, would not survive another one.
    if !matches!(known(&bytes), Reading::Document(format) if !format.is_text()) {
        bytes = charset::as_utf8(bytes, content_type.as_deref());
    }
    let reading = known(&bytes);
    let until = wait.until.unwrap_or_else(|| Instant::now() + LARGE_PAGE_WAIT);
    let _alone = alone(&reading, bytes.len(), until, &url)?;
    let unreadable = |source| match source {
        Unreadable::Binary => FetchPageError::Binary {
            url: url.to_string(),
            media_type: format!(
                "{}, but holds NUL bytes",
                media_type.as_deref().unwrap_or("untyped")
            ),
        },
        source => FetchPageError::Unreadable { url: url.to_string(), source },
    };
    let (mut facts, mut notes) = (PageFacts::default(), Vec::new());
    if bytes.len() > MAX_TEXT_BYTES && reading.is_text() {
        truncate_utf8(&mut bytes, MAX_TEXT_BYTES);
        let most = MAX_TEXT_BYTES >> 20;
        notes.push(format!("The page is longer than {most} MiB; what follows is left out."));
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

/// Leaves at most so many bytes, and no part of a character at their end.
fn truncate_utf8(bytes: &mut Vec<u8>, most: usize) {
    let continues = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = (most.saturating_sub(3)..=most).rev().find(|at| !continues(at));
    bytes.truncate(end.unwrap_or(most));
}

/// Text that is no prose: in a fence, as it is. JSON is laid out.
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

/// Whether there is a page behind what came: not a door, and not what is left without a script.
fn check_content(url: &Url, facts: &PageFacts, document: &ProseDocument) -> Result<Option<String>, FetchPageError> {
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
    let note = "The page has little text without its scripts, which are not run.";
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

    /// Leaves one section and all below it.
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
            // A place in this page is no other page.
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
            "These are the first {shown} of {whole} characters; ask for a section by its heading or anchor to read on."
        )
    } else {
        format!(
            "These are the first {shown} of {whole} characters; the page has no sections to ask for."
        )
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
        let told = ask(&html, LARGE_PAGE_BYTES + 1).unwrap_err().to_string();
        assert!(told.contains("another large page is being read: try again"), "{told}");
        // What is not read, or takes little, waits for nobody.
        assert!(ask(&html, LARGE).unwrap().is_none());
        assert!(ask(&Reading::Refused("image/png".to_owned()), LARGE + 1).unwrap().is_none());
        drop(first);
        assert!(ask(&html, LARGE + 1).unwrap().is_some());
    }
}
