use super::*;
use crate::document::{BlockKind, TextLink};

fn document(source: &str) -> ProseDocument {
    read("docs/page.html", source)
}

/// Headings, anchors and blocks as they are read, a line each.
fn shown(document: &ProseDocument) -> String {
    let mut lines = Vec::new();
    for section in &document.sections {
        if let Some(heading) = section.heading() {
            let anchor = section.anchor.as_ref().map(|anchor| format!(" {{{anchor}}}"));
            lines.push(format!(
                "{} {heading}{}",
                "#".repeat(section.level.into()),
                anchor.unwrap_or_default()
            ));
        }
        for block in &section.blocks {
            let kind = match block.kind {
                BlockKind::Paragraph => "",
                BlockKind::Code => "code ",
                BlockKind::Table => "table ",
                BlockKind::List => "list ",
                BlockKind::Quote => "quote ",
                BlockKind::Contents => "contents ",
            };
            lines.push(format!(
                "{kind}{}",
                block.text.to_markdown(&|target| Some(target.to_owned()))
            ));
        }
    }
    lines.join("\n")
}

fn check(source: &str, want: &[&str]) {
    assert_eq!(shown(&document(source)), want.join("\n"), "{source}");
}

#[test]
fn text_is_read_in_blocks() {
    check("a<p>b <em>c</em>\n d<div>e</div>f", &["a", "b c d", "e", "f"]);
    check("<p>a<br>b<br/>c", &["a\nb\nc"]);
    check("<p>a &lt;b&gt; &amp;amp; &nbsp;&#8212;", &["a <b> &amp; —"]);
    check("<p><code>a</code><kbd> b </kbd>, <code></code>", &["`a` `b` ,"]);
    check("<p>An <img alt='old lamp' src=x>here<img src=y>", &["An old lamp here"]);
    check("<details><summary>More</summary>text</details>", &["More", "text"]);
    check("<blockquote><p>a<p>b</blockquote>c", &["quote a", "quote b", "c"]);
    check("<p>said <q>no</q>", &["said “no”"]);
}

#[test]
fn links_have_the_target_that_is_written() {
    check("<p>See <a href='a.html#b&amp;c'> the  page</a>.", &["See [the page](a.html#b&c)."]);
    check("<p><a href=x><code>f()</code></a> <a>y</a> <a href=''>z</a>", &["[`f()`](x) y z"]);
    check("<a href=x><div>a</div><div>b</div></a>", &["[a](x)", "[b](x)"]);
    check(
        "<p>a<a class=headerlink href='#a'>¶</a> b<a href='#b'>#</a> <a href=x>#</a>",
        &["a b [#](x)"],
    );
    check("<h2 id=a><a href=b>Text</a> <a href='#a'>§</a></h2>", &["## Text {a}"]);
}

#[test]
fn code_keeps_its_lines() {
    check("<pre>\n a\n  b\n\n</pre>c", &["code ```\n a\n  b\n```", "c"]);
    check(
        "<pre><code class='hljs language-rust'>a &lt; b</code></pre>",
        &["code ```rust\na < b\n```"],
    );
    check(
        "<div class='highlight-python3'><div><pre>a</pre></div></div>",
        &["code ```python\na\n```"],
    );
    check("<div class=highlight-default><pre>a</pre></div>", &["code ```\na\n```"]);
    check("<pre class='brush: java; gutter: true'>a</pre>", &["code ```java\na\n```"]);
    check("<pre><span>a<br></span><span>b<br></span></pre>", &["code ```\na\nb\n```"]);
    check(
        "<pre><span class=linenos>1 </span>a\n<span class=linenos>2 </span>b</pre>",
        &["code ```\na\nb\n```"],
    );
    let gutter = "<table class=highlighttable><tr><td class=linenos><pre>1\n2</pre><td><pre>a\nb</pre></table>";
    check(gutter, &["code ```\na\nb\n```"]);
    let gutter = "<table class=lntable><tr><td><pre>1\n2</pre><td><pre>a\nb</pre></table>";
    check(gutter, &["code ```\na\nb\n```"]);
    check("<p>a<button>Copy</button><pre>b<button>Copy</button></pre>", &["a", "code ```\nb\n```"]);
}

