//! Modes of everything that docent creates where the umask takes nothing away.

use crate::{
    CliRun, TestHome,
    serving::{LEGACY, call, ends_well},
};
use docent_testkit::ChildTestClient;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
};

/// docent with a umask of 0.
fn command(place: &TestHome, args: &[&str]) -> Command {
    let mut command = place.command(&[]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "umask 0; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_docent")]).args(args);
    shell.current_dir(place.project()).env_clear();
    for (name, value) in command.env("PATH", "/usr/bin:/bin").get_envs() {
        shell.envs(value.map(|value| (name, value)));
    }
    shell
}

fn run(place: &TestHome, args: &[&str]) -> CliRun {
    CliRun::of(&mut command(place, args))
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(everything(&path));
        }
        found.push(path);
    }
    found
}

#[tokio::test]
async fn under_umask_0_nothing_is_writable_by_others() {
    let place = TestHome::new();
    fs::create_dir(place.project().join("manual")).unwrap();
    place.write("manual/a.md", "# Vacuum\n\nIt reclaims storage.\n");
    place.write("app.py", "def fetch_rows():\n    return []\n");
    // A file that is edited keeps its mode.
    fs::create_dir_all(place.0.path().join(".cursor")).unwrap();
    let edited = place.0.path().join(".cursor/mcp.json");
    fs::write(&edited, "{}\n").unwrap();
    fs::set_permissions(&edited, fs::Permissions::from_mode(0o664)).unwrap();
    let before = everything(place.0.path());

    run(&place, &["config", "init"]).ends(0);
    run(&place, &["docs", "add", "manual", "manual"]).ends(0);
    run(&place, &["docs", "sync"]).ends(0);
    run(&place, &["index"]).ends(0);
    run(&place, &["search", "fetch rows", "--threshold", "0"]).ends(0);
    run(&place, &["doctor"]);
    run(&place, &["install", "cursor", "--yes"]).ends(0);
    run(&place, &["install", "claude-code", "--project", "--yes"]);
    let report = place.project().join("report.md");
    run(&place, &["analyze", ".", "--output", report.to_str().unwrap()]).ends(0);
    let log = place.0.path().join("logs/docent.log");
    let mut serve = command(&place, &["serve"]);
    serve.env("MCP_LOG_FILE", &log).env("DOCENT_SERVER_LOGGING_FILE", &log);
    let mut server = ChildTestClient::spawn(serve.into()).unwrap();
    server.open(LEGACY).await.unwrap();
    for tool in ["code_search", "no_such_tool"] {
        server.ask("tools/call", call(tool, json!({"query": "fetch rows"}))).await.unwrap();
    }
    server.close_input();
    ends_well(&mut server).await;

    let created: Vec<PathBuf> =
        everything(place.0.path()).into_iter().filter(|path| !before.contains(path)).collect();
    assert!(created.len() > 15, "{created:#?}");
    for path in &created {
        assert_eq!(mode(path) & 0o022, 0, "{} has {:o}", path.display(), mode(path));
    }
    // State is the user's alone.
    let state = place.project().join(".docent");
    let is_state = |path: &&PathBuf| {
        path.starts_with(&state) || path.starts_with(place.0.path().join(".cache/docent"))
    };
    let private: Vec<&PathBuf> = created.iter().filter(is_state).collect();
    assert!(private.iter().any(|path| path.ends_with("audit.jsonl")), "{private:#?}");
    for path in private {
        let most = if path.ends_with(".gitignore") { 0o644 } else { 0o700 };
        assert_eq!(mode(path) & !most, 0, "{} has {:o}", path.display(), mode(path));
    }
    assert_eq!(mode(&edited), 0o664, "a file of the user's keeps its mode");
}
