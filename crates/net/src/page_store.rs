//! Stores the pages of a crawl, and its progress so that it can resume after a kill.
//!
//! A crawl records each step before the next. When it ends, only the list of pages is rewritten, and the records are
//! deleted.

mod folder;

pub use folder::{FolderPageStore, PAGES_FOLDER};

use crate::client::CacheValidators;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, io};

/// A stored page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPage {
    /// Its URL.
    pub url: String,
    /// Its file in the store: a relative path with `/` and without `..`.
    pub file: String,
    /// Media type from the server, without parameters.
    pub media_type: Option<String>,
    /// Validators for a conditional request.
    #[serde(default)]
    pub validators: CacheValidators,
    /// Digest of its bytes, in hexadecimal.
    pub digest: String,
    /// When it was fetched, in seconds since 1970.
    pub fetched: u64,
    /// Number of crawls in a row that did not find it.
    #[serde(default)]
    pub missing: u8,
}

/// Outcome of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UrlOutcome {
    /// New or changed.
    Fetched,
    /// Unchanged.
    Unchanged,
    /// No longer exists.
    Gone,
    /// Refused by the site or the policy.
    Refused,
    /// Not a page of its own: a redirect, a copy, an image, or a page with `noindex`.
    Skipped,
}

/// A recorded event of a crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum CrawlEvent {
    /// A URL was queued.
    Found {
        /// The URL.
        url: String,
        /// Number of redirects that led to it.
        #[serde(default)]
        hops: u8,
    },
    /// All start URLs of a crawl are queued.
    Begun {
        /// Fingerprint of the site and its settings.
        site: String,
        /// Time in seconds since 1970.
        at: u64,
    },
    /// A URL is done.
    Done {
        /// The URL.
        url: String,
        /// Its outcome.
        outcome: UrlOutcome,
        /// Its stored page, if any.
        page: Option<StoredPage>,
    },
}

/// Contents of a page store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SavedCrawl {
    /// Pages at the end of the last crawl.
    pub pages: Vec<StoredPage>,
    /// Events of an unfinished crawl, in order.
    pub events: Vec<CrawlEvent>,
}

/// Why a page store can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PageStoreError {
    /// A file can't be read or written.
    #[error("cannot read or write {file}")]
    Io {
        /// Path relative to the store.
        file: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A file is corrupt.
    #[error("{file} is corrupt; remove it to crawl the site from the start")]
    Damaged {
        /// Path relative to the store.
        file: String,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
}

/// Storage of a crawl. The effect of a completed call survives a kill.
pub trait PageStore {
    /// Loads everything except the pages' bytes.
    fn load(&mut self) -> Result<SavedCrawl, PageStoreError>;
    /// Reads the bytes of a page, if they exist.
    fn get(&mut self, file: &str) -> Result<Option<Vec<u8>>, PageStoreError>;
    /// Stores the bytes of a page, replacing previous ones. A kill leaves the old or the new ones.
    fn put(&mut self, file: &str, bytes: &[u8]) -> Result<(), PageStoreError>;
    /// Deletes the bytes of a page, if any.
    fn remove(&mut self, file: &str) -> Result<(), PageStoreError>;
    /// Appends an event.
    fn note(&mut self, event: &CrawlEvent) -> Result<(), PageStoreError>;
    /// Replaces the list of pages and deletes the events.
    fn finish(&mut self, pages: &[StoredPage]) -> Result<(), PageStoreError>;
}

impl SavedCrawl {
    /// The pages by URL, after applying the events.
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
