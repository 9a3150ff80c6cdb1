//! Real documents compared with known results, and broken ones that must only end in time.

use crate::{ProseDocument, ProseFormat, Unreadable};
use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf};

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

fn read(name: &str) -> Result<ProseDocument, Unreadable> {
    let bytes = fs::read(fixtures().join(name)).unwrap();
    ProseFormat::from_path(name).unwrap().read(name, &bytes)
}

/// A document with its metadata and problems.
fn shown(document: &ProseDocument) -> String {
    let mut text = format!("title: {}\nversion: {:?}\n", document.title, document.version);
    for problem in &document.problems {
        writeln!(text, "problem: {problem}").unwrap();
    }
    for section in &document.sections {
        let path = section.path.join(" > ");
        let anchor = section.anchor.as_deref().unwrap_or("-");
        writeln!(text, "\n== {} {path} ({anchor}) {:?}", section.level, section.page).unwrap();
        for block in &section.blocks {
            let said = block.text.to_markdown(&|target| Some(target.to_owned()));
            writeln!(text, "[{:?} {:?}]\n{said}", block.kind, block.page).unwrap();
        }
    }
    text
}

/// Compares a document with its snapshot; `DOCENT_BLESS=1` updates it.
fn check(name: &str) {
    let got = shown(&read(name).unwrap());
    let path = fixtures().join(format!("{name}.snap"));
    if std::env::var_os("DOCENT_BLESS").is_some() {
        fs::write(&path, &got).unwrap();
    }
    let want = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(got, want, "{name}");
}

#[test]
fn documents_are_read_as_people_read_them() {
    for name in [
        "pdf/bookmarks.pdf",
        "pdf/looks.pdf",
        "pdf/columns.pdf",
        "pdf/part-scanned.pdf",
        "docx/book.docx",
        "docx/office.docx",
        "docx/book.odt",
    ] {
        check(name);
    }
}

#[test]
fn an_empty_password_opens_a_document() {
    let (open, plain) = (read("pdf/open-password.pdf"), read("pdf/bookmarks.pdf"));
    assert_eq!(open, plain);
}

#[test]
fn chapters_become_sections() {
    let outline = |document: &ProseDocument| -> Vec<(u8, String, Option<String>)> {
        let sections = document.sections.iter();
        sections.map(|s| (s.level, s.path.join(" > "), s.anchor.clone())).collect()
    };
    let line = |level, path: &str, anchor: Option<&str>| {
        (level, path.to_owned(), anchor.map(str::to_owned))
    };
    let book = read("epub/book.epub").unwrap();
    let want = [
        line(1, "The keeper’s book", Some("title_page")),
        line(1, "Keepers", Some("keepers")),
        line(2, "Keepers > Opening a keeper", Some("opening")),
        line(1, "Limits", Some("limits")),
    ];
    assert_eq!((book.title.as_str(), outline(&book)), ("The keeper’s book", want.to_vec()));
    let old = read("epub/old.epub").unwrap();
    let want =
        [line(1, "One", Some("one")), line(1, "Two", Some("s")), line(2, "Two > Deeper", None)];
    assert_eq!((old.title.as_str(), outline(&old)), ("An old book", want.to_vec()));
    assert_eq!(old.problems, ["OEBPS/text/gone.xhtml: missing from the book"]);
    let text = old.markdown(&|_| None);
    for said in ["No heading here, but a link to the second.", "After an empty anchor."] {
        assert!(text.contains(said), "{text}");
    }
    assert_eq!(read("epub/font.epub").map(|book| book.sections), Ok(old.sections));
}

#[test]
fn what_gives_no_document_says_why() {
    assert_eq!(read("pdf/locked.pdf"), Err(Unreadable::Encrypted));
    assert_eq!(read("pdf/scanned.pdf"), Err(Unreadable::Scanned { pages: 3 }));
    assert_eq!(read("epub/locked.epub"), Err(Unreadable::Encrypted));
    for format in [ProseFormat::Pdf, ProseFormat::Epub, ProseFormat::Docx, ProseFormat::Odt] {
        assert_eq!(format.read("a", b""), Err(Unreadable::Empty));
        for bytes in [&b"no document"[..], b"%PDF-1.7\n", b"PK\x03\x04", b"PK\x05\x06", &[0; 100]] {
            let got = format.read("a", bytes);
            let named = matches!(&got, Err(Unreadable::Damaged { format: known, .. }) if *known == format.name());
            assert!(named, "{format:?} {got:?}");
        }
    }
    let old = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 0, 0];
    assert_eq!(ProseFormat::Docx.read("a.docx", &old), Err(Unreadable::Encrypted));
}

