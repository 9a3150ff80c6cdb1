//! Elixir: the literal parts of `mix.exs`, umbrella projects, and `mix.lock`.

use super::{
    super::{report::Purpose, tree::join},
    format::PackageFileFormat,
    lock::{LockedVersions, ParsedLockFile},
    pattern::ManifestFolders,
    reading::{ManifestDraft, ManifestReader, RequestedDependency},
    script::{CommentStyle, ScriptToken, TokenizedScript},
};
use std::{collections::HashMap, ops::Range};

/// Development environments.
const DEVELOPMENT: [&str; 6] = ["dev", "test", "docs", "ci", "lint", "bench"];

/// Keywords that start a definition.
const DEFINITIONS: [&str; 4] = ["def", "defp", "defmodule", "defmacro"];

/// Reads every `mix.exs`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    let paths = reading.files(PackageFileFormat::Mix);
    let folders = ManifestFolders::new(&paths);
    for path in &paths {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::Mix);
        if let Some(text) = reading.text(path) {
            fill(&TokenizedScript::new(&text, CommentStyle::Hash), &folders, &mut draft);
        }
        reading.drafts.push(draft);
    }
}

fn fill(script: &TokenizedScript<'_>, folders: &ManifestFolders<'_>, draft: &mut ManifestDraft) {
    let all = 0..script.tokens().len();
    let attributes = all.clone().filter_map(|at| Some((script.word(at)?, script.text(at + 1)?)));
    let attributes: HashMap<_, _> = attributes.filter(|(word, _)| word.starts_with('@')).collect();
    let text = |key: &str| {
        let keys = all.clone().filter(|at| script.word(*at) == Some(key) && script.is(at + 1, ':'));
        let mut texts = keys.filter_map(|at| {
            script.text(at + 2).or_else(|| attributes.get(script.word(at + 2)?).copied())
        });
        texts.find(|text| !text.contains("#{")).map(str::to_owned)
    };
    let manifest = &mut draft.manifest;
    let name = value(script, "app", ScriptToken::Sign(':')).and_then(|at| script.word(at + 1));
    manifest.name = name.map(str::to_owned);
    manifest.version = text("version");
    manifest.description = text("description");
    let licences = value(script, "licenses", ScriptToken::Sign('[')).and_then(|at| script.list(at));
    manifest.licence = licences.filter(|all| !all.is_empty()).map(|all| all.join(" OR "));
    if let Some(apps) = text("apps_path") {
        let members = folders.matching(draft.folder(), &[format!("{apps}/*")]);
        draft.manifest.members = members.into_iter().map(str::to_owned).collect();
    }
    let mut at = 0;
    while at < all.end {
        let defines = script.word(at).is_some_and(|word| DEFINITIONS.contains(&word));
        let name = script.word(at + 1).filter(|_| defines);
        if name.is_some_and(|name| name == "deps" || name.ends_with("_deps")) {
            let next = (at + 2..all.end)
                .find(|at| script.word(*at).is_some_and(|word| DEFINITIONS.contains(&word)));
            let end = next.unwrap_or(all.end);
            take_tuples(script, at + 2..end, folders, draft);
            at = end;
        } else if script.word(at) == Some("deps")
            && script.is(at + 1, ':')
            && script.is(at + 2, '[')
        {
            take_tuples(script, script.inside(at + 2), folders, draft);
            at = script.after(at + 2);
        } else {
            at += 1;
        }
    }
}

/// Returns the position of the first value with this key prefix.
fn value(script: &TokenizedScript<'_>, key: &str, start: ScriptToken<'_>) -> Option<usize> {
    let keys = (0..script.tokens().len())
        .filter(|at| script.word(*at) == Some(key) && script.is(at + 1, ':'));
    keys.map(|at| at + 2).find(|at| script.get(*at) == Some(start))
}

/// `{:name, "~> 1.0", only: :test}`, each in a list.
fn take_tuples(
    script: &TokenizedScript<'_>,
    range: Range<usize>,
    folders: &ManifestFolders<'_>,
    draft: &mut ManifestDraft,
) {
    let mut at = range.start;
    while at < range.end {
        let name = script.word(at + 2).filter(|_| script.is(at, '{') && script.is(at + 1, ':'));
        if let Some(name) = name.filter(|_| script.is(at + 3, ',')) {
            draft.wanted.push(tuple(script, at, name, folders, draft.folder()));
            at = script.after(at);
        } else {
            at += 1;
        }
    }
}

