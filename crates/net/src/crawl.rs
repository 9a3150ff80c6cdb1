//! Crawls a site politely: one request at a time, with pauses, and only where robots.txt allows it.

mod pace;
mod visit;

use crate::{
    address_syntax::join_url,
    client::{GuardedClient, error_chain},
    file_name::file_name,
    links::CrawlLinks,
    media,
    page_store::{CrawlEvent, PageStore, PageStoreError, SavedCrawl, StoredPage, UrlOutcome},
    refusal::FetchRefusal,
    robots::{Robots, RobotsCache, RobotsUnavailable},
    site::{BadGlob, CrawlSite, SiteScope},
    sitemap::Sitemap,
};
use pace::RequestPacer;
use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use url::Url;

/// Maximum age of an interrupted crawl that is resumed; an older one restarts, as its pages may have changed.
const RESUME_WINDOW: Duration = Duration::from_hours(24);
/// Maximum number of problems listed.
const MAX_PROBLEMS: usize = 100;
/// Maximum length of a problem in characters.
const MAX_REASON_CHARS: usize = 300;
/// Maximum number of known URLs per page of the limit.
const MAX_KNOWN_URLS_PER_PAGE: usize = 8;

/// How a crawl ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlEnd {
    /// All pages were requested.
    Complete,
    /// The page limit was reached.
    Full,
    /// The caller stopped it. The next crawl continues from there.
    Stopped,
    /// The site stopped answering. The next crawl continues from there.
    GaveUp,
}

/// A problem with one URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlProblem {
    /// The URL.
    pub url: String,
    /// What went wrong.
    pub reason: String,
}

/// Result of a crawl, including the part before an interruption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlReport {
    /// Number of new or changed pages.
    pub fetched: usize,
    /// Number of unchanged pages.
    pub unchanged: usize,
    /// Number of pages removed because they no longer exist.
    pub gone: usize,
    /// Number of URLs refused by robots.txt or the policy.
    pub refused: usize,
    /// Number of URLs that failed; their previous versions are kept.
    pub failed: usize,
    /// Number of URLs that are not pages: redirects, copies, images, pages with `noindex`.
    pub skipped: usize,
    /// First problems, in order.
    pub problems: Vec<CrawlProblem>,
    /// Number of further problems.
    pub more_problems: usize,
    /// How it ended.
    pub end: CrawlEnd,
}

impl CrawlReport {
    const fn new() -> Self {
        Self {
            fetched: 0,
            unchanged: 0,
            gone: 0,
            refused: 0,
            failed: 0,
            skipped: 0,
            problems: Vec::new(),
            more_problems: 0,
            end: CrawlEnd::Complete,
        }
    }

    const fn count(&mut self, outcome: UrlOutcome) {
        match outcome {
            UrlOutcome::Fetched => self.fetched += 1,
            UrlOutcome::Unchanged => self.unchanged += 1,
            UrlOutcome::Gone => self.gone += 1,
            UrlOutcome::Refused => self.refused += 1,
            UrlOutcome::Skipped => self.skipped += 1,
        }
    }

    const fn done(&self) -> usize {
        self.fetched + self.unchanged + self.gone + self.refused + self.failed + self.skipped
    }

    fn add_problem(&mut self, url: &str, reason: &str) {
        if self.problems.len() >= MAX_PROBLEMS {
            self.more_problems += 1;
            return;
        }
        let reason = reason.chars().take(MAX_REASON_CHARS).collect();
        self.problems.push(CrawlProblem { url: url.to_owned(), reason });
    }
}

/// Callbacks of a crawl.
pub struct CrawlObserver<'a> {
    /// Called after every URL with the number done and the number known.
    pub progress: &'a mut dyn FnMut(usize, usize),
    /// Checked before every request and while waiting for the next; returns whether to stop.
    pub stop: &'a dyn Fn() -> bool,
}

