//! Dependency graph of the repository's packages, in layers.

use super::{
    layers::{GraphLayers, arrange},
    layout::{BOX_HEIGHT, GraphLayout, ItemPosition, RowWidth},
    lettering::{TEXT_SIZE, fit_end, width},
    markup::{MarkupBuffer, put, text},
    picture::{Drawing, PictureFrame},
};
use crate::repo::{
    render::figures::{counted, to_u64},
    report::{InternalEdge, Manifest},
};
use std::collections::{BTreeMap, HashMap};

/// Maximum number of packages in one picture; those with the most edges.
const MAX_DRAWN_PACKAGES: usize = 44;

/// A package.
#[derive(Debug, PartialEq, Eq)]
struct PackageNode {
    name: String,
    tooltip: String,
}

/// Packages and their dependencies.
#[derive(Debug, Default)]
pub(super) struct PackageGraph {
    nodes: Vec<PackageNode>,
    edges: Vec<(usize, usize)>,
    layers: GraphLayers,
    /// Number of packages with edges that do not fit in the picture.
    pub(super) left_out: usize,
}

impl PackageGraph {
    /// Creates the graph of a report's internal edges.
    pub(super) fn new(manifests: &[Manifest], internal: &[InternalEdge]) -> Self {
        let mut degrees: BTreeMap<&str, usize> = BTreeMap::new();
        for edge in internal.iter().filter(|edge| edge.from != edge.to) {
            *degrees.entry(&edge.from).or_default() += 1;
            *degrees.entry(&edge.to).or_default() += 1;
        }
        let mut paths: Vec<(&str, usize)> = degrees.into_iter().collect();
        paths.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        let left_out = paths.len().saturating_sub(MAX_DRAWN_PACKAGES);
        paths.truncate(MAX_DRAWN_PACKAGES);
        paths.sort_unstable();
        let places: HashMap<&str, usize> =
            paths.iter().enumerate().map(|(at, (path, _))| (*path, at)).collect();
        let known: HashMap<&str, &Manifest> =
            manifests.iter().map(|one| (&*one.path, one)).collect();
        let mut edges: Vec<(usize, usize)> = internal
            .iter()
            .filter_map(|edge| Some((*places.get(&*edge.from)?, *places.get(&*edge.to)?)))
            .filter(|(from, to)| from != to)
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let node = |(at, (path, _)): (usize, &(&str, usize))| {
            let asks = to_u64(edges.iter().filter(|edge| edge.0 == at).count());
            let asked = to_u64(edges.iter().filter(|edge| edge.1 == at).count());
            let asks = counted(asks, "package", "packages");
            let asked = counted(asked, "package", "packages");
            PackageNode {
                name: known
                    .get(path)
                    .and_then(|one| one.name.clone())
                    .unwrap_or_else(|| folder(path)),
                tooltip: format!("{path}\ndepends on {asks} here\n{asked} here depend on it"),
            }
        };
        let nodes: Vec<PackageNode> = paths.iter().enumerate().map(node).collect();
        let layers = arrange(nodes.len(), &edges);
        Self { nodes, edges, layers, left_out }
    }

    /// Whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.edges.is_empty()
    }

    /// Whether it fits in half of the page.
    pub(super) fn is_small(&self) -> bool {
        self.nodes.len() <= 14
    }

    /// Describes the picture.
    pub(super) fn describe(&self) -> String {
        let packages = counted(to_u64(self.nodes.len()), "package", "packages");
        let edges = counted(to_u64(self.edges.len()), "edge", "edges");
        format!("{packages} and {edges}; each package is above its dependencies.")
    }

    /// Whether there is a dependency cycle.
    pub(super) fn has_cycle(&self) -> bool {
        self.layers.lines.iter().any(|line| line.against)
    }

    /// Draws the graph.
    pub(super) fn draw(&self, frame: PictureFrame) -> Drawing {
        let longest = if frame.narrow { 124.0 } else { 180.0 };
        let names: Vec<String> = self
            .nodes
            .iter()
            .map(|node| fit_end(&node.name, TEXT_SIZE, longest).unwrap_or_default())
            .collect();
        let name = |node: Option<usize>| node.and_then(|at| names.get(at));
        let widths: Vec<f64> = self
            .layers
            .items
            .iter()
            .map(|item| name(item.node).map_or(0.0, |name| width(name, TEXT_SIZE) + 18.0))
            .collect();
        let gap = if frame.narrow { 8.0 } else { 14.0 };
        let placing =
            GraphLayout::new(&self.layers, &widths, RowWidth { across: frame.width, gap });
        let mut body = MarkupBuffer::default();
        for line in &self.layers.lines {
            let (from, to) = self.edges.get(line.edge).copied().unwrap_or_default();
            let class = if line.against { "edge against" } else { "edge" };
            put!(
                body,
                "<path class=\"{class}\" data-from=\"{from}\" data-to=\"{to}\" d=\"{}\"/>",
                placing.edge_path(line)
            );
        }
        let nodes = self.nodes.iter().zip(&names).zip(&placing.places).enumerate();
        for (index, ((node, name), ItemPosition { x, y, wide })) in nodes {
            put!(
                body,
                "<g class=\"node\" data-node=\"{index}\"><title>{}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{BOX_HEIGHT}\" rx=\"4\"/>\
                 <text class=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
                text(&node.tooltip),
                x + wide / 2.0,
                y + BOX_HEIGHT / 2.0 + TEXT_SIZE * 0.36,
                text(name)
            );
        }
        Drawing { height: placing.height, body }
    }
}

/// Names a manifest without a name by its folder.
fn folder(path: &str) -> String {
    path.rsplit_once('/').map_or(path, |(folder, _)| folder).to_owned()
}
