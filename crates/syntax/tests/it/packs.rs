//! Compares each language pack's sample with its reviewed snapshot.
#![expect(clippy::disallowed_methods, reason = "the test reads its own fixtures")]
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

use docent_syntax::{Language, annotate, parse};
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

fn folder(language: Language) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("languages").join(language.word())
}

fn sample(language: Language) -> PathBuf {
    let is_sample = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name != "sample.json.snapshot" && (name.starts_with("sample.") || name == "Dockerfile")
    };
    let mut all = fs::read_dir(folder(language)).unwrap().map(|entry| entry.unwrap().path());
    all.find(is_sample).unwrap_or_else(|| panic!("no sample for {}", language.word()))
}

fn read(language: Language) -> Value {
    let path = sample(language);
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(Language::from_path(&name), Some(language), "{name}");
    let text = fs::read_to_string(&path).unwrap();
    let tree = parse::tree(language, &text, &|| false).unwrap();
    assert_eq!(parse::first_error(&tree), None, "{name} has a syntax error");
    json!(annotate::file(language, &name, &text, &tree))
}

#[test]
fn samples_are_read_as_their_snapshots_say() {
    let mut wrong = Vec::new();
    for language in Language::ALL.iter().copied() {
        let snapshot = folder(language).join("sample.json.snapshot");
        let found = serde_json::to_string_pretty(&read(language)).unwrap() + "\n";
        if std::env::var_os("DOCENT_BLESS").is_some() {
            fs::write(&snapshot, &found).unwrap();
        }
        if fs::read_to_string(&snapshot).unwrap_or_default() != found {
            wrong.push(language.word());
        }
    }
    assert!(wrong.is_empty(), "not as in sample.json.snapshot: {wrong:?}; see languages/README.md");
}

#[test]
fn every_folder_is_a_language() {
    let folders = fs::read_dir(folder(Language::Rust).parent().unwrap()).unwrap();
    let folders = folders.map(Result::unwrap).filter(|entry| entry.path().is_dir());
    for entry in folders {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(Language::from_name(&name).is_some(), "no line in src/language.rs for {name}");
    }
}
