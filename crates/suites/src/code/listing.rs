//! The source files of the project as a list of resources, and one line on what each is about.

use super::{
    address,
    project::{MAX_FILE_BYTES, CodeProject},
};
use crate::worker_pools;
use docent_syntax::{Language, about, parse};
use docent_tool::{CallContext, ResourceInfo};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a file that its description is made from.
const MAX_HEAD_BYTES: u64 = 32 << 10;

/// The paths of the source files as they were last listed. A client asks for page after page.
#[derive(Debug, Default)]
pub(super) struct SourceListing {
    state: Mutex<SourceListingState>,
}

#[derive(Debug, Default)]
struct SourceListingState {
    /// Counts the changes, so that a list that was made during one is not kept.
    changes: u64,
    paths: Option<Arc<[String]>>,
}

impl SourceListing {
    /// Forgets the list: files have changed.
    pub(super) fn clear(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.changes += 1;
        state.paths = None;
    }

    /// The list, from `list` unless it is kept. It is kept where `is_current` says that changes clear it.
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

/// The paths of all source files that belong into the index, whether it is ready or not. Empty where the call is stopped.
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

/// What the files at these addresses are about.
pub(super) fn describe(
    project: &CodeProject,
    uris: &[String],
    context: &CallContext,
) -> Vec<Option<String>> {
    worker_pools::run(|| uris.par_iter().map(|uri| describe_file(project, uri, context)).collect())
}

/// What a file is about, from its first bytes; at least its language.
fn describe_file(project: &CodeProject, uri: &str, context: &CallContext) -> Option<String> {
    let path = address::path(uri)?.ok()?;
    let place = project.roots.resolve(&path).ok()?;
    let (bytes, size) = project.roots.read_start(&place, MAX_HEAD_BYTES).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let language = project.live.wanted(&place).or_else(|| Language::of_text(&path, &text))?;
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
