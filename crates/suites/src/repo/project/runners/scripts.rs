//! Scripts in JSON manifests: package.json, deno.json, composer.json.

use super::{DeclaredTarget, TaskTarget, body};
use crate::repo::project::sources::{OpenedManifest, line_of};
use serde_json::Value;

/// Lifecycle scripts that a package manager runs by itself.
const HOOKS: [&str; 13] = [
    "vscode:prepublish",
    "prepare",
    "prepublish",
    "prepublishOnly",
    "preinstall",
    "postinstall",
    "prepack",
    "postpack",
    "preversion",
    "version",
    "postversion",
    "dependencies",
    "preuninstall",
];

/// Composer commands that a script cannot override.
const COMPOSER: [&str; 12] = [
    "archive",
    "audit",
    "config",
    "create-project",
    "exec",
    "init",
    "install",
    "licenses",
    "outdated",
    "require",
    "update",
    "validate",
];

/// Reads the scripts of a package.json.
pub(super) fn package(opened: &OpenedManifest<'_>) -> Vec<TaskTarget> {
    let manager = opened.manifest.manager.as_deref().unwrap_or("npm");
    let Some(scripts) = opened.value.get("scripts").and_then(Value::as_object) else {
        return Vec::new();
    };
    let is_hook = |name: &str| {
        let around = name.strip_prefix("pre").or_else(|| name.strip_prefix("post"));
        HOOKS.contains(&name) || around.is_some_and(|name| scripts.contains_key(name))
    };
    let is_placeholder = |body: &str| body.contains("no test specified");
    let mut offers = Vec::new();
    for (name, script) in scripts {
        let body = body(script, &[]);
        if is_hook(name) || is_placeholder(&body) || body.is_empty() {
            continue;
        }
        let command = match (manager, name.as_str()) {
            ("npm" | "pnpm" | "yarn", "test" | "start") => format!("{manager} {name}"),
            _ => format!("{manager} run {name}"),
        };
        let line = line_of(&opened.text, "\"scripts\"", name);
        let target = DeclaredTarget { name: name.clone(), body, line };
        offers.push(target.offer(&opened.manifest.path, command));
    }
    offers
}

/// Reads the tasks of a deno.json.
pub(super) fn deno(opened: &OpenedManifest<'_>) -> Vec<TaskTarget> {
    let Some(tasks) = opened.value.get("tasks").and_then(Value::as_object) else {
        return Vec::new();
    };
    let offer = |(name, task): (&String, &Value)| {
        let line = line_of(&opened.text, "\"tasks\"", name);
        DeclaredTarget { name: name.clone(), body: body(task, &["command"]), line }
            .offer(&opened.manifest.path, format!("deno task {name}"))
    };
    tasks.iter().map(offer).collect()
}

/// Reads the scripts of a composer.json.
pub(super) fn composer(opened: &OpenedManifest<'_>) -> Vec<TaskTarget> {
    let Some(scripts) = opened.value.get("scripts").and_then(Value::as_object) else {
        return Vec::new();
    };
    let is_hook = |name: &str| name.starts_with("pre-") || name.starts_with("post-");
    let offer = |(name, script): (&String, &Value)| {
        let command = match name.as_str() {
            name if COMPOSER.contains(&name) => format!("composer run-script {name}"),
            name => format!("composer {name}"),
        };
        let line = line_of(&opened.text, "\"scripts\"", name);
        // `@php` and `@test` refer to the interpreter and to other scripts.
        let body = body(script, &[]).replace('@', "");
        DeclaredTarget { name: name.clone(), body, line }.offer(&opened.manifest.path, command)
    };
    scripts.iter().filter(|(name, _)| !is_hook(name)).map(offer).collect()
}
