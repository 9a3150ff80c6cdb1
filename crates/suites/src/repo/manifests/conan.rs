//! Conan: `conanfile.txt`, the literal parts of `conanfile.py`, and `conan.lock`.

use super::{
    super::report::Purpose,
    format::PackageFileFormat,
    lock::{LockedVersions, ParsedLockFile},
    reading::{ManifestDraft, ManifestError, ManifestReader},
    script::{CommentStyle, ScriptToken, TokenizedScript},
};
use serde::Deserialize;
use std::collections::HashMap;

/// Sections, attributes and methods that require packages.
const REQUIREMENT_SECTIONS: [(&str, Purpose); 4] = [
    ("requires", Purpose::Runtime),
    ("build_requires", Purpose::Build),
    ("tool_requires", Purpose::Build),
    ("test_requires", Purpose::Development),
];

/// Reads every Conan file.
pub(super) fn read(reading: &mut ManifestReader<'_>) {
    reading.each(PackageFileFormat::ConanText, |text, draft| {
        let mut section = "";
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if let Some(name) = line.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
                section = name;
            } else if let Some((_, purpose)) =
                REQUIREMENT_SECTIONS.iter().find(|(name, _)| *name == section)
            {
                take(line, *purpose, draft);
            }
        }
        Ok(())
    });
    reading.each(PackageFileFormat::ConanProgram, |text, draft| {
        fill(&TokenizedScript::new(text, CommentStyle::Hash), draft);
        Ok(())
    });
}

/// Splits `name/version@user/channel`, or `name/[>=1.0 <2]`.
fn split(reference: &str) -> Option<(&str, &str)> {
    let reference = reference.split(['#', '%']).next()?;
    let (name, version) = reference.trim().split_once('/')?;
    let version = match version.strip_prefix('[') {
        Some(range) => range.split(']').next()?,
        None => version.split('@').next()?,
    };
    let plain = !name.is_empty() && !name.contains(char::is_whitespace) && !version.is_empty();
    plain.then_some((name, version))
}

fn take(reference: &str, purpose: Purpose, draft: &mut ManifestDraft) {
    if let Some((name, version)) = split(reference) {
        draft.want(name, Some(version.to_owned()), purpose);
    }
}

fn fill(script: &TokenizedScript<'_>, draft: &mut ManifestDraft) {
    for at in 0..script.tokens().len() {
        let Some(word) = script.word(at) else { continue };
        let starts_line = at == 0 || script.get(at - 1) == Some(ScriptToken::End);
        let asking = REQUIREMENT_SECTIONS.iter().find(|(name, _)| *name == word);
        if let Some((_, purpose)) = asking {
            // `self.requires("zlib/1.3")`.
            if at > 0 && script.is(at - 1, '.') && script.is(at + 1, '(') {
                take(script.text(at + 2).unwrap_or_default(), *purpose, draft);
            } else if starts_line && script.is(at + 1, '=') {
                take_attribute(script, at + 2, *purpose, draft);
            }
        } else if let Some(text) =
            script.text(at + 2).filter(|_| starts_line && script.is(at + 1, '='))
        {
            let manifest = &mut draft.manifest;
            let field = match word {
                "name" => &mut manifest.name,
                "version" => &mut manifest.version,
                "description" => &mut manifest.description,
                "license" => &mut manifest.licence,
                _ => continue,
            };
            field.get_or_insert_with(|| text.to_owned());
        }
    }
}

/// `requires = "a/1", "b/2"`, or a list of those.
fn take_attribute(
    script: &TokenizedScript<'_>,
    at: usize,
    purpose: Purpose,
    draft: &mut ManifestDraft,
) {
    if let Some(list) = script.list(at) {
        for reference in list {
            take(reference, purpose, draft);
        }
        return;
    }
    let mut at = at;
    while let Some(reference) = script.text(at) {
        take(reference, purpose, draft);
        at += 1;
        while script.is(at, ',')
            || (script.get(at) == Some(ScriptToken::End) && script.is(at - 1, ','))
        {
            at += 1;
        }
    }
}

