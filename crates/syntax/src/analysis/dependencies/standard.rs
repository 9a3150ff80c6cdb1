//! Standard library modules, and packages whose names differ from their modules. Lists are data.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

type List = LazyLock<HashSet<&'static str>>;

static PYTHON: List = LazyLock::new(|| list(include_str!("standard/python.txt")));
static NODE: List = LazyLock::new(|| list(include_str!("standard/node.txt")));
static RUBY: List = LazyLock::new(|| list(include_str!("standard/ruby.txt")));
static HASKELL: List = LazyLock::new(|| list(include_str!("standard/haskell.txt")));
static DISTRIBUTIONS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    toml::from_str(include_str!("standard/distributions.toml"))
        .expect("the distributions that are built in are well-formed")
});

fn list(text: &'static str) -> HashSet<&'static str> {
    text.lines().filter(|line| !line.is_empty()).collect()
}

/// Whether the first part of a Python module comes with Python.
pub(super) fn is_python(first: &str) -> bool {
    PYTHON.contains(first)
}

/// Whether a module comes with Node.
pub(super) fn is_node(module: &str) -> bool {
    module.starts_with("node:") || NODE.contains(module.split('/').next().unwrap_or(module))
}

/// Whether the first part of a feature comes with Ruby.
pub(super) fn is_ruby(first: &str) -> bool {
    RUBY.contains(first)
}

/// Whether a module, or one around it, is in Haskell's base.
pub(super) fn is_haskell(module: &str) -> bool {
    let ends = module.match_indices('.').map(|(at, _)| at).chain([module.len()]);
    ends.filter_map(|end| module.get(..end)).any(|start| HASKELL.contains(start))
}

/// The distribution name of a Python package, if it differs from its import name.
pub(super) fn distribution(import: &str) -> Option<&'static str> {
    DISTRIBUTIONS.get(import).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_modules_are_known() {
        assert!(is_python("os") && is_python("tomllib") && !is_python("requests"));
        assert!(is_node("fs") && is_node("fs/promises") && is_node("node:test"));
        assert!(!is_node("express"));
        assert!(is_haskell("Data.List.NonEmpty") && !is_haskell("Data.Listing"));
        assert_eq!(distribution("PIL"), Some("Pillow"));
    }
}
