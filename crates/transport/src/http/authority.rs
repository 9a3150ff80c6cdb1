//! The only parser for host names in HTTP: `Host`, the authority of a request target, and `Origin`.
//!
//! Accepts `host[:port]` and nothing else. Userinfo, an empty or signed port, empty labels, a trailing dot, text after
//! the bracket of an IPv6 address and IPv4 addresses written as IPv6 are rejected, because two readers of such a text
//! may disagree about which host it names.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

/// Maximum bytes of a name, and of one of its labels.
const MAX_NAME_BYTES: usize = 253;
const MAX_LABEL_BYTES: usize = 63;

/// A host and an optional port.
///
/// ```
/// use docent_transport::http::HostAuthority;
///
/// let authority = HostAuthority::parse("LOCALHOST:8001").unwrap();
/// assert!(authority.is_loopback());
/// assert!(HostAuthority::parse("127.0.0.1:8001@evil.example").is_none());
/// assert!(HostAuthority::parse("[::1].evil.example").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostAuthority {
    host: AuthorityHost,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AuthorityHost {
    Address(IpAddr),
    /// In lower case.
    Name(String),
}

impl HostAuthority {
    /// Reads `host` or `host:port`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (host, rest) = if let Some(bracketed) = text.strip_prefix('[') {
            let (address, rest) = bracketed.split_once(']')?;
            (AuthorityHost::Address(parse_ipv6(address)?), rest)
        } else {
            let end = text.find(':').unwrap_or(text.len());
            let (host, rest) = text.split_at(end);
            (parse_unbracketed(host)?, rest)
        };
        let port = match rest.strip_prefix(':') {
            Some(port) => Some(parse_port(port)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        Some(Self { host, port })
    }

    /// Whether this is `localhost` or a loopback address, which no owner of a domain can point elsewhere.
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            AuthorityHost::Address(address) => address.is_loopback(),
            AuthorityHost::Name(name) => name == "localhost",
        }
    }

    /// Whether this is an address and not a name.
    pub fn is_address(&self) -> bool {
        matches!(self.host, AuthorityHost::Address(_))
    }

    /// Whether a list entry, which may omit the port, matches this authority.
    pub(super) fn is_listed_as(&self, entry: &Self) -> bool {
        self.host == entry.host && (entry.port.is_none() || entry.port == self.port)
    }

    /// Whether both name one endpoint, where a port that is left out is the scheme's.
    fn is_same_endpoint(&self, other: &Self, scheme: &str) -> bool {
        let port = |one: &Self| one.port.or(default_port(scheme));
        self.host == other.host && port(self) == port(other)
    }
}

impl fmt::Display for HostAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            AuthorityHost::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
            AuthorityHost::Address(address) => write!(f, "{address}")?,
            AuthorityHost::Name(name) => f.write_str(name)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// What a browser writes into `Origin`: a scheme and an authority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebOrigin {
    /// In lower case.
    scheme: String,
    authority: HostAuthority,
}

impl WebOrigin {
    /// Reads `scheme://host[:port]`; `None` for anything else, `null` included.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
        let authority = HostAuthority::parse(authority).filter(|_| is_scheme)?;
        Some(Self { scheme: scheme.to_ascii_lowercase(), authority })
    }

    /// Whether a page of this origin came from the server that a request names as its host.
    pub fn is_of_host(&self, host: &HostAuthority) -> bool {
        matches!(&*self.scheme, "http" | "https")
            && self.authority.is_same_endpoint(host, &self.scheme)
    }

    /// Whether its pages are encrypted on their way.
    pub(super) fn is_https(&self) -> bool {
        self.scheme == "https"
    }

    /// Whether both are one origin.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.scheme == other.scheme
            && self.authority.is_same_endpoint(&other.authority, &self.scheme)
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

fn parse_port(text: &str) -> Option<u16> {
    let is_number = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

/// An IPv6 address that is not an IPv4 address in disguise.
fn parse_ipv6(text: &str) -> Option<IpAddr> {
    let address: Ipv6Addr = text.parse().ok()?;
    // The unspecified and the loopback address have the leading zeros of the older way to write IPv4 as IPv6.
    let holds_ipv4 = match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, _, _] => true,
        [0, 0, 0, 0, 0, 0, high, low] => high > 0 || low > 1,
        _ => false,
    };
    (!holds_ipv4).then_some(IpAddr::V6(address))
}

