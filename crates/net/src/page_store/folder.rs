//! A page store in a folder: the pages, their list, and the events of an unfinished crawl.

use super::{CrawlEvent, PageStore, PageStoreError, SavedCrawl, StoredPage};
use docent_files::{DataFile, Durability, FileAccess, ManagedFolder};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Read as _, Write as _},
    path::Path,
};

/// Folder of the pages.
pub const PAGES_FOLDER: &str = "pages";
const STATE_FILE: &str = "crawl.json";
const EVENTS_FILE: &str = "crawl.jsonl";
/// Maximum size of a state file; a larger one is not ours.
const MAX_STATE_BYTES: u64 = 256 << 20;
/// Format version of the list.
const STATE_VERSION: u32 = 1;

/// A page store in a folder that no other process writes to. Follows no links in it.
#[derive(Debug)]
pub struct FolderPageStore {
    folder: ManagedFolder,
    notes: Option<DataFile>,
}

#[derive(Serialize, Deserialize)]
struct CrawlStateFile<P> {
    version: u32,
    pages: P,
}

impl FolderPageStore {
    /// Opens the store in this folder.
    pub fn new(folder: impl Into<ManagedFolder>) -> Self {
        Self { folder: folder.into(), notes: None }
    }

    /// The pages of the last crawl, finished or not.
    pub fn pages(&mut self) -> Result<Vec<StoredPage>, PageStoreError> {
        let saved = self.load()?;
        Ok(saved.after().into_values().collect())
    }

    fn read(&self, file: &str) -> Result<Option<Vec<u8>>, PageStoreError> {
        let read = || -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            let (folder, name) = self.folder.locate(Path::new(file))?;
            folder.read(name)?.take(MAX_STATE_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(io_error(file, source)),
        }
    }

    fn replace(
        &self,
        file: &str,
        bytes: &[u8],
        durability: Durability,
    ) -> Result<(), PageStoreError> {
        let write = || {
            let (folder, name) = self.folder.locate(Path::new(file))?;
            folder.make(FileAccess::Private)?;
            folder.replace(name, bytes, FileAccess::Private, durability)
        };
        write().map_err(|source| io_error(file, source))
    }

    fn open_notes(&self) -> io::Result<DataFile> {
        self.folder.make(FileAccess::Private)?;
        let mut notes = self.folder.append(EVENTS_FILE, FileAccess::Private)?;
        // A kill may have truncated the last line; the next one must not be appended to it.
        let mut bytes = Vec::new();
        notes.read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole < bytes.len() {
            notes.set_len(whole as u64)?;
        }
        Ok(notes)
    }

    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let mut notes = match self.notes.take() {
            Some(notes) => notes,
            None => self.open_notes()?,
        };
        notes.write_all(line)?;
        self.notes = Some(notes);
        Ok(())
    }
}

fn io_error(file: &str, source: io::Error) -> PageStoreError {
    PageStoreError::Io { file: file.to_owned(), source }
}

fn page_path(file: &str) -> String {
    format!("{PAGES_FOLDER}/{file}")
}

impl PageStore for FolderPageStore {
    fn load(&mut self) -> Result<SavedCrawl, PageStoreError> {
        let mut saved = SavedCrawl::default();
        if let Some(bytes) = self.read(STATE_FILE)? {
            let state: CrawlStateFile<Vec<StoredPage>> =
                serde_json::from_slice(&bytes).map_err(|source| PageStoreError::Damaged {
                    file: STATE_FILE.to_owned(),
                    source,
                })?;
            // A list in another format is useless; its pages are fetched again.
            if state.version == STATE_VERSION {
                saved.pages = state.pages;
            }
        }
        let notes = self.read(EVENTS_FILE)?.unwrap_or_default();
        let lines = notes.split_inclusive(|byte| *byte == b'\n');
        // A line without a newline is truncated.
        let whole = lines.filter(|line| line.ends_with(b"\n"));
        saved.events = whole.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        Ok(saved)
    }

    fn get(&mut self, file: &str) -> Result<Option<Vec<u8>>, PageStoreError> {
        self.read(&page_path(file))
    }

    fn put(&mut self, file: &str, bytes: &[u8]) -> Result<(), PageStoreError> {
        self.replace(&page_path(file), bytes, Durability::Cached)
    }

