//! Crawls a site politely: one request at a time, with pauses, and only where robots.txt allows it.

mod pace;
mod visit;

use crate::{
    client::{Client, told},
    file_name::file_name,
    links::Links,
    media,
    refusal::Refusal,
    robots::{Robots, RobotsCache, Unanswered},
    shelf::{Event, Outcome, Page, Saved, Shelf, ShelfError},
    site::{BadGlob, Scope, Site},
    sitemap::Sitemap,
    written::join_url,
};
use pace::Pace;
use std::{
    collections::{BTreeMap, HashMap, HashSet, VecDeque},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use url::Url;

/// Maximum age of an interrupted crawl that is resumed; an older one restarts, as its pages may have changed.
const RESUMED_WITHIN: Duration = Duration::from_hours(24);
/// Maximum number of problems listed.
const MOST_PROBLEMS: usize = 100;
/// Maximum length of a problem in characters.
const LONGEST_REASON: usize = 300;
/// Maximum number of known URLs per page of the limit.
const KNOWN_PER_PAGE: usize = 8;

/// How a crawl ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
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
pub struct Problem {
    /// The URL.
    pub url: String,
    /// What went wrong.
    pub reason: String,
}

/// Result of a crawl, including the part before an interruption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crawled {
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
    pub problems: Vec<Problem>,
    /// Number of further problems.
    pub more_problems: usize,
    /// How it ended.
    pub end: End,
}

impl Crawled {
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
            end: End::Complete,
        }
    }

    const fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Fetched => self.fetched += 1,
            Outcome::Unchanged => self.unchanged += 1,
            Outcome::Gone => self.gone += 1,
            Outcome::Refused => self.refused += 1,
            Outcome::Skipped => self.skipped += 1,
        }
    }

    const fn done(&self) -> usize {
        self.fetched + self.unchanged + self.gone + self.refused + self.failed + self.skipped
    }

    fn tell(&mut self, url: &str, reason: &str) {
        if self.problems.len() >= MOST_PROBLEMS {
            self.more_problems += 1;
            return;
        }
        let reason = reason.chars().take(LONGEST_REASON).collect();
        self.problems.push(Problem { url: url.to_owned(), reason });
    }
}

