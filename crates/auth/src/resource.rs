//! What a protected resource tells of itself (RFC 9728), and the challenge that leads a client there (RFC 6750).

use crate::scope::is_scope_token;
use serde_json::{Value, json};
use std::fmt::Write as _;
use url::Url;

/// Longest description in a challenge.
const MAX_DESCRIPTION: usize = 300;

/// The error codes of RFC 6750, section 3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The request is wrong; goes with 400.
    InvalidRequest,
    /// The token is wrong; goes with 401.
    InvalidToken,
    /// The token is right and opens too little; goes with 403.
    InsufficientScope,
}

impl ErrorCode {
    /// The code as it is sent.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
        }
    }
}

/// The document at `metadata_url`. Tokens are taken from the header alone.
pub fn metadata(resource: &str, issuers: &[&str], scopes: &[&str], name: Option<&str>) -> Value {
    let mut document = json!({
        "resource": resource,
        "authorization_servers": issuers,
        "bearer_methods_supported": ["header"],
    });
    if !scopes.is_empty() {
        document["scopes_supported"] = json!(scopes);
    }
    if let Some(name) = name {
        document["resource_name"] = json!(name);
    }
    document
}

/// Where the metadata of a resource stands: its path comes after the well-known one (RFC 9728, section 3.1).
pub fn metadata_url(resource: &str) -> Option<String> {
    let mut url = Url::parse(resource).ok().filter(Url::has_host)?;
    url.set_fragment(None);
    let path = format!("/.well-known/oauth-protected-resource{}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Some(url.into())
}

/// The value of `WWW-Authenticate`. Whatever it is given, it is one header line of visible ASCII.
pub fn challenge(
    resource_metadata_url: &str,
    error: Option<ErrorCode>,
    description: Option<&str>,
    scopes: &[&str],
) -> String {
    let mut line = format!("Bearer resource_metadata=\"{}\"", spelled_out(resource_metadata_url));
    let mut add = |name: &str, value: &str| {
        line.extend([", ", name, "=\"", value, "\""]);
    };
    if let Some(error) = error {
        add("error", error.name());
    }
    if let Some(description) = description.map(described).filter(|text| !text.is_empty()) {
        add("error_description", &description);
    }
    let scopes: Vec<&str> = scopes.iter().copied().filter(|scope| is_scope_token(scope)).collect();
    if !scopes.is_empty() {
        add("scope", &scopes.join(" "));
    }
    line
}

/// A URL in which nothing ends the quotes.
fn spelled_out(url: &str) -> String {
    let mut text = String::with_capacity(url.len());
    for byte in url.bytes() {
        if byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' {
            text.push(char::from(byte));
        } else if write!(text, "%{byte:02X}").is_err() {
            break;
        }
    }
    text
}

/// A description in the characters of RFC 6750, section 3.
fn described(text: &str) -> String {
    let plain = |c| match c {
        '"' | '`' => '\'',
        '\\' => '/',
        ' '..='~' => c,
        _ => '?',
    };
    text.chars().take(MAX_DESCRIPTION).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://docent.example.com/.well-known/oauth-protected-resource/mcp";

    #[test]
    fn documents() {
        let full = metadata(
            "https://docent.example.com/mcp",
            &["https://a.example"],
            &["mcp:read"],
            Some("docent"),
        );
        let want = json!({
            "resource": "https://docent.example.com/mcp",
            "authorization_servers": ["https://a.example"],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["mcp:read"],
            "resource_name": "docent",
        });
        assert_eq!(full, want);
        let least = metadata("https://docent.example.com", &["https://a.example"], &[], None);
        assert_eq!(least.as_object().unwrap().len(), 3);
    }

    #[test]
    fn where_the_document_stands() {
        for (resource, want) in [
            ("https://docent.example.com/mcp", Some(URL)),
            ("https://docent.example.com/mcp/#a", Some(URL)),
            ("https://a.example", Some("https://a.example/.well-known/oauth-protected-resource")),
            ("https://a.example/", Some("https://a.example/.well-known/oauth-protected-resource")),
            (
                "http://127.0.0.1:80/x?y=1",
                Some("http://127.0.0.1/.well-known/oauth-protected-resource/x?y=1"),
            ),
            ("mcp", None),
            ("urn:docent", None),
        ] {
            assert_eq!(metadata_url(resource).as_deref(), want, "{resource}");
        }
    }

    #[track_caller]
    fn check(error: Option<ErrorCode>, description: Option<&str>, scopes: &[&str], want: &str) {
        let line = challenge(URL, error, description, scopes);
        assert_eq!(line, format!("Bearer resource_metadata=\"{URL}\"{want}"));
    }

    #[test]
    fn challenges() {
        use ErrorCode::{InsufficientScope, InvalidRequest, InvalidToken};
        check(None, None, &[], "");
        check(Some(InvalidRequest), None, &[], ", error=\"invalid_request\"");
        check(
            Some(InvalidToken),
            Some("the token has expired"),
            &[],
            ", error=\"invalid_token\", error_description=\"the token has expired\"",
        );
        check(
            Some(InsufficientScope),
            None,
            &["mcp:read", "mcp:code"],
            ", error=\"insufficient_scope\", scope=\"mcp:read mcp:code\"",
        );
        check(None, None, &["a\"", "b c", "d\r\ne", "é", "", "f"], ", scope=\"f\"");
        check(
            None,
            Some("a\"\r\nSet-Cookie: b=\\c\u{202e}é\0`"),
            &[],
            ", error_description=\"a'??Set-Cookie: b=/c???'\"",
        );
    }

    #[test]
    fn nothing_ends_the_line_or_the_quotes() {
        for hostile in ["\r\nX: y", "\"", "\\", "a\", b=\"c", "\u{85}", "\u{7f}", "\0", "\u{2028}"]
        {
            let line = challenge(hostile, Some(ErrorCode::InvalidToken), Some(hostile), &[hostile]);
            assert!(line.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{line:?}");
            assert_eq!(line.matches('"').count() % 2, 0, "{line}");
            assert_eq!(line.matches("=\"").count() * 2, line.matches('"').count(), "{line}");
            assert!(!line.contains('\\'), "{line}");
        }
        let long = challenge(URL, None, Some(&"x".repeat(100_000)), &[]);
        assert!(long.len() < 500);
    }
}
