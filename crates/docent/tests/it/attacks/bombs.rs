//! Small things that take for ever, or fill the memory, where they are read without a bound.

use super::{
    call_text,
    scripted::{ScriptedDownstream, tool, tool_with},
    web::{RecordingSite, page},
};
use crate::{
    CliRun, TestHome,
    serving::{LEGACY, ends_well, serve, signal},
};
use docent_testenv::{find_program, or_skip};
use docent_testkit::ChildTestClient;
use rustix::process::Signal;
use serde_json::{Map, Value, json};
use std::{fs, process::Command, time::Duration};

const PYTHON: &str = "/usr/bin/python3";
/// Kilobytes that a process may have in memory; what is unpacked here is four times as much.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;

/// The most that the process has had in memory, in kilobytes.
fn peak(server: &ChildTestClient) -> u64 {
    let id = server.process_id().expect("it runs");
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let (_, peak) = status.split_once("VmHWM:").unwrap();
    peak.split_whitespace().next().unwrap().parse().unwrap()
}

/// Writes the bombs into a folder of the project.
fn bombs(place: &TestHome) {
    let folder = place.project().join("manual");
    fs::create_dir(&folder).unwrap();
    let script = include_str!("bombs.py");
    let made = Command::new(PYTHON).args(["-I", "-c", script]).arg(&folder).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[tokio::test]
async fn an_endless_schema_stops_no_other_call() {
    or_skip!(find_program("python3"));
    let mut definitions = Map::new();
    for n in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        definitions.insert(format!("d{n}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("d40".to_owned(), json!({"type": "integer"}));
    let mut bomb = tool_with("bomb", &json!({"$ref": "#/$defs/d0"}));
    bomb["inputSchema"]["$defs"] = Value::Object(definitions);
    let place = TestHome::new();
    let scripted = ScriptedDownstream::new(&place, &[bomb, tool("other")]);
    place.settings(&scripted.settings(""));
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let bombed = call_text(&mut server, "odd__bomb", json!({"x": "a"})).await;
    assert!(bombed.contains("\"result\"") || bombed.contains("\"error\""), "{bombed}");
    assert!(server.ask("ping", json!({})).await.unwrap().get("result").is_some());
    let other = call_text(&mut server, "odd__other", json!({})).await;
    assert!(other.contains("\"text\":\"done\""), "{other}");
    signal(&server, Signal::TERM);
    ends_well(&mut server).await;
}

#[tokio::test]
async fn patterns_made_to_take_for_ever_are_answered() {
    or_skip!(find_program("python3"));
    let patterns = [
        ("plain", "^(a+)+$"),
        ("ahead", "^(?=(a+)+$)a*$"),
        ("again", r"^(a+)+\1$"),
        ("behind", "^((a|a|aa)+)+$(?<!z)"),
    ];
    let tools = patterns
        .map(|(name, pattern)| tool_with(name, &json!({"type": "string", "pattern": pattern})));
    let place = TestHome::new();
    let scripted = ScriptedDownstream::new(&place, &tools);
    place.settings(&scripted.settings(""));
    // A project's own rules come with whatever repository it is.
    fs::create_dir_all(place.project().join(".docent/rules")).unwrap();
    place.write(
        ".docent/rules/own.yml",
        "id: slow\nlanguage: python\nseverity: error\nrule: {kind: identifier, regex: '^(a+)+$'}\n---\n\
         id: huge\nlanguage: python\nrule: {kind: identifier, regex: '((a{1,999}){1,999}){1,999}'}\n---\n\
         id: no-frobnicate\nlanguage: python\nseverity: error\nrule: {pattern: frobnicate($A)}\n",
    );
    place.write("a.py", &format!("{}b = 1\nfrobnicate(1)\n", "a".repeat(5000)));
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let word = "a".repeat(40) + "b";
    for (name, _) in patterns {
        let reply = call_text(&mut server, &format!("odd__{name}"), json!({"x": word})).await;
        // One pass decides the first; the others are the server's own to match.
        let want = if name == "plain" { "argument `x`" } else { "\"text\":\"done\"" };
        assert!(reply.contains(want), "{name}: {reply}");
    }
    let arguments = json!({"file": "a.py", "analysisType": "security"});
    let reply = call_text(&mut server, "analyze_code", arguments).await;
    assert!(reply.contains("no-frobnicate") && reply.contains("own.yml"), "{reply}");
}

#[test]
fn archives_that_unpack_to_gigabytes_are_problems_beside_the_rest() {
    or_skip!(find_program("python3"));
    let place = TestHome::new();
    bombs(&place);
    place.write("manual/plain.md", "# Plain\n\nOrdinary words about kangaroos.\n");
    let measure = "import resource, subprocess, sys\n\
        run = subprocess.run(sys.argv[1:])\n\
        print('peak:', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)\n\
        sys.exit(run.returncode)\n";
    let mut command = Command::new(PYTHON);
    command.args(["-I", "-c", measure, env!("CARGO_BIN_EXE_docent"), "docs", "add", "pg"]);
    command.arg("manual").current_dir(place.project()).env_clear().env("HOME", place.0.path());
    let run = CliRun::of(&mut command);
    run.ends(0)
        .prints("pg: 4 documents (4 new")
        .prints("  honest.zip: it unpacks to more than ")
        .prints("  lying.zip: huge.md: its size differs from the archive's directory\n")
        .prints("  tape.tar.gz: it unpacks to more than ");
    let (_, peak) = run.err.rsplit_once("peak: ").unwrap();
    let peak: u64 = peak.trim().parse().unwrap();
    assert!(peak < MAX_OUTPUT_BYTES, "{peak} kB");
    for (query, found) in [("kangaroos", "plain.md"), ("dead tuples", "before.md")] {
        let hits = place.run(&["search", query, "--in", "docs", "--threshold", "0", "--json"]);
        let hits = hits.ends(0).json();
        let path = hits["hits"][0]["path"].as_str().unwrap_or_default().to_owned();
        assert!(path.ends_with(found), "{query}: {hits}");
    }
}

#[tokio::test]
async fn a_page_that_unpacks_to_gigabytes_is_an_error() {
    or_skip!(find_program("python3"));
    let place = TestHome::new();
    bombs(&place);
    let bomb = fs::read(place.project().join("manual/page.gz")).unwrap();
    let site = RecordingSite::new(move |path| match path {
        "/bomb" => {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-encoding: gzip\r\n";
            let head = format!("{head}content-length: {}\r\n\r\n", bomb.len());
            [head.as_bytes(), &bomb[..]].concat()
        }
        _ => page("Ordinary words, which are read as they were before the other page came."),
    });
    place.settings(&format!("policy.network.hosts = [\"{}\"]\n", site.address));
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let url = |path: &str| json!({"url": format!("http://{}{path}", site.address)});
    let bombed = call_text(&mut server, "fetch_page", url("/bomb")).await;
    assert!(bombed.contains("\"isError\":true") && bombed.contains("is larger than "), "{bombed}");
    let fine = call_text(&mut server, "fetch_page", url("/fine")).await;
    assert!(fine.contains("Ordinary words"), "{fine}");
    let peak = peak(&server);
    assert!(peak < MAX_OUTPUT_BYTES, "{peak} kB");
}

/// Tags of a few bytes, each of which expands to an address of two thousand bytes.
#[tokio::test]
async fn a_page_whose_addresses_would_fill_the_memory_is_read() {
    let base = format!("<base href=\"https://h.test/{}/\">", "a".repeat(1960));
    let site = RecordingSite::new(move |path| {
        let (tag, count) = match path {
            "/pictures" => ("<img src>", 450_000),
            _ => ("<a href=x>y</a>", 270_000),
        };
        let body = format!(
            "<html><head>{base}</head><body><h1>Page</h1><blockquote>{}</blockquote></body></html>",
            tag.repeat(count)
        );
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n";
        format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    });
    let place = TestHome::new();
    // A slow machine has the time that it takes: what is measured is memory.
    place.settings(&format!(
        "policy.network.hosts = [\"{}\"]\nlimits.tool_timeout_ms = 120000\n",
        site.address
    ));
    let mut server = serve(&place, &[], &[]).with_timeout(Duration::from_mins(3));
    server.open(LEGACY).await.unwrap();
    for (path, want) in
        [("/pictures", "![](https://h.test/aa"), ("/links", "[y](https://h.test/aa")]
    {
        let url = json!({"url": format!("http://{}{path}#page", site.address)});
        let reply = call_text(&mut server, "fetch_page", url).await;
        assert!(
            reply.contains("\"isError\":false") && reply.contains(want),
            "{path}: {reply:.500}"
        );
        let peak = peak(&server);
        assert!(peak < MAX_OUTPUT_BYTES, "{path}: {peak} kB");
    }
}
