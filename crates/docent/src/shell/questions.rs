//! Answers a server's requests to its client: elicitation by form or URL, sampling, roots.
//!
//! The user is asked only at a terminal. Without one, every elicitation is declined with a message.

use super::{
    console::Console,
    peer::RpcError,
    schema::{Kind, Property, Schema, plain},
    typing,
};
use serde_json::{Map, Value, json};
use std::{path::PathBuf, sync::Arc};
use url::Url;

/// Maximum number of fields in a form.
const MOST_FIELDS: usize = 100;
/// The JSON-RPC code of an unknown method.
const UNKNOWN_METHOD: i64 = -32601;
/// The code that the protocol's examples use for a request that the user rejected.
const TURNED_DOWN: i64 = -1;

/// Answers a server's requests.
pub(crate) struct Questions {
    console: Arc<Console>,
    roots: Vec<PathBuf>,
}

/// The user's input for a field.
enum Field {
    Value(Value),
    /// The field is left out.
    Nothing,
    /// The input has ended.
    Ended,
}

/// How the user ended a form.
enum Ending {
    Send,
    Again,
    Decline,
    Cancel,
}

impl Questions {
    /// Asks at `console`; `roots` are reported to the server.
    pub(crate) fn new(console: Arc<Console>, roots: Vec<PathBuf>) -> Self {
        Self { console, roots }
    }

    /// Returns the client capabilities. Sampling is not among them: there is no model here.
    pub(crate) fn capabilities(&self) -> Value {
        let mut all = json!({"roots": {}});
        if self.console.is_interactive() {
            all["elicitation"] = json!({"form": {}, "url": {}});
        }
        all
    }

    /// Answers one request of a server. May wait for the user.
    pub(crate) fn answer(&self, method: &str, params: &Value) -> Result<Value, RpcError> {
        match method {
            "ping" => Ok(json!({})),
            "roots/list" => Ok(self.roots()),
            "elicitation/create" => Ok(self.elicit(params)),
            "sampling/createMessage" => {
                let reason = "docent's shell client has no model";
                self.console.tell(&format!(
                    "The server requested sampling; rejected, because {reason}."
                ));
                Err(RpcError { code: TURNED_DOWN, message: reason.into(), data: None })
            }
            _ => Err(RpcError {
                code: UNKNOWN_METHOD,
                message: "Method not found".into(),
                data: Some(json!({"method": method})),
            }),
        }
    }

    fn roots(&self) -> Value {
        let roots = self.roots.iter().filter_map(|root| {
            let uri = Url::from_file_path(root).ok()?;
            let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
            Some(json!({"uri": uri.as_str(), "name": name.unwrap_or_else(|| "/".into())}))
        });
        json!({"roots": roots.collect::<Vec<_>>()})
    }

    fn elicit(&self, params: &Value) -> Value {
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        if !self.console.is_interactive() {
            self.console.tell(&format!(
                "The server asked: {message}\nDeclined: not a terminal."
            ));
            return json!({"action": "decline"});
        }
        self.console.tell(&format!("The server asks: {message}"));
        match params.get("mode").and_then(Value::as_str) {
            Some("url") => self.visit(params),
            _ => self.fill(params.get("requestedSchema").unwrap_or(&Value::Null)),
        }
    }

    /// Asks the user to open an address. What happens there is not visible to docent.
    fn visit(&self, params: &Value) -> Value {
        let address = params.get("url").and_then(Value::as_str).unwrap_or_default();
        let parsed = Url::parse(address).ok();
        let web = parsed.filter(|url| matches!(url.scheme(), "http" | "https"));
        let Some(url) = web else {
            self.console
                .tell(&format!("{address:?} is not a web address. Declined."));
            return json!({"action": "decline"});
        };
        let host = url.host_str().unwrap_or_default();
        // The parsed form: a URL that looks like another host as written does not do so here.
        self.console.tell(&format!("Open this address at {host}:\n  {url}"));
        let prompt = "Type y once it is open, d to decline, c to cancel: ";
        let action = loop {
            match self.console.ask(prompt).as_deref().map(str::trim) {
                Some("y" | "yes") => break "accept",
                Some("d" | "n" | "no") => break "decline",
                Some("c") | None => break "cancel",
                Some(_) => {}
            }
        };
        json!({"action": action})
    }

