//! Seed 002, ast-copilot-helper: a walk through the document from top to bottom.

mod messages;
mod transports;

use crate::{
    TestHome,
    seeds::{SeedTable, ask, notify, text_of},
    serving::{LEGACY, call, exchange, serve},
};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};
use std::fs;

/// The revision of the document.
const REVISION: &str = "2024-11-05";
/// The document's two files: as many definitions of each kind, and the functions on the lines that it says.
const FILES: [(&str, &str); 2] = [
    ("src/users.ts", include_str!("seed_002/users.ts")),
    ("src/auth.ts", include_str!("seed_002/auth.ts")),
];

/// What the steps share: the table, the document's project, and one client from the handshake to the last call.
struct SeedProject {
    walk: SeedTable,
    place: TestHome,
    client: ChildTestClient,
    /// The answer to `initialize`.
    opened: Value,
    /// The list of tools.
    tools: Value,
}

fn project() -> TestHome {
    let place = TestHome::new();
    fs::create_dir(place.project().join("src")).unwrap();
    for (name, text) in FILES {
        place.write(name, text);
    }
    place
}

/// A resource's one content, as JSON.
async fn read(client: &mut ChildTestClient, uri: &str) -> Value {
    let answer = client.ask("resources/read", json!({"uri": uri})).await.unwrap();
    let content = &answer["result"]["contents"][0];
    assert_eq!((&content["uri"], &content["mimeType"]), (&json!(uri), &json!("application/json")));
    serde_json::from_str(content["text"].as_str().unwrap()).unwrap()
}

/// The result of a tool that has not failed.
async fn result_of(client: &mut ChildTestClient, tool: &str, arguments: Value) -> Value {
    let answer = client.ask("tools/call", call(tool, arguments)).await.unwrap();
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    answer
}

/// The resource that comes with an answer, as JSON.
fn embedded(answer: &Value, uri: &str) -> Value {
    let blocks = answer["result"]["content"].as_array().unwrap();
    let resource = blocks.iter().find(|block| block["resource"]["uri"] == uri);
    let resource = &resource.unwrap_or_else(|| panic!("no {uri} in {answer}"))["resource"];
    assert_eq!(resource["mimeType"], "application/json");
    serde_json::from_str(resource["text"].as_str().unwrap()).unwrap()
}

fn names(results: &Value) -> Vec<&str> {
    results.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

/// A POST as it is written in the document, with these further headers: status, head, body.
async fn post(address: &str, path: &str, headers: &str, body: &str) -> (u16, String, String) {
    let length = body.len();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}\
         Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    exchange(address, &request).await
}

#[tokio::test]
async fn seed_002() {
    let place = project();
    let client = serve(&place, &["--transport", "stdio"], &[]);
    let mut seed = SeedProject {
        walk: SeedTable::of("002"),
        place,
        client,
        opened: Value::Null,
        tools: Value::Null,
    };
    seed.protocol_information().await;
    seed.handshake().await;
    seed.all_resources().await;
    seed.resources_list().await;
    seed.resources_read().await;
    seed.resources_subscribe().await;
    seed.tools_list().await;
    seed.parse_files_tool().await;
    seed.parse_files_language().await;
    seed.query_annotations_tool().await;
    seed.analyze_code_tool().await;
    seed.parse_files_example().await;
    seed.query_annotations_example().await;
    seed.resources_updated().await;
    seed.error_handling().await;
    seed.error_codes_of_json_rpc().await;
    seed.error_codes_of_the_server().await;
    seed.stdio().await;
    seed.server_sent_events().await;
    seed.websocket().await;
    seed.authentication().await;
    seed.rate_limiting().await;
    seed.configuration();
    seed.configuration_in_force().await;
    seed.walk.end();
}

