//! The caller of one request.

use crate::{McpServer, admission::ApiKeys, apps};
use docent_transport::{Caller, CallerContext, ConnectionKind, Principal};
use docent_wire::Dialect;
use rmcp::{
    RoleServer,
    model::{Extensions, RequestMetaObject, TASKS_EXTENSION_ID},
    service::RequestContext,
};
use serde_json::Value;

const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The sender of one request.
#[derive(Debug, Clone)]
pub(crate) struct RequestCaller {
    pub(crate) caller: Caller,
    pub(crate) dialect: Dialect,
    pub(crate) streams: bool,
    /// The number of the request in the traffic recording.
    pub(crate) recorded: Option<u64>,
    /// Whether it can show pages.
    pub(crate) shows_apps: bool,
}

impl RequestCaller {
    /// Reads the origin that the transport attached. A request without one is anonymous.
    pub(crate) fn of(context: &RequestContext<RoleServer>, keys: &ApiKeys) -> Self {
        let origin = CallerContext::from_extensions(&context.extensions);
        let caller = match origin {
            Some(origin) => {
                let caller = origin.caller.clone();
                Caller { principal: keys.current(caller.principal), ..caller }
            }
            None => Caller {
                principal: keys.anonymous().clone(),
                via: ConnectionKind::Stdio,
                remote: None,
            },
        };
        let dialect =
            origin.and_then(|origin| origin.dialect).unwrap_or_else(|| dialect_of(context));
        Self {
            caller,
            dialect,
            streams: origin.is_some_and(|origin| origin.streams),
            recorded: origin.and_then(|origin| origin.recorded),
            shows_apps: apps::shows_apps(context, dialect),
        }
    }

    pub(crate) fn principal(&self) -> &Principal {
        &self.caller.principal
    }

    pub(crate) fn is_modern(&self) -> bool {
        self.dialect == Dialect::V2026_07_28
    }
}

impl McpServer {
    /// The sender of a message that is not a request.
    pub(crate) fn principal(&self, extensions: &Extensions) -> Principal {
        let terms = self.settings();
        match CallerContext::from_extensions(extensions) {
            Some(origin) => terms.api_keys.current(origin.caller.principal.clone()),
            None => terms.api_keys.anonymous().clone(),
        }
    }

    /// Whether a principal authenticated earlier may see a provider's resources and prompts.
    pub(crate) fn may_see(&self, who: Principal, provider: &str) -> bool {
        let terms = self.settings();
        terms.policy.may_see(&terms.api_keys.current(who), provider)
    }
}

fn dialect_of(context: &RequestContext<RoleServer>) -> Dialect {
    let Some(version) = context.protocol_version() else { return Dialect::FALLBACK };
    Dialect::of_version(version.as_str()).unwrap_or(Dialect::FALLBACK)
}

/// The client's own name and version, if it sent them.
pub(crate) fn client_name(context: &RequestContext<RoleServer>) -> Option<String> {
    let named = |name: &str, version: &str| format!("{name}/{version}");
    if let Some(info) = context.meta.get(CLIENT_INFO) {
        let field = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or("?");
        return Some(named(field("name"), field("version")));
    }
    let info = context.peer.peer_info()?;
    Some(named(&info.client_info.name, &info.client_info.version))
}

/// Whether a request's metadata declares that its client can follow a task.
pub(crate) fn declares_tasks(meta: &RequestMetaObject) -> bool {
    meta.get(CLIENT_CAPABILITIES)
        .and_then(|capabilities| capabilities.get("extensions"))
        .and_then(|extensions| extensions.get(TASKS_EXTENSION_ID))
        .is_some()
}
