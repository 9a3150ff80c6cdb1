//! Web pages of any type: results stay within their limits, and links lead to pages.
#![no_main]

mod answer;

use answer::{SITE, is_plain};
use docent_net::Url;
use docent_web::{PageLimits, fetch_page};
use libfuzzer_sys::fuzz_target;

const LIMITS: PageLimits = PageLimits { bytes: 1 << 20, characters: 400, links: 10 };
const TYPES: [&str; 8] = [
    "text/html",
    "text/html; charset=shift_jis",
    "text/plain",
    "application/json",
    "text/markdown; charset=windows-1251",
    "application/octet-stream",
    "text/x-rst",
    "application/xml",
];

fuzz_target!(|input: &[u8]| {
    let Some((how, rest)) = input.split_first() else { return };
    let client = match TYPES.get(usize::from(how & 15)) {
        Some(media_type) => answer::body(200, media_type, rest),
        // Most inputs are HTML.
        None if how & 8 != 0 && how & 1 == 0 => answer::body(200, TYPES[0], rest),
        None => answer::raw(rest.to_vec()),
    };
    let section = (how & 16 != 0).then_some("part");
    let url = if how & 32 == 0 { SITE.to_owned() } else { format!("{SITE}a/b.html#p%61rt") };
    match fetch_page(&url, section, &client, &LIMITS) {
        Err(error) => {
            let text = error.to_string();
            assert!(!text.is_empty() && text.len() < 20_000, "{text}");
        }
        Ok(page) => {
            assert!(page.markdown.chars().count() <= LIMITS.characters, "{page:?}");
            assert!(page.links.len() <= LIMITS.links && page.sections.len() <= 200);
            assert!(is_plain(&page.title, 300), "{:?}", page.title);
            let facts = [&page.byline, &page.date, &page.site, &page.language];
            assert!(facts.into_iter().flatten().all(|fact| is_plain(fact, 300)), "{page:?}");
            let links = page.links.iter().map(|link| &link.url).chain(&page.canonical);
            for url in links {
                let url = Url::parse(url).expect("an address");
                assert!(matches!(url.scheme(), "http" | "https"), "{url}");
            }
            let whole = page.markdown.chars().count();
            assert!(page.truncated || whole == page.characters, "{whole} {}", page.characters);
        }
    }
});
