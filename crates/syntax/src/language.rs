//! The supported languages: detection, grammar, and pack.
//!
//! The meaning of a language's syntax is data: `languages/README.md` describes packs.

use crate::{
    budget::{Limit, ParseBudget, WORK_PER_CALLBACK, query_callbacks},
    pack::{Grammar, LanguageSettings, Queries},
    parse::SyntaxTree,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{borrow::Cow, collections::HashMap, ops::ControlFlow, sync::LazyLock};
use tree_sitter::{
    Node, Query, QueryCursor, QueryCursorOptions, QueryCursorState, StreamingIterator,
};

/// A file of a pack.
macro_rules! file {
    ($folder:literal, $file:literal) => {
        include_str!(concat!("../languages/", $folder, "/", $file))
    };
}

/// The enum of all languages, and how each comes by its pack.
macro_rules! languages {
    ($( $(#[$about:meta])* $variant:ident, $folder:literal, $level:ident, $tables:expr; )*) => {
        /// A supported language.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Language {
            $( $(#[$about])* $variant, )*
        }

        impl Language {
            /// Every language.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// The name used in arguments; also its folder's name.
            pub fn word(self) -> &'static str {
                match self { $( Self::$variant => $folder, )* }
            }

            /// The settings of its pack.
            pub fn settings(self) -> &'static LanguageSettings {
                match self {
                    $( Self::$variant => {
                        static SETTINGS: LazyLock<LanguageSettings> =
                            LazyLock::new(|| LanguageSettings::read($folder, file!($folder, "pack.toml")));
                        &SETTINGS
                    } )*
                }
            }

            /// Its grammar and queries.
            pub fn grammar(self) -> &'static Grammar {
                match self {
                    $( Self::$variant => {
                        static GRAMMAR: LazyLock<Grammar> =
                            LazyLock::new(|| Grammar::new($tables.into(), queries!($level, $folder)));
                        &GRAMMAR
                    } )*
                }
            }
        }
    };
}

macro_rules! queries {
    (full, $folder:literal) => {
        Queries {
            definitions: &[file!($folder, "definitions.scm")],
            imports: file!($folder, "imports.scm"),
            branches: file!($folder, "branches.scm"),
            calls: file!($folder, "calls.scm"),
            parameters: "",
        }
    };
    // With a query for parameters.
    (arranged, $folder:literal) => {
        Queries {
            definitions: &[file!($folder, "definitions.scm")],
            imports: file!($folder, "imports.scm"),
            branches: file!($folder, "branches.scm"),
            calls: file!($folder, "calls.scm"),
            parameters: file!($folder, "parameters.scm"),
        }
    };
    (outline, $folder:literal) => {
        Queries {
            definitions: &[file!($folder, "definitions.scm")],
            imports: "",
            branches: "",
            calls: "",
            parameters: "",
        }
    };
    // TypeScript is JavaScript with more in it.
    (script, $folder:literal) => {
        queries!(script, "javascript", "javascript")
    };
    (typed, $folder:literal) => {
        queries!(script, "javascript", "typescript")
    };
    (script, $shared:literal, $own:literal) => {
        Queries {
            definitions: &[file!($shared, "shared.scm"), file!($own, "definitions.scm")],
            imports: file!("javascript", "imports.scm"),
            branches: file!("javascript", "branches.scm"),
            calls: file!("javascript", "calls.scm"),
            parameters: "",
        }
    };
}

languages! {
    /// TypeScript.
    TypeScript, "typescript", typed, tree_sitter_typescript::LANGUAGE_TYPESCRIPT;
    /// TypeScript with JSX.
    Tsx, "tsx", typed, tree_sitter_typescript::LANGUAGE_TSX;
    /// JavaScript, with or without JSX.
    JavaScript, "javascript", script, tree_sitter_javascript::LANGUAGE;
    /// Python.
    Python, "python", full, tree_sitter_python::LANGUAGE;
    /// Rust.
    Rust, "rust", full, tree_sitter_rust::LANGUAGE;
    /// Go.
    Go, "go", full, tree_sitter_go::LANGUAGE;
    /// Java.
    Java, "java", full, tree_sitter_java::LANGUAGE;
    /// C.
    C, "c", full, tree_sitter_c::LANGUAGE;
    /// C++.
    Cpp, "cpp", full, tree_sitter_cpp::LANGUAGE;
    /// C#.
    CSharp, "csharp", arranged, tree_sitter_c_sharp::LANGUAGE;
    /// Ruby.
    Ruby, "ruby", full, tree_sitter_ruby::LANGUAGE;
    /// PHP, with the page around it.
    Php, "php", full, tree_sitter_php::LANGUAGE_PHP;
    /// Swift.
    Swift, "swift", arranged, tree_sitter_swift::LANGUAGE;
    /// Kotlin.
    Kotlin, "kotlin", arranged, tree_sitter_kotlin_ng::LANGUAGE;
    /// Scala.
    Scala, "scala", arranged, tree_sitter_scala::LANGUAGE;
    /// HTML.
    Html, "html", outline, tree_sitter_html::LANGUAGE;
    /// CSS.
    Css, "css", outline, tree_sitter_css::LANGUAGE;
    /// Protocol Buffers.
    Proto, "proto", outline, tree_sitter_proto::LANGUAGE;
    /// GraphQL.
    GraphQl, "graphql", outline, tree_sitter_graphql::LANGUAGE;
    /// Bash, and what other shells share with it.
    Bash, "bash", full, tree_sitter_bash::LANGUAGE;
    /// Lua.
    Lua, "lua", full, tree_sitter_lua::LANGUAGE;
    /// SQL, whatever the dialect.
    Sql, "sql", arranged, tree_sitter_sequel::LANGUAGE;
    /// Elixir.
    Elixir, "elixir", arranged, tree_sitter_elixir::LANGUAGE;
    /// Haskell.
    Haskell, "haskell", arranged, tree_sitter_haskell::LANGUAGE;
    /// Zig.
    Zig, "zig", full, tree_sitter_zig::LANGUAGE;
    /// Dart.
    Dart, "dart", arranged, tree_sitter_dart::LANGUAGE;
    /// JSON.
    Json, "json", outline, tree_sitter_json::LANGUAGE;
    /// YAML.
    Yaml, "yaml", outline, tree_sitter_yaml::LANGUAGE;
    /// TOML.
    Toml, "toml", outline, tree_sitter_toml_ng::LANGUAGE;
    /// Markdown, without what stands inside its lines.
    Markdown, "markdown", outline, tree_sitter_md::LANGUAGE;
    /// A recipe for an image.
    Dockerfile, "dockerfile", outline, tree_sitter_containerfile::LANGUAGE;
    /// Terraform's language.
    Hcl, "hcl", outline, tree_sitter_hcl::LANGUAGE;
}

/// Names of files after a slash, and endings after a dot.
static BY_NAME: LazyLock<HashMap<String, Language>> = LazyLock::new(|| {
    let names = |one: &Language| {
        let LanguageSettings { names, endings, .. } = one.settings();
        let endings = endings.iter().map(|ending| format!(".{ending}"));
        names
            .iter()
            .map(|name| format!("/{name}"))
            .chain(endings)
            .map(|name| (name, *one))
            .collect::<Vec<_>>()
    };
    Language::ALL.iter().flat_map(names).collect()
});

impl Language {
    /// Detects a language by file name.
    pub fn from_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let lower = name.to_ascii_lowercase();
        let ending = lower.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        let known = &*BY_NAME;
        let by_ending = || known.get(&format!(".{}", ending?.1)).copied();
        known.get(&format!("/{lower}")).copied().or_else(by_ending)
    }

    /// Detects a language by file name, and by content if languages share an extension: `.h` is C and C++.
    pub fn of_text(path: &str, text: &str) -> Option<Self> {
        let by_name = Self::from_path(path)?;
        let ending = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let claims = |one: &&Self| {
            let claims = &one.settings().claims;
            let is_sign = |line: &str| {
                let starts = claims.signs.iter().any(|sign| line.starts_with(sign.as_str()));
                // What a comment says does not end like this.
                starts && line.ends_with(['{', ':', ';', '>', ','])
            };
            claims.endings.contains(&ending) && text.lines().any(|line| is_sign(line.trim()))
        };
        Some(Self::ALL.iter().find(claims).copied().unwrap_or(by_name))
    }

    /// Finds a language by its word or its display name.
    pub fn from_name(word: &str) -> Option<Self> {
        let same = |one: &&Self| {
            one.word().eq_ignore_ascii_case(word) || one.name().eq_ignore_ascii_case(word)
        };
        Self::ALL.iter().find(same).copied()
    }

    /// For people.
    pub fn name(self) -> &'static str {
        &self.settings().name
    }

    /// Whether only the outline of a file is read: no calls, imports or branches.
    pub fn is_outline(self) -> bool {
        self.settings().outline
    }

    /// The separator in qualified names.
    pub fn separator(self) -> &'static str {
        &self.settings().separator
    }
}

