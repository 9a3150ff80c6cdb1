//! Asks the user for approval before running tools that the policy lists.

use crate::audit;
use docent_screen::one_line;
use docent_tool::{CallContext, Object, ToolError, ToolInfo};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Maximum characters shown of an argument's name.
const MAX_NAME_CHARS: usize = 64;
/// Maximum characters shown of its value at the beginning, and at the end.
const MAX_VALUE_CHARS: usize = 400;
/// Maximum arguments shown that the tool's schema declares.
const MAX_DECLARED_ARGUMENTS: usize = 64;
/// Maximum other arguments shown, of which a caller can make up any number.
const MAX_UNDECLARED_ARGUMENTS: usize = 20;

/// Prefix of the keys of such questions.
const APPROVAL_KEY_PREFIX: &str = "approval-";

/// Whether a key belongs to an approval question. Keys of a server's own questions end in a number.
pub(crate) fn is_key(key: &str) -> bool {
    key.strip_prefix(APPROVAL_KEY_PREFIX)
        .is_some_and(|digest| digest.len() == 64 && !digest.contains('-'))
}

/// Returns an error unless the user approves this very call: the `nth` within a request, which itself is 0.
pub(crate) async fn ask(
    context: &CallContext,
    tool: &ToolInfo,
    arguments: &Object,
    rule: &str,
    nth: usize,
) -> Result<(), ToolError> {
    let listed = list_arguments(arguments, &tool.input_schema)?;
    let tool = &tool.name;
    let question = json!({
        "mode": "form",
        "message": format!("Run the tool `{tool}`? ({rule} requires your approval.){listed}"),
        "requestedSchema": {
            "type": "object",
            "properties": {"approve": {"type": "boolean", "title": "Run it", "default": false}},
            "required": ["approve"],
        },
    });
    // An approval covers one call only: not another tool, other arguments, or a repetition.
    let own = json!({"tool": tool, "arguments": arguments, "nth": nth});
    let key = format!("{APPROVAL_KEY_PREFIX}{}", audit::digest(own.as_object()));
    let answer = context.elicit(&key, question).await.map_err(|error| match error {
        ToolError::ClientLacks(_) => ToolError::failed(format!(
            "`{tool}` requires a person's approval ({rule}), and this client cannot ask for it"
        )),
        other => other,
    })?;
    let approved = answer["action"] == "accept" && answer["content"]["approve"] == true;
    if approved {
        return Ok(());
    }
    Err(ToolError::failed(format!("`{tool}` was not run: its call was not approved ({rule})")))
}

/// Every argument on its own line, those declared by the schema first, so that additional arguments cannot hide the
/// relevant ones. If not all of them can be shown, the user is not asked.
fn list_arguments(arguments: &Object, schema: &Object) -> Result<String, ToolError> {
    let known = schema.get("properties").and_then(Value::as_object);
    let is_declared = |name: &str| known.is_some_and(|known| known.contains_key(name));
    let (declared, others): (Vec<_>, Vec<_>) =
        arguments.iter().partition(|(name, _)| is_declared(name.as_str()));
    let groups = [
        (declared.len(), MAX_DECLARED_ARGUMENTS, "declares"),
        (others.len(), MAX_UNDECLARED_ARGUMENTS, "does not declare"),
    ];
    for (given, most, does) in groups {
        if given > most {
            let problem = format!(
                "must be at most {most} that the tool's schema {does}, so that the person who approves the call sees \
                 them all; there are {given}"
            );
            return Err(ToolError::argument("arguments", problem));
        }
    }
    let mut lines = String::new();
    for (name, value) in declared.into_iter().chain(others) {
        let name = quote_value(&json!(name).to_string(), MAX_NAME_CHARS, 0);
        let value = quote_value(&value.to_string(), MAX_VALUE_CHARS, MAX_VALUE_CHARS);
        // Writing to a string can't fail.
        write!(lines, "\n{name}: {value}").unwrap_or_default();
    }
    Ok(lines)
}

/// A text on one line without invisible characters; a long one is reduced to its beginning and end, with the length in
/// between.
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

    /// This many arguments, named by numbers.
    fn numbered(count: usize) -> Value {
        (0..count).map(|n| (n.to_string(), json!(n))).collect()
    }

    #[test]
    fn a_long_value_hides_nothing() {
        let listed =
            of(&json!({"padding": "x".repeat(5000), "path": "/etc/\u{202e}gpj.exe"})).unwrap();
        assert!(
            listed.starts_with("\n\"path\": \"/etc/<U+202E>gpj.exe\"\n\"padding\": "),
            "{listed}"
        );
        assert!(listed.contains("x… [4202 characters are not shown] …x"), "{listed}");
        for blanks in [400, 4000] {
            let command = format!("ls{}; rm -rf ~", " ".repeat(blanks));
            let listed = of(&json!({"command": command})).unwrap();
            assert!(
                listed.starts_with("\n\"command\": \"ls ") && listed.ends_with("; rm -rf ~\""),
                "{listed}"
            );
        }
    }

    #[test]
    fn a_name_takes_only_a_part_of_one_line() {
        for name in ["a\npath: \"/tmp\"", "a\r\u{85}\u{2028}b", "\u{1b}[2Ja", &"\n".repeat(5000)] {
            let listed = of(&json!({"path": "/etc/shadow", (name): 1})).unwrap();
            assert!(listed.starts_with("\n\"path\": \"/etc/shadow\"\n\""), "{listed}");
            let is_plain =
                |c: char| c == '\n' || !(c.is_control() || ('\u{2028}'..='\u{2029}').contains(&c));
            assert!(listed.chars().all(is_plain) && listed.matches('\n').count() == 2, "{listed}");
            assert!(listed.len() < 300 && listed.ends_with(": 1"), "{listed}");
        }
    }

    #[test]
    fn a_call_that_cannot_be_shown_is_not_asked_about() {
        let mut arguments = numbered(20);
        arguments["path"] = json!("/etc/shadow");
        let listed = of(&arguments).unwrap();
        assert!(
            listed.starts_with("\n\"path\": \"/etc/shadow\"\n") && listed.ends_with("\n\"19\": 19"),
            "{listed}"
        );
        let problem = of(&numbered(21)).unwrap_err().to_string();
        assert!(
            problem.contains("at most 20 that the tool's schema does not declare"),
            "{problem}"
        );
        let known = json!({"properties": numbered(65)});
        let declared = |count| {
            list_arguments(numbered(count).as_object().unwrap(), known.as_object().unwrap())
        };
        assert_eq!(declared(64).unwrap().matches('\n').count(), 64);
        let problem = declared(65).unwrap_err().to_string();
        assert!(problem.contains("at most 64 that the tool's schema declares"), "{problem}");
    }
}
