//! The shell client's view of a server: requests, responses, and notifications in between.
//!
//! Does not know how the server is reached.

use super::questions::ClientRequestHandler;
use anyhow::bail;
use serde_json::{Map, Value, json};
use std::{collections::HashSet, fmt, future::Future, pin::Pin};

/// Maximum number of pages before a list counts as endless.
const MAX_LIST_PAGES: usize = 1000;
/// Maximum number of entries of one list.
const MAX_LIST_ENTRIES: usize = 100_000;
/// How often a server may ask for input before it answers a request.
const MAX_INPUT_ROUNDS: usize = 16;

/// The pending result of a request.
pub(crate) type ReplyFuture<'a> =
    Pin<Box<dyn Future<Output = Result<Value, RpcError>> + Send + 'a>>;

/// An open connection to a server.
pub(crate) trait ServerConnection: Send + Sync {
    /// Sends a request and returns the `result` of its response. Earlier notifications go to `on_note`.
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        on_note: &'a (dyn Fn(ServerNotice) + Send + Sync),
    ) -> ReplyFuture<'a>;

    /// Returns what the server reported about itself.
    fn server(&self) -> &ServerCard;

    /// Returns the definition of a tool that is not listed but can be called, if known.
    fn unlisted_tool(&self, _name: &str) -> Option<Value> {
        None
    }

    /// Returns the cost of the lists per exposure mode, if there are other servers.
    fn exposed(&self) -> Option<ListCost> {
        None
    }
}

/// The cost of docent's lists in a model's context, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListCost {
    /// With every tool of every server.
    pub(crate) direct: usize,
    /// With four discovery tools instead.
    pub(crate) discover: usize,
    /// Which of the two is configured, or `auto`.
    pub(crate) set: &'static str,
    /// Which of the two a client gets.
    pub(crate) now: &'static str,
}

/// What a server reports about itself in `initialize`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerCard {
    /// The server's name.
    pub(crate) name: String,
    /// The server's version.
    pub(crate) version: String,
    /// The protocol revision of the session.
    pub(crate) protocol: String,
    /// The server's instructions for models.
    pub(crate) instructions: Option<String>,
    /// The server's capabilities, as sent.
    pub(crate) capabilities: Value,
}

impl ServerCard {
    /// Parses the result of `initialize`.
    pub(crate) fn from_result(result: &Value) -> Self {
        let text = |pointer: &str| {
            result.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        Self {
            name: text("/serverInfo/name"),
            version: text("/serverInfo/version"),
            protocol: text("/protocolVersion"),
            instructions: Some(text("/instructions")).filter(|text| !text.is_empty()),
            capabilities: result.get("capabilities").cloned().unwrap_or_default(),
        }
    }
}

/// A notification during a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ServerNotice {
    /// The progress of the request.
    Progress {
        /// The amount done.
        done: f64,
        /// The total amount.
        total: Option<f64>,
        /// A description.
        message: Option<String>,
    },
    /// A log message.
    Log {
        /// The severity.
        level: String,
        /// The part of the server that logged it.
        logger: Option<String>,
        /// The logged data.
        data: Value,
    },
    /// Any other notification, whole.
    Other(Value),
}

impl ServerNotice {
    /// Parses a notification.
    pub(crate) fn from_notification(message: Value) -> Self {
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        let params = message.get("params").unwrap_or(&Value::Null);
        let text = |key: &str| params.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = |key: &str| params.get(key).and_then(Value::as_f64);
        match method {
            "notifications/progress" => Self::Progress {
                done: number("progress").unwrap_or_default(),
                total: number("total"),
                message: text("message"),
            },
            "notifications/message" => Self::Log {
                level: text("level").unwrap_or_else(|| "info".into()),
                logger: text("logger"),
                data: params.get("data").cloned().unwrap_or_default(),
            },
            _ => Self::Other(message),
        }
    }
}

/// A JSON-RPC error response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    /// The error code.
    pub(crate) code: i64,
    /// The server's message.
    pub(crate) message: String,
    /// Additional data.
    pub(crate) data: Option<Value>,
}

