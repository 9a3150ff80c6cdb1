use super::*;
use crate::ProseFormat;
use flate2::{Compression, write::GzEncoder};
use std::io::Write as _;

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn markdown(page: &str) -> String {
    read("a.1", page.as_bytes()).unwrap().markdown(&|target| Some(target.to_owned()))
}

#[test]
fn pages_are_detected_by_path_and_by_their_first_bytes() {
    let roff: &[u8] = b".TH A 1\n.SH NAME\n";
    let log: &[u8] = b"2024-01-01 started\n.SH what\n";
    let cases = [
        ("man1/ls.1", log, Some(ProseFormat::Man)),
        ("usr/share/man/de/man3pm/Foo::Bar.3pm.gz", log, Some(ProseFormat::Man)),
        ("docs/tool.man", log, Some(ProseFormat::Man)),
        ("docs/tool.mdoc", log, Some(ProseFormat::Man)),
        ("man/readme.md", log, Some(ProseFormat::Markdown)),
        ("docs/tool.1", roff, Some(ProseFormat::Man)),
        ("docs/tool.3pm", b"'\\\" t\n.TH A 3\n", Some(ProseFormat::Man)),
        ("app.log.1", log, None),
        ("lib.so.1", b"\x7fELF.TH", None),
        ("docs/tool.10", roff, None),
        ("docs/tool.c", roff, None),
    ];
    for (path, head, want) in cases {
        assert_eq!(ProseFormat::guess(path, head), want, "{path}");
    }
    assert_eq!(ProseFormat::guess("docs/tool.8.gz", &packed(roff)), Some(ProseFormat::Man));
    assert_eq!(ProseFormat::guess("app.log.1.gz", &packed(log)), None);
}

#[test]
fn packed_pages_are_unpacked_within_bounds() {
    let page = b".TH A 1\n.SH NAME\na \\- b\n";
    let document = read("man1/a.1.gz", &packed(page)).unwrap();
    assert_eq!(document.title, "a(1): b");
    let limit = MAX_UNPACKED_BYTES;
    let bomb = packed(&vec![b'x'; usize::try_from(limit).unwrap() + 1]);
    assert_eq!(read("a.1.gz", &bomb), Err(Unreadable::TooLarge { limit }));
    let cut = packed(page);
    let cut = read("a.1.gz", &cut[..cut.len() - 12]);
    assert!(matches!(cut, Err(Unreadable::Damaged { format: "gzip", .. })), "{cut:?}");
    assert_eq!(read("a.1", b"\n"), Err(Unreadable::Empty));
    assert_eq!(read("a.1", b".TH A 1\n\0"), Err(Unreadable::Binary));
}

#[test]
fn old_encodings_are_read() {
    assert_eq!(markdown(".TH A 1\nGr\u{f6}\u{df}e"), "Größe");
    let latin = read("a.1", b".TH A 1\nGr\xf6\xdfe").unwrap();
    assert_eq!(latin.markdown(&|_| None), "Größe");
}

#[test]
fn versions_are_numbers_and_no_dates() {
    let cases = [
        ("Git 2.39.5", Some("2.39.5")),
        ("perl v5.36.0", Some("v5.36.0")),
        ("systemd 252", Some("252")),
        ("Linux man-pages 6.03", Some("6.03")),
        ("2024-01-01", None),
        ("GNU", None),
        ("", None),
    ];
    for (source, want) in cases {
        assert_eq!(version(source).as_deref(), want, "{source}");
    }
}

#[test]
fn mdoc_lists_nest_and_tables_have_rows() {
    let page = ".Dd x\n.Dt A 1\n.Sh OPTIONS\n.Bl -tag -width x\n.It Fl a Ns , Fl Fl all\nText\n.Bl -bullet\n\
                .It\nin\n.El\n.It Xo\n.Fl b\n.Ar file\n.Xc\nmore\n.El\n.Bl -column a b\n.It one Ta two\n.El";
    let want = "## OPTIONS\n\n- `-a, --all`: Text\n  - in\n- `-b file`: more\n\n\
                |  |  |\n| --- | --- |\n| one | two |";
    assert_eq!(markdown(page), want);
}

#[test]
fn hostile_pages_end() {
    let head = ".TH A 1\n.SH NAME\na \\- b\n";
    let parts = [
        ".RS\n",
        ".RS\n.IP a\nb\n",
        ".TP\n",
        ".nf\n",
        ".UR x\n",
        ".if n \\{\n",
        ".if t \\{\n",
        ".ie n x\n",
        "a\n.RS\n",
        ".de X\n.X\n.X\n..\n.X\n",
        ".as X \\*X\\*X yy\n\\*X\n",
        "\\[x",
        "\\h'x",
        "\\fBa\\fR(1",
        ".TS\nT{\n",
        "abc\\\n",
        ".TS\nl l.\n\t\t",
        ".EQ\n",
        ".so x\n",
        ".SH\n",
        ".IP -a\n",
    ];
    for part in parts {
        let page = format!("{head}{}", part.repeat(2_000));
        assert!(read("a.1", page.as_bytes()).is_ok(), "{part}");
    }
    let head = ".Dd x\n.Dt A 1\n.Sh NAME\n.Nm a\n.Nd b\n";
    for part in [
        ".Bl -tag\n.It a\n",
        ".Oo\n",
        ".Bl -column\n.It a Ta b\n",
        ".It Xo\n",
        ".Fo x\n.Fa y\n",
        ".Rs\n.%A a\n",
    ] {
        let page = format!("{head}{}", part.repeat(2_000));
        assert!(read("a.1", page.as_bytes()).is_ok(), "{part}");
    }
    for end in 0..head.len() {
        let cut = head.get(..end).unwrap_or_default();
        assert!(read("a.1", cut.as_bytes()).is_ok() || cut.trim().is_empty(), "{cut}");
    }
}
