//! Authenticates callers without a configured key: by a token of an issuer, or by a certificate.

use docent_auth::{CertificateRules, Fingerprint, TokenVerifier};
use docent_transport::{Certificate, Principal, PrincipalKind, TokenGrant};
use std::{sync::Arc, time::SystemTime};

/// Trusted issuers and certificates. The default trusts none.
#[derive(Debug, Clone, Default)]
pub struct ExternalAuth {
    /// Issuers of tokens.
    pub tokens: Option<Arc<TokenVerifier>>,
    /// Rules for client certificates.
    pub certificates: Option<Arc<CertificateRules>>,
}

/// Separates an issuer from a subject; no issuer's URL contains it.
const SUBJECT_SEPARATOR: char = '#';

const OAUTH_PREFIX: &str = "oauth:";

impl ExternalAuth {
    /// Trusts these.
    pub fn new(
        tokens: Option<Arc<TokenVerifier>>,
        certificates: Option<Arc<CertificateRules>>,
    ) -> Self {
        Self { tokens, certificates }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_none() && self.certificates.is_none()
    }

    /// The principal of a token, verified with the cached keys of its issuer.
    pub(crate) fn by_token(&self, token: &str) -> Option<Principal> {
        let verified = self.tokens.as_ref()?.verify(token, SystemTime::now());
        let verified = verified
            .inspect_err(|rejected| tracing::debug!(%rejected, "a token was refused"))
            .ok()?;
        let name: Arc<str> =
            format!("{OAUTH_PREFIX}{}{SUBJECT_SEPARATOR}{}", verified.issuer, verified.subject)
                .into();
        let grant = TokenGrant { scopes: verified.granted.into(), until: verified.expires };
        let kind = PrincipalKind::Oauth;
        Some(Principal { name, scopes: verified.scopes.into(), kind, grant: Some(grant) })
    }

    /// Why a token was rejected, in words that are safe to send to the client.
    pub(crate) fn why_refused(&self, token: &str) -> Option<String> {
        let verified = self.tokens.as_ref()?.verify(token, SystemTime::now());
        verified.err().map(|rejected| rejected.to_string())
    }

    /// What a principal authenticated earlier may do now: nothing once the token has expired, or its issuer or rule was
    /// removed; otherwise what the token's scopes grant now.
    pub(crate) fn current(&self, principal: Principal) -> Principal {
        let scopes = match principal.kind {
            PrincipalKind::Oauth => self.opened_to(&principal),
            PrincipalKind::Certificate => self
                .certificates
                .as_ref()
                .and_then(|rules| Some(Arc::from(rules.scopes_of(&principal.name)?))),
            PrincipalKind::Anonymous | PrincipalKind::Key => return principal,
        };
        Principal { scopes: scopes.unwrap_or_else(|| Arc::from([])), ..principal }
    }

    fn opened_to(&self, who: &Principal) -> Option<Arc<[String]>> {
        let grant = who.grant.as_ref().filter(|grant| SystemTime::now() < grant.until)?;
        let opened = self.tokens.as_ref()?.opened_by(issuer_of(who)?, &grant.scopes)?;
        Some(opened.into())
    }

    pub(crate) fn by_certificate(&self, certificate: &Certificate) -> Option<Principal> {
        let fingerprint = unhex(&certificate.fingerprint)?;
        let rules = self.certificates.as_ref()?;
        let (name, scopes) = rules.identify(&fingerprint, &certificate.names)?;
        let kind = PrincipalKind::Certificate;
        Some(Principal { name: name.into(), scopes: scopes.into(), kind, grant: None })
    }

    /// The narrowest scope of the caller's issuer that would grant a tool. Without one there is no scope to request,
    /// and the call is refused like others.
    pub(crate) fn scope_for(&self, who: &Principal, tool: &str, suite: &str) -> Option<String> {
        self.tokens.as_ref()?.needed_for(issuer_of(who)?, tool, suite).into_iter().next()
    }
}

