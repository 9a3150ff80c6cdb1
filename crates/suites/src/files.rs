//! The folders that tools may read, and nothing else of the file system.
//!
//! A path from outside becomes a [`RootPath`] by [`ServedRoots::resolve`] alone. Contents are reached through folder handles
//! that can't be led out of their root; secrets are refused inside it as well. This module must not know any tool.

mod surroundings;
mod complete;
mod denied;
mod ignored;
mod kind;
#[cfg_attr(not(unix), path = "files/links_elsewhere.rs")]
mod links;
mod root_path;
#[cfg_attr(not(target_os = "linux"), path = "files/plain_elsewhere.rs")]
mod plain;
mod symlinks;
mod walk;

pub use denied::{BadPattern, AccessRules, denied};
pub(crate) use ignored::OWN_RULES;
pub use kind::{PathKind, SpecialFile};
pub use root_path::{PathError, RootPath};
pub use walk::{WalkEntry, ReadFailure, FolderWalk, WalkOptions};

use surroundings::RootSurroundings;
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

/// The folders that tools may read, held open. Cheap to clone.
#[derive(Clone)]
pub struct ServedRoots {
    all: Arc<[ServedRoot]>,
    /// Places whose documents somebody else looks after.
    collection_places: Arc<[RootPath]>,
    rules: Arc<AccessRules>,
    links: Arc<DeniedFileLinks>,
    /// Credentials, by their real paths.
    secrets: Arc<[PathBuf]>,
    /// Of each root, what decides about its files beside their names in it.
    surroundings: Arc<[RootSurroundings]>,
    /// Whose denied files are refused here as well, under any name.
    related_roots: Option<Arc<Self>>,
}

pub(crate) struct ServedRoot {
    /// As the folder is really called.
    pub(crate) path: PathBuf,
    /// As it was given, which may lead through symbolic links.
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
    /// No folder was named.
    #[error("no root is configured: name at least one folder")]
    None,
    /// One of them can't be opened.
    #[error("root {}: can't be opened as a folder; name one that exists and can be read", path.display())]
    Unusable {
        /// As it was given.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Why a file's contents can't be had. Listed beside a result; seldom the end of a call.
#[derive(Debug, thiserror::Error)]
pub enum ReadProblem {
    /// It holds secrets by its name.
    #[error("{path}: not served, because {rule}")]
    Denied {
        /// Inside its root.
        path: String,
        /// Which rule.
        rule: &'static str,
    },
    /// A folder, a pipe, a socket or a device.
    #[error("{path}: {}", not_a_file(*found))]
    NotAFile {
        /// Inside its root.
        path: String,
        /// What is there instead.
        found: PathKind,
    },
    /// More than the caller wants to hold.
    #[error("{path}: {bytes} bytes are more than the limit of {limit}")]
    TooLarge {
        /// Inside its root.
        path: String,
        /// Its size.
        bytes: u64,
        /// The bound in force.
        limit: u64,
    },
    /// The file system refused.
    #[error("{path}: {}", reason(source))]
    Io {
        /// Inside its root.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

/// Says what went wrong without the operating system's number.
pub(crate) fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".into(),
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            "leads out of its root".into()
        }
        kind => kind.to_string(),
    }
}

/// Says of something that it is not read, and what it is.
pub(crate) fn not_a_file(found: PathKind) -> String {
    format!("not a regular file ({found})")
}

impl ServedRoots {
    /// Opens every folder; the first one is where relative paths start.
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

    /// The same folders under the operator's rules. `secrets` are files and folders that are refused wherever they lie, and
    /// under any name that a hard link gives them here.
    #[must_use]
    pub fn guarded(self, rules: AccessRules, secrets: &[PathBuf]) -> Self {
        let (rules, links) = (Arc::new(rules), Arc::new(DeniedFileLinks::to(secrets)));
        Self { rules, links, secrets: surroundings::real(secrets).into(), ..self }.with_surroundings()
    }

    /// Other folders under the same rules, where what is refused here is refused as well, whatever it is called there.
    pub fn with_same_rules(&self, paths: &[PathBuf]) -> Result<Self, RootsError> {
        let (rules, kin) = (Arc::clone(&self.rules), Some(Arc::new(self.clone())));
        let secrets = Arc::clone(&self.secrets);
        Ok(Self { rules, secrets, related_roots: kin, ..Self::open(paths)? }.with_surroundings())
    }

    /// The same, with what lies around each root looked at anew.
    fn with_surroundings(self) -> Self {
        let related = self.related();
        let around = |root: &ServedRoot| RootSurroundings::find(&root.path, &related, &self.secrets);
        let around: Arc<[RootSurroundings]> = self.all.iter().map(around).collect();
        Self { surroundings: around, ..self }
    }

    /// Every root here and of kin.
    fn related(&self) -> Vec<&Path> {
        let of_kin = self.related_roots.iter().flat_map(|kin| kin.related());
        self.paths().chain(of_kin).collect()
    }

