//! The only network access of docent's tools, and a polite crawler for documentation sites.
//!
//! Knows URLs, HTTP and robots.txt; must not know tools, document formats, or the index. Every call blocks.

mod address;
mod address_syntax;
mod client;
mod crawl;
mod file_name;
#[cfg(any(feature = "fuzz", test))]
mod fuzz;
mod links;
mod media;
mod page_store;
mod policy;
mod refusal;
mod request;
mod resolve;
mod robots;
mod site;
mod sitemap;
mod unpack;
mod url_encoding;

pub use address::AddressClass;
pub use address_syntax::{BadAddress, join_url, parse_url};
pub use client::{BodyLimit, CacheValidators, FetchLimits, FetchResponse, GuardedClient};
pub use crawl::{CrawlEnd, CrawlError, CrawlObserver, CrawlProblem, CrawlReport, crawl};
pub use page_store::{
    CrawlEvent, FolderPageStore, PAGES_FOLDER, PageStore, PageStoreError, SavedCrawl, StoredPage,
    UrlOutcome,
};
pub use policy::{BadRule, HostRule, NetworkPolicy, PolicySetting};
pub use refusal::{FetchRefusal, GuardedFetchError};
pub use request::FetchRequest;
pub use resolve::{AddressLookup, SystemLookup};
pub use robots::{Robots, RobotsCache, RobotsUnavailable};
pub use site::{BadGlob, CrawlSite};
pub use sitemap::{BadSitemap, Sitemap, SitemapPage};
pub use url::Url;