fn issuer_of(who: &Principal) -> Option<&str> {
    Some(who.name.strip_prefix(OAUTH_PREFIX)?.split_once(SUBJECT_SEPARATOR)?.0)
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
    use docent_auth::{
        CertificateMatch, CertificateRule, DocumentFetchError, DocumentFetcher, FetchedDocument,
        IssuerSettings, ScopeMap, TrustedIssuer,
    };
    use std::{collections::BTreeMap, time::Duration};

    #[test]
    fn certificates_are_identified_by_rule() {
        let print = "ab".repeat(32);
        let rule = |name: &str, matches| CertificateRule {
            name: name.into(),
            matches,
            scopes: vec!["code:*".into()],
        };
        let rules = vec![
            rule("exact", CertificateMatch::Fingerprint(print.clone())),
            rule("builders", CertificateMatch::Name("*.ci.example.com".into())),
        ];
        let certificates = Some(Arc::new(CertificateRules::new(rules).unwrap()));
        let strangers = ExternalAuth { certificates, ..ExternalAuth::default() };
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
        let who = |name: &str, kind| Principal {
            name: name.into(),
            scopes: Arc::from(["*".to_owned()]),
            kind,
            grant: None,
        };
        let scopes = |name, kind| strangers.current(who(name, kind)).scopes.to_vec();
        assert_eq!(scopes("exact", PrincipalKind::Certificate), ["code:*"]);
        assert!(scopes("dismissed", PrincipalKind::Certificate).is_empty());
        assert!(scopes("oauth:https://gone.example#ann", PrincipalKind::Oauth).is_empty());
        assert_eq!(scopes("ann", PrincipalKind::Key), ["*"]);
    }

    struct UnreachableIssuer;

    impl DocumentFetcher for UnreachableIssuer {
        fn get(&self, _: &str) -> Result<FetchedDocument, DocumentFetchError> {
            Err(DocumentFetchError::new("no answer"))
        }
    }

    const ISSUER: &str = "https://login.example.com/";

    /// An issuer whose scope `read` grants this.
    fn opening(own: &str) -> ExternalAuth {
        let opens = BTreeMap::from([("read".to_owned(), vec![own.to_owned()])]);
        let mut settings = IssuerSettings::new(ISSUER, vec!["docent".into()]);
        settings.scopes = ScopeMap::new(opens, false).unwrap();
        let issuers = vec![TrustedIssuer::check(settings).unwrap()];
        ExternalAuth::new(
            Some(Arc::new(TokenVerifier::new(issuers, Arc::new(UnreachableIssuer)).unwrap())),
            None,
        )
    }

    /// A principal whose token has the scope `read` until then, and had all scopes when it was presented.
    fn ann(until: Option<SystemTime>) -> Principal {
        let grant = until.map(|until| TokenGrant { scopes: Arc::from(["read".to_owned()]), until });
        let (scopes, kind) = (Arc::from(["*".to_owned()]), PrincipalKind::Oauth);
        Principal { name: format!("oauth:{ISSUER}#ann").into(), scopes, kind, grant }
    }

    #[test]
    fn an_expired_token_grants_nothing() {
        let strangers = opening("*");
        let opens = |until| !strangers.current(ann(until)).scopes.is_empty();
        let now = SystemTime::now();
        let hour = Duration::from_hours(1);
        // Two tokens of one subject: neither affects the other.
        for _ in 0..2 {
            assert!(opens(now.checked_add(hour)));
            assert!(!opens(now.checked_sub(hour)));
            assert!(!opens(None));
        }
    }

    #[test]
    fn a_token_grants_what_its_scopes_grant_now() {
        let until = SystemTime::now().checked_add(Duration::from_hours(1));
        for own in ["docs:*", "*"] {
            let strangers = opening(own);
            let once = strangers.current(ann(until));
            assert_eq!(once.scopes.to_vec(), [own]);
            assert_eq!(strangers.current(once.clone()), once);
        }
        assert!(ExternalAuth::default().current(ann(until)).scopes.is_empty());
    }

    #[test]
    fn a_rejection_has_the_reason_of_the_auth_crate() {
        let why = opening("*").why_refused("not-a-token");
        assert_eq!(
            why.as_deref(),
            Some("the token is malformed: expected three dot-separated parts")
        );
        assert_eq!(ExternalAuth::default().why_refused("not-a-token"), None);
    }
}
