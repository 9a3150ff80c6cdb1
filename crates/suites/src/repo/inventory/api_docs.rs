//! Generated API references: detected by generator configuration, dependencies and language conventions.

use super::examples::is_of_others;
use crate::{
    files::ReadFailure,
    repo::{
        report::{ApiDocs, EntryKind, Manifest, ProjectKind, Report},
        tree::{ProjectFile, ProjectTree, folder_of},
    },
};

/// Maximum number of files to open.
const MAX_OPENED_FILES: usize = 60;
/// Bytes in which a service description names its format.
const HEAD_BYTES: u64 = 4096;

/// Configuration files recognized by name, in lowercase.
const NAMES: &[(&str, &str)] = &[
    ("typedoc.json", "TypeDoc"),
    ("typedoc.js", "TypeDoc"),
    ("typedoc.config.js", "TypeDoc"),
    ("typedoc.config.mjs", "TypeDoc"),
    ("jsdoc.json", "JSDoc"),
    (".jsdoc.json", "JSDoc"),
    ("jsdoc.conf.json", "JSDoc"),
    ("jsdoc.config.json", "JSDoc"),
    ("jsdoc.config.js", "JSDoc"),
    ("api-extractor.json", "API Extractor"),
    ("doxyfile", "Doxygen"),
    ("doxyfile.in", "Doxygen"),
    ("doxygen.conf", "Doxygen"),
    (".yardopts", "YARD"),
    ("dartdoc_options.yaml", "dartdoc"),
    ("docfx.json", "DocFX"),
    ("schema.graphql", "GraphQL schema"),
    ("schema.graphqls", "GraphQL schema"),
];

/// Configuration files recognized by one of these words.
const CONTENTS: &[(&str, &[&str], &str)] = &[
    ("conf.py", &["sphinx.ext.autodoc", "autoapi", "sphinx.ext.autosummary"], "Sphinx autodoc"),
    ("mkdocs.yml", &["mkdocstrings"], "mkdocstrings"),
    ("mkdocs.yaml", &["mkdocstrings"], "mkdocstrings"),
    ("pom.xml", &["maven-javadoc-plugin"], "Javadoc"),
    ("pom.xml", &["dokka-maven-plugin"], "Dokka"),
    ("build.gradle", &["org.jetbrains.dokka"], "Dokka"),
    ("build.gradle.kts", &["org.jetbrains.dokka", "dokka("], "Dokka"),
    ("build.gradle", &["withJavadocJar", "javadoc {"], "Javadoc"),
    ("build.gradle.kts", &["withJavadocJar", "javadoc {"], "Javadoc"),
];

/// Service descriptions: name prefixes and words in their head.
const SERVICES: &[(&str, &str, &str)] = &[
    ("openapi", "openapi", "OpenAPI"),
    ("swagger", "swagger", "OpenAPI"),
    ("swagger", "openapi", "OpenAPI"),
    ("asyncapi", "asyncapi", "AsyncAPI"),
];

/// Dependencies that generate a reference.
const DEPENDENCIES: &[(&str, &str)] = &[
    ("typedoc", "TypeDoc"),
    ("jsdoc", "JSDoc"),
    ("storybook", "Storybook"),
    ("pdoc", "pdoc"),
    ("pdoc3", "pdoc"),
    ("mkdocstrings", "mkdocstrings"),
    ("sphinx-autoapi", "Sphinx autodoc"),
    ("yard", "YARD"),
    ("ex_doc", "ExDoc"),
    ("swift-docc-plugin", "DocC"),
    ("fastapi", "OpenAPI"),
    ("drf-spectacular", "OpenAPI"),
    ("@nestjs/swagger", "OpenAPI"),
    ("utoipa", "OpenAPI"),
];

