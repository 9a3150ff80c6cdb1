use super::*;
use crate::CallRecorder;
use docent_tool::{AnswerBlock, Contents, InputNeeded, SyslogLevel, ToolOutcome, no_client};
use serde_json::{Value, json};
use std::collections::HashSet;

fn tool(name: &str) -> Arc<dyn AnyTool> {
    let found = ConformanceFixture::new().tools().into_iter().find(|tool| tool.name() == name);
    found.unwrap_or_else(|| panic!("no tool is named {name}"))
}

async fn call(name: &str, args: Value, context: &CallContext) -> Result<ToolOutcome, ToolError> {
    tool(name).call(args.as_object().unwrap().clone(), context).await
}

fn text_of(outcome: &ToolOutcome) -> &str {
    match outcome.content.as_slice() {
        [AnswerBlock::Text { text, .. }] => text,
        other => panic!("not one text: {other:?}"),
    }
}

fn needed(result: Result<ToolOutcome, ToolError>) -> InputNeeded {
    match result {
        Err(ToolError::NeedsInput(needed)) => needed,
        other => panic!("expected a request for input: {other:?}"),
    }
}

fn keys(needed: &InputNeeded) -> Vec<&str> {
    needed.asks.iter().map(|(key, _)| key.as_str()).collect()
}

#[test]
fn every_name_is_offered_once() {
    let fixture = ConformanceFixture::new();
    let names: Vec<_> = fixture.tools().iter().map(|tool| tool.name().to_owned()).collect();
    let distinct: HashSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
    for name in [
        "echo",
        "test_simple_text",
        "test_input_required_result_capabilities",
        "multi_input",
        "touch_resource",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is missing");
    }
}

#[tokio::test]
async fn texts_are_word_for_word() {
    let cases = [
        ("test_simple_text", json!({}), "This is a simple text response for testing."),
        ("echo", json!({"message": "hello"}), "hello"),
        ("greet", json!({"name": "World"}), "Hello, World!"),
        ("sleep", json!({"ms": 1}), "slept 1 ms"),
        ("big", json!({"bytes": 20}), "000000000000000\n0000"),
        ("test_custom_header", json!({"value": "v"}), "v"),
        ("slow_compute", json!({"seconds": 0, "label": "x"}), "slow_compute(x) done after 0 s"),
    ];
    for (name, args, want) in cases {
        let outcome = call(name, args, &no_client()).await.unwrap();
        assert_eq!(text_of(&outcome), want, "{name}");
    }
}

#[tokio::test]
async fn a_call_reports_logs_and_progress() {
    let (recorder, context) = CallRecorder::default().context();
    call("test_tool_with_logging", json!({}), &context).await.unwrap();
    call("test_tool_with_progress", json!({}), &context).await.unwrap();
    call("pieces", json!({"count": 2}), &context).await.unwrap();
    let calls = recorder.recorded();
    assert_eq!(calls.log.len(), 3);
    assert_eq!(calls.log[0], (SyslogLevel::Info, json!("Tool execution started")));
    let steps: Vec<_> = calls.progress.iter().map(|step| step.done).collect();
    assert_eq!(steps, [0.0, 50.0, 100.0]);
    assert_eq!(calls.emitted, [AnswerBlock::text("piece 1"), AnswerBlock::text("piece 2")]);
}

#[tokio::test]
async fn one_question_is_asked_until_it_is_answered() {
    let name = json!({"action": "accept", "content": {"name": "Alice"}});
    let tool = "test_input_required_result_elicitation";
    let (_, context) = CallRecorder::default().context();
    assert_eq!(keys(&needed(call(tool, json!({}), &context).await)), ["user_name"]);
    let (_, context) = CallRecorder::default().answer("user_name", json!(12345)).context();
    assert_eq!(keys(&needed(call(tool, json!({}), &context).await)), ["user_name"]);
    let (_, context) = CallRecorder::default().answer("user_name", name).context();
    assert_eq!(text_of(&call(tool, json!({}), &context).await.unwrap()), "Hello, Alice!");
}