#[test]
fn lists_are_one_block() {
    check("<ul><li>a<li><p>b</p><p>c</p></ul>d", &["list - a\n- b\n  c", "d"]);
    check("<ol start=3><li>a<ul><li>b</ul><li>c</ol>", &["list 3. a\n   - b\n4. c"]);
    check(
        "<ol><li>a:<pre>x\n y</pre><li>b</ol>",
        &["list 1. a:\n   ```\n   x\n    y\n   ```\n2. b"],
    );
    check("<ul><li><pre>x</pre></ul>", &["list - ```\n  x\n  ```"]);
    check("<ul><li><ul><li>a</ul></ul>", &["list - \n  - a"]);
    check("<dl><dt>a<dd>b<p>c<dt>d<dt>e:<dd>f<dd>g</dl>", &["list - a: b\n  c\n- d, e: f\n  g"]);
    check(
        "<ul><li>a <table><tr><td>x<td>y</table></ul>",
        &["list - a\n  |  |  |\n  | --- | --- |\n  | x | y |"],
    );
    check("<ul><li><h2>A</h2>b</ul>", &["## A", "b"]);
    check("<ul><li><a href=x>a</a><li>b</ul>", &["list - [a](x)\n- b"]);
}

#[test]
fn tables_of_contents_of_docbook_lead_to_other_pages() {
    let page = |items: &str| {
        format!(
            "<meta name=generator content=DocBook><body><h2>C</h2><div class=toc><p>Table of Contents</p>\
             <dl class=toc>{items}</dl></div><p>text"
        )
    };
    check(
        &page(
            "<dt><a href=a.html>1. A <code>B</code></a></dt><dd><dl><dt><a href='a.html#x'>1.1.\n X</a></dl><dt><a href=b.html>2</a>",
        ),
        &["## C", "contents - [1. A `B`](a.html)\n  - [1.1. X](a.html#x)\n- [2](b.html)", "text"],
    );
    // Sections of the same page have their headings below.
    check(&page("<dt><a href='#x'>X</a><dt><a href='page.html#y'>Y</a>"), &["## C", "text"]);
    check(
        "<body><h2>C</h2><div class=toc><dl><dt><a href=a.html>A</a></dl></div><p>text",
        &["## C", "text"],
    );
    let nested = page(&"<dl><a href=a>b".repeat(20_000));
    assert!(shown(&document(&nested)).lines().count() > 1);
}

#[test]
fn tables_are_markdown() {
    check(
        "<table><caption>C</caption><thead><tr><th>a<th>b|c<tbody><tr><td><a href=x>d</a><td><p>e<p>f</table>",
        &["C", "table | a | b\\|c |\n| --- | --- |\n| [d](x) | e f |"],
    );
    check("<table><tr><td>a<td>b</table>", &["table |  |  |\n| --- | --- |\n| a | b |"]);
    check(
        "<table><tr><th colspan=2>a<tr><td rowspan=2>b<td>c<tr><td>d<tr><td>e<td>f</table>",
        &["table | a |  |\n| --- | --- |\n| b | c |\n|  | d |\n| e | f |"],
    );
    check("<table><tr><td><p>a<p>b</table>", &["a", "b"]);
    check("<table><tr><td><h2>A</h2><td>b</table>", &["## A", "b"]);
    check(
        "<table><tr><td>a<table><tr><th>b<th>c</table></table>",
        &["a", "table | b | c |\n| --- | --- |"],
    );
    check(
        "<table><tr><td><pre>a\nb</pre><td>c</table>",
        &["table |  |  |\n| --- | --- |\n| `a b` | c |"],
    );
    check("<table>a</table>", &["a"]);
    check("<table><tr><th>a<tr><td><p>b<p>c<tr><td>d</table>e", &["list - a\n- b\n  c\n- d", "e"]);
}

