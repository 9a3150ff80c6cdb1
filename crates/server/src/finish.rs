//! How a call ended, as the client reads it: content, errors, and the size cap.

use crate::{
    catalogue::Route, convert, hex, metrics::Outcome, paging, results::Results,
    screening::Screening, validate::Problem,
};
use docent_tool::{Block, Failure, ToolError};
use docent_wire::Dialect;
use rmcp::{
    ErrorData,
    model::{CallToolResult, ClientCapabilities, ContentBlock, ErrorCode, MetaObject},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Everything that decides how an answer looks.
pub(crate) struct Finish<'a> {
    pub(crate) route: &'a Route,
    pub(crate) dialect: Dialect,
    pub(crate) owner: &'a Arc<str>,
    pub(crate) results: &'a Results,
    pub(crate) screening: &'a Screening,
    pub(crate) page_bytes: usize,
    pub(crate) timeout: Duration,
    /// The rule that chose the time, if one did.
    pub(crate) timed_by: Option<&'a str>,
    /// Whether calls end because the server does.
    pub(crate) closing: bool,
    /// Whether the time of the call is up.
    pub(crate) overdue: bool,
}

/// Told of an answer that the server's end cut short.
const CLOSING: &str = "Partial result: the server is closing, and the call ended before everything was seen. \
     Ask again once the server is back.";

fn mark_partial(result: &mut CallToolResult) {
    match &mut result.structured_content {
        Some(Value::Object(structured)) => {
            structured.insert("partial".into(), true.into());
        }
        Some(_) => {}
        none => *none = Some(json!({"partial": true})),
    }
}

/// An answer, and what the audit line says of it.
pub(crate) type Finished = (CallToolResult, Outcome, usize);

impl Finish<'_> {
    /// The tool's own answer, after the pieces it has handed over.
    pub(crate) fn answer(&self, outcome: docent_tool::Outcome, emitted: Vec<Block>) -> Finished {
        let docent_tool::Outcome { content, structured, is_error, partial, meta } = outcome;
        let mut blocks: Vec<ContentBlock> =
            Vec::with_capacity(emitted.len() + content.len() + usize::from(partial));
        blocks.extend(emitted.into_iter().chain(content).map(convert::content));
        let mut result = CallToolResult::success(blocks);
        result.is_error = Some(is_error);
        result.structured_content = structured;
        result.meta = meta.map(MetaObject);
        if partial {
            // A tool whose time is not up has said itself what is missing.
            if self.overdue || self.closing {
                self.tell_partial(&mut result);
            }
            mark_partial(&mut result);
        }
        let outcome = match (is_error, partial) {
            (true, _) => Outcome::Error,
            (false, true) => Outcome::Partial,
            (false, false) => Outcome::Ok,
        };
        self.cap(result, outcome)
    }

    /// The tool did not come back in time: what it has handed over is the answer.
    pub(crate) fn late(&self, emitted: Vec<Block>) -> Finished {
        let mut result =
            CallToolResult::success(emitted.into_iter().map(convert::content).collect());
        self.tell_partial(&mut result);
        mark_partial(&mut result);
        let structured = result.structured_content.as_ref();
        let promised = self
            .route
            .output
            .as_ref()
            .zip(structured)
            .is_none_or(|(output, value)| output.accepts(value));
        // A client that checks answers against the schema would refuse this one, unless it is told that it is no answer.
        result.is_error = Some(!promised);
        self.cap(result, Outcome::Partial)
    }

    fn tell_partial(&self, result: &mut CallToolResult) {
        let seconds = self.timeout.as_secs_f64();
        result.content.push(ContentBlock::text(if self.closing {
            CLOSING.to_owned()
        } else {
            let bound = self.bound();
            format!(
                "Partial result: the deadline of {seconds} s passed before everything was seen. \
                 Narrow the request, or raise {bound}."
            )
        }));
    }

    /// The setting that gave the call its time, or would give it more.
    fn bound(&self) -> String {
        if let Some(rule) = self.timed_by {
            return format!("timeout_ms of {rule}");
        }
        let Route { info, timeout, timeout_is_own, .. } = self.route;
        // What a tool takes by itself, and what a task has, gives way to what is said of the tool by name alone.
        if !timeout_is_own && info.patience.is_none() && *timeout == self.timeout {
            return "limits.tool_timeout_ms".to_owned();
        }
        let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let quote = if info.name.chars().all(is_bare) { "" } else { "\"" };
        format!("limits.tools.{quote}{}{quote}.timeout_ms", info.name)
    }

    fn cap(&self, mut result: CallToolResult, outcome: Outcome) -> Finished {
        self.screening.result(&mut result);
        let bytes = paging::weight(&result);
        if let Some((id, parts)) =
            paging::fit(&mut result, self.page_bytes, self.route.output.as_ref())
        {
            self.results.keep(&id, self.owner, parts);
        }
        (result, outcome, bytes)
    }

    /// Arguments that can't be used: told to the model or to the client, as the revision has it.
    pub(crate) fn bad_arguments(&self, problem: &Problem) -> Result<Finished, ErrorData> {
        if !self.dialect.bad_arguments_are_answers() {
            return Err(invalid_params(problem));
        }
        let mut error = problem.data();
        error["code"] = json!(-32602);
        error["kind"] = json!("invalid_arguments");
        error["message"] = json!(format!("argument {problem}"));
        Ok(self.cap(failed(format!("Error: argument {problem}"), &error), Outcome::Error))
    }

    /// The tool gave no answer.
    pub(crate) fn error(
        &self,
        error: ToolError,
        emitted: Vec<Block>,
    ) -> Result<Finished, ErrorData> {
        match error {
            ToolError::Argument { field, problem } => {
                self.bad_arguments(&Problem::new(field, problem))
            }
            ToolError::Failed(failure) => Ok(self.failure(&failure)),
            ToolError::Stopped(_) => Ok(self.late(emitted)),
            ToolError::ClientLacks(what) if self.dialect == Dialect::V2026_07_28 => {
                Err(lacks(what))
            }
            lacking @ ToolError::ClientLacks(_) => {
                let error =
                    json!({"code": -32000, "kind": "client_lacks", "message": lacking.to_string()});
                Ok(self.cap(failed(format!("Error: {lacking}"), &error), Outcome::Error))
            }
            ToolError::Refused { code, message, data } => {
                Err(ErrorData::new(ErrorCode(code), message, data))
            }
            ToolError::Bug(source) => Err(internal(&self.route.info.name, &chain(&*source))),
            other => Err(internal(&self.route.info.name, &other.to_string())),
        }
    }

    fn failure(&self, failure: &Failure) -> Finished {
        if let Some(source) = &failure.source {
            let cause = chain(&**source);
            tracing::debug!(target: "docent::tools", tool = self.route.info.name, cause, "a call failed");
        }
        let mut text = format!("Error: {}", failure.message);
        if let Some(hint) = &failure.hint {
            text.push('\n');
            text.push_str(hint);
        }
        self.cap(failed(text, &failure_data(failure)), Outcome::Error)
    }
}

