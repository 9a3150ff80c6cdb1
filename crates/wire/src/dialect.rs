//! The revisions of the protocol, and how they differ.

/// One revision of the protocol, or the plain dialect beside them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// "1.0": JSON-RPC over pipes or a plain POST, with fields in both camelCase and `snake_case`.
    Plain,
    /// The first published revision.
    V2024_11_05,
    /// Streamable HTTP, batches.
    V2025_03_26,
    /// No batches; structured content.
    V2025_06_18,
    /// Invalid arguments are tool results.
    V2025_11_25,
    /// Stateless: no handshake, metadata on every request.
    V2026_07_28,
}

impl Dialect {
    /// Used with a peer that requests an unknown version, or none.
    pub const FALLBACK: Self = Self::V2025_11_25;

    /// Every dialect, oldest first.
    pub const ALL: [Self; 6] = [
        Self::Plain,
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// The dialect with this version string.
    pub fn of_version(version: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.version() == version)
    }

    /// The version to answer `initialize` with. The newest revision has no `initialize`.
    pub fn negotiate(version: &str) -> Self {
        Self::of_version(version)
            .filter(|dialect| *dialect != Self::V2026_07_28)
            .unwrap_or(Self::FALLBACK)
    }

    /// Its version string.
    pub fn version(self) -> &'static str {
        match self {
            Self::Plain => "1.0",
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether several messages may come in one array.
    pub fn has_batches(self) -> bool {
        self <= Self::V2025_03_26
    }

    /// Whether invalid arguments are reported to the model as a tool result, rather than to the client as an error.
    pub fn bad_arguments_are_answers(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// The error code for a missing resource.
    pub fn missing_resource_code(self) -> i32 {
        match self {
            Self::Plain => -32003,
            Self::V2026_07_28 => -32602,
            _ => -32002,
        }
    }

    /// The error code for an unknown tool. In the plain dialect a tool's name is a method.
    pub fn unknown_tool_code(self) -> i32 {
        match self {
            Self::Plain => -32601,
            _ => -32602,
        }
    }

    /// Whether this method belongs to the dialect. Methods of no revision are not rejected here.
    pub fn has_method(self, method: &str) -> bool {
        const GONE: [&str; 5] = [
            "initialize",
            "ping",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
        ];
        self != Self::V2026_07_28 || !GONE.contains(&method)
    }

    /// Whether its results and lists use both camelCase and `snake_case`.
    pub fn is_plain(self) -> bool {
        self == Self::Plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_negotiated() {
        let cases = [
            ("1.0", "1.0"),
            ("2024-11-05", "2024-11-05"),
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
            ("2099-01-01", "2025-11-25"),
            ("", "2025-11-25"),
        ];
        for (asked, answered) in cases {
            assert_eq!(Dialect::negotiate(asked).version(), answered, "{asked}");
        }
    }
}
