//! What becomes of one URL: asking for it, as often as is polite, and keeping what comes.

use super::{RunningCrawl, CrawlError, CrawlEnd, QueuedUrl, base, now};
use crate::{
    client::{FetchResponse, CacheValidators},
    file_name::digest,
    links::{self, RobotsDirectives, CrawlLinks},
    media,
    refusal::GuardedFetchError,
    page_store::{UrlOutcome, StoredPage, PageStoreError},
    address_syntax::join_url,
};
use std::time::Duration;
use url::Url;

/// Times that one URL is asked for.
const MAX_ATTEMPTS: u32 = 3;
/// Failures in a row after which a site counts as gone.
const MAX_FAILURES_IN_A_ROW: u32 = 10;
/// The longest pause that is waited for. A site that asks for a longer one is left alone.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(1);
/// Redirects that lead from one to the next.
const MAX_REDIRECTS: u8 = 5;
/// Crawls in a row that must miss a page before it is dropped: sites lose pages for an hour when they are built anew.
const MISSES_BEFORE_REMOVAL: u8 = 2;
/// How often the links of the same bytes are followed. Without a bound, a site that answers everything with one page has no
/// end; with one alone, `/docs` would hide the links of `/docs/`.
const MAX_FOLLOWS_PER_DIGEST: u8 = 3;
/// Bytes of a digest that tell pages apart.
const DIGEST_BYTES: usize = 16;

/// What came of asking.
enum VisitResponse {
    Answer(Box<FetchResponse>),
    Refused(String),
    Failed(String),
    Ended(CrawlEnd),
}

/// What is kept of a URL before it is asked for again.
#[derive(Default)]
struct PreviousVisit {
    page: Option<StoredPage>,
    bytes: Option<Vec<u8>>,
}

impl RunningCrawl<'_, '_> {
    /// Tells the end of the crawl, if this is it.
    pub(super) fn visit(&mut self, found: &QueuedUrl) -> Result<Option<CrawlEnd>, CrawlError> {
        let url = &found.url;
        if !self.robots.allows(url) {
            self.result.add_problem(url.as_str(), "the site's robots.txt does not allow it");
            self.settle(url.as_str(), UrlOutcome::Refused, None)?;
            return Ok(None);
        }
        let mut before = PreviousVisit { page: self.pages.get(url.as_str()).cloned(), bytes: None };
        if let Some(page) = &before.page {
            before.bytes = self.shelf.get(&page.file)?;
        }
        // Only bytes that are still there can be unchanged.
        let known = before.page.as_ref().filter(|_| before.bytes.is_some());
        let validators = known.map(|page| page.validators.clone()).unwrap_or_default();
        match self.ask(url, &validators) {
            VisitResponse::Answer(answer) => self.take(found, &answer, before)?,
            VisitResponse::Refused(reason) => {
                self.result.add_problem(url.as_str(), &reason);
                self.settle(url.as_str(), UrlOutcome::Refused, before.page)?;
            }
            // Not written down: a crawl that goes on from here asks again.
            VisitResponse::Failed(reason) => {
                self.result.add_problem(url.as_str(), &reason);
                self.result.failed += 1;
            }
            VisitResponse::Ended(end) => return Ok(Some(end)),
        }
        Ok(None)
    }

