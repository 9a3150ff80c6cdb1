//! What a language pack says: its settings, and its queries over the grammar.

use serde::Deserialize;
use std::sync::OnceLock;
use tree_sitter::Query;

/// `pack.toml`. Every list is tried in its order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// For people.
    pub name: String,
    /// Endings of files, without the dot, in small letters.
    #[serde(default)]
    pub endings: Vec<String>,
    /// Whole names of files, in small letters.
    #[serde(default)]
    pub names: Vec<String>,
    /// Whether only the outline is read.
    #[serde(default)]
    pub outline: bool,
    /// Whether its definitions are worth being found by meaning: those of data and style sheets are not.
    #[serde(default = "yes")]
    pub searched: bool,
    /// What stands between the parts of a qualified name.
    #[serde(default = "dot")]
    pub separator: String,
    /// Where a callable's parts are.
    #[serde(default)]
    pub fields: Fields,
    /// How parameters are written.
    #[serde(default)]
    pub parameters: Parameters,
    /// How documentation is written.
    #[serde(default)]
    pub comments: Comments,
    /// Who may use a definition.
    #[serde(default)]
    pub visibility: Visibility,
    /// What else is said before a definition.
    #[serde(default)]
    pub modifiers: Modifiers,
    /// Nodes that wrap a definition, so that comments and decorators stand before them: an export, a declaration.
    #[serde(default)]
    pub wrappers: Vec<String>,
    /// Nodes around a definition whose words are part of its signature (`const` of a declarator).
    #[serde(default)]
    pub heads: Vec<String>,
}

/// Fields of a callable node.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Fields {
    /// The list of parameters.
    pub parameters: Vec<String>,
    /// The return type.
    pub returns: Vec<String>,
    /// The body, of a callable or of a type.
    pub body: Vec<String>,
}

impl Default for Fields {
    fn default() -> Self {
        let one = |name: &str| vec![name.to_owned()];
        Self { parameters: one("parameters"), returns: one("return_type"), body: one("body") }
    }
}

/// How the children of a parameter list are read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Parameters {
    /// Kinds of nodes that are parameters; empty: every named node that is not a comment.
    pub kinds: Vec<String>,
    /// Kinds that are none.
    pub skip: Vec<String>,
    /// A first parameter of a method with such a name is its receiver, and not counted.
    pub receivers: Vec<String>,
    /// Fields with the name. Where there is none, the first child that is a name, else the whole node.
    pub name: Vec<String>,
    /// Fields with the type.
    #[serde(rename = "type")]
    pub of: Vec<String>,
    /// Fields with the default value.
    pub default: Vec<String>,
    /// Kinds of parameters that may be left out though they have no default.
    pub optional: Vec<String>,
}

impl Default for Parameters {
    fn default() -> Self {
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            kinds: Vec::new(),
            skip: Vec::new(),
            receivers: Vec::new(),
            name: all(&["pattern", "name", "left"]),
            of: all(&["type"]),
            default: all(&["value", "default_value", "right"]),
            optional: Vec::new(),
        }
    }
}

/// Where documentation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In comments above a definition.
    #[default]
    Above,
    /// In a string at the start of its body.
    Inside,
}

/// How parts of a documentation are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tags {
    /// Not at all, or by headings (`# Errors`, `Args:`, `Parameters` with a line below).
    #[default]
    Headings,
    /// `@param x text`, `@return text`, as in Javadoc, JSDoc, KDoc, PHPDoc, YARD and Doxygen.
    At,
    /// `<param name="x">text</param>`.
    Xml,
}

/// How documentation is written.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Comments {
    /// Where it stands.
    pub place: Place,
    /// How a comment that documents starts; empty: every comment on the lines directly above.
    pub marks: Vec<String>,
    /// How its parts are marked.
    pub tags: Tags,
    /// Whether it is written with HTML.
    pub html: bool,
    /// Kinds of nodes that may stand between it and the definition.
    pub between: Vec<String>,
}

/// Who may use what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// Everybody, unless a capture says otherwise.
    #[default]
    Everyone,
    /// A name that starts with `_` is private; one with `__` around it is not.
    Underscore,
    /// A name that starts with a capital is public.
    Capital,
    /// By a modifier (`public`, `private` …) in the definition.
    Modifier,
    /// By the last `public:`, `private` … that stands above among the siblings.
    Section,
    /// What a module exports.
    Export,
    /// `pub`.
    Pub,
}

/// Who may use a definition.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Visibility {
    /// How it is told.
    pub rule: Rule,
    /// What holds where nothing is said.
    pub default: crate::annotation::Visibility,
    /// What holds inside these kinds where nothing is said.
    pub inside: std::collections::BTreeMap<crate::annotation::Kind, crate::annotation::Visibility>,
}

impl Default for Visibility {
    fn default() -> Self {
        Self {
            rule: Rule::Everyone,
            default: crate::annotation::Visibility::Public,
            inside: std::collections::BTreeMap::default(),
        }
    }
}

/// What else is said before a definition.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Modifiers {
    /// Kinds of child nodes that hold modifiers, or are one.
    pub holders: Vec<String>,
    /// Words (anonymous nodes) in a definition's own node that are modifiers.
    pub words: Vec<String>,
    /// Kinds of nodes that are decorators, annotations or attributes.
    pub decorators: Vec<String>,
}

fn yes() -> bool {
    true
}

fn dot() -> String {
    ".".into()
}

impl Settings {
    pub(crate) fn read(folder: &str, text: &str) -> Self {
        toml::from_str(text).unwrap_or_else(|error| panic!("languages/{folder}/pack.toml: {error}"))
    }
}

/// The queries of a pack, as text.
#[derive(Debug)]
pub(crate) struct Queries {
    pub(crate) definitions: &'static [&'static str],
    pub(crate) imports: &'static str,
    pub(crate) branches: &'static str,
    pub(crate) calls: &'static str,
}

/// A grammar with its queries, each compiled when it is first needed.
#[derive(Debug)]
pub struct Grammar {
    /// The parser's tables.
    pub tables: tree_sitter::Language,
    texts: Queries,
    definitions: OnceLock<Query>,
    imports: OnceLock<Query>,
    branches: OnceLock<Query>,
    calls: OnceLock<Query>,
}

impl Grammar {
    pub(crate) fn new(tables: tree_sitter::Language, texts: Queries) -> Self {
        let (definitions, imports, branches, calls) = Default::default();
        Self { tables, texts, definitions, imports, branches, calls }
    }

    /// What is defined.
    pub fn definitions(&self) -> &Query {
        self.definitions.get_or_init(|| self.compile(&self.texts.definitions.concat()))
    }

    /// What is needed.
    pub fn imports(&self) -> &Query {
        self.imports.get_or_init(|| self.compile(self.texts.imports))
    }

    /// What branches and nests.
    pub fn branches(&self) -> &Query {
        self.branches.get_or_init(|| self.compile(self.texts.branches))
    }

    /// What is called.
    pub fn calls(&self) -> &Query {
        self.calls.get_or_init(|| self.compile(self.texts.calls))
    }

    fn compile(&self, text: &str) -> Query {
        Query::new(&self.tables, text).unwrap_or_else(|error| {
            panic!("a query that is built in does not fit its grammar: {error}")
        })
    }
}
