//! Nearest-neighbor search: by scanning, or, beyond a million vectors, along a graph.

mod dot;
mod graph;
mod nearest;

pub(crate) use dot::Dot;
pub(crate) use graph::Graph;
pub(crate) use nearest::{Near, Nearest};
