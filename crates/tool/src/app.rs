//! Pages that show tool results, for clients that can display them.

/// A page that shows tool results: one HTML document that loads nothing external and communicates with the client that
/// shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct App {
    /// Its address, which begins with `ui://`. Tools refer to it.
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
