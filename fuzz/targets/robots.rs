//! robots.txt files: no content disallows the file itself or asks for an unlimited delay.
#![no_main]

use docent_net::{Robots, Url};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

fuzz_target!(|bytes: &[u8]| {
    let robots = Robots::parse(bytes);
    assert!(robots.delay.is_none_or(|delay| delay <= Duration::from_secs(30)));
    assert!(robots.sitemaps.len() <= 100);
    let site = Url::parse("https://a.test/").expect("a URL");
    assert!(robots.allows(&site.join("/robots.txt").expect("a URL")));
    // Build URLs from lines of the file, so that its rules match them.
    for line in String::from_utf8_lossy(bytes).lines().take(20) {
        let path = line.split_once(':').map_or(line, |(_, value)| value.trim());
        if let Ok(url) = site.join(path) {
            robots.allows(&url);
        }
    }
});