#[test]
fn notes_say_what_they_are() {
    check(
        "<div class='admonition note'><p class=admonition-title>Note</p><p>a</p></div>b",
        &["quote Note: a", "b"],
    );
    check(
        "<div class=warning><h3 class=title>Warning</h3><p>a</p><p>b</p></div>",
        &["quote Warning: a", "quote b"],
    );
    check("<div class=note><pre>a</pre></div>", &["quote Note:", "code ```\na\n```"]);
    check("<ul><li>a<div class=tip>b</div></ul>", &["list - a\n  Tip: b"]);
    check("<details class=info><summary>T</summary>a</details>", &["quote Info (T): a"]);
}

#[test]
fn formulas_are_shown_by_their_source() {
    check("<p>so <math alttext='x^2'><mi>x</mi></math>.", &["so `x^2`."]);
    let katex = "<p><span class=katex><span class=katex-mathml><math><mi>x</mi><annotation>x_1</annotation></math>\
                 </span><span class=katex-html aria-hidden=true>x1</span></span>";
    check(katex, &["`x_1`"]);
    check("<p><math><mi>x</mi><mo>+</mo></math>", &["x+"]);
    check("<p>a <script type='math/tex'>y</script><script>no()</script>", &["a `y`"]);
}

#[test]
fn headings_have_the_nearest_anchor() {
    let cases: [(&str, &[&str]); 8] = [
        ("<h1 id=a>A</h1>", &["# A {a}"]),
        (
            "<section id=a><span id=b></span><h2>A</h2>t<h3>B</h3></section>",
            &["## A {a}", "t", "### B"],
        ),
        ("<a name=a></a><ul><li><h4>A</h4></ul>", &["#### A {a}"]),
        ("<h2><a id=a></a>A</h2>", &["## A {a}"]),
        ("<div id=a>t<h2>A</h2></div>", &["t", "## A"]),
        ("<div id=content><h2>A</h2></div>", &["## A"]),
        (
            "<div id=a><a id=id-1.2 class=indexterm></a><h2>11.2.&nbsp;A</h2></div>",
            &["## 11.2. A {a}"],
        ),
        ("<h2>A <code>b</code> <em>c</em></h2><h3></h3>", &["## A b c"]),
    ];
    for (source, want) in cases {
        check(source, want);
    }
}

#[test]
fn definitions_with_an_anchor_are_sections() {
    check(
        "<h2>A</h2><dl><dt id=x><code>x</code> (<i>int</i>)<dd>one<dl><dt id=y>y<dd>two</dl>more<dt id=z>z<dd></dl>end",
        &[
            "## A",
            "### x (int) {x}",
            "one",
            "#### y {y}",
            "two",
            "#### x (int) (continued) {x}",
            "more",
            "list - `z`",
            "### A (continued)",
            "end",
        ],
    );
    check("<dl><dt id=a>a<dt id=b>b<dd>c</dl>", &["# a, b {a}", "c"]);
    check("<dl><dt><a id=a></a>a<dd>c</dl>", &["# a {a}", "c"]);
    check("<dl><dt id=a>a<dd> <dt id=b>b</dl>", &["list - a\n- b"]);
    check("<ul><li>x<dl><dt id=a>a<dd>b</dl></ul>", &["list - x\n  - a: b"]);
    check("<dl><div><dt id=a>a<dd>b</div></dl>", &["# a {a}", "b"]);
}

