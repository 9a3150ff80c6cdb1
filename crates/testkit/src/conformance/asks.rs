//! Tools that need input from the client: sampling, elicitation, roots, one at a time and several at once.

use super::literal::{LiteralCallResult, bare, literal, text};
use docent_tool::{AnyTool, CallContext, ClientQuery, InputNeeded, Object, ToolError};
use futures::future::join_all;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn tools() -> Vec<Arc<dyn AnyTool>> {
    let mut tools = vec![
        literal(
            "test_sampling",
            "Asks the client's model",
            one_text("prompt", "The prompt to send"),
            sampling,
        ),
        literal(
            "test_elicitation",
            "Asks the person",
            one_text("message", "The message to show"),
            elicitation,
        ),
        bare(
            "test_elicitation_sep1034_defaults",
            "Asks the person, with a default for each field",
            |context| {
                elicit_and_describe(
                    context,
                    "Please review and update the form fields with defaults",
                    with_defaults(),
                )
            },
        ),
        bare(
            "test_elicitation_sep1330_enums",
            "Asks the person to choose, in each way a choice is written",
            |context| {
                elicit_and_describe(
                    context,
                    "Please select options from the enum fields",
                    with_choices(),
                )
            },
        ),
        bare(
            "test_missing_capability",
            "Refuses a client without sampling",
            |context: CallContext| async move {
                context.sample("question", sample_params("Are you there?")).await?;
                Ok(text("Required capability declared"))
            },
        ),
        bare("test_streaming_elicitation", "Asks for a value", |context: CallContext| async move {
            let answer = ask_until_answered(
                &context,
                "streaming_elicitation",
                form("Provide a value", "value"),
            )
            .await?;
            Ok(text(format!("Value: {}", field(&answer, "value"))))
        }),
    ];
    tools.extend(rounds());
    tools
}

/// Tools of the revision in which a call returns its questions and is repeated with the answers.
fn rounds() -> Vec<Arc<dyn AnyTool>> {
    vec![
        bare(
            "test_input_required_result_elicitation",
            "Needs a name",
            |context: CallContext| async move {
                let answer = ask_until_answered(&context, "user_name", name_form()).await?;
                Ok(text(format!("Hello, {}!", field(&answer, "name"))))
            },
        ),
        bare(
            "test_input_required_result_sampling",
            "Needs the client's model",
            |context: CallContext| async move {
                let question = ClientQuery::Sample(sample_params("What is the capital of France?"));
                let answer = ask_until_answered(&context, "capital_question", question).await?;
                Ok(text(format!("Sampling response: {}", sampled_text(&answer))))
            },
        ),
        bare(
            "test_input_required_result_list_roots",
            "Needs the client's roots",
            |context: CallContext| async move {
                let answer =
                    ask_until_answered(&context, "client_roots", ClientQuery::Roots).await?;
                Ok(text(format!("Client roots: {}", root_uris(&answer).join(", "))))
            },
        ),
        bare(
            "test_input_required_result_request_state",
            "Needs a yes, and its own state back",
            confirm_with_state,
        ),
        bare(
            "test_input_required_result_tampered_state",
            "Needs a yes, and its own state back untouched",
            confirm_with_state,
        ),
        bare(
            "test_input_required_result_multiple_inputs",
            "Needs three answers at once",
            three_at_once,
        ),
        bare(
            "test_input_required_result_multi_round",
            "Needs two answers, one after the other",
            two_rounds,
        ),
        bare(
            "test_input_required_result_capabilities",
            "Needs what the client is able to give",
            what_the_client_can,
        ),
    ]
}

fn one_text(name: &str, about: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string", "description": about}}, "required": [name]})
}

async fn sampling(args: Object, context: CallContext) -> LiteralCallResult {
    let prompt = args.get("prompt").and_then(Value::as_str).unwrap_or_default();
    let answer = context.sample("prompt", sample_params(prompt)).await?;
    Ok(text(format!("LLM response: {}", sampled_text(&answer))))
}

async fn elicitation(args: Object, context: CallContext) -> LiteralCallResult {
    let message = args.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    let schema = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"}
        },
        "required": ["username", "email"]
    });
    let answer =
        context.elicit("user", json!({"message": message, "requestedSchema": schema})).await?;
    Ok(text(format!("User response: {}", describe_answer(&answer))))
}

async fn elicit_and_describe(
    context: CallContext,
    message: &'static str,
    schema: Value,
) -> LiteralCallResult {
    let answer =
        context.elicit("form", json!({"message": message, "requestedSchema": schema})).await?;
    Ok(text(format!("Elicitation completed: {}", describe_answer(&answer))))
}

fn with_defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string", "description": "User status",
                "enum": ["active", "inactive", "pending"], "default": "active"
            },
            "verified": {"type": "boolean", "description": "Verification status", "default": true}
        },
        "required": []
    })
}

fn with_choices() -> Value {
    let titled = |word: &str| {
        json!([
            {"const": "value1", "title": format!("First {word}")},
            {"const": "value2", "title": format!("Second {word}")},
            {"const": "value3", "title": format!("Third {word}")}
        ])
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}}
        },
        "required": []
    })
}

