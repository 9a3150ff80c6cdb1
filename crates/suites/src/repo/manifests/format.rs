//! Formats of manifests, lock files and related files, by name only. Must not read any of them.

use super::super::tree::{folder_of, name_of};

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PackageFileFormat {
    CargoManifest,
    CargoLock,
    PackageJson,
    PackageLock,
    PnpmLock,
    YarnLock,
    BunLock,
    /// Binary: it only identifies the manager.
    BunBinaryLock,
    PnpmWorkspace,
    Lerna,
    Pyproject,
    SetupConfiguration,
    SetupProgram,
    Pipfile,
    Requirements,
    UvLock,
    PoetryLock,
    PdmLock,
    PythonLock,
    PipfileLock,
    GoModule,
    GoWorkspace,
    GoSums,
    Pom,
    GradleBuild,
    GradleSettings,
    GradleCatalog,
    GradleProperties,
    GradleLock,
    Gemfile,
    Gemspec,
    GemfileLock,
    Composer,
    ComposerLock,
    DotnetProject,
    DotnetProperties,
    DotnetPackages,
    DotnetSolution,
    DotnetLock,
    Mix,
    MixLock,
    Pubspec,
    PubspecLock,
    SwiftPackage,
    SwiftLock,
    CMake,
    ConanText,
    ConanProgram,
    ConanLock,
    Vcpkg,
    /// Listed, not read.
    Deno,
    /// Listed, not read.
    Haskell,
}

use PackageFileFormat as F;

