//! Frameworks of a project, by dependencies and files: a table.

use super::sources::{ProjectSources, is_documents};
use crate::repo::report::Purpose;
use std::collections::{BTreeSet, HashMap};

/// Maximum number of frameworks.
const MAX_FRAMEWORKS: usize = 10;

/// Purpose of a framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum FrameworkPurpose {
    /// Web pages, served or run in a browser.
    Web,
    /// Network services.
    Server,
    /// UI components, for sites or libraries.
    Components,
    /// Desktop applications.
    Desktop,
    /// Mobile applications.
    Mobile,
    /// Command-line parsing.
    CommandLine,
    /// General frameworks for many kinds of programs.
    Foundation,
}

/// A framework: ecosystem, package, name, purpose.
type Row = (&'static str, &'static str, &'static str, FrameworkPurpose);

/// Most characteristic frameworks first.
const FRAMEWORKS: &[Row] = &[
    ("Python", "django", "Django", FrameworkPurpose::Web),
    ("Python", "flask", "Flask", FrameworkPurpose::Server),
    ("Python", "fastapi", "FastAPI", FrameworkPurpose::Server),
    ("Python", "starlette", "Starlette", FrameworkPurpose::Server),
    ("Python", "aiohttp", "aiohttp", FrameworkPurpose::Foundation),
    ("Python", "tornado", "Tornado", FrameworkPurpose::Foundation),
    ("Python", "sanic", "Sanic", FrameworkPurpose::Server),
    ("Python", "litestar", "Litestar", FrameworkPurpose::Server),
    ("Python", "pyramid", "Pyramid", FrameworkPurpose::Server),
    ("Python", "streamlit", "Streamlit", FrameworkPurpose::Web),
    ("Python", "gradio", "Gradio", FrameworkPurpose::Web),
    ("Python", "scrapy", "Scrapy", FrameworkPurpose::Foundation),
    ("Python", "pyqt5", "Qt", FrameworkPurpose::Desktop),
    ("Python", "pyqt6", "Qt", FrameworkPurpose::Desktop),
    ("Python", "pyside6", "Qt", FrameworkPurpose::Desktop),
    ("Python", "pyside2", "Qt", FrameworkPurpose::Desktop),
    ("Python", "kivy", "Kivy", FrameworkPurpose::Desktop),
    ("Python", "torch", "PyTorch", FrameworkPurpose::Foundation),
    ("Python", "tensorflow", "TensorFlow", FrameworkPurpose::Foundation),
    ("Python", "celery", "Celery", FrameworkPurpose::Foundation),
    ("Python", "sqlalchemy", "SQLAlchemy", FrameworkPurpose::Foundation),
    ("Python", "click", "Click", FrameworkPurpose::CommandLine),
    ("Python", "typer", "Typer", FrameworkPurpose::CommandLine),
    ("Ruby", "rails", "Rails", FrameworkPurpose::Web),
    ("Ruby", "sinatra", "Sinatra", FrameworkPurpose::Server),
    ("Ruby", "hanami", "Hanami", FrameworkPurpose::Web),
    ("Ruby", "jekyll", "Jekyll", FrameworkPurpose::Foundation),
    ("Ruby", "thor", "Thor", FrameworkPurpose::CommandLine),
    ("PHP", "laravel/framework", "Laravel", FrameworkPurpose::Web),
    ("PHP", "symfony/framework-bundle", "Symfony", FrameworkPurpose::Web),
    ("PHP", "slim/slim", "Slim", FrameworkPurpose::Server),
    ("PHP", "cakephp/cakephp", "CakePHP", FrameworkPurpose::Web),
    ("PHP", "symfony/console", "Symfony Console", FrameworkPurpose::CommandLine),
    ("Elixir", "phoenix", "Phoenix", FrameworkPurpose::Web),
    ("Elixir", "phoenix_live_view", "Phoenix LiveView", FrameworkPurpose::Web),
    ("Elixir", "nerves", "Nerves", FrameworkPurpose::Foundation),
    ("Elixir", "ecto", "Ecto", FrameworkPurpose::Foundation),
    ("npm", "next", "Next.js", FrameworkPurpose::Web),
    ("npm", "nuxt", "Nuxt", FrameworkPurpose::Web),
    ("npm", "@sveltejs/kit", "SvelteKit", FrameworkPurpose::Web),
    ("npm", "@remix-run/react", "Remix", FrameworkPurpose::Web),
    ("npm", "astro", "Astro", FrameworkPurpose::Web),
    ("npm", "gatsby", "Gatsby", FrameworkPurpose::Web),
    ("npm", "@angular/core", "Angular", FrameworkPurpose::Components),
    ("npm", "react-native", "React Native", FrameworkPurpose::Mobile),
    ("npm", "expo", "Expo", FrameworkPurpose::Mobile),
    ("npm", "@ionic/core", "Ionic", FrameworkPurpose::Mobile),
    ("npm", "@capacitor/core", "Capacitor", FrameworkPurpose::Mobile),
    ("npm", "electron", "Electron", FrameworkPurpose::Desktop),
    ("npm", "@tauri-apps/api", "Tauri", FrameworkPurpose::Desktop),
    ("npm", "@nestjs/core", "NestJS", FrameworkPurpose::Server),
    ("npm", "express", "Express", FrameworkPurpose::Server),
    ("npm", "fastify", "Fastify", FrameworkPurpose::Server),
    ("npm", "koa", "Koa", FrameworkPurpose::Server),
    ("npm", "hono", "Hono", FrameworkPurpose::Server),
    ("npm", "@hapi/hapi", "hapi", FrameworkPurpose::Server),
    ("npm", "react", "React", FrameworkPurpose::Components),
    ("npm", "vue", "Vue", FrameworkPurpose::Components),
    ("npm", "svelte", "Svelte", FrameworkPurpose::Components),
    ("npm", "solid-js", "Solid", FrameworkPurpose::Components),
    ("npm", "preact", "Preact", FrameworkPurpose::Components),
    ("npm", "lit", "Lit", FrameworkPurpose::Components),
    ("npm", "@docusaurus/core", "Docusaurus", FrameworkPurpose::Foundation),
    ("npm", "vitepress", "VitePress", FrameworkPurpose::Foundation),
    ("npm", "commander", "Commander", FrameworkPurpose::CommandLine),
    ("npm", "yargs", "yargs", FrameworkPurpose::CommandLine),
    ("npm", "cac", "CAC", FrameworkPurpose::CommandLine),
    ("npm", "@oclif/core", "oclif", FrameworkPurpose::CommandLine),
    ("Cargo", "axum", "axum", FrameworkPurpose::Server),
    ("Cargo", "actix-web", "Actix Web", FrameworkPurpose::Server),
    ("Cargo", "rocket", "Rocket", FrameworkPurpose::Server),
    ("Cargo", "warp", "warp", FrameworkPurpose::Server),
    ("Cargo", "poem", "poem", FrameworkPurpose::Server),
    ("Cargo", "tonic", "tonic", FrameworkPurpose::Server),
    ("Cargo", "leptos", "Leptos", FrameworkPurpose::Web),
    ("Cargo", "yew", "Yew", FrameworkPurpose::Web),
    ("Cargo", "dioxus", "Dioxus", FrameworkPurpose::Components),
    ("Cargo", "tauri", "Tauri", FrameworkPurpose::Desktop),
    ("Cargo", "eframe", "egui", FrameworkPurpose::Desktop),
    ("Cargo", "iced", "iced", FrameworkPurpose::Desktop),
    ("Cargo", "gtk4", "GTK", FrameworkPurpose::Desktop),
    ("Cargo", "slint", "Slint", FrameworkPurpose::Desktop),
    ("Cargo", "bevy", "Bevy", FrameworkPurpose::Foundation),
    ("Cargo", "tokio", "Tokio", FrameworkPurpose::Foundation),
    ("Cargo", "clap", "clap", FrameworkPurpose::CommandLine),
    ("Cargo", "ratatui", "Ratatui", FrameworkPurpose::CommandLine),
    ("Cargo", "lexopt", "lexopt", FrameworkPurpose::CommandLine),
    ("Cargo", "argh", "argh", FrameworkPurpose::CommandLine),
    ("Go", "github.com/gin-gonic/gin", "Gin", FrameworkPurpose::Server),
    ("Go", "github.com/labstack/echo", "Echo", FrameworkPurpose::Server),
    ("Go", "github.com/gofiber/fiber", "Fiber", FrameworkPurpose::Server),
    ("Go", "github.com/go-chi/chi", "chi", FrameworkPurpose::Server),
    ("Go", "github.com/gorilla/mux", "gorilla/mux", FrameworkPurpose::Server),
    ("Go", "google.golang.org/grpc", "gRPC", FrameworkPurpose::Foundation),
    ("Go", "fyne.io/fyne", "Fyne", FrameworkPurpose::Desktop),
    ("Go", "github.com/wailsapp/wails", "Wails", FrameworkPurpose::Desktop),
    ("Go", "github.com/spf13/cobra", "Cobra", FrameworkPurpose::CommandLine),
    ("Go", "github.com/urfave/cli", "urfave/cli", FrameworkPurpose::CommandLine),
    ("Go", "github.com/charmbracelet/bubbletea", "Bubble Tea", FrameworkPurpose::CommandLine),
    ("Maven", "org.springframework.boot", "Spring Boot", FrameworkPurpose::Server),
    ("Maven", "org.springframework", "Spring", FrameworkPurpose::Foundation),
    ("Maven", "io.quarkus", "Quarkus", FrameworkPurpose::Server),
    ("Maven", "io.micronaut", "Micronaut", FrameworkPurpose::Server),
    ("Maven", "io.ktor", "Ktor", FrameworkPurpose::Server),
    ("Maven", "io.vertx", "Vert.x", FrameworkPurpose::Server),
    ("Maven", "io.dropwizard", "Dropwizard", FrameworkPurpose::Server),
    ("Maven", "com.vaadin", "Vaadin", FrameworkPurpose::Web),
    ("Maven", "org.openjfx", "JavaFX", FrameworkPurpose::Desktop),
    ("Maven", "info.picocli", "picocli", FrameworkPurpose::CommandLine),
    ("Maven", "androidx.compose", "Jetpack Compose", FrameworkPurpose::Mobile),
    (".NET", "Microsoft.AspNetCore", "ASP.NET Core", FrameworkPurpose::Server),
    (
        ".NET",
        "Microsoft.EntityFrameworkCore",
        "Entity Framework Core",
        FrameworkPurpose::Foundation,
    ),
    (".NET", "Microsoft.Maui.Controls", ".NET MAUI", FrameworkPurpose::Mobile),
    (".NET", "Avalonia", "Avalonia", FrameworkPurpose::Desktop),
    (".NET", "System.CommandLine", "System.CommandLine", FrameworkPurpose::CommandLine),
    (".NET", "Spectre.Console", "Spectre.Console", FrameworkPurpose::CommandLine),
    ("Dart", "flutter", "Flutter", FrameworkPurpose::Mobile),
    ("Dart", "shelf", "Shelf", FrameworkPurpose::Server),
    ("Dart", "args", "args", FrameworkPurpose::CommandLine),
    ("Swift", "vapor", "Vapor", FrameworkPurpose::Server),
    ("Swift", "swift-argument-parser", "Swift Argument Parser", FrameworkPurpose::CommandLine),
    ("CMake", "Qt6", "Qt", FrameworkPurpose::Desktop),
    ("CMake", "Qt5", "Qt", FrameworkPurpose::Desktop),
    ("CMake", "wxWidgets", "wxWidgets", FrameworkPurpose::Desktop),
];

/// npm packages bundled into the program, so they are development dependencies.
const BUILT_IN: [&str; 9] =
    ["electron", "svelte", "@sveltejs/kit", "astro", "next", "nuxt", "react", "vue", "solid-js"];

/// A framework used by a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Framework {
    pub(super) name: &'static str,
    pub(super) purpose: FrameworkPurpose,
    /// Source manifest or file.
    pub(super) path: String,
}

