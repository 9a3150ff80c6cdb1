use super::{format, read};
use crate::repo::facts::{DocumentFacts, DocumentFormat, anchor_key};
use tokei::LanguageType;

/// Describes a document's facts, one per line, for comparison in tests.
fn describe_facts(facts: &DocumentFacts) -> Vec<String> {
    let mut lines = vec![format!("title {}", facts.title.as_deref().unwrap_or("-"))];
    lines.extend(
        facts
            .headings
            .iter()
            .map(|it| format!("{} {} {}", "#".repeat(it.level.into()), it.text, it.line)),
    );
    lines.extend(facts.links.iter().map(|it| {
        let kind = if it.image { "image" } else { "link" };
        format!("{kind} {} {}", it.target, it.line)
    }));
    lines.extend(facts.mentions.iter().map(|it| {
        let kind = if it.command { "$" } else { "`" };
        format!("{kind} {} {}", it.text, it.line)
    }));
    lines.extend(
        facts
            .code_blocks
            .iter()
            .map(|it| format!("code {} {}", it.language.as_deref().unwrap_or("-"), it.line)),
    );
    lines.push(format!("words {}", facts.words));
    lines
}

fn check(path: &str, format: DocumentFormat, text: &str, want: &[&str]) {
    assert_eq!(describe_facts(&read(path, format, text)), want, "{text}");
}

fn check_anchors(path: &str, format: DocumentFormat, text: &str, known: &[&str], unknown: &[&str]) {
    let facts = read(path, format, text);
    for (names, want) in [(known, true), (unknown, false)] {
        for name in names {
            let found = facts.anchors.binary_search(&anchor_key(name)).is_ok();
            assert_eq!(found, want, "{name} in {text}");
        }
    }
}

#[test]
fn documents_are_recognized_by_name() {
    use LanguageType as L;
    let cases = [
        ("a.md", Some(L::Markdown), Some(DocumentFormat::Markdown)),
        ("a.mdx", Some(L::Mdx), Some(DocumentFormat::Markdown)),
        ("a.mkd", None, Some(DocumentFormat::Markdown)),
        ("a.html", Some(L::Html), Some(DocumentFormat::Html)),
        ("a.rst", Some(L::ReStructuredText), Some(DocumentFormat::Restructured)),
        ("docs/map.rst.inc", None, Some(DocumentFormat::Restructured)),
        ("a.adoc", Some(L::AsciiDoc), Some(DocumentFormat::AsciiDoc)),
        ("README", None, Some(DocumentFormat::Text)),
        ("LICENSE-MIT", None, Some(DocumentFormat::Text)),
        ("docs/intro.txt", Some(L::Text), Some(DocumentFormat::Text)),
        ("NEWS.txt", Some(L::Text), Some(DocumentFormat::Text)),
        ("data/words.txt", Some(L::Text), None),
        ("CMakeLists.txt", Some(L::Text), None),
        ("docs/requirements.txt", Some(L::Text), None),
        ("Makefile", Some(L::Makefile), None),
        ("a.bin", None, None),
        ("release.sh", Some(L::Sh), None),
    ];
    for (path, language, want) in cases {
        assert_eq!(format(path, language), want, "{path}");
    }
}

#[test]
fn markdown_is_read_whole() {
    check(
        "a.md",
        DocumentFormat::Markdown,
        "---\ntitle: \"Front\"\n---\n# *Some* `code`\n\nSee [a](a.md#b), [again](a.md#b) and ![p](p.png).\n\
         [r][ref] <https://x.org> <me@x.org>\n\n> # Quoted\n\n```rust,ignore\nlet x;\n```\n\n```sh\n$ make all\nok\n```\n\n\
         [ref]: <c d.md>\n",
        &[
            "title Front",
            "# Some code 4",
            "link site: 1",
            "link a.md#b 6",
            "image p.png 6",
            "link c d.md 7",
            "link https://x.org 7",
            "` code 4",
            "$ make all 16",
            "code rust 11",
            "code sh 15",
            "words 10",
        ],
    );
}

#[test]
fn two_rules_are_no_front_matter() {
    check(
        "a.md",
        DocumentFormat::Markdown,
        "# A\n\n---\n## B\n\ntext\n---\n",
        &["title A", "# A 1", "## B 4", "## text 6", "words 3"],
    );
}

