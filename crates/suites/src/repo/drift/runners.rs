//! Files that define runnable names: scripts, targets, recipes, tasks. Reads only the names.

use super::project_index::{ProjectIndex, above};
use crate::repo::tree::{ProjectTree, folder_of, join, name_of};
use serde_json::Value;
use std::{
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

/// Maximum number of files of one kind searched for a name.
const MAX_SEARCHED_FILES: usize = 300;
/// Maximum include depth of Makefiles.
const MAX_INCLUDE_DEPTH: usize = 4;

/// A tool that runs targets by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Runner {
    /// npm, pnpm, Yarn and Bun.
    Npm,
    Make,
    Just,
    Task,
    Composer,
    Deno,
    Poe,
    Nox,
}

impl Runner {
    /// Names of its files.
    fn files(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["package.json"],
            Self::Make => &["Makefile", "GNUmakefile", "makefile"],
            Self::Just => &["justfile", "Justfile", ".justfile"],
            Self::Task => &[
                "Taskfile.yml",
                "Taskfile.yaml",
                "taskfile.yml",
                "taskfile.yaml",
                "Taskfile.dist.yml",
            ],
            Self::Composer => &["composer.json"],
            Self::Deno => &["deno.json", "deno.jsonc", "package.json"],
            Self::Poe => &["pyproject.toml", "poe_tasks.toml"],
            Self::Nox => &["noxfile.py"],
        }
    }

    /// Files that its own file may be generated from.
    fn sources(self) -> &'static [&'static str] {
        match self {
            Self::Make => &[
                "CMakeLists.txt",
                "Makefile.am",
                "Makefile.in",
                "Makefile.PL",
                "configure",
                "configure.ac",
                "configure.py",
                "meson.build",
                "extconf.rb",
            ],
            _ => &[],
        }
    }

    fn read(self, tree: &ProjectTree, path: &str) -> RunnerTargets {
        let Ok(text) = tree.text(path) else { return RunnerTargets::unread() };
        match self {
            // A file with comments is not parsed, so it may contain anything.
            Self::Deno if name_of(path) != "package.json" => {
                keys(serde_json::from_str(&text).ok(), "tasks")
            }
            Self::Npm | Self::Composer | Self::Deno => {
                keys(serde_json::from_str(&text).ok(), "scripts")
            }
            Self::Task => task(&text),
            Self::Poe => poe(&text),
            Self::Make => make(tree, folder_of(path), &text, MAX_INCLUDE_DEPTH),
            Self::Just => just(&text),
            Self::Nox => nox(&text),
        }
    }
}

/// Targets in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RunnerTargets {
    pub(super) names: BTreeSet<String>,
    /// Prefixes and suffixes of pattern targets: `test-%`.
    patterns: Vec<(String, String)>,
    /// Whether there may be more targets than were read.
    open: bool,
}

impl RunnerTargets {
    fn unread() -> Self {
        Self { open: true, ..Self::default() }
    }

    fn has(&self, name: &str) -> bool {
        self.open
            || self.names.contains(name)
            || self.patterns.iter().any(|(start, end)| {
                name.strip_prefix(start.as_str()).is_some_and(|rest| rest.ends_with(end.as_str()))
            })
    }

    fn add(&mut self, other: Self) {
        self.names.extend(other.names);
        self.patterns.extend(other.patterns);
        self.open |= other.open;
    }
}

/// Whether a target exists.
#[derive(Debug)]
pub(super) enum TargetStatus {
    /// A file defines it.
    There,
    /// Unknown.
    Unsure,
    /// The file that should define it does not.
    Absent { file: String, offer: Rc<RunnerTargets> },
    /// The file that defined it was deleted.
    Gone { file: String },
}

/// Cache of files read so far.
#[derive(Default)]
pub(super) struct RunnerFileCache {
    read: RefCell<HashMap<(Runner, String), Rc<RunnerTargets>>>,
}

impl RunnerFileCache {
    fn offer(&self, tree: &ProjectTree, runner: Runner, path: &str) -> Rc<RunnerTargets> {
        let key = (runner, path.to_owned());
        if let Some(offer) = self.read.borrow().get(&key) {
            return Rc::clone(offer);
        }
        let offer = Rc::new(runner.read(tree, path));
        self.read.borrow_mut().insert(key, Rc::clone(&offer));
        offer
    }

    /// Looks up a name: first in the given folders and their ancestors, then in the rest of the project.
    pub(super) fn find(
        &self,
        known: &ProjectIndex<'_>,
        runner: Runner,
        folders: &[&str],
        name: &str,
    ) -> TargetStatus {
        let tree = known.today.tree;
        let mut near: Vec<String> = Vec::new();
        for folder in folders.iter().flat_map(|folder| above(folder)) {
            for path in runner.files().iter().filter_map(|file| join(folder, file)) {
                if tree.file(&path).is_some() && !near.contains(&path) {
                    near.push(path);
                }
            }
        }
        if near.iter().any(|path| self.offer(tree, runner, path).has(name)) {
            return TargetStatus::There;
        }
        let named = runner.files().iter().flat_map(|file| known.files().ending(file));
        let all: Vec<&str> = named.take(MAX_SEARCHED_FILES + 1).collect();
        if all.len() > MAX_SEARCHED_FILES {
            return TargetStatus::Unsure;
        }
        let offers: Vec<Rc<RunnerTargets>> =
            all.iter().map(|path| self.offer(tree, runner, path)).collect();
        if !known.effort.spend(offers.iter().map(|offer| 1 + offer.patterns.len()).sum()) {
            return TargetStatus::Unsure;
        }
        if offers.iter().any(|offer| offer.has(name)) {
            return TargetStatus::There;
        }
        if let Some(file) = near.into_iter().next() {
            let offer = self.offer(tree, runner, &file);
            return TargetStatus::Absent { file, offer };
        }
        let made = runner.sources().iter().any(|file| known.files().ending(file).next().is_some());
        if !all.is_empty() || made {
            return TargetStatus::Unsure;
        }
        let mut gone = folders
            .iter()
            .flat_map(|folder| above(folder))
            .flat_map(|folder| runner.files().iter().filter_map(move |file| join(folder, file)));
        let past = known.today.past.map(|past| &past.files);
        let is_gone = |path: &String| {
            past.and_then(|files| files.get(path.as_str())).is_some_and(|past| past.gone)
        };
        gone.find(is_gone).map_or(TargetStatus::Unsure, |file| TargetStatus::Gone { file })
    }
}

