//! The scope of a crawl: start page, paths and globs.

use crate::{file_name::digest, url_encoding};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::time::Duration;
use url::Url;

/// Maximum length of a URL; longer ones are crawler traps.
const MAX_URL_BYTES: usize = 2_000;

/// A documentation site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrawlSite {
    /// The start page.
    pub start: Url,
    /// Path prefix of its pages, with the scheme, host and port of the start page.
    pub scope: String,
    /// Its sitemap; default: those listed in its robots.txt.
    pub sitemap: Option<Url>,
    /// Globs of included paths, such as `docs/en/**`; empty includes all.
    pub include: Vec<String>,
    /// Globs of excluded paths.
    pub exclude: Vec<String>,
    /// Maximum number of pages per crawl.
    pub most_pages: usize,
    /// Minimum time between two requests; a longer crawl delay of the site takes precedence.
    pub delay: Duration,
    /// Whether `?a` and `?b` are different pages.
    pub keep_query: bool,
}

impl CrawlSite {
    /// Creates a site of all pages in the folder of the start page: `/docs/` for `/docs/intro` and `/docs/`.
    pub fn new(start: Url) -> Self {
        let scope = start.path().rsplit_once('/').map_or("/", |(folder, _)| folder);
        Self {
            scope: format!("{scope}/"),
            start,
            sitemap: None,
            include: Vec::new(),
            exclude: Vec::new(),
            most_pages: 5_000,
            delay: Duration::from_millis(200),
            keep_query: false,
        }
    }

    /// Identifies the site and its scope, to recognize an unfinished crawl.
    pub(crate) fn fingerprint(&self) -> String {
        let sitemap = self.sitemap.as_ref().map(Url::as_str);
        let parts = (
            self.start.as_str(),
            &self.scope,
            sitemap,
            &self.include,
            &self.exclude,
            self.keep_query,
        );
        digest(format!("{parts:?}").as_bytes(), 16)
    }
}

/// An invalid glob.
#[derive(Debug, thiserror::Error)]
#[error("invalid glob {glob:?}; write one such as docs/en/**")]
pub struct BadGlob {
    /// The glob as written.
    pub glob: String,
    /// The cause.
    #[source]
    pub source: globset::Error,
}

/// Decides which URLs are pages of a site, and normalizes them.
#[derive(Debug)]
pub(crate) struct SiteScope {
    start: Url,
    /// Path prefix with a leading slash and no trailing one.
    prefix: String,
    include: Option<GlobSet>,
    exclude: GlobSet,
    keep_query: bool,
}

impl SiteScope {
    pub(crate) fn new(site: &CrawlSite) -> Result<Self, BadGlob> {
        let scope = url_encoding::normal(site.scope.trim_matches('/'));
        let prefix = if scope.is_empty() { String::new() } else { format!("/{scope}") };
        let include = if site.include.is_empty() { None } else { Some(globs(&site.include)?) };
        Ok(Self {
            start: site.start.clone(),
            prefix,
            include,
            exclude: globs(&site.exclude)?,
            keep_query: site.keep_query,
        })
    }

    /// Returns the normalized URL if it is a page of the site.
    pub(crate) fn admit(&self, mut url: Url) -> Option<Url> {
        if url.as_str().len() > MAX_URL_BYTES
            || !url.username().is_empty()
            || url.password().is_some()
        {
            return None;
        }
        url.set_fragment(None);
        if !self.keep_query || url.query() == Some("") {
            url.set_query(None);
        }
        let path = url_encoding::normal(url.path());
        if path != url.path() {
            url.set_path(&path);
        }
        (url.origin() == self.start.origin() && self.holds(url.path())).then_some(url)
    }

    fn holds(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.prefix.as_str());
        if !below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            return false;
        }
        let path = url_encoding::plain(path.trim_start_matches('/'));
        self.include.as_ref().is_none_or(|globs| globs.is_match(&path))
            && !self.exclude.is_match(&path)
    }
}

fn globs(list: &[String]) -> Result<GlobSet, BadGlob> {
    let mut set = GlobSetBuilder::new();
    let bad = |glob: &str, source| BadGlob { glob: glob.to_owned(), source };
    for glob in list {
        let text = glob.trim_start_matches('/');
        let built = GlobBuilder::new(text).literal_separator(true).build();
        set.add(built.map_err(|source| bad(glob, source))?);
    }
    set.build().map_err(|source| bad(&list.join(" "), source))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(start: &str) -> CrawlSite {
        CrawlSite::new(Url::parse(start).unwrap())
    }

    fn check(site: &CrawlSite, link: &str, want: Option<&str>) {
        let url = site.start.join(link).unwrap();
        let got = SiteScope::new(site).unwrap().admit(url);
        assert_eq!(got.as_ref().map(Url::as_str), want, "{link}");
    }

    #[test]
    fn the_scope_is_the_folder_of_the_start() {
        for (start, want) in [
            ("https://a.test", "/"),
            ("https://a.test/docs", "/"),
            ("https://a.test/docs/", "/docs/"),
            ("https://a.test/docs/en/intro.html?x#y", "/docs/en/"),
        ] {
            assert_eq!(site(start).scope, want, "{start}");
        }
    }

    #[test]
    fn pages_have_one_spelling_and_are_below_the_scope() {
        let docs = site("https://a.test/docs/intro");
        for (link, want) in [
            ("guide", Some("https://a.test/docs/guide")),
            ("guide#part", Some("https://a.test/docs/guide")),
            ("guide?page=2#part", Some("https://a.test/docs/guide")),
            ("./x/../guide", Some("https://a.test/docs/guide")),
            ("/docs", Some("https://a.test/docs")),
            ("/docs/", Some("https://a.test/docs/")),
            ("/docs/%7ea%2fb", Some("https://a.test/docs/~a%2Fb")),
            ("HTTPS://A.TEST:443/docs/guide", Some("https://a.test/docs/guide")),
            ("/docs-evil/guide", None),
            ("../other", None),
            ("/docs/../other", None),
            ("/docs/%2e%2e/other", None),
            ("http://a.test/docs/guide", None),
            ("https://a.test:8443/docs/guide", None),
            ("https://b.test/docs/guide", None),
            ("https://me@a.test/docs/guide", None),
            ("mailto:me@a.test", None),
            ("javascript:alert(1)", None),
        ] {
            check(&docs, link, want);
        }
        check(&docs, &format!("/docs/{}", "a".repeat(2_000)), None);
        let queries = CrawlSite { keep_query: true, ..docs };
        check(&queries, "guide?b=1#c", Some("https://a.test/docs/guide?b=1"));
        check(&queries, "guide?", Some("https://a.test/docs/guide"));
    }

    #[test]
    fn globs_narrow_the_scope() {
        let globs = CrawlSite {
            include: vec!["docs/en/**".to_owned(), "/docs/*".to_owned()],
            exclude: vec!["**/old/**".to_owned()],
            ..site("https://a.test/docs/")
        };
        check(&globs, "en/a/b", Some("https://a.test/docs/en/a/b"));
        check(&globs, "a", Some("https://a.test/docs/a"));
        check(&globs, "de/a", None);
        check(&globs, "en/old/a", None);
        let bad = CrawlSite { exclude: vec!["[".to_owned()], ..globs };
        assert!(SiteScope::new(&bad).unwrap_err().to_string().contains("invalid glob \"[\""));
    }
}
