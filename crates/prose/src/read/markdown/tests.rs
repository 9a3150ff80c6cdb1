use super::*;
use crate::document::BlockKind::{self, Code, List, Paragraph, Quote, Table};

fn check(text: &str, want: &str) {
    check_as("a.md", text, want);
}

fn check_as(path: &str, text: &str, want: &str) {
    let document = read(path, text);
    assert_eq!(document.markdown(&|target| Some(target.to_owned())), want, "{text}");
}

fn anchors(text: &str) -> Vec<String> {
    let document = read("a.md", text);
    document.sections.into_iter().map(|section| section.anchor.unwrap_or_default()).collect()
}

#[test]
fn anchors_are_those_of_the_code_hosts() {
    let cases: [(&str, &[&str]); 8] = [
        ("# Größe & `code_x`, too!", &["größe--code_x-too"]),
        ("# A\n# A\n# A-1\n# A", &["a", "a-1", "a-1-1", "a-2"]),
        ("# A {#own}\n# Own", &["own", "own-1"]),
        ("# <a name=\"x\"></a>A", &["x"]),
        ("<a id=\"x\"></a>\n\n# A\n# B", &["x", "b"]),
        ("<a id=\"x\"></a>\n\ntext\n\n# A", &["", "a"]),
        ("# 🐝", &[""]),
        ("# [Linked](x.md) ![alt](y.png)", &["linked-alt"]),
    ];
    for (text, want) in cases {
        assert_eq!(anchors(text), want, "{text}");
    }
}

#[test]
fn front_matter_stands_at_the_start_only() {
    let cases = [
        ("---\ntitle: 'It''s'\nversion: \"1.10\"\n---\ntext", "It's", Some("1.10"), "text"),
        ("---\n# c\ntitle: >-\n  Two\n  lines\n...\ntext", "Two lines", None, "text"),
        ("+++\ntitle = \"A \\\"b\\\"\" # c\n+++\n# H", "A \"b\"", None, "# H"),
        ("---\n\nText: here\n\n---\n\nmore", "a.md", None, "Text: here\n\nmore"),
        ("---\nnot closed: x", "a.md", None, "not closed: x"),
        ("# H\n\n---\ntitle: x\n\n---\n", "H", None, "# H\n\ntitle: x"),
        ("---\n---\ntext", "a.md", None, "text"),
    ];
    for (text, title, version, want) in cases {
        let document = read("a.md", text);
        let body = document.markdown(&|_| None);
        assert_eq!(body, want, "{text}");
        assert_eq!(
            (document.title.as_str(), document.version.as_deref()),
            (title, version),
            "{text}"
        );
    }
}

#[test]
fn links_are_taken_out_and_come_back() {
    let cases = [
        ("a [b](c.md) d", "a [b](c.md) d"),
        ("[**b** `c`](d \"title\")", "[**b** `c`](d)"),
        ("[b][r] [r][] [r]\n\n[r]: x.md", "[b](x.md) [r](x.md) [r](x.md)"),
        (
            "<https://x.example> <a@b.example>",
            "[https://x.example](https://x.example) [a@b.example](mailto:a@b.example)",
        ),
        ("[![alt](i.png)](l.md) ![only](i.png)", "[alt](l.md) only"),
        ("[](empty.md) [ ](space.md) x", "x"),
        ("<a href='h.md'>html</a> <A HREF=x>y</A>", "[html](h.md) [y](x)"),
        ("- [a](b)\n  > [c](d)\n", "- [a](b)\n  > [c](d)"),
        ("[not a link] [nor](this", "[not a link] [nor](this"),
        ("![a [b](c) d](e)", "a [b](c) d"),
        ("[a](b)\n\n[x]: y", "[a](b)"),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn blocks_have_their_kinds() {
    let text = "p\n\n- l\n\n> q\n\n| a |\n|---|\n| b |\n\n```x\nc\n```\n\n    i\n\n<p>h</p>\n\n***\n\n[^1]: f\n";
    let document = read("a.md", text);
    let kinds: Vec<BlockKind> =
        document.sections[0].blocks.iter().map(|block| block.kind).collect();
    assert_eq!(kinds, [Paragraph, List, Quote, Table, Code, Code, Paragraph, Paragraph]);
}

#[test]
fn admonitions_become_quotations() {
    let cases = [
        ("> [!NOTE]\n> text", "> **Note**\n>\n> text"),
        ("> [!tip]+ Title\n> text", "> **Tip: Title**\n>\n> text"),
        (":::note\ntext\n:::\nafter", "> **Note**\n>\n> text\n\nafter"),
        (
            "::::warning Take care\n:::info\nin\n:::\n::::",
            "> **Warning: Take care**\n>\n> > **Info**\n> >\n> > in",
        ),
        (":::note\nnever closed", "never closed"),
        ("::: code-group\ntext\n:::\n", "text"),
        ("!!! warning\n    one\n\n    two\n\nthree", "> **Warning**\n>\n> one\n>\n> two\n\nthree"),
        ("- item\n\n    !!! note\n        text\n", "- item\n\n    > **Note**\n    >\n    > text"),
        ("```{note} Title\ntext\n```", "> **Note: Title**\n>\n> text"),
        ("```\n:::note\n!!! note\n> [!NOTE]\n```", "```\n:::note\n!!! note\n> [!NOTE]\n```"),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn code_keeps_its_language() {
    let cases = [
        ("```rust,no_run\nx\n```", "```rust\nx\n```"),
        ("```js title=\"a.js\" {1}\nx\n```", "```js\nx\n```"),
        ("```{code-block} python\nx\n```", "```python\nx\n```"),
        ("```{r}\nx\n```", "```r\nx\n```"),
        ("~~~~\n```\n~~~\n~~~~", "````\n```\n~~~\n````"),
        ("```\nnever\n\n\n\nclosed", "```\nnever\n\n\n\nclosed\n```"),
        ("\tx\n\t\ty", "```\nx\n\ty\n```"),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn markup_is_dropped_and_its_text_kept() {
    let cases = [
        ("a<br>b <kbd>c</kbd><!-- d -->", "a b c"),
        ("<!-- x\n\ny -->\n\nz", "z"),
        ("<h1 align=center>Title</h1>\n\ntext", "# Title\n\ntext"),
        ("<script>\nx < y\n</script>\n\nz", "z"),
        ("<p>a &lt;b&gt; &#65; &bogus; &</p>", "a <b> A &bogus; &"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a | b\nc"),
        ("{{< x >}}a{{% y %}} {% z %}", "a"),
        ("a\n{: .class #id}\n", "a"),
        ("{% raw\n more %}\nb", "b"),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn mdx_loses_its_code_and_keeps_its_text() {
    let cases = [
        ("import a from 'b'\n\n# T\n", "# T"),
        ("export const a = {\n\n b: 1,\n}\ntext", "text"),
        ("text\nimport this line", "text\nimport this line"),
        ("<A>\n    text\n\n        code\n</A>", "text\n\n```\ncode\n```"),
        ("<A b={() => 1 > 0}>x</A>", "x"),
        ("<>\n\nx\n\n</>", "x"),
        ("```jsx\nimport a from 'b'\n<A>\n```", "```jsx\nimport a from 'b'\n<A>\n```"),
        ("<A never closed\n\nx", "<A never closed\n\nx"),
        ("{/* c */}x", "x"),
    ];
    for (text, want) in cases {
        check_as("a.mdx", text, want);
    }
    check("import a from 'b'", "import a from 'b'");
}