impl SeedProject {
    async fn protocol_information(&mut self) {
        self.walk.at("7");
        self.opened = ask(&mut self.client, messages::INITIALIZE).await;
        assert_eq!(self.opened["result"]["protocolVersion"], REVISION);

        self.walk.at("8");
        for transport in ["stdio", "sse", "websocket"] {
            let run = self.place.run(&["config", "show", "--json", "--transport", transport]);
            assert_eq!(run.ends(0).json()["server.transport"]["value"], json!([transport]));
        }

        self.walk.at("9");
        assert_eq!(self.opened["jsonrpc"], "2.0");
        assert_eq!(self.opened["id"], 1);

        self.walk.at("10");
        assert!(!messages::INITIALIZE.contains("auth") && self.opened.get("result").is_some());

        self.walk.at("16-30");
        let capabilities = &self.opened["result"]["capabilities"];
        assert_eq!(capabilities["resources"], json!({"subscribe": true, "listChanged": true}));
        assert_eq!(capabilities["logging"], json!({}));
        assert!(capabilities["tools"].is_object() && capabilities["prompts"].is_object());

        self.walk.differs("22-27");
        assert_eq!(capabilities["tools"], json!({"listChanged": true}));
        assert_eq!(capabilities["prompts"], json!({"listChanged": true}));
    }

    async fn handshake(&mut self) {
        self.walk.at("40-61");
        assert!(self.opened.get("error").is_none(), "{}", self.opened);

        self.walk.at("65-89");
        let result = self.opened["result"].as_object().unwrap();
        for key in ["protocolVersion", "capabilities", "serverInfo"] {
            assert!(result.contains_key(key), "no {key} in {result:?}");
        }

        self.walk.differs("83-86");
        let info = &self.opened["result"]["serverInfo"];
        assert_eq!(info["name"], "docent");
        assert_eq!(info["version"], env!("CARGO_PKG_VERSION"));

        self.walk.at("91-103");
        notify(&mut self.client, messages::INITIALIZED).await;
    }

    async fn all_resources(&mut self) {
        self.walk.at("109");
        let large = TestHome::new();
        for n in 0..250 {
            large.write(&format!("part{n}.py"), "def one():\n    pass\n");
        }
        let mut client = serve(&large, &[], &[]);
        client.open(REVISION).await.unwrap();
        let (mut pages, mut uris, mut params) = (Vec::new(), Vec::new(), json!({}));
        loop {
            let page = client.ask("resources/list", params).await.unwrap()["result"].clone();
            let resources = page["resources"].as_array().unwrap();
            pages.push(resources.len());
            uris.extend(resources.iter().map(|one| one["uri"].as_str().unwrap().to_owned()));
            let Some(cursor) = page.get("nextCursor") else { break };
            params = json!({"cursor": cursor});
        }
        assert_eq!(pages, [100, 100, 50]);
        uris.sort_unstable();
        uris.dedup();
        assert_eq!(uris.len(), 250, "each file is on one page");
    }

    async fn resources_list(&mut self) {
        self.walk.at("111-120");
        let mut state = fs::read_dir(self.place.project().join(".docent")).unwrap();
        let is_index =
            |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("index");
        assert!(!state.any(|entry| is_index(entry.unwrap())), "the index is not built yet");
        let cold = ask(&mut self.client, messages::RESOURCES_LIST).await;
        self.client.notification("notifications/resources/list_changed").await.unwrap();
        let ready = ask(&mut self.client, messages::RESOURCES_LIST).await;
        let mut second = serve(&self.place, &[], &[]);
        second.open(REVISION).await.unwrap();
        let warm = ask(&mut second, messages::RESOURCES_LIST).await;
        assert_eq!((&ready, &warm), (&cold, &cold));

        self.walk.at("122-145");
        let listed = |name: &str, description: &str| {
            json!({
                "uri": format!("ast://project/src/{name}"), "name": name,
                "description": description, "mimeType": "application/json",
            })
        };
        let users = listed("users.ts", "User management functions and types");
        let auth = listed("auth.ts", "Authentication and authorization logic");
        assert_eq!(cold["result"]["resources"], json!([auth, users]));

        self.walk.at("133");
        let plain = TestHome::new();
        plain.write("a.py", "def one():\n    pass\n\n\nclass Two:\n    pass\n");
        let mut client = serve(&plain, &[], &[]);
        client.open(REVISION).await.unwrap();
        let listed = ask(&mut client, messages::RESOURCES_LIST).await;
        assert_eq!(listed["result"]["resources"][0]["description"], "Python: one, Two");
    }

