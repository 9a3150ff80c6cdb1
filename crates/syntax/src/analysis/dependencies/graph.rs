//! The dependency graph of a repository's files, with its cycles.

use super::{External, Import};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
};

/// Maximum edges visited in search of a shortest cycle of a component; then the best one found so far is used, because
/// searching from every file would take too long.
const MAX_VISITED_EDGES: usize = 300_000;

/// One file imports another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// The file with the import.
    pub from: String,
    /// The imported file.
    pub to: String,
    /// Whether it only declares the other as its part.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub declares: bool,
}

/// An import cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cycle {
    /// A shortest cycle; the first file is repeated at the end.
    pub path: Vec<String>,
    /// The number of files that all reach each other; more than in the path if cycles overlap.
    pub size: usize,
}

/// A file with its number of dependents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Needed {
    /// The file.
    pub file: String,
    /// How many files import it.
    pub dependents: usize,
}

#[derive(Debug, Clone, Copy)]
struct GraphLink {
    to: u32,
    declares: bool,
}

/// The dependency graph. Built once for a repository.
#[derive(Debug)]
pub struct DependencyGraph {
    /// Sorted.
    files: Vec<String>,
    needs: Vec<Vec<GraphLink>>,
    needed_by: Vec<Vec<u32>>,
    /// Without declarations: a module and its parent are not a cycle.
    flow: Vec<Vec<u32>>,
    /// The component of each file.
    component_of: Vec<u32>,
    components: Vec<Vec<u32>>,
    /// All packages, and the ones used by each file.
    packages: Vec<External>,
    uses: Vec<Vec<u32>>,
}

