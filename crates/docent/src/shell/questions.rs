//! Answers a server's requests to its client: elicitation by form or URL, sampling, roots.
//!
//! The user is asked only at a terminal. Without one, every elicitation is declined with a message.

use super::{
    connection::RpcError,
    console::ShellConsole,
    schema::{ArgumentSchema, JsonType, SchemaProperty, display_value},
    typing,
};
use serde_json::{Map, Value, json};
use std::{path::PathBuf, sync::Arc};
use url::Url;

/// Maximum number of fields in a form.
const MAX_FORM_FIELDS: usize = 100;
/// The JSON-RPC code of an unknown method.
const METHOD_NOT_FOUND: i64 = -32601;
/// The code that the protocol's examples use for a request that the user rejected.
const USER_REJECTED: i64 = -1;

/// Answers a server's requests.
pub(crate) struct ClientRequestHandler {
    console: Arc<ShellConsole>,
    roots: Vec<PathBuf>,
}

/// The user's input for a field.
enum FieldInput {
    Value(Value),
    /// The field is left out.
    Nothing,
    /// The input has ended.
    Ended,
}

/// How the user ended a form.
enum FormEnd {
    Send,
    Again,
    Decline,
    Cancel,
}

impl ClientRequestHandler {
    /// Asks at `console`; `roots` are reported to the server.
    pub(crate) fn new(console: Arc<ShellConsole>, roots: Vec<PathBuf>) -> Self {
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
                self.console.print_error(&format!(
                    "The server requested sampling; rejected, because {reason}."
                ));
                Err(RpcError { code: USER_REJECTED, message: reason.into(), data: None })
            }
            _ => Err(RpcError {
                code: METHOD_NOT_FOUND,
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
            self.console
                .print_error(&format!("The server asked: {message}\nDeclined: not a terminal."));
            return json!({"action": "decline"});
        }
        self.console.print_error(&format!("The server asks: {message}"));
        match params.get("mode").and_then(Value::as_str) {
            Some("url") => self.open_address(params),
            _ => self.fill_form(params.get("requestedSchema").unwrap_or(&Value::Null)),
        }
    }

    /// Asks the user to open an address. What happens there is not visible to docent.
    fn open_address(&self, params: &Value) -> Value {
        let address = params.get("url").and_then(Value::as_str).unwrap_or_default();
        let parsed = Url::parse(address).ok();
        let web = parsed.filter(|url| matches!(url.scheme(), "http" | "https"));
        let Some(url) = web else {
            self.console.print_error(&format!("{address:?} is not a web address. Declined."));
            return json!({"action": "decline"});
        };
        let host = url.host_str().unwrap_or_default();
        // The parsed form: a URL that looks like another host as written does not do so here.
        self.console.print_error(&format!("Open this address at {host}:\n  {url}"));
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

    fn fill_form(&self, schema: &Value) -> Value {
        let fields = ArgumentSchema::of(schema).properties();
        let mut answers = Map::new();
        loop {
            for field in fields.iter().take(MAX_FORM_FIELDS) {
                let before = answers.get(field.name).cloned();
                match self.field(field, before.as_ref()) {
                    FieldInput::Value(value) => drop(answers.insert(field.name.to_owned(), value)),
                    FieldInput::Nothing => drop(answers.remove(field.name)),
                    FieldInput::Ended => return json!({"action": "cancel"}),
                }
            }
            if !fields.is_empty() {
                self.console
                    .print_error(&format!("To be sent: {:#}", Value::Object(answers.clone())));
            }
            match self.ask_form_end() {
                FormEnd::Send => return json!({"action": "accept", "content": answers}),
                FormEnd::Again => {}
                FormEnd::Decline => return json!({"action": "decline"}),
                FormEnd::Cancel => return json!({"action": "cancel"}),
            }
        }
    }

    fn ask_form_end(&self) -> FormEnd {
        loop {
            let typed =
                self.console.ask("Send it? y to send, e to edit, d to decline, c to cancel: ");
            match typed.as_deref().map(str::trim) {
                Some("y" | "yes") => return FormEnd::Send,
                Some("e") => return FormEnd::Again,
                Some("d" | "n" | "no") => return FormEnd::Decline,
                Some("c") | None => return FormEnd::Cancel,
                Some(_) => {}
            }
        }
    }

    /// Asks for one field until the input is valid.
    fn field(&self, field: &SchemaProperty<'_>, before: Option<&Value>) -> FieldInput {
        let SchemaProperty { name, schema, required } = *field;
        let fallback = before.or_else(|| schema.get("default")).cloned();
        let title = schema
            .text("title")
            .map_or_else(|| name.to_owned(), |title| format!("{title} ({name})"));
        let about =
            schema.text("description").map_or_else(String::new, |about| format!("  {about}\n"));
        let choices = choices(schema);
        let listed = choices
            .iter()
            .map(|(value, title)| ["    ", &display_value(value), title, "\n"].concat());
        let listed: String = listed.collect();
        let kind = if choices.is_empty() { schema.kind_words() } else { "one of these".into() };
        let kind =
            if is_many(schema) && !choices.is_empty() { "some, with commas".into() } else { kind };
        let needed = match (&fallback, required) {
            (Some(value), _) => format!(" [{}]", display_values(value)),
            (None, true) => ", required".into(),
            (None, false) => ", may be left out".into(),
        };
        let prompt = format!("{title}: {kind}{needed}\n{about}{listed}> ");
        loop {
            let Some(typed) = self.console.ask(&prompt) else { return FieldInput::Ended };
            if typed.trim().is_empty() {
                match (&fallback, required) {
                    (None, true) => continue,
                    (None, false) => return FieldInput::Nothing,
                    (Some(value), _) => return FieldInput::Value(value.clone()),
                }
            }
            match read(schema, &choices, &typed) {
                Ok(value) => return FieldInput::Value(value),
                Err(problem) => self.console.print_error(&format!("{name} {problem}")),
            }
        }
    }
}

fn is_many(schema: ArgumentSchema<'_>) -> bool {
    schema.branches().iter().any(|branch| branch.kind == JsonType::Array)
}

fn display_values(value: &Value) -> String {
    match value {
        Value::Array(all) => all.iter().map(display_value).collect::<Vec<_>>().join(","),
        other => display_value(other),
    }
}

/// Returns the values that a field, or each of its members, may have, with their titles.
fn choices(schema: ArgumentSchema<'_>) -> Vec<(Value, String)> {
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

fn read(
    schema: ArgumentSchema<'_>,
    choices: &[(Value, String)],
    typed: &str,
) -> Result<Value, String> {
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

fn is_text(schema: ArgumentSchema<'_>) -> bool {
    schema.branches().iter().any(|branch| branch.kind == JsonType::String)
}
