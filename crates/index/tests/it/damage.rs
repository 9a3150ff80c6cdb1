//! Corrupt files are detected, reported and rebuilt; never used.

use crate::project::{open, project, source, unit, write};
use docent_index::{
    IndexQuery, IndexStore, IndexStoreError, StoreChange, embed::EmbeddingTable, search,
};
use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// Deterministic pseudo-random numbers.
struct NumberSequence(u64);

impl NumberSequence {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end.max(1) as u64).unwrap()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if fs::metadata(&path).unwrap().len() > 0 {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// Damages a file in one way, and describes it.
fn damage_file(file: &Path, numbers: &mut NumberSequence) -> String {
    let mut bytes = fs::read(file).unwrap();
    let at = numbers.below(bytes.len());
    let way = match numbers.below(7) {
        0 => {
            bytes.truncate(at);
            "cut off"
        }
        1 => {
            bytes.insert(at, 7);
            "a byte more"
        }
        2 => {
            bytes.remove(at);
            "a byte less"
        }
        3 => {
            let end = (at + 1 + numbers.below(200)).min(bytes.len());
            bytes[at..end].fill(0);
            "zeros"
        }
        4 => {
            bytes.clear();
            "emptied"
        }
        _ => {
            bytes[at] ^= 1 << numbers.below(8);
            "a bit turned"
        }
    };
    fs::write(file, bytes).unwrap();
    format!("{} at {at}: {way}", file.display())
}

/// The results of all queries on a store.
fn answers(store: &dyn IndexStore) -> Result<String, IndexStoreError> {
    let mut all = format!("{:?} {:?}", store.digests("app")?, store.digests("lib")?);
    for text in ["authenticate a user", "draw the logo", "retry", "parse http response", "unit 17"]
    {
        let answer = search(store, EmbeddingTable::built_in().as_ref(), &IndexQuery::new(text))?;
        for hit in answer.hits {
            write!(all, "{:?} {:.4} {:?};", hit.found, hit.similarity, hit.matched).unwrap();
        }
    }
    Ok(all)
}

fn fill_store(folder: &Path) {
    let store = open(folder);
    write(&store, project());
    let many = (0..60).map(|n| {
        let name = format!("unit_{n}");
        StoreChange::Put(source(
            "lib",
            &format!("{n}.rs"),
            vec![unit("function", &name, "Some words.", "body")],
        ))
    });
    write(&store, many.collect());
    let gone = StoreChange::Remove { collection: "lib".into(), path: "3.rs".into() };
    write(&store, vec![gone]);
}

#[test]
fn damage_is_noticed_and_made_good() {
    let whole = tempfile::tempdir().unwrap();
    fill_store(whole.path());
    let want = answers(&open(whole.path())).unwrap();
    let names: Vec<PathBuf> = files(whole.path())
        .into_iter()
        .map(|path| path.strip_prefix(whole.path()).unwrap().to_owned())
        .collect();
    let times: usize =
        env::var("DOCENT_TEST_DAMAGES").ok().and_then(|text| text.parse().ok()).unwrap_or(240);
    let mut numbers = NumberSequence(0x5eed_5eed_5eed_5eed);
    let mut noticed = 0;
    for n in 0..times {
        let folder = tempfile::tempdir().unwrap();
        copy(whole.path(), folder.path());
        let how = damage_file(&folder.path().join(&names[n % names.len()]), &mut numbers);
        let store = open(folder.path());
        match answers(&store) {
            // Damage to a file that is not read, such as a lock, can't be detected.
            Ok(got) => assert_eq!(got, want, "{how}"),
            Err(IndexStoreError::Corrupt { .. }) => {
                noticed += 1;
                let repairs = store.repair().unwrap();
                let said = repairs.rebuilt.unwrap_or_default();
                assert!(said.contains("corrupt"), "{how}: {said}");
                assert_eq!(store.status().unwrap().units, 0, "{how}");
                write(&store, project());
                let found = search(
                    &store,
                    EmbeddingTable::built_in().as_ref(),
                    &IndexQuery::new("draw the logo"),
                );
                assert_eq!(found.unwrap().hits[0].found.unit.name, "draw_logo", "{how}");
            }
            Err(error) => panic!("{how}: {error}"),
        }
    }
    assert!(noticed * 2 > times, "{noticed} of {times}");
}

/// A corrupt count would allocate more memory than there is and end the process.
#[test]
fn a_number_that_lies_takes_no_memory() {
    let whole = tempfile::tempdir().unwrap();
    fill_store(whole.path());
    let all = files(whole.path());
    let mut stores = all.iter().filter(|path| path.extension().is_some_and(|it| it == "store"));
    let file = stores.next().unwrap();
    let right = fs::read(file).unwrap();
    for at in 0..right.len().min(200) {
        let mut bytes = right.clone();
        // Thirty thousand million, as Tantivy writes numbers.
        for (byte, lie) in bytes.iter_mut().skip(at).zip([0x7f, 0x7f, 0x7f, 0x7f, 0xff]) {
            *byte = lie;
        }
        fs::write(file, bytes).unwrap();
        let got = answers(&open(whole.path()));
        assert!(matches!(got, Err(IndexStoreError::Corrupt { .. })), "{at}: {got:?}");
    }
}

#[test]
fn a_missing_file_is_damage() {
    let whole = tempfile::tempdir().unwrap();
    fill_store(whole.path());
    for file in files(whole.path()) {
        let name = file.strip_prefix(whole.path()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        copy(whole.path(), folder.path());
        fs::remove_file(folder.path().join(name)).unwrap();
        let store = open(folder.path());
        match answers(&store) {
            Ok(_) => {}
            Err(IndexStoreError::Corrupt { .. }) => {
                assert!(store.repair().unwrap().rebuilt.is_some(), "{}", name.display());
            }
            Err(error) => panic!("{}: {error}", name.display()),
        }
        write(&store, project());
        assert!(store.status().unwrap().units >= 6, "{}", name.display());
    }
}

/// Opens a store with a small graph in a folder, repairs and fills it.
#[cfg(unix)]
fn fill_whatever_is_there(folder: &Path) {
    let settings = docent_index::EmbeddedStoreSettings {
        graph_above: 3,
        ..docent_index::EmbeddedStoreSettings::default()
    };
    let store =
        docent_index::EmbeddedStore::open(folder, EmbeddingTable::built_in(), settings).unwrap();
    store.repair().unwrap();
    write(&store, project());
    let gone = StoreChange::Remove { collection: "app".into(), path: "src/retry.rs".into() };
    write(&store, vec![gone]);
    let found =
        search(&store, EmbeddingTable::built_in().as_ref(), &IndexQuery::new("draw the logo"));
    assert_eq!(found.unwrap().hits[0].found.unit.name, "draw_logo");
}

#[test]
#[cfg(unix)]
fn no_file_is_written_through_a_link() {
    let whole = tempfile::tempdir().unwrap();
    fill_whatever_is_there(whole.path());
    let mut names: Vec<PathBuf> =
        ["lock", "lexical/.tantivy-writer.lock", "lexical/.tantivy-meta.lock"]
            .into_iter()
            .chain(["units-0", "graph-2", "lexical/new"])
            .map(PathBuf::from)
            .collect();
    names.extend(
        files(whole.path()).iter().map(|path| path.strip_prefix(whole.path()).unwrap().to_owned()),
    );
    assert!(names.iter().any(|name| name.to_string_lossy().starts_with("graph-")), "{names:?}");
    for name in names {
        let above = tempfile::tempdir().unwrap();
        let (folder, victim) = (above.path().join("index"), above.path().join("victim"));
        for (is_there, is_filled) in [(true, false), (true, true), (false, true)] {
            drop(fs::remove_dir_all(&folder));
            if is_filled {
                copy(whole.path(), &folder);
            }
            let link = folder.join(&name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            drop(fs::remove_file(&link));
            std::os::unix::fs::symlink(&victim, &link).unwrap();
            drop(fs::remove_file(&victim));
            if is_there {
                fs::write(&victim, "precious").unwrap();
            }
            fill_whatever_is_there(&folder);
            let left = fs::read_to_string(&victim).ok();
            assert_eq!(left.as_deref(), is_there.then_some("precious"), "{}", name.display());
        }
    }
}

#[test]
#[cfg(unix)]
fn the_folder_of_the_lexical_index_is_its_own() {
    let above = tempfile::tempdir().unwrap();
    let (folder, other) = (above.path().join("index"), above.path().join("other"));
    for list in ["meta.json", "unlike.json"] {
        drop((fs::remove_dir_all(&folder), fs::remove_dir_all(&other)));
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join(list), "precious").unwrap();
        std::os::unix::fs::symlink(&other, folder.join("lexical")).unwrap();
        fill_whatever_is_there(&folder);
        assert_eq!(fs::read_to_string(other.join(list)).unwrap(), "precious");
        assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    }
}

#[test]
fn a_list_that_names_files_elsewhere_is_damage() {
    let whole = tempfile::tempdir().unwrap();
    fill_store(whole.path());
    for has_list in [true, false] {
        let above = tempfile::tempdir().unwrap();
        let (folder, victim) = (above.path().join("index"), above.path().join("victim"));
        copy(whole.path(), &folder);
        fs::write(&victim, "precious").unwrap();
        let path = folder.join("lexical/.managed.json");
        let sealed = fs::read_to_string(&path).unwrap();
        let (list, _) = sealed.trim_end().rsplit_once('\n').unwrap();
        let mut names: Vec<String> = serde_json::from_str(list).unwrap();
        names.extend(["../../victim".into(), victim.to_string_lossy().into_owned()]);
        let list = format!("{}\n", serde_json::to_string(&names).unwrap());
        let seal = xxhash_rust::xxh3::xxh3_64(list.as_bytes());
        fs::write(&path, format!("{list}\n{seal:016x}")).unwrap();
        if !has_list {
            fs::remove_file(folder.join("lexical/meta.json")).unwrap();
        }
        let store = open(&folder);
        if has_list {
            let said = store.repair().unwrap().rebuilt.unwrap_or_default();
            assert!(said.contains("outside the folder"), "{said}");
        }
        write(&store, project());
        write(&store, project());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}
