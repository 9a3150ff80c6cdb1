//! `docent resources`: lists resources, or reads one.

use super::{
    ShellContext,
    args::ResourcesFlags,
    connection::{self, ServerConnection},
    layout::{self, ListRow},
    results::{BinaryOutput, ResultView, print_json},
};
use crate::analyze::UsageError;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Lists resources, or reads the one that the only word names.
pub(crate) async fn run(
    peer: &dyn ServerConnection,
    desk: &ShellContext,
    flags: &ResourcesFlags,
    words: &[String],
) -> anyhow::Result<ExitCode> {
    match words {
        [] => list(peer, desk, flags).await,
        [uri] => read(peer, desk, flags, uri).await,
        _ => Err(UsageError("read one resource at a time: give one URI".into()).into()),
    }
}

async fn list(
    peer: &dyn ServerConnection,
    desk: &ShellContext,
    flags: &ResourcesFlags,
) -> anyhow::Result<ExitCode> {
    let resources = connection::list(peer, "resources/list", "resources").await?;
    let templates = connection::list(peer, "resources/templates/list", "resourceTemplates").await?;
    if flags.json {
        let all = json!({"resources": resources, "resourceTemplates": templates});
        print_json(&desk.console, &all)?;
        return Ok(ExitCode::SUCCESS);
    }
    if resources.is_empty() && templates.is_empty() {
        desk.console
            .print_error(&format!("{} has no resources", layout::server_name(peer.server())));
        return Ok(ExitCode::SUCCESS);
    }
    let terminal = &desk.console.terminal;
    let rows = |all: &[Value], key: &str| all.iter().map(|one| row(one, key)).collect::<Vec<_>>();
    let mut text = layout::rows(&rows(&resources, "uri"), terminal);
    if !templates.is_empty() {
        if !resources.is_empty() {
            text.push('\n');
        }
        text.push_str("Templates (fill in the fields to read):\n");
        text.push_str(&layout::rows(&rows(&templates, "uriTemplate"), terminal));
    }
    desk.console.print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn row(one: &Value, key: &str) -> ListRow {
    let text = |key: &str| one.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut notes: Vec<String> = text("mimeType").into_iter().map(str::to_owned).collect();
    notes.extend(one.get("size").and_then(Value::as_u64).map(|size| format!("{size} bytes")));
    let about = text("description").or(text("title")).or(text("name")).unwrap_or_default();
    ListRow {
        name: text(key).unwrap_or_default().into(),
        about: about.into(),
        notes: notes.join(", "),
    }
}

async fn read(
    peer: &dyn ServerConnection,
    desk: &ShellContext,
    flags: &ResourcesFlags,
    uri: &str,
) -> anyhow::Result<ExitCode> {
    let note = |note| desk.console.show_notice(note);
    let asked = json!({"uri": uri});
    let result = connection::ask(peer, &desk.questions, "resources/read", asked, &note).await?;
    desk.console.finish();
    if flags.json {
        print_json(&desk.console, &result)?;
        return Ok(ExitCode::SUCCESS);
    }
    let bytes = match BinaryOutput::choose(flags.save.as_deref(), &desk.folder, &desk.console) {
        BinaryOutput::Reported => BinaryOutput::Printed,
        other => other,
    };
    // The last part of the URI serves as the file name.
    let name = uri.trim_end_matches('/').rsplit('/').next().unwrap_or(uri);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let mut showing = ResultView::new(&desk.console, bytes, stem);
    let contents = result.get("contents").and_then(Value::as_array);
    for one in contents.into_iter().flatten() {
        showing.contents(one)?;
    }
    Ok(ExitCode::from(u8::from(showing.lost)))
}
