//! Determines what a guarded server may read and run: this machine without other users' files and without credentials.

use super::changeable_paths;
use crate::config::{Config, TEMPORARY_FOLDERS, resolve_links, resolve_links_until};
use std::{
    fs::{self, FileType},
    path::{Path, PathBuf},
};

/// What a guarded server may read and run, determined before docent's own sandbox is entered.
#[derive(Debug, Clone, Default)]
pub(crate) struct GuardedAccess {
    pub(crate) home: Option<PathBuf>,
    pub(super) paths: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    /// Links to these paths: if only opened paths are visible, the links must be visible as well.
    pub(super) names: Vec<PathBuf>,
    pub(super) write_names: Vec<PathBuf>,
}

/// Folders in a home directory with programs and their downloads, but without credentials.
const TOOL_FOLDERS: [&str; 28] = [
    ".npm",
    ".nvm",
    ".fnm",
    ".volta",
    ".bun",
    ".deno",
    ".pyenv",
    ".rbenv",
    ".asdf",
    ".sdkman",
    ".dotnet",
    ".rustup",
    ".cargo/bin",
    ".cargo/registry",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/uv",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/mise",
    ".cache/uv",
    ".cache/pip",
    ".cache/node",
    ".cache/pnpm",
    ".cache/deno",
    ".cache/ms-playwright",
    ".cache/puppeteer",
];

/// The subset that package runners write to.
const WRITABLE_TOOL_FOLDERS: [&str; 9] = [
    ".npm",
    ".bun",
    ".deno",
    ".local/share/uv",
    ".cache/uv",
    ".cache/pip",
    ".cache/node",
    ".cache/pnpm",
    ".cache/deno",
];

/// Secrets of the system in `/etc`, which only root can read.
const ETC_SECRETS: [&str; 16] = [
    "shadow",
    "shadow-",
    "gshadow",
    "gshadow-",
    "sudoers",
    "sudoers.d",
    "security/opasswd",
    "ssl/private",
    "pki/tls/private",
    "letsencrypt/archive",
    "letsencrypt/live",
    "letsencrypt/keys",
    "wireguard",
    "NetworkManager/system-connections",
    "krb5.keytab",
    "mysql/debian.cnf",
];
/// Name prefixes of devices that access a disk directly.
const RAW_DISK_PREFIXES: [&str; 3] = ["sg", "ng", "nvme"];

/// Folders of other users and the kernel (closed), and of settings and devices (opened selectively).
const CLOSED_FOLDERS: [&str; 6] = ["/home", "/root", "/proc", "/sys", "/etc", "/dev"];

/// Folders of programs that are fully open to every server: there is nothing to close in them.
const PROGRAM_FOLDERS: [&str; 3] = ["/usr", "/nix/store", "/gnu/store"];

