//! Static resources, one that changes on demand, and the tools that change it.

use super::{
    IMAGE,
    literal::{bare, text, typed},
};
use docent_tool::{AnyTool, Contents, ProviderChange, ResourceInfo, TemplateInfo};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use tokio::sync::broadcast;

const TEXT: &str = "test://static-text";
const BINARY: &str = "test://static-binary";
const WATCHED: &str = "test://watched-resource";
const TICK: &str = "test://tick";
const TEMPLATE: &str = "test://template/{id}/data";

/// How often the tick resource was touched.
pub(super) type Ticks = Arc<AtomicU64>;

/// Arguments of `touch_resource`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Touch {
    /// The resource that is to count as changed.
    uri: String,
}

/// Tools that make something change.
pub(super) fn tools(
    changes: &broadcast::Sender<ProviderChange>,
    ticks: &Ticks,
) -> Vec<Arc<dyn AnyTool>> {
    let (changes, ticks) = (changes.clone(), Arc::clone(ticks));
    let announce = move |change: ProviderChange| {
        // The only possible error is that there is no listener.
        changes.send(change).unwrap_or(0)
    };
    let (tools, prompts, resources) = (announce.clone(), announce.clone(), announce);
    vec![
        bare("test_trigger_tool_change", "Says that the list of tools has changed", move |_| {
            tools(ProviderChange::Tools);
            async { Ok(text("Tool list change triggered")) }
        }),
        bare(
            "test_trigger_prompt_change",
            "Says that the list of prompts has changed",
            move |_| {
                prompts(ProviderChange::Prompts);
                async { Ok(text("Prompt list change triggered")) }
            },
        ),
        typed(
            "touch_resource",
            "Changes a resource, or says that it has changed",
            move |args: Touch, _| {
                if args.uri == TICK {
                    ticks.fetch_add(1, Ordering::SeqCst);
                }
                resources(ProviderChange::Updated(args.uri.clone()));
                async move { Ok(text(format!("touched {}", args.uri))) }
            },
        ),
    ]
}

pub(super) fn list() -> Vec<ResourceInfo> {
    let known = [
        (TEXT, "Static Text Resource", "A text that never changes", "text/plain"),
        (BINARY, "Static Binary Resource", "A picture that never changes", "image/png"),
        (WATCHED, "Watched Resource", "A resource to subscribe to", "text/plain"),
        (TICK, "tick", "A count that grows with each touch", "text/plain"),
    ];
    let info = |(uri, name, about, mime): (&str, &str, &str, &str)| ResourceInfo {
        uri: uri.into(),
        name: name.into(),
        about: Some(about.into()),
        mime: Some(mime.into()),
        ..ResourceInfo::default()
    };
    known.into_iter().map(info).collect()
}

pub(super) fn templates() -> Vec<TemplateInfo> {
    vec![TemplateInfo {
        uri_template: TEMPLATE.into(),
        name: "Dynamic Resource".into(),
        title: None,
        about: Some("A resource whose address carries an id".into()),
        mime: Some("application/json".into()),
        ..TemplateInfo::default()
    }]
}

pub(super) fn read(uri: &str, ticks: &Ticks) -> Option<Contents> {
    let text = |mime: &str, text: String| Contents::Text {
        uri: uri.into(),
        mime: Some(mime.into()),
        text,
    };
    match uri {
        TEXT => Some(text("text/plain", "This is the content of the static text resource.".into())),
        BINARY => Some(Contents::Blob {
            uri: uri.into(),
            mime: Some("image/png".into()),
            blob: IMAGE.into(),
        }),
        WATCHED => Some(text("text/plain", "This is the content of the watched resource.".into())),
        TICK => Some(text("text/plain", ticks.load(Ordering::SeqCst).to_string())),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let member =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            Some(text("application/json", member.to_string()))
        }
    }
}

/// Values for a variable of a template.
pub(super) fn values(template: &str, variable: &str) -> &'static [&'static str] {
    match (template, variable) {
        (TEMPLATE, "id") => &["1", "12", "123"],
        _ => &[],
    }
}
