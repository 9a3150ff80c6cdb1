//! Which hosts may be reached: what the configuration names, and nothing else.

use crate::{address::AddressClass, refusal::FetchRefusal};
use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};
use url::{Host, Url};

/// Ports that a rule without a port allows.
const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// Which hosts may be reached. Nothing is allowed unless a rule names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NetworkPolicy {
    /// One that matches is enough.
    pub hosts: Vec<HostRule>,
    /// Where the rules are set, for messages that say how to add one.
    pub setting: PolicySetting,
}

/// Where the operator names the hosts of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicySetting {
    /// A configuration file, as messages show its path.
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

/// A host, or all below a name, at one port or at the usual ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRule {
    host: HostPattern,
    port: Option<u16>,
    private: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Name(String),
    /// Below this name, which is not meant itself.
    Under(String),
    Address(IpAddr),
}

/// Why a rule can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule:?} names no host: {reason}")]
pub struct BadRule {
    /// As it was written.
    pub rule: String,
    /// What is wrong, and what to write.
    pub reason: String,
}

/// What the policy lets a URL do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AccessGrant {
    /// Without a final dot and brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What the URL itself says, where it is no name.
    pub(crate) address: Option<IpAddr>,
    /// Whether the name may lead inside.
    pub(crate) private: bool,
    /// Where the rule is set.
    pub(crate) setting: PolicySetting,
}

impl HostRule {
    /// Reads a rule such as `docs.example.com`, `*.example.com`, `example.com:8080`, `127.0.0.1:9000` or `[::1]:9000`.
    pub fn parse(rule: &str) -> Result<Self, BadRule> {
        let bad = |reason: &str| BadRule { rule: rule.to_owned(), reason: reason.to_owned() };
        let text = rule.trim();
        if text.is_empty() {
            return Err(bad("it is empty; write a host such as docs.example.com"));
        }
        if text.contains(['/', '?', '#', '@']) || text.contains(char::is_whitespace) {
            return Err(bad("write the host alone, such as docs.example.com or localhost:8080"));
        }
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            // `::1:8080` is an address of another machine, and hardly ever meant as that.
            if let Ok((before, Some(port))) = split(text)
                && before.parse::<Ipv6Addr>().is_ok()
            {
                let reason = "it may be an address with a port or one without";
                return Err(bad(&format!(
                    "{reason}; write it in brackets: [{before}]:{port} or [{text}]"
                )));
            }
            return Self::at(IpAddr::V6(address), None).map_err(|reason| bad(&reason));
        }
        let (host, port) = split(text).map_err(bad)?;
        if let Some(inside) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let address = inside.parse().map_err(|_| bad("the brackets hold no IPv6 address"))?;
            return Self::at(IpAddr::V6(address), port).map_err(|reason| bad(&reason));
        }
        let (name, below) = host.strip_prefix("*.").map_or((host, false), |name| (name, true));
        if name.contains('*') {
            return Err(bad("a star stands only at the front, as in *.example.com"));
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
            Host::Domain(name) if below => Ok(Self::new(HostPattern::Under(format!(".{name}")), port)),
            Host::Domain(name) => Ok(Self::new(HostPattern::Name(name), port)),
        }
    }

    fn at(address: IpAddr, port: Option<u16>) -> Result<Self, String> {
        let class = AddressClass::of(address);
        if !class.is_a_place() {
            return Err(format!("{address} is {class}: no machine has it"));
        }
        Ok(Self::new(HostPattern::Address(address), port))
    }

    const fn new(host: HostPattern, port: Option<u16>) -> Self {
        Self { host, port, private: false }
    }

    /// Lets the name lead to this machine or into its network. Link-local addresses stay refused.
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

/// The host and the port of a rule, as far as it has one.
fn split(text: &str) -> Result<(&str, Option<u16>), &'static str> {
    let Some((host, port)) = text.rsplit_once(':').filter(|(_, after)| !after.ends_with(']'))
    else {
        return Ok((text, None));
    };
    match port.parse() {
        Ok(0) | Err(_) => Err("after the colon stands a port, from 1 to 65535"),
        Ok(port) if port.to_string().len() == text.len() - host.len() - 1 => Ok((host, Some(port))),
        Ok(_) => Err("a port is written in digits alone, without zeros before them"),
    }
}

