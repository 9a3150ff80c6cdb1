//! The positions of documentation in a source text.

use crate::{
    ancestry::Ancestry,
    language::{Language, line_of, text_of},
    parse,
};
use std::{collections::HashMap, ops::Range};
use tree_sitter::Node;

/// A piece of documentation in a source text, with its marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentationRange {
    /// Its byte range.
    pub range: Range<usize>,
    /// The line of the enclosing definition, counted from 1: Python docstrings are inside what they describe.
    /// 0 for the docstring of a file, and for documentation above or next to its definition.
    pub inside: u32,
}

/// All doc comments and docstrings of a text, in order.
pub fn documentation(language: &str, text: &str) -> Vec<DocumentationRange> {
    let Some((language, tree)) = parse::tree_of(language, text) else { return Vec::new() };
    let mut found = Vec::new();
    let mut comments = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        match language {
            Language::Python => found.extend(docstring_of(node)),
            Language::Go if node.kind() == "comment" => comments.push(node),
            _ if is_documentation(language, node, text) => {
                found.push(DocumentationRange { range: node.byte_range(), inside: 0 });
            }
            _ => {}
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                found.extend(above_declarations(&Ancestry::new(&tree), &comments));
                found.sort_by_key(|one| one.range.start);
                return found;
            }
        }
    }
}

fn docstring_of(node: Node<'_>) -> Option<DocumentationRange> {
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
    is_string.then(|| DocumentationRange { range: string.byte_range(), inside })
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
        (_, "comment" | "block_comment") => starts(&["/**"]),
        _ => false,
    }
}

/// Go comments directly above a declaration, including adjacent ones.
fn above_declarations<'tree>(
    kin: &Ancestry<'tree>,
    comments: &[Node<'tree>],
) -> Vec<DocumentationRange> {
    let holders = [
        "source_file",
        "type_declaration",
        "const_declaration",
        "var_spec_list",
        "interface_type",
        "field_declaration_list",
    ];
    // By its node, whether a comment leads to a declaration: those below are asked first.
    let mut leads: HashMap<usize, bool> = HashMap::new();
    let mut found = Vec::new();
    for comment in comments.iter().rev() {
        let below = kin
            .next_named(*comment)
            .filter(|below| comment.end_position().row + 1 == below.start_position().row);
        let leads_on = below.is_some_and(|below| match below.kind() {
            "comment" => leads.get(&below.id()).copied().unwrap_or(false),
            _ => true,
        });
        leads.insert(comment.id(), leads_on);
        let is_held = kin.parent(*comment).is_some_and(|parent| holders.contains(&parent.kind()));
        let row_before = kin.previous_named(*comment).map(|before| before.end_position().row);
        if leads_on && is_held && row_before != Some(comment.start_position().row) {
            found.push(DocumentationRange { range: comment.byte_range(), inside: 0 });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

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