    async fn resources_read(&mut self) {
        self.walk.at("147-162");
        let answer = ask(&mut self.client, messages::RESOURCES_READ).await;
        let contents = answer["result"]["contents"].as_array().unwrap();
        assert_eq!(contents.len(), 1);

        self.walk.at("164-180");
        assert_eq!(contents[0]["uri"], "ast://project/src/users.ts");
        assert_eq!(contents[0]["mimeType"], "application/json");
        let text: Value = serde_json::from_str(contents[0]["text"].as_str().unwrap()).unwrap();
        let annotations = text["annotations"].as_array().unwrap();
        let function = annotations.iter().find(|one| one["name"] == "getUserById").unwrap();
        assert_eq!(function["type"], "function");
        assert_eq!(function["description"], "Retrieves user by ID");
        assert_eq!(function["parameters"], json!([{"name": "id", "type": "string"}]));
        assert_eq!(function["returnType"], "Promise<User>");

        self.walk.differs("175");
        assert_eq!(function["id"], "function:src/users.ts:getUserById");
    }

    async fn resources_subscribe(&mut self) {
        self.walk.at("182-207");
        let answer = ask(&mut self.client, messages::RESOURCES_SUBSCRIBE).await;
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": 4, "result": {}}));
    }

    async fn tools_list(&mut self) {
        self.walk.at("211-224");
        let answer = ask(&mut self.client, messages::TOOLS_LIST).await;
        self.tools = answer["result"]["tools"].clone();
        for name in ["parse_files", "query_annotations", "analyze_code"] {
            assert!(names(&self.tools).contains(&name), "{answer}");
        }
    }

