//! Searches the web and reads its pages.
//!
//! Knows search providers, their responses, and page metadata. Accesses the network only through `docent-net`, and
//! parses documents only through `docent-prose`. Must not know tools, configuration files or the environment. Every
//! call blocks.

mod allow;
mod brave;
mod charset;
mod duckduckgo;
mod error;
mod facts;
mod images;
mod json;
mod links;
mod markdown;
mod media;
mod page;
mod provider;
mod query;
mod scan;
mod search;
mod searxng;
mod slot;
mod tavily;
mod text;

pub use allow::what_to_add;
pub use error::{ProviderError, ProviderFailure};
pub use page::{
    FetchPageError, FetchedPage, PageLimits, PageLink, PageSection, PageWait, fetch_page,
    fetch_page_until,
};
pub use provider::{ProviderKey, SearchProvider};
pub use query::{InvalidWebQuery, MAX_RESULTS, Recency, Region, WebQuery};
pub use search::{SearchError, WebHit, WebSearchResults, check_allowed, search};
