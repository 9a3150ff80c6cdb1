//! Real source trees: registry packages, pinned by version and checksum and unpacked under the target directory.
//! Packages are requested by name; the user's configuration selects the registry.

mod debian;
mod search;

pub(crate) use search::{search_package, search_set, search_sets};

use crate::{
    install,
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};
use std::{
    fmt::{self, Write as _},
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

const DOWNLOAD_LIMIT: Duration = Duration::from_mins(20);
const UNPACK_LIMIT: Duration = Duration::from_mins(5);
const QUESTION_LIMIT: Duration = Duration::from_secs(30);
const REASON_LENGTH: usize = 200;

/// The registry of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Registry {
    /// Crates, fetched with cargo.
    Cargo,
    /// npm packages, fetched with npm.
    Npm,
    /// Python source distributions, fetched with pip.
    Python,
    /// Python wheels, fetched with pip.
    Wheel,
    /// Debian binary packages, fetched with apt.
    Debian,
    /// Upstream archives of Debian source packages, fetched with apt.
    #[serde(rename = "debian-source")]
    DebianSource,
}

impl Registry {
    const fn name(self) -> &'static str {
        match self {
            Self::Cargo => "cargo",
            Self::Npm => "npm",
            Self::Python => "python",
            Self::Wheel => "wheel",
            Self::Debian => "debian",
            Self::DebianSource => "debian-source",
        }
    }
}

/// One version of one package.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CorpusPackage {
    pub(crate) registry: Registry,
    pub(crate) name: String,
    pub(crate) version: String,
    /// SHA-256 of the archive as the registry serves it.
    pub(crate) sha256: String,
}

impl fmt::Display for CorpusPackage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.name, self.version, self.registry.name())
    }
}

/// The result of fetching a package.
#[derive(Debug)]
pub(crate) enum FetchOutcome {
    /// The folder with its files.
    Tree(PathBuf),
    /// The package is unavailable; the tool's error message.
    Unavailable(String),
}

/// The tool that fetches packages failed: no network, no such version, no response.
#[derive(Debug)]
struct PackageUnavailable(String);

impl fmt::Display for PackageUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PackageUnavailable {}

/// The folder of all unpacked packages.
pub(crate) fn folder(workspace: &XtaskWorkspace) -> PathBuf {
    workspace.tools().join("corpus")
}

/// Makes a tree a git repository without commits, so that the ignore rules and history of the repository around the
/// target directory don't apply; also, tokei reads ignore files only in repositories.
pub(crate) fn init_repository(tree: &Path) -> Result<()> {
    let mut init = Command::new("git");
    // Without a template, `.git` has no files whose lines could be counted.
    init.args(["init", "--quiet", "--template="]).arg(tree);
    process::run(&mut init, QUESTION_LIMIT, OutputMode::Kept)?.or_fail("git init").map(drop)
}

/// Fetches a package once and keeps its files. A wrong checksum is an error, an unavailable registry is not.
pub(crate) fn fetch(workspace: &XtaskWorkspace, package: &CorpusPackage) -> Result<FetchOutcome> {
    let name = package.name.replace(['@', '/'], "");
    let place =
        folder(workspace).join(package.registry.name()).join(format!("{name}-{}", package.version));
    // The stamp is next to the tree, not in it.
    let tree = place.join(&name);
    let stamp = format!("{} {}\n", package, package.sha256);
    let fetched = install::once(workspace, &place, &stamp, || {
        let scratch = tempfile::tempdir().context("making a folder for the download")?;
        let archive = download(workspace, package, scratch.path())?;
        unpack(&archive, &tree)?;
        init_repository(&tree)
    });
    match fetched {
        Ok(()) => Ok(FetchOutcome::Tree(tree)),
        Err(problem) => match problem.downcast::<PackageUnavailable>() {
            Ok(away) => Ok(FetchOutcome::Unavailable(away.0)),
            Err(problem) => Err(problem).with_context(|| format!("fetching {package}")),
        },
    }
}

/// Fetches a required package; an unavailable one is an error.
pub(crate) fn tree(workspace: &XtaskWorkspace, package: &CorpusPackage) -> Result<PathBuf> {
    match fetch(workspace, package)? {
        FetchOutcome::Tree(tree) => Ok(tree),
        FetchOutcome::Unavailable(reason) => anyhow::bail!("{package} can't be fetched ({reason})"),
    }
}

