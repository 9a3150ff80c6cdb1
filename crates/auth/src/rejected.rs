//! Why a token is refused, in words that may go back to whoever sent it.

/// A refused token. The text is of fixed words in plain ASCII without quotation marks, and has nothing of what the token
/// holds: it goes back in a header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct TokenRejection {
    /// What is wrong.
    pub reason: RejectionReason,
}

/// What is wrong with a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectionReason {
    /// No signed JWT in compact form.
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
    /// More bytes than any token needs.
    #[error("the token is longer than {} bytes", crate::MAX_TOKEN)]
    TooLong,
    /// Encrypted tokens are not read.
    #[error("the token is encrypted; send a signed one")]
    Encrypted,
    /// No key can be had, or those held are due for another look.
    #[error("the issuer's signing keys are not at hand; try again shortly")]
    NoKeys,
    /// No configured issuer has this name.
    #[error("the token's issuer is not trusted here")]
    UnknownIssuer,
    /// The issuer publishes no such key.
    #[error("the issuer has no key that the token names")]
    UnknownKey,
    /// The signature is not the issuer's.
    #[error("the token's signature is wrong")]
    BadSignature,
    /// Past `exp`.
    #[error("the token has expired")]
    Expired,
    /// Before `nbf` or `iat`.
    #[error("the token is not valid yet")]
    NotYet,
    /// Made for another resource.
    #[error("the token's audience is another resource; ask for one for this resource")]
    WrongAudience,
    /// An algorithm that is unknown, not allowed, or not the key's.
    #[error("the token's algorithm is not allowed")]
    BadAlgorithm,
    /// An ID token, a refresh token or another kind.
    #[error("the token is not an access token")]
    WrongType,
    /// Bound to a key whose possession is not shown.
    #[error("the token is bound to a client's key; send a bearer token")]
    Bound,
    /// A claim that must be there is not.
    #[error("the token lacks the claim {0}")]
    MissingClaim(&'static str),
    /// A claim that is there says nothing usable.
    #[error("the token's claim {0} is not accepted")]
    BadClaim(&'static str),
}

impl From<RejectionReason> for TokenRejection {
    fn from(reason: RejectionReason) -> Self {
        Self { reason }
    }
}
