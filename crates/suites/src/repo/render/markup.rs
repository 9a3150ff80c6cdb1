//! Output buffer for pages and documents.

use std::fmt::{self, Display, Write as _};

/// Part of a page or document.
#[derive(Debug, Default)]
pub(super) struct MarkupBuffer(String);

impl MarkupBuffer {
    /// Appends formatted text; called through [`put!`].
    pub(super) fn append(&mut self, arguments: fmt::Arguments<'_>) {
        let _ok = self.0.write_fmt(arguments);
    }

    /// Returns the finished text.
    pub(super) fn finish(self) -> String {
        self.0
    }
}

impl Display for MarkupBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Appends to the output buffer like `format!`.
macro_rules! put {
    ($out:expr, $($argument:tt)*) => { $out.append(format_args!($($argument)*)) };
}
pub(super) use put;
