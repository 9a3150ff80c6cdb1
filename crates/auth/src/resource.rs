//! The metadata document of a protected resource (RFC 9728).

use serde_json::{Value, json};
use url::Url;

/// The document at `metadata_url`. Tokens are accepted in the header only.
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

/// The URL of a resource's metadata: its path is appended to the well-known one (RFC 9728, section 3.1).
pub fn metadata_url(resource: &str) -> Option<String> {
    let mut url = Url::parse(resource).ok().filter(Url::has_host)?;
    url.set_fragment(None);
    let path = format!("/.well-known/oauth-protected-resource{}", url.path().trim_end_matches('/'));
    url.set_path(&path);
    Some(url.into())
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
    fn metadata_document_urls() {
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
}
