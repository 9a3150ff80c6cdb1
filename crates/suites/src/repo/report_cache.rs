//! Cache of recent reports, so that the link in a result opens the report it summarized.

use super::report::{Depth, Report};
use crate::files::RootPath;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Maximum number of cached reports.
const MAX_CACHED_REPORTS: usize = 8;
/// Lifetime of a cached report.
const REPORT_LIFETIME: Duration = Duration::from_mins(10);

struct CachedReport {
    place: RootPath,
    depth: Depth,
    made: Instant,
    report: Arc<Report>,
}

/// The cached reports, newest first.
#[derive(Default)]
pub(super) struct ReportCache {
    entries: Mutex<VecDeque<CachedReport>>,
}

impl std::fmt::Debug for ReportCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReportCache").finish_non_exhaustive()
    }
}

impl ReportCache {
    /// Caches a report, replacing an older one of the same folder and depth.
    pub(super) fn put(&self, place: RootPath, depth: Depth, report: Arc<Report>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.place != place || entry.depth != depth);
        entries.push_front(CachedReport { place, depth, made: Instant::now(), report });
        entries.truncate(MAX_CACHED_REPORTS);
    }

    /// Returns the cached report of a folder, if recent.
    pub(super) fn get(&self, place: &RootPath, depth: Depth) -> Option<Arc<Report>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.made.elapsed() < REPORT_LIFETIME);
        let found = entries.iter().find(|entry| entry.place == *place && entry.depth == depth);
        found.map(|entry| Arc::clone(&entry.report))
    }
}
