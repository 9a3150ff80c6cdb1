//! Calls: names, results, errors, retries, timeouts.

use crate::stage::{
    CallBehavior, ScriptedClient, TestWorkerStarter, call, context, hub, hub_with, result, session,
    spec, text, tool, tools, until, wait_for_change, words,
};
use docent_hub::{ServerSpec, ServerStateStore};
use docent_tool::{ProviderChange, ToolError, ToolProvider, no_client};
use docent_traffic::{Capture, Direction, Traffic, TrafficKind};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

#[tokio::test]
async fn an_answer_keeps_its_fields_and_names_its_origin() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("echo")]), |message| {
        result(message, json!({
            "content": [{"type": "text", "text": "hi", "annotations": {"priority": 1}, "odd": 7}],
            "structuredContent": {"n": 1},
            "_meta": {"own": true, "docent/origin": {"server": "other", "tool": "else"}},
        }))
    }));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let outcome = call(&hub, "one__echo", &no_client()).await.unwrap();
    let docent_tool::AnswerBlock::Raw(block) = &outcome.content[0] else { panic!() };
    assert_eq!(
        *block,
        json!({"type": "text", "text": "hi", "annotations": {"priority": 1}, "odd": 7})
    );
    assert_eq!(outcome.structured, Some(json!({"n": 1})));
    let meta = outcome.meta.unwrap();
    assert_eq!(meta["own"], true);
    assert_eq!(meta["docent/origin"], json!({"server": "one", "tool": "echo"}));
    assert_eq!(scripts.of("tools/call")[0]["params"]["name"], "echo");
}

#[tokio::test]
async fn an_error_keeps_code_message_and_data_and_names_the_server() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put(
        "one",
        session(json!([tool("echo")]), |message| {
            let error = json!({"code": -32042, "message": "no", "data": {"why": "so"}});
            CallBehavior::Says(vec![json!({"jsonrpc": "2.0", "id": message["id"], "error": error})])
        }),
    );
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let Err(ToolError::Refused { code, message, data }) =
        call(&hub, "one__echo", &no_client()).await
    else {
        panic!()
    };
    assert_eq!((code, message.as_str()), (-32042, "no"));
    assert_eq!(data, Some(json!({"why": "so", "server": "one"})));
}

#[tokio::test]
async fn an_error_names_the_server_whatever_its_data_are() {
    for (said, want) in [
        (json!(null), json!({"server": "one"})),
        (json!("so"), json!({"server": "one", "data": "so"})),
        (json!([1, 2]), json!({"server": "one", "data": [1, 2]})),
        (json!({"server": "one", "why": "so"}), json!({"server": "one", "why": "so"})),
        (json!({"server": "two"}), json!({"server": "one", "serverSaid": "two"})),
    ] {
        let scripts = Arc::new(TestWorkerStarter::default());
        scripts.put(
            "one",
            session(json!([tool("echo")]), move |message| {
                let error = json!({"code": -32042, "message": "no", "data": said});
                CallBehavior::Says(vec![
                    json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
                ])
            }),
        );
        let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
        let Err(ToolError::Refused { data, .. }) = call(&hub, "one__echo", &no_client()).await
        else {
            panic!()
        };
        assert_eq!(data, Some(want));
    }
}

#[tokio::test]
async fn requests_are_numbered_one_after_another() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("a")]), |message| text(message, "ok")));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    for _ in 0..3 {
        call(&hub, "one__a", &no_client()).await.unwrap();
    }
    let heard = scripts.heard.lock().unwrap();
    let ids: Vec<u64> = heard.iter().filter_map(|message| message["id"].as_u64()).collect();
    assert!(ids.len() >= 5 && ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
}

