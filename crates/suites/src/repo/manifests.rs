//! Manifests: which ecosystem a file belongs to, and what it asks for.

use super::report::{Dependency, Manifest, Purpose};
use serde_json::Value;
use toml::{Table, Value as Toml};

/// Why a manifest tells nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManifestError {
    /// Not UTF-8.
    #[error("is not UTF-8 text")]
    Encoding(#[from] std::str::Utf8Error),
    /// Not TOML.
    #[error("is not valid TOML: {}", .0.message())]
    Toml(#[from] toml::de::Error),
    /// Not JSON.
    #[error("is not valid JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The ecosystem of a manifest; `None` for any other file.
pub(super) fn ecosystem(name: &str) -> Option<&'static str> {
    Some(match name {
        "Cargo.toml" => "Cargo",
        "package.json" => "npm",
        "pyproject.toml" | "setup.py" | "setup.cfg" | "Pipfile" => "Python",
        "go.mod" => "Go",
        "pom.xml" => "Maven",
        "build.gradle" | "build.gradle.kts" => "Gradle",
        "Gemfile" => "Ruby",
        "composer.json" => "PHP",
        "mix.exs" => "Elixir",
        "pubspec.yaml" => "Dart",
        "Package.swift" => "Swift",
        "CMakeLists.txt" => "CMake",
        "conanfile.txt" | "conanfile.py" => "Conan",
        "vcpkg.json" => "vcpkg",
        "deno.json" | "deno.jsonc" => "Deno",
        "stack.yaml" => "Haskell",
        _ if name.starts_with("requirements") && ends(name, "txt") => "Python",
        _ if ends(name, "csproj") || ends(name, "fsproj") || ends(name, "sln") => ".NET",
        _ if ends(name, "gemspec") => "Ruby",
        _ if ends(name, "cabal") => "Haskell",
        _ => return None,
    })
}

fn ends(name: &str, ending: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, found)| found.eq_ignore_ascii_case(ending))
}

/// Whether docent knows how to find dependencies in it.
pub(super) fn is_read(name: &str) -> bool {
    matches!(name, "Cargo.toml" | "package.json" | "composer.json" | "pyproject.toml" | "go.mod")
        || (name.starts_with("requirements") && ends(name, "txt"))
}

/// Fills in what the manifest says of itself and what it asks for.
pub(super) fn read(name: &str, bytes: &[u8], manifest: &mut Manifest) -> Result<(), ManifestError> {
    let text = std::str::from_utf8(bytes)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match name {
        "Cargo.toml" => cargo(&text.parse()?, manifest),
        "pyproject.toml" => pyproject(&text.parse()?, manifest),
        "package.json" => package_json(&serde_json::from_str(text)?, manifest),
        "composer.json" => composer(&serde_json::from_str(text)?, manifest),
        "go.mod" => go_mod(text, manifest),
        _ => requirements(text, manifest),
    }
    // Stable: within one purpose the parser's order stays.
    manifest.dependencies.sort_by_key(|dependency| dependency.purpose);
    Ok(())
}

fn text_of(value: Option<&Toml>) -> Option<String> {
    value.and_then(Toml::as_str).map(str::to_owned)
}

fn cargo(manifest: &Table, into: &mut Manifest) {
    let shared = manifest.get("workspace").and_then(Toml::as_table);
    if let Some(package) = manifest.get("package").and_then(Toml::as_table) {
        let own = |key: &str| text_of(package.get(key));
        into.name = own("name");
        into.version = own("version");
        into.licence = own("license");
    }
    if let Some(defaults) = shared.and_then(|shared| shared.get("package")) {
        into.version = into.version.take().or_else(|| text_of(defaults.get("version")));
        into.licence = into.licence.take().or_else(|| text_of(defaults.get("license")));
    }
    cargo_tables(manifest, into);
    for target in
        manifest.get("target").and_then(Toml::as_table).into_iter().flat_map(Table::values)
    {
        target.as_table().into_iter().for_each(|table| cargo_tables(table, into));
    }
    cargo_list(shared.and_then(|shared| shared.get("dependencies")), Purpose::Workspace, into);
}

