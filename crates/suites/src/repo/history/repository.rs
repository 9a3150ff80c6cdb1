//! A git directory opened for reading: no user or system configuration, no environment, nothing executed.

use super::location::Location;
use crate::{files::ReadFailure, repo::tree::ProjectTree};
use gix::{
    ObjectId,
    bstr::ByteSlice,
    hashtable::HashSet,
    mailmap::Snapshot,
    objs::{FindExt, Kind, TreeRefIter},
    odb::pack::cache::lru::MemoryCappedHashmap,
};

/// Maximum object size; larger ones count as damaged.
const MAX_OBJECT_BYTES: u64 = 64 << 20;
/// Cache size for recently read trees: each is needed again for the parent commit.
const TREE_CACHE_BYTES: usize = 16 << 20;
/// Cache size for delta base objects.
const DELTA_BASE_CACHE_BYTES: usize = 8 << 20;
/// Maximum size of the mailmap.
const MAX_MAILMAP_BYTES: u64 = 1 << 20;

/// An open repository.
pub(super) struct Repository {
    pub(super) git: gix::Repository,
    /// Folders from the repository root down to the analyzed folder, inclusive.
    pub(super) inside: Vec<String>,
    /// Whether it has no work tree.
    pub(super) bare: bool,
    /// Commits at the shallow boundary.
    pub(super) boundary: HashSet<ObjectId>,
    shown: String,
}

/// State of HEAD.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeadState {
    /// Branch; `None` if HEAD is detached.
    pub(super) branch: Option<String>,
    /// Commit; `None` if there are no commits yet.
    pub(super) commit: Option<ObjectId>,
}

impl Repository {
    /// Opens a checked git directory. Ownership does not matter, because nothing in it is trusted.
    #[expect(clippy::disallowed_methods, reason = "a location lies in a root, links followed")]
    pub(super) fn open(location: &Location) -> Result<Self, ReadFailure> {
        let options = gix::open::Options::isolated()
            .with(gix::sec::Trust::Reduced)
            .open_path_as_is(true)
            .config_overrides([
                "core.useReplaceRefs=false".to_owned(),
                format!("gitoxide.objects.allocLimit={MAX_OBJECT_BYTES}"),
            ]);
        let opened = options.open(&location.git_dir).map_err(|error| ReadFailure {
            path: location.shown.clone(),
            reason: format!("the git repository can't be opened: {}", cause(&error)),
        })?;
        let mut git = opened.to_thread_local();
        git.object_cache_size(TREE_CACHE_BYTES);
        git.objects.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(DELTA_BASE_CACHE_BYTES)));
        // Partial clones miss objects by design; looking for new packs each time would be slow.
        git.objects.refresh_never();
        let linked = git.git_dir() != git.common_dir();
        let bare = location.work_tree.is_none() || (git.is_bare() && !linked);
        let inside = if bare { Vec::new() } else { location.inside.clone() };
        let boundary = git.shallow_commits().ok().flatten();
        let boundary = boundary.map(|commits| commits.iter().copied().collect());
        let shown = location.shown.clone();
        Ok(Self { git, inside, bare, boundary: boundary.unwrap_or_default(), shown })
    }

    /// Creates a problem about the history.
    pub(super) fn problem(&self, reason: impl Into<String>) -> ReadFailure {
        ReadFailure { path: self.shown.clone(), reason: reason.into() }
    }

    /// Reads HEAD.
    pub(super) fn head(&self) -> Result<HeadState, ReadFailure> {
        let unreadable =
            |error| self.problem(format!("the git history can't be read: {}", cause(&error)));
        let mut head = self.git.head().map_err(unreadable)?;
        let branch = head.referent_name().map(|name| name.shorten().to_str_lossy().into_owned());
        let commit = head.try_peel_to_id().map_err(unreadable)?.map(gix::Id::detach);
        Ok(HeadState { branch, commit })
    }

    /// Reads the project's mailmap. The configuration may name others, which may be anywhere.
    pub(super) fn mailmap(
        &self,
        tree: &ProjectTree,
        location: &Location,
        head: ObjectId,
    ) -> Snapshot {
        let bytes = match location.work_tree.as_ref().filter(|_| !self.bare) {
            Some(top) => top
                .join(".mailmap")
                .and_then(|place| tree.roots.read(&place, MAX_MAILMAP_BYTES).ok()),
            None => self.committed_mailmap(head),
        };
        bytes.map(|bytes| Snapshot::from_bytes(&bytes)).unwrap_or_default()
    }

    fn committed_mailmap(&self, head: ObjectId) -> Option<Vec<u8>> {
        let mut buffer = Vec::new();
        let objects = &self.git.objects;
        let tree = objects.find_commit(&head, &mut buffer).ok()?.tree();
        let (id, _) = self.entry(tree, ".mailmap", &mut buffer).ok()??;
        let header = self.git.find_header(id).ok()?;
        if header.kind() != Kind::Blob || header.size() > MAX_MAILMAP_BYTES {
            return None;
        }
        Some(objects.find_blob(&id, &mut buffer).ok()?.data.to_owned())
    }

    /// Returns the tree of the analyzed folder in a commit's tree.
    pub(super) fn subtree(
        &self,
        tree: ObjectId,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<ObjectId>, gix::Error> {
        let mut at = tree;
        for name in &self.inside {
            match self.entry(at, name, buffer)? {
                Some((id, true)) => at = id,
                _ => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// Returns the entry with this name, and whether it is a tree.
    fn entry(
        &self,
        tree: ObjectId,
        name: &str,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<(ObjectId, bool)>, gix::Error> {
        for entry in self.entries(Some(tree), buffer)? {
            let entry = entry?;
            if entry.filename == name.as_bytes().as_bstr() {
                return Ok(Some((entry.oid.to_owned(), entry.mode.is_tree())));
            }
        }
        Ok(None)
    }

    /// Iterates over a tree's entries; the empty tree need not exist.
    pub(super) fn entries<'a>(
        &self,
        tree: Option<ObjectId>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<TreeRefIter<'a>, gix::Error> {
        match tree.filter(|tree| !tree.is_empty_tree()) {
            Some(tree) => self.git.objects.find_tree_iter(&tree, buffer),
            None => Ok(TreeRefIter::from_bytes(&[], self.git.object_hash())),
        }
    }
}

/// Describes an error in our own words: git library messages may quote file contents, which may be secret.
fn cause(error: &gix::Error) -> &'static str {
    match error {
        error if error.is_unsupported() => {
            "it is in a format that is not supported, such as reftable"
        }
        error if error.is_permission_denied() => "permission denied",
        error if error.is_not_found() => "something in it is missing",
        _ => "something in it is damaged",
    }
}
