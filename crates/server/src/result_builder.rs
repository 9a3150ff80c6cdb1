//! Builds the result of a call as the client sees it: content, errors, and the size limit.

use crate::{
    audit::AuditOutcome, catalog::ToolRoute, convert, hex, metrics::RequestOutcome, paging,
    results::ResultStore, screening::Screening, validate::ArgumentProblem,
};
use docent_tool::{AnswerBlock, ToolError, ToolFailure};
use docent_wire::Dialect;
use rmcp::{
    ErrorData,
    model::{CallToolResult, ClientCapabilities, ContentBlock, ErrorCode, MetaObject},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// Everything that determines the form of an answer.
pub(crate) struct ResultBuilder<'a> {
    pub(crate) route: &'a ToolRoute,
    pub(crate) dialect: Dialect,
    pub(crate) owner: &'a Arc<str>,
    pub(crate) results: &'a ResultStore,
    pub(crate) screening: &'a Screening,
    pub(crate) page_bytes: usize,
    pub(crate) timeout: Duration,
    /// The rule that set the timeout, if one did.
    pub(crate) timed_by: Option<&'a str>,
    /// Whether calls end because the server shuts down.
    pub(crate) closing: bool,
    /// Whether the call's deadline has passed.
    pub(crate) overdue: bool,
}

/// Added to an answer that was cut short by a shutdown.
const CLOSING_NOTICE: &str = "Partial result: the server is shutting down, and the call ended early. \
     Try again once the server is back.";

fn mark_partial(result: &mut CallToolResult) {
    match &mut result.structured_content {
        Some(Value::Object(structured)) => {
            structured.insert("partial".into(), true.into());
        }
        Some(_) => {}
        none => *none = Some(json!({"partial": true})),
    }
}

/// An answer, and its outcome for the audit line.
pub(crate) type FinishedResult = (CallToolResult, AuditOutcome);

/// A protocol error instead of an answer, and its outcome for the audit line: in docent's own words, because the
/// error's text may come from another server.
#[derive(Debug)]
pub(crate) struct ToolCallError {
    pub(crate) error: ErrorData,
    pub(crate) ending: Box<AuditOutcome>,
}

impl ToolCallError {
    pub(crate) fn new(reason: &'static str, error: ErrorData) -> Self {
        Self { error, ending: Box::new(AuditOutcome::failed(reason)) }
    }

    /// Invalid parameters.
    pub(crate) fn arguments(error: ErrorData) -> Self {
        Self::new("invalid_arguments", error)
    }
}