#[test]
fn html_in_markdown_is_read() {
    check(
        "a.md",
        DocumentFormat::Markdown,
        "<h1 align=\"center\">\n\n  Big *Name*\n\n</h1>\n\n<p><a\n  href=\"b.md\">B</a><img src=c.png></p>\n\nUse <kbd>x</kbd> and \
         <code>y()</code> <a href=\"d.md\">d</a>.\n\n<!-- <a href=\"no.md\"> -->\n\n`<a href=\"no.md\">`\n",
        &[
            "title Big Name",
            "# Big Name 1",
            "link b.md 7",
            "image c.png 8",
            "link d.md 10",
            "` y() 10",
            "` <a href=\"no.md\"> 14",
            "words 10",
        ],
    );
    check_anchors(
        "a.md",
        DocumentFormat::Markdown,
        "<a name=\"One\"></a>\n<h2 id=two>Three four</h2>\n\n## Five {#six}\n\ntext {: #seven .x }\n\n(eight)=\n\n[^n]: note\n\n\
         ## ![nine](n.png) ten\n\n> # Eleven\n",
        &[
            "one",
            "two",
            "three-four",
            "six",
            "five",
            "seven",
            "eight",
            "fn-n",
            "-ten",
            "nine-ten",
            "eleven",
        ],
        &["four", "x", "text"],
    );
}

#[test]
fn modules_and_components_are_no_text() {
    check(
        "a.mdx",
        DocumentFormat::Markdown,
        "import Part from './_part.mdx'\nexport const x = {\n  a: '[no](no.md)',\n}\n\n# T\n\n<Tabs>\n\n[yes](yes.md)\n\n</Tabs>\n\n\
         <Link to=\"/docs/a\">a</Link> <img src={x} />\n\n```js\nimport y from 'z'\n```\n",
        &[
            "title T",
            "# T 6",
            "link include:./_part.mdx 1",
            "link include:Tabs 8",
            "link include:Link 14",
            "link yes.md 10",
            "link /docs/a 14",
            "code js 16",
            "words 3",
        ],
    );
}

#[test]
fn what_others_write_is_marked() {
    let cases = [
        ("{{#include ../a.md}}", "include:../a.md"),
        ("{% include x.html %}", "include:x.html"),
        ("--8<-- \"a.md\"", "include:a.md"),
        ("::: package.module", "include:package.module"),
        ("<!--@include: ./b.md-->", "include:./b.md"),
        ("```{include} ../c.md\n```", "include:../c.md"),
        ("```{toctree}\n:maxdepth: 1\n\nguide/intro\n```", "doc:guide/intro"),
    ];
    for (text, want) in cases {
        let facts = read("a.md", DocumentFormat::Markdown, text);
        assert!(facts.links.iter().any(|link| &*link.target == want), "{text}: {:?}", facts.links);
    }
    let plain = read("a.md", DocumentFormat::Markdown, "::: tip\nx\n:::\n\n{{ title }}\n");
    assert_eq!(plain.links, []);
}

#[test]
fn pages_are_read_whole() {
    check(
        "a.html",
        DocumentFormat::Html,
        "<html><head><title>A &amp; B</title><link rel=stylesheet href=s.css><link rel=canonical href=c.html>\n\
         <style>p { x }</style></head><body><nav>Menu <a href=\"n.html\">n</a></nav>\n<h1 id=top1>One <b>two</b></h1>\n\
         <p>three&nbsp;four <code>five()</code> <a href='b.html#c'>b</a><img src=i.png srcset=\"i2.png 2x, i3.png 3x\">\n\
         <a href=\"#x\" data-toggle=tab>t</a></p><pre class=\"language-sh\">$ make\n</pre><script>var a = '<p>no</p>';</script>",
        &[
            "title A & B",
            "# One two 3",
            "image s.css 1",
            "link n.html 2",
            "link b.html#c 4",
            "image i.png 4",
            "image i2.png 4",
            "image i3.png 4",
            "` five() 4",
            "$ make 5",
            "code sh 5",
            "words 7",
        ],
    );
    check_anchors(
        "a.html",
        DocumentFormat::Html,
        "<h1 id=One>Two</h1><a name='x&amp;y'>",
        &["one", "x&y"],
        &["two"],
    );
}

