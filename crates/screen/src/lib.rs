//! Screens text before it is read: redacts secrets, makes hidden characters visible, and detects tool descriptions that
//! instruct the model.
//!
//! Pure: text in, text out, without files, clock, tools or protocol. No function panics, whatever the text.
//!
//! Redact first, then make visible: a secret next to a hidden character is still found.

mod assignment;
mod document;
mod forms;
mod hidden;
mod json;
mod log_value;
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
pub use search::{Screen, ScreenOptions, SecretFinding};
pub use suspicious::{Suspicion, suspicious};