    fn ask(&mut self, url: &Url, validators: &CacheValidators) -> VisitResponse {
        let mut pause = self.pace.backoff();
        let mut last = String::new();
        for _ in 0..MAX_ATTEMPTS {
            if !self.pace.wait(self.watch.stop) {
                return VisitResponse::Ended(CrawlEnd::Stopped);
            }
            let answer = self.client.get_once(url, validators);
            self.pace.rest(Duration::ZERO);
            let (reason, wish) = match answer {
                Ok(answer) if is_failure(answer.status) => {
                    (format!("it answers {}", answer.status), Some(answer))
                }
                Ok(answer) => {
                    self.failures = 0;
                    return VisitResponse::Answer(Box::new(answer));
                }
                Err(GuardedFetchError::Refused(refusal)) => return VisitResponse::Refused(refusal.to_string()),
                Err(error) if error.is_passing() => (error.told(), None),
                Err(error) => return VisitResponse::Failed(error.told()),
            };
            self.failures += 1;
            let asked = wish.as_ref().and_then(FetchResponse::retry_after);
            let too_long = asked.is_some_and(|asked| asked > MAX_RETRY_DELAY);
            if too_long || self.failures >= MAX_FAILURES_IN_A_ROW {
                let why = asked.filter(|_| too_long).map_or_else(
                    || {
                        format!(
                            "{MOST_FAILURES} requests in a row have failed; the last one: {reason}"
                        )
                    },
                    |asked| format!("the site asks to be left alone for {} s", asked.as_secs()),
                );
                self.result.tell(url.as_str(), &why);
                return VisitResponse::Ended(CrawlEnd::GaveUp);
            }
            self.pace.rest(asked.unwrap_or(pause).min(MAX_RETRY_DELAY));
            pause = pause.saturating_mul(2);
            last = reason;
            if wish.is_some_and(|answer| !is_passing(answer.status)) {
                break;
            }
        }
        VisitResponse::Failed(last)
    }

    fn handle_response(&mut self, found: &QueuedUrl, answer: &FetchResponse, before: PreviousVisit) -> Result<(), PageStoreError> {
        let url = &found.url;
        match (answer.status, before) {
            (304, PreviousVisit { page: Some(page), bytes: Some(bytes) }) => {
                self.keep_unchanged(url, page, &bytes)
            }
            (200..=299, before) => self.content(found, answer, before),
            (404 | 410, before) => self.missing(url, answer.status, before.page),
            (300..=399, before) => self.follow_redirect(found, answer, before.page),
            (status, before) => {
                self.result.add_problem(url.as_str(), &format!("it answers {status}"));
                self.finish_url(url.as_str(), UrlOutcome::Refused, before.page)
            }
        }
    }

    fn keep_unchanged(&mut self, url: &Url, page: StoredPage, bytes: &[u8]) -> Result<(), PageStoreError> {
        if media::ends_so(&page.file, "html") {
            let links = links::scan(&String::from_utf8_lossy(bytes));
            if !links.asks.no_follow {
                self.follow(url, &links)?;
            }
        }
        self.finish_url(url.as_str(), UrlOutcome::Unchanged, Some(StoredPage { missing: 0, ..page }))
    }

    fn missing(&mut self, url: &Url, status: u16, page: Option<StoredPage>) -> Result<(), PageStoreError> {
        if *url == self.start {
            self.result.add_problem(url.as_str(), &format!("the first page of the site answers {status}"));
        }
        match page {
            Some(page) if status == 404 && page.missing.saturating_add(1) < MISSES_BEFORE_REMOVAL => {
                let page = StoredPage { missing: page.missing.saturating_add(1), ..page };
                let reason =
                    "it is not found; it is dropped if the next crawl does not find it either";
                self.result.add_problem(url.as_str(), reason);
                self.finish_url(url.as_str(), UrlOutcome::Skipped, Some(page))
            }
            Some(_) => self.finish_url(url.as_str(), UrlOutcome::Gone, None),
            // A link to nowhere.
            None => self.finish_url(url.as_str(), UrlOutcome::Skipped, None),
        }
    }

    /// Where it leads to is asked for in its turn, if the site's rules and the scope allow it.
    fn follow_redirect(
        &mut self,
        found: &QueuedUrl,
        answer: &FetchResponse,
        page: Option<StoredPage>,
    ) -> Result<(), PageStoreError> {
        let url = &found.url;
        let for_good = matches!(answer.status, 301 | 308);
        let kept = page.filter(|_| !for_good);
        let next = match answer.redirect() {
            Ok(next) => next,
            Err(refusal) => {
                self.result.add_problem(url.as_str(), &refusal.to_string());
                return self.finish_url(url.as_str(), UrlOutcome::Skipped, kept);
            }
        };
        match next.clone().and_then(|next| self.scope.admit(next)) {
            Some(next) if found.hops < MAX_REDIRECTS => self.found(next, found.hops + 1)?,
            Some(_) => self.result.add_problem(url.as_str(), "too many redirects lead on from each other"),
            None if *url == self.start => {
                let to = next.map_or_else(|| "nowhere".to_owned(), |next| next.to_string());
                let reason =
                    format!("it redirects to {to}, outside the site; begin there if it is meant");
                self.result.add_problem(url.as_str(), &reason);
            }
            None => {}
        }
        self.finish_url(url.as_str(), UrlOutcome::Skipped, kept)
    }

