//! The network policy: only hosts listed in the configuration may be reached.

use crate::{address::AddressClass, refusal::FetchRefusal};
use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};
use url::{Host, Url};

/// Ports allowed by a rule without a port.
const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// The hosts that may be reached. Nothing is allowed without a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// One that matches is enough.
    pub hosts: Vec<HostRule>,
    /// Where the rules are set, for messages that say how to add one.
    pub setting: PolicySetting,
}

/// Where the operator configures the hosts of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicySetting {
    /// A configuration file, with its path as shown in messages.
    File(String),
    /// An environment variable.
    Variable(String),
}

impl Default for PolicySetting {
    fn default() -> Self {
        Self::File("~/.config/docent/docent.toml".to_owned())
    }
}

impl fmt::Display for PolicySetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.write_str(path),
            Self::Variable(name) => write!(f, "the environment variable {name}"),
        }
    }
}

/// A host, or all its subdomains, at one port or the default ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    host: HostPattern,
    port: Option<u16>,
    private: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Name(String),
    /// Subdomains of this name, but not the name itself.
    Under(String),
    Address(IpAddr),
}

/// An invalid rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid host rule {rule:?}: {reason}")]
pub struct BadRule {
    /// The rule as written.
    pub rule: String,
    /// What is wrong, and what to write instead.
    pub reason: String,
}

/// Access that the policy grants to a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccessGrant {
    /// Host without trailing dot or brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The IP address in the URL, if it is not a name.
    pub(crate) address: Option<IpAddr>,
    /// Whether the name may resolve to private addresses.
    pub(crate) private: bool,
    /// Where the policy is configured.
    pub(crate) setting: PolicySetting,
}

impl HostRule {
    /// Parses a rule such as `docs.example.com`, `*.example.com`, `example.com:8080`, `127.0.0.1:9000` or `[::1]:9000`.
    pub fn parse(rule: &str) -> Result<Self, BadRule> {
        let bad = |reason: &str| BadRule { rule: rule.to_owned(), reason: reason.to_owned() };
        let text = rule.trim();
        if text.is_empty() {
            return Err(bad("it is empty; write a host such as docs.example.com"));
        }
        if text.contains(['/', '?', '#', '@']) || text.contains(char::is_whitespace) {
            return Err(bad("write only the host, such as docs.example.com or localhost:8080"));
        }
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            // `::1:8080` is a valid address of another machine, but hardly ever intended.
            if let Ok((before, Some(port))) = split(text)
                && before.parse::<Ipv6Addr>().is_ok()
            {
                let reason = "ambiguous: it may be an address with or without a port";
                return Err(bad(&format!(
                    "{reason}; write it in brackets: [{before}]:{port} or [{text}]"
                )));
            }
            return Self::at(IpAddr::V6(address), None).map_err(|reason| bad(&reason));
        }
        let (host, port) = split(text).map_err(bad)?;
        if let Some(inside) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let address =
                inside.parse().map_err(|_| bad("the text in brackets is not an IPv6 address"))?;
            return Self::at(IpAddr::V6(address), port).map_err(|reason| bad(&reason));
        }
        let (name, below) = host.strip_prefix("*.").map_or((host, false), |name| (name, true));
        if name.contains('*') {
            return Err(bad("`*` is allowed only at the start, as in *.example.com"));
        }
        let name = name.strip_suffix('.').unwrap_or(name);
        match Host::parse(name).map_err(|error| bad(&error.to_string()))? {
            Host::Ipv4(address) if below || address.to_string() != name => {
                Err(bad(&format!("write the address as {address}")))
            }
            Host::Ipv4(address) => Self::at(IpAddr::V4(address), port).map_err(|text| bad(&text)),
            Host::Ipv6(_) => Err(bad("write an IPv6 address in brackets")),
            Host::Domain(name) if below && !name.contains('.') => {
                Err(bad(&format!("it would allow all of .{name}; write *.example.{name}")))
            }
            Host::Domain(name) if below => {
                Ok(Self::new(HostPattern::Under(format!(".{name}")), port))
            }
            Host::Domain(name) => Ok(Self::new(HostPattern::Name(name), port)),
        }
    }

    fn at(address: IpAddr, port: Option<u16>) -> Result<Self, String> {
        let class = AddressClass::of(address);
        if !class.is_a_place() {
            return Err(format!("{address} is {class}: no single machine has it"));
        }
        Ok(Self::new(HostPattern::Address(address), port))
    }

    const fn new(host: HostPattern, port: Option<u16>) -> Self {
        Self { host, port, private: false }
    }

    /// Allows the name to resolve to this machine or its network. Link-local addresses stay refused.
    #[must_use]
    pub fn with_private(mut self) -> Self {
        self.private = true;
        self
    }

    fn matches(&self, host: &Host<String>, port: u16) -> bool {
        let named = match (&self.host, host) {
            (HostPattern::Name(rule), Host::Domain(name)) => rule == name,
            (HostPattern::Under(rule), Host::Domain(name)) => {
                name.len() > rule.len() && name.ends_with(rule.as_str())
            }
            (HostPattern::Address(rule), Host::Ipv4(address)) => *rule == IpAddr::V4(*address),
            (HostPattern::Address(rule), Host::Ipv6(address)) => *rule == IpAddr::V6(*address),
            _ => false,
        };
        named && self.port.map_or_else(|| DEFAULT_PORTS.contains(&port), |rule| rule == port)
    }
}

