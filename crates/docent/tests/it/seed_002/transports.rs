//! The second half of the document: transports, authentication, rate limits and configuration.

use super::{REVISION, SeedProject, messages, post};
use crate::{
    seeds::ask,
    serving::{exchange, listen, serve},
};
use docent_testkit::{HttpTestClient, SseTestClient, WsTestClient};
use serde_json::json;
use std::fs;

const CONFIGURATION_FILE: &str = ".ast-copilot-helper.json";

impl SeedProject {
    pub(super) async fn stdio(&mut self) {
        self.walk.at("452-460");
        let mut server = serve(&self.place, &["--transport", "stdio"], &[]);
        let opened = ask(&mut server, messages::INITIALIZE).await;
        assert_eq!(opened["result"]["protocolVersion"], REVISION);
        server.close_input();
        assert!(server.end().await.unwrap().success());

        self.walk.differs("457");
        self.place.run(&["server", "--transport", "stdio"]).ends(2).says("'serve', 'servers'");
    }

    pub(super) async fn server_sent_events(&mut self) {
        self.walk.at("462-468");
        let flags = ["config", "show", "--json", "--transport", "sse", "--port", "3001"];
        assert_eq!(self.place.run(&flags).ends(0).json()["server.port"]["value"], 3001);
        let (_server, address) = listen(&self.place, &["--transport", "sse"], &[]).await;

        self.walk.at("470-476");
        // The client fails where the first event is not `endpoint`.
        let mut stream =
            SseTestClient::connect_sse(&format!("http://{address}/sse")).await.unwrap();

        self.walk.at("478-491");
        assert_eq!(post(&address, "/message", "", messages::INITIALIZE).await.0, 202);
        let opened = stream.answer_to(&json!(1)).await.unwrap();
        assert_eq!(opened["result"]["serverInfo"]["name"], "docent");

        self.walk.differs("480");
        let _second = SseTestClient::connect_sse(&format!("http://{address}/sse")).await.unwrap();
        let (status, _, body) = post(&address, "/message", "", messages::INITIALIZE).await;
        assert_eq!(status, 404, "{body}");
        assert!(body.contains("post to the endpoint it returns"), "{body}");
    }

    pub(super) async fn websocket(&mut self) {
        self.walk.at("493-499");
        let flags = ["config", "show", "--json", "--transport", "websocket", "--port", "8080"];
        assert_eq!(self.place.run(&flags).ends(0).json()["server.port"]["value"], 8080);
        let (_server, address) = listen(&self.place, &["--transport", "websocket"], &[]).await;

        self.walk.at("501-512");
        let mut socket = WsTestClient::connect_ws(&format!("ws://{address}")).await.unwrap();
        socket.send_text(messages::INITIALIZE).await.unwrap();
        let opened = socket.answer_to(&json!(1)).await.unwrap();
        assert_eq!(opened["result"]["protocolVersion"], REVISION);
    }

