//! Tests of manifests and lock files together. Tests of all ecosystems use `check`.

use super::*;
use crate::repo::report::{Dependency, InternalEdge, LockFile, Used};
use std::fmt::Write as _;

/// Creates a folder with these files.
pub(super) fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, contents) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }
    folder
}

/// Describes all results for a folder, one line per item.
///
/// `path | ecosystem manager | name version | description | licence | members | workspace | lock file`, below it
/// `+ purpose name requirement locked` for each dependency; then `=` lines for the summary and `!` lines for problems.
pub(super) fn describe_packages(packages: &PackageAnalysis) -> String {
    let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    let mut lines = String::new();
    for it in &packages.manifests {
        let members = if it.members.is_empty() { "-".into() } else { it.members.join(" ") };
        writeln!(
            lines,
            "{} | {} {} | {} {} | {} | {} | {members} | {} | {}",
            it.path,
            it.ecosystem,
            or(&it.manager),
            or(&it.name),
            or(&it.version),
            or(&it.description),
            or(&it.licence),
            or(&it.workspace),
            or(&it.lock_file),
        )
        .unwrap();
        for Dependency { name, requirement, locked, purpose } in &it.dependencies {
            let purpose = format!("{purpose:?}").to_lowercase();
            writeln!(lines, "+ {purpose} {name} {} {}", or(requirement), or(locked)).unwrap();
        }
    }
    let DependencySummary { direct, development, locked, internal, most_used, lock_files } =
        &packages.summary;
    writeln!(lines, "= {direct} direct, {development} development, {locked} locked").unwrap();
    for InternalEdge { from, to } in internal {
        writeln!(lines, "= {from} > {to}").unwrap();
    }
    for Used { name, ecosystem, by } in most_used {
        writeln!(lines, "= {name} of {ecosystem} by {by}").unwrap();
    }
    for LockFile { path, ecosystem, packages } in lock_files {
        writeln!(lines, "= {path} of {ecosystem} with {packages}").unwrap();
    }
    for problem in &packages.problems {
        writeln!(lines, "! {problem}").unwrap();
    }
    lines
}

/// Checks the results for a folder with these files; leading blanks are ignored.
#[track_caller]
pub(super) fn check(files: &[(&str, &str)], want: &str) {
    let files: Vec<_> = files.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
    let folder = folder(&files);
    let listing = describe_packages(&read(&ProjectTree::of(folder.path()), &|| false));
    let want: Vec<_> = want.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let listing: Vec<_> = listing.lines().collect();
    assert_eq!(listing, want, "\n{}\n", listing.join("\n"));
}

#[test]
fn names_identify_ecosystems() {
    let cases = [
        ("Cargo.toml", Some("Cargo")),
        ("package.json", Some("npm")),
        ("requirements.txt", Some("Python")),
        ("setup.py", Some("Python")),
        ("go.work", Some("Go")),
        ("pom.xml", Some("Maven")),
        ("build.gradle.kts", Some("Gradle")),
        ("settings.gradle", Some("Gradle")),
        ("libs.versions.toml", Some("Gradle")),
        ("Gemfile", Some("Ruby")),
        ("a.gemspec", Some("Ruby")),
        ("composer.json", Some("PHP")),
        ("App.csproj", Some(".NET")),
        ("All.sln", Some(".NET")),
        ("packages.config", Some(".NET")),
        ("Directory.Packages.props", Some(".NET")),
        ("mix.exs", Some("Elixir")),
        ("pubspec.yaml", Some("Dart")),
        ("Package.swift", Some("Swift")),
        ("CMakeLists.txt", Some("CMake")),
        ("conanfile.py", Some("Conan")),
        ("vcpkg.json", Some("vcpkg")),
        ("deno.jsonc", Some("Deno")),
        ("x.cabal", Some("Haskell")),
        ("Cargo.lock", None),
        ("pnpm-workspace.yaml", None),
        ("gradle.properties", None),
        ("tsconfig.json", None),
    ];
    for (name, want) in cases {
        assert_eq!(ecosystem(name), want, "{name}");
    }
}

