//! Frameworks of a project, by dependencies and files: a table.

use super::sources::{Sources, is_documents};
use crate::repo::report::Purpose;
use std::collections::{BTreeSet, HashMap};

/// Maximum number of frameworks.
const ALL: usize = 10;

/// Purpose of a framework.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Use {
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
type Row = (&'static str, &'static str, &'static str, Use);

/// Most characteristic frameworks first.
const TABLE: &[Row] = &[
    ("Python", "django", "Django", Use::Web),
    ("Python", "flask", "Flask", Use::Server),
    ("Python", "fastapi", "FastAPI", Use::Server),
    ("Python", "starlette", "Starlette", Use::Server),
    ("Python", "aiohttp", "aiohttp", Use::Foundation),
    ("Python", "tornado", "Tornado", Use::Foundation),
    ("Python", "sanic", "Sanic", Use::Server),
    ("Python", "litestar", "Litestar", Use::Server),
    ("Python", "pyramid", "Pyramid", Use::Server),
    ("Python", "streamlit", "Streamlit", Use::Web),
    ("Python", "gradio", "Gradio", Use::Web),
    ("Python", "scrapy", "Scrapy", Use::Foundation),
    ("Python", "pyqt5", "Qt", Use::Desktop),
    ("Python", "pyqt6", "Qt", Use::Desktop),
    ("Python", "pyside6", "Qt", Use::Desktop),
    ("Python", "pyside2", "Qt", Use::Desktop),
    ("Python", "kivy", "Kivy", Use::Desktop),
    ("Python", "torch", "PyTorch", Use::Foundation),
    ("Python", "tensorflow", "TensorFlow", Use::Foundation),
    ("Python", "celery", "Celery", Use::Foundation),
    ("Python", "sqlalchemy", "SQLAlchemy", Use::Foundation),
    ("Python", "click", "Click", Use::CommandLine),
    ("Python", "typer", "Typer", Use::CommandLine),
    ("Ruby", "rails", "Rails", Use::Web),
    ("Ruby", "sinatra", "Sinatra", Use::Server),
    ("Ruby", "hanami", "Hanami", Use::Web),
    ("Ruby", "jekyll", "Jekyll", Use::Foundation),
    ("Ruby", "thor", "Thor", Use::CommandLine),
    ("PHP", "laravel/framework", "Laravel", Use::Web),
    ("PHP", "symfony/framework-bundle", "Symfony", Use::Web),
    ("PHP", "slim/slim", "Slim", Use::Server),
    ("PHP", "cakephp/cakephp", "CakePHP", Use::Web),
    ("PHP", "symfony/console", "Symfony Console", Use::CommandLine),
    ("Elixir", "phoenix", "Phoenix", Use::Web),
    ("Elixir", "phoenix_live_view", "Phoenix LiveView", Use::Web),
    ("Elixir", "nerves", "Nerves", Use::Foundation),
    ("Elixir", "ecto", "Ecto", Use::Foundation),
    ("npm", "next", "Next.js", Use::Web),
    ("npm", "nuxt", "Nuxt", Use::Web),
    ("npm", "@sveltejs/kit", "SvelteKit", Use::Web),
    ("npm", "@remix-run/react", "Remix", Use::Web),
    ("npm", "astro", "Astro", Use::Web),
    ("npm", "gatsby", "Gatsby", Use::Web),
    ("npm", "@angular/core", "Angular", Use::Components),
    ("npm", "react-native", "React Native", Use::Mobile),
    ("npm", "expo", "Expo", Use::Mobile),
    ("npm", "@ionic/core", "Ionic", Use::Mobile),
    ("npm", "@capacitor/core", "Capacitor", Use::Mobile),
    ("npm", "electron", "Electron", Use::Desktop),
    ("npm", "@tauri-apps/api", "Tauri", Use::Desktop),
    ("npm", "@nestjs/core", "NestJS", Use::Server),
    ("npm", "express", "Express", Use::Server),
    ("npm", "fastify", "Fastify", Use::Server),
    ("npm", "koa", "Koa", Use::Server),
    ("npm", "hono", "Hono", Use::Server),
    ("npm", "@hapi/hapi", "hapi", Use::Server),
    ("npm", "react", "React", Use::Components),
    ("npm", "vue", "Vue", Use::Components),
    ("npm", "svelte", "Svelte", Use::Components),
    ("npm", "solid-js", "Solid", Use::Components),
    ("npm", "preact", "Preact", Use::Components),
    ("npm", "lit", "Lit", Use::Components),
    ("npm", "@docusaurus/core", "Docusaurus", Use::Foundation),
    ("npm", "vitepress", "VitePress", Use::Foundation),
    ("npm", "commander", "Commander", Use::CommandLine),
    ("npm", "yargs", "yargs", Use::CommandLine),
    ("npm", "cac", "CAC", Use::CommandLine),
    ("npm", "@oclif/core", "oclif", Use::CommandLine),
    ("Cargo", "axum", "axum", Use::Server),
    ("Cargo", "actix-web", "Actix Web", Use::Server),
    ("Cargo", "rocket", "Rocket", Use::Server),
    ("Cargo", "warp", "warp", Use::Server),
    ("Cargo", "poem", "poem", Use::Server),
    ("Cargo", "tonic", "tonic", Use::Server),
    ("Cargo", "leptos", "Leptos", Use::Web),
    ("Cargo", "yew", "Yew", Use::Web),
    ("Cargo", "dioxus", "Dioxus", Use::Components),
    ("Cargo", "tauri", "Tauri", Use::Desktop),
    ("Cargo", "eframe", "egui", Use::Desktop),
    ("Cargo", "iced", "iced", Use::Desktop),
    ("Cargo", "gtk4", "GTK", Use::Desktop),
    ("Cargo", "slint", "Slint", Use::Desktop),
    ("Cargo", "bevy", "Bevy", Use::Foundation),
    ("Cargo", "tokio", "Tokio", Use::Foundation),
    ("Cargo", "clap", "clap", Use::CommandLine),
    ("Cargo", "ratatui", "Ratatui", Use::CommandLine),
    ("Cargo", "lexopt", "lexopt", Use::CommandLine),
    ("Cargo", "argh", "argh", Use::CommandLine),
    ("Go", "github.com/gin-gonic/gin", "Gin", Use::Server),
    ("Go", "github.com/labstack/echo", "Echo", Use::Server),
    ("Go", "github.com/gofiber/fiber", "Fiber", Use::Server),
    ("Go", "github.com/go-chi/chi", "chi", Use::Server),
    ("Go", "github.com/gorilla/mux", "gorilla/mux", Use::Server),
    ("Go", "google.golang.org/grpc", "gRPC", Use::Foundation),
    ("Go", "fyne.io/fyne", "Fyne", Use::Desktop),
    ("Go", "github.com/wailsapp/wails", "Wails", Use::Desktop),
    ("Go", "github.com/spf13/cobra", "Cobra", Use::CommandLine),
    ("Go", "github.com/urfave/cli", "urfave/cli", Use::CommandLine),
    ("Go", "github.com/charmbracelet/bubbletea", "Bubble Tea", Use::CommandLine),
    ("Maven", "org.springframework.boot", "Spring Boot", Use::Server),
    ("Maven", "org.springframework", "Spring", Use::Foundation),
    ("Maven", "io.quarkus", "Quarkus", Use::Server),
    ("Maven", "io.micronaut", "Micronaut", Use::Server),
    ("Maven", "io.ktor", "Ktor", Use::Server),
    ("Maven", "io.vertx", "Vert.x", Use::Server),
    ("Maven", "io.dropwizard", "Dropwizard", Use::Server),
    ("Maven", "com.vaadin", "Vaadin", Use::Web),
    ("Maven", "org.openjfx", "JavaFX", Use::Desktop),
    ("Maven", "info.picocli", "picocli", Use::CommandLine),
    ("Maven", "androidx.compose", "Jetpack Compose", Use::Mobile),
    (".NET", "Microsoft.AspNetCore", "ASP.NET Core", Use::Server),
    (".NET", "Microsoft.EntityFrameworkCore", "Entity Framework Core", Use::Foundation),
    (".NET", "Microsoft.Maui.Controls", ".NET MAUI", Use::Mobile),
    (".NET", "Avalonia", "Avalonia", Use::Desktop),
    (".NET", "System.CommandLine", "System.CommandLine", Use::CommandLine),
    (".NET", "Spectre.Console", "Spectre.Console", Use::CommandLine),
    ("Dart", "flutter", "Flutter", Use::Mobile),
    ("Dart", "shelf", "Shelf", Use::Server),
    ("Dart", "args", "args", Use::CommandLine),
    ("Swift", "vapor", "Vapor", Use::Server),
    ("Swift", "swift-argument-parser", "Swift Argument Parser", Use::CommandLine),
    ("CMake", "Qt6", "Qt", Use::Desktop),
    ("CMake", "Qt5", "Qt", Use::Desktop),
    ("CMake", "wxWidgets", "wxWidgets", Use::Desktop),
];

/// npm packages bundled into the program, so they are development dependencies.
const BUILT_IN: [&str; 9] =
    ["electron", "svelte", "@sveltejs/kit", "astro", "next", "nuxt", "react", "vue", "solid-js"];

/// A framework used by a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Framework {
    pub(super) name: &'static str,
    pub(super) purpose: Use,
    /// Source manifest or file.
    pub(super) path: String,
}

