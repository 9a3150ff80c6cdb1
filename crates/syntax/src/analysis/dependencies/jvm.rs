//! Java, Kotlin and Scala: a class is in the file of its name, in the folders of its package, below some source folder.

use super::{
    Ecosystem, ImportQuery, ImportTarget, RepositoryFiles,
    files::{MAX_COMPARED_FILES, MAX_PACKAGE_FILES},
    paths::{nearest, within},
};

const ENDINGS: [&str; 4] = ["java", "kt", "scala", "groovy"];
const STANDARD: [&str; 8] =
    ["java.", "javax.", "jdk.", "sun.", "com.sun.", "kotlin.", "scala.", "org.w3c.dom."];

pub(super) fn resolve(
    asked: &ImportQuery<'_>,
    module: &str,
    files: &RepositoryFiles<'_>,
) -> ImportTarget {
    let mut parts: Vec<&str> =
        module.trim_start_matches("_root_.").split('.').map(str::trim).collect();
    let is_star = |name: &str| matches!(name, "*" | "_" | "given");
    let mut all = false;
    while parts.len() > 1 && parts.last().is_some_and(|last| is_star(last)) {
        all = true;
        parts.pop();
    }
    if let Some(file) = class(asked.from, &parts, files) {
        return ImportTarget::local([file]);
    }
    let package = if all { parts.as_slice() } else { &parts[..parts.len().saturating_sub(1)] };
    let inside = package_files(asked.from, package, files);
    if !inside.is_empty() {
        // A top-level function is not found by file name.
        let is_found = all || inside.len() == 1;
        return ImportTarget::local(if is_found { inside } else { Vec::new() });
    }
    let whole = parts.join(".");
    if STANDARD.iter().any(|start| whole.starts_with(start)) {
        return ImportTarget::standard(&lower(&parts).join("."));
    }
    let package = lower(&parts);
    let names: Vec<String> = (2..=package.len().max(2))
        .rev()
        .map(|count| package[..count.min(package.len())].join("."))
        .collect();
    ImportTarget::package(files.package(Ecosystem::Java, &names))
}

/// The last names may be a class inside the class, or a member of it.
fn class(from: &str, parts: &[&str], files: &RepositoryFiles<'_>) -> Option<String> {
    let shortest = parts.len().saturating_sub(3).max(2).min(parts.len());
    for count in (shortest..=parts.len()).rev() {
        let path = parts[..count].join("/");
        for ending in ENDINGS {
            if let Some(file) = files.nearest_ending(from, &format!("{path}.{ending}")) {
                return Some(file.to_owned());
            }
        }
    }
    // Kotlin leaves out the folders of the package that everything is in.
    let shorter = (1..parts.len().saturating_sub(1))
        .filter_map(|skipped| files.only_ending(&format!("{}.kt", parts[skipped..].join("/"))));
    shorter.into_iter().next().map(str::to_owned)
}

/// The files of a package. Tests may need the sources, but not the other way round.
fn package_files(from: &str, package: &[&str], files: &RepositoryFiles<'_>) -> Vec<String> {
    if package.len() < 2 {
        return Vec::new();
    }
    let is_test = |path: &str| within("", path).split('/').any(|part| part == "test");
    let path = package.join("/");
    let folders: Vec<&str> = files
        .folders_ending(&path)
        .filter(|folder| is_test(from) || !is_test(folder))
        .take(MAX_COMPARED_FILES)
        .collect();
    let mut all: Vec<String> = folders
        .iter()
        .flat_map(|folder| files.directly_in(folder))
        .filter(|file| ENDINGS.iter().any(|ending| file.ends_with(&format!(".{ending}"))))
        .filter(|file| *file != from)
        .take(MAX_PACKAGE_FILES)
        .map(str::to_owned)
        .collect();
    // The nearest of them first, so that it is the one that is shown.
    let first = nearest(from, all.iter().map(String::as_str)).map(str::to_owned);
    all.sort_by_key(|file| Some(file) != first.as_ref());
    all
}

/// The names before the first class.
fn lower<'a>(parts: &[&'a str]) -> Vec<&'a str> {
    let is_package = |part: &&&str| !part.starts_with(char::is_uppercase);
    let package: Vec<&str> = parts.iter().take_while(is_package).copied().collect();
    if package.is_empty() { parts.to_vec() } else { package }
}
