use super::*;

fn check(text: &str, want: &str) {
    let document = read("a.txt", text);
    assert_eq!(document.markdown(&|_| None), want, "{text}");
}

#[test]
fn obvious_headings_are_detected() {
    let cases = [
        ("Title\n=====\ntext\n\nSub\n---\n\nmore", "# Title\n\ntext\n\n## Sub\n\nmore"),
        ("=====\nTitle\n=====\n\ntext", "# Title\n\ntext"),
        ("1.2 Deep\n\ntext", "## 1.2 Deep\n\ntext"),
        ("1. First\n\ntext\n\n2. Second\n\ntext", "# 1. First\n\ntext\n\n# 2. Second\n\ntext"),
        ("1. one\n\n2. two", "1. one\n2. two"),
        ("NAME OF IT\n\ntext", "# NAME OF IT\n\ntext"),
        (
            "NO HEADING, AS IT GOES ON\nIN THE NEXT LINE",
            "NO HEADING, AS IT GOES ON\nIN THE NEXT LINE",
        ),
        ("A SENTENCE.\n\ntext", "A SENTENCE.\n\ntext"),
        (
            "Far too long to be underlined by so little\n---",
            "Far too long to be underlined by so little\n---",
        ),
        ("----\n\ntext\n\n====", "----\n\ntext\n\n===="),
        (
            "Head\n\n   one\n   two\n\nNext\n\n   three\n   four",
            "# Head\n\none\ntwo\n\n# Next\n\nthree\nfour",
        ),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn code_and_lists_are_detected_by_layout() {
    let cases = [
        ("do:\n\n    $ make\n\n    $ ls", "do:\n\n```\n$ make\n\n$ ls\n```"),
        ("do:\n\n\tint x = 1;", "do:\n\n```\nint x = 1;\n```"),
        ("* a\n* b\n  more\n\n* c", "- a\n- b\n  more\n- c"),
        ("- a\n  - b\n", "- a\n  - b"),
        ("(1) a\n(2) b", "1. a\n2. b"),
        ("- - - - -", "- - - - -"),
        ("text - with a dash", "text - with a dash"),
    ];
    for (text, want) in cases {
        check(text, want);
    }
}

#[test]
fn pages_are_joined() {
    let text = "one two\n\n\nMe    [Page 1]\n\u{c}\nRFC 1    T    May 1\n\nthree\n\u{c}\nfour";
    check(text, "one two\nthree\nfour");
    check("a.\n\u{c}b", "a.\n\nb");
}
