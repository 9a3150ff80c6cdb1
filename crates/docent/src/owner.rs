//! Whether an index was made by this user's docent, or came with the project.
//!
//! What reads an index trusts what is in it: its seals tell damage, and anybody can compute them. So beside an index lies a
//! mark that takes the user's own key to make, and an index without it is made anew.

use ring::{
    hmac::{HMAC_SHA256, Key, sign},
    rand::{SecureRandom as _, SystemRandom},
};
use std::{
    ffi::OsString,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::Path,
};

/// In the user's cache.
const KEY: &str = "key";
const KEY_BYTES: usize = 32;

/// Makes sure that what is in the folder of an index is this user's. Without a cache nobody can tell, and nothing is.
pub(crate) fn claim(index: &Path, cache: Option<&Path>) -> io::Result<()> {
    let mut name = OsString::from(index);
    name.push(".owner");
    let place = Path::new(&name);
    let mark = cache.map(|cache| mark(index, cache)).transpose();
    if let Err(error) = &mark {
        tracing::debug!(
            "the key in the cache can't be used, so that the index is made anew: {error}"
        );
    }
    let mark = mark.unwrap_or_default();
    if mark.is_some() && fs::read_to_string(place).ok() == mark {
        return Ok(());
    }
    match fs::remove_dir_all(index) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    mark.map_or(Ok(()), |mark| write(place, mark.as_bytes()).map(drop))
}

/// What the key says to the folder's path.
fn mark(index: &Path, cache: &Path) -> io::Result<String> {
    let key = Key::new(HMAC_SHA256, &key(cache)?);
    let tag = sign(&key, index.as_os_str().as_encoded_bytes());
    Ok(tag.as_ref().iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    }))
}

/// The user's key, made when it is first asked for.
fn key(cache: &Path) -> io::Result<Vec<u8>> {
    let place = cache.join(KEY);
    let known = match fs::read(&place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut key = vec![0; KEY_BYTES];
            let failed = |_| io::Error::other("the system gives no random numbers");
            SystemRandom::new().fill(&mut key).map_err(failed)?;
            fs::create_dir_all(cache)?;
            // Another docent may have been faster: then its key counts.
            if write_once(&place, &key)? { key } else { fs::read(&place)? }
        }
        known => known?,
    };
    if known.len() == KEY_BYTES {
        return Ok(known);
    }
    Err(io::Error::other(format!("{} is no key: remove it", place.display())))
}

/// Writes a file that is there whole or not at all, for the user alone.
fn write(place: &Path, bytes: &[u8]) -> io::Result<fs::File> {
    Ok(written_beside(place, bytes)?.persist(place)?)
}

/// The same where there is no such file yet; says whether it was made.
fn write_once(place: &Path, bytes: &[u8]) -> io::Result<bool> {
    match written_beside(place, bytes)?.persist_noclobber(place) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

fn written_beside(place: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let folder = place.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A folder with an index in it, and a cache.
    fn stage() -> (TempDir, TempDir) {
        let (state, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(state.path().join("index")).unwrap();
        fs::write(state.path().join("index/units-0"), "x").unwrap();
        (state, cache)
    }

    fn is_kept_after_claim(state: &TempDir, cache: Option<&Path>) -> bool {
        let index = state.path().join("index");
        claim(&index, cache).unwrap();
        let kept = index.join("units-0").exists();
        fs::create_dir_all(&index).unwrap();
        fs::write(index.join("units-0"), "y").unwrap();
        kept
    }

    #[test]
    fn an_index_that_came_with_the_project_is_made_anew_once() {
        let (state, cache) = stage();
        let cache = cache.path().join("docent");
        assert!(!is_kept_after_claim(&state, Some(&cache)));
        assert!(is_kept_after_claim(&state, Some(&cache)));
        fs::write(state.path().join("index.owner"), "0".repeat(64)).unwrap();
        assert!(!is_kept_after_claim(&state, Some(&cache)));
        assert!(is_kept_after_claim(&state, Some(&cache)));
    }

    #[test]
    fn a_mark_is_of_one_user_and_one_place() {
        let (state, cache) = stage();
        claim(&state.path().join("index"), Some(cache.path())).unwrap();
        let (elsewhere, other) = stage();
        let copy = |to: &TempDir| {
            fs::copy(state.path().join("index.owner"), to.path().join("index.owner")).unwrap();
        };
        copy(&elsewhere);
        assert!(!is_kept_after_claim(&elsewhere, Some(cache.path())));
        fs::create_dir_all(state.path().join("index")).unwrap();
        assert!(!is_kept_after_claim(&state, Some(other.path())));
    }

    #[test]
    fn where_nobody_can_tell_nothing_is_trusted() {
        let (state, cache) = stage();
        assert!(!is_kept_after_claim(&state, None));
        assert!(!is_kept_after_claim(&state, None));
        fs::write(cache.path().join(KEY), "short").unwrap();
        assert!(!is_kept_after_claim(&state, Some(cache.path())));
        assert_eq!(fs::read(cache.path().join(KEY)).unwrap(), b"short", "a key is not replaced");
    }

    #[test]
    #[cfg(unix)]
    fn the_key_is_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let (state, cache) = stage();
        claim(&state.path().join("index"), Some(cache.path())).unwrap();
        let mode = fs::metadata(cache.path().join(KEY)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1);
    }
}
