//! What the shell client knows of a server: it is asked, it answers, and it says things meanwhile.
//!
//! How it is reached is not known here.

use super::questions::ClientRequestHandler;
use anyhow::bail;
use serde_json::{Map, Value, json};
use std::{collections::HashSet, fmt, future::Future, pin::Pin};

/// Pages that are followed before a list counts as endless.
const MAX_LIST_PAGES: usize = 1000;
/// Entries of one list that are kept.
const MAX_LIST_ENTRIES: usize = 100_000;
/// Times that a server may ask something before it answers one request.
const MAX_INPUT_ROUNDS: usize = 16;

/// What a request ends with.
pub(crate) type ReplyFuture<'a> = Pin<Box<dyn Future<Output = Result<Value, RpcError>> + Send + 'a>>;

/// An open connection to a server.
pub(crate) trait ServerConnection: Send + Sync {
    /// Asks, and gives the `result` of the answer. What the server says before that goes to `on_note`.
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Value,
        on_note: &'a (dyn Fn(ServerNotice) + Send + Sync),
    ) -> ReplyFuture<'a>;

    /// What the server said about itself.
    fn server(&self) -> &ServerCard;

    /// A tool that is in no list and can be called all the same, where that is known.
    fn unlisted_tool(&self, _name: &str) -> Option<Value> {
        None
    }

    /// What lists cost by what they show of other servers, where there are any.
    fn exposed(&self) -> Option<ListCost> {
        None
    }
}

/// What docent's lists cost a model's context, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListCost {
    /// With every tool of every server.
    pub(crate) direct: usize,
    /// With four tools in the place of those.
    pub(crate) discover: usize,
    /// Which of the two is configured, or `auto`.
    pub(crate) set: &'static str,
    /// Which of the two a client gets.
    pub(crate) now: &'static str,
}

/// What a server says about itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerCard {
    /// Its name.
    pub(crate) name: String,
    /// Its version.
    pub(crate) version: String,
    /// The revision of the protocol that is spoken with it.
    pub(crate) protocol: String,
    /// What it tells a model to do with it.
    pub(crate) instructions: Option<String>,
    /// What it can do, as written.
    pub(crate) capabilities: Value,
}

impl ServerCard {
    /// The card that the result of `initialize` is.
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

/// What a server says while it works.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ServerNotice {
    /// How far it is.
    Progress {
        /// What is done.
        done: f64,
        /// What there is to do.
        total: Option<f64>,
        /// In words.
        message: Option<String>,
    },
    /// A line for its log.
    Log {
        /// How bad it is.
        level: String,
        /// Which part of the server says so.
        logger: Option<String>,
        /// What it says.
        data: Value,
    },
    /// Any other notification, whole.
    Other(Value),
}

impl ServerNotice {
    /// The note that a notification is.
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

/// A protocol error: the server did not do what it was asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    /// Its number.
    pub(crate) code: i64,
    /// What the server says of it.
    pub(crate) message: String,
    /// More of the same, for programs.
    pub(crate) data: Option<Value>,
}

impl RpcError {
    /// The error that an `error` member is.
    pub(crate) fn from_value(error: &Value) -> Self {
        let told = error.get("message").and_then(Value::as_str);
        Self {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: told.unwrap_or("it does not say why").to_owned(),
            data: error.get("data").cloned(),
        }
    }

    /// As it is on the wire.
    pub(crate) fn json(&self) -> Value {
        let mut all = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            all["data"] = data.clone();
        }
        all
    }

    /// Why, where the data says so.
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

    /// What can be done about it.
    pub(crate) fn advice(&self) -> &'static str {
        match self.code {
            -32700 | -32600 => {
                "The server does not take this for MCP: check that it is an MCP server."
            }
            -32601 => {
                "The server does not have that: `docent tools`, `docent resources` and `docent prompts` list what it has."
            }
            -32602 => {
                "Check the name and the arguments: `docent tools NAME` tells what a tool takes, `docent resources` what can be read."
            }
            -32603 => "The server failed inside: try again, with -v for its log lines.",
            -32002 | -32003 => "`docent resources` lists what can be read.",
            -32022..=-32020 => "The server speaks another revision: bring it or docent up to date.",
            _ => "The server says why; -v shows its log lines.",
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
        let told = format!("{}{reason} ({})", self.message, self.code);
        write!(f, "{}", docent_screen::visible(&told))
    }
}

impl std::error::Error for RpcError {}

/// Asks, and answers what the server needs to know first (`input_required`).
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
    bail!("the server asked {ROUNDS} times and did not answer: it may be at fault")
}

/// A whole list, page by page. A server that has no such method has an empty list.
pub(crate) async fn list(peer: &dyn ServerConnection, method: &str, key: &str) -> anyhow::Result<Vec<Value>> {
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
                "{method} goes round in circles: the server gives a page twice, or has no last one"
            );
        }
        params = json!({"cursor": next});
    }
    bail!("{method} has no end: {PAGES} pages were read; the server may be at fault")
}
