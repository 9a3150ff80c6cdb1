//! Source text as units of the index, and where its documentation stands.

use super::{
    language::{Language, line_of, text_of},
    parse::{self, Definition},
};
use docent_index::{Span, Unit};
use std::ops::Range;
use tree_sitter::{Node, Tree};

/// A piece of documentation in a source text, with its marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Documentation {
    /// Where it stands, in bytes.
    pub range: Range<usize>,
    /// The line of the definition that holds it, counted from 1: Python's docstrings stand inside what they describe.
    /// 0 for the docstring of a file, and for what stands above or beside its definition.
    pub inside: u32,
}

/// The definitions of a text. The language is given by its name (`python`) or by a path that ends like its files;
/// for one that is not read, there are none.
pub fn code_units(language: &str, path: &str, text: &str) -> Vec<Unit> {
    let Some((language, tree)) = tree_of(language, text) else { return Vec::new() };
    let definitions = parse::definitions(language, path, text, &tree);
    definitions.into_iter().map(|one| unit(language, text, one)).collect()
}

/// Every doc comment and docstring of a text in its order, whatever it describes.
pub fn documentation(language: &str, text: &str) -> Vec<Documentation> {
    let Some((language, tree)) = tree_of(language, text) else { return Vec::new() };
    let mut found = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        found.extend(match language {
            Language::Python => docstring_of(node),
            _ => is_documentation(language, node, text)
                .then(|| Documentation { range: node.byte_range(), inside: 0 }),
        });
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                found.sort_by_key(|one| one.range.start);
                return found;
            }
        }
    }
}

fn tree_of(language: &str, text: &str) -> Option<(Language, Tree)> {
    let named = |one: &Language| word(*one).eq_ignore_ascii_case(language);
    let language = Language::ALL.into_iter().find(named).or_else(|| Language::of(language))?;
    Some((language, parse::tree(language, text, &|| false).ok()?))
}

/// The name of a language as it is written in arguments.
fn word(language: Language) -> String {
    format!("{language:?}").to_lowercase()
}

fn unit(language: Language, text: &str, one: Definition) -> Unit {
    let Definition { annotation, range, .. } = one;
    let signature = if annotation.qualified_name == annotation.name {
        annotation.signature
    } else {
        format!("{} {}", annotation.qualified_name, annotation.signature)
    };
    Unit {
        id: annotation.id,
        kind: annotation.kind.singular().to_owned(),
        language: word(language),
        name: annotation.name,
        signature,
        doc: annotation.description.unwrap_or_default(),
        body: text.get(range).unwrap_or_default().to_owned(),
        span: Span { first: annotation.line, last: annotation.end_line },
    }
}

fn docstring_of(node: Node<'_>) -> Option<Documentation> {
    let (body, inside) = match node.kind() {
        "module" => (node, 0),
        "class_definition" | "function_definition" => {
            (node.child_by_field_name("body")?, line_of(node))
        }
        _ => return None,
    };
    let first = body.named_children(&mut body.walk()).find(|child| child.kind() != "comment")?;
    let string = if first.kind() == "expression_statement" { first.named_child(0)? } else { first };
    let is_string = matches!(string.kind(), "string" | "concatenated_string");
    is_string.then(|| Documentation { range: string.byte_range(), inside })
}

fn is_documentation(language: Language, node: Node<'_>, text: &str) -> bool {
    let starts = |marks: &[&str]| marks.iter().any(|mark| text_of(node, text).starts_with(mark));
    match (language, node.kind()) {
        (Language::Rust, "line_comment" | "block_comment") => {
            starts(&["///", "//!", "/**", "/*!"]) && !starts(&["////"])
        }
        (Language::Rust, "attribute_item" | "inner_attribute_item") => {
            let plain: String = text_of(node, text).split_whitespace().collect();
            plain.trim_start_matches(['#', '!', '[']).starts_with("doc=")
        }
        (Language::Go, "comment") => is_above_a_declaration(node),
        (_, "comment" | "block_comment") => starts(&["/**"]),
        _ => false,
    }
}

