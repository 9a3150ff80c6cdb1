//! Files that docent reads by their names, as pipes, as sockets and as links to a pipe; and a pipe that comes later.

use super::{HostileSession, TransportUnderTest, pipe, run, socket};
use crate::TestHome;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

/// Names that something reads: manifests, lock files, settings of tools, rules, documents, what git has, docent's own.
const READ_BY_NAME: [&str; 79] = [
    "README.md",
    "README.rst",
    "LICENSE",
    "COPYING",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "CODEOWNERS",
    ".github/CODEOWNERS",
    ".github/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".travis.yml",
    ".circleci/config.yml",
    "Jenkinsfile",
    ".gitignore",
    ".ignore",
    ".docentignore",
    "src/.gitignore",
    ".gitattributes",
    ".gitmodules",
    ".mailmap",
    ".editorconfig",
    ".env",
    ".nvmrc",
    ".python-version",
    ".tool-versions",
    "rust-toolchain.toml",
    "package.json",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "tsconfig.json",
    "Cargo.toml",
    "Cargo.lock",
    "crates/a/Cargo.toml",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "Pipfile",
    "Pipfile.lock",
    "poetry.lock",
    "uv.lock",
    "tox.ini",
    "noxfile.py",
    "go.mod",
    "go.sum",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "gradle.properties",
    "gradle/libs.versions.toml",
    "Gemfile",
    "Gemfile.lock",
    "a.gemspec",
    "composer.json",
    "composer.lock",
    "a.csproj",
    "Directory.Packages.props",
    "packages.config",
    "CMakeLists.txt",
    "conanfile.txt",
    "conanfile.py",
    "vcpkg.json",
    "Package.swift",
    "Package.resolved",
    "Makefile",
    "justfile",
    "Taskfile.yml",
    "Dockerfile",
    "docker-compose.yml",
    "mkdocs.yml",
    "book.toml",
    "docs/conf.py",
    "docs/index.md",
    "script-without-an-ending",
];

/// Of git's own folder, what is opened to read a history.
const GIT_FILES: [&str; 9] = [
    ".git/HEAD",
    ".git/config",
    ".git/packed-refs",
    ".git/shallow",
    ".git/commondir",
    ".git/info/exclude",
    ".git/objects/info/alternates",
    ".git/refs/heads/other",
    ".git/objects/pack/pack-0.idx",
];

/// What becomes of a file.
#[derive(Clone, Copy, PartialEq)]
enum SwappedFile {
    Pipe,
    Link,
}

/// Puts something into the place of a file.
fn replace(file: &Path, kind: SwappedFile) {
    drop(fs::remove_file(file));
    match kind {
        SwappedFile::Pipe => pipe(file),
        SwappedFile::Link => {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let target = file.with_file_name("the-pipe");
            if !target.exists() {
                pipe(&target);
            }
            symlink("the-pipe", file).unwrap();
        }
    }
}

/// A project with one file that can be read.
fn project() -> TestHome {
    let place = TestHome::new();
    place.settings("server.rate_limit.enabled = false\n");
    fs::create_dir(place.project().join("src")).unwrap();
    place.write("src/plain.py", "def plain():\n    return 1\n");
    place
}