/// Finds all references by tool, with the outermost source of each.
pub(super) fn find(tree: &ProjectTree, report: &Report) -> (Vec<ApiDocs>, Vec<ReadFailure>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    let mut opened = 0;
    for file in tree.files().iter().filter(|file| !is_of_others(&file.path)) {
        let name = file.name().to_ascii_lowercase();
        let named = NAMES.iter().find(|(known, _)| *known == name).map(|(_, tool)| *tool);
        if let Some(tool) = named.or_else(|| by_folder(file)) {
            found.push((tool, file.path.to_string()));
        } else if opened < MAX_OPENED_FILES && may_declare_api_docs(&name) {
            opened += 1;
            match by_contents(tree, file, &name) {
                Ok(tools) => {
                    found.extend(tools.into_iter().map(|tool| (tool, file.path.to_string())));
                }
                Err(problem) => problems.push(problem),
            }
        }
    }
    let own = || report.manifests.iter().filter(|manifest| !is_of_others(&manifest.path));
    found.extend(own().flat_map(by_dependencies));
    found.extend(own().filter_map(|manifest| by_custom(tree, report, manifest)));
    let depth = |path: &str| path.matches('/').count();
    found.sort_by(|a, b| (a.0, depth(&a.1), &a.1).cmp(&(b.0, depth(&b.1), &b.1)));
    found.dedup_by(|later, first| later.0 == first.0);
    let docs = |(tool, source): (&str, String)| ApiDocs { tool: tool.to_owned(), source };
    (found.into_iter().map(docs).collect(), problems)
}

/// Documentation catalogs are folders.
fn by_folder(file: &ProjectFile) -> Option<&'static str> {
    let folder = file.folder();
    if folder.split('/').any(|part| part.rsplit_once('.').is_some_and(|(_, it)| it == "docc")) {
        return Some("DocC");
    }
    let stories = folder.rsplit('/').next() == Some(".storybook");
    (stories && file.name().starts_with("main.")).then_some("Storybook")
}

fn may_declare_api_docs(name: &str) -> bool {
    CONTENTS.iter().any(|(known, ..)| *known == name) || is_service(name)
}

fn is_service(name: &str) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let data = ["yaml", "yml", "json"].contains(&ending);
    data && SERVICES.iter().any(|(start, ..)| name.starts_with(start))
}

fn by_contents(
    tree: &ProjectTree,
    file: &ProjectFile,
    name: &str,
) -> Result<Vec<&'static str>, ReadFailure> {
    if is_service(name) {
        let head = tree.head(&file.path, HEAD_BYTES)?;
        let head = String::from_utf8_lossy(&head);
        // A key, with or without quotes, not a mention.
        let keyed =
            |key: &str| head.contains(&format!("{key}:")) || head.contains(&format!("\"{key}\""));
        let names = |(start, key, _): &&(&str, &str, &str)| name.starts_with(start) && keyed(key);
        return Ok(SERVICES.iter().find(names).map(|(_, _, tool)| *tool).into_iter().collect());
    }
    let text = tree.text(&file.path)?;
    let declares = |(known, words, _): &&(&str, &[&str], &str)| {
        *known == name && words.iter().any(|word| text.contains(word))
    };
    Ok(CONTENTS.iter().filter(declares).map(|(_, _, tool)| *tool).collect())
}

fn by_dependencies(manifest: &Manifest) -> impl Iterator<Item = (&'static str, String)> {
    DEPENDENCIES.iter().filter_map(|(name, tool)| {
        let asked = manifest.dependencies.iter().any(|dependency| dependency.name == *name);
        asked.then(|| (*tool, manifest.path.clone()))
    })
}