fn cargo_tables(table: &Table, into: &mut Manifest) {
    cargo_list(table.get("dependencies"), Purpose::Runtime, into);
    cargo_list(table.get("dev-dependencies"), Purpose::Development, into);
    cargo_list(table.get("build-dependencies"), Purpose::Build, into);
}

fn cargo_list(list: Option<&Toml>, purpose: Purpose, into: &mut Manifest) {
    for (name, wanted) in list.and_then(Toml::as_table).into_iter().flatten() {
        let optional = wanted.get("optional").and_then(Toml::as_bool) == Some(true);
        let purpose = if optional { Purpose::Optional } else { purpose };
        let source = ["version", "git", "path"].iter().find_map(|key| text_of(wanted.get(key)));
        let inherited = wanted.get("workspace").map(|_| "workspace".to_owned());
        let requirement = text_of(Some(wanted)).or(source).or(inherited);
        into.dependencies.push(Dependency { name: name.clone(), requirement, purpose });
    }
}

fn json_text(manifest: &Value, key: &str) -> Option<String> {
    manifest.get(key).and_then(Value::as_str).map(str::to_owned)
}

fn json_list(manifest: &Value, key: &str, purpose: Purpose, into: &mut Manifest) {
    for (name, wanted) in manifest.get(key).and_then(Value::as_object).into_iter().flatten() {
        let requirement = wanted.as_str().map(str::to_owned);
        into.dependencies.push(Dependency { name: name.clone(), requirement, purpose });
    }
}

fn package_json(manifest: &Value, into: &mut Manifest) {
    into.name = json_text(manifest, "name");
    into.version = json_text(manifest, "version");
    into.licence = json_text(manifest, "license");
    json_list(manifest, "dependencies", Purpose::Runtime, into);
    json_list(manifest, "devDependencies", Purpose::Development, into);
    json_list(manifest, "peerDependencies", Purpose::Peer, into);
    json_list(manifest, "optionalDependencies", Purpose::Optional, into);
}

fn composer(manifest: &Value, into: &mut Manifest) {
    into.name = json_text(manifest, "name");
    into.version = json_text(manifest, "version");
    into.licence = json_text(manifest, "license");
    json_list(manifest, "require", Purpose::Runtime, into);
    json_list(manifest, "require-dev", Purpose::Development, into);
}

fn pyproject(manifest: &Table, into: &mut Manifest) {
    if let Some(project) = manifest.get("project").and_then(Toml::as_table) {
        into.name = text_of(project.get("name"));
        into.version = text_of(project.get("version"));
        let licence = project.get("license");
        into.licence =
            text_of(licence).or_else(|| text_of(licence.and_then(|table| table.get("text"))));
        python_list(project.get("dependencies"), Purpose::Runtime, into);
        for extra in project
            .get("optional-dependencies")
            .and_then(Toml::as_table)
            .into_iter()
            .flat_map(Table::values)
        {
            python_list(Some(extra), Purpose::Optional, into);
        }
    }
    for group in manifest
        .get("dependency-groups")
        .and_then(Toml::as_table)
        .into_iter()
        .flat_map(Table::values)
    {
        python_list(Some(group), Purpose::Development, into);
    }
    if let Some(poetry) =
        manifest.get("tool").and_then(|tool| tool.get("poetry")).and_then(Toml::as_table)
    {
        into.name = into.name.take().or_else(|| text_of(poetry.get("name")));
        into.version = into.version.take().or_else(|| text_of(poetry.get("version")));
        into.licence = into.licence.take().or_else(|| text_of(poetry.get("license")));
        poetry_list(poetry.get("dependencies"), Purpose::Runtime, into);
        poetry_list(poetry.get("dev-dependencies"), Purpose::Development, into);
        for group in
            poetry.get("group").and_then(Toml::as_table).into_iter().flat_map(Table::values)
        {
            poetry_list(group.get("dependencies"), Purpose::Development, into);
        }
    }
}

