//! Identifies a client by its certificate. TLS has verified the chain; this module maps it to a name.

use crate::{
    issuer::IssuerSettingError,
    scope::{is_own, not_own},
};
use std::collections::{BTreeSet, HashMap};
use subtle::ConstantTimeEq as _;

/// The SHA-256 of a certificate in DER.
pub type Fingerprint = [u8; 32];

/// The fingerprint of a certificate.
pub fn fingerprint(der: &[u8]) -> Fingerprint {
    let mut print = Fingerprint::default();
    let digest = ring::digest::digest(&ring::digest::SHA256, der);
    for (to, from) in print.iter_mut().zip(digest.as_ref()) {
        *to = *from;
    }
    print
}

/// A rule as written in the configuration.
#[derive(Debug, Clone)]
pub struct CertificateRule {
    /// The principal that a matching certificate identifies.
    pub name: String,
    /// Which certificates match.
    pub matches: CertificateMatch,
    /// The scopes it grants, in docent's own form.
    pub scopes: Vec<String>,
}

/// Which certificates a rule matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CertificateMatch {
    /// One certificate, by the SHA-256 of its DER form: 64 hex digits, with or without colons.
    Fingerprint(String),
    /// A complete subject alternative name or common name; `*.example.com` matches host names with one more label.
    Name(String),
}

/// Rules for client certificates, tried in order.
#[derive(Debug, Clone, Default)]
pub struct CertificateRules(Vec<ParsedCertificateRule>);

#[derive(Debug, Clone)]
struct ParsedCertificateRule {
    name: String,
    test: CertificateTest,
    scopes: Vec<String>,
}

#[derive(Debug, Clone)]
enum CertificateTest {
    Fingerprint(Fingerprint),
    Name(String),
    /// With the dot, in lower case.
    Below(String),
}

impl CertificateRules {
    /// Validates configured rules. Rules with the same name identify one caller, who has one set of scopes.
    pub fn new(rules: Vec<CertificateRule>) -> Result<Self, IssuerSettingError> {
        let rules: Vec<ParsedCertificateRule> =
            rules.into_iter().map(ParsedCertificateRule::check).collect::<Result<_, _>>()?;
        let mut known: HashMap<&str, BTreeSet<&String>> = HashMap::new();
        for rule in &rules {
            let scopes: BTreeSet<&String> = rule.scopes.iter().collect();
            if known.entry(&rule.name).or_insert_with(|| scopes.clone()) != &scopes {
                let reason = "rules with this name have different scopes: give them the same scopes, or different names";
                return Err(IssuerSettingError::new(
                    format!("certificates.{:?}", rule.name),
                    reason,
                ));
            }
        }
        Ok(Self(rules))
    }

    /// The scopes granted by the rules with this name, if there are any.
    pub fn scopes_of(&self, name: &str) -> Option<&[String]> {
        self.0.iter().find(|rule| rule.name == name).map(|rule| rule.scopes.as_slice())
    }

    /// The name and scopes of the first rule that matches a certificate, given all names in the certificate.
    pub fn identify<S: AsRef<str>>(
        &self,
        fingerprint: &Fingerprint,
        names: &[S],
    ) -> Option<(&str, &[String])> {
        let matches = |rule: &&ParsedCertificateRule| match &rule.test {
            CertificateTest::Fingerprint(wanted) => bool::from(wanted.ct_eq(fingerprint)),
            CertificateTest::Name(wanted) => {
                names.iter().any(|name| is_same(wanted, name.as_ref()))
            }
            CertificateTest::Below(suffix) => {
                names.iter().any(|name| is_below(suffix, name.as_ref()))
            }
        };
        self.0.iter().find(matches).map(|rule| (rule.name.as_str(), rule.scopes.as_slice()))
    }
}

impl ParsedCertificateRule {
    fn check(rule: CertificateRule) -> Result<Self, IssuerSettingError> {
        let CertificateRule { name, matches, scopes } = rule;
        let bad =
            |reason: String| IssuerSettingError::new(format!("certificates.{name:?}"), reason);
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(bad("name the rule in plain text".to_owned()));
        }
        if let Some(wrong) = scopes.iter().find(|scope| !is_own(scope)) {
            return Err(bad(not_own(wrong)));
        }
        if scopes.is_empty() {
            return Err(bad("it grants nothing; add scopes such as \"code:*\"".to_owned()));
        }
        let test = match matches {
            CertificateMatch::Fingerprint(text) => {
                CertificateTest::Fingerprint(read_hex(&text).ok_or_else(|| {
                    bad(format!("{text:?} is not a SHA-256 fingerprint: write 64 hex digits"))
                })?)
            }
            CertificateMatch::Name(text) => read_name(text).map_err(bad)?,
        };
        Ok(Self { name, test, scopes })
    }
}

fn read_name(text: String) -> Result<CertificateTest, String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err("write the full name in the certificate".to_owned());
    }
    let Some(below) = text.strip_prefix("*.") else {
        if text.contains('*') {
            return Err(format!(
                "{text:?}: a star is allowed only at the start, as in *.example.com"
            ));
        }
        return Ok(CertificateTest::Name(text));
    };
    if below.split('.').count() < 2 || !below.split('.').all(is_label) {
        return Err(format!(
            "{text:?}: a star must be followed by at least two labels, as in *.example.com"
        ));
    }
    Ok(CertificateTest::Below(format!(".{}", below.to_ascii_lowercase())))
}

/// Host names are case-insensitive (RFC 4343). Mail addresses and URIs are compared verbatim.
fn is_same(wanted: &str, name: &str) -> bool {
    wanted == name || (wanted.split('.').all(is_label) && wanted.eq_ignore_ascii_case(name))
}

