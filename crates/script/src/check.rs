//! Checks a script's imports before it runs.

use crate::ScriptClient;
use crate::draft::position_of;
use crate::error::{ScriptErrorKind, ScriptFailure};
use crate::module_form::{ScriptImport, client_of};
use crate::names;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A client's names as a script sees them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ScriptModule {
    pub(crate) id: String,
    /// The function's name and the tool's.
    pub(crate) tools: Vec<(String, String)>,
}

impl ScriptModule {
    pub(crate) fn of(client: &ScriptClient) -> Self {
        let functions = names::functions(client.tools.iter().map(|tool| tool.name.as_str()));
        let tools = functions.into_iter().zip(client.tools.iter().map(|tool| tool.name.clone()));
        Self { id: client.id.clone(), tools: tools.collect() }
    }

    /// Converts it for the prelude.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "id": self.id, "tools": self.tools })
    }

    fn has(&self, name: &str) -> bool {
        name == names::RAW_CALL
            || self.tools.iter().any(|(function, tool)| function == name || tool == name)
    }
}

/// Returns the ids of the imported clients, in order. Imported types are dropped, because they don't exist at run time.
pub(crate) fn resolve(
    imports: &mut [ScriptImport],
    modules: &[ScriptModule],
    source: &str,
) -> Result<Vec<String>, ScriptFailure> {
    let mut ids = Vec::with_capacity(imports.len());
    for import in imports {
        let wrong = |message: String, at: u32| {
            ScriptFailure::new(ScriptErrorKind::Import, message)
                .at(position_of(source, at as usize))
        };
        let found = client_of(&import.module, modules.iter().map(|module| module.id.as_str()));
        let Some(module) = modules.iter().find(|module| Some(module.id.as_str()) == found) else {
            return Err(wrong(no_module(&import.module, modules), import.at));
        };
        // Types start with a capital letter, which functions only do if the tool's name does.
        import.named.retain(|(name, ..)| {
            module.has(name) || !name.starts_with(|first: char| first.is_ascii_uppercase())
        });
        if let Some((name, _, at)) = import.named.iter().find(|(name, ..)| !module.has(name)) {
            return Err(wrong(no_tool(name, module), *at));
        }
        ids.push(module.id.clone());
    }
    Ok(ids)
}

fn no_module(name: &str, modules: &[ScriptModule]) -> String {
    if modules.is_empty() {
        return format!("there is no module \"{name}\", and no client may be imported");
    }
    let known =
        listed(modules.iter().map(|module| format!("{}{}", names::MODULE_PREFIX, module.id)));
    format!("there is no module \"{name}\"; available: {known}")
}

fn no_tool(name: &str, module: &ScriptModule) -> String {
    let known = module.tools.iter().map(|(function, _)| function.clone());
    let known = listed(known.chain([names::RAW_CALL.to_owned()]));
    format!("{}{} has no tool \"{name}\"; it has: {known}", names::MODULE_PREFIX, module.id)
}

fn listed(names: impl Iterator<Item = String>) -> String {
    const MAX_LISTED_NAMES: usize = 60;
    let mut names: Vec<String> = names.collect();
    if names.len() > MAX_LISTED_NAMES {
        let more = names.len() - MAX_LISTED_NAMES;
        names.truncate(MAX_LISTED_NAMES);
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}