/// Scans this machine: everything but homes, root's secrets and disks; of the user's own home, entries without a
/// leading dot and the folders of tools. Credentials are usually elsewhere; those that are not are excluded.
pub(crate) fn scan(config: &Config, search: &str) -> GuardedAccess {
    let home = config.home.as_deref().filter(|home| home.is_dir());
    // A home directory of `/` counts as none.
    let own = home.map(resolve_links).filter(|own| own.parent().is_some());
    let (own, secrets) = (own.as_deref(), secrets(config));
    let mut wide: Vec<PathBuf> =
        CLOSED_FOLDERS.iter().map(|place| resolve_links(Path::new(place))).collect();
    let mut closed = wide.clone();
    wide.extend(own.map(Path::to_owned));
    closed.extend(
        own.into_iter().flat_map(other_homes).chain(own.into_iter().flat_map(hidden_link_targets)),
    );
    closed.extend(secrets.iter().filter(|secret| !is_hidden(secret, own)).cloned());
    // A root is fully open.
    let whole = PROGRAM_FOLDERS.map(|place| resolve_links(Path::new(place)));
    closed.retain(|place| !config.roots.iter().chain(&whole).any(|open| place.starts_with(open)));
    // So are temporary folders: programs there must stay usable even next to a secret.
    let temporary = TEMPORARY_FOLDERS.map(|place| resolve_links(Path::new(place)));
    let is_kept = |place: &&PathBuf| !temporary.iter().any(|open| place.starts_with(open));
    let kept: Vec<PathBuf> = closed.iter().filter(is_kept).cloned().collect();
    let mut paths = entries_except(Path::new("/"), &kept);
    let mut names = Vec::new();
    for (home, own) in home.into_iter().zip(own) {
        let shown = entries_except(own, &closed).into_iter();
        let shown: Vec<PathBuf> = shown.filter(|path| !is_hidden(path, Some(own))).collect();
        if home != own {
            let inner = shown.iter().filter_map(|path| path.strip_prefix(own).ok());
            names.extend(inner.map(|inner| home.join(inner)));
        }
        paths.extend(shown);
    }
    // The open parts of folders around a home are listed already.
    let may_be_named = |path: &PathBuf| {
        !wide.iter().any(|place| place.starts_with(path))
            && !secrets.iter().any(|secret| path.starts_with(secret))
    };
    let holds_secret = |path: &PathBuf| secrets.iter().any(|secret| secret.starts_with(path));
    let write =
        caches(home).into_iter().map(|cache| (resolve_links_until(&cache, &config.roots), cache));
    let (write, mut write_names): (Vec<PathBuf>, Vec<PathBuf>) =
        write.filter(|(cache, _)| may_be_named(cache) && !holds_secret(cache)).unzip();
    write_names.retain(|name| !write.contains(name));
    let places = changeable_paths(config, &write);
    let tools = home.into_iter().flat_map(|home| TOOL_FOLDERS.map(|tool| home.join(tool)));
    for name in tools.chain(programs(search, &[home, own])) {
        let path = resolve_links_until(&name, &places);
        if !may_be_named(&path) {
            continue;
        }
        if holds_secret(&path) {
            paths.extend(entries_except(&path, &secrets));
            continue;
        }
        if name != path {
            names.push(name);
        }
        paths.push(path);
    }
    let (settings, devices) = (Path::new("/etc"), Path::new("/dev"));
    let in_settings = secrets.iter().filter(|secret| secret.starts_with(settings)).cloned();
    let in_settings: Vec<PathBuf> = secrets_in(settings).into_iter().chain(in_settings).collect();
    paths.extend(open_except(settings, &in_settings));
    paths.extend(open_except(devices, &disks_in(devices)));
    for paths in [&mut paths, &mut names] {
        // The supervisor gets paths as text.
        paths.retain(|path| path.to_str().is_some());
        paths.sort();
        paths.dedup();
    }
    GuardedAccess { home: home.map(Path::to_owned), paths, write, names, write_names }
}

/// Returns the real paths of credentials and of docent's private files: its settings, the secrets that they name,
/// tokens and approvals.
fn secrets(config: &Config) -> Vec<PathBuf> {
    let tls = config.server.tls.as_ref();
    let is_public = |file: &PathBuf| {
        tls.is_some_and(|tls| {
            *file != tls.key && (*file == tls.certificate || tls.client_ca.as_ref() == Some(file))
        })
    };
    let named = config.secret_files.iter().filter(|file| !is_public(file));
    let own = config.files().iter().chain(&config.cache_dir);
    let all = config.secret_places.iter().chain(named).chain(own);
    let mut all: Vec<PathBuf> = all.map(|path| resolve_links(path)).collect();
    all.retain(|path| !config.roots.iter().any(|root| path.starts_with(root)));
    all.sort();
    // A path inside another one is excluded with it.
    all.dedup_by(|path, around| path.starts_with(around));
    all
}