fn python_list(list: Option<&Toml>, purpose: Purpose, into: &mut Manifest) {
    let wanted = list.and_then(Toml::as_array).into_iter().flatten().filter_map(Toml::as_str);
    into.dependencies.extend(wanted.filter_map(|line| python_requirement(line, purpose)));
}

fn poetry_list(list: Option<&Toml>, purpose: Purpose, into: &mut Manifest) {
    for (name, wanted) in list.and_then(Toml::as_table).into_iter().flatten() {
        // Poetry lists the interpreter among the packages.
        if name != "python" {
            let requirement = text_of(Some(wanted)).or_else(|| text_of(wanted.get("version")));
            into.dependencies.push(Dependency { name: name.clone(), requirement, purpose });
        }
    }
}

/// `name[extra] >=1,<2 ; marker`, as PEP 508 has it.
fn python_requirement(line: &str, purpose: Purpose) -> Option<Dependency> {
    let line = line.split_once(';').map_or(line, |(wanted, _)| wanted).trim();
    let end = line
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c)))
        .unwrap_or(line.len());
    let (name, rest) = line.split_at_checked(end)?;
    let rest = rest.trim_start();
    let rest = if rest.starts_with('[') {
        rest.split_once(']').map_or("", |(_, rest)| rest)
    } else {
        rest
    };
    let rest = rest.trim().trim_start_matches('@').trim();
    let requirement = (!rest.is_empty()).then(|| rest.to_owned());
    (!name.is_empty()).then(|| Dependency { name: name.to_owned(), requirement, purpose })
}

fn requirements(text: &str, into: &mut Manifest) {
    let purpose = if into.path.contains("dev") || into.path.contains("test") {
        Purpose::Development
    } else {
        Purpose::Runtime
    };
    for line in text.lines() {
        let line = line.split_once(" #").map_or(line, |(wanted, _)| wanted).trim();
        // Options (`-r other.txt`, `--hash`) and comments name no package.
        if !line.starts_with(['#', '-']) {
            into.dependencies.extend(python_requirement(line.trim_end_matches('\\'), purpose));
        }
    }
}