/// Downloads a package's archive and verifies its checksum.
fn download(
    workspace: &XtaskWorkspace,
    package: &CorpusPackage,
    scratch: &Path,
) -> Result<PathBuf> {
    let archive = match package.registry {
        Registry::Cargo => download_crate(workspace, package, scratch)?,
        Registry::Npm => download_npm(package, scratch)?,
        Registry::Python | Registry::Wheel => download_python(package, scratch)?,
        Registry::Debian => debian::binary(package, scratch)?,
        Registry::DebianSource => debian::source(package, scratch)?,
    };
    let found = checksum(&archive)?;
    ensure!(found == package.sha256, "{package} has SHA-256 {found}, expected {}", package.sha256);
    Ok(archive)
}

/// Downloads a crate with `cargo info`, which leaves the archive in cargo's cache.
fn download_crate(
    workspace: &XtaskWorkspace,
    package: &CorpusPackage,
    scratch: &Path,
) -> Result<PathBuf> {
    let CorpusPackage { name, version, .. } = package;
    let cache = cargo_home()?.join("registry/cache");
    let file = format!("{name}-{version}.crate");
    if let Some(archive) = below_folders_of(&cache, &file) {
        return Ok(archive);
    }
    let mut cargo = workspace.cargo(["info", "--quiet"]);
    // Inside a workspace, cargo would use the version locked there.
    cargo.arg(format!("{name}@{version}")).current_dir(scratch);
    ask(&mut cargo)?;
    below_folders_of(&cache, &file)
        .with_context(|| format!("cargo has not put {file} into {}", cache.display()))
}

fn download_npm(package: &CorpusPackage, scratch: &Path) -> Result<PathBuf> {
    let mut npm = Command::new("npm");
    // By default npm waits more than a minute for a registry that doesn't respond.
    npm.args(["pack", "--loglevel=error", "--ignore-scripts", "--fetch-retries=1"]);
    npm.arg(format!("{}@{}", package.name, package.version)).current_dir(scratch);
    ask(&mut npm)?;
    archive_in(scratch)
}

/// Downloads a Python package. pip can't only download: it runs a source distribution's code to get its metadata. A
/// checksum in the requirements makes pip verify the archive first.
fn download_python(package: &CorpusPackage, scratch: &Path) -> Result<PathBuf> {
    let CorpusPackage { name, version, sha256, .. } = package;
    let requirements = scratch.join("requirements.txt");
    fs::write(&requirements, format!("{name}=={version} --hash=sha256:{sha256}\n"))?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--disable-pip-version-check", "--quiet", "--no-deps"]);
    // `:all:` would build the build tools from source as well.
    let form = if package.registry == Registry::Wheel { "--only-binary" } else { "--no-binary" };
    pip.args([form, name, "--require-hashes", "--requirement"]).arg(&requirements);
    pip.arg("--dest").arg(scratch).current_dir(scratch);
    ask(&mut pip)?;
    archive_in(scratch)
}

fn ask(command: &mut Command) -> Result<()> {
    let done = process::run(command, DOWNLOAD_LIMIT, OutputMode::Kept)?;
    if done.success {
        return Ok(());
    }
    let wrong = done.text.to_lowercase().contains("do not match the hashes");
    ensure!(!wrong, "{}", process::tail(&done.text, 6));
    Err(PackageUnavailable(format!("{}: {}", done.ending, reason(&done.text))).into())
}

/// Returns the line that describes the failure: the first one with an error in it, or else the last one.
pub(crate) fn reason(text: &str) -> String {
    let error = text.lines().find(|line| line.to_lowercase().contains("error"));
    let line = error.or_else(|| text.lines().last()).unwrap_or("no output");
    line.chars().take(REASON_LENGTH).collect()
}

fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME").filter(|value| !value.is_empty()) {
        return Ok(home.into());
    }
    let home = std::env::var_os("HOME").context("neither CARGO_HOME nor HOME is set")?;
    Ok(PathBuf::from(home).join(".cargo"))
}

/// Finds a file by name in the subfolders: cargo's cache has one per registry.
fn below_folders_of(folder: &Path, file: &str) -> Option<PathBuf> {
    let folders = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    folders.map(|entry| entry.path().join(file)).find(|path| path.is_file())
}

fn archive_in(folder: &Path) -> Result<PathBuf> {
    let files = fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
    let mut archives = files.filter(|path| matches!(ending(path), "tgz" | "gz" | "whl"));
    archives.next().context("the download left no .tar.gz, .tgz or .whl behind")
}

