//! Reads archives one file at a time, within limits, and without paths outside the archive.
//!
//! Writes nothing, and does not open nested archives.

mod tar_reader;
pub(crate) mod zip;

use crate::format::Unreadable;
use std::collections::HashSet;

/// Maximum problems listed; further ones are counted.
const MAX_LISTED_PROBLEMS: usize = 100;
/// Maximum bytes of a path; longer ones are an attack on memory.
const MAX_PATH_BYTES: usize = 4096;
/// Archives that unpack to less than this have no ratio limit.
const MIN_RATIO_CHECK_BYTES: u64 = 10 << 20;
/// Extensions of nested archives.
const ARCHIVE_EXTENSIONS: [&str; 13] = [
    ".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".txz", ".tar.zst", ".tar.bz2", ".tbz2", ".7z",
    ".rar", ".jar", ".whl",
];

/// An archive format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Archive {
    /// `.zip`.
    Zip,
    /// `.tar`.
    Tar,
    /// `.tar.gz` and `.tgz`.
    TarGz,
}

/// Limits on the content of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Maximum files; later ones are skipped.
    pub entries: usize,
    /// Maximum bytes of one file; larger ones are skipped.
    pub entry_bytes: u64,
    /// Maximum unpacked bytes in total; more end the reading.
    pub total_bytes: u64,
    /// Maximum ratio of unpacked to packed size above 10 MB; more end the reading.
    pub ratio: u64,
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self { entries: 100_000, entry_bytes: 32 << 20, total_bytes: 2 << 30, ratio: 200 }
    }
}

/// One file of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveEntry<'a> {
    /// Relative, with `/`, and without `.` and `..`.
    pub path: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
}

/// Skipped files of an archive, as messages for the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArchiveProblems {
    /// The first hundred problems.
    pub listed: Vec<String>,
    /// The number of further problems.
    pub more: usize,
}

impl ArchiveProblems {
    fn add(&mut self, path: &str, what: &str) {
        if self.listed.len() < MAX_LISTED_PROBLEMS {
            let path: String = path.chars().filter(|c| !c.is_control()).take(200).collect();
            let line = if path.is_empty() { what.to_owned() } else { format!("{path}: {what}") };
            self.listed.push(line);
        } else {
            self.more += 1;
        }
    }
}

impl Archive {
    /// Detects an archive by file name.
    pub fn from_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let ends = |end: &str| name.len() > end.len() && name.ends_with(end);
        match () {
            () if ends(".zip") => Some(Self::Zip),
            () if ends(".tar") => Some(Self::Tar),
            () if ends(".tar.gz") || ends(".tgz") => Some(Self::TarGz),
            () => None,
        }
    }

    /// Display name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::TarGz => "tar.gz",
        }
    }

    /// Passes the wanted files to `each`, one after the other; returns the skipped ones.
    ///
    /// Reads a damaged archive up to the damage. An archive that exceeds the total limits ends with
    /// [`Unreadable::TooLarge`], after the files before. Memory is bounded by the largest file.
    pub fn entries(
        self,
        bytes: &[u8],
        limits: &ArchiveLimits,
        wanted: &dyn Fn(&str) -> bool,
        each: &mut dyn FnMut(ArchiveEntry<'_>),
    ) -> Result<ArchiveProblems, Unreadable> {
        if bytes.is_empty() {
            return Err(Unreadable::Empty);
        }
        let mut intake = ArchiveIntake::new(limits, wanted, each);
        match self {
            Self::Zip => zip::entries(bytes, &mut intake)?,
            Self::Tar => tar_reader::entries(tar_reader::TarSource::Plain(bytes), &mut intake)?,
            Self::TarGz => tar_reader::entries(tar_reader::TarSource::gzip(bytes), &mut intake)?,
        }
        Ok(intake.problems)
    }
}

/// Checks shared by all archive formats for every file.
struct ArchiveIntake<'a> {
    limits: &'a ArchiveLimits,
    wanted: &'a dyn Fn(&str) -> bool,
    each: &'a mut dyn FnMut(ArchiveEntry<'_>),
    seen: HashSet<String>,
    files: usize,
    problems: ArchiveProblems,
}

impl<'a> ArchiveIntake<'a> {
    fn new(
        limits: &'a ArchiveLimits,
        wanted: &'a dyn Fn(&str) -> bool,
        each: &'a mut dyn FnMut(ArchiveEntry<'_>),
    ) -> Self {
        let (seen, problems) = (HashSet::new(), ArchiveProblems::default());
        Self { limits, wanted, each, seen, files: 0, problems }
    }

    /// Whether the limit allows one more file.
    fn has_room(&mut self) -> bool {
        let room = self.files < self.limits.entries;
        self.files += 1;
        if !room {
            let what =
                format!("it contains more than {} files; the rest is skipped", self.limits.entries);
            self.problems.add("", &what);
        }
        room
    }

    /// The checked path of a file. `None` if it is not wanted, or rejected; a rejection is listed as a problem.
    fn path(&mut self, name: &str, size: u64) -> Option<String> {
        let path = match inside(name) {
            Ok(path) => path,
            Err(what) => {
                self.problems.add(name, what);
                return None;
            }
        };
        let lower = path.to_ascii_lowercase();
        if ARCHIVE_EXTENSIONS.iter().any(|end| lower.ends_with(end)) {
            self.problems.add(&path, "nested archives are not opened");
            return None;
        }
        if !(self.wanted)(&path) {
            return None;
        }
        if size > self.limits.entry_bytes {
            let what = format!("it has {size} bytes; the limit is {}", self.limits.entry_bytes);
            self.problems.add(&path, &what);
            return None;
        }
        if !self.seen.insert(path.clone()) {
            self.problems.add(&path, "duplicate name; only the first is read");
            return None;
        }
        Some(path)
    }

    fn hand_out(&mut self, path: &str, bytes: &[u8]) {
        (self.each)(ArchiveEntry { path, bytes });
    }

    const fn too_large(&self) -> Unreadable {
        Unreadable::TooLarge { limit: self.limits.total_bytes }
    }
}

/// Converts a name into a relative path inside the archive.
fn inside(name: &str) -> Result<String, &'static str> {
    if name.contains('\0') {
        return Err("its name contains a NUL byte");
    }
    if name.len() > MAX_PATH_BYTES {
        return Err("its name is too long");
    }
    // Some archives use the other separator; both are checked, so that neither leads outside.
    let name = name.replace('\\', "/");
    let mut letters = name.chars();
    let drive = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.next().is_some_and(|c| c == ':');
    if name.starts_with('/') || drive {
        return Err("its name is an absolute path");
    }
    let parts: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err("its name leads outside the archive");
    }
    if parts.is_empty() {
        return Err("it has no name");
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
pub(crate) mod tests;
