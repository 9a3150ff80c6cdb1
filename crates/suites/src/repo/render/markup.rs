//! Text that becomes a page or a document, written piece by piece.

use std::fmt::{self, Display, Write as _};

/// A piece of a page or of a document.
#[derive(Debug, Default)]
pub(super) struct MarkupBuffer(String);

impl MarkupBuffer {
    /// Appends; [`put!`] is how it is called.
    pub(super) fn append(&mut self, arguments: fmt::Arguments<'_>) {
        let _ok = self.0.write_fmt(arguments);
    }

    /// The finished text.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

impl Display for MarkupBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Appends to a [`MarkupBuffer`] as `format!` would.
macro_rules! put {
    ($out:expr, $($argument:tt)*) => { $out.put(format_args!($($argument)*)) };
}
pub(super) use put;
