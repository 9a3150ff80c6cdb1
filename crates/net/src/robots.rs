//! Parses robots.txt, RFC 9309.

use crate::{
    client::{BodyLimit, CacheValidators, GuardedClient},
    refusal::GuardedFetchError,
    url_encoding,
};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use url::Url;

/// User agent name matched against rule groups.
const ROBOTS_AGENT: &str = "docent";
/// Maximum size read of a file: the minimum that the RFC requires.
const MAX_ROBOTS_BYTES: u64 = 500 << 10;
/// Maximum crawl delay that is honored.
const MAX_CRAWL_DELAY: Duration = Duration::from_secs(30);
/// How long rules are cached, as the RFC recommends.
const ROBOTS_LIFETIME: Duration = Duration::from_hours(24);
/// Maximum number of cached sites.
const MAX_CACHED_SITES: usize = 1_000;
/// Maximum number of sitemaps per file.
const MAX_SITEMAPS: usize = 100;

/// Rules of a site for docent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Robots {
    rules: Vec<RobotsRule>,
    /// Requested pause between two requests, at most 30 seconds.
    pub delay: Option<Duration>,
    /// Sitemap URLs, as written.
    pub sitemaps: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct RobotsRule {
    allow: bool,
    /// Normalized path pattern; the longest match wins.
    pattern: String,
}

/// A group of rules being parsed.
#[derive(Debug, Default)]
struct RobotsGroup {
    agents: Vec<String>,
    rules: Vec<RobotsRule>,
    delay: Option<Duration>,
}

impl Robots {
    /// Parses a file, even a malformed one; of a long file, the first 500 KB.
    pub fn parse(bytes: &[u8]) -> Self {
        let most = usize::try_from(MAX_ROBOTS_BYTES).unwrap_or(usize::MAX);
        let text = String::from_utf8_lossy(bytes.get(..most).unwrap_or(bytes));
        let mut groups: Vec<RobotsGroup> = Vec::new();
        let mut sitemaps = Vec::new();
        let mut open = false;
        for line in text.trim_start_matches('\u{feff}').split(['\n', '\r']) {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            if key == "user-agent" {
                // Consecutive user-agent lines belong to one group.
                if !open {
                    groups.push(RobotsGroup::default());
                }
                open = true;
                if let Some(group) = groups.last_mut() {
                    group.agents.push(token(value));
                }
                continue;
            }
            if key == "sitemap" {
                // Neither belongs to a group nor ends one.
                if sitemaps.len() < MAX_SITEMAPS {
                    sitemaps.push(value.to_owned());
                }
                continue;
            }
            if let Some(group) = groups.last_mut() {
                open &= !group.read(&key, value);
            }
        }
        let (rules, delay) = for_docent(groups);
        Self { rules, delay, sitemaps }
    }

    /// Whether a URL may be fetched.
    pub fn allows(&self, url: &Url) -> bool {
        let mut target = url_encoding::normal(url.path());
        if target == "/robots.txt" {
            return true;
        }
        if let Some(query) = url.query() {
            target.push('?');
            target.push_str(&url_encoding::normal(query));
        }
        let matching = self.rules.iter().filter(|rule| matches(&rule.pattern, &target));
        // Of two equally long matches, the one that allows wins.
        matching.max_by_key(|rule| (rule.pattern.len(), rule.allow)).is_none_or(|rule| rule.allow)
    }
}

impl RobotsGroup {
    /// Whether the line ends the list of agents.
    fn read(&mut self, key: &str, value: &str) -> bool {
        match key {
            "allow" | "disallow" => {
                // An empty rule matches nothing.
                if !value.is_empty() {
                    let pattern = url_encoding::normal(value);
                    self.rules.push(RobotsRule { allow: key == "allow", pattern });
                }
                true
            }
            "crawl-delay" => {
                let seconds =
                    value.parse().ok().and_then(|it| Duration::try_from_secs_f64(it).ok());
                self.delay = seconds.map(|delay| delay.min(MAX_CRAWL_DELAY)).or(self.delay);
                true
            }
            _ => false,
        }
    }
}

/// The significant part of an agent's name.
fn token(value: &str) -> String {
    if value.starts_with('*') {
        return "*".to_owned();
    }
    let ends = |letter: char| !(letter.is_ascii_alphabetic() || letter == '-' || letter == '_');
    value.split(ends).next().unwrap_or_default().to_ascii_lowercase()
}

