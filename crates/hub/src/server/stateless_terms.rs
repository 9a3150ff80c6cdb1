//! What a client announces, for servers without sessions.

use super::{connection::capabilities, questions::level_name};
use docent_tool::{CallContext, Object, SyslogLevel};
use serde_json::{Value, json};

/// Client information that each request to a server without sessions carries.
pub(super) struct StatelessClientTerms {
    level: Option<SyslogLevel>,
    /// The client's sampling capabilities.
    sampling: Object,
}

impl StatelessClientTerms {
    pub(super) fn from_context(context: &CallContext) -> Self {
        let sampling = match context.capabilities().remove("sampling") {
            Some(Value::Object(able)) => able,
            _ => Object::new(),
        };
        Self { level: context.level(), sampling }
    }

    /// Merges the sampling capabilities into those announced to servers with sessions, before the caller is known.
    pub(super) fn merge_sampling(&self, all: &mut Object) {
        for (able, how) in &self.sampling {
            all.entry(able.clone()).or_insert_with(|| how.clone());
        }
    }

    pub(super) fn add_to_request(self, params: &mut Object) {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        let Value::Object(meta) = meta else { return };
        if let Some(level) = self.level {
            meta.insert("io.modelcontextprotocol/logLevel".into(), level_name(level).into());
        }
        let able = capabilities(&self.sampling);
        meta.insert("io.modelcontextprotocol/clientCapabilities".into(), able);
    }
}