    pub(super) async fn authentication(&mut self) {
        self.walk.at("514-520");
        let flags = ["--transport", "http,sse,websocket", "--auth", "mySecretToken"];
        let (_server, address) = listen(&self.place, &flags, &[]).await;
        let (status, _, body) = post(&address, "/mcp", "", messages::TOOLS_LIST).await;
        assert_eq!((status, body.as_str()), (401, r#"{"detail":"Invalid API key"}"#));

        self.walk.at("522-542");
        let mut pipes = serve(&self.place, &["--auth", "mySecretToken"], &[]);
        let refused = ask(&mut pipes, messages::INITIALIZE).await;
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        let opened = ask(&mut pipes, messages::INITIALIZE_WITH_AUTH).await;
        assert_eq!(opened["result"]["protocolVersion"], REVISION, "{opened}");
        let mut socket = WsTestClient::connect_ws(&format!("ws://{address}")).await.unwrap();
        socket.send_text(messages::INITIALIZE_WITH_AUTH).await.unwrap();
        let opened = socket.answer_to(&json!(1)).await.unwrap();
        assert_eq!(opened["result"]["protocolVersion"], REVISION, "{opened}");
        let (status, _, body) = post(&address, "/mcp", "", messages::INITIALIZE_WITH_AUTH).await;
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("serverInfo"), "{body}");
        let wrong = messages::INITIALIZE_WITH_AUTH.replace("mySecretToken", "another");
        assert_eq!(post(&address, "/mcp", "", &wrong).await.0, 401);

        self.walk.differs("536-539");
        let uri = format!("http://{address}/sse");
        assert!(
            SseTestClient::connect_sse(&uri).await.unwrap_err().to_string().starts_with("HTTP 401")
        );
        let accept = "Accept: application/json, text/event-stream\r\n";
        let (_, head, _) = post(&address, "/mcp", accept, messages::INITIALIZE_WITH_AUTH).await;
        let session = head.lines().find(|line| line.starts_with("mcp-session-id: ")).unwrap();
        let headers = format!("{accept}{session}\r\n");
        assert_eq!(post(&address, "/mcp", &headers, messages::TOOLS_LIST).await.0, 401);
        let headers = format!("{headers}Authorization: Bearer mySecretToken\r\n");
        assert_eq!(post(&address, "/mcp", &headers, messages::TOOLS_LIST).await.0, 200);
        let token = ("authorization", "Bearer mySecretToken");
        let mut stream = SseTestClient::connect_sse_with(&uri, &[token]).await.unwrap();
        let opened = stream.open(REVISION).await.unwrap();
        assert_eq!(opened["result"]["serverInfo"]["name"], "docent");
    }

    pub(super) async fn rate_limiting(&mut self) {
        /// Pings until a ping is refused, and returns how many requests were answered.
        async fn answered(address: &str) -> usize {
            let mut client = HttpTestClient::new_http(&format!("http://{address}/mcp")).unwrap();
            client.open(REVISION).await.unwrap();
            // The handshake was two requests.
            for count in 2..1000 {
                let answer = client.ask("ping", json!({})).await.unwrap();
                if answer.get("error").is_some() {
                    return count;
                }
            }
            panic!("no request was refused");
        }
        self.walk.at("544-548");
        let (_server, address) = listen(&self.place, &["--transport", "http"], &[]).await;
        let count = answered(&address).await;
        assert!(count >= 100, "{count}");

        self.walk.differs("548");
        for _ in 0..150 {
            let pong = self.client.ask("ping", json!({})).await.unwrap();
            assert_eq!(pong["result"], json!({}), "{pong}");
        }

        self.walk.at("549");
        let flags = ["--transport", "http", "--rate-limit", "5"];
        let (_server, address) = listen(&self.place, &flags, &[]).await;
        let count = answered(&address).await;
        assert!((5..100).contains(&count), "{count}");

        self.walk.at("550");
        let (status, head, _) = post(&address, "/mcp", "", messages::TOOLS_LIST).await;
        assert_eq!(status, 429);
        assert!(head.to_lowercase().contains("retry-after: "), "{head}");
    }

    pub(super) fn configuration(&mut self) {
        self.walk.differs("554");
        self.place.write(CONFIGURATION_FILE, messages::CONFIGURATION);
        self.place
            .run(&["doctor", "--port", "0"])
            .prints(&format!("pass --config {CONFIGURATION_FILE} to read it"));
        let run = self.place.run(&["config", "show", "--json", "--config", CONFIGURATION_FILE]);
        let shown = run.ends(0).json();
        let value = |key: &str| shown[key]["value"].clone();

        self.walk.at("558-561");
        assert_eq!((value("server.port"), value("server.host")), (json!(3001), json!("localhost")));
        assert_eq!(value("server.transport"), json!(["stdio"]));

        self.walk.at("562-565");
        assert_eq!(value("server.auth.required"), json!(false));
        assert_eq!(value("server.auth.token"), "***", "it is set");

        self.walk.at("566-570");
        for (key, want) in
            [("enabled", json!(true)), ("requests", json!(100)), ("window", json!(60000))]
        {
            assert_eq!(value(&format!("server.rate_limit.{key}")), want, "{key}");
        }
    }

    pub(super) async fn configuration_in_force(&mut self) {
        let on_http = ["--transport", "http", "--config", CONFIGURATION_FILE];
        let preflight = async |address: &str, origin: &str| {
            let request = format!(
                "OPTIONS /mcp HTTP/1.1\r\nHost: {address}\r\nOrigin: {origin}\r\n\
                 Access-Control-Request-Method: POST\r\nConnection: close\r\n\r\n"
            );
            exchange(address, &request).await
        };
        self.walk.at("571-574");
        let (_closed, address) = listen(&self.place, &on_http, &[]).await;
        assert_eq!(preflight(&address, "https://localhost:3000").await.0, 403);
        let text = messages::CONFIGURATION.replace("\"enabled\": false", "\"enabled\": true");
        self.place.write(CONFIGURATION_FILE, &text);
        let (_open, address) = listen(&self.place, &on_http, &[]).await;
        let (status, head, _) = preflight(&address, "https://localhost:3000").await;
        assert_eq!(status, 204, "{head}");
        assert!(head.contains("access-control-allow-origin: https://localhost:3000"), "{head}");
        assert_eq!(preflight(&address, "https://example.com").await.0, 403);
        assert_eq!(post(&address, "/mcp", "", messages::TOOLS_LIST).await.0, 401, "auth.enabled");

        self.walk.at("575-578");
        let log = fs::read_to_string(self.place.project().join("mcp-server.log")).unwrap();
        assert!(log.contains(" INFO ") && log.contains(&address), "{log}");
        assert!(!log.contains("DEBUG"), "{log}");
    }
}