impl ResultBuilder<'_> {
    /// The tool's own answer, after the pieces it has emitted.
    pub(crate) fn answer(
        &self,
        outcome: docent_tool::ToolOutcome,
        emitted: Vec<AnswerBlock>,
    ) -> FinishedResult {
        let docent_tool::ToolOutcome { content, structured, is_error, partial, meta } = outcome;
        let mut blocks: Vec<ContentBlock> =
            Vec::with_capacity(emitted.len() + content.len() + usize::from(partial));
        blocks.extend(emitted.into_iter().chain(content).map(convert::content));
        let mut result = CallToolResult::success(blocks);
        result.is_error = Some(is_error);
        result.structured_content = structured;
        result.meta = meta.map(MetaObject);
        if partial {
            // Before its deadline, a tool reports itself what is missing.
            if self.overdue || self.closing {
                self.add_partial_notice(&mut result);
            }
            mark_partial(&mut result);
            result.is_error = Some(is_error || !self.is_as_promised(&result));
        }
        match (is_error, partial) {
            (true, _) => self.cap(result, RequestOutcome::Error, Some("failed")),
            (false, true) => self.cap(result, RequestOutcome::Partial, Some(self.cut_reason())),
            (false, false) => self.cap(result, RequestOutcome::Ok, None),
        }
    }

    /// What cut an answer short.
    fn cut_reason(&self) -> &'static str {
        if self.closing { "closing" } else { "deadline" }
    }

    /// The tool did not finish in time: what it has emitted is the answer.
    pub(crate) fn late(&self, emitted: Vec<AnswerBlock>) -> FinishedResult {
        let mut result =
            CallToolResult::success(emitted.into_iter().map(convert::content).collect());
        self.add_partial_notice(&mut result);
        mark_partial(&mut result);
        result.is_error = Some(!self.is_as_promised(&result));
        self.cap(result, RequestOutcome::Partial, Some(self.cut_reason()))
    }

    /// Whether an incomplete answer still matches the tool's schema. A client that validates answers would reject it
    /// otherwise, unless it is marked as an error.
    fn is_as_promised(&self, result: &CallToolResult) -> bool {
        let structured = result.structured_content.as_ref();
        let checked = self.route.output.as_ref().zip(structured);
        checked.is_none_or(|(output, value)| output.accepts(value))
    }

    fn add_partial_notice(&self, result: &mut CallToolResult) {
        let seconds = self.timeout.as_secs_f64();
        result.content.push(ContentBlock::text(if self.closing {
            CLOSING_NOTICE.to_owned()
        } else {
            let bound = self.bound();
            format!(
                "Partial result: the deadline of {seconds} s passed before the call finished. \
                 Narrow the request, or raise {bound}."
            )
        }));
    }

    /// The setting that determined the call's timeout, or would extend it.
    fn bound(&self) -> String {
        if let Some(rule) = self.timed_by {
            return format!("timeout_ms of {rule}");
        }
        let ToolRoute { info, timeout, timeout_is_own, .. } = self.route;
        // A timeout set for the tool by name takes precedence over the tool's own and that of tasks.
        if !timeout_is_own && info.timeout.is_none() && *timeout == self.timeout {
            return "limits.tool_timeout_ms".to_owned();
        }
        let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let quote = if info.name.chars().all(is_bare) { "" } else { "\"" };
        format!("limits.tools.{quote}{}{quote}.timeout_ms", info.name)
    }

    fn cap(
        &self,
        mut result: CallToolResult,
        outcome: RequestOutcome,
        reason: Option<&'static str>,
    ) -> FinishedResult {
        self.screening.result(&mut result);
        let bytes = paging::result_bytes(&result);
        if let Some((id, parts)) =
            paging::fit(&mut result, self.page_bytes, self.route.output.as_ref())
        {
            self.results.keep(&id, self.owner, parts);
        }
        (result, AuditOutcome { reason, ..AuditOutcome::new(outcome, bytes) })
    }

    /// A result with an error.
    fn error_result(&self, reason: &'static str, text: String, error: &Value) -> FinishedResult {
        let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
        result.structured_content = Some(json!({"error": error}));
        self.cap(result, RequestOutcome::Error, Some(reason))
    }

    /// Invalid arguments, reported to the model or to the client, depending on the revision.
    pub(crate) fn bad_arguments(
        &self,
        problem: &ArgumentProblem,
    ) -> Result<FinishedResult, ToolCallError> {
        if !self.dialect.bad_arguments_are_answers() {
            return Err(ToolCallError::arguments(invalid_params(problem)));
        }
        let kind = "invalid_arguments";
        let mut error = problem.data();
        error["code"] = json!(-32602);
        error["kind"] = json!(kind);
        error["message"] = json!(format!("argument {problem}"));
        Ok(self.error_result(kind, format!("Error: argument {problem}"), &error))
    }

    /// The tool returned an error.
    pub(crate) fn error(
        &self,
        error: ToolError,
        emitted: Vec<AnswerBlock>,
    ) -> Result<FinishedResult, ToolCallError> {
        match error {
            ToolError::Argument { field, problem } => {
                self.bad_arguments(&ArgumentProblem::new(field, problem))
            }
            ToolError::Failed(failure) => Ok(self.failure(&failure)),
            ToolError::Stopped(_) => Ok(self.late(emitted)),
            ToolError::ClientLacks(what) if self.dialect == Dialect::V2026_07_28 => {
                Err(missing_capability_error(what))
            }
            lacking @ ToolError::ClientLacks(_) => {
                let kind = "client_lacks";
                let error = json!({"code": -32000, "kind": kind, "message": lacking.to_string()});
                Ok(self.error_result(kind, format!("Error: {lacking}"), &error))
            }
            ToolError::Refused { code, message, data } => Err(foreign_error(code, message, data)),
            ToolError::Bug(source) => Err(internal(&self.route.info.name, &chain(&*source))),
            other => Err(internal(&self.route.info.name, &other.to_string())),
        }
    }

    fn failure(&self, failure: &ToolFailure) -> FinishedResult {
        if let Some(source) = &failure.source {
            let cause = chain(&**source);
            tracing::debug!(target: "docent::tools", tool = self.route.info.name, cause, "a call failed");
        }
        let mut text = format!("Error: {}", failure.message);
        if let Some(hint) = &failure.hint {
            text.push('\n');
            text.push_str(hint);
        }
        self.error_result(failure.kind.name(), text, &failure_data(failure))
    }
}

