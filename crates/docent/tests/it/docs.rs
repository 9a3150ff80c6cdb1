//! `docent docs`: collections that are added, read, listed and removed, while a server runs and after a kill.

use crate::{TestHome, serving::serve};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::mpsc,
    thread,
    time::Duration,
};

const LEGACY: &str = "2025-11-25";
const VACUUM: &str = "# Routine Vacuuming\n\nVACUUM reclaims storage occupied by dead tuples.\n\n\
    ## The Autovacuum Daemon\n\nAutovacuum runs on its own when enough rows have changed.\n";

fn manual() -> TestHome {
    let place = TestHome::new();
    fs::create_dir_all(place.project().join("manual/deep")).unwrap();
    place
        .write("manual/vacuum.md", VACUUM)
        .write("manual/deep/net.txt", "Netplan renders network configuration.\n")
        .write("manual/empty.md", "")
        .write("manual/logo.png", "\0");
    place
}

fn search(query: &str) -> Value {
    json!({"name": "search_documentation", "arguments": {"query": query}})
}

#[test]
fn a_collection_is_added_listed_and_removed() {
    let place = manual();
    place
        .run(&["docs", "list"])
        .ends(0)
        .prints("No documentation is configured: run `docent docs add");
    let run = place.run(&[
        "docs",
        "add",
        "pg",
        "manual",
        "--version",
        "15",
        "--description",
        "PostgreSQL",
    ]);
    run.ends(0)
        .prints("docent.toml.\n")
        .prints("pg: 2 documents (2 new, 0 changed, 0 gone; 1 other file skipped)\n")
        .prints("  empty.md: it is empty\n");
    let written = fs::read_to_string(place.project().join("docent.toml")).unwrap();
    assert_eq!(
        written,
        "[docs.collections.pg]\npath = \"manual\"\nversion = \"15\"\ndescription = \"PostgreSQL\"\n"
    );
    place
        .run(&["docs", "list"])
        .ends(0)
        .prints("pg 15: 2 documents, 3 chunks, up to date\n  PostgreSQL\n");
    place.write("manual/new.md", "# New\n\nNews.\n");
    fs::remove_file(place.project().join("manual/deep/net.txt")).unwrap();
    place.run(&["docs", "list"]).ends(0).prints("1 new or changed and 1 gone since");
    let report = place.run(&["docs", "sync", "pg", "--json"]).ends(0).json();
    let one = &report["collections"][0];
    let counts = ["documents", "changed", "added", "removed", "passedOver"].map(|key| &one[key]);
    assert_eq!(counts.map(|count| count.as_u64().unwrap()), [2, 1, 1, 1, 1]);
    assert_eq!(one["problems"], json!([{"path": "empty.md", "reason": "it is empty"}]));
    let hits =
        place.run(&["search", "news", "--in", "docs", "--threshold", "0", "--json"]).ends(0).json();
    assert_eq!(hits["hits"][0]["path"], "new.md", "{hits}");
    place.run(&["docs", "remove", "pg"]).ends(0).prints("Removed pg from ");
    assert!(!fs::read_to_string(place.project().join("docent.toml")).unwrap().contains("pg"));
    assert!(place.project().join("manual/vacuum.md").exists());
}

#[test]
fn mistakes_are_reported() {
    let place = manual();
    for (arguments, code, want) in [
        (&["docs", "add", "all", "manual"][..], 2, "`all` means every collection"),
        (&["docs", "add", "a/b", "manual"], 2, "a name must not contain"),
        (
            &["docs", "add", "a", "nowhere"],
            1,
            "cannot read nowhere: name a folder or a file that exists",
        ),
        (&["docs", "remove", "a"], 2, "unknown collection a; known: none"),
        (&["docs", "sync", "a"], 2, "unknown collection a"),
    ] {
        let run = place.run(arguments);
        run.ends(code);
        assert!(run.err.contains(want), "{arguments:?}: {}", run.err);
    }
    place.run(&["docs", "add", "a", "manual"]).ends(0);
    let run = place.run(&["docs", "add", "a", "manual"]);
    run.ends(2);
    assert!(run.err.contains("collection a already exists"), "{}", run.err);
}

