//! Maps an issuer's scopes to docent's: `*`, a suite such as `code:*`, or the name of a tool.

use crate::issuer::IssuerSettingError;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Which of docent's scopes an issuer's scopes grant. An issuer's scope outside the map grants nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScopeMap {
    opens: BTreeMap<String, Vec<String>>,
    passthrough: bool,
}

impl ScopeMap {
    /// Validates a map. With `passthrough`, scopes in docent's own form that are not in the map are granted unchanged.
    pub fn new(
        opens: BTreeMap<String, Vec<String>>,
        passthrough: bool,
    ) -> Result<Self, IssuerSettingError> {
        for (granted, own) in &opens {
            if !is_scope_token(granted) {
                let reason = "an OAuth scope cannot contain spaces, quotes or backslashes; list each scope separately";
                return Err(IssuerSettingError::new(format!("scopes.{granted:?}"), reason));
            }
            if let Some(wrong) = own.iter().find(|scope| !is_own(scope)) {
                return Err(IssuerSettingError::new(format!("scopes.{granted:?}"), not_own(wrong)));
            }
        }
        Ok(Self { opens, passthrough })
    }

    /// The scopes granted by a token's scopes, without duplicates, in order.
    pub fn apply<'a>(&self, granted: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut own: Vec<String> = Vec::new();
        for scope in granted {
            let passed = [scope.to_owned()];
            let opened = match self.opens.get(scope) {
                Some(opened) => opened.as_slice(),
                None if self.passthrough && is_own(scope) => &passed,
                None => &[],
            };
            for scope in opened {
                if !own.contains(scope) {
                    own.push(scope.clone());
                }
            }
        }
        own
    }

    /// The issuer's scopes that grant a tool, the narrowest first. Any one of them is enough.
    pub fn needed_for(&self, tool: &str, suite: &str) -> Vec<String> {
        let whole = format!("{suite}:*");
        let rank = |own: &str| match own {
            _ if own == tool => Some(0),
            _ if own == whole => Some(1),
            "*" => Some(2),
            _ => None,
        };
        // Sorted by how much else they grant, then by name.
        let mut found: Vec<((usize, usize), String)> = self
            .opens
            .iter()
            .filter(|(_, own)| own.iter().any(|scope| rank(scope).is_some()))
            .map(|(granted, own)| {
                let widest = own.iter().map(|scope| rank(scope).unwrap_or(1)).max();
                ((widest.unwrap_or(2), own.len()), granted.clone())
            })
            .collect();
        if self.passthrough {
            for own in [tool, whole.as_str(), "*"] {
                if is_own(own) && !self.opens.contains_key(own) {
                    found.push(((rank(own).unwrap_or(2), 1), own.to_owned()));
                }
            }
        }
        found.sort();
        found.into_iter().map(|(_, scope)| scope).collect()
    }

    /// The issuer's scopes that grant something here, for `scopes_supported`.
    pub fn supported(&self) -> impl Iterator<Item = &str> {
        self.opens.keys().map(String::as_str)
    }
}

/// A token's scopes: `scope` and `scp`, each a list or a space-separated string.
pub(crate) fn granted(claims: &Map<String, Value>) -> Vec<&str> {
    ["scope", "scp"].iter().filter_map(|name| claims.get(*name)).flat_map(read).collect()
}