#[tokio::test]
async fn answers_out_of_order_reach_their_own_calls() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let held = Arc::new(Mutex::new(Vec::new()));
    scripts.put("one", session(json!([tool("a"), tool("b")]), move |message| {
        let mut held = held.lock().unwrap();
        held.push(json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [{"type": "text", "text": message["params"]["name"]}]}}));
        if held.len() < 2 {
            return CallBehavior::Says(Vec::new());
        }
        CallBehavior::Says(held.drain(..).rev().collect())
    }));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let (first, second) = (no_client(), no_client());
    let (a, b) = tokio::join!(call(&hub, "one__a", &first), call(&hub, "one__b", &second));
    assert_eq!((words(&a.unwrap()), words(&b.unwrap())), ("a".into(), "b".into()));
}

#[tokio::test]
async fn only_what_may_be_repeated_is_tried_again() {
    for (annotations, want) in
        [(json!({"readOnlyHint": true}), 2), (json!({"idempotentHint": true}), 2), (json!({}), 1)]
    {
        let scripts = Arc::new(TestWorkerStarter::default());
        let mut definition = tool("act");
        definition["annotations"] = annotations;
        let calls = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&calls);
        scripts.put(
            "one",
            session(json!([definition]), move |message| {
                let mut calls = counted.lock().unwrap();
                *calls += 1;
                if *calls == 1 { CallBehavior::Ends } else { text(message, "done") }
            }),
        );
        let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
        let ended = call(&hub, "one__act", &no_client()).await;
        assert_eq!((*calls.lock().unwrap(), ended.is_ok()), (want, want == 2));
        if let Err(error) = ended {
            assert!(error.to_string().contains("the server `one`"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_and_the_server_goes_on() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put(
        "one",
        session(json!([tool("slow"), tool("quick")]), |message| {
            if message["params"]["name"] == "slow" {
                CallBehavior::Says(Vec::new())
            } else {
                text(message, "quick")
            }
        }),
    );
    let mut short = spec("one");
    short.timeout = Duration::from_millis(50);
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![short]);
    let error = call(&hub, "one__slow", &no_client()).await.unwrap_err();
    assert!(error.to_string().contains("did not answer within 0.05 s"), "{error}");
    until(|| !scripts.of("notifications/cancelled").is_empty()).await;
    let slow = scripts.of("tools/call")[0]["id"].clone();
    assert_eq!(scripts.of("notifications/cancelled")[0]["params"]["requestId"], slow);
    assert_eq!(words(&call(&hub, "one__quick", &no_client()).await.unwrap()), "quick");
    assert_eq!(*scripts.starts.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_task_reports_progress_until_its_result_arrives() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let mut definition = tool("task");
    definition["execution"] = json!({"taskSupport": "required"});
    let session = session(json!([definition]), |message| {
        let token = &message["params"]["_meta"]["progressToken"];
        let said = |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
        let task = json!({"taskId": "t1", "status": "working"});
        CallBehavior::Says(vec![
            json!({"jsonrpc": "2.0", "id": message["id"], "result": {"task": task}}),
            said(
                "notifications/tasks/status",
                json!({"taskId": "t1", "status": "working", "statusMessage": "half"}),
            ),
            said("notifications/tasks/status", json!({"taskId": "t2", "status": "working"})),
            said("notifications/progress", json!({"progressToken": token, "progress": 1})),
            said("notifications/tasks/status", json!({"taskId": "t1", "status": "completed"})),
        ])
    });
    scripts.put("one", move |message: &Value| match message["method"].as_str() {
        Some("tasks/result") => text(message, "done"),
        _ => session(message),
    });
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let person = Arc::new(ScriptedClient::default());
    assert_eq!(words(&call(&hub, "one__task", &context(&person)).await.unwrap()), "done");
    assert_eq!(*person.steps.lock().unwrap(), [0.001, 1.0, 1.001]);
}

#[tokio::test]
async fn progress_is_forwarded_and_restarts_the_timeout() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("slow")]), |_| CallBehavior::Says(Vec::new())));
    let mut short = spec("one");
    short.timeout = Duration::from_millis(400);
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![short]);
    let person = Arc::new(ScriptedClient::default());
    let running = {
        let (hub, person) = (Arc::clone(&hub), Arc::clone(&person));
        tokio::spawn(async move { call(&hub, "one__slow", &context(&person)).await })
    };
    until(|| !scripts.of("tools/call").is_empty()).await;
    let asked = scripts.of("tools/call")[0].clone();
    let token = asked["params"]["_meta"]["progressToken"].clone();
    for step in 1..=4 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        scripts.say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step}}));
    }
    scripts.say(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"content": [{"type": "text", "text": "late"}]}}));
    assert_eq!(words(&running.await.unwrap().unwrap()), "late");
    assert_eq!(*person.steps.lock().unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

/// Runs on a paused clock, so that no progress arrives too late.
#[tokio::test(start_paused = true)]
async fn a_server_that_reports_progress_for_ever_is_ended_at_a_limit() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("slow")]), |_| CallBehavior::Says(Vec::new())));
    for (max_timeout, want) in [(None, 50), (Some(Duration::from_secs(20)), 20)] {
        let limited = ServerSpec { max_timeout, ..spec("one") };
        let hub = hub(&scripts, ServerStateStore::disabled(), vec![limited]);
        tools(&hub).await;
        let (calls, cancelled) =
            (scripts.of("tools/call").len(), scripts.of("notifications/cancelled").len());
        let (person, begin) = (Arc::new(ScriptedClient::default()), tokio::time::Instant::now());
        let running = {
            let (hub, person) = (Arc::clone(&hub), Arc::clone(&person));
            tokio::spawn(async move { call(&hub, "one__slow", &context(&person)).await })
        };
        until(|| scripts.of("tools/call").len() > calls).await;
        let asked = scripts.of("tools/call").pop().unwrap();
        let token = asked["params"]["_meta"]["progressToken"].clone();
        let mut step = 0;
        while !running.is_finished() {
            step += 1;
            assert!(step < 100, "it is not ended");
            scripts.say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step}}));
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let error = running.await.unwrap().unwrap_err().to_string();
        assert!(error.contains(&format!("did not answer within {want} s")), "{error}");
        assert!(error.contains("`max_timeout_ms`"), "{error}");
        assert_eq!(begin.elapsed().as_secs(), want);
        until(|| scripts.of("notifications/cancelled").len() > cancelled).await;
        hub.close().await;
    }
}

