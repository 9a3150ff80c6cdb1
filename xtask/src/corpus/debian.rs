//! Downloads Debian packages without installing them, using this machine's apt configuration.

use super::{CorpusPackage, PackageUnavailable, ask, ending};
use anyhow::{Context, Result};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const SETTINGS: &str = "/etc/apt";

/// Downloads a binary package.
pub(super) fn binary(package: &CorpusPackage, scratch: &Path) -> Result<PathBuf> {
    let wanted = format!("{}={}", package.name, package.version);
    let download = || {
        let mut apt = apt_get();
        apt.args(["download", &wanted]).current_dir(scratch);
        ask_apt(&mut apt)
    };
    if download().is_err() {
        // The machine's package lists may be missing or out of date.
        ask_apt(apt_get().arg("update"))?;
        download()?;
    }
    find(scratch, |path| ending(path) == "deb")
}

/// Downloads the upstream archive of a source package, without Debian's changes.
pub(super) fn source(package: &CorpusPackage, scratch: &Path) -> Result<PathBuf> {
    // Most machines list only binary packages, and their settings must not be changed.
    let parts = scratch.join("parts");
    fs::create_dir(&parts)?;
    write_source_lists(Path::new(SETTINGS), &parts)?;
    let (lists, cache) = (scratch.join("lists"), scratch.join("cache"));
    fs::create_dir_all(lists.join("partial"))?;
    fs::create_dir_all(cache.join("archives/partial"))?;
    let apt = || {
        let mut apt = apt_get();
        apt.args(["-o", "Dir::Etc::sourcelist=/dev/null"]);
        apt.arg("-o").arg(setting("Dir::Etc::sourceparts", &parts));
        apt.arg("-o").arg(setting("Dir::State::lists", &lists));
        apt.arg("-o").arg(setting("Dir::Cache", &cache));
        apt
    };
    ask_apt(apt().arg("update"))?;
    let wanted = format!("{}={}", package.name, package.version);
    ask_apt(apt().args(["source", "--download-only", &wanted]).current_dir(scratch))?;
    // There may also be a signature of the upstream archive.
    let is_original = |path: &Path| path.to_string_lossy().contains(".orig.tar.");
    find(scratch, |path| is_original(path) && ending(path) != "asc")
}

fn apt_get() -> Command {
    let mut apt = Command::new("apt-get");
    // The user that apt downloads as by default can't write to this folder.
    apt.args(["--quiet", "-o", "APT::Sandbox::User=root"]);
    apt
}

/// Runs apt; without apt, Debian is unavailable like an unreachable registry.
fn ask_apt(apt: &mut Command) -> Result<()> {
    ask(apt).map_err(|problem| match problem.downcast::<PackageUnavailable>() {
        Ok(away) => away.into(),
        Err(problem) => PackageUnavailable(format!("{problem:#}")).into(),
    })
}

fn setting(name: &str, path: &Path) -> OsString {
    let mut setting = OsString::from(format!("{name}="));
    setting.push(path);
    setting
}

fn find(folder: &Path, is_it: impl Fn(&Path) -> bool) -> Result<PathBuf> {
    let mut files = fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path());
    files.find(|path| is_it(path)).context("apt left no archive behind")
}

/// Copies this machine's package sources, with source packages instead of binaries.
fn write_source_lists(settings: &Path, parts: &Path) -> Result<()> {
    let mut files = vec![settings.join("sources.list")];
    let more = fs::read_dir(settings.join("sources.list.d")).into_iter().flatten();
    files.extend(more.filter_map(Result::ok).map(|entry| entry.path()));
    for file in files {
        let (Some(name), Ok(text)) = (file.file_name(), fs::read_to_string(&file)) else {
            continue;
        };
        let turned = match ending(&file) {
            "list" => source_lines(&text),
            "sources" => source_stanzas(&text),
            _ => continue,
        };
        fs::write(parts.join(name), turned)?;
    }
    Ok(())
}

/// Converts lines of the form `deb [options] address suite part`.
fn source_lines(text: &str) -> String {
    let turn = |line: &str| {
        let rest = line.trim_start().strip_prefix("deb")?;
        rest.starts_with([' ', '\t']).then(|| format!("deb-src{rest}\n"))
    };
    text.lines().filter_map(turn).collect()
}

/// Converts stanzas of the form `Types: deb` with other fields below.
fn source_stanzas(text: &str) -> String {
    let turn = |line: &str| {
        let is_type = line.to_ascii_lowercase().starts_with("types:");
        format!("{}\n", if is_type { "Types: deb-src" } else { line })
    };
    text.lines().map(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_entries_become_source_entries() {
        let folder = tempfile::tempdir().unwrap();
        let (settings, parts) = (folder.path().join("apt"), folder.path().join("parts"));
        fs::create_dir_all(settings.join("sources.list.d")).unwrap();
        fs::create_dir(&parts).unwrap();
        let lines = "# deb x y\ndeb [arch=amd64] mirror:/debian stable main\ndeb-src mirror:/debian stable main\n";
        fs::write(settings.join("sources.list"), lines).unwrap();
        let stanzas = "Types: deb\nURIs: mirror:/debian\nSuites: stable\n\nTypes: deb deb-src\n";
        fs::write(settings.join("sources.list.d/debian.sources"), stanzas).unwrap();
        fs::write(settings.join("sources.list.d/old.sources.save"), stanzas).unwrap();
        write_source_lists(&settings, &parts).unwrap();
        let read = |name: &str| fs::read_to_string(parts.join(name)).unwrap();
        assert_eq!(read("sources.list"), "deb-src [arch=amd64] mirror:/debian stable main\n");
        let want = "Types: deb-src\nURIs: mirror:/debian\nSuites: stable\n\nTypes: deb-src\n";
        assert_eq!(read("debian.sources"), want);
        assert!(!parts.join("old.sources.save").exists());
    }

    #[test]
    fn without_apt_debian_is_unavailable() {
        let missing = ask_apt(&mut Command::new("/nowhere/apt-get")).unwrap_err();
        assert!(missing.is::<PackageUnavailable>(), "{missing:#}");
    }
}
