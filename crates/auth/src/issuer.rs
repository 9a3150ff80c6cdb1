//! Settings of an issuer: as configured, and validated.

use crate::{algorithm::Algorithm, scope::ScopeMap};
use std::time::Duration;
use url::{Host, Url};

/// Maximum clock difference. Clocks that differ by more should be synchronized.
const MAX_LEEWAY: Duration = Duration::from_mins(5);

/// An issuer as the configuration has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerSettings {
    /// The issuer's URL, letter for letter as its tokens have it in `iss`.
    pub issuer: String,
    /// Names of this resource, one of which a token's `aud` must have. A final slash doesn't count.
    pub audiences: Vec<String>,
    /// The URL of the keys. Found through the issuer's metadata if not set.
    pub jwks_uri: Option<String>,
    /// Accepted signature algorithms.
    pub algorithms: Vec<Algorithm>,
    /// Maximum clock difference.
    pub leeway: Duration,
    /// What the issuer's scopes grant.
    pub scopes: ScopeMap,
    /// Accept only tokens whose `typ` is `at+jwt`, as RFC 9068 requires. Many issuers write `JWT` or nothing.
    pub typed_only: bool,
}

impl IssuerSettings {
    /// An issuer with default settings.
    pub fn new(issuer: impl Into<String>, audiences: Vec<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audiences,
            jwks_uri: None,
            algorithms: Algorithm::ALL.to_vec(),
            leeway: Duration::from_mins(1),
            scopes: ScopeMap::default(),
            typed_only: false,
        }
    }
}

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{setting}`: {reason}")]
pub struct IssuerSettingError {
    /// The setting's name.
    pub setting: String,
    /// What is wrong, and how to fix it.
    pub reason: String,
}

impl IssuerSettingError {
    pub(crate) fn new(setting: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { setting: setting.into(), reason: reason.into() }
    }
}

/// An issuer with validated settings.
#[derive(Debug, Clone)]
pub struct TrustedIssuer {
    pub(crate) settings: IssuerSettings,
    pub(crate) url: Url,
}

impl TrustedIssuer {
    /// Validates settings; the only constructor.
    pub fn check(mut settings: IssuerSettings) -> Result<Self, IssuerSettingError> {
        let url =
            endpoint(&settings.issuer).filter(|url| url.query().is_none()).ok_or_else(|| {
                IssuerSettingError::new(
                    "issuer",
                    format!("{:?} {BAD_ENDPOINT_MESSAGE}", settings.issuer),
                )
            })?;
        settings.audiences.iter_mut().for_each(|audience| *audience = plain(audience).to_owned());
        if settings.audiences.is_empty() || settings.audiences.iter().any(String::is_empty) {
            let reason = "name this resource, such as \"https://docent.example.com/mcp\"; \
                a token for another resource must not open this one";
            return Err(IssuerSettingError::new("audiences", reason));
        }
        if settings.algorithms.is_empty() {
            return Err(IssuerSettingError::new(
                "algorithms",
                "allow at least one, such as \"RS256\"",
            ));
        }
        if settings.leeway > MAX_LEEWAY {
            return Err(IssuerSettingError::new(
                "leeway",
                "must be at most five minutes; synchronize the clocks",
            ));
        }
        let issuer = Self { settings, url };
        match &issuer.settings.jwks_uri {
            Some(uri) if !issuer.may_publish_at(uri) => {
                Err(IssuerSettingError::new("jwks_uri", format!("{uri:?} {BAD_ENDPOINT_MESSAGE}")))
            }
            _ => Ok(issuer),
        }
    }

    /// The issuer as tokens name it in `iss`.
    pub fn name(&self) -> &str {
        &self.settings.issuer
    }

    /// What its scopes grant.
    pub const fn scopes(&self) -> &ScopeMap {
        &self.settings.scopes
    }

    /// Whether the issuer may publish its keys at this URL. An issuer reached over https must not point to http.
    pub(crate) fn may_publish_at(&self, uri: &str) -> bool {
        endpoint(uri).is_some_and(|uri| uri.scheme() == "https" || self.url.scheme() == "http")
    }
}

const BAD_ENDPOINT_MESSAGE: &str = "must be an https URL without user, query and fragment; \
    http is allowed only for an issuer on this machine, such as http://127.0.0.1:9000";

/// A URL that cannot be read or changed in transit.
fn endpoint(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let here = match url.host()? {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    let safe = url.scheme() == "https" || (url.scheme() == "http" && here);
    let bare = url.username().is_empty() && url.password().is_none() && url.fragment().is_none();
    // The parser tolerates spaces and line ends; an issuer's name is compared verbatim.
    let clean = text.bytes().all(|byte| byte.is_ascii_graphic());
    (safe && bare && clean).then_some(url)
}

/// An audience without its trailing slash.
pub(crate) fn plain(audience: &str) -> &str {
    audience.strip_suffix('/').unwrap_or(audience)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(change: impl FnOnce(&mut IssuerSettings), wrong: Option<&str>) {
        let audiences = vec!["https://docent.example.com/mcp".to_owned()];
        let mut settings = IssuerSettings::new("https://login.example.com/team", audiences);
        change(&mut settings);
        let text = format!("{settings:?}");
        let got = TrustedIssuer::check(settings).err().map(|error| error.setting);
        assert_eq!(got.as_deref(), wrong, "{text}");
    }

    #[test]
    fn settings() {
        check(|_| (), None);
        for issuer in [
            "http://127.0.0.1:9000",
            "http://[::1]:9000/a",
            "http://localhost/",
            "https://a.example/",
        ] {
            check(|settings| settings.issuer = issuer.to_owned(), None);
        }
        for issuer in [
            "",
            "login.example.com",
            "http://login.example.com",
            "http://localhost.example.com",
            "http://127.0.0.1.example.com",
            "https://user@login.example.com",
            "https://:secret@login.example.com",
            "https://login.example.com?tenant=a",
            "https://login.example.com#a",
            "https://login.example.com/\n",
            " https://login.example.com/",
            "file:///etc/passwd",
        ] {
            check(|settings| settings.issuer = issuer.to_owned(), Some("issuer"));
        }
        check(|settings| settings.audiences.clear(), Some("audiences"));
        check(|settings| settings.audiences.push("/".to_owned()), Some("audiences"));
        check(|settings| settings.algorithms.clear(), Some("algorithms"));
        check(|settings| settings.leeway = Duration::from_hours(1), Some("leeway"));
        check(|settings| settings.jwks_uri = Some("https://keys.example.net/k?a=b".into()), None);
        for uri in ["http://127.0.0.1/k", "http://keys.example.net/k", "k"] {
            check(|settings| settings.jwks_uri = Some(uri.to_owned()), Some("jwks_uri"));
        }
    }
}