fn go_mod(text: &str, into: &mut Manifest) {
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if let Some(module) = line.strip_prefix("module ") {
            into.name = Some(module.trim().trim_matches('"').to_owned());
        }
        let wanted = match line.strip_prefix("require") {
            Some(rest) if rest.trim_start().starts_with('(') => {
                inside = true;
                continue;
            }
            Some(rest) if rest.starts_with(' ') => rest.trim(),
            _ if line.starts_with(')') => {
                inside = false;
                continue;
            }
            _ if inside => line,
            _ => continue,
        };
        // What others ask for is listed too, and marked.
        if wanted.is_empty() || wanted.starts_with("//") || wanted.ends_with("// indirect") {
            continue;
        }
        let mut words = wanted.split_whitespace();
        if let Some(name) = words.next() {
            let requirement = words.next().map(str::to_owned);
            into.dependencies.push(Dependency {
                name: name.to_owned(),
                requirement,
                purpose: Purpose::Runtime,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    fn told(path: &str, text: &str) -> String {
        let mut manifest = Manifest { path: path.to_owned(), ..Manifest::default() };
        if let Err(error) = read(path, text.as_bytes(), &mut manifest) {
            return error.to_string();
        }
        let head = [&manifest.name, &manifest.version, &manifest.licence]
            .map(|part| part.as_deref().unwrap_or("-"));
        let mut told = head.join(" ");
        for Dependency { name, requirement, purpose } in &manifest.dependencies {
            let requirement = requirement.as_deref().unwrap_or("-");
            write!(told, "; {purpose:?} {name} {requirement}").unwrap();
        }
        told
    }

    #[test]
    fn manifests_tell_what_they_ask_for() {
        let cases = [
            (
                "Cargo.toml",
                "[package]\nname='a'\nversion='1.0.0'\nlicense='MIT'\n[dependencies]\nserde='1'\nrand={version='0.9',optional=true}\n\
                 own={path='../own'}\nwide={workspace=true}\n[dev-dependencies]\ntempfile='3'\n[build-dependencies]\ncc='1'\n\
                 [target.'cfg(unix)'.dependencies]\nlibc='0.2'\n",
                "a 1.0.0 MIT; Runtime serde 1; Runtime own ../own; Runtime wide workspace; Runtime libc 0.2; Optional rand 0.9; \
                 Build cc 1; Development tempfile 3",
            ),
            (
                "Cargo.toml",
                "[workspace]\nmembers=['a']\n[workspace.package]\nversion='2.0.0'\n[workspace.dependencies]\nserde='1'\n",
                "- 2.0.0 -; Workspace serde 1",
            ),
            (
                "package.json",
                r#"{"name":"b","version":"2.0.0","license":"ISC","dependencies":{"express":"^4"},"devDependencies":{"jest":"29"},
                    "peerDependencies":{"react":"*"}}"#,
                "b 2.0.0 ISC; Runtime express ^4; Peer react *; Development jest 29",
            ),
            (
                "pyproject.toml",
                "[project]\nname='c'\nversion='3'\nlicense={text='BSD-3-Clause'}\ndependencies=['requests[socks]>=2,<3; python_version>\"3\"','rich']\n\
                 [project.optional-dependencies]\nx=['numpy==1']\n[dependency-groups]\ndev=['pytest']\n",
                "c 3 BSD-3-Clause; Runtime requests >=2,<3; Runtime rich -; Optional numpy ==1; Development pytest -",
            ),
            (
                "pyproject.toml",
                "[tool.poetry]\nname='d'\n[tool.poetry.dependencies]\npython='^3'\nflask={version='3'}\n[tool.poetry.group.dev.dependencies]\nruff='*'\n",
                "d - -; Runtime flask 3; Development ruff *",
            ),
            (
                "requirements-dev.txt",
                "# tools\n-r base.txt\npytest>=8 # runner\nblack\n\n",
                "- - -; Development pytest >=8; Development black -",
            ),
            (
                "go.mod",
                "module example.org/e\n\ngo 1.22\n\nrequire (\n\texample.org/x v1.2.3\n\texample.org/y v0.1.0 // indirect\n)\n\nrequire example.org/z v2.0.0\n\
                 replace example.org/x => ../x\n",
                "example.org/e - -; Runtime example.org/x v1.2.3; Runtime example.org/z v2.0.0",
            ),
            (
                "composer.json",
                r#"{"name":"f/f","require":{"php":">=8"},"require-dev":{"phpunit/phpunit":"^11"}}"#,
                "f/f - -; Runtime php >=8; Development phpunit/phpunit ^11",
            ),
        ];
        for (path, text, want) in cases {
            assert_eq!(told(path, text), want, "{path}");
        }
    }

    #[test]
    fn a_broken_manifest_says_so() {
        assert!(
            told("Cargo.toml", "[package").starts_with("is not valid TOML"),
            "{}",
            told("Cargo.toml", "[package")
        );
        assert!(told("package.json", "{").starts_with("is not valid JSON"));
        assert_eq!(told("package.json", "[]"), "- - -");
    }

    #[test]
    fn names_tell_ecosystems() {
        let cases = [
            ("Cargo.toml", Some("Cargo")),
            ("requirements.txt", Some("Python")),
            ("App.csproj", Some(".NET")),
            ("build.gradle.kts", Some("Gradle")),
            ("pom.xml", Some("Maven")),
            ("Gemfile", Some("Ruby")),
            ("cargo.lock", None),
            ("tsconfig.json", None),
        ];
        for (name, want) in cases {
            assert_eq!(ecosystem(name), want, "{name}");
        }
    }
}
