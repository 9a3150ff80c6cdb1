//! `docent servers` as it is typed. The server behind docent is another docent.

use crate::{CliRun, TestHome};
use docent_testenv::or_skip;
use serde_json::json;
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    process::Stdio,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

const DOCENT: &str = env!("CARGO_BIN_EXE_docent");

/// Long enough for a busy machine, and only waited for where something is wrong.
const EVENT_TIMEOUT: Duration = Duration::from_mins(1);
/// Where the programs of the tests are.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

fn home(place: &TestHome, name: &str, text: &str) {
    let file = place.0.path().join(name);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn settings(place: &TestHome) -> String {
    fs::read_to_string(place.0.path().join(".config/docent/docent.toml")).unwrap_or_default()
}

#[test]
fn a_server_is_added_tried_listed_and_removed() {
    let place = TestHome::new();
    place.run(&["servers", "list"]).ends(0).prints("No servers configured");
    place.run(&["servers", "test"]).ends(0).prints("No servers configured");
    // It has no settings, and so not itself as a server, whose tools it would list a moment later.
    let env = format!("XDG_CONFIG_HOME={}", place.0.path().join("no-settings").display());
    let added = ["servers", "add", "other", "--env", &env, "--", DOCENT, "serve"];
    place.run(&added).ends(0).prints("To test it: docent servers test other");
    place.run(&["servers", "list"]).ends(0).prints("other  ").prints("(not seen yet)");
    place.run(&["servers", "test"]).ends(0).prints("ok    other: docent ");
    place.run(&["servers", "list"]).ends(0).prints(" tools, 20");
    place.run(&["servers", "approve", "other"]).ends(0).prints("No tools of `other` are held back");
    let tried = place.run(&["servers", "test", "other", "--json"]).ends(0).json();
    assert_eq!(tried["servers"][0]["name"], "other");
    assert_eq!(tried["problems"], json!([]));
    place.run(&["servers", "login", "other"]).ends(1).says("it is a program");
    place.run(&["servers", "remove", "other"]).ends(0).prints("Removed from ");
    place.run(&["servers", "remove", "other"]).ends(2).says("has no server \"other\"");
    assert!(!settings(&place).contains("other"), "{}", settings(&place));
}

#[test]
fn what_is_added_is_said_and_nothing_is_dropped() {
    let place = TestHome::new();
    for (args, want) in [
        (&["a__b", "--", "true"][..], "its name contains `__`"),
        (&["repo", "--", "true"], "it is the name of one of docent's own suites"),
        (&["a"], "name a program after --, or an address with --url"),
        (&["a", "--header", "A=b", "--", "true"], "--header only applies to an address"),
        (&["a", "--sse", "--", "true"], "--sse only applies to an address"),
        (&["a", "--url", "http://h/", "--env", "A=b"], "--env only applies to a program"),
        (&["a", "--url", "http://h/", "--cwd", "/"], "--cwd only applies to a program"),
        (&["a", "--url", "ws://h/", "--sse"], "--sse only applies to an http or https address"),
        (&["a", "--url", "ftp://h/"], "must begin with https://, http://, wss://, ws://"),
        (&["a", "--env", "A", "--", "true"], "must be NAME=VALUE"),
    ] {
        let words: Vec<&str> = ["servers", "add"].into_iter().chain(args.iter().copied()).collect();
        place.run(&words).ends(2).says(want);
    }
    assert_eq!(settings(&place), "");
    let added = place.run(&["servers", "add", "a", "--json", "--", "true"]).ends(0).json();
    assert_eq!(added["added"], "a");
    place.run(&["servers", "add", "a", "--", "false"]).ends(2).says("replace it with --replace");
    place.run(&["servers", "add", "a", "--replace", "--", "false"]).ends(0);
    place
        .run(&["servers", "add", "b", "--env", "K=${NOPE}", "--", "true"])
        .ends(0)
        .prints("note: ")
        .prints("the variable NOPE is not set");
    let removed = place.run(&["servers", "remove", "b", "--json"]).ends(0).json();
    assert_eq!(removed["removed"], "b");
}

#[test]
fn json_is_edited_by_hand() {
    let place = TestHome::new();
    home(
        &place,
        ".config/docent/docent.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"true\"}}}",
    );
    place
        .run(&["servers", "add", "b", "--", "true"])
        .ends(1)
        .says("add the entry under `mcpServers` by hand");
    place
        .run(&["servers", "remove", "a"])
        .ends(1)
        .says("remove the entry from `mcpServers` by hand");
}

#[test]
fn broken_entries_are_reported_and_fail() {
    let place = TestHome::new();
    place.settings(
        "[mcp_servers.b]\nargs = []\n[mcp_servers.repo]\ncommand = \"true\"\n\
         [mcp_servers.loose]\ncommand = \"true\"\nsandbox = \"loose\"\n[mcp_servers.off]\ncommand = \"true\"\ndisabled = true\n",
    );
    let run = place.run(&["servers", "test"]);
    run.ends(1)
        .prints(
            "FAIL  mcp_servers: \"b\", `command`: the entry has neither a command nor an address",
        )
        .prints("FAIL  \"repo\": it is the name of one of docent's own suites")
        .prints("FAIL  \"loose\", `sandbox`: invalid value; expected off, guarded or strict");
    place.run(&["servers", "test", "b"]).ends(1).prints("neither a command nor an address");
    place.run(&["servers", "test", "off"]).ends(1).says("is disabled");
    place.run(&["servers", "test", "nope"]).ends(2).says("unknown server \"nope\"; known: off");
    place
        .run(&["servers", "list"])
        .ends(0)
        .prints("note: \"repo\": it is the name")
        .prints("\"loose\", `sandbox`");
    place.run(&["servers", "approve", "nope"]).ends(2).says("unknown server \"nope\"");
    place.run(&["servers", "login", "b"]).ends(1).says("cannot use the server \"b\"");
    place.settings("hub.registries = [\"none.json\"]");
    place.run(&["servers", "test"]).ends(1).prints("FAIL  `hub.registries`: cannot read ");
    let output = place.run(&["servers", "test", "--json"]).ends(1).json();
    assert_eq!(output["problems"][0]["fatal"], true);
}

#[test]
fn a_misspelt_key_is_reported_and_ignored() {
    let place = TestHome::new();
    place.settings(&format!(
        "[mcp_servers.a]\ncommand = \"{DOCENT}\"\nargs = [\"serve\"]\nconcurency = 3\nidle_ms = \"x\"\nwarm = \"yes\"\n"
    ));
    place
        .run(&["servers", "test"])
        .ends(0)
        .prints("ok    a: ")
        .prints("note: \"a\", `concurency`: unknown field, ignored; did you mean `concurrency`?")
        .prints("note: \"a\", `idle_ms`: invalid value; expected a whole number of milliseconds")
        .prints("note: \"a\", `warm`: invalid value; expected true or false");
}

#[test]
fn a_server_that_fails_says_why() {
    let place = TestHome::new();
    place.settings(
        "[mcp_servers.slow]\ncommand = \"sleep\"\nargs = [\"60\"]\nstart_timeout_ms = 200\n",
    );
    CliRun::of(place.command(&["servers", "test"]).env("PATH", PATH))
        .ends(1)
        .prints("FAIL  slow: it did not start within 0.2 s; raise its `start_timeout_ms` if it needs longer");
    place.settings(
        "[mcp_servers.dead]\ncommand = \"sh\"\nargs = [\"-c\", \"echo no key >&2; exit 3\"]\n",
    );
    CliRun::of(place.command(&["servers", "test"]).env("PATH", PATH))
        .ends(1)
        .prints("it ended with exit code 3; last lines of its stderr: no key");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                .unwrap_or_default();
        }
    });
    place.settings(&format!(
        "[mcp_servers.plain]\nurl = \"https://127.0.0.1:{port}/mcp\"\ntype = \"http\"\n"
    ));
    place
        .run(&["servers", "test"])
        .ends(1)
        .prints("it does not use TLS on this port; write http://");
}