/// Returns folders of other users' homes: the parent of this home, and its ancestors with such names.
fn other_homes(home: &Path) -> Vec<PathBuf> {
    // Some systems have root's home in /var, among system folders.
    let is_system = |folder: &Path| folder.parent().is_none() || folder == Path::new("/var");
    let folder = home.parent().filter(|folder| !is_system(folder)).unwrap_or(home);
    let above = home.ancestors().skip(1).filter(|folder| is_home_parent(folder));
    std::iter::once(folder).chain(above).map(Path::to_owned).collect()
}

/// Returns the targets of hidden links in a home, where users may keep settings. Outside of the home, a target with
/// programs is an installation.
fn hidden_link_targets(home: &Path) -> Vec<PathBuf> {
    let links =
        entries(home).filter(|(path, kind)| kind.is_symlink() && is_hidden(path, Some(home)));
    let ends = links.map(|(link, _)| resolve_links(&link));
    ends.filter(|end| end.starts_with(home) || !end.join("bin").is_dir()).collect()
}

/// Whether a path goes through an entry with a leading dot in a home.
fn is_hidden(path: &Path, home: Option<&Path>) -> bool {
    let inner = home.and_then(|home| path.strip_prefix(home).ok());
    let first = inner.and_then(|inner| inner.components().next());
    first.is_some_and(|first| first.as_os_str().as_encoded_bytes().starts_with(b"."))
}

/// Lists a folder with file types from the directory entries: `/dev` alone has hundreds, and this runs at every start.
fn entries(folder: &Path) -> impl Iterator<Item = (PathBuf, FileType)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.path(), entry.file_type().ok()?)))
}

fn list_folder(folder: &Path) -> impl Iterator<Item = PathBuf> {
    entries(folder).map(|(path, _)| path)
}

pub(super) fn caches(home: Option<&Path>) -> Vec<PathBuf> {
    home.into_iter().flat_map(|home| WRITABLE_TOOL_FOLDERS.map(|cache| home.join(cache))).collect()
}

/// Returns secrets among the system's settings.
fn secrets_in(etc: &Path) -> Vec<PathBuf> {
    let is_host_key = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("ssh_host_") && name.ends_with("_key")
    };
    let mut secrets: Vec<PathBuf> = ETC_SECRETS.iter().map(|place| etc.join(place)).collect();
    secrets.extend(list_folder(&etc.join("ssh")).filter(is_host_key));
    secrets
}

/// Returns devices that give access to all files: disks and memory.
#[cfg(unix)]
fn disks_in(devices: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let is_raw = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_numbered = |rest: &str| rest.starts_with(|first: char| first.is_ascii_digit());
        RAW_DISK_PREFIXES.iter().any(|disk| name.strip_prefix(disk).is_some_and(is_numbered))
    };
    let around = |(path, kind): (PathBuf, FileType)| {
        let mut all: Vec<_> = kind.is_dir().then(|| entries(&path)).into_iter().flatten().collect();
        all.push((path, kind));
        all
    };
    let disks = entries(devices)
        .flat_map(around)
        .filter(|(path, kind)| kind.is_block_device() || kind.is_char_device() && is_raw(path));
    let disks = disks.map(|(path, _)| path);
    disks.chain(["mem", "kmem", "port"].map(|memory| devices.join(memory))).collect()
}

#[cfg(not(unix))]
fn disks_in(_devices: &Path) -> Vec<PathBuf> {
    Vec::new()
}

/// Returns a system folder except these secrets. A Landlock rule applies to the current file: if `resolv.conf` is
/// replaced, a server with a rule for the file instead of the folder can't read it until it is restarted. So the folder
/// is opened as a whole if permissions protect the secrets, and split for a user who can read one of them, which is
/// root.
fn open_except(folder: &Path, secrets: &[PathBuf]) -> Vec<PathBuf> {
    let files = |secret: &PathBuf| {
        if secret.is_dir() { list_folder(secret).collect() } else { vec![secret.clone()] }
    };
    if secrets.iter().flat_map(files).any(|file| is_readable(&file)) {
        entries_except(folder, secrets)
    } else {
        vec![folder.to_owned()]
    }
}