async fn everything_answers(place: &TestHome) -> String {
    let mut session = HostileSession::open(place, &[], TransportUnderTest::Stdio).await;
    let mut text = String::new();
    for (tool, arguments) in [
        ("analyze_repository", json!({"path": ".", "depth": "deep"})),
        ("check_documentation", json!({"path": "."})),
        ("parse_files", json!({"files": ["."]})),
        ("outline", json!({"path": "."})),
        ("analyze_code", json!({"file": ".", "analysisType": "dependencies"})),
        ("analyze_code", json!({"file": ".", "analysisType": "security"})),
        ("find_references", json!({"symbol": "plain"})),
        ("read_symbol", json!({"symbol": "plain"})),
        ("query_annotations", json!({"query": "plain"})),
    ] {
        let answer = session.call(tool, arguments).await;
        assert!(!super::is_error(&answer), "{tool}: {answer}");
        text.push_str(&answer.to_string());
    }
    let params = json!({"name": "document_repository", "arguments": {}});
    let answer = session.ask("prompts/get", params).await;
    assert!(!super::is_error(&answer), "{answer}");
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_read_by_name_may_be_pipes() {
    let place = project();
    for name in READ_BY_NAME {
        replace(&place.project().join(name), SwappedFile::Pipe);
    }
    let text = everything_answers(&place).await;
    for name in ["README.md", "package.json", "Cargo.toml", "Makefile"] {
        assert!(text.contains(&format!("{name}: not a regular file (named pipe)")), "{name}");
    }
    assert!(text.contains("its rules are ignored: not a regular file (named pipe)"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_read_by_name_may_be_links_to_a_pipe() {
    let place = project();
    for name in READ_BY_NAME {
        replace(&place.project().join(name), SwappedFile::Link);
    }
    let text = everything_answers(&place).await;
    assert!(text.contains("is a symbolic link to a named pipe; not followed"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_read_by_name_may_be_sockets() {
    let place = project();
    let names = ["README.md", "LICENSE", "package.json", ".gitignore", "docs/index.md"];
    let _listeners: Vec<_> = names.map(|name| socket(&place.project().join(name))).into();
    let text = everything_answers(&place).await;
    assert!(text.contains("LICENSE: not a regular file (socket)"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_git_may_be_pipes() {
    for name in GIT_FILES {
        let place = project();
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(args);
            command.current_dir(place.project()).env("HOME", place.0.path());
            command.env("GIT_CONFIG_NOSYSTEM", "1");
            assert!(command.output().unwrap().status.success(), "git {args:?}");
        };
        git(&["init", "-q"]);
        git(&["add", "."]);
        git(&["commit", "-qm", "a"]);
        replace(&place.project().join(name), SwappedFile::Pipe);
        let mut session = HostileSession::open(&place, &[], TransportUnderTest::Stdio).await;
        let arguments = json!({"path": ".", "depth": "deep"});
        let answer = session.call("analyze_repository", arguments).await;
        assert!(!super::is_error(&answer), "{name}: {answer}");
        assert!(answer.to_string().contains("not a regular file (named pipe)"), "{name}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn own_files_of_docent_may_be_pipes() {
    for name in [".docent", ".docent/rules/own.yml", ".docent/audit.jsonl", ".docent/.gitignore"] {
        let place = project();
        pipe(&place.project().join(name));
        everything_answers(&place).await;
    }
}

/// The command line walks the same files.
#[test]
fn commands_walk_over_pipes() {
    let place = project();
    for name in READ_BY_NAME {
        replace(&place.project().join(name), SwappedFile::Pipe);
    }
    for (args, want) in [
        (&["index"][..], "not a regular file (named pipe)"),
        (&["search", "plain"], "plain.py"),
        (&["analyze", ".", "--depth", "deep"], "not a regular file (named pipe)"),
    ] {
        let (code, text) = run(&place, args);
        assert_eq!(code, 0, "{args:?}: {text}");
        assert!(text.contains(want), "{args:?}: no {want:?} in {text}");
    }
}

/// A file that becomes a pipe while the server runs is taken out of the index, and a new one is found by the next walk.
#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_may_come_while_the_server_runs() {
    let place = project();
    let mut session = HostileSession::open(&place, &[], TransportUnderTest::Stdio).await;
    let found = |answer: &Value| answer.to_string().contains("src/plain.py");
    let query = json!({"query": "plain"});
    assert!(found(&session.call("query_annotations", query.clone()).await));
    replace(&place.project().join("src/plain.py"), SwappedFile::Pipe);
    pipe(&place.project().join("src/late.py"));
    let end = Instant::now() + Duration::from_mins(1);
    while found(&session.call("query_annotations", query.clone()).await) {
        assert!(Instant::now() < end, "the index still has a file that is gone");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answer = session.call("outline", json!({})).await.to_string();
    for name in ["src/late.py", "src/plain.py"] {
        assert!(answer.contains(name), "{name}: {answer}");
    }
    assert!(answer.contains("not a regular file (named pipe)"), "{answer}");
}