impl Serialize for Language {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Language {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = <Cow<'_, str>>::deserialize(deserializer)?;
        Self::from_name(&word).ok_or_else(|| {
            let words: Vec<&str> = Self::ALL.iter().map(|one| one.word()).collect();
            de::Error::custom(format!(
                "no language is called {word}; known are {}",
                words.join(", ")
            ))
        })
    }
}

impl JsonSchema for Language {
    fn schema_name() -> Cow<'static, str> {
        "Language".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = Self::ALL.iter().map(|one| one.word()).collect();
        json_schema!({"type": "string", "enum": words, "description": "A language that is read."})
    }
}

/// Maximum depth of queried nodes: the work of a query may grow with the square of the depth, and must stay below the
/// minimum budget, or a short file is skipped that would be read if it were longer.
const MAX_QUERY_DEPTH: u32 = 1000;

/// One match of a query: the pattern and its captures by name.
#[derive(Debug, Clone)]
pub struct QueryMatch<'tree> {
    /// Which pattern of the query, counted from 0.
    pub pattern: usize,
    /// Name of the capture, and its node.
    pub captures: Vec<(&'static str, Node<'tree>)>,
}

impl<'tree> QueryMatch<'tree> {
    /// The first node captured under this name.
    pub fn get(&self, name: &str) -> Option<Node<'tree>> {
        self.captures.iter().find(|(found, _)| *found == name).map(|(_, node)| *node)
    }

    /// The text from the first to the last node captured under this name: some grammars have a node for each part of a
    /// path, and none for the path.
    pub fn text<'a>(&self, name: &str, text: &'a str) -> Option<&'a str> {
        let mut all =
            self.captures.iter().filter(|(found, _)| *found == name).map(|(_, node)| *node);
        let first = all.next()?;
        let last = all.next_back().unwrap_or(first);
        text.get(first.start_byte()..last.end_byte())
    }
}