    fn fill(&self, schema: &Value) -> Value {
        let fields = Schema::of(schema).properties();
        let mut answers = Map::new();
        loop {
            for field in fields.iter().take(MOST_FIELDS) {
                let before = answers.get(field.name).cloned();
                match self.field(field, before.as_ref()) {
                    Field::Value(value) => drop(answers.insert(field.name.to_owned(), value)),
                    Field::Nothing => drop(answers.remove(field.name)),
                    Field::Ended => return json!({"action": "cancel"}),
                }
            }
            if !fields.is_empty() {
                self.console.tell(&format!("To be sent: {:#}", Value::Object(answers.clone())));
            }
            match self.ending() {
                Ending::Send => return json!({"action": "accept", "content": answers}),
                Ending::Again => {}
                Ending::Decline => return json!({"action": "decline"}),
                Ending::Cancel => return json!({"action": "cancel"}),
            }
        }
    }

    fn ending(&self) -> Ending {
        loop {
            let typed =
                self.console.ask("Send it? y to send, e to edit, d to decline, c to cancel: ");
            match typed.as_deref().map(str::trim) {
                Some("y" | "yes") => return Ending::Send,
                Some("e") => return Ending::Again,
                Some("d" | "n" | "no") => return Ending::Decline,
                Some("c") | None => return Ending::Cancel,
                Some(_) => {}
            }
        }
    }

    /// Asks for one field until the input is valid.
    fn field(&self, field: &Property<'_>, before: Option<&Value>) -> Field {
        let Property { name, schema, required } = *field;
        let fallback = before.or_else(|| schema.get("default")).cloned();
        let title = schema
            .text("title")
            .map_or_else(|| name.to_owned(), |title| format!("{title} ({name})"));
        let about =
            schema.text("description").map_or_else(String::new, |about| format!("  {about}\n"));
        let choices = choices(schema);
        let listed =
            choices.iter().map(|(value, title)| ["    ", &plain(value), title, "\n"].concat());
        let listed: String = listed.collect();
        let kind = if choices.is_empty() { schema.kind_words() } else { "one of these".into() };
        let kind =
            if is_many(schema) && !choices.is_empty() { "some, with commas".into() } else { kind };
        let needed = match (&fallback, required) {
            (Some(value), _) => format!(" [{}]", shown(value)),
            (None, true) => ", required".into(),
            (None, false) => ", may be left out".into(),
        };
        let prompt = format!("{title}: {kind}{needed}\n{about}{listed}> ");
        loop {
            let Some(typed) = self.console.ask(&prompt) else { return Field::Ended };
            if typed.trim().is_empty() {
                match (&fallback, required) {
                    (None, true) => continue,
                    (None, false) => return Field::Nothing,
                    (Some(value), _) => return Field::Value(value.clone()),
                }
            }
            match read(schema, &choices, &typed) {
                Ok(value) => return Field::Value(value),
                Err(problem) => self.console.tell(&format!("{name} {problem}")),
            }
        }
    }
}

fn is_many(schema: Schema<'_>) -> bool {
    schema.branches().iter().any(|branch| branch.kind == Kind::Array)
}

fn shown(value: &Value) -> String {
    match value {
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(","),
        other => plain(other),
    }
}

/// Returns the values that a field, or each of its members, may have, with their titles.
fn choices(schema: Schema<'_>) -> Vec<(Value, String)> {
    let of = if is_many(schema) { schema.members().unwrap_or(schema) } else { schema };
    let names = of.items("enumNames");
    let titled = |title: Option<&str>| title.map_or_else(String::new, |title| format!("  {title}"));
    let mut all = Vec::new();
    for branch in of.branches() {
        for (at, value) in branch.schema.choices().into_iter().enumerate() {
            let title =
                branch.schema.text("title").filter(|_| branch.schema.get("const").is_some());
            let title = title.or_else(|| names.get(at).and_then(Value::as_str));
            all.push((value.clone(), titled(title)));
        }
    }
    all
}

fn read(schema: Schema<'_>, choices: &[(Value, String)], typed: &str) -> Result<Value, String> {
    // Users type what they read: accept the title as well as the value.
    let by_title = |typed: &str| {
        let named = |(_, title): &&(Value, String)| title.trim().eq_ignore_ascii_case(typed.trim());
        choices.iter().find(named).map(|(value, _)| value.clone())
    };
    if is_many(schema) {
        let members = schema.members().unwrap_or(schema);
        let each = |one: &str| match by_title(one) {
            Some(value) => Ok(value),
            None => typing::value(members, one.trim()),
        };
        return typed.split(',').map(each).collect();
    }
    match by_title(typed) {
        Some(value) => Ok(value),
        None if choices.is_empty() && is_text(schema) => typing::value(schema, typed),
        None => typing::value(schema, typed.trim()),
    }
}

fn is_text(schema: Schema<'_>) -> bool {
    schema.branches().iter().any(|branch| branch.kind == Kind::String)
}
