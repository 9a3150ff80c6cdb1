//! `tsconfig.json` and `jsconfig.json`: which names lead to which paths.

use super::super::{
    RepositoryFiles,
    paths::{folder_of, join},
};
use super::{ScriptFileProbe, around, lookup, star};
use serde_json::Value;
use std::collections::HashMap;

/// Maximum depth of `extends`, which also ends cycles.
const MAX_EXTENDS_DEPTH: usize = 8;

/// Maximum configurations that one extends in total: each may name several.
const MAX_EXTENDED_CONFIGS: usize = 32;
/// Maximum bytes of extended configurations in total.
const MAX_EXTENDED_BYTES: usize = 16 << 20;
/// Maximum patterns compared with each import.
const MAX_PATH_PATTERNS: usize = 1_000;

/// By folder.
#[derive(Debug)]
pub(super) struct Configs(HashMap<String, TypeScriptConfig>);

#[derive(Debug, Default, Clone)]
struct TypeScriptConfig {
    /// The base folder of names without a mapping.
    base: Option<String>,
    /// Patterns with their candidate paths, from the top of the repository.
    paths: Option<Vec<(String, Vec<String>)>>,
}

impl Configs {
    pub(super) fn read(files: &RepositoryFiles<'_>) -> Self {
        let mut all = HashMap::new();
        let mut left = MAX_EXTENDED_BYTES;
        // The later one wins, so the one for TypeScript comes last.
        for name in ["jsconfig.json", "tsconfig.json"] {
            for (folder, text) in files.manifests(name) {
                let path = super::within(&folder, name);
                all.insert(folder, TypeScriptConfig::load(&path, &text, files, &mut left));
            }
        }
        Self(all)
    }

    /// The file that a name is mapped to for this file.
    pub(super) fn resolve_mapping(
        &self,
        from: &str,
        module: &str,
        probe: &ScriptFileProbe<'_, '_>,
    ) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        around(from, |folder| self.0.get(folder))
            .find_map(|config| config.resolve_path(module, probe))
    }
}

impl TypeScriptConfig {
    /// A configuration with what it extends and, where it only holds others together, what these say.
    fn load(path: &str, text: &str, files: &RepositoryFiles<'_>, left: &mut usize) -> Self {
        let mut config = Self::default();
        let mut taken = 0;
        let mut waiting = vec![(path.to_owned(), text.to_owned(), 0)];
        let mut referenced = Vec::new();
        // Nearer configurations are taken first, and what they say stays.
        while let Some((path, text, depth)) = waiting.pop() {
            let Ok(value) = serde_json::from_str::<Value>(&plain_json(&text)) else { continue };
            let folder = folder_of(&path);
            config.add(folder, &value["compilerOptions"]);
            if depth == MAX_EXTENDS_DEPTH {
                continue;
            }
            let mut reads = |name: &str| {
                if taken == MAX_EXTENDED_CONFIGS || *left == 0 {
                    return None;
                }
                let path = find(folder, name, files)?;
                let text = files.read(&path)?;
                taken += 1;
                *left = left.saturating_sub(text.len());
                Some((path, text, depth + 1))
            };
            let extended: Vec<&str> = match &value["extends"] {
                Value::String(one) => vec![one],
                Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
                _ => Vec::new(),
            };
            waiting.extend(extended.into_iter().filter_map(&mut reads));
            if depth == 0 {
                let all = value["references"].as_array().into_iter().flatten();
                referenced.extend(all.filter_map(|one| reads(one["path"].as_str()?)));
            }
        }
        if config.paths.is_none() {
            for (path, text, _) in referenced.into_iter().filter(|(other, ..)| other != path) {
                let Ok(value) = serde_json::from_str::<Value>(&plain_json(&text)) else { continue };
                let mut other = Self::default();
                other.add(folder_of(&path), &value["compilerOptions"]);
                config.base = config.base.or(other.base);
                config.paths.get_or_insert_default().extend(other.paths.unwrap_or_default());
            }
        }
        config
    }

    fn add(&mut self, folder: &str, options: &Value) {
        let own_base = options["baseUrl"].as_str().and_then(|base| join(folder, base));
        if let (None, Some(paths)) = (&self.paths, options["paths"].as_object()) {
            let base = own_base.as_deref().unwrap_or(folder);
            let targets = |value: &Value| -> Vec<String> {
                let all = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                all.filter_map(|target| join(base, target.trim_start_matches("${configDir}/")))
                    .collect()
            };
            let mut paths: Vec<_> =
                paths.iter().map(|(pattern, value)| (pattern.clone(), targets(value))).collect();
            // An exact name goes before a pattern, and of patterns the one with the longest start.
            paths.sort_by_key(|(pattern, _)| {
                let start = pattern.split('*').next().map_or(0, str::len);
                (pattern.contains('*'), std::cmp::Reverse(start))
            });
            paths.truncate(MAX_PATH_PATTERNS);
            self.paths = Some(paths);
        }
        self.base = self.base.take().or(own_base);
    }

    fn resolve_path(&self, module: &str, probe: &ScriptFileProbe<'_, '_>) -> Option<String> {
        for (pattern, targets) in self.paths.iter().flatten() {
            let Some(rest) = star(pattern, module) else { continue };
            let found = targets
                .iter()
                .find_map(|target| lookup(&join("", &target.replacen('*', rest, 1))?, probe));
            if found.is_some() {
                return found;
            }
        }
        self.base.as_ref().and_then(|base| lookup(&join(base, module)?, probe))
    }
}

/// The configuration that a name means: with or without its ending, or in a folder.
fn find(folder: &str, name: &str, files: &RepositoryFiles<'_>) -> Option<String> {
    let base = join(folder, name).filter(|_| name.starts_with('.'))?;
    let inside = super::within(&base, "tsconfig.json");
    [base.clone(), format!("{base}.json"), inside].into_iter().find(|path| files.has(path))
}

/// JSON without the comments and the commas before a closing bracket that these files may have.
fn plain_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.trim_start_matches('\u{feff}').chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('"', _) => {
                out.push('"');
                while let Some(inner) = characters.next() {
                    out.push(inner);
                    match inner {
                        '\\' => out.extend(characters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while characters.next_if(|one| *one != '\n').is_some() {},
            ('/', Some('*')) => {
                let mut last = ' ';
                characters.next();
                for inner in characters.by_ref() {
                    if last == '*' && inner == '/' {
                        break;
                    }
                    last = inner;
                }
            }
            ('}' | ']', _) => {
                let end = out.trim_end().strip_suffix(',').map(str::len);
                out.truncate(end.unwrap_or(out.len()));
                out.push(character);
            }
            _ => out.push(character),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_are_left_out() {
        let text = "{ // one\n \"a\": \"x//y,}\\\"\", /* two */ \"b\": [1, 2, ],\n}";
        let value: Value = serde_json::from_str(&plain_json(text)).unwrap();
        assert_eq!(value, serde_json::json!({"a": "x//y,}\"", "b": [1, 2]}));
    }
}