/// References that a language's tools and sites generate for every library.
fn by_custom(
    tree: &ProjectTree,
    report: &Report,
    manifest: &Manifest,
) -> Option<(&'static str, String)> {
    let beside = |path: &str| {
        let folder = folder_of(&manifest.path);
        tree.file(&if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") })
            .is_some()
    };
    let project = report.project.as_ref();
    let library = || project.is_some_and(|project| project.kind == ProjectKind::Library);
    let declared = || {
        let mut points = project.into_iter().flat_map(|project| &project.entry_points);
        points.any(|point| point.kind == EntryKind::Library && point.declared_in == manifest.path)
    };
    let tool = match manifest.ecosystem.as_str() {
        "Cargo" if beside("src/lib.rs") || declared() => "rustdoc",
        "Go" if library() => "go doc",
        "Dart" if library() => "dartdoc",
        "Haskell" if library() => "Haddock",
        _ => return None,
    };
    Some((tool, manifest.path.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::report::{Dependency, Project, Purpose};

    fn found(files: &[(&str, &str)], report: &Report) -> Vec<(String, String)> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let (docs, problems) = find(&ProjectTree::of(folder.path()), report);
        assert_eq!(problems, []);
        docs.into_iter().map(|docs| (docs.tool, docs.source)).collect()
    }

    #[test]
    fn files_declare_api_docs() {
        let cases = [
            ("docs/conf.py", "extensions = ['sphinx.ext.autodoc']", Some("Sphinx autodoc")),
            ("docs/conf.py", "extensions = []", None),
            ("mkdocs.yml", "plugins:\n  - mkdocstrings\n", Some("mkdocstrings")),
            ("mkdocs.yml", "plugins: []", None),
            ("typedoc.json", "{}", Some("TypeDoc")),
            (".jsdoc.json", "{}", Some("JSDoc")),
            ("Doxyfile", "", Some("Doxygen")),
            (".yardopts", "", Some("YARD")),
            ("docs/docfx.json", "{}", Some("DocFX")),
            ("pom.xml", "<artifactId>maven-javadoc-plugin</artifactId>", Some("Javadoc")),
            ("build.gradle.kts", "id(\"org.jetbrains.dokka\")", Some("Dokka")),
            ("build.gradle", "java { withJavadocJar() }", Some("Javadoc")),
            ("api/openapi.yaml", "openapi: 3.1.0", Some("OpenAPI")),
            ("swagger.json", "{\"swagger\": \"2.0\"}", Some("OpenAPI")),
            ("openapi-generator.json", "{\"packages\": {}}", None),
            ("asyncapi.yml", "asyncapi: 3.0.0", Some("AsyncAPI")),
            ("schema.graphql", "type Query", Some("GraphQL schema")),
            (".storybook/main.ts", "", Some("Storybook")),
            ("Sources/A/A.docc/A.md", "", Some("DocC")),
            ("tests/data/openapi.yaml", "openapi: 3.1.0", None),
            ("README.md", "openapi: 3", None),
        ];
        for (path, text, want) in cases {
            let want: Vec<_> =
                want.iter().map(|tool| ((*tool).to_owned(), path.to_owned())).collect();
            assert_eq!(found(&[(path, text)], &Report::default()), want, "{path} {text}");
        }
    }

    #[test]
    fn the_outermost_source_of_each_tool_is_kept() {
        let files = [("a/b/Doxyfile", ""), ("a/Doxyfile", ""), ("typedoc.json", "")];
        let want = [("Doxygen", "a/Doxyfile"), ("TypeDoc", "typedoc.json")];
        let want = want.map(|(tool, source)| (tool.to_owned(), source.to_owned()));
        assert_eq!(found(&files, &Report::default()), want);
    }

    #[test]
    fn manifests_and_conventions_declare_api_docs() {
        let manifest = |ecosystem: &str, path: &str, name: &str| Manifest {
            path: path.into(),
            ecosystem: ecosystem.into(),
            dependencies: vec![Dependency {
                name: name.into(),
                requirement: None,
                locked: None,
                purpose: Purpose::Development,
            }],
            ..Manifest::default()
        };
        let library = Some(Project { kind: ProjectKind::Library, ..Project::default() });
        let cases = [
            ("Elixir", "mix.exs", "ex_doc", None, "mix.exs", Some("ExDoc")),
            ("Ruby", "Gemfile", "yard", None, "Gemfile", Some("YARD")),
            ("Python", "pyproject.toml", "fastapi", None, "a.py", Some("OpenAPI")),
            ("Cargo", "a/Cargo.toml", "serde", None, "a/src/lib.rs", Some("rustdoc")),
            ("Cargo", "Cargo.toml", "serde", None, "src/main.rs", None),
            ("Go", "go.mod", "x", library.clone(), "a.go", Some("go doc")),
            ("Go", "go.mod", "x", None, "a.go", None),
            ("npm", "tests/package.json", "typedoc", None, "a.ts", None),
        ];
        for (ecosystem, path, dependency, project, file, want) in cases {
            let manifests = vec![manifest(ecosystem, path, dependency)];
            let report = Report { manifests, project, ..Report::default() };
            let want: Vec<_> =
                want.iter().map(|tool| ((*tool).to_owned(), path.to_owned())).collect();
            assert_eq!(found(&[(file, "")], &report), want, "{ecosystem} {dependency}");
        }
    }
}