/// Returns the keys of a nested object.
fn keys(value: Option<Value>, key: &str) -> RunnerTargets {
    let Some(value) = value else { return RunnerTargets::unread() };
    let inner = value.get(key);
    let names = inner.and_then(Value::as_object).into_iter().flat_map(|map| map.keys().cloned());
    RunnerTargets { names: names.collect(), ..RunnerTargets::default() }
}

fn task(text: &str) -> RunnerTargets {
    let Ok(value) = serde_saphyr::from_str::<Value>(text) else { return RunnerTargets::unread() };
    let included = value.get("includes").is_some();
    let tasks = value.get("tasks").and_then(Value::as_object);
    let aliases: Vec<String> = tasks
        .into_iter()
        .flat_map(|tasks| tasks.values())
        .filter_map(|task| task.get("aliases").and_then(Value::as_array))
        .flatten()
        .filter_map(|alias| alias.as_str().map(str::to_owned))
        .collect();
    let mut offer = keys(Some(value), "tasks");
    offer.open |= included || offer.names.iter().any(|name| name.contains('*'));
    offer.names.extend(aliases);
    offer
}

fn poe(text: &str) -> RunnerTargets {
    let Ok(value) = toml::from_str::<Value>(text) else { return RunnerTargets::unread() };
    let Some(poe) =
        value.get("tool").and_then(|tool| tool.get("poe")).or_else(|| value.get("tool.poe"))
    else {
        return RunnerTargets::unread();
    };
    let included = poe.get("include").is_some();
    let mut offer = keys(Some(poe.clone()), "tasks");
    offer.open |= included;
    offer
}

/// Returns every word of the file: sessions are functions, or named in a decorator.
fn nox(text: &str) -> RunnerTargets {
    let words = text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')));
    let names = words.filter(|word| !word.is_empty()).map(|word| word.replace('-', "_")).collect();
    RunnerTargets { names, ..RunnerTargets::default() }
}

fn just(text: &str) -> RunnerTargets {
    let mut offer = RunnerTargets::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            _ if line.starts_with([' ', '\t', '#', '[']) => {}
            ["import" | "import?" | "mod" | "mod?" | "!include", ..] | ["set", "fallback", ..] => {
                offer.open = true;
            }
            ["alias", name, ..] => drop(offer.names.insert((*name).to_owned())),
            // `name := value` sets a variable; the `:=` of a recipe is in a parameter's default.
            ["set" | "export", ..] | [_, ":=", ..] => {}
            [name, ..] if line.contains(':') && !name.contains(":=") => {
                let name = name.trim_start_matches('@').split(':').next().unwrap_or_default();
                offer.names.insert(name.to_owned());
            }
            _ => {}
        }
    }
    offer
}

fn make(tree: &ProjectTree, folder: &str, text: &str, depth: usize) -> RunnerTargets {
    let mut offer = RunnerTargets::default();
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    for line in joined.lines().filter(|line| !line.starts_with(['\t', '#'])) {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        match words.next().unwrap_or_default() {
            "include" | "-include" | "sinclude" => {
                words.for_each(|path| offer.add(include(tree, folder, path, depth)));
                continue;
            }
            // A line that is only a call may define rules.
            word if (word.starts_with("$(") && !line.contains(':'))
                || ["$(eval", "$(foreach", "$(call"].iter().any(|call| line.starts_with(call))
                || matches!(word, "define" | "load" | ".DEFAULT:") =>
            {
                offer.open = true;
                continue;
            }
            _ => {}
        }
        let Some((left, right)) = line.split_once(':') else { continue };
        if left.contains('=') || right.trim_start_matches(':').starts_with('=') {
            continue;
        }
        let declared = if left.trim() == ".PHONY" { right } else { left };
        declared.split_whitespace().for_each(|target| offer.take_target(target));
    }
    offer
}

impl RunnerTargets {
    fn take_target(&mut self, target: &str) {
        if let Some((start, end)) = target.split_once('%') {
            self.patterns.push((start.to_owned(), end.to_owned()));
        } else if target.contains('$') {
            // A path below a variable's folder is not a target that people type.
            self.open |= !target.contains('/');
        } else {
            self.names.insert(target.to_owned());
        }
    }
}

fn include(tree: &ProjectTree, folder: &str, path: &str, depth: usize) -> RunnerTargets {
    let tried = [folder, ""];
    let mut tried = tried.iter().filter_map(|base| join(base, path));
    let found = tried.find(|path| tree.file(path).is_some()).filter(|_| depth > 0);
    // Generated include files contain file dependencies, not targets.
    if path.rsplit_once('.').is_some_and(|(_, ending)| ending == "d") {
        return RunnerTargets::default();
    }
    match found.map(|path| tree.text(&path)) {
        Some(Ok(text)) => make(tree, folder, &text, depth - 1),
        _ => RunnerTargets::unread(),
    }
}
