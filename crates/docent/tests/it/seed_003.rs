//! Seed 003, documentation search over HTTP: a walk through the document from top to bottom.
//!
//! Its requests are sent as its `curl` commands send them, to a server that has the collections `postgresql`
//! and `ubuntu`.

mod curl;
mod manual;

use crate::{
    CliRun, TestHome,
    seeds::SeedTable,
    serving::{audit_lines, get, listen, serve},
};
use curl::{CurlRequest, calling, fields, reading};
use docent_testkit::{ChildTestClient, HttpTestClient};
use serde_json::{Value, json};
use std::fs;

const OPEN: [&str; 4] = ["--transport", "http", "--rate-limit", "0"];
const LIST_TOOLS: &str = r#"{
  "jsonrpc": "2.0",
  "method": "tools/list",
  "id": "list-1"
}"#;
const LIST_RESOURCES: &str = r#"{
  "jsonrpc": "2.0",
  "method": "resources/list",
  "id": "res-1"
}"#;

#[tokio::test]
async fn seed_003() {
    let mut walk = SeedTable::of("003");
    let place = TestHome::new();
    manual::write(&place);
    add_collections(&place);
    let (_server, address) = listen(&place, &OPEN, &[]).await;
    let open = CurlRequest::new(&address);
    overview(&mut walk, &place, &open).await;
    envelope(&mut walk, &open).await;
    error_codes(&mut walk, &open).await;
    endpoint(&mut walk, &open, &address).await;
    listed_tools(&mut walk, &open).await;
    tool_calls(&mut walk, &open).await;
    citations(&mut walk, &open, &address).await;
    tool_errors(&mut walk, &open).await;
    resources(&mut walk, &place, &open).await;
    searching(&mut walk, &open).await;
    documents(&mut walk, &place, &open).await;
    authentication(&mut walk, &place, &open).await;
    validation(&mut walk, &place, &open).await;
    env_file(&mut walk, &place).await;
    variables(&mut walk, &place, &open).await;
    examples(&mut walk, &place, &open).await;
    retrieval_example(&mut walk, &open).await;
    integration(&mut walk, &address).await;
    running(&mut walk, &place).await;
    relation(&mut walk, &place, &open, &address).await;
    walk.end();
}

/// Both collections, as a user adds them.
fn add_collections(place: &TestHome) {
    let run = place.run(&[
        "docs",
        "add",
        "postgresql",
        "html",
        "--title",
        "PostgreSQL Documentation",
        "--description",
        "PostgreSQL 16 official documentation",
        "--version",
        "16",
    ]);
    let counted = format!("postgresql: {} documents", manual::DOCUMENTS);
    run.ends(0).prints(&counted).prints("1 other file skipped");
    place.run(&["docs", "add", "ubuntu", "ubuntu"]).ends(0).prints("ubuntu: 2 documents");
    // What was added and what is listed are the same number.
    let listed = format!("postgresql 16: {} documents", manual::DOCUMENTS);
    place.run(&["docs", "list"]).ends(0).prints(&listed).prints("ubuntu: 2 documents");
}

/// The text of a block of content.
fn text(content: &Value, at: usize) -> &str {
    content[at]["text"].as_str().unwrap_or_else(|| panic!("no text in block {at}: {content}"))
}

async fn overview(walk: &mut SeedTable, place: &TestHome, open: &CurlRequest) {
    walk.at("5-9");
    let tools = open.result(LIST_TOOLS).await;
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"search_documentation") && names.contains(&"get_document"),
        "{names:?}"
    );
    walk.at("11");
    assert_eq!(setting(&place.run(&["config", "show"]), "server.port"), "8001 # default");
    walk.at("12");
    let opened = open
        .result(
            r#"{"jsonrpc": "2.0", "method": "initialize", "id": 1, "params": {"protocolVersion": "1.0", "capabilities": {},
                "clientInfo": {"name": "genie", "version": "1"}}}"#,
        )
        .await;
    assert_eq!(opened["protocolVersion"], "1.0");
    walk.at("13");
    let reply = open.post(LIST_TOOLS).await;
    assert!(reply.head.starts_with("HTTP/1.1 200 OK\r\n"), "{reply:?}");
    walk.at("14");
    assert!(
        reply.head.to_ascii_lowercase().contains("content-type: application/json\r\n"),
        "{reply:?}"
    );
    let arguments = r#"{"query": "Größe 索引 🔎", "doc_type": "ubuntu"}"#;
    let nothing = open.call("search_documentation", arguments).await;
    assert!(text(&nothing["content"], 0).contains("Größe 索引 🔎"), "{nothing}");
}

