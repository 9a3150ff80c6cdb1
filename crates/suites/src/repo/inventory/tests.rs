use super::*;
use crate::repo::{
    facts::{CodeBlock, DocumentFormat, DocumentHeading},
    report::{Decision, Manifest, Presence},
};
use DocumentKind as K;
use outline::{DocumentOutline, OutlineContent};

/// The document facts that this module uses.
pub(super) fn facts(path: &str, text: &str) -> DocumentFacts {
    let outline = DocumentOutline::read(path, text);
    let headed = || outline.sections.iter().filter(|section| section.level > 0);
    let heading = |section: &outline::OutlineSection| DocumentHeading {
        level: section.level,
        text: section.heading.as_str().into(),
        line: u32::try_from(section.line).unwrap(),
    };
    let parts = || outline.sections.iter().flat_map(|section| &section.parts);
    let block = |part: &outline::OutlinePart| match &part.matter {
        OutlineContent::Code { language, .. } => Some(CodeBlock {
            line: u32::try_from(part.line).unwrap(),
            language: language.as_deref().map(Into::into),
        }),
        _ => None,
    };
    let format = match path.rsplit('.').next() {
        Some("rst") => DocumentFormat::Restructured,
        Some("adoc") => DocumentFormat::AsciiDoc,
        Some("html") => DocumentFormat::Html,
        Some("txt") => DocumentFormat::Text,
        _ => DocumentFormat::Markdown,
    };
    DocumentFacts {
        path: path.into(),
        format,
        title: headed().next().map(|section| section.heading.as_str().into()),
        headings: headed().map(heading).collect(),
        anchors: Vec::new(),
        links: Vec::new(),
        mentions: Vec::new(),
        code_blocks: parts().filter_map(block).collect(),
        words: outline.words(),
        shingles: Vec::new(),
    }
}

#[test]
fn every_part_is_taken_stock_of() {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("README.md", "# Acme\n\nAcme turns roads into rockets.\n\n```sh\ncargo add acme\n```\n"),
        ("CHANGELOG.md", "## 1.0.0 - 2026-01-31\n"),
        ("docs/adr/0001-use-a.md", "# Use A\n\nStatus: accepted\n"),
        ("docs/flying.md", "# How to fly\n\nThus.\n\n```\nfly\n```\n"),
        ("examples/one.rs", ""),
        ("src/lib.rs", ""),
        ("tests/data/page.md", "# Not ours\n"),
    ];
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let documents: Vec<DocumentFacts> = files
        .iter()
        .filter(|(_, text)| text.starts_with('#'))
        .map(|(path, text)| facts(path, text))
        .collect();
    let report = Report {
        presence: Presence {
            readme: Some("README.md".into()),
            changelog: Some("CHANGELOG.md".into()),
            ..Presence::default()
        },
        manifests: vec![Manifest {
            path: "Cargo.toml".into(),
            ecosystem: "Cargo".into(),
            version: Some("1.0.0".into()),
            ..Manifest::default()
        }],
        ..Report::default()
    };
    let (taken, problems) = build_inventory(&ProjectTree::of(folder.path()), &documents, &report);
    assert_eq!(problems, []);
    let readme = taken.readme.as_ref().unwrap();
    assert_eq!((readme.path.as_str(), readme.words, readme.code_blocks), ("README.md", 6, 1));
    let listed = |path: &str, title: &str, kind, because: &str, words| Document {
        path: path.into(),
        title: Some(title.into()),
        kind,
        because: because.into(),
        words,
    };
    let want = [
        Document {
            title: Some("Acme".into()),
            ..listed("README.md", "", K::Readme, "the name `readme`", 6)
        },
        listed("CHANGELOG.md", "1.0.0 - 2026-01-31", K::Changelog, "the name `changelog`", 2),
        listed("docs/adr/0001-use-a.md", "Use A", K::Decision, "a numbered record", 4),
        listed("docs/flying.md", "How to fly", K::HowTo, "the title begins with `how to`", 4),
    ];
    assert_eq!(taken.documents, want);
    assert_eq!(taken.document_count, 4);
    let kinds: Vec<_> = taken.kinds.iter().map(|it| (it.kind, it.count)).collect();
    assert_eq!(kinds, [(K::Readme, 1), (K::HowTo, 1), (K::Decision, 1), (K::Changelog, 1)]);
    let decision = Decision {
        path: "docs/adr/0001-use-a.md".into(),
        title: "Use A".into(),
        status: Some("accepted".into()),
    };
    assert_eq!(taken.decisions, [decision]);
    let changelog = taken.changelog.unwrap();
    assert_eq!((changelog.releases, changelog.has_current_version), (1, Some(true)));
    let api: Vec<_> =
        taken.api_docs.iter().map(|it| (it.tool.as_str(), it.source.as_str())).collect();
    assert_eq!(api, [("rustdoc", "Cargo.toml")]);
    let examples = &taken.examples;
    assert_eq!((examples.files, examples.code_blocks, examples.unlabelled), (1, 2, 1));
    assert_eq!(examples.folders, ["examples"]);
    assert_eq!(taken.suggested_site, None);
}

#[test]
fn a_readme_that_cannot_be_read_is_a_problem() {
    let folder = tempfile::tempdir().unwrap();
    let presence = Presence { readme: Some("README.md".into()), ..Presence::default() };
    let report = Report { presence, ..Report::default() };
    let (taken, problems) = build_inventory(&ProjectTree::of(folder.path()), &[], &report);
    assert_eq!(taken, Documentation::default());
    assert_eq!(problems.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["README.md"]);
}

#[test]
fn more_documents_than_are_listed_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let documents: Vec<DocumentFacts> =
        (0..310).map(|at| facts(&format!("docs/{at}.md"), "# How to fly\n")).collect();
    let (taken, _) =
        build_inventory(&ProjectTree::of(folder.path()), &documents, &Report::default());
    assert_eq!((taken.documents.len(), taken.document_count), (300, 310));
    assert_eq!(taken.kinds, [KindCount { kind: DocumentKind::HowTo, count: 310 }]);
    assert_eq!(taken.suggested_site.unwrap().name, "MkDocs Material");
}
