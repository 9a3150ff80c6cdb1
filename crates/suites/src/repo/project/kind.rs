//! Classifies the kind of project, with a reason. Does not guess.

use super::{
    frameworks::{Framework, FrameworkPurpose},
    sources::{FileRole, OpenedManifest, ProjectSources, is_aside, is_documents},
};
use crate::repo::{
    languages,
    report::{EntryKind, EntryPoint, Manifest, Nature, ProjectKind},
    tree::{folder_of, name_of},
};
use serde_json::Value;
use tokei::LanguageType;

/// A kind, with its reason.
type KindVerdict = Option<(ProjectKind, String)>;

/// Description words that classify a project with both a program and a library; the earliest one counts.
const KIND_WORDS: [(&str, ProjectKind); 18] = [
    ("command-line", ProjectKind::CommandLine),
    ("command line", ProjectKind::CommandLine),
    ("commandline", ProjectKind::CommandLine),
    ("cli", ProjectKind::CommandLine),
    ("terminal", ProjectKind::CommandLine),
    ("linter", ProjectKind::CommandLine),
    ("formatter", ProjectKind::CommandLine),
    ("compiler", ProjectKind::CommandLine),
    ("static site generator", ProjectKind::CommandLine),
    ("tool", ProjectKind::CommandLine),
    ("utility", ProjectKind::CommandLine),
    ("runner", ProjectKind::CommandLine),
    ("library", ProjectKind::Library),
    ("framework", ProjectKind::Library),
    ("toolkit", ProjectKind::Library),
    ("sdk", ProjectKind::Library),
    ("bindings", ProjectKind::Library),
    ("client for", ProjectKind::Library),
];

/// Prefixes of plugin package names.
const PLUGIN_PREFIXES: [(&str, &str); 9] = [
    ("eslint-plugin-", "ESLint"),
    ("babel-plugin-", "Babel"),
    ("rollup-plugin-", "Rollup"),
    ("vite-plugin-", "Vite"),
    ("postcss-", "PostCSS"),
    ("pytest-", "pytest"),
    ("mkdocs-", "MkDocs"),
    ("gatsby-plugin-", "Gatsby"),
    ("obsidian-", "Obsidian"),
];

/// Classifies the project and gives the reason.
pub(super) fn judge(
    sources: &ProjectSources<'_>,
    frameworks: &[Framework],
    entry_points: &[EntryPoint],
    summary: Option<&str>,
) -> (ProjectKind, String) {
    let evidence = KindEvidence { sources, frameworks, entry_points, summary };
    let judges = [
        KindEvidence::book,
        KindEvidence::monorepo,
        KindEvidence::plugin,
        KindEvidence::mobile,
        KindEvidence::desktop,
        KindEvidence::web,
        KindEvidence::service,
        KindEvidence::program_or_library,
        KindEvidence::infrastructure,
        KindEvidence::contents,
        KindEvidence::container_service,
    ];
    judges
        .iter()
        .find_map(|judge: &fn(&_) -> _| judge(&evidence))
        .unwrap_or((ProjectKind::Unknown, "no manifest or file identifies it".into()))
}

struct KindEvidence<'e> {
    sources: &'e ProjectSources<'e>,
    frameworks: &'e [Framework],
    entry_points: &'e [EntryPoint],
    summary: Option<&'e str>,
}

impl<'e> KindEvidence<'e> {
    fn manifests(&self) -> impl Iterator<Item = &'e OpenedManifest<'e>> {
        self.sources.manifests.iter().filter(|opened| !is_documents(&opened.manifest.path))
    }

