//! Keeps one log event on one line: text from outside can't begin another.

use crate::visible;
use std::borrow::Cow;

/// The text without line ends, controls, terminal sequences and direction marks: they are spelled out.
/// Borrowed when it has none. Tabs stay.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let shown = visible(text);
    if !shown.contains(['\n', '\r']) {
        return shown;
    }
    Cow::Owned(shown.replace('\r', "\\r").replace('\n', "\\n"))
}
