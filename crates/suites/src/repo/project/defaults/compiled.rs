//! Default commands of compiled languages: Cargo, Go, Maven, Gradle, .NET, Swift, `CMake`, Haskell.

use super::DefaultCommands;
use crate::repo::{
    project::sources::OpenedManifest,
    report::{CommandPurpose as P, EntryKind},
    tree::{folder_of, name_of},
};

pub(super) fn cargo(found: &mut DefaultCommands<'_>) {
    let manifest = found.opened.manifest;
    // In a workspace root that is also a package, the bare command skips the other members.
    let whole = manifest.name.is_some() && !manifest.members.is_empty();
    let scope = if whole { " --workspace" } else { "" };
    found.add(P::Build, format!("cargo build{scope}"));
    found.add(P::Test, format!("cargo test{scope}"));
    if found.declared().any(|entry| entry.kind == EntryKind::Binary) {
        found.add(P::Install, "cargo install --path .");
    }
    if found.only_program().is_some() || found.opened.text_at("/package/default-run").is_some() {
        found.add(P::Run, "cargo run");
    }
    if found.has_folder("benches") {
        found.add(P::Bench, "cargo bench");
    }
    if found.declared().any(|entry| entry.kind == EntryKind::Library) {
        found.add(P::Docs, "cargo doc --no-deps");
    }
    let linted = ["/lints/clippy", "/workspace/lints/clippy"];
    if linted.iter().any(|pointer| found.opened.value.pointer(pointer).is_some()) {
        found.add(P::Lint, format!("cargo clippy{scope}"));
    }
    found.add_if_there(&["clippy.toml", ".clippy.toml"], P::Lint, format!("cargo clippy{scope}"));
    found.add_if_there(&["rustfmt.toml", ".rustfmt.toml"], P::Format, "cargo fmt");
}

pub(super) fn go(found: &mut DefaultCommands<'_>) {
    found.add(P::Install, "go mod download");
    found.add(P::Build, "go build ./...");
    found.add(P::Test, "go test ./...");
    let lint = [".golangci.yml", ".golangci.yaml", ".golangci.toml"];
    found.add_if_there(&lint, P::Lint, "golangci-lint run");
    found.add_if_there(&[".goreleaser.yml", ".goreleaser.yaml"], P::Release, "goreleaser release");
    let folder = found.opened.folder();
    let inside = |path: &str| folder.is_empty() || path.starts_with(&format!("{folder}/"));
    let mut programs = found
        .entry_points
        .iter()
        .filter(|entry| entry.kind == EntryKind::Binary)
        .filter_map(|entry| entry.path.as_deref())
        .filter(|path| name_of(path) == "main.go" && inside(path));
    if let (Some(path), None) = (programs.next(), programs.next()) {
        let own = folder_of(path);
        let below = own.strip_prefix(folder).unwrap_or(own).trim_start_matches('/');
        let command =
            if below.is_empty() { "go run .".into() } else { format!("go run ./{below}") };
        found.add(P::Run, command);
    }
}

pub(super) fn maven(found: &mut DefaultCommands<'_>) {
    let tool = if found.has("mvnw") { "./mvnw" } else { "mvn" };
    found.add(P::Build, format!("{tool} package"));
    found.add(P::Test, format!("{tool} test"));
    if found.opened.text.contains("spring-boot-maven-plugin") {
        found.add(P::Run, format!("{tool} spring-boot:run"));
    }
}

pub(super) fn gradle(found: &mut DefaultCommands<'_>) {
    // Subprojects not identified by another module are built from the wrapper's folder.
    let settings = found.has("settings.gradle") || found.has("settings.gradle.kts");
    let wrapper = found.has("gradlew");
    if !settings && !wrapper {
        return;
    }
    let tool = if wrapper { "./gradlew" } else { "gradle" };
    found.add(P::Build, format!("{tool} build"));
    found.add(P::Test, format!("{tool} test"));
    let text = &found.opened.text;
    let applies = |plugin: &str| {
        text.lines().any(|line| {
            let line = line.trim_start();
            line.contains(plugin) && !line.starts_with("//") && !line.contains("apply false")
        })
    };
    if applies("org.springframework.boot\"") || applies("org.springframework.boot'") {
        found.add(P::Run, format!("{tool} bootRun"));
    } else if text.lines().any(is_application) {
        found.add(P::Run, format!("{tool} run"));
    }
}

fn is_application(line: &str) -> bool {
    let line = line.trim();
    matches!(
        line,
        "application"
            | "id 'application'"
            | "id(\"application\")"
            | "id \"application\""
            | "apply plugin: 'application'"
    )
}

pub(super) fn dotnet(found: &mut DefaultCommands<'_>) {
    let folder = found.opened.folder();
    let is_solution = |opened: &OpenedManifest<'_>| opened.file().strip_suffix(".sln").is_some();
    let mut others = found.sources.ecosystem(".NET");
    // A solution covers the projects below it.
    let covered = others.any(|other| {
        let above = other.folder();
        is_solution(other)
            && (above.is_empty() || folder == above || folder.starts_with(&format!("{above}/")))
    });
    if covered && !is_solution(found.opened) {
        return;
    }
    found.add(P::Install, "dotnet restore");
    found.add(P::Build, "dotnet build");
    let runners = ["Microsoft.NET.Test.Sdk", "xunit", "NUnit", "MSTest", "TUnit"];
    let has_tests = found.sources.presence.test_files > 0
        || runners.iter().any(|name| found.opened.depends_on(name));
    if has_tests {
        found.add(P::Test, "dotnet test");
    }
    let mut programs = found
        .entry_points
        .iter()
        .filter(|entry| entry.kind == EntryKind::Binary && entry.declared_in.ends_with("proj"));
    if let (Some(program), None) = (programs.next(), programs.next()) {
        let project = folder_of(&program.declared_in);
        let below = project.strip_prefix(folder).unwrap_or(project).trim_start_matches('/');
        let command = match below {
            "" => "dotnet run".to_owned(),
            below => format!("dotnet run --project {below}"),
        };
        found.add(P::Run, command);
    }
}

pub(super) fn swift(found: &mut DefaultCommands<'_>) {
    found.add(P::Build, "swift build");
    if found.opened.text.contains(".testTarget(") {
        found.add(P::Test, "swift test");
    }
    if let Some(name) = found.only_program() {
        found.add(P::Run, format!("swift run {name}"));
    }
}

pub(super) fn cmake(found: &mut DefaultCommands<'_>) {
    // Files below the outermost one are part of it.
    let folder = found.opened.folder();
    let is_part = found.sources.ecosystem("CMake").any(|other| {
        let above = other.folder();
        above != folder && (above.is_empty() || folder.starts_with(&format!("{above}/")))
    });
    let lower = found.opened.text.to_lowercase();
    if is_part || !lower.contains("project(") {
        return;
    }
    found.add(P::Build, "cmake -B build && cmake --build build");
    if lower.contains("enable_testing()") || lower.contains("include(ctest)") {
        found.add(P::Test, "ctest --test-dir build");
    }
}

pub(super) fn haskell(found: &mut DefaultCommands<'_>) {
    if found.opened.file() == "stack.yaml" {
        found.add(P::Build, "stack build");
        found.add(P::Test, "stack test");
        return;
    }
    found.add(P::Build, "cabal build all");
    if found.opened.text.lines().any(|line| line.starts_with("test-suite")) {
        found.add(P::Test, "cabal test all");
    }
}