#[test]
fn what_lies_outside_is_the_user_s_alone_to_open() {
    let place = manual();
    let outside = place.project().parent().unwrap().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.md"), "# Secret\n\nThe zebra code.\n").unwrap();
    // A project may be untrusted: its file opens nothing.
    place.write("docent.toml", "docs.collections.a.path = \"../elsewhere\"\n");
    let run = place.run(&["docs", "sync"]);
    run.ends(1).prints("a: 0 documents").prints("outside the served roots");
    fs::remove_file(place.project().join("docent.toml")).unwrap();
    let run = place.run(&["docs", "add", "a", "../elsewhere"]);
    run.ends(0)
        .prints(".config/docent/docent.toml, because it lies outside the roots.")
        .prints("a: 1 document ");
    assert!(!place.project().join("docent.toml").exists());
    std::os::unix::fs::symlink(&outside, place.project().join("link")).unwrap();
    place.write("docent.toml", "docs.collections.b.path = \"link\"\n");
    place.run(&["docs", "sync", "b"]).ends(1).prints("b: 0 documents");
}

#[tokio::test]
async fn a_running_server_hears_of_new_collections() {
    let place = manual();
    let mut server = serve(&place, &[], &[]);
    server.open(LEGACY).await.unwrap();
    let listed = server.ask("tools/list", json!({})).await.unwrap();
    assert_eq!(doc_types(&listed), json!(["all"]));
    place.run(&["docs", "add", "pg", "manual"]).ends(0);
    server.notification("notifications/tools/list_changed").await.unwrap();
    let listed = server.ask("tools/list", json!({})).await.unwrap();
    assert_eq!(doc_types(&listed), json!(["all", "pg"]));
    let found = server.ask("tools/call", search("dead tuples")).await.unwrap();
    let first = &found["result"]["structuredContent"]["results"][0]["metadata"];
    assert_eq!(first["source"], "pg/vacuum.md", "{found}");
    place.run(&["docs", "remove", "pg"]).ends(0);
    server.notification("notifications/tools/list_changed").await.unwrap();
    let found = server.ask("tools/call", search("dead tuples")).await.unwrap();
    assert_eq!(found["result"]["structuredContent"]["results"], json!([]), "{found}");
}

fn doc_types(listed: &Value) -> Value {
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "search_documentation").unwrap();
    tool["inputSchema"]["properties"]["doc_type"]["enum"].clone()
}

#[test]
fn a_killed_sync_goes_on_where_it_was() {
    let place = TestHome::new();
    fs::create_dir(place.project().join("manual")).unwrap();
    for n in 0..1500 {
        let text =
            format!("# Page {n}\n\nWord{n} is on page {n}.\n\n## More\n\nAnd more of {n}.\n");
        place.write(&format!("manual/{n}.md"), &text);
    }
    place.write("docent.toml", "docs.collections.pages.path = \"manual\"\n");
    for wait in [300, 700, 1500] {
        let mut child = place
            .command(&["docs", "sync"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let report = place.run(&["docs", "sync", "--json"]).ends(0).json();
    assert_eq!(report["collections"][0]["documents"], 1500);
    assert_eq!(report["rebuilt"], Value::Null, "{report}");
    let again = place.run(&["docs", "sync", "--json"]).ends(0).json();
    assert_eq!(again["collections"][0]["changed"], 0);
    for n in [0, 749, 1499] {
        let query = format!("word{n}");
        let hits = place.run(&["search", &query, "--in", "docs", "--threshold", "0", "--json"]);
        assert_eq!(hits.ends(0).json()["hits"][0]["path"], format!("{n}.md"));
    }
}

/// A site of three pages below `/docs/` and one elsewhere; its robots.txt forbids one of them.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(&stream));
        }
    });
    host
}

