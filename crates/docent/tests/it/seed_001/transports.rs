//! Lines 270 to 355: stdio and HTTP.

use super::{
    lifecycle::documented_server,
    server::{Orchestrator, call, exchange, post},
};
use crate::{CliRun, seeds::SeedTable, serving::listen};
use serde_json::json;

/// The name of the document's first tool.
const SEARCH: &str = "search_cloudflare_documentation";
const KEY: &str = "sk-orchestrator-0123456789";

pub(super) async fn walk(walk: &mut SeedTable) {
    pipes(walk).await;
    http(walk).await;
    authentication(walk).await;
}

async fn pipes(walk: &mut SeedTable) {
    let answer = json!({"content": [{"type": "text", "text": "in two pieces"}]}).to_string();
    let (first, rest) = answer.split_at(20);
    let pieces = [
        json!({"log": "hello from stderr"}),
        json!({"raw": "\n\nnot JSON\n"}),
        json!({"raw": format!("{{\"jsonrpc\":\"2.0\",\"id\":<id>,\"result\":{first}")}),
        json!({"raw": format!("{rest}}}\n{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}}\n")}),
    ];
    let orchestra = Orchestrator::new(&documented_server().any("pieces", &pieces), "");
    let mut docent = orchestra.serve().await;
    walk.at("274-278");
    let answer = call(&mut docent, SEARCH, json!({"query": "Workers KV API"})).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(orchestra.heard_of("tools/call").len(), 1);
    walk.at("280-299");
    let answer = call(&mut docent, "pieces", json!({"query": "two\nlines"})).await;
    assert_eq!(answer["result"]["content"][0]["text"], "in two pieces", "{answer}");
    walk.at("301-304");
    // `heard` reads one message from each line.
    let heard = orchestra.heard_of("tools/call");
    assert_eq!(heard[1]["params"]["arguments"]["query"], "two\nlines");
    docent.log_line("not JSON").await.unwrap();
    docent.send_text("\n\n").await.unwrap();
    let pong = exchange(&mut docent, json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})).await;
    assert_eq!(pong["result"], json!({}));
    walk.at("306-311");
    let line = docent.log_line("hello from stderr").await.unwrap();
    assert!(line.contains("server=\"cloudflare\""), "{line}");
}

/// docent as a client of the server on HTTP, and as a server that is posted to.
async fn http(walk: &mut SeedTable) {
    let orchestra = Orchestrator::new(&documented_server(), "");
    let server = orchestra.listen();
    let url = format!("http://{}/rpc", server.address);
    let run = |args: &[&str]| orchestra.place.run(&[args, &["--url", &url]].concat());
    walk.at("315-320");
    run(&["call", SEARCH, "query=Workers KV API"]).ends(0).prints("# Workers KV API");
    let posts = orchestra.posts();
    for post in &posts {
        assert_eq!((&post["path"], &post["body"]["jsonrpc"]), (&json!("/rpc"), &json!("2.0")));
    }
    walk.at("322-328");
    for post in &posts {
        assert_eq!(post["headers"]["content-type"], "application/json", "{post}");
    }
    walk.differs("329-335");
    let last = &posts.last().unwrap()["body"];
    assert_eq!((&last["jsonrpc"], &last["method"]), (&json!("2.0"), &json!("tools/call")));
    assert_eq!(last["params"]["name"], SEARCH);
    assert_eq!(last["params"]["arguments"], json!({"query": "Workers KV API"}));
    assert!(orchestra.heard().is_empty(), "it was not started as a program");
    let (_docent, address) = listen(&orchestra.place, &["--transport", "http"], &[]).await;
    posted_to(walk, &orchestra, &address).await;
}

async fn posted_to(walk: &mut SeedTable, orchestra: &Orchestrator, address: &str) {
    walk.at("329-337");
    let body = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": SEARCH,
        "params": {"query": "Workers KV API"}
    });
    for path in ["/", "/mcp", "/rpc"] {
        let (status, answer) = post(address, path, "", &body).await;
        assert_eq!((status, &answer["id"]), (200, &json!(1)), "{path}: {answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("# Workers KV API"), "{path}: {answer}");
    }
    let heard = orchestra.heard_of("tools/call");
    assert_eq!(heard[0]["params"]["arguments"], body["params"]);
    walk.at("340-344");
    let asked = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"});
    for _ in 0..2 {
        let (status, answer) = post(address, "/mcp", "", &asked).await;
        assert_eq!((status, &answer["id"]), (200, &json!("a")), "{answer}");
        assert!(answer["result"]["tools"].is_array(), "{answer}");
    }
}

async fn authentication(walk: &mut SeedTable) {
    let orchestra = Orchestrator::new(&documented_server().key(KEY), "");
    let (listening, place) = (orchestra.listen(), &orchestra.place);
    let url = format!("http://{}/mcp", listening.address);
    walk.at("346-355");
    let header = format!("Authorization: Bearer {KEY}");
    place.run(&["tools", "--url", &url, "-H", &header]).ends(0).prints(SEARCH);
    let entry = |variable: &str| {
        let headers = format!("headers = {{ Authorization = \"Bearer ${{{variable}}}\" }}");
        format!("[mcp_servers.cloudflare]\nurl = {url:?}\n{headers}\n")
    };
    place.settings(&entry("CLOUDFLARE_API_KEY"));
    let mut command = place.command(&["tools", "cloudflare"]);
    CliRun::of(command.env("CLOUDFLARE_API_KEY", KEY)).ends(0).prints(SEARCH);
    for post in orchestra.posts() {
        assert_eq!(post["headers"]["authorization"], format!("Bearer {KEY}"), "{post}");
    }
    place
        .run(&["tools", "--url", &url])
        .ends(1)
        .says("it needs a key and offers no sign-in: pass --header 'Authorization: Bearer KEY'");
    walk.differs("346-355");
    place.settings(&entry("MCP_API_KEY"));
    let mut command = place.command(&["tools", "cloudflare"]);
    CliRun::of(command.env("MCP_API_KEY", KEY))
        .ends(1)
        .says("the variable MCP_API_KEY is reserved for docent and not passed to servers");
    walk.at("346-355");
    place.settings("");
    let key = [("MCP_API_KEY", KEY)];
    let (_server, address) = listen(place, &["--transport", "http"], &key).await;
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(post(&address, "/mcp", "", &asked).await.0, 401);
    let (status, answer) = post(&address, "/mcp", &format!("{header}\r\n"), &asked).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer["result"]["tools"].is_array(), "{answer}");
}
