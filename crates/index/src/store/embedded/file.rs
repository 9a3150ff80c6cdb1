//! Files of a generation: written once, synced, sealed by a hash, and mapped into memory.
//!
//! A repository may contain a state folder, so links are not followed, and no name may leave the folder.

use super::super::IndexStoreError;
use docent_files::{DataFile, FileAccess, ManagedFolder, is_link_error};
use memmap2::Mmap;
use serde::{Deserialize, Serialize};
use std::{
    io::{self, BufWriter, Write},
    path::{Component, Path, PathBuf},
};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// Ends the process if a test requests it.
macro_rules! crash_point {
    ($name:expr) => {
        fail::fail_point!($name, |_| std::process::abort());
    };
}
pub(super) use crash_point;

/// A file listed in a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ManifestFile {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// Hash of its contents, in hexadecimal: JSON numbers are not always 64-bit.
    pub(super) hash: String,
}

pub(super) fn failed(path: &Path) -> impl Fn(io::Error) -> IndexStoreError {
    move |source| IndexStoreError::File { path: path.to_owned(), source }
}

pub(super) fn corrupt(file: &str, reason: impl Into<String>) -> IndexStoreError {
    IndexStoreError::Corrupt { file: file.to_owned(), reason: reason.into() }
}

/// Whether this is a plain file name, not a path.
pub(super) fn is_plain(name: &Path) -> bool {
    let mut parts = name.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(only)), None) => only == name.as_os_str(),
        _ => false,
    }
}

/// A file being written. It is used only once a manifest lists it, so it is not renamed.
pub(super) struct SealedFileWriter {
    path: PathBuf,
    name: String,
    file: BufWriter<DataFile>,
    hash: Xxh3Default,
    bytes: u64,
}

impl SealedFileWriter {
    pub(super) fn create(folder: &ManagedFolder, name: String) -> Result<Self, IndexStoreError> {
        crash_point!("index-create");
        let path = folder.path().join(&name);
        let file = folder.create_over(&name, FileAccess::Private).map_err(failed(&path))?;
        let file = BufWriter::with_capacity(1 << 18, file);
        Ok(Self { path, name, file, hash: Xxh3Default::new(), bytes: 0 })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), IndexStoreError> {
        crash_point!("index-write");
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(failed(&self.path))
    }

    pub(super) fn position(&self) -> u64 {
        self.bytes
    }

    /// Syncs it to disk.
    pub(super) fn finish(mut self) -> Result<ManifestFile, IndexStoreError> {
        crash_point!("index-flush");
        self.file.flush().map_err(failed(&self.path))?;
        crash_point!("index-sync");
        self.file.get_ref().sync_all().map_err(failed(&self.path))?;
        crash_point!("index-synced");
        let hash = format!("{:016x}", self.hash.digest());
        Ok(ManifestFile { name: self.name, bytes: self.bytes, hash })
    }
}

/// A memory-mapped file.
#[derive(Debug)]
pub(super) struct MappedFile {
    /// `None` for an empty file.
    map: Option<Mmap>,
}

impl MappedFile {
    /// Maps a file after checking its length.
    pub(super) fn open(
        folder: &ManagedFolder,
        sealed: &ManifestFile,
    ) -> Result<Self, IndexStoreError> {
        let path = folder.path().join(&sealed.name);
        let file = folder.read(&sealed.name).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => corrupt(&sealed.name, error.to_string()),
            _ if is_link_error(&error) => corrupt(&sealed.name, error.to_string()),
            _ => failed(&path)(error),
        })?;
        let length = file.metadata().map_err(failed(&path))?.len();
        if length != sealed.bytes {
            let reason = format!("{length} bytes long instead of {}", sealed.bytes);
            return Err(corrupt(&sealed.name, reason));
        }
        if length == 0 {
            return Ok(Self { map: None });
        }
        #[expect(unsafe_code, reason = "mapping reads a file without copying it")]
        // SAFETY: files of an index are written once, before any manifest names them, and are only ever removed after
        // that, which leaves a mapping as it is. Other programs must not write to the state folder.
        let map = unsafe { Mmap::map(file.as_file()) }.map_err(failed(&path))?;
        Ok(Self { map: Some(map) })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }

    /// Verifies the hash of the whole file.
    pub(super) fn verify(&self, sealed: &ManifestFile) -> Result<(), IndexStoreError> {
        if format!("{:016x}", xxh3_64(self.bytes())) == sealed.hash {
            return Ok(());
        }
        Err(corrupt(&sealed.name, "its checksum is wrong"))
    }
}

/// Syncs a folder, so that its names are durable.
pub(super) fn sync_folder(folder: &ManagedFolder) -> Result<(), IndexStoreError> {
    crash_point!("index-sync-folder");
    folder.sync().map_err(failed(folder.path()))
}

/// Removes a file that no manifest lists. If it is still in use, the next writer retries.
pub(super) fn discard(folder: &ManagedFolder, name: &str) {
    crash_point!("index-remove");
    if let Err(error) = folder.remove(name) {
        tracing::debug!(folder = %folder.path().display(), name, %error, "cannot remove an old index file yet");
    }
}