fn answer(mut stream: &TcpStream) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(first) = lines.next() {
        while lines.next().is_some_and(|line| !line.is_empty()) {}
        let path = first.split(' ').nth(1).unwrap_or_default();
        let page =
            |text: &str| ("200 OK", format!("<html><body><main>{text}</main></body></html>"));
        let (status, body) = match path {
            "/robots.txt" => {
                ("200 OK", "User-agent: *\nDisallow: /docs/secret\nCrawl-delay: 0\n".into())
            }
            "/docs/" => page(
                "<h1>Zoo</h1><p><a href=zebra.html>z</a> <a href=secret.html>s</a> <a href=/out.html>o</a></p>",
            ),
            "/docs/zebra.html" => page("<h1>Zebra</h1><p>It is striped.</p>"),
            "/docs/secret.html" | "/out.html" => page("<h1>Hidden</h1><p>No one reads this.</p>"),
            _ => ("404 Not Found", String::new()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        if stream.write_all(format!("{head}{body}").as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn a_site_that_can_t_be_added_leaves_nothing_behind() {
    let place = TestHome::new();
    let host = site();
    let entries = || fs::read_dir(place.project()).unwrap().count();
    let add = |path: &str| place.run(&["docs", "add", "zoo", &format!("http://{host}{path}")]);
    add("/docs/").ends(1).says("in ~/.config/docent/docent.toml; zoo was not added");
    assert_eq!(entries(), 0, "something was written before the policy was asked");
    place.settings(&format!("policy.network.hosts = [\"{host}\"]\n"));
    add("/none/").ends(1).says("zoo was not added");
    assert!(!place.project().join("docent.toml").exists());
    assert!(!place.project().join(".docent/web/zoo").exists());
    place.run(&["docs", "list"]).ends(0).prints("No documentation is configured");
    add("/docs/").ends(0).prints("zoo: 2 documents");
}

#[test]
fn an_interrupted_crawl_leaves_no_collection_behind() {
    let place = TestHome::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let (send, asked) = mpsc::channel();
    thread::spawn(move || send.send(listener.accept()));
    place.settings(&format!("policy.network.hosts = [\"{host}\"]\n"));
    let mut child = place
        .command(&["docs", "add", "zoo", &format!("http://{host}/docs/")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The crawl waits for an answer that does not come.
    let connection = asked.recv_timeout(Duration::from_mins(1)).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(connection);
    assert!(!place.project().join("docent.toml").exists());
    place.run(&["docs", "list"]).ends(0).prints("No documentation is configured");
}

#[test]
fn a_site_is_fetched_where_the_user_allows_its_host() {
    let place = TestHome::new();
    let host = site();
    let url = format!("http://{host}/docs/");
    fs::create_dir(place.project().join("manual")).unwrap();
    place.write("manual/vacuum.md", VACUUM);
    place.run(&["docs", "add", "pg", "manual"]).ends(0);
    place.write("manual/new.md", "# New\n\nNews.\n");
    let file = place.project().join("docent.toml");
    let before = fs::read_to_string(&file).unwrap();
    place.run(&["docs", "add", "zoo", &url]).ends(1).says("zoo was not added");
    assert_eq!(fs::read_to_string(&file).unwrap(), before, "an empty collection is left behind");
    place.write("docent.toml", &format!("{before}\n[docs.collections.zoo]\nurl = \"{url}\"\n"));
    // One that can't be fetched keeps the others from nothing.
    let run = place.run(&["docs", "sync"]);
    run.ends(1)
        .prints(&format!("cannot fetch zoo: the policy does not allow {host}"))
        .prints("policy.network.hosts")
        .prints("pg: 2 documents (1 new");
    let allowed = format!("policy.network.hosts = [\"{host}\"]\n");
    // A project's own file can't open the network.
    let before = fs::read_to_string(&file).unwrap();
    place.write("docent.toml", &format!("{allowed}{before}"));
    let run = place.run(&["docs", "sync"]);
    run.ends(1).prints("cannot fetch zoo: the policy does not allow");
    let ignored = "sets `policy.network.hosts`, which docent ignores";
    assert!(run.err.contains(ignored), "{}", run.err);
    place.write("docent.toml", &before);
    let own = place.0.path().join(".config/docent");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("docent.toml"), allowed).unwrap();
    let run = place.run(&["docs", "sync"]);
    run.ends(0)
        .prints("zoo: fetched 2 pages (0 unchanged, 0 gone, 1 refused, 0 failed)")
        .prints("zoo: 2 documents");
    let found = place.run(&["search", "striped", "--in", "docs", "--threshold", "0", "--json"]);
    assert_eq!(found.ends(0).json()["hits"][0]["name"], "Zebra");
    let nothing =
        place.run(&["search", "no one reads", "--in", "docs", "--threshold", "0.7", "--json"]);
    nothing.ends(1);
    place.run(&["docs", "remove", "zoo"]).ends(0);
    assert!(!place.project().join(".docent/web/zoo").exists());
}