/// Why a site could not be crawled.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// A glob of the site is invalid.
    #[error(transparent)]
    Glob(#[from] BadGlob),
    /// The start page is outside the scope.
    #[error("{url} is outside the scope of its site; fix the scope and the globs")]
    Start {
        /// The start page.
        url: String,
    },
    /// The policy does not allow the site.
    #[error(transparent)]
    Refused(#[from] FetchRefusal),
    /// The robots.txt of the site is unavailable.
    #[error(transparent)]
    Robots(#[from] RobotsUnavailable),
    /// The page store can't be used. Its contents are intact.
    #[error(transparent)]
    Shelf(#[from] PageStoreError),
}

/// Fetches the new and changed pages of a site into a page store. Continues an interrupted crawl of the same site.
pub fn crawl(
    client: &GuardedClient,
    site: &CrawlSite,
    shelf: &mut dyn PageStore,
    watch: CrawlObserver<'_>,
) -> Result<CrawlReport, CrawlError> {
    let scope = SiteScope::new(site)?;
    client.policy().check(&site.start)?;
    let start = scope.admit(site.start.clone());
    let start = start.ok_or_else(|| CrawlError::Start { url: site.start.to_string() })?;
    let saved = shelf.load()?;
    let robots = RobotsCache::default().rules(client, &start)?.clone();
    let pace = RequestPacer::new(site.delay.max(robots.delay.unwrap_or_default()));
    let mut crawl = RunningCrawl {
        client,
        site,
        scope,
        robots,
        store: shelf,
        watch,
        pace,
        start,
        pages: BTreeMap::new(),
        files: HashMap::new(),
        copies: HashMap::new(),
        followed: HashMap::new(),
        queue: VecDeque::new(),
        known: HashSet::new(),
        passed: HashSet::new(),
        failures: 0,
        result: CrawlReport::new(),
    };
    crawl.begin(&saved)?;
    crawl.run()
}

/// A URL to request.
#[derive(Debug)]
struct QueuedUrl {
    url: Url,
    /// Number of redirects that led to it.
    hops: u8,
}

struct RunningCrawl<'a, 'w> {
    client: &'a GuardedClient,
    site: &'a CrawlSite,
    scope: SiteScope,
    robots: Robots,
    store: &'a mut dyn PageStore,
    watch: CrawlObserver<'w>,
    pace: RequestPacer,
    start: Url,
    /// By URL.
    pages: BTreeMap<String, StoredPage>,
    /// URL by file name, in lower case: some file systems ignore case.
    files: HashMap<String, String>,
    /// URL by digest.
    copies: HashMap<String, String>,
    /// How often the links of a page with this digest were followed.
    followed: HashMap<String, u8>,
    queue: VecDeque<QueuedUrl>,
    known: HashSet<String>,
    /// URLs that are done and have no page.
    passed: HashSet<String>,
    /// Failures in a row.
    failures: u32,
    result: CrawlReport,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl RunningCrawl<'_, '_> {
    fn begin(&mut self, saved: &SavedCrawl) -> Result<(), CrawlError> {
        for (url, page) in saved.after() {
            self.keep_page(url, page);
        }
        let site = self.site.fingerprint();
        let resumed = saved.events.iter().any(|event| match event {
            CrawlEvent::Begun { site: other, at } => {
                *other == site && now().saturating_sub(*at) < RESUME_WINDOW.as_secs()
            }
            _ => false,
        });
        if resumed {
            self.resume(saved);
            return Ok(());
        }
        self.save()?;
        self.enqueue(self.start.clone(), 0)?;
        let pages: Vec<String> = self.pages.keys().cloned().collect();
        for page in pages {
            match Url::parse(&page).ok().and_then(|url| self.scope.admit(url)) {
                Some(url) => self.enqueue(url, 0)?,
                None => self.finish_url(&page, UrlOutcome::Gone, None)?,
            }
        }
        self.read_sitemaps()?;
        // Written last: a crawl that was killed earlier restarts.
        self.store.note(&CrawlEvent::Begun { site, at: now() })?;
        Ok(())
    }

    fn resume(&mut self, saved: &SavedCrawl) {
        let mut done = HashSet::new();
        for event in &saved.events {
            if let CrawlEvent::Done { url, outcome, page } = event {
                self.result.count(*outcome);
                done.insert(url.as_str());
                if page.is_none() {
                    self.passed.insert(url.clone());
                }
            }
        }
        for event in &saved.events {
            if let CrawlEvent::Found { url, hops } = event
                && self.known.insert(url.clone())
                && !done.contains(url.as_str())
                && let Ok(url) = Url::parse(url)
            {
                self.queue.push_back(QueuedUrl { url, hops: *hops });
            }
        }
    }

    fn read_sitemaps(&mut self) -> Result<(), CrawlError> {
        let named = self.robots.sitemaps.iter().filter_map(|text| join_url(&self.start, text).ok());
        let roots: Vec<Url> = match &self.site.sitemap {
            Some(sitemap) => vec![sitemap.clone()],
            None => named.collect(),
        };
        let Self { result, pace, watch, client, .. } = self;
        let mut problem = |url: &Url, error: crate::sitemap::BadSitemap| {
            result.add_problem(url.as_str(), &error_chain(&error));
        };
        let mut go_on = || {
            let wanted = pace.wait(watch.stop);
            pace.rest(Duration::ZERO);
            wanted
        };
        let listed = Sitemap::gather(client, &roots, &mut problem, &mut go_on);
        for entry in listed {
            if let Some(url) = self.scope.admit(entry.url) {
                self.enqueue(url, 0)?;
            }
        }
        Ok(())
    }

    fn run(mut self) -> Result<CrawlReport, CrawlError> {
        let end = loop {
            if (self.watch.stop)() {
                break CrawlEnd::Stopped;
            }
            let Some(found) = self.queue.pop_front() else { break CrawlEnd::Complete };
            if self.result.done() >= self.site.most_pages {
                break CrawlEnd::Full;
            }
            if let Some(end) = self.visit(&found)? {
                break end;
            }
            (self.watch.progress)(self.result.done(), self.known.len());
        };
        self.result.end = end;
        if matches!(end, CrawlEnd::Complete | CrawlEnd::Full) {
            self.save()?;
        }
        Ok(self.result)
    }

    fn save(&mut self) -> Result<(), PageStoreError> {
        let pages: Vec<StoredPage> = self.pages.values().cloned().collect();
        self.store.finish(&pages)
    }

    /// Adds a page of the site to the queue, the first time it is seen.
    fn enqueue(&mut self, url: Url, hops: u8) -> Result<(), PageStoreError> {
        let most = self.site.most_pages.saturating_mul(MAX_KNOWN_URLS_PER_PAGE);
        if self.known.len() >= most || self.known.contains(url.as_str()) {
            return Ok(());
        }
        self.store.note(&CrawlEvent::Found { url: url.to_string(), hops })?;
        self.known.insert(url.to_string());
        self.queue.push_back(QueuedUrl { url, hops });
        Ok(())
    }

    /// Adds the links of a page to the queue.
    fn follow(&mut self, url: &Url, links: &CrawlLinks) -> Result<(), PageStoreError> {
        let base = base(url, links);
        for link in &links.follow {
            let page = join_url(&base, link).ok().and_then(|url| self.scope.admit(url));
            if let Some(page) = page.filter(|page| !media::is_other(page.path())) {
                self.enqueue(page, 0)?;
            }
        }
        Ok(())
    }

    /// Finishes a URL: replaces its previous page.
    fn finish_url(
        &mut self,
        url: &str,
        outcome: UrlOutcome,
        page: Option<StoredPage>,
    ) -> Result<(), PageStoreError> {
        if let Some(before) = self.pages.remove(url) {
            self.files.remove(&before.file.to_lowercase());
            if self.copies.get(&before.digest).is_some_and(|owner| owner == url) {
                self.copies.remove(&before.digest);
            }
            if page.as_ref().is_none_or(|page| page.file != before.file) {
                self.store.remove(&before.file)?;
            }
        }
        let event = CrawlEvent::Done { url: url.to_owned(), outcome, page: page.clone() };
        self.store.note(&event)?;
        match page {
            Some(page) => self.keep_page(url.to_owned(), page),
            None => {
                self.passed.insert(url.to_owned());
            }
        }
        self.result.count(outcome);
        Ok(())
    }

    fn keep_page(&mut self, url: String, page: StoredPage) {
        self.files.insert(page.file.to_lowercase(), url.clone());
        self.copies.entry(page.digest.clone()).or_insert_with(|| url.clone());
        self.pages.insert(url, page);
    }

    /// A file name that no other URL uses.
    fn file_for(&self, url: &Url, ending: &str) -> String {
        let plain = file_name(url, ending, false);
        let owner = self.files.get(&plain.to_lowercase());
        if owner.is_none_or(|owner| owner == url.as_str()) {
            plain
        } else {
            file_name(url, ending, true)
        }
    }
}

/// Base URL of a page's links.
fn base(url: &Url, links: &CrawlLinks) -> Url {
    links.base.as_ref().and_then(|base| join_url(url, base).ok()).unwrap_or_else(|| url.clone())
}
