use super::*;
use crate::repo::{
    report::{Manifest, Presence},
    tree::ProjectTree,
};
use std::fs;

/// Checks the entry points of these files, the first of which is a manifest.
fn check(files: &[(&str, &str)], ecosystem: &str, name: &str, want: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let tree = ProjectTree::of(folder.path());
    let manifests = [Manifest {
        path: files[0].0.into(),
        ecosystem: ecosystem.into(),
        name: Some(name.into()),
        ..Manifest::default()
    }];
    let presence = Presence::default();
    let sources = ProjectSources::gather(&tree, &manifests, &presence, &|| false);
    let found = find(&sources).into_iter().map(|entry| {
        let path = entry.path.unwrap_or_else(|| "nowhere".into());
        format!("{:?} {}: {path} by {}", entry.kind, entry.name, entry.declared_in)
    });
    assert_eq!(found.collect::<Vec<_>>(), want);
}

#[test]
fn packages_of_cargo() {
    check(
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"a-b\"\nautobins = false\n[lib]\nname = \"ab\"\n[[bin]]\nname = \"x\"\npath = \"src/x.rs\"\n",
            ),
            ("src/x.rs", ""),
            ("src/main.rs", ""),
            ("src/bin/y.rs", ""),
        ],
        "Cargo",
        "a-b",
        &["Binary x: src/x.rs by Cargo.toml", "Library ab: nowhere by Cargo.toml"],
    );
    check(
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"a\"\n[[bin]]\nname = \"long-y\"\npath = \"src/bin/y.rs\"\n",
            ),
            ("src/bin/y.rs", ""),
        ],
        "Cargo",
        "a",
        &["Binary long-y: src/bin/y.rs by Cargo.toml"],
    );
}

#[test]
fn packages_of_node() {
    check(
        &[
            ("package.json", "{\"name\": \"@a/b\", \"bin\": \"cli.js\"}"),
            ("cli.js", ""),
            ("index.js", ""),
        ],
        "npm",
        "@a/b",
        &["Binary b: cli.js by package.json", "Library @a/b: index.js by package.json"],
    );
    check(
        &[("package.json", "{\"name\": \"b\", \"private\": true}"), ("index.js", "")],
        "npm",
        "b",
        &[],
    );
    check(
        &[("package.json", "{\"name\": \"b\", \"main\": \"lib\"}"), ("lib/index.js", "")],
        "npm",
        "b",
        &["Library b: lib/index.js by package.json"],
    );
}

#[test]
fn packages_of_python() {
    check(
        &[
            (
                "setup.cfg",
                "[metadata]\nname = a\n[options.entry_points]\nconsole_scripts =\n    a = a.cli:main\nother =\n    b = a:b\n",
            ),
            ("a/cli/__init__.py", ""),
            ("a/__init__.py", ""),
            ("a/sub/__init__.py", ""),
            ("a/sub/__main__.py", ""),
            ("tests/__main__.py", ""),
        ],
        "Python",
        "a",
        &[
            "Binary a: a/cli/__init__.py by setup.cfg",
            "Script a.sub: a/sub/__main__.py by a/sub/__main__.py",
            "Library a: a/__init__.py by setup.cfg",
        ],
    );
    check(
        &[("setup.py", "setup(entry_points={'console_scripts': ['x = y.z:main', \"w=v:u\"]})\n")],
        "Python",
        "a",
        &["Binary x: nowhere by setup.py", "Binary w: nowhere by setup.py"],
    );
}

#[test]
fn modules_of_go() {
    check(
        &[("go.mod", ""), ("main.go", "package main\n"), ("sub/main.go", "package sub\n")],
        "Go",
        "example.org/tool/v3",
        &["Binary tool: main.go by go.mod"],
    );
    check(
        &[("go.mod", ""), ("lines.go", "package lines\n")],
        "Go",
        "example.org/go-lines",
        &["Library example.org/go-lines: lines.go by go.mod"],
    );
}

#[test]
fn classes_of_java() {
    check(
        &[
            ("pom.xml", "<project><mainClass>org.a.Main</mainClass></project>"),
            ("src/main/java/org/a/Main.java", ""),
        ],
        "Maven",
        "a",
        &["Binary org.a.Main: src/main/java/org/a/Main.java by pom.xml"],
    );
    check(
        &[
            (
                "build.gradle.kts",
                "plugins {\n  application\n}\napplication {\n  mainClass.set(\"org.a.MainKt\")\n}\n",
            ),
            ("src/main/kotlin/org/a/Main.kt", ""),
        ],
        "Gradle",
        "a",
        &["Binary org.a.MainKt: src/main/kotlin/org/a/Main.kt by build.gradle.kts"],
    );
    check(
        &[("build.gradle", "task x(type: JavaExec) {\n  mainClass = \"org.a.Gen\"\n}\n")],
        "Gradle",
        "a",
        &[],
    );
}

#[test]
fn packages_of_dart_and_elixir() {
    check(
        &[
            ("pubspec.yaml", "name: a\nexecutables:\n  tool: main\n  other:\n"),
            ("bin/main.dart", ""),
            ("lib/a.dart", ""),
        ],
        "Dart",
        "a",
        &[
            "Binary tool: bin/main.dart by pubspec.yaml",
            "Binary other: nowhere by pubspec.yaml",
            "Library a: lib/a.dart by pubspec.yaml",
        ],
    );
    check(
        &[("mix.exs", "[escript: [main_module: Tool.CLI]]"), ("lib/a.ex", "")],
        "Elixir",
        "a",
        &["Binary Tool.CLI: nowhere by mix.exs"],
    );
}

#[test]
fn containers() {
    check(
        &[
            (
                "compose.yml",
                "services:\n  api:\n    build:\n      context: api\n      dockerfile: Dockerfile.dev\n  web:\n    build: ./web\n  db:\n    image: postgres\n",
            ),
            ("api/Dockerfile.dev", ""),
            ("job/Dockerfile", ""),
            ("Dockerfile", ""),
        ],
        "",
        "",
        &[
            "Container api: api/Dockerfile.dev by compose.yml",
            "Container web: nowhere by compose.yml",
            "Container Dockerfile: Dockerfile by Dockerfile",
            "Container job: job/Dockerfile by job/Dockerfile",
        ],
    );
}

#[test]
fn examples_do_not_crowd_out_programs() {
    let entry = |kind, at: usize| EntryPoint {
        name: at.to_string(),
        kind,
        path: None,
        declared_in: "Cargo.toml".into(),
    };
    let examples = (0..50).map(|at| entry(EntryKind::Example, at));
    let found =
        deduplicate(examples.chain((0..60).map(|at| entry(EntryKind::Binary, at))).collect());
    assert_eq!(found.len(), MAX_ENTRY_POINTS);
    assert!(found.iter().all(|entry| entry.kind == EntryKind::Binary));
}
