//! Scripts and modules of Python packages.

use super::{by_place, entry, existing, head};
use crate::repo::{
    project::sources::{FileRole, OpenedManifest, ProjectSources},
    report::{EntryKind, EntryPoint},
    tree::{folder_of, name_of},
};
use serde_json::Value;

/// Folders below a manifest that may contain packages.
const FOLDERS: [&str; 4] = ["", "src/", "lib/", "python/"];

/// Script tables in pyproject.toml.
const SCRIPTS: [&str; 3] = ["/project/scripts", "/project/gui-scripts", "/tool/poetry/scripts"];

/// Reads the entry points of a Python manifest.
pub(super) fn entries(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    found: &mut Vec<EntryPoint>,
) {
    let scripts = match opened.file() {
        "pyproject.toml" => declared(opened),
        "setup.cfg" => in_configuration(&opened.text),
        "setup.py" => in_program(&opened.text),
        _ => return,
    };
    for (name, target) in scripts {
        let module = target.split(':').next().unwrap_or_default().trim();
        let path = module_path(sources, opened, module);
        found.push(entry(opened, EntryKind::Binary, &name, path));
    }
    let Some(name) = opened.manifest.name.as_deref() else { return };
    let module = name.to_lowercase().replace('-', "_");
    let path = module_path(sources, opened, &module).filter(|it| it.ends_with("__init__.py"));
    if let Some(path) = path {
        found.push(entry(opened, EntryKind::Library, &module, Some(path)));
    }
}

fn declared(opened: &OpenedManifest<'_>) -> Vec<(String, String)> {
    let tables = SCRIPTS.iter().filter_map(|pointer| opened.value.pointer(pointer)?.as_object());
    let target = |value: &Value| {
        let callable = value.get("callable").or_else(|| value.get("reference"));
        value.as_str().or_else(|| callable?.as_str()).unwrap_or_default().to_owned()
    };
    tables.flatten().map(|(name, value)| (name.clone(), target(value))).collect()
}

/// Reads `name = module:function` under `console_scripts`.
fn in_configuration(text: &str) -> Vec<(String, String)> {
    let mut scripts = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if !line.starts_with([' ', '\t']) {
            inside = matches!(
                line.split('=').next().map(str::trim),
                Some("console_scripts" | "gui_scripts")
            );
            continue;
        }
        let pair = line.split_once('=').filter(|(_, target)| inside && target.contains(':'));
        scripts
            .extend(pair.map(|(name, target)| (name.trim().to_owned(), target.trim().to_owned())));
    }
    scripts
}

/// Reads strings of the form `name=module:function` in the list `console_scripts`.
fn in_program(text: &str) -> Vec<(String, String)> {
    let Some((_, rest)) = text.split_once("console_scripts") else { return Vec::new() };
    let list = rest.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let Some((list, _)) = list else { return Vec::new() };
    let texts = list.split(['"', '\'']).filter(|text| text.contains(':'));
    let pairs = texts.filter_map(|text| text.split_once('='));
    pairs.map(|(name, target)| (name.trim().to_owned(), target.trim().to_owned())).collect()
}

fn module_path(
    sources: &ProjectSources<'_>,
    opened: &OpenedManifest<'_>,
    module: &str,
) -> Option<String> {
    if module.is_empty() {
        return None;
    }
    let path = module.replace('.', "/");
    FOLDERS.iter().find_map(|folder| {
        let files = [format!("{folder}{path}.py"), format!("{folder}{path}/__init__.py")];
        files.iter().find_map(|file| existing(sources, opened, file))
    })
}

/// Returns the package name of a folder: outer folders count if they are packages.
fn module_name(sources: &ProjectSources<'_>, folder: &str) -> String {
    let mut name = name_of(folder).to_owned();
    let mut above = folder_of(folder);
    while !above.is_empty() && sources.has(above, "__init__.py") {
        name = format!("{}.{name}", name_of(above));
        above = folder_of(above);
    }
    name
}

/// Finds interpreted programs: `__main__.py`, `manage.py`, and top-level programs.
pub(super) fn modules(sources: &ProjectSources<'_>, found: &mut Vec<EntryPoint>) {
    for path in sources.of(FileRole::PythonModule) {
        let module = module_name(sources, folder_of(path));
        if !module.is_empty() {
            found.push(by_place(EntryKind::Script, &module, path));
        }
    }
    for path in sources.of(FileRole::PythonScript) {
        let is_program = match name_of(path) {
            "manage.py" => head(sources, path).contains("django"),
            "wsgi.py" | "asgi.py" => true,
            _ => sources.tree.text(path).is_ok_and(|text| text.contains("__name__ ==")),
        };
        if is_program {
            found.push(by_place(EntryKind::Script, name_of(path), path));
        }
    }
}