    /// The schema of a tool, its description, and the schema of its options.
    fn schema(&self, name: &str) -> (Value, String, Value) {
        let mut tools = self.tools.as_array().unwrap().iter();
        let tool = tools.find(|tool| tool["name"] == name).unwrap();
        let schema = tool["inputSchema"].clone();
        let options = &schema["properties"]["options"];
        let pointer = options["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
        let options = pointer.map_or(options, |pointer| schema.pointer(pointer).unwrap()).clone();
        (schema, tool["description"].as_str().unwrap().to_owned(), options)
    }

    async fn parse_files_tool(&mut self) {
        let (schema, about, options) = self.schema("parse_files");
        let client = &mut self.client;
        self.walk.at("234-256");
        assert!(
            about.starts_with("Parse source code files and extract AST annotations"),
            "{about}"
        );
        let files = &schema["properties"]["files"];
        assert_eq!(
            (&files["type"], &files["items"]),
            (&json!("array"), &json!({"type": "string"}))
        );
        let about = files["description"].as_str().unwrap();
        assert!(about.starts_with("List of file paths to parse"), "{about}");
        for (option, kind) in [("recursive", "boolean"), ("includeComments", "boolean")] {
            assert_eq!(options["properties"][option]["type"], kind, "{options}");
        }
        assert!(options["properties"]["language"].is_object(), "{options}");
        assert_eq!(schema["required"], json!(["files"]));

        self.walk.at("236");
        let answer = result_of(client, "parse_files", json!({"files": ["src/auth.ts"]})).await;
        let login = "23: function: async function loginUser(email: string, password: string): Promise<User> \
                     - Authenticates user with email/password";
        assert!(text_of(&answer).contains(login), "{answer}");

        self.walk.at("248");
        let folder = |recursive: bool| json!({"files": ["."], "options": {"recursive": recursive}});
        let answer = result_of(client, "parse_files", folder(true)).await;
        assert_eq!(embedded(&answer, "ast://project/annotations")["totalFiles"], 2);
        let answer = client.ask("tools/call", call("parse_files", folder(false))).await.unwrap();
        assert!(text_of(&answer).contains("found no source file in a supported language"));

        self.walk.at("249");
        let with = |comments: bool| json!({"files": ["src/users.ts"], "options": {"includeComments": comments}});
        let line = "19: function: async function getUserById(id: string): Promise<User>";
        let answer = result_of(client, "parse_files", with(true)).await;
        let documented = format!("\n{line} - Retrieves user by ID\n");
        assert!(text_of(&answer).contains(&documented), "{answer}");
        let answer = result_of(client, "parse_files", with(false)).await;
        assert!(text_of(&answer).contains(&format!("\n{line}\n")), "{answer}");
        let kept = read(client, "ast://project/src/users.ts").await.to_string();
        assert!(kept.contains("Retrieves user by ID"), "an option concerns one answer: {kept}");
    }

    async fn parse_files_language(&mut self) {
        let client = &mut self.client;
        self.walk.at("250");
        let language =
            |name: &str| json!({"files": ["src/users.ts"], "options": {"language": name}});
        let answer = result_of(client, "parse_files", language("javascript")).await;
        assert!(text_of(&answer).contains("These options affect only this answer"), "{answer}");
        let answer =
            client.ask("tools/call", call("parse_files", language("python"))).await.unwrap();
        assert!(!text_of(&answer).contains("Successfully"), "{answer}");
        let kept = read(client, "ast://project/src/users.ts").await;
        assert_eq!(kept["annotations"].as_array().unwrap().len(), 8, "{kept}");
        let answer = result_of(client, "query_annotations", json!({"query": "getUserById"})).await;
        assert_eq!(names(&embedded(&answer, "ast://project/query-results"))[0], "getUserById");
        let refused =
            client.ask("tools/call", call("parse_files", language("klingon"))).await.unwrap();
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }

    async fn query_annotations_tool(&mut self) {
        let (schema, _, options) = self.schema("query_annotations");
        let client = &mut self.client;
        self.walk.at("257-278");
        assert_eq!(schema["properties"]["query"]["type"], "string");
        assert_eq!(schema["required"], json!(["query"]));
        assert_eq!(options["properties"]["limit"]["default"], 10);
        assert_eq!(options["properties"]["threshold"]["type"], "number");
        assert_eq!(options["properties"]["threshold"]["default"], 0.7);

        self.walk.differs("270");
        assert_eq!(options["properties"]["limit"]["type"], "integer");

        self.walk.at("270-272");
        let results = async |client: &mut ChildTestClient, options: Value| {
            let arguments = json!({"query": "authentication token", "options": options});
            let answer = result_of(client, "query_annotations", arguments).await;
            embedded(&answer, "ast://project/query-results")
        };
        let all = results(client, json!({"threshold": 0})).await;
        assert!(names(&all).len() > 2, "{all}");
        let one = results(client, json!({"threshold": 0, "limit": 1})).await;
        assert_eq!(names(&one), names(&all)[..1]);
        let least = all[1]["similarity"].as_f64().unwrap();
        let near = results(client, json!({"threshold": least})).await;
        let is_near = |one: &Value| one["similarity"].as_f64().unwrap() >= least;
        assert!(near.as_array().unwrap().iter().all(is_near), "{near}");
        assert!(names(&near).len() < names(&all).len(), "{near}");
        let classes = results(client, json!({"threshold": 0, "type": "class"})).await;
        let is_class = |one: &Value| one["type"] == "class";
        assert_eq!(classes[0]["name"], "TokenExpiredError", "{classes}");
        assert!(classes.as_array().unwrap().iter().all(is_class), "{classes}");
    }

    async fn analyze_code_tool(&mut self) {
        let (schema, _, _) = self.schema("analyze_code");
        let client = &mut self.client;
        let analyze = async |client: &mut ChildTestClient, file: &str, lens: &str| {
            let arguments = json!({"file": file, "analysisType": lens});
            text_of(&result_of(client, "analyze_code", arguments).await)
        };
        self.walk.at("279-297");
        assert_eq!(schema["properties"]["file"]["type"], "string");
        assert_eq!(schema["required"], json!(["file", "analysisType"]));
        for lens in ["complexity", "dependencies", "patterns", "security"] {
            assert!(schema.to_string().contains(&format!("\"{lens}\"")), "{schema}");
        }

        self.walk.at("291");
        let said = analyze(client, "src/auth.ts", "complexity").await;
        assert!(said.starts_with("src/auth.ts (TypeScript): 4 functions, "), "{said}");
        assert!(said.contains("- loginUser (line 23): cyclomatic 5 (low)"), "{said}");

        self.walk.at("291");
        let said = analyze(client, "src/auth.ts", "dependencies").await;
        assert!(said.contains("./users (line 3) -> src/users.ts"), "{said}");
        let said = analyze(client, "src/users.ts", "dependencies").await;
        assert!(said.contains("Imported by: src/auth.ts"), "{said}");

        self.walk.at("291");
        let said = analyze(client, "src/users.ts", "patterns").await;
        assert!(said.contains("line 50") && said.contains("var"), "{said}");

        self.walk.at("291");
        let said = analyze(client, "src/users.ts", "security").await;
        assert!(said.contains("line 34") && said.contains("CWE-"), "{said}");
    }

    async fn parse_files_example(&mut self) {
        self.walk.at("303-325");
        let answer = ask(&mut self.client, messages::PARSE_FILES).await;
        assert_eq!(answer["result"]["isError"], false);

        self.walk.at("333-338");
        let content = answer["result"]["content"].as_array().unwrap();
        assert_eq!(content[0], json!({"type": "text", "text": messages::PARSED}));

        self.walk.at("339-346");
        assert_eq!(content[1]["type"], "resource");
        let totals = json!({
            "totalFiles": 2, "totalAnnotations": 15,
            "summary": {"functions": 9, "classes": 4, "interfaces": 1, "enums": 1},
        });
        assert_eq!(embedded(&answer, "ast://project/annotations"), totals);

        self.walk.at("342");
        assert_eq!(read(&mut self.client, "ast://project/annotations").await, totals);
    }

    async fn query_annotations_example(&mut self) {
        self.walk.differs("353-371");
        let answer = ask(&mut self.client, messages::QUERY_ANNOTATIONS).await;
        let results = embedded(&answer, "ast://project/query-results");
        assert_eq!(names(&results), ["loginUser"]);

        self.walk.at("377-384");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let first = "1. loginUser (src/auth.ts:23) - Authenticates user with email/password\n\n";
        assert!(text.contains(first), "{text}");
        assert!(text.ends_with("All results have similarity score > 0.8"), "{text}");

        self.walk.differs("383");
        let query = "functions that handle user authentication";
        assert!(
            text.starts_with(&format!("Found 1 function related to \"{query}\":\n\n")),
            "{text}"
        );

        self.walk.at("385-392");
        let login = &results[0];
        assert_eq!((&login["file"], &login["line"]), (&json!("src/auth.ts"), &json!(23)));
        assert!(login["similarity"].as_f64().is_some_and(|score| score >= 0.8), "{login}");

        self.walk.differs("388");
        let uri = json!({"uri": "ast://project/query-results"});
        let refused = self.client.ask("resources/read", uri).await.unwrap();
        assert_eq!(refused["error"]["code"], -32002, "{refused}");

        self.walk.differs("390");
        assert_eq!(login["id"], "function:src/auth.ts:loginUser");
    }

    async fn resources_updated(&mut self) {
        self.walk.at("399-415");
        let [(name, text), _] = FILES;
        self.place.write(name, &format!("{text}\nexport class Team {{}}\n"));
        let updated = self.client.notification("notifications/resources/updated").await.unwrap();
        let want: Value = serde_json::from_str(messages::RESOURCES_UPDATED).unwrap();
        assert_eq!(updated, want);
    }

    async fn error_handling(&mut self) {
        self.walk.at("417-433");
        let want: Value = serde_json::from_str(messages::INVALID_PARAMS).unwrap();
        let params = call("parse_files", json!({"files": []}));
        let request = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params});
        let refused = ask(&mut self.client, &request.to_string()).await;
        assert_eq!(
            (&refused["id"], &refused["error"]["code"]),
            (&want["id"], &want["error"]["code"])
        );
        for field in ["parameter", "reason"] {
            assert_eq!(refused["error"]["data"][field], want["error"]["data"][field], "{refused}");
        }
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("Invalid params"), "{message}");
    }

    async fn error_codes_of_json_rpc(&mut self) {
        let client = &mut self.client;
        let code = async |client: &mut ChildTestClient, text: &str, id: Value| {
            client.send_text(text).await.unwrap();
            let refused = client.answer_to(&id).await.unwrap();
            refused["error"]["code"].as_i64().unwrap_or_else(|| panic!("{refused}"))
        };
        self.walk.at("440");
        assert_eq!(code(client, r#"{"jsonrpc": "2.0", "id""#, Value::Null).await, -32700);

        self.walk.at("441");
        assert_eq!(code(client, r#"{"jsonrpc": "2.0", "id": 9}"#, json!(9)).await, -32600);

        self.walk.at("442");
        let unknown = r#"{"jsonrpc": "2.0", "id": 10, "method": "annotations/list"}"#;
        assert_eq!(code(client, unknown, json!(10)).await, -32601);

        self.walk.at("443");
        let wrong =
            r#"{"jsonrpc": "2.0", "id": 11, "method": "resources/read", "params": {"uri": 5}}"#;
        assert_eq!(code(client, wrong, json!(11)).await, -32602);

        self.walk.at("444");
        let broken = project();
        broken.run(&["index"]).ends(0);
        let index = broken.index();
        fs::remove_dir_all(&index).unwrap();
        fs::write(&index, "not an index").unwrap();
        let mut client = serve(&broken, &[], &[]);
        client.open(REVISION).await.unwrap();
        let uri = json!({"uri": "ast://project/annotations"});
        let refused = client.ask("resources/read", uri).await.unwrap();
        assert_eq!(refused["error"]["code"], -32603, "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("The index is unavailable"), "{message}");
    }

    async fn error_codes_of_the_server(&mut self) {
        self.walk.at("445");
        let mut bounded = serve(&self.place, &["--rate-limit", "1"], &[]);
        bounded.open(REVISION).await.unwrap();
        let refused = bounded.ask("tools/list", json!({})).await.unwrap();
        assert_eq!(refused["error"]["code"], -32000, "{refused}");

        let mut newer = serve(&self.place, &[], &[]);
        newer.open(LEGACY).await.unwrap();
        self.walk.differs("446");
        self.place.write("src/broken.ts", "class { ] (((");
        let arguments = json!({"files": ["src/broken.ts"]});
        let failed =
            self.client.ask("tools/call", call("parse_files", arguments.clone())).await.unwrap();
        assert_eq!(failed["result"]["isError"], true, "{failed}");
        let said = text_of(&failed);
        assert!(
            said.contains("src/broken.ts: could not be parsed: syntax error near line 1"),
            "{said}"
        );
        let failed = newer.ask("tools/call", call("parse_files", arguments)).await.unwrap();
        assert_eq!(failed["result"]["structuredContent"]["error"]["code"], -32001, "{failed}");

        self.walk.differs("447");
        let missing = json!({"uri": "ast://project/src/missing.ts"});
        let refused = self.client.ask("resources/read", missing).await.unwrap();
        assert_eq!(refused["error"]["code"], -32002, "{refused}");

        self.walk.differs("448");
        let arguments = json!({"files": ["src/missing.ts"]});
        let failed =
            self.client.ask("tools/call", call("parse_files", arguments.clone())).await.unwrap();
        assert_eq!(failed["result"]["isError"], true, "{failed}");
        assert!(text_of(&failed).contains("src/missing.ts"), "{failed}");
        let failed = newer.ask("tools/call", call("parse_files", arguments)).await.unwrap();
        assert_eq!(failed["result"]["structuredContent"]["error"]["code"], -32003, "{failed}");
    }
}
