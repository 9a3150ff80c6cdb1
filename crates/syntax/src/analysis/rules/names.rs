//! Import aliases of a file, so that a rule for `hashlib.md5` also matches `h.md5` and `md5`.
//!
//! Which syntax imports is data: `names.scm` captures `@module`, `@name` (what is taken from it) and `@as` (what it is
//! called here). Scopes are ignored: an import anywhere in a file applies to all of it.

use crate::{
    analysis::AnalyzedSource,
    language::{Language, matches, text_of},
};
use std::{collections::HashMap, sync::OnceLock};
use tree_sitter::{Node, Query};

/// Local names and the names they were imported as.
#[derive(Debug, Clone, Default)]
pub(super) struct ImportedNames(HashMap<String, String>);

impl ImportedNames {
    /// Reads a file's imports.
    pub(super) fn of(source: &AnalyzedSource<'_>) -> Self {
        let Some(query) = query(source.language) else { return Self::default() };
        let read = |found: &crate::language::QueryMatch<'_>| {
            let part = |name| found.get(name).map(|node| text_of(node, source.text));
            let module = part("module")?;
            let module = module.strip_prefix("node:").unwrap_or(module);
            let name = part("name");
            let called = part("as").or(name)?;
            let whole = name.map_or_else(|| module.to_owned(), |name| format!("{module}.{name}"));
            Some((called.to_owned(), whole))
        };
        let root = source.tree.root_node();
        Self(matches(source.tree, query, root, source.text).iter().filter_map(read).collect())
    }

    /// The called name, with its first part replaced by the imported name.
    pub(super) fn whole(&self, node: Node<'_>, text: &str) -> Option<String> {
        if self.0.is_empty()
            || !matches!(node.kind(), "identifier" | "attribute" | "member_expression")
        {
            return None;
        }
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
        let (first, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
        let whole = self.0.get(first)?;
        let parent = node.parent()?;
        let field = if parent.kind() == "new_expression" { "constructor" } else { "function" };
        let called = parent.child_by_field_name(field)?;
        (called.id() == node.id()).then(|| format!("{whole}{rest}"))
    }
}

fn query(language: Language) -> Option<&'static Query> {
    macro_rules! names_of {
        ($folder:literal) => {{
            static QUERY: OnceLock<Query> = OnceLock::new();
            let text = include_str!(concat!("../../../languages/", $folder, "/names.scm"));
            let compiled = || {
                Query::new(&language.grammar().tables, text).unwrap_or_else(|error| {
                    panic!("names.scm does not fit {}: {error}", language.name())
                })
            };
            Some(QUERY.get_or_init(compiled))
        }};
    }
    match language {
        Language::Python => names_of!("python"),
        // One compiled query for each grammar, though the text is the same.
        Language::JavaScript => names_of!("javascript"),
        Language::TypeScript => names_of!("javascript"),
        Language::Tsx => names_of!("javascript"),
        _ => None,
    }
}
