//! Untrusted text: all secrets are found in one pass, and no hidden character stays hidden.
#![no_main]

use docent_screen::{Screen, ScreenOptions, one_line, suspicious, visible, visible_json};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::{borrow::Cow, sync::LazyLock};

/// The secrets known to the screens.
const KNOWN: [&str; 2] = ["s3cr3t of mine", "漢key\"\\"];
/// The maximum length of the mark that replaces a secret.
const LONGEST_MARK: usize = 48;
/// A control of one byte is shown as `<U+0000>`.
const MOST_SHOWN: usize = 8;

static SCREENS: LazyLock<[Screen; 2]> = LazyLock::new(|| {
    [ScreenOptions::default(), ScreenOptions::for_logs()]
        .map(|options| Screen::new(KNOWN.map(str::to_owned).into(), options))
});

fuzz_target!(|text: &str| {
    for screen in SCREENS.iter() {
        redacted(screen, text);
        redacted_json(screen, text);
    }
    shown(text);
    let line = one_line(text);
    assert!(!line.contains(['\n', '\r']) && line.len() <= text.len() * MOST_SHOWN, "{line:?}");
    assert_eq!(visible(&line), line);
    for suspicion in suspicious(text) {
        assert!(suspicion.evidence.chars().count() <= 200, "{suspicion:?}");
        assert!(!suspicion.what.is_empty() && !suspicion.evidence.contains('\n'), "{suspicion:?}");
        assert_eq!(visible(&suspicion.evidence), suspicion.evidence);
    }
});

fn redacted(screen: &Screen, text: &str) {
    let findings = screen.find(text);
    let mut end = 0;
    for finding in &findings {
        assert!(finding.range.start >= end && !finding.range.is_empty(), "{finding:?}");
        assert!(text.get(finding.range.clone()).is_some(), "{finding:?}");
        end = finding.range.end;
    }
    let once = screen.redact(text);
    assert_eq!(matches!(once, Cow::Borrowed(_)), findings.is_empty());
    // Text next to a finding may become one after the finding is removed.
    assert!(once.len() <= text.len() + 2 * findings.len() * LONGEST_MARK);
    assert!(KNOWN.iter().all(|known| !once.contains(known)), "{once:?}");
    assert_eq!(screen.redact(&once), once);
}

fn redacted_json(screen: &Screen, text: &str) {
    let parsed = serde_json::from_str::<Value>(text).ok();
    for mut value in parsed.into_iter().chain([json!({(text): [text], "password": text})]) {
        screen.redact_json(&mut value);
        assert_eq!(screen.redact_json(&mut value), 0, "{value}");
        visible_json(&mut value);
        assert_eq!(visible_json(&mut value), 0, "{value}");
    }
}

fn shown(text: &str) {
    let shown = visible(text);
    assert!(shown.len() <= text.len() * MOST_SHOWN);
    let is_unseen = |c: char| {
        c.is_control() && !matches!(c, '\t' | '\n' | '\r')
            || matches!(c, '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
            || matches!(c, '\u{FFF9}'..='\u{FFFB}' | '\u{E0080}'..='\u{E00FF}')
    };
    assert!(!shown.contains(is_unseen), "{shown:?}");
    assert!(!shown.chars().skip(1).any(|c| c == '\u{FEFF}'), "{shown:?}");
    assert_eq!(visible(&shown), shown);
}