/// Merges all groups for docent, or else all groups for `*`.
fn for_docent(groups: Vec<RobotsGroup>) -> (Vec<RobotsRule>, Option<Duration>) {
    let named = |name: &str| groups.iter().any(|group| group.agents.iter().any(|it| it == name));
    let name = if named(ROBOTS_AGENT) { ROBOTS_AGENT } else { "*" };
    let (mut rules, mut delay) = (Vec::new(), None);
    for group in groups.into_iter().filter(|group| group.agents.iter().any(|it| it == name)) {
        rules.extend(group.rules);
        delay = delay.max(group.delay);
    }
    (rules, delay)
}

/// Matches from the start; `*` matches anything and a final `$` the end. Takes the first match of every part, so that
/// many stars cost no more than one.
fn matches(pattern: &str, target: &str) -> bool {
    let (pattern, to_the_end) = pattern.strip_suffix('$').map_or((pattern, false), |it| (it, true));
    let mut parts = pattern.split('*');
    let Some(mut rest) = target.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            let Some((_, after)) = rest.split_once(before) else { return false };
            rest = after;
        }
    }
    match (last, to_the_end) {
        (None, false) => true,
        (None, true) => rest.is_empty(),
        (Some(part), false) => rest.contains(part),
        (Some(part), true) => rest.ends_with(part),
    }
}

/// Why a site's rules are unavailable. The site is not crawled this time.
#[derive(Debug, thiserror::Error)]
pub enum RobotsUnavailable {
    /// The server returned an error.
    #[error(
        "{url} returned status {status}; the site is not crawled without robots.txt; try again later"
    )]
    Status {
        /// The robots.txt.
        url: String,
        /// Status code, such as 503.
        status: u16,
    },
    /// No response.
    #[error("cannot fetch {url}; the site is not crawled without robots.txt")]
    Fetch {
        /// The robots.txt.
        url: String,
        /// The cause.
        #[source]
        source: GuardedFetchError,
    },
}

/// Cache of the rules of sites, each fetched once per day.
#[derive(Debug, Default)]
pub struct RobotsCache {
    sites: HashMap<String, (Robots, Instant)>,
}

impl RobotsCache {
    /// The rules for a URL. A site without the file allows everything; one that can't answer allows nothing, and is
    /// asked again the next time.
    pub fn rules(
        &mut self,
        client: &GuardedClient,
        url: &Url,
    ) -> Result<&Robots, RobotsUnavailable> {
        let site = url.origin().ascii_serialization();
        let fresh = self.sites.get(&site).is_some_and(|(_, at)| at.elapsed() < ROBOTS_LIFETIME);
        if !fresh {
            let robots = ask(client, url)?;
            if self.sites.len() >= MAX_CACHED_SITES {
                self.sites.clear();
            }
            self.sites.insert(site.clone(), (robots, Instant::now()));
        }
        Ok(&self.sites.entry(site).or_insert_with(|| (Robots::default(), Instant::now())).0)
    }
}

