//! Parses texts that name licenses without containing them: `SPDX-License-Identifier`, "MIT or Apache-2.0, at your
//! option", "or (at your option) any later version". Knows nothing of files.

/// Maximum number of words in a notice.
const MAX_NOTICE_WORDS: usize = 160;

/// Licenses by their names in notices, in letters and digits; longer names before their prefixes.
const LICENSE_NAMES: &[(&str, &str)] = &[
    ("apache license version 2 0", "Apache-2.0"),
    ("apache license 2 0", "Apache-2.0"),
    ("apache license v2 0", "Apache-2.0"),
    ("apache software license version 2 0", "Apache-2.0"),
    ("apache 2 0", "Apache-2.0"),
    ("license apache", "Apache-2.0"),
    ("mit license", "MIT"),
    ("mit licence", "MIT"),
    ("license mit", "MIT"),
    ("and mit licenses", "MIT"),
    ("unlicense", "Unlicense"),
    ("bsd 3 clause", "BSD-3-Clause"),
    ("3 clause bsd", "BSD-3-Clause"),
    ("bsd 2 clause", "BSD-2-Clause"),
    ("2 clause bsd", "BSD-2-Clause"),
    ("isc license", "ISC"),
    ("zlib license", "Zlib"),
    ("boost software license", "BSL-1.0"),
    ("mozilla public license version 2 0", "MPL-2.0"),
    ("mozilla public license 2 0", "MPL-2.0"),
    ("mozilla public license v 2 0", "MPL-2.0"),
    ("mpl 2 0", "MPL-2.0"),
    ("cc0 1 0", "CC0-1.0"),
];

/// Words of texts that are licenses themselves, whatever their name.
const LICENSE_GRANT_WORDS: &[&str] = &[" hereby ", " granted ", " liable ", " redistributions "];

/// Phrases that leave the choice to the reader.
const CHOICE_PHRASES: &[&str] = &[
    "at your option",
    "at your choice",
    "of your choice",
    "your choice of",
    "either of",
    "either license",
    "either the",
    "dual licensed",
    "dually licensed",
    "dual license",
    "you may choose",
    "you can choose",
];

/// Returns the expression in a short text; `None` if it names none, or does not say how several combine.
pub(super) fn read(text: &str) -> Option<String> {
    let plain = words(text);
    if plain.split(' ').count() > MAX_NOTICE_WORDS {
        return None;
    }
    if let Some(expression) = tagged(text) {
        return Some(expression);
    }
    if LICENSE_GRANT_WORDS.iter().any(|word| plain.contains(word)) {
        return None;
    }
    let upper = text.trim().replace(" or ", " OR ").replace(" and ", " AND ");
    if let Some(expression) = super::expression(&upper) {
        return Some(expression);
    }
    let ids = named(&plain);
    let one = ids.len() == 1 && !names_another(&plain);
    (one || (ids.len() > 1 && leaves_choice(text))).then(|| ids.join(" OR "))
}

/// Returns the distinct licenses named in normalized [`words`], in order.
pub(super) fn named(plain: &str) -> Vec<&'static str> {
    let at =
        |(name, id): &(&str, &'static str)| plain.find(&format!(" {name} ")).map(|at| (at, *id));
    let mut named: Vec<(usize, &str)> = LICENSE_NAMES.iter().filter_map(at).collect();
    named.sort_unstable();
    let mut ids: Vec<&str> = Vec::new();
    for (_, id) in named {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

/// Returns the expression after `SPDX-License-Identifier:`.
pub(super) fn tagged(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("SPDX-License-Identifier:")?;
    let line = rest.lines().next()?;
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || "*/->#".contains(c)).trim();
    super::expression(line)
}

/// Whether a text lets the reader choose among several licenses.
pub(super) fn leaves_choice(text: &str) -> bool {
    let plain = words(text);
    CHOICE_PHRASES.iter().any(|phrase| plain.contains(&format!(" {phrase} ")))
}

/// Whether a source file notice says `or later` (true) or names one GNU license version (false).
pub(super) fn later_versions(head: &str) -> Option<bool> {
    if let Some(tag) = tagged(head) {
        let gnu = tag.contains("GPL-");
        return gnu.then(|| tag.contains("-or-later"));
    }
    let plain = words(head);
    if !plain.contains(" general public license ") {
        return None;
    }
    if plain.contains(" any later version ") {
        return Some(true);
    }
    let alone = [" version 2 as published ", " version 2 of the license as ", " version 3 only "];
    alone.iter().any(|phrase| plain.contains(phrase)).then_some(false)
}

/// Whether a text names a license that is not in the table: it must not be ignored.
fn names_another(plain: &str) -> bool {
    [" gpl ", " lgpl ", " agpl ", " general public license ", " proprietary ", " commercial "]
        .iter()
        .any(|name| plain.contains(name))
}

/// Keeps letters and digits in lowercase, with one space between words and at both ends.
pub(super) fn words(text: &str) -> String {
    let mut plain = String::with_capacity(text.len() + 2);
    plain.push(' ');
    for c in text.chars() {
        if c.is_alphanumeric() {
            plain.extend(c.to_lowercase());
        } else if !plain.ends_with(' ') {
            plain.push(' ');
        }
    }
    if !plain.ends_with(' ') {
        plain.push(' ');
    }
    plain
}