impl DependencyGraph {
    /// Builds the graph from every file with its imports. Import targets become part of the graph automatically.
    pub fn new<'i>(files: impl IntoIterator<Item = (&'i str, &'i [Import])>) -> Self {
        let files: Vec<(&str, &[Import])> = files.into_iter().collect();
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for (path, imports) in &files {
            names.insert(path);
            names.extend(imports.iter().flat_map(Import::targets));
        }
        let names: Vec<&str> = names.into_iter().collect();
        let ids: HashMap<&str, u32> = names.iter().copied().zip(0..).collect();
        let mut links: Vec<BTreeMap<u32, bool>> = vec![BTreeMap::new(); names.len()];
        let mut packages: BTreeMap<&External, BTreeSet<u32>> = BTreeMap::new();
        for (path, imports) in &files {
            let from = ids[path];
            for import in *imports {
                for to in import.targets().map(|to| ids[to]).filter(|to| *to != from) {
                    let declares = links[from as usize].entry(to).or_insert(import.declares);
                    *declares &= import.declares;
                }
                if let Some(package) = &import.package {
                    packages.entry(package).or_default().insert(from);
                }
            }
        }
        let mut uses = vec![Vec::new(); names.len()];
        for (users, package) in packages.values().zip(0..) {
            for user in users {
                uses[*user as usize].push(package);
            }
        }
        let packages = packages.into_keys().cloned().collect();
        Self::from_links(names.into_iter().map(str::to_owned).collect(), links, packages, uses)
    }

    fn from_links(
        files: Vec<String>,
        links: Vec<BTreeMap<u32, bool>>,
        packages: Vec<External>,
        uses: Vec<Vec<u32>>,
    ) -> Self {
        let mut needed_by = vec![Vec::new(); files.len()];
        let mut flow = vec![Vec::new(); files.len()];
        let mut needs = Vec::with_capacity(files.len());
        for (links, from) in links.into_iter().zip(0_u32..) {
            let own: Vec<GraphLink> =
                links.into_iter().map(|(to, declares)| GraphLink { to, declares }).collect();
            for link in &own {
                needed_by[link.to as usize].push(from);
                if !link.declares {
                    flow[from as usize].push(link.to);
                }
            }
            needs.push(own);
        }
        let components = components(&flow);
        let mut component_of = vec![0; files.len()];
        for (members, component) in components.iter().zip(0..) {
            for member in members {
                component_of[*member as usize] = component;
            }
        }
        Self { files, needs, needed_by, flow, component_of, components, packages, uses }
    }

    /// Every file, sorted.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Every edge, in the order of files.
    pub fn edges(&self) -> impl Iterator<Item = Edge> {
        self.links().map(|(from, to, declares)| Edge {
            from: from.to_owned(),
            to: to.to_owned(),
            declares,
        })
    }

    /// All edges.
    pub(super) fn links(&self) -> impl Iterator<Item = (&str, &str, bool)> {
        let all = self.files.iter().zip(&self.needs);
        all.flat_map(|(from, links)| {
            links.iter().map(|link| (from.as_str(), self.name(link.to), link.declares))
        })
    }

    fn name(&self, id: u32) -> &str {
        &self.files[id as usize]
    }

    fn id(&self, file: &str) -> Option<usize> {
        self.files.binary_search_by(|one| one.as_str().cmp(file)).ok()
    }

    /// The files that a file imports, sorted.
    pub fn needs(&self, file: &str) -> Vec<&str> {
        let links = self.id(file).map(|id| self.needs[id].as_slice()).unwrap_or_default();
        links.iter().map(|link| self.name(link.to)).collect()
    }

    /// The files that import a file, sorted.
    pub fn dependents(&self, file: &str) -> Vec<&str> {
        let ids = self.id(file).map(|id| self.needed_by[id].as_slice()).unwrap_or_default();
        ids.iter().map(|id| self.name(*id)).collect()
    }

    /// The packages that a file uses.
    pub fn packages(&self, file: &str) -> impl Iterator<Item = &External> {
        let ids = self.id(file).map(|id| self.uses[id].as_slice()).unwrap_or_default();
        ids.iter().map(|id| &self.packages[*id as usize])
    }

    /// The most imported files, most imported first.
    pub fn most_needed(&self, limit: usize) -> Vec<Needed> {
        let mut all: Vec<(usize, &String)> =
            self.needed_by.iter().map(Vec::len).zip(&self.files).collect();
        all.retain(|(dependents, _)| *dependents > 0);
        all.sort_by_key(|(dependents, file)| (Reverse(*dependents), *file));
        all.truncate(limit);
        all.into_iter()
            .map(|(dependents, file)| Needed { file: file.clone(), dependents })
            .collect()
    }

    /// A cycle for each set of files that all reach each other, largest set first.
    pub fn cycles(&self) -> Vec<Cycle> {
        let mut all: Vec<Cycle> = self
            .components
            .iter()
            .filter(|members| members.len() > 1)
            .filter_map(|members| Some(self.cycle(&shortest(&self.flow, members)?, members.len())))
            .collect();
        all.sort_by(|a, b| (Reverse(a.size), &a.path).cmp(&(Reverse(b.size), &b.path)));
        all
    }

    /// A shortest cycle through a file.
    pub fn cycle_through(&self, file: &str) -> Option<Cycle> {
        let id = self.id(file)?;
        let members = &self.components[self.component_of[id] as usize];
        let inside: HashSet<u32> = members.iter().copied().collect();
        let search = CycleSearch { leads: &self.flow, inside: &inside, limit: usize::MAX };
        let path = search.around(u32::try_from(id).ok()?, &mut 0)?;
        Some(self.cycle(&path, members.len()))
    }

    /// The files that can all reach a file and be reached from it.
    pub fn entangled(&self, file: &str) -> Vec<&str> {
        let members = self.id(file).map(|id| &self.components[self.component_of[id] as usize]);
        let mut names: Vec<&str> = members.into_iter().flatten().map(|id| self.name(*id)).collect();
        names.retain(|name| *name != file);
        names.sort_unstable();
        names
    }

    fn cycle(&self, path: &[u32], size: usize) -> Cycle {
        Cycle { path: path.iter().map(|id| self.name(*id).to_owned()).collect(), size }
    }
}

