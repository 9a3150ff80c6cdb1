//! Languages that name a file by its path: C and C++, Zig, Protobuf, Bash.

use super::{
    Asked, Ecosystem, Files, Target,
    paths::{folder_of, has_ending, join, upwards, within},
};

/// Folders of headers that come with a system rather than with a library.
const SYSTEM: [&str; 12] = [
    "sys",
    "net",
    "netinet",
    "arpa",
    "linux",
    "asm",
    "bits",
    "machine",
    "mach",
    "rpc",
    "scsi",
    "experimental",
];

/// `#include`: from the file's folder, from the folders for headers around it, else wherever there is just one.
pub(super) fn include(asked: &Asked<'_>, files: &Files<'_>) -> Target {
    let module = asked.module();
    let is_angle = module.starts_with('<') || asked.statement.head.ends_with('<');
    let path = module.trim_matches(['<', '>', '"', ' ']);
    let here = (!is_angle).then(|| join(folder_of(asked.from), path)).flatten();
    if let Some(file) = here.filter(|path| files.has(path)) {
        return Target::local([file]);
    }
    let headers = ["include", "inc", "src", ""];
    // A header that comes with the system may share its name with one at the top of a folder.
    if !is_angle || path.contains('/') {
        let around = upwards(folder_of(asked.from));
        let bases = around.flat_map(|folder| headers.map(|name| within(folder, name)));
        let found = bases.filter_map(|base| join(&base, path)).find(|path| files.has(path));
        let only = || files.only_ending(path).map(str::to_owned);
        if let Some(file) = found.or_else(only) {
            return Target::local([file]);
        }
    } else if let Some(file) = files.only_ending(&format!("include/{path}")) {
        return Target::local([file.to_owned()]);
    }
    if !is_angle {
        return Target::local([]);
    }
    match path.split_once('/') {
        Some((first, _)) if !SYSTEM.contains(&first) => {
            Target::package(files.package(Ecosystem::Native, &[first.to_owned()]))
        }
        _ => Target::standard(path),
    }
}

/// `@import`: a file by its path, else a module that the build gives a name.
pub(super) fn zig(asked: &Asked<'_>, files: &Files<'_>) -> Target {
    let module = asked.module().trim_matches('"');
    if asked.statement.head.starts_with("@cInclude") {
        return Target::standard(module);
    }
    let here = join(folder_of(asked.from), module).filter(|path| files.has(path));
    match module {
        "std" | "builtin" | "root" => Target::standard(module),
        _ if here.is_some() || has_ending(module, "zig") || module.contains('/') => {
            Target::local(here)
        }
        _ => Target::package(files.package(Ecosystem::Zig, &[module.to_owned()])),
    }
}

/// `import`: from some folder around the file, else wherever there is just one.
pub(super) fn proto(asked: &Asked<'_>, files: &Files<'_>) -> Target {
    let path = asked.module().trim_matches(['"', '\'']);
    let around = upwards(folder_of(asked.from)).filter_map(|folder| join(folder, path));
    let found = around.into_iter().find(|path| files.has(path));
    if let Some(file) = found.or_else(|| files.only_ending(path).map(str::to_owned)) {
        return Target::local([file]);
    }
    if path.starts_with("google/protobuf/") { Target::standard(path) } else { Target::default() }
}

/// `source`: from the file's folder or one around it. What starts with a variable is taken from its first literal part.
pub(super) fn source(asked: &Asked<'_>, files: &Files<'_>) -> Target {
    let module = asked.module().trim_matches(['"', '\'']);
    let literal = match module.rfind(['}', ')']) {
        Some(at) => module.get(at + 1..).unwrap_or_default(),
        None if module.starts_with('$') => module.split_once('/').map_or("", |(_, rest)| rest),
        None => module,
    };
    let is_whole = literal.len() == module.len() && !asked.statement.head.contains('$');
    let is_absolute = is_whole && module.starts_with('/');
    let path = literal.trim_start_matches(['"', '/']);
    if path.is_empty() || is_absolute {
        return Target::default();
    }
    let around = upwards(folder_of(asked.from)).filter_map(|folder| join(folder, path));
    Target::local(around.into_iter().find(|path| files.has(path)))
}
