//! Which parts of the work an answer needs.

use super::{findings::Check, report::Depth};

/// Which parts of the work an answer needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each part is wanted or not, by itself")]
pub(super) struct AnalysisScope {
    /// Manifests, commands, licence, lines, documents.
    pub(super) contents: bool,
    /// Links, anchors, pictures.
    pub(super) links: bool,
    /// Public symbols and complexity, from syntax trees.
    pub(super) syntax: bool,
    /// Documents held against the code and its past.
    pub(super) drift: bool,
    /// What git remembers.
    pub(super) history: bool,
    /// Documents that repeat each other, and open tasks.
    pub(super) redundancy: bool,
}

impl AnalysisScope {
    /// What a depth promises.
    pub(super) fn of(depth: Depth) -> Self {
        let (contents, deep) = (depth >= Depth::Standard, depth == Depth::Deep);
        Self { contents, links: deep, syntax: deep, drift: deep, history: deep, redundancy: deep }
    }

    /// What checks need.
    pub(super) fn of_checks(checks: &[Check]) -> Self {
        let has = |check| checks.contains(&check);
        let drift = has(Check::Drift);
        Self {
            contents: true,
            links: has(Check::Links),
            syntax: has(Check::Coverage) || drift,
            drift,
            history: drift,
            redundancy: false,
        }
    }
}