/// Whether a host name is a suffix with one label before it. A star in the certificate does not count as a label.
fn is_below(suffix: &str, name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.strip_suffix(suffix).is_some_and(is_label)
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn read_hex(text: &str) -> Option<Fingerprint> {
    let digits: Vec<u8> = if text.contains(':') {
        let pairs: Vec<&str> = text.split(':').collect();
        pairs.iter().all(|pair| pair.len() == 2).then(|| pairs.concat().into_bytes())?
    } else {
        text.as_bytes().to_vec()
    };
    let mut print = Fingerprint::default();
    if digits.len() != print.len() * 2 {
        return None;
    }
    for (byte, pair) in print.iter_mut().zip(digits.chunks_exact(2)) {
        for digit in pair {
            let value = u8::try_from(char::from(*digit).to_digit(16)?).ok()?;
            *byte = *byte << 4 | value;
        }
    }
    Some(print)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(name: &str, matches: CertificateMatch) -> CertificateRule {
        CertificateRule { name: name.to_owned(), matches, scopes: vec![format!("{name}:*")] }
    }

    fn named(text: &str) -> CertificateMatch {
        CertificateMatch::Name(text.to_owned())
    }

    #[track_caller]
    fn check(rules: &CertificateRules, print: u8, names: &[&str], want: Option<&str>) {
        let got = rules.identify(&[print; 32], names);
        assert_eq!(got.map(|(name, _)| name), want, "{print} {names:?}");
        if let Some((name, scopes)) = got {
            assert_eq!(scopes, [format!("{name}:*")]);
        }
    }

    #[test]
    fn the_first_rule_that_matches() {
        let colons = vec!["aB"; 32].join(":");
        let rules = CertificateRules::new(vec![
            rule("pinned", CertificateMatch::Fingerprint("07".repeat(32))),
            rule("colons", CertificateMatch::Fingerprint(colons)),
            rule("build", named("ci.example.com")),
            rule("host", named("*.example.com")),
            rule("uri", named("spiffe://example.com/Agent")),
            rule("mail", named("ann@example.com")),
            rule("late", named("ci.example.com")),
        ])
        .unwrap();
        check(&rules, 7, &[], Some("pinned"));
        check(&rules, 7, &["ci.example.com"], Some("pinned"));
        check(&rules, 0xab, &[], Some("colons"));
        check(&rules, 8, &[], None);
        check(&rules, 0, &["CI.example.COM"], Some("build"));
        check(&rules, 0, &["x.example.com", "ci.example.com"], Some("build"));
        check(&rules, 0, &["X.Example.com"], Some("host"));
        check(&rules, 0, &["spiffe://example.com/Agent"], Some("uri"));
        check(&rules, 0, &["spiffe://example.com/agent"], None);
        check(&rules, 0, &["ann@example.com"], Some("mail"));
        for stranger in [
            "example.com",
            ".example.com",
            "a.b.example.com",
            "evil-example.com",
            "x.example.com.evil.net",
            "*.example.com",
            "a\0.example.com",
            "ci.example.com\0.evil.net",
            "ann@x.example.com",
            "Ann@example.com",
            "",
            "\u{212a}.example.com",
        ] {
            check(&rules, 0, &[stranger], None);
        }
        check(&CertificateRules::default(), 0, &["x"], None);
    }

    #[test]
    fn invalid_rules_are_rejected() {
        for matches in [
            CertificateMatch::Fingerprint(String::new()),
            CertificateMatch::Fingerprint("07".repeat(20)),
            CertificateMatch::Fingerprint("0g".repeat(32)),
            CertificateMatch::Fingerprint("+7".repeat(32)),
            CertificateMatch::Fingerprint("é".repeat(32)),
            CertificateMatch::Fingerprint(vec!["7"; 64].join(":")),
            named(""),
            named("*"),
            named("*.com"),
            named("*."),
            named("*..com"),
            named("*.*.com"),
            named("a.*.com"),
            named("a\nb"),
        ] {
            let text = format!("{matches:?}");
            assert!(CertificateRules::new(vec![rule("a", matches)]).is_err(), "{text}");
        }
        for scopes in [vec![], vec!["co de".to_owned()]] {
            let rule = CertificateRule { scopes, ..rule("a", named("b")) };
            assert!(CertificateRules::new(vec![rule]).is_err());
        }
    }

    #[test]
    fn rules_of_one_name_grant_the_same() {
        let opens = |host: &str, scopes: &[&str]| CertificateRule {
            scopes: scopes.iter().map(ToString::to_string).collect(),
            ..rule("ci", named(host))
        };
        let both = |second: &[&str]| {
            let first = opens("a.example.com", &["*"]);
            CertificateRules::new(vec![
                first,
                rule("x", named("x")),
                opens("b.example.com", second),
            ])
        };
        let error = both(&["docs:*"]).unwrap_err().to_string();
        assert!(error.contains("\"ci\"") && error.contains("different scopes"), "{error}");
        both(&["*", "docs:*"]).unwrap_err();
        let same = both(&["*", "*"]).unwrap();
        for host in ["a.example.com", "b.example.com"] {
            let (name, _) = same.identify(&[0; 32], &[host]).unwrap();
            assert_eq!((name, same.scopes_of(name)), ("ci", Some(&["*".to_owned()][..])));
        }
    }

    #[test]
    fn fingerprints() {
        let empty = "E3:B0:C4:42:98:FC:1C:14:9A:FB:F4:C8:99:6F:B9:24:27:AE:41:E4:64:9B:93:4C:A4:95:99:1B:78:52:B8:55";
        assert_eq!(read_hex(empty), Some(fingerprint(b"")));
    }
}
