//! The folders that tools may read; nothing else of the file system is accessible.
//!
//! Only [`ServedRoots::resolve`] turns an external path into a [`RootPath`]. Contents are read through folder handles that
//! can't leave their root; secrets are refused inside it as well. This module must not know any tool.

mod complete;
mod denied;
mod ignored;
mod kind;
#[cfg_attr(not(unix), path = "files/links_elsewhere.rs")]
mod links;
#[cfg_attr(not(target_os = "linux"), path = "files/plain_elsewhere.rs")]
mod plain;
mod root_path;
mod surroundings;
mod symlinks;
mod walk;

pub use denied::{AccessRules, BadPattern, denied};
pub(crate) use ignored::OWN_RULES;
pub use kind::{PathKind, SpecialFile};
pub use root_path::{PathError, RootPath};
pub use walk::{FolderWalk, ReadFailure, WalkEntry, WalkOptions};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::{
    ambient_authority,
    fs::{Dir, Metadata, OpenOptions},
};
use docent_tool::ToolError;
use links::DeniedFileLinks;
use std::{
    fmt,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};
use surroundings::RootSurroundings;

/// The folders that tools may read, held open. Cheap to clone.
#[derive(Clone)]
pub struct ServedRoots {
    all: Arc<[ServedRoot]>,
    /// Places whose documents belong to collections.
    collection_places: Arc<[RootPath]>,
    rules: Arc<AccessRules>,
    links: Arc<DeniedFileLinks>,
    /// Credentials, by their real paths.
    secrets: Arc<[PathBuf]>,
    /// Per root, the rules for its files other than their names in it.
    surroundings: Arc<[RootSurroundings]>,
    /// Roots whose denied files are refused here as well, under any name.
    related_roots: Option<Arc<Self>>,
}

pub(crate) struct ServedRoot {
    /// Real path of the folder.
    pub(crate) path: PathBuf,
    /// Path as given, possibly with symbolic links.
    given_path: PathBuf,
    dir: Dir,
}

impl fmt::Debug for ServedRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.paths()).finish()
    }
}