/// As javadoc 8 and 11 lay pages out.
#[test]
fn members_in_layout_lists_are_sections() {
    check(
        "<!-- Generated by javadoc (1.8.0) --><div class=topNav>x</div><div class=header><h2 class=title>Class Lamp</h2></div>\
         <div class=contentContainer><div class=details><ul class=blockList><li class=blockList><ul class=blockList>\
         <li class=blockList><a name='method.detail'><!--   --></a><h3>Method Detail</h3><a name='isLit--'></a>\
         <ul class=blockListLast><li class=blockList><h4>isLit</h4><pre>public&nbsp;boolean&nbsp;isLit()</pre>\
         <div class=block>Whether it is lit.</div><dl><dt><span>Returns:</span></dt><dd>so</dd></dl></li></ul></li></ul>\
         </li></ul></div></div><div class=bottomNav>x</div>",
        &[
            "## Class Lamp",
            "### Method Detail {method.detail}",
            "#### isLit {isLit--}",
            "code ```\npublic boolean isLit()\n```",
            "Whether it is lit.",
            "list - Returns: so",
        ],
    );
}

/// As rustdoc laid pages out before 2022.
#[test]
fn old_signatures_are_sections_where_something_is_said() {
    check(
        "<body class='rustdoc struct'><section id=main class=content><h1 class=fqn><span class=out-of-band>x</span>Struct A</h1>\
         <div class=docblock><p>a</p></div><h3 id=impl class=impl><code>impl A</code></h3><div class=impl-items>\
         <h4 id=method.f class=method><code>fn f()</code><a class=srclink>[src]</a></h4><div class=docblock>b</div>\
         <h4 id=method.g class=method><code>fn g()</code></h4></div></section>",
        &["# Struct A", "a", "### impl A {impl}", "#### fn f() {method.f}", "b", "list - `fn g()`"],
    );
}

#[test]
fn members_without_a_heading_are_sections() {
    check(
        "<meta name=generator content=pdoc><main class=pdoc><section class=module-info><h1>lamps</h1></section>\
         <section id=Lamp><div class='attr class'><span>class</span> <span>Lamp</span>:<label class=view-source-button>x</label>\
         </div><a class=headerlink href='#Lamp'></a><div class='pdoc-code codehilite'><pre>x</pre></div><div class=docstring>\
         <p>A lamp.</p></div><div id=Lamp.light class=classattr><div class='attr function'>def light()</div><p>b</div></section>",
        &["# lamps", "## class Lamp: {Lamp}", "A lamp.", "### def light() {Lamp.light}", "b"],
    );
}

#[test]
fn members_in_layout_tables_are_lines() {
    check(
        "<meta name=generator content='Doxygen 1.9'><div id=top>x</div><div class=header><div class=summary>x</div>\
         <div class=headertitle><div class=title>Lamp Class Reference</div></div></div><div class=contents>\
         <table class=memberdecls><tr class=heading><td><h2><a id=pub></a>Functions</h2><tr><td class=memItemLeft>bool\
         <td class=memItemRight><a href='#a1'>lit</a> () const<tr><td class=mdescRight>So.</table>\
         <h2 class=groupheader>Documentation</h2><a id=a1></a><h2 class=memtitle><span class=permalink><a href='#a1'>◆</a></span>\
         lit()</h2><div class=memitem><div class=memproto><table class=memname><tr><td>bool Lamp::lit<td>(<td>)<td>const</table>\
         </div><div class=memdoc>More.</div></div></div>",
        &[
            "# Lamp Class Reference",
            "## Functions {pub}",
            "bool [lit](#a1) () const",
            "So.",
            "## Documentation",
            "### lit() {a1}",
            "code ```cpp\nbool Lamp::lit ( ) const\n```",
            "More.",
        ],
    );
}

#[test]
fn boilerplate_is_left_out() {
    let page = "<html><head><title>T</title></head><body><header role=banner>x</header><nav>x</nav>\
        <div class=sidebar>x</div><div class='toc'>x</div><form>x</form><aside>x</aside><p>text</p>\
        <div hidden>x</div><div style='display: none'>x</div><div role=tabpanel hidden>tab</div>\
        <div class=related>x</div><footer>x</footer><script>x</script><style>x</style><noscript>x</noscript></body>";
    check(page, &["text", "tab"]);
}

