//! `docent index` and `docent search`: a small project in three languages, every exit code, and an embedding endpoint.

use crate::{CliRun, TestHome};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

const SESSIONS: &str = r#""""Sessions."""


def refresh_session_token(session, now):
    """Renews the token of a session before it expires."""
    if session.expires_at < now:
        raise ValueError("the session has expired")
    return session.renew(now)


def close_session(session):
    """Logs the user out."""
    session.close()
"#;
const INVOICES: &str = "/** Parses the lines of an invoice from CSV text. */\n\
    export function parseInvoiceLines(csv: string): string[] {\n  return csv.split(\"\\n\");\n}\n";
const GUIDE: &str = "# Guide\n\nHow to run the shop.\n\n## Database backups\n\n\
    Database backups are taken every night and kept for thirty days.\n";

fn project() -> TestHome {
    let place = TestHome::new();
    for folder in ["src", "docs"] {
        fs::create_dir(place.project().join(folder)).unwrap();
    }
    place
        .write("src/sessions.py", SESSIONS)
        .write("src/invoices.ts", INVOICES)
        .write("docs/guide.md", GUIDE);
    place
}

/// The first hit of a search as `path name`.
#[track_caller]
fn first(place: &TestHome, arguments: &[&str]) -> String {
    let run = place.run(&[&["search", "--json"], arguments].concat());
    let hit = run.ends(0).json()["hits"][0].clone();
    format!("{} {}", hit["path"].as_str().unwrap(), hit["name"].as_str().unwrap())
}

#[test]
fn the_index_is_brought_in_step() {
    let place = project();
    let run = place.run(&["index"]);
    run.ends(0).prints("3 files, 5 units: 3 changed, 0 removed, ");
    assert_eq!((run.out.lines().count(), run.err.as_str()), (1, ""));
    let state = place.project().join(".docent");
    assert_eq!(fs::read_to_string(state.join(".gitignore")).unwrap(), "*\n");
    assert!(place.index().join("lexical").is_dir());
    place.write("src/invoices.ts", "export const none = 1;\n").write("src/bad.py", "\0");
    fs::remove_file(place.project().join("docs/guide.md")).unwrap();
    let report = place.run(&["index", ".", "--json"]).ends(0).json();
    let counts = ["files", "changed", "removed", "units", "generation"].map(|key| &report[key]);
    assert_eq!(counts.map(|count| count.as_u64().unwrap()), [3, 1, 1, 3, 2]);
    assert!(report["seconds"].is_number() && report["stopped"] == false, "{report}");
    let problem = json!([{"path": "src/bad.py", "reason": "not text: it contains NUL bytes"}]);
    assert_eq!(report["problems"], problem);
    let run = place.run(&["index"]);
    run.ends(0).prints("3 files, 3 units: 0 changed, 0 removed, ").prints(
        "s; not indexed, because of 1 problem:\n  src/bad.py: not text: it contains NUL bytes\n",
    );
}

/// What came with a project is not read: it may be made to take all memory, or to say what the files don't. It may come
/// with a later pull, under any name that was seen elsewhere.
#[test]
fn an_index_that_another_user_made_is_not_read() {
    let (place, other) = (project(), project());
    other.run(&["index"]).ends(0);
    let state = place.project().join(".docent");
    let copy_to = |name: &str| {
        fs::create_dir_all(&state).unwrap();
        let copied = std::process::Command::new("cp")
            .args(["-r".as_ref(), other.index().as_os_str(), state.join(name).as_os_str()])
            .status();
        assert!(copied.unwrap().success());
    };
    copy_to(other.index().file_name().unwrap().to_str().unwrap());
    copy_to("index");
    place.run(&["index"]).ends(0).prints("3 files, 5 units: 3 changed, ");
    copy_to("index");
    place.run(&["index"]).ends(0).prints("3 files, 5 units: 0 changed, ");
    assert!(state.join("index").is_dir(), "it is not so much as looked at");
}

