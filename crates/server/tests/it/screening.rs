//! What is sent to a model contains no secrets and no hidden characters.

use crate::{
    fixture::{FixtureProvider, acting, said},
    wire::{WireClient, origin, setup, text},
};
use docent_server::{
    AuditSink, McpServer, PolicyAction, PolicyRule, Screening, ServerSetup, ToolPolicy,
};
use docent_tool::{
    AnswerBlock, ClientQuery, InputNeeded, ProviderChange, SyslogLevel, ToolError, ToolOutcome,
};
use serde_json::{Value, json};
use std::sync::Arc;

const CONFIGURED: &str = "a-key-of-the-house";

/// A well-formed but made-up token.
fn token() -> String {
    ["ghp", "_0123456789abcdefghijABCDEFGHIJ012345"].concat()
}

fn fixture() -> Arc<FixtureProvider> {
    let fixture = FixtureProvider::new();
    let tells = |fails: bool| {
        move |_, context: docent_tool::CallContext| async move {
            let text = format!("use {} or {CONFIGURED}, \u{202e}backwards\u{200b}", token());
            if fails {
                return Err(ToolError::failed(text));
            }
            context.emit(AnswerBlock::text(format!("first {}", token()))).await;
            let structured = Some(json!({"deep": [{"text": text}], "count": 1}));
            Ok(ToolOutcome {
                content: vec![AnswerBlock::text(text)],
                structured,
                ..ToolOutcome::default()
            })
        }
    };
    let mut extra = fixture.extra.lock().unwrap();
    extra.push(acting("tells_secrets", json!({}), tells(false)));
    extra.push(acting("fails_with_secrets", json!({}), tells(true)));
    drop(extra);
    fixture
}

fn server(screening: Screening) -> Arc<McpServer> {
    McpServer::new(ServerSetup { screening, ..setup(fixture()) }).unwrap()
}

#[tokio::test]
async fn secrets_and_hidden_characters_are_removed() {
    let server = server(Screening::new(Some(vec![CONFIGURED.into()]), true));
    for tool in ["tells_secrets", "fails_with_secrets"] {
        let mut wire = WireClient::legacy(&server, "2025-11-25").await;
        let reply = wire.call(tool, json!({})).await.to_string();
        assert!(!reply.contains(&token()) && !reply.contains(CONFIGURED), "{tool}: {reply}");
        assert!(reply.contains("[redacted: "), "{tool}: {reply}");
        assert!(reply.contains("<U+202E>") && reply.contains("<U+200B>"), "{tool}: {reply}");
        assert!(!reply.contains('\u{202e}') && !reply.contains('\u{200b}'), "{tool}: {reply}");
    }
}

#[tokio::test]
async fn each_half_can_be_turned_off() {
    for (screening, has_token, is_hidden) in [
        (Screening::default(), true, true),
        (Screening::new(None, true), true, false),
        (Screening::new(Some(Vec::new()), false), false, true),
    ] {
        let mut wire = WireClient::legacy(&server(screening), "2025-11-25").await;
        let secret_text = wire.call("tells_secrets", json!({})).await;
        assert_eq!(secret_text.to_string().contains(&token()), has_token, "{secret_text}");
        assert_eq!(
            text(&secret_text).contains('\u{202e}') || secret_text.to_string().contains('\u{202e}'),
            is_hidden
        );
    }
}

#[tokio::test]
async fn the_audit_line_is_screened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let screening = Screening::new(Some(Vec::new()), true);
    let audit = AuditSink::to_file(&path, 1 << 20);
    let fixture = fixture();
    let refuses = acting("refuses", json!({}), |_, _| async {
        let data = json!({"kind": format!("login with {} failed", token()), "reference": token()});
        Err(ToolError::Refused { code: -32000, message: token(), data: Some(data) })
    });
    fixture.extra.lock().unwrap().push(refuses);
    let server = McpServer::new(ServerSetup { screening, audit, ..setup(fixture) }).unwrap();
    let mut wire = WireClient::open(&server);
    let client = json!({"name": token(), "version": "1"});
    let opening =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    wire.ask("initialize", opening).await;
    wire.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    let uri = format!("memo://{}", token());
    wire.ask("resources/read", json!({"uri": uri})).await;
    wire.call("refuses", json!({})).await;
    let lines = std::fs::read_to_string(&path).unwrap();
    assert!(lines.contains("resources/read") && lines.contains("refuses"), "{lines}");
    assert!(!lines.contains(&token()) && lines.contains("[redacted: github token]/1"), "{lines}");
}

/// Full screening, with docent's own key.
fn all() -> Screening {
    Screening::new(Some(vec![CONFIGURED.into()]), true)
}

#[track_caller]
fn assert_clean(message: &Value) {
    let written = message.to_string();
    assert!(!written.contains(&token()), "{written}");
    assert!(!written.contains('\u{202e}'), "{written}");
}

