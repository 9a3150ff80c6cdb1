//! Pack settings for clauses, levels, limits and owners.

use super::*;

/// `first-last kind qualified < parent`.
fn lines(language: Language, text: &str) -> Vec<String> {
    let tree = tree(language, text, &|| false).unwrap();
    let show = |one: LocatedDefinition| {
        let one = one.annotation;
        let parent = one.parent.map_or(String::new(), |parent| format!(" < {parent}"));
        format!(
            "{}-{} {} {}{parent}",
            one.line,
            one.end_line,
            one.kind.singular(),
            one.qualified_name
        )
    };
    definitions(language, "f", text, &tree).into_iter().map(show).collect()
}

#[test]
fn clauses_are_one_definition() {
    let haskell = "f :: Int -> Int\nf 0 = 1\nf n = go n\n  where go m = m\n\ng x = x\n\nf' = 1\n";
    let want =
        ["1-4 function f", "4-4 function f.go < function:f:f", "6-6 function g", "8-8 constant f'"];
    assert_eq!(lines(Language::Haskell, haskell), want);
    let elixir = "defmodule A do\n  def f(1), do: 1\n  def f(n), do: n\n  def f(n, m), do: n + m\n  def g, do: 1\n  def f(0), do: 0\nend\n";
    let want = [
        "1-7 module A",
        "2-3 function A.f < module:f:A",
        "4-4 function A.f < module:f:A",
        "5-5 function A.g < module:f:A",
        "6-6 function A.f < module:f:A",
    ];
    assert_eq!(lines(Language::Elixir, elixir), want);
}

#[test]
fn inner_functions_of_two_clauses_stay_apart() {
    let text = "f 0 = go 1\n  where go a = a\nf n = go n\n  where go b = b\n";
    let want =
        ["1-4 function f", "2-2 function f.go < function:f:f", "4-4 function f.go < function:f:f"];
    assert_eq!(lines(Language::Haskell, text), want);
}

#[test]
fn methods_beside_their_type_have_it_for_a_parent() {
    let go =
        "package a\n\nfunc (t *T[K]) F() {}\n\ntype T[K any] struct{}\n\nfunc (o Other) G() {}\n";
    let want = ["3-3 method T.F < struct:f:T", "5-5 struct T", "7-7 method Other.G"];
    assert_eq!(lines(Language::Go, go), want);
    let rust = "mod m {\n    struct T;\n    impl T {\n        fn f() {}\n    }\n}\nimpl T {\n    fn g() {}\n}\n";
    let want = [
        "1-6 module m",
        "2-2 struct m::T < module:f:m",
        "4-4 method m::T::f < struct:f:m::T",
        "8-8 method T::g",
    ];
    assert_eq!(lines(Language::Rust, rust), want);
}

#[test]
fn sections_last_until_the_next_of_their_level() {
    let text = "# A\n\ntext\n\n### B\n\nC\n---\n\n> # no\n\n# D\n";
    let want = [
        "1-10 section A",
        "5-5 section A > B < section:f:A",
        "7-10 section A > C < section:f:A",
        "12-12 section D",
    ];
    assert_eq!(lines(Language::Markdown, text), want);
}

#[test]
fn headings_show_what_links_say() {
    let cases = [
        ("# [1.0](https://a.example/b) (2026)", "1.0 (2026)"),
        ("# See [a](b), [c](d)", "See a, c"),
        ("# a](b", "a](b"),
        ("# `f(x)` and C#", "`f(x)` and C#"),
        ("# Deep ##", "Deep"),
    ];
    for (text, want) in cases {
        assert_eq!(lines(Language::Markdown, text), [format!("1-1 section {want}")]);
    }
}

#[test]
fn large_data_shows_its_outer_keys() {
    let small = r#"{"a": {"b": {"c": {"d": 1}}}, "e": [{"f": 1}]}"#;
    let want = ["1-1 key a", "1-1 key a.b < key:f:a", "1-1 key a.b.c < key:f:a.b", "1-1 key e"];
    assert_eq!(lines(Language::Json, small), want);
    let pairs = |count: usize, value: &str| {
        let all: Vec<String> = (0..count).map(|n| format!("\"k{n}\": {value}")).collect();
        format!("{{{}}}", all.join(", "))
    };
    let wide = pairs(100, &pairs(100, "1"));
    assert_eq!(lines(Language::Json, &wide).len(), 100);
    assert_eq!(lines(Language::Json, &pairs(5_000, "1")).len(), 300);
}