/// Why the roots can't be served.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// No folder was given.
    #[error("no root is configured: name at least one folder")]
    None,
    /// A root can't be opened.
    #[error("root {}: cannot open it as a folder; name an existing, readable folder", path.display())]
    Unusable {
        /// Path as given.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Why a file can't be read. Listed with a result; rarely fails a call.
#[derive(Debug, thiserror::Error)]
pub enum ReadProblem {
    /// Its name marks it as a secret.
    #[error("{path}: not served, because {rule}")]
    Denied {
        /// Path inside its root.
        path: String,
        /// The rule.
        rule: &'static str,
    },
    /// A folder, a pipe, a socket or a device.
    #[error("{path}: {}", not_a_file(*found))]
    NotAFile {
        /// Path inside its root.
        path: String,
        /// What it is instead.
        found: PathKind,
    },
    /// Larger than the caller's limit.
    #[error("{path}: {bytes} bytes exceed the limit of {limit}")]
    TooLarge {
        /// Path inside its root.
        path: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The file system returned an error.
    #[error("{path}: {}", reason(source))]
    Io {
        /// Path inside its root.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Describes an I/O error without the operating system's number.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".into(),
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            "leads out of its root".into()
        }
        kind => kind.to_string(),
    }
}

/// Describes an entry that is not a regular file.
pub(crate) fn not_a_file(found: PathKind) -> String {
    format!("not a regular file ({found})")
}

impl ServedRoots {
    /// Opens the folders; relative paths start at the first one.
    pub fn open(paths: &[PathBuf]) -> Result<Self, RootsError> {
        let all = paths.iter().map(|path| open_root(path)).collect::<Result<Vec<_>, _>>()?;
        if all.is_empty() {
            return Err(RootsError::None);
        }
        let roots = Self {
            all: all.into(),
            collection_places: Arc::default(),
            rules: Arc::default(),
            links: Arc::default(),
            secrets: Arc::default(),
            surroundings: Arc::default(),
            related_roots: None,
        };
        Ok(roots.with_surroundings())
    }

    /// Applies the operator's rules. `secrets` are files and folders that are refused wherever they are, and under any
    /// hard-linked name.
    #[must_use]
    pub fn guarded(self, rules: AccessRules, secrets: &[PathBuf]) -> Self {
        let (rules, links) = (Arc::new(rules), Arc::new(DeniedFileLinks::to(secrets)));
        Self { rules, links, secrets: surroundings::real(secrets).into(), ..self }
            .with_surroundings()
    }

    /// Opens other folders under the same rules; files refused here are refused there too, under any name.
    pub fn with_same_rules(&self, paths: &[PathBuf]) -> Result<Self, RootsError> {
        let (rules, kin) = (Arc::clone(&self.rules), Some(Arc::new(self.clone())));
        let secrets = Arc::clone(&self.secrets);
        Ok(Self { rules, secrets, related_roots: kin, ..Self::open(paths)? }.with_surroundings())
    }

    /// Recomputes each root's surroundings.
    fn with_surroundings(self) -> Self {
        let related = self.related();
        let around =
            |root: &ServedRoot| RootSurroundings::find(&root.path, &related, &self.secrets);
        let around: Arc<[RootSurroundings]> = self.all.iter().map(around).collect();
        Self { surroundings: around, ..self }
    }

    /// Every root, including related ones.
    fn related(&self) -> Vec<&Path> {
        let of_kin = self.related_roots.iter().flat_map(|kin| kin.related());
        self.paths().chain(of_kin).collect()
    }

    /// Marks places whose documents belong to collections.
    #[must_use]
    pub fn with_collection_places(self, places: impl IntoIterator<Item = RootPath>) -> Self {
        Self { collection_places: places.into_iter().collect(), ..self }
    }

    /// Whether documents in a place belong to a collection.
    pub(crate) fn belongs_to_collection(&self, place: &RootPath) -> bool {
        self.collection_places.iter().any(|aside| aside == place || place.below(aside).is_some())
    }

    /// Real path of the first root.
    pub fn primary(&self) -> &Path {
        &self.all[0].path
    }

    /// Real paths of all roots.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(|root| root.path.as_path())
    }

    /// The top of the first root.
    pub fn top(&self) -> RootPath {
        RootPath::top(0)
    }

    /// The top of every root.
    pub fn tops(&self) -> impl Iterator<Item = RootPath> {
        (0..self.all.len()).map(RootPath::top)
    }

    /// Checks an external path: relative to the first root, absolute inside a root, or a `file://` URI inside one. It
    /// must be an existing regular file or folder; checking opens nothing.
    pub fn resolve(&self, raw: &str) -> Result<RootPath, PathError> {
        let place = self.parse(raw)?;
        match self.canonical(&place) {
            Ok((canonical, kind)) => {
                match (self.denied(&canonical, kind == PathKind::Folder), kind) {
                    (Some(rule), _) => Err(PathError::Denied { path: place.to_string(), rule }),
                    (None, PathKind::Special(found)) => {
                        Err(PathError::Special { path: place.to_string(), found })
                    }
                    (None, _) => Ok(canonical),
                }
            }
            Err(error) => Err(self.refusal(&place, error)),
        }
    }

    /// Checks an external path without checking that it exists.
    pub fn parse(&self, raw: &str) -> Result<RootPath, PathError> {
        let path = root_path::plain_path(raw)?;
        if Path::new(path.as_ref()).is_absolute() {
            let outside = || PathError::Outside { roots: self.names() };
            if root_path::climbs(&path) {
                return Err(outside());
            }
            return self.locate(Path::new(path.as_ref())).ok_or_else(outside);
        }
        if root_path::climbs(&path) {
            return Err(PathError::Outside { roots: self.names() });
        }
        self.top().join(&path).ok_or_else(|| PathError::Outside { roots: self.names() })
    }

    /// The place of an absolute path inside a root, by name only.
    pub fn locate(&self, path: &Path) -> Option<RootPath> {
        let inside =
            |base: &Path| path.strip_prefix(base).ok().and_then(Path::to_str).map(str::to_owned);
        let found = self.all.iter().enumerate().filter_map(|(index, root)| {
            let relative = inside(&root.path).or_else(|| inside(&root.given_path))?;
            Some((index, relative))
        });
        // The innermost of nested roots wins.
        let (index, relative) = found.min_by_key(|(_, relative)| relative.len())?;
        RootPath::top(index).join(&relative)
    }

    /// Path on disk, for messages and watchers; never for opening.
    pub fn absolute(&self, place: &RootPath) -> PathBuf {
        let root = &self.all[place.root()].path;
        if place.is_top() { root.clone() } else { root.join(place.relative()) }
    }

    /// Path of a place in answers: relative in the first root, absolute elsewhere.
    pub fn name(&self, place: &RootPath) -> String {
        if place.root() == 0 {
            place.to_string()
        } else {
            self.absolute(place).to_string_lossy().into_owned()
        }
    }

    /// The `file://` URI of a place.
    pub fn uri(&self, place: &RootPath) -> String {
        root_path::file_uri(&self.absolute(place))
    }

    /// The kind of entry at a place; symbolic links are followed inside the root.
    pub fn kind(&self, place: &RootPath) -> Result<PathKind, ReadProblem> {
        let metadata = self
            .dir(place)
            .metadata(place.relative())
            .map_err(|source| io_problem(place, source))?;
        Ok(PathKind::of(&metadata))
    }

    /// Size and modification time of a file, as in a walk; `None` if unknown.
    pub(crate) fn stamp(&self, place: &RootPath) -> Option<(u64, Option<SystemTime>)> {
        let metadata = self.dir(place).metadata(place.relative()).ok()?;
        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        Some((metadata.len(), modified))
    }

    /// Reads a regular file of at most `limit` bytes.
    pub fn read(&self, place: &RootPath, limit: u64) -> Result<Vec<u8>, ReadProblem> {
        let (bytes, size) = self.read_start(place, limit.saturating_add(1))?;
        // The file may have grown since its size was read.
        let size = size.max(bytes.len() as u64);
        if size > limit {
            return Err(ReadProblem::TooLarge { path: place.to_string(), bytes: size, limit });
        }
        Ok(bytes)
    }

    /// Reads the first `limit` bytes of a regular file; also returns its size.
    pub fn read_start(&self, place: &RootPath, limit: u64) -> Result<(Vec<u8>, u64), ReadProblem> {
        if let Some(rule) = self.denied(place, false) {
            return Err(ReadProblem::Denied { path: place.to_string(), rule });
        }
        let (file, metadata) = self.open_regular(place)?;
        if self.is_denied_elsewhere(&metadata) {
            let rule = "it is another name of a file that is not served";
            return Err(ReadProblem::Denied { path: place.to_string(), rule });
        }
        let mut bytes = Vec::with_capacity(
            usize::try_from(metadata.len().min(limit)).unwrap_or(0).min(1 << 24),
        );
        file.take(limit).read_to_end(&mut bytes).map_err(|source| io_problem(place, source))?;
        Ok((bytes, metadata.len()))
    }

    /// The rule that denies a place, if any: by its name in this or another root, or by its location.
    fn denied(&self, place: &RootPath, is_folder: bool) -> Option<&'static str> {
        let (relative, around) = (place.relative(), &self.surroundings[place.root()]);
        let by_name = self.rules.denied(relative, is_folder);
        by_name.or_else(|| around.denied(relative, is_folder, &self.rules))
    }

    /// Whether a file is another name of a denied file.
    fn is_denied_elsewhere(&self, file: &std::fs::Metadata) -> bool {
        self.links.lead_to_denied(file, self.paths(), &self.rules)
            || self.related_roots.as_ref().is_some_and(|kin| kin.is_denied_elsewhere(file))
    }

    /// Reads an ignore file of at most `limit` bytes, even if the operator's rules deny its name: its contents are never
    /// shown.
    fn read_rules(&self, place: &RootPath, limit: u64) -> Result<Vec<u8>, ReadProblem> {
        let (file, metadata) = self.open_regular(place)?;
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| io_problem(place, source))?;
        let size = metadata.len().max(bytes.len() as u64);
        if size > limit {
            return Err(ReadProblem::TooLarge { path: place.to_string(), bytes: size, limit });
        }
        Ok(bytes)
    }

    /// Opens a regular file; opens nothing else.
    fn open_regular(
        &self,
        place: &RootPath,
    ) -> Result<(std::fs::File, std::fs::Metadata), ReadProblem> {
        match plain::open(self.dir(place), place) {
            Some(opened) => opened,
            None => self.open_through_links(place),
        }
    }

    /// Opens a file whose path may contain symbolic links; their target decides whether it is denied.
    fn open_through_links(
        &self,
        place: &RootPath,
    ) -> Result<(std::fs::File, std::fs::Metadata), ReadProblem> {
        let problem = |source| io_problem(place, source);
        let is_file = |found: PathKind| match found {
            PathKind::File => Ok(()),
            _ => Err(ReadProblem::NotAFile { path: place.to_string(), found }),
        };
        let (canonical, kind) = self.canonical(place).map_err(problem)?;
        if let Some(rule) = self.denied(&canonical, kind == PathKind::Folder) {
            return Err(ReadProblem::Denied { path: place.to_string(), rule });
        }
        is_file(kind)?;
        let mut options = OpenOptions::new();
        // A pipe or link that replaced the file meanwhile must not block the call or lead elsewhere.
        options.read(true).nonblock(true).follow(FollowSymlinks::No);
        let file = self.dir(place).open_with(canonical.relative(), &options).map_err(problem)?;
        let file = file.into_std();
        let metadata = file.metadata().map_err(problem)?;
        is_file(PathKind::of_open(&metadata))?;
        Ok((file, metadata))
    }

    /// Walks everything under a place with the default [`WalkOptions`]. Pipes, sockets and devices are problems.
    pub fn walk(&self, place: &RootPath) -> FolderWalk {
        self.walk_with(place, WalkOptions::default())
    }

    /// Walks everything under a place.
    pub fn walk_with(&self, place: &RootPath, options: WalkOptions) -> FolderWalk {
        FolderWalk::start(self, place, options, false)
    }

    /// Walks everything under a place, or directly in it, to check what others may open there: with any name, and with
    /// pipes, sockets and devices as entries. The result must not be shown.
    pub(crate) fn walk_special(&self, place: &RootPath, flat: bool) -> FolderWalk {
        FolderWalk::start(self, place, WalkOptions { hidden: true, ignored: true, flat }, true)
    }

    /// Like [`ServedRoots::walk_with`], but all at once, on all cores.
    pub(crate) fn walk_all(
        &self,
        place: &RootPath,
        options: WalkOptions,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Vec<Result<WalkEntry, ReadFailure>> {
        FolderWalk::all(self, place, options, stopped)
    }

    fn dir(&self, place: &RootPath) -> &Dir {
        &self.all[place.root()].dir
    }

    /// Fails if a root was removed or replaced since it was opened: its handle shows an empty folder.
    #[expect(clippy::disallowed_methods, reason = "the handle does not know its path")]
    fn check_there(&self, place: &RootPath, opened: &Metadata) -> io::Result<()> {
        let path = &self.all[place.root()].path;
        if !place.is_top() || links::is_same(&path.metadata()?, opened) {
            return Ok(());
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// Resolves every symbolic link inside the root's handle; also returns the kind of entry. Opens nothing.
    fn canonical(&self, place: &RootPath) -> io::Result<(RootPath, PathKind)> {
        let dir = self.dir(place);
        // The kernel decides what is outside, missing or a loop.
        let kind = PathKind::of(&dir.metadata(place.relative())?);
        Ok((symlinks::follow(dir, place)?, kind))
    }

    fn refusal(&self, place: &RootPath, source: io::Error) -> PathError {
        let root = self.all[place.root()].path.display().to_string();
        match source.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename => {
                PathError::Missing { path: place.to_string(), root }
            }
            // The handle itself refuses, without an operating system error.
            io::ErrorKind::PermissionDenied if source.raw_os_error().is_none() => {
                PathError::Outside { roots: self.names() }
            }
            _ => PathError::Unreadable { path: place.to_string(), root, source },
        }
    }

    fn names(&self) -> String {
        self.paths().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}

#[expect(clippy::disallowed_methods, reason = "this is where roots are opened")]
fn open_root(given: &Path) -> Result<ServedRoot, RootsError> {
    let unusable = |source| RootsError::Unusable { path: given.to_owned(), source };
    let path = given.canonicalize().map_err(unusable)?;
    let dir = Dir::open_ambient_dir(&path, ambient_authority()).map_err(unusable)?;
    Ok(ServedRoot { path, given_path: given.to_owned(), dir })
}

fn io_problem(place: &RootPath, source: io::Error) -> ReadProblem {
    match source.kind() {
        io::ErrorKind::IsADirectory => {
            ReadProblem::NotAFile { path: place.to_string(), found: PathKind::Folder }
        }
        _ => ReadProblem::Io { path: place.to_string(), source },
    }
}

impl ReadProblem {
    /// Converts the problem into the error of a call that needed this file.
    pub fn into_tool_error(self, field: &str) -> ToolError {
        match &self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                ToolError::not_found(self.to_string())
            }
            Self::Io { .. } => ToolError::failed(self.to_string()),
            _ => ToolError::argument(field, self.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
