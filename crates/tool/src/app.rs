//! Pages that show what tools answer, for clients that have a place for them.

/// A page that shows what tools answer: one HTML document that asks for nothing outside itself and speaks with the
/// client that shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct App {
    /// Its address, which begins with `ui://`. Tools name it.
    pub uri: &'static str,
    /// Short name.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// The whole document.
    pub html: &'static str,
}