#[test]
fn a_question_finds_code_and_documents() {
    let place = project();
    let renew = "renew the token of a session";
    assert_eq!(first(&place, &[renew]), "src/sessions.py refresh_session_token");
    assert_eq!(first(&place, &["parseInvoiceLines"]), "src/invoices.ts parseInvoiceLines");
    let run = place.run(&["search", renew]);
    run.ends(0).prints("  refresh_session_token  function  src/sessions.py:4\n");
    run.prints("\n    def refresh_session_token(session, now):\n");
    run.prints(" (index up to date)\n");
    let similarity = run.out.split("  ").next().unwrap();
    assert!(similarity.len() == 4 && similarity.parse::<f32>().unwrap() >= 0.7, "{similarity}");
    let run = place.run(&["search", "when are database backups taken", "--in", "docs"]);
    run.ends(0).prints("  Guide > Database backups  section  docs/guide.md\n");
    assert!(!run.out.contains("src/"), "{}", run.out);
}

#[test]
fn an_edit_is_found_at_once() {
    let place = project();
    assert_eq!(first(&place, &["parseInvoiceLines"]), "src/invoices.ts parseInvoiceLines");
    place.write("src/invoices.ts", "export function printReceiptPaper() {}\n");
    assert_eq!(first(&place, &["printReceiptPaper"]), "src/invoices.ts printReceiptPaper");
    let answer = place.run(&["search", "parseInvoiceLines", "--json"]).ends(1).json();
    assert_eq!((&answer["generation"], &answer["hits"]), (&json!(2), &json!([])));
}

