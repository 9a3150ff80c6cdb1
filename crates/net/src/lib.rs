//! The only network access of docent's tools, and a polite crawler for documentation sites.
//!
//! Knows URLs, HTTP and robots.txt; must not know tools, document formats, or the index. Every call blocks.

mod address;
mod client;
mod crawl;
mod file_name;
#[cfg(any(feature = "fuzz", test))]
mod fuzz;
mod links;
mod media;
mod policy;
mod refusal;
mod request;
mod resolve;
mod robots;
mod page_store;
mod site;
mod sitemap;
mod url_encoding;
mod unpack;
mod address_syntax;

pub use address::AddressClass;
pub use client::{BodyLimit, GuardedClient, FetchLimits, FetchResponse, CacheValidators};
pub use crawl::{CrawlError, CrawlReport, CrawlEnd, CrawlProblem, CrawlObserver, crawl};
pub use policy::{BadRule, HostRule, NetworkPolicy, PolicySetting};
pub use refusal::{GuardedFetchError, FetchRefusal};
pub use request::FetchRequest;
pub use resolve::{AddressLookup, SystemLookup};
pub use robots::{Robots, RobotsCache, RobotsUnavailable};
pub use page_store::{CrawlEvent, FolderPageStore, UrlOutcome, PAGES_FOLDER, StoredPage, SavedCrawl, PageStore, PageStoreError};
pub use site::{BadGlob, CrawlSite};
pub use sitemap::{BadSitemap, SitemapPage, Sitemap};
pub use url::Url;
pub use address_syntax::{BadAddress, join_url, parse_url};
