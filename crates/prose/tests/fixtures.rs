//! Compares real pages of each generator with their snapshots.
//!
//! `DOCENT_BLESS=1` updates the snapshots.
#![expect(clippy::disallowed_methods, reason = "the test reads its own fixtures")]

use docent_prose::{ProseDocument, ProseFormat};
use std::{fs, path::Path};

/// A document as readable text.
fn shown(document: &ProseDocument) -> String {
    let mut lines = vec![
        format!("title: {}", document.title),
        format!("generator: {}", document.generator.unwrap_or("-")),
        format!("version: {}", document.version.as_deref().unwrap_or("-")),
        format!("boilerplate: {}", if document.is_boilerplate { "yes" } else { "no" }),
    ];
    for section in &document.sections {
        let anchor = section.anchor.as_ref().map(|anchor| format!(" {{#{anchor}}}"));
        let marks = "#".repeat(section.level.into());
        let heading = section.heading().unwrap_or("(no heading)");
        lines.push(format!("\n{marks} {heading}{}", anchor.unwrap_or_default()));
        for block in &section.blocks {
            let linked = block.text.to_markdown(&|target| Some(target.to_owned()));
            lines.push(format!("\n[{:?}]\n{linked}", block.kind));
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn pages_are_read_as_their_snapshots_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/html");
    let bless = std::env::var_os("DOCENT_BLESS").is_some();
    let mut count = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "html") {
            continue;
        }
        count += 1;
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let document = ProseFormat::Html.read(&name, &fs::read(&path).unwrap()).unwrap();
        let got = shown(&document);
        let snapshot = path.with_extension("snapshot");
        if bless {
            fs::write(&snapshot, &got).unwrap();
        }
        let want = fs::read_to_string(&snapshot).unwrap_or_default();
        if let Some((n, (got, want))) =
            got.lines().zip(want.lines()).enumerate().find(|(_, (got, want))| got != want)
        {
            wrong.push(format!("{name}:{}: {got:?}, not {want:?}", n + 1));
        } else if got != want {
            wrong.push(format!(
                "{name}: {} lines, not {}",
                got.lines().count(),
                want.lines().count()
            ));
        }
    }
    assert!(count >= 10, "only {count} pages in {}", folder.display());
    assert!(wrong.is_empty(), "{}\nDOCENT_BLESS=1 updates the snapshots", wrong.join("\n"));
}
