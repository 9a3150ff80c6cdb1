//! The clients' questions. Every question has a unique mark, so that answers to other clients are detected.

use super::{
    flaky_server::{self, SideEffects},
    random::XorShift,
};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Parsing this folder of the project takes a while.
pub(super) const LONG_FOLDER: &str = "many";
/// A tool that only one key may use, so that the tool lists differ.
const ALPHA_ONLY_TOOL: &str = "check_documentation";
/// The prefix of every mark; no file of the project contains it.
const MARK_PREFIX: &str = "mark-";

/// The owner of a client's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SoakPrincipal {
    /// May use everything.
    Alpha,
    /// May not use [`ALPHA_ONLY_TOOL`].
    Beta,
}

impl SoakPrincipal {
    /// The name in audit entries.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
        }
    }

    /// The secret.
    pub(super) const fn token(self) -> &'static str {
        match self {
            Self::Alpha => "soak-key-of-alpha-0123456789abcdef",
            Self::Beta => "soak-key-of-beta-0123456789abcdef",
        }
    }

    /// The tools it may use.
    pub(super) const fn scopes(self) -> &'static [&'static str] {
        match self {
            Self::Alpha => &["*"],
            Self::Beta => {
                &["code:*", "docs:*", "analyze_repository", "desk0:*", "desk1:*", "desk2:*"]
            }
        }
    }
}

/// A client's identity.
#[derive(Debug, Clone)]
pub(super) struct SoakIdentity {
    /// A name such as `c0017`, used in the names of the client's own source file and document.
    pub(super) name: String,
    pub(super) principal: SoakPrincipal,
}

impl SoakIdentity {
    /// The client with this number; every other one uses the second key.
    pub(super) fn numbered(number: usize) -> Self {
        let principal =
            if number.is_multiple_of(2) { SoakPrincipal::Alpha } else { SoakPrincipal::Beta };
        Self { name: format!("c{number:04}"), principal }
    }

    /// The path of the client's own source file, relative to the root.
    pub(super) fn source(&self) -> String {
        format!("clients/{}.ts", self.name)
    }
}

/// The kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionKind {
    Ping,
    List,
    Query,
    Search,
    Parse,
    Outline,
    ReadOwn,
    ReadMissing,
    Prompt,
    Long,
    /// A tool of a downstream server.
    FlakyServer(SideEffects),
}

/// The share of each kind, in percent.
const QUESTION_MIX: [(QuestionKind, u32); 13] = [
    (QuestionKind::Ping, 8),
    (QuestionKind::List, 2),
    (QuestionKind::Query, 20),
    (QuestionKind::Search, 14),
    (QuestionKind::Parse, 12),
    (QuestionKind::Outline, 6),
    (QuestionKind::ReadOwn, 10),
    (QuestionKind::ReadMissing, 6),
    (QuestionKind::Prompt, 6),
    (QuestionKind::Long, 2),
    (QuestionKind::FlakyServer(SideEffects::Reads), 6),
    (QuestionKind::FlakyServer(SideEffects::Repeats), 4),
    (QuestionKind::FlakyServer(SideEffects::None), 4),
];

impl QuestionKind {
    /// Picks one of the mix.
    pub(super) fn pick(random: &mut XorShift) -> Self {
        let mut left = random.below(100);
        for (kind, share) in QUESTION_MIX {
            if left < share {
                return kind;
            }
            left -= share;
        }
        Self::Ping
    }
}

/// A request and what its answer must contain.
#[derive(Debug, Clone)]
pub(super) struct SoakQuestion {
    pub(super) id: u32,
    pub(super) method: &'static str,
    /// The tool, the URI or the prompt; empty if the method has none.
    pub(super) target: String,
    pub(super) params: Map<String, Value>,
    /// Text that the answer must contain.
    pub(super) expected: String,
    principal: SoakPrincipal,
    kind: QuestionKind,
    /// The number of the downstream server, if it goes to one.
    server: Option<u32>,
}

/// The verdict on an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerVerdict {
    /// It answers this question.
    Own,
    /// The downstream server is gone, and the answer names it.
    ServerGone,
    /// It contains what another client asked or may see.
    Foreign(String),
    /// None of these.
    Wrong(String),
}

