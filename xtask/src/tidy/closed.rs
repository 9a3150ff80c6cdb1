//! Crates that implement tools must not open files or sockets or start programs themselves: each has a list of
//! disallowed methods that clippy enforces.

use anyhow::{Context, Result};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The crates, and their files that may allow these methods because they are the guard.
const CLOSED_CRATES: [(&str, &[&str]); 7] = [
    (
        "suites",
        &[
            "files.rs",
            "files/surroundings.rs",
            "files/links.rs",
            "docs/collection.rs",
            "indexing/follow.rs",
            "repo/history/repository.rs",
        ],
    ),
    ("prose", &[]),
    ("syntax", &[]),
    ("tool", &[]),
    ("web", &[]),
    ("screen", &[]),
    ("auth", &[]),
];

/// Methods that every list must contain.
const REQUIRED_METHODS: [&str; 24] = [
    "std::fs::read",
    "std::fs::write",
    "std::fs::read_dir",
    "std::fs::File::open",
    "std::fs::File::create_new",
    "std::fs::OpenOptions::open",
    "std::path::Path::canonicalize",
    "std::path::Path::metadata",
    "std::path::Path::exists",
    "ignore::WalkBuilder::new",
    "gix::open::Options::open",
    "std::net::TcpStream::connect",
    "std::net::TcpStream::connect_timeout",
    "std::net::ToSocketAddrs::to_socket_addrs",
    "std::net::UdpSocket::bind",
    "std::os::unix::net::UnixDatagram::bind",
    "std::os::unix::net::UnixDatagram::unbound",
    "tokio::net::lookup_host",
    "tokio::net::TcpStream::connect",
    "tokio::net::TcpSocket::connect",
    "tokio::net::TcpSocket::listen",
    "tokio::net::UnixDatagram::bind",
    "tokio::net::UnixDatagram::unbound",
    "std::process::Command::new",
];

/// Reports crates without the list and files that bypass it.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut breaches = Vec::new();
    let mut first: Option<String> = None;
    for (name, guards) in CLOSED_CRATES {
        let folder = root.join("crates").join(name);
        let list = fs::read_to_string(folder.join("clippy.toml")).unwrap_or_default();
        for method in REQUIRED_METHODS {
            if !list.contains(&format!("\"{method}\"")) {
                breaches.push(format!("crates/{name}/clippy.toml doesn't disallow {method}"));
            }
        }
        if first.get_or_insert_with(|| list.clone()) != &list {
            breaches.push(format!("crates/{name}/clippy.toml differs from the others"));
        }
        for file in sources(&folder.join("src"))? {
            let text = fs::read_to_string(&file)?;
            let inside = file.strip_prefix(folder.join("src")).unwrap_or(&file);
            let is_guard = guards.iter().any(|guard| inside == Path::new(guard));
            if !is_guard && bypasses_list(&text) {
                let shown = file.strip_prefix(root).unwrap_or(&file).display();
                breaches.push(format!("{shown} bypasses the list of disallowed methods"));
            }
        }
    }
    Ok(breaches)
}

/// Whether a source file turns the lint off outside its tests.
fn bypasses_list(text: &str) -> bool {
    text.lines().any(|line| line.contains("disallowed_methods") && !line.contains("cfg_attr(test,"))
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(sources(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            all.push(path);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tests_may_bypass_the_list() {
        for (line, want) in [
            ("#![cfg_attr(test, expect(clippy::disallowed_methods, reason = \"\"))]", false),
            ("#[expect(clippy::disallowed_methods, reason = \"\")]", true),
            ("#![allow(clippy::disallowed_methods)]", true),
            ("fn main() {}", false),
        ] {
            assert_eq!(bypasses_list(line), want, "{line}");
        }
    }

    #[test]
    fn a_crate_without_the_list_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        for (name, _) in CLOSED_CRATES {
            fs::create_dir_all(folder.path().join("crates").join(name).join("src")).unwrap();
        }
        assert_eq!(
            check(folder.path()).unwrap().len(),
            REQUIRED_METHODS.len() * CLOSED_CRATES.len()
        );
    }
}