#[test]
fn the_text_is_found() {
    let long = "words of text ".repeat(20);
    let text = long.trim();
    let cases = [
        format!("<div>menu</div><main>{text}</main><div>end</div>"),
        format!("<div>menu</div><div role=main>{text}</div>"),
        format!("<div>menu</div><article>{text}</article>"),
        format!(
            "<body><div><div><a href=x>{text}</a></div><div><p>{text}</div><div>end</div></div>"
        ),
        format!("<main> </main><article><p>{text}</article>"),
    ];
    for source in cases {
        check(&source, &[text]);
    }
    check("<body><div>a</div><div>b</div>", &["a", "b"]);
    // A heading is not left behind for the sake of the longest part.
    check(&format!("<body><div><h1>A</h1></div><div>{text}</div>"), &["# A", text]);
    check("<article>a</article><article>b</article>", &["a", "b"]);
}

#[test]
fn generators_of_pages_are_detected() {
    let cases = [
        ("<meta name=generator content='Docutils 0.17'>", Some("Sphinx")),
        ("<meta name=generator content='mkdocs-1.6, mkdocs-material-9'>", Some("MkDocs")),
        ("<meta content='Docusaurus v3.10' name=generator>", Some("Docusaurus")),
        ("<!-- Generated by javadoc (1.8.0_1) on Mon -->", Some("javadoc")),
        ("<meta name=generator content='AsciiDoc 10.2.0'>", Some("AsciiDoc")),
        ("<meta name=generator content='Asciidoctor 2.0'>", Some("Asciidoctor")),
        ("<!-- Book generated using mdBook -->", Some("mdBook")),
        ("<body class='rustdoc struct'>", Some("rustdoc")),
        ("<div class=sphinxsidebar>", Some("Sphinx")),
        ("<div id=VPContent>", Some("VitePress")),
        ("<meta name=generator content='My own'>", None),
        ("<p>text", None),
    ];
    for (source, want) in cases {
        assert_eq!(document(source).generator, want, "{source}");
    }
}

#[test]
fn titles_do_not_name_the_site() {
    let cases = [
        ("<title>Index Types — PostgreSQL 15</title><h1>Index Types</h1>", "Index Types"),
        ("<title>Foo - docs</title><h1>Foo</h1>", "Foo"),
        ("<title>What is Foo? - docs</title><h1>What Is Foo?</h1>", "What Is Foo?"),
        ("<title>Foobar</title><h1>Foo</h1>", "Foobar"),
        ("<title>Foo - docs</title><h1>Bar</h1>", "Foo - docs"),
        ("<title>A &amp; B</title>", "A & B"),
        ("<title> </title><h2>A</h2>", "A"),
        ("<p>text", "page.html"),
        (
            "<body class=rustdoc><title>Vec in std::vec - Rust</title><h1>Struct Vec</h1>",
            "Vec in std::vec",
        ),
        (
            "<!-- Generated by javadoc --><title>Lamp (Lamps 2.1 API)</title><h1>Class Lamp</h1>",
            "Lamp",
        ),
        (
            "<meta name=generator content=Docutils><title>Foo — X 1.0 documentation</title><h1>Bar</h1>",
            "Foo",
        ),
    ];
    for (source, want) in cases {
        assert_eq!(document(source).title, want, "{source}");
    }
}

#[test]
fn versions_are_found() {
    let sphinx = "<meta name=generator content=Docutils>";
    let cases = [
        (
            format!(
                "{sphinx}<script>var DOCUMENTATION_OPTIONS = {{ VERSION: '1.2rc1', }}</script>"
            ),
            Some("1.2rc1"),
        ),
        (format!("{sphinx}<title>json — Python 3.11.2 documentation</title>"), Some("3.11.2")),
        (format!("{sphinx}<title>json — Foo documentation</title>"), None),
        (
            "<meta name=generator content=DocBook><title>PostgreSQL 15.20 Documentation</title>"
                .into(),
            Some("15.20"),
        ),
        (
            "<meta name=generator content=DocBook><a accesskey=h title='X 9 Documentation'>".into(),
            Some("9"),
        ),
        ("<meta name='docsearch:version' content='2.x'>".into(), Some("2.x")),
        ("<meta name='docsearch:version' content='current'>".into(), None),
        ("<!-- Generated by javadoc --><title>A (Lamps 2.1 API)</title>".into(), Some("2.1")),
    ];
    for (source, want) in cases {
        assert_eq!(document(&source).version.as_deref(), want, "{source}");
    }
}

