//! The parts of a doc comment: summary, parameters, result, errors.

use crate::{annotation::Doc, pack::Tags};

/// The parts of a comment; `None` where it is no more than its summary.
pub(super) fn parts(_tags: Tags, _whole: &str, plain: &str) -> Option<Doc> {
    let summary = plain.split("\n\n").next().unwrap_or(plain);
    let summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(Doc { summary, ..Doc::default() })
}

/// Text without XML elements.
pub(super) fn without_elements(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        plain.push_str(before);
        rest = tag.split_once('>').map_or("", |(_, after)| after);
    }
    plain + rest
}
