//! `package.json`: the packages of a workspace by name, and their exports.

use super::super::{ImportTarget, RepositoryFiles, paths::join};
use super::{ScriptFileProbe, around, star};
use serde_json::Value;
use std::collections::HashMap;

/// Folders for what is built, which a repository doesn't keep.
const BUILT: [&str; 10] =
    ["dist", "build", "lib", "out", "output", "esm", "cjs", "es", "types", "umd"];

/// Maximum patterns compared with each import.
const MAX_EXPORT_PATTERNS: usize = 100;

#[derive(Debug)]
pub(super) struct NodePackages {
    by_name: HashMap<String, String>,
    by_folder: HashMap<String, NodePackage>,
}

#[derive(Debug)]
struct NodePackage {
    folder: String,
    exports: ExportMap,
    imports: ExportMap,
    entries: Vec<String>,
}

/// The `exports` or `imports` map of a package. An icon package has thousands of entries.
#[derive(Debug)]
struct ExportMap {
    map: Value,
    /// Whether its keys are names instead of conditions.
    is_by_name: bool,
    /// Names with a star, the longest first.
    patterns: Vec<String>,
}

impl ExportMap {
    fn new(map: Value) -> Self {
        let keys = || map.as_object().into_iter().flat_map(|map| map.keys());
        let is_by_name = map.is_object() && keys().all(|key| key.starts_with(['.', '#']));
        let mut patterns: Vec<String> = keys().filter(|key| key.contains('*')).cloned().collect();
        patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.len()));
        patterns.truncate(MAX_EXPORT_PATTERNS);
        Self { map, is_by_name, patterns }
    }

    /// Every path for a name, whatever the condition.
    fn targets(&self, asked: &str) -> Vec<String> {
        if !self.is_by_name {
            return if asked == "." { strings(&self.map) } else { Vec::new() };
        }
        let exact = self.map.get(asked).filter(|_| !asked.contains('*'));
        let mut found: Vec<String> =
            exact.into_iter().flat_map(strings).map(|target| target.replace('*', "")).collect();
        for pattern in &self.patterns {
            let Some(rest) = star(pattern, asked) else { continue };
            let all = self.map.get(pattern.as_str()).into_iter().flat_map(strings);
            found.extend(all.map(|target| target.replace('*', rest)));
        }
        found
    }
}

/// The name of a package, and what is asked of it.
pub(super) fn split(module: &str) -> (&str, &str) {
    let parts = if module.starts_with('@') { 2 } else { 1 };
    match module.match_indices('/').nth(parts - 1) {
        Some((at, _)) => {
            let (name, rest) = module.split_at(at);
            (name, rest.trim_start_matches('/'))
        }
        None => (module, ""),
    }
}

/// What a manifest names as the package itself, sources first.
pub(super) fn entries(manifest: &Value) -> Vec<String> {
    let fields = ["source", "module", "main", "types", "typings"];
    fields.iter().filter_map(|field| manifest[field].as_str()).map(str::to_owned).collect()
}

impl NodePackages {
    pub(super) fn read(files: &RepositoryFiles<'_>) -> Self {
        let (mut by_name, mut by_folder) = (HashMap::new(), HashMap::new());
        for (folder, text) in files.manifests("package.json") {
            let Ok(manifest) = serde_json::from_str::<Value>(&text) else { continue };
            if let Some(name) = manifest["name"].as_str() {
                by_name.entry(name.to_owned()).or_insert_with(|| folder.clone());
            }
            let package = NodePackage {
                folder: folder.clone(),
                exports: ExportMap::new(manifest["exports"].clone()),
                imports: ExportMap::new(manifest["imports"].clone()),
                entries: entries(&manifest),
            };
            by_folder.insert(folder, package);
        }
        Self { by_name, by_folder }
    }

    /// What a package calls its own files (`#name`).
    pub(super) fn own_import(
        &self,
        from: &str,
        module: &str,
        probe: &ScriptFileProbe<'_, '_>,
    ) -> Option<String> {
        let package = around(from, |folder| self.by_folder.get(folder)).next()?;
        package.first(&package.imports.targets(module), probe)
    }

    /// What a name leads to in a package of this repository, if it is one.
    pub(super) fn export(
        &self,
        module: &str,
        probe: &ScriptFileProbe<'_, '_>,
    ) -> Option<ImportTarget> {
        let (name, rest) = split(module);
        let package = self.by_folder.get(self.by_name.get(name)?)?;
        Some(ImportTarget::local(package.file(rest, probe)))
    }
}

impl NodePackage {
    fn file(&self, rest: &str, probe: &ScriptFileProbe<'_, '_>) -> Option<String> {
        let asked = if rest.is_empty() { ".".to_owned() } else { format!("./{rest}") };
        let by_exports = self.first(&self.exports.targets(&asked), probe);
        if by_exports.is_some() {
            return by_exports;
        }
        if rest.is_empty() {
            let entries: Vec<String> = self
                .entries
                .iter()
                .map(String::as_str)
                .chain(["src/index", "index"])
                .map(str::to_owned)
                .collect();
            return self.first(&entries, probe);
        }
        self.first(&[rest.to_owned(), format!("src/{rest}")], probe)
    }

    /// The first of these targets that is a file, or is built from one.
    fn first(&self, targets: &[String], probe: &ScriptFileProbe<'_, '_>) -> Option<String> {
        let find = |target: &str| super::lookup(&join(&self.folder, target)?, probe);
        let exact = targets.iter().find_map(|target| find(target));
        exact.or_else(|| targets.iter().flat_map(|one| sources(one)).find_map(|one| find(&one)))
    }
}

/// Where the source of a built file would be.
fn sources(target: &str) -> Vec<String> {
    let parts: Vec<&str> = target.split('/').filter(|part| *part != ".").collect();
    let built = parts.iter().take_while(|part| BUILT.contains(part)).count();
    if built == 0 {
        return Vec::new();
    }
    let rest = parts[built..].join("/");
    let stem = [".d.ts", ".d.mts", ".d.cts", ".js", ".mjs", ".cjs"]
        .iter()
        .find_map(|ending| rest.strip_suffix(ending))
        .unwrap_or(&rest);
    let stem = stem.strip_prefix("src/").unwrap_or(stem);
    vec![format!("src/{stem}"), stem.to_owned()]
}

fn strings(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) => found.push(text.clone()),
            Value::Array(all) => waiting.extend(all.iter().rev()),
            Value::Object(all) => waiting.extend(all.values().rev()),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_split_from_what_is_asked_of_them() {
        for (module, want) in [
            ("zod", ("zod", "")),
            ("lodash/fp/get", ("lodash", "fp/get")),
            ("@scope/x", ("@scope/x", "")),
            ("@scope/x/y/z", ("@scope/x", "y/z")),
        ] {
            assert_eq!(split(module), want);
        }
    }

    #[test]
    fn exports_are_read_with_conditions_and_stars() {
        let map =
            json!({".": {"import": "./dist/a.mjs", "default": "./dist/a.js"}, "./x/*": "./x/*.js"});
        let names = ExportMap::new(map);
        assert_eq!(names.targets("."), ["./dist/a.mjs", "./dist/a.js"]);
        assert_eq!(names.targets("./x/one"), ["./x/one.js"]);
        assert!(names.targets("./y").is_empty());
        assert_eq!(ExportMap::new(json!("./main.js")).targets("."), ["./main.js"]);
        assert_eq!(sources("./dist/esm/a/b.js"), ["src/a/b", "a/b"]);
    }
}
