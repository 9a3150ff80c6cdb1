//! Screens text before anyone reads it: secrets are redacted, what can't be seen is made visible, and tool
//! descriptions that talk to the model are told apart from those that describe.
//!
//! Pure: text in, text out. Knows no files, no clock, no tools and no protocol. No function panics, whatever the text.
//!
//! Redact first, then make visible: a secret next to a hidden character is still found.

mod assignment;
mod document;
mod forms;
mod log_value;
mod hidden;
mod json;
mod one_line;
mod placeholder;
mod rules;
mod scripts;
mod search;
mod suspicious;
mod value;

pub use assignment::NamePolicy;
pub use hidden::visible;
pub use json::{KeepMember, visible_json, visible_json_but};
pub use one_line::one_line;
pub use search::{SecretFinding, ScreenOptions, Screen};
pub use suspicious::{Suspicion, suspicious};
