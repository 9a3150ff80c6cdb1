//! C and C++ with `CMakeLists.txt`: packages that it finds or fetches by name.

use super::{
    super::report::Purpose,
    format::PackageFileFormat,
    reading::{ManifestDraft, ManifestReader},
};
use std::collections::HashMap;

/// Build tool packages.
const TOOLS: [&str; 12] = [
    "bison",
    "doxygen",
    "flex",
    "git",
    "perl",
    "pkgconfig",
    "python",
    "python3",
    "pythoninterp",
    "ruby",
    "sphinx",
    "swig",
];

/// Test and benchmark packages.
const TESTING: [&str; 8] =
    ["benchmark", "boost_ut", "catch2", "criterion", "cpputest", "doctest", "gmock", "gtest"];

/// Keywords of `find_package` and `pkg_check_modules` that are not packages.
const KEYWORDS: [&str; 9] = [
    "REQUIRED",
    "QUIET",
    "IMPORTED_TARGET",
    "GLOBAL",
    "NO_CMAKE_PATH",
    "EXACT",
    "CONFIG",
    "MODULE",
    "NO_CMAKE_ENVIRONMENT_PATH",
];

/// Reads every `CMakeLists.txt`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    reading.each(PackageFileFormat::CMake, |text, draft| {
        fill(&commands(text), draft);
        Ok(())
    });
    // Most files only list the sources of their folder.
    reading.drafts.retain(|draft| {
        let says_something = draft.manifest.name.is_some() || !draft.wanted.is_empty();
        draft.format != PackageFileFormat::CMake || says_something
    });
}

/// A command and its arguments.
type Command<'t> = (&'t str, Vec<&'t str>);

/// Parses the commands of a file, without comments.
fn commands(text: &str) -> Vec<Command<'_>> {
    let mut found = Vec::new();
    let mut command: Option<Command<'_>> = None;
    let mut depth = 0_usize;
    let mut last = "";
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (piece, length) = match c {
            '#' => (None, comment(rest)),
            '"' => quoted(rest),
            '(' | ')' => (None, 1),
            c if c.is_whitespace() => (None, c.len_utf8()),
            _ => {
                let end = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"' | '#');
                let length = rest.find(end).unwrap_or(rest.len());
                (rest.get(..length), length)
            }
        };
        if let Some(piece) = piece {
            last = piece;
            if let Some((_, arguments)) = &mut command {
                arguments.push(piece);
            }
        }
        if c == '(' {
            depth += 1;
            if depth == 1 {
                command = Some((last, Vec::new()));
            }
        } else if c == ')' {
            depth = depth.saturating_sub(1);
            found.extend(command.take_if(|_| depth == 0));
        }
        rest = rest.get(length.max(1)..).unwrap_or_default();
    }
    found
}

/// Returns the length of a comment: `# …` or `#[[ … ]]`.
fn comment(rest: &str) -> usize {
    if rest.starts_with("#[[") {
        return rest.find("]]").map_or(rest.len(), |at| at + 2);
    }
    rest.find('\n').unwrap_or(rest.len())
}

fn quoted(rest: &str) -> (Option<&str>, usize) {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == '"' && !escaped {
            return (rest.get(1..at), at + 1);
        }
        escaped = c == '\\' && !escaped;
    }
    (rest.get(1..), rest.len())
}

fn fill(commands: &[Command<'_>], draft: &mut ManifestDraft) {
    let mut variables: HashMap<&str, Option<&str>> = HashMap::new();
    for (_, arguments) in commands.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set")) {
        if let [name, value, ..] = arguments.as_slice() {
            // A variable set twice may have either value.
            variables.entry(name).and_modify(|known| *known = None).or_insert(Some(value));
        }
    }
    let expand = |text: &str| {
        let known = text.split_once("${").and_then(|(before, rest)| {
            let (name, after) = rest.split_once('}')?;
            let value = (*variables.get(name)?)?;
            let plain = !value.contains('$') && !after.contains('$');
            plain.then(|| format!("{before}{value}{after}"))
        });
        known.unwrap_or_else(|| text.to_owned())
    };
    for (name, arguments) in commands {
        let after = |key: &str| {
            let at = arguments.iter().position(|argument| *argument == key)?;
            arguments.get(at + 1).map(|value| expand(value))
        };
        match (&*name.to_ascii_lowercase(), arguments.as_slice()) {
            ("project", [name, ..]) if draft.manifest.name.is_none() => {
                draft.manifest.name = Some(expand(name)).filter(|name| !name.contains('$'));
                draft.manifest.version = after("VERSION").filter(|it| !it.contains('$'));
                draft.manifest.description = after("DESCRIPTION").filter(|it| !it.contains('$'));
            }
            ("find_package", [name, rest @ ..]) if !name.contains('$') => {
                let version = rest
                    .first()
                    .filter(|it| it.starts_with(|c: char| c.is_ascii_digit() || c == '$'));
                let required = rest.contains(&"REQUIRED");
                draft.want(*name, version.map(|it| expand(it)), purpose(name, required));
            }
            ("fetchcontent_declare" | "externalproject_add", [name, ..]) if !name.contains('$') => {
                let sources = ["GIT_TAG", "URL", "GIT_REPOSITORY"];
                let source = sources.iter().find_map(|key| after(key));
                draft.want(*name, source, purpose(name, true));
            }
            ("cpmaddpackage", arguments) => {
                take_cpm(arguments, after("NAME"), after("VERSION"), draft);
            }
            ("pkg_check_modules" | "pkg_search_module", [_, rest @ ..]) => {
                let required = rest.contains(&"REQUIRED");
                for module in rest.iter().filter(|it| !KEYWORDS.contains(it) && !it.contains('$')) {
                    let end = module.find(['>', '<', '=']).unwrap_or(module.len());
                    let (name, version) = module.split_at_checked(end).unwrap_or((module, ""));
                    let version = (!version.is_empty()).then(|| version.to_owned());
                    draft.want(name, version, purpose(name, required));
                }
            }
            _ => {}
        }
    }
}

