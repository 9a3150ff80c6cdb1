//! The policy in the user's own settings: what it denies, how that is reported, and what a reload changes.

use crate::{
    CliRun, TestHome,
    serving::{LEGACY, call, serve, signal},
    web::ProviderServer,
};
use docent_testkit::ChildTestClient;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, process::Command};

#[test]
fn a_project_s_own_file_sets_no_policy() {
    let place = TestHome::new();
    fs::create_dir(place.0.path().join("lib")).unwrap();
    for (text, key) in [
        ("policy.network.hosts = [\"example.org\"]", "policy.network.hosts"),
        ("policy.tools.allow = [\"*\"]", "policy.tools.allow"),
        ("policy.sandbox.mode = \"off\"", "policy.sandbox.mode"),
        ("policy.redaction.secrets = false", "policy.redaction.secrets"),
        ("[[policy.rules]]\ntools = [\"*\"]\naction = \"allow\"", "policy.rules"),
        ("audit.enabled = false", "audit.enabled"),
        ("audit.file = \"/tmp/x\"", "audit.file"),
        ("server.logging.file = \"../x.log\"", "server.logging.file"),
        ("server.allow_open = true", "server.allow_open"),
        ("server.host = \"0.0.0.0\"", "server.host"),
        ("server.cors.origins = [\"*\"]", "server.cors.origins"),
        ("telemetry.otlp_endpoint = \"http://10.0.0.1:4318\"", "telemetry.otlp_endpoint"),
        ("roots = [\".\", \"../lib\"]", "roots"),
        ("roots = [\"/\"]", "roots"),
    ] {
        place.write("docent.toml", "");
        let before = values(&place.run(&["config", "show", "--json"]));
        place.write("docent.toml", text);
        let shown = place.run(&["config", "show", "--json"]);
        assert_eq!(values(&shown), before, "{text} has an effect");
        let ignored = &shown.json()[key]["ignored"]["name"];
        assert!(
            ignored.as_str().is_some_and(|file| file.ends_with("docent.toml")),
            "{text}: {ignored}"
        );
        let named = format!("sets `{key}`");
        for command in [&["config", "show"][..], &["policy", "test", "outline"], &["docs", "list"]]
        {
            let run = place.run(command);
            run.ends(0);
            assert!(run.err.contains("warning: ") && run.err.contains(&named), "{}", run.err);
            assert!(run.err.contains("~/.config/docent/docent.toml"), "{}", run.err);
        }
        place.run(&["doctor", "--port", "0"]).ends(0).prints("docent ignores").prints(&named);
        let run = place.run(&["config", "show", "--config", "docent.toml", "--json"]);
        assert_ne!(values(&run), before, "the user may set {key}");
        assert_eq!(run.err, "");
    }
    let run = CliRun::of(place.command(&["serve"]).stdin(std::process::Stdio::null()));
    run.ends(0).says("sets `roots` (outside the project), which docent ignores");
}

/// The value of every key.
fn values(shown: &CliRun) -> BTreeMap<String, Value> {
    let rows = shown.ends(0).json();
    let rows = rows.as_object().unwrap().iter();
    rows.map(|(key, row)| (key.clone(), row["value"].clone())).collect()
}

#[test]
fn a_project_loosens_nothing_that_the_user_has_set() {
    let place = TestHome::new();
    place.settings("server.auth.token = \"my-own-token-0123456789\"\n");
    place.write("docent.toml", "server.auth.required = false\n");
    let loosened = |want: &str| {
        let run = place.run(&["config", "show"]);
        assert!(run.ends(0).err.contains(want), "{want}: {}", run.err);
    };
    loosened("`server.auth.required` (it turns off the auth that you set up)");
    place.settings("server.host = \"0.0.0.0\"\nserver.auth.token = \"my-own-token-0123456789\"\n");
    for (text, key) in [
        ("server.auth.token = \"known\"\n", "server.auth.token"),
        ("server.rate_limit.enabled = false\n", "server.rate_limit.enabled"),
    ] {
        place.write("docent.toml", text);
        loosened(&format!("sets `{key}` (docent listens beyond this machine)"));
    }
    place.write("docent.toml", "server.logging.level = \"debug\"\n");
    assert_eq!(place.run(&["config", "show"]).ends(0).err, "");
}