    fn remove(&mut self, file: &str) -> Result<(), PageStoreError> {
        let file = page_path(file);
        let remove = |path| {
            let (folder, name) = self.folder.locate(path)?;
            folder.remove(name)
        };
        match remove(Path::new(&file)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(io_error(&file, source)),
        }
        let remove_empty = |path| {
            let (folder, name) = self.folder.locate(path)?;
            folder.remove_empty(name)
        };
        for parent in Path::new(&file).ancestors().skip(1) {
            // Stops at the first folder that is not empty.
            if parent == Path::new(PAGES_FOLDER) || remove_empty(parent).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn note(&mut self, event: &CrawlEvent) -> Result<(), PageStoreError> {
        let damaged = |source| PageStoreError::Damaged { file: EVENTS_FILE.to_owned(), source };
        let mut line = serde_json::to_vec(event).map_err(damaged)?;
        line.push(b'\n');
        self.append(&line).map_err(|source| io_error(EVENTS_FILE, source))
    }

    fn finish(&mut self, pages: &[StoredPage]) -> Result<(), PageStoreError> {
        let damaged = |source| PageStoreError::Damaged { file: STATE_FILE.to_owned(), source };
        let state = CrawlStateFile { version: STATE_VERSION, pages };
        let bytes = serde_json::to_vec(&state).map_err(damaged)?;
        self.replace(STATE_FILE, &bytes, Durability::Synced)?;
        // The events add nothing to the list now, so a kill in between is harmless.
        self.notes = None;
        match self.folder.remove(EVENTS_FILE) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(io_error(EVENTS_FILE, source))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{client::CacheValidators, page_store::UrlOutcome};

    fn shelf(folder: &Path) -> FolderPageStore {
        FolderPageStore::new(folder)
    }

    fn page(name: &str) -> StoredPage {
        StoredPage {
            url: format!("https://a.test/{name}"),
            file: format!("{name}.html"),
            media_type: Some("text/html".to_owned()),
            validators: CacheValidators { etag: Some("\"1\"".to_owned()), last_modified: None },
            digest: "00".to_owned(),
            fetched: 1,
            missing: 0,
        }
    }

    fn done(name: &str, page: Option<StoredPage>) -> CrawlEvent {
        CrawlEvent::Done {
            url: format!("https://a.test/{name}"),
            outcome: UrlOutcome::Fetched,
            page,
        }
    }

    #[test]
    fn pages_and_notes_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let events = [
            CrawlEvent::Found { url: "https://a.test/b".to_owned(), hops: 1 },
            CrawlEvent::Begun { site: "x".to_owned(), at: 7 },
            done("b", Some(page("b"))),
            done("a", None),
        ];
        let mut one = shelf(folder.path());
        assert_eq!(one.load().unwrap(), SavedCrawl::default());
        one.finish(&[page("a")]).unwrap();
        for event in &events {
            one.note(event).unwrap();
        }
        let mut other = shelf(folder.path());
        let saved = other.load().unwrap();
        assert_eq!(saved, SavedCrawl { pages: vec![page("a")], events: events.to_vec() });
        assert_eq!(other.pages().unwrap(), [page("b")]);
        other.finish(&[page("b")]).unwrap();
        assert_eq!(one.load().unwrap(), SavedCrawl { pages: vec![page("b")], events: Vec::new() });
    }

    #[test]
    fn bytes_are_kept_and_folders_tidied() {
        let folder = tempfile::tempdir().unwrap();
        let mut shelf = shelf(folder.path());
        assert_eq!(shelf.get("a/b/c.html").unwrap(), None);
        shelf.put("a/b/c.html", b"1").unwrap();
        shelf.put("a/b/c.html", b"22").unwrap();
        shelf.put("a/d.html", b"3").unwrap();
        assert_eq!(shelf.get("a/b/c.html").unwrap().unwrap(), b"22");
        shelf.remove("a/b/c.html").unwrap();
        shelf.remove("a/b/c.html").unwrap();
        assert!(!folder.path().join("pages/a/b").exists());
        assert!(folder.path().join("pages/a/d.html").exists());
        let is_left = |entry: io::Result<std::fs::DirEntry>| entry.unwrap().file_name() != "a";
        assert!(!std::fs::read_dir(folder.path().join(PAGES_FOLDER)).unwrap().any(is_left));
        for outside in ["../../x", "/etc/x"] {
            if shelf.put(outside, b"").is_ok() {
                // An absolute path after the folder's name is a path below it.
                assert!(outside.starts_with('/'), "{outside}");
            }
        }
        assert!(!folder.path().parent().unwrap().join("x").exists());
    }

    #[test]
    fn a_torn_line_takes_no_other_with_it() {
        let folder = tempfile::tempdir().unwrap();
        shelf(folder.path()).note(&done("a", None)).unwrap();
        let notes = folder.path().join(EVENTS_FILE);
        let mut bytes = std::fs::read(&notes).unwrap();
        bytes.extend_from_slice(b"not json\n{\"event\":\"done\",\"ur");
        std::fs::write(&notes, bytes).unwrap();
        assert_eq!(shelf(folder.path()).load().unwrap().events, [done("a", None)]);
        shelf(folder.path()).note(&done("b", None)).unwrap();
        let events = shelf(folder.path()).load().unwrap().events;
        assert_eq!(events, [done("a", None), done("b", None)]);
    }

    #[test]
    fn a_damaged_list_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(STATE_FILE), "{").unwrap();
        let message = shelf(folder.path()).load().unwrap_err().to_string();
        assert_eq!(message, "crawl.json is corrupt; remove it to crawl the site from the start");
        std::fs::write(folder.path().join(STATE_FILE), "{\"version\":9,\"pages\":[]}").unwrap();
        assert_eq!(shelf(folder.path()).load().unwrap(), SavedCrawl::default());
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_folder_are_not_followed() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(other.path(), folder.path().join(PAGES_FOLDER)).unwrap();
        for name in [STATE_FILE, EVENTS_FILE] {
            std::os::unix::fs::symlink(other.path().join(name), folder.path().join(name)).unwrap();
        }
        let mut shelf = shelf(folder.path());
        shelf.put("a.html", b"1").unwrap_err();
        shelf.note(&done("a", None)).unwrap_err();
        shelf.finish(&[]).unwrap();
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    }
}
