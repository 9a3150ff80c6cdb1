//! Compares documents in text formats with their snapshots.
#![expect(clippy::disallowed_methods, reason = "the test reads its own fixtures")]

use docent_prose::{ProseDocument, ProseFormat};
use std::path::{Path, PathBuf};

fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/text");
    let mut files = Vec::new();
    for folder in ["markdown", "notebook", "openapi", "plain", "rst"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("the fixtures are there");
        files.extend(entries.map(|entry| entry.expect("a folder is listed").path()));
    }
    files.retain(|path| path.extension().is_none_or(|ending| ending != "snapshot"));
    files.sort();
    files
}

fn shown(document: &ProseDocument) -> String {
    let version = document.version.as_deref().unwrap_or("-");
    let mut lines = vec![format!("title: {}\nversion: {version}", document.title)];
    for section in &document.sections {
        let anchor = section.anchor.as_deref().unwrap_or("-");
        let marks = "#".repeat(section.level.into());
        lines.push(format!("\n{marks} {} ({anchor})", section.path.join(" > ")));
        for block in &section.blocks {
            lines.push(format!("[{:?}]\n{}", block.kind, block.text.plain));
            for link in &block.text.links {
                let label = block.text.plain.get(link.label.clone()).unwrap_or("?");
                lines.push(format!("  -> {}: {}", label.replace('\n', " "), link.target));
            }
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn documents_are_read_as_their_snapshots_say() {
    let files = fixtures();
    assert!(files.len() >= 10, "{files:?}");
    for path in files {
        let name = path.to_str().unwrap().to_owned();
        let bytes = std::fs::read(&path).unwrap();
        let format = ProseFormat::guess(&name, &bytes).unwrap();
        let got = shown(&format.read(&name, &bytes).unwrap());
        let snapshot = PathBuf::from(format!("{name}.snapshot"));
        if std::env::var_os("DOCENT_BLESS").is_some() {
            std::fs::write(&snapshot, &got).unwrap();
        }
        let want = std::fs::read_to_string(&snapshot).unwrap_or_default();
        assert_eq!(got, want, "{name}: run with DOCENT_BLESS=1 and read the difference");
    }
}

/// Calls a reader on a thread with the usual stack size, so that deep recursion is detected.
fn survives(name: &str, text: &str) {
    let formats = [
        ProseFormat::Markdown,
        ProseFormat::Plain,
        ProseFormat::Rst,
        ProseFormat::Notebook,
        ProseFormat::OpenApi,
    ];
    for format in formats {
        let text = text.to_owned();
        let call = move || {
            let read = format.read("a/b.mdx", text.as_bytes());
            let Ok(document) = read else { return };
            for block in document.sections.iter().flat_map(|section| &section.blocks) {
                for link in &block.text.links {
                    assert!(block.text.plain.get(link.label.clone()).is_some(), "{link:?}");
                }
            }
        };
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(call);
        let thread = thread.expect("a thread starts");
        assert!(thread.join().is_ok(), "{name} as {}", format.name());
    }
}

#[test]
fn hostile_text_is_survived() {
    let unclosed = [
        "```",
        "~~~",
        "<!--",
        "<a href=\"",
        "<div",
        "[",
        "![",
        "[a](",
        "`",
        "``",
        "**",
        "*",
        "|",
        "> [!NOTE",
        ":::tip",
        "!!! note",
        "{{<",
        "{%",
        "---\ntitle: x",
        "+++\n",
        "$$",
        ".. ",
        ".. note::",
        ".. |x|",
        ".. _",
        ":a:`",
        "`a <",
        "+---+\n| a",
        "==== ====\na",
        ":a",
        "::",
        "export const a = {",
        "<Tabs",
        "{/*",
        "{\"cells\": [",
        "openapi: [",
        "a: &a [*a]",
        "\u{c}",
        "1.",
        "-",
        "é`é*é|é_",
        "\\",
        "&#x",
        "&#99999999999;",
    ];
    for start in unclosed {
        survives(start, start);
        survives(start, &format!("{start}é"));
        survives(start, &format!("{start}\n\n{start} x\n    y\n{start}"));
        survives(start, &format!("{start} ").repeat(3000));
        survives(start, &format!("{start}\n").repeat(3000));
    }
}

#[test]
fn depth_and_length_are_survived() {
    let indented = |line: &str| (0..300).map(|n| " ".repeat(n) + line).collect::<Vec<_>>().concat();
    let cases = [
        ("quotations", "> ".repeat(100_000) + "x"),
        ("items in a line", "- ".repeat(100_000) + "x"),
        ("nested items", indented("- x\n")),
        ("nested notes", indented(".. note::\n\n")),
        ("nested definitions", indented("x\n")),
        ("a long line", "word ".repeat(200_000)),
        ("a long word", "w".repeat(1 << 20)),
        ("elements", "<div>".repeat(50_000)),
        ("emphasis", "*_".repeat(50_000)),
        ("brackets", "[".repeat(100_000)),
    ];
    for (name, text) in cases {
        survives(name, &text);
    }
}

#[test]
fn every_prefix_of_a_document_is_survived() {
    for path in fixtures() {
        let name = path.to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let format = ProseFormat::guess(&name, text.as_bytes()).unwrap();
        let step = (text.len() / 60).max(1);
        let ends = (1..text.len()).step_by(step).filter(|end| text.is_char_boundary(*end));
        for end in ends {
            // Truncated input may be rejected, but must not panic.
            drop(format.read(&name, &text.as_bytes()[..end]));
        }
    }
}