/// Sends progress of one request until the server is stopped.
async fn report_progress(scripts: &TestWorkerStarter, token: &Value, count: usize) {
    for step in 0..count {
        let params = json!({"progressToken": token, "progress": step});
        let message =
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        until(|| {
            let mouths = scripts.mouths.lock().unwrap();
            let mouth = mouths.last().unwrap();
            mouth.is_closed() || mouth.try_send(message.clone()).is_ok()
        })
        .await;
    }
}

/// Runs on a paused clock.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_stops_reporting_an_ended_call_is_ended_and_started_again() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let act = |message: &Value| match message["params"]["name"].as_str() {
        Some("quick") => text(message, "done"),
        _ => CallBehavior::Says(Vec::new()),
    };
    scripts.put("one", session(json!([tool("slow"), tool("quick")]), act));
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let error = call(&hub, "one__slow", &context(&Arc::default())).await.unwrap_err();
    assert!(error.to_string().contains("did not answer within 5 s"), "{error}");
    let token = scripts.of("tools/call")[0]["params"]["_meta"]["progressToken"].clone();
    // Each call resets the count: late messages are not a reason to stop a server that is in use.
    for _ in 0..3 {
        report_progress(&scripts, &token, 900).await;
        assert_eq!(words(&call(&hub, "one__quick", &no_client()).await.unwrap()), "done");
    }
    assert_eq!(*scripts.starts.lock().unwrap(), 1);
    report_progress(&scripts, &token, 1_001).await;
    until(|| scripts.mouths.lock().unwrap().last().unwrap().is_closed()).await;
    assert_eq!(words(&call(&hub, "one__quick", &no_client()).await.unwrap()), "done");
    assert_eq!(*scripts.starts.lock().unwrap(), 2);
    hub.close().await;
}