/// A DOCX whose main part is this.
fn docx(main: &str) -> Vec<u8> {
    crate::archive::tests::zip(&[("word/document.xml", main.as_bytes())])
}

#[test]
fn xml_that_is_made_to_hurt_does_not() {
    let deep = |open: &str, close: &str, count: usize| {
        let body = format!("{}{}", open.repeat(count), close.repeat(count));
        format!(
            "<w:document xmlns:w='w'><w:body>{body}<w:p><w:r><w:t>end</w:t></w:r></w:p></w:body></w:document>"
        )
    };
    let mut entities = "<!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\">".to_owned();
    for (name, inner) in ["b", "c", "d", "e", "f", "g", "h", "i"]
        .iter()
        .zip(["a", "b", "c", "d", "e", "f", "g", "h"])
    {
        write!(entities, "<!ENTITY {name} \"{}\">", format!("&{inner};").repeat(10)).unwrap();
    }
    entities.push_str("]><d>&i;</d>");
    let often =
        format!("<!DOCTYPE d [<!ENTITY a \"{}\">]><d>{}</d>", "x".repeat(1000), "&a;".repeat(1000));
    let wide: Vec<String> = (0..100_000).map(|number| format!(" a{number}=''")).collect();
    let wide = wide.concat();
    let cases = [
        ("sections in sections", deep("<w:sdt>", "</w:sdt>", 100_000), true, 1),
        ("tables in tables", deep("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", 2_000), true, 0),
        ("paragraphs in paragraphs", deep("<w:p><w:ins>", "</w:ins></w:p>", 20_000), true, 0),
        (
            "changes in changes",
            deep("<w:p>", "</w:p>", 1).replace(
                "<w:p>",
                &format!("<w:p>{}{}", "<w:ins>".repeat(50_000), "</w:ins>".repeat(50_000)),
            ),
            true,
            1,
        ),
        ("entities", entities, false, 0),
        ("one entity, often", often, false, 0),
        ("attributes", format!("<d{wide}/>"), false, 0),
        ("cut off", "<w:document><w:body>".to_owned(), false, 0),
        ("nothing", "<d/>".to_owned(), true, 0),
    ];
    for (name, main, read, problems) in cases {
        let got = ProseFormat::Docx.read("a.docx", &docx(&main));
        assert_eq!(got.is_ok(), read, "{name} {:?}", got.err());
        if main.contains("end<") {
            let got = got.unwrap();
            assert!(got.markdown(&|_| None).ends_with("end"), "{name}");
            assert_eq!(got.problems.len(), problems, "{name}");
        }
    }
}

#[test]
fn a_pdf_that_is_made_to_hurt_does_not() {
    let file = |content: &str, more: &str| {
        let length = content.len();
        format!(
            "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R/Outlines 5 0 R>>endobj\n\
             2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
             3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F<</Type/Font\
             /Subtype/Type1/BaseFont/Helvetica>>>>/XObject<</X 6 0 R>>>>>>endobj\n\
             4 0 obj<</Length {length}>>stream\n{content}\nendstream endobj\n{more}\
             trailer<</Root 1 0 R>>\n%%EOF"
        )
    };
    let text = "BT /F 9 Tf (some text) Tj ET ";
    let form = "6 0 obj<</Subtype/Form/Length 20/Resources<</XObject<</X 6 0 R>>>>>>stream\n/X Do /X Do /X Do   \nendstream endobj\n";
    let ring = "5 0 obj<</First 7 0 R>>endobj\n7 0 obj<</Title(a)/Next 7 0 R/First 7 0 R/Dest[3 0 R/Fit]>>endobj\n";
    let cases = [
        ("deep arrays", file(&format!("{text}{}", "[".repeat(100_000)), "")),
        ("deep dictionaries", file(&format!("{text}{}", "<<".repeat(100_000)), "")),
        ("deep states", file(&format!("{}{text}", "q ".repeat(100_000)), "")),
        ("forms in themselves", file(&format!("{text}/X Do"), form)),
        ("bookmarks in a ring", file(text, ring)),
        ("far away", file(&format!("{text}1e38 0 0 1e38 1e38 1e38 cm {text}"), "")),
        ("no size", file(&format!("{text}0 0 0 0 0 0 cm {text}"), "")),
    ];
    for (name, bytes) in cases {
        let got = ProseFormat::Pdf.read("a.pdf", bytes.as_bytes());
        let got = got.map(|document| document.markdown(&|_| None));
        assert!(got.as_ref().is_ok_and(|text| text.contains("some text")), "{name} {got:?}");
    }
}

