//! The shell client on other servers, each of them docent once more: behind pipes, over HTTP, SSE and WebSocket, by its
//! name and by its address.

use crate::{
    CliRun, TestHome,
    serving::{audit_lines, listen},
};
use serde_json::Value;
use std::fs;

const DOCENT: &str = env!("CARGO_BIN_EXE_docent");

/// A docent with a project of its own.
fn other() -> TestHome {
    let place = TestHome::new();
    place.write("a.py", "def hello():\n    \"\"\"Says hello.\"\"\"\n    return 1\n");
    place
}

/// Settings in which the other one is the server `me`; `more` is added to its entry.
fn entry(other: &TestHome, more: &str) -> String {
    let text = |path: &std::path::Path| path.display().to_string();
    let (home, root) = (text(other.0.path()), text(&other.project()));
    format!(
        "[mcp_servers.me]\ncommand = {DOCENT:?}\nargs = [\"serve\", \"--root\", {root:?}]\n\
         env = {{ HOME = {home:?} }}\nsandbox = \"off\"\n{more}"
    )
}

fn names(run: &CliRun) -> Vec<String> {
    let tools = run.ends(0).json();
    let tools = tools["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_configured_server_is_asked_under_its_settings_and_the_policy() {
    let (place, other) = (TestHome::new(), other());
    let more = "hide = [\"analyze_*\"]\nrename = { parse_files = \"parse\" }\n\
                describe = { outline = \"Mine.\" }\n\
                [[policy.rules]]\ntools = [\"me__check_documentation\"]\naction = \"deny\"\n";
    place.settings(&entry(&other, more));
    let listed = names(&place.run(&["tools", "me", "--json"]));
    for (name, want) in [
        ("parse", true),
        ("outline", true),
        ("parse_files", false),
        ("analyze_repository", false),
        ("check_documentation", false),
    ] {
        assert_eq!(listed.iter().any(|one| one == name), want, "{name} in {listed:?}");
    }
    place.run(&["tools", "outline", "-s", "me"]).ends(0).prints("Mine.");
    assert!(!place.project().join(".docent").exists(), "a look left something behind");
    place.run(&["prompts", "me"]).ends(0).prints("explain_file  ");
    place.run(&["prompts", "explain_file", "a.py", "-s", "me"]).ends(0).prints("def hello");
    place.run(&["resources", "ast://project/a.py", "me"]).ends(0).prints("hello");
    // Its own name, the name that it was given, and no name that is hidden.
    for tool in ["parse", "parse_files"] {
        place.run(&["call", tool, "files=a.py", "me"]).ends(0).prints("\"totalFiles\":1");
    }
    place.run(&["call", "analyze_repository", ".", "me"]).ends(2).says("unknown tool");
    place
        .run(&["call", "analyze_repository", "--json", "{\"path\": \".\"}", "-s", "me"])
        .ends(1)
        .says("Unknown tool");
    place.run(&["call", "check_documentation", ".", "me"]).ends(1).says("error: ");
    place.run(&["call", "parse", "--json", "{\"files\": 5}", "-s", "me"]).ends(1).says("`files`");
    let lines = audit_lines(&place.project().join(".docent/audit.jsonl"));
    let output: Vec<(&str, &str)> = lines
        .iter()
        .filter_map(|line| Some((line["tool"].as_str()?, line["outcome"].as_str()?)))
        .collect();
    assert_eq!(output.iter().filter(|one| **one == ("parse", "ok")).count(), 2, "{output:?}");
    assert!(output.iter().any(|(tool, _)| *tool == "me__check_documentation"), "{output:?}");
}

#[test]
fn a_definition_that_changed_is_held_back_from_the_shell_as_well() {
    let (place, other) = (TestHome::new(), other());
    place.settings(&entry(&other, ""));
    let call = ["call", "parse_files", "files=a.py", "-s", "me"];
    place.run(&call).ends(0);
    // As if the server had said something else when it was approved.
    let folder = place.0.path().join(".cache/docent/servers");
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let mut kept: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let tools = kept["tools"].as_array_mut().unwrap();
    let tool = tools.iter_mut().find(|tool| tool["name"] == "parse_files").unwrap();
    tool["description"] = "Another one.".into();
    fs::write(&file, kept.to_string()).unwrap();
    place.run(&call).ends(1).says("held back").says("docent servers approve me parse_files");
    place.run(&["call", "me__parse_files", "files=a.py"]).ends(1).says("held back");
    place.run(&["tools", "parse_files", "-s", "me"]).ends(0).prints("Another one.");
    place.run(&["servers", "approve", "me", "parse_files"]).ends(0);
    place.run(&call).ends(0);
}

#[test]
fn what_lists_leave_out_can_be_called_and_completed() {
    let (place, other) = (TestHome::new(), other());
    place.settings(&entry(&other, ""));
    let run = |exposure: &str, args: &[&str]| {
        CliRun::of(place.command(args).env("DOCENT_HUB_EXPOSURE", exposure))
    };
    let call = ["call", "me__parse_files", "files=a.py"];
    for exposure in ["direct", "discover", "auto"] {
        run(exposure, &call).ends(0).prints("\"totalFiles\":1");
        run(exposure, &["tools", "me__parse_files"]).ends(0).prints("Arguments");
        run(exposure, &["call", "execute_mcp_code", "code=return 6 * 7"]).ends(0).prints("42");
    }
    let code = "code=await mcp.me.parse_files({files: ['a.py']}); throw new Error('x')";
    let failed = run("direct", &["call", "execute_mcp_code", code]);
    failed.ends(1).says("Error: x (line 1").says("1 call had been made");
    assert!(!failed.err.contains("Error: Error"), "{}", failed.err);
    run("direct", &["call", "list_mcp_capabilities", "limit=0"]).ends(1).says("`limit`");
    run("discover", &["tools", "--tokens"])
        .ends(0)
        .prints("hub.exposure is discover.")
        .prints("list_mcp_capabilities");
    for (most, picked) in [("1000000", "direct"), ("100", "discover")] {
        let mut command = place.command(&["tools", "--tokens"]);
        let run = CliRun::of(command.env("DOCENT_HUB_AUTO_TOKENS", most));
        run.ends(0).prints(&format!("hub.exposure is auto, which picks {picked}."));
    }
    let costs = run("direct", &["tools", "--tokens", "--json"]).ends(0).json();
    let cost = |what: &str| costs["tokens"]["exposure"][what].as_u64().unwrap();
    assert!(cost("direct") > cost("discover"), "{}", costs["tokens"]["exposure"]);
    assert_eq!(costs["tokens"]["total"].as_u64(), Some(cost("direct")));
    for (line, want) in [
        ("docent call me__parse_f", "words\nme__parse_files\n"),
        ("docent call me__parse_files fi", "words\nfiles=\n"),
    ] {
        let run = place.run(&["__complete", "bash", "--", line]);
        assert_eq!(run.ends(0).out, want, "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_leads_to_a_server() {
    let (place, bare, other) = (TestHome::new(), TestHome::new(), other());
    other.settings("server.rate_limit.enabled = false");
    let (_server, address) = listen(&other, &["--transport", "http,sse,websocket"], &[]).await;
    let root = other.project().display().to_string();
    let program = ["--", DOCENT, "serve", "--root", root.as_str()];
    let urls = [
        format!("http://{address}/mcp"),
        format!("http://{address}/sse"),
        format!("ws://{address}/ws"),
    ];
    let remote = ["http", "sse", "ws"].iter().zip(&urls);
    let remote = remote.map(|(name, url)| format!("[mcp_servers.{name}]\nurl = {url:?}\n"));
    place.settings(&(entry(&other, "") + &remote.collect::<String>()));
    let mut ways: Vec<(&TestHome, Vec<&str>)> =
        urls.iter().map(|url| (&bare, vec!["--url", url.as_str()])).collect();
    ways.push((&bare, program.to_vec()));
    ways.extend(["me", "http", "sse", "ws"].map(|name| (&place, vec!["--server", name])));
    for (place, way) in ways {
        let run = |args: &[&str]| place.run(&[args, way.as_slice()].concat());
        run(&["tools"]).ends(0).prints("docent 0.").prints("parse_files  ");
        run(&["call", "parse_files", "files=a.py"]).ends(0).prints("\"totalFiles\":1");
        run(&["call", "analyze_repository", "path=nowhere"]).ends(1).says("does not exist");
        run(&["resources", "ast://project/a.py"]).ends(0).prints("hello");
        run(&["resources", "ast://project/none.py"])
            .ends(1)
            .says("Resource not found: ast://project/none.py");
        run(&["prompts", "explain_file", "a.py"]).ends(0).prints("def hello");
    }
}

#[test]
fn what_can_t_be_asked_says_why() {
    let place = TestHome::new();
    place.settings("[mcp_servers.clock]\ncommand = \"no-such-clock\"\n");
    place
        .run(&["call", "clock", "now", "zone=utc"])
        .ends(2)
        .says("clock is a server; put the tool first: docent call now -s clock");
    place.run(&["tools", "clok"]).ends(2).says("did you mean clock?");
    place.run(&["tools", "clock"]).ends(1).says("cannot connect to clock: ").says("no-such-clock");
    for url in ["notaurl", "ftp://x/", "file:///etc/passwd"] {
        place.run(&["tools", "--url", url]).ends(2).says("must begin with http://");
    }
    place.run(&["tools", "--url", "http://127.0.0.1:1/"]).ends(1).says("cannot connect to");
}
