//! Programs and modules of npm packages.

use super::{entry, existing};
use crate::repo::{
    project::sources::{OpenedManifest, ProjectSources},
    report::{EntryKind, EntryPoint},
};
use serde_json::Value;

/// Reads the entry points of a package.json.
pub(super) fn entries(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    let name = opened.manifest.name.as_deref().or_else(|| opened.text_at("/name"));
    match opened.value.get("bin") {
        Some(Value::String(path)) => {
            // The program of a scoped package has no scope in its name.
            let program = name.and_then(|name| name.rsplit('/').next()).unwrap_or(path);
            let path = existing(sources, opened, path);
            found.push(entry(opened, EntryKind::Binary, program, path));
        }
        Some(Value::Object(programs)) => {
            for (program, path) in programs {
                let path = path.as_str().and_then(|path| existing(sources, opened, path));
                found.push(entry(opened, EntryKind::Binary, program, path));
            }
        }
        _ => {}
    }
    let Some(name) = name else { return };
    let declared = [
        opened.value.get("exports").and_then(exported),
        opened.text_at("/module"),
        opened.text_at("/main"),
    ];
    let is_declared = declared.iter().any(Option::is_some);
    let path = declared.into_iter().flatten().find_map(|path| module(sources, opened, path));
    let usual = || existing(sources, opened, "index.js");
    let is_private = opened.value.get("private") == Some(&Value::Bool(true));
    if is_declared {
        found.push(entry(opened, EntryKind::Library, name, path));
    } else if let Some(path) = usual().filter(|_| !is_private) {
        found.push(entry(opened, EntryKind::Library, name, Some(path)));
    }
}

/// Resolves the module imported by the package name.
fn exported(exports: &Value) -> Option<&str> {
    match exports {
        Value::String(path) => Some(path),
        Value::Object(table) => {
            let inner = table.get(".").or_else(|| {
                ["import", "default", "require", "node"].iter().find_map(|key| table.get(*key))
            })?;
            exported(inner)
        }
        Value::Array(all) => all.iter().find_map(exported),
        _ => None,
    }
}

/// Resolves a module path: extensions may be omitted.
fn module(sources: &ProjectSources<'_>, opened: &OpenedManifest<'_>, path: &str) -> Option<String> {
    let path = path.trim_end_matches('/');
    let endings = ["", ".js", ".mjs", ".cjs", ".ts", "/index.js", "/index.ts"];
    endings.iter().find_map(|ending| existing(sources, opened, &format!("{path}{ending}")))
}
