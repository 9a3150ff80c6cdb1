//! Callers that no key of the configuration names: known by a token of an issuer, or by a certificate.

use docent_auth::{Certificates, Fingerprint, Verifier};
use docent_transport::{Certificate, Principal, PrincipalKind};
use std::{sync::Arc, time::SystemTime};

/// Whom to trust about callers. The default is nobody.
#[derive(Debug, Clone, Default)]
pub struct Strangers {
    /// Issuers of tokens.
    pub tokens: Option<Arc<Verifier>>,
    /// Rules for client certificates.
    pub certificates: Option<Arc<Certificates>>,
}

/// Between an issuer and whom it means; no address of an issuer has one.
const MARK: char = '#';

const PREFIX: &str = "oauth:";

impl Strangers {
    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_none() && self.certificates.is_none()
    }

    /// Who a token speaks for, with the issuers' keys that are at hand.
    pub(crate) fn by_token(&self, token: &str) -> Option<Principal> {
        let verified = self.tokens.as_ref()?.verify(token, SystemTime::now());
        let verified = verified
            .inspect_err(|rejected| tracing::debug!(%rejected, "a token was refused"))
            .ok()?;
        let name = format!("{}{}{MARK}{}", PREFIX, verified.issuer, verified.subject);
        let scopes = verified.scopes.into();
        Some(Principal { name: name.into(), scopes, kind: PrincipalKind::Oauth })
    }

    pub(crate) fn by_certificate(&self, certificate: &Certificate) -> Option<Principal> {
        let fingerprint = unhex(&certificate.fingerprint)?;
        let rules = self.certificates.as_ref()?;
        let (name, scopes) = rules.identify(&fingerprint, &certificate.names)?;
        let kind = PrincipalKind::Certificate;
        Some(Principal { name: name.into(), scopes: scopes.into(), kind })
    }

    /// The scopes of the caller's issuer that would open a tool; one of them is enough.
    pub(crate) fn scopes_for(&self, who: &Principal, tool: &str, suite: &str) -> Vec<String> {
        let issuer = who.name.strip_prefix(PREFIX).and_then(|rest| rest.split_once(MARK));
        let Some((issuer, _)) = issuer else { return Vec::new() };
        let tokens = self.tokens.as_ref();
        tokens.map(|tokens| tokens.needed_for(issuer, tool, suite)).unwrap_or_default()
    }
}

fn unhex(text: &str) -> Option<Fingerprint> {
    let mut print = Fingerprint::default();
    if text.len() != 2 * print.len() {
        return None;
    }
    for (at, byte) in print.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(print)
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_auth::{CertificateRule, Match};

    #[test]
    fn certificates_are_known_by_rule() {
        let print = "ab".repeat(32);
        let rule = |name: &str, matches| CertificateRule {
            name: name.into(),
            matches,
            scopes: vec!["code:*".into()],
        };
        let rules = vec![
            rule("exact", Match::Fingerprint(print.clone())),
            rule("builders", Match::Name("*.ci.example.com".into())),
        ];
        let certificates = Some(Arc::new(Certificates::new(rules).unwrap()));
        let strangers = Strangers { tokens: None, certificates };
        for (fingerprint, name, want) in [
            (print.as_str(), "anything", Some("exact")),
            (&"cd".repeat(32), "one.ci.example.com", Some("builders")),
            (&"cd".repeat(32), "ci.example.com", None),
            ("short", "one.ci.example.com", None),
            (&"zz".repeat(32), "one.ci.example.com", None),
        ] {
            let certificate =
                Certificate { fingerprint: fingerprint.to_owned(), names: vec![name.to_owned()] };
            let found = strangers.by_certificate(&certificate);
            assert_eq!(found.as_ref().map(|who| &*who.name), want, "{fingerprint} {name}");
            assert!(found.is_none_or(|who| who.kind == PrincipalKind::Certificate));
        }
    }
}
