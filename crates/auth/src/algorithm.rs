//! The signature algorithms that a token may use. All are asymmetric: `none` and shared secrets are not supported.

use std::fmt;

/// A signature algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// RSA with PKCS #1 v1.5 padding and SHA-256.
    Rs256,
    /// RSA with PSS padding and SHA-256.
    Ps256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// Every supported algorithm, and the default set that an issuer may use.
    pub const ALL: [Self; 5] = [Self::Rs256, Self::Ps256, Self::Es256, Self::Es384, Self::EdDsa];

    /// Parses the name in a header, a key or the configuration. Case matters (RFC 7515, section 4.1.1).
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "PS256" => Some(Self::Ps256),
            "ES256" => Some(Self::Es256),
            "ES384" => Some(Self::Es384),
            // RFC 9864 gives the curve its own name.
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            _ => None,
        }
    }

    /// The name in a header.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Ps256 => "PS256",
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::parse(algorithm.name()), Some(algorithm));
        }
        for refused in ["none", "None", "NONE", "", "HS256", "HS384", "HS512", "rs256", "RS256 "] {
            assert_eq!(Algorithm::parse(refused), None, "{refused}");
        }
        for unheld in ["RS512", "ES512", "ES256K", "Ed448", "RSA-OAEP", "dir"] {
            assert_eq!(Algorithm::parse(unheld), None, "{unheld}");
        }
    }
}
