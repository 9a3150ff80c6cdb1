//! URI templates: they match the same URIs as the equivalent regular expression.
#![no_main]

use docent_tool::UriTemplate;
use libfuzzer_sys::fuzz_target;
use regex::Regex;

/// Translates a template to a regular expression, a slow but independent implementation.
fn pattern(template: &str) -> Option<Regex> {
    let mut pattern = String::from(r"(?s)\A");
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (expression, after) = after.split_once('}')?;
        pattern.push_str(&regex::escape(before));
        pattern.push_str(match expression.chars().next() {
            Some('+' | '#' | '/') => ".*",
            Some('?' | '&') => "(?:[?&].*)?",
            _ => "[^/?#]+",
        });
        rest = after;
    }
    pattern.push_str(&regex::escape(rest));
    pattern.push_str(r"\z");
    Regex::new(&pattern).ok()
}

fuzz_target!(|text: &str| {
    let Some((template, address)) = text.split_once('\n') else { return };
    let Some(read) = UriTemplate::new(template) else { return };
    let pattern = pattern(template).expect("a valid template has a pattern");
    assert_eq!(read.matches(address), pattern.is_match(address));
    if !template.contains('{') {
        assert!(read.matches(template));
    }
});
