//! Names that hold secrets, refused wherever they lie.

/// Folders whose contents are credentials.
const FOLDERS: [&str; 3] = [".ssh", ".aws", ".gnupg"];
/// Files that hold credentials by their whole name.
const FILES: [&str; 3] = [".netrc", ".git-credentials", ".pgpass"];
/// Endings of files that hold private keys.
const ENDINGS: [&str; 6] = [".pem", ".key", ".p12", ".pfx", ".jks", ".kdbx"];
/// What `ssh-keygen` calls its files.
const KEYS: [&str; 5] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss"];

/// The rule that keeps this path from being served, if there is one. The path has `/`; case makes no difference.
pub fn denied(relative: &str, is_folder: bool) -> Option<&'static str> {
    let path = relative.to_lowercase();
    let segments: Vec<&str> = path.split('/').collect();
    let (name, folders) = segments.split_last()?;
    if segments.iter().any(|segment| FOLDERS.contains(segment)) {
        return Some("it lies in a folder of credentials");
    }
    // A folder of environments (`.env` as a Python virtual environment) is denied as a whole.
    if segments.iter().any(|segment| segment.starts_with(".env")) {
        return Some("`.env*` holds secrets");
    }
    if is_folder {
        return None;
    }
    if folders.contains(&".git") && (name.starts_with("config") || name.starts_with("credentials"))
    {
        return Some("git's configuration may hold credentials");
    }
    if FILES.contains(name) {
        return Some("it is a file of credentials");
    }
    if ENDINGS.iter().any(|ending| name.ends_with(ending)) || is_key(name) {
        return Some("it is named like a private key");
    }
    None
}

/// `id_deploy` and `id_rsa.bak` are keys; `id_map.rs` is source code.
fn is_key(name: &str) -> bool {
    name.starts_with("id_") && (!name.contains('.') || KEYS.iter().any(|key| name.starts_with(key)))
}

#[cfg(test)]
mod tests {
    use super::denied;

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