/// Numbers that look random and are the same every time.
fn numbers(mut state: u64) -> impl Iterator<Item = usize> {
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap()
    })
}

#[test]
fn broken_documents_are_no_surprise() {
    let names = [
        "pdf/bookmarks.pdf",
        "pdf/columns.pdf",
        "docx/office.docx",
        "docx/book.odt",
        "epub/old.epub",
    ];
    for name in names {
        let bytes = fs::read(fixtures().join(name)).unwrap();
        let format = ProseFormat::from_path(name).unwrap();
        let mut results = BTreeSet::new();
        let mut look = |bytes: &[u8]| {
            let got = format.read(name, bytes);
            results.insert(got.is_ok());
        };
        for length in (0..bytes.len()).step_by(bytes.len() / 60) {
            look(&bytes[..length]);
        }
        let mut random = numbers(7);
        for _ in 0..120 {
            let mut broken = bytes.clone();
            for _ in 0..=random.next().unwrap() % 8 {
                let at = random.next().unwrap() % broken.len();
                broken[at] ^= u8::try_from(1 + random.next().unwrap() % 255).unwrap();
            }
            look(&broken);
        }
        // Some damage is beyond repair, and some does no harm.
        assert_eq!(results.len(), 2, "{name}");
    }
}

/// The headings of a large book are on the pages that its own contents give. `cargo xtask test` fetches the book.
#[test]
fn large_documents_have_their_headings_on_the_right_pages() {
    let Some(file) = std::env::var_os("DEBIAN_REFERENCE_FOR_TESTS") else {
        docent_testenv::skip!("Debian's package debian-reference-en was not fetched");
    };
    let bytes = fs::read(file).unwrap();
    let document = ProseFormat::Pdf.read("debian-reference.en.pdf", &bytes).unwrap();
    assert_eq!(document.title, "Debian Reference");
    let page = |wanted: &str| {
        let mut all = document.sections.iter();
        all.find(|section| section.heading().is_some_and(|h| h.ends_with(wanted)))?.page
    };
    for (heading, want) in HEADINGS {
        assert_eq!(page(heading), Some(want), "{heading}");
    }
}

/// Headings of version 2.100 and where they are, by another reader.
const HEADINGS: [(&str, u32); 20] = [
    ("GUI system administration tools", 31),
    ("Command-line tricks in MC", 45),
    ("Basic precautions", 66),
    ("The package state for aptitude", 89),
    ("Tracking unstable with some packages from experimental", 99),
    ("Limiting download bandwidth for APT", 100),
    ("Stage 3: the mini-Debian system", 106),
    ("Mail transport agent (MTA)", 136),
    ("The screen program", 164),
    ("Readline wrapper", 165),
    ("Hardware identification", 178),
    ("System and hardware time", 179),
    ("Disabling beep sounds", 181),
    ("Specify temporary storage directory via $TMPDIR", 187),
    ("The disk image", 189),
    ("Making the ISO9660 image file", 191),
    ("Writing directly to the CD/DVD-R/RW", 192),
    ("Erasing an entire hard disk", 195),
    ("Configuration of Git client", 223),
    ("Disassemble binary", 255),
];
