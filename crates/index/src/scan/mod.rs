//! The nearest vectors: by looking at each of them, or, beyond a million, along a graph.

mod dot;
mod graph;
mod nearest;

pub(crate) use dot::Dot;
pub(crate) use graph::Graph;
pub(crate) use nearest::{Near, Nearest};
