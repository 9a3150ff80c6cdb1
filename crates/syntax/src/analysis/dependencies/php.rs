//! PHP: classes by the prefixes of `composer.json`, and files included by path.

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
    files::MAX_COMPARED_FILES,
    paths::{folder_of, join, upwards, within},
};
use serde_json::Value;
use std::collections::HashMap;

/// Namespace prefixes with their folders.
#[derive(Debug)]
pub(super) struct Prefixes(HashMap<String, Vec<String>>);

impl Prefixes {
    fn read(files: &RepositoryFiles<'_>) -> Self {
        let mut all: HashMap<String, Vec<String>> = HashMap::new();
        for (folder, text) in files.manifests("composer.json") {
            let Ok(manifest) = serde_json::from_str::<Value>(&text) else { continue };
            for kind in ["autoload", "autoload-dev"] {
                let prefixes = manifest[kind]["psr-4"].as_object().into_iter().flatten();
                for (prefix, value) in prefixes {
                    let one = value.as_str().into_iter();
                    let several = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                    let folders = one.chain(several).filter_map(|path| join(&folder, path));
                    all.entry(prefix.clone()).or_default().extend(folders);
                }
            }
        }
        Self(all)
    }

    /// Folders that a class may lie in, those with the longest prefix first: the rest of its name, and the folder.
    fn of<'s>(&'s self, name: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        // A prefix ends with a backslash; some are written without.
        let ends = name.rmatch_indices('\\').flat_map(|(at, _)| [at + 1, at]);
        [name.len()].into_iter().chain(ends).chain([0]).flat_map(move |end| {
            let (prefix, rest) = name.split_at(end);
            let folders = self.0.get(prefix).into_iter().flatten().take(MAX_COMPARED_FILES);
            folders.map(move |folder| (rest, folder.as_str()))
        })
    }
}

pub(super) fn resolve(
    asked: &ImportQuery<'_>,
    module: &str,
    files: &RepositoryFiles<'_>,
) -> ImportTarget {
    let head = asked.statement.head.as_str();
    if head.starts_with("include") || head.starts_with("require") {
        return resolve_include(asked, module, files);
    }
    let keyword =
        |name: &str| name.trim_start_matches("function ").trim_start_matches("const ").to_owned();
    let name = keyword(module.trim()).trim_start_matches('\\').to_owned();
    let prefixes = files.php.get_or_init(|| Prefixes::read(files));
    let mut local = false;
    for (rest, folder) in prefixes.of(&name) {
        local = true;
        let path = within(folder, &format!("{}.php", rest.replace('\\', "/")));
        if files.has(&path) {
            return ImportTarget::local([path]);
        }
    }
    if local {
        return ImportTarget::local([]);
    }
    let parts: Vec<&str> = name.split('\\').collect();
    let [vendor, project, ..] = parts.as_slice() else { return ImportTarget::standard(&name) };
    let path = format!("{}.php", parts.join("/"));
    if let Some(file) = files.only_ending(&path) {
        return ImportTarget::local([file.to_owned()]);
    }
    // Of `Symfony\Component\Console` the second part only says of which kind the package is.
    let kinds = ["Component", "Bundle", "Bridge", "Contracts"];
    let skipped = usize::from(kinds.contains(project) && parts.len() > 2);
    let vendor = hyphens(vendor);
    let mut names: Vec<String> =
        parts.iter().skip(1 + skipped).map(|part| format!("{vendor}/{}", hyphens(part))).collect();
    names.extend([format!("{vendor}/{vendor}"), vendor]);
    ImportTarget::package(files.package(Ecosystem::Php, &names))
}

/// Paths are seen from the file, from the folders around it, or from where the program starts.
fn resolve_include(
    asked: &ImportQuery<'_>,
    module: &str,
    files: &RepositoryFiles<'_>,
) -> ImportTarget {
    let path = module.trim_matches(['"', '\'', '/', ' ']);
    let folders = upwards(folder_of(asked.from));
    let found = folders.filter_map(|folder| join(folder, path)).find(|path| files.has(path));
    ImportTarget::local(found)
}

/// `DoctrineBundle` is called `doctrine-bundle`.
fn hyphens(name: &str) -> String {
    let mut out = String::new();
    let mut after_small = false;
    for character in name.chars() {
        if character.is_uppercase() && after_small {
            out.push('-');
        }
        after_small = character.is_lowercase() || character.is_numeric();
        out.extend(character.to_lowercase());
    }
    out
}
