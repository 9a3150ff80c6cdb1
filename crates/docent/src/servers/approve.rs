//! `docent servers approve`: shows how a tool's definition has changed, and approves it.

use super::{
    approval_memory,
    command::{ApproveFlags, entry},
};
use crate::{analyze::Printed, cli};
use anyhow::bail;
use docent_hub::ServerStateStore;
use docent_screen::{one_line, visible};
use docent_tool::Object;
use serde_json::{Value, json};
use similar::TextDiff;
use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    time::Duration,
};

/// Lines of context around a change.
const DIFF_CONTEXT_LINES: usize = 3;
/// The time limit of the diff: after that, more lines than necessary appear as changed.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);

/// The outcome of an approval.
#[derive(Debug)]
struct ApprovalOutcome {
    /// The definitions as shown.
    shown: String,
    /// The result in words.
    message: String,
    /// The tools whose definitions are approved.
    approved: Vec<String>,
}

pub(super) fn approve(flags: &ApproveFlags) -> anyhow::Result<Printed> {
    let ApproveFlags { name, tools, yes, common } = flags;
    let config = cli::load(&common.inputs()?)?;
    entry(&config, name)?;
    // If no one can see or answer the question, naming the server counts as approval.
    let asks = !yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    let agrees = |shown: &str| if asks { confirm(shown) } else { Ok(true) };
    let ApprovalOutcome { shown, message, approved } =
        decide(&approval_memory(&config), name, tools, agrees)?;
    let text = if asks { message } else { shown + &message };
    Ok(common.printed(text, &json!({"server": name, "approved": approved})))
}

/// Shows the held-back tools of a server, all or those named, and approves exactly these if `agrees` returns true.
fn decide(
    memory: &ServerStateStore,
    name: &str,
    tools: &[String],
    agrees: impl FnOnce(&str) -> anyhow::Result<bool>,
) -> anyhow::Result<ApprovalOutcome> {
    let known = memory.load_any(name).unwrap_or_default();
    let is_wanted = |tool: &str| tools.is_empty() || tools.iter().any(|wanted| wanted == tool);
    let (mut shown, mut seen) = (String::new(), BTreeMap::new());
    for (tool, before, now) in known.held_definitions().filter(|held| is_wanted(held.0)) {
        shown.push_str(&difference(tool, before, now));
        seen.insert(tool.to_owned(), now.clone());
    }
    let nothing = |message| ApprovalOutcome { shown: String::new(), message, approved: Vec::new() };
    if seen.is_empty() && known.doubted && known.held_back.is_empty() {
        return Ok(nothing(format!(
            "The approval file of `{name}` is unreadable, and its tools are not known: run docent servers test {name}, then approve.\n"
        )));
    }
    if seen.is_empty() {
        return Ok(nothing(format!("No tools of `{name}` are held back.\n")));
    }
    if !agrees(&shown)? {
        return Ok(nothing(format!("Nothing approved for `{name}`.\n")));
    }
    let approved = memory.approve_seen(name, &seen)?;
    if approved.is_empty() {
        bail!(
            "nothing approved: the tools of `{name}` have changed since they were shown; run docent servers approve {name} again"
        );
    }
    let names: Vec<_> = approved.iter().map(|tool| one_line(tool)).collect();
    let message = format!(
        "Approved: {}. A running docent applies this with the next call or list.\n",
        names.join(", ")
    );
    Ok(ApprovalOutcome { shown, message, approved })
}

/// Returns the change of a definition as a unified diff, with hidden characters made visible.
fn difference(tool: &str, before: Option<&Object>, now: &Object) -> String {
    let text = |fields: &Object| {
        let mut value = Value::Object(fields.clone());
        // The order of fields is irrelevant, and would make much of the rest appear changed.
        value.sort_all_objects();
        format!("{value:#}\n")
    };
    let (old, new) = (before.map(text).unwrap_or_default(), text(now));
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
    let tool = one_line(tool);
    let was = if before.is_some() { "as approved" } else { "never approved" };
    let (was, is) = (format!("{tool}, {was}"), format!("{tool}, current"));
    let text = diff.unified_diff().context_radius(DIFF_CONTEXT_LINES).header(&was, &is).to_string();
    visible(&text).into_owned()
}

/// Shows the change and asks.
fn confirm(shown: &str) -> anyhow::Result<bool> {
    let mut out = io::stderr();
    write!(out, "{shown}Approve this? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_hub::StoredServerState;

    #[test]
    fn what_was_not_shown_is_not_approved() {
        let folder = tempfile::tempdir().unwrap();
        let memory = ServerStateStore::new(folder.path().to_owned());
        let tool = |about: &str| -> Object {
            json!({"name": "a", "description": about}).as_object().unwrap().clone()
        };
        let held = |about: &str| StoredServerState {
            tools: vec![tool("one")],
            held_back: [("a".to_owned(), tool(about))].into(),
            ..StoredServerState::default()
        };
        memory.save("s", &held("two"));
        let change_while_asking = |shown: &str| {
            assert!(shown.contains("-  \"description\": \"one\",\n"), "{shown}");
            assert!(shown.contains("+  \"description\": \"two\",\n"), "{shown}");
            memory.save("s", &held("three"));
            Ok(true)
        };
        let error = decide(&memory, "s", &[], change_while_asking).unwrap_err().to_string();
        assert!(error.contains("have changed since they were shown"), "{error}");
        let refused = decide(&memory, "s", &[], |_| Ok(false)).unwrap();
        assert_eq!(refused.approved, [""; 0]);
        assert_eq!(memory.load_any("s"), Some(held("three")));
        assert_eq!(decide(&memory, "s", &[], |_| Ok(true)).unwrap().approved, ["a"]);
        assert_eq!(memory.load_any("s").unwrap().tools, [tool("three")]);
    }

    #[test]
    fn a_difference_is_short_and_hides_nothing() {
        let of = |value: &Value| value.as_object().unwrap().clone();
        let before = of(&json!({"name": "a", "description": "Adds.", "inputSchema": {}}));
        let now = of(&json!({"inputSchema": {}, "name": "a", "description": "Adds.\u{202e}"}));
        assert_eq!(
            difference("a\n+b", Some(&before), &now),
            "--- a\\n+b, as approved\n+++ a\\n+b, current\n@@ -1,5 +1,5 @@\n {\n\
             -  \"description\": \"Adds.\",\n+  \"description\": \"Adds.<U+202E>\",\n\
             \u{20}  \"inputSchema\": {},\n   \"name\": \"a\"\n }\n"
        );
        let new = difference("a", None, &now);
        assert!(new.starts_with("--- a, never approved\n+++ a, current\n"), "{new}");
        assert!(new.contains("+  \"name\": \"a\"\n"), "{new}");
    }
}