impl SoakQuestion {
    /// Creates a client's question, the `id`th on its connection.
    pub(super) fn new(
        asker: &SoakIdentity,
        kind: QuestionKind,
        (id, sequence): (u32, u32),
    ) -> Self {
        let mark = format!("{MARK_PREFIX}{}-{}-{sequence:06}", asker.principal.name(), asker.name);
        let missing = format!("src/{mark}.ts");
        let tool = |name: &str, arguments: Value| {
            ("tools/call", name.to_owned(), json!({"name": name, "arguments": arguments}))
        };
        let read = |uri: String| ("resources/read", uri.clone(), json!({ "uri": uri }));
        let mut expected = mark.clone();
        let server = matches!(kind, QuestionKind::FlakyServer(_))
            .then_some(sequence % flaky_server::FLAKY_SERVERS);
        let (method, target, params) = match kind {
            QuestionKind::Ping => {
                expected.clear();
                ("ping", String::new(), json!({}))
            }
            QuestionKind::List => {
                "parse_files".clone_into(&mut expected);
                ("tools/list", String::new(), json!({}))
            }
            QuestionKind::Query => {
                tool("query_annotations", json!({"query": format!("late fee {mark}")}))
            }
            QuestionKind::Search => {
                expected.clone_from(&asker.name);
                let query = format!("opening hours of desk {} {mark}", asker.name);
                tool("search_documentation", json!({ "query": query }))
            }
            QuestionKind::Parse => tool("parse_files", json!({"files": [asker.source(), missing]})),
            QuestionKind::Outline => tool("outline", json!({ "path": missing })),
            QuestionKind::ReadOwn => {
                expected.clone_from(&asker.name);
                read(format!("ast://project/{}", asker.source()))
            }
            QuestionKind::ReadMissing => read(format!("ast://project/{missing}")),
            QuestionKind::Prompt => {
                // Prompts need every scope.
                if asker.principal == SoakPrincipal::Beta {
                    "Unknown prompt".clone_into(&mut expected);
                }
                let arguments = json!({"question": format!("What does {mark} say?")});
                let name = "answer_from_docs";
                ("prompts/get", name.to_owned(), json!({"name": name, "arguments": arguments}))
            }
            QuestionKind::Long => tool("parse_files", json!({"files": [LONG_FOLDER, missing]})),
            QuestionKind::FlakyServer(promise) => {
                let name = format!(
                    "{}__{}",
                    flaky_server::name(server.unwrap_or_default()),
                    promise.tool()
                );
                // Slow enough that some are in flight whenever a server is killed.
                tool(&name, json!({"text": mark, "pause_ms": sequence.wrapping_mul(7) % 300}))
            }
        };
        let mut params = if let Value::Object(params) = params { params } else { Map::new() };
        if kind == QuestionKind::Long {
            params.insert("_meta".to_owned(), json!({"progressToken": mark}));
        }
        Self { id, method, target, params, expected, principal: asker.principal, kind, server }
    }