#[test]
fn filters_and_limits_hold() {
    let place = project();
    let paths = |arguments: &[&str]| -> Vec<String> {
        let all = ["search", "session invoice backups", "--threshold", "0", "--json"];
        let answer = place.run(&[&all, arguments].concat()).json();
        let hits = answer["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(paths(&["--limit", "2"]).len(), 2);
    let only = |arguments: &[&str], want: &str| {
        let found = paths(arguments);
        assert!(!found.is_empty() && found.iter().all(|path| path == want), "{found:?}");
    };
    only(&["--language", "TypeScript"], "src/invoices.ts");
    only(&["--language", "python", "--kind", "function"], "src/sessions.py");
    only(&["--kind", "section"], "docs/guide.md");
    only(&["--path", "docs/**"], "docs/guide.md");
    only(&["--in", "code", "--path", "**/*.py", "--path", "**/*.md"], "src/sessions.py");
    assert_eq!(paths(&["--kind", "macro"]), Vec::<String>::new());
}

#[test]
fn an_answer_for_programs_has_everything() {
    let place = project();
    let answer = place.run(&["search", "refresh session token", "--json"]).ends(0).json();
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let want = ["query", "threshold", "generation", "hits", "below", "notes", "behind", "index"];
    assert_eq!(keys(&answer), want);
    assert_eq!(answer["behind"], json!({"changed": 0, "removed": 0}));
    assert_eq!((&answer["threshold"], &answer["index"]["changed"]), (&json!(0.7), &json!(3)));
    let hit = &answer["hits"][0];
    let want = [
        "collection",
        "path",
        "lines",
        "id",
        "kind",
        "language",
        "name",
        "signature",
        "doc",
        "similarity",
        "words",
        "meaning",
        "matched",
        "snippet",
        "alike",
    ];
    assert_eq!(keys(hit), want);
    assert_eq!(hit["lines"], json!({"first": 4, "last": 8}));
    assert_eq!((&hit["language"], &hit["alike"]), (&json!("python"), &json!([])));
    assert!(hit["snippet"]["text"].as_str().unwrap().contains("refresh_session_token"), "{hit}");
    assert_eq!(hit["snippet"]["first"], 4);
    let matched = hit["matched"].as_array().unwrap();
    assert!(matched.iter().any(|one| one["fields"].to_string().contains("name")), "{hit}");
    let section =
        place.run(&["search", "database backups", "--in", "docs", "--json"]).ends(0).json();
    assert_eq!(section["hits"][0]["lines"], Value::Null);
}

#[test]
fn nothing_found_is_one_and_shows_the_nearest() {
    let place = project();
    let run = place.run(&["search", "quantum chromodynamics of session", "--threshold", "1"]);
    run.ends(1)
        .prints("No strong matches. Closest:\n\n0.")
        .prints("\nNo matches (index up to date)\n");
    let none = place.run(&["search", "zzyzx", "--kind", "macro"]);
    none.ends(1).prints("No matches (index up to date)\n");
    let answer = place.run(&["search", "sessions", "--threshold", "1", "--json"]).ends(1).json();
    assert_eq!(answer["hits"], json!([]));
    assert!((1..=3).contains(&answer["below"].as_array().unwrap().len()), "{answer}");
}

#[test]
fn usage_errors_differ_from_failures() {
    let place = project();
    for command in [&["index"][..], &["search", "x"]] {
        let run = |folder: &str| place.run(&[command, &[folder]].concat());
        run("no/such/place").ends(1).says("no/such/place").says("name a folder that exists");
        run("docs/guide.md").ends(1).says("not a directory");
    }
    assert!(!place.project().join(".docent").exists(), "a failure leaves nothing behind");
    place.run(&["search"]).ends(2).says("QUERY");
    place.run(&["search", "  "]).ends(2).says("the query is empty");
    place.run(&["search", "x", "--threshold", "7"]).ends(2).says("a number from 0 to 1");
    place.run(&["search", "x", "--limit", "0"]).ends(2);
    place.run(&["search", "x", "--in", "attic"]).ends(2).says("code, docs");
    place.run(&["search", "x", "--path", "a[b"]).ends(2).says("invalid pattern in --path a[b");
}

#[test]
fn a_root_that_cannot_be_written_to_is_indexed_in_the_cache() {
    let place = project();
    // A file in its place blocks the folder for every user, root included.
    place.write(".docent", "");
    place.run(&["index"]).ends(0).prints("3 changed");
    place.run(&["index"]).ends(0).prints("0 changed");
    let cache = place.project().join("../.cache/docent");
    let kept: Vec<_> = fs::read_dir(cache).unwrap().flatten().collect();
    assert!(kept.len() == 1 && kept[0].path().join("index").is_dir(), "{kept:?}");
}

#[test]
fn the_configured_roots_are_searched_unless_a_folder_is_named() {
    let place = project();
    fs::create_dir(place.project().join("../lib")).unwrap();
    place.write("../lib/tax.py", "def compute_vat_rate():\n    return 19\n");
    let lib = place.project().join("../lib");
    place.settings(&format!("roots = [{:?}, {lib:?}]", place.project()));
    let found = first(&place, &["compute_vat_rate"]);
    assert!(found.starts_with('/') && found.ends_with("/lib/tax.py compute_vat_rate"), "{found}");
    assert_eq!(first(&place, &["compute_vat_rate", "../lib"]), "tax.py compute_vat_rate");
}

/// A server of embeddings that counts what it is asked, and stops when it is dropped.
struct EmbeddingServer {
    url: String,
    asked: Arc<AtomicUsize>,
}

impl EmbeddingServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let count = Arc::clone(&count);
                thread::spawn(move || answer(stream.unwrap(), &count));
            }
        });
        Self { url, asked }
    }

    fn run(&self, place: &TestHome, model: &str, arguments: &[&str]) -> CliRun {
        with_endpoint(place, &self.url, model, arguments)
    }
}

fn with_endpoint(place: &TestHome, url: &str, model: &str, arguments: &[&str]) -> CliRun {
    let mut command = place.command(arguments);
    command.env("DOCENT_EMBEDDING_URL", url).env("DOCENT_EMBEDDING_MODEL", model);
    // Nothing listens there, and nothing must connect: a server would see the key and every text.
    command.env("HTTP_PROXY", "http://127.0.0.1:9").env("ALL_PROXY", "http://127.0.0.1:9");
    CliRun::of(command.env("DOCENT_EMBEDDING_KEY_ENV", "THE_KEY").env("THE_KEY", "sekrit"))
}