/// Values that the protocol needs unchanged, though they look like secrets.
fn ids() -> Value {
    json!({
        "progressToken": token(), "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "tracestate": "vendor=t61rcWkgMzE", "io.modelcontextprotocol/related-task": {"taskId": token()},
    })
}

/// A tool that puts everything beside the text, or in pieces.
fn beside() -> Arc<McpServer> {
    let fixture = FixtureProvider::new();
    let heading = || format!("Deploy key {} \u{202e}evil", token());
    let tool = acting("tells_beside", json!({}), move |_, context| async move {
        let metadata = json!({"section": heading(), "line": 7}).as_object().cloned();
        let block =
            || AnswerBlock::Text { text: "t".into(), metadata: metadata.clone(), score: None };
        context.emit(block()).await;
        context
            .emit(AnswerBlock::Raw(json!({"type": "text", "text": heading(), "odd": heading()})))
            .await;
        let meta = |own: Value| json!({"own": {"deep": [heading()]}, (heading()): 1, "ids": own});
        let raw = |mut block: Value| {
            block["_meta"] = meta(ids());
            AnswerBlock::Raw(block)
        };
        let content = vec![
            block(),
            raw(json!({"type": "text", "text": "raw"})),
            raw(json!({"type": "image", "data": "AAAA", "mimeType": "image/png"})),
            raw(
                json!({"type": "resource_link", "uri": "x:y", "name": "n", "title": heading(), "description": heading()}),
            ),
            raw(
                json!({"type": "resource", "resource": {"uri": "x:y", "text": "t", "_meta": meta(ids())}}),
            ),
            raw(
                json!({"type": "resource", "resource": {"uri": "x:y", "blob": "AAAA", "_meta": meta(ids())}}),
            ),
        ];
        let meta = meta(ids()).as_object().cloned();
        Ok(ToolOutcome { content, meta, ..ToolOutcome::default() })
    });
    fixture.extra.lock().unwrap().push(tool);
    McpServer::new(ServerSetup { screening: all(), ..setup(fixture) }).unwrap()
}

/// The message without the values that must stay unchanged, of which there must be `count`.
#[track_caller]
fn without_ids(message: &Value, count: usize) -> Value {
    let (written, own) = (message.to_string(), ids().to_string());
    assert_eq!(written.matches(&own).count(), count, "{written}");
    serde_json::from_str(&written.replace(&own, "null")).unwrap()
}

#[tokio::test]
async fn structured_content_and_metadata_are_screened() {
    let server = beside();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let reply = without_ids(&wire.call("tells_beside", json!({})).await, 8);
    assert_clean(&reply);
    let content = &reply["result"]["content"];
    let section = "Deploy key [redacted: github token] <U+202E>evil";
    assert_eq!(content[2]["_meta"]["docent/metadata"], json!({"section": section, "line": 7}));
    assert_eq!(content[3]["_meta"]["own"]["deep"][0], section);
    assert_eq!(reply["result"]["_meta"][section], 1);
    assert_eq!(
        (&content[4]["data"], &content[7]["resource"]["blob"]),
        (&json!("AAAA"), &json!("AAAA"))
    );

    assert_eq!(
        (&content[5]["uri"], &content[5]["title"], &content[5]["description"]),
        (&json!("x:y"), &json!(section), &json!(section))
    );

    let mut plain = WireClient::legacy(&server, "1.0").await;
    assert_clean(&without_ids(&plain.call("tells_beside", json!({})).await, 8));
}

#[tokio::test]
async fn streamed_pieces_are_screened() {
    let server = beside();
    let mut origin = origin(&server, None);
    origin.streams = true;
    let mut wire = WireClient::legacy_as(&server, "1.0", json!({}), Some(origin)).await;
    let id = wire.begin("tools/call", json!({"name": "tells_beside"})).await;
    wire.answer(&id).await;
    assert_eq!(wire.methods_seen(), ["docent/partial", "docent/partial"]);
    wire.seen.iter().for_each(assert_clean);
}

