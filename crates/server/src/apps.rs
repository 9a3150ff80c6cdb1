//! MCP Apps, the extension `io.modelcontextprotocol/ui` (2026-01-26): which clients can show pages, and what they
//! receive. For all others, lists and answers contain no pages.

use crate::{
    McpServer,
    catalog::with_parts,
    request_caller::{CLIENT_CAPABILITIES, RequestCaller},
};
use docent_tool::{App, ToolProvider};
use docent_wire::Dialect;
use rmcp::{
    RoleServer,
    model::{
        ClientCapabilities, ExtensionCapabilities, JsonObject, MetaObject, Resource,
        ResourceContents, Tool,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use std::sync::Arc;

const EXTENSION: &str = "io.modelcontextprotocol/ui";
const MIME: &str = "text/html;profile=mcp-app";

/// Whether the sender of a request can show pages. The stateless revision declares it with each request.
pub(crate) fn shows_apps(context: &RequestContext<RoleServer>, dialect: Dialect) -> bool {
    if dialect == Dialect::V2026_07_28 {
        let able = context.meta.get(CLIENT_CAPABILITIES);
        let settings = able.and_then(|able| able.get("extensions")?.get(EXTENSION));
        return takes_html(settings.and_then(Value::as_object));
    }
    context.peer.peer_info().is_some_and(|info| announces_apps(&info.capabilities, dialect))
}

/// Whether a handshake announces the extension, in a revision whose tools can carry it: older ones have no `_meta`.
pub(crate) fn announces_apps(able: &ClientCapabilities, dialect: Dialect) -> bool {
    let settings = able.extensions.as_ref().and_then(|known| known.get(EXTENSION));
    dialect >= Dialect::V2025_06_18 && takes_html(settings)
}

fn takes_html(settings: Option<&JsonObject>) -> bool {
    let types = settings.and_then(|settings| settings.get("mimeTypes")).and_then(Value::as_array);
    types.is_some_and(|types| types.iter().filter_map(Value::as_str).any(is_page))
}

fn is_page(mime: &str) -> bool {
    let bare = mime.chars().filter(|one| !one.is_whitespace() && *one != '"');
    bare.map(|one| one.to_ascii_lowercase()).eq(MIME.chars())
}

/// The capability of a server whose providers have pages.
pub(crate) fn capability(providers: &[Arc<dyn ToolProvider>]) -> ExtensionCapabilities {
    let some = with_parts(providers).iter().any(|provider| !provider.apps().is_empty());
    some.then(|| (EXTENSION.to_owned(), JsonObject::new())).into_iter().collect()
}

/// The extensions to announce in the handshake of a session: those revisions don't define extensions, but clients that
/// announce this one look for it there.
pub(crate) fn session_extensions(ours: &ExtensionCapabilities) -> Option<ExtensionCapabilities> {
    let (name, settings) = ours.get_key_value(EXTENSION)?;
    Some([(name.clone(), settings.clone())].into())
}

/// A tool as listed for clients that can show its page. Pages may call it as well.
pub(crate) fn with_app(mut tool: Tool, uri: &str) -> Tool {
    let meta = tool.meta.get_or_insert_with(|| MetaObject(JsonObject::new()));
    meta.0.insert("ui".into(), json!({"resourceUri": uri, "visibility": ["model", "app"]}));
    tool
}

/// A page as a listed resource.
pub(crate) fn resource(app: &App) -> Resource {
    let mut resource = Resource::new(app.uri, app.name);
    resource.title = Some(app.title.to_owned());
    resource.description = Some(app.about.to_owned());
    resource.mime_type = Some(MIME.to_owned());
    resource.size = u64::try_from(app.html.len()).ok();
    resource
}

/// The page itself. It needs no other host, so it requests none.
pub(crate) fn contents(app: &App) -> ResourceContents {
    let ui = json!({"prefersBorder": true});
    ResourceContents::TextResourceContents {
        uri: app.uri.to_owned(),
        mime_type: Some(MIME.to_owned()),
        text: app.html.to_owned(),
        meta: Some(MetaObject([("ui".to_owned(), ui)].into_iter().collect())),
    }
}

impl McpServer {
    /// The pages that this caller may see, without duplicates.
    pub(crate) fn apps(&self, guest: &RequestCaller) -> Vec<App> {
        let mut all: Vec<App> = Vec::new();
        for app in self.seen_by(guest).iter().flat_map(|provider| provider.apps()) {
            if all.iter().all(|known| known.uri != app.uri) {
                all.push(app);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_pages() {
        let cases = [
            (json!({"mimeTypes": [MIME]}), true),
            (json!({"mimeTypes": ["text/plain", "text/html; profile=\"mcp-app\""]}), true),
            (json!({"mimeTypes": ["TEXT/HTML;profile=mcp-app"]}), true),
            (json!({"mimeTypes": ["text/html"]}), false),
            (json!({"mimeTypes": MIME}), false),
            (json!({"mimeTypes": [7]}), false),
            (json!({}), false),
        ];
        for (settings, want) in cases {
            assert_eq!(takes_html(settings.as_object()), want, "{settings}");
        }
        assert!(!takes_html(None));
    }
}
