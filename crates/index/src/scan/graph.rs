//! A neighbor graph over many vectors, searched in its file. Nearly exact, and much faster than scanning more than a
//! million.

use rayon::prelude::*;
use std::path::Path;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

/// Links per vector. More links find more and take more memory.
const LINKS_PER_VECTOR: usize = 16;
/// Search breadth while building.
const BUILD_EXPANSION: usize = 96;
/// Search breadth of queries.
const SEARCH_EXPANSION: usize = 256;

/// Error of the graph.
#[derive(Debug, thiserror::Error)]
#[error("the neighbor graph failed: {0}")]
pub(crate) struct GraphError(String);

impl GraphError {
    fn new(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// A graph in a file.
pub(crate) struct NeighborGraph(Index);

impl std::fmt::Debug for NeighborGraph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NeighborGraph").field("size", &self.0.size()).finish()
    }
}

fn empty(dimensions: usize) -> Result<Index, GraphError> {
    let options = IndexOptions {
        dimensions,
        metric: MetricKind::Cos,
        quantization: ScalarKind::I8,
        connectivity: LINKS_PER_VECTOR,
        expansion_add: BUILD_EXPANSION,
        expansion_search: SEARCH_EXPANSION,
        multi: false,
    };
    Index::new(&options).map_err(GraphError::new)
}

fn name(path: &Path) -> Result<&str, GraphError> {
    path.to_str().ok_or_else(|| GraphError::new("its path is not UTF-8"))
}

impl NeighborGraph {
    /// Builds a graph of these vectors and writes it to a file.
    pub(crate) fn build(
        path: &Path,
        dimensions: usize,
        vectors: &[(u32, &[u8])],
    ) -> Result<(), GraphError> {
        let graph = empty(dimensions)?;
        let threads = rayon::current_num_threads();
        graph.reserve_capacity_and_threads(vectors.len(), threads).map_err(GraphError::new)?;
        vectors.par_iter().try_for_each(|(row, codes)| {
            let codes: Vec<i8> = codes.iter().map(|code| code.cast_signed()).collect();
            graph.add(u64::from(*row), &codes).map_err(GraphError::new)
        })?;
        graph.save(name(path)?).map_err(GraphError::new)
    }

    /// Opens a graph file. It must have been checked before: corruption is not detected here.
    pub(crate) fn open(path: &Path, dimensions: usize) -> Result<Self, GraphError> {
        let graph = empty(dimensions)?;
        graph.view(name(path)?).map_err(GraphError::new)?;
        Ok(Self(graph))
    }

    /// The kept rows nearest to a query, best first.
    pub(crate) fn nearest(
        &self,
        question: &[i8],
        most: usize,
        keep: impl Fn(u32) -> bool,
    ) -> Result<Vec<u32>, GraphError> {
        let keep = |row: u64| u32::try_from(row).is_ok_and(&keep);
        let found = self.0.filtered_search(question, most, keep).map_err(GraphError::new)?;
        Ok(found.keys.into_iter().filter_map(|row| u32::try_from(row).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::Vector;

    #[test]
    fn neighbours_are_found_and_filtered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("graph");
        let vectors: Vec<Vector> = (0_u16..500)
            .map(|n| {
                let angle = f32::from(n) / 80.0;
                Vector::new(&[angle.cos(), angle.sin(), 0.1, 0.0])
            })
            .collect();
        let bytes: Vec<Vec<u8>> = vectors
            .iter()
            .map(|vector| vector.codes().iter().map(|code| code.cast_unsigned()).collect())
            .collect();
        let rows: Vec<(u32, &[u8])> = (0..).zip(bytes.iter().map(Vec::as_slice)).collect();
        NeighborGraph::build(&path, 4, &rows).unwrap();
        let graph = NeighborGraph::open(&path, 4).unwrap();
        let near = graph.nearest(vectors[100].codes(), 5, |_| true).unwrap();
        assert!(near.iter().all(|row| row.abs_diff(100) < 12), "{near:?}");
        let odd = graph.nearest(vectors[100].codes(), 5, |row| row % 2 == 1).unwrap();
        assert!(odd.iter().all(|row| row % 2 == 1) && odd.len() == 5, "{odd:?}");
    }
}
