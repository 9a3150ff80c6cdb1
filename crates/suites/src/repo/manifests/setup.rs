//! `setup.cfg` and the literal parts of `setup.py`; and versions stored in Python package sources.

use super::{
    super::{report::Purpose, tree::join},
    format::PackageFileFormat,
    reading::{ManifestDraft, ManifestReader},
    requirements::{parse, purpose_of},
    script::{CommentStyle, ScriptToken, TokenizedScript, is_computed},
};
use std::collections::HashMap;

/// Reads every `setup.cfg` and `setup.py`.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    for path in reading.files(PackageFileFormat::SetupConfiguration) {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::SetupConfiguration);
        let text = reading.text(path);
        let values = ini(text.as_deref().unwrap_or_default());
        fill_configuration(reading, &values, &mut draft);
        // Many contain only settings of other tools.
        let is_package = values.iter().any(|(section, ..)| {
            matches!(*section, "metadata" | "options") || section.starts_with("options.")
        });
        if is_package || text.is_none() {
            reading.drafts.push(draft);
        }
    }
    for path in reading.files(PackageFileFormat::SetupProgram) {
        let mut draft = ManifestDraft::new(path, PackageFileFormat::SetupProgram);
        if let Some(text) = reading.text(path) {
            fill_program(&TokenizedScript::new(&text, CommentStyle::Hash), &mut draft);
        }
        reading.drafts.push(draft);
    }
}

/// Parses section, key and value of each setting; indented lines continue a value.
fn ini(text: &str) -> Vec<(&str, &str, String)> {
    let mut found: Vec<(&str, &str, String)> = Vec::new();
    let mut section = "";
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            section = name.trim();
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, _, value)) = found.last_mut() {
                value.push('\n');
                value.push_str(trimmed);
            }
        } else if let Some((key, value)) = trimmed.split_once(['=', ':']) {
            found.push((section, key.trim(), value.trim().to_owned()));
        }
    }
    found
}

fn fill_configuration(
    reading: &mut ManifestReader<'_>,
    values: &[(&str, &str, String)],
    draft: &mut ManifestDraft,
) {
    for (section, key, value) in values {
        let list = match (*section, *key) {
            ("options", "install_requires") => Purpose::Runtime,
            ("options", "setup_requires") => Purpose::Build,
            ("options", "tests_require") => Purpose::Development,
            ("options.extras_require", extra) => purpose_of(extra, Purpose::Optional),
            ("metadata", key) => {
                fill_metadata(reading, key, value, draft);
                continue;
            }
            _ => continue,
        };
        // Requirements are on separate lines, or separated by semicolons.
        let separator = if value.contains('\n') { '\n' } else { ';' };
        for (name, requirement) in value.split(separator).filter_map(parse) {
            draft.want(name, requirement, list);
        }
    }
}

fn fill_metadata(
    reading: &mut ManifestReader<'_>,
    key: &str,
    value: &str,
    draft: &mut ManifestDraft,
) {
    let folder = draft.folder().to_owned();
    let manifest = &mut draft.manifest;
    let given = || Some(value.to_owned()).filter(|value| !value.is_empty());
    match key {
        "name" => manifest.name = given(),
        "version" => {
            manifest.version = match value.split_once(':') {
                Some(("attr", name)) => attribute(reading, &folder, name.trim()),
                Some(("file", path)) => whole_file(reading, &folder, path.trim()),
                _ => given(),
            }
        }
        "description" | "summary" => manifest.description = given(),
        "license" => manifest.licence = given(),
        "classifiers" | "classifier" if manifest.licence.is_none() => {
            manifest.licence = value.lines().find_map(classified_licence);
        }
        _ => {}
    }
}

/// Returns the last part of `License :: OSI Approved :: MIT License`.
pub(super) fn classified_licence(classifier: &str) -> Option<String> {
    let (_, last) = classifier
        .strip_prefix("License ::")?
        .rsplit_once(":: ")
        .or_else(|| classifier.strip_prefix("License :: ").map(|last| ("", last)))?;
    Some(last.trim().to_owned())
}