#[tokio::test]
async fn a_reload_opens_no_door() {
    let place = TestHome::new();
    place.settings("server.host = \"0.0.0.0\"\nserver.auth.token = \"my-own-token-0123456789\"\n");
    let (mut server, address) = crate::serving::listen(&place, &["--transport", "http"], &[]).await;
    let address = address.replace("0.0.0.0", "127.0.0.1");
    place.settings("");
    signal(&server, Signal::HUP);
    server.log_line("would be open to everyone").await.unwrap();
    let (status, _) = crate::serving::get(&address, "/metrics").await;
    assert_eq!(status, 401);
}

const TWO_OF_ONE_NAME: &str = r#"
server.tls = { certificate = "server.pem", key = "server.key", client_ca = "ca.pem" }

[[server.auth.certificates]]
name = "ci"
subject = "deploy.example.com"
scopes = ["*"]

[[server.auth.certificates]]
name = "ci"
subject = "*.example.com"
scopes = ["docs:*"]
"#;

#[test]
fn a_policy_that_does_not_parse_stops_the_start() {
    let place = TestHome::new();
    for (text, want) in [
        ("policy.tools.alow = []", "`policy.tools.alow`"),
        ("policy.network.hosts = [\"http://x\"]", "write only the host"),
        ("policy.filesystem.deny = [\"[z-a]\"]", "[z-a]"),
        ("policy.tools.deny = [\"a b\"]", "\"a b\""),
        ("[[policy.rules]]\ntools = [\"*\"]", "needs an `action`"),
        ("[[policy.rules]]\naction = \"deny\"", "needs `tools`"),
        ("[[policy.rules]]\ntools = [\"*\"]\naction = \"ask\"", "one of allow, deny, approve"),
        (
            "[[policy.rules]]\ntools = [\"*\"]\naction = \"deny\"\ntimeout_ms = 5",
            "`rate_per_minute` and `timeout_ms` have no effect",
        ),
        (
            "[[policy.rules]]\ntools = [\"*\"]\naction = \"allow\"\nrate_per_minute = 0",
            "`policy.rules[0].rate_per_minute` must be a whole number from 1",
        ),
        ("policy.sandbox.mode = \"loose\"", "one of off, auto, strict"),
        (TWO_OF_ONE_NAME, "different scopes"),
    ] {
        place.settings(text);
        place.run(&["serve"]).ends(1).says(want).says("docent.toml");
    }
}

#[test]
fn a_call_is_judged_without_being_made() {
    let place = TestHome::new();
    place.settings(
        r#"
        policy.tools.deny = ["web:*"]
        policy.tools.approve = ["analyze_repository"]
        policy.filesystem.deny = ["drafts"]
        policy.network.hosts = ["html.duckduckgo.com"]
        limits.tools.parse_files.rate_per_minute = 7

        [[policy.rules]]
        name = "ops may search"
        keys = ["ops"]
        tools = ["web_search"]
        action = "allow"

        [[server.auth.keys]]
        name = "ops"
        token = "ops-token-0123456789"
        scopes = ["*"]

        [[server.auth.keys]]
        name = "reader"
        token = "reader-token-0123456789"
        scopes = ["docs:*", "analyze_repository", "parse_files"]
        "#,
    );
    fs::create_dir(place.project().join("drafts")).unwrap();
    place.write("main.rs", "").write("drafts/a.rs", "").write(".env", "");
    place.write("docent.toml", "docs.collections.notes.path = \".\"\n");
    for (args, code, want) in [
        (
            &["web_search", "query=x", "--key", "ops"][..],
            0,
            "by policy.rules[0] \"ops may search\"",
        ),
        (&["web_search", "query=x", "--key", "reader"], 1, "by the scopes of `reader`"),
        (&["web_search", "query=x"], 1, "denied: web_search for anonymous"),
        (&["analyze_repository", "path=.", "--key", "ops"], 0, "allowed once approved"),
        (
            &["parse_files", "{\"files\": [\"main.rs\"]}", "--key", "reader"],
            0,
            "7 calls per minute",
        ),
        (&["parse_files", "files=drafts/a.rs", "--key", "reader"], 1, "policy.filesystem.deny"),
        (&["parse_files", "files=../x", "--key", "reader"], 1, "denied: files = \"../x\""),
        (
            &["parse_files", "files=../x", "--key", "ops"],
            1,
            "by the file guard: the path is outside",
        ),
        (&["parse_files", "files=.env", "--key", "reader"], 1, "denied: files = \".env\""),
        (
            &["parse_files", "files=.env", "--key", "ops"],
            1,
            "by the file guard: .env is not served",
        ),
        (
            &["fetch_page", "url=https://a.test/", "--key", "ops"],
            1,
            "by the network guard: the policy",
        ),
        (
            &["get_document", "document_id=../../etc/passwd", "--key", "ops"],
            0,
            "note: `document_id` is not checked",
        ),
    ] {
        place.run(&[&["policy", "test"], args].concat()).ends(code).prints(want);
    }
    let answer = place.run(&["policy", "test", "--json", "web_search", "--key", "ops"]).json();
    assert_eq!(answer["allowed"], true, "{answer}");
    for (args, want) in [
        (&["web_serch"][..], "did you mean `web_search`?"),
        (&["web_search", "quary=x"], "no argument `quary`"),
        (&["web_search", "x"], "neither key=value nor a JSON object"),
        (&["web_search", "--key", "unknown"], "known: [\"ops\", \"reader\"]"),
    ] {
        place.run(&[&["policy", "test"], args].concat()).ends(2).says(want);
    }
}