    fn content(
        &mut self,
        found: &QueuedUrl,
        answer: &FetchResponse,
        before: PreviousVisit,
    ) -> Result<(), PageStoreError> {
        let url = &found.url;
        let media_type = answer.media_type();
        let Some(ending) = media::ending(media_type.as_deref(), url.path()) else {
            return self.finish_url(url.as_str(), UrlOutcome::Skipped, None);
        };
        let mut links = CrawlLinks::default();
        if ending == "html" {
            links = links::scan(&String::from_utf8_lossy(&answer.body));
        }
        headers_ask(answer, &mut links.asks);
        let digest = digest(&answer.body, DIGEST_BYTES);
        if !links.asks.no_follow && self.may_follow(&digest) {
            self.follow(url, &links)?;
        }
        if links.asks.no_index || self.is_elsewhere(found, &links)? || self.is_copy(url, &digest) {
            return self.finish_url(url.as_str(), UrlOutcome::Skipped, None);
        }
        let own = before.page.as_ref().filter(|page| media::ends_so(&page.file, ending));
        let file = own.map_or_else(|| self.file_for(url, ending), |page| page.file.clone());
        let same = before.bytes.is_some_and(|bytes| bytes == answer.body)
            && before.page.is_some_and(|page| page.file == file && page.digest == digest);
        if !same {
            self.shelf.put(&file, &answer.body)?;
        }
        let page = StoredPage {
            url: url.to_string(),
            file,
            media_type,
            validators: answer.validators(),
            digest,
            fetched: now(),
            missing: 0,
        };
        let outcome = if same { UrlOutcome::Unchanged } else { UrlOutcome::Fetched };
        self.finish_url(url.as_str(), outcome, Some(page))
    }

    fn may_follow(&mut self, digest: &str) -> bool {
        let times = self.followed.entry(digest.to_owned()).or_default();
        *times = times.saturating_add(1);
        *times <= MAX_FOLLOWS_PER_DIGEST
    }

    /// Whether the page wants to be found at another URL of the site, which is then asked for. Sites also name another
    /// version of themselves, outside the scope; then this one is what is wanted.
    fn is_elsewhere(&mut self, found: &QueuedUrl, links: &CrawlLinks) -> Result<bool, PageStoreError> {
        let base = base(&found.url, links);
        let place = links.canonical.as_ref().and_then(|text| join_url(&base, text).ok());
        let Some(place) = place.and_then(|place| self.scope.admit(place)) else { return Ok(false) };
        // Two pages that name each other, or one that is not there: better this one than none.
        if place == found.url || self.passed.contains(place.as_str()) || !self.robots.allows(&place)
        {
            return Ok(false);
        }
        self.found(place, found.hops)?;
        Ok(true)
    }

    fn is_copy(&self, url: &Url, digest: &str) -> bool {
        self.copies.get(digest).is_some_and(|owner| owner != url.as_str())
    }
}

/// Whether the status says more about the site than about the page.
const fn is_failure(status: u16) -> bool {
    status == 429 || status >= 500
}

/// Whether it is worth asking again.
const fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

/// What headers ask of all crawlers, or of docent by name.
fn headers_ask(answer: &FetchResponse, asks: &mut RobotsDirectives) {
    for value in answer.headers("x-robots-tag") {
        match value.split_once(':') {
            None => asks.add(value),
            Some((name, list)) if name.trim().eq_ignore_ascii_case("docent") => asks.add(list),
            Some(_) => {}
        }
    }
}