async fn confirm_with_state(context: CallContext) -> LiteralCallResult {
    let question = ClientQuery::Elicit(json!({
        "message": "Please confirm",
        "requestedSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    }));
    with_state("confirm", ask_until_answered(&context, "confirm", question).await)?;
    Ok(text(match context.state() {
        Some(state) if state == "confirm" => "Confirmed: state-ok",
        Some(_) => "Confirmed: state-changed",
        None => "Confirmed: answered in place",
    }))
}

async fn three_at_once(context: CallContext) -> LiteralCallResult {
    let answers = with_state("gathering", gather(&context, three_questions()).await?.all())?;
    Ok(text(format!("All {} inputs received", answers.len())))
}

async fn two_rounds(context: CallContext) -> LiteralCallResult {
    // The answers of a round arrive only with the next one, so the state records which questions were asked.
    if context.state().as_deref() != Some("step2") {
        let first = form("Step 1: What is your name?", "name");
        with_state("step1", ask_until_answered(&context, "step1", first).await)?;
    }
    let second = form("Step 2: What is your favorite color?", "color");
    let answer = with_state("step2", ask_until_answered(&context, "step2", second).await)?;
    Ok(text(format!("Multi-round flow complete: {}", field(&answer, "color"))))
}

async fn what_the_client_can(context: CallContext) -> LiteralCallResult {
    let GatheredAnswers { answers, missing, .. } = gather(&context, three_questions()).await?;
    if missing.is_empty() {
        return Ok(text(format!("Capability-aware flow complete with {} answers", answers.len())));
    }
    Err(ToolError::NeedsInput(InputNeeded { asks: missing, state: None }))
}

fn three_questions() -> Vec<(&'static str, ClientQuery)> {
    vec![
        ("user_name", name_form()),
        ("greeting", ClientQuery::Sample(sample_params("Generate a greeting"))),
        ("client_roots", ClientQuery::Roots),
    ]
}

/// The results of several questions.
pub(super) struct GatheredAnswers {
    /// In the order asked.
    answers: Vec<Value>,
    /// Questions to ask before the call can continue.
    missing: Vec<(String, ClientQuery)>,
    /// A capability that the client lacks for one of them.
    lacking: Option<&'static str>,
}

impl GatheredAnswers {
    /// Returns all answers, or the error that requests the missing input.
    pub(super) fn all(self) -> Result<Vec<Value>, ToolError> {
        if let Some(capability) = self.lacking {
            return Err(ToolError::ClientLacks(capability));
        }
        if self.missing.is_empty() {
            return Ok(self.answers);
        }
        Err(ToolError::NeedsInput(InputNeeded { asks: self.missing, state: None }))
    }
}

/// Asks several questions at the same time.
pub(super) async fn gather(
    context: &CallContext,
    questions: Vec<(&str, ClientQuery)>,
) -> Result<GatheredAnswers, ToolError> {
    let asked = questions.into_iter().map(|(key, ask)| ask_until_answered(context, key, ask));
    let mut gathered = GatheredAnswers { answers: Vec::new(), missing: Vec::new(), lacking: None };
    for answer in join_all(asked).await {
        match answer {
            Ok(answer) => gathered.answers.push(answer),
            Err(ToolError::NeedsInput(needed)) => gathered.missing.extend(needed.asks),
            Err(ToolError::ClientLacks(capability)) => gathered.lacking = Some(capability),
            Err(other) => return Err(other),
        }
    }
    Ok(gathered)
}

/// Asks one question, and asks again if the answer is not an object.
pub(super) async fn ask_until_answered(
    context: &CallContext,
    key: &str,
    ask: ClientQuery,
) -> Result<Value, ToolError> {
    let answer = match ask.clone() {
        ClientQuery::Sample(params) => context.sample(key, params).await?,
        ClientQuery::Elicit(params) => context.elicit(key, params).await?,
        ClientQuery::Roots => context.client_roots(key).await?,
    };
    if answer.is_object() {
        return Ok(answer);
    }
    Err(ToolError::NeedsInput(InputNeeded { asks: vec![(key.to_owned(), ask)], state: None }))
}

/// Makes the client return this state with the answers.
fn with_state<T>(state: &str, answer: Result<T, ToolError>) -> Result<T, ToolError> {
    answer.map_err(|error| match error {
        ToolError::NeedsInput(needed) => {
            ToolError::NeedsInput(InputNeeded { state: Some(state.to_owned()), ..needed })
        }
        other => other,
    })
}

fn sample_params(prompt: &str) -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": 100})
}

/// Asks the user for one text.
pub(super) fn form(message: &str, name: &str) -> ClientQuery {
    ClientQuery::Elicit(json!({
        "message": message,
        "requestedSchema": {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    }))
}

/// Asks for the user's name.
pub(super) fn name_form() -> ClientQuery {
    form("What is your name?", "name")
}

/// Returns a text that the user filled in.
pub(super) fn field<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer.pointer(&format!("/content/{name}")).and_then(Value::as_str).unwrap_or("(none)")
}

/// Returns the text of one content or of a list, depending on the revision.
fn sampled_text(answer: &Value) -> &str {
    let content = &answer["content"];
    let first = content.get(0).unwrap_or(content);
    first["text"].as_str().unwrap_or("(no text)")
}

fn root_uris(answer: &Value) -> Vec<&str> {
    let roots = answer["roots"].as_array().map(Vec::as_slice).unwrap_or_default();
    roots.iter().filter_map(|root| root["uri"].as_str()).collect()
}

fn describe_answer(answer: &Value) -> String {
    let action = answer["action"].as_str().unwrap_or("none");
    format!("action={action}, content={}", answer.get("content").unwrap_or(&Value::Null))
}