#[test]
fn a_tool_that_is_off_is_not_allowed() {
    let place = TestHome::new();
    let test = |args: &[&str]| place.run(&[&["policy", "test"], args].concat());
    for tool in ["web_search", "fetch_page"] {
        test(&[tool])
            .ends(1)
            .prints(&format!("off: {tool} for anonymous\n  because the network is off"))
            .prints("~/.config/docent/docent.toml")
            .prints(
                "note: once enabled: allowed (the scope \"*\" of `anonymous`; no matching rule)",
            );
        let answer = test(&[tool, "--json"]).ends(1).json();
        assert_eq!(answer["allowed"], false, "{answer}");
        assert_eq!(answer["rulings"][0]["verdict"], "off", "{answer}");
    }
    test(&["get_document", "document_id=a.md"])
        .ends(1)
        .prints("off: get_document for anonymous\n  because no documentation is configured: run `docent docs add");
    place.settings("policy.tools.deny = [\"web:*\"]\n");
    let run = test(&["web_search"]);
    run.ends(1).prints("denied: web_search").prints("off: web_search");
    assert!(!run.out.contains("once enabled"), "{}", run.out);
    place.settings("policy.network.hosts = [\"docs.example.com\"]\n");
    test(&["web_search"])
        .ends(1)
        .prints("allows none of the search providers")
        .prints("to the list");
    test(&["fetch_page"]).ends(0).prints("allowed: fetch_page");
    test(&["outline", "--key", "ci"]).ends(2).says("no key \"ci\"; none are configured");
    place.settings("web.providers = []\npolicy.network.hosts = [\"docs.example.com\"]\n");
    test(&["web_search"]).ends(1).prints("off: web_search").prints("web.providers");
}

#[test]
fn a_hint_names_the_file_that_the_user_has() {
    let place = TestHome::new();
    let hint = |command: &mut Command, want: &str| {
        let run = CliRun::of(command);
        assert!(run.ends(1).out.contains(want), "no {want:?} in {}", run.out);
    };
    let test = ["policy", "test", "web_search"];
    hint(&mut place.command(&test), "adds to ~/.config/docent/docent.toml:\n");
    let elsewhere = place.0.path().join("xdg");
    let file = "adds to ~/xdg/docent/docent.toml:\n[policy.network]\nhosts = [";
    hint(place.command(&test).env("XDG_CONFIG_HOME", &elsewhere), file);
    fs::create_dir_all(elsewhere.join("docent")).unwrap();
    fs::write(elsewhere.join("docent/docent.json"), "{}").unwrap();
    let file = "adds to ~/xdg/docent/docent.json:\n{\"policy\": {\"network\": {\"hosts\": [";
    hint(place.command(&test).env("XDG_CONFIG_HOME", &elsewhere), file);
    fs::write(place.0.path().join("own.toml"), "").unwrap();
    let named = [&test[..], &["--config", "../own.toml"]].concat();
    hint(&mut place.command(&named), "project/../own.toml:\n[policy.network]");
    // What is fetched for a collection as well.
    let add = place.run(&["docs", "add", "api", "https://docs.example.com/"]);
    add.ends(1).says("add it to policy.network.hosts in ~/.config/docent/docent.toml");
}

