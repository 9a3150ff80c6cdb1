//! Default commands of Python tools: the package manager, pytest, Django, linters by their settings.

use super::DefaultCommands;
use crate::repo::{report::CommandPurpose as P, tree::join};

/// Manifests that represent a folder, in order of preference.
const ORDER: [&str; 4] = ["pyproject.toml", "setup.py", "setup.cfg", "Pipfile"];

pub(super) fn python(found: &mut DefaultCommands<'_>) {
    let file = found.opened.file().to_owned();
    let speaks = ORDER.iter().find(|name| found.has(name)).copied();
    if file.starts_with("requirements") {
        if speaks.is_none() && file == "requirements.txt" {
            found.add(P::Install, "pip install -r requirements.txt");
            tests(found, "");
            django(found, "");
        }
        return;
    }
    if speaks != Some(file.as_str()) {
        return;
    }
    let manager = found.opened.manifest.manager.clone();
    let prefix = install(found, manager.as_deref());
    tests(found, prefix);
    django(found, prefix);
    linters(found, prefix);
    if found.opened.value.pointer("/build-system").is_some() {
        let command = match manager.as_deref() {
            Some("uv") => "uv build",
            Some("poetry") => "poetry build",
            Some("hatch") => "hatch build",
            _ => "python -m build",
        };
        found.add(P::Build, command);
    }
    documents(found, prefix);
}

/// Adds the install command, and returns the prefix for other commands.
fn install(found: &mut DefaultCommands<'_>, manager: Option<&str>) -> &'static str {
    let value = &found.opened.value;
    let is_package = match found.opened.file() {
        "pyproject.toml" => {
            value.pointer("/build-system").is_some() || value.pointer("/project/name").is_some()
        }
        "setup.cfg" => found.opened.text.contains("[metadata]"),
        file => file == "setup.py",
    };
    let (command, prefix) = match manager {
        Some("uv") => ("uv sync", "uv run "),
        Some("poetry") => ("poetry install", "poetry run "),
        Some("pdm") => ("pdm install", "pdm run "),
        Some("pipenv") => ("pipenv install --dev", "pipenv run "),
        _ if is_package => ("pip install -e .", ""),
        _ => return "",
    };
    found.add(P::Install, command);
    prefix
}

fn tests(found: &mut DefaultCommands<'_>, prefix: &str) {
    let folder = found.opened.folder();
    let here = || found.sources.ecosystem("Python").filter(|other| other.folder() == folder);
    let asked = here().any(|other| other.depends_on("pytest"));
    let configured = found.opened.value.pointer("/tool/pytest").is_some()
        || here().any(|other| other.file() == "setup.cfg" && other.text.contains("[tool:pytest]"));
    if asked || configured {
        found.add(P::Test, format!("{prefix}pytest"));
    } else {
        found.add_if_there(&["pytest.ini", "conftest.py"], P::Test, format!("{prefix}pytest"));
    }
}

fn django(found: &mut DefaultCommands<'_>, prefix: &str) {
    let Some(path) = join(found.opened.folder(), "manage.py") else { return };
    if found.sources.tree.file(&path).is_some() {
        let file = ["manage.py"];
        found.add_if_there(&file, P::Run, format!("{prefix}python manage.py runserver"));
        if !found.all.iter().any(|default| default.purpose == P::Test) {
            found.add_if_there(&file, P::Test, format!("{prefix}python manage.py test"));
        }
    }
}

fn linters(found: &mut DefaultCommands<'_>, prefix: &str) {
    let set = |pointer: &str| found.opened.value.pointer(pointer).is_some();
    let (ruff, formats, black) = (set("/tool/ruff"), set("/tool/ruff/format"), set("/tool/black"));
    let checks_files = set("/tool/mypy/files") || set("/tool/mypy/packages");
    if ruff {
        found.add(P::Lint, format!("{prefix}ruff check"));
    } else {
        found.add_if_there(&["ruff.toml", ".ruff.toml"], P::Lint, format!("{prefix}ruff check"));
    }
    if checks_files {
        found.add(P::Lint, format!("{prefix}mypy"));
    }
    if formats {
        found.add(P::Format, format!("{prefix}ruff format"));
    }
    if black {
        found.add(P::Format, format!("{prefix}black ."));
    }
}

fn documents(found: &mut DefaultCommands<'_>, prefix: &str) {
    for folder in ["docs", "doc"] {
        let (settings, makefile) = (format!("{folder}/conf.py"), format!("{folder}/Makefile"));
        if found.has(&settings) && !found.has(&makefile) {
            let command = format!("{prefix}sphinx-build {folder} {folder}/_build/html");
            found.add_if_there(&[settings.as_str()], P::Docs, command);
        }
    }
}