#[tokio::test]
async fn an_answer_is_kept_for_as_long_as_its_server_says() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put(
        "one",
        session(json!([tool("kept"), tool("fresh")]), |message| {
            let mut answer = json!({"content": [{"type": "text", "text": "x"}]});
            if message["params"]["name"] == "kept" {
                answer["ttlMs"] = json!(60_000);
            }
            result(message, answer)
        }),
    );
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    for name in ["one__kept", "one__kept", "one__fresh", "one__fresh"] {
        assert_eq!(words(&call(&hub, name, &no_client()).await.unwrap()), "x");
    }
    let names: Vec<_> =
        scripts.of("tools/call").iter().map(|call| call["params"]["name"].clone()).collect();
    assert_eq!(names, ["kept", "fresh", "fresh"]);
}

/// How often the server is called when two clients call a tool twice each.
async fn asked(annotations: Value, answer: Value, cache: Option<Duration>) -> usize {
    let scripts = Arc::new(TestWorkerStarter::default());
    let mut definition = tool("act");
    definition["annotations"] = annotations;
    scripts
        .put("one", session(json!([definition]), move |message| result(message, answer.clone())));
    let mut spec = spec("one");
    spec.cache = cache;
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec]);
    for name in ["ann", "bob", "ann", "bob"] {
        let person = Arc::new(ScriptedClient { name: name.into(), ..ScriptedClient::default() });
        call(&hub, "one__act", &context(&person)).await.unwrap();
    }
    scripts.of("tools/call").len()
}

#[tokio::test]
async fn an_answer_is_kept_for_whom_it_may_be_kept() {
    let minute = Some(Duration::from_mins(1));
    let (plain, reads) = (json!({}), json!({"readOnlyHint": true}));
    let writes = [
        json!({"readOnlyHint": false}),
        json!({"destructiveHint": true}),
        json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true}),
    ];
    let text = json!({"content": [{"type": "text", "text": "x"}]});
    let with = |more: Value| {
        let mut answer = text.clone();
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        answer
    };
    let kept = with(json!({"ttlMs": 60_000}));
    let public = with(json!({"ttlMs": 60_000, "cacheScope": "public"}));
    for (why, annotations, answer, cache, want) in [
        ("no one allows caching", &plain, &text, None, 4),
        ("the server says so", &plain, &kept, None, 2),
        ("it is for others too", &plain, &public, None, 1),
        (
            "it is for one client",
            &plain,
            &with(json!({"ttlMs": 60_000, "cacheScope": "private"})),
            None,
            2,
        ),
        ("for no time", &plain, &with(json!({"ttlMs": 0})), None, 4),
        ("it only reads, and is configured", &reads, &text, minute, 2),
        ("it only reads, and is not", &reads, &text, None, 4),
        ("it does not say that it only reads", &plain, &text, minute, 4),
        ("it failed", &plain, &with(json!({"ttlMs": 60_000, "isError": true})), None, 4),
        ("it failed, and is configured", &reads, &with(json!({"isError": true})), minute, 4),
        ("it writes", &writes[0], &kept, minute, 4),
        ("it destroys", &writes[1], &public, minute, 4),
        ("it writes, once or often", &writes[2], &public, minute, 4),
    ] {
        assert_eq!(asked(annotations.clone(), answer.clone(), cache).await, want, "{why}");
    }
}

#[tokio::test]
async fn what_is_kept_is_forgotten_when_the_server_says_that_things_changed() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put(
        "one",
        session(json!([tool("kept")]), |message| {
            result(message, json!({"content": [{"type": "text", "text": "x"}], "ttlMs": 60_000}))
        }),
    );
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec("one")]);
    let twice = async |want: usize| {
        for _ in 0..2 {
            call(&hub, "one__kept", &no_client()).await.unwrap();
        }
        assert_eq!(scripts.of("tools/call").len(), want);
    };
    twice(1).await;
    scripts.say(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    until(|| scripts.of("tools/list").len() == 2).await;
    twice(2).await;
    let mut changes = hub.changes().unwrap();
    let params = json!({"uri": "a:b"});
    scripts.say(
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}),
    );
    wait_for_change(&mut changes, &ProviderChange::Updated("a:b".into())).await;
    twice(3).await;
}

