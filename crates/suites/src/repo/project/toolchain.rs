//! Required versions of languages and tools.

use super::sources::{FileRole, OpenedManifest, ProjectSources, depth, read};
use crate::{
    files::ReadFailure,
    repo::{
        manifests,
        report::Tool,
        tree::{folder_of, name_of},
    },
};
use serde_json::Value;

/// Maximum number of tools.
const MAX_TOOLS: usize = 20;

/// Finds required versions in files and manifests, outermost first, and problems with those files.
pub(super) fn find(sources: &ProjectSources<'_>) -> (Vec<Tool>, Vec<ReadFailure>) {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for path in sources.of(FileRole::Version) {
        // Build tool wrappers are two folders deep.
        let is_wrapper = name_of(path).ends_with("-wrapper.properties");
        if depth(folder_of(path)) > if is_wrapper { 2 } else { 1 } {
            continue;
        }
        match sources.tree.text(path) {
            Ok(text) => found.extend(read_version_file(path, &text)),
            Err(problem) => problems.push(problem),
        }
    }
    for path in sources.of(FileRole::Versions) {
        match read(sources.tree, path) {
            Ok((text, value)) => found.extend(read_version_list(path, &text, &value)),
            Err(problem) => problems.push(problem),
        }
    }
    // A .NET solution has no versions; its projects do.
    let has_versions = |opened: &&OpenedManifest<'_>| !opened.is_member || opened.is(".NET");
    for opened in sources.manifests.iter().filter(has_versions) {
        found.extend(read_manifest(opened));
    }
    found.extend(read_terraform(sources));
    let minor = |tool: &Tool| {
        manifests::ecosystem(name_of(&tool.source)).is_some_and(|it| sources.is_minor(it))
    };
    found.sort_by_key(|tool: &Tool| (depth(folder_of(&tool.source)), minor(tool)));
    let mut kept: Vec<Tool> = Vec::new();
    for tool in found {
        let same = |other: &Tool| other.name == tool.name && other.requirement == tool.requirement;
        if !matches!(tool.requirement.as_str(), "" | "*") && !kept.iter().any(same) {
            kept.push(tool);
        }
    }
    kept.truncate(MAX_TOOLS);
    (kept, problems)
}

/// Reads the versions required by top-level Terraform files.
fn read_terraform(sources: &ProjectSources<'_>) -> Option<Tool> {
    let mut files =
        sources.of(FileRole::Terraform).iter().filter(|path| folder_of(path).is_empty());
    files.find_map(|path| {
        let text = sources.tree.text(path).ok()?;
        let line = text.lines().find(|line| line.trim_start().starts_with("required_version"))?;
        Some(tool("Terraform", line.split('"').nth(1)?, path))
    })
}

fn tool(name: &str, requirement: &str, source: &str) -> Tool {
    let requirement = requirement.trim().trim_matches(['"', '\'']).to_owned();
    Tool { name: name.to_owned(), requirement, source: source.to_owned() }
}

/// Reads a file with one version of one tool.
fn read_version_file(path: &str, text: &str) -> Option<Tool> {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let named = match name_of(path) {
        ".nvmrc" | ".node-version" => "Node",
        ".python-version" => "Python",
        ".ruby-version" => {
            return first.map(|it| tool("Ruby", it.trim_start_matches("ruby-"), path));
        }
        ".go-version" => "Go",
        ".java-version" => "Java",
        ".terraform-version" => "Terraform",
        "rust-toolchain" | "rust-toolchain.toml" => return rust_channel(path, text),
        "global.json" => {
            let value: Value = serde_json::from_str(text).ok()?;
            return Some(tool(".NET SDK", value.pointer("/sdk/version")?.as_str()?, path));
        }
        "gradle-wrapper.properties" => return wrapped(path, text, "Gradle", "gradle-"),
        "maven-wrapper.properties" => return wrapped(path, text, "Maven", "apache-maven-"),
        _ => return None,
    };
    Some(tool(named, first?, path))
}

fn rust_channel(path: &str, text: &str) -> Option<Tool> {
    let text = text.trim();
    if !text.contains('=') && text.lines().count() == 1 {
        return Some(tool("Rust", text, path));
    }
    let value: Value = toml::from_str(text).ok()?;
    Some(tool("Rust", value.pointer("/toolchain/channel")?.as_str()?, path))
}

/// Returns the version in a wrapper's download URL.
fn wrapped(path: &str, text: &str, name: &str, start: &str) -> Option<Tool> {
    let address = text.lines().find_map(|line| line.trim().strip_prefix("distributionUrl="))?;
    let version = name_of(address).strip_prefix(start)?;
    let version = version.split("-bin").next()?.split("-all").next()?;
    Some(tool(name, version, path))
}