fn ask(client: &GuardedClient, url: &Url) -> Result<Robots, RobotsUnavailable> {
    let mut place = url.clone();
    place.set_path("/robots.txt");
    place.set_query(None);
    place.set_fragment(None);
    let answer =
        client.get_body(&place, &CacheValidators::default(), BodyLimit::First(MAX_ROBOTS_BYTES));
    match answer {
        Ok(answer) => match answer.status {
            200..=299 => Ok(Robots::parse(&answer.body)),
            // 429 says nothing about the file.
            429 => Err(RobotsUnavailable::Status { url: place.to_string(), status: 429 }),
            400..=499 => Ok(Robots::default()),
            status => Err(RobotsUnavailable::Status { url: place.to_string(), status }),
        },
        Err(source) => Err(RobotsUnavailable::Fetch { url: place.to_string(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(robots: &str, path: &str) -> bool {
        let url = Url::parse("https://a.test").unwrap().join(path).unwrap();
        Robots::parse(robots.as_bytes()).allows(&url)
    }

    #[test]
    fn rules_match_as_the_rfc_says() {
        for (rules, path, want) in [
            ("", "/a", true),
            ("Disallow: /", "/a", false),
            ("Disallow: /", "/robots.txt", true),
            ("Disallow:", "/a", true),
            ("Disallow: /a", "/abc", false),
            ("Disallow: /a/", "/a", true),
            ("disallow : /a", "/a", false),
            ("Disallow: /A", "/a", true),
            ("Disallow: /a\nAllow: /a/b", "/a/b/c", true),
            ("Allow: /a/b\nDisallow: /a", "/a/b/c", true),
            ("Disallow: /a/b\nAllow: /a", "/a/b/c", false),
            ("Disallow: /a\nAllow: /a", "/a", true),
            ("Disallow: /*.pdf$", "/a/b.pdf", false),
            ("Disallow: /*.pdf$", "/a/b.pdf?x=1", true),
            ("Disallow: /*.pdf", "/a/b.pdf?x=1", false),
            ("Disallow: /a*b*c", "/a-b-x-c-d", false),
            ("Disallow: /a*b*c", "/a-c-b", true),
            ("Disallow: /a*bc$", "/abcbc", false),
            ("Disallow: /a$", "/a", false),
            ("Disallow: /a$", "/a/", true),
            ("Disallow: *", "/a", false),
            ("Disallow: /*?", "/a?b", false),
            ("Disallow: /*?", "/a", true),
            ("Disallow: /a%3cd", "/a%3Cd", false),
            ("Disallow: /%7Ejoe", "/~joe", false),
            ("Disallow: /é", "/%C3%A9", false),
            ("Disallow: /a # a reason", "/a", false),
            ("nonsense\n: :\nDisallow: /a", "/a", false),
        ] {
            assert_eq!(allowed(&format!("User-agent: *\n{rules}"), path), want, "{rules:?} {path}");
        }
    }

    #[test]
    fn a_group_is_chosen_by_name() {
        for (robots, want) in [
            ("User-agent: docent\nDisallow: /a", false),
            ("User-agent: DOCENT/2.0\nDisallow: /a", false),
            ("User-agent: docentbot\nDisallow: /a", true),
            ("User-agent: other\nDisallow: /a", true),
            ("User-agent: other\nUser-agent: docent\nDisallow: /a", false),
            ("User-agent: *\nDisallow: /a\n\nUser-agent: docent\nDisallow: /b", true),
            ("User-agent: docent\nAllow: /\nUser-agent: *\nDisallow: /a", true),
            (
                "User-agent: docent\nDisallow: /b\n\nUser-agent: x\n\nUser-agent: docent\nDisallow: /a",
                false,
            ),
            (
                "User-agent: other\nSitemap: https://a.test/s\nUser-agent: docent\nDisallow: /a",
                false,
            ),
            ("User-agent: docent\nAllow: /b\nUser-agent: other\nDisallow: /a", true),
            ("Disallow: /a", true),
            ("\u{feff}User-agent: *\r\nDisallow: /a\r\n", false),
            ("User-agent: *\rDisallow: /a", false),
        ] {
            assert_eq!(allowed(robots, "/a"), want, "{robots:?}");
        }
    }

    #[test]
    fn delays_and_sitemaps_are_read_and_bounded() {
        for (value, want) in [
            ("2", Some(2_000)),
            ("0.5", Some(500)),
            ("86400", Some(30_000)),
            ("1e300", None),
            ("-1", None),
            ("NaN", None),
            ("soon", None),
        ] {
            let robots = Robots::parse(format!("User-agent: *\nCrawl-delay: {value}").as_bytes());
            assert_eq!(robots.delay, want.map(Duration::from_millis), "{value}");
        }
        let many = "Sitemap: https://a.test/s.xml\n".repeat(1_000);
        assert_eq!(Robots::parse(many.as_bytes()).sitemaps.len(), MAX_SITEMAPS);
    }

    #[test]
    fn a_hostile_file_costs_little() {
        let stars = format!("User-agent: *\nDisallow: /{}b", "a*".repeat(50_000));
        assert!(allowed(&stars, &format!("/{}", "a".repeat(2_000))));
        let padding = format!("User-agent: *\n{}\nDisallow: /", "#\n".repeat(300_000));
        assert!(allowed(&padding, "/a"), "what stands after 500 KB is not read");
        assert!(Robots::parse(&[0xff, 0, b'\n', 0xfe]).rules.is_empty());
    }
}
