//! Archives: their files one at a time, none of them outside its folder, none of them larger than it may be.
//!
//! Nothing is written anywhere, and no archive within an archive is opened.

mod tar_reader;
pub(crate) mod zip;

use crate::format::Unreadable;
use std::collections::HashSet;

/// Problems that are told one by one; further ones are counted.
const MAX_LISTED_PROBLEMS: usize = 100;
/// Longer paths are made to fill the memory.
const MAX_PATH_BYTES: usize = 4096;
/// What unpacks to less than this may be packed as tightly as it likes.
const MIN_RATIO_CHECK_BYTES: u64 = 10 << 20;
/// How archives within an archive are called.
const ARCHIVE_EXTENSIONS: [&str; 13] = [
    ".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".txz", ".tar.zst", ".tar.bz2", ".tbz2", ".7z",
    ".rar", ".jar", ".whl",
];

/// How files are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Archive {
    /// `.zip`.
    Zip,
    /// `.tar`.
    Tar,
    /// `.tar.gz` and `.tgz`.
    TarGz,
}

/// How much an archive may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Files; the ones after that are left out.
    pub entries: usize,
    /// Bytes of one file; a larger one is left out.
    pub entry_bytes: u64,
    /// Bytes of all that is unpacked; more of them end the reading.
    pub total_bytes: u64,
    /// How many times its packed size something over 10 MB may unpack to; more end the reading.
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
    /// What it holds.
    pub bytes: &'a [u8],
}

/// What of an archive was not handed out, for people.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArchiveProblems {
    /// The first hundred.
    pub listed: Vec<String>,
    /// How many more there are.
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
    /// Told by a file's name.
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

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::TarGz => "tar.gz",
        }
    }

    /// Hands out the files that are wanted by their path, one after the other; tells what is left out.
    ///
    /// Of a damaged archive it hands out what comes before the damage. One that is made to fill the memory ends the
    /// reading with [`Unreadable::TooLarge`], after what came before. Memory is bounded by the largest file.
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

/// What both kinds of archive ask of every file before it is handed out.
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

    /// Whether there is room for one more file.
    fn has_room(&mut self) -> bool {
        let room = self.files < self.limits.entries;
        self.files += 1;
        if !room {
            let what =
                format!("it holds more than {} files; the rest is not read", self.limits.entries);
            self.problems.add("", &what);
        }
        room
    }

    /// The path that a file is handed out by. Nothing where it is not wanted, or must not be; the latter is told.
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
            self.problems.add(&path, "it is an archive within an archive, and is not opened");
            return None;
        }
        if !(self.wanted)(&path) {
            return None;
        }
        if size > self.limits.entry_bytes {
            let what = format!(
                "it has {size} bytes, more than the {} that are read",
                self.limits.entry_bytes
            );
            self.problems.add(&path, &what);
            return None;
        }
        if !self.seen.insert(path.clone()) {
            self.problems.add(&path, "there are several of this name; only the first is read");
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

/// A name as a path that stays inside the folder it is unpacked in.
fn inside(name: &str) -> Result<String, &'static str> {
    if name.contains('\0') {
        return Err("its name holds a NUL");
    }
    if name.len() > MAX_PATH_BYTES {
        return Err("its name is too long");
    }
    // Some archives are made with the other separator; both are looked at, so that neither leads outside.
    let name = name.replace('\\', "/");
    let mut letters = name.chars();
    let drive = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.next().is_some_and(|c| c == ':');
    if name.starts_with('/') || drive {
        return Err("its name is an absolute path");
    }
    let parts: Vec<&str> = name.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err("its name leads outside of the archive");
    }
    if parts.is_empty() {
        return Err("it has no name");
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
pub(crate) mod tests;
