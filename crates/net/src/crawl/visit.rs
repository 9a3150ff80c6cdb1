//! Handles one URL: requests it, with polite retries, and stores the result.

use super::{CrawlEnd, CrawlError, QueuedUrl, RunningCrawl, base, now};
use crate::{
    address_syntax::join_url,
    client::{CacheValidators, FetchResponse},
    file_name::digest,
    links::{self, CrawlLinks, RobotsDirectives},
    media,
    page_store::{PageStoreError, StoredPage, UrlOutcome},
    refusal::GuardedFetchError,
};
use std::time::Duration;
use url::Url;

/// Maximum number of requests per URL.
const MAX_ATTEMPTS: u32 = 3;
/// Failures in a row after which the crawl gives up.
const MAX_FAILURES_IN_A_ROW: u32 = 10;
/// Maximum pause that is honored; the crawl stops if a site asks for a longer one.
const MAX_RETRY_DELAY: Duration = Duration::from_mins(1);
/// Maximum number of chained redirects.
const MAX_REDIRECTS: u8 = 5;
/// Crawls in a row that must miss a page before it is removed: rebuilds hide pages for a while.
const MISSES_BEFORE_REMOVAL: u8 = 2;
/// How often the links of identical pages are followed. Without a limit, a site that answers everything with one page
/// never ends; with a limit of one, `/docs` would hide the links of `/docs/`.
const MAX_FOLLOWS_PER_DIGEST: u8 = 3;
/// Bytes of a page digest.
const DIGEST_BYTES: usize = 16;

/// Result of requesting a URL.
enum VisitResponse {
    Answer(Box<FetchResponse>),
    Refused(String),
    Failed(String),
    Ended(CrawlEnd),
}

/// The stored version of a URL before it is requested again.
#[derive(Default)]
struct PreviousVisit {
    page: Option<StoredPage>,
    bytes: Option<Vec<u8>>,
}

