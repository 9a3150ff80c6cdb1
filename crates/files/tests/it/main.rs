//! Links, modes and failing operations in real folders.
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

use docent_files::{Durability, FileAccess, LinkError, ManagedFolder, is_link_error};
use std::{
    fs, io,
    io::{Read as _, Write as _},
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};
use tempfile::TempDir;

/// A folder of docent in `base/state`, and a file outside that must not change.
struct Fixture {
    place: TempDir,
    folder: ManagedFolder,
}

impl Fixture {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().join("base");
        fs::create_dir(&base).unwrap();
        fs::create_dir(place.path().join("victim")).unwrap();
        fs::write(place.path().join("victim/file"), "precious").unwrap();
        let folder = ManagedFolder::resolve(&base).join("state");
        folder.make(FileAccess::Private).unwrap();
        Self { place, folder }
    }

    fn victim(&self) -> std::path::PathBuf {
        self.place.path().join("victim")
    }

    fn check_untouched(&self) {
        let names: Vec<_> = fs::read_dir(self.victim()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        assert_eq!(fs::read_to_string(self.victim().join("file")).unwrap(), "precious");
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// Every way to write, by name.
type Write = (&'static str, fn(&ManagedFolder) -> io::Result<()>);

const WRITES: &[Write] = &[
    ("append", |folder| folder.append("file", FileAccess::Private)?.write_all(b"x")),
    ("create", |folder| folder.create("file", FileAccess::Private)?.write_all(b"x")),
    ("create over", |folder| folder.create_over("file", FileAccess::Private)?.write_all(b"x")),
    ("lock", |folder| folder.lock_file("file")?.set_len(0)),
    ("replace", |folder| folder.replace("file", b"x", FileAccess::Private, Durability::Synced)),
    ("edit", |folder| folder.replace("file", b"x", FileAccess::Kept, Durability::Cached)),
    ("rename", |folder| folder.rename("file", "other")),
    ("rename to a new name", |folder| folder.rename_new("file", "other")),
    ("link", |folder| folder.link("file", "other")),
    ("remove", |folder| folder.remove("file")),
    ("remove all", |folder| folder.remove_all("file")),
    ("make", |folder| folder.join("inner").make(FileAccess::Private)),
];

#[test]
fn a_file_that_became_a_link_is_not_written_through() {
    for (name, write) in WRITES {
        for target in ["victim/file", "victim", "victim/nothing"] {
            let fixture = Fixture::new();
            let link = fixture.folder.path().join("file");
            symlink(fixture.place.path().join(target), &link).unwrap();
            if let Err(error) = write(&fixture.folder) {
                let is_taken = error.kind() == io::ErrorKind::AlreadyExists;
                assert!(is_link_error(&error) || is_taken, "{name}: {error}");
            }
            fixture.check_untouched();
        }
    }
}

#[test]
fn a_folder_that_became_a_link_is_not_written_through() {
    for (name, write) in WRITES {
        for replaced in ["base", "base/state"] {
            let fixture = Fixture::new();
            fs::write(fixture.folder.path().join("file"), "ours").unwrap();
            let replaced = fixture.place.path().join(replaced);
            fs::rename(&replaced, fixture.place.path().join("moved")).unwrap();
            // The link's target has entries of the same names.
            fs::create_dir_all(fixture.place.path().join("away/state")).unwrap();
            fs::write(fixture.place.path().join("away/state/file"), "precious").unwrap();
            let target = if replaced.ends_with("base") { "away" } else { "victim" };
            symlink(fixture.place.path().join(target), &replaced).unwrap();
            let error = write(&fixture.folder).unwrap_err();
            assert!(is_link_error(&error), "{name}: {error}");
            assert!(error.to_string().contains(&replaced.display().to_string()), "{name}: {error}");
            fixture.check_untouched();
            let away = fixture.place.path().join("away/state");
            assert_eq!(fs::read_to_string(away.join("file")).unwrap(), "precious", "{name}");
            assert_eq!(fs::read_dir(away).unwrap().count(), 1, "{name}");
        }
    }
}

#[test]
fn links_of_the_user_above_the_folder_are_followed_once() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("real")).unwrap();
    symlink("real", place.path().join("home")).unwrap();
    let folder = ManagedFolder::resolve(&place.path().join("home/deep/er"));
    folder.make(FileAccess::Private).unwrap();
    folder.replace("file", b"1", FileAccess::Private, Durability::Cached).unwrap();
    assert_eq!(fs::read(place.path().join("real/deep/er/file")).unwrap(), b"1");
    let by_name = ManagedFolder::from(place.path().join("home/deep"));
    assert_eq!(by_name.path(), place.path().canonicalize().unwrap().join("real/deep"));
    let own_name = ManagedFolder::from(place.path().join("home"));
    assert!(is_link_error(&own_name.make(FileAccess::Private).unwrap_err()));
}

#[test]
fn a_name_leads_nowhere_else() {
    let fixture = Fixture::new();
    for name in ["../../victim/file", "/victim/file", "a/b", "..", ".", ""] {
        assert!(fixture.folder.append(name, FileAccess::Private).is_err(), "{name}");
        assert!(fixture.folder.remove_all(name).is_err(), "{name}");
    }
    for below in ["../../victim/file", "/etc/x", "a/../../x", "..", ""] {
        assert!(fixture.folder.locate(Path::new(below)).is_err(), "{below}");
    }
    let (folder, name) = fixture.folder.locate(Path::new("a/b.html")).unwrap();
    assert_eq!((folder, name), (fixture.folder.join("a"), Path::new("b.html")));
    fixture.check_untouched();
}

#[test]
fn removing_a_tree_removes_links_and_not_what_they_lead_to() {
    let fixture = Fixture::new();
    let tree = fixture.folder.path().join("tree");
    fs::create_dir_all(tree.join("a/b")).unwrap();
    fs::write(tree.join("a/b/c"), "").unwrap();
    symlink(fixture.victim(), tree.join("a/link")).unwrap();
    symlink(fixture.victim().join("file"), tree.join("file")).unwrap();
    fixture.folder.remove_all("tree").unwrap();
    assert!(!tree.exists());
    fixture.check_untouched();
    let error = fixture.folder.remove_all("tree").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn modes_are_those_of_the_access() {
    let fixture = Fixture::new();
    let folder = &fixture.folder;
    let file = |name: &str| folder.path().join(name);
    folder.append("private", FileAccess::Private).unwrap();
    folder.create("shared", FileAccess::Shared).unwrap();
    folder.lock_file("lock").unwrap();
    folder.replace("replaced", b"", FileAccess::Private, Durability::Cached).unwrap();
    folder.join("a/b").make(FileAccess::Private).unwrap();
    folder.join("c").make(FileAccess::Shared).unwrap();
    // A narrow umask takes more away, so only what is allowed at most is compared.
    for (name, most) in [
        ("private", 0o600),
        ("shared", 0o644),
        ("lock", 0o600),
        ("replaced", 0o600),
        ("a", 0o700),
        ("a/b", 0o700),
        ("c", 0o755),
        (".", 0o700),
    ] {
        assert_eq!(mode(&file(name)) & !most, 0, "{name}");
    }
    for kept in [0o600, 0o640, 0o666] {
        fs::set_permissions(file("shared"), fs::Permissions::from_mode(kept)).unwrap();
        folder.replace("shared", b"new", FileAccess::Kept, Durability::Cached).unwrap();
        assert_eq!(mode(&file("shared")), kept, "{kept:o}");
    }
}

#[test]
fn a_replaced_file_is_whole_and_leaves_nothing_beside_it() {
    let fixture = Fixture::new();
    for text in ["one", "two"] {
        let bytes = text.as_bytes();
        fixture.folder.replace("file", bytes, FileAccess::Private, Durability::Synced).unwrap();
        let mut read = String::new();
        fixture.folder.read("file").unwrap().read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
    }
    assert_eq!(fixture.folder.names().unwrap(), ["file"]);
    let taken = fixture.folder.rename_new("file", "file").unwrap_err();
    assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn only_a_regular_file_is_read() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.folder.path().join("folder")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.folder.path().join("socket"));
    let pipe = fixture.folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    for name in ["folder", "socket", "pipe"] {
        assert!(fixture.folder.read(name).is_err(), "{name}");
        assert!(fixture.folder.read_bytes(name).is_err(), "{name}");
    }
    let missing = fixture.folder.read("missing").unwrap_err();
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
}

#[test]
fn an_error_names_the_link_and_what_to_do() {
    let error = io::Error::from(LinkError { path: "/home/x/.docent".into() });
    assert_eq!(
        error.to_string(),
        "/home/x/.docent is a symbolic link, and docent does not write through links; replace it with its target, or remove it"
    );
}
