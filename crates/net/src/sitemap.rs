//! Reads sitemaps, in XML or as lines of text, compressed or not.

use crate::{
    address_syntax::parse_url,
    client::{BodyLimit, CacheValidators, GuardedClient},
    refusal::GuardedFetchError,
    unpack::{self, BodyRead},
};
use docent_xml::{Node, XmlError};
use std::collections::HashSet;
use url::Url;

/// Maximum uncompressed size of a sitemap, and of all sitemaps of a site.
const MAX_SITEMAP_BYTES: u64 = 50 << 20;
/// Maximum number of URLs per site.
const MAX_URLS: usize = 50_000;
/// Maximum number of XML nodes per sitemap.
const MAX_NODES: u32 = 2_000_000;
/// Maximum nesting of sitemap indexes.
const MAX_INDEX_DEPTH: usize = 2;
/// Maximum number of sitemaps fetched per site.
const MAX_FILES: usize = 200;

/// A page in a sitemap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SitemapPage {
    /// Its URL.
    pub url: Url,
    /// Last modification, as written.
    pub modified: Option<String>,
}

/// A parsed sitemap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sitemap {
    /// Pages.
    Pages(Vec<SitemapPage>),
    /// More sitemaps.
    Index(Vec<Url>),
}

/// Why a sitemap can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BadSitemap {
    /// The fetch failed.
    #[error(transparent)]
    Fetch(#[from] GuardedFetchError),
    /// The server returned another status.
    #[error("{url} returned status {status}")]
    Status {
        /// The URL.
        url: String,
        /// Status code, such as 404.
        status: u16,
    },
    /// The uncompressed size exceeds the limit.
    #[error("the sitemap is larger than {MAX_SITEMAP_BYTES} bytes uncompressed")]
    TooLarge,
    /// It can't be decompressed.
    #[error("cannot decompress the sitemap")]
    Packed(#[source] std::io::Error),
    /// It is not XML, or defines entities.
    #[error("cannot parse the sitemap as XML")]
    Xml(#[source] XmlError),
    /// It is not a sitemap.
    #[error("<{0}> is neither <urlset> nor <sitemapindex>")]
    Other(String),
}

impl Sitemap {
    /// Parses a sitemap. Skips invalid URLs.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadSitemap> {
        if !unpack::is_packed(bytes) {
            return Self::read(bytes);
        }
        match unpack::read_bounded(bytes, true, MAX_SITEMAP_BYTES, None) {
            Ok(BodyRead::Whole(bytes)) => Self::read(&bytes),
            Ok(_) => Err(BadSitemap::TooLarge),
            Err(error) => Err(BadSitemap::Packed(error)),
        }
    }

    fn read(bytes: &[u8]) -> Result<Self, BadSitemap> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if !text.starts_with('<') {
            let lines = text.lines().filter_map(|line| listed_page(line, None));
            return Ok(Self::Pages(lines.take(MAX_URLS).collect()));
        }
        let document = docent_xml::parse_within(text, MAX_NODES).map_err(BadSitemap::Xml)?;
        let root = document.root_element();
        let entries = root.children().filter_map(|entry| {
            listed_page(
                child_text(entry, "loc")?,
                child_text(entry, "lastmod").map(|text| text.trim().to_owned()),
            )
        });
        match root.tag_name().name() {
            "urlset" => Ok(Self::Pages(entries.take(MAX_URLS).collect())),
            "sitemapindex" => {
                Ok(Self::Index(entries.map(|entry| entry.url).take(MAX_FILES).collect()))
            }
            other => Err(BadSitemap::Other(other.chars().take(40).collect())),
        }
    }

    /// Fetches a sitemap and those it lists, two levels deep. Passes unusable ones to `problem`.
    pub fn gather(
        client: &GuardedClient,
        roots: &[Url],
        problem: &mut dyn FnMut(&Url, BadSitemap),
        go_on: &mut dyn FnMut() -> bool,
    ) -> Vec<SitemapPage> {
        let mut queue: Vec<(Url, usize)> = roots.iter().rev().map(|url| (url.clone(), 0)).collect();
        let (mut seen, mut found) = (HashSet::new(), Vec::new());
        let mut left = MAX_SITEMAP_BYTES;
        while let Some((url, depth)) = queue.pop() {
            if seen.len() >= MAX_FILES || found.len() >= MAX_URLS || !seen.insert(url.clone()) {
                continue;
            }
            if !go_on() {
                break;
            }
            match fetch(client, &url, &mut left) {
                Ok(Self::Pages(pages)) => {
                    let room = MAX_URLS.saturating_sub(found.len());
                    found.extend(pages.into_iter().take(room));
                }
                Ok(Self::Index(more)) if depth < MAX_INDEX_DEPTH => {
                    queue.extend(more.into_iter().rev().map(|url| (url, depth + 1)));
                }
                Ok(Self::Index(_)) => {}
                Err(error) => problem(&url, error),
            }
        }
        found
    }
}