fn failure_data(failure: &ToolFailure) -> Value {
    json!({"code": failure.kind.code(), "kind": failure.kind.name(), "message": failure.message})
}

/// An invalid parameter, as a protocol error.
pub(crate) fn invalid_params(problem: &ArgumentProblem) -> ErrorData {
    ErrorData::invalid_params(format!("Invalid params: {problem}"), Some(problem.data()))
}

/// The client did not declare a capability that the request needs.
fn missing_capability_error(what: &'static str) -> ToolCallError {
    let needed = json!({what: {}});
    let needed = serde_json::from_value::<ClientCapabilities>(needed).unwrap_or_default();
    ToolCallError::new("client_lacks", ErrorData::missing_required_client_capability(needed))
}

/// An error of another server, or of a nested call, unchanged.
fn foreign_error(code: i32, message: String, data: Option<Value>) -> ToolCallError {
    ToolCallError::new("refused", ErrorData::new(ErrorCode(code), message, data))
}

/// A bug in docent. The client gets a reference; the log gets the reference with the details.
pub(crate) fn internal(place: &str, what: &str) -> ToolCallError {
    let reference = hex::random::<4>();
    tracing::error!(target: "docent::tools", place, reference, what, "internal error");
    let message =
        format!("Internal error (reference {reference}); the server's log has the details");
    let error = ErrorData::internal_error(message, Some(json!({"reference": reference})));
    let ending = AuditOutcome { reference: Some(reference), ..AuditOutcome::failed("internal") };
    ToolCallError { error, ending: Box::new(ending) }
}

/// The error of something other than a tool, as a protocol error.
pub(crate) fn refusal(error: ToolError, place: &str, dialect: Dialect) -> ToolCallError {
    match error {
        ToolError::Argument { field, problem } => {
            ToolCallError::arguments(invalid_params(&ArgumentProblem::new(field, problem)))
        }
        ToolError::Failed(failure) => {
            let (reason, data) = (failure.kind.name(), failure_data(&failure));
            let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, failure.message, Some(data));
            ToolCallError::new(reason, error)
        }
        ToolError::ClientLacks(what) if dialect == Dialect::V2026_07_28 => {
            missing_capability_error(what)
        }
        ToolError::ClientLacks(_) => {
            ToolCallError::new("client_lacks", ErrorData::invalid_request(error.to_string(), None))
        }
        ToolError::Stopped(_) => late(place),
        ToolError::Refused { code, message, data } => foreign_error(code, message, data),
        ToolError::Bug(source) => internal(place, &chain(&*source)),
        other => internal(place, &other.to_string()),
    }
}