/// Splits a rule into host and optional port.
fn split(text: &str) -> Result<(&str, Option<u16>), &'static str> {
    let Some((host, port)) = text.rsplit_once(':').filter(|(_, after)| !after.ends_with(']'))
    else {
        return Ok((text, None));
    };
    match port.parse() {
        Ok(0) | Err(_) => Err("the port after the colon must be from 1 to 65535"),
        Ok(port) if port.to_string().len() == text.len() - host.len() - 1 => Ok((host, Some(port))),
        Ok(_) => Err("write the port in digits only, without leading zeros"),
    }
}

impl NetworkPolicy {
    /// Parses the rules of a configuration.
    pub fn parse<'a>(rules: impl IntoIterator<Item = &'a str>) -> Result<Self, BadRule> {
        let hosts = rules.into_iter().map(HostRule::parse).collect::<Result<_, _>>()?;
        Ok(Self { hosts, ..Self::default() })
    }

    /// Every port allowed by a rule, without duplicates.
    pub fn ports(&self) -> Vec<u16> {
        let of = |rule: &HostRule| rule.port.map_or(DEFAULT_PORTS.to_vec(), |port| vec![port]);
        let mut ports: Vec<u16> = self.hosts.iter().flat_map(of).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Checks whether a URL may be fetched, before its host is resolved.
    pub fn check(&self, url: &Url) -> Result<(), FetchRefusal> {
        self.permit(url).map(|_| ())
    }

    pub(crate) fn permit(&self, url: &Url) -> Result<AccessGrant, FetchRefusal> {
        let scheme = || FetchRefusal::Scheme { url: url.to_string() };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(FetchRefusal::Scheme { url: format!("{}:", url.scheme()) });
        }
        let port = url.port_or_known_default().ok_or_else(scheme)?;
        let mut host = url.host().ok_or_else(scheme)?.to_owned();
        if let Host::Domain(name) = &mut host
            && name.ends_with('.')
        {
            name.pop();
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FetchRefusal::Credentials { host: host.to_string() });
        }
        let matching = || self.hosts.iter().filter(|rule| rule.matches(&host, port));
        if matching().next().is_none() {
            let suffix =
                if DEFAULT_PORTS.contains(&port) { String::new() } else { format!(":{port}") };
            let (host, setting) = (format!("{host}{suffix}"), self.setting.clone());
            return Err(FetchRefusal::NotNamed { host, setting });
        }
        let address = match host {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
        };
        let private = matching().any(|rule| rule.private);
        let setting = self.setting.clone();
        Ok(AccessGrant { host: host.to_string(), port, address, private, setting })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_syntax::parse_url;

    fn check(rules: &[&str], url: &str, want: Result<(), &str>) {
        let policy = NetworkPolicy::parse(rules.iter().copied()).unwrap();
        let read = parse_url(url).map_err(|error| error.to_string());
        let got = read.and_then(|url| policy.check(&url).map_err(|error| error.to_string()));
        match (&got, want) {
            (Ok(()), Ok(())) => {}
            (Err(text), Err(part)) if text.contains(part) => {}
            _ => panic!("{rules:?} and {url}: {got:?}, not {want:?}"),
        }
    }

    #[test]
    fn only_what_is_named_is_allowed() {
        let not_named = "does not allow";
        let named = &["docs.example.com", "*.example.org", "example.net:8080"][..];
        for (rules, url, want) in [
            (&[][..], "https://docs.example.com/", Err(not_named)),
            (named, "https://docs.example.com/a", Ok(())),
            (named, "http://DOCS.example.com./a", Ok(())),
            (named, "https://example.com/", Err(not_named)),
            (named, "https://a.docs.example.com/", Err(not_named)),
            (named, "https://docs.example.com.evil.test/", Err(not_named)),
            (named, "https://docs.example.com:8443/", Err("allow docs.example.com:8443; add it")),
            (named, "https://a.example.org/", Ok(())),
            (named, "https://b.a.example.org/", Ok(())),
            (named, "https://example.org/", Err(not_named)),
            (named, "https://evilexample.org/", Err(not_named)),
            (named, "http://example.net:8080/", Ok(())),
            (named, "http://example.net/", Err("allow example.net; add it")),
            (named, "ftp://docs.example.com/", Err("only http and https")),
            (named, "file:///etc/passwd", Err("only http and https")),
            (named, "https://me@docs.example.com/", Err("user or password")),
            (named, "https://:secret@docs.example.com/", Err("user or password")),
            (&["127.0.0.1"], "http://0x7f.1/", Err("write it as 127.0.0.1")),
            (&["127.0.0.1"], "http://2130706433/", Err("write it as 127.0.0.1")),
            (named, "http://017700000001/", Err("write it as 127.0.0.1")),
            (named, "http://127.0.0.1/", Err("allow 127.0.0.1; add it")),
            (&["127.0.0.1"], "http://[::ffff:127.0.0.1]/", Err(not_named)),
            (&["127.0.0.1:9000"], "http://127.0.0.1:9000/", Ok(())),
            (&["127.0.0.1:9000"], "http://127.0.0.1:9001/", Err("allow 127.0.0.1:9001; add it")),
            (&["::1"], "http://[::1]/", Ok(())),
            (&["[::1]:90"], "http://[0:0::1]:90/", Ok(())),
            (&["[::1:90]"], "http://[::1:90]/", Ok(())),
            (&["fd00::1:a0"], "http://[fd00::1:a0]/", Ok(())),
            (&["fd00:0:0:0:0:0:0:90"], "http://[fd00::90]/", Ok(())),
            (&["bücher.example"], "https://xn--bcher-kva.example/", Ok(())),
        ] {
            check(rules, url, want);
        }
    }

    #[test]
    fn a_password_is_never_repeated() {
        let policy = NetworkPolicy::parse(["a.test"]).unwrap();
        let message = policy.check(&Url::parse("https://u:hunter2@a.test/").unwrap()).unwrap_err();
        assert!(!format!("{message} {message:?}").contains("hunter2"));
    }

    #[test]
    fn rules_that_name_no_host_say_what_to_write() {
        for (rule, want) in [
            ("", "it is empty"),
            ("  ", "it is empty"),
            ("https://docs.example.com", "write only the host"),
            ("docs.example.com/guide", "write only the host"),
            ("me@docs.example.com", "write only the host"),
            ("a b", "write only the host"),
            ("*", "only at the start"),
            ("*.*.com", "only at the start"),
            ("docs.*.com", "only at the start"),
            ("*.com", "all of .com"),
            ("*.127.0.0.1", "write the address as 127.0.0.1"),
            ("0x7f.1", "write the address as 127.0.0.1"),
            ("a.test:0", "from 1 to 65535"),
            ("a.test:", "from 1 to 65535"),
            ("a.test:65536", "from 1 to 65535"),
            ("a.test:+80", "digits only"),
            ("a.test:080", "digits only"),
            ("0.0.0.0", "no single machine has it"),
            ("224.0.0.1", "no single machine has it"),
            ("[::]:80", "no single machine has it"),
            ("[1:2]", "not an IPv6 address"),
            ("::1:8080", "in brackets: [::1]:8080 or [::1:8080]"),
            ("fd00::5:1", "in brackets: [fd00::5]:1 or [fd00::5:1]"),
            ("a%00b", "invalid"),
        ] {
            let message = HostRule::parse(rule).unwrap_err().to_string();
            assert!(message.contains(want), "{rule}: {message}");
            assert!(message.contains(&format!("{rule:?}")), "{message}");
        }
    }
}