fn read(claim: &Value) -> Vec<&str> {
    match claim {
        Value::String(text) => text.split(' ').filter(|scope| !scope.is_empty()).collect(),
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether a scope has one of docent's forms.
pub(crate) fn is_own(scope: &str) -> bool {
    let plain = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_./-".contains(&b))
    };
    scope == "*" || plain(scope.strip_suffix(":*").unwrap_or(scope))
}

/// The error for a scope without one of docent's forms.
pub(crate) fn not_own(scope: &str) -> String {
    format!("the scope {scope:?} is not a tool name, a suite such as \"code:*\", or \"*\"")
}

/// The characters of RFC 6749, section 3.3.
fn is_scope_token(scope: &str) -> bool {
    !scope.is_empty() && scope.bytes().all(|b| matches!(b, 0x21 | 0x23..=0x5b | 0x5d..=0x7e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(entries: &[(&str, &[&str])], passthrough: bool) -> ScopeMap {
        let own = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let opens = entries.iter().map(|(name, list)| ((*name).to_owned(), own(list))).collect();
        ScopeMap::new(opens, passthrough).unwrap()
    }

    #[track_caller]
    fn check(map: &ScopeMap, claims: &Value, want: &[&str]) {
        let got = map.apply(granted(claims.as_object().unwrap()));
        assert_eq!(got, want, "{claims}");
    }

    #[test]
    fn only_mapped_scopes_count() {
        let read = map(&[("mcp:read", &["code:*", "docs:*"]), ("mcp:tree", &["repo_tree"])], false);
        check(&read, &json!({"scope": "openid mcp:read"}), &["code:*", "docs:*"]);
        check(&read, &json!({"scp": ["mcp:tree", "mcp:read"]}), &["repo_tree", "code:*", "docs:*"]);
        check(&read, &json!({"scp": "mcp:tree"}), &["repo_tree"]);
        check(&read, &json!({"scope": ["mcp:tree"]}), &["repo_tree"]);
        check(
            &read,
            &json!({"scope": "mcp:read mcp:read", "scp": "mcp:read"}),
            &["code:*", "docs:*"],
        );
        check(&read, &json!({"scope": "* code:* repo_tree"}), &[]);
        check(&read, &json!({"scope": "mcp:readx MCP:READ  mcp:rea"}), &[]);
        check(&read, &json!({"scope": "mcp:read\tmcp:tree"}), &[]);
        check(&read, &json!({"scp": ["mcp:tree mcp:read"]}), &[]);
        check(&read, &json!({"scope": {"mcp:read": true}, "scp": 7}), &[]);
        check(&read, &json!({}), &[]);
    }

    #[test]
    fn passthrough_accepts_only_docents_own_form() {
        let open = map(&[("code:*", &["docs:*"])], true);
        check(
            &open,
            &json!({"scope": "web:* repo_tree a/b.c-d"}),
            &["web:*", "repo_tree", "a/b.c-d"],
        );
        check(&open, &json!({"scope": "*"}), &["*"]);
        check(&open, &json!({"scope": "mcp:read a:b:* :* web:** é"}), &[]);
        check(&open, &json!({"scope": "code:*"}), &["docs:*"]);
    }

    #[test]
    fn scopes_that_grant_a_tool() {
        let entries: &[(&str, &[&str])] = &[
            ("all", &["*"]),
            ("mcp:read", &["code:*", "docs:*"]),
            ("mcp:code", &["code:*"]),
            ("mcp:tree", &["repo_tree"]),
            ("mcp:web", &["web:*"]),
        ];
        let closed = map(entries, false);
        for (tool, suite, want) in [
            ("repo_tree", "code", &["mcp:tree", "mcp:code", "mcp:read", "all"][..]),
            ("search", "docs", &["mcp:read", "all"]),
            ("search", "other", &["all"]),
        ] {
            assert_eq!(closed.needed_for(tool, suite), want, "{suite}");
        }
        assert_eq!(map(&[], true).needed_for("search", "docs"), ["search", "docs:*", "*"]);
        assert!(map(&[], false).needed_for("search", "docs").is_empty());
        for scope in closed.needed_for("search", "docs") {
            let own = closed.apply([scope.as_str()]);
            assert!(own.iter().any(|own| own == "*" || own == "docs:*"), "{scope}");
        }
        assert_eq!(closed.supported().count(), entries.len());
    }

    #[test]
    fn invalid_settings_are_rejected() {
        for (granted, own) in [
            ("a b", "*"),
            ("", "*"),
            ("a\"", "*"),
            ("é", "*"),
            ("a", "co de"),
            ("a", ""),
            ("a", ":*"),
        ] {
            let opens = BTreeMap::from([(granted.to_owned(), vec![own.to_owned()])]);
            assert!(ScopeMap::new(opens, false).is_err(), "{granted:?} {own:?}");
        }
    }
}
