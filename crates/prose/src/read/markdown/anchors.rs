//! Heading anchors, as the large code hosts generate them.

use std::collections::{HashMap, HashSet};

/// The anchors that a document has so far.
#[derive(Debug, Default)]
pub(crate) struct Anchors {
    taken: HashSet<String>,
    /// The count of each heading, so that the hundredth of its kind is named in one step.
    seen: HashMap<String, usize>,
}

impl Anchors {
    /// The anchor of a heading: lower case, without punctuation, with `-` for spaces, and numbered where it is taken.
    pub(crate) fn next_anchor(&mut self, heading: &str) -> Option<String> {
        let slug = slug(heading);
        if slug.is_empty() {
            return None;
        }
        if self.taken.insert(slug.clone()) {
            return Some(slug);
        }
        let count = self.seen.entry(slug.clone()).or_default();
        loop {
            *count += 1;
            let numbered = format!("{slug}-{count}");
            if self.taken.insert(numbered.clone()) {
                return Some(numbered);
            }
        }
    }

    /// Records an explicit anchor.
    pub(crate) fn take(&mut self, anchor: &str) {
        self.taken.insert(anchor.to_owned());
    }
}

fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter_map(|c| match c {
        ' ' | '\t' | '\n' => Some('-'),
        '-' | '_' => Some(c),
        c if c.is_alphanumeric() => Some(c),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}