/// Finds frameworks in manifests and files, most used first.
pub(super) fn find(sources: &Sources<'_>) -> Vec<Framework> {
    let mut counts: HashMap<&str, (usize, usize, Framework)> = HashMap::new();
    let own: Vec<&str> =
        sources.manifests.iter().filter_map(|opened| opened.manifest.name.as_deref()).collect();
    let mut count = |at: usize, path: &str| {
        let Some((_, _, name, purpose)) = TABLE.get(at) else { return };
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
            TABLE.iter().enumerate().filter(|(_, row)| row.0 == family).collect();
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
    found.iter().take(ALL).map(|framework| framework.name.to_owned()).collect()
}

fn is_private(opened: &super::sources::Opened<'_>) -> bool {
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
fn by_files(sources: &Sources<'_>) -> Vec<(usize, String)> {
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
    let row = |name: &str| TABLE.iter().position(|row| row.2 == name);
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
        for (ecosystem, package, name, _) in TABLE {
            let known = [
                "Python", "Ruby", "PHP", "Elixir", "npm", "Cargo", "Go", "Maven", ".NET", "Dart",
                "Swift", "CMake",
            ];
            assert!(known.contains(ecosystem), "{package}");
            assert!(!name.is_empty() && !package.is_empty());
        }
    }
}
