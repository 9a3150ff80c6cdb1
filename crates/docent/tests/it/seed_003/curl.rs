//! Requests as the document's `curl` commands send them.

use crate::serving::exchange;
use serde_json::{Map, Value};

/// A server at `http://localhost:PORT`.
pub(super) struct CurlRequest {
    address: String,
    headers: Vec<String>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct CurlReply {
    pub(super) status: u16,
    /// The first line and the headers.
    pub(super) head: String,
    pub(super) body: String,
}

impl CurlRequest {
    pub(super) fn new(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            headers: vec!["Content-Type: application/json".to_owned()],
        }
    }

    /// `-H HEADER` with every request; one of the same name is replaced.
    pub(super) fn header(&self, header: &str) -> Self {
        let (name, _) = header.split_once(':').unwrap();
        let mut headers = self.headers.clone();
        headers.retain(|other| !other.starts_with(name));
        headers.push(header.to_owned());
        Self { address: self.address.clone(), headers }
    }

    /// `curl -s -X POST http://localhost:PORT/mcp -H … -d BODY`.
    pub(super) async fn post(&self, body: &str) -> CurlReply {
        self.send("POST", "/mcp", body).await
    }

    /// The body of the answer to a message that is served.
    #[track_caller]
    pub(super) fn ask(&self, message: &str) -> impl Future<Output = Value> {
        let place = std::panic::Location::caller();
        async move {
            let reply = self.post(message).await;
            assert_eq!(reply.status, 200, "{place}: {reply:?}");
            reply.json()
        }
    }

    /// The `result` of a message that is served.
    pub(super) async fn result(&self, message: &str) -> Value {
        let mut answer = self.ask(message).await;
        assert!(answer.get("error").is_none(), "{message}: {answer}");
        answer["result"].take()
    }

    /// The code and the text of the error that a message is answered with.
    pub(super) async fn error(&self, message: &str) -> (i64, String) {
        let answer = self.ask(message).await;
        assert!(answer.get("result").is_none(), "{message}: {answer}");
        let error = &answer["error"];
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }

    /// The result of a tool, called with these arguments as they are written.
    pub(super) async fn call(&self, tool: &str, arguments: &str) -> Value {
        self.result(&calling(tool, arguments)).await
    }

    pub(super) async fn send(&self, method: &str, path: &str, body: &str) -> CurlReply {
        let (_, port) = self.address.rsplit_once(':').unwrap();
        let headers: String = self.headers.join("\r\n");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{port}\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n{headers}\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let (status, head, body) = exchange(&self.address, &request).await;
        CurlReply { status, head, body }
    }
}

impl CurlReply {
    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A `tools/call` with the arguments as they are written.
pub(super) fn calling(tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc": "2.0", "method": "tools/call", "params": {{"name": "{tool}", "arguments": {arguments}}}, "id": "call-1"}}"#
    )
}

/// A `resources/read` of one resource.
pub(super) fn reading(uri: &str) -> String {
    format!(
        r#"{{"jsonrpc": "2.0", "method": "resources/read", "params": {{"uri": "{uri}"}}, "id": "read-1"}}"#
    )
}

/// The names of an object's fields, in alphabetical order.
pub(super) fn fields(object: &Value) -> Vec<&str> {
    let object: &Map<String, Value> = object.as_object().unwrap();
    let mut names: Vec<&str> = object.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}
