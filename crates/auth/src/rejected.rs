//! Why a token is rejected, in words that are safe to send back to the client.

/// A rejected token. The text consists of fixed words in plain ASCII without quotation marks, and nothing from the
/// token: it is sent in a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct TokenRejection {
    /// The reason.
    pub reason: RejectionReason,
}

/// Reasons to reject a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectionReason {
    /// Not a signed JWT in compact form.
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
    /// Longer than any valid token.
    #[error("the token is longer than {} bytes", crate::MAX_TOKEN_BYTES)]
    TooLong,
    /// Encrypted tokens are not supported.
    #[error("the token is encrypted; send a signed one")]
    Encrypted,
    /// No keys are available, or the cached ones are due for a refresh.
    #[error("the issuer's signing keys are not available yet; try again shortly")]
    NoKeys,
    /// The issuer is not configured.
    #[error("the token's issuer is not trusted here")]
    UnknownIssuer,
    /// The issuer does not publish this key.
    #[error("the issuer has no key with the token's key id")]
    UnknownKey,
    /// The signature was not made by the issuer.
    #[error("the token's signature is invalid")]
    BadSignature,
    /// After `exp`.
    #[error("the token has expired")]
    Expired,
    /// Before `nbf` or `iat`.
    #[error("the token is not valid yet")]
    NotYet,
    /// Made for another resource.
    #[error("the token's audience is another resource; ask for one for this resource")]
    WrongAudience,
    /// An algorithm that is unknown, not allowed, or not that of the key.
    #[error("the token's algorithm is not allowed")]
    BadAlgorithm,
    /// An ID token, a refresh token or another kind.
    #[error("the token is not an access token")]
    WrongType,
    /// Bound to a key whose possession is not proven.
    #[error("the token is bound to a client's key; send a bearer token")]
    Bound,
    /// A required claim is missing.
    #[error("the token lacks the claim {0}")]
    MissingClaim(&'static str),
    /// A claim has an unusable value.
    #[error("the token's claim {0} is not accepted")]
    BadClaim(&'static str),
}

impl From<RejectionReason> for TokenRejection {
    fn from(reason: RejectionReason) -> Self {
        Self { reason }
    }
}