async fn envelope(walk: &mut SeedTable, open: &CurlRequest) {
    walk.at("26-33");
    let answer = open
        .ask(
            r#"{
  "jsonrpc": "2.0",
  "method": "tools/list",
  "params": {},
  "id": "caller-chosen-string-or-integer"
}"#,
        )
        .await;
    assert_eq!(answer["id"], "caller-chosen-string-or-integer");
    walk.at("37");
    for wrong in [r#""jsonrpc": "1.0", "#, ""] {
        let (code, _) = open.error(&format!(r#"{{{wrong}"method": "tools/list", "id": 1}}"#)).await;
        assert_eq!(code, -32600, "{wrong}");
    }
    walk.at("38");
    for wrong in ["", r#""method": 7, "#] {
        let (code, _) = open.error(&format!(r#"{{"jsonrpc": "2.0", {wrong}"id": 1}}"#)).await;
        assert_eq!(code, -32600, "{wrong}");
    }
    walk.at("39");
    let without = open.ask(r#"{"jsonrpc": "2.0", "method": "tools/list", "id": 40}"#).await;
    assert_eq!(without["result"], answer["result"], "no params and empty ones");
    let (code, _) =
        open.error(r#"{"jsonrpc": "2.0", "method": "tools/list", "params": "x", "id": 1}"#).await;
    assert_eq!(code, -32602);
    walk.at("40");
    assert_eq!(without["id"], 40);
    let reply = open.post(r#"{"jsonrpc": "2.0", "method": "tools/list"}"#).await;
    assert_eq!(
        (reply.status, reply.body.as_str()),
        (202, ""),
        "a message without id is not answered"
    );
    walk.at("44-50");
    assert_eq!(fields(&answer), ["id", "jsonrpc", "result"]);
    assert_eq!(answer["jsonrpc"], "2.0");
    walk.at("54-63");
    let failed = open.ask(r#"{"jsonrpc": "2.0", "id": "caller-chosen-string-or-integer"}"#).await;
    assert_eq!(fields(&failed), ["error", "id", "jsonrpc"]);
    assert_eq!(failed["id"], "caller-chosen-string-or-integer");
    assert_eq!(failed["error"]["code"], -32600);
    assert!(
        failed["error"]["message"].as_str().unwrap().starts_with("Invalid Request"),
        "{failed}"
    );
}

async fn error_codes(walk: &mut SeedTable, open: &CurlRequest) {
    walk.at("69");
    for malformed in ["[]", r#""x""#, "7"] {
        let reply = open.post(malformed).await;
        assert_eq!(reply.json()["error"]["code"], -32600, "{malformed}: {reply:?}");
    }
    walk.at("70");
    let (code, message) =
        open.error(r#"{"jsonrpc": "2.0", "method": "documents/shred", "id": 1}"#).await;
    assert_eq!(code, -32601, "{message}");
    walk.at("71");
    let (code, message) = open.error(&calling("search_documentation", "{}")).await;
    assert_eq!(code, -32602, "{message}");
    assert!(message.contains("query"), "{message}");
    walk.at("72");
    let (code, message) = open.error(&reading("techdoc://ubuntu/docs/locked.pdf")).await;
    assert_eq!(code, -32603, "{message}");
    assert!(message.contains("it is encrypted"), "{message}");
}

async fn endpoint(walk: &mut SeedTable, open: &CurlRequest, address: &str) {
    walk.at("79-80");
    let reply = open.header("Content-Type: text/plain").post(LIST_TOOLS).await;
    assert_eq!(reply.status, 415, "{reply:?}");
    walk.at("81");
    // This server has no key: a header that some client sends all the same changes nothing.
    open.header("Authorization: Bearer <api_key>").result(LIST_TOOLS).await;
    walk.at("84-96");
    let (status, body) = get(address, "/").await;
    let health: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &health["status"]), (200, &json!("healthy")), "{body}");
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    walk.differs("95-97");
    assert_eq!(fields(&health), ["protocol", "service", "status", "version"]);
    assert_eq!(health["service"], "docent");
    assert_eq!(health["protocol"], "MCP 2026-07-28");
}

async fn listed_tools(walk: &mut SeedTable, open: &CurlRequest) {
    walk.at("107-126");
    let answer = open.ask(LIST_TOOLS).await;
    assert_eq!(answer["id"], "list-1");
    let tools = answer["result"]["tools"].as_array().unwrap();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    let (search, read) = (tool("search_documentation"), tool("get_document"));
    walk.differs("130");
    let about = search["description"].as_str().unwrap();
    assert!(about.starts_with("Search technical documentation"), "{about}");
    assert!(about.contains("get_document"), "it says how to go on: {about}");
    walk.at("131-141");
    for tool in [search, read] {
        assert_eq!(tool["input_schema"], tool["inputSchema"]);
        assert_eq!(tool["input_schema"]["type"], "object");
    }
    let properties = &search["input_schema"]["properties"];
    assert_eq!(fields(properties), ["doc_type", "max_results", "query"]);
    assert_eq!(properties["query"]["type"], "string");
    assert_eq!(properties["query"]["description"], "The search query or question.");
    let most = &properties["max_results"];
    assert_eq!((&most["type"], &most["default"]), (&json!("integer"), &json!(5)));
    assert_eq!(most["description"], "Maximum number of results to return.");
    walk.at("143-147");
    assert_eq!(properties["doc_type"]["type"], "string");
    assert_eq!(properties["doc_type"]["enum"], json!(["all", "postgresql", "ubuntu"]));
    walk.at("149");
    assert_eq!(search["input_schema"]["required"], json!(["query"]));
    walk.at("153-164");
    let about = read["description"].as_str().unwrap();
    assert!(about.starts_with("Retrieve a specific document by ID or path"), "{about}");
    let properties = &read["input_schema"]["properties"];
    assert_eq!(properties["document_id"]["type"], "string");
    let described = properties["document_id"]["description"].as_str().unwrap();
    assert!(described.starts_with("The unique identifier or path of the document"), "{described}");
    assert_eq!(read["input_schema"]["required"], json!(["document_id"]));
    // No schema is sent in two more spellings that no client of the document knows.
    assert!(tools.iter().all(|tool| tool.get("output_schema").is_none()));
}

async fn tool_calls(walk: &mut SeedTable, open: &CurlRequest) {
    walk.at("180-194");
    let answer = open
        .ask(
            r#"{
  "jsonrpc": "2.0",
  "method": "tools/call",
  "params": {
    "name": "search_documentation",
    "arguments": {
      "query": "How do I create an index in PostgreSQL?",
      "max_results": 5,
      "doc_type": "postgresql"
    }
  },
  "id": "call-1"
}"#,
        )
        .await;
    assert_eq!(answer["id"], "call-1");
    let content = answer["result"]["content"].as_array().unwrap();
    assert!((1..=5).contains(&content.len()), "{answer}");
    assert!(content.iter().any(|block| block["text"].as_str().unwrap().contains("CREATE INDEX")));
    walk.at("198");
    let (code, message) = open
        .error(
            r#"{"jsonrpc": "2.0", "method": "tools/call", "params": {"arguments": {}}, "id": 1}"#,
        )
        .await;
    assert_eq!(code, -32602, "{message}");
    walk.differs("199");
    let without =
        r#"{"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "NAME"}, "id": 1}"#;
    let (code, message) = open.error(&without.replace("NAME", "search_documentation")).await;
    assert_eq!(code, -32602, "{message}");
    let collections = open.result(&without.replace("NAME", "list_collections")).await;
    assert!(collections["content"].to_string().contains("PostgreSQL"), "{collections}");
    walk.at("203-222");
    let types = content.iter().find(|block| block["metadata"]["section"] == "11.2. Index Types");
    let types = types.unwrap_or_else(|| panic!("no section 11.2: {answer}"));
    assert_eq!(fields(types), ["metadata", "score", "text", "type"]);
    assert_eq!(types["metadata"]["source"], "postgresql/indexes-types.html");
    assert!(types["score"].as_f64().is_some_and(|score| score > 0.0 && score <= 1.0), "{types}");
    let shown = types["text"].as_str().unwrap();
    assert!(shown.contains("creates an index on the specified column(s)"), "{shown}");
    walk.differs("210");
    let cited = format!(
        "source: postgresql/indexes-types.html | section: 11.2. Index Types | score: {}\n\n",
        types["score"]
    );
    assert!(shown.starts_with(&cited), "{shown}");
}

/// Clients of dated revisions show a model the text of the content alone.
async fn citations(walk: &mut SeedTable, open: &CurlRequest, address: &str) {
    walk.at("211-216");
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] {
        let mut peer = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
        peer.open(revision).await.unwrap();
        let asked = json!({"name": "search_documentation", "arguments": {"query": "max_connections", "max_results": 1}});
        let answer = peer.ask("tools/call", asked).await.unwrap();
        let shown = text(&answer["result"]["content"], 0);
        let (citation, said) = shown.split_once("\n\n").unwrap();
        assert!(
            citation.starts_with("source: postgresql/runtime-config-connection.html | section: "),
            "{revision}: {shown}"
        );
        assert!(
            citation.contains("max_connections") && citation.contains(" | score: "),
            "{revision}: {shown}"
        );
        assert!(said.contains("maximum number of concurrent connections"), "{revision}: {shown}");
    }
    walk.differs("213");
    let page = open.call("search_documentation", r#"{"query": "max_connections"}"#).await;
    assert!(page["content"][0]["metadata"].get("page").is_none(), "{page}");
    let book = open
        .call("search_documentation", r#"{"query": "Errors: what is wrong and what to do about it", "doc_type": "ubuntu", "max_results": 1}"#)
        .await;
    let metadata = &book["content"][0]["metadata"];
    assert_eq!(
        (&metadata["source"], &metadata["page"]),
        (&json!("ubuntu/keeper.pdf"), &json!(3)),
        "{book}"
    );
}

async fn tool_errors(walk: &mut SeedTable, open: &CurlRequest) {
    walk.at("226-234");
    let answer =
        open.ask(&calling("get_document", r#"{"document_id": "postgresql/nope.html"}"#)).await;
    let result = &answer["result"];
    assert_eq!((&answer["id"], &result["is_error"]), (&json!("call-1"), &json!(true)), "{answer}");
    assert_eq!(result["error"], "Document not found");
    walk.differs("230");
    assert_eq!(result["content"].as_array().unwrap().len(), 1, "{answer}");
    assert!(text(&result["content"], 0).starts_with("Error: Document not found"), "{answer}");
    walk.at("238-240");
    assert!(answer.get("error").is_none(), "{answer}");
    let served = open.call("get_document", r#"{"document_id": "postgresql/indexes.html"}"#).await;
    assert_eq!((&served["is_error"], served.get("error")), (&json!(false), None), "{served}");
}

async fn resources(walk: &mut SeedTable, place: &TestHome, open: &CurlRequest) {
    walk.at("246-275");
    let answer = open.ask(LIST_RESOURCES).await;
    assert_eq!(answer["id"], "res-1");
    let resources = answer["result"]["resources"].as_array().unwrap();
    let manual = resources.iter().find(|one| one["uri"] == "techdoc://postgresql/docs").unwrap();
    assert_eq!(manual["name"], "PostgreSQL Documentation");
    assert_eq!(manual["description"], "PostgreSQL 16 official documentation");
    assert_eq!(manual["mime_type"], "application/x-documentation");
    assert_eq!(manual["mimeType"], manual["mime_type"]);
    walk.at("277");
    let uris: Vec<&str> = resources.iter().filter_map(|one| one["uri"].as_str()).collect();
    assert!(uris.contains(&"techdoc://ubuntu/docs"), "{uris:?}");
    // A collection that can't be fetched is not left behind as an empty resource.
    let unreachable = "http://127.0.0.1:9/docs/";
    let run = place.run(&["docs", "add", "broken", unreachable]);
    run.ends(1).says("broken was not added").says("policy.network.hosts");
    let (_server, address) = listen(place, &OPEN, &[]).await;
    let listed = CurlRequest::new(&address).result(LIST_RESOURCES).await;
    assert!(!listed.to_string().contains("techdoc://broken"), "{listed}");
    assert!(!place.run(&["docs", "list"]).ends(0).out.contains("broken"));
}

async fn searching(walk: &mut SeedTable, open: &CurlRequest) {
    walk.at("285-286");
    // No word of the question is in the passage.
    let meant = open
        .call("search_documentation", r#"{"query": "free up disk space taken by deleted rows"}"#)
        .await;
    let hits = meant["structuredContent"]["results"].as_array().unwrap();
    let vacuum = hits.iter().find(|hit| hit["metadata"]["source"] == "postgresql/sql-vacuum.html");
    let vacuum = vacuum.unwrap_or_else(|| panic!("nothing about VACUUM: {meant}"));
    assert_eq!(vacuum["why"]["words"], 0.0, "{vacuum}");
    assert!(vacuum["why"]["meaning"].as_f64().is_some_and(|meaning| meaning > 0.0), "{vacuum}");
    walk.at("290");
    let refuses =
        async |arguments: &str| open.error(&calling("search_documentation", arguments)).await.0;
    let long = |length: usize| format!(r#"{{"query": "{}"}}"#, "é".repeat(length));
    assert_eq!(refuses("{}").await, -32602);
    assert_eq!(refuses(r#"{"query": ""}"#).await, -32602);
    assert_eq!(refuses(&long(1001)).await, -32602);
    open.call("search_documentation", &long(1000)).await;
    walk.at("291");
    for wrong in ["0", "21", "2.5", "\"3\""] {
        assert_eq!(
            refuses(&format!(r#"{{"query": "index", "max_results": {wrong}}}"#)).await,
            -32602,
            "{wrong}"
        );
    }
    let found = async |most: &str| {
        let found =
            open.call("search_documentation", &format!(r#"{{"query": "index"{most}}}"#)).await;
        found["content"].as_array().unwrap().len()
    };
    assert_eq!(found(r#", "max_results": 1"#).await, 1);
    assert_eq!(found("").await, 5, "the default");
    assert!(found(r#", "max_results": 20"#).await > 5);
    walk.at("292");
    assert_eq!(refuses(r#"{"query": "index", "doc_type": "windows"}"#).await, -32602);
    let everywhere =
        open.call("search_documentation", r#"{"query": "Netplan network configuration"}"#).await;
    assert_eq!(
        everywhere["content"][0]["metadata"]["source"], "ubuntu/netplan.md",
        "all is the default"
    );
    let elsewhere = open
        .call("search_documentation", r#"{"query": "Netplan", "doc_type": "postgresql"}"#)
        .await;
    assert!(!elsewhere["content"].to_string().contains("ubuntu/"), "{elsewhere}");
    walk.at("294-301");
    let many =
        open.call("search_documentation", r#"{"query": "CREATE INDEX", "max_results": 20}"#).await;
    let scores: Vec<f64> = many["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| {
            assert_eq!(block["type"], "text");
            assert!(
                block["metadata"]["source"].is_string() && block["metadata"]["section"].is_string(),
                "{block}"
            );
            block["score"].as_f64().unwrap()
        })
        .collect();
    assert!(scores.len() > 1 && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
}

async fn documents(walk: &mut SeedTable, place: &TestHome, open: &CurlRequest) {
    let read =
        async |id: &str| open.call("get_document", &format!(r#"{{"document_id": "{id}"}}"#)).await;
    walk.at("307");
    let document = read("postgresql/runtime-config-connection.html").await;
    assert_eq!(document["content"].as_array().unwrap().len(), 1, "{document}");
    walk.at("311");
    for name in [
        "indexes-types.html",
        "techdoc://postgresql/docs/indexes-types.html",
        "postgresql/indexes-types.html",
    ] {
        let document = read(name).await;
        assert_eq!(
            document["content"][0]["metadata"]["source"], "postgresql/indexes-types.html",
            "{name}"
        );
    }
    walk.at("317-319");
    let block = &document["content"][0];
    assert_eq!(fields(block), ["metadata", "text", "type"]);
    assert_eq!(
        (&block["type"], &block["metadata"]["source"]),
        (&json!("text"), &json!("postgresql/runtime-config-connection.html"))
    );
    let whole = text(&document["content"], 0);
    for part in [
        "20.3. Connections and Authentication",
        "listen_addresses",
        "max_connections",
        "at server start",
    ] {
        assert!(whole.contains(part), "no {part} in {whole}");
    }
    // A longer answer comes in parts, in which ids and anchors are whole.
    let (_server, address) = listen(place, &OPEN, &[("DOCENT_LIMITS_PAGE_BYTES", "2048")]).await;
    let small = CurlRequest::new(&address);
    let part =
        small.call("search_documentation", r#"{"query": "CREATE INDEX", "max_results": 20}"#).await;
    assert!(part.to_string().contains("result://"), "{part}");
    let known =
        open.call("search_documentation", r#"{"query": "CREATE INDEX", "max_results": 20}"#).await;
    let known: Vec<&Value> = known["structuredContent"]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| &hit["metadata"])
        .collect();
    let kept = part["structuredContent"]["results"].as_array().unwrap();
    assert!(!kept.is_empty(), "{part}");
    for (hit, whole) in kept.iter().zip(known) {
        assert_eq!(&hit["metadata"], whole);
    }
}

async fn authentication(walk: &mut SeedTable, place: &TestHome, open: &CurlRequest) {
    let start = async |environment: &[(&str, &str)]| listen(place, &OPEN, environment).await;
    walk.at("325-329");
    let (_server, address) = start(&[("MCP_AUTH_REQUIRED", "false")]).await;
    CurlRequest::new(&address).result(LIST_TOOLS).await;
    open.result(LIST_TOOLS).await;
    walk.at("333-338");
    let key = [("MCP_AUTH_REQUIRED", "true"), ("MCP_API_KEY", "my-secret-key")];
    let (_server, address) = start(&key).await;
    let stranger = CurlRequest::new(&address);
    stranger.header("Authorization: Bearer my-secret-key").result(LIST_TOOLS).await;
    for (method, path) in
        [("POST", "/mcp"), ("GET", "/mcp"), ("DELETE", "/mcp"), ("GET", "/metrics")]
    {
        let reply = stranger.send(method, path, LIST_TOOLS).await;
        assert_eq!(reply.status, 401, "{method} {path}: {reply:?}");
    }
    assert_eq!(get(&address, "/").await.0, 200, "health wants no key");
    walk.at("340-346");
    for wrong in ["Bearer another-key", "Bearer ", "Basic my-secret-key", "my-secret-key"] {
        let reply = stranger.header(&format!("Authorization: {wrong}")).post(LIST_TOOLS).await;
        assert_eq!(
            (reply.status, reply.json()),
            (401, json!({"detail": "Invalid API key"})),
            "{wrong}"
        );
    }
    walk.at("348");
    let mut serve = place.command(&["serve", "--transport", "http", "--port", "0"]);
    let run = CliRun::of(serve.env("MCP_AUTH_REQUIRED", "true"));
    run.ends(1).says("but no key is configured").says("MCP_API_KEY");
    walk.at("349-350");
    // Secrets managers put keys into files; what is read from one is shown nowhere.
    place.write("../key", "a-key-of-the-manager\n");
    place.settings(
        "[[server.auth.keys]]\nname = \"team\"\ntoken_file = \"../../key\"\nscopes = [\"*\"]\n",
    );
    let (_server, address) = start(&[]).await;
    let stranger = CurlRequest::new(&address);
    assert_eq!(stranger.post(LIST_TOOLS).await.status, 401);
    stranger.header("Authorization: Bearer a-key-of-the-manager").result(LIST_TOOLS).await;
    assert!(!place.run(&["config", "show"]).ends(0).out.contains("a-key-of-the-manager"));
    place.settings("");
}

async fn validation(walk: &mut SeedTable, place: &TestHome, open: &CurlRequest) {
    walk.at("356");
    let record = place.project().join(".docent/audit.jsonl");
    let before = audit_lines(&record).len();
    let invalid = [
        ("search_documentation", r#"{"query": 7}"#, "query"),
        ("search_documentation", r#"{"query": "index", "max_results": 21}"#, "max_results"),
        ("search_documentation", r#"{"query": "index", "doc_type": "windows"}"#, "doc_type"),
        ("get_document", r#"{"document_id": ""}"#, "document_id"),
        ("get_document", "{}", "document_id"),
    ];
    let mut refusals = Vec::new();
    for (tool, arguments, field) in invalid {
        refusals.push((field, open.error(&calling(tool, arguments)).await));
    }
    let recorded = audit_lines(&record);
    assert_eq!(recorded.len(), before + invalid.len());
    for line in &recorded[before..] {
        assert_eq!(line["reason"], "invalid_arguments", "{line}");
    }
    walk.at("360-363");
    for (field, (code, message)) in &refusals {
        assert_eq!(*code, -32602, "{field}: {message}");
    }
    walk.at("365-366");
    for (field, (_, message)) in &refusals {
        assert!(message.contains(field) && message.contains(' '), "{field}: {message}");
    }
}

/// The document's block for `.env`.
const ENV: &str = "# MCP Server
MCP_SERVER_HOST=0.0.0.0
MCP_SERVER_PORT=8001
MCP_AUTH_REQUIRED=false
MCP_API_KEY=your-api-key-here
MCP_ALLOWED_ORIGINS=*
";

async fn env_file(walk: &mut SeedTable, place: &TestHome) {
    walk.differs("372");
    place.write(".env", ENV);
    let run = place.run(&["doctor", "--port", "0"]);
    run.prints(".env sets MCP_ALLOWED_ORIGINS, MCP_API_KEY, MCP_AUTH_REQUIRED, MCP_SERVER_HOST, MCP_SERVER_PORT")
        .prints("which docent ignores; pass --env-file to read it");
    let shown = place.run(&["config", "show"]);
    assert_eq!(setting(&shown, "server.host"), "\"127.0.0.1\" # default");
    let shown = place.run(&["config", "show", "--env-file"]);
    assert!(setting(&shown, "server.host").starts_with("\"0.0.0.0\" # MCP_SERVER_HOST in "));
    assert!(!shown.out.contains("your-api-key-here"), "{}", shown.out);
    walk.differs("374-381");
    let serve_env = ["serve", "--transport", "http", "--port", "0", "--env-file"];
    let run = place.run(&serve_env);
    run.ends(1)
        .says("refusing to listen on 0.0.0.0 without auth")
        .says("a key is configured, but MCP_AUTH_REQUIRED in ");
    run.says("turns auth off: set MCP_AUTH_REQUIRED=true or remove it");
    // With auth turned on, or the network opened explicitly, the server starts.
    place.write(".env", &ENV.replace("MCP_AUTH_REQUIRED=false", "MCP_AUTH_REQUIRED=true"));
    let (_server, address) = listen(place, &["--transport", "http", "--env-file"], &[]).await;
    let port = address.rsplit(':').next().unwrap();
    let stranger = CurlRequest::new(&format!("127.0.0.1:{port}"));
    assert_eq!(stranger.post(LIST_TOOLS).await.status, 401);
    stranger.header("Authorization: Bearer your-api-key-here").result(LIST_TOOLS).await;
    place.write(".env", ENV);
    let (_server, address) =
        listen(place, &["--transport", "http", "--env-file", "--allow-open"], &[]).await;
    let port = address.rsplit(':').next().unwrap();
    CurlRequest::new(&format!("127.0.0.1:{port}")).result(LIST_TOOLS).await;
    fs::remove_file(place.project().join(".env")).unwrap();
}

/// A line of `docent config show`: the value and where it comes from.
fn setting(run: &CliRun, key: &str) -> String {
    let line = run.ends(0).out.lines().find(|line| line.split(" = ").next() == Some(key));
    let (_, value) =
        line.unwrap_or_else(|| panic!("no {key}: {}", run.out)).split_once(" = ").unwrap();
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

async fn variables(walk: &mut SeedTable, place: &TestHome, open: &CurlRequest) {
    let shown = |variable: &str, value: &str| {
        CliRun::of(place.command(&["config", "show"]).env(variable, value))
    };
    let default = place.run(&["config", "show"]);
    walk.differs("385");
    assert_eq!(setting(&default, "server.host"), "\"127.0.0.1\" # default");
    let host = shown("MCP_SERVER_HOST", "0.0.0.0");
    assert_eq!(setting(&host, "server.host"), "\"0.0.0.0\" # environment MCP_SERVER_HOST");
    walk.at("386");
    assert_eq!(setting(&default, "server.port"), "8001 # default");
    let port = shown("MCP_SERVER_PORT", "8055");
    assert_eq!(setting(&port, "server.port"), "8055 # environment MCP_SERVER_PORT");
    walk.differs("387");
    let required = setting(&default, "server.auth.required");
    assert_eq!(required, "(true when a key, a certificate or an issuer is configured) # default");
    let off = shown("MCP_AUTH_REQUIRED", "false");
    assert!(setting(&off, "server.auth.required").starts_with("false # "));
    walk.at("388");
    assert_eq!(setting(&default, "server.auth.token"), "(unset) # default");
    let keyed = shown("MCP_API_KEY", "a-key-that-is-not-shown");
    assert_eq!(setting(&keyed, "server.auth.token"), "\"***\" # environment MCP_API_KEY");
    assert!(!keyed.out.contains("a-key-that-is-not-shown"), "{}", keyed.out);
    walk.differs("389");
    let preflight = async |curl: &CurlRequest, origin: &str| {
        let curl =
            curl.header(&format!("Origin: {origin}")).header("Access-Control-Request-Method: POST");
        let reply = curl.send("OPTIONS", "/mcp", "").await;
        (
            reply.status,
            reply
                .head
                .to_ascii_lowercase()
                .contains(&format!("access-control-allow-origin: {origin}\r\n")),
        )
    };
    assert_eq!(
        preflight(open, "https://a.example").await,
        (403, false),
        "no foreign page by default"
    );
    let listed = [("MCP_ALLOWED_ORIGINS", "https://a.example,https://b.example")];
    let (_server, address) = listen(place, &OPEN, &listed).await;
    let some = CurlRequest::new(&address);
    for origin in ["https://a.example", "https://b.example"] {
        assert_eq!(preflight(&some, origin).await, (204, true), "{origin}");
    }
    assert_eq!(preflight(&some, "https://c.example").await, (403, false));
    let (_server, address) = listen(place, &OPEN, &[("MCP_ALLOWED_ORIGINS", "*")]).await;
    let any = CurlRequest::new(&address).header("Origin: https://c.example");
    let reply = any.post(LIST_TOOLS).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

async fn examples(walk: &mut SeedTable, place: &TestHome, open: &CurlRequest) {
    walk.at("397-405");
    let answer = open
        .ask(
            r#"{
    "jsonrpc": "2.0",
    "method": "tools/list",
    "id": "ex-1"
  }"#,
        )
        .await;
    assert_eq!(answer["id"], "ex-1");
    walk.at("409-425");
    let answer = open
        .ask(
            r#"{
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": {
      "name": "search_documentation",
      "arguments": {
        "query": "How do I configure max_connections?",
        "max_results": 3,
        "doc_type": "postgresql"
      }
    },
    "id": "ex-2"
  }"#,
        )
        .await;
    let first = &answer["result"]["content"][0];
    assert_eq!(
        (&answer["id"], &first["metadata"]["source"]),
        (&json!("ex-2"), &json!("postgresql/runtime-config-connection.html"))
    );
    assert!(
        text(&answer["result"]["content"], 0).contains("The default is typically 100 connections"),
        "{answer}"
    );
    assert!(
        answer["result"].get("structured_content").is_none(),
        "a text is sent twice, not three times"
    );
    walk.at("429-445");
    let key = [("MCP_API_KEY", "my-secret-key")];
    let (_server, address) = listen(place, &OPEN, &key).await;
    let example = r#"{
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": {
      "name": "search_documentation",
      "arguments": {
        "query": "VACUUM ANALYZE explained",
        "max_results": 5
      }
    },
    "id": "ex-3"
  }"#;
    let guarded = CurlRequest::new(&address);
    assert_eq!(guarded.post(example).await.status, 401);
    let answer = guarded.header("Authorization: Bearer my-secret-key").ask(example).await;
    assert_eq!(answer["id"], "ex-3");
    assert!(
        answer["result"]["content"].to_string().contains("postgresql/sql-vacuum.html"),
        "{answer}"
    );
}

async fn retrieval_example(walk: &mut SeedTable, open: &CurlRequest) {
    walk.at("449-463");
    let answer = open
        .ask(
            r#"{
    "jsonrpc": "2.0",
    "method": "tools/call",
    "params": {
      "name": "get_document",
      "arguments": {
        "document_id": "postgresql/indexes.html"
      }
    },
    "id": "ex-4"
  }"#,
        )
        .await;
    assert_eq!(answer["id"], "ex-4");
    let chapter = text(&answer["result"]["content"], 0);
    for entry in [
        "- [11.1. Introduction](techdoc://postgresql/docs/indexes-intro.html)",
        "- [11.2. Index Types](techdoc://postgresql/docs/indexes-types.html)",
        "  - [11.2.2. Hash](techdoc://postgresql/docs/indexes-types.html#INDEXES-TYPES-HASH)",
        "Indexes are a common way to enhance database performance.",
    ] {
        assert!(chapter.contains(entry), "no {entry} in {chapter}");
    }
    let book = open.call("get_document", r#"{"document_id": "postgresql/index.html"}"#).await;
    assert!(
        text(&book["content"], 0)
            .contains("- [11. Indexes](techdoc://postgresql/docs/indexes.html)"),
        "{book}"
    );
}

async fn integration(walk: &mut SeedTable, address: &str) {
    walk.at("471-480");
    let mut model = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
    model.open("2024-11-05").await.unwrap();
    let listed = model.ask("tools/list", json!({})).await.unwrap();
    assert!(listed["result"].to_string().contains("search_documentation"), "{listed}");
    let call = |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments});
    let asked = call(
        "search_documentation",
        json!({"query": "What does VACUUM ANALYZE do?", "doc_type": "postgresql"}),
    );
    let found = model.ask("tools/call", asked).await.unwrap();
    let content = &found["result"]["content"];
    let blocks = content.as_array().unwrap();
    let at = blocks
        .iter()
        .position(|block| block["text"].as_str().unwrap().contains("then an `ANALYZE`"));
    // The citation is in the text that the model reads, and leads to the document.
    let passage = text(content, at.unwrap_or_else(|| panic!("no passage about it: {found}")));
    let source = passage.strip_prefix("source: ").unwrap().split(" | ").next().unwrap();
    let read = model
        .ask("tools/call", call("get_document", json!({"document_id": source})))
        .await
        .unwrap();
    assert!(text(&read["result"]["content"], 0).contains("reclaims storage"), "{source}: {read}");
    walk.differs("482");
    let mut client = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
    client.open("2025-11-25").await.unwrap();
    let asked = json!({"name": "answer_from_docs", "arguments": {"question": "What does VACUUM ANALYZE do?"}});
    let prompt = client.ask("prompts/get", asked).await.unwrap();
    let prompt = prompt["result"]["messages"].to_string();
    assert!(
        prompt.contains("postgresql/sql-vacuum.html")
            && prompt.contains("What does VACUUM ANALYZE do?"),
        "{prompt}"
    );
}

async fn running(walk: &mut SeedTable, place: &TestHome) {
    walk.at("490-492");
    let (_server, address) = listen(place, &["--transport", "http"], &[]).await;
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    walk.at("496-498");
    let key = [("MCP_API_KEY", "my-secret-key")];
    let mut server: ChildTestClient =
        serve(place, &["--transport", "http", "--host", "0.0.0.0", "--port", "0"], &key);
    server.log_line("listening on http://0.0.0.0:").await.unwrap();
    walk.differs("498");
    place.run(&["serve", "--transport", "http", "--workers", "2"]).ends(2).says("--workers");
    walk.differs("502-504");
    // What the service starts is in the tests of the container.
    let compose = concat!(env!("CARGO_MANIFEST_DIR"), "/../../compose.yaml");
    let compose: Value = serde_saphyr::from_str(&fs::read_to_string(compose).unwrap()).unwrap();
    assert_eq!(fields(&compose["services"]), ["docent"]);
}

async fn relation(walk: &mut SeedTable, place: &TestHome, open: &CurlRequest, address: &str) {
    walk.at("510");
    let mut client = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
    let opened = client.open("2025-11-25").await.unwrap();
    assert_eq!(opened["result"]["protocolVersion"], "2025-11-25");
    walk.differs("513-514");
    open.result(LIST_TOOLS).await;
    let mut pipes = serve(place, &[], &[]);
    pipes.open("2025-11-25").await.unwrap();
    let listed = pipes.ask("tools/list", json!({})).await.unwrap();
    assert!(listed["result"].to_string().contains("search_documentation"), "{listed}");
    walk.at("515-516");
    let key = [("MCP_API_KEY", "my-secret-key")];
    let (_server, guarded) = listen(place, &OPEN, &key).await;
    let reply = CurlRequest::new(&guarded).post(LIST_TOOLS).await;
    assert!(
        !reply.head.contains("resource_metadata"),
        "no OAuth where none is configured: {reply:?}"
    );
    walk.at("517-518");
    let asked = json!({"name": "get_document", "arguments": {"document_id": "nope.html"}});
    let failed = client.ask("tools/call", asked).await.unwrap();
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    let failed = open.call("get_document", r#"{"document_id": "nope.html"}"#).await;
    assert_eq!((&failed["is_error"], &failed["isError"]), (&json!(true), &json!(true)), "{failed}");
    walk.differs("519-520");
    let contents = open.result(&reading("techdoc://postgresql/docs")).await;
    let listed = contents["contents"][0]["text"].as_str().unwrap();
    assert!(listed.contains("(techdoc://postgresql/docs/sql-vacuum.html)"), "{listed}");
    let document = open.result(&reading("techdoc://postgresql/docs/sql-vacuum.html")).await;
    assert!(
        document["contents"][0]["text"].as_str().unwrap().contains("reclaims storage"),
        "{document}"
    );
}