/// One request: a vector of eight numbers for each text, one for each of its first letters' places.
fn answer(mut stream: TcpStream, count: &AtomicUsize) {
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    let body = loop {
        let read = stream.read(&mut chunk).unwrap();
        request.extend(&chunk[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let length = text.to_ascii_lowercase();
        let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let length = length.and_then(|length| length.trim().parse::<usize>().ok());
        match (text.split_once("\r\n\r\n"), length) {
            (Some((head, body)), Some(length)) if body.len() >= length => {
                assert!(head.starts_with("POST /v1/embeddings "), "{head}");
                assert!(head.to_ascii_lowercase().contains("authorization: bearer sekrit"));
                break body.to_owned();
            }
            _ => assert!(read > 0, "the request is cut"),
        }
    };
    count.fetch_add(1, Ordering::SeqCst);
    let request: Value = serde_json::from_str(&body).unwrap();
    let vector = |text: &Value| -> Vec<usize> {
        let text = text.as_str().unwrap();
        (0..8_u8).map(|n| 1 + text.matches(char::from(b'a' + n)).count()).collect()
    };
    let texts = request["input"].as_array().unwrap().iter().enumerate();
    let data: Value =
        texts.map(|(index, text)| json!({"index": index, "embedding": vector(text)})).collect();
    let body = json!({"data": data, "model": request["model"]}).to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
}

#[test]
fn an_endpoint_s_model_is_used_and_a_change_of_model_is_reported() {
    let place = project();
    let endpoint = EmbeddingServer::start();
    let run = endpoint.run(&place, "first", &["index"]);
    assert_eq!(run.ends(0).out.lines().count(), 1, "{}", run.out);
    assert!(endpoint.asked.load(Ordering::SeqCst) >= 2, "the endpoint was not asked");
    let search = ["search", "refresh_session_token", "--threshold", "0", "--json"];
    let answer = endpoint.run(&place, "first", &search).ends(0).json();
    assert_eq!(
        (&answer["notes"], &answer["hits"][0]["name"]),
        (&json!([]), &json!("refresh_session_token"))
    );
    let note = "Recomputed all embeddings: they were from first (8 dimensions).";
    endpoint.run(&place, "second", &["index"]).ends(0).prints(note);
    let run = endpoint.run(&place, "second", &["index"]);
    assert!(!run.ends(0).out.contains("Recomputed"), "{}", run.out);
    let answer = place.run(&search).ends(0).json();
    let note = "Recomputed all embeddings: they were from second (8 dimensions).";
    assert_eq!(answer["notes"], json!([note]), "back to the table that is built in");
}

#[test]
fn without_its_endpoint_words_are_searched_and_nothing_is_indexed() {
    let place = project();
    let endpoint = EmbeddingServer::start();
    endpoint.run(&place, "first", &["index"]).ends(0);
    // Bound and released again: nothing listens there.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gone = format!("http://{gone}/v1");
    let away = format!("cannot reach the embedding endpoint {gone}/embeddings: is it running");
    place.write("src/new.py", "def new():\n    pass\n");
    with_endpoint(&place, &gone, "first", &["index"]).ends(1).says(&away);
    let search = ["search", "refresh_session_token", "--threshold", "0"];
    let run = with_endpoint(&place, &gone, "first", &search);
    run.ends(0).prints("  refresh_session_token  function  src/sessions.py:4\n");
    run.prints("(index out of date: 1 changed and 0 removed since)\n");
    run.prints(&format!("note: Searched by words only: {away}"));
    let untouched = project();
    with_endpoint(&untouched, &gone, "first", &search).ends(1).says(&away);
}

/// A child that does not outlive a test that fails.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // Where it has ended by itself, there is nothing to kill.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn a_watched_index_follows_until_it_is_interrupted() {
    let place = project();
    let mut command = place.command(&["index", "--watch", "--json"]);
    let mut child = KillOnDrop(command.stdout(Stdio::piped()).spawn().unwrap());
    let (sender, lines) = mpsc::channel();
    let out = BufReader::new(child.0.stdout.take().unwrap());
    thread::spawn(move || out.lines().for_each(|line| sender.send(line.unwrap()).unwrap()));
    let next = || -> Value {
        let line = lines.recv_timeout(Duration::from_secs(30)).expect("no report came");
        serde_json::from_str(&line).unwrap()
    };
    assert_eq!(next()["changed"], 3);
    fs::write(place.project().join("src/new.py"), "def new():\n    pass\n").unwrap();
    // The file may be seen before it is filled.
    while next()["units"] != 6 {}
    rustix::process::kill_process(rustix::process::Pid::from_child(&child.0), Signal::INT).unwrap();
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
}