#[test]
fn servers_of_other_clients_are_imported() {
    let place = TestHome::new();
    place.run(&["servers", "import"]).ends(1).says("no client configuration found");
    place.run(&["servers", "import", "cursor"]).ends(1).says(".cursor/mcp.json");
    place.run(&["servers", "import", "unknown"]).ends(2).says("neither a file nor a client");
    home(
        &place,
        ".claude.json",
        r#"{"mcpServers": {"mine": {"command": "a"}, "web": {"command": "b"}, "docent": {"command": "docent"}},
            "projects": {"/p": {"mcpServers": {"theirs": {"command": "c"}}}}}"#,
    );
    place.write(".mcp.json", r#"{"mcpServers": {"project": {"command": "d"}}}"#);
    let run = place.run(&["servers", "import", "--dry-run"]);
    run.ends(0)
        .prints("mine  a  (from ")
        .prints("skipped: \"web\": it is the name of one of docent's own suites")
        .prints("skipped: theirs of /p: only for that project")
        .prints("1 server would be added to ");
    assert!(!run.out.contains("project  d"), "{}", run.out);
    assert_eq!(settings(&place), "");
    let taken = place.run(&["servers", "import", "--json"]).ends(0).json();
    assert_eq!(taken["added"][0]["name"], "mine");
    assert_eq!(taken["written"], true);
    place.run(&["servers", "import"]).ends(0).prints("mine  already exists");
    place.run(&["servers", "import", ".mcp.json"]).ends(0).prints("project  d  (from ");
    let taken = settings(&place);
    assert!(taken.contains("[mcp_servers.mine]") && !taken.contains("theirs"), "{taken}");
    place.run(&["servers", "import", "claude-code"]).ends(0).prints("theirs  c  (from ");
}