/// Finds frameworks in manifests and files, most used first.
pub(super) fn find(sources: &ProjectSources<'_>) -> Vec<Framework> {
    let mut counts: HashMap<&str, (usize, usize, Framework)> = HashMap::new();
    let own: Vec<&str> =
        sources.manifests.iter().filter_map(|opened| opened.manifest.name.as_deref()).collect();
    let mut count = |at: usize, path: &str| {
        let Some((_, _, name, purpose)) = FRAMEWORKS.get(at) else { return };
        let framework = Framework { name, purpose: *purpose, path: path.to_owned() };
        counts.entry(name).or_insert((0, at, framework)).0 += 1;
    };
    let is_tooling = |path: &str| {
        matches!(path.split('/').next(), Some("script" | "scripts" | "tools" | "ci" | "xtask"))
    };
    let is_own = |path: &str| !is_documents(path) && !is_tooling(path);
    for opened in sources.manifests.iter().filter(|opened| is_own(&opened.manifest.path)) {
        let manifest = opened.manifest;
        let family = family(&manifest.ecosystem);
        let rows: Vec<(usize, &Row)> =
            FRAMEWORKS.iter().enumerate().filter(|(_, row)| row.0 == family).collect();
        let found = manifest.dependencies.iter().filter_map(|dependency| {
            let is_for_later =
                matches!(dependency.purpose, Purpose::Development | Purpose::Optional);
            // A package group comes after the more specific ones in it.
            let (at, row) =
                rows.iter().find(|(_, row)| is_package(family, row.1, &dependency.name))?;
            let is_built_in = BUILT_IN.contains(&row.1) && is_private(opened);
            let is_own = own.iter().any(|name| name.eq_ignore_ascii_case(row.1));
            ((!is_for_later || is_built_in) && !is_own).then_some(*at)
        });
        for at in found.collect::<BTreeSet<usize>>() {
            count(at, &manifest.path);
        }
    }
    for (at, path) in by_files(sources) {
        count(at, &path);
    }
    let mut found: Vec<(usize, usize, Framework)> = counts.into_values().collect();
    found.sort_by_key(|(count, at, _)| (usize::MAX - count, *at));
    found.into_iter().map(|(_, _, framework)| framework).collect()
}