#[test]
fn pages_of_programs_keep_what_can_be_checked() {
    let text = "<meta name=generator content=rustdoc><h1>A</h1><h3>B</h3><code>c</code><a href=d.html>one two three four five \
                six seven eight nine</a>";
    let facts = read("a.html", DocumentFormat::Html, text);
    assert_eq!(describe_facts(&facts), ["title A", "# A 1", "link d.html 1", "words 11"]);
    assert!(facts.shingles.is_empty());
    for template in [
        "<a href=\"{{ url }}\">a</a><a href=b.html>b</a>",
        "{% if x %}<a href=b.html>b</a>",
        "<base href=\"/x/\"><a href=b.html>b</a>",
    ] {
        assert_eq!(read("a.html", DocumentFormat::Html, template).links, [], "{template}");
    }
}

#[test]
fn restructured_text_is_read_whole() {
    check(
        "a.rst",
        DocumentFormat::Restructured,
        "=====\nTitle\n=====\n\n.. _label: \n\nPart\n----\n\nSee `text <b.rst>`_, :doc:`/guide/intro`, :ref:`x <label>` and ``code``,\n\
         :class:`~pkg.Foo`::\n\n    $ make\n\n.. image:: p.png\n   :alt: no\n\n.. code-block:: python\n   :linenos:\n\n   x = 1\n\n\
         .. toctree::\n   :maxdepth: 2\n\n   a\n   Text <b/c>\n\n.. a comment\n   over two lines\n\n.. _site: https://x.org\n\n\
         .. automodule:: pkg\n",
        &[
            "title Title",
            "# Title 2",
            "## Part 7",
            "link b.rst 10",
            "link doc:/guide/intro 10",
            "link ref:label 10",
            "image p.png 15",
            "link doc:a 26",
            "link doc:b/c 27",
            "link https://x.org 32",
            "link include:automodule 34",
            "` code 10",
            "` pkg.Foo 11",
            "$ make 13",
            "code - 13",
            "code python 18",
            "words 10",
        ],
    );
    check_anchors(
        "a.rst",
        DocumentFormat::Restructured,
        ".. _My Label:\n\nA Title\n=======\n",
        &["my-label", "a-title"],
        &["title"],
    );
}

#[test]
fn text_with_directives_is_restructured() {
    let facts = read(
        "docs/a.txt",
        DocumentFormat::Text,
        "Title\n=====\n\n.. versionadded:: 1.0\n\nText here.\n",
    );
    assert_eq!(
        (facts.format, facts.title.as_deref()),
        (DocumentFormat::Restructured, Some("Title"))
    );
    let plain = read(
        "NOTES.txt",
        DocumentFormat::Text,
        "====\n The notes \n====\n\nOne [a](b.md) two ...\n",
    );
    assert_eq!(plain.format, DocumentFormat::Text);
    assert_eq!(describe_facts(&plain), ["title The notes", "words 5"]);
}

#[test]
fn asciidoc_is_read_whole() {
    check(
        "a.adoc",
        DocumentFormat::AsciiDoc,
        "= Title\n:imagesdir: img\n\n[[first]]\n== Part `one`\n\nSee link:b.html[b], xref:c.adoc#d[c], <<first>> and `code`.\nAt \
         https://x.org[x].\n\nimage::p.png[]\n\n[source,sh]\n----\nmake\n----\n\n// link:no.html[]\ninclude::part.adoc[]\n",
        &[
            "title Title",
            "# Title 1",
            "## Part one 5",
            "link b.html 7",
            "link c.adoc#d 7",
            "link https://x.org 8",
            "image img/p.png 10",
            "link include:part.adoc 18",
            "link part.adoc 18",
            "` code 7",
            "$ make 14",
            "code sh 13",
            "words 11",
        ],
    );
    check_anchors(
        "a.adoc",
        DocumentFormat::AsciiDoc,
        "[#one]\n== Two Three\n\n[[four]]text [[five]]\n",
        &["one", "_two_three", "two-three", "four", "five"],
        &["three"],
    );
}

#[test]
fn nothing_is_too_odd_to_read() {
    let odd = [
        "", "\u{feff}", "`", "``", "<", "</", "<a", "<!--", "[[", "..", ".. ", "::", "---\n", "{",
        "|", "= ", "\u{0}", "é`é<é",
    ];
    for format in [
        DocumentFormat::Markdown,
        DocumentFormat::Html,
        DocumentFormat::Restructured,
        DocumentFormat::AsciiDoc,
        DocumentFormat::Text,
    ] {
        for text in odd {
            let facts = read("docs/a.mdx", format, text);
            assert_eq!(
                (facts.links, facts.code_blocks),
                (Vec::new(), Vec::new()),
                "{format:?} {text:?}"
            );
        }
    }
}