    /// The same folders, where the documents in these places belong to collections of their own.
    #[must_use]
    pub fn with_collection_places(self, places: impl IntoIterator<Item = RootPath>) -> Self {
        Self { collection_places: places.into_iter().collect(), ..self }
    }

    /// Whether documents there belong to a collection.
    pub(crate) fn belongs_to_collection(&self, place: &RootPath) -> bool {
        self.collection_places.iter().any(|aside| aside == place || place.below(aside).is_some())
    }

    /// The first root, as it is really called.
    pub fn primary(&self) -> &Path {
        &self.all[0].path
    }

    /// Every root, as it is really called.
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

    /// Checks a path from outside: relative to the first root, absolute inside a root, or a `file://` address inside one. A
    /// regular file or a folder is there; nothing is opened to find that out.
    pub fn resolve(&self, raw: &str) -> Result<RootPath, PathError> {
        let place = self.parse(raw)?;
        match self.canonical(&place) {
            Ok((canonical, kind)) => match (self.denied(&canonical, kind == PathKind::Folder), kind) {
                (Some(rule), _) => Err(PathError::Denied { path: place.to_string(), rule }),
                (None, PathKind::Special(found)) => {
                    Err(PathError::Special { path: place.to_string(), found })
                }
                (None, _) => Ok(canonical),
            },
            Err(error) => Err(self.refusal(&place, error)),
        }
    }

    /// Checks a path from outside without looking whether anything is there.
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

    /// The place of an absolute path that lies in a root by its name; nothing is looked up.
    pub fn locate(&self, path: &Path) -> Option<RootPath> {
        let inside =
            |base: &Path| path.strip_prefix(base).ok().and_then(Path::to_str).map(str::to_owned);
        let found = self.all.iter().enumerate().filter_map(|(index, root)| {
            let relative = inside(&root.path).or_else(|| inside(&root.given))?;
            Some((index, relative))
        });
        // The innermost root wins where one lies in another.
        let (index, relative) = found.min_by_key(|(_, relative)| relative.len())?;
        RootPath::top(index).join(&relative)
    }

    /// Where a place is on disk: for people, for watchers, never for opening.
    pub fn absolute(&self, place: &RootPath) -> PathBuf {
        let root = &self.all[place.root()].path;
        if place.is_top() { root.clone() } else { root.join(place.relative()) }
    }

    /// How a place is called in answers: inside the first root by its path there, elsewhere in full.
    pub fn name(&self, place: &RootPath) -> String {
        if place.root() == 0 {
            place.to_string()
        } else {
            self.absolute(place).to_string_lossy().into_owned()
        }
    }

    /// The `file://` address of a place.
    pub fn uri(&self, place: &RootPath) -> String {
        root_path::file_uri(&self.absolute(place))
    }

    /// Whether a file, a folder or something else is there; symbolic links are followed inside the root.
    pub fn kind(&self, place: &RootPath) -> Result<PathKind, ReadProblem> {
        let metadata = self
            .dir(root_path)
            .metadata(root_path.relative())
            .map_err(|source| io_problem(root_path, source))?;
        Ok(PathKind::of(&metadata))
    }

    /// The size of a file and when it was last written, as a walk tells them; `None` where it can't be told.
    pub(crate) fn stamp(&self, place: &RootPath) -> Option<(u64, Option<SystemTime>)> {
        let metadata = self.dir(root_path).metadata(root_path.relative()).ok()?;
        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        Some((metadata.len(), modified))
    }

    /// The whole of a regular file of at most `limit` bytes.
    pub fn read(&self, place: &RootPath, limit: u64) -> Result<Vec<u8>, ReadProblem> {
        let (bytes, size) = self.read_start(root_path, limit.saturating_add(1))?;
        // The file may have grown since its size was asked for.
        let size = size.max(bytes.len() as u64);
        if size > limit {
            return Err(ReadProblem::TooLarge { path: place.to_string(), bytes: size, limit });
        }
        Ok(bytes)
    }

    /// The first `limit` bytes of a regular file, and how many it has.
    pub fn read_start(&self, place: &RootPath, limit: u64) -> Result<(Vec<u8>, u64), ReadProblem> {
        if let Some(rule) = self.denied(place, false) {
            return Err(ReadProblem::Denied { path: place.to_string(), rule });
        }
        let (file, metadata) = self.open_regular(root_path)?;
        if self.is_denied_elsewhere(&metadata) {
            let rule = "it is another name of a file that is not served";
            return Err(ReadProblem::Denied { path: place.to_string(), rule });
        }
        let mut bytes = Vec::with_capacity(
            usize::try_from(metadata.len().min(limit)).unwrap_or(0).min(1 << 24),
        );
        file.take(limit).read_to_end(&mut bytes).map_err(|source| io_problem(root_path, source))?;
        Ok((bytes, metadata.len()))
    }

