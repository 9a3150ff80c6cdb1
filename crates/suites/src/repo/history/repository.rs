//! A git directory, opened for reading: no configuration of the user or the system, no environment, nothing executed.

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

/// An object that claims to be larger is treated as damaged.
const MAX_OBJECT_BYTES: u64 = 64 << 20;
/// Trees that were read lately are kept up to this size: each is needed again by the commit before.
const TREE_CACHE_BYTES: usize = 16 << 20;
/// So are those that others are stored as differences from.
const DELTA_BASE_CACHE_BYTES: usize = 8 << 20;
/// A longer mailmap is not read.
const MAX_MAILMAP_BYTES: u64 = 1 << 20;

/// An open repository.
pub(super) struct Repository {
    pub(super) git: gix::Repository,
    /// The folders between the top of the repository and the analysed one, with it.
    pub(super) inside: Vec<String>,
    /// Whether there are no files beside the history.
    pub(super) bare: bool,
    /// Commits whose parents were not cloned.
    pub(super) boundary: HashSet<ObjectId>,
    shown: String,
}

/// What HEAD is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HeadState {
    /// The branch; `None` where HEAD is a commit itself.
    pub(super) branch: Option<String>,
    /// `None` where nothing was committed yet.
    pub(super) commit: Option<ObjectId>,
}

impl Repository {
    /// Opens a git directory that was checked before. Who owns it makes no difference, as nothing in it is trusted.
    #[expect(clippy::disallowed_methods, reason = "a location lies in a root, links followed")]
    pub(super) fn open(location: &Location) -> Result<Self, ReadFailure> {
        let options = gix::open::Options::isolated()
            .with(gix::sec::Trust::Reduced)
            .open_path_as_is(true)
            .config_overrides([
                "core.useReplaceRefs=false".to_owned(),
                format!("gitoxide.objects.allocLimit={OBJECT_BYTES}"),
            ]);
        let opened = options.open(&location.git_dir).map_err(|error| ReadFailure {
            path: location.shown.clone(),
            reason: format!("the git repository can't be opened: {}", cause(&error)),
        })?;
        let mut git = opened.to_thread_local();
        git.object_cache_size(TREE_CACHE_BYTES);
        git.objects.set_pack_cache(|| Box::new(MemoryCappedHashmap::new(DELTA_BASE_CACHE_BYTES)));
        // In a partial clone objects are missing by design; looking for new packs each time would cost a lot.
        git.objects.refresh_never();
        let linked = git.git_dir() != git.common_dir();
        let bare = location.work_tree.is_none() || (git.is_bare() && !linked);
        let inside = if bare { Vec::new() } else { location.inside.clone() };
        let boundary = git.shallow_commits().ok().flatten();
        let boundary = boundary.map(|commits| commits.iter().copied().collect());
        let shown = location.shown.clone();
        Ok(Self { git, inside, bare, boundary: boundary.unwrap_or_default(), shown })
    }

    /// Something that the history lacks.
    pub(super) fn problem(&self, reason: impl Into<String>) -> ReadFailure {
        ReadFailure { path: self.shown.clone(), reason: reason.into() }
    }

    /// Where the history starts.
    pub(super) fn head(&self) -> Result<HeadState, ReadFailure> {
        let unreadable =
            |error| self.problem(format!("the git history can't be read: {}", cause(&error)));
        let mut head = self.git.head().map_err(unreadable)?;
        let branch = head.referent_name().map(|name| name.shorten().to_str_lossy().into_owned());
        let commit = head.try_peel_to_id().map_err(unreadable)?.map(gix::Id::detach);
        Ok(HeadState { branch, commit })
    }

    /// The project's own list of who is who. Its configuration may name others, which may lie anywhere.
    pub(super) fn mailmap(&self, tree: &ProjectTree, location: &Location, head: ObjectId) -> Snapshot {
        let bytes = match location.work_tree.as_ref().filter(|_| !self.bare) {
            Some(top) => {
                top.join(".mailmap").and_then(|place| tree.roots.read(&place, MAX_MAILMAP_BYTES).ok())
            }
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

    /// The tree of the analysed folder inside the tree of a commit.
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

    /// What has this name in a tree, and whether it is a tree itself.
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

    /// The entries of a tree; the empty one need not exist.
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

/// What is wrong, in our own words: those of the git library may quote what it read, and that may be a secret.
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
