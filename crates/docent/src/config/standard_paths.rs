//! Standard paths of the user: configuration folders, the cache, credentials.

use super::layers::{ConfigInputs, files_of, user_dir, user_file};
use std::path::{Path, PathBuf};

/// Returns the folders of possible configuration files, whether they exist or not.
pub(super) fn config_folders(inputs: &ConfigInputs) -> Vec<PathBuf> {
    let files = files_of(inputs);
    let mut folders: Vec<PathBuf> =
        files.iter().filter_map(|file| file.parent()).map(Path::to_owned).collect();
    folders.dedup();
    folders
}

/// Returns the file for keys that a project may not set, as shown in messages: that of `--config`, or the user's own.
pub(super) fn settings_file(inputs: &ConfigInputs) -> String {
    let named = inputs.flags.config_file.as_ref().map(|file| inputs.working_dir.join(file));
    let file = named.or_else(|| user_file(inputs));
    file.map_or_else(|| "the file of --config".to_owned(), |file| display_path(&file, inputs))
}

/// Returns a path as shown in messages, with `~` for the home directory.
pub(super) fn display_path(path: &Path, inputs: &ConfigInputs) -> String {
    let inner = inputs.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    inner.map_or_else(|| path.display().to_string(), |inner| format!("~/{}", inner.display()))
}

/// Returns where programs keep the user's credentials outside of projects: files, and folders with their files.
pub(super) fn secret_places(inputs: &ConfigInputs) -> Vec<PathBuf> {
    let with_files = |place: PathBuf| {
        let files = files_in(&place, 3);
        std::iter::once(place).chain(files)
    };
    let named = credentials(inputs, inputs.home.as_deref()).into_iter();
    let mut places: Vec<PathBuf> = named.flat_map(with_files).collect();
    places.sort();
    places.dedup();
    places
}

/// Whether a folder, by its real path, contains credentials among other things.
pub(super) fn holds_credentials(folder: &Path, inputs: &ConfigInputs) -> bool {
    let real = |home: &PathBuf| home.canonicalize().unwrap_or_else(|_| home.clone());
    let home = inputs.home.as_ref().map(real);
    let mut named = credentials(inputs, home.as_deref()).into_iter();
    named.any(|place| place != folder && place.starts_with(folder))
}

/// Returns the files and folders of credentials of docent, of programs in this home and of the system.
fn credentials(inputs: &ConfigInputs, home: Option<&Path>) -> Vec<PathBuf> {
    const PLACES: [&str; 15] = [
        ".cache/docent/tokens",
        ".ssh",
        ".aws",
        ".gnupg",
        ".netrc",
        ".git-credentials",
        ".pgpass",
        ".npmrc",
        ".pypirc",
        ".cargo/credentials.toml",
        ".docker/config.json",
        ".kube/config",
        ".config/gh/hosts.yml",
        ".config/gcloud/application_default_credentials.json",
        ".config/docent",
    ];
    let all = home.into_iter().flat_map(|home| PLACES.map(|place| home.join(place)));
    let passwords = ["shadow", "shadow-", "gshadow", "gshadow-"];
    let all = all.chain(passwords.map(|name| Path::new("/etc").join(name)));
    let tokens = cache_dir(inputs).map(|cache| cache.join("tokens"));
    all.chain(user_dir(inputs)).chain(tokens).collect()
}

/// Returns a file, or the files of a folder. Listed before the sandbox is entered, which closes such folders. Links are
/// not followed: the target could be the whole disk.
fn files_in(place: &Path, depth: usize) -> Vec<PathBuf> {
    const MAX_FOLDER_FILES: usize = 200;
    let is_folder = place.symlink_metadata().is_ok_and(|found| found.is_dir());
    let entries = place.read_dir().ok().filter(|_| is_folder && depth > 0);
    let Some(entries) = entries else { return vec![place.to_owned()] };
    let inner = entries.flatten().map(|entry| entry.path()).take(MAX_FOLDER_FILES);
    inner.flat_map(|path| files_in(&path, depth - 1)).collect()
}

pub(super) fn cache_dir(inputs: &ConfigInputs) -> Option<PathBuf> {
    own_folder(inputs, "XDG_CACHE_HOME", ".cache")
}

/// Returns the folder for state that must survive clearing the cache.
pub(crate) fn state_folder(inputs: &ConfigInputs) -> Option<PathBuf> {
    own_folder(inputs, "XDG_STATE_HOME", ".local/state")
}

fn own_folder(inputs: &ConfigInputs, variable: &str, usual: &str) -> Option<PathBuf> {
    let base = match inputs.environment.get(variable).map(Path::new) {
        Some(path) if path.is_absolute() => path.to_owned(),
        _ => inputs.home.as_ref()?.join(usual),
    };
    Some(base.join("docent"))
}
