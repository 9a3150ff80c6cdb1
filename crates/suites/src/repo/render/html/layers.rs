//! Arranges the nodes of a graph in layers, so that edges run downward with few crossings. Deterministic for the same
//! graph.

use crate::repo::render::figures::{to_f64, to_u64};

/// Maximum number of sweeps to reduce crossings.
const MAX_SWEEPS: usize = 16;

/// A node in its layer, or a point where a long edge passes through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LayerItem {
    /// Node index; `None` for a passing edge.
    pub(super) node: Option<usize>,
    layer: usize,
}

/// An edge, from the upper to the lower end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LayerEdge {
    /// Index of the edge.
    pub(super) edge: usize,
    /// Its ends, and the items it passes between them.
    pub(super) through: Vec<usize>,
    /// Whether it runs upward, as part of a cycle.
    pub(super) against: bool,
}

/// Nodes in layers.
#[derive(Debug, Default)]
pub(super) struct GraphLayers {
    /// All items; the first ones are the nodes in order.
    pub(super) items: Vec<LayerItem>,
    /// Items from left to right, top layer first.
    pub(super) rows: Vec<Vec<usize>>,
    /// Edges to draw, without indirect ones.
    pub(super) lines: Vec<LayerEdge>,
}

/// Arranges nodes by their edges.
pub(super) fn arrange(nodes: usize, edges: &[(usize, usize)]) -> GraphLayers {
    let against = find_cycle_edges(nodes, edges);
    let forward: Vec<(usize, usize)> = edges
        .iter()
        .zip(&against)
        .map(|(&(from, to), &against)| if against { (to, from) } else { (from, to) })
        .collect();
    let depth = depths(nodes, &forward);
    let implied = find_indirect_edges(nodes, &forward);
    let mut layers = GraphLayers {
        items: depth
            .iter()
            .enumerate()
            .map(|(node, layer)| LayerItem { node: Some(node), layer: *layer })
            .collect(),
        ..GraphLayers::default()
    };
    for (edge, &(from, to)) in forward.iter().enumerate() {
        let against = against.get(edge).copied().unwrap_or_default();
        if from == to || (implied.get(edge).copied().unwrap_or_default() && !against) {
            continue;
        }
        let (Some(upper), Some(lower)) = (depth.get(from), depth.get(to)) else { continue };
        let mut through = vec![from];
        for layer in upper + 1..*lower {
            through.push(layers.items.len());
            layers.items.push(LayerItem { node: None, layer });
        }
        through.push(to);
        layers.lines.push(LayerEdge { edge, through, against });
    }
    let count = depth.iter().max().map_or(0, |deepest| deepest + 1);
    layers.rows = vec![Vec::new(); count];
    for (index, item) in layers.items.iter().enumerate() {
        if let Some(row) = layers.rows.get_mut(item.layer) {
            row.push(index);
        }
    }
    layers.order_rows();
    layers
}

/// Finds edges that close a cycle, from the first node on.
fn find_cycle_edges(nodes: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum VisitState {
        New,
        Open,
        Done,
    }
    let mut out: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes];
    for (index, &(from, to)) in edges.iter().enumerate() {
        if let Some(list) = out.get_mut(from).filter(|_| to < nodes) {
            list.push((index, to));
        }
    }
    let mut against = vec![false; edges.len()];
    let mut state = vec![VisitState::New; nodes];
    let mut asked = vec![false; nodes];
    edges.iter().filter(|(from, to)| from != to).for_each(|&(_, to)| {
        if let Some(asked) = asked.get_mut(to) {
            *asked = true;
        }
    });
    // Nodes without dependents first: they are always at the top.
    let mut starts: Vec<usize> = (0..nodes).collect();
    starts.sort_by_key(|node| asked.get(*node).copied());
    for start in starts {
        if state.get(start) != Some(&VisitState::New) {
            continue;
        }
        let mut path = vec![(start, 0)];
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            if let Some(slot) = state.get_mut(node) {
                *slot = VisitState::Open;
            }
            let Some(&(edge, to)) = out.get(node).and_then(|list| list.get(*next)) else {
                if let Some(slot) = state.get_mut(node) {
                    *slot = VisitState::Done;
                }
                path.pop();
                continue;
            };
            *next += 1;
            match state.get(to) {
                Some(VisitState::New) => path.push((to, 0)),
                Some(VisitState::Open) => {
                    if let Some(slot) = against.get_mut(edge) {
                        *slot = true;
                    }
                }
                _ => {}
            }
        }
    }
    against
}

