//! Keeps a log event on one line: external text can't start another.

use crate::visible;
use std::borrow::Cow;

/// Spells out line ends, controls, terminal sequences and direction marks. Borrowed when it has none. Tabs stay.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let shown = visible(text);
    if !shown.contains(['\n', '\r']) {
        return shown;
    }
    Cow::Owned(shown.replace('\r', "\\r").replace('\n', "\\n"))
}