/// Cycles among nodes numbered from 0, given their names and edges.
pub(super) fn cycles_of(names: &[&str], leads: &[Vec<u32>]) -> Vec<Cycle> {
    let found = components(leads).into_iter().filter(|members| members.len() > 1);
    let to_names = |path: Vec<u32>| path.iter().map(|id| names[*id as usize].to_owned()).collect();
    let cycle = |members: Vec<u32>| {
        Some(Cycle { path: to_names(shortest(leads, &members)?), size: members.len() })
    };
    let mut all: Vec<Cycle> = found.filter_map(cycle).collect();
    all.sort_by(|a, b| (Reverse(a.size), &a.path).cmp(&(Reverse(b.size), &b.path)));
    all
}

/// Strongly connected components (Tarjan), with an explicit stack: import chains may be arbitrarily long.
fn components(leads: &[Vec<u32>]) -> Vec<Vec<u32>> {
    const NEW: u32 = u32::MAX;
    let count = leads.len();
    let (mut index, mut low) = (vec![NEW; count], vec![0_u32; count]);
    let mut waits = vec![false; count];
    let (mut open, mut found): (Vec<u32>, Vec<Vec<u32>>) = (Vec::new(), Vec::new());
    let mut next = 0;
    for (root, _) in (0_u32..).zip(leads) {
        if index[root as usize] != NEW {
            continue;
        }
        // A file and the index of its next edge.
        let mut work: Vec<(u32, usize)> = vec![(root, 0)];
        while let Some((node, edge)) = work.pop() {
            let at = node as usize;
            if edge == 0 {
                (index[at], low[at]) = (next, next);
                next += 1;
                open.push(node);
                waits[at] = true;
            }
            if let Some(to) = leads[at].get(edge).map(|to| *to as usize) {
                work.push((node, edge + 1));
                if index[to] == NEW {
                    work.push((leads[at][edge], 0));
                } else if waits[to] {
                    low[at] = low[at].min(index[to]);
                }
                continue;
            }
            if low[at] == index[at] {
                let start = open.iter().rposition(|one| *one == node).unwrap_or(0);
                let members = open.split_off(start);
                for member in &members {
                    waits[*member as usize] = false;
                }
                found.push(members);
            }
            if let Some((parent, _)) = work.last() {
                low[*parent as usize] = low[*parent as usize].min(low[at]);
            }
        }
    }
    found
}

/// A shortest cycle within a component, with its first node repeated at the end.
fn shortest(leads: &[Vec<u32>], members: &[u32]) -> Option<Vec<u32>> {
    let inside: HashSet<u32> = members.iter().copied().collect();
    let mut starts = members.to_vec();
    starts.sort_unstable();
    let mut best: Option<Vec<u32>> = None;
    let mut looked = 0;
    for start in starts {
        let limit = best.as_ref().map_or(usize::MAX, Vec::len);
        if limit == 3 || (best.is_some() && looked > MAX_VISITED_EDGES) {
            break;
        }
        let search = CycleSearch { leads, inside: &inside, limit };
        best = search.around(start, &mut looked).or(best);
    }
    best
}

/// A search for a cycle.
struct CycleSearch<'a> {
    leads: &'a [Vec<u32>],
    inside: &'a HashSet<u32>,
    /// The path has to be shorter than this.
    limit: usize,
}

impl CycleSearch<'_> {
    /// The shortest path from a file back to itself, with the start at both ends. Counts visited edges.
    fn around(&self, start: u32, looked: &mut usize) -> Option<Vec<u32>> {
        let mut before: HashMap<u32, u32> = HashMap::new();
        let mut waiting = VecDeque::from([(start, 1)]);
        while let Some((node, length)) = waiting.pop_front() {
            if length + 1 >= self.limit {
                return None;
            }
            for to in &self.leads[node as usize] {
                *looked += 1;
                if *to == start {
                    let back = std::iter::successors(Some(node), |at| before.get(at).copied());
                    let mut path: Vec<u32> = [start].into_iter().chain(back).collect();
                    path.reverse();
                    return Some(path);
                }
                if self.inside.contains(to) && !before.contains_key(to) {
                    before.insert(*to, node);
                    waiting.push_back((*to, length + 1));
                }
            }
        }
        None
    }
}