impl RunningCrawl<'_, '_> {
    /// Handles one URL. Returns the end of the crawl, if reached.
    pub(super) fn visit(&mut self, found: &QueuedUrl) -> Result<Option<CrawlEnd>, CrawlError> {
        let url = &found.url;
        if !self.robots.allows(url) {
            self.result.add_problem(url.as_str(), "disallowed by the site's robots.txt");
            self.finish_url(url.as_str(), UrlOutcome::Refused, None)?;
            return Ok(None);
        }
        let mut before = PreviousVisit { page: self.pages.get(url.as_str()).cloned(), bytes: None };
        if let Some(page) = &before.page {
            before.bytes = self.store.get(&page.file)?;
        }
        // Send validators only if the stored bytes still exist.
        let known = before.page.as_ref().filter(|_| before.bytes.is_some());
        let validators = known.map(|page| page.validators.clone()).unwrap_or_default();
        match self.ask(url, &validators) {
            VisitResponse::Answer(answer) => self.handle_response(found, &answer, before)?,
            VisitResponse::Refused(reason) => {
                self.result.add_problem(url.as_str(), &reason);
                self.finish_url(url.as_str(), UrlOutcome::Refused, before.page)?;
            }
            // Not recorded: a resumed crawl requests it again.
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
                    (format!("status {}", answer.status), Some(answer))
                }
                Ok(answer) => {
                    self.failures = 0;
                    return VisitResponse::Answer(Box::new(answer));
                }
                Err(GuardedFetchError::Refused(refusal)) => {
                    return VisitResponse::Refused(refusal.to_string());
                }
                Err(error) if error.is_passing() => (error.to_chain(), None),
                Err(error) => return VisitResponse::Failed(error.to_chain()),
            };
            self.failures += 1;
            let asked = wish.as_ref().and_then(FetchResponse::retry_after);
            let too_long = asked.is_some_and(|asked| asked > MAX_RETRY_DELAY);
            if too_long || self.failures >= MAX_FAILURES_IN_A_ROW {
                let why = asked.filter(|_| too_long).map_or_else(
                    || {
                        format!(
                            "{MAX_FAILURES_IN_A_ROW} requests in a row failed; the last one: {reason}"
                        )
                    },
                    |asked| format!("the site asks to retry after {} s", asked.as_secs()),
                );
                self.result.add_problem(url.as_str(), &why);
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

    fn handle_response(
        &mut self,
        found: &QueuedUrl,
        answer: &FetchResponse,
        before: PreviousVisit,
    ) -> Result<(), PageStoreError> {
        let url = &found.url;
        match (answer.status, before) {
            (304, PreviousVisit { page: Some(page), bytes: Some(bytes) }) => {
                self.keep_unchanged(url, page, &bytes)
            }
            (200..=299, before) => self.content(found, answer, before),
            (404 | 410, before) => self.missing(url, answer.status, before.page),
            (300..=399, before) => self.follow_redirect(found, answer, before.page),
            (status, before) => {
                self.result.add_problem(url.as_str(), &format!("status {status}"));
                self.finish_url(url.as_str(), UrlOutcome::Refused, before.page)
            }
        }
    }

    fn keep_unchanged(
        &mut self,
        url: &Url,
        page: StoredPage,
        bytes: &[u8],
    ) -> Result<(), PageStoreError> {
        if media::ends_so(&page.file, "html") {
            let links = links::scan(&String::from_utf8_lossy(bytes));
            if !links.asks.no_follow {
                self.follow(url, &links)?;
            }
        }
        self.finish_url(
            url.as_str(),
            UrlOutcome::Unchanged,
            Some(StoredPage { missing: 0, ..page }),
        )
    }

    fn missing(
        &mut self,
        url: &Url,
        status: u16,
        page: Option<StoredPage>,
    ) -> Result<(), PageStoreError> {
        if *url == self.start {
            self.result
                .add_problem(url.as_str(), &format!("the start page returned status {status}"));
        }
        match page {
            Some(page)
                if status == 404 && page.missing.saturating_add(1) < MISSES_BEFORE_REMOVAL =>
            {
                let page = StoredPage { missing: page.missing.saturating_add(1), ..page };
                let reason = "not found; it is removed if the next crawl does not find it either";
                self.result.add_problem(url.as_str(), reason);
                self.finish_url(url.as_str(), UrlOutcome::Skipped, Some(page))
            }
            Some(_) => self.finish_url(url.as_str(), UrlOutcome::Gone, None),
            // A broken link.
            None => self.finish_url(url.as_str(), UrlOutcome::Skipped, None),
        }
    }

    /// Queues the target of a redirect, if robots.txt and the scope allow it.
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
            Some(next) if found.hops < MAX_REDIRECTS => self.enqueue(next, found.hops + 1)?,
            Some(_) => self.result.add_problem(url.as_str(), "too many redirects"),
            None if *url == self.start => {
                let to = next.map_or_else(|| "nowhere".to_owned(), |next| next.to_string());
                let reason =
                    format!("redirects to {to}, outside the site; start there if that is intended");
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
            self.store.put(&file, &answer.body)?;
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

    /// Whether the page has a canonical URL elsewhere on the site, which is then queued. A canonical URL outside the
    /// scope, such as another version of the site, is ignored.
    fn is_elsewhere(
        &mut self,
        found: &QueuedUrl,
        links: &CrawlLinks,
    ) -> Result<bool, PageStoreError> {
        let base = base(&found.url, links);
        let place = links.canonical.as_ref().and_then(|text| join_url(&base, text).ok());
        let Some(place) = place.and_then(|place| self.scope.admit(place)) else { return Ok(false) };
        // If two pages point at each other, or the target is missing, keep this one.
        if place == found.url || self.passed.contains(place.as_str()) || !self.robots.allows(&place)
        {
            return Ok(false);
        }
        self.enqueue(place, found.hops)?;
        Ok(true)
    }

    fn is_copy(&self, url: &Url, digest: &str) -> bool {
        self.copies.get(digest).is_some_and(|owner| owner != url.as_str())
    }
}

/// Whether the status is a failure of the site rather than of the page.
const fn is_failure(status: u16) -> bool {
    status == 429 || status >= 500
}

/// Whether the request is worth retrying.
const fn is_passing(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

/// Reads robots directives from headers, for all crawlers or for docent.
fn headers_ask(answer: &FetchResponse, asks: &mut RobotsDirectives) {
    for value in answer.headers("x-robots-tag") {
        match value.split_once(':') {
            None => asks.add(value),
            Some((name, list)) if name.trim().eq_ignore_ascii_case("docent") => asks.add(list),
            Some(_) => {}
        }
    }
}
