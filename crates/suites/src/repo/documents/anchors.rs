//! Fragment names of headings: the slugs that renderers generate. Knows no format and no file.

use crate::repo::facts::anchor_key;
use std::collections::HashMap;

/// Accented letters, with the plain letter that ASCII renderers use.
const ASCII_LETTERS: [(&str, char); 20] = [
    ("àáâãäåāăą", 'a'),
    ("çćĉċč", 'c'),
    ("ďđ", 'd'),
    ("èéêëēĕėęě", 'e'),
    ("ĝğġģ", 'g'),
    ("ĥħ", 'h'),
    ("ìíîïĩīĭįıℹ", 'i'),
    ("ĵ", 'j'),
    ("ķ", 'k'),
    ("ĺļľŀ", 'l'),
    ("ñńņňŉ", 'n'),
    ("òóôõöōŏő", 'o'),
    ("ŕŗř", 'r'),
    ("śŝşš", 's'),
    ("ţťŧ", 't'),
    ("ùúûüũūŭůűų", 'u'),
    ("ŵ", 'w'),
    ("ýÿŷ", 'y'),
    ("źżž", 'z'),
    ("\u{a0}\u{2007}\u{202f}", ' '),
];

/// Slugs already used in one document.
#[derive(Debug, Default)]
pub(super) struct Slugs {
    given: HashMap<String, u32>,
    nameless: u32,
}

impl Slugs {
    /// Adds every slug that a Markdown renderer may generate for a heading.
    pub(super) fn markdown(&mut self, heading: &str, anchors: &mut Vec<u64>) {
        let lower = heading.to_lowercase();
        let mut names = vec![github(&lower)];
        let simple = lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ');
        if !simple || lower.contains("  ") || lower.trim() != lower {
            let trimmed = lower.trim();
            names.extend([
                github(trimmed),
                github(trimmed).trim_matches('-').to_owned(),
                github(&trimmed.replace('\u{fe0f}', "")),
                collapsed(&github(trimmed)),
                collapsed(&github(&plain(trimmed))),
                python(trimmed),
                dashed(trimmed),
                dashed(&plain(trimmed)),
                from_first_letter(&github(trimmed)).to_owned(),
                from_first_letter(&pandoc(trimmed)).to_owned(),
                pandoc(trimmed),
                trimmed.replace(' ', "-"),
            ]);
        }
        // `E0308: mismatched types` is addressed by its number.
        if let Some((number, _)) = lower.split_once(": ")
            && number.contains(|c: char| c.is_ascii_digit())
            && !number.contains(' ')
        {
            names.push(github(number));
        }
        if lower.starts_with(|first: char| first.is_ascii_digit()) {
            names.push(format!("_{}", dashed(&lower)));
        }
        self.give(names, anchors);
    }

    /// Adds the slug that docutils generates for a title.
    pub(super) fn restructured(&mut self, heading: &str, anchors: &mut Vec<u64>) {
        let lower = heading.to_lowercase();
        let name = dashed(&plain(&lower));
        self.give(vec![from_first_letter(&name).to_owned(), github(&lower)], anchors);
    }

    /// Adds the slugs that Asciidoctor and Antora generate for a title.
    pub(super) fn asciidoc(&mut self, heading: &str, anchors: &mut Vec<u64>) {
        let lower = heading.to_lowercase();
        let kept: String = lower
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.'))
            .collect();
        let joined = |by: char| {
            let parts = kept.split([' ', '_', '-', '.']).filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(&by.to_string())
        };
        self.give(vec![format!("_{}", joined('_')), joined('_'), joined('-')], anchors);
    }

    /// Adds a slug, numbered by how often it was used: the second `a` is `a-1`, or `a_1`, or `a_2`.
    fn give(&mut self, mut names: Vec<String>, anchors: &mut Vec<u64>) {
        names.sort_unstable();
        names.dedup();
        for name in names {
            if name.is_empty() {
                // If nothing is left of a heading, Python-Markdown uses a counter.
                self.nameless += 1;
                anchors.push(anchor_key(&format!("_{}", self.nameless)));
                continue;
            }
            let key = anchor_key(&name);
            match self.given.get_mut(&name) {
                None => {
                    anchors.push(key);
                    self.given.insert(name, 0);
                }
                Some(times) => {
                    *times += 1;
                    anchors.push(anchor_key(&format!("{name}-{times}")));
                    anchors.push(anchor_key(&format!("{name}_{times}")));
                    anchors.push(anchor_key(&format!("{name}_{}", *times + 1)));
                }
            }
        }
    }
}

/// Returns the slug that GitHub generates for a heading.
pub(in crate::repo) fn slug(heading: &str) -> String {
    github(heading.trim().to_lowercase().as_str())
}

/// Drops punctuation and turns each space into a hyphen.
fn github(lower: &str) -> String {
    lower
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            _ => (c.is_alphanumeric() || is_mark(c)).then_some(c),
        })
        .collect()
}

