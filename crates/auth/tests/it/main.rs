//! Tokens with real keys, good and forged, and an issuer whose keys change. No test reaches the network.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

mod accepted;
mod attacks;
mod issuer;
mod pyjwt;
mod rotation;
mod signer;
