//! The nearest vectors: by looking at each of them, or, beyond a million, along a graph.

mod dot;
mod graph;
mod nearest;

pub(crate) use dot::DotProduct;
pub(crate) use graph::NeighborGraph;
pub(crate) use nearest::{ScoredRow, NearestRows};