#[test]
fn a_broken_file_is_a_problem_and_the_rest_still_comes() {
    let files: &[(&str, &[u8])] = &[
        ("Cargo.toml", b"[package]\nname = 'a'\n[dependencies\n"),
        ("Cargo.lock", b"[[package]]\nname = 1\n"),
        ("b/package.json", b"{\"name\": \"b\","),
        ("b/package-lock.json", b"{\"packages\": 7}"),
        ("b/pnpm-lock.yaml", b"importers:\n"),
        ("c/pyproject.toml", b"\xff"),
        ("d/pom.xml", b"<project><a></project>"),
        ("e/pom.xml", b"<html/>"),
        ("f/pubspec.yaml", b"name: [f\n"),
        ("g/composer.json", b"{\n<<<<<<< HEAD\n}"),
        ("h/packages.config", b"<!DOCTYPE a [<!ENTITY b 'c'>]><packages>&b;</packages>"),
        ("i/go.mod", b"module example.org/i\n"),
    ];
    let folder = folder(files);
    let packages = read(&ProjectTree::of(folder.path()), &|| false);
    let names: Vec<_> = packages.manifests.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(
        names,
        [
            "Cargo.toml",
            "b/package.json",
            "c/pyproject.toml",
            "d/pom.xml",
            "e/pom.xml",
            "f/pubspec.yaml",
            "g/composer.json",
            "h/packages.config",
            "i/go.mod"
        ]
    );
    assert_eq!(packages.manifests[8].name.as_deref(), Some("example.org/i"));
    let starts = [
        ("Cargo.lock", "is not valid TOML at line 2: "),
        ("Cargo.toml", "is not valid TOML at line 3: "),
        ("b/package-lock.json", "is not valid JSON: "),
        ("b/package.json", "is not valid JSON: EOF"),
        ("b/pnpm-lock.yaml", "is not a pnpm lock file"),
        ("c/pyproject.toml", "is not UTF-8 text"),
        ("d/pom.xml", "is not valid XML: "),
        ("e/pom.xml", "is not a Maven project"),
        ("f/pubspec.yaml", "is not valid YAML: "),
        ("g/composer.json", "contains merge conflict markers"),
        ("h/packages.config", "is not valid XML: "),
    ];
    assert_eq!(packages.problems.len(), starts.len(), "{:?}", packages.problems);
    for (problem, (path, reason)) in packages.problems.iter().zip(starts) {
        assert_eq!(problem.path, path);
        assert!(problem.reason.starts_with(reason), "{problem}");
        assert!(!problem.reason.contains('\n'), "{problem}");
    }
}

#[test]
fn a_file_that_is_too_large_is_a_problem() {
    let long = vec![b' '; (8 << 20) + 1];
    let folder = folder(&[("package.json", &long), ("a/package.json", b"{\"name\":\"a\"}")]);
    let packages = read(&ProjectTree::of(folder.path()), &|| false);
    assert_eq!(packages.manifests.len(), 2);
    assert_eq!(packages.manifests[1].name.as_deref(), Some("a"));
    assert_eq!(packages.problems.len(), 1);
    assert!(packages.problems[0].reason.contains("exceed the limit"), "{packages:?}");
}

#[test]
fn lists_have_bounds_and_figures_have_none() {
    let dependencies: Vec<_> = (0..600).map(|at| format!("\"d{at}\":\"1\"")).collect();
    let text = format!("{{\"dependencies\":{{{}}}}}", dependencies.join(","));
    let paths: Vec<_> = (0..250).map(|at| format!("p{at:03}/package.json")).collect();
    let files: Vec<_> = paths.iter().map(|path| (path.as_str(), text.as_bytes())).collect();
    let folder = folder(&files);
    let packages = read(&ProjectTree::of(folder.path()), &|| false);
    assert_eq!(packages.manifests.len(), 200);
    assert_eq!(packages.manifests[0].path, "p000/package.json");
    assert_eq!(packages.manifests[0].dependencies.len(), 500);
    assert_eq!(packages.summary.direct, 600);
    assert_eq!(packages.summary.most_used.len(), 20);
    assert_eq!(packages.summary.most_used[0].by, 250);
}

#[test]
fn a_reading_that_is_stopped_reads_nothing_more() {
    let folder = folder(&[("Cargo.toml", b"[package]\nname='a'"), ("Cargo.lock", b"broken")]);
    let packages = read(&ProjectTree::of(folder.path()), &|| true);
    assert_eq!(packages.manifests[0].name, None);
    assert!(packages.problems.is_empty());
    assert!(packages.summary.lock_files.is_empty());
}

#[test]
fn input_for_tests_and_copies_are_listed_and_not_counted() {
    check(
        &[
            ("package.json", r#"{"name":"a","dependencies":{"x":"1"}}"#),
            ("test/fixtures/b/package.json", r#"{"name":"x","dependencies":{"y":"1"}}"#),
            ("test/fixtures/b/yarn.lock", "# yarn lockfile v1\n\ny@1:\n  version \"1.0.0\"\n"),
            ("vendor/v/package.json", r#"{"name":"v","description":"","dependencies":{"x":"1"}}"#),
            ("test/data/package.json", r#"{"dependencies":{"z":"1"}}"#),
            ("test/package.json", r#"{"dependencies":{"x":"1","w":"1"}}"#),
        ],
        "package.json | npm - | a - | - | - | - | - | -
         + runtime x 1 -
         test/package.json | npm - | - - | - | - | - | - | -
         + runtime x 1 -
         + runtime w 1 -
         test/data/package.json | npm - | - - | - | - | - | - | -
         + runtime z 1 -
         vendor/v/package.json | npm - | v - | - | - | - | - | -
         + runtime x 1 -
         test/fixtures/b/package.json | npm yarn | x - | - | - | - | - | test/fixtures/b/yarn.lock
         + runtime y 1 1.0.0
         = 1 direct, 1 development, 0 locked
         = x of npm by 2",
    );
}

#[test]
fn what_is_not_read_is_listed() {
    check(
        &[("deno.json", "{}"), ("x.cabal", "")],
        "deno.json | Deno deno | - - | - | - | - | - | -
         x.cabal | Haskell - | - - | - | - | - | - | -
         = 0 direct, 0 development, 0 locked",
    );
}
