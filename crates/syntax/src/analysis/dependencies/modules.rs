//! Languages whose module names are respelled paths: Lua, Elixir, Haskell, Swift.

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
    paths::{folder_of, has_ending, upwards, within},
    standard,
};

/// `require "a.b"` is `a/b.lua` or `a/b/init.lua` below some folder on the module path.
pub(super) fn lua(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let module = asked.module().trim_matches(['"', '\'', '[', ']']);
    if matches!(
        module,
        "string" | "table" | "math" | "io" | "os" | "debug" | "coroutine" | "utf8" | "package"
    ) {
        return ImportTarget::standard(module);
    }
    let is_path = has_ending(module, "lua") && !asked.statement.head.starts_with("require");
    let path =
        if is_path { module.trim_end_matches(".lua").to_owned() } else { module.replace('.', "/") };
    let forms = [format!("{path}.lua"), format!("{path}/init.lua")];
    let around = upwards(folder_of(asked.from));
    let bases =
        around.flat_map(|folder| ["", "lua", "src", "lib"].map(|load| within(folder, load)));
    let mut paths = bases.flat_map(|base| forms.each_ref().map(|form| within(&base, form)));
    let found = paths.find(|path| files.has(path));
    let only = || forms.iter().find_map(|form| files.only_ending(form)).map(str::to_owned);
    if let Some(file) = found.or_else(only) {
        return ImportTarget::local([file]);
    }
    if is_path {
        return ImportTarget::local([]);
    }
    let first = path.split('/').next().unwrap_or_default().to_owned();
    ImportTarget::package(files.package(Ecosystem::Lua, &[first]))
}

/// `Shop.CartItem` is in `shop/cart_item.ex`, as is what is defined inside it.
pub(super) fn elixir(
    asked: &ImportQuery<'_>,
    module: &str,
    files: &RepositoryFiles<'_>,
) -> ImportTarget {
    let parts: Vec<String> = module.split('.').map(to_snake_case).collect();
    for count in (1..=parts.len()).rev() {
        let path = parts[..count].join("/");
        let found = ["ex", "exs"]
            .iter()
            .find_map(|ending| files.nearest_ending(asked.from, &format!("{path}.{ending}")));
        // A single name is too common to be looked for anywhere but where libraries start.
        let found = found.filter(|file| count > 1 || folder_of(file).ends_with("lib"));
        if let Some(file) = found {
            return ImportTarget::local([file.to_owned()]);
        }
    }
    let first = parts.first().cloned().unwrap_or_default();
    let own = [
        "Enum",
        "List",
        "Map",
        "String",
        "Kernel",
        "GenServer",
        "Supervisor",
        "Agent",
        "Task",
        "Logger",
        "Process",
        "File",
        "Path",
        "Stream",
        "Keyword",
        "Application",
        "Mix",
        "ExUnit",
        "IO",
        "Bitwise",
        "Macro",
    ];
    if module.split('.').next().is_some_and(|first| own.contains(&first)) || module.starts_with(':')
    {
        return ImportTarget::standard(module);
    }
    ImportTarget::package(files.package(Ecosystem::Elixir, &[first]))
}

/// `A.B.C` is `A/B/C.hs` below some folder for sources.
pub(super) fn haskell(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let module = asked.module();
    let path = module.replace('.', "/");
    let found = ["hs", "lhs", "hsc"]
        .iter()
        .find_map(|ending| files.nearest_ending(asked.from, &format!("{path}.{ending}")));
    if let Some(file) = found {
        return ImportTarget::local([file.to_owned()]);
    }
    if standard::is_haskell(module) {
        return ImportTarget::standard(module);
    }
    ImportTarget::package(files.package(Ecosystem::Haskell, &[module.to_owned()]))
}

/// A module is a whole target, so an import names no file; a target of the repository has its folder.
pub(super) fn swift(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let words = asked.module().split_whitespace();
    let module = words.last().unwrap_or_default().split('.').next().unwrap_or_default();
    let is_target = |folder: &str| {
        ["Sources", "Tests"]
            .iter()
            .any(|kind| files.has_folder(&within(folder, &format!("{kind}/{module}"))))
    };
    if upwards(folder_of(asked.from)).any(is_target) {
        return ImportTarget::local([]);
    }
    let apple = [
        "Foundation",
        "Swift",
        "Dispatch",
        "Combine",
        "SwiftUI",
        "UIKit",
        "AppKit",
        "XCTest",
        "Darwin",
        "os",
        "CoreData",
        "CoreGraphics",
        "Glibc",
        "Observation",
        "Testing",
    ];
    if apple.contains(&module) {
        return ImportTarget::standard(module);
    }
    ImportTarget::package(files.package(Ecosystem::Swift, &[module.to_owned()]))
}

fn to_snake_case(name: &str) -> String {
    let mut out = String::new();
    let letters: Vec<char> = name.trim().chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let after_small = at > 0 && !letters[at - 1].is_uppercase();
        let before_small = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && at > 0 && (after_small || before_small) {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn module_names_become_file_names() {
        for (name, want) in
            [("CartItem", "cart_item"), ("HTTPClient", "http_client"), ("Shop", "shop")]
        {
            assert_eq!(to_snake_case(name), want);
        }
    }
}