/// Reads a file with versions of many tools.
fn read_version_list(path: &str, text: &str, value: &Value) -> Vec<Tool> {
    if let Some(tools) = value.get("tools").and_then(Value::as_object) {
        let version = |value: &Value| match value {
            Value::String(version) => Some(version.clone()),
            Value::Object(table) => table.get("version")?.as_str().map(str::to_owned),
            Value::Array(all) => all.first()?.as_str().map(str::to_owned),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        let versions = tools.iter().filter_map(|(name, value)| Some((name, version(value)?)));
        return versions.map(|(name, version)| tool(&display_name(name), &version, path)).collect();
    }
    if !name_of(path).starts_with(".tool-versions") {
        return Vec::new();
    }
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let pairs = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?, words.next()?))
    });
    pairs.map(|(name, version)| tool(&display_name(name), version, path)).collect()
}

/// Returns the display name of a tool.
fn display_name(name: &str) -> String {
    match name {
        "nodejs" | "node" => "Node".into(),
        "python" => "Python".into(),
        "ruby" => "Ruby".into(),
        "golang" | "go" => "Go".into(),
        "rust" => "Rust".into(),
        "java" => "Java".into(),
        "elixir" => "Elixir".into(),
        "erlang" => "Erlang".into(),
        "terraform" => "Terraform".into(),
        other => other.to_owned(),
    }
}

/// Reads the versions required by a manifest.
fn read_manifest(opened: &OpenedManifest<'_>) -> Vec<Tool> {
    let path = opened.manifest.path.as_str();
    let at = |name: &str, pointer: &str| opened.text_at(pointer).map(|it| tool(name, it, path));
    let after = |name: &str, start: &str| {
        let line = opened.text.lines().find_map(|line| line.trim().strip_prefix(start))?;
        Some(tool(name, line.split("//").next()?, path))
    };
    let found = match opened.manifest.ecosystem.as_str() {
        "Cargo" => vec![
            at("Rust", "/package/rust-version")
                .or_else(|| at("Rust", "/workspace/package/rust-version")),
        ],
        "npm" => return read_package(opened),
        "Python" => vec![
            at("Python", "/project/requires-python"),
            at("Python", "/tool/poetry/dependencies/python"),
            at("Python", "/requires/python_version"),
            quoted_after(opened, "Python", "python_requires"),
        ],
        "Go" => vec![after("Go", "go "), after("Go toolchain", "toolchain ")],
        "Maven" => vec![java_of_pom(opened)],
        "Gradle" => vec![java_of_gradle(opened)],
        ".NET" => vec![element(opened, "TargetFramework").map(|it| tool(".NET", it, path))],
        "Dart" => vec![at("Dart", "/environment/sdk"), at("Flutter", "/environment/flutter")],
        "PHP" => vec![at("PHP", "/require/php")],
        "Ruby" => vec![
            quoted_after(opened, "Ruby", "ruby "),
            quoted_after(opened, "Ruby", "required_ruby_version"),
        ],
        "Elixir" => vec![quoted_after(opened, "Elixir", "elixir:")],
        "Swift" => vec![
            after("Swift", "// swift-tools-version:"),
            after("Swift", "// swift-tools-version: "),
        ],
        "CMake" => of_cmake(opened),
        _ => Vec::new(),
    };
    found.into_iter().flatten().collect()
}

fn read_package(opened: &OpenedManifest<'_>) -> Vec<Tool> {
    let path = opened.manifest.path.as_str();
    let mut found = Vec::new();
    for (engine, name) in [
        ("node", "Node"),
        ("npm", "npm"),
        ("pnpm", "pnpm"),
        ("yarn", "Yarn"),
        ("bun", "Bun"),
        ("vscode", "Visual Studio Code"),
    ] {
        let asked = opened.text_at(&format!("/engines/{engine}"));
        found.extend(asked.map(|version| tool(name, version, path)));
    }
    let pinned = opened.text_at("/packageManager").and_then(|it| it.split_once('@'));
    found.extend(pinned.map(|(name, version)| {
        let name = if name == "yarn" { "Yarn" } else { name };
        tool(name, version.split('+').next().unwrap_or(version), path)
    }));
    found.extend(opened.text_at("/volta/node").map(|version| tool("Node", version, path)));
    found
}