/// Every match of a query under a node, in the order of the text. A query that exceeds its budget is ended, which the
/// tree notes.
pub fn matches<'tree>(
    tree: &SyntaxTree,
    query: &'static Query,
    node: Node<'tree>,
    text: &str,
) -> Vec<QueryMatch<'tree>> {
    matches_near(tree, query, node, text, MAX_QUERY_DEPTH)
}

/// All matches of a query that start at most this many levels below a node.
pub(crate) fn matches_near<'tree>(
    tree: &SyntaxTree,
    query: &'static Query,
    node: Node<'tree>,
    text: &str,
    deepest: u32,
) -> Vec<QueryMatch<'tree>> {
    let names = query.capture_names();
    let mut left = query_callbacks(text.len());
    let mut ask = |_: &QueryCursorState| {
        left = left.saturating_sub(1);
        tree.spend(WORK_PER_CALLBACK);
        if left == 0 {
            tree.exceed(Limit::Query(ParseBudget::new(text.len(), &|| false).query));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let mut cursor = QueryCursor::new();
    // Looking up a parent costs as much as the node's depth, so unrealistically deep nodes are skipped.
    cursor.set_max_start_depth(Some(deepest));
    let options = QueryCursorOptions::new().progress_callback(&mut ask);
    let mut found = cursor.matches_with_options(query, node, text.as_bytes(), options);
    let mut all = Vec::new();
    while let Some(one) = found.next() {
        let captures = one.captures().iter().map(|c| (names[c.index as usize], c.node)).collect();
        all.push(QueryMatch { pattern: one.pattern_index, captures });
    }
    tree.count_work(all.iter().map(|one| one.captures.len()).sum());
    all
}

/// The text of a node.
pub fn text_of<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.start_byte()..node.end_byte().min(text.len())).unwrap_or_default()
}

/// The line of a node, counted from 1.
pub fn line_of(node: Node<'_>) -> u32 {
    u32::try_from(node.start_position().row).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_detected_by_extension() {
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
            ("deploy/run.sh", Some(Language::Bash)),
            (".bashrc", Some(Language::Bash)),
            ("docker/Dockerfile", Some(Language::Dockerfile)),
            ("api.Containerfile", Some(Language::Dockerfile)),
            ("main.tf", Some(Language::Hcl)),
            ("Cargo.lock", Some(Language::Toml)),
            ("docs/README.md", Some(Language::Markdown)),
            ("include/store.h", Some(Language::C)),
            ("a.C++", Some(Language::Cpp)),
            ("Shop/Orders.cs", Some(Language::CSharp)),
            ("Rakefile", Some(Language::Ruby)),
            ("a.phtml", Some(Language::Php)),
            ("build.gradle.kts", Some(Language::Kotlin)),
            ("build.sbt", Some(Language::Scala)),
            ("a.gql", Some(Language::GraphQl)),
            (".rs", None),
            ("src/rs", None),
            ("a.ts/readme", None),
            ("a.txt", None),
        ];
        for (path, want) in cases {
            assert_eq!(Language::from_path(path), want, "{path}");
        }
    }

    #[test]
    fn a_shared_extension_is_resolved_by_the_text() {
        let cases = [
            ("a.h", "namespace a {\nclass B;\n}\n", Language::Cpp),
            ("a.H", "  template <typename T>\n", Language::Cpp),
            ("a.h", "class A {\n public:\n};\n", Language::Cpp),
            ("a.h", "/* A\n   namespace for names. */\nint f(void);\n", Language::C),
            ("a.c", "namespace a {\n}\n", Language::C),
            ("a.rs", "template <T>\n", Language::Rust),
        ];
        for (path, text, want) in cases {
            assert_eq!(Language::of_text(path, text), Some(want), "{path} {text}");
        }
    }

    #[test]
    fn every_query_fits_its_grammar() {
        for language in Language::ALL.iter().filter(|one| !one.is_outline()) {
            let grammar = language.grammar();
            let _ = (grammar.parameters(), grammar.calls());
            assert!(grammar.definitions().pattern_count() > 4, "{language:?}");
            assert!(grammar.imports().pattern_count() > 1, "{language:?}");
            assert!(grammar.branches().pattern_count() > 4, "{language:?}");
            assert!(grammar.calls().pattern_count() > 0, "{language:?}");
        }
    }
}