impl PackageFileFormat {
    /// Returns the format by file name.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "Cargo.toml" => F::CargoManifest,
            "Cargo.lock" => F::CargoLock,
            "package.json" => F::PackageJson,
            "package-lock.json" | "npm-shrinkwrap.json" => F::PackageLock,
            "pnpm-lock.yaml" => F::PnpmLock,
            "yarn.lock" => F::YarnLock,
            "bun.lock" => F::BunLock,
            "bun.lockb" => F::BunBinaryLock,
            "pnpm-workspace.yaml" => F::PnpmWorkspace,
            "lerna.json" => F::Lerna,
            "pyproject.toml" => F::Pyproject,
            "setup.cfg" => F::SetupConfiguration,
            "setup.py" => F::SetupProgram,
            "Pipfile" => F::Pipfile,
            "uv.lock" => F::UvLock,
            "poetry.lock" => F::PoetryLock,
            "pdm.lock" => F::PdmLock,
            "pylock.toml" => F::PythonLock,
            "Pipfile.lock" => F::PipfileLock,
            "go.mod" => F::GoModule,
            "go.work" => F::GoWorkspace,
            "go.sum" | "go.work.sum" => F::GoSums,
            "pom.xml" => F::Pom,
            "build.gradle" | "build.gradle.kts" => F::GradleBuild,
            "settings.gradle" | "settings.gradle.kts" => F::GradleSettings,
            "gradle.properties" => F::GradleProperties,
            "gradle.lockfile" => F::GradleLock,
            "Gemfile" => F::Gemfile,
            "Gemfile.lock" => F::GemfileLock,
            "composer.json" => F::Composer,
            "composer.lock" => F::ComposerLock,
            "Directory.Packages.props" | "Directory.Build.props" => F::DotnetProperties,
            "packages.config" => F::DotnetPackages,
            "packages.lock.json" => F::DotnetLock,
            "mix.exs" => F::Mix,
            "mix.lock" => F::MixLock,
            "pubspec.yaml" => F::Pubspec,
            "pubspec.lock" => F::PubspecLock,
            "Package.swift" => F::SwiftPackage,
            "Package.resolved" => F::SwiftLock,
            "CMakeLists.txt" => F::CMake,
            "conanfile.txt" => F::ConanText,
            "conanfile.py" => F::ConanProgram,
            "conan.lock" => F::ConanLock,
            "vcpkg.json" => F::Vcpkg,
            "deno.json" | "deno.jsonc" => F::Deno,
            "stack.yaml" => F::Haskell,
            _ => return Self::by_ending(name),
        })
    }

    fn by_ending(name: &str) -> Option<Self> {
        let (stem, ending) = name.rsplit_once('.')?;
        let requirements = || stem.starts_with("requirements") || stem.ends_with("requirements");
        Some(match ending {
            "txt" | "in" if requirements() && !stem.contains(' ') => F::Requirements,
            "toml" if stem.ends_with(".versions") => F::GradleCatalog,
            "toml" if stem.starts_with("pylock.") => F::PythonLock,
            "gemspec" => F::Gemspec,
            "cabal" if !stem.is_empty() => F::Haskell,
            "sln" | "slnx" => F::DotnetSolution,
            _ if ["csproj", "fsproj", "vbproj"].contains(&&*ending.to_ascii_lowercase()) => {
                F::DotnetProject
            }
            _ => return None,
        })
    }

    /// Returns the format by path: any file in a `requirements` folder lists requirements.
    pub(super) fn by_path(path: &str) -> Option<Self> {
        let name = name_of(path);
        let found = Self::by_name(name);
        let listed = || {
            name_of(folder_of(path)) == "requirements"
                && name.rsplit_once('.').is_some_and(|(_, ending)| matches!(ending, "txt" | "in"))
        };
        found.or_else(|| listed().then_some(F::Requirements))
    }

    /// The package ecosystem.
    pub(super) fn ecosystem(self) -> &'static str {
        match self {
            F::CargoManifest | F::CargoLock => "Cargo",
            F::PackageJson
            | F::PackageLock
            | F::PnpmLock
            | F::YarnLock
            | F::BunLock
            | F::BunBinaryLock
            | F::PnpmWorkspace
            | F::Lerna => "npm",
            F::Pyproject
            | F::SetupConfiguration
            | F::SetupProgram
            | F::Pipfile
            | F::Requirements
            | F::UvLock
            | F::PoetryLock
            | F::PdmLock
            | F::PythonLock
            | F::PipfileLock => "Python",
            F::GoModule | F::GoWorkspace | F::GoSums => "Go",
            F::Pom => "Maven",
            F::GradleBuild
            | F::GradleSettings
            | F::GradleCatalog
            | F::GradleProperties
            | F::GradleLock => "Gradle",
            F::Gemfile | F::Gemspec | F::GemfileLock => "Ruby",
            F::Composer | F::ComposerLock => "PHP",
            F::DotnetProject
            | F::DotnetProperties
            | F::DotnetPackages
            | F::DotnetSolution
            | F::DotnetLock => ".NET",
            F::Mix | F::MixLock => "Elixir",
            F::Pubspec | F::PubspecLock => "Dart",
            F::SwiftPackage | F::SwiftLock => "Swift",
            F::CMake => "CMake",
            F::ConanText | F::ConanProgram | F::ConanLock => "Conan",
            F::Vcpkg => "vcpkg",
            F::Deno => "Deno",
            F::Haskell => "Haskell",
        }
    }

    /// Whether it locks versions.
    pub(super) fn is_lock(self) -> bool {
        matches!(
            self,
            F::CargoLock
                | F::PackageLock
                | F::PnpmLock
                | F::YarnLock
                | F::BunLock
                | F::BunBinaryLock
                | F::UvLock
                | F::PoetryLock
                | F::PdmLock
                | F::PythonLock
                | F::PipfileLock
                | F::GoSums
                | F::GradleLock
                | F::GemfileLock
                | F::ComposerLock
                | F::DotnetLock
                | F::MixLock
                | F::PubspecLock
                | F::SwiftLock
                | F::ConanLock
        )
    }

    /// Whether it is a manifest: neither a lock file nor a related file.
    pub(super) fn is_manifest(self) -> bool {
        let aid = matches!(self, F::PnpmWorkspace | F::Lerna | F::GradleProperties);
        !self.is_lock() && !aid
    }

    /// Names of the lock files that may lock its versions; of two in one folder the first wins.
    pub(super) fn locks(self) -> &'static [&'static str] {
        match self {
            F::CargoManifest => &["Cargo.lock"],
            F::PackageJson => &[
                "pnpm-lock.yaml",
                "yarn.lock",
                "bun.lock",
                "npm-shrinkwrap.json",
                "package-lock.json",
                "bun.lockb",
            ],
            F::Pyproject => &["uv.lock", "poetry.lock", "pdm.lock", "pylock.toml"],
            F::Pipfile => &["Pipfile.lock"],
            F::GoModule => &["go.sum"],
            F::GoWorkspace => &["go.work.sum"],
            F::GradleBuild => &["gradle.lockfile"],
            F::Gemfile | F::Gemspec => &["Gemfile.lock"],
            F::Composer => &["composer.lock"],
            F::DotnetProject => &["packages.lock.json"],
            F::Mix => &["mix.lock"],
            F::Pubspec => &["pubspec.lock"],
            F::SwiftPackage => &["Package.resolved"],
            F::ConanText | F::ConanProgram => &["conan.lock"],
            _ => &[],
        }
    }

    /// Whether a lock file at the workspace root locks the versions of all members.
    pub(super) fn shares_lock(self) -> bool {
        matches!(self, F::CargoManifest | F::PackageJson | F::Pyproject | F::Mix | F::Pubspec)
    }

    /// Returns the package manager that uses it, if there is only one.
    pub(super) fn manager(self) -> Option<&'static str> {
        Some(match self {
            F::CargoManifest | F::CargoLock => "cargo",
            F::PackageLock => "npm",
            F::PnpmLock | F::PnpmWorkspace => "pnpm",
            F::YarnLock => "yarn",
            F::BunLock | F::BunBinaryLock => "bun",
            F::UvLock => "uv",
            F::PoetryLock => "poetry",
            F::PdmLock => "pdm",
            F::Pipfile | F::PipfileLock => "pipenv",
            F::Requirements => "pip",
            F::SetupConfiguration | F::SetupProgram => "setuptools",
            F::GoModule | F::GoWorkspace => "go",
            F::Pom => "maven",
            F::GradleBuild | F::GradleSettings | F::GradleCatalog => "gradle",
            F::Gemfile | F::Gemspec => "bundler",
            F::Composer => "composer",
            F::DotnetProject | F::DotnetProperties | F::DotnetPackages | F::DotnetSolution => {
                "nuget"
            }
            F::Mix => "mix",
            F::Pubspec => "pub",
            F::SwiftPackage => "swiftpm",
            F::CMake => "cmake",
            F::ConanText | F::ConanProgram => "conan",
            F::Vcpkg => "vcpkg",
            F::Deno => "deno",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_identify_formats() {
        let cases = [
            ("a/Cargo.toml", Some(F::CargoManifest)),
            ("dev-requirements.txt", Some(F::Requirements)),
            ("requirements_test.in", Some(F::Requirements)),
            ("requirements/base.txt", Some(F::Requirements)),
            ("a/requirements/notes.md", None),
            ("Software requirements.txt", None),
            ("gradle/libs.versions.toml", Some(F::GradleCatalog)),
            ("versions.toml", None),
            ("src/App.CSPROJ", Some(F::DotnetProject)),
            ("All.slnx", Some(F::DotnetSolution)),
            ("pylock.dev.toml", Some(F::PythonLock)),
            ("a.gemspec", Some(F::Gemspec)),
            (".cabal", None),
            ("cargo.lock", None),
        ];
        for (path, want) in cases {
            assert_eq!(PackageFileFormat::by_path(path), want, "{path}");
        }
    }

    #[test]
    fn lock_files_lie_beside_manifests_of_their_ecosystem() {
        let manifests = [
            F::CargoManifest,
            F::PackageJson,
            F::Pyproject,
            F::Pipfile,
            F::GoModule,
            F::GoWorkspace,
            F::GradleBuild,
            F::Gemfile,
            F::Composer,
            F::DotnetProject,
            F::Mix,
            F::Pubspec,
            F::SwiftPackage,
            F::ConanText,
        ];
        for manifest in manifests {
            assert!(manifest.is_manifest(), "{manifest:?}");
            assert!(!manifest.locks().is_empty(), "{manifest:?}");
            for name in manifest.locks() {
                let lock = PackageFileFormat::by_name(name).unwrap();
                assert!(lock.is_lock() && !lock.is_manifest(), "{name}");
                assert_eq!(lock.ecosystem(), manifest.ecosystem(), "{name}");
            }
        }
    }
}