/// Returns the framework names to report.
pub(super) fn names(found: &[Framework]) -> Vec<String> {
    found.iter().take(MAX_FRAMEWORKS).map(|framework| framework.name.to_owned()).collect()
}

fn is_private(opened: &super::sources::OpenedManifest<'_>) -> bool {
    opened.value.get("private") == Some(&serde_json::Value::Bool(true))
}

/// Returns the ecosystem whose rows apply to another one.
fn family(ecosystem: &str) -> &str {
    match ecosystem {
        "Gradle" => "Maven",
        "Conan" | "vcpkg" => "CMake",
        own => own,
    }
}

/// Whether a dependency matches a row: some ecosystems include a group, version or parts.
fn is_package(ecosystem: &str, package: &str, name: &str) -> bool {
    match ecosystem {
        "Maven" | ".NET" | "Go" => name
            .strip_prefix(package)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '.', '/', '-'])),
        "Python" => name.eq_ignore_ascii_case(package),
        "Swift" => name.to_lowercase().ends_with(package),
        _ => name == package,
    }
}

/// Returns frameworks detected from files, as table rows.
fn by_files(sources: &ProjectSources<'_>) -> Vec<(usize, String)> {
    let files: [(&[&str], &str); 8] = [
        (&["config/application.rb"], "Rails"),
        (&["angular.json"], "Angular"),
        (&["next.config.js", "next.config.mjs", "next.config.ts"], "Next.js"),
        (&["nuxt.config.ts", "nuxt.config.js"], "Nuxt"),
        (&["svelte.config.js"], "Svelte"),
        (&["src-tauri/tauri.conf.json", "tauri.conf.json"], "Tauri"),
        (&["artisan"], "Laravel"),
        (&["astro.config.mjs", "astro.config.ts"], "Astro"),
    ];
    let row = |name: &str| FRAMEWORKS.iter().position(|row| row.2 == name);
    let mut found: Vec<(usize, String)> = Vec::new();
    for (names, framework) in files {
        found.extend(sources.first_of("", names).zip(row(framework)).map(|(path, at)| (at, path)));
    }
    // The parent of a pom.xml and a project's SDK add frameworks that no dependency names.
    let texts: [(&str, &str, &str); 6] = [
        ("Maven", "spring-boot-starter-parent", "Spring Boot"),
        ("Gradle", "org.springframework.boot", "Spring Boot"),
        (".NET", "Microsoft.NET.Sdk.Web", "ASP.NET Core"),
        ("CMake", "find_package(Qt6", "Qt"),
        ("CMake", "find_package(Qt5", "Qt"),
        ("Gradle", "org.jetbrains.compose", "Jetpack Compose"),
    ];
    for (ecosystem, part, framework) in texts {
        let matching = sources.ecosystem(ecosystem).find(|opened| opened.text.contains(part));
        found.extend(matching.zip(row(framework)).map(|(it, at)| (at, it.manifest.path.clone())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_recognized_by_name() {
        let cases = [
            ("Python", "django", "Django", true),
            ("Python", "django", "django-filter", false),
            ("Maven", "org.springframework.boot", "org.springframework.boot:spring-boot", true),
            ("Maven", "org.springframework", "org.springframework.boot:x", true),
            ("Maven", "io.ktor", "io.ktorish:x", false),
            ("Go", "github.com/labstack/echo", "github.com/labstack/echo/v4", true),
            (".NET", "Avalonia", "Avalonia.Desktop", true),
            ("Swift", "vapor", "https://a.example/vapor/Vapor", true),
            ("npm", "react", "react-dom", false),
        ];
        for (ecosystem, package, name, want) in cases {
            assert_eq!(is_package(ecosystem, package, name), want, "{name}");
        }
        assert_eq!((family("Gradle"), family("vcpkg"), family("npm")), ("Maven", "CMake", "npm"));
    }

    #[test]
    fn every_row_is_of_a_known_ecosystem() {
        for (ecosystem, package, name, _) in FRAMEWORKS {
            let known = [
                "Python", "Ruby", "PHP", "Elixir", "npm", "Cargo", "Go", "Maven", ".NET", "Dart",
                "Swift", "CMake",
            ];
            assert!(known.contains(ecosystem), "{package}");
            assert!(!name.is_empty() && !package.is_empty());
        }
    }
}
