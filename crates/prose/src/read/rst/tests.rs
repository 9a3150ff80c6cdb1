use super::*;

fn check(text: &str, want: &str) {
    let document = read("a.rst", text);
    assert_eq!(document.markdown(&|target| Some(target.to_owned())), want, "{text}");
}

#[test]
fn titles_nest_in_the_order_of_their_lines() {
    let cases = [
        ("A\n=\n\nB\n-\n\nC\n=\n", "A\n=\n\nB\n-\n\nC\n="),
        ("AB\n==\n\nCD\n--\n\nEF\n==\n", "# AB\n\n## CD\n\n# EF"),
        ("====\n AB\n====\n\nCD\n====\n", "# AB\n\n## CD"),
        ("Longer title\n====\n", "# Longer title"),
        ("Longer title\n===\n", "Longer title\n==="),
        ("1. One\n======\n", "# 1. One"),
        ("*A* ``b`` :mod:`c`\n==================\n", "# A b c"),
        ("a\n\n----\n\nb", "a\n\nb"),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn marks_inside_text_are_read() {
    let cases = [
        ("*a* **b** ``c`` `d`", "a b `c` `d`"),
        ("2*3 *args **kw a*b * c *", "2*3 *args **kw a*b * c *"),
        ("``a`b`` x", "`` a`b `` x"),
        ("re\\ *st* \\*x\\*", "rest *x*"),
        ("`a <b.html>`_ `c <d_>`_ e_\n\n.. _d: D\n.. _e: E", "[a](b.html) [c](D) [e](E)"),
        ("`a b`_\n\n.. _A  B: x", "[a b](x)"),
        ("a__ `b`__\n\n__ x\n.. __: y", "[a](x) [b](y)"),
        ("snake_case_ __init__ _x x_", "snake_case_ __init__ _x x_"),
        (
            ":ref:`l` :ref:`t <l>` :doc:`/p`\n\n.. _l:\n\nTitle\n=====",
            "[Title](#l) [t](#l) [/p](/p.rst)\n\n# Title",
        ),
        (":func:`~a.b` :meth:`!c` :class:`D <a.D>`", "[`b()`](#a.b) `c()` [`D`](#a.D)"),
        (":c:func:`f` :samp:`a{b}` :math:`x^2`", "[`f()`](#c.f) `ab` $x^2$"),
        ("`x`:code: :unknown:`y`", "`x` y"),
        ("|a| |b|\n\n.. |a| replace:: x *y*\n   z", "x y z |b|"),
        ("|a|\n\n.. |a| replace:: |a|", "|a|"),
        ("[1]_ [#f]_ a[0]", "[1] [#f] a[0]"),
        ("a: b :c: :d:`", "a: b :c: :d:`"),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn blocks_are_distinguished() {
    let cases = [
        ("a::\n\n  b\n   c\n\nd", "a:\n\n```\nb\n c\n```\n\nd"),
        ("a ::\n\n  b", "a\n\n```\nb\n```"),
        ("::\n\n> b\n> c", "```\n> b\n> c\n```"),
        ("- a\n\n  b\n- c\n\n+ d", "- a\n\n  b\n- c\n\n- d"),
        ("3. a\n#. b\n\n(i) c", "3. a\n2. b\n\ni. c"),
        ("term\n  def\nother\n  - x", "- term: def\n- other:\n  - x"),
        ("- :mod:`a`: b", "- [`a`](#module-a): b"),
        (":a b: c\n  d\n:e:", "- a b: c\n  d\n- e"),
        ("-f, --file=F  text\n              more", "- `-f, --file=F`: text\n  more"),
        ("  quoted\n  text", "> quoted\n> text"),
        (".. a comment\n   goes on\n\n..\n\n   quoted", "> quoted"),
        (".. [a] note", "[a] note"),
        ("| a\n| b", "a\nb"),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn tables_become_markdown() {
    let cases = [
        (
            "+--+--+\n|a |b |\n+==+==+\n|c |d |\n|  |e |\n+--+--+",
            "| a | b |\n| --- | --- |\n| c | d e |",
        ),
        (
            "+--+--+\n|wide |\n+--+--+\n|c |é |\n+--+--+",
            "|  |  |\n| --- | --- |\n| wide |  |\n| c | é |",
        ),
        (
            "=== ===\na   b\n=== ===\nc   d|e\n    f\n=== ===\n\ng",
            "| a | b |\n| --- | --- |\n| c | d\\|e f |\n\ng",
        ),
        ("= ==\n1 a\n2 b\n= ==", "|  |  |\n| --- | --- |\n| 1 | a |\n| 2 | b |"),
        (
            ".. csv-table::\n   :header: a\n\n   \"b \"\"c\"\"\nd",
            "| a |\n| --- |\n| b \"c\" |\n\nd",
        ),
        (".. list-table::\n\n   * - a\n     - b", "|  |  |\n| --- | --- |\n| a | b |"),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn directives_keep_what_they_say() {
    let cases = [
        (".. code-block:: c\n   :caption: Cap\n\n   int x;", "Cap\n\n```c\nint x;\n```"),
        (".. highlight:: c\n\n::\n\n  x", "```c\nx\n```"),
        (".. note:: a\n   b", "> **Note**\n>\n> a\n> b"),
        (".. versionchanged:: 3.1\n   Now *x*.", "Changed in version 3.1: Now x."),
        (
            ".. deprecated-removed:: 1 2 Use y.",
            "Deprecated since version 1, removed in version 2: Use y.",
        ),
        (
            ".. toctree::\n   :glob:\n\n   a\n   T <b/c>\n   x/*",
            "- [a](a.rst)\n- [T](b/c.rst)\n- [x/*](x/*)",
        ),
        (".. image:: a.png\n   :alt: Alt", "Alt"),
        (".. unknown:: arg\n   :o: v\n\n   body", "arg\n\nbody"),
        (".. unknown:: arg", "unknown: arg"),
        (".. index:: x\n.. raw:: html\n\n   <b>\n\ntext", "text"),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn objects_are_sections_with_anchors() {
    let text = "Title\n=====\n\n.. module:: m\n\n.. class:: C(a)\n\n   x\n\n   .. method:: C.f()\n      :no-index:\n\n   .. attribute:: g\n\n.. py:data:: m.d\n\n.. c:type:: struct s *t\n\n.. program:: p\n.. option:: -x N\n\n.. confval:: v\n\n.. rst:directive:: foo\n\n.. http:get:: /a";
    let document = read("a.rst", text);
    let got: Vec<(u8, &str, &str)> = document
        .sections
        .iter()
        .map(|s| {
            (s.level, s.heading().unwrap_or_default(), s.anchor.as_deref().unwrap_or_default())
        })
        .collect();
    let want = [
        (1, "Title", "module-m"),
        (2, "class C(a)", "m.C"),
        (3, "C.f()", ""),
        (3, "g", "m.C.g"),
        (2, "m.d", "m.d"),
        (2, "struct s *t", "c.t"),
        (2, "-x N", "cmdoption-p-x"),
        (2, "v", "confval-v"),
        (2, ".. foo::", "directive-foo"),
        (2, "GET /a", "/a"),
    ];
    assert_eq!(got, want);
}

#[test]
fn links_to_objects_take_their_whole_names() {
    let text = ".. module:: m\n\n.. function:: f()\n\n   :func:`f` :meth:`C.g` :meth:`g` :meth:`h` :func:`k`\n\n.. class:: C\n\n   x\n\n   .. method:: g()\n   .. method:: h()\n\n.. function:: D.h()";
    let document = read("a.rst", text);
    let links = &document.sections[0].blocks[0].text.links;
    let targets: Vec<&str> = links.iter().map(|link| link.target.as_str()).collect();
    assert_eq!(targets, ["#m.f", "#m.C.g", "#m.C.g", "#h", "#k"]);
}
