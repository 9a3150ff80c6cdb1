//! A corrupt index: nothing of it is served as if it were valid, and nothing panics. Some changes get new checksums, so
//! that the code after the checksum tests is reached too.
#![no_main]

use docent_index::{
    Digest, EmbeddedStore, EmbeddedStoreSettings, Genre, IndexQuery, IndexStore, IndexStoreError,
    IndexUnit, IndexedSource, LineSpan, StoreChange, embed::EmbeddingTable, search,
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};
use xxhash_rust::xxh3::xxh3_64;

/// The metadata file of the lexical index, which contains the manifest.
const LIST: &str = "lexical/meta.json";

struct Whole {
    /// The folder to which the index is copied and then changed.
    place: PathBuf,
    /// Names and bytes.
    files: Vec<(PathBuf, Vec<u8>)>,
    answers: String,
}

static WHOLE: LazyLock<Whole> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let place = place.join(format!("docent-fuzz-index-{}", std::process::id()));
    let _ = fs::remove_dir_all(&place);
    let store = open(&place).expect("an empty index");
    store.write(&mut (0..6).map(|n| StoreChange::Put(source(n)))).expect("units");
    let gone = StoreChange::Remove { collection: "lib".into(), path: "3.rs".into() };
    store.write(&mut [StoreChange::Put(source(9)), gone].into_iter()).expect("more units");
    let answers = answers(&store).expect("answers");
    let mut files = Vec::new();
    for folder in [place.clone(), place.join("lexical")] {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                files.push((
                    path.strip_prefix(&place).expect("within").to_owned(),
                    fs::read(&path).expect("a file"),
                ));
            }
        }
    }
    files.retain(|(_, bytes)| !bytes.is_empty());
    // Names of parts are random each time, but their order by kind and size is not.
    files.sort_by_key(|(name, bytes)| (name.extension().map(ToOwned::to_owned), bytes.len()));
    Whole { place, files, answers }
});

fn open(place: &Path) -> Result<EmbeddedStore, IndexStoreError> {
    EmbeddedStore::open(place, EmbeddingTable::built_in(), EmbeddedStoreSettings::default())
}

fn source(n: u32) -> IndexedSource {
    let name = format!("draw_logo_{n}");
    let unit = |kind: &str| IndexUnit {
        id: name.clone(),
        kind: kind.into(),
        language: "rust".into(),
        name: name.clone(),
        signature: format!("fn {name}()"),
        doc: "Draws the logo of the company.".into(),
        body: "fn draw_logo() { paint(canvas) }".into(),
        span: LineSpan { first: n, last: n + 3 },
        extra: String::new(),
    };
    IndexedSource {
        collection: "lib".into(),
        path: format!("{n}.rs"),
        genre: if n % 2 == 0 { Genre::Code } else { Genre::Prose },
        digest: Digest::of(&[name.as_bytes()]),
        units: vec![unit("function"), unit("method")],
    }
}

fn answers(store: &dyn IndexStore) -> Result<String, IndexStoreError> {
    let mut all = format!("{:?} {:?}", store.collections()?, store.digests("lib")?);
    for text in ["draw the logo", "logo 4"] {
        let found = search(store, EmbeddingTable::built_in().as_ref(), &IndexQuery::new(text))?;
        for hit in found.hits {
            all += &format!("{:?} {:.4};", hit.found, hit.similarity);
        }
    }
    let mut sources = store.view()?.sources("lib")?;
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(format!("{all} {sources:?}"))
}

fuzz_target!(
    // Tantivy panics on unreadable data, and docent catches that, so only panics that reach this point count.
    init: std::panic::set_hook(Box::new(|_| ())),
    |input: &[u8]| {
        if let Err(panic) = std::panic::catch_unwind(|| attempt(input)) {
            let text = panic.downcast_ref::<String>().map_or("", String::as_str);
            let text = panic.downcast_ref::<&str>().copied().unwrap_or(text);
            eprintln!("panicked: {text}");
            std::process::abort();
        }
    }
);

