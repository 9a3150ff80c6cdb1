//! C#: a namespace is told by a project's name and the folders in it, where the repository keeps to that.

use super::{
    Asked, Ecosystem, Files, Target,
    paths::{folder_of, has_ending, nearest, stem_of, within},
};

/// Projects by the name of their file, those with the longest name first.
#[derive(Debug)]
pub(super) struct Projects(Vec<(String, String)>);

impl Projects {
    fn read(files: &Files<'_>) -> Self {
        let projects = files.paths().iter().filter(|path| has_ending(path, "csproj"));
        let mut all: Vec<(String, String)> =
            projects.map(|path| (stem_of(path).to_owned(), folder_of(path).to_owned())).collect();
        all.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self(all)
    }
}

pub(super) fn resolve(asked: &Asked<'_>, files: &Files<'_>) -> Target {
    let module = asked.module().trim_start_matches("global::");
    let projects = files.csharp.get_or_init(|| Projects::read(files));
    let mut local = false;
    for (name, folder) in &projects.0 {
        let Some(rest) = module.strip_prefix(name.as_str()) else { continue };
        if !rest.is_empty() && !rest.starts_with('.') {
            continue;
        }
        local = true;
        let folder = within(folder, &rest.trim_start_matches('.').replace('.', "/"));
        let class = format!("{folder}.cs");
        if files.has(&class) {
            return Target::local([class]);
        }
        let inside = files.directly_in(&folder).into_iter().filter(|path| has_ending(path, "cs"));
        let mut inside: Vec<String> = inside.map(str::to_owned).collect();
        if !inside.is_empty() {
            let first = nearest(asked.from, inside.iter().map(String::as_str)).map(str::to_owned);
            inside.sort_by_key(|file| Some(file) != first.as_ref());
            return Target::local(inside);
        }
    }
    if local {
        return Target::local([]);
    }
    if module == "System" || module.starts_with("System.") {
        return Target::standard(module);
    }
    let parts: Vec<&str> = module.split('.').collect();
    let names: Vec<String> =
        (1..=parts.len()).rev().map(|count| parts[..count].join(".")).collect();
    Target::package(files.package(Ecosystem::DotNet, &names))
}