#[tokio::test]
async fn tools_are_renamed_hidden_and_redescribed() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put(
        "one",
        session(json!([tool("a"), tool("b"), tool("drop_all")]), |message| text(message, "ok")),
    );
    let mut spec = spec("one");
    spec.rename.insert("a".into(), "alpha".into());
    spec.describe.insert("b".into(), "The second.".into());
    spec.hide.push("drop_*".into());
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![spec]);
    let tools = tools(&hub).await;
    assert_eq!(tools.keys().collect::<Vec<_>>(), ["alpha", "one__b"]);
    assert_eq!(tools["one__b"].info().description, "The second.");
    assert_eq!(words(&call(&hub, "alpha", &no_client()).await.unwrap()), "ok");
    assert_eq!(scripts.of("tools/call")[0]["params"]["name"], "a");
}

#[tokio::test]
async fn every_try_is_recorded_beside_the_request_that_it_is_for() {
    let scripts = Arc::new(TestWorkerStarter::default());
    let mut definition = tool("act");
    definition["annotations"] = json!({"readOnlyHint": true});
    let ended = Mutex::new(false);
    scripts.put(
        "one",
        session(json!([definition]), move |message| {
            let again = std::mem::replace(&mut *ended.lock().unwrap(), true);
            if again { text(message, "done") } else { CallBehavior::Ends }
        }),
    );
    let traffic = Traffic::new(str::to_owned);
    let hub = hub_with(
        &scripts,
        ServerStateStore::disabled(),
        vec![spec("one")],
        Some(Arc::clone(&traffic)),
    );
    // The handshake is not recorded, but its outcome is known.
    tools(&hub).await;
    traffic.set(Capture { on: true, payloads: false });
    let person = Arc::new(ScriptedClient { recorded: Some(4711), ..ScriptedClient::default() });
    call(&hub, "one__act", &context(&person)).await.unwrap();
    let entries = traffic.read(0, 1000).entries;
    let calls: Vec<_> = entries
        .iter()
        .filter(|entry| entry.method.as_deref() == Some("tools/call"))
        .map(|entry| (entry.direction, entry.kind, entry.attempt, entry.parent))
        .collect();
    let parent = Some(4711);
    assert_eq!(
        calls,
        [
            (Direction::Out, TrafficKind::Request, 1, parent),
            (Direction::Out, TrafficKind::Request, 2, parent),
            (Direction::In, TrafficKind::Response, 2, parent),
        ]
    );
    assert!(entries.iter().any(|entry| entry.kind == TrafficKind::Closed), "{entries:?}");
    let first = entries.iter().find(|entry| entry.kind == TrafficKind::Request).unwrap();
    assert_eq!((&*first.peer, first.era.as_deref()), ("one", Some("2025-06-18")));
}

#[tokio::test]
async fn no_more_calls_run_at_once_than_a_server_is_given() {
    let scripts = Arc::new(TestWorkerStarter::default());
    scripts.put("one", session(json!([tool("wait")]), |_| CallBehavior::Says(Vec::new())));
    let mut two = spec("one");
    two.concurrency = 2;
    let hub = hub(&scripts, ServerStateStore::disabled(), vec![two]);
    let running: Vec<_> = (0..5)
        .map(|_| {
            let hub = Arc::clone(&hub);
            tokio::spawn(async move { call(&hub, "one__wait", &no_client()).await })
        })
        .collect();
    for done in 0..5 {
        let open = (done + 2).min(5);
        until(|| scripts.of("tools/call").len() == open).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        let calls = scripts.of("tools/call");
        assert_eq!(calls.len(), open, "after {done} answers");
        let content = json!([{"type": "text", "text": "ok"}]);
        scripts.say(
            json!({"jsonrpc": "2.0", "id": calls[done]["id"], "result": {"content": content}}),
        );
    }
    for call in running {
        assert_eq!(words(&call.await.unwrap().unwrap()), "ok");
    }
}