fn failed(text: String, error: &Value) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!({"error": error}));
    result
}

fn failure_data(failure: &Failure) -> Value {
    json!({"code": failure.kind.code(), "kind": failure.kind.name(), "message": failure.message})
}

/// A bad parameter, as an error of the protocol.
pub(crate) fn invalid_params(problem: &Problem) -> ErrorData {
    ErrorData::invalid_params(format!("Invalid params: {problem}"), Some(problem.data()))
}

/// The client did not say that it can do what the request needs.
pub(crate) fn lacks(what: &'static str) -> ErrorData {
    let needed = json!({what: {}});
    let needed = serde_json::from_value::<ClientCapabilities>(needed).unwrap_or_default();
    ErrorData::missing_required_client_capability(needed)
}

/// Our bug. The client gets a reference, and the log gets the reference with what happened.
pub(crate) fn internal(place: &str, what: &str) -> ErrorData {
    let reference = hex::random::<4>();
    tracing::error!(target: "docent::tools", place, reference, what, "internal error");
    let message =
        format!("Internal error (reference {reference}); the server's log has the details");
    ErrorData::internal_error(message, Some(json!({"reference": reference})))
}

/// Why something other than a tool gave no answer, as an error of the protocol.
pub(crate) fn refusal(error: ToolError, place: &str, dialect: Dialect) -> ErrorData {
    match error {
        ToolError::Argument { field, problem } => invalid_params(&Problem::new(field, problem)),
        ToolError::Failed(failure) => {
            let data = failure_data(&failure);
            ErrorData::new(ErrorCode::INTERNAL_ERROR, failure.message, Some(data))
        }
        ToolError::ClientLacks(what) if dialect == Dialect::V2026_07_28 => lacks(what),
        ToolError::ClientLacks(_) => ErrorData::invalid_request(error.to_string(), None),
        ToolError::Stopped(_) => late(place),
        ToolError::Refused { code, message, data } => {
            ErrorData::new(ErrorCode(code), message, data)
        }
        ToolError::Bug(source) => internal(place, &chain(&*source)),
        other => internal(place, &other.to_string()),
    }
}

