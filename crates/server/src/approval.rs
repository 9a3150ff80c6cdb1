//! Asks the person at the client before a tool runs that policy says to ask about.

use crate::audit;
use docent_screen::one_line;
use docent_tool::{CallContext, Object, ToolError, ToolInfo};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Characters of an argument's name that a question shows.
const MAX_NAME_CHARS: usize = 64;
/// Characters of its value that a question shows from the beginning, and as many from the end.
const MAX_VALUE_CHARS: usize = 400;
/// Arguments that a question shows of those that the tool's schema declares.
const MAX_DECLARED_ARGUMENTS: usize = 64;
/// The same of others, of which a caller can make up as many as it likes.
const MAX_UNDECLARED_ARGUMENTS: usize = 20;

/// What an answer to such a question is known by.
const APPROVAL_KEY_PREFIX: &str = "approval-";

/// Whether an answer is one to a question of this kind. What a server asks has a number behind its name.
pub(crate) fn is_key(key: &str) -> bool {
    key.strip_prefix(APPROVAL_KEY_PREFIX).is_some_and(|digest| digest.len() == 64 && !digest.contains('-'))
}

/// Ends with an error unless the person approves of this very call: the `nth` within a request, which itself is 0.
pub(crate) async fn ask(
    context: &CallContext,
    tool: &ToolInfo,
    arguments: &Object,
    (rule, nth): (&str, usize),
) -> Result<(), ToolError> {
    let told = list_arguments(arguments, &tool.input_schema)?;
    let tool = &tool.name;
    let question = json!({
        "mode": "form",
        "message": format!("Run the tool `{tool}`? ({rule} wants your approval.){told}"),
        "requestedSchema": {
            "type": "object",
            "properties": {"approve": {"type": "boolean", "title": "Run it", "default": false}},
            "required": ["approve"],
        },
    });
    // Approval of one call is not approval of another: of another tool, other arguments, or once more.
    let own = json!({"tool": tool, "arguments": arguments, "nth": nth});
    let key = format!("{PREFIX}{}", audit::digest(own.as_object()));
    let answer = context.elicit(&key, question).await.map_err(|error| match error {
        ToolError::ClientLacks(_) => ToolError::failed(format!(
            "`{tool}` runs only with a person's approval ({rule}), and this client can't ask for it"
        )),
        other => other,
    })?;
    let approved = answer["action"] == "accept" && answer["content"]["approve"] == true;
    if approved {
        return Ok(());
    }
    Err(ToolError::failed(format!("`{tool}` was not run: its call was not approved ({rule})")))
}

/// Every argument on a line of its own, those that the schema declares first: what a caller adds hides nothing that the tool
/// goes by. Where not all of them can be shown, nobody is asked.
fn list_arguments(arguments: &Object, schema: &Object) -> Result<String, ToolError> {
    let known = schema.get("properties").and_then(Value::as_object);
    let is_declared = |name: &str| known.is_some_and(|known| known.contains_key(name));
    let (declared, others): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|(name, _)| is_declared(name.as_str()));
    let groups =
        [(declared.len(), MAX_DECLARED_ARGUMENTS, "declares"), (others.len(), MAX_UNDECLARED_ARGUMENTS, "does not declare")];
    for (given, most, does) in groups {
        if given > most {
            let problem = format!(
                "must be at most {most} that the tool's schema {does}, so that the person who approves of the call sees \
                 them all; these are {given}"
            );
            return Err(ToolError::argument("arguments", problem));
        }
    }
    let mut told = String::new();
    for (name, value) in declared.into_iter().chain(others) {
        let name = quote_value(&json!(name).to_string(), MAX_NAME_CHARS, 0);
        let value = quote_value(&value.to_string(), MAX_VALUE_CHARS, MAX_VALUE_CHARS);
        // Writing to a string can't fail.
        write!(told, "\n{name}: {value}").unwrap_or_default();
    }
    Ok(told)
}

/// A text on one line, with nothing in it that can't be seen; of a long one the beginning and the end, and how much is
/// between them.
fn quote_value(text: &str, head: usize, tail: usize) -> String {
    let text = one_line(text);
    let length = text.chars().count();
    if length <= head + tail {
        return text.into_owned();
    }
    let begins: String = text.chars().take(head).collect();
    let ends: String = text.chars().skip(length - tail).collect();
    format!("{begins}… [{} characters are not shown] …{ends}", length - head - tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &Value) -> Result<String, ToolError> {
        let schema = json!({"properties": {"command": {}, "path": {}}});
        list_arguments(arguments.as_object().unwrap(), schema.as_object().unwrap())
    }

    /// So many arguments, called by numbers.
    fn numbered(count: usize) -> Value {
        (0..count).map(|n| (n.to_string(), json!(n))).collect()
    }

    #[test]
    fn nothing_is_hidden_behind_something_long() {
        let told =
            of(&json!({"padding": "x".repeat(5000), "path": "/etc/\u{202e}gpj.exe"})).unwrap();
        assert!(told.starts_with("\n\"path\": \"/etc/<U+202E>gpj.exe\"\n\"padding\": "), "{told}");
        assert!(told.contains("x… [4202 characters are not shown] …x"), "{told}");
        for blanks in [400, 4000] {
            let command = format!("ls{}; rm -rf ~", " ".repeat(blanks));
            let told = of(&json!({"command": command})).unwrap();
            assert!(
                told.starts_with("\n\"command\": \"ls ") && told.ends_with("; rm -rf ~\""),
                "{told}"
            );
        }
    }

    #[test]
    fn a_name_takes_one_line_and_not_all_of_it() {
        for name in ["a\npath: \"/tmp\"", "a\r\u{85}\u{2028}b", "\u{1b}[2Ja", &"\n".repeat(5000)] {
            let told = of(&json!({"path": "/etc/shadow", (name): 1})).unwrap();
            assert!(told.starts_with("\n\"path\": \"/etc/shadow\"\n\""), "{told}");
            let is_plain =
                |c: char| c == '\n' || !(c.is_control() || ('\u{2028}'..='\u{2029}').contains(&c));
            assert!(told.chars().all(is_plain) && told.matches('\n').count() == 2, "{told}");
            assert!(told.len() < 300 && told.ends_with(": 1"), "{told}");
        }
    }

    #[test]
    fn what_can_not_be_shown_is_not_asked_about() {
        let mut arguments = numbered(20);
        arguments["path"] = json!("/etc/shadow");
        let told = of(&arguments).unwrap();
        assert!(
            told.starts_with("\n\"path\": \"/etc/shadow\"\n") && told.ends_with("\n\"19\": 19"),
            "{told}"
        );
        let problem = of(&numbered(21)).unwrap_err().to_string();
        assert!(
            problem.contains("at most 20 that the tool's schema does not declare"),
            "{problem}"
        );
        let known = json!({"properties": numbered(65)});
        let declared =
            |count| super::list_arguments(numbered(count).as_object().unwrap(), known.as_object().unwrap());
        assert_eq!(declared(64).unwrap().matches('\n').count(), 64);
        let problem = declared(65).unwrap_err().to_string();
        assert!(problem.contains("at most 64 that the tool's schema declares"), "{problem}");
    }
}
