//! Install commands: for the project's dependencies, or packages by name.

use super::{
    CommandJudgment, CommandRequirement, flagged, is_assignment, plain_words, tools::TOOLS,
};
use crate::repo::report::CommandPurpose;

/// What an install command installs.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::repo::project) enum InstallTarget<'w> {
    /// The project's dependencies, or the project itself.
    Project,
    /// Packages by name.
    Packages(Vec<&'w str>),
}

/// Returns the purpose and ecosystem of a command that installs the project's dependencies.
pub(super) fn judge(words: &[&str]) -> CommandJudgment {
    let is = |names: &[&str]| words.iter().any(|word| names.contains(word));
    let ecosystem = if is(&["pip", "pip3", "python", "python3"]) {
        Some("Python")
    } else if is(&["bundle"]) {
        Some("Ruby")
    } else {
        let known = |word: &&str| TOOLS.iter().find(|tool| tool.names.contains(word));
        words.iter().filter_map(known).find_map(|tool| tool.ecosystem)
    };
    let need = ecosystem.map_or(CommandRequirement::Nothing, CommandRequirement::Ecosystem);
    CommandJudgment { purpose: CommandPurpose::Install, need }
}

/// Returns what a command installs; `None` if it is not an install command.
pub(in crate::repo::project) fn installed<'w>(words: &'w [&'w str]) -> Option<InstallTarget<'w>> {
    let mut words = words;
    while let [first, rest @ ..] = words {
        if !(is_assignment(first) || *first == "sudo") {
            break;
        }
        words = rest;
    }
    let words = match words {
        ["python" | "python3" | "py" | "uv", "-m", rest @ ..] => rest,
        ["uv", "pip", ..] => words.get(1..)?,
        words => words,
    };
    let (tool, rest) = words.split_first()?;
    let verb = plain_words(rest).next();
    let packages = || -> Vec<&str> { plain_words(rest).skip(1).collect() };
    let project_or_packages = || match packages() {
        names if names.is_empty() => InstallTarget::Project,
        names => InstallTarget::Packages(names),
    };
    Some(match (*tool, verb) {
        ("yarn", None) => InstallTarget::Project,
        ("npm" | "pnpm" | "bun" | "yarn", Some("install" | "i" | "ci" | "add" | "global")) => {
            if flagged(rest, &["-g", "--global"]) {
                return Some(InstallTarget::Packages(packages()));
            }
            project_or_packages()
        }
        ("pip" | "pip3", Some("install")) => installed_by_pip(rest),
        ("cargo", Some("install")) if flagged(rest, &["--path"]) => InstallTarget::Project,
        ("go", Some("install")) => match packages() {
            names if names.iter().all(|name| name.starts_with('.')) => InstallTarget::Project,
            names => InstallTarget::Packages(names),
        },
        (
            "cargo" | "gem" | "brew" | "apt" | "apt-get" | "dnf" | "pacman" | "pipx" | "conda"
            | "mamba" | "choco" | "scoop" | "winget",
            Some("install" | "add"),
        )
        | ("go", Some("get"))
        | ("composer", Some("require" | "global"))
        | ("poetry" | "uv" | "pdm" | "pixi", Some("add"))
        | ("uv" | "dotnet", Some("tool")) => InstallTarget::Packages(packages()),
        (
            "bundle" | "poetry" | "pdm" | "pipenv" | "composer" | "pixi" | "conan",
            Some("install"),
        ) => project_or_packages(),
        _ => return None,
    })
}

fn installed_by_pip<'w>(rest: &'w [&'w str]) -> InstallTarget<'w> {
    let about_project = |word: &&str| {
        let word = word.trim_matches(['"', '\'']);
        matches!(word, "-r" | "--requirement" | "-e" | "--editable" | "--group")
            || word == "."
            || word.starts_with("./")
            || word.starts_with(".[")
            || word.starts_with("-r")
    };
    if rest.iter().any(about_project) {
        return InstallTarget::Project;
    }
    InstallTarget::Packages(plain_words(rest).skip(1).collect())
}