    fn framework(&self, purpose: FrameworkPurpose) -> Option<&'e Framework> {
        self.frameworks.iter().find(|framework| framework.purpose == purpose)
    }

    fn entry(&self, kind: EntryKind) -> Option<&'e EntryPoint> {
        let own = |entry: &&EntryPoint| entry.kind == kind && !is_documents(&entry.declared_in);
        self.entry_points.iter().find(own)
    }

    fn has(&self, path: &str) -> bool {
        self.sources.tree.file(path).is_some()
    }

    fn book(&self) -> KindVerdict {
        let is_book = self.has("book.toml") && self.has("src/SUMMARY.md");
        let because = "src/SUMMARY.md is the outline of a book".to_owned();
        Some((ProjectKind::Documentation, because)).filter(|_| is_book)
    }

    fn monorepo(&self) -> KindVerdict {
        let own = |manifest: &Manifest| {
            let is_own = |member: &&String| {
                !is_aside(member) && !is_documents(member) && **member != manifest.path
            };
            manifest.members.iter().filter(is_own).count()
        };
        let (count, opened) = self
            .sources
            .manifests
            .iter()
            .map(|opened| (own(opened.manifest), opened))
            .filter(|(count, _)| *count >= 2)
            .max_by_key(|(count, opened)| (opened.folder().is_empty(), *count))?;
        let path = &opened.manifest.path;
        let root = self.entry_points.iter().find(|entry| entry.declared_in == *path);
        let around = match root {
            Some(entry) if entry.kind == EntryKind::Binary => {
                format!(" around the program {}", entry.name)
            }
            Some(entry) if entry.kind == EntryKind::Library => format!(" around {}", entry.name),
            _ => String::new(),
        };
        let because = format!("{path} declares a workspace of {count} packages{around}");
        Some((ProjectKind::Monorepo, because))
    }

    fn plugin(&self) -> KindVerdict {
        let plugin = |because: String| Some((ProjectKind::Plugin, because));
        for opened in self.manifests().filter(|opened| opened.folder().is_empty()) {
            let path = &opened.manifest.path;
            if opened.text_at("/engines/vscode").is_some() {
                return plugin(format!("{path} has Visual Studio Code as its engine"));
            }
            if opened.value.pointer("/project/entry-points/pytest11").is_some() {
                return plugin(format!("{path} registers with pytest"));
            }
            let name = opened.manifest.name.as_deref().unwrap_or_default();
            let host = PLUGIN_PREFIXES
                .iter()
                .find(|(start, _)| name.rsplit('/').next().unwrap_or_default().starts_with(start));
            if let Some((_, host)) = host {
                return plugin(format!("the package name, {name}, is that of a {host} plugin"));
            }
            if opened.is("Gradle") && opened.text.contains("java-gradle-plugin") {
                return plugin(format!("{path} builds a Gradle plugin"));
            }
        }
        if self.has("manifest.json")
            && let Ok(text) = self.sources.tree.text("manifest.json")
        {
            if text.contains("\"manifest_version\"") {
                return plugin("manifest.json is that of a browser extension".into());
            }
            if text.contains("\"minAppVersion\"") {
                return plugin("manifest.json is that of an Obsidian plugin".into());
            }
        }
        if self.has("src/main/resources/META-INF/plugin.xml") {
            return plugin(
                "src/main/resources/META-INF/plugin.xml describes a plugin of an IDE".into(),
            );
        }
        let action = ["action.yml", "action.yaml"].into_iter().find(|file| self.has(file));
        let only =
            self.entry(EntryKind::Library).is_none() && self.entry(EntryKind::Binary).is_none();
        plugin(format!("{} describes a GitHub action", action.filter(|_| only)?))
    }

    fn mobile(&self) -> KindVerdict {
        let mobile = |because: String| Some((ProjectKind::MobileApplication, because));
        for opened in self.manifests() {
            let path = &opened.manifest.path;
            let beside = |name: &str| {
                opened.path_to(name).is_some_and(|it| self.sources.tree.has_folder(&it))
            };
            if opened.is("Dart")
                && opened.depends_on("flutter")
                && (beside("android") || beside("ios"))
            {
                return mobile(format!(
                    "{path} depends on Flutter and has mobile platform folders"
                ));
            }
            let is_android = opened.text.contains("com.android.application")
                || opened.text.contains("libs.plugins.android.application");
            let applied = !opened
                .text
                .lines()
                .any(|line| line.contains("application") && line.contains("apply false"));
            if opened.is("Gradle") && is_android && applied {
                return mobile(format!("{path} builds an Android application"));
            }
            let native = opened.depends_on("react-native") || opened.depends_on("expo");
            if opened.is("npm")
                && native
                && opened.path_to("app.json").is_some_and(|it| self.has(&it))
            {
                return mobile(format!("{path} depends on React Native and has an app.json"));
            }
        }
        None
    }

    fn desktop(&self) -> KindVerdict {
        let desktop = |because: String| Some((ProjectKind::DesktopApplication, because));
        for opened in self.manifests().filter(|opened| opened.is(".NET")) {
            let has = |part: &str| opened.text.contains(part);
            if has("<OutputType>WinExe")
                && (has("UseWPF") || has("UseWindowsForms") || has("Avalonia"))
            {
                return desktop(format!("{} builds a desktop program", opened.manifest.path));
            }
        }
        let framework = self.framework(FrameworkPurpose::Desktop)?;
        let is_program = self.entry(EntryKind::Binary).is_some()
            || self.entry(EntryKind::Script).is_some()
            || matches!(framework.name, "Electron" | "Tauri");
        let because = format!("{} depends on {}", framework.path, framework.name);
        let is_library = self.entry(EntryKind::Library).is_some() && framework.name == "Qt";
        desktop(because).filter(|_| is_program && !is_library)
    }

    fn web(&self) -> KindVerdict {
        let web = |because: String| Some((ProjectKind::WebApplication, because));
        if self.has("config/application.rb") && self.has("config.ru") {
            return web("config/application.rb is that of a Rails application".into());
        }
        if self.has("artisan") && self.has("public/index.php") {
            return web("artisan and public/index.php are those of a Laravel application".into());
        }
        let manage = self.entry_points.iter().find(|entry| entry.name == "manage.py");
        if let Some(path) = manage.and_then(|entry| entry.path.as_deref()) {
            return web(format!("{path} runs a Django site"));
        }
        let components = self
            .framework(FrameworkPurpose::Components)
            .filter(|framework| self.has_page(framework));
        if let Some(framework) = components {
            return web(format!(
                "{} depends on {} and has an HTML page",
                framework.path, framework.name
            ));
        }
        let pages = self.sources.tree.has_folder("src/main/resources/templates");
        let server = self.framework(FrameworkPurpose::Server).filter(|_| pages);
        if let Some(framework) = server {
            return web(format!(
                "{} depends on {} and has page templates",
                framework.path, framework.name
            ));
        }
        let framework = self.framework(FrameworkPurpose::Web)?;
        let opened = self.sources.manifests.iter().find(|it| it.manifest.path == framework.path);
        let is_site = match framework.name {
            "Phoenix" | "Phoenix LiveView" => self.has_web_folder(),
            "Django" | "Rails" | "Laravel" | "Symfony" | "Hanami" | "CakePHP" => false,
            "Streamlit" | "Gradio" => self.entry(EntryKind::Library).is_none(),
            _ => opened.is_none_or(|it| is_private(it) || self.entry(EntryKind::Library).is_none()),
        };
        web(format!("{} depends on {}", framework.path, framework.name)).filter(|_| is_site)
    }

    /// Whether there is a Phoenix web folder: `lib/name_web`.
    fn has_web_folder(&self) -> bool {
        let mut folders = self.sources.tree.folders();
        folders.any(|folder| folder_of(folder) == "lib" && folder.ends_with("_web"))
    }

    /// Whether the HTML page of a component library is next to the manifest.
    fn has_page(&self, framework: &Framework) -> bool {
        let folder = folder_of(&framework.path);
        let pages = ["index.html", "public/index.html", "src/index.html", "angular.json"];
        self.sources.first_of(folder, &pages).is_some()
    }

    fn service(&self) -> KindVerdict {
        let framework = self.framework(FrameworkPurpose::Server)?;
        let opened = self.sources.manifests.iter().find(|it| it.manifest.path == framework.path)?;
        let because = format!("{} depends on {}", framework.path, framework.name);
        let runs = match opened.manifest.ecosystem.as_str() {
            "Cargo" | "Go" | "Swift" => {
                self.entry(EntryKind::Binary).is_some()
                    && self
                        .framework(FrameworkPurpose::CommandLine)
                        .is_none_or(|_| self.is_called_server())
            }
            "npm" => {
                let starts = opened.value.pointer("/scripts/start").is_some();
                starts
                    && self.entry(EntryKind::Binary).is_none()
                    && (is_private(opened) || opened.value.get("exports").is_none())
            }
            "Python" => self.entry(EntryKind::Library).is_none() || self.is_called_server(),
            "Maven" | "Gradle" | ".NET" => self.entry(EntryKind::Binary).is_some(),
            _ => self.entry(EntryKind::Library).is_none(),
        };
        Some((ProjectKind::Service, because)).filter(|_| runs)
    }

    fn is_called_server(&self) -> bool {
        let words = ["server", "service", "api", "backend", "daemon", "gateway"];
        let summary = self.summary.unwrap_or_default().to_lowercase();
        let mut parts = summary.split(|letter: char| !letter.is_alphanumeric());
        parts.any(|part| words.contains(&part))
    }

    fn program_or_library(&self) -> KindVerdict {
        let program = self.entry(EntryKind::Binary);
        let library = self.entry(EntryKind::Library);
        match (program, library) {
            (Some(program), None) => self.exposed().or_else(|| Some(self.program(program))),
            (None, Some(library)) => Some(Self::library(library)),
            (Some(program), Some(library)) => {
                if let Some((kind, word)) = self.described() {
                    return Some((kind, format!("the description says “{word}”")));
                }
                if self.is_for_console() {
                    return Some(self.program(program));
                }
                let outer = |entry: &EntryPoint| folder_of(&entry.declared_in).is_empty();
                let same = program
                    .name
                    .replace('-', "_")
                    .eq_ignore_ascii_case(&library.name.replace('-', "_"));
                let named = self
                    .framework(FrameworkPurpose::CommandLine)
                    .filter(|_| outer(program) || same);
                Some(match named {
                    Some(_) => self.program(program),
                    None => Self::library(library),
                })
            }
            (None, None) => None,
        }
    }

    /// A program whose container listens on a port.
    fn exposed(&self) -> KindVerdict {
        let path = self.sources.of(FileRole::Dockerfile).first()?;
        let text = self.sources.tree.text(path).ok()?;
        let port = text.lines().find_map(|line| line.strip_prefix("EXPOSE "))?.trim();
        Some((ProjectKind::Service, format!("{path} exposes port {port}")))
    }

    fn program(&self, first: &EntryPoint) -> (ProjectKind, String) {
        // The program in the description, or the one named after the project, counts.
        let programs = || self.entry_points.iter().filter(|entry| entry.kind == EntryKind::Binary);
        let summary = self.summary.unwrap_or_default().to_lowercase();
        let words: Vec<&str> =
            summary.split(|letter: char| !letter.is_alphanumeric() && letter != '-').collect();
        let names = self.manifests().filter_map(|opened| opened.manifest.name.as_deref());
        let names: Vec<&str> = names.filter_map(|name| name.rsplit('/').next()).collect();
        let program = programs()
            .find(|entry| words.contains(&entry.name.to_lowercase().as_str()))
            .or_else(|| programs().find(|entry| names.contains(&entry.name.as_str())))
            .unwrap_or(first);
        let with =
            self.framework(FrameworkPurpose::CommandLine).map(|it| format!(" with {}", it.name));
        let because = format!(
            "{} builds the program {}{}",
            program.declared_in,
            program.name,
            with.unwrap_or_default()
        );
        (ProjectKind::CommandLine, because)
    }

    fn library(library: &EntryPoint) -> (ProjectKind, String) {
        (ProjectKind::Library, format!("{} exports {}", library.declared_in, library.name))
    }

    /// Classifies the project by its description.
    fn described(&self) -> Option<(ProjectKind, &'static str)> {
        let summary = format!(" {} ", self.summary?.to_lowercase());
        let at = |word: &str| {
            let mut places = summary.match_indices(word).map(|(at, _)| at);
            places.find(|at| {
                let before = summary.get(..*at).and_then(|it| it.chars().next_back());
                let after = summary.get(at + word.len()..).and_then(|it| it.chars().next());
                let divides = |letter: Option<char>| letter.is_none_or(|it| !it.is_alphanumeric());
                divides(before) && divides(after)
            })
        };
        let found = KIND_WORDS.iter().filter_map(|(word, kind)| Some((at(word)?, *kind, *word)));
        found.min_by_key(|(at, ..)| *at).map(|(_, kind, word)| (kind, word))
    }

    /// Whether a manifest classifies the package as a console program.
    fn is_for_console(&self) -> bool {
        self.manifests().any(|opened| {
            let listed = ["/package/categories", "/project/classifiers", "/keywords"];
            let words =
                listed.iter().filter_map(|it| opened.value.pointer(it)?.as_array()).flatten();
            let mut words = words.filter_map(Value::as_str);
            words.any(|word| {
                matches!(word, "command-line-utilities" | "Environment :: Console" | "cli")
            })
        })
    }

    fn infrastructure(&self) -> KindVerdict {
        let because = if let Some(path) = self.sources.of(FileRole::Terraform).first() {
            format!("{path} describes Terraform infrastructure, and no program is declared")
        } else {
            let files = [
                "Pulumi.yaml",
                "Chart.yaml",
                "kustomization.yaml",
                "ansible.cfg",
                "playbook.yml",
                "site.yml",
                "template.yaml",
            ];
            let path = files.into_iter().find(|file| self.has(file))?;
            format!("{path} describes infrastructure, and no program is declared")
        };
        Some((ProjectKind::Infrastructure, because))
    }

    /// Classifies a project of only documents or only data, without a relevant program.
    fn contents(&self) -> KindVerdict {
        if self.manifests().next().is_some() {
            return None;
        }
        let (mut programs, mut prose, mut data, mut all) = (0_u64, 0_u64, 0_u64, 0_u64);
        for file in self.sources.tree.files().iter().filter(|file| !file.path.starts_with('.')) {
            all += 1;
            let name = file.name();
            match file.language.map(nature) {
                // Document build recipes are not a program.
                Some(Nature::Program) if matches!(name, "Makefile" | "makefile" | "Dockerfile") => {
                }
                Some(Nature::Program) => programs += 1,
                Some(Nature::Prose | Nature::Markup) => prose += 1,
                Some(Nature::Data) => data += 1,
                None if is_data(name) => data += 1,
                None => {}
            }
        }
        let few = programs * 10 <= all;
        if few && all >= 3 && prose * 2 > all {
            return Some((
                ProjectKind::Documentation,
                format!("{prose} of {all} files are documents, and there is no manifest"),
            ));
        }
        if few && all >= 3 && data * 2 > all {
            return Some((
                ProjectKind::Data,
                format!("{data} of {all} files are data, and there is no manifest"),
            ));
        }
        None
    }

    /// Classifies a container without other signals as a service.
    fn container_service(&self) -> KindVerdict {
        let script = self.entry(EntryKind::Script)?;
        let is_server =
            matches!(script.name.as_str(), "wsgi.py" | "asgi.py" | "config.ru" | "server.py");
        let because = format!("{} is run by a web server", script.declared_in);
        Some((ProjectKind::Service, because)).filter(|_| is_server)
    }
}

fn nature(language: LanguageType) -> Nature {
    languages::nature(language)
}

fn is_data(name: &str) -> bool {
    let ending = name_of(name).rsplit_once('.').map_or("", |(_, ending)| ending);
    matches!(
        ending,
        "csv" | "tsv" | "parquet" | "geojson" | "jsonl" | "ndjson" | "sqlite" | "arff" | "xlsx"
    )
}

fn is_private(opened: &OpenedManifest<'_>) -> bool {
    opened.value.get("private") == Some(&Value::Bool(true))
}
