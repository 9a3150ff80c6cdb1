//! A store whose files and folders are replaced by links between two writes.

use crate::{
    crash::{digest, stored_digests, version},
    project::{open, write},
};
use docent_files::ManagedFolder;
use docent_index::{EmbeddedStore, EmbeddedStoreSettings, IndexStore, embed::EmbeddingTable};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// A store in `state/index`, and a folder outside that nothing may touch.
struct Fixture {
    place: TempDir,
    store: EmbeddedStore,
}

impl Fixture {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("state")).unwrap();
        let victim = place.path().join("victim");
        fs::create_dir_all(victim.join("lexical")).unwrap();
        for name in ["file", "lock", "units-9", "lexical/meta.json", "lexical/x.term"] {
            fs::write(victim.join(name), "precious").unwrap();
        }
        let store = open(&place.path().join("state/index"));
        write(&store, version(1));
        Self { place, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Replaces a file or folder of the store by a link.
    fn replace(&self, name: &str, target: &Path) {
        let path = self.path("state").join(name);
        let path = if name.is_empty() { self.path("state") } else { path };
        if path.exists() {
            fs::rename(&path, self.path("moved")).unwrap();
        }
        symlink(target, &path).unwrap();
    }

    fn check_untouched(&self, what: &str) {
        let victim = self.path("victim");
        let mut count = 0;
        for folder in [victim.clone(), victim.join("lexical")] {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                count += 1;
                let is_whole = path.is_dir() || fs::read_to_string(&path).unwrap() == "precious";
                assert!(is_whole, "{what}: {}", path.display());
            }
        }
        assert_eq!(count, 6, "{what}");
    }
}

#[test]
fn a_folder_that_became_a_link_is_not_written_to() {
    for (name, target) in [("", "victim"), ("index", "victim"), ("index/lexical", "victim/lexical")]
    {
        let fixture = Fixture::new();
        fixture.replace(name, &fixture.path(target));
        let mut changes = version(2).into_iter();
        let error = fixture.store.write(&mut changes).unwrap_err().to_string();
        // Without its lists the lexical index is corrupt, and is rebuilt.
        let reason = if name == "index/lexical" { "meta.json" } else { "symbolic link" };
        assert!(error.contains(reason), "{name}: {error}");
        fixture.check_untouched(name);
        // A store that is opened now refuses it as well; what is inside a link is not removed either.
        let real = fixture.place.path().canonicalize().unwrap();
        let folder = ManagedFolder::exact(real.join("state/index"));
        let again = EmbeddedStore::open(
            folder,
            EmbeddingTable::built_in(),
            EmbeddedStoreSettings::default(),
        );
        drop(again.and_then(|store| store.repair()));
        fixture.check_untouched(name);
    }
}

#[test]
fn a_file_that_became_a_link_is_replaced_and_what_it_leads_to_is_not() {
    for name in ["lock", "units-9", "vectors-9", "dead-9", "lexical/.managed.json"] {
        let fixture = Fixture::new();
        fixture.replace(&format!("index/{name}"), &fixture.path("victim/file"));
        // Some are rewritten, others refused; either way nothing outside is.
        drop(fixture.store.write(&mut version(2).into_iter()));
        fixture.check_untouched(name);
    }
    // The names of the next files are predictable: place links there.
    let fixture = Fixture::new();
    for n in 0..20 {
        for kind in ["units", "dead"] {
            let link = fixture.path(&format!("state/index/{kind}-{n}"));
            if !link.exists() {
                symlink(fixture.path("victim/file"), link).unwrap();
            }
        }
    }
    write(&fixture.store, version(2));
    assert_eq!(stored_digests(&fixture.store), BTreeSet::from([digest(2)]));
    fixture.check_untouched("links that wait");
}

#[test]
fn files_of_a_store_are_the_user_s_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let mut folders = vec![fixture.path("state/index")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{} has {mode:o}", path.display());
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
}
