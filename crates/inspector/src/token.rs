//! The token of one launch: it proves that its holder started docent.

use std::fmt::{self, Write as _};
use subtle::ConstantTimeEq as _;

/// 256 random bits, in hexadecimal.
#[derive(Clone)]
pub struct InspectorToken(String);

impl InspectorToken {
    /// Creates a new token. Fails if the system has no randomness.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut random = [0_u8; 32];
        getrandom::fill(&mut random)?;
        let mut text = String::with_capacity(64);
        for byte in random {
            // Writing to a string can't fail.
            write!(text, "{byte:02x}").unwrap_or_default();
        }
        Ok(Self(text))
    }

    /// The token as it appears in a URL.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the text is this token, compared in constant time.
    pub(crate) fn is(&self, offered: &str) -> bool {
        bool::from(self.0.as_bytes().ct_eq(offered.as_bytes()))
    }
}

impl fmt::Debug for InspectorToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never printed, not even in logs.
        f.write_str("InspectorToken(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_alone_and_is_not_printed() {
        let (one, other) = (InspectorToken::new().unwrap(), InspectorToken::new().unwrap());
        assert_eq!(one.expose().len(), 64);
        assert!(one.is(one.expose()) && !one.is(other.expose()) && !one.is(""));
        assert!(!format!("{one:?}").contains(one.expose()));
    }
}
