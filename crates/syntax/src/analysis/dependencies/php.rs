//! PHP: classes by the prefixes of `composer.json`, and files that are included by path.

use super::{
    Asked, Ecosystem, Files, Target,
    paths::{folder_of, join, upwards, within},
};
use serde_json::Value;

/// Prefixes of namespaces with the folders that they stand for, longest first.
#[derive(Debug)]
pub(super) struct Prefixes(Vec<(String, String)>);

impl Prefixes {
    fn read(files: &Files<'_>) -> Self {
        let mut all = Vec::new();
        for (folder, text) in files.manifests("composer.json") {
            let Ok(manifest) = serde_json::from_str::<Value>(&text) else { continue };
            for kind in ["autoload", "autoload-dev"] {
                let prefixes = manifest[kind]["psr-4"].as_object().into_iter().flatten();
                for (prefix, value) in prefixes {
                    let one = value.as_str().into_iter();
                    let several = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                    let folders = one.chain(several).filter_map(|path| join(&folder, path));
                    all.extend(folders.map(|path| (prefix.clone(), path)));
                }
            }
        }
        all.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Self(all)
    }
}

pub(super) fn resolve(asked: &Asked<'_>, module: &str, files: &Files<'_>) -> Target {
    let head = asked.statement.head.as_str();
    if head.starts_with("include") || head.starts_with("require") {
        return included(asked, module, files);
    }
    let keyword =
        |name: &str| name.trim_start_matches("function ").trim_start_matches("const ").to_owned();
    let name = keyword(module.trim()).trim_start_matches('\\').to_owned();
    let prefixes = files.php.get_or_init(|| Prefixes::read(files));
    let mut local = false;
    for (prefix, folder) in &prefixes.0 {
        let Some(rest) = name.strip_prefix(prefix.as_str()) else { continue };
        local = true;
        let path = within(folder, &format!("{}.php", rest.replace('\\', "/")));
        if files.has(&path) {
            return Target::local([path]);
        }
    }
    if local {
        return Target::local([]);
    }
    let parts: Vec<&str> = name.split('\\').collect();
    let [vendor, project, ..] = parts.as_slice() else { return Target::standard(&name) };
    let path = format!("{}.php", parts.join("/"));
    if let Some(file) = files.only_ending(&path) {
        return Target::local([file.to_owned()]);
    }
    // Of `Symfony\Component\Console` the second part only says of which kind the package is.
    let kinds = ["Component", "Bundle", "Bridge", "Contracts"];
    let skipped = usize::from(kinds.contains(project) && parts.len() > 2);
    let vendor = hyphens(vendor);
    let mut names: Vec<String> =
        parts.iter().skip(1 + skipped).map(|part| format!("{vendor}/{}", hyphens(part))).collect();
    names.extend([format!("{vendor}/{vendor}"), vendor]);
    Target::package(files.package(Ecosystem::Php, &names))
}

/// Paths are seen from the file, from the folders around it, or from where the program starts.
fn included(asked: &Asked<'_>, module: &str, files: &Files<'_>) -> Target {
    let path = module.trim_matches(['"', '\'', '/', ' ']);
    let folders = upwards(folder_of(asked.from));
    let found = folders.filter_map(|folder| join(folder, path)).find(|path| files.has(path));
    Target::local(found)
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