impl NetworkPolicy {
    /// Reads rules as the configuration has them.
    pub fn parse<'a>(rules: impl IntoIterator<Item = &'a str>) -> Result<Self, BadRule> {
        let hosts = rules.into_iter().map(HostRule::parse).collect::<Result<_, _>>()?;
        Ok(Self { hosts, ..Self::default() })
    }

    /// Every port that a rule allows, each once.
    pub fn ports(&self) -> Vec<u16> {
        let of = |rule: &HostRule| rule.port.map_or(DEFAULT_PORTS.to_vec(), |port| vec![port]);
        let mut ports: Vec<u16> = self.hosts.iter().flat_map(of).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }

    /// Whether a URL may be fetched, as far as that can be told without looking its host up.
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
        let not_named = "does not name";
        let named = &["docs.example.com", "*.example.org", "example.net:8080"][..];
        for (rules, url, want) in [
            (&[][..], "https://docs.example.com/", Err(not_named)),
            (named, "https://docs.example.com/a", Ok(())),
            (named, "http://DOCS.example.com./a", Ok(())),
            (named, "https://example.com/", Err(not_named)),
            (named, "https://a.docs.example.com/", Err(not_named)),
            (named, "https://docs.example.com.evil.test/", Err(not_named)),
            (named, "https://docs.example.com:8443/", Err("name docs.example.com:8443; add it")),
            (named, "https://a.example.org/", Ok(())),
            (named, "https://b.a.example.org/", Ok(())),
            (named, "https://example.org/", Err(not_named)),
            (named, "https://evilexample.org/", Err(not_named)),
            (named, "http://example.net:8080/", Ok(())),
            (named, "http://example.net/", Err("name example.net; add it")),
            (named, "ftp://docs.example.com/", Err("only http and https")),
            (named, "file:///etc/passwd", Err("only http and https")),
            (named, "https://me@docs.example.com/", Err("user or a password")),
            (named, "https://:secret@docs.example.com/", Err("user or a password")),
            (&["127.0.0.1"], "http://0x7f.1/", Err("write it plainly, as 127.0.0.1")),
            (&["127.0.0.1"], "http://2130706433/", Err("write it plainly, as 127.0.0.1")),
            (named, "http://017700000001/", Err("write it plainly, as 127.0.0.1")),
            (named, "http://127.0.0.1/", Err("name 127.0.0.1; add it")),
            (&["127.0.0.1"], "http://[::ffff:127.0.0.1]/", Err(not_named)),
            (&["127.0.0.1:9000"], "http://127.0.0.1:9000/", Ok(())),
            (&["127.0.0.1:9000"], "http://127.0.0.1:9001/", Err("name 127.0.0.1:9001; add it")),
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
        let told = policy.check(&Url::parse("https://u:hunter2@a.test/").unwrap()).unwrap_err();
        assert!(!format!("{told} {told:?}").contains("hunter2"));
    }

    #[test]
    fn rules_that_name_no_host_say_what_to_write() {
        for (rule, want) in [
            ("", "it is empty"),
            ("  ", "it is empty"),
            ("https://docs.example.com", "write the host alone"),
            ("docs.example.com/guide", "write the host alone"),
            ("me@docs.example.com", "write the host alone"),
            ("a b", "write the host alone"),
            ("*", "only at the front"),
            ("*.*.com", "only at the front"),
            ("docs.*.com", "only at the front"),
            ("*.com", "all of .com"),
            ("*.127.0.0.1", "write the address as 127.0.0.1"),
            ("0x7f.1", "write the address as 127.0.0.1"),
            ("a.test:0", "from 1 to 65535"),
            ("a.test:", "from 1 to 65535"),
            ("a.test:65536", "from 1 to 65535"),
            ("a.test:+80", "digits alone"),
            ("a.test:080", "digits alone"),
            ("0.0.0.0", "no machine has it"),
            ("224.0.0.1", "no machine has it"),
            ("[::]:80", "no machine has it"),
            ("[1:2]", "no IPv6 address"),
            ("::1:8080", "in brackets: [::1]:8080 or [::1:8080]"),
            ("fd00::5:1", "in brackets: [fd00::5]:1 or [fd00::5:1]"),
            ("a%00b", "invalid"),
        ] {
            let told = HostRule::parse(rule).unwrap_err().to_string();
            assert!(told.contains(want), "{rule}: {told}");
            assert!(told.contains(&format!("{rule:?}")), "{told}");
        }
    }
}
