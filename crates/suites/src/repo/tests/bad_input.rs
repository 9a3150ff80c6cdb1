//! Unreadable paths are listed, and the rest is still reported.

use super::*;
use std::os::unix::{ffi::OsStrExt as _, fs::symlink, net::UnixListener};

/// The reasons listed for a path.
fn reasons(report: &Report, path: &str) -> Vec<String> {
    let of_path = report.problems.iter().filter(|problem| problem.path == path);
    of_path.map(|problem| problem.reason.clone()).collect()
}

#[tokio::test]
async fn each_kind_of_bad_input_is_listed_and_the_rest_comes() {
    let root = library();
    let at = root.path();
    symlink("nowhere", at.join("dead")).unwrap();
    symlink("..", at.join("docs/up")).unwrap();
    symlink("loop-b", at.join("loop-a")).unwrap();
    symlink("loop-a", at.join("loop-b")).unwrap();
    symlink("/etc", at.join("out-of-here")).unwrap();
    symlink("src", at.join("fine")).unwrap();
    let _socket = UnixListener::bind(at.join("socket")).unwrap();
    fs::write(at.join(std::ffi::OsStr::from_bytes(b"caf\xe9.rs")), "fn a() {}\n").unwrap();
    write(at, "src/stream.ts", b"G@\0\x10\0\0");
    write(at, "web/broken.json/package.json", "{");
    write(at, ".gitmodules", "[submodule \"vendor/x\"]\n\tpath = vendor/x\n\turl = ../x\n");
    write(at, "vendor/x/lib.c", "int x;\n");
    let report = analyze(&root, ".", Depth::Deep).await.unwrap().structured;
    let cases = [
        ("dead", "missing target"),
        ("docs/up", "to a folder that contains it"),
        ("loop-a", "can't be followed"),
        ("out-of-here", "outside the root"),
        ("socket", "not a regular file (socket)"),
        ("caf\u{fffd}.rs", "not UTF-8"),
        ("src/stream.ts", "not text, although its name says TypeScript"),
        ("web/broken.json/package.json", "not valid JSON"),
        ("broken/Cargo.toml", "not valid TOML"),
        ("vendor/x", "a git submodule"),
    ];
    for (path, want) in cases {
        let found = reasons(&report, path);
        assert!(
            found.len() == 1 && found[0].contains(want),
            "{path}: {found:?} of {:?}",
            report.problems
        );
    }
    assert_eq!(reasons(&report, "fine"), [""; 0]);
    assert_eq!(report.structure.submodules, ["vendor/x"]);
    assert_eq!(report.structure.links, 6);
    assert!(
        report.languages.iter().all(|language| language.name != "C"),
        "a submodule is another project"
    );
    assert_eq!(report.presence.readme.as_deref(), Some("README.md"));
    assert_eq!(report.coverage.unwrap().documented, 1);
}

#[tokio::test]
async fn an_unreadable_file_or_folder_is_listed() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = library();
    for path in ["src/lib.rs", "docs"] {
        fs::set_permissions(root.path().join(path), fs::Permissions::from_mode(0o0)).unwrap();
    }
    let is_readable = fs::read(root.path().join("src/lib.rs")).is_ok();
    let report = analyze(&root, ".", Depth::Standard).await.unwrap().structured;
    fs::set_permissions(root.path().join("docs"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(report.presence.readme.as_deref(), Some("README.md"));
    if is_readable {
        docent_testenv::skip!("this user (root) can read every file");
    }
    assert_eq!(reasons(&report, "src/lib.rs").len(), 1, "{:?}", report.problems);
    assert_eq!(reasons(&report, "docs").len(), 1, "{:?}", report.problems);
}

#[tokio::test]
async fn a_root_that_was_removed_does_not_exist() {
    let root = library();
    let tool = tool(&root);
    fs::remove_dir_all(root.path()).unwrap();
    let args = AnalyzeArgs { path: ".".into(), depth: Depth::Quick };
    let error = tool.call(args, &no_client()).await.unwrap_err();
    assert!(error.to_string().contains("Repository path does not exist"), "{error}");
}