fn tuple(
    script: &TokenizedScript<'_>,
    at: usize,
    name: &str,
    folders: &ManifestFolders<'_>,
    folder: &str,
) -> RequestedDependency {
    let mut requirement = None;
    let mut options: HashMap<&str, Vec<&str>> = HashMap::new();
    let mut parts = script.parts(script.inside(at));
    // Options may have brackets of their own.
    let list = parts.last().and_then(|part| part.first().copied()).filter(|at| script.is(*at, '['));
    parts.extend(list.map(|at| script.parts(script.inside(at))).unwrap_or_default());
    for part in parts.iter().skip(1) {
        if let [only] = part.as_slice() {
            requirement = requirement.or(script.text(*only));
        } else if let [key, colon, rest @ ..] = part.as_slice()
            && let Some(key) = script.word(*key).filter(|_| script.is(*colon, ':'))
        {
            let words = rest.iter().filter_map(|at| script.word(*at).or(script.text(*at)));
            options.insert(key, words.collect());
        }
    }
    let option = |key: &str| options.get(key).and_then(|words| words.first()).copied();
    let purpose = match options.get("only") {
        Some(only) if only.iter().all(|it| DEVELOPMENT.contains(it)) => Purpose::Development,
        _ if option("optional") == Some("true") => Purpose::Optional,
        _ if option("runtime") == Some("false") => Purpose::Build,
        _ => Purpose::Runtime,
    };
    let beside = (option("in_umbrella") == Some("true")).then(|| format!("../{name}"));
    let path = option("path").map(str::to_owned).or(beside);
    let target = path.as_ref().and_then(|path| folders.get(&join(folder, path)?));
    let address = ["git", "github"].iter().find_map(|key| option(key)).map(str::to_owned);
    let requirement = requirement.map(str::to_owned).or(path).or(address);
    RequestedDependency::new(name, requirement, purpose)
        .with_local_manifest(target.map(str::to_owned))
}

/// Parses `mix.lock`: `"name": {:hex, :name, "1.0.0", …},` or `"name": {:git, "address", "revision", …},`.
pub(super) fn lock(text: &str) -> ParsedLockFile {
    let mut fixed = LockedVersions::default();
    for line in text.lines() {
        let quoted: Vec<_> = line.split('"').take(6).collect();
        let [_, name, kind, first, rest @ ..] = quoted.as_slice() else { continue };
        let version = if kind.contains(":git") { rest.get(1) } else { Some(first) };
        if let Some(version) = version {
            fixed.add(*name, *version);
        }
    }
    ParsedLockFile::single_version(fixed, str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;

    #[test]
    fn umbrellas_dependencies_and_lock_file() {
        check(
            &[
                ("mix.exs", "defmodule All.MixProject do\n  def project do\n    [apps_path: \"apps\", version: \"0.1.0\", deps: deps()]\n  end\n  defp deps, do: [{:credo, \"~> 1.7\", only: [:dev, :test], runtime: false}]\nend\n"),
                (
                    "apps/web/mix.exs",
                    "defmodule Web.MixProject do\n  use Mix.Project\n  @version \"1.2.3\"\n  @source_url \"https://example.org\"\n\n  def project do\n    [\n      app: :web,\n      version: @version,\n      \
                     description: \"Does web.\",\n      deps: deps(),\n      package: [licenses: [\"MIT\"], links: %{}]\n    ]\n  end\n\n  def application, do: [mod: {:no, []}]\n\n  defp deps do\n    [\n      \
                     {:core, in_umbrella: true},\n      {:jason, \"~> 1.0\"}, # fast\n      {:far, git: \"https://example.org/far.git\", tag: \"v1\"},\n      {:opt, \">= 0.0.0\", optional: true},\n      \
                     {:ex_doc, \"~> 0.30\", [only: :dev]},\n      {:tool, \"1.0\", runtime: false}\n    ]\n  end\n\n  defp aliases do\n    [{:not, \"this\"}]\n  end\nend\n",
                ),
                ("apps/core/mix.exs", "defmodule Core do\n  def project, do: [app: :core, version: \"0.#{1}\", deps: [{:jason, \"~> 1.1\"}]]\nend\n"),
                ("mix.lock", "%{\n  \"jason\": {:hex, :jason, \"1.4.1\", \"hash\", [:mix], [], \"hexpm\", \"x\"},\n  \"far\": {:git, \"https://example.org/far.git\", \"abc123\", [tag: \"v1\"]},\n}\n"),
            ],
            "mix.exs | Elixir mix | - 0.1.0 | - | - | apps/core/mix.exs apps/web/mix.exs | - | mix.lock
             + development credo ~> 1.7 -
             apps/core/mix.exs | Elixir mix | core - | - | - | - | mix.exs | mix.lock
             + runtime jason ~> 1.1 1.4.1
             apps/web/mix.exs | Elixir mix | web 1.2.3 | Does web. | MIT | - | mix.exs | mix.lock
             + runtime core ../core -
             + runtime jason ~> 1.0 1.4.1
             + runtime far https://example.org/far.git abc123
             + optional opt >= 0.0.0 -
             + build tool 1.0 -
             + development ex_doc ~> 0.30 -
             = 4 direct, 2 development, 2 locked
             = apps/web/mix.exs > apps/core/mix.exs
             = jason of Elixir by 2
             = mix.lock of Elixir with 2",
        );
    }
}