/// Whether a character is a combining mark; the standard library classifies only some of them as letters.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{94d}' | '\u{9cd}' | '\u{e31}' | '\u{e34}'..='\u{e3a}'
        | '\u{e47}'..='\u{e4e}' | '\u{3099}' | '\u{309a}' | '\u{fe0f}')
}

/// Collapses runs of hyphens, as GitLab does.
fn collapsed(slug: &str) -> String {
    slug.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Keeps ASCII only and collapses hyphens and spaces, also at the ends, as Python-Markdown does.
fn python(lower: &str) -> String {
    let kept =
        plain(lower).replace(|c: char| !c.is_ascii_alphanumeric() && !"_- \t".contains(c), "");
    let mut slug = String::new();
    for c in kept.trim().chars().map(|c| if c == ' ' || c == '\t' { '-' } else { c }) {
        if c != '-' || !slug.ends_with('-') {
            slug.push(c);
        }
    }
    slug
}

/// Turns every run of other characters than letters and digits into one hyphen, as `VitePress`, docutils and Hugo do.
fn dashed(lower: &str) -> String {
    let parts = lower.split(|c: char| !c.is_alphanumeric() && !is_mark(c));
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Keeps periods.
fn pandoc(lower: &str) -> String {
    let kept = lower.chars().filter(|c| c.is_alphanumeric() || "_-. ".contains(*c));
    collapsed(&kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>())
}

/// Drops everything before the first letter, as Kramdown and Pandoc do.
fn from_first_letter(slug: &str) -> &str {
    slug.trim_start_matches(|c: char| !c.is_alphabetic())
}

/// Keeps ASCII only: removes accents and drops everything else.
fn plain(lower: &str) -> String {
    let letter = |c: char| match c {
        _ if c.is_ascii() => Some(c),
        _ => ASCII_LETTERS.iter().find(|(marked, _)| marked.contains(c)).map(|(_, letter)| *letter),
    };
    lower.chars().filter_map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn anchors_of(headings: &[&str], give: fn(&mut Slugs, &str, &mut Vec<u64>)) -> Vec<u64> {
        let (mut slugs, mut anchors) = (Slugs::default(), Vec::new());
        for heading in headings {
            give(&mut slugs, heading, &mut anchors);
        }
        anchors
    }

    #[test]
    fn headings_are_found_under_every_renderers_name() {
        let cases = [
            ("Hello World", "hello-world", "hello_world"),
            ("What's new?", "whats-new", "what-is-new"),
            ("What's new?", "what-s-new", "whatsnew"),
            ("A - B", "a---b", "a--b"),
            ("A - B", "a-b", "ab"),
            ("foo_bar.baz()", "foo_barbaz", "foobarbaz"),
            ("foo_bar.baz()", "foo-bar-baz", "foo-barbaz"),
            ("1. Install", "1-install", "2-install"),
            ("1. Install", "install", "1--install"),
            ("2024 plans", "_2024-plans", "__2024-plans"),
            ("🚀 Start", "-start", "rocket-start"),
            ("🚀 Start", "start", "--start"),
            ("⚙️ Options", "-options", "--options"),
            ("Größe", "größe", "groesse"),
            ("Größe", "groe", "gr"),
            ("日本語", "日本語", "日本"),
            ("日本語", "_1", "_2"),
            ("Пул - реквест x", "-x", "--x"),
            ("Step 1: go", "step-1%3A-go", "step-1%3B-go"),
            ("v1.2 notes", "v1.2-notes", "v1.2.notes"),
            ("C++", "c", "c++-1"),
            ("E0308: Mismatched types", "E0308", "mismatched"),
        ];
        for (heading, known, unknown) in cases {
            let anchors = anchors_of(&[heading], Slugs::markdown);
            assert!(anchors.contains(&anchor_key(known)), "{heading} is {known}");
            assert!(!anchors.contains(&anchor_key(unknown)), "{heading} is not {unknown}");
        }
    }

    #[test]
    fn the_second_of_a_name_is_counted() {
        let anchors = anchors_of(&["Use", "Use", "Use"], Slugs::markdown);
        for (name, want) in [
            ("use", true),
            ("use-1", true),
            ("use_1", true),
            ("use-2", true),
            ("use_2", true),
            ("use-3", false),
        ] {
            assert_eq!(anchors.contains(&anchor_key(name)), want, "{name}");
        }
    }

    #[test]
    fn other_formats_have_their_own_names() {
        let titles = anchors_of(&["2. A Title, here"], Slugs::restructured);
        assert!(titles.contains(&anchor_key("a-title-here")));
        let sections = anchors_of(&["A Title, v1.0-rc"], Slugs::asciidoc);
        for name in ["_a_title_v1_0_rc", "a-title-v1-0-rc"] {
            assert!(sections.contains(&anchor_key(name)), "{name}");
        }
        assert_eq!(slug(" What's New "), "whats-new");
    }
}