#[test]
fn pages_without_their_own_text_are_detected() {
    let rustdoc = "<body class=rustdoc>x";
    let javadoc = "<!-- Generated by javadoc -->x";
    let cases = [
        ("a/index.html", "<meta http-equiv=Refresh content='0; URL=b.html'>x", true),
        ("a/index.html", "<meta http-equiv=refresh content=300>x", false),
        ("a/genindex.html", "x", true),
        ("a/search.html", "x", true),
        ("a/all.html", rustdoc, true),
        ("a/all.html", "x", false),
        ("src/a/lib.rs.html", rustdoc, true),
        ("a/struct.Src.html", rustdoc, false),
        ("a/class-use/Lamp.html", javadoc, true),
        ("a/index-all.html", javadoc, true),
        ("a/Lamp.html", javadoc, false),
    ];
    for (path, source, want) in cases {
        assert_eq!(read(path, source).is_boilerplate, want, "{path} {source}");
    }
}

#[test]
fn no_page_is_too_broken() {
    let cases = [
        "",
        "<",
        "</",
        "<!",
        "<!--",
        "<a",
        "<a href=",
        "<a href='",
        "</a>",
        "&",
        "&#",
        "&#x110000;",
        "<script>",
        "<pre>",
        "<table><td>",
        "<dl><dd>",
        "<dt id=a>",
        "<li>",
        "<h1>",
        "<td><tr>",
        "<title>",
        "<p></p></p></div>",
        "<html></html>",
        "\u{0}\u{feff}<é>",
        "<math><annotation>",
        "<a id='é' class='é é'>é",
        "<h1><table><tr><td><h2><dl><dt id=a><pre>x",
        "<div class=note><h1><div class=note><dl><dt id=a>b<dd><table><caption><ul><li>c",
    ];
    for source in cases {
        for page in (0..=source.len()).filter_map(|cut| source.get(..cut)).map(document) {
            for block in page.sections.iter().flat_map(|section| &section.blocks) {
                let label = |link: &TextLink| block.text.plain.get(link.label.clone());
                assert!(block.text.links.iter().all(|link| label(link).is_some()), "{source}");
            }
        }
    }
}

#[test]
fn hostile_pages_lose_nothing_but_structure() {
    let many = |piece: &str| piece.repeat(20_000);
    let pages = [
        "<div>".repeat(200_000) + "word",
        many("<span>") + "word",
        many("<ul><li>") + "word",
        many("<dl><dt id=x><dd>") + "word",
        many("<table><tr><td>") + "word",
        many("<blockquote>") + "word",
        many("<b><p>") + "word",
        many("<!--") + "word",
        many("<title></x>") + "word",
        many("<div class=note>") + "word",
        format!("<section><td>{}{}word", many("<span>"), many("</section>")),
        format!("<table>{}<td>word", many("<tr><td rowspan=999 colspan=999>x")),
        format!("<table><tr>{}{}<tr><td>word", many("<td>"), many("<tr><td>x")),
        format!("<p>{}word", many("<a href=x>y</a><code>z</code>")),
        format!("<p {}>word", many("a=b ")),
        "x".repeat(1_000_000) + " word",
    ];
    for page in pages {
        let read = document(&page);
        let mut text =
            read.sections.iter().flat_map(|section| &section.blocks).map(|block| &block.text.plain);
        assert!(text.next_back().is_some_and(|text| text.contains("word")), "{page:.60}");
    }
}
