//! Compares man pages and `AsciiDoc` documents with their snapshots.
#![expect(clippy::disallowed_methods, reason = "the test reads its own fixtures")]
#![expect(clippy::unwrap_used, reason = "what a test cannot get past fails it")]

use docent_prose::{ProseDocument, ProseFormat, chunks};
use std::{fmt::Write as _, fs, path::Path};

/// A document as readable text.
fn dump(document: &ProseDocument) -> String {
    let mut out = format!(
        "title: {}\nversion: {:?}\ngenerator: {:?}\nproblems: {:?}\nchunks: {}\n",
        document.title,
        document.version,
        document.generator,
        document.problems,
        chunks(document).len()
    );
    for section in &document.sections {
        writeln!(out, "\n@ {:?}", section.anchor.as_deref().unwrap_or_default()).unwrap();
        let kinds: Vec<String> =
            section.blocks.iter().map(|block| format!("{:?}", block.kind)).collect();
        writeln!(out, "@ {}", kinds.join(" ")).unwrap();
        writeln!(out, "{}", section.markdown(&|target| Some(target.to_owned()))).unwrap();
    }
    out
}

fn check(path: &str, format: ProseFormat) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(ProseFormat::guess(path, &bytes), Some(format), "{path}");
    let got = dump(&format.read(path, &bytes).unwrap());
    let snapshot =
        file.with_file_name(format!("{}.snapshot", file.file_name().unwrap().to_string_lossy()));
    #[expect(clippy::disallowed_methods, reason = "a variable makes tests write their snapshots")]
    let bless = std::env::var("DOCENT_BLESS").is_ok();
    if bless {
        fs::write(&snapshot, &got).unwrap();
    }
    let want = fs::read_to_string(&snapshot).unwrap_or_default();
    assert_eq!(got, want, "{path}: read it, then run with DOCENT_BLESS=1 if it is right");
}

#[test]
fn man_pages_read_as_before() {
    for path in [
        "roff/CA.pl.1ssl",
        "roff/classic.8",
        "roff/docbook.1",
        "roff/redirect.3",
        "roff/ssh-agent.1",
        "roff/strlcpy.3bsd",
        "roff/swaymsg.1",
    ] {
        check(path, ProseFormat::Man);
    }
}

#[test]
fn asciidoc_reads_as_before() {
    for path in ["asciidoc/command.txt", "asciidoc/guide.adoc"] {
        check(path, ProseFormat::AsciiDoc);
    }
}
