//! Package versions required or locked by a repository's manifests and lock files, by name.

use super::{
    manifests,
    tree::{HaltCheck, ProjectTree},
};
use crate::files::ServedRoots;
use docent_syntax::analysis::dependencies::Ecosystem;
use std::collections::HashMap;

/// Versions by ecosystem and name.
#[derive(Debug, Default)]
pub(crate) struct Versions(HashMap<(VersionFamily, String), String>);

/// Ecosystems that share package names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum VersionFamily {
    Node,
    Python,
    Rust,
    Go,
    Java,
    Native,
    DotNet,
    Ruby,
    Php,
    Dart,
    Beam,
    Swift,
}

impl VersionFamily {
    /// Family by the manifest's ecosystem name.
    fn of_manifest(ecosystem: &str) -> Option<Self> {
        Some(match ecosystem {
            "npm" => Self::Node,
            "Python" => Self::Python,
            "Cargo" => Self::Rust,
            "Go" => Self::Go,
            "Maven" | "Gradle" => Self::Java,
            "CMake" | "Conan" | "vcpkg" => Self::Native,
            ".NET" => Self::DotNet,
            "Ruby" => Self::Ruby,
            "PHP" => Self::Php,
            "Dart" => Self::Dart,
            "Elixir" | "Erlang" => Self::Beam,
            "Swift" => Self::Swift,
            _ => return None,
        })
    }

    /// Family by the import's ecosystem name.
    fn of_import(ecosystem: Ecosystem) -> Option<Self> {
        Some(match ecosystem {
            Ecosystem::Node => Self::Node,
            Ecosystem::Python => Self::Python,
            Ecosystem::Rust => Self::Rust,
            Ecosystem::Go => Self::Go,
            Ecosystem::Java => Self::Java,
            Ecosystem::Native => Self::Native,
            Ecosystem::DotNet => Self::DotNet,
            Ecosystem::Ruby => Self::Ruby,
            Ecosystem::Php => Self::Php,
            Ecosystem::Dart => Self::Dart,
            Ecosystem::Elixir => Self::Beam,
            Ecosystem::Swift => Self::Swift,
            Ecosystem::Lua | Ecosystem::Haskell | Ecosystem::Zig => return None,
        })
    }

    /// Normalizes a name: `Foo_Bar` is `foo-bar`.
    fn plain(self, name: &str) -> String {
        match self {
            Self::Python | Self::Rust => name.to_lowercase().replace(['_', '.'], "-"),
            Self::Java => name.split(':').next().unwrap_or(name).to_owned(),
            _ => name.to_owned(),
        }
    }
}

impl Versions {
    /// Reads the manifests among these files of the first root.
    pub(crate) fn read<'a>(
        roots: &ServedRoots,
        files: impl IntoIterator<Item = (&'a str, u64)>,
        halt: HaltCheck<'_>,
    ) -> Self {
        let mut tree = ProjectTree::new(roots.clone(), roots.top());
        for (path, bytes) in files {
            tree.add_file(path, bytes, None);
        }
        let mut all = HashMap::new();
        for manifest in manifests::read(&tree, halt).manifests {
            let Some(family) = VersionFamily::of_manifest(&manifest.ecosystem) else { continue };
            for dependency in manifest.dependencies {
                let version = dependency.locked.or(dependency.requirement);
                if let Some(version) = version {
                    all.entry((family, family.plain(&dependency.name))).or_insert(version);
                }
            }
        }
        Self(all)
    }

    /// Returns the version of an imported package.
    pub(crate) fn of(&self, ecosystem: Ecosystem, name: &str) -> Option<String> {
        let family = VersionFamily::of_import(ecosystem)?;
        self.0.get(&(family, family.plain(name))).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn locked_versions_come_before_what_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            (
                "Cargo.toml",
                "[package]\nname = \"a\"\nversion = \"1.0.0\"\n[dependencies]\nserde_json = \"1\"\nregex = \"1.2\"\n",
            ),
            (
                "Cargo.lock",
                "version = 4\n[[package]]\nname = \"serde_json\"\nversion = \"1.0.154\"\nsource = \"registry\"\n",
            ),
            ("web/package.json", "{\"dependencies\": {\"@scope/x\": \"^2.0.0\"}}"),
            ("requirements.txt", "PyYAML==6.0.1\n"),
        ];
        for (path, text) in files {
            fs::create_dir_all(folder.path().join(path).parent().unwrap()).unwrap();
            fs::write(folder.path().join(path), text).unwrap();
        }
        let roots = ServedRoots::open(&[folder.path().to_owned()]).unwrap();
        let listed = files.iter().map(|(path, text)| (*path, text.len() as u64));
        let versions = Versions::read(&roots, listed, &|| false);
        let cases = [
            (Ecosystem::Rust, "serde_json", Some("1.0.154")),
            (Ecosystem::Rust, "regex", Some("1.2")),
            (Ecosystem::Node, "@scope/x", Some("^2.0.0")),
            (Ecosystem::Python, "PyYAML", Some("==6.0.1")),
            (Ecosystem::Python, "other", None),
        ];
        for (ecosystem, name, want) in cases {
            assert_eq!(versions.of(ecosystem, name).as_deref(), want, "{name}");
        }
    }
}
