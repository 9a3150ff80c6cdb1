//! Seed 000, documcp: a walk through the document from top to bottom, with the messages that it shows.

mod limits;
mod logging;
mod protocol;
mod setup;

use crate::{
    TestHome,
    seeds::{SeedTable, answering_server},
    serving::serve,
};
use docent_testkit::ChildTestClient;
use std::fs;

/// Lines 42 to 60.
const INITIALIZE: &str = r#"{
  "jsonrpc": "2.0",
  "id": 1,
  "method": "initialize",
  "params": {
    "protocolVersion": "2024-11-05",
    "capabilities": {
      "roots": {
        "listChanged": true
      },
      "sampling": {}
    },
    "clientInfo": {
      "name": "Claude Desktop",
      "version": "0.7.0"
    }
  }
}"#;

/// Lines 91 to 96.
const INITIALIZED: &str = r#"{
  "jsonrpc": "2.0",
  "method": "notifications/initialized"
}"#;

/// Lines 148 to 162.
const ANALYZE: &str = r#"{
  "jsonrpc": "2.0",
  "id": 3,
  "method": "tools/call",
  "params": {
    "name": "analyze_repository",
    "arguments": {
      "path": "./my-project",
      "depth": "standard"
    }
  }
}"#;

#[tokio::test]
async fn seed_000() {
    let mut walk = SeedTable::of("000");
    let place = project();
    protocol::walk(&mut walk, &place).await;
    logging::walk(&mut walk, &place).await;
    setup::walk(&mut walk, &place);
    limits::walk(&mut walk, &place).await;
    walk.end();
}

/// The folders that the document's messages name, and a server behind docent with a picture and an error.
fn project() -> TestHome {
    let place = TestHome::new();
    for (file, text) in [
        (
            "my-project/package.json",
            r#"{"name": "my-project", "dependencies": {"express": "^4.19.0"}}"#,
        ),
        ("my-project/README.md", "# My project\n\nServes users over HTTP.\n"),
        (
            "my-project/src/users.ts",
            "/** Finds a user. */\nexport function getUserById(id: string) { return id }\n",
        ),
        ("test-repo/README.md", "# Test repo\n"),
    ] {
        let file = place.project().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let server = answering_server(
        &place,
        "other",
        &[
            (
                "picture",
                r#""result": {"content": [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]}"#,
            ),
            ("breaks", r#""error": {"code": -32603, "message": "Internal error"}"#),
        ],
    );
    place.settings(&server);
    place
}

/// A server on its pipes, opened as the document does.
async fn opened(place: &TestHome, args: &[&str], environment: &[(&str, &str)]) -> ChildTestClient {
    let mut server = serve(place, args, environment);
    crate::seeds::ask(&mut server, INITIALIZE).await;
    server.send_text(INITIALIZED).await.unwrap();
    server
}
