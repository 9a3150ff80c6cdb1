use super::page::{SCRIPT, SCRIPT_DIGEST, STYLE};
use crate::repo::{
    render::{html, tests::sample},
    report::{Depth, Report},
};
use scraper::{ElementRef, Html, Selector};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// Text that `poison` adds to every string of a report.
const POISON: &str =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\u{202e}\u{7}`|\n";

fn reports() -> Vec<(&'static str, Report)> {
    vec![
        ("rich", sample::rich()),
        ("empty", Report::default()),
        (
            "quick",
            Report {
                name: "tiny".into(),
                depth: Depth::Quick,
                complete: true,
                ..Report::default()
            },
        ),
        ("absurd", sample::absurd()),
        ("poisoned", sample::poisoned(&sample::rich(), POISON)),
    ]
}

fn all<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    let selector = Selector::parse(selector).unwrap();
    page.select(&selector).collect()
}

fn text_of(page: &Html, selector: &str) -> String {
    all(page, selector).iter().flat_map(ElementRef::text).collect()
}

/// Base64, as in a policy digest.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3)
            .fold(0_u32, |bits, at| bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for at in 0..4_usize {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[test]
fn the_policy_lets_nothing_but_the_script_run() {
    assert_eq!(base64(b"docent"), "ZG9jZW50");
    assert_eq!(base64(b"docen"), "ZG9jZW4=");
    assert_eq!(SCRIPT_DIGEST, format!("sha256-{}", base64(&Sha256::digest(SCRIPT.as_bytes()))));
    let page = Html::parse_document(&html(&sample::rich()));
    let policy = all(&page, "meta[http-equiv=Content-Security-Policy]")[0].attr("content").unwrap();
    let want = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src '{SCRIPT_DIGEST}'; img-src data:; \
         base-uri 'none'; form-action 'none'"
    );
    assert_eq!(policy, want);
}

#[test]
fn every_section_is_there() {
    let want = [
        "overview",
        "gaps",
        "start",
        "code",
        "packages",
        "documents",
        "coverage",
        "links",
        "drift",
        "duplicates",
        "history",
        "limits",
    ];
    for (name, report) in reports() {
        let page = Html::parse_document(&html(&report));
        let ids: Vec<&str> =
            all(&page, "main > section").iter().map(|one| one.attr("id").unwrap()).collect();
        assert_eq!(ids, want, "{name}");
        for id in want {
            let content = text_of(&page, &format!("#{id} .content"));
            assert!(!content.trim().is_empty(), "{name}: nothing in {id}");
        }
    }
}

#[test]
fn names_in_the_page_are_there_once() {
    for (name, report) in reports() {
        let page = Html::parse_document(&html(&report));
        let mut ids = BTreeSet::new();
        for element in all(&page, "[id]") {
            assert!(
                ids.insert(element.attr("id").unwrap()),
                "{name}: {:?} twice",
                element.attr("id")
            );
        }
        for link in all(&page, "[href]") {
            let target = link.attr("href").unwrap().strip_prefix('#');
            assert!(
                target.is_some_and(|target| ids.contains(target)),
                "{name}: {:?}",
                link.attr("href")
            );
        }
        for element in all(&page, "[aria-labelledby]") {
            for id in element.attr("aria-labelledby").unwrap().split(' ') {
                assert!(ids.contains(id), "{name}: {id}");
            }
        }
    }
}

#[test]
fn people_who_do_not_see_it_find_their_way() {
    for (name, report) in reports() {
        let page = Html::parse_document(&html(&report));
        for one in [
            "html[lang=en]",
            "head > title",
            "h1",
            "body > nav",
            "body > header",
            "main",
            "body > footer",
        ] {
            assert_eq!(all(&page, one).len(), 1, "{name}: {one}");
        }
        for picture in all(&page, ".picture svg") {
            let parts: Vec<&str> =
                picture.child_elements().take(2).map(|element| element.value().name()).collect();
            assert_eq!(parts, ["title", "desc"], "{name}");
        }
        let is_labeled = |svg: &ElementRef<'_>| {
            svg.attr("aria-hidden") == Some("true")
                || svg.attr("aria-label").is_some()
                || svg.attr("role") == Some("img")
        };
        assert!(all(&page, "svg").iter().all(is_labeled), "{name}");
        assert_eq!(all(&page, "table > caption").len(), all(&page, "table").len(), "{name}");
    }
}

#[test]
fn a_phone_needs_no_sideways_scrolling() {
    for (name, report) in reports() {
        let page = Html::parse_document(&html(&report));
        assert_eq!(all(&page, "meta[name=viewport]").len(), 1, "{name}");
        assert_eq!(
            all(&page, ".box > table").len(),
            all(&page, "table").len(),
            "{name}: a table without a box"
        );
        let boxes = |class: &str| -> Vec<f64> {
            let width = |svg: &ElementRef<'_>| {
                svg.attr("viewBox").unwrap().split(' ').nth(2).unwrap().parse().unwrap()
            };
            all(&page, &format!(".picture > svg.{class}")).iter().map(width).collect()
        };
        let (wide, narrow) = (boxes("wide"), boxes("narrow"));
        assert_eq!(wide.len(), narrow.len(), "{name}");
        assert!(narrow.iter().all(|width| *width <= 328.0), "{name}");
    }
    for part in [
        ".box { max-height: 31rem; overflow: auto;",
        "overflow-wrap: anywhere",
        "@media print",
        "prefers-reduced-motion",
    ] {
        assert!(STYLE.contains(part), "{part}");
    }
}

#[test]
fn nothing_from_a_report_becomes_markup() {
    let page = html(&sample::poisoned(&sample::rich(), POISON));
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("<img") && !page.contains('\u{202e}') && !page.contains('\u{7}'));
    let elements = |page: &Html| -> BTreeMap<String, BTreeSet<String>> {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for element in all(page, "*") {
            let names = element.value().attrs().map(|(name, _)| name.to_owned());
            found.entry(element.value().name().to_owned()).or_default().extend(names);
        }
        found
    };
    let clean = elements(&Html::parse_document(&html(&sample::rich())));
    assert_eq!(elements(&Html::parse_document(&page)), clean);
    let attributes: BTreeSet<&String> = clean.values().flatten().collect();
    assert!(
        !attributes.iter().any(|name| name.starts_with("on") || *name == "src"),
        "{attributes:?}"
    );
}

#[test]
fn no_other_host_is_asked() {
    for (name, report) in reports() {
        let page = html(&report);
        for sign in ["http:", "https:", "url(", "@import", "<link", "<iframe", "<object", "<base"] {
            assert!(!page.contains(sign), "{name}: {sign}");
        }
    }
}

#[test]
fn the_same_report_gives_the_same_page() {
    for (name, report) in reports() {
        assert_eq!(html(&report), html(&report.clone()), "{name}");
    }
}

#[test]
fn everything_in_the_report_is_on_the_page() {
    let report = sample::rich();
    let page = Html::parse_document(&html(&report));
    let mut shown = text_of(&page, "body");
    shown.extend(all(&page, "title").iter().flat_map(ElementRef::text));
    // A member and its workspace name each other by path, which the list of manifests has.
    let omitted = ["members", "workspace"];
    for word in sample::words(&report, &omitted) {
        let plain = word.replace('`', "");
        assert!(
            shown.contains(&plain) || shown.contains(&crate::repo::render::wording::label(&plain)),
            "{word}"
        );
    }
}

