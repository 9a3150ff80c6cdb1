//! Python task runners: tox, nox, invoke, and pyproject.toml tasks for poe, PDM, Hatch and others.

use super::{DeclaredTarget, TaskTarget, body};
use crate::repo::project::sources::{OpenedManifest, ProjectSources, line_of, line_starting};
use serde_json::Value;

/// Keys of a task's commands.
const KEYS: [&str; 6] = ["cmd", "shell", "composite", "sequence", "script", "chain"];

/// Task tables in pyproject.toml, and the command prefix.
const TABLES: [(&str, &str); 6] = [
    ("/tool/poe/tasks", "poe"),
    ("/tool/pdm/scripts", "pdm run"),
    ("/tool/taskipy/tasks", "task"),
    ("/tool/rye/scripts", "rye run"),
    ("/tool/pixi/tasks", "pixi run"),
    ("/tool/hatch/envs/default/scripts", "hatch run"),
];

/// Reads the tasks of a pyproject.toml.
pub(super) fn manifest(opened: &OpenedManifest<'_>) -> Vec<TaskTarget> {
    let path = &opened.manifest.path;
    let mut offers = Vec::new();
    for (pointer, runner) in TABLES {
        let Some(table) = opened.value.pointer(pointer) else { continue };
        let section = format!("[{}]", pointer.trim_start_matches('/').replace('/', "."));
        offers.extend(tasks(path, &opened.text, (table, &section), runner));
    }
    for (name, environment) in entries(opened.value.pointer("/tool/hatch/envs")) {
        let Some(table) = environment.get("scripts").filter(|_| name != "default") else {
            continue;
        };
        let section = format!("[tool.hatch.envs.{name}.scripts]");
        let found = tasks(path, &opened.text, (table, &section), "hatch run");
        offers.extend(found.into_iter().map(|offer| {
            let command = format!("hatch run {name}:{}", offer.name);
            TaskTarget { command, name: format!("{name}:{}", offer.name), ..offer }
        }));
    }
    if let Some(table) = opened.value.pointer("/tool/tox") {
        offers.extend(tox_table(path, &opened.text, table));
    }
    offers
}

fn entries(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn tasks(path: &str, text: &str, at: (&Value, &str), runner: &str) -> Vec<TaskTarget> {
    let (table, section) = at;
    let public = entries(Some(table)).filter(|(name, _)| !name.starts_with('_'));
    let offer = |(name, task): (&String, &Value)| {
        let own = format!("{}.{name}]", section.trim_end_matches(']'));
        let line = line_of(text, section, name).or_else(|| line_starting(text, &own));
        DeclaredTarget { name: name.clone(), body: body(task, &KEYS), line }
            .offer(path, format!("{runner} {name}"))
    };
    public.map(offer).collect()
}

/// Reads the tasks of a pixi.toml.
pub(super) fn pixi(path: &str, text: &str, value: &Value) -> Vec<TaskTarget> {
    let table = value.get("tasks").map(|table| (table, "[tasks]"));
    table.map(|at| tasks(path, text, at, "pixi run")).unwrap_or_default()
}

/// Reads tox environments in pyproject.toml.
fn tox_table(path: &str, text: &str, table: &Value) -> Vec<TaskTarget> {
    let mut offers = vec![all_environments(path, line_starting(text, "[tool.tox"))];
    if let Some(old) = table.get("legacy_tox_ini").and_then(Value::as_str) {
        offers.extend(tox_environments(path, old));
        return offers;
    }
    for (name, environment) in entries(table.get("env")).filter(|(name, _)| is_task(name)) {
        let line = line_starting(text, &format!("[tool.tox.env.{name}]"));
        let commands = environment.get("commands").and_then(Value::as_array);
        let commands =
            commands.into_iter().flatten().map(|words| body(words, &[]).replace('\n', " "));
        let body = commands.collect::<Vec<_>>().join("\n");
        let target = DeclaredTarget { name: name.clone(), body, line };
        offers.push(target.offer(path, format!("tox -e {name}")));
    }
    offers
}

fn all_environments(path: &str, line: Option<u32>) -> TaskTarget {
    DeclaredTarget { name: "test".into(), body: String::new(), line }.offer(path, "tox".into())
}

/// Whether an environment is a task: `py312` and `py-dj42` are test variants.
fn is_task(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(['{', '}', ','])
        && !name.starts_with("py3")
        && !name.starts_with("py2")
        && !matches!(name, "py" | "pypy" | "pypy3" | ".pkg" | "base")
        && !name.split('-').any(|part| part.starts_with("py3"))
}

/// Reads the environments of a tox.ini.
pub(super) fn tox(_: &ProjectSources<'_>, path: &str, text: &str) -> Vec<TaskTarget> {
    // Linters keep their settings in this file as well.
    let line = line_starting(text, "[tox]").or_else(|| line_starting(text, "[testenv]"));
    if line.is_none() {
        return Vec::new();
    }
    let mut offers = vec![all_environments(path, line)];
    offers.extend(tox_environments(path, text).into_iter().map(|mut offer| {
        offer.line = line_starting(text, &format!("[testenv:{}]", offer.name));
        offer
    }));
    offers
}

fn tox_environments(path: &str, text: &str) -> Vec<TaskTarget> {
    let mut offers: Vec<TaskTarget> = Vec::new();
    let (mut inside, mut commands) = (false, false);
    for line in text.lines() {
        if let Some(section) = line.trim().strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            let name = section.strip_prefix("testenv:").filter(|name| is_task(name));
            inside = name.is_some();
            commands = false;
            if let Some(name) = name {
                let target = DeclaredTarget { name: name.to_owned(), ..DeclaredTarget::default() };
                offers.push(target.offer(path, format!("tox -e {name}")));
            }
            continue;
        }
        if !line.starts_with([' ', '\t']) && line.contains('=') {
            commands = line.starts_with("commands");
        }
        if let (true, true, Some(offer)) = (inside, commands, offers.last_mut()) {
            let command = line.strip_prefix("commands").unwrap_or(line);
            offer.body.push_str(command.trim_start_matches([' ', '=', '\t', '-']));
            offer.body.push('\n');
        }
    }
    offers
}