/// Returns the layer of each node: below all its dependents.
fn depths(nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut depth = vec![0; nodes];
    // Without cycles, the longest path has fewer edges than nodes.
    for _ in 0..nodes {
        let mut moved = false;
        for &(from, to) in edges.iter().filter(|(from, to)| from != to) {
            let least = depth.get(from).copied().unwrap_or_default() + 1;
            if let Some(slot) = depth.get_mut(to).filter(|slot| **slot < least && least < nodes) {
                *slot = least;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    depth
}

/// Finds indirect edges: there is a longer path between the same nodes.
fn find_indirect_edges(nodes: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); nodes];
    for &(from, to) in edges.iter().filter(|(from, to)| from != to) {
        if let Some(list) = next.get_mut(from) {
            list.push(to);
        }
    }
    let all_below = |from: usize| {
        let mut seen = vec![false; nodes];
        let mut open = vec![from];
        while let Some(node) = open.pop() {
            for &to in next.get(node).into_iter().flatten() {
                if let Some(slot) = seen.get_mut(to).filter(|slot| !**slot) {
                    *slot = true;
                    open.push(to);
                }
            }
        }
        seen
    };
    let below: Vec<Vec<bool>> = (0..nodes).map(all_below).collect();
    let reaches = |from: usize, to: usize| {
        below.get(from).and_then(|row| row.get(to)).copied().unwrap_or_default()
    };
    edges
        .iter()
        .map(|&(from, to)| {
            next.get(from)
                .into_iter()
                .flatten()
                .any(|&between| between != to && reaches(between, to))
        })
        .collect()
}

impl GraphLayers {
    /// Orders each row by neighbor positions, downward and upward in turn, and keeps the best order.
    fn order_rows(&mut self) {
        let pairs: Vec<(usize, usize)> = self
            .lines
            .iter()
            .flat_map(|line| line.through.iter().copied().zip(line.through.iter().copied().skip(1)))
            .collect();
        let mut best = (self.crossings(&pairs), self.rows.clone());
        for sweep in 0..MAX_SWEEPS {
            let downwards = sweep % 2 == 0;
            let count = self.rows.len();
            for step in 1..count {
                let row = if downwards { step } else { count - 1 - step };
                self.order(row, downwards, &pairs);
            }
            let crossings = self.crossings(&pairs);
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
    }

    fn places(&self) -> Vec<f64> {
        let mut places = vec![0.0; self.items.len()];
        for row in &self.rows {
            for (index, item) in row.iter().enumerate() {
                if let Some(place) = places.get_mut(*item) {
                    *place = (to_f64(to_u64(index)) + 0.5) / to_f64(to_u64(row.len()));
                }
            }
        }
        places
    }

    fn order(&mut self, row: usize, downwards: bool, pairs: &[(usize, usize)]) {
        let places = self.places();
        let mut sums = vec![(0.0, 0_u64); self.items.len()];
        for &(upper, lower) in pairs {
            let (item, neighbour) = if downwards { (lower, upper) } else { (upper, lower) };
            if let (Some(sum), Some(place)) = (sums.get_mut(item), places.get(neighbour)) {
                *sum = (sum.0 + place, sum.1 + 1);
            }
        }
        let wish = |item: usize| match sums.get(item) {
            Some((sum, count @ 1..)) => sum / to_f64(*count),
            _ => places.get(item).copied().unwrap_or_default(),
        };
        if let Some(row) = self.rows.get_mut(row) {
            row.sort_by(|one, other| wish(*one).total_cmp(&wish(*other)).then(one.cmp(other)));
        }
    }

    fn crossings(&self, pairs: &[(usize, usize)]) -> usize {
        let places = self.places();
        let at = |item: usize| places.get(item).copied().unwrap_or_default();
        let layer = |item: usize| self.items.get(item).map(|item| item.layer);
        let mut ends: Vec<(Option<usize>, f64, f64)> =
            pairs.iter().map(|&(upper, lower)| (layer(upper), at(upper), at(lower))).collect();
        ends.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        let crosses = |(index, one): (usize, &(Option<usize>, f64, f64))| {
            let rest = ends.iter().skip(index + 1).take_while(|other| other.0 == one.0);
            rest.filter(|other| one.1 < other.1 && one.2 > other.2).count()
        };
        ends.iter().enumerate().map(crosses).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(layers: &GraphLayers, node: usize) -> usize {
        layers.items[node].layer
    }

    #[test]
    fn lines_run_downwards() {
        let edges = [(0, 1), (1, 2), (0, 2), (3, 2), (0, 4)];
        let layers = arrange(5, &edges);
        let depth: Vec<usize> = (0..5).map(|node| layer(&layers, node)).collect();
        assert_eq!(depth, [0, 1, 2, 0, 1]);
        let drawn: Vec<usize> = layers.lines.iter().map(|line| line.edge).collect();
        assert_eq!(drawn, [0, 1, 3, 4], "0 to 2 follows from 0 to 1 to 2");
        assert_eq!(layers.lines[2].through.len(), 3, "it passes a layer");
        assert!(layers.lines.iter().all(|line| !line.against));
        assert_eq!(layers.crossings(&[]), 0);
    }

    #[test]
    fn circles_are_drawn_against_the_order() {
        let layers = arrange(3, &[(0, 1), (1, 2), (2, 0), (1, 1)]);
        let against: Vec<(usize, bool)> =
            layers.lines.iter().map(|line| (line.edge, line.against)).collect();
        assert_eq!(against, [(0, false), (1, false), (2, true)]);
        assert_eq!([0, 1, 2].map(|node| layer(&layers, node)), [0, 1, 2]);
    }

    #[test]
    fn order_avoids_crossings() {
        let layers = arrange(4, &[(0, 3), (1, 2)]);
        let pairs = [(0, 3), (1, 2)];
        assert_eq!(layers.crossings(&pairs), 0, "{:?}", layers.rows);
    }

    #[test]
    fn an_empty_graph_is_arranged() {
        assert!(arrange(0, &[]).rows.is_empty());
        assert_eq!(arrange(1, &[(0, 0)]).rows, [[0]]);
    }
}
