//! Every argument, address, prompt and completion that takes a path, with every kind of file.

use super::{
    HostilePath, HostileProject, HostileSession, TransportUnderTest, is_error, schema::ToolSchema,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Arguments that look like paths but are not: tool, argument, and their meaning.
const NO_PATHS: [(&str, &str, &str); 4] = [
    ("read_symbol", "symbol", "a path of names"),
    ("find_references", "symbol", "a path of names"),
    ("query_annotations", "options.paths", "patterns that filter what the index has"),
    ("get_document", "document_id", "a document of a collection by its id"),
];

/// Tools that take a folder and walk it.
const WALKS: [&str; 5] =
    ["analyze_code", "analyze_repository", "check_documentation", "outline", "parse_files"];
/// A tool that takes a folder and reads the files that the index has in it; `index_status` has their problems.
const NO_WALK: &str = "find_references";

/// Addresses that docent has without a template, and those of others.
const SCHEMES: [&str; 5] = ["file", "result", "docent", "ui", "nonsense"];

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_and_scheme_over_stdio() {
    check(TransportUnderTest::Stdio).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_and_scheme_over_http() {
    check(TransportUnderTest::Http).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_and_scheme_over_sse() {
    check(TransportUnderTest::Sse).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_and_scheme_over_websocket() {
    check(TransportUnderTest::WebSocket).await;
}

async fn check(way: TransportUnderTest) {
    let fixture = HostileProject::new();
    let mut session = HostileSession::open(&fixture.place, &fixture.roots(), way).await;
    tools(&mut session, &fixture).await;
    problems(&mut session).await;
    resources(&mut session, &fixture).await;
    prompts(&mut session, &fixture).await;
    directories(&mut session, &fixture).await;
    session.check_times();
    fixture.writer.was_not_woken();
}

async fn tools(session: &mut HostileSession, fixture: &HostileProject) {
    let tools = session.list("tools").await;
    assert!(tools.len() > 8, "{tools:?}");
    let argument = |tool: &str, slot: &str| format!("{tool}.{slot}");
    let mut exempt: BTreeSet<String> =
        NO_PATHS.iter().map(|(tool, slot, _)| argument(tool, slot)).collect();
    let mut walks = BTreeSet::new();
    for tool in &tools {
        let (name, schema) = (tool["name"].as_str().unwrap(), ToolSchema::of(tool));
        for slot in schema.slots() {
            let argument = argument(name, &slot.name());
            let is_path = !exempt.remove(&argument) && slot.is_path();
            for hostile in &fixture.hostile {
                let answer = session.call(name, schema.with(&slot, &hostile.path)).await;
                if is_path {
                    is_refused(&answer, hostile, &argument);
                }
            }
            if is_path {
                let answer = session.call(name, schema.with(&slot, ".")).await;
                // Some take a file alone.
                if !is_error(&answer) && name != NO_WALK {
                    walks.insert(name);
                    lists_problems(&answer, name);
                }
            }
        }
    }
    assert!(exempt.is_empty(), "these arguments no longer exist: {exempt:?}");
    assert!(WALKS.iter().all(|tool| walks.contains(tool)), "{walks:?}");
}

/// A path that names no usable file is an error that says what is there.
#[track_caller]
fn is_refused(answer: &Value, hostile: &HostilePath, what: &str) {
    let Some(want) = hostile.want else { return };
    let text = answer.to_string();
    assert!(is_error(answer), "{what} took {}: {text}", hostile.path);
    assert!(text.contains(want), "{what}: {} is not {want:?} in {text}", hostile.path);
}

/// A walk lists every special file among its problems.
#[track_caller]
fn lists_problems(answer: &Value, tool: &str) {
    let text = answer.to_string();
    for want in ["src/pipe.py", "not a regular file (named pipe)", "src/socket.py", "(socket)"] {
        assert!(text.contains(want), "{tool}: no {want:?} in {text}");
    }
}

/// What is read in the background lists them as well.
async fn problems(session: &mut HostileSession) {
    for (tool, want) in [
        ("index_status", "src/pipe.py: not a regular file (named pipe)"),
        ("list_collections", "not a regular file (named pipe)"),
    ] {
        let answer = session.call(tool, json!({})).await.to_string();
        assert!(answer.contains(want), "{tool}: no {want:?} in {answer}");
    }
}

async fn resources(session: &mut HostileSession, fixture: &HostileProject) {
    let templates: Vec<String> = session.list("templates").await.iter().map(template_of).collect();
    let listed = session.list("resources").await;
    let listed = listed.iter().map(|one| one["uri"].as_str().unwrap().to_owned());
    let scheme = |uri: &String| uri.split_once("://").unwrap().0.to_owned();
    let mut schemes: BTreeSet<String> = SCHEMES.map(str::to_owned).into();
    schemes.extend(templates.iter().map(scheme).chain(listed.map(|uri| scheme(&uri))));
    assert!(
        ["ast", "repository", "techdoc"].iter().all(|one| schemes.contains(*one)),
        "{schemes:?}"
    );
    for hostile in &fixture.hostile {
        let whole = fixture.place.project().join(&hostile.path).display().to_string();
        let with_path = templates.iter().filter(|template| has_path(template));
        let filled: Vec<String> = with_path.map(|template| fill(template, &hostile.path)).collect();
        let bare = schemes.iter().flat_map(|scheme| {
            [format!("{scheme}://{}", hostile.path), format!("{scheme}://{whole}")]
        });
        for uri in filled.into_iter().chain(bare) {
            let answer = session.ask("resources/read", json!({"uri": uri})).await;
            assert!(hostile.want.is_none() || is_error(&answer), "{uri}: {answer}");
            let answer = session.ask("resources/subscribe", json!({"uri": uri})).await;
            // A document may come later; nothing is opened to wait for it.
            let may_wait = uri.starts_with("techdoc://");
            assert!(hostile.want.is_none() || may_wait || is_error(&answer), "{uri}: {answer}");
        }
        for template in &templates {
            let at = json!({"type": "ref/resource", "uri": template});
            completions(session, &at, "path", &hostile.path).await;
        }
    }
    for template in templates.iter().filter(|template| !has_path(template)) {
        session.ask("resources/read", json!({"uri": fill(template, "")})).await;
    }
}

fn template_of(template: &Value) -> String {
    template["uriTemplate"].as_str().unwrap().to_owned()
}

fn has_path(template: &str) -> bool {
    template.contains("{path}") || template.contains("{+path}")
}

/// An address of a template. A variable that is not known here fails the test: nothing would try it.
fn fill(template: &str, path: &str) -> String {
    // Documents are named inside their collection.
    let inside =
        if template.starts_with("techdoc") { path.trim_start_matches("manual/") } else { path };
    let known = [
        ("{+path}", inside),
        ("{path}", inside),
        ("{depth}", "quick"),
        ("{doc_type}", "manual"),
        ("{collection}", "docs"),
    ];
    let filled =
        known.iter().fold(template.to_owned(), |uri, (name, value)| uri.replace(name, value));
    assert!(!filled.contains('{'), "teach this test the variables of {template}");
    filled
}

async fn prompts(session: &mut HostileSession, fixture: &HostileProject) {
    let prompts = session.list("prompts").await;
    let mut tried = 0;
    for prompt in &prompts {
        let name = prompt["name"].as_str().unwrap();
        let arguments = prompt["arguments"].as_array().cloned().unwrap_or_default();
        let required = arguments.iter().filter(|one| one["required"] == true);
        let required: Vec<&str> = required.map(|one| one["name"].as_str().unwrap()).collect();
        for argument in arguments.iter().map(|one| one["name"].as_str().unwrap()) {
            for hostile in &fixture.hostile {
                let mut filled = json!({});
                for one in &required {
                    filled[*one] = json!("x");
                }
                filled[argument] = json!(hostile.path);
                let params = json!({"name": name, "arguments": filled});
                let answer = session.ask("prompts/get", params).await;
                if argument == "path" {
                    tried += 1;
                    is_refused(&answer, hostile, &format!("{name}.{argument}"));
                }
                let at = json!({"type": "ref/prompt", "name": name});
                completions(session, &at, argument, &hostile.path).await;
            }
        }
    }
    assert!(tried > 20, "no prompt took a path: {prompts:?}");
}

/// A directory where a file is wanted is an error that says so.
async fn directories(session: &mut HostileSession, fixture: &HostileProject) {
    let path = "src/folder.py";
    let whole = fixture.place.project().join(path).display().to_string();
    let listed = session.ask("resources/read", json!({"uri": format!("file://{whole}")})).await;
    let params = json!({"name": "explain_file", "arguments": {"path": path}});
    let prompt = session.ask("prompts/get", params).await;
    let parsed = session.call("parse_files", json!({"files": [path]})).await;
    let syntax = json!({"uri": format!("ast://project/{path}")});
    let syntax = session.ask("resources/read", syntax).await;
    for (answer, want) in [
        (listed, "not a regular file (directory)"),
        (prompt, "is a folder; name a file in it"),
        (parsed, "found no source file in a supported language"),
        (syntax, ""),
    ] {
        assert!(is_error(&answer) && answer.to_string().contains(want), "no {want:?} in {answer}");
    }
}

/// What can't be read is not offered, whatever part of its path was typed.
async fn completions(session: &mut HostileSession, at: &Value, argument: &str, path: &str) {
    let start = path.get(..path.len() - 3).unwrap();
    for typed in [path, start, &format!("{path}/x")] {
        let argument = json!({"name": argument, "value": typed});
        let params = json!({"ref": at, "argument": argument});
        let answer = session.ask("completion/complete", params).await;
        let values =
            answer["result"]["completion"]["values"].as_array().cloned().unwrap_or_default();
        for special in ["src/pipe.py", "src/socket.py", "manual/pipe.md", super::DEVICE] {
            assert!(!values.iter().any(|value| value == special), "{typed}: {answer}");
        }
    }
}