/// Returns the quoted text on a line that starts with a word.
fn quoted_after(opened: &OpenedManifest<'_>, name: &str, start: &str) -> Option<Tool> {
    let line = opened.text.lines().find_map(|line| {
        let line = line.trim();
        let rest = line
            .split_once(start)
            .filter(|(before, _)| before.is_empty() || before.ends_with('.'))?
            .1;
        // setup.cfg has no quotes.
        let bare = rest.trim_start_matches([' ', '=']);
        let quoted = bare.trim_start_matches("Gem::Requirement.new(").split(['"', '\'']).nth(1);
        quoted.or_else(|| (opened.file() == "setup.cfg").then_some(bare))
    })?;
    Some(tool(name, line, &opened.manifest.path))
}

fn element<'o>(opened: &'o OpenedManifest<'_>, tag: &str) -> Option<&'o str> {
    let (_, rest) = opened.text.split_once(&format!("<{tag}>"))?;
    rest.split('<').next().map(str::trim).filter(|text| !text.contains('$') && !text.is_empty())
}

fn java_of_pom(opened: &OpenedManifest<'_>) -> Option<Tool> {
    let tags = [
        "maven.compiler.release",
        "java.version",
        "maven.compiler.target",
        "maven.compiler.source",
        "release",
    ];
    let version = tags.iter().find_map(|tag| element(opened, tag))?;
    version
        .starts_with(|first: char| first.is_ascii_digit())
        .then(|| tool("Java", version, &opened.manifest.path))
}

fn java_of_gradle(opened: &OpenedManifest<'_>) -> Option<Tool> {
    let marks = ["JavaLanguageVersion.of(", "jvmToolchain("];
    let version = marks.iter().find_map(|mark| {
        let (_, rest) = opened.text.split_once(mark)?;
        rest.split(')').next().filter(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
    })?;
    Some(tool("Java", version, &opened.manifest.path))
}

fn of_cmake(opened: &OpenedManifest<'_>) -> Vec<Option<Tool>> {
    let path = &opened.manifest.path;
    let argument = |call: &str| {
        opened.text.lines().find_map(|line| {
            let (before, rest) = line.trim().split_at_checked(call.len())?;
            let rest = rest.split(')').next()?.trim();
            before.eq_ignore_ascii_case(call).then_some(rest).filter(|it| !it.contains('$'))
        })
    };
    let minimum = argument("cmake_minimum_required(").and_then(|it| it.strip_prefix("VERSION"));
    let standard = argument("set(CMAKE_CXX_STANDARD ");
    vec![
        minimum.map(|it| tool("CMake", it, path)),
        standard.and_then(|it| it.split_whitespace().next()).map(|it| tool("C++", it, path)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_for_one_version() {
        let cases = [
            (".nvmrc", "v20.1\n", Some(("Node", "v20.1"))),
            (".python-version", "# comment\n3.12\n", Some(("Python", "3.12"))),
            (".ruby-version", "ruby-3.3.0\n", Some(("Ruby", "3.3.0"))),
            ("rust-toolchain", "nightly-2024-01-01\n", Some(("Rust", "nightly-2024-01-01"))),
            ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.80\"\n", Some(("Rust", "1.80"))),
            ("global.json", "{\"sdk\": {\"version\": \"8.0.100\"}}", Some((".NET SDK", "8.0.100"))),
            (
                "gradle/wrapper/gradle-wrapper.properties",
                "distributionUrl=https\\://services.example/distributions/gradle-8.5-bin.zip\n",
                Some(("Gradle", "8.5")),
            ),
            (
                ".mvn/wrapper/maven-wrapper.properties",
                "distributionUrl=https://repo.example/apache-maven/3.9.6/apache-maven-3.9.6-bin.zip\n",
                Some(("Maven", "3.9.6")),
            ),
            ("global.json", "{", None),
        ];
        for (path, text, want) in cases {
            let found = read_version_file(path, text);
            let found = found.as_ref().map(|it| (it.name.as_str(), it.requirement.as_str()));
            assert_eq!(found, want, "{path}");
        }
    }

    #[test]
    fn files_for_many_versions() {
        let versions_of = |path: &str, text: &str| -> Vec<(String, String)> {
            let value = super::super::sources::parse(path, text).unwrap();
            read_version_list(path, text, &value)
                .into_iter()
                .map(|it| (it.name, it.requirement))
                .collect()
        };
        let pair = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        assert_eq!(
            versions_of(".tool-versions", "nodejs 20.1 18 # both\n\nerlang 26\n"),
            [pair("Node", "20.1"), pair("Erlang", "26")]
        );
        assert_eq!(
            versions_of(
                "mise.toml",
                "[tools]\nnode = \"20\"\ngo = { version = \"1.22\" }\njust = [\"1\", \"2\"]\n"
            ),
            [pair("Node", "20"), pair("Go", "1.22"), pair("just", "1")]
        );
    }
}
