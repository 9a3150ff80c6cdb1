//! The tables of docs/seeds.md, for the tests that walk the seed documents, and what several of these walks need.

use crate::{CliRun, TestHome};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};
use std::{collections::VecDeque, fs, io::Write as _, path::Path, process::Stdio};

/// A walk through one seed's table, row by row, in the document's order.
pub(crate) struct SeedTable {
    seed: String,
    rows: VecDeque<SeedRow>,
}

struct SeedRow {
    lines: String,
    statement: String,
    works: bool,
}

impl SeedTable {
    /// Reads the table whose heading starts with this number.
    pub(crate) fn of(seed: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/seeds.md");
        let text = fs::read_to_string(path).unwrap();
        let heading = format!("## {seed} ");
        let section = text.lines().skip_while(|line| !line.starts_with(&heading)).skip(1);
        let table = section.take_while(|line| !line.starts_with("## "));
        let rows = table.filter(|line| line.starts_with('|')).skip(2).map(parse_row).collect();
        Self { seed: seed.to_owned(), rows }
    }

    /// Moves on to the next row, which must have these lines of the document and say that it works.
    #[track_caller]
    pub(crate) fn at(&mut self, lines: &str) {
        self.next(lines, true);
    }

    /// Moves on to the next row, which must have these lines of the document and say what differs.
    #[track_caller]
    pub(crate) fn differs(&mut self, lines: &str) {
        self.next(lines, false);
    }

    #[track_caller]
    fn next(&mut self, lines: &str, works: bool) {
        let Some(row) = self.rows.pop_front() else {
            panic!("docs/seeds.md has no row {lines} at the end of the table of seed {}", self.seed)
        };
        assert_eq!(
            row.lines, lines,
            "next in docs/seeds.md, seed {}: {}",
            self.seed, row.statement
        );
        assert_eq!(row.works, works, "{lines} of seed {} works: {}", self.seed, row.statement);
    }

    /// Ends the walk, at the end of the table.
    #[track_caller]
    pub(crate) fn end(&self) {
        let left: Vec<&str> = self.rows.iter().map(|row| row.lines.as_str()).collect();
        assert!(
            left.is_empty(),
            "rows of seed {} that no step of the walk shows: {left:?}",
            self.seed
        );
    }
}

/// Splits a row, whose verdict is `works` or `differs: ` and a reason.
fn parse_row(line: &str) -> SeedRow {
    let line = line.replace("\\|", "\u{1}");
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [lines, statement, verdict] = cells[..] else { panic!("not three cells: {line}") };
    let has_reason = verdict.strip_prefix("differs: ").is_some_and(|reason| !reason.is_empty());
    assert!(verdict == "works" || has_reason, "neither works nor differs: {line}");
    SeedRow { lines: lines.to_owned(), statement: statement.to_owned(), works: verdict == "works" }
}

/// Sends a request as a document has it, line breaks and all, and awaits its answer.
pub(crate) async fn ask(server: &mut ChildTestClient, request: &str) -> Value {
    let parsed: Value = serde_json::from_str(request).unwrap();
    server.send_text(request).await.unwrap();
    let answer = server.answer_to(&parsed["id"]).await.unwrap();
    assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    answer
}

/// Sends a notification as a document has it, and checks that nothing answers it.
pub(crate) async fn notify(server: &mut ChildTestClient, notification: &str) {
    server.send_text(notification).await.unwrap();
    let pong = server.ask("ping", json!({})).await.unwrap();
    assert_eq!(pong["result"], json!({}), "{pong}");
    let answers: Vec<Value> = server
        .take_messages()
        .into_iter()
        .filter(|message| message.get("method").is_none())
        .collect();
    assert!(answers.is_empty(), "{notification} is answered: {answers:?}");
}

/// The texts of a result's content, one after the other.
pub(crate) fn text_of(answer: &Value) -> String {
    let blocks = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// Runs the program with this as its whole input, as `echo … | docent …` does.
pub(crate) fn run_with_input(place: &TestHome, args: &[&str], input: &str) -> CliRun {
    let mut command = place.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{input}\n").as_bytes()).unwrap();
    let ended = child.wait_with_output().unwrap();
    CliRun {
        code: ended.status.code().expect("ended by a signal"),
        out: String::from_utf8(ended.stdout).unwrap(),
        err: String::from_utf8(ended.stderr).unwrap(),
    }
}

/// A server in the shell's own words, which answers a message by the first of its patterns.
const ANSWERING: &str = r#"say() { printf '%s\n' '{"jsonrpc":"2.0","id":'"$id"','"$1"'}'; }
while IFS= read -r line; do
  id="${line#*\"id\":}"; id="${id%%[,\}]*}"
  case "$line" in
CASES
    *'"id":'*) say '"error":{"code":-32601,"message":"Method not found"}' ;;
  esac
done
"#;

/// Writes a server whose tools answer with one member of a response each, `"result": …` or `"error": …`, and returns
/// its settings.
pub(crate) fn answering_server(place: &TestHome, name: &str, tools: &[(&str, &str)]) -> String {
    let definition =
        |(tool, _): &(&str, &str)| json!({"name": tool, "inputSchema": {"type": "object"}});
    let definitions: Vec<Value> = tools.iter().map(definition).collect();
    let opening = json!({
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
        "serverInfo": {"name": name, "version": "1"},
    });
    let opening = format!("\"result\":{opening}");
    let list = format!("\"result\":{}", json!({"tools": definitions}));
    let mut answers = vec![
        ("\"method\":\"initialize\"".to_owned(), opening.as_str()),
        ("\"method\":\"tools/list\"".to_owned(), &list),
    ];
    answers.extend(tools.iter().map(|(tool, answer)| (format!("\"name\":\"{tool}\""), *answer)));
    let case = |(pattern, answer): &(String, &str)| {
        assert!(!answer.contains('\''), "the shell would end it there: {answer}");
        // One message is one line.
        format!("    *'{pattern}'*) say '{}' ;;", answer.replace('\n', " "))
    };
    let cases: Vec<String> = answers.iter().map(case).collect();
    let file = format!("{name}.sh");
    place.write(&file, &ANSWERING.replace("CASES", &cases.join("\n")));
    let file = place.project().join(file);
    let file = file.to_str().unwrap();
    format!("[mcp_servers.{name}]\ncommand = \"/bin/sh\"\nargs = [{file:?}]\n")
}
