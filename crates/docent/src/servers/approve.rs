//! `docent servers approve`: what a definition was and what it is, shown before it is approved.

use super::{
    command::{ApproveFlags, entry},
    approval_memory,
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

/// Lines around a change.
const DIFF_CONTEXT_LINES: usize = 3;
/// How long lines are matched: past that, more of them are shown as changed than need be.
const DIFF_TIMEOUT: Duration = Duration::from_secs(2);

/// What became of what is held back.
#[derive(Debug)]
struct ApprovalOutcome {
    /// The definitions, as they were shown.
    shown: String,
    /// How it went.
    message: String,
    /// The tools whose definitions are approved.
    approved: Vec<String>,
}

pub(super) fn approve(flags: &ApproveFlags) -> anyhow::Result<Printed> {
    let ApproveFlags { name, tools, yes, common } = flags;
    let config = cli::load(&common.inputs()?)?;
    entry(&config, name)?;
    // Where nobody sees the question, or nobody can answer it, naming the server has to do.
    let asks = !yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    let agrees = |shown: &str| if asks { confirm(shown) } else { Ok(true) };
    let ApprovalOutcome { shown, message: told, approved } = decide(&approval_memory(&config), name, tools, agrees)?;
    let text = if asks { told } else { shown + &told };
    Ok(common.printed(text, &json!({"server": name, "approved": approved})))
}

/// Shows what is held back of a server, all or those named, and approves just that where `agrees` says so.
fn decide(
    memory: &ServerStateStore,
    name: &str,
    tools: &[String],
    agrees: impl FnOnce(&str) -> anyhow::Result<bool>,
) -> anyhow::Result<ApprovalOutcome> {
    let known = memory.load_any(name).unwrap_or_default();
    let is_wanted = |tool: &str| tools.is_empty() || tools.iter().any(|wanted| wanted == tool);
    let (mut shown, mut seen) = (String::new(), BTreeMap::new());
    for (tool, before, now) in known.held().filter(|held| is_wanted(held.0)) {
        shown.push_str(&difference(tool, before, now));
        seen.insert(tool.to_owned(), now.clone());
    }
    let nothing = |told: String| ApprovalOutcome { shown: String::new(), message: told, approved: Vec::new() };
    if seen.is_empty() && known.doubted && known.held_back.is_empty() {
        return Ok(nothing(format!(
            "What was approved of `{name}` can't be read, and what it offers is not known: see that with docent servers test {name}, and approve it then.\n"
        )));
    }
    if seen.is_empty() {
        return Ok(nothing(format!("Nothing of `{name}` is held back.\n")));
    }
    if !agrees(&shown)? {
        return Ok(nothing(format!("Nothing of `{name}` is approved.\n")));
    }
    let approved = memory.approve_seen(name, &seen)?;
    if approved.is_empty() {
        bail!(
            "what is held back of `{name}` is not what was shown any more, and nothing is approved: look again with docent servers approve {name}"
        );
    }
    let names: Vec<_> = approved.iter().map(|tool| one_line(tool)).collect();
    let told = format!(
        "Approved: {}. A docent that runs learns of it with the next call or list.\n",
        names.join(", ")
    );
    Ok(ApprovalOutcome { shown, message: told, approved })
}

/// What changes in a definition, as a unified diff with nothing hidden in it.
fn difference(tool: &str, before: Option<&Object>, now: &Object) -> String {
    let text = |fields: &Object| {
        let mut value = Value::Object(fields.clone());
        // The order of fields means nothing, and would make much of the rest look changed.
        value.sort_all_objects();
        format!("{value:#}\n")
    };
    let (old, new) = (before.map(text).unwrap_or_default(), text(now));
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
    let tool = one_line(tool);
    let was = if before.is_some() { "as approved" } else { "never approved" };
    let (was, is) = (format!("{tool}, {was}"), format!("{tool}, as it is now"));
    let told = diff.unified_diff().context_radius(DIFF_CONTEXT_LINES).header(&was, &is).to_string();
    visible(&told).into_owned()
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
        let meanwhile = |shown: &str| {
            assert!(shown.contains("-  \"description\": \"one\",\n"), "{shown}");
            assert!(shown.contains("+  \"description\": \"two\",\n"), "{shown}");
            memory.save("s", &held("three"));
            Ok(true)
        };
        let error = decide(&memory, "s", &[], meanwhile).unwrap_err().to_string();
        assert!(error.contains("is not what was shown any more"), "{error}");
        let refused = decide(&memory, "s", &[], |_| Ok(false)).unwrap();
        assert_eq!(refused.approved, [""; 0]);
        assert_eq!(memory.kept("s"), Some(held("three")));
        assert_eq!(decide(&memory, "s", &[], |_| Ok(true)).unwrap().approved, ["a"]);
        assert_eq!(memory.kept("s").unwrap().tools, [tool("three")]);
    }

    #[test]
    fn a_difference_is_short_and_hides_nothing() {
        let of = |value: &Value| value.as_object().unwrap().clone();
        let before = of(&json!({"name": "a", "description": "Adds.", "inputSchema": {}}));
        let now = of(&json!({"inputSchema": {}, "name": "a", "description": "Adds.\u{202e}"}));
        assert_eq!(
            difference("a\n+b", Some(&before), &now),
            "--- a\\n+b, as approved\n+++ a\\n+b, as it is now\n@@ -1,5 +1,5 @@\n {\n\
             -  \"description\": \"Adds.\",\n+  \"description\": \"Adds.<U+202E>\",\n\
             \u{20}  \"inputSchema\": {},\n   \"name\": \"a\"\n }\n"
        );
        let new = difference("a", None, &now);
        assert!(new.starts_with("--- a, never approved\n+++ a, as it is now\n"), "{new}");
        assert!(new.contains("+  \"name\": \"a\"\n"), "{new}");
    }
}
