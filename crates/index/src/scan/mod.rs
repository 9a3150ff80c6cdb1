//! Nearest-neighbor search: by scanning, or, beyond a million vectors, along a graph.

mod dot;
mod graph;
mod nearest;

pub(crate) use dot::DotProduct;
pub(crate) use graph::NeighborGraph;
pub(crate) use nearest::{NearestRows, ScoredRow};
