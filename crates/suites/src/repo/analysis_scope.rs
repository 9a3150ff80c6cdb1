//! The parts of the analysis that a call needs.

use super::{findings::Check, report::Depth};

/// The parts of the analysis that a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each part is wanted or not, by itself")]
pub(super) struct AnalysisScope {
    /// Manifests, commands, license, lines, documents.
    pub(super) contents: bool,
    /// Links, anchors, images.
    pub(super) links: bool,
    /// Public symbols and complexity, from syntax trees.
    pub(super) syntax: bool,
    /// Documents compared with the code and its history.
    pub(super) drift: bool,
    /// Git history.
    pub(super) history: bool,
    /// Duplicate documents, and open tasks.
    pub(super) redundancy: bool,
}

impl AnalysisScope {
    /// Returns the parts for a depth.
    pub(super) fn of(depth: Depth) -> Self {
        let (contents, deep) = (depth >= Depth::Standard, depth == Depth::Deep);
        Self { contents, links: deep, syntax: deep, drift: deep, history: deep, redundancy: deep }
    }

    /// Returns the parts for these checks.
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