/// Reads the sessions of a noxfile.py.
pub(super) fn nox(_: &ProjectSources<'_>, path: &str, text: &str) -> Vec<TaskTarget> {
    let mut offers = vec![
        DeclaredTarget { name: "test".into(), ..DeclaredTarget::default() }
            .offer(path, "nox".into()),
    ];
    offers.extend(decorated(text, &["@nox.session", "@session"]).into_iter().map(|target| {
        let command = format!("nox -s {}", target.name);
        target.offer(path, command)
    }));
    offers
}

/// Reads the tasks of a tasks.py for invoke.
pub(super) fn invoke(_: &ProjectSources<'_>, path: &str, text: &str) -> Vec<TaskTarget> {
    let imports = |line: &str| line.starts_with("from invoke") || line.starts_with("import invoke");
    if !text.lines().any(imports) {
        return Vec::new();
    }
    let tasks = decorated(text, &["@task", "@invoke.task"]);
    tasks
        .into_iter()
        .map(|mut target| {
            target.name = target.name.replace('_', "-");
            let command = format!("invoke {}", target.name);
            target.offer(path, command)
        })
        .collect()
}

/// Finds decorated functions, by the decorator's name argument or their own name.
fn decorated(text: &str, decorators: &[&str]) -> Vec<DeclaredTarget> {
    let mut found = Vec::new();
    let mut under: Option<Option<String>> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if decorators.iter().any(|decorator| {
            line.strip_prefix(decorator)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('('))
        }) {
            under = Some(None);
        }
        if let Some(name @ None) = &mut under {
            *name = named(line);
        }
        let Some(rest) = line.strip_prefix("def ") else { continue };
        if let Some(given) = under.take() {
            let own = rest.split('(').next().unwrap_or_default().trim().to_owned();
            let name = given.unwrap_or(own);
            found.push(DeclaredTarget { name, body: String::new(), line: Some(number) });
        }
    }
    found
}

/// Returns the value of an argument `name="…"`.
fn named(line: &str) -> Option<String> {
    let (before, rest) = line.split_once("name=")?;
    let rest = rest.strip_prefix(['"', '\''])?;
    let (name, _) = rest.split_once(['"', '\''])?;
    (!before.ends_with(char::is_alphanumeric)).then(|| name.to_owned())
}