fn fetch(client: &GuardedClient, url: &Url, left: &mut u64) -> Result<Sitemap, BadSitemap> {
    let answer = client.get_body(url, &CacheValidators::default(), BodyLimit::AtMost(*left))?;
    if answer.status != 200 {
        return Err(BadSitemap::Status { url: url.to_string(), status: answer.status });
    }
    *left = left.saturating_sub(answer.body.len() as u64);
    Sitemap::parse(&answer.body)
}

fn listed_page(text: &str, modified: Option<String>) -> Option<SitemapPage> {
    Some(SitemapPage { url: parse_url(text.trim()).ok()?, modified })
}

fn child_text<'a>(entry: Node<'a, '_>, name: &str) -> Option<&'a str> {
    entry.children().find(|child| child.tag_name().name() == name)?.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(bytes: &[u8]) -> Vec<String> {
        match Sitemap::parse(bytes).unwrap() {
            Sitemap::Pages(pages) => pages
                .into_iter()
                .map(|page| format!("{} {}", page.url, page.modified.unwrap_or_default()))
                .collect(),
            other @ Sitemap::Index(_) => panic!("{other:?}"),
        }
    }

    #[test]
    fn pages_and_indexes_are_read() {
        let set = b"\xef\xbb\xbf<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>
            <url><loc> https://a.test/1?a=1&amp;b=2 </loc><lastmod>2026-01-02</lastmod></url>
            <url><lastmod>2026-01-02</lastmod></url><url><loc>nowhere</loc></url>
            <url><loc>https://a.test/2</loc></url></urlset>";
        let want = ["https://a.test/1?a=1&b=2 2026-01-02", "https://a.test/2 "];
        assert_eq!(pages(set), want);
        assert_eq!(pages(&unpack::pack(set)), want);
        assert_eq!(
            pages(b"https://a.test/1\r\n\nrubbish\nhttps://a.test/2"),
            ["https://a.test/1 ", "https://a.test/2 "]
        );
        let index =
            b"<sitemapindex><sitemap><loc>https://a.test/s.xml</loc></sitemap></sitemapindex>";
        let want = Sitemap::Index(vec![Url::parse("https://a.test/s.xml").unwrap()]);
        assert_eq!(Sitemap::parse(index).unwrap(), want);
    }

    #[test]
    fn hostile_sitemaps_are_refused() {
        let bomb = "<!DOCTYPE x [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><urlset><url><loc>&b;</loc></url></urlset>";
        let deep = "<a>".repeat(200_000);
        let closed = format!("<urlset>{deep}{}</urlset>", "</a>".repeat(200_000));
        for (name, bytes, want) in [
            ("entities", bomb.as_bytes().to_vec(), "cannot parse the sitemap as XML"),
            ("torn", b"<urlset><url>".to_vec(), "cannot parse the sitemap as XML"),
            ("deep and torn", deep.into_bytes(), "cannot parse the sitemap as XML"),
            ("a page", b"<html></html>".to_vec(), "<html> is neither"),
            ("torn gzip", vec![0x1f, 0x8b, 8, 0], "cannot decompress"),
            ("a gzip bomb", unpack::pack(&vec![b' '; 1 << 20]).repeat(51), "bytes uncompressed"),
        ] {
            let message = Sitemap::parse(&bytes).unwrap_err().to_string();
            assert!(message.contains(want), "{name}: {message}");
        }
        // Deep XML is XML; it only has to end.
        drop(Sitemap::parse(closed.as_bytes()));
        assert!(pages(b"").is_empty());
        assert_eq!(pages("https://a.test/\n".repeat(MAX_URLS + 9).as_bytes()).len(), MAX_URLS);
    }
}
