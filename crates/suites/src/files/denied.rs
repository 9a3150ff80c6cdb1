//! Names of secret files, refused everywhere, and the operator's additions.

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::path::Path;

/// Access rules inside the roots: everything except secrets, unless the operator changes that.
#[derive(Debug, Clone)]
pub struct AccessRules {
    deny: Gitignore,
    allow: Gitignore,
}

impl Default for AccessRules {
    fn default() -> Self {
        Self { deny: Gitignore::empty(), allow: Gitignore::empty() }
    }
}

/// An invalid pattern.
#[derive(Debug, thiserror::Error)]
#[error("{pattern:?} is not a pattern: {reason}")]
pub struct BadPattern {
    pattern: String,
    reason: String,
}

impl AccessRules {
    /// Compiles patterns in `.gitignore` syntax. `deny` refuses files; `allow` serves files in spite of a secret name.
    pub fn new<'a>(
        deny: impl IntoIterator<Item = &'a str>,
        allow: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, BadPattern> {
        Ok(Self { deny: patterns(deny)?, allow: patterns(allow)? })
    }

    /// The rule that denies this path, if any.
    pub fn denied(&self, relative: &str, is_folder: bool) -> Option<&'static str> {
        if relative == "." {
            return None;
        }
        let own = || denied(relative, is_folder).filter(|_| !self.is_allowed(relative, is_folder));
        self.forbidden(relative, is_folder).or_else(own)
    }

    /// The operator's rule that denies it, if any.
    pub(super) fn forbidden(&self, relative: &str, is_folder: bool) -> Option<&'static str> {
        is_named(&self.deny, relative, is_folder).then_some("`policy.filesystem.deny` matches it")
    }

    /// Whether the operator allows it explicitly.
    pub(super) fn is_allowed(&self, relative: &str, is_folder: bool) -> bool {
        is_named(&self.allow, relative, is_folder)
    }
}

fn is_named(patterns: &Gitignore, relative: &str, is_folder: bool) -> bool {
    !patterns.is_empty()
        && patterns.matched_path_or_any_parents(Path::new(relative), is_folder).is_ignore()
}

fn patterns<'a>(all: impl IntoIterator<Item = &'a str>) -> Result<Gitignore, BadPattern> {
    let mut builder = GitignoreBuilder::new("");
    let bad = |pattern: &str, reason: String| BadPattern { pattern: pattern.to_owned(), reason };
    builder.case_insensitive(true).map_err(|error| bad("", error.to_string()))?;
    for pattern in all {
        if pattern.trim().is_empty() || pattern.starts_with(['!', '#']) {
            let reason = "write what is meant, such as *.secret or /drafts/";
            return Err(bad(pattern, reason.to_owned()));
        }
        builder.add_line(None, pattern).map_err(|error| bad(pattern, error.to_string()))?;
    }
    builder.build().map_err(|error| bad("", error.to_string()))
}

/// Folders of credentials.
const SECRET_FOLDERS: [&str; 3] = [".ssh", ".aws", ".gnupg"];
/// Names of credential files.
const SECRET_FILES: [&str; 3] = [".netrc", ".git-credentials", ".pgpass"];
/// Extensions of private key files.
const SECRET_ENDINGS: [&str; 6] = [".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx"];
/// Names of key files made by `ssh-keygen`.
const SSH_KEY_FILES: [&str; 5] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss"];

/// The rule that denies this path, if any. The path uses `/`; case is ignored.
pub fn denied(relative: &str, is_folder: bool) -> Option<&'static str> {
    let path = relative.to_lowercase();
    let segments: Vec<&str> = path.split('/').collect();
    let (name, folders) = segments.split_last()?;
    if segments.iter().any(|segment| SECRET_FOLDERS.contains(segment)) {
        return Some("it is in a credentials folder");
    }
    // A folder of environments (`.env` as a Python virtual environment) is denied as a whole.
    if segments.iter().any(|segment| segment.starts_with(".env")) {
        return Some("`.env*` contains secrets");
    }
    if is_folder {
        return None;
    }
    if folders.contains(&".git") && (name.starts_with("config") || name.starts_with("credentials"))
    {
        return Some("git's configuration may contain credentials");
    }
    if folders.contains(&".docent") && name.starts_with("audit.jsonl") {
        return Some("it is docent's audit log");
    }
    if SECRET_FILES.contains(name) {
        return Some("it is a credentials file");
    }
    if SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending)) || is_key(name) {
        return Some("it is named like a private key");
    }
    None
}

/// `id_deploy` and `id_rsa.bak` are keys; `id_map.rs` is source code.
fn is_key(name: &str) -> bool {
    name.starts_with("id_")
        && (!name.contains('.') || SSH_KEY_FILES.iter().any(|key| name.starts_with(key)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_adds_and_lifts() {
        let rules =
            AccessRules::new(["/drafts/", "*.secret", "Plan.md"], [".env.example"]).unwrap();
        for (path, want) in [
            ("drafts/a.md", true),
            ("src/drafts/a.md", false),
            ("deep/x.SECRET", true),
            ("docs/plan.md", true),
            (".env.example", false),
            (".env", true),
            ("src/main.rs", false),
            (".", false),
        ] {
            assert_eq!(rules.denied(path, false).is_some(), want, "{path}");
        }
        assert!(rules.denied("drafts", true).is_some() && rules.denied("drafts", false).is_none());
        for bad in ["[z-a]", "!kept", "# a remark", " "] {
            let error = AccessRules::new([bad], []).unwrap_err().to_string();
            assert!(error.contains(bad), "{error}");
        }
    }

    #[test]
    fn secrets_by_name() {
        let cases = [
            (".env", true),
            ("app/.env.production", true),
            (".ENV", true),
            (".envrc", true),
            ("a/.env/x.py", true),
            ("certs/server.pem", true),
            ("certs/Server.PEM", true),
            ("tls/server.key", true),
            ("id_rsa", true),
            ("id_rsa.pub", true),
            ("id_ed25519.bak", true),
            ("keys/id_deploy", true),
            (".ssh/known_hosts", true),
            ("home/.aws/credentials", true),
            (".git/config", true),
            ("vendor/x/.git/config", true),
            (".git/modules/sub/config", true),
            (".netrc", true),
            (".docent/audit.jsonl", true),
            ("inner/.docent/audit.jsonl.1", true),
            (".docent/rules/own.yml", false),
            ("docs/audit.jsonl", false),
            ("src/id_map.rs", false),
            ("src/environment.rs", false),
            ("docs/env.md", false),
            (".git/HEAD", false),
            ("config", false),
            ("src/config", false),
            ("README.md", false),
            ("ssh/readme", false),
        ];
        for (path, want) in cases {
            assert_eq!(denied(path, false).is_some(), want, "{path}");
        }
    }

    #[test]
    fn folders_are_judged_as_folders() {
        let cases = [
            (".ssh", true),
            ("a/.aws", true),
            (".env", true),
            ("id_tables", false),
            ("a.key", false),
            (".", false),
        ];
        for (path, want) in cases {
            assert_eq!(denied(path, true).is_some(), want, "{path}");
        }
    }
}
