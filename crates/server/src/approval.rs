//! Asks the person at the client before a tool runs that policy says to ask about.

use crate::audit;
use docent_screen::visible;
use docent_tool::{CallContext, Object, ToolError};
use serde_json::json;
use std::fmt::Write as _;

/// Characters of one argument that a question shows.
const SHOWN: usize = 400;
/// Arguments that a question shows.
const LISTED: usize = 20;

/// What an answer to such a question is known by.
const PREFIX: &str = "approval-";

/// Whether an answer is one to a question of this kind. What a server asks has a number behind its name.
pub(crate) fn is_key(key: &str) -> bool {
    key.strip_prefix(PREFIX).is_some_and(|digest| digest.len() == 64 && !digest.contains('-'))
}

/// Ends with an error unless the person approves of this very call: the `nth` within a request, which itself is 0.
pub(crate) async fn ask(
    context: &CallContext,
    tool: &str,
    arguments: &Object,
    (rule, nth): (&str, usize),
) -> Result<(), ToolError> {
    let told = told(arguments);
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

/// Every argument on a line of its own, so that a long one hides no other, with nothing in it that can't be seen.
fn told(arguments: &Object) -> String {
    let mut told = String::new();
    for (name, value) in arguments.iter().take(LISTED) {
        let written = value.to_string();
        let shown: String = visible(&written).chars().take(SHOWN).collect();
        let name = visible(name);
        write!(told, "\n{name}: {shown}").unwrap_or_default();
        let length = written.chars().count();
        if length > SHOWN {
            write!(told, "… ({length} characters in all)").unwrap_or_default();
        }
    }
    if arguments.len() > LISTED {
        write!(told, "\n… {} arguments in all", arguments.len()).unwrap_or_default();
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_hidden_behind_something_long() {
        let arguments = json!({"padding": "x".repeat(5000), "path": "/etc/\u{202e}gpj.exe"});
        let told = told(arguments.as_object().unwrap());
        assert!(told.contains("(5002 characters in all)"), "{told}");
        assert!(told.contains("path: \"/etc/<U+202E>gpj.exe\""), "{told}");
        let many: Object = (0..30).map(|n| (n.to_string(), json!(n))).collect();
        assert!(super::told(&many).ends_with("… 30 arguments in all"));
    }
}
