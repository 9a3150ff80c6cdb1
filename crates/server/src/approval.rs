//! Asks the person at the client before a tool runs that policy says to ask about.

use crate::audit;
use docent_tool::{CallContext, Object, ToolError};
use serde_json::{Value, json};

/// Characters of the arguments that a question shows.
const SHOWN: usize = 1000;

/// Ends with an error unless the person approves of this very call.
pub(crate) async fn ask(
    context: &CallContext,
    tool: &str,
    arguments: &Object,
    rule: &str,
) -> Result<(), ToolError> {
    let written = Value::Object(arguments.clone()).to_string();
    let mut shown: String = written.chars().take(SHOWN).collect();
    if shown.len() < written.len() {
        shown.push('…');
    }
    let question = json!({
        "mode": "form",
        "message": format!("Run the tool `{tool}` with {shown}? ({rule} wants your approval.)"),
        "requestedSchema": {
            "type": "object",
            "properties": {"approve": {"type": "boolean", "title": "Run it", "default": false}},
            "required": ["approve"],
        },
    });
    // Approval of some arguments is not approval of others.
    let key = format!("approval-{}", audit::digest(Some(arguments)));
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