impl RpcError {
    /// Parses an `error` member.
    pub(crate) fn from_value(error: &Value) -> Self {
        let message = error.get("message").and_then(Value::as_str);
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: message.unwrap_or("no error message").to_owned(),
            data: error.get("data").cloned(),
        }
    }

    /// Converts the error to its wire format.
    pub(crate) fn json(&self) -> Value {
        let mut all = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            all["data"] = data.clone();
        }
        all
    }

    /// Returns the reason from the data, if there is one.
    pub(crate) fn reason(&self) -> Option<String> {
        let data = self.data.as_ref()?;
        if let Some(text) = data.as_str() {
            return Some(text.to_owned());
        }
        let text = |key: &str| data.get(key).and_then(Value::as_str).map(str::to_owned);
        let reason = text("reason").or_else(|| text("details")).or_else(|| text("message"))?;
        Some(match text("parameter") {
            Some(parameter) if !reason.contains(&parameter) => format!("`{parameter}`: {reason}"),
            _ => reason,
        })
    }

    /// Returns advice for the user.
    pub(crate) fn advice(&self) -> &'static str {
        match self.code {
            -32700 | -32600 => "The server rejected the message: check that it is an MCP server.",
            -32601 => {
                "Not found on the server: `docent tools`, `docent resources` and `docent prompts` list what is available."
            }
            -32602 => {
                "Check the name and the arguments: `docent tools NAME` shows a tool's arguments, `docent resources` lists resources."
            }
            -32603 => "Internal error in the server: try again with -v to see its log.",
            -32002 | -32003 => "`docent resources` lists the available resources.",
            -32022..=-32020 => "The server uses another protocol revision: update it or docent.",
            _ => "Use -v to see the server's log.",
        }
    }

    /// Whether the server has no such method.
    pub(crate) fn is_unknown_method(&self) -> bool {
        self.code == -32601
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = self.reason().filter(|reason| *reason != self.message);
        let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let text = format!("{}{reason} ({})", self.message, self.code);
        write!(f, "{}", docent_screen::visible(&text))
    }
}

impl std::error::Error for RpcError {}

/// Sends a request, and answers the server's input requests first (`input_required`).
pub(crate) async fn ask(
    peer: &dyn ServerConnection,
    questions: &ClientRequestHandler,
    method: &str,
    params: Value,
    on_note: &(dyn Fn(ServerNotice) + Send + Sync),
) -> anyhow::Result<Value> {
    let mut asked = params.clone();
    for _ in 0..MAX_INPUT_ROUNDS {
        let result = peer.request(method, asked, on_note).await?;
        if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
            return Ok(result);
        }
        let needed = result.get("inputRequests").and_then(Value::as_object);
        let mut answers = Map::new();
        for (key, request) in needed.into_iter().flatten() {
            let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
            let params = request.get("params").unwrap_or(&Value::Null);
            answers.insert(key.clone(), questions.answer(method, params)?);
        }
        asked = params.clone();
        if let Some(asked) = asked.as_object_mut() {
            asked.insert("inputResponses".into(), Value::Object(answers));
            if let Some(state) = result.get("requestState") {
                asked.insert("requestState".into(), state.clone());
            }
        }
    }
    bail!("the server asked for input {MAX_INPUT_ROUNDS} times without answering; it may be faulty")
}

/// Fetches a whole list, page by page. Empty if the server lacks the method.
pub(crate) async fn list(
    peer: &dyn ServerConnection,
    method: &str,
    key: &str,
) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    let mut seen = HashSet::new();
    let mut params = json!({});
    for _ in 0..MAX_LIST_PAGES {
        let mut page = match peer.request(method, params, &|_| {}).await {
            Ok(page) => page,
            Err(error) if error.is_unknown_method() && all.is_empty() => return Ok(all),
            Err(error) => return Err(error.into()),
        };
        if let Some(Value::Array(entries)) = page.get_mut(key).map(Value::take) {
            all.extend(entries);
        }
        let next = page.get("nextCursor").and_then(Value::as_str);
        let Some(next) = next.filter(|next| !next.is_empty()) else { return Ok(all) };
        if all.len() > MAX_LIST_ENTRIES || !seen.insert(next.to_owned()) {
            bail!(
                "endless pagination in {method}: the server repeats a page, or never returns the last one"
            );
        }
        params = json!({"cursor": next});
    }
    bail!(
        "endless pagination in {method}: stopped after {MAX_LIST_PAGES} pages; the server may be faulty"
    )
}