fn parse_unbracketed(text: &str) -> Option<AuthorityHost> {
    if let Ok(address) = text.parse() {
        return Some(AuthorityHost::Address(IpAddr::V4(address)));
    }
    let is_label = |label: &str| {
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let is_name = text.len() <= MAX_NAME_BYTES && text.split('.').all(is_label);
    is_name.then(|| AuthorityHost::Name(text.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_are_parsed_completely_or_rejected() {
        let cases = [
            ("localhost", Some("localhost")),
            ("LocalHost:8001", Some("localhost:8001")),
            ("docent.example", Some("docent.example")),
            ("my_host-1:80", Some("my_host-1:80")),
            ("127.0.0.1:65535", Some("127.0.0.1:65535")),
            ("[::1]", Some("[::1]")),
            ("[::]:1", Some("[::]:1")),
            ("[2001:DB8::1]:443", Some("[2001:db8::1]:443")),
            ("", None),
            (":80", None),
            ("localhost:", None),
            ("localhost:+80", None),
            ("localhost:65536", None),
            ("localhost:080000", None),
            ("localhost:80:80", None),
            ("localhost.", None),
            (".localhost", None),
            ("a..b", None),
            ("127.0.0.1:8001@evil.example", None),
            ("localhost@evil.example", None),
            ("user:word@localhost", None),
            ("[::1].evil.example", None),
            ("[::1]evil.example:80", None),
            ("[::1]:80@evil.example", None),
            ("[::1", None),
            ("::1", None),
            ("[localhost]", None),
            ("[127.0.0.1]", None),
            ("[::1%25eth0]", None),
            ("[::ffff:8.8.8.8]", None),
            ("[::ffff:127.0.0.1]:80", None),
            ("[::FFFF:7f00:1]", None),
            ("[::8.8.8.8]", None),
            ("localhost/", None),
            ("localhost ,evil.example", None),
            ("localhost\\evil.example", None),
            ("local%68ost", None),
            ("l\u{f6}calhost", None),
        ];
        for (text, want) in cases {
            let read = HostAuthority::parse(text).map(|authority| authority.to_string());
            assert_eq!(read.as_deref(), want, "{text:?}");
        }
        assert!(HostAuthority::parse(&"a".repeat(64)).is_none());
        assert!(HostAuthority::parse(&["abc"; 70].join(".")).is_none());
    }

    #[test]
    fn loopback_names() {
        for (text, want) in [
            ("127.0.0.1:80", true),
            ("127.9.9.9", true),
            ("localhost:1", true),
            ("[::1]:80", true),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:80", false),
            ("10.0.0.1", false),
            ("127.1", false),
        ] {
            assert_eq!(HostAuthority::parse(text).unwrap().is_loopback(), want, "{text}");
        }
    }

    #[test]
    fn an_origin_is_of_the_host_whose_page_it_is() {
        for (origin, host, want) in [
            ("http://127.0.0.1:8001", "127.0.0.1:8001", true),
            ("HTTP://LOCALHOST:8001", "localhost:8001", true),
            ("https://docent.example", "docent.example", true),
            ("https://docent.example:443", "docent.example", true),
            ("http://docent.example", "docent.example:80", true),
            ("http://docent.example", "docent.example:8001", false),
            ("https://docent.example", "docent.example:80", false),
            ("ftp://127.0.0.1:8001", "127.0.0.1:8001", false),
            ("http://127.0.0.1:8002", "127.0.0.1:8001", false),
            ("http://[::1]:8001", "127.0.0.1:8001", false),
        ] {
            let host = HostAuthority::parse(host).unwrap();
            assert_eq!(WebOrigin::parse(origin).unwrap().is_of_host(&host), want, "{origin}");
        }
        for text in [
            "null",
            "localhost:8001",
            "http://",
            "://localhost",
            "http://localhost/",
            "http://localhost:8001@evil.example",
            "http://[::1].evil.example",
            "http://[::ffff:127.0.0.1]:8001",
            "http://localhost.:8001",
            "http://localhost, http://evil.example",
        ] {
            assert_eq!(WebOrigin::parse(text), None, "{text}");
        }
    }
}
