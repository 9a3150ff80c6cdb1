//! A server behind docent that answers with the document's messages, and writes down what docent sends to it.

use crate::{TestHome, serving};
use docent_testkit::ChildTestClient;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

const PYTHON: &str = "/usr/bin/python3";

/// What the server answers: results by method, and the steps of each tool.
#[derive(Clone)]
pub(super) struct PythonServer(Value);

impl PythonServer {
    /// A server that opens as the document's does, and has no tool yet.
    pub(super) fn new() -> Self {
        let opening = super::lifecycle::opening_response()["result"].clone();
        Self(json!({
            "results": {"initialize": opening, "tools/list": {"tools": []}, "shutdown": null},
            "tools": {},
        }))
    }

    /// The result of a method.
    pub(super) fn result(mut self, method: &str, result: Value) -> Self {
        self.0["results"][method] = result;
        self
    }

    /// Adds a tool with its definition and its steps.
    pub(super) fn tool(mut self, definition: Value, steps: &[Value]) -> Self {
        let name = definition["name"].as_str().unwrap().to_owned();
        let tools = self.0["results"]["tools/list"]["tools"].as_array_mut().unwrap();
        tools.push(definition);
        self.0["tools"][name] = json!(steps);
        self
    }

    /// Adds a tool that takes anything.
    pub(super) fn any(self, name: &str, steps: &[Value]) -> Self {
        let schema = json!({"type": "object"});
        self.tool(json!({"name": name, "description": name, "inputSchema": schema}), steps)
    }

    /// The key that it asks for over HTTP.
    pub(super) fn key(mut self, key: &str) -> Self {
        self.0["key"] = key.into();
        self
    }

    fn names(&self) -> Vec<&str> {
        let tools = self.0["results"]["tools/list"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
    }
}

/// docent with the server `cloudflare` behind it.
pub(super) struct Orchestrator {
    pub(super) place: TestHome,
    folder: PathBuf,
}

impl Orchestrator {
    /// Its tools keep the names that the document gives them. `more` is added to the entry of the server.
    pub(super) fn new(script: &PythonServer, more: &str) -> Self {
        let place = TestHome::new();
        let folder = place.project().join("cloudflare");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("server.py"), include_str!("server.py")).unwrap();
        let orchestra = Self { place, folder };
        orchestra.play(script);
        let names: Vec<String> =
            script.names().iter().map(|name| format!("{name:?} = {name:?}")).collect();
        let names = names.join(", ");
        let program = orchestra.program();
        orchestra.place.settings(&format!(
            "hub.exposure = \"direct\"\n[mcp_servers.cloudflare]\ncommand = {:?}\nargs = {:?}\nrename = {{ {names} }}\n{more}\n",
            program[0],
            &program[1..],
        ));
        orchestra
    }

    /// What the server answers from now on.
    pub(super) fn play(&self, script: &PythonServer) {
        // Replaced as a whole, because the server may be reading it.
        let next = self.folder.join("next.json");
        fs::write(&next, script.0.to_string()).unwrap();
        fs::rename(next, self.folder.join("script.json")).unwrap();
    }

    /// The program that is the server, and its arguments.
    pub(super) fn program(&self) -> Vec<String> {
        let script = self.folder.join("server.py").display().to_string();
        vec![PYTHON.to_owned(), "-I".to_owned(), script, self.folder.display().to_string()]
    }

    /// docent on its pipes, opened with the document's `initialize`.
    pub(super) async fn serve(&self) -> ChildTestClient {
        let mut docent = self.start(&[]);
        exchange(&mut docent, super::lifecycle::opening()).await;
        docent.send(&super::lifecycle::opened()).await.unwrap();
        docent
    }

    /// docent on its pipes, not opened.
    pub(super) fn start(&self, environment: &[(&str, &str)]) -> ChildTestClient {
        serving::serve(&self.place, &[], environment)
    }

    /// Each message that the server received over its pipes, in order.
    pub(super) fn heard(&self) -> Vec<Value> {
        self.lines("heard.jsonl")
    }

    /// Those of them with this method.
    pub(super) fn heard_of(&self, method: &str) -> Vec<Value> {
        self.heard().into_iter().filter(|message| message["method"] == method).collect()
    }

    /// Each request that it received over HTTP: path, headers and body.
    pub(super) fn posts(&self) -> Vec<Value> {
        self.lines("posts.jsonl")
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.join(name)).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Starts the same server over HTTP.
    pub(super) fn listen(&self) -> ListeningServer {
        let program = self.program();
        let mut command = Command::new(&program[0]);
        let command = command.args(&program[1..]).arg("--http").stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        ListeningServer { process, address: format!("127.0.0.1:{}", port.trim()) }
    }
}

/// The server over HTTP, which ends with this.
pub(super) struct ListeningServer {
    process: std::process::Child,
    pub(super) address: String,
}

impl Drop for ListeningServer {
    fn drop(&mut self) {
        self.process.kill().unwrap_or_default();
        self.process.wait().map(drop).unwrap_or_default();
    }
}

/// Sends a message as it is, and awaits its answer.
pub(super) async fn exchange(docent: &mut ChildTestClient, message: Value) -> Value {
    docent.send(&message).await.unwrap();
    docent.answer_to(&message["id"]).await.unwrap()
}

/// Sends the document's `tools/call`.
pub(super) async fn call(docent: &mut ChildTestClient, tool: &str, arguments: Value) -> Value {
    docent.ask("tools/call", serving::call(tool, arguments)).await.unwrap()
}

/// Posts a message as curl does, with these header lines beside its own. Gives the status and the answer.
pub(super) async fn post(
    address: &str,
    path: &str,
    headers: &str,
    message: &Value,
) -> (u16, Value) {
    let body = message.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let (status, _, body) = serving::exchange(address, &request).await;
    (status, serde_json::from_str(&body).unwrap_or_default())
}

/// Waits until something is true of what the server was sent, which may take a moment longer than an answer.
pub(super) async fn until(mut is_true: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if is_true() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never became true");
}
