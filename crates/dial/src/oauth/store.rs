//! Stores tokens between runs.

use docent_files::{Durability, FileAccess, ManagedFolder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    fmt,
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Tokens and registration for one server at one authorization server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    /// The server.
    pub resource: String,
    /// The issuer of the tokens.
    pub issuer: String,
    /// docent's client id at the issuer.
    pub client_id: String,
    /// The secret that came with a registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    /// The registered redirect port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_port: Option<u16>,
    /// Scopes of the token.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_token: Option<String>,
    /// The refresh token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// When the token expires, in seconds since 1970; if unknown, the server rejects it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// When the record was written.
    #[serde(default)]
    pub saved_at: u64,
}

impl TokenRecord {
    /// Whether the token has expired at `time`.
    pub fn is_expired(&self, time: u64) -> bool {
        self.expires_at.is_some_and(|end| end <= time)
    }
}

impl fmt::Debug for TokenRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TokenRecord")
            .field("resource", &self.resource)
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// The tokens can't be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot read or write the tokens at {path}: {source}")]
pub struct TokenStoreError {
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// Stores records, one per server and issuer. Calls are short, and never concurrent for one server.
pub trait TokenStore: Send + Sync {
    /// Loads the record of a server at an issuer; without an issuer, the one that was written last.
    fn load(
        &self,
        resource: &str,
        issuer: Option<&str>,
    ) -> Result<Option<TokenRecord>, TokenStoreError>;

    /// Writes a record, replacing the previous one.
    fn save(&self, record: &TokenRecord) -> Result<(), TokenStoreError>;

    /// Deletes the records of a server at every issuer.
    fn forget(&self, resource: &str) -> Result<(), TokenStoreError>;
}

/// Keeps records in memory.
#[derive(Debug, Default)]
pub struct MemoryTokenStore {
    records: Mutex<HashMap<(String, String), TokenRecord>>,
}

impl MemoryTokenStore {
    fn records(&self) -> MutexGuard<'_, HashMap<(String, String), TokenRecord>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TokenStore for MemoryTokenStore {
    fn load(
        &self,
        resource: &str,
        issuer: Option<&str>,
    ) -> Result<Option<TokenRecord>, TokenStoreError> {
        let records = self.records();
        let fits = |record: &&TokenRecord| {
            record.resource == resource && issuer.is_none_or(|issuer| record.issuer == issuer)
        };
        Ok(records.values().filter(fits).max_by_key(|record| record.saved_at).cloned())
    }

    fn save(&self, record: &TokenRecord) -> Result<(), TokenStoreError> {
        let key = (record.resource.clone(), record.issuer.clone());
        self.records().insert(key, record.clone());
        Ok(())
    }

    fn forget(&self, resource: &str) -> Result<(), TokenStoreError> {
        self.records().retain(|_, record| record.resource != resource);
        Ok(())
    }
}

/// Keeps each record in its own file, which only this user can read.
#[derive(Debug, Clone)]
pub struct FileTokenStore {
    folder: ManagedFolder,
}

impl FileTokenStore {
    /// Creates a store in `folder`, which is created with the first file. Symbolic links in its path are resolved now
    /// and never again.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder: PathBuf = folder.into();
        Self { folder: folder.into() }
    }

    fn error(path: &Path) -> impl Fn(io::Error) -> TokenStoreError + '_ {
        |source| TokenStoreError { path: path.to_owned(), source }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file that is not a record is skipped: signing in replaces it.
    fn read(&self, name: &str, resource: &str) -> Result<Option<TokenRecord>, TokenStoreError> {
        let path = self.path(name);
        let text = match self.folder.read_bytes(name) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                tracing::warn!(path = %path.display(), %error, "a token file was replaced; sign in again");
                return Ok(None);
            }
            Err(error) => return Err(Self::error(&path)(error)),
        };
        let record: Option<TokenRecord> = serde_json::from_slice(&text).ok();
        if record.is_none() {
            tracing::warn!("{} contains no valid tokens; sign in again", path.display());
        }
        Ok(record.filter(|record| record.resource == resource))
    }

    /// Returns the names of the files of a server.
    fn files(&self, resource: &str) -> Result<Vec<String>, TokenStoreError> {
        let start = format!("{}-", digest(resource));
        let names = match self.folder.names() {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Self::error(self.folder.path())(error)),
        };
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        let is_record = |name: &String| {
            let extension = Path::new(name).extension();
            name.starts_with(&start) && extension.is_some_and(|extension| extension == "json")
        };
        Ok(names.filter(is_record).collect())
    }
}

impl TokenStore for FileTokenStore {
    fn load(
        &self,
        resource: &str,
        issuer: Option<&str>,
    ) -> Result<Option<TokenRecord>, TokenStoreError> {
        if let Some(issuer) = issuer {
            let record = self.read(&file_name(resource, issuer), resource)?;
            return Ok(record.filter(|record| record.issuer == issuer));
        }
        let mut last: Option<TokenRecord> = None;
        for name in self.files(resource)? {
            let record = self.read(&name, resource)?;
            if let Some(record) = record
                && last.as_ref().is_none_or(|last| last.saved_at <= record.saved_at)
            {
                last = Some(record);
            }
        }
        Ok(last)
    }

