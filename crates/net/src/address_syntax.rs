//! Parses URLs as written by people or pages: every external text that is fetched becomes a [`Url`] here.
//!
//! A [`Url`] normalizes IPv4 addresses: `2130706433`, `0x7f.1`, `0177.0.0.1`, `127.1`, `%31%32%37.0.0.1` and digits of
//! other scripts all become `127.0.0.1`. Such notations only hide the target, so the original text is checked too.

use crate::refusal::FetchRefusal;
use url::{Host, ParseError, Url};

/// Why a text is not a URL that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// Not a URL.
    #[error(transparent)]
    Unreadable(#[from] ParseError),
    /// A URL in a refused notation.
    #[error(transparent)]
    Refused(#[from] FetchRefusal),
}

/// Parses an absolute URL.
pub fn parse_url(text: &str) -> Result<Url, BadAddress> {
    let url = Url::parse(text)?;
    check(&url, text, None)?;
    Ok(url)
}

/// Parses a URL that may be relative to `base`, which was parsed here too.
pub fn join_url(base: &Url, text: &str) -> Result<Url, BadAddress> {
    let url = base.join(text)?;
    check(&url, text, Some(base))?;
    Ok(url)
}

fn check(url: &Url, text: &str, base: Option<&Url>) -> Result<(), FetchRefusal> {
    let Some(Host::Ipv4(address)) = url.host() else { return Ok(()) };
    // Characters that the URL standard removes before parsing.
    let inside = text.trim_matches(|letter: char| letter <= ' ');
    let text: String =
        inside.chars().filter(|letter| !matches!(letter, '\t' | '\n' | '\r')).collect();
    let is_plain = match written_host(&text, base) {
        Some(host) => host == address.to_string(),
        None => base.is_some_and(|base| base.host_str() == url.host_str()),
    };
    if is_plain { Ok(()) } else { Err(FetchRefusal::Notation { address }) }
}

/// The host as written in a text; `None` if it comes from the base.
fn written_host<'a>(text: &'a str, base: Option<&Url>) -> Option<&'a str> {
    let is_slash = |letter: char| matches!(letter, '/' | '\\');
    let (scheme, rest) = match text.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, text),
    };
    // A scheme other than the base's makes a URL absolute, with any number of slashes.
    let is_whole = scheme
        .is_some_and(|scheme| base.is_none_or(|base| !scheme.eq_ignore_ascii_case(base.scheme())));
    let slashes = rest.chars().take_while(|letter| is_slash(*letter)).count();
    if !is_whole && slashes < 2 {
        return None;
    }
    let authority = rest.trim_start_matches(is_slash).split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Some(host.split_once(':').map_or(host, |(host, _)| host))
}

fn is_scheme(text: &str) -> bool {
    let inner = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && text.chars().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HOME: Ipv4Addr = Ipv4Addr::LOCALHOST;

    #[track_caller]
    fn check(base: Option<&str>, text: &str, want: Result<&str, FetchRefusal>) {
        let read = match base {
            Some(base) => join_url(&Url::parse(base).unwrap(), text),
            None => parse_url(text),
        };
        let want = want.map(|url| Url::parse(url).unwrap()).map_err(BadAddress::Refused);
        assert_eq!(read, want, "{text:?} from {base:?}");
    }

    #[test]
    fn an_address_of_four_numbers_is_written_as_such() {
        for text in [
            "http://127.0.0.1:9000/a",
            "http://127.0.0.1",
            "HTTP://127.0.0.1/?http://2130706433",
            " http:\\\\127.0.0.1\\a\n",
            "http:127.0.0.1/",
            "ht\ttp:////127.0.\n0.1/",
            "http://me:2130706433@127.0.0.1/",
        ] {
            let url = Url::parse(text).unwrap();
            check(None, text, Ok(url.as_str()));
        }
        for host in [
            "2130706433",
            "017700000001",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "127.1",
            "127.0.1",
            "127.0.0.01",
            "127.0.0.1.",
            "%31%32%37.0.0.1",
            "127%2e0.0.1",
            "\u{ff11}27.0.0.1",
            "127\u{3002}0.0.1",
            "127.0.0.\u{2460}",
        ] {
            for text in [
                format!("http://{host}/"),
                format!("http://{host}:9000/127.0.0.1"),
                format!("https:/\\127.0.0.1@{host}?127.0.0.1"),
                format!("http:{host}#//127.0.0.1"),
                format!("\thttp://{host}"),
            ] {
                check(None, &text, Err(FetchRefusal::Notation { address: HOME }));
            }
        }
    }

    #[test]
    fn names_and_other_addresses_are_left_alone() {
        for text in
            ["https://docs.example.com./a", "http://[0:0::1]/", "ftp://a.test/", "mailto:a@b.test"]
        {
            check(None, text, Ok(text));
        }
        assert_eq!(parse_url("x"), Err(BadAddress::Unreadable(ParseError::RelativeUrlWithoutBase)));
    }

    #[test]
    fn what_follows_another_address_is_looked_at_as_well() {
        let base = Some("http://127.0.0.1:9000/a/b");
        for (text, want) in [
            ("c", "http://127.0.0.1:9000/a/c"),
            ("/2130706433", "http://127.0.0.1:9000/2130706433"),
            ("http:c", "http://127.0.0.1:9000/a/c"),
            ("?x=//2130706433", "http://127.0.0.1:9000/a/b?x=//2130706433"),
            ("//127.0.0.1/", "http://127.0.0.1/"),
            ("https:127.0.0.1", "https://127.0.0.1/"),
        ] {
            check(base, text, Ok(want));
        }
        for text in [
            "//2130706433/",
            "\\\\0x7f.1\\",
            "http://127.1/",
            "https:127.1",
            "https:/127.1",
            "/\\127.1",
        ] {
            check(base, text, Err(FetchRefusal::Notation { address: HOME }));
        }
        let elsewhere = Some("https://docs.example.com/");
        check(elsewhere, "//0xa.1/", Err(FetchRefusal::Notation { address: [10, 0, 0, 1].into() }));
    }
}