#[tokio::test]
async fn several_questions_are_asked_at_once() {
    let tool = "test_input_required_result_multiple_inputs";
    let (_, context) = CallRecorder::default().context();
    let needs = needed(call(tool, json!({}), &context).await);
    assert_eq!(keys(&needs), ["user_name", "greeting", "client_roots"]);
    assert_eq!(needs.state.as_deref(), Some("gathering"));
    let (_, context) = CallRecorder::default().without_capability("roots").context();
    assert!(matches!(call(tool, json!({}), &context).await, Err(ToolError::ClientLacks("roots"))));

    let tool = "test_input_required_result_capabilities";
    let (_, context) = CallRecorder::default()
        .without_capability("roots")
        .without_capability("elicitation")
        .context();
    assert_eq!(keys(&needed(call(tool, json!({}), &context).await)), ["greeting"]);
}

#[tokio::test]
async fn rounds_continue_from_their_state() {
    let tool = "test_input_required_result_multi_round";
    let answer = json!({"action": "accept", "content": {"name": "Alice", "color": "Blue"}});
    let (_, context) = CallRecorder::default().context();
    let first = needed(call(tool, json!({}), &context).await);
    assert_eq!((keys(&first), first.state.as_deref()), (vec!["step1"], Some("step1")));
    let (_, context) =
        CallRecorder::default().answer("step1", answer.clone()).state("step1").context();
    let second = needed(call(tool, json!({}), &context).await);
    assert_eq!((keys(&second), second.state.as_deref()), (vec!["step2"], Some("step2")));
    let (_, context) = CallRecorder::default().answer("step2", answer).state("step2").context();
    assert_eq!(
        text_of(&call(tool, json!({}), &context).await.unwrap()),
        "Multi-round flow complete: Blue"
    );
}

#[tokio::test]
async fn a_cancelled_call_stops() {
    for (name, args) in
        [("sleep", json!({"ms": 600_000})), ("slow_compute", json!({"seconds": 600}))]
    {
        let (_, context) = CallRecorder::default().context();
        context.cancel_token().cancel();
        let result = call(name, args, &context).await;
        assert!(matches!(result, Err(ToolError::Stopped(_))), "{name}: {result:?}");
    }
}

#[tokio::test]
async fn a_touch_changes_the_resource_and_notifies() {
    let fixture = ConformanceFixture::new();
    let mut changes = fixture.changes().unwrap();
    let touch = fixture.tools().into_iter().find(|tool| tool.name() == "touch_resource").unwrap();
    let args = json!({"uri": "test://tick"});
    touch.call(args.as_object().unwrap().clone(), &no_client()).await.unwrap();
    assert_eq!(changes.recv().await.unwrap(), ProviderChange::Updated("test://tick".into()));
    let contents = fixture.read("test://tick", &no_client()).await.unwrap().unwrap().contents;
    assert!(matches!(&contents[..], [Contents::Text { text, .. }] if text == "1"), "{contents:?}");
}

#[tokio::test]
async fn every_listed_resource_and_prompt_exists() {
    let fixture = ConformanceFixture::new();
    for resource in fixture.resources().await {
        assert!(fixture.read(&resource.uri, &no_client()).await.is_some(), "{}", resource.uri);
        assert!(fixture.watch(&resource.uri), "{}", resource.uri);
    }
    assert!(fixture.read("test://template/7/data", &no_client()).await.is_some());
    assert!(fixture.read("test://nothing", &no_client()).await.is_none());
    let answer = json!({"action": "accept", "content": {"context": "c"}});
    let (_, context) = CallRecorder::default().answer("user_context", answer).context();
    for prompt in fixture.prompts() {
        let answer = fixture.prompt(&prompt.name, &Object::new(), &context).await.unwrap();
        assert!(!answer.messages.is_empty(), "{}", prompt.name);
    }
    let target = CompletionTarget::Prompt("test_prompt_with_arguments".into());
    assert_eq!(
        fixture.complete(&CompletionRequest::new(target, "arg1", "par")).await.values,
        ["paris", "park", "party"]
    );
}