    fn save(&self, record: &TokenRecord) -> Result<(), TokenStoreError> {
        let name = file_name(&record.resource, &record.issuer);
        let path = self.path(&name);
        let failed = Self::error(&path);
        self.folder.make(FileAccess::Private).map_err(&failed)?;
        let text = serde_json::to_vec_pretty(record).map_err(io::Error::other).map_err(&failed)?;
        self.folder.replace(name, &text, FileAccess::Private, Durability::Synced).map_err(&failed)
    }

    fn forget(&self, resource: &str) -> Result<(), TokenStoreError> {
        for name in self.files(resource)? {
            match self.folder.remove(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(Self::error(&self.path(&name))(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Returns the file name for a server at an issuer.
fn file_name(resource: &str, issuer: &str) -> String {
    format!("{}-{}.json", digest(resource), digest(issuer))
}

fn digest(text: &str) -> String {
    let mut name = String::new();
    for byte in Sha256::digest(text).iter().take(16) {
        // Writing to a string does not fail.
        let _ignored = write!(name, "{byte:02x}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink, process::Command};

    fn record(resource: &str, issuer: &str, saved_at: u64) -> TokenRecord {
        TokenRecord {
            resource: resource.into(),
            issuer: issuer.into(),
            client_id: "me".into(),
            client_secret: Some("secret-1".into()),
            redirect_port: Some(7),
            scopes: vec!["read".into()],
            access_token: Some("secret-2".into()),
            refresh_token: Some("secret-3".into()),
            expires_at: Some(10),
            saved_at,
        }
    }

    fn contract(store: &dyn TokenStore) {
        let (one, two) = (record("r", "https://a/../x", 1), record("r", "b", 2));
        assert_eq!(store.load("r", None).unwrap(), None);
        store.save(&one).unwrap();
        store.save(&two).unwrap();
        store.save(&record("s", "b", 9)).unwrap();
        assert_eq!(store.load("r", Some("https://a/../x")).unwrap(), Some(one));
        assert_eq!(store.load("r", Some("c")).unwrap(), None);
        assert_eq!(store.load("r", None).unwrap(), Some(two.clone()));
        let newer = TokenRecord { access_token: Some("new".into()), ..two };
        store.save(&newer).unwrap();
        assert_eq!(store.load("r", Some("b")).unwrap(), Some(newer));
        store.forget("r").unwrap();
        assert_eq!(store.load("r", None).unwrap(), None);
        assert!(store.load("s", None).unwrap().is_some());
    }

    #[test]
    fn stores_keep_records() {
        contract(&MemoryTokenStore::default());
        let folder = tempfile::tempdir().unwrap();
        contract(&FileTokenStore::new(folder.path().join("deep").join("tokens")));
    }

    #[cfg(unix)]
    #[test]
    fn files_are_private_and_whole() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("tokens");
        let store = FileTokenStore::new(&inner);
        store.save(&record("r", "i", 1)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let files: Vec<_> =
            fs::read_dir(&inner).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "nothing half written is left");
        assert_eq!((mode(&inner), mode(&files[0])), (0o700, 0o600));
        fs::write(&files[0], "{\"resource\": ").unwrap();
        assert_eq!(store.load("r", None).unwrap(), None);
        store.save(&record("r", "i", 2)).unwrap();
        assert_eq!(mode(&files[0]), 0o600);
        assert!(store.load("r", Some("i")).unwrap().is_some());
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_written_to() {
        let place = tempfile::tempdir().unwrap();
        let (tokens, victim) = (place.path().join("tokens"), place.path().join("victim"));
        let store = FileTokenStore::new(&tokens);
        store.save(&record("r", "i", 1)).unwrap();
        // A link in place of a file is replaced, and its target is not changed.
        let path = store.path(&file_name("r", "i"));
        fs::write(&victim, "precious").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(&victim, &path).unwrap();
        assert!(format!("{:?}", store.load("r", None).unwrap_err()).contains("LinkError"));
        store.save(&record("r", "i", 2)).unwrap();
        assert!(!path.is_symlink());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        // A link in place of the folder is refused.
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::rename(&tokens, place.path().join("moved")).unwrap();
        symlink(&elsewhere, &tokens).unwrap();
        let error = store.save(&record("r", "i", 3)).unwrap_err();
        assert!(
            format!("{error:?}").contains("symbolic link")
                || format!("{error:?}").contains("LinkError")
        );
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_above_that_becomes_a_link_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let (state, elsewhere) = (place.path().join("state"), place.path().join("elsewhere"));
        let store = FileTokenStore::new(state.join("tokens"));
        store.save(&record("r", "i", 1)).unwrap();
        fs::rename(&state, &elsewhere).unwrap();
        symlink(&elsewhere, &state).unwrap();
        assert!(format!("{:?}", store.load("r", None).unwrap_err()).contains("LinkError"));
        assert!(format!("{:?}", store.load("r", Some("i")).unwrap_err()).contains("LinkError"));
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileTokenStore::new(folder.path());
        let path = store.path(&file_name("r", "i"));
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(store.load("r", None).unwrap(), None);
        store.save(&record("r", "i", 1)).unwrap();
        assert!(path.is_file());
    }

    #[test]
    fn records_show_no_secrets() {
        assert!(!format!("{:?}", record("r", "i", 1)).contains("secret"));
    }

    #[test]
    fn tokens_end() {
        let check = |expires_at, time, expected| {
            let record = TokenRecord { expires_at, ..record("r", "i", 1) };
            assert_eq!(record.is_expired(time), expected);
        };
        check(None, u64::MAX, false);
        check(Some(10), 9, false);
        check(Some(10), 10, true);
    }
}
