//! Servers behind `docent serve`, held by the kernel: what each level refuses, and that what it refuses is there to be
//! had.

#![cfg(target_os = "linux")]

use crate::{
    TestHome, kernel_can_confine,
    serving::{LEGACY, call, serve, signal},
};
use docent_testenv::{or_skip, skip};
use docent_testkit::ChildTestClient;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    io::Read,
    net::TcpListener,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
};

/// A server with one tool, which tries what its arguments say. It writes a marker file at its start.
const SERVER: &str = r#"
import json, os, socket, sys

def attempt(what, target, text="written"):
    if what == "read":
        with open(target, "rb") as file:
            return "read %d bytes" % len(file.read(64))
    if what == "write":
        with open(target, "w") as file:
            file.write(text)
        return "written"
    if what == "swap":
        os.rename(target, target + ".moved")
        os.symlink(text, target)
        return "swapped"
    socket.create_connection(("127.0.0.1", int(target)), 5).close()
    return "connected"

if len(sys.argv) > 1:
    attempt("write", sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    if asked["method"] == "initialize":
        about = {"name": "attempts", "version": "1"}
        answer["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": about}
    elif asked["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "attempt", "inputSchema": {"type": "object"}}]}
    elif asked["method"] == "tools/call":
        try:
            said = attempt(**asked["params"]["arguments"])
        except PermissionError as error:
            said = "refused: %s" % error
        answer["result"] = {"content": [{"type": "text", "text": said}]}
    else:
        answer["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(answer), flush=True)
"#;

const PYTHON: &str = "/usr/bin/python3";

/// A home with a credential in it, and the server in its project.
fn prepared() -> Result<TestHome, String> {
    kernel_can_confine()?;
    docent_testenv::find_program("python3")?;
    let place = TestHome::outside_temporary()?;
    for (name, text) in [(".ssh/id_ed25519", "a credential"), ("elsewhere/kept", "kept")] {
        let file = place.0.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    place.write("server.py", SERVER);
    Ok(place)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The server under a name, with more lines in its table.
fn entry(place: &TestHome, name: &str, more: &str) -> String {
    let script = text(&place.project().join("server.py"));
    format!(
        "[mcp_servers.{name}]\ncommand = {PYTHON:?}\nargs = [\"-I\", {script:?}, {:?}]\n{more}",
        text(&mark(place, name))
    )
}

/// What is there once the server has run.
fn mark(place: &TestHome, name: &str) -> PathBuf {
    place.project().join(format!("{name}.ran"))
}

/// What the server under this name says of an attempt.
async fn attempt(server: &mut ChildTestClient, name: &str, arguments: Value) -> String {
    let tool = format!("{name}__attempt");
    loop {
        let answer = server.ask("tools/call", call(&tool, arguments.clone())).await.unwrap();
        if let Some(said) = answer["result"]["content"][0]["text"].as_str() {
            return said.to_owned();
        }
        // It is not up yet.
        let changed = server.notification("notifications/tools/list_changed").await;
        changed.unwrap_or_else(|error| panic!("{error}: {answer}"));
    }
}

async fn opened(place: &TestHome, args: &[&str]) -> ChildTestClient {
    opened_with(place, args, &[]).await
}

async fn opened_with(
    place: &TestHome,
    args: &[&str],
    environment: &[(&str, &str)],
) -> ChildTestClient {
    let mut server = serve(place, args, environment);
    server.open(LEGACY).await.unwrap();
    // Servers are started when a client lists tools.
    server.ask("tools/list", json!({})).await.unwrap();
    server
}

#[tokio::test]
async fn a_server_is_held_to_its_level() {
    let place = or_skip!(prepared());
    // A strict server can't leave a mark.
    let script = text(&place.project().join("server.py"));
    place.settings(&format!(
        "hub.exposure = \"direct\"\n{}{}\
         [mcp_servers.strict]\ncommand = {PYTHON:?}\nargs = [\"-I\", {script:?}]\nsandbox = \"strict\"\n",
        entry(&place, "guarded", ""),
        entry(&place, "off", "sandbox = \"off\"\n"),
    ));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let port = port.as_str();
    let mut server = opened(&place, &[]).await;
    let shadow = "/etc/shadow";
    let readable = File::open(shadow).is_ok();
    for (name, what, target, succeeds) in [
        ("guarded", "read", ".ssh/id_ed25519", false),
        ("guarded", "read", "elsewhere/kept", true),
        ("guarded", "read", shadow, false),
        // No file that every program is given.
        ("guarded", "read", "/etc/login.defs", File::open("/etc/login.defs").is_ok()),
        ("guarded", "write", "elsewhere/guarded", false),
        ("guarded", "write", "project/guarded", true),
        ("guarded", "connect", port, true),
        ("strict", "read", ".ssh/id_ed25519", false),
        ("strict", "read", "elsewhere/kept", false),
        ("strict", "read", shadow, false),
        ("strict", "read", "project/server.py", true),
        ("strict", "write", "elsewhere/strict", false),
        ("strict", "write", "project/strict", false),
        ("strict", "connect", port, false),
        ("off", "read", ".ssh/id_ed25519", true),
        ("off", "read", "elsewhere/kept", true),
        ("off", "read", shadow, readable),
        ("off", "write", "elsewhere/off", true),
        ("off", "connect", port, true),
    ] {
        let path = text(&place.0.path().join(target));
        let target = if what == "connect" { target } else { path.as_str() };
        let said = attempt(&mut server, name, json!({"what": what, "target": target})).await;
        let begins = match (succeeds, what) {
            (false, _) => "refused: ",
            (true, "read") => "read ",
            (true, "write") => "written",
            (true, _) => "connected",
        };
        assert!(said.starts_with(begins), "{name} {what} {target}: {said}");
    }
    assert!(!place.0.path().join("elsewhere/guarded").exists());
    // A program that can read a disk can read every file on it.
    if let Some(disk) = disk() {
        for (name, begins) in [("guarded", "refused: "), ("strict", "refused: "), ("off", "read ")]
        {
            let order = json!({"what": "read", "target": text(&disk)});
            let said = attempt(&mut server, name, order).await;
            assert!(said.starts_with(begins), "{name} {}: {said}", disk.display());
        }
    }
}

/// Has the server put a link to `target` in the place of a folder.
async fn swap(server: &mut ChildTestClient, name: &str, folder: &Path, target: &Path) {
    let order = json!({"what": "swap", "target": text(folder), "text": text(target)});
    assert_eq!(attempt(server, name, order).await, "swapped", "{}", folder.display());
}

#[tokio::test]
async fn a_link_where_a_server_may_write_opens_nothing_to_any() {
    let place = or_skip!(prepared());
    let (home, project) = (place.0.path(), place.project());
    let [programs, start, library] =
        [home.join(".bun/bin"), project.join("start"), project.join("library")];
    for folder in [&programs, &start, &library] {
        fs::create_dir_all(folder).unwrap();
    }
    place.settings(&format!(
        "hub.exposure = \"direct\"\n{}\
         [mcp_servers.strict]\ncommand = {PYTHON:?}\nargs = [\"-I\", {:?}]\n\
         sandbox = {{ level = \"strict\", read = [{:?}] }}\n",
        entry(&place, "guarded", &format!("cwd = {:?}\n", text(&start))),
        text(&project.join("server.py")),
        text(&library),
    ));
    let search = format!("{}:/usr/bin:/bin", text(&programs));
    let environment = [("PATH", search.as_str())];
    let mut server = opened_with(&place, &[], &environment).await;
    swap(&mut server, "guarded", &programs, Path::new("/")).await;
    swap(&mut server, "guarded", &start, home).await;
    swap(&mut server, "guarded", &library, Path::new("/")).await;
    drop(server);
    let mut server = opened_with(&place, &[], &environment).await;
    for (name, what, target) in [
        ("guarded", "read", ".ssh/id_ed25519"),
        ("guarded", "write", "elsewhere/new"),
        ("guarded", "write", ".profile"),
        ("strict", "read", ".ssh/id_ed25519"),
        ("strict", "read", "elsewhere/kept"),
    ] {
        let order = json!({"what": what, "target": text(&home.join(target))});
        let said = attempt(&mut server, name, order).await;
        assert!(said.starts_with("refused: "), "{name} {what} {target}: {said}");
    }
    for key in ["guarded.cwd", "strict.sandbox.read"] {
        let warning = format!("`mcp_servers.{key}` cannot open ");
        let line = server.log_line(&warning).await.unwrap();
        assert!(line.contains("leads out of a folder"), "{line}");
    }
}

#[tokio::test]
async fn a_link_where_a_server_may_write_makes_no_root() {
    let place = or_skip!(prepared());
    let nested = place.project().join("nested");
    fs::create_dir(&nested).unwrap();
    place.settings(&format!(
        "hub.exposure = \"direct\"\nroots = [{:?}, {:?}]\n{}",
        text(&place.project()),
        text(&nested),
        entry(&place, "first", "")
    ));
    let mut server = opened(&place, &[]).await;
    swap(&mut server, "first", &nested, place.0.path()).await;
    signal(&server, Signal::HUP);
    server.log_line("keeping the previous one").await.unwrap();
    drop(server);
    let remedy = format!("use {} instead", place.0.path().display());
    place.run(&["serve"]).ends(1).says("servers can write there").says(&remedy);
}

#[tokio::test]
async fn a_path_of_an_entry_is_written_as_any_other() {
    let place = or_skip!(prepared());
    fs::create_dir(place.0.path().join("data")).unwrap();
    let more = "sandbox = { write = [\"~/data\", \"~/none\"] }\n";
    place.settings(&format!("hub.exposure = \"direct\"\n{}", entry(&place, "first", more)));
    let mut server = opened(&place, &[]).await;
    let order = json!({"what": "write", "target": text(&place.0.path().join("data/new"))});
    assert_eq!(attempt(&mut server, "first", order).await, "written");
    let none = text(&place.0.path().join("none"));
    let output = format!("`mcp_servers.first.sandbox.write` cannot open {none} to servers: ");
    server.log_line(&output).await.unwrap();
}

#[tokio::test]
async fn missing_bubblewrap_is_reported() {
    if let Some(program) = docent_sandbox::SandboxSupport::look().bubblewrap {
        skip!("bubblewrap is installed: {}", program.display());
    }
    let place = or_skip!(prepared());
    let top = "hub.exposure = \"direct\"\npolicy.sandbox.bubblewrap = true\n";
    place.settings(&format!("{top}{}", entry(&place, "first", "")));
    let mut server = opened(&place, &[]).await;
    server.log_line("sandbox of the server `first`: bubblewrap").await.unwrap();
}

#[tokio::test]
async fn the_sandbox_of_servers_stays_as_it_was_at_the_start() {
    let place = or_skip!(prepared());
    let set = |mode: &str, more: &str| {
        let first = entry(&place, "first", "");
        let top = format!("hub.exposure = \"direct\"\npolicy.sandbox.mode = {mode:?}\n");
        place.settings(&format!("{top}{first}{more}"));
    };
    set("auto", "");
    let mut server = opened(&place, &[]).await;
    set("off", &entry(&place, "second", "warm = true\n"));
    signal(&server, Signal::HUP);
    let waiting = server.log_line("these changes need a restart").await.unwrap();
    assert!(waiting.contains("policy.sandbox.mode"), "{waiting}");
    let secret = json!({"what": "read", "target": text(&place.0.path().join(".ssh/id_ed25519"))});
    for name in ["first", "second"] {
        let said = attempt(&mut server, name, secret.clone()).await;
        assert!(said.starts_with("refused: "), "{name}: {said}");
    }
    drop(server);
    let mut server = opened(&place, &[]).await;
    let said = attempt(&mut server, "first", secret).await;
    assert!(said.starts_with("read "), "{said}");
}

/// A disk that this user may read, which is root, and that has something to read.
fn disk() -> Option<PathBuf> {
    let mut devices: Vec<PathBuf> =
        fs::read_dir("/dev").unwrap().map(|entry| entry.unwrap().path()).collect();
    devices.sort();
    devices.into_iter().find(|path| {
        let is_disk = path.symlink_metadata().is_ok_and(|kind| kind.file_type().is_block_device());
        is_disk && File::open(path).and_then(|mut disk| disk.read_exact(&mut [0; 64])).is_ok()
    })
}

#[tokio::test]
async fn a_program_that_the_policy_denies_is_not_started() {
    let place = or_skip!(prepared());
    place.settings(&format!(
        "policy.downstream.deny = [\"python3\"]\n{}",
        entry(&place, "denied", "warm = true\n")
    ));
    let mut server = serve(&place, &[], &[]);
    server.log_line("is not started: `policy.downstream.deny` names it").await.unwrap();
    assert!(!mark(&place, "denied").exists());
    drop(server);
    place.settings(&format!(
        "policy.downstream.commands = [\"node\"]\n{}",
        entry(&place, "denied", "warm = true\n")
    ));
    let mut server = serve(&place, &[], &[]);
    let rule = "is not started: `policy.downstream.commands` doesn't name it";
    server.log_line(rule).await.unwrap();
    assert!(!mark(&place, "denied").exists());
}

/// What a server writes into a configuration file is not applied before the user sends SIGHUP.
async fn stays_in(place: &TestHome, args: &[&str], file: &Path, changed: &str) -> ChildTestClient {
    let mut server = opened(place, args).await;
    server.log_line(&format!("the server first can write to {}", file.display())).await.unwrap();
    let order = json!({"what": "write", "target": text(file), "text": changed});
    assert_eq!(attempt(&mut server, "first", order).await, "written");
    server.log_line("configuration change ignored").await.unwrap();
    let listed = server.ask("tools/list", json!({})).await.unwrap().to_string();
    assert!(listed.contains("first__attempt") && !listed.contains("second__attempt"), "{listed}");
    assert!(!mark(place, "second").exists(), "it was started");
    signal(&server, Signal::HUP);
    server.log_line("configuration reloaded").await.unwrap();
    server
}

#[tokio::test]
async fn a_server_starts_no_other_by_writing_to_a_registry() {
    let place = or_skip!(prepared());
    let file = place.project().join("servers.json");
    let one = |name: &str| {
        let script = text(&place.project().join("server.py"));
        json!({"command": PYTHON, "args": ["-I", script, text(&mark(&place, name))]})
    };
    let both = |second: Value| json!({"mcpServers": {"first": one("first"), "second": second}});
    fs::write(&file, json!({"mcpServers": {"first": one("first")}}).to_string()).unwrap();
    place.settings(&format!("hub.exposure = \"direct\"\nhub.registries = [{:?}]\n", text(&file)));
    let mut second = one("second");
    second["sandbox"] = json!("off");
    second["warm"] = json!(true);
    let mut server = stays_in(&place, &[], &file, &both(second).to_string()).await;
    // The user has let it in, and a registry still loosens nothing.
    server.log_line("a registry can't loosen the sandbox").await.unwrap();
    let secret = text(&place.0.path().join(".ssh/id_ed25519"));
    let said = attempt(&mut server, "second", json!({"what": "read", "target": secret})).await;
    assert!(said.starts_with("refused: "), "{said}");
    let doctor = place.run(&["doctor", "--port", "0"]);
    doctor.ends(0).prints(&format!("the servers first, second can write to {}", file.display()));
}

#[tokio::test]
async fn a_server_starts_no_other_by_writing_to_a_file_of_settings() {
    let place = or_skip!(prepared());
    let file = place.project().join("own.toml");
    let first = format!("hub.exposure = \"direct\"\n{}", entry(&place, "first", ""));
    fs::write(&file, &first).unwrap();
    let second = entry(&place, "second", "sandbox = \"off\"\nwarm = true\n");
    let args = ["--config", "own.toml"];
    let mut server = stays_in(&place, &args, &file, &format!("{first}{second}")).await;
    // The user has let it in, with what the file says: this shows that the change was one to be afraid of.
    let secret = text(&place.0.path().join(".ssh/id_ed25519"));
    let said = attempt(&mut server, "second", json!({"what": "read", "target": secret})).await;
    assert!(said.starts_with("read "), "{said}");
}