/// Questions of another server, and the screened form of each.
fn questions() -> [(&'static str, Value, Value); 3] {
    let secret_text = format!("Say {} \u{202e}now", token());
    let clean = "Say [redacted: github token] <U+202E>now";
    let sample = |secret_text: &str| {
        let content = json!([
            {"type": "text", "text": secret_text, "_meta": {"own": secret_text}},
            {"type": "image", "data": token(), "mimeType": "image/png"},
            {"type": "audio", "data": token(), "mimeType": "audio/wav"},
            {"type": "tool_use", "id": token(), "name": "t", "input": {"a": secret_text}},
            {"type": "tool_result", "toolUseId": token(), "content": [{"type": "text", "text": secret_text}]},
        ]);
        json!({
            "messages": [{"role": "user", "content": content}], "systemPrompt": secret_text, "maxTokens": 5,
        })
    };
    let form = |secret_text: &str| {
        let name = token();
        json!({
            "mode": "form", "message": secret_text, "requestedSchema": {
                "type": "object", "required": [&name],
                "properties": {(&name): {"type": "string", "title": secret_text, "description": secret_text},
                    "password\u{202e}": {"type": "string"}},
            },
        })
    };
    let page = |secret_text: &str| {
        let url = "https://login.test/authorize?state=af0ifjsldkj&scope=a%20b";
        json!({"mode": "url", "message": secret_text, "elicitationId": token(), "url": url})
    };
    [
        ("sampling/createMessage", sample(&secret_text), sample(clean)),
        ("elicitation/create", form(&secret_text), form(clean)),
        ("elicitation/create", page(&secret_text), page(clean)),
    ]
}

fn asking(method: &'static str, params: &Value, at_once: bool) -> Arc<McpServer> {
    let fixture = FixtureProvider::new();
    let params = params.clone();
    let tool = acting("asks_secrets", json!({}), move |_, context| {
        let ask = match method {
            "sampling/createMessage" => ClientQuery::Sample(params.clone()),
            _ => ClientQuery::Elicit(params.clone()),
        };
        async move {
            if at_once {
                context.ask("k", ask).await?;
                return Ok(said("asked"));
            }
            let asks = vec![("k".to_owned(), ask)];
            Err(ToolError::NeedsInput(InputNeeded { asks, state: None }))
        }
    });
    fixture.extra.lock().unwrap().push(tool);
    McpServer::new(ServerSetup { screening: all(), ..setup(fixture) }).unwrap()
}

#[tokio::test]
async fn questions_to_a_client_are_screened() {
    let able = || json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}});
    for (method, raw, clean) in questions() {
        let server = asking(method, &raw, true);
        let mut wire = WireClient::legacy_as(&server, "2025-11-25", able(), None).await;
        wire.begin("tools/call", json!({"name": "asks_secrets"})).await;
        let mut asked = wire.read().await;
        // The request has a progress token of its own.
        asked["params"].as_object_mut().unwrap().remove("_meta");
        assert_eq!((&asked["method"], &asked["params"]), (&json!(method), &clean));
        for at_once in [true, false] {
            let mut wire = WireClient::open(&asking(method, &raw, at_once));
            let mut reply = wire.modern_call("asks_secrets", json!({}), able(), json!({})).await;
            docent_wire::put_back(&mut reply);
            let asked = &reply["result"]["inputRequests"]["k"];
            assert_eq!((&asked["method"], &asked["params"]), (&json!(method), &clean), "{reply}");
        }
    }
}

/// A link without its secret does not work: the user is not sent there.
#[tokio::test]
async fn a_page_whose_address_holds_a_secret_is_not_asked_for() {
    let able = || json!({"elicitation": {"form": {}, "url": {}}});
    let url = format!("https://login.test/authorize?state=af0ifjsldkj&access_token={}", token());
    let page =
        json!({"mode": "url", "message": "Sign in", "elicitationId": "e1", "url": url.as_str()});
    let check = |reply: &Value| {
        assert_clean(reply);
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        let secret_text = text(reply);
        assert!(secret_text.contains("its address seems to contain a secret"), "{secret_text}");
        assert!(secret_text.contains("policy.redaction.secrets"), "{secret_text}");
    };
    let server = asking("elicitation/create", &page, true);
    let mut wire = WireClient::legacy_as(&server, "2025-11-25", able(), None).await;
    check(&wire.call("asks_secrets", json!({})).await);
    assert!(wire.seen.is_empty(), "{:?}", wire.seen);
    for at_once in [true, false] {
        let mut wire = WireClient::open(&asking("elicitation/create", &page, at_once));
        check(&wire.modern_call("asks_secrets", json!({}), able(), json!({})).await);
    }
}

#[tokio::test]
async fn an_error_that_sends_people_to_pages_has_whole_addresses() {
    for (secret, code) in [("", -32042), (token().as_str(), -32603)] {
        let fixture = FixtureProvider::new();
        let url = format!("https://login.test/authorize?state=af0ifjsldkj&access_token={secret}");
        let page = json!({"mode": "url", "message": "Sign in", "elicitationId": "e1", "url": url});
        let tool = acting("wants_a_visit", json!({}), move |_, _| {
            let data = Some(json!({"elicitations": [page]}));
            let message = "sign in first".into();
            async move { Err(ToolError::Refused { code: -32042, message, data }) }
        });
        fixture.extra.lock().unwrap().push(tool);
        let server = McpServer::new(ServerSetup { screening: all(), ..setup(fixture) }).unwrap();
        let mut wire = WireClient::legacy(&server, "2025-11-25").await;
        let reply = wire.call("wants_a_visit", json!({})).await;
        assert_clean(&reply);
        assert_eq!(reply["error"]["code"], code, "{reply}");
        let sent = reply["error"]["data"]["elicitations"][0]["url"].as_str();
        assert_eq!(sent, secret.is_empty().then_some(url.as_str()), "{reply}");
    }
}