fn attempt(input: &[u8]) {
    let [how, which, edits @ ..] = input else { return };
    let whole = &*WHOLE;
    for (name, bytes) in &whole.files {
        fs::write(whole.place.join(name), bytes).expect("memory takes all");
    }
    let is_sealed = how & 1 != 0;
    if is_sealed && how & 2 != 0 {
        relist(&whole.place, |manifest| edit(manifest, edits));
    } else {
        let (name, bytes) = &whole.files[usize::from(*which) % whole.files.len()];
        let mut bytes = bytes.clone();
        edit(&mut bytes, edits);
        fs::write(whole.place.join(name), bytes).expect("memory takes all");
        if is_sealed && !name.starts_with("lexical") {
            relist(&whole.place, |manifest| seal(&whole.place, manifest));
        }
    }
    let store = open(&whole.place);
    match store.as_ref().map_err(|_| ()).map(|store| answers(store)) {
        Ok(Ok(got)) => assert!(is_sealed || got == whole.answers, "{got}\n{}", whole.answers),
        Ok(Err(IndexStoreError::Corrupt { .. })) if !is_sealed && how & 4 != 0 => {
            let repairs = store.ok().map(|store| store.repair());
            assert!(repairs.is_some_and(|repairs| repairs.is_ok_and(|it| it.rebuilt.is_some())));
        }
        Ok(Err(error)) => {
            assert!(is_sealed || matches!(error, IndexStoreError::Corrupt { .. }), "{error}");
        }
        Err(()) => {}
    }
}

/// Applies changes of three bytes each: a position and a new value. The last ones truncate the file.
fn edit(bytes: &mut Vec<u8>, edits: &[u8]) {
    let (edits, cut) = edits.as_chunks::<3>();
    for [high, low, value] in edits {
        let at = usize::from(u16::from_be_bytes([*high, *low]));
        if let Some(length) = bytes.len().checked_sub(1) {
            bytes[at % (length + 1)] = *value;
        }
    }
    if let [cut, _] = cut {
        bytes.truncate(bytes.len().saturating_sub(usize::from(*cut)));
    }
}

/// Changes the manifest and updates its checksum.
fn relist(place: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let bytes = fs::read(place.join(LIST)).expect("a list");
    let mut list: Value = serde_json::from_slice(&bytes[..bytes.len() - 17]).expect("a list");
    let payload = list["payload"].as_str().expect("a manifest");
    let mut manifest = payload.split_once(' ').expect("a seal").1.as_bytes().to_vec();
    change(&mut manifest);
    let Ok(manifest) = String::from_utf8(manifest) else { return };
    list["payload"] = format!("{:016x} {manifest}", xxh3_64(manifest.as_bytes())).into();
    let list = list.to_string();
    let list = format!("{list}\n{:016x}", xxh3_64(list.as_bytes()));
    fs::write(place.join(LIST), list).expect("memory takes all");
}

/// Updates the checksum of each record, directory and file.
fn seal(place: &Path, manifest: &mut Vec<u8>) {
    let mut value: Value = serde_json::from_slice(manifest).expect("a manifest");
    for part in value["parts"].as_array_mut().expect("parts") {
        let path = place.join(part["records"]["name"].as_str().expect("a name"));
        let mut bytes = fs::read(&path).expect("a file");
        let number = |name: &str| part[name].as_u64().and_then(|it| usize::try_from(it).ok());
        let (units, directory) =
            (number("units").expect("a number"), number("directory").expect("a number"));
        for n in 0..units {
            let offset = |n: usize| {
                let at = directory + units * 4 + n * 8;
                let eight = bytes.get(at..at + 8)?.try_into().ok()?;
                usize::try_from(u64::from_le_bytes(eight)).ok()
            };
            let (Some(from), Some(to)) = (offset(n), offset(n + 1)) else { continue };
            if let Some([_, _, _, _, sealed @ ..]) = bytes.get(from..to) {
                let seal = xxh3_64(sealed).to_le_bytes();
                bytes[from..from + 4].copy_from_slice(&seal[..4]);
            }
        }
        let hash = xxh3_64(bytes.get(directory..).unwrap_or_default());
        fs::write(&path, bytes).expect("memory takes all");
        part["directory_hash"] = format!("{hash:016x}").into();
        sealed(place, &mut part["records"]);
        sealed(place, &mut part["vectors"]);
    }
    sealed(place, &mut value["dead"]);
    *manifest = value.to_string().into_bytes();
}

fn sealed(place: &Path, file: &mut Value) {
    let Some(name) = file["name"].as_str() else { return };
    let bytes = fs::read(place.join(name)).expect("a file");
    file["bytes"] = bytes.len().into();
    file["hash"] = format!("{:016x}", xxh3_64(&bytes)).into();
}