    /// The request message; the stateless revision describes the client in each.
    pub(super) fn message(&self, stateless: bool) -> Value {
        let mut params = self.params.clone();
        if stateless {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            meta["io.modelcontextprotocol/protocolVersion"] = json!(super::link::STATELESS);
            meta["io.modelcontextprotocol/clientInfo"] =
                json!({"name": "soak", "version": "1.0.0"});
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        json!({"jsonrpc": "2.0", "id": self.id, "method": self.method, "params": params})
    }

    /// Judges an answer with this question's id.
    pub(super) fn judge(&self, answer: &Value) -> AnswerVerdict {
        let text = answer.to_string();
        if let Some(foreign) = foreign_mark(&text, &self.expected) {
            return AnswerVerdict::Foreign(format!(
                "{} was answered with {foreign}",
                self.describe()
            ));
        }
        let wrong = |why: &str| {
            let start: String = text.chars().take(300).collect();
            AnswerVerdict::Wrong(format!("{}: {why}: {start}", self.describe()))
        };
        if self.server.is_some_and(|desk| names_gone_server(answer, &text, desk)) {
            return AnswerVerdict::ServerGone;
        }
        if !text.contains(&self.expected) {
            return wrong("the answer has no mark");
        }
        match self.kind {
            QuestionKind::Ping
                if answer["result"] != json!({}) && answer["result"]["resultType"].is_null() =>
            {
                wrong("not the answer to a ping")
            }
            QuestionKind::List => {
                let named = format!("\"name\":\"{ALPHA_ONLY_TOOL}\"");
                if text.contains(&named) == (self.principal == SoakPrincipal::Alpha) {
                    AnswerVerdict::Own
                } else {
                    AnswerVerdict::Foreign(format!(
                        "{} was shown the other key's tools",
                        self.describe()
                    ))
                }
            }
            _ => AnswerVerdict::Own,
        }
    }

    /// The audit entry of this question; `None` if it is not audited.
    pub(super) fn trace(&self) -> Option<AuditTrace> {
        let line = match self.method {
            // A read has no arguments besides the URI.
            "resources/read" => {
                AuditTrace::of(self.principal.name(), self.method, &self.target, "")
            }
            "tools/call" | "prompts/get" => {
                let digest = digest(&self.params["arguments"]);
                AuditTrace::of(self.principal.name(), self.method, &self.target, &digest)
            }
            _ => return None,
        };
        Some(line)
    }

    /// The number of the downstream server.
    pub(super) fn server(&self) -> Option<u32> {
        self.server
    }

    /// The text it asks a server to sign.
    pub(super) fn signed_text(&self) -> Option<&str> {
        (self.kind == QuestionKind::FlakyServer(SideEffects::None))
            .then_some(self.expected.as_str())
    }

    fn describe(&self) -> String {
        format!("{} {} (id {}, {})", self.method, self.target, self.id, self.expected)
    }
}

/// Whether an answer is an error that names the downstream server.
fn names_gone_server(answer: &Value, text: &str, desk: u32) -> bool {
    let failed = answer.get("error").is_some() || answer["result"]["isError"] == true;
    failed && text.contains(&format!("the server `{}`", flaky_server::name(desk)))
}

/// Whether a progress notification belongs to a question of this client.
pub(super) fn is_own_progress(asker: &SoakIdentity, token: &Value) -> bool {
    let own = format!("{MARK_PREFIX}{}-{}-", asker.principal.name(), asker.name);
    token.as_str().is_some_and(|token| token.starts_with(&own))
}

/// Finds a mark in the text that is not the expected one.
fn foreign_mark(text: &str, expected: &str) -> Option<String> {
    let mut marks = text.split(MARK_PREFIX).skip(1).map(|after| {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        format!("{MARK_PREFIX}{}", after.get(..end.unwrap_or(after.len())).unwrap_or_default())
    });
    // A search is identified by the client's name, which its marks contain too.
    marks.find(|mark| !mark.contains(expected))
}

/// A digest of one audit entry, short enough to keep a million of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct AuditTrace([u8; 16]);

impl AuditTrace {
    /// Combines principal, method, target and the digest of the arguments.
    pub(super) fn of(principal: &str, method: &str, target: &str, digest: &str) -> Self {
        let whole = Sha256::digest(format!("{principal}\n{method}\n{target}\n{digest}"));
        let mut short = [0; 16];
        short.iter_mut().zip(whole).for_each(|(to, from)| *to = from);
        Self(short)
    }
}

/// SHA-256 of the arguments with sorted keys, as in the audit log.
fn digest(arguments: &Value) -> String {
    let mut sorted = arguments.clone();
    sorted.sort_all_objects();
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(sorted.to_string()) {
        // Writing to a string cannot fail.
        write!(hex, "{byte:02x}").ok();
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [QuestionKind; 13] = [
        QuestionKind::Ping,
        QuestionKind::List,
        QuestionKind::Query,
        QuestionKind::Search,
        QuestionKind::Parse,
        QuestionKind::Outline,
        QuestionKind::ReadOwn,
        QuestionKind::ReadMissing,
        QuestionKind::Prompt,
        QuestionKind::Long,
        QuestionKind::FlakyServer(SideEffects::Reads),
        QuestionKind::FlakyServer(SideEffects::Repeats),
        QuestionKind::FlakyServer(SideEffects::None),
    ];

    fn answer(text: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": 3, "result": {"content": [{"text": text}]}})
    }

    #[test]
    fn the_mix_adds_up_to_a_hundred() {
        assert_eq!(QUESTION_MIX.iter().map(|(_, share)| share).sum::<u32>(), 100);
        let mut random = XorShift::new(7);
        let picked: Vec<QuestionKind> =
            (0..2000).map(|_| QuestionKind::pick(&mut random)).collect();
        for kind in KINDS {
            assert!(picked.contains(&kind), "{kind:?} is never asked");
        }
    }

    #[test]
    fn answers_are_judged() {
        let check = |kind, text: &str, expected: &str| {
            let question = SoakQuestion::new(&SoakIdentity::numbered(17), kind, (3, 5));
            let verdict = format!("{:?}", question.judge(&answer(text)));
            assert!(verdict.starts_with(expected), "{kind:?} {text}: {verdict}");
        };
        check(QuestionKind::Query, "nothing like \"late fee mark-beta-c0017-000005\"", "Own");
        check(QuestionKind::Query, "nothing like \"late fee mark-beta-c0017-000006\"", "Foreign");
        check(QuestionKind::Query, "nothing like \"late fee mark-alpha-c0018-000005\"", "Foreign");
        check(
            QuestionKind::Query,
            "own mark-beta-c0017-000005, foreign mark-beta-c0019-000005",
            "Foreign",
        );
        check(QuestionKind::Query, "internal error", "Wrong");
        check(QuestionKind::Search, "desk c0017 opens at nine", "Own");
        check(QuestionKind::Search, "desk c0018 opens at nine", "Wrong");
        check(QuestionKind::Ping, "a result", "Wrong");
        check(QuestionKind::List, "parse_files", "Own");
    }

    #[test]
    fn a_server_that_is_gone_is_named() {
        let check = |kind, failed: bool, text: &str, expected: &str| {
            let question = SoakQuestion::new(&SoakIdentity::numbered(17), kind, (3, 5));
            let answer = json!({"result": {"isError": failed, "content": [{"text": text}]}});
            let verdict = format!("{:?}", question.judge(&answer));
            assert!(verdict.starts_with(expected), "{kind:?} {text}: {verdict}");
        };
        let desk = QuestionKind::FlakyServer(SideEffects::Reads);
        check(desk, true, "the server `desk2`: the program ended its output", "ServerGone");
        check(desk, true, "the server `desk1`: the program ended its output", "Wrong");
        check(desk, false, "the server `desk2`: the program ended its output", "Wrong");
        check(desk, false, "look mark-beta-c0017-000005 by 7", "Own");
        check(desk, false, "look mark-beta-c0017-000008 by 7", "Foreign");
        check(
            QuestionKind::Query,
            true,
            "the server `desk2`: the program ended its output",
            "Wrong",
        );
    }

    #[test]
    fn tool_lists_depend_on_the_key() {
        let check = |number, tools: &[&str], expected: &str| {
            let question =
                SoakQuestion::new(&SoakIdentity::numbered(number), QuestionKind::List, (1, 1));
            let tools: Vec<Value> = tools.iter().map(|name| json!({ "name": name })).collect();
            let verdict = format!("{:?}", question.judge(&json!({"result": {"tools": tools}})));
            assert!(verdict.starts_with(expected), "{number} {tools:?}: {verdict}");
        };
        check(0, &["parse_files", "check_documentation"], "Own");
        check(0, &["parse_files"], "Foreign");
        check(1, &["parse_files"], "Own");
        check(1, &["parse_files", "check_documentation"], "Foreign");
        check(1, &[], "Wrong");
    }

    #[test]
    fn traces_differ_by_question_and_digests_match_the_audit_log() {
        let trace = |client, kind, sequence| {
            SoakQuestion::new(&SoakIdentity::numbered(client), kind, (1, sequence)).trace()
        };
        assert_eq!(trace(1, QuestionKind::Query, 1), trace(1, QuestionKind::Query, 1));
        assert_ne!(trace(1, QuestionKind::Query, 1), trace(1, QuestionKind::Query, 2));
        assert_ne!(trace(1, QuestionKind::Query, 1), trace(3, QuestionKind::Query, 1));
        assert_eq!(
            (trace(1, QuestionKind::Ping, 1), trace(1, QuestionKind::List, 1)),
            (None, None)
        );
        assert_eq!(
            digest(&json!({})),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
        assert_eq!(
            digest(&json!({"b": {"d": 1, "c": 2}, "a": 3})),
            digest(&json!({"a": 3, "b": {"c": 2, "d": 1}}))
        );
    }

    #[test]
    fn progress_belongs_to_a_client() {
        let asker = SoakIdentity::numbered(17);
        for (token, own) in [
            (json!("mark-beta-c0017-000001"), true),
            (json!("mark-beta-c0018-000001"), false),
            (json!("mark-alpha-c0017-000001"), false),
            (json!(4), false),
        ] {
            assert_eq!(is_own_progress(&asker, &token), own, "{token}");
        }
    }

    #[test]
    fn stateless_requests_describe_the_client() {
        let question = SoakQuestion::new(&SoakIdentity::numbered(2), QuestionKind::Long, (9, 1));
        let meta = &question.message(true)["params"]["_meta"];
        assert_eq!(meta["progressToken"], "mark-alpha-c0002-000001");
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert!(
            question.message(false)["params"]["_meta"]
                .get("io.modelcontextprotocol/clientInfo")
                .is_none()
        );
    }
}
