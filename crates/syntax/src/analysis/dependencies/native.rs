//! Languages that name a file by its path: C and C++, Zig, Protobuf, Bash.

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
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
pub(super) fn include(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let module = asked.module();
    let is_angle = module.starts_with('<') || asked.statement.head.ends_with('<');
    let path = module.trim_matches(['<', '>', '"', ' ']);
    let here = (!is_angle).then(|| join(folder_of(asked.from), path)).flatten();
    if let Some(file) = here.filter(|path| files.has(path)) {
        return ImportTarget::local([file]);
    }
    let headers = ["include", "inc", "src", ""];
    // A header that comes with the system may share its name with one at the top of a folder.
    if !is_angle || path.contains('/') {
        let around = upwards(folder_of(asked.from));
        let bases = around.flat_map(|folder| headers.map(|name| within(folder, name)));
        let found = bases.filter_map(|base| join(&base, path)).find(|path| files.has(path));
        let only = || files.only_ending(path).map(str::to_owned);
        if let Some(file) = found.or_else(only) {
            return ImportTarget::local([file]);
        }
    } else if let Some(file) = files.only_ending(&format!("include/{path}")) {
        return ImportTarget::local([file.to_owned()]);
    }
    if !is_angle {
        return ImportTarget::local([]);
    }
    match path.split_once('/') {
        Some((first, _)) if !SYSTEM.contains(&first) => {
            ImportTarget::package(files.package(Ecosystem::Native, &[first.to_owned()]))
        }
        _ => ImportTarget::standard(path),
    }
}

/// `@import`: a file by its path, else a module that the build gives a name.
pub(super) fn zig(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let module = asked.module().trim_matches('"');
    if asked.statement.head.starts_with("@cInclude") {
        return ImportTarget::standard(module);
    }
    let here = join(folder_of(asked.from), module).filter(|path| files.has(path));
    match module {
        "std" | "builtin" | "root" => ImportTarget::standard(module),
        _ if here.is_some() || has_ending(module, "zig") || module.contains('/') => {
            ImportTarget::local(here)
        }
        _ => ImportTarget::package(files.package(Ecosystem::Zig, &[module.to_owned()])),
    }
}

/// `import`: from some folder around the file, else wherever there is just one.
pub(super) fn proto(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
    let path = asked.module().trim_matches(['"', '\'']);
    let around = upwards(folder_of(asked.from)).filter_map(|folder| join(folder, path));
    let found = around.into_iter().find(|path| files.has(path));
    if let Some(file) = found.or_else(|| files.only_ending(path).map(str::to_owned)) {
        return ImportTarget::local([file]);
    }
    if path.starts_with("google/protobuf/") {
        ImportTarget::standard(path)
    } else {
        ImportTarget::default()
    }
}

/// `source`: from the file's folder or one around it. What starts with a variable is taken from its first literal part.
pub(super) fn source(asked: &ImportQuery<'_>, files: &RepositoryFiles<'_>) -> ImportTarget {
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
        return ImportTarget::default();
    }
    let around = upwards(folder_of(asked.from)).filter_map(|folder| join(folder, path));
    ImportTarget::local(around.into_iter().find(|path| files.has(path)))
}