/// The error for something that did not finish in time.
pub(crate) fn late(place: &str) -> ToolCallError {
    let kind = "deadline";
    let data = json!({"code": -32000, "kind": kind, "message": "the deadline passed"});
    let message = format!("{place} did not answer before the deadline");
    ToolCallError::new(kind, ErrorData::internal_error(message, Some(data)))
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
    use crate::{catalog::CatalogBuilder, metrics::Metrics};
    use docent_tool::{
        CallContext, CallStop, FailureKind, ToolAnswer, ToolProvider, TypedTool, erase,
    };
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeMap;

    struct Fixture;

    #[derive(Deserialize, JsonSchema)]
    struct Args {}

    #[derive(Serialize, JsonSchema)]
    struct FixtureReply {
        word: String,
    }

    impl TypedTool for Fixture {
        const NAME: &'static str = "fixture";
        const TITLE: &'static str = "Fixture";
        const DESCRIPTION: &'static str = "Does nothing.";
        type Args = Args;
        type Answer = FixtureReply;
        async fn call(
            &self,
            _: Args,
            _: &CallContext,
        ) -> Result<ToolAnswer<FixtureReply>, ToolError> {
            Err(ToolError::failed("never called"))
        }
    }

    struct SingleToolProvider;
    impl ToolProvider for SingleToolProvider {
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
        act: impl FnOnce(&ResultBuilder<'_>, &ResultStore) -> T,
    ) -> T {
        let providers: Vec<Arc<dyn ToolProvider>> = vec![Arc::new(SingleToolProvider)];
        let (catalogue, problems) =
            CatalogBuilder::new(Duration::from_secs(30), BTreeMap::new(), BTreeMap::new())
                .build(&providers, &Metrics::default());
        assert!(problems.own.is_empty());
        let results = ResultStore::new(Duration::from_mins(1));
        let route = catalogue.find("fixture").unwrap();
        let finish = ResultBuilder {
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
    fn a_tool_before_its_deadline_reports_what_is_missing() {
        let outcome = docent_tool::ToolOutcome {
            content: vec![AnswerBlock::text("half of it")],
            structured: Some(json!({"word": "b"})),
            partial: true,
            ..docent_tool::ToolOutcome::default()
        };
        let answer = |overdue| {
            with(Dialect::V2025_11_25, 1 << 20, |finish, _| {
                ResultBuilder { overdue, ..*finish }.answer(outcome.clone(), Vec::new()).0
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
        let outcome = docent_tool::ToolOutcome {
            content: vec![AnswerBlock::text("b")],
            structured: Some(json!({"word": "b"})),
            ..docent_tool::ToolOutcome::default()
        };
        let (result, ending) = with(Dialect::V2024_11_05, 1 << 20, |finish, _| {
            finish.answer(outcome, vec![AnswerBlock::text("a")])
        });
        let content = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        assert_eq!(
            shown(&result),
            json!({"content": content, "structuredContent": {"word": "b"}, "isError": false})
        );
        assert_eq!((ending.outcome, ending.bytes > 2), (RequestOutcome::Ok, true));
    }

    #[test]
    fn a_partial_answer_says_so_twice() {
        let outcome = docent_tool::ToolOutcome {
            structured: Some(json!({"word": "b"})),
            partial: true,
            ..docent_tool::ToolOutcome::default()
        };
        let (result, ending) = with(Dialect::V2025_11_25, 1 << 20, |finish, _| {
            ResultBuilder { overdue: true, ..*finish }.answer(outcome, vec![])
        });
        let value = shown(&result);
        assert_eq!(value["structuredContent"], json!({"word": "b", "partial": true}));
        assert!(
            value["content"][0]["text"].as_str().unwrap().contains("deadline of 30 s"),
            "{value}"
        );
        let text = value["content"][0]["text"].as_str().unwrap();
        assert!(text.ends_with("raise limits.tool_timeout_ms."), "{text}");
        assert_eq!(
            (value["isError"].as_bool(), ending.outcome),
            (Some(false), RequestOutcome::Partial)
        );
    }

    #[test]
    fn a_late_answer_contains_the_emitted_pieces() {
        let (result, ending) = with(Dialect::V2025_11_25, 1 << 20, |finish, _| {
            finish.late(vec![AnswerBlock::text("so far")])
        });
        let value = shown(&result);
        assert_eq!(value["content"][0]["text"], "so far");
        assert_eq!((ending.outcome, ending.reason), (RequestOutcome::Partial, Some("deadline")));
        assert_eq!(value["structuredContent"]["partial"], true);
        assert_eq!(value["isError"], false, "every answer may be partial by its schema");
    }

    #[test]
    fn bad_arguments_follow_the_dialect() {
        for dialect in Dialect::ALL {
            let error = || ToolError::argument("depth", "must be one of quick, deep");
            let got = with(dialect, 1 << 20, |finish, _| finish.error(error(), vec![]));
            match got {
                Err(ToolCallError { error, .. }) => {
                    assert!(!dialect.bad_arguments_are_answers(), "{dialect:?}");
                    let data = error.data.unwrap();
                    assert_eq!((error.code.0, &data["parameter"]), (-32602, &json!("depth")));
                    assert_eq!(data["reason"], "must be one of quick, deep");
                }
                Ok((result, ending)) => {
                    assert!(dialect.bad_arguments_are_answers(), "{dialect:?}");
                    let value = shown(&result);
                    assert_eq!(value["isError"], true);
                    assert_eq!(ending.outcome, RequestOutcome::Error);
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
    fn a_failure_keeps_its_code() {
        let failure = ToolFailure::new(FailureKind::NotFound, "Document not found")
            .hint("List them with docs list.");
        let (result, ending) =
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
        assert_eq!(
            (value["isError"].as_bool(), ending.outcome),
            (Some(true), RequestOutcome::Error)
        );
    }

    #[test]
    fn other_errors() {
        let act = |dialect, error: ToolError| {
            with(dialect, 1 << 20, |finish, _| finish.error(error, vec![]))
        };
        let bug =
            act(Dialect::V2025_11_25, ToolError::Bug("secret cause".into())).unwrap_err().error;
        assert_eq!(bug.code.0, -32603);
        assert!(
            bug.data.as_ref().unwrap()["reference"].as_str().is_some_and(|text| text.len() == 8)
        );
        assert!(!format!("{bug:?}").contains("secret cause"));
        let lacking =
            act(Dialect::V2026_07_28, ToolError::ClientLacks("sampling")).unwrap_err().error;
        assert_eq!(lacking.code.0, -32021);
        assert_eq!(lacking.data.unwrap()["requiredCapabilities"], json!({"sampling": {}}));
        let (answer, ..) = act(Dialect::V2025_06_18, ToolError::ClientLacks("sampling")).unwrap();
        assert_eq!(answer.is_error, Some(true));
        let (answer, ending) =
            act(Dialect::V2025_06_18, ToolError::Stopped(CallStop::Deadline)).unwrap();
        assert_eq!(
            (ending.outcome, answer.structured_content.unwrap()["partial"].as_bool()),
            (RequestOutcome::Partial, Some(true))
        );
    }

    /// An error in which another server imitates docent.
    fn pretending() -> Value {
        json!({"kind": "deadline", "reference": "ab12cd34", "uri": "memo://a"})
    }

    #[test]
    fn the_audit_reason_is_in_docents_own_words() {
        let refused = || ToolError::Refused {
            code: -32603,
            message: "closing".into(),
            data: Some(pretending()),
        };
        let failed = |kind| ToolError::Failed(ToolFailure::new(kind, "m"));
        let cases: [(&dyn Fn() -> ToolError, &str, bool); 6] = [
            (&refused, "refused", false),
            (&|| failed(FailureKind::Database), "database", false),
            (&|| ToolError::argument("a", "is odd"), "invalid_arguments", false),
            (&|| ToolError::ClientLacks("sampling"), "client_lacks", false),
            (&|| ToolError::Bug("cause".into()), "internal", true),
            (&|| ToolError::Stopped(CallStop::Deadline), "deadline", false),
        ];
        for (error, reason, referred) in cases {
            let ended = with(Dialect::V2025_11_25, 1 << 20, |finish, _| {
                finish
                    .error(error(), vec![])
                    .map_or_else(|failed| *failed.ending, |(_, ending)| ending)
            });
            for ending in [ended, *refusal(error(), "a", Dialect::V2025_11_25).ending] {
                assert_eq!((ending.reason, ending.reference.is_some()), (Some(reason), referred));
            }
        }
        let outcome = docent_tool::ToolOutcome {
            structured: Some(json!({"error": pretending()})),
            is_error: true,
            ..docent_tool::ToolOutcome::default()
        };
        let (_, ending) =
            with(Dialect::V2025_11_25, 1 << 20, |finish, _| finish.answer(outcome, vec![]));
        assert_eq!(ending.reason, Some("failed"));
    }

    #[test]
    fn a_large_answer_is_kept_for_its_owner() {
        let outcome = docent_tool::ToolOutcome {
            content: vec![AnswerBlock::text("x".repeat(50_000))],
            ..Default::default()
        };
        with(Dialect::V2025_11_25, 8192, |finish, results| {
            let (result, ending) = finish.answer(outcome, vec![]);
            assert_eq!(ending.bytes, 50_000);
            let Some(ContentBlock::ResourceLink(link)) = result.content.last() else {
                panic!("no link")
            };
            assert!(results.read(&link.uri, "ann").is_some());
            assert!(results.read(&link.uri, "bob").is_none());
        });
    }
}
