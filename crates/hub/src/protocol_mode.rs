//! The kinds of protocol that a server may use.

/// The version that servers from before the first revision report.
pub(crate) const PLAIN_VERSION: &str = "1.0";
/// The revision without sessions.
pub(crate) const STATELESS_VERSION: &str = "2026-07-28";

/// Which kind of protocol a server uses.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProtocolMode {
    /// With a handshake, in the revision that it named.
    Session(String),
    /// Without sessions; each request carries everything.
    Stateless,
}

impl ProtocolMode {
    /// The revision, as the server named it.
    pub fn version(&self) -> &str {
        match self {
            Self::Session(version) => version,
            Self::Stateless => STATELESS_VERSION,
        }
    }
}
