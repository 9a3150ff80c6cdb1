//! Lists the source files of the project as resources, each with a one-line description.

use super::{
    address,
    project::{CodeProject, MAX_FILE_BYTES},
};
use crate::worker_pools;
use docent_syntax::{Language, about, parse};
use docent_tool::{CallContext, ResourceInfo};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of bytes read for a description.
const MAX_HEAD_BYTES: u64 = 32 << 10;

/// Cached paths of the source files, for clients that page through them.
#[derive(Debug, Default)]
pub(super) struct SourceListing {
    state: Mutex<SourceListingState>,
}

#[derive(Debug, Default)]
struct SourceListingState {
    /// Number of changes, so that a list built during a change is not cached.
    changes: u64,
    paths: Option<Arc<[String]>>,
}

impl SourceListing {
    /// Clears the cached list because files have changed.
    pub(super) fn clear(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.changes += 1;
        state.paths = None;
    }

    /// Returns the cached list, or builds it with `list`. It is cached only if `is_current`, when changes clear it.
    fn get(&self, is_current: bool, list: impl FnOnce() -> Option<Vec<String>>) -> Arc<[String]> {
        let lock = || self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (changes, kept) = {
            let state = lock();
            (state.changes, state.paths.clone())
        };
        if let Some(paths) = kept {
            return paths;
        }
        let Some(paths) = list() else { return Arc::default() };
        let paths: Arc<[String]> = paths.into();
        let mut state = lock();
        if is_current && state.changes == changes {
            state.paths = Some(Arc::clone(&paths));
        }
        paths
    }
}

/// Paths of all source files that belong in the index, whether it is ready or not. Empty if the call is stopped.
pub(super) fn paths(project: &CodeProject, context: &CallContext) -> Arc<[String]> {
    let stopped = || context.stop().is_some();
    project.listing.get(project.live.is_listening(), || {
        let mut paths = project.live.code_files(&stopped);
        // Files near the top come first, so that the first page is an overview of the whole project.
        paths.sort_by_cached_key(|path| (path.matches('/').count(), path.clone()));
        (!stopped()).then_some(paths)
    })
}

/// All source files as a list of resources, without descriptions.
pub(super) fn resources(project: &CodeProject, context: &CallContext) -> Vec<ResourceInfo> {
    paths(project, context).iter().map(|path| resource(path)).collect()
}

fn resource(path: &str) -> ResourceInfo {
    ResourceInfo {
        uri: address::annotation_uri(path),
        name: path.rsplit('/').next().unwrap_or(path).to_owned(),
        title: Some(path.to_owned()),
        mime: Some("application/json".into()),
        ..ResourceInfo::default()
    }
}

/// Describes the files at these URIs.
pub(super) fn describe(
    project: &CodeProject,
    uris: &[String],
    context: &CallContext,
) -> Vec<Option<String>> {
    worker_pools::run(|| uris.par_iter().map(|uri| describe_file(project, uri, context)).collect())
}

/// Describes a file from its first bytes; falls back to its language.
fn describe_file(project: &CodeProject, uri: &str, context: &CallContext) -> Option<String> {
    let path = address::path(uri)?.ok()?;
    let place = project.roots.resolve(&path).ok()?;
    let (bytes, size) = project.roots.read_start(&place, MAX_HEAD_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let language =
        project.live.requested_language(&place).or_else(|| Language::of_text(&path, &text))?;
    let is_source = size <= MAX_FILE_BYTES && !text.contains('\0');
    let tree = is_source.then(|| parse::tree(language, &text, &|| context.stop().is_some()));
    let tree = tree.and_then(Result::ok);
    let found = tree.and_then(|tree| about(language, &path, &text, &tree));
    Some(found.unwrap_or_else(|| language.name().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_kept_until_a_change() {
        let listing = SourceListing::default();
        let list = |name: &str| Some(vec![name.to_owned()]);
        assert_eq!(listing.get(false, || list("a"))[0], "a");
        assert_eq!(
            listing.get(true, || list("b"))[0],
            "b",
            "not kept where changes are not heard of"
        );
        assert_eq!(listing.get(true, || list("c"))[0], "b");
        listing.clear();
        let during_a_change = || {
            listing.clear();
            list("d")
        };
        assert_eq!(listing.get(true, during_a_change)[0], "d");
        assert_eq!(listing.get(true, || None).len(), 0, "a list that was stopped");
        assert_eq!(listing.get(true, || list("e"))[0], "e");
    }
}
