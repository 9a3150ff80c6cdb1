//! Which crate may depend on which: checks the workspace's layers with `cargo metadata`.

use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeSet;

/// Each crate of the workspace, and the crates it may depend on.
const ALLOWED_DEPENDENCIES: [(&str, &[&str]); 27] = [
    ("docent-files", &[]),
    ("docent-wire", &[]),
    ("docent-tool", &[]),
    ("docent-index", &["docent-files"]),
    ("docent-syntax", &[]),
    ("docent-xml", &[]),
    ("docent-prose", &["docent-xml"]),
    ("docent-net", &["docent-files", "docent-xml"]),
    ("docent-sandbox", &[]),
    ("docent-audit", &["docent-files"]),
    ("docent-screen", &[]),
    ("docent-traffic", &[]),
    ("docent-auth", &[]),
    ("docent-web", &["docent-net", "docent-prose"]),
    (
        "docent-suites",
        &[
            "docent-tool",
            "docent-index",
            "docent-syntax",
            "docent-prose",
            "docent-net",
            "docent-web",
            "docent-xml",
        ],
    ),
    ("docent-transport", &["docent-traffic", "docent-wire"]),
    ("docent-inspector", &["docent-dial", "docent-traffic", "docent-transport"]),
    ("docent-dial", &["docent-files"]),
    ("docent-supervisor", &["docent-sandbox"]),
    ("docent-registry", &["docent-files"]),
    ("docent-script", &[]),
    (
        "docent-hub",
        &[
            "docent-dial",
            "docent-files",
            "docent-index",
            "docent-supervisor",
            "docent-registry",
            "docent-screen",
            "docent-script",
            "docent-tool",
            "docent-traffic",
            "docent-wire",
        ],
    ),
    (
        "docent-server",
        &[
            "docent-audit",
            "docent-auth",
            "docent-screen",
            "docent-tool",
            "docent-wire",
            "docent-transport",
        ],
    ),
    ("docent", LIBRARIES),
    (TESTKIT, LIBRARIES),
    (TESTENV, &[]),
    ("xtask", &[]),
];

const LIBRARIES: &[&str] = &[
    "docent-audit",
    "docent-auth",
    "docent-dial",
    "docent-files",
    "docent-hub",
    "docent-inspector",
    "docent-supervisor",
    "docent-registry",
    "docent-script",
    "docent-traffic",
    "docent-web",
    "docent-wire",
    "docent-tool",
    "docent-index",
    "docent-prose",
    "docent-net",
    "docent-sandbox",
    "docent-screen",
    "docent-suites",
    "docent-syntax",
    "docent-transport",
    "docent-server",
];

const TESTKIT: &str = "docent-testkit";
const TESTENV: &str = "docent-testenv";

/// Which of our crates may use an external crate.
enum CrateRestriction {
    NotIn(&'static str),
    OnlyIn(&'static [&'static str]),
}

const RESTRICTED_CRATES: [(&str, CrateRestriction, &str); 3] = [
    ("tokio", CrateRestriction::NotIn("docent-wire"), "wire has no I/O and no clock"),
    ("roxmltree", CrateRestriction::OnlyIn(&["docent-xml"]), "docent-xml bounds what XML costs"),
    (
        "anyhow",
        CrateRestriction::OnlyIn(&["docent", "xtask"]),
        "a library's errors are thiserror enums",
    ),
];

/// Reports every dependency that the layers don't allow.
pub(super) fn check(metadata: &Value) -> Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let ours: BTreeSet<String> = packages.iter().map(name).collect();
    let mut breaches = Vec::new();
    for package in packages {
        let from = name(package);
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = name(dependency);
            let for_tests = dependency["kind"].as_str() == Some("dev");
            let breach = if ours.contains(&to) {
                check_internal(&from, &to, for_tests)
            } else {
                check_external(&from, &to, for_tests)
            };
            breaches.extend(breach);
        }
    }
    Ok(breaches)
}

fn check_internal(from: &str, to: &str, for_tests: bool) -> Option<String> {
    if for_tests && [TESTKIT, TESTENV].contains(&to) && from != "xtask" {
        return None;
    }
    let Some((_, allowed)) = ALLOWED_DEPENDENCIES.iter().find(|(name, _)| *name == from) else {
        return Some(format!(
            "{from}: this crate is missing in the layers of xtask/src/tidy/edges.rs"
        ));
    };
    if allowed.contains(&to) {
        return None;
    }
    let list = if allowed.is_empty() { "none of ours".to_owned() } else { allowed.join(", ") };
    Some(format!("{from} depends on {to}; it may depend on {list}"))
}

fn check_external(from: &str, to: &str, for_tests: bool) -> Option<String> {
    let (_, rule, reason) = RESTRICTED_CRATES.iter().find(|(name, ..)| *name == to)?;
    let allowed = match rule {
        CrateRestriction::NotIn(refused) => from != *refused,
        CrateRestriction::OnlyIn(users) => users.contains(&from),
    };
    (!allowed && !for_tests).then(|| format!("{from} depends on {to}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Checks a workspace with every crate, in which `from` depends on `to`.
    fn breaches(from: &str, to: &str, kind: Option<&str>) -> Vec<String> {
        let packages: Vec<Value> = ALLOWED_DEPENDENCIES
            .iter()
            .map(|(name, _)| {
                let dependencies =
                    if *name == from { json!([{"name": to, "kind": kind}]) } else { json!([]) };
                json!({"name": name, "dependencies": dependencies})
            })
            .collect();
        check(&json!({ "packages": packages })).unwrap()
    }

    #[test]
    fn only_the_designed_edges_are_allowed() {
        for (from, to, kind, allowed) in [
            ("docent-suites", "docent-tool", None, true),
            ("docent-suites", "docent-wire", None, false),
            ("docent-suites", "docent-wire", Some("dev"), false),
            ("docent-server", "docent-suites", None, false),
            ("docent-server", "docent-hub", None, false),
            ("docent-server", TESTKIT, Some("dev"), true),
            ("docent-server", TESTKIT, None, false),
            ("docent", "docent-hub", None, true),
            ("docent", TESTKIT, None, false),
            (TESTKIT, "docent-server", None, true),
            (TESTKIT, "docent", None, false),
            ("docent-sandbox", TESTENV, Some("dev"), true),
            ("docent-sandbox", TESTENV, None, false),
            (TESTENV, "docent-sandbox", None, false),
            ("xtask", "docent-wire", None, false),
            ("xtask", TESTKIT, Some("dev"), false),
            ("docent-wire", "tokio", None, false),
            ("docent-wire", "tokio", Some("dev"), true),
            ("docent-transport", "tokio", None, true),
            ("docent-server", "anyhow", None, false),
            ("xtask", "anyhow", None, true),
            ("docent-wire", "serde_json", Some("build"), true),
        ] {
            let found = breaches(from, to, kind);
            assert_eq!(found.is_empty(), allowed, "{from} -> {to} ({kind:?}): {found:?}");
        }
    }

    #[test]
    fn a_crate_without_a_layer_is_reported() {
        let metadata = json!({"packages": [
            {"name": "docent-tool", "dependencies": []},
            {"name": "docent-extra", "dependencies": [{"name": "docent-tool", "kind": null}]},
        ]});
        assert!(check(&metadata).unwrap()[0].starts_with("docent-extra: this crate is missing"));
    }
}
