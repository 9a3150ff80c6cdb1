//! Summaries of the dependency graph: for a file and for a folder.

use super::{
    Cycle, DependencyGraph, External, Import, Needed,
    graph::cycles_of,
    paths::{below, within},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};

/// Maximum most imported files in a summary.
const MAX_MOST_IMPORTED: usize = 10;

/// The dependencies and dependents of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDependencies {
    /// The file.
    pub file: String,
    /// In the order of the text.
    pub imports: Vec<Import>,
    /// The files that import it.
    pub dependents: Vec<String>,
    /// A shortest cycle through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle: Option<Cycle>,
}

/// The dependencies between two parts of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolderEdge {
    /// A subfolder, or the folder itself for the files directly in it.
    pub from: String,
    /// The imported part: a subfolder, or the folder itself.
    pub to: String,
    /// The number of importing and imported file pairs.
    pub edges: usize,
}

/// A file or folder outside of a folder that it depends on, or that depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Neighbour {
    /// The outermost folder that doesn't contain this one, or a file next to it.
    pub path: String,
    /// The number of importing and imported file pairs.
    pub edges: usize,
}

/// A package, and how much it is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageUse {
    /// The package.
    #[serde(flatten)]
    pub package: External,
    /// How many files import it.
    pub files: usize,
}

/// The dependencies and dependents of a folder, and the graph of its parts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FolderDependencies {
    /// The folder; empty for the whole repository.
    pub folder: String,
    /// The number of its files in the graph.
    pub files: usize,
    /// The number of importing and imported file pairs in it.
    pub edges: usize,
    /// Dependencies between its subfolders, most first.
    pub parts: Vec<FolderEdge>,
    /// Its dependents, most first.
    pub incoming: Vec<Neighbour>,
    /// Its dependencies, most first.
    pub outgoing: Vec<Neighbour>,
    /// External packages that it uses, most used first.
    pub packages: Vec<PackageUse>,
    /// Its most imported files.
    pub most_needed: Vec<Needed>,
    /// Import cycles within it, largest set of files first.
    pub cycles: Vec<Cycle>,
    /// Cycles of subfolders.
    pub part_cycles: Vec<Cycle>,
}

/// The summary of a file whose imports are known.
pub fn of_file(graph: &DependencyGraph, file: &str, imports: Vec<Import>) -> FileDependencies {
    FileDependencies {
        file: file.to_owned(),
        imports,
        dependents: graph.dependents(file).into_iter().map(str::to_owned).collect(),
        cycle: graph.cycle_through(file),
    }
}

/// The summary of a folder; the empty path is the whole repository.
pub fn of_folder(graph: &DependencyGraph, folder: &str) -> FolderDependencies {
    let folder = folder.trim_matches('/');
    let is_inside = |path: &str| below(path, folder).is_some();
    let (mut edges, mut within_parts) = (0, BTreeMap::<(String, String), usize>::new());
    let (mut incoming, mut outgoing) = (BTreeMap::new(), BTreeMap::new());
    for (from, to, _) in graph.links() {
        match (is_inside(from), is_inside(to)) {
            (true, true) => {
                edges += 1;
                let (from, to) = (part(folder, from), part(folder, to));
                if from != to {
                    *within_parts.entry((from, to)).or_default() += 1;
                }
            }
            (true, false) => *outgoing.entry(apart(folder, to)).or_default() += 1,
            (false, true) => *incoming.entry(apart(folder, from)).or_default() += 1,
            (false, false) => {}
        }
    }
    let inside = graph.files().iter().filter(|path| is_inside(path));
    let links = graph.links().filter(|(_, _, declares)| !declares);
    let cycles = cycles_among(
        links.map(|(from, to, _)| (from, to)).filter(|(from, to)| is_inside(from) && is_inside(to)),
    );
    let mut most_needed = graph.most_needed(usize::MAX);
    most_needed.retain(|one| is_inside(&one.file));
    most_needed.truncate(MAX_MOST_IMPORTED);
    let pairs = within_parts.keys().map(|(from, to)| (from.as_str(), to.as_str()));
    let part_cycles = cycles_among(pairs);
    let parts = within_parts.into_iter().map(|((from, to), edges)| FolderEdge { from, to, edges });
    let mut parts: Vec<FolderEdge> = parts.collect();
    parts.sort_by_key(|one| Reverse(one.edges));
    FolderDependencies {
        folder: folder.to_owned(),
        files: inside.clone().count(),
        edges,
        parts,
        incoming: neighbours(incoming),
        outgoing: neighbours(outgoing),
        packages: packages(graph, inside.map(String::as_str)),
        most_needed,
        cycles,
        part_cycles,
    }
}

/// The part of a folder that a file is in.
fn part(folder: &str, path: &str) -> String {
    match below(path, folder).and_then(|rest| rest.split_once('/')) {
        Some((first, _)) => within(folder, first),
        None => folder.to_owned(),
    }
}

/// The shortest start of a path that does not lead to the folder.
fn apart(folder: &str, path: &str) -> String {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let mut starts = ends.filter_map(|end| path.get(..end));
    starts.find(|start| below(folder, start).is_none()).unwrap_or(path).to_owned()
}

fn neighbours(counts: BTreeMap<String, usize>) -> Vec<Neighbour> {
    let mut all: Vec<Neighbour> =
        counts.into_iter().map(|(path, edges)| Neighbour { path, edges }).collect();
    all.sort_by_key(|one| Reverse(one.edges));
    all
}

fn packages<'a>(graph: &DependencyGraph, files: impl Iterator<Item = &'a str>) -> Vec<PackageUse> {
    let mut counts: BTreeMap<&External, usize> = BTreeMap::new();
    for package in files.flat_map(|file| graph.packages(file)) {
        *counts.entry(package).or_default() += 1;
    }
    let used = counts.into_iter();
    let mut all: Vec<PackageUse> =
        used.map(|(package, files)| PackageUse { package: package.clone(), files }).collect();
    all.sort_by_key(|one| (one.package.standard, Reverse(one.files)));
    all
}

fn cycles_among<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Cycle> {
    let pairs: Vec<(&str, &str)> = pairs.collect();
    let names: BTreeSet<&str> = pairs.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let ids: HashMap<&str, u32> = names.iter().copied().zip(0..).collect();
    let mut leads = vec![Vec::new(); names.len()];
    for (from, to) in pairs {
        leads[ids[from] as usize].push(ids[to]);
    }
    cycles_of(&names, &leads)
}
