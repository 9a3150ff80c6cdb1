use super::*;
use crate::ProseFormat;

fn markdown(text: &str) -> String {
    read("a.adoc", text).markdown(&|target| Some(target.to_owned()))
}

#[test]
fn texts_are_taken_for_asciidoc_only_where_they_show_it() {
    let cases = [
        ("git-log(1)\n==========\n\nNAME\n----\ngit-log - x\n", Some(ProseFormat::AsciiDoc)),
        ("= Title\n:toc:\n\nText\n", Some(ProseFormat::AsciiDoc)),
        ("= Title\n\n[[id]]\n== More\n", Some(ProseFormat::AsciiDoc)),
        ("Title\n=====\n\nText of a readme\n", Some(ProseFormat::Plain)),
        ("= Title\n\nText\n", Some(ProseFormat::Plain)),
        ("Text\n\n----\ncode\n----\n", Some(ProseFormat::Plain)),
        ("# Title\n\n:a: b\n\n", Some(ProseFormat::Plain)),
        ("", Some(ProseFormat::Plain)),
    ];
    for (text, want) in cases {
        assert_eq!(ProseFormat::guess("a.txt", text.as_bytes()), want, "{text}");
    }
    assert_eq!(ProseFormat::guess("a.adoc", b"x"), Some(ProseFormat::AsciiDoc));
    assert_eq!(ProseFormat::guess("a.tar.gz.asc", b"-----BEGIN PGP SIGNATURE-----"), None);
}

#[test]
fn blocks_become_markdown() {
    let cases = [
        ("para one\nline two\n\npara two", "para one line two\n\npara two"),
        ("[source,sh]\n----\na <1>\n----\n<1> b", "```sh\na\n```\n\n1. b"),
        ("[TIP]\nx", "> TIP: x"),
        ("[NOTE]\n====\na\n\nb\n====", "> NOTE: a\n>\n> b"),
        ("* a\n** b\n*** c\n* d", "- a\n  - b\n    - c\n- d"),
        ("* a\n+\npara\n\n* b", "- a\n\n  para\n- b"),
        ("a::\nb:: c", "- a, b: c"),
        ("|===\n|a |b\n\n|c |d\n|===", "| a | b |\n| --- | --- |\n| c | d |"),
        ("|===\n|a\\|b |3\n|===", "|  |  |\n| --- | --- |\n| a\\|b | 3 |"),
        ("[[x]]\n.Title\ntext", "Title\n\ntext"),
        ("== One\n\n== One", "## One\n\n## One"),
        (":x: y\n\n{x} {z}", "y {z}"),
        ("one +\ntwo", "one\ntwo"),
        ("* [[[a,B 1]]] c", "- [B 1] c"),
        ("x [[[a]]ے", "x ے"),
    ];
    for (text, want) in cases {
        assert_eq!(markdown(text), want, "{text}");
    }
}

#[test]
fn headings_have_ids() {
    let document = read(
        "a.adoc",
        "= T\n\n== One Two\n\n== One-Two\n\n[[x]]\n== C\n\n[#y]\n== D\n\n[id=z]\n== E",
    );
    let anchors: Vec<&str> =
        document.sections.iter().filter_map(|section| section.anchor.as_deref()).collect();
    assert_eq!(anchors, ["_one_two", "_one_two_2", "x", "y", "z"]);
    assert_eq!(document.title, "T");
}

/// A document is read, and the title is not lost.
fn says_something(text: &str) -> bool {
    let document = read("a.adoc", text);
    !document.title.is_empty() && document.sections.iter().all(|section| section.level <= 6)
}

#[test]
fn hostile_documents_end() {
    let parts = [
        "* a\n+\n",
        "* a\n+\n[x]\n",
        "====\n",
        "--\na\n",
        "* a\n** b\n. c\n.. d\n- e\n",
        "a:: b\nc::: d\ne:::: f\ng;; h\n",
        "[NOTE]\n====\n",
        ":a: {a}{a}x\n{a}\n",
        "*a ",
        "`a ",
        "_",
        "x [[",
        "x <<",
        "x link:a[",
        "x link:",
        "https://",
        "|===\n|a ",
        "99*|b\n",
        "[a,b]\n",
        "[[x]a:: b]\n",
        "+\n",
        "ifdef::x[]\n",
        "a::\n",
        ":;",
        "\"`",
        "{",
        "\\",
        "&",
        "(",
        "----\na <1>",
        ":a: x \\\n",
        "____\n",
        "++++\n",
    ];
    for part in parts {
        let text = format!("= T\n\n{}", part.repeat(2_000));
        assert!(says_something(&text), "{part}");
    }
    for (mark, text) in [("*", " a"), (".", " b"), ("=", ""), ("_", "")] {
        let lines: Vec<String> = (1..500).map(|n| mark.repeat(n) + text).collect();
        assert!(says_something(&lines.join("\n")), "{mark}");
    }
}