#[tokio::test]
async fn lists_are_screened() {
    let fixture = FixtureProvider::new();
    *fixture.listed_text.lock().unwrap() = Some(format!("Deploy key {} \u{202e}evil", token()));
    let server = McpServer::new(ServerSetup { screening: all(), ..setup(fixture) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let shown = "Deploy key [redacted: github token] <U+202E>evil";
    for (method, list) in [
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        let reply = wire.ask(method, json!({})).await;
        assert_clean(&reply);
        let first = &reply["result"][list][0];
        let secret_text = (&first["title"], &first["description"], &first["_meta"]["own"]);
        assert_eq!(secret_text, (&json!(shown), &json!(shown), &json!(shown)), "{reply}");
        if method == "prompts/list" {
            assert_eq!(first["arguments"][0]["description"], shown, "{reply}");
        }
    }
}

#[tokio::test]
async fn messages_outside_of_calls_are_screened() {
    let fixture = FixtureProvider::new();
    let server =
        McpServer::new(ServerSetup { screening: all(), ..setup(Arc::clone(&fixture)) }).unwrap();
    let mut wire = WireClient::legacy(&server, "2025-11-25").await;
    let secret_text = format!("{} \u{202e}", token());
    let extra = json!({"_meta": {"ids": ids(), "own": secret_text}}).as_object().cloned().unwrap();
    let (provider, logger, data) =
        ("fixture".to_owned(), format!("other/{secret_text}"), json!([secret_text]));
    fixture.changed(ProviderChange::Said {
        provider,
        level: SyslogLevel::Error,
        logger,
        data,
        extra,
    });
    let mut line = wire.notified("notifications/message").await;
    docent_wire::put_back(&mut line);
    let line = without_ids(&line, 1);
    assert_clean(&line);
    assert_eq!(line["params"]["logger"], "other/[redacted: github token] <U+202E>");
}

#[tokio::test]
async fn notifications_during_a_call_are_screened() {
    let fixture = FixtureProvider::new();
    let tool = acting("logs_secrets", json!({}), |_, context| async move {
        let secret_text = format!("{} \u{202e}", token());
        let extra =
            json!({"_meta": {"ids": ids(), "own": secret_text}}).as_object().cloned().unwrap();
        context.relay(
            SyslogLevel::Error,
            &format!("other/{secret_text}"),
            json!([secret_text]),
            extra,
        );
        context.pass_on(
            "notifications/elicitation/complete",
            json!({"elicitationId": token(), "odd": secret_text}),
        );
        context.elicit("k", json!({"mode": "form", "message": "Done?"})).await?;
        Ok(said("asked"))
    });
    fixture.extra.lock().unwrap().push(tool);
    let server = McpServer::new(ServerSetup { screening: all(), ..setup(fixture) }).unwrap();
    let mut wire =
        WireClient::legacy_as(&server, "2025-11-25", json!({"elicitation": {}}), None).await;
    wire.begin("tools/call", json!({"name": "logs_secrets"})).await;
    let heard = [wire.read().await, wire.read().await, wire.read().await];
    let of = |method: &str| heard.iter().find(|message| message["method"] == method).unwrap();
    let mut line = of("notifications/message").clone();
    docent_wire::put_back(&mut line);
    let line = without_ids(&line, 1);
    assert_clean(&line);
    assert_eq!(line["params"]["logger"], "other/[redacted: github token] <U+202E>");
    let ended = &of("notifications/elicitation/complete")["params"];
    assert_eq!(
        *ended,
        json!({"elicitationId": token(), "odd": "[redacted: github token] <U+202E>"})
    );
}

#[tokio::test]
async fn an_approval_shows_the_unredacted_call() {
    let rule = PolicyRule::for_everybody("asks", vec!["echo".into()], PolicyAction::Approve);
    let policy = ToolPolicy { rules: vec![rule] };
    let server =
        McpServer::new(ServerSetup { screening: all(), policy, ..setup(fixture()) }).unwrap();
    let secret_text = format!("{} \u{202e}", token());
    let mut wire =
        WireClient::legacy_as(&server, "2025-11-25", json!({"elicitation": {}}), None).await;
    wire.begin("tools/call", json!({"name": "echo", "arguments": {"text": secret_text}})).await;
    let asked = wire.read().await["params"]["message"].as_str().unwrap().to_owned();
    assert!(asked.contains(&format!("{} <U+202E>", token())), "{asked}");
}