#[derive(Deserialize)]
struct ConanLockFile {
    #[serde(default)]
    requires: Vec<String>,
    #[serde(default)]
    build_requires: Vec<String>,
    #[serde(default)]
    python_requires: Vec<String>,
    graph_lock: Option<ConanGraph>,
}

#[derive(Deserialize)]
struct ConanGraph {
    #[serde(default)]
    nodes: HashMap<String, GraphNode>,
}

#[derive(Deserialize)]
struct GraphNode {
    #[serde(rename = "ref")]
    reference: Option<String>,
}

/// Parses `conan.lock`: the current list and the old graph format.
pub(super) fn lock(text: &str) -> Result<ParsedLockFile, ManifestError> {
    let file: ConanLockFile = serde_json::from_str(text)?;
    let mut fixed = LockedVersions::default();
    let nodes = file.graph_lock.into_iter().flat_map(|graph| graph.nodes.into_values());
    let nodes = nodes.filter_map(|node| node.reference);
    let lists = file.requires.into_iter().chain(file.build_requires).chain(file.python_requires);
    for reference in lists.chain(nodes) {
        if let Some((name, version)) = split(&reference) {
            fixed.add(name, version);
        }
    }
    Ok(ParsedLockFile::single_version(fixed, str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::{super::tests::check, *};

    #[test]
    fn files_and_lock_file() {
        check(
            &[
                (
                    "conanfile.txt",
                    "[requires]\nzlib/1.3 # small\nfmt/[>=10 <11]@u/c\n\n[tool_requires]\ncmake/3.27\n[generators]\nCMakeDeps/1\n[test_requires]\ngtest/1.14\n",
                ),
                (
                    "conan.lock",
                    r#"{"version":"0.5","requires":["zlib/1.3.1#abc%1","fmt/10.2#x"],"build_requires":["cmake/3.27.1"],"python_requires":[]}"#,
                ),
                (
                    "py/conanfile.py",
                    "from conan import ConanFile\n\nclass Pkg(ConanFile):\n    name = \"pkg\"\n    version = \"0.3\"\n    license = \"MIT\"\n    description = \"Does pkg.\"\n    \
                     requires = \"zlib/1.2\", \"bzip2/1.0\"\n    tool_requires = [\"ninja/1.11\"]\n\n    def requirements(self):\n        self.requires(\"fmt/10.1\")\n        self.requires(f\"{x}/1\")\n        \
                     self.test_requires('gtest/1.14')\n",
                ),
                (
                    "py/conan.lock",
                    r#"{"graph_lock":{"nodes":{"0":{"ref":"pkg/0.3"},"1":{"ref":"zlib/1.2.13#1"},"2":{}}}}"#,
                ),
            ],
            "conanfile.txt | Conan conan | - - | - | - | - | - | conan.lock
             + runtime zlib 1.3 1.3.1
             + runtime fmt >=10 <11 10.2
             + build cmake 3.27 3.27.1
             + development gtest 1.14 -
             py/conanfile.py | Conan conan | pkg 0.3 | Does pkg. | MIT | - | - | py/conan.lock
             + runtime zlib 1.2 1.2.13
             + runtime bzip2 1.0 -
             + runtime fmt 10.1 -
             + build ninja 1.11 -
             + development gtest 1.14 -
             = 5 direct, 1 development, 5 locked
             = fmt of Conan by 2
             = gtest of Conan by 2
             = zlib of Conan by 2
             = conan.lock of Conan with 3
             = py/conan.lock of Conan with 2",
        );
    }

    #[test]
    fn references_are_split() {
        let cases = [
            ("zlib/1.3", Some(("zlib", "1.3"))),
            ("zlib/1.3@user/channel#abc%1.5", Some(("zlib", "1.3"))),
            ("zlib/[>=1.2 <2]", Some(("zlib", ">=1.2 <2"))),
            ("zlib/1.3 # no", Some(("zlib", "1.3"))),
            ("zlib", None),
            ("/1", None),
            ("a b/1", None),
        ];
        for (reference, want) in cases {
            assert_eq!(split(reference), want, "{reference}");
        }
    }
}