/// Reads literal `name="…"` and `install_requires=[…]`.
fn fill_program(script: &TokenizedScript<'_>, draft: &mut ManifestDraft) {
    let mut calls = (0..script.tokens().len())
        .filter(|at| script.word(*at) == Some("setup") && script.is(at + 1, '('));
    let Some(call) = calls.next_back() else { return };
    let constants = constants(script);
    for part in script.parts(script.inside(call + 1)) {
        let [key, equals, value, ..] = part.as_slice() else { continue };
        if !script.is(*equals, '=') {
            continue;
        }
        let Some(key) = script.word(*key) else { continue };
        let named = script.word(*value).filter(|_| part.len() == 3);
        let value = named.and_then(|name| *constants.get(name)?).unwrap_or(*value);
        let literal = script.text(value).filter(|_| part.len() == 3).map(str::to_owned);
        let manifest = &mut draft.manifest;
        match key {
            "name" => manifest.name = literal,
            "version" => manifest.version = literal,
            "description" => manifest.description = literal,
            "license" => manifest.licence = literal,
            "install_requires" => take_list(script, value, Purpose::Runtime, draft),
            "setup_requires" => take_list(script, value, Purpose::Build, draft),
            "tests_require" => take_list(script, value, Purpose::Development, draft),
            "extras_require" => {
                for extra in script.parts(script.inside(value)) {
                    let [name, colon, list, ..] = extra.as_slice() else { continue };
                    if let Some(name) = script.text(*name).filter(|_| script.is(*colon, ':')) {
                        take_list(script, *list, purpose_of(name, Purpose::Optional), draft);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns positions of the values of top-level assignments; excludes names assigned twice.
fn constants<'t>(script: &TokenizedScript<'t>) -> HashMap<&'t str, Option<usize>> {
    let mut found = HashMap::new();
    let starts_line = |at: usize| at == 0 || script.get(at - 1) == Some(ScriptToken::End);
    for at in (0..script.tokens().len()).filter(|at| starts_line(*at) && script.is(at + 1, '=')) {
        if let Some(name) = script.word(at) {
            found.entry(name).and_modify(|known| *known = None).or_insert(Some(at + 2));
        }
    }
    found
}

fn take_list(script: &TokenizedScript<'_>, at: usize, purpose: Purpose, draft: &mut ManifestDraft) {
    // A list that is extended is incomplete, but each of its strings is a dependency.
    for (name, requirement) in script.list(at).into_iter().flatten().filter_map(parse) {
        draft.want(name, requirement, purpose);
    }
}

/// Reads a file that contains only a version.
pub(super) fn whole_file(
    reading: &mut ManifestReader<'_>,
    folder: &str,
    path: &str,
) -> Option<String> {
    let path = join(folder, path).filter(|path| reading.has(path))?;
    let text = reading.text(&path)?;
    let text = text.trim();
    (!text.is_empty() && !text.contains(char::is_whitespace)).then(|| text.to_owned())
}

/// Reads the version of a dotted name: `package.__version__`.
pub(super) fn attribute(
    reading: &mut ManifestReader<'_>,
    folder: &str,
    name: &str,
) -> Option<String> {
    let (module, name) = name.rsplit_once('.')?;
    let module = module.replace('.', "/");
    let places = ["", "src/"]
        .iter()
        .flat_map(|start| [format!("{start}{module}/__init__.py"), format!("{start}{module}.py")]);
    let places: Vec<_> = places.filter_map(|place| join(folder, &place)).collect();
    let path = places.into_iter().find(|path| reading.has(path))?;
    assigned(&reading.text(&path)?, &[name])
}

/// Reads the version in a file used by a build tool.
pub(super) fn in_source(
    reading: &mut ManifestReader<'_>,
    folder: &str,
    path: &str,
) -> Option<String> {
    let path = join(folder, path).filter(|path| reading.has(path))?;
    assigned(&reading.text(&path)?, &["__version__", "VERSION", "version"])
}

/// Returns the string of a top-level assignment to one of these names.
pub(super) fn assigned(text: &str, names: &[&str]) -> Option<String> {
    text.lines().find_map(|line| {
        let rest = names.iter().find_map(|name| line.strip_prefix(name))?;
        let (before, value) = rest.split_once('=')?;
        let typed = before.trim().is_empty() || before.trim_start().starts_with(':');
        let value = value.trim();
        let quote = value.chars().next().filter(|c| typed && matches!(c, '"' | '\''))?;
        let (inside, after) = value.strip_prefix(quote)?.split_once(quote)?;
        // The following tokens would change the string: `".".join(…)`.
        let whole = after.trim().is_empty() || after.trim_start().starts_with('#');
        (whole && !inside.is_empty() && !is_computed(inside)).then(|| inside.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_carry_on() {
        let text = "[metadata]\nname = a\n# no\nclassifiers =\n    License :: OSI Approved :: MIT License\n    B\n\n[flake8]\nmax: 9\nodd\n";
        let want = [
            ("metadata", "name", "a".to_owned()),
            ("metadata", "classifiers", "\nLicense :: OSI Approved :: MIT License\nB".to_owned()),
            ("flake8", "max", "9".to_owned()),
        ];
        assert_eq!(ini(text), want);
    }

    #[test]
    fn versions_are_read_from_source() {
        let cases = [
            ("\"\"\"doc\"\"\"\n__version__ = \"1.2.3\"\n", Some("1.2.3")),
            ("__version__: str = '2.0'  # x\n", Some("2.0")),
            ("__version__ = get_version()\n", None),
            ("    __version__ = '3'\n", None),
            ("__version_info__ = ('4',)\n", None),
            ("__version__ == '5'\n", None),
            ("__version__ = '.'.join(parts)\n", None),
        ];
        for (text, want) in cases {
            assert_eq!(assigned(text, &["__version__"]).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn licences_are_classified() {
        let cases = [
            ("License :: OSI Approved :: MIT License", Some("MIT License")),
            ("License :: Public Domain", Some("Public Domain")),
            ("Topic :: Internet", None),
        ];
        for (text, want) in cases {
            assert_eq!(classified_licence(text).as_deref(), want, "{text}");
        }
    }
}
