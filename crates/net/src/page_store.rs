//! Where a crawl keeps pages, and what it needs to go on after it was killed.
//!
//! A crawl writes down each thing that it finds and does before it goes on to the next. Once it has ended, the pages alone
//! are written anew, and the rest is forgotten.

mod folder;

pub use folder::{FolderPageStore, PAGES_FOLDER};

use crate::client::CacheValidators;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, io};

/// A page that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPage {
    /// Where it is on the network.
    pub url: String,
    /// Where it is on the shelf: parts with `/` between them, none of them `..`.
    pub file: String,
    /// As the server said, without parameters.
    pub media_type: Option<String>,
    /// What asks the server for a newer one.
    #[serde(default)]
    pub validators: CacheValidators,
    /// Of its bytes, in hexadecimal.
    pub digest: String,
    /// When it was fetched, in seconds since 1970.
    pub fetched: u64,
    /// Crawls in a row that have not found it.
    #[serde(default)]
    pub missing: u8,
}

/// What came of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UrlOutcome {
    /// It is new, or has changed.
    Fetched,
    /// It is as it was.
    Unchanged,
    /// It is not there any more.
    Gone,
    /// The site or the policy does not let docent have it.
    Refused,
    /// It is no page of its own: a redirect, a copy, a picture, or a page that asks not to be kept.
    Skipped,
}

/// What a crawl writes down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum CrawlEvent {
    /// There is a URL to ask for.
    Found {
        /// Which.
        url: String,
        /// Redirects that led to it.
        #[serde(default)]
        hops: u8,
    },
    /// All URLs that a crawl begins with are found.
    Begun {
        /// Tells a site, and what is wanted of it, from others.
        site: String,
        /// When, in seconds since 1970.
        at: u64,
    },
    /// A URL was asked for.
    Done {
        /// Which.
        url: String,
        /// What came of it.
        outcome: UrlOutcome,
        /// What is kept of it from now on.
        page: Option<StoredPage>,
    },
}

/// What a shelf holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SavedCrawl {
    /// As they were when the last crawl ended.
    pub pages: Vec<StoredPage>,
    /// What a crawl that has not ended wrote down, in order.
    pub events: Vec<CrawlEvent>,
}

/// Why a shelf can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PageStoreError {
    /// A file can't be read or written.
    #[error("{file} can't be used")]
    Io {
        /// Relative to the shelf.
        file: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is not what was written there.
    #[error("{file} is damaged; remove it to crawl the site from the start")]
    Damaged {
        /// Relative to the shelf.
        file: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
}

/// Where a crawl keeps pages. What a call has done survives a kill right after it.
pub trait PageStore {
    /// All that it holds, apart from the pages' bytes.
    fn load(&mut self) -> Result<SavedCrawl, PageStoreError>;
    /// The bytes of a page, if they are there.
    fn get(&mut self, file: &str) -> Result<Option<Vec<u8>>, PageStoreError>;
    /// Keeps the bytes of a page, in place of others. A kill leaves the old ones or the new ones.
    fn put(&mut self, file: &str, bytes: &[u8]) -> Result<(), PageStoreError>;
    /// Forgets the bytes of a page; there may be none.
    fn remove(&mut self, file: &str) -> Result<(), PageStoreError>;
    /// Adds to what the crawl wrote down.
    fn note(&mut self, event: &CrawlEvent) -> Result<(), PageStoreError>;
    /// Replaces the list of pages, and forgets what was written down.
    fn finish(&mut self, pages: &[StoredPage]) -> Result<(), PageStoreError>;
}

impl SavedCrawl {
    /// The pages by URL, as the events left them.
    pub fn after(&self) -> BTreeMap<String, StoredPage> {
        let mut pages: BTreeMap<String, StoredPage> =
            self.pages.iter().map(|page| (page.url.clone(), page.clone())).collect();
        for event in &self.events {
            match event {
                CrawlEvent::Done { url, page: Some(page), .. } => {
                    pages.insert(url.clone(), page.clone());
                }
                CrawlEvent::Done { url, page: None, .. } => {
                    pages.remove(url);
                }
                CrawlEvent::Found { .. } | CrawlEvent::Begun { .. } => {}
            }
        }
        pages
    }
}
