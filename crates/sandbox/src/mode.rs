//! How strictly the sandbox is required.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// What to do with a control that the kernel does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfinementMode {
    /// Nothing is applied.
    Off,
    /// Every supported control is applied, and the others are reported.
    #[default]
    Auto,
    /// An unsupported control is an error, before anything is applied.
    Strict,
}

/// An unknown mode.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown sandbox mode {0:?}; write off, auto or strict")]
pub struct UnknownMode(String);

impl FromStr for ConfinementMode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        match word {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            "strict" => Ok(Self::Strict),
            _ => Err(UnknownMode(word.to_owned())),
        }
    }
}

impl fmt::Display for ConfinementMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::Strict => "strict",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_is_read_as_it_is_written() {
        for mode in [ConfinementMode::Off, ConfinementMode::Auto, ConfinementMode::Strict] {
            assert_eq!(mode.to_string().parse(), Ok(mode));
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.to_string());
        }
        for word in ["", "Strict", "STRICT", "on", " strict", "strict\n", "\u{0}"] {
            let refused = word.parse::<ConfinementMode>().unwrap_err();
            assert!(refused.to_string().ends_with("write off, auto or strict"), "{refused}");
        }
    }
}