/// Nothing can be told of something that did not come back in time.
pub(crate) fn late(place: &str) -> ErrorData {
    let data = json!({"code": -32000, "kind": "deadline", "message": "the deadline passed"});
    ErrorData::internal_error(format!("{place} did not answer before the deadline"), Some(data))
}

/// An error with its causes.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{catalogue::Builder, metrics::Metrics};
    use docent_tool::{Answer, CallContext, FailureKind, Provider, Stop, Tool, erase};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeMap;

    struct Fixture;

    #[derive(Deserialize, JsonSchema)]
    struct Args {}

    #[derive(Serialize, JsonSchema)]
    struct Reply {
        word: String,
    }

    impl Tool for Fixture {
        const NAME: &'static str = "fixture";
        const TITLE: &'static str = "Fixture";
        const ABOUT: &'static str = "Does nothing.";
        type Args = Args;
        type Answer = Reply;
        async fn call(&self, _: Args, _: &CallContext) -> Result<Answer<Reply>, ToolError> {
            Err(ToolError::failed("never called"))
        }
    }

    struct One;
    impl Provider for One {
        fn key(&self) -> &'static str {
            "one"
        }
        fn tools(&self) -> Vec<Arc<dyn docent_tool::AnyTool>> {
            vec![erase(Fixture)]
        }
    }

    fn with<T>(
        dialect: Dialect,
        page_bytes: usize,
        act: impl FnOnce(&Finish<'_>, &Results) -> T,
    ) -> T {
        let providers: Vec<Arc<dyn Provider>> = vec![Arc::new(One)];
        let (catalogue, problems) =
            Builder::new(Duration::from_secs(30), BTreeMap::new(), BTreeMap::new())
                .build(&providers, &Metrics::default());
        assert!(problems.own.is_empty());
        let results = Results::new(Duration::from_mins(1));
        let route = catalogue.find("fixture").unwrap();
        let finish = Finish {
            route,
            dialect,
            owner: &"ann".into(),
            results: &results,
            screening: &Screening::default(),
            page_bytes,
            timeout: Duration::from_secs(30),
            timed_by: None,
            closing: false,
            overdue: false,
        };
        act(&finish, &results)
    }

    fn shown(result: &CallToolResult) -> Value {
        let mut value = serde_json::to_value(result).unwrap();
        value.as_object_mut().unwrap().remove("resultType");
        value
    }

    #[test]
    fn a_tool_with_time_left_says_itself_what_is_missing() {
        let outcome = docent_tool::Outcome {
            content: vec![Block::text("half of it")],
            structured: Some(json!({"word": "b"})),
            partial: true,
            ..docent_tool::Outcome::default()
        };
        let answer = |overdue| {
            with(Dialect::V2025_11_25, 1 << 20, |finish, _| {
                Finish { overdue, ..*finish }.answer(outcome.clone(), Vec::new()).0
            })
        };
        for (overdue, blocks) in [(false, 1), (true, 2)] {
            let result = answer(overdue);
            assert_eq!(result.content.len(), blocks, "{result:?}");
            assert_eq!(result.structured_content, Some(json!({"word": "b", "partial": true})));
        }
    }

    #[test]
    fn an_answer_says_whether_it_is_an_error() {
        let outcome = docent_tool::Outcome {
            content: vec![Block::text("b")],
            structured: Some(json!({"word": "b"})),
            ..docent_tool::Outcome::default()
        };
        let (result, outcome, bytes) = with(Dialect::V2024_11_05, 1 << 20, |finish, _| {
            finish.answer(outcome, vec![Block::text("a")])
        });
        let content = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        assert_eq!(
            shown(&result),
            json!({"content": content, "structuredContent": {"word": "b"}, "isError": false})
        );
        assert_eq!((outcome, bytes > 2), (Outcome::Ok, true));
    }

    #[test]
    fn a_partial_answer_says_so_twice() {
        let outcome = docent_tool::Outcome {
            structured: Some(json!({"word": "b"})),
            partial: true,
            ..docent_tool::Outcome::default()
        };
        let (result, outcome, _) = with(Dialect::V2025_11_25, 1 << 20, |finish, _| {
            Finish { overdue: true, ..*finish }.answer(outcome, vec![])
        });
        let value = shown(&result);
        assert_eq!(value["structuredContent"], json!({"word": "b", "partial": true}));
        assert!(
            value["content"][0]["text"].as_str().unwrap().contains("deadline of 30 s"),
            "{value}"
        );
        let text = value["content"][0]["text"].as_str().unwrap();
        assert!(text.ends_with("raise limits.tool_timeout_ms."), "{text}");
        assert_eq!((value["isError"].as_bool(), outcome), (Some(false), Outcome::Partial));
    }

    #[test]
    fn a_late_answer_is_what_was_handed_over() {
        let (result, outcome, _) = with(Dialect::V2025_11_25, 1 << 20, |finish, _| {
            finish.late(vec![Block::text("so far")])
        });
        let value = shown(&result);
        assert_eq!((&value["content"][0]["text"], outcome), (&json!("so far"), Outcome::Partial));
        assert_eq!(value["structuredContent"]["partial"], true);
        assert_eq!(value["isError"], false, "every answer may be partial by its schema");
    }

    #[test]
    fn bad_arguments_follow_the_dialect() {
        for dialect in Dialect::ALL {
            let error = || ToolError::argument("depth", "must be one of quick, deep");
            let got = with(dialect, 1 << 20, |finish, _| finish.error(error(), vec![]));
            match got {
                Err(error) => {
                    assert!(!dialect.bad_arguments_are_answers(), "{dialect:?}");
                    let data = error.data.unwrap();
                    assert_eq!((error.code.0, &data["parameter"]), (-32602, &json!("depth")));
                    assert_eq!(data["reason"], "must be one of quick, deep");
                }
                Ok((result, outcome, _)) => {
                    assert!(dialect.bad_arguments_are_answers(), "{dialect:?}");
                    let value = shown(&result);
                    assert_eq!((value["isError"].as_bool(), outcome), (Some(true), Outcome::Error));
                    assert!(
                        value["content"][0]["text"]
                            .as_str()
                            .unwrap()
                            .contains("`depth` must be one of")
                    );
                }
            }
        }
    }

    #[test]
    fn a_failure_keeps_its_place_in_the_table() {
        let failure = Failure::new(FailureKind::NotFound, "Document not found")
            .hint("List them with docs list.");
        let (result, outcome, _) =
            with(Dialect::Plain, 1 << 20, |finish, _| finish.error(failure.into(), vec![]))
                .unwrap();
        let value = shown(&result);
        assert_eq!(
            value["content"][0]["text"],
            "Error: Document not found\nList them with docs list."
        );
        assert_eq!(
            value["structuredContent"]["error"],
            json!({"code": -32003, "kind": "not_found", "message": "Document not found"})
        );
        assert_eq!((value["isError"].as_bool(), outcome), (Some(true), Outcome::Error));
    }

    #[test]
    fn other_errors() {
        let act = |dialect, error: ToolError| {
            with(dialect, 1 << 20, |finish, _| finish.error(error, vec![]))
        };
        let bug = act(Dialect::V2025_11_25, ToolError::Bug("secret cause".into())).unwrap_err();
        assert_eq!(bug.code.0, -32603);
        assert!(
            bug.data.as_ref().unwrap()["reference"].as_str().is_some_and(|text| text.len() == 8)
        );
        assert!(!format!("{bug:?}").contains("secret cause"));
        let lacking = act(Dialect::V2026_07_28, ToolError::ClientLacks("sampling")).unwrap_err();
        assert_eq!(lacking.code.0, -32021);
        assert_eq!(lacking.data.unwrap()["requiredCapabilities"], json!({"sampling": {}}));
        let (answer, ..) = act(Dialect::V2025_06_18, ToolError::ClientLacks("sampling")).unwrap();
        assert_eq!(answer.is_error, Some(true));
        let (answer, outcome, _) =
            act(Dialect::V2025_06_18, ToolError::Stopped(Stop::Deadline)).unwrap();
        assert_eq!(
            (outcome, answer.structured_content.unwrap()["partial"].as_bool()),
            (Outcome::Partial, Some(true))
        );
    }

    #[test]
    fn a_large_answer_is_kept_for_its_owner() {
        let outcome = docent_tool::Outcome {
            content: vec![Block::text("x".repeat(50_000))],
            ..Default::default()
        };
        with(Dialect::V2025_11_25, 8192, |finish, results| {
            let (result, _, bytes) = finish.answer(outcome, vec![]);
            assert_eq!(bytes, 50_000);
            let Some(ContentBlock::ResourceLink(link)) = result.content.last() else {
                panic!("no link")
            };
            assert!(results.read(&link.uri, "ann").is_some());
            assert!(results.read(&link.uri, "bob").is_none());
        });
    }
}