/// Callbacks of a crawl.
pub struct Watch<'a> {
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
    Refused(#[from] Refusal),
    /// The robots.txt of the site is unavailable.
    #[error(transparent)]
    Robots(#[from] Unanswered),
    /// The page store can't be used. Its contents are intact.
    #[error(transparent)]
    Shelf(#[from] ShelfError),
}

/// Fetches the new and changed pages of a site into a page store. Continues an interrupted crawl of the same site.
pub fn crawl(
    client: &Client,
    site: &Site,
    shelf: &mut dyn Shelf,
    watch: Watch<'_>,
) -> Result<Crawled, CrawlError> {
    let scope = Scope::new(site)?;
    client.policy().check(&site.start)?;
    let start = scope.admit(site.start.clone());
    let start = start.ok_or_else(|| CrawlError::Start { url: site.start.to_string() })?;
    let saved = shelf.saved()?;
    let robots = RobotsCache::default().rules(client, &start)?.clone();
    let pace = Pace::new(site.delay.max(robots.delay.unwrap_or_default()));
    let mut crawl = Crawl {
        client,
        site,
        scope,
        robots,
        shelf,
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
        result: Crawled::new(),
    };
    crawl.begin(&saved)?;
    crawl.run()
}

/// A URL to request.
#[derive(Debug)]
struct Found {
    url: Url,
    /// Number of redirects that led to it.
    hops: u8,
}

struct Crawl<'a, 'w> {
    client: &'a Client,
    site: &'a Site,
    scope: Scope,
    robots: Robots,
    shelf: &'a mut dyn Shelf,
    watch: Watch<'w>,
    pace: Pace,
    start: Url,
    /// By URL.
    pages: BTreeMap<String, Page>,
    /// URL by file name, in lower case: some file systems ignore case.
    files: HashMap<String, String>,
    /// URL by digest.
    copies: HashMap<String, String>,
    /// How often the links of a page with this digest were followed.
    followed: HashMap<String, u8>,
    queue: VecDeque<Found>,
    known: HashSet<String>,
    /// URLs that are done and have no page.
    passed: HashSet<String>,
    /// Failures in a row.
    failures: u32,
    result: Crawled,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl Crawl<'_, '_> {
    fn begin(&mut self, saved: &Saved) -> Result<(), CrawlError> {
        for (url, page) in saved.after() {
            self.place(url, page);
        }
        let site = self.site.fingerprint();
        let resumed = saved.events.iter().any(|event| match event {
            Event::Begun { site: other, at } => {
                *other == site && now().saturating_sub(*at) < RESUMED_WITHIN.as_secs()
            }
            _ => false,
        });
        if resumed {
            self.resume(saved);
            return Ok(());
        }
        self.save()?;
        self.found(self.start.clone(), 0)?;
        let pages: Vec<String> = self.pages.keys().cloned().collect();
        for page in pages {
            match Url::parse(&page).ok().and_then(|url| self.scope.admit(url)) {
                Some(url) => self.found(url, 0)?,
                None => self.settle(&page, Outcome::Gone, None)?,
            }
        }
        self.read_sitemaps()?;
        // Written last: a crawl that was killed earlier restarts.
        self.shelf.note(&Event::Begun { site, at: now() })?;
        Ok(())
    }

    fn resume(&mut self, saved: &Saved) {
        let mut done = HashSet::new();
        for event in &saved.events {
            if let Event::Done { url, outcome, page } = event {
                self.result.count(*outcome);
                done.insert(url.as_str());
                if page.is_none() {
                    self.passed.insert(url.clone());
                }
            }
        }
        for event in &saved.events {
            if let Event::Found { url, hops } = event
                && self.known.insert(url.clone())
                && !done.contains(url.as_str())
                && let Ok(url) = Url::parse(url)
            {
                self.queue.push_back(Found { url, hops: *hops });
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
        let mut problem =
            |url: &Url, error: crate::sitemap::BadSitemap| result.tell(url.as_str(), &told(&error));
        let mut go_on = || {
            let wanted = pace.wait(watch.stop);
            pace.rest(Duration::ZERO);
            wanted
        };
        let listed = Sitemap::gather(client, &roots, &mut problem, &mut go_on);
        for entry in listed {
            if let Some(url) = self.scope.admit(entry.url) {
                self.found(url, 0)?;
            }
        }
        Ok(())
    }

    fn run(mut self) -> Result<Crawled, CrawlError> {
        let end = loop {
            if (self.watch.stop)() {
                break End::Stopped;
            }
            let Some(found) = self.queue.pop_front() else { break End::Complete };
            if self.result.done() >= self.site.most_pages {
                break End::Full;
            }
            if let Some(end) = self.visit(&found)? {
                break end;
            }
            (self.watch.progress)(self.result.done(), self.known.len());
        };
        self.result.end = end;
        if matches!(end, End::Complete | End::Full) {
            self.save()?;
        }
        Ok(self.result)
    }

    fn save(&mut self) -> Result<(), ShelfError> {
        let pages: Vec<Page> = self.pages.values().cloned().collect();
        self.shelf.finish(&pages)
    }

    /// Adds a page of the site to the queue, the first time it is seen.
    fn found(&mut self, url: Url, hops: u8) -> Result<(), ShelfError> {
        let most = self.site.most_pages.saturating_mul(KNOWN_PER_PAGE);
        if self.known.len() >= most || self.known.contains(url.as_str()) {
            return Ok(());
        }
        self.shelf.note(&Event::Found { url: url.to_string(), hops })?;
        self.known.insert(url.to_string());
        self.queue.push_back(Found { url, hops });
        Ok(())
    }

    /// Adds the links of a page to the queue.
    fn follow(&mut self, url: &Url, links: &Links) -> Result<(), ShelfError> {
        let base = base(url, links);
        for link in &links.follow {
            let page = join_url(&base, link).ok().and_then(|url| self.scope.admit(url));
            if let Some(page) = page.filter(|page| !media::is_other(page.path())) {
                self.found(page, 0)?;
            }
        }
        Ok(())
    }

    /// Finishes a URL: replaces its previous page.
    fn settle(
        &mut self,
        url: &str,
        outcome: Outcome,
        page: Option<Page>,
    ) -> Result<(), ShelfError> {
        if let Some(before) = self.pages.remove(url) {
            self.files.remove(&before.file.to_lowercase());
            if self.copies.get(&before.digest).is_some_and(|owner| owner == url) {
                self.copies.remove(&before.digest);
            }
            if page.as_ref().is_none_or(|page| page.file != before.file) {
                self.shelf.remove(&before.file)?;
            }
        }
        let event = Event::Done { url: url.to_owned(), outcome, page: page.clone() };
        self.shelf.note(&event)?;
        match page {
            Some(page) => self.place(url.to_owned(), page),
            None => {
                self.passed.insert(url.to_owned());
            }
        }
        self.result.count(outcome);
        Ok(())
    }

    fn place(&mut self, url: String, page: Page) {
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
fn base(url: &Url, links: &Links) -> Url {
    links.base.as_ref().and_then(|base| join_url(url, base).ok()).unwrap_or_else(|| url.clone())
}