/// Parses `CPMAddPackage("gh:fmtlib/fmt#7.1.3")`, or with named arguments.
fn take_cpm(
    arguments: &[&str],
    name: Option<String>,
    version: Option<String>,
    draft: &mut ManifestDraft,
) {
    if let Some(name) = name {
        let purpose = purpose(&name, true);
        return draft.want(name, version, purpose);
    }
    let [short] = arguments else { return };
    let Some((_, path)) = short.split_once(':') else { return };
    let (path, version) = match path.split_once(['#', '@']) {
        Some((path, version)) => (path, Some(version.to_owned())),
        None => (path, None),
    };
    let name = path.rsplit('/').next().unwrap_or(path);
    draft.want(name, version, purpose(name, true));
}

fn purpose(name: &str, required: bool) -> Purpose {
    let lower = name.to_ascii_lowercase();
    match lower.as_str() {
        name if TESTING.contains(&name) || name == "googletest" => Purpose::Development,
        name if TOOLS.contains(&name) => Purpose::Build,
        _ if required => Purpose::Runtime,
        _ => Purpose::Optional,
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests::check, *};

    #[test]
    fn packages_that_are_looked_for_and_fetched() {
        check(
            &[
                (
                    "CMakeLists.txt",
                    "cmake_minimum_required(VERSION 3.20)\nproject(Shop VERSION 1.4 DESCRIPTION \"Does it.\" LANGUAGES CXX)\nset(FMT_VERSION 10.1.1)\nset(TWICE 1)\nset(TWICE 2)\n\
                     find_package(ZLIB 1.2.11 REQUIRED)\nfind_package(Boost ${TWICE} REQUIRED COMPONENTS system)\nFIND_PACKAGE(Qt6 COMPONENTS Core)\nfind_package(${X} REQUIRED)\n\
                     find_package(Doxygen)\nfind_package(GTest REQUIRED)\n# find_package(No)\ninclude(FetchContent)\nFetchContent_Declare(\n  fmt\n  GIT_REPOSITORY https://example.org/fmt.git\n  GIT_TAG ${FMT_VERSION}\n)\n\
                     CPMAddPackage(\"gh:nlohmann/json#3.11.2\")\nCPMAddPackage(NAME spd VERSION 1.9 GITHUB_REPOSITORY a/b)\npkg_check_modules(GLIB REQUIRED IMPORTED_TARGET glib-2.0>=2.70)\n",
                ),
                ("src/CMakeLists.txt", "add_library(shop shop.cpp)\n"),
                ("examples/CMakeLists.txt", "project(examples)\nfind_package(Shop REQUIRED)\n"),
            ],
            "CMakeLists.txt | CMake cmake | Shop 1.4 | Does it. | - | - | - | -
             + runtime ZLIB 1.2.11 -
             + runtime Boost ${TWICE} -
             + runtime fmt 10.1.1 -
             + runtime json 3.11.2 -
             + runtime spd 1.9 -
             + runtime glib-2.0 >=2.70 -
             + optional Qt6 - -
             + build Doxygen - -
             + development GTest - -
             examples/CMakeLists.txt | CMake cmake | examples - | - | - | - | - | -
             + runtime Shop - -
             = 8 direct, 1 development, 0 locked
             = examples/CMakeLists.txt > CMakeLists.txt",
        );
    }

    #[test]
    fn commands_are_taken_apart() {
        let text = "project(\n  a # x )\n VERSION 1.0)\n#[[ find_package(no)\n]]\nif(NOT (b))\nset(c \"d (e) \\\" f\")\nend(";
        let want: [Command<'_>; 3] = [
            ("project", vec!["a", "VERSION", "1.0"]),
            ("if", vec!["NOT", "b"]),
            ("set", vec!["c", "d (e) \\\" f"]),
        ];
        assert_eq!(commands(text), want);
    }
}
