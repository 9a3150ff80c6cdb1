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
mod shelf;
mod site;
mod sitemap;
mod spelling;
mod unpack;
mod written;

pub use address::Class;
pub use client::{Body, Client, Limits, Response, Validators};
pub use crawl::{CrawlError, Crawled, End, Problem, Watch, crawl};
pub use policy::{BadRule, HostRule, Policy, PolicySetting};
pub use refusal::{FetchError, Refusal};
pub use request::Request;
pub use resolve::{Lookup, SystemLookup};
pub use robots::{Robots, RobotsCache, Unanswered};
pub use shelf::{Event, FolderShelf, Outcome, PAGES, Page, Saved, Shelf, ShelfError};
pub use site::{BadGlob, Site};
pub use sitemap::{BadSitemap, Listed, Sitemap};
pub use url::Url;
pub use written::{BadAddress, join_url, parse_url};