    /// The rule that keeps a place from being served, if there is one: its name in its root or in others, or where it is.
    fn denied(&self, place: &RootPath, is_folder: bool) -> Option<&'static str> {
        let (relative, around) = (place.relative(), &self.surroundings[place.root()]);
        let by_name = self.rules.denied(relative, is_folder);
        by_name.or_else(|| around.denied(relative, is_folder, &self.rules))
    }

    /// Whether a file is a denied one under another name.
    fn is_denied_elsewhere(&self, file: &std::fs::Metadata) -> bool {
        self.links.lead_to_denied(file, self.paths(), &self.rules)
            || self.related_roots.as_ref().is_some_and(|kin| kin.is_denied_elsewhere(file))
    }

    /// The whole of a file of rules of at most `limit` bytes. Its own name is no secret, whatever the operator denies: nobody is
    /// shown what is in it.
    fn read_rules(&self, place: &RootPath, limit: u64) -> Result<Vec<u8>, ReadProblem> {
        let (file, metadata) = self.open_regular(root_path)?;
        let mut bytes = Vec::new();
        file.take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| io_problem(root_path, source))?;
        let size = metadata.len().max(bytes.len() as u64);
        if size > limit {
            return Err(ReadProblem::TooLarge { path: place.to_string(), bytes: size, limit });
        }
        Ok(bytes)
    }

    /// Opens a regular file. What is anything else is not opened.
    fn open_regular(
        &self,
        place: &RootPath,
    ) -> Result<(std::fs::File, std::fs::Metadata), ReadProblem> {
        match plain::open(self.dir(place), place) {
            Some(opened) => opened,
            None => self.open_through_links(place),
        }
    }

    /// Opens a file whose path may lead through symbolic links: where they end decides what is denied.
    fn open_through_links(
        &self,
        place: &RootPath,
    ) -> Result<(std::fs::File, std::fs::Metadata), ReadProblem> {
        let problem = |source| io_problem(place, source);
        let is_file = |found: PathKind| match found {
            PathKind::File => Ok(()),
            _ => Err(ReadProblem::NotAFile { path: place.to_string(), found }),
        };
        let (canonical, kind) = self.canonical(root_path).map_err(problem)?;
        if let Some(rule) = self.denied(&canonical, kind == PathKind::Folder) {
            return Err(ReadProblem::Denied { path: place.to_string(), rule });
        }
        is_file(kind)?;
        let mut options = OpenOptions::new();
        // A pipe or a link that took the file's place since must not block the call or lead elsewhere.
        options.read(true).nonblock(true).follow(FollowSymlinks::No);
        let file = self.dir(root_path).open_with(canonical.relative(), &options).map_err(problem)?;
        let file = file.into_std();
        let metadata = file.metadata().map_err(problem)?;
        is_file(PathKind::of_open(&metadata))?;
        Ok((file, metadata))
    }

    /// Everything under a place that a newcomer should see; see [`WalkOptions`] for what that is. A pipe, a socket or a device
    /// is a problem.
    pub fn walk(&self, place: &RootPath) -> FolderWalk {
        self.walk_with(place, WalkOptions::default())
    }

    /// The same, with a choice.
    pub fn walk_with(&self, place: &RootPath, options: WalkOptions) -> FolderWalk {
        FolderWalk::start(self, place, options, false)
    }

    /// Everything that lies under a place, or directly in it, for a check of what others may open there: whatever it is
    /// called, with pipes, sockets and devices as entries. Nothing of it may be shown.
    pub(crate) fn walk_special(&self, place: &RootPath, flat: bool) -> FolderWalk {
        FolderWalk::start(self, place, WalkOptions { hidden: true, ignored: true, flat }, true)
    }

    /// The same as [`ServedRoots::walk_with`] in one go, on all cores.
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

    /// Fails where a root was removed or replaced since it was opened: its handle shows an empty folder.
    #[expect(clippy::disallowed_methods, reason = "the handle can't tell where its path leads")]
    fn check_there(&self, place: &RootPath, opened: &Metadata) -> io::Result<()> {
        let path = &self.all[place.root()].path;
        if !place.is_top() || links::is_same(&path.metadata()?, opened) {
            return Ok(());
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// The place with every symbolic link resolved, inside the root's handle, and what is there. Opens nothing.
    fn canonical(&self, place: &RootPath) -> io::Result<(RootPath, PathKind)> {
        let dir = self.dir(place);
        // The kernel has the last word on what is outside, missing or a loop.
        let kind = PathKind::of(&dir.metadata(root_path.relative())?);
        Ok((symlinks::follow(dir, root_path)?, kind))
    }

    fn refusal(&self, place: &RootPath, source: io::Error) -> PathError {
        let root = self.all[place.root()].path.display().to_string();
        match source.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename => {
                PathError::Missing { path: place.to_string(), root }
            }
            // The handle refuses by itself, without an error of the operating system.
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
    /// The end of a call that needed this very file.
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
