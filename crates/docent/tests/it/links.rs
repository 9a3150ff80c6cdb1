//! Files of docent's that are replaced by links between two writes, with the sandbox on and off.

use crate::{
    TestHome,
    serving::{LEGACY, call, serve},
};
use serde_json::json;
use std::{fs, os::unix::fs::symlink, path::Path};

/// A home with a file and a folder that nothing may touch.
fn place(sandbox: &str) -> TestHome {
    let place = TestHome::new();
    place.settings(&format!("policy.sandbox.mode = \"{sandbox}\"\n"));
    place.write("app.py", "def fetch_rows():\n    return []\n");
    fs::write(place.0.path().join(".bashrc"), "precious\n").unwrap();
    fs::create_dir(place.0.path().join("elsewhere")).unwrap();
    place
}

#[track_caller]
fn check_untouched(place: &TestHome) {
    let victim = fs::read_to_string(place.0.path().join(".bashrc")).unwrap();
    assert_eq!(victim, "precious\n");
    let names: Vec<_> = fs::read_dir(place.0.path().join("elsewhere")).unwrap().collect();
    assert!(names.is_empty(), "{names:?}");
}

/// Puts a link in the place of a file or a folder.
fn replace(path: &Path, target: &Path) {
    if path.symlink_metadata().is_ok() {
        fs::rename(path, path.with_extension("moved")).unwrap();
    }
    symlink(target, path).unwrap();
}

const MODES: [&str; 2] = ["off", "auto"];

#[tokio::test]
async fn an_audit_file_that_became_a_link_is_reported_and_not_written_through() {
    for mode in MODES {
        for (replaced, target) in [("audit.jsonl", ".bashrc"), ("", "elsewhere")] {
            let place = place(mode);
            let mut server = serve(&place, &[], &[]);
            server.open(LEGACY).await.unwrap();
            server.ask("tools/call", call("no_such_tool", json!({}))).await.unwrap();
            let state = place.project().join(".docent");
            let path = if replaced.is_empty() { state } else { state.join(replaced) };
            replace(&path, &place.0.path().join(target));
            for _ in 0..3 {
                server.ask("tools/call", call("no_such_tool", json!({}))).await.unwrap();
            }
            let line = server.log_line("is a symbolic link").await.unwrap();
            assert!(line.contains("cannot write audit lines"), "{mode}: {line}");
            check_untouched(&place);
        }
    }
}

#[tokio::test]
async fn an_index_whose_folder_became_a_link_is_not_written_through() {
    for mode in MODES {
        let place = place(mode);
        place.run(&["index"]).ends(0);
        let index = place.index();
        let mut server = serve(&place, &[], &[]);
        server.open(LEGACY).await.unwrap();
        let search = call("code_search", json!({"query": "fetch rows"}));
        server.ask("tools/call", search.clone()).await.unwrap();
        replace(&index, &place.0.path().join("elsewhere"));
        place.write("new.py", "def new_rows():\n    return [1]\n");
        for _ in 0..3 {
            server.ask("tools/call", search.clone()).await.unwrap();
        }
        check_untouched(&place);
    }
}

#[test]
fn a_state_folder_with_links_is_left_alone_and_reported() {
    for mode in MODES {
        let place = place(mode);
        place.run(&["index"]).ends(0);
        replace(&place.project().join(".docent/audit.jsonl"), &place.0.path().join(".bashrc"));
        let run = place.run(&["index"]);
        run.ends(0);
        assert!(run.err.contains("audit.jsonl is a symbolic link"), "{}", run.err);
        let doctor = place.run(&["doctor"]);
        let output = format!("{}{}", doctor.out, doctor.err);
        assert!(output.contains("is a symbolic link"), "{output}");
        check_untouched(&place);
    }
}

#[test]
fn a_key_that_is_a_link_is_not_read_and_is_reported() {
    for mode in MODES {
        let place = place(mode);
        place.run(&["index"]).ends(0);
        let key = place.0.path().join(".cache/docent/key");
        replace(&key, &key.with_extension("moved"));
        let run = place.run(&["index"]);
        run.ends(0);
        assert!(run.err.contains("key is a symbolic link"), "{}", run.err);
    }
}

#[test]
fn a_configured_audit_file_that_is_a_link_is_a_failed_check() {
    let place = place("off");
    let audit = place.project().join("calls.jsonl");
    symlink(place.0.path().join(".bashrc"), &audit).unwrap();
    place.settings(&format!("audit.file = {audit:?}\npolicy.sandbox.mode = \"off\"\n"));
    let doctor = place.run(&["doctor"]);
    assert!(doctor.out.contains("calls.jsonl is a symbolic link"), "{}", doctor.out);
    check_untouched(&place);
}

#[test]
fn configuration_that_is_a_link_is_neither_followed_nor_replaced() {
    let place = place("off");
    fs::create_dir(place.project().join("manual")).unwrap();
    place.write("manual/a.md", "# A\n\nText.\n");
    let file = place.project().join("docent.toml");
    let shared = place.0.path().join("shared.toml");
    fs::write(&shared, "").unwrap();
    symlink(&shared, &file).unwrap();
    let run = place.run(&["docs", "add", "manual", "manual"]);
    run.ends(1).says("docent.toml is a symbolic link");
    assert!(file.is_symlink());
    assert_eq!(fs::read_to_string(&shared).unwrap(), "");
    let run = place.run(&["config", "init", "--force"]);
    run.ends(0);
    assert!(!file.is_symlink(), "--force replaces the link itself");
    assert_eq!(fs::read_to_string(&shared).unwrap(), "");
    check_untouched(&place);
}

#[test]
fn a_client_s_file_is_followed_in_the_home_and_refused_in_a_project() {
    let place = place("off");
    let dotfiles = place.0.path().join("dotfiles");
    fs::create_dir_all(&dotfiles).unwrap();
    fs::create_dir_all(place.0.path().join(".cursor")).unwrap();
    fs::write(dotfiles.join("mcp.json"), "{}\n").unwrap();
    let own = place.0.path().join(".cursor/mcp.json");
    symlink(dotfiles.join("mcp.json"), &own).unwrap();
    place.run(&["install", "cursor", "--yes"]).ends(0);
    assert!(own.is_symlink(), "the user's own link stays");
    let written = fs::read_to_string(dotfiles.join("mcp.json")).unwrap();
    assert!(written.contains("docent"), "{written}");
    fs::create_dir(place.project().join(".cursor")).unwrap();
    fs::write(place.0.path().join("victim.json"), "{}\n").unwrap();
    let link = place.project().join(".cursor/mcp.json");
    symlink(place.0.path().join("victim.json"), &link).unwrap();
    let run = place.run(&["install", "cursor", "--project", "--yes"]);
    assert_ne!(run.code, 0, "{}", run.out);
    assert!(run.err.contains("symbolic link"), "{}{}", run.out, run.err);
    assert_eq!(fs::read_to_string(place.0.path().join("victim.json")).unwrap(), "{}\n");
    check_untouched(&place);
}
