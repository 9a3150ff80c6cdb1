//! Named elements of a document: link targets, section labels, and substitutions.

use super::lines::{identifier, indent, is_blank, next, title};
use crate::document::squeeze;
use std::collections::HashMap;

/// Maximum lines between a label and its title.
const MAX_LABEL_DISTANCE_LINES: usize = 12;

/// The names of one document.
#[derive(Debug, Default)]
pub(super) struct RstNames {
    targets: HashMap<String, String>,
    titles: HashMap<String, String>,
    substitutions: HashMap<String, String>,
    anonymous: Vec<String>,
}

impl RstNames {
    /// Collects all names of a document.
    pub(super) fn of(lines: &[&str]) -> Self {
        let mut names = Self::default();
        for at in 0..lines.len() {
            let line = lines.get(at).map_or("", |line| line.trim());
            if let Some(rest) = line.strip_prefix("__ ") {
                names.anonymous.push(rest.trim().to_owned());
            } else if let Some(rest) = line.strip_prefix(".. ") {
                names.explicit(rest.trim_start(), lines, at);
            }
            if let Some(title) = title(lines, at) {
                let name = normal(title.text);
                names.targets.entry(name).or_insert_with(|| format!("#{}", identifier(title.text)));
            }
        }
        names
    }

    fn explicit(&mut self, rest: &str, lines: &[&str], at: usize) {
        if let Some(target) = rest.strip_prefix("__:") {
            self.anonymous.push(target.trim().to_owned());
        } else if let Some((name, value)) = label(rest) {
            let value = format!("{value}{}", join_continuation(lines, at));
            if value.is_empty() {
                self.targets.insert(normal(name), format!("#{}", normal(name)));
                if let Some(title) = titled(lines, at) {
                    self.titles.insert(normal(name), title.to_owned());
                }
            } else {
                self.targets.insert(normal(name), value);
            }
        } else if let Some((name, rest)) =
            rest.strip_prefix('|').and_then(|rest| rest.split_once('|'))
        {
            let Some((kind, value)) = rest.trim_start().split_once("::") else { return };
            let value = match kind {
                "replace" => squeeze(&format!("{value} {}", spaced(lines, at))),
                "unicode" => unicode(value),
                _ => String::new(),
            };
            self.substitutions.insert(normal(name), value);
        }
    }

    /// The target of a name.
    pub(super) fn target(&self, name: &str) -> Option<&str> {
        let mut target = self.targets.get(&normal(name))?;
        // A target may be another name, and that one another.
        for _ in 0..4 {
            let Some(other) = target.strip_suffix('_') else { break };
            let Some(next) = self.targets.get(&normal(other.trim_matches('`'))) else { break };
            target = next;
        }
        Some(target)
    }

    /// The title of the section that has this label.
    pub(super) fn title(&self, label: &str) -> Option<&str> {
        self.titles.get(&normal(label)).map(String::as_str)
    }

    /// The text of `|name|`.
    pub(super) fn substitution(&self, name: &str) -> Option<&str> {
        let own = self.substitutions.get(&normal(name)).map(String::as_str);
        // Of the files that docutils brings along, what is used most.
        own.or_else(|| {
            Some(match name {
                "copy" => "©",
                "reg" => "®",
                "trade" => "™",
                "deg" => "°",
                "micro" => "µ",
                "mdash" => "—",
                "ndash" => "–",
                "nbsp" => " ",
                _ => return None,
            })
        })
    }

    /// The target of the nth link without a name.
    pub(super) fn anonymous(&self, n: usize) -> Option<&str> {
        self.anonymous.get(n).map(String::as_str)
    }
}

/// Names are compared without regard to case and spaces.
pub(super) fn normal(name: &str) -> String {
    squeeze(name).to_lowercase()
}

/// The name and the value of `_name: value`.
pub(super) fn label(rest: &str) -> Option<(&str, &str)> {
    let rest = rest.strip_prefix('_')?;
    if let Some(quoted) = rest.strip_prefix('`') {
        let (name, rest) = quoted.split_once('`')?;
        return Some((name, rest.strip_prefix(':')?.trim()));
    }
    let (name, value) = rest.split_once(':')?;
    let apart = value.is_empty() || value.starts_with(' ');
    (apart && !name.is_empty()).then_some((name, value.trim()))
}

/// The lines below that are indented further.
fn below<'a>(lines: &'a [&'a str], at: usize) -> impl Iterator<Item = &'a str> {
    let own = lines.get(at).map_or(0, |line| indent(line));
    let rest = lines.get(at + 1..).unwrap_or_default().iter().take(MAX_LABEL_DISTANCE_LINES);
    rest.take_while(move |line| !is_blank(line) && indent(line) > own).map(|line| line.trim())
}

fn join_continuation(lines: &[&str], at: usize) -> String {
    below(lines, at).collect()
}

fn spaced(lines: &[&str], at: usize) -> String {
    below(lines, at).collect::<Vec<_>>().join(" ")
}

/// The title below a label.
fn titled<'a>(lines: &[&'a str], at: usize) -> Option<&'a str> {
    let mut here = at + 1;
    while here < at + MAX_LABEL_DISTANCE_LINES {
        here = next(lines, here);
        if let Some(title) = title(lines, here) {
            return Some(title.text);
        }
        if !lines.get(here)?.starts_with(".. ") {
            return None;
        }
        here += 1;
    }
    None
}

fn unicode(value: &str) -> String {
    let words = value.split_whitespace().take_while(|word| *word != "..");
    let words = words.map(|word| {
        let hex = ["U+", "u+", "0x", "\\u"].iter().find_map(|start| word.strip_prefix(start));
        let c = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32);
        c.map_or_else(|| word.to_owned(), |c| c.to_string())
    });
    words.collect()
}
