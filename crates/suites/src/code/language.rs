//! The languages that are read: how a file is told, its grammar, its queries.
//!
//! What a language's syntax means is data: the `.scm` files beside this module. `definitions` names what is defined
//! (`@name`, and the kind as a capture on the whole node), `imports` what a file needs, `branches` what makes a
//! function harder to follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use tree_sitter::{Node, Query, QueryCursor, StreamingIterator};

/// A language that is read.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// JavaScript, with or without JSX.
    JavaScript,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// Java.
    Java,
}

/// A grammar with its queries, compiled once.
#[derive(Debug)]
pub(crate) struct Grammar {
    /// The parser's tables.
    pub(crate) tables: tree_sitter::Language,
    /// What is defined.
    pub(crate) definitions: Query,
    /// What is needed.
    pub(crate) imports: Query,
    /// What branches and nests.
    pub(crate) branches: Query,
}

impl Language {
    /// Every language.
    pub(crate) const ALL: [Self; 7] = [
        Self::TypeScript,
        Self::Tsx,
        Self::JavaScript,
        Self::Python,
        Self::Rust,
        Self::Go,
        Self::Java,
    ];

    /// Told by the ending of a file's name.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (stem, ending) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        match ending.to_ascii_lowercase().as_str() {
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            "js" | "mjs" | "cjs" | "jsx" => Some(Self::JavaScript),
            "py" | "pyi" => Some(Self::Python),
            "rs" => Some(Self::Rust),
            "go" => Some(Self::Go),
            "java" => Some(Self::Java),
            _ => None,
        }
    }

    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TypeScript => "TypeScript",
            Self::Tsx => "TypeScript JSX",
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
            Self::Rust => "Rust",
            Self::Go => "Go",
            Self::Java => "Java",
        }
    }

    /// What stands between the parts of a qualified name.
    pub(crate) fn separator(self) -> &'static str {
        if self == Self::Rust { "::" } else { "." }
    }

    /// Its grammar and queries.
    pub(crate) fn grammar(self) -> &'static Grammar {
        static TYPESCRIPT: LazyLock<Grammar> =
            LazyLock::new(|| script(tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(), true));
        static TSX: LazyLock<Grammar> =
            LazyLock::new(|| script(tree_sitter_typescript::LANGUAGE_TSX.into(), true));
        static JAVASCRIPT: LazyLock<Grammar> =
            LazyLock::new(|| script(tree_sitter_javascript::LANGUAGE.into(), false));
        static PYTHON: LazyLock<Grammar> = LazyLock::new(|| {
            compile(
                tree_sitter_python::LANGUAGE.into(),
                include_str!("queries/python/definitions.scm"),
                include_str!("queries/python/imports.scm"),
                include_str!("queries/python/branches.scm"),
            )
        });
        static RUST: LazyLock<Grammar> = LazyLock::new(|| {
            compile(
                tree_sitter_rust::LANGUAGE.into(),
                include_str!("queries/rust/definitions.scm"),
                include_str!("queries/rust/imports.scm"),
                include_str!("queries/rust/branches.scm"),
            )
        });
        static GO: LazyLock<Grammar> = LazyLock::new(|| {
            compile(
                tree_sitter_go::LANGUAGE.into(),
                include_str!("queries/go/definitions.scm"),
                include_str!("queries/go/imports.scm"),
                include_str!("queries/go/branches.scm"),
            )
        });
        static JAVA: LazyLock<Grammar> = LazyLock::new(|| {
            compile(
                tree_sitter_java::LANGUAGE.into(),
                include_str!("queries/java/definitions.scm"),
                include_str!("queries/java/imports.scm"),
                include_str!("queries/java/branches.scm"),
            )
        });
        match self {
            Self::TypeScript => &TYPESCRIPT,
            Self::Tsx => &TSX,
            Self::JavaScript => &JAVASCRIPT,
            Self::Python => &PYTHON,
            Self::Rust => &RUST,
            Self::Go => &GO,
            Self::Java => &JAVA,
        }
    }
}

fn script(tables: tree_sitter::Language, typed: bool) -> Grammar {
    let mut definitions = include_str!("queries/javascript/definitions.scm").to_owned();
    definitions += if typed {
        include_str!("queries/typescript/definitions.scm")
    } else {
        include_str!("queries/javascript/fields.scm")
    };
    compile(
        tables,
        &definitions,
        include_str!("queries/javascript/imports.scm"),
        include_str!("queries/javascript/branches.scm"),
    )
}

fn compile(
    tables: tree_sitter::Language,
    definitions: &str,
    imports: &str,
    branches: &str,
) -> Grammar {
    let query = |text: &str| {
        Query::new(&tables, text).expect("the queries that are built in fit their grammar")
    };
    let (definitions, imports, branches) = (query(definitions), query(imports), query(branches));
    Grammar { tables, definitions, imports, branches }
}

/// One match of a query: which pattern, and what it captured under which name.
#[derive(Debug, Clone)]
pub(crate) struct Match<'tree> {
    /// Which pattern of the query, counted from 0.
    pub(crate) pattern: usize,
    /// Name of the capture, and its node.
    pub(crate) captures: Vec<(&'static str, Node<'tree>)>,
}

impl<'tree> Match<'tree> {
    /// The first node captured under this name.
    pub(crate) fn get(&self, name: &str) -> Option<Node<'tree>> {
        self.captures.iter().find(|(found, _)| *found == name).map(|(_, node)| *node)
    }
}

/// Every match of a query under a node, in the order of the text.
pub(crate) fn matches<'tree>(
    query: &'static Query,
    node: Node<'tree>,
    text: &str,
) -> Vec<Match<'tree>> {
    let names = query.capture_names();
    let mut cursor = QueryCursor::new();
    let mut found = cursor.matches(query, node, text.as_bytes());
    let mut all = Vec::new();
    while let Some(one) = found.next() {
        let captures = one.captures().iter().map(|c| (names[c.index as usize], c.node)).collect();
        all.push(Match { pattern: one.pattern_index, captures });
    }
    all
}

/// The text of a node.
pub(crate) fn text_of<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The line of a node, counted from 1.
pub(crate) fn line_of(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_by_ending() {
        let cases = [
            ("src/a.ts", Some(Language::TypeScript)),
            ("src/a.d.ts", Some(Language::TypeScript)),
            ("a.mts", Some(Language::TypeScript)),
            ("a.TSX", Some(Language::Tsx)),
            ("a.jsx", Some(Language::JavaScript)),
            ("a.mjs", Some(Language::JavaScript)),
            ("pkg/__init__.py", Some(Language::Python)),
            ("lib.rs", Some(Language::Rust)),
            ("cmd/main.go", Some(Language::Go)),
            ("src/main/java/a/Shop.java", Some(Language::Java)),
            (".rs", None),
            ("src/rs", None),
            ("a.ts/readme", None),
            ("a.txt", None),
        ];
        for (path, want) in cases {
            assert_eq!(Language::of(path), want, "{path}");
        }
    }

    #[test]
    fn every_query_fits_its_grammar() {
        for language in Language::ALL {
            let grammar = language.grammar();
            assert!(grammar.definitions.pattern_count() > 4, "{language:?}");
            assert!(grammar.imports.pattern_count() > 1, "{language:?}");
            assert!(grammar.branches.pattern_count() > 4, "{language:?}");
        }
    }
}