fn checksum(archive: &Path) -> Result<String> {
    let mut file = File::open(archive).with_context(|| format!("reading {}", archive.display()))?;
    let mut hasher = Sha256::new();
    // Read in pieces: the kernel adds this process's peak memory to that of the programs it starts and measures.
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            break;
        }
        hasher.update(piece.get(..read).unwrap_or_default());
    }
    let mut text = String::new();
    for byte in hasher.finalize() {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

fn ending(path: &Path) -> &str {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default()
}

/// Unpacks an archive, without its top folder if it has only one.
fn unpack(archive: &Path, tree: &Path) -> Result<()> {
    fs::create_dir_all(tree)?;
    let (program, before, between): (_, &[&str], &[&str]) = match ending(archive) {
        "deb" => ("dpkg-deb", &["--extract"], &[]),
        "whl" => ("python3", &["-m", "zipfile", "--extract"], &[]),
        _ => ("tar", &["--strip-components=1", "--no-same-owner", "-xf"], &["-C"]),
    };
    let mut unpack = Command::new(program);
    unpack.args(before).arg(archive).args(between).arg(tree);
    process::run(&mut unpack, UNPACK_LIMIT, OutputMode::Kept)?.or_fail(program).map(drop)
}

/// Reads a file of expectations.
pub(crate) fn expectations<T: DeserializeOwned>(
    workspace: &XtaskWorkspace,
    path: &str,
) -> Result<T> {
    let text = fs::read_to_string(workspace.root.join(path));
    let text = text.with_context(|| format!("reading {path}"))?;
    toml::from_str(&text).with_context(|| format!("reading {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(folder: &Path) -> PathBuf {
        let inner = folder.join("thing-1.0/src");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("a.py"), "a = 1\n").unwrap();
        fs::write(folder.join("thing-1.0/.hidden"), "x").unwrap();
        let path = folder.join("thing-1.0.tar.gz");
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(folder).arg("-czf").arg(&path).arg("thing-1.0");
        assert!(tar.status().unwrap().success());
        path
    }

    #[test]
    fn archives_are_unpacked_without_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        unpack(&archive(folder.path()), &tree).unwrap();
        assert_eq!(fs::read_to_string(tree.join("src/a.py")).unwrap(), "a = 1\n");
        assert!(tree.join(".hidden").is_file());
        assert_eq!(archive_in(folder.path()).unwrap(), folder.path().join("thing-1.0.tar.gz"));
        assert!(archive_in(&tree).is_err());
    }

    #[test]
    fn wheels_are_unpacked_whole() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("thing")).unwrap();
        fs::write(folder.path().join("thing/a.py"), "a = 1\n").unwrap();
        let wheel = folder.path().join("thing-1.0-py3-none-any.whl");
        let mut zip = Command::new("python3");
        zip.args(["-m", "zipfile", "--create"]).arg(&wheel).arg("thing").current_dir(&folder);
        assert!(zip.status().unwrap().success());
        let tree = folder.path().join("tree");
        unpack(&wheel, &tree).unwrap();
        assert_eq!(fs::read_to_string(tree.join("thing/a.py")).unwrap(), "a = 1\n");
        assert_eq!(archive_in(folder.path()).unwrap(), wheel);
    }

    #[test]
    fn checksums_are_hexadecimal() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(checksum(&file).unwrap(), expected);
    }

    #[test]
    fn a_failed_download_is_unavailable_and_a_wrong_checksum_is_an_error() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            ask(&mut command)
        };
        shell("true").unwrap();
        let away = shell("echo no route to host; exit 1").unwrap_err();
        let away = away.downcast::<PackageUnavailable>().unwrap();
        assert_eq!(away.to_string(), "exit status: 1: no route to host");
        let away = shell("echo WARN; echo npm error code X; echo npm error more; exit 1");
        assert_eq!(away.unwrap_err().to_string(), "exit status: 1: npm error code X");
        assert!(shell("exit 1").unwrap_err().to_string().ends_with("no output"));
        let wrong = "echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES'; exit 1";
        assert!(!shell(wrong).unwrap_err().is::<PackageUnavailable>());
    }

    #[test]
    fn crates_are_found_in_the_cache_of_any_registry() {
        let folder = tempfile::tempdir().unwrap();
        for (registry, file) in [("one", "a-1.0.0.crate"), ("two", "b-1.0.0.crate")] {
            fs::create_dir(folder.path().join(registry)).unwrap();
            fs::write(folder.path().join(registry).join(file), "").unwrap();
        }
        let found = |file: &str| below_folders_of(folder.path(), file);
        assert_eq!(found("b-1.0.0.crate"), Some(folder.path().join("two/b-1.0.0.crate")));
        assert_eq!(found("c-1.0.0.crate"), None);
        assert_eq!(below_folders_of(&folder.path().join("none"), "a-1.0.0.crate"), None);
    }
}