#[test]
fn the_block_of_an_editor_s_settings_is_imported() {
    let entry = r#"{"documcp": {"transport": "stdio", "command": "node", "args": ["/path/to/documcp/dist/index.js"]}}"#;
    for text in [
        format!(r#"{{"editor.fontSize": 12, "mcp.servers": {entry}}}"#),
        format!(r#"{{"mcp": {{"servers": {entry}}}}}"#),
    ] {
        let place = TestHome::new();
        place.write("settings.json", &text);
        place
            .run(&["servers", "import", "settings.json"])
            .ends(0)
            .prints("documcp  node /path/to/documcp/dist/index.js")
            .prints("1 server added to ");
        assert!(settings(&place).contains("[mcp_servers.documcp]"), "{}", settings(&place));
    }
}

#[test]
fn a_key_that_a_project_may_not_set_is_reported_on_stderr() {
    let place = TestHome::new();
    place.write("docent.toml", "policy.network.hosts = [\"a.test\"]\n");
    place.write("theirs.json", r#"{"mcpServers": {"mine": {"command": "true"}}}"#);
    let output = "sets `policy.network.hosts`, which docent ignores";
    for args in [
        &["list"][..],
        &["test"],
        &["import", "theirs.json"],
        &["add", "other", "--", "true"],
        &["remove", "other"],
    ] {
        let run = place.run(&[&["servers"], args].concat());
        let (out, err) = (&run.ends(0).out, &run.err);
        assert!(err.starts_with("warning: ") && err.contains(output), "{args:?}: {err}");
        assert!(!out.contains(output), "{args:?}: {out}");
    }
}

#[test]
fn a_server_with_a_name_of_docent_s_own_is_refused_clearly() {
    let place = TestHome::new();
    place.settings("[mcp_servers.docs]\ncommand = \"true\"\n");
    for args in [&["call", "search_documentation", "docs", "query=x"][..], &["tools", "-s", "docs"]]
    {
        place.run(args).ends(1).says(
            "cannot use the server \"docs\": \"docs\": it is the name of one of docent's own suites",
        );
    }
}

#[test]
fn an_invalid_retry_is_reported() {
    let place = TestHome::new();
    place.settings("[mcp_servers.a]\ncommand = \"true\"\nretry = { attempts = 99 }\n");
    place
        .run(&["servers", "list"])
        .ends(0)
        .prints("\"a\", `retry`: invalid value; expected a table { codes = [-32603], attempts = 2, backoff_ms = 1000 }");
}

#[test]
fn what_cannot_be_imported_is_reported() {
    let place = TestHome::new();
    place.write("broken.json", "{\"mcpServers\": ");
    place
        .run(&["servers", "import", "broken.json"])
        .ends(1)
        .prints("skipped: ")
        .prints("0 servers added");
    place.write("empty.json", "{\"mcpServers\": {}}");
    place.run(&["servers", "import", "empty.json"]).ends(1).prints("no servers in ");
    place.write(
        "mcp.json",
        r#"{"servers": {"asks": {"command": "x", "env": {"K": "${input:key}"}, "gallery": true}}}"#,
    );
    place
        .run(&["servers", "import", "mcp.json"])
        .ends(0)
        .prints("note: gallery is not supported by docent and was dropped")
        .prints("an editor asks its user for \"key\"");
    assert!(!settings(&place).contains("gallery"), "{}", settings(&place));
}

/// A running docent, asked over its pipes.
struct PipedDocent {
    child: std::process::Child,
    lines: mpsc::Receiver<String>,
    log: mpsc::Receiver<String>,
    id: u64,
}

impl Drop for PipedDocent {
    fn drop(&mut self) {
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

fn lines(stream: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

impl PipedDocent {
    fn start(place: &TestHome) -> Self {
        let mut command = place.command(&["serve", "--rate-limit", "0"]);
        command.env("PATH", PATH);
        // Without a file there is nothing to put the setting in.
        command.env("DOCENT_HUB_EXPOSURE", "direct");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (out, log) = (lines(child.stdout.take().unwrap()), lines(child.stderr.take().unwrap()));
        let mut served = Self { child, lines: out, log, id: 0 };
        served.ask("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}));
        served.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        served
    }

    fn send(&mut self, message: &serde_json::Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: &serde_json::Value) -> serde_json::Value {
        self.id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}));
        loop {
            let line = self.lines.recv_timeout(EVENT_TIMEOUT).unwrap();
            let message: serde_json::Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.id {
                return message["result"].clone();
            }
        }
    }

    /// Waits until a tool of this name is in a list, or is not.
    #[track_caller]
    fn until(&mut self, name: &str, is_there: bool) {
        let end = Instant::now() + EVENT_TIMEOUT;
        loop {
            let listed = self.ask("tools/list", &json!({})).to_string();
            if listed.contains(&format!("\"{name}\"")) == is_there {
                return;
            }
            assert!(
                Instant::now() < end,
                "{name} is there: {}; {:?}",
                !is_there,
                self.log.try_iter().collect::<Vec<_>>()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    #[track_caller]
    fn logs(&self, want: &str) {
        let end = Instant::now() + EVENT_TIMEOUT;
        let mut seen = Vec::new();
        while let Ok(line) = self.log.recv_timeout(end.saturating_duration_since(Instant::now())) {
            if line.contains(want) {
                return;
            }
            seen.push(line);
        }
        panic!("no {want:?} in {seen:#?}");
    }
}

/// A server whose tool is named after what it was given. Files that it may write to are not followed, so its place is
/// apart from the temporary folders.
const NAMED: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}' ;;
    *'"tools/list"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"t_'${KEY%-secret}'","inputSchema":{"type":"object"}}]}}' ;;
    *'"tools/call"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"done"}]}}' ;;
    *'"id"'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}' ;;
  esac
done
"#;

/// A place with that server in its project, and the path of it.
fn named() -> Result<(TestHome, String), String> {
    let place = TestHome::outside_temporary()?;
    place.write("server.sh", NAMED);
    let script = place.project().join("server.sh").display().to_string();
    Ok((place, script))
}

/// That server as `s`, whose tool `t_one` has been seen, and the file in which what is known of it is kept.
fn seen() -> Result<(TestHome, std::path::PathBuf), String> {
    let (place, script) = named()?;
    place.settings(&format!(
        "[mcp_servers.s]\ncommand = \"sh\"\nargs = [\"{script}\"]\nenv = {{ KEY = \"one\" }}\n"
    ));
    CliRun::of(place.command(&["servers", "test"]).env("PATH", PATH)).ends(0).prints("1 tools");
    let folder = place.0.path().join(".cache/docent/servers");
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    Ok((place, file))
}

#[test]
fn what_is_approved_is_shown_first_with_nothing_hidden_in_it() {
    let (place, file) = or_skip!(seen());
    let kept =
        || -> serde_json::Value { serde_json::from_slice(&fs::read(&file).unwrap()).unwrap() };
    let hold = |about: &str| {
        let mut kept = kept();
        let schema = json!({"type": "object"});
        kept["held_back"] = json!({
            "t_one": {"name": "t_one", "description": about, "inputSchema": schema},
            "odd\u{1b}[8m\nname": {"name": "odd\u{1b}[8m\nname"},
        });
        fs::write(&file, kept.to_string()).unwrap();
    };
    hold("Sends it on.\u{202e}");
    place.run(&["servers", "list"]).ends(0).prints("  held back: odd<ESC[8m>\\nname, t_one; ");
    let run = place.run(&["servers", "approve", "s", "t_one"]);
    run.ends(0)
        .prints("--- t_one, as approved\n+++ t_one, current\n")
        .prints("\n+  \"description\": \"Sends it on.<U+202E>\",\n")
        .prints("Approved: t_one. ");
    assert!(!run.out.contains("odd"), "{}", run.out);
    assert_eq!(kept()["tools"][0]["description"], "Sends it on.\u{202e}");
    hold("And again.");
    let run = place.run(&["servers", "approve", "s", "--yes"]).ends(0).out.clone();
    assert!(run.contains("\nApproved: odd<ESC[8m>\\nname, t_one. "), "{run}");
    assert!(!run.contains('\u{1b}'), "{run}");
    hold("And once more.");
    let approved = place.run(&["servers", "approve", "s", "t_one", "--json"]).ends(0).json();
    assert_eq!(approved, json!({"server": "s", "approved": ["t_one"]}));
    place
        .run(&["servers", "approve", "s", "t_one"])
        .ends(0)
        .prints("No tools of `s` are held back");
}

#[test]
fn unreadable_approvals_are_reported_and_can_be_given_again() {
    let (place, file) = or_skip!(seen());
    fs::write(&file, "{\"tools\": [").unwrap();
    place.run(&["servers", "list"]).ends(0).prints("  the approval file is unreadable");
    place.run(&["doctor", "--port", "0"]).prints("s: the approval file is unreadable");
    place.run(&["servers", "approve", "s"]).ends(0).prints("run docent servers test s");
    let test = || CliRun::of(place.command(&["servers", "test"]).env("PATH", PATH));
    test().ends(0).prints("0 tools").prints("held back: t_one (not approved)");
    place
        .run(&["servers", "approve", "s"])
        .ends(0)
        .prints("\n+  \"name\": \"t_one\"\n")
        .prints("Approved: t_one. ");
    let run = test();
    run.ends(0).prints("1 tools");
    assert!(!run.out.contains("held back"), "{}", run.out);
    let aside = fs::read_to_string(file.with_extension("damaged-1")).unwrap();
    assert_eq!(aside, "{\"tools\": [", "what was there is not lost");
}

#[test]
fn who_has_no_settings_adds_a_server_to_a_running_docent() {
    let (place, script) = or_skip!(named());
    let mut served = PipedDocent::start(&place);
    served.until("other__t_one", false);
    place.run(&["servers", "add", "other", "--env", "KEY=one", "--", "sh", &script]).ends(0);
    served.until("other__t_one", true);
    let called = served.ask("tools/call", &json!({"name": "other__t_one", "arguments": {}}));
    assert_eq!(called["content"][0]["text"], "done", "{called}");
    place.run(&["servers", "remove", "other"]).ends(0);
    served.until("other__t_one", false);
}

#[test]
fn registries_that_are_named_later_are_read_and_followed() {
    let (place, script) = or_skip!(named());
    place.settings("");
    let mut served = PipedDocent::start(&place);
    let entry = |name: &str| {
        let mcp =
            json!({"transport": "stdio", "command": "sh", "args": [script], "env": {"KEY": "one"}});
        json!({"servers": [{"id": name, "mcp": mcp}]}).to_string()
    };
    // Where no server may write.
    home(&place, ".config/docent/mcp.registry.json", &entry("one"));
    let file = place.0.path().join(".config/docent/mcp.registry.json");
    place.settings(&format!("hub.registries = [\"{}\"]", file.display()));
    served.until("one__t_one", true);
    home(&place, ".config/docent/mcp.registry.json", &entry("two"));
    served.until("two__t_one", true);
    served.until("one__t_one", false);
    place.settings("hub.registries = [\"/none/at-all.json\"]\n[mcp_servers.b]\ncommand = \"x\"\nenv = { K = \"${NOPE}\" }");
    served.logs("the variable NOPE is not set");
    served.until("two__t_one", false);
}

#[test]
fn a_path_closed_by_the_sandbox_is_reported() {
    let (place, elsewhere) = (TestHome::new(), tempfile::tempdir().unwrap());
    place.settings("");
    let served = PipedDocent::start(&place);
    let file = elsewhere.path().join("mcp.registry.json");
    fs::write(&file, "{\"servers\": []}").unwrap();
    place.settings(&format!("hub.registries = [\"{}\"]", file.display()));
    served.logs("the sandbox can't be extended while docent runs: restart docent to open ");
}

#[test]
fn a_secret_that_changes_reaches_its_server() {
    let (place, script) = or_skip!(named());
    home(&place, "secrets/key", "first-secret\n");
    place.settings(&format!(
        "[mcp_servers.s]\ncommand = \"sh\"\nargs = [\"{script}\"]\nwarm = true\npinned = false\nenv = {{ KEY = {{ file = \"{}\" }} }}\n",
        place.0.path().join("secrets/key").display()
    ));
    let mut served = PipedDocent::start(&place);
    served.until("s__t_first", true);
    home(&place, "secrets/key", "second-secret\n");
    served.until("s__t_second", true);
}

#[test]
fn what_loosens_is_not_imported_and_reported() {
    let place = TestHome::new();
    place.write(
        "theirs.json",
        r#"{"mcpServers": {
            "a": {"command": "x", "sandbox": "off", "pinned": false, "rename": {"old": "new"}, "hide": ["drop_*"]},
            "b": {"command": "y", "sandbox": {"level": "strict", "write": ["/"]}, "env": {"K": {"file": "~/.token"}}}}}"#,
    );
    place
        .run(&["servers", "import", "theirs.json"])
        .ends(0)
        .prints("note: \"a\", `sandbox`: dropped, because an imported file can't loosen the sandbox")
        .prints(
            "note: \"a\", `pinned`: dropped, because an imported file can't turn off definition pins",
        )
        .prints("note: \"a\", `rename`: dropped, because an imported file can't rename tools")
        .prints("note: \"b\", `sandbox`: dropped, because an imported file can't loosen the sandbox")
        .prints("note: it gets the contents of \"~/.token\": check that this is intended");
    let taken = settings(&place);
    for field in ["\"off\"", "pinned", "rename", "write"] {
        assert!(!taken.contains(field), "{field} in {taken}");
    }
    assert!(taken.contains("drop_*") && taken.contains("\"strict\""), "{taken}");
}