#[test]
fn what_is_not_there_has_its_reason() {
    let quick = Report { depth: Depth::Quick, complete: true, ..Report::default() };
    let stopped = Report { depth: Depth::Deep, missing: vec!["drift".into()], ..Report::default() };
    let cases = [
        (&quick, "history", "History: not in a quick report. Use depth “deep”."),
        (
            &quick,
            "start",
            "Commands and entry points: not in a quick report. Use depth “standard”.",
        ),
        (&quick, "gaps", "No gaps found."),
        (&stopped, "history", "History: no git repository found."),
        (
            &stopped,
            "drift",
            "Drift: not in this report, because the call was stopped. Call again with more time.",
        ),
        (&stopped, "gaps", "Gaps are unknown: some folders were not read."),
        (
            &stopped,
            "limits",
            "Some folders were not read. Things that are not listed may still exist.",
        ),
    ];
    for (report, id, want) in cases {
        let page = Html::parse_document(&html(report));
        let content = text_of(&page, &format!("#{id} .content"));
        assert!(content.contains(want), "{id}: {content}");
    }
}

/// Colors by name in a style sheet block.
fn colours(block: &str) -> BTreeMap<String, [f64; 3]> {
    let rule = STYLE.split(block).nth(1).unwrap().split('}').next().unwrap();
    let colour = |declaration: &str| {
        let (name, value) = declaration.trim().trim_start_matches('{').trim().split_once(": #")?;
        let channel = |at: usize| u8::from_str_radix(value.get(at..at + 2)?, 16).ok();
        Some((name.to_owned(), [channel(0)?, channel(2)?, channel(4)?].map(f64::from)))
    };
    rule.split(';').filter_map(colour).collect()
}

fn luminance(colour: [f64; 3]) -> f64 {
    let [red, green, blue] = colour.map(|channel| {
        let channel = channel / 255.0;
        if channel <= 0.040_45 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[test]
fn text_contrasts_with_its_background() {
    let on = |words: &[&str], grounds: &[&str]| -> Vec<(String, String)> {
        let pair = |word: &str, ground: &str| (format!("--{word}"), format!("--{ground}"));
        words.iter().flat_map(|word| grounds.iter().map(move |ground| pair(word, ground))).collect()
    };
    let mut pairs = on(&["ink", "soft", "warm"], &["paper"]);
    pairs.extend(on(&["ink", "soft"], &["wash"]));
    pairs.extend(on(&["ink"], &["m0", "m1", "m2", "m3"]));
    pairs.extend((0..5).map(|step| (format!("--h{step}t"), format!("--h{step}"))));
    for block in [":root ", ":root:not([data-theme=\"light\"]) {", ":root[data-theme=\"dark\"] "] {
        let colours = colours(block);
        for (word, ground) in &pairs {
            let (one, other) = (luminance(colours[word]), luminance(colours[ground]));
            let contrast = (one.max(other) + 0.05) / (one.min(other) + 0.05);
            assert!(contrast >= 4.5, "{block}: {word} on {ground}: {contrast:.2}");
        }
    }
}