/// Whether a Go comment, with those below it, ends on the line above something that is declared.
fn is_above_a_declaration(comment: Node<'_>) -> bool {
    let holders = [
        "source_file",
        "type_declaration",
        "const_declaration",
        "var_spec_list",
        "interface_type",
        "field_declaration_list",
    ];
    if !comment.parent().is_some_and(|parent| holders.contains(&parent.kind())) {
        return false;
    }
    let row_before = comment.prev_named_sibling().map(|before| before.end_position().row);
    if row_before == Some(comment.start_position().row) {
        return false;
    }
    let mut above = comment;
    while let Some(below) = above.next_named_sibling() {
        if above.end_position().row + 1 != below.start_position().row {
            return false;
        }
        if below.kind() != "comment" {
            return true;
        }
        above = below;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_unit() {
        let text = "use a;\n\nimpl<T> Table<T> {\n    /// Counts.\n    ///\n    /// All.\n    #[must_use]\n    pub fn len(&self) -> usize {\n        0\n    }\n}\n";
        let want = Unit {
            id: "method:src/t.rs:Table::len".into(),
            kind: "method".into(),
            language: "rust".into(),
            name: "len".into(),
            signature: "Table::len pub fn len(&self) -> usize".into(),
            doc: "Counts.\n\nAll.".into(),
            body: "pub fn len(&self) -> usize {\n        0\n    }".into(),
            span: Span { first: 8, last: 10 },
        };
        assert_eq!(code_units("rust", "src/t.rs", text), std::slice::from_ref(&want));
        assert_eq!(code_units("x/y.rs", "src/t.rs", text), [want]);
        assert_eq!(code_units("cobol", "src/t.rs", text), []);
    }

    #[test]
    fn languages_are_known_by_the_word_that_arguments_have() {
        for language in Language::ALL {
            let word = word(language);
            assert_eq!(serde_json::to_value(language).unwrap(), word.as_str());
            assert!(tree_of(&word, "").is_some(), "{word}");
        }
    }

    #[test]
    fn containers_and_constants_are_units_too() {
        let text = "package p\n\n// A is.\ntype A struct {\n\tb int\n}\n\nconst C = 1\n";
        let units = code_units("go", "p.go", text);
        let shown: Vec<_> =
            units.iter().map(|one| (one.kind.as_str(), one.body.as_str(), one.span)).collect();
        let want = [
            ("struct", "type A struct {\n\tb int\n}", Span { first: 4, last: 6 }),
            ("constant", "const C = 1", Span { first: 8, last: 8 }),
        ];
        assert_eq!(shown, want);
    }

    #[test]
    fn documentation_is_found_where_it_stands() {
        let cases: [(&str, &str, &[&str]); 5] = [
            (
                "python",
                "# a\n\"\"\"File.\"\"\"\ndef f():\n    # b\n    r'''Says.'''\n    'no'\nclass A: 'Class.'\n",
                &["\"\"\"File.\"\"\"", "r'''Says.'''", "'Class.'"],
            ),
            (
                "rust",
                "//! File.\n/// A.\n// no\n#[doc = \"B.\"]\n#[doc(hidden)]\nfn f() { //// no\n}\nm! { /// C.\n x }",
                &["//! File.\n", "/// A.\n", "#[doc = \"B.\"]", "/// C.\n"],
            ),
            (
                "typescript",
                "/** A. */\n/* no */\nfunction f() { /** B. */ }",
                &["/** A. */", "/** B. */"],
            ),
            (
                "java",
                "/** A. */ class A { /* no */ /** B. */ int b; }",
                &["/** A. */", "/** B. */"],
            ),
            (
                "go",
                "// P.\npackage p\n\n// no\n\n// A.\n// B.\nfunc f() {\n\t// no\n\tg()\n}\n\ntype T struct {\n\t// C.\n\tc int // no\n\td int\n}\n",
                &["// P.", "// A.", "// B.", "// C."],
            ),
        ];
        for (language, text, want) in cases {
            let found = documentation(language, text);
            let found: Vec<&str> =
                found.iter().map(|one| text.get(one.range.clone()).unwrap()).collect();
            assert_eq!(found, want, "{language}");
        }
        let inside = documentation("python", "'''F.'''\nclass A:\n    '''A.'''\n");
        assert_eq!(inside.iter().map(|one| one.inside).collect::<Vec<_>>(), [0, 2]);
    }
}
