//! Containers: Dockerfiles, and services that a Compose file builds.

use crate::repo::{
    project::sources::{FileRole, ProjectSources, read},
    report::{EntryKind, EntryPoint},
    tree::{folder_of, join, name_of},
};
use serde_json::Value;

/// Finds containers to build. The module that reads variables lists unreadable files.
pub(super) fn entries(sources: &ProjectSources<'_>, found: &mut Vec<EntryPoint>) {
    let mut built = Vec::new();
    for path in sources.of(FileRole::Compose) {
        let Ok((_, value)) = read(sources.tree, path) else { continue };
        let services = value.get("services").and_then(Value::as_object);
        for (name, service) in services.into_iter().flatten() {
            let Some(file) = service.get("build").map(|build| dockerfile(path, build)) else {
                continue;
            };
            let file = file.filter(|file| sources.tree.file(file).is_some());
            built.extend(file.clone());
            let (name, declared_in) = (name.clone(), (*path).to_owned());
            found.push(EntryPoint { name, kind: EntryKind::Container, path: file, declared_in });
        }
    }
    for path in sources.of(FileRole::Dockerfile) {
        if !built.iter().any(|file| file == path) {
            found.push(super::by_place(EntryKind::Container, container_name(path), path));
        }
    }
}

/// Names a Dockerfile after its folder, or by its own name at the root.
fn container_name(path: &str) -> &str {
    match (name_of(path), name_of(folder_of(path))) {
        ("Dockerfile" | "Containerfile", folder) if !folder.is_empty() => folder,
        (name, _) => name,
    }
}

fn dockerfile(compose: &str, build: &Value) -> Option<String> {
    let text = |key: &str| build.get(key).and_then(Value::as_str);
    let context = build.as_str().or_else(|| text("context")).unwrap_or(".");
    let context = join(folder_of(compose), context)?;
    join(&context, text("dockerfile").unwrap_or("Dockerfile"))
}