/// Whether this user may read a file. Does not open it, which could activate a device.
#[cfg(unix)]
fn is_readable(file: &Path) -> bool {
    rustix::fs::access(file, rustix::fs::Access::READ_OK).is_ok()
}

#[cfg(not(unix))]
fn is_readable(file: &Path) -> bool {
    fs::File::open(file).is_ok()
}

/// Returns the contents of a folder except these, in as few paths as possible. Links are excluded: a rule for a link
/// would open its target.
fn entries_except(folder: &Path, secrets: &[PathBuf]) -> Vec<PathBuf> {
    let mut open = Vec::new();
    for (path, _) in entries(folder).filter(|(_, kind)| !kind.is_symlink()) {
        // Most folders have none, so check this first.
        if !secrets.iter().any(|secret| secret.starts_with(&path)) {
            open.push(path);
        } else if !secrets.contains(&path) {
            open.extend(entries_except(&path, secrets));
        }
    }
    open
}

fn is_home_parent(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| name == "home" || name == "Users")
}

/// Returns the folders in the search path. Programs installed outside of the user's home bring their libraries along.
fn programs(search: &str, homes: &[Option<&Path>]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for folder in std::env::split_paths(search).filter(|folder| folder.is_absolute()) {
        let beside = folder.parent().filter(|beside| {
            let is_home =
                *beside == Path::new("/root") || beside.parent().is_some_and(is_home_parent);
            let is_of = |home: &&Path| beside.starts_with(home) || home.starts_with(beside);
            !is_home && beside.parent().is_some() && !homes.iter().flatten().any(is_of)
        });
        let beside =
            beside.filter(|beside| !beside.ends_with(".cargo") && !beside.ends_with(".local"));
        all.extend(beside.map(Path::to_owned));
        all.push(folder);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_hidden_link_to_programs_closes_nothing() {
        use std::os::unix::fs::symlink;
        let place = tempfile::tempdir().unwrap();
        let at = place.path().canonicalize().unwrap();
        for folder in ["home/kept/bin", "venvs/main/bin", "settings"] {
            fs::create_dir_all(at.join(folder)).unwrap();
        }
        let home = at.join("home");
        symlink("kept", home.join(".kept")).unwrap();
        symlink("../settings", home.join(".settings")).unwrap();
        symlink("../venvs/main", home.join(".venv")).unwrap();
        symlink("../venvs", home.join("shown")).unwrap();
        let mut ends = hidden_link_targets(&home);
        ends.sort();
        assert_eq!(ends, [home.join("kept"), at.join("settings")]);
    }

    #[test]
    #[cfg(unix)]
    fn settings_of_the_system_are_opened_without_its_secrets() {
        let place = tempfile::tempdir().unwrap();
        let etc = place.path();
        for folder in ["ssh", "ssl/certs", "sudoers.d"] {
            fs::create_dir_all(etc.join(folder)).unwrap();
        }
        for file in ["hosts", "ssh/ssh_config", "ssh/ssh_host_rsa_key.pub"] {
            fs::write(etc.join(file), "").unwrap();
        }
        std::os::unix::fs::symlink("shadow", etc.join("link")).unwrap();
        let open = || {
            let mut open = open_except(etc, &secrets_in(etc));
            open.sort();
            open
        };
        assert_eq!(open(), [etc.to_owned()], "there is nothing to hide");
        fs::create_dir(etc.join("ssl/private")).unwrap();
        for secret in ["shadow", "gshadow-", "ssh/ssh_host_rsa_key", "ssl/private/a.key"] {
            fs::write(etc.join(secret), "").unwrap();
        }
        let want = ["hosts", "ssh/ssh_config", "ssh/ssh_host_rsa_key.pub", "ssl/certs"];
        assert_eq!(open(), want.map(|path| etc.join(path)));
    }
}
