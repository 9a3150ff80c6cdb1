use super::*;

/// Formats each part as `level heading | line kind: text`.
fn describe_outline(name: &str, text: &str) -> Vec<String> {
    let outline = DocumentOutline::read(name, text);
    let mut lines = Vec::new();
    for section in &outline.sections {
        lines.push(format!("{} {:?} @{}", section.level, section.heading, section.line));
        for part in &section.parts {
            let what = match &part.matter {
                OutlineContent::Prose { text, linked, code } => {
                    format!("prose {text:?} {linked} {code:?}")
                }
                OutlineContent::Code { language, text } => format!("code {language:?} {text:?}"),
                OutlineContent::Link { text, target } => format!("link {text:?} {target:?}"),
                OutlineContent::Picture { text, target } => format!("picture {text:?} {target:?}"),
            };
            lines.push(format!("  {} {what}", part.line));
        }
    }
    lines
}

#[test]
fn markdown_with_html() {
    let text = "---\ntitle: hidden\n---\n\
        <h1 align=\"center\">\n  <img src='logo.png'\n    alt=\"Logo\">\n</h1>\n\n\
        <p>It does &amp; is <a href=\"https://a.b\">it</a>.</p>\n\n\
        <!-- not\nshown -->\n\
        ## Use `it` [now](b.md)\n\n\
        Run `x` or see `docs/a.md`.\n\n\
        - one\n- [two](c.md)\n\n\
        ```sh title\n$ x\n```\n\n\
        | a | b |\n|---|---|\n| ![p](q.svg) | d |\n\n\
        <pre>y\nz</pre>\n<script>alert(1)</script>\n";
    assert_eq!(
        describe_outline("README.md", text),
        [
            "1 \"Logo\" @4",
            "  5 picture \"Logo\" \"logo.png\"",
            "  9 prose \"It does & is it.\" 2 []",
            "  9 link \"it\" \"https://a.b\"",
            "2 \"Use it now\" @13",
            "  13 link \"now\" \"b.md\"",
            "  15 prose \"Run x or see docs/a.md.\" 0 [\"x\", \"docs/a.md\"]",
            "  15 link \"docs/a.md\" \"docs/a.md\"",
            "  17 prose \"one\" 0 []",
            "  18 prose \"two\" 3 []",
            "  18 link \"two\" \"c.md\"",
            "  20 code Some(\"sh\") \"$ x\\n\"",
            "  24 prose \"a\" 0 []",
            "  24 prose \"b\" 0 []",
            "  26 picture \"p\" \"q.svg\"",
            "  26 prose \"d\" 0 []",
            "  28 code None \"y\\nz\"",
        ]
    );
}

#[test]
fn restructured_text() {
    let text = "====\nName\n====\n\n|ci| It is `fast <https://f.st>`_ and **good**.\n:Author: X\n\n\
        Install\n-------\n\n.. code-block:: console\n   :linenos:\n\n   $ pip install x\n\n\
        Then::\n\n    x --help\n\n>>> import x\n>>> x.y()\n\n\
        .. image:: a.svg\n   :alt: An A\n   :target: https://a\n\n\
        .. note:: Mind ``docs/b.rst``.\n\n.. _later: https://l.at\n.. a comment\n   of two lines\n";
    assert_eq!(
        describe_outline("README.rst", text),
        [
            "1 \"Name\" @2",
            "  5 prose \"It is fast and good.\" 0 []",
            "  5 link \"fast\" \"https://f.st\"",
            "2 \"Install\" @8",
            "  11 code Some(\"console\") \"   $ pip install x\\n\"",
            "  16 prose \"Then::\" 0 []",
            "  17 code None \"\\n    x --help\\n\"",
            "  20 code Some(\"python\") \">>> import x\\n>>> x.y()\"",
            "  23 picture \"An A\" \"a.svg\"",
            "  23 link \"\" \"https://a\"",
            "  27 prose \"Mind docs/b.rst.\" 0 [\"docs/b.rst\"]",
            "  27 link \"docs/b.rst\" \"docs/b.rst\"",
            "  29 link \"later\" \"https://l.at\"",
        ]
    );
}

#[test]
fn other_formats() {
    let cases: [(&str, &str, &[&str]); 4] = [
        (
            "README.adoc",
            "= Name\n:toc:\n\nIt is https://a.b[good].\n\n== Use\n\n[source,ruby]\n----\nputs 1\n----\nimage::shot.png[Shot]\n// hidden\n",
            &[
                "1 \"Name\" @1",
                "  4 prose \"It is https://a.b[good].\" 0 []",
                "  4 link \"good\" \"https://a.b\"",
                "2 \"Use\" @6",
                "  9 code Some(\"ruby\") \"puts 1\"",
                "  12 picture \"Shot\" \"shot.png\"",
            ],
        ),
        (
            "README.org",
            "#+TITLE: Name\nIt is [[https://a.b][good]].\n* Use\n#+BEGIN_SRC sh\nx\n#+END_SRC\n",
            &[
                "1 \"Name\" @1",
                "  2 prose \"It is [[https://a.b][good]].\" 0 []",
                "  2 link \"good\" \"https://a.b\"",
                "1 \"Use\" @3",
                "  4 code Some(\"sh\") \"x\"",
            ],
        ),
        (
            "README",
            "NAME\n\nIt is good.\n\nUse\n===\n\n    make install\n    x\n\nThat is all.\n",
            &[
                "2 \"NAME\" @1",
                "  3 prose \"It is good.\" 0 []",
                "1 \"Use\" @5",
                "  8 code None \"    make install\\n    x\\n\"",
                "  11 prose \"That is all.\" 0 []",
            ],
        ),
        (
            "README",
            "# Name\n\nMarkdown all the same.\n",
            &["1 \"Name\" @1", "  3 prose \"Markdown all the same.\" 0 []"],
        ),
    ];
    for (name, text, want) in cases {
        assert_eq!(describe_outline(name, text), want, "{name}: {text}");
    }
}

#[test]
fn sizes_are_counted() {
    let outline = DocumentOutline::read(
        "a.md",
        "# One two\n\nThree, four - five.\n\n```\ncode here\n```\n\n    more\n",
    );
    assert_eq!((outline.words(), outline.code_blocks()), (5, 2));
    let cases = [("", 0), ("a b-c 1", 3), ("这是一个工具", 4), ("- –", 0)];
    for (text, want) in cases {
        assert_eq!(count_words(text), want, "{text}");
    }
}

#[test]
fn sections_hold_those_inside_them() {
    let outline =
        DocumentOutline::read("a.md", "# A\n\n## B\n\n### C\n\ntext of c\n\n## D\n\ntext of d\n");
    let lines = |at| outline.section_parts(at).map(|part| part.line).collect::<Vec<_>>();
    assert_eq!((lines(0), lines(1), lines(3)), (vec![7, 11], vec![7], vec![11]));
}

#[test]
fn an_empty_text_has_an_outline() {
    for name in ["a.md", "a.rst", "a.adoc", "a.org", "a"] {
        assert_eq!(DocumentOutline::read(name, ""), DocumentOutline::default(), "{name}");
    }
}