#[tokio::test]
async fn a_tool_that_is_off_says_so_in_its_description() {
    let place = TestHome::new();
    place.write("docent.toml", "docs.collections.notes.path = \".\"\n");
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let off = ["web_search", "fetch_page"].map(str::to_owned).to_vec();
    assert_eq!(listed_as_off(&mut server).await, off);
    let answer = server.ask("tools/call", call("web_search", json!({"query": "x"}))).await.unwrap();
    let output = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(output.contains("adds to ~/.config/docent/docent.toml:\n[policy.network]"), "{output}");
    for (hosts, want) in [
        ("[\"html.duckduckgo.com\"]", &off[..0]),
        ("[\"docs.example.com\"]", &off[..1]),
        ("[]", &off[..]),
    ] {
        place.settings(&format!("policy.network.hosts = {hosts}\n"));
        signal(&server, Signal::HUP);
        // A reload notifies more than once: the last list is the one that counts.
        while listed_as_off(&mut server).await != want {
            server.notification("notifications/tools/list_changed").await.unwrap();
        }
    }
}

async fn listed_as_off(server: &mut ChildTestClient) -> Vec<String> {
    let listed = server.ask("tools/list", json!({})).await.unwrap();
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    let is_off = |tool: &&Value| tool["description"].as_str().unwrap().starts_with("Off: ");
    tools.filter(is_off).map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_caller_gets_its_limits() {
    let place = TestHome::new();
    place.settings(
        r#"
        limits.tools.parse_files.rate_per_minute = 7
        limits.tools.outline.timeout_ms = 50

        [[policy.rules]]
        name = "readers are slow"
        scopes = ["docs:*"]
        tools = ["parse_files", "outline"]
        action = "allow"
        rate_per_minute = 5
        timeout_ms = 2000

        [[server.auth.keys]]
        name = "ops"
        token = "ops-token-0123456789"
        scopes = ["*"]
        "#,
    );
    let rule = "by policy.rules[0] \"readers are slow\"";
    for (args, code, want) in [
        (
            &["parse_files", "--scopes", "docs:*,parse_files"][..],
            0,
            format!("bounds: 2s per call {rule}, 7 calls per minute, 5 calls per minute {rule}\n"),
        ),
        (
            &["outline", "--scopes", "docs:*, outline"],
            0,
            format!("bounds: 50ms per call, 5 calls per minute {rule}\n"),
        ),
        (&["parse_files", "--key", "ops"], 0, "bounds: 30s per call, 7 calls per minute\n".into()),
        (
            &["parse_files", "--scopes", "docs:*"],
            1,
            "denied: parse_files for a caller with docs:*\n  by the scopes".into(),
        ),
        (&["parse_files"], 1, "by auth is required".into()),
        (&["parse_files"], 1, "name a key with --key, or scopes with --scopes".into()),
    ] {
        place.run(&[&["policy", "test"], args].concat()).ends(code).prints(&want);
    }
    for (args, want) in [
        (["--key", "ops", "--scopes", "*"].as_slice(), "cannot be used with"),
        (&["--scopes", ""], "--scopes is empty"),
    ] {
        place.run(&[&["policy", "test", "outline"], args].concat()).ends(2).says(want);
    }
}

#[tokio::test]
async fn a_rule_bounds_the_calls_that_it_lets_through() {
    let place = TestHome::new();
    place.write("main.rs", "fn main() {}\n");
    let slowly = "[[policy.rules]]\nname = \"slowly\"\ntools = [\"parse_files\"]\naction = \"allow\"\nrate_per_minute = 1\n";
    place.settings(slowly);
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let request = || call("parse_files", json!({"files": ["main.rs"]}));
    assert!(server.ask("tools/call", request()).await.unwrap().get("result").is_some());
    let refused = server.ask("tools/call", request()).await.unwrap();
    assert_eq!(refused["error"]["data"]["rule"], "policy.rules[0] \"slowly\"", "{refused}");
    // Another rule before it does not give the caller a new minute.
    let before = "[[policy.rules]]\ntools = [\"web:*\"]\naction = \"deny\"\n";
    place.settings(&format!("{before}{slowly}"));
    signal(&server, Signal::HUP);
    server.notification("notifications/tools/list_changed").await.unwrap();
    let refused = server.ask("tools/call", request()).await.unwrap();
    assert_eq!(refused["error"]["data"]["rule"], "policy.rules[1] \"slowly\"", "{refused}");
    place.settings("");
    signal(&server, Signal::HUP);
    server.notification("notifications/tools/list_changed").await.unwrap();
    assert!(server.ask("tools/call", request()).await.unwrap().get("result").is_some());
}

#[tokio::test]
async fn a_verdict_is_what_the_server_does() {
    let place = TestHome::new();
    place.settings(
        r#"
        [[policy.rules]]
        tools = ["x__tok", "new_name", "describe_mcp"]
        action = "deny"

        [[policy.rules]]
        tools = ["y:*"]
        action = "approve"

        [mcp_servers.x]
        command = "/nowhere/x"
        rename = { old = "new_name" }
        hide = ["hidden_*"]

        [mcp_servers.y]
        command = "/nowhere/y"
        "#,
    );
    place.write(".env", "KEY=1\n").write("plain.py", "def a(): pass\n");
    fs::hard_link(place.project().join(".env"), place.project().join("n.py")).unwrap();
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    for (path, code, want) in [("n.py", 1, "another name of a file"), ("plain.py", 0, "the roots")]
    {
        let answer = server.ask("tools/call", call("outline", json!({"path": path}))).await;
        let refused = answer.unwrap()["result"]["isError"] == json!(true);
        assert_eq!(refused, code == 1, "{path}");
        let argument = format!("path={path}");
        place.run(&["policy", "test", "outline", &argument]).ends(code).prints(want);
    }
    for (args, code, want) in [
        (&["x__tok"][..], 1, "by policy.rules[0]"),
        (&["x__tok"], 1, "not checked whether `x` has this tool"),
        (&["x__other", "path=/etc/shadow"], 0, "allowed: x__other for anonymous"),
        (&["new_name"], 1, "by policy.rules[0]"),
        (&["y__any"], 0, "allowed once approved"),
        (&["describe_mcp"], 1, "by policy.rules[0]"),
        (&["call_mcp_tool", "server=x", "tool=tok"], 1, "denied: x__tok for anonymous"),
        (&["call_mcp_tool", "server=x", "tool=old"], 1, "denied: new_name for anonymous"),
        (&["call_mcp_tool", "server=y", "tool=any"], 0, "allowed: call_mcp_tool for anonymous"),
    ] {
        place.run(&[&["policy", "test"], args].concat()).ends(code).prints(want);
    }
    for unknown in ["z__tok", "x__", "x__hidden_one"] {
        place.run(&["policy", "test", unknown]).ends(2).says("unknown tool");
    }
    for (args, said) in [
        (["server=z", "tool=tok"].as_slice(), "unknown server `z`"),
        (&["server=x"], "missing argument: call_mcp_tool tool=…"),
    ] {
        place.run(&[&["policy", "test", "call_mcp_tool"], args].concat()).ends(2).says(said);
    }
    place.settings("");
    place.run(&["policy", "test", "call_mcp_tool"]).ends(2).says("unknown tool");
}

#[tokio::test]
async fn a_signal_puts_the_policy_in_force_while_calls_run() {
    let place = TestHome::new();
    place.write("main.rs", "fn main() {}\n");
    place.settings("");
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let request = || call("parse_files", json!({"files": ["main.rs"]}));
    assert!(server.ask("tools/call", request()).await.unwrap().get("result").is_some());
    place.settings("policy.tools.deny = [\"parse_files\"]");
    signal(&server, Signal::HUP);
    server.notification("notifications/tools/list_changed").await.unwrap();
    let refused = server.ask("tools/call", request()).await.unwrap();
    assert_eq!(refused["error"]["data"]["rule"], "policy.tools.deny", "{refused}");
    // An invalid policy changes nothing, and the server keeps running.
    place.settings("policy.tools.deny = 5");
    signal(&server, Signal::HUP);
    let refused = server.ask("tools/call", request()).await.unwrap();
    assert_eq!(refused["error"]["data"]["rule"], "policy.tools.deny", "{refused}");
    place.settings("");
    signal(&server, Signal::HUP);
    server.notification("notifications/tools/list_changed").await.unwrap();
    assert!(server.ask("tools/call", request()).await.unwrap().get("result").is_some());
    place.settings("policy.redaction.hidden = false");
    signal(&server, Signal::HUP);
    server.log_line(r#"changed=["policy.redaction.hidden"]"#).await.unwrap();
}

/// The port is named all the time: the sandbox stays as it was at the start, and what is tried is the policy.
#[tokio::test]
async fn a_signal_puts_the_hosts_in_force() {
    let site = ProviderServer::start(|_| (200, "{\"lamp\": \"oil\"}".to_owned()));
    let (address, port) = (site.address, site.address.port());
    let named = format!("policy.network.hosts = [\"{address}\"]\n");
    let place = TestHome::new();
    place.settings(&named);
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let other = format!("policy.network.hosts = [\"other.test:{port}\"]\n");
    let again = format!("{named}policy.network.private_hosts = [\"other.test:{port}\"]\n");
    for (settings, changed, is_named) in [
        ("", "", true),
        (&other, r#"changed=["policy.network.hosts"]"#, false),
        (&again, r#"changed=["policy.network.hosts", "policy.network.private_hosts"]"#, true),
    ] {
        if !changed.is_empty() {
            place.settings(settings);
            signal(&server, Signal::HUP);
            server.log_line(changed).await.unwrap();
        }
        let url = json!({"url": format!("http://{address}/")});
        let output = server.ask("tools/call", call("fetch_page", url)).await.unwrap().to_string();
        assert_eq!(output.contains("lamp"), is_named, "{settings}: {output}");
        assert_eq!(output.contains("does not allow"), !is_named, "{settings}: {output}");
        assert_eq!(site.heads().len(), usize::from(is_named), "{settings}");
    }
}

#[test]
fn a_foreign_policy_is_taken_over() {
    let place = TestHome::new();
    place.write(
        "policy.yaml",
        "network: {allowed_endpoints: [{host: lite.duckduckgo.com, ports: [443]}]}\ncommands: {blocked: [curl]}\n",
    );
    place
        .run(&["config", "import", "policy.yaml", "--dry-run"])
        .ends(0)
        .prints("policy.network.hosts = [\"lite.duckduckgo.com:443\"]");
    assert!(!place.0.path().join(".config/docent/docent.toml").exists());
    place.run(&["config", "import", "policy.yaml"]).ends(0).prints(".config/docent/docent.toml");
    place.run(&["config", "show"]).ends(0).prints("lite.duckduckgo.com:443").prints("curl");
    place.run(&["config", "import", "policy.yaml"]).ends(0).prints("was kept");
    place.write("policy.yaml", "surprise: true\n");
    place.run(&["config", "import", "policy.yaml"]).ends(1).says("policy.yaml");
}

#[test]
fn credentials_and_docent_s_own_record_are_kept_back_in_a_root() {
    let place = TestHome::new();
    place.settings("audit.file = \"~/calls.jsonl\"\nroots = [\"~/\"]\n").write("main.rs", "");
    for name in ["calls.jsonl", "calls.jsonl.1", ".npmrc"] {
        fs::write(place.0.path().join(name), "").unwrap();
    }
    for (file, code) in [
        ("project/main.rs", 0),
        ("calls.jsonl", 1),
        ("calls.jsonl.1", 1),
        (".npmrc", 1),
        (".config/docent/docent.toml", 1),
    ] {
        let run = place.run(&["policy", "test", "parse_files", &format!("files={file}")]);
        let kept_back = format!("by the file guard: {file} is not served");
        assert_eq!(run.ends(code).out.contains(&kept_back), code == 1, "{}", run.out);
    }
}
