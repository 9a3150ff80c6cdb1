//! Hard links: a denied file has the same contents under every name, so it is also identified by its inode.

use super::denied::AccessRules;
use ignore::WalkBuilder;
use std::{
    collections::HashSet,
    fs::Metadata,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Maximum lag of file timestamps behind the kernel's clock.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// Device and inode of a file.
type FileNumber = (u64, u64);

/// Inodes of denied files. Collected only once a file with several names is read.
#[derive(Debug, Default)]
pub(super) struct DeniedFileLinks {
    /// Secrets outside the roots.
    outside_files: Vec<PathBuf>,
    known: Mutex<Option<DeniedFileNumbers>>,
}

#[derive(Debug)]
struct DeniedFileNumbers {
    since: SystemTime,
    numbers: HashSet<FileNumber>,
}

impl DeniedFileLinks {
    /// Denies the files in these places under any name; folders are listed now.
    pub(super) fn to(places: &[PathBuf]) -> Self {
        let files = places.iter().flat_map(|place| everything(place));
        Self { outside_files: files.collect(), known: Mutex::default() }
    }

    /// Whether a file is another name of a denied file.
    pub(super) fn lead_to_denied<'a>(
        &self,
        file: &Metadata,
        roots: impl Iterator<Item = &'a Path>,
        rules: &AccessRules,
    ) -> bool {
        if file.nlink() < 2 {
            return false;
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A new hard link changes the timestamp of the file, so an earlier collection may lack it.
        let named = changed(file);
        let is_fresh =
            |known: &DeniedFileNumbers| named.is_some_and(|named| named + CLOCK_TICK < known.since);
        let known = match &mut *known {
            Some(known) if is_fresh(known) => known,
            slot => slot.insert(self.collect_numbers(roots, rules)),
        };
        known.numbers.contains(&number(file))
    }

    #[expect(clippy::disallowed_methods, reason = "secrets may be outside the roots")]
    fn collect_numbers<'a>(
        &self,
        roots: impl Iterator<Item = &'a Path>,
        rules: &AccessRules,
    ) -> DeniedFileNumbers {
        let since = SystemTime::now();
        let mut numbers: HashSet<FileNumber> = self
            .outside_files
            .iter()
            .filter_map(|path| Some(number(&path.metadata().ok()?)))
            .collect();
        for root in roots {
            let denied = everything(root).filter(|path| {
                let relative = path.strip_prefix(root).ok().and_then(Path::to_str);
                relative.is_some_and(|path| rules.denied(path, false).is_some())
            });
            numbers.extend(denied.filter_map(|path| Some(number(&path.symlink_metadata().ok()?))));
        }
        DeniedFileNumbers { since, numbers }
    }
}

/// Every file under a path, including hidden and ignored ones, except git's object store.
#[expect(clippy::disallowed_methods, reason = "`Roots` hides denied files")]
fn everything(path: &Path) -> impl Iterator<Item = PathBuf> {
    let walk = WalkBuilder::new(path)
        .standard_filters(false)
        .follow_links(false)
        .filter_entry(|entry| {
            let in_git = || entry.path().parent().is_some_and(|above| above.ends_with(".git"));
            !(entry.file_name() == "objects" && in_git())
        })
        .build();
    let is_file = |entry: &ignore::DirEntry| entry.file_type().is_some_and(|kind| kind.is_file());
    walk.filter_map(Result::ok).filter(is_file).map(ignore::DirEntry::into_path)
}

/// Whether both are the same file or folder.
pub(super) fn is_same(one: &Metadata, other: &cap_std::fs::Metadata) -> bool {
    use cap_std::fs::MetadataExt as _;
    number(one) == (other.dev(), other.ino())
}

fn number(file: &Metadata) -> FileNumber {
    (file.dev(), file.ino())
}

fn changed(file: &Metadata) -> Option<SystemTime> {
    let seconds = Duration::from_secs(u64::try_from(file.ctime()).ok()?);
    let nanoseconds = Duration::from_nanos(u64::try_from(file.ctime_nsec()).ok()?);
    Some(UNIX_EPOCH + seconds + nanoseconds)
}
