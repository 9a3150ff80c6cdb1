//! A language pack: its settings, and its queries over the grammar.

use serde::Deserialize;
use std::sync::OnceLock;
use tree_sitter::Query;

/// `pack.toml`. Every list is tried in its order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a language")]
pub struct LanguageSettings {
    /// Display name.
    pub name: String,
    /// File extensions, without the dot, lowercase.
    #[serde(default)]
    pub endings: Vec<String>,
    /// Whole file names, lowercase.
    #[serde(default)]
    pub names: Vec<String>,
    /// Files of another language's endings that are this one's all the same.
    #[serde(default)]
    pub claims: Claims,
    /// Whether only the outline is read.
    #[serde(default)]
    pub outline: bool,
    /// Whether its definitions are included in semantic search; data and style sheets are not.
    #[serde(default = "yes")]
    pub searched: bool,
    /// The separator in qualified names.
    #[serde(default = "dot")]
    pub separator: String,
    /// The fields of a callable's parts.
    #[serde(default)]
    pub fields: CallableFields,
    /// The syntax of parameters.
    #[serde(default)]
    pub parameters: Parameters,
    /// The syntax of documentation.
    #[serde(default)]
    pub comments: CommentSettings,
    /// Visibility rules.
    #[serde(default)]
    pub visibility: VisibilitySettings,
    /// Modifiers and decorators.
    #[serde(default)]
    pub modifiers: Modifiers,
    /// Nodes that wrap a definition, so that comments and decorators precede them: an export, a declaration.
    #[serde(default)]
    pub wrappers: Vec<String>,
    /// Nodes around a definition whose words are part of its signature (`const` of a declarator).
    #[serde(default)]
    pub heads: Vec<String>,
    /// Whether definitions of one name that follow each other are clauses of one.
    #[serde(default)]
    pub clauses: bool,
    /// Maximum definitions shown per file; beyond it, the deepest are omitted.
    #[serde(default)]
    pub most: Option<usize>,
    /// How many blocks the grammar's scanner has room for. What nests deeper by its indentation is not read.
    #[serde(default)]
    pub deepest: Option<usize>,
    /// Types that are written apart from parameters.
    #[serde(default)]
    pub typed: TypeSignatureSettings,
    /// Attributes above their definition.
    #[serde(default)]
    pub attributes: AttributeSettings,
    /// Recovery of definitions that the grammar cannot parse.
    #[serde(default)]
    pub recover: Recover,
    /// When a callable without a body repeats one with a body.
    #[serde(default)]
    pub repeats: Repeats,
    /// Whether a preprocessor changes the text before parsing.
    #[serde(default)]
    pub preprocessed: bool,
    /// Whether names are written with tags and entities of a page.
    #[serde(default)]
    pub markup: bool,
}

/// Recognizes definitions where the tree has errors.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Recover {
    /// By kind: the words at the start of a line, whatever their case. `$` is the name; a word with `?` may be left out; one
    /// with `*` only has to begin like that.
    pub heads: std::collections::BTreeMap<crate::annotation::Kind, Vec<Vec<String>>>,
    /// How the last line of a function starts. Anything else ends with the first line that ends with a semicolon.
    pub ends: Vec<String>,
}

/// Detects the language of a file with a shared extension.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Claims {
    /// Extensions, without the dot, lowercase.
    pub endings: Vec<String>,
    /// How lines start that only this language has; each ends as code does.
    pub signs: Vec<String>,
}

/// When a callable without a body repeats one with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Repeats {
    /// Where both have one name: signatures of overloads, prototypes.
    #[default]
    Name,
    /// Where the types of their parameters are the same as well.
    Types,
    /// Never: it is one of its own.
    Never,
}

/// The syntax of separate type signatures: `a -> b -> c`.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct TypeSignatureSettings {
    /// Kinds with the fields `parameter` and `result`.
    pub arrows: Vec<String>,
    /// Kinds that only wrap the type in their field `type`.
    pub around: Vec<String>,
}

/// Attributes by name, such as Elixir's `@doc`. Each node holds a call: the name with its arguments.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct AttributeSettings {
    /// Their kind of node.
    pub kind: String,
    /// Attributes that document the definition below.
    pub describe: Vec<String>,
    /// Attributes that document the enclosing definition.
    pub inside: Vec<String>,
    /// Attributes that give the types of the definition below.
    pub types: Vec<String>,
    /// Attributes that are shown as decorators.
    pub decorators: Vec<String>,
}

/// Fields of a callable node, or kinds of its children where the grammar has no field.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CallableFields {
    /// The list of parameters.
    pub parameters: Vec<String>,
    /// The return type.
    pub returns: Vec<String>,
    /// The body, of a callable or of a type.
    pub body: Vec<String>,
}

impl Default for CallableFields {
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
    /// Kinds that are not parameters.
    pub skip: Vec<String>,
    /// A first parameter of a method with such a name is its receiver, and not counted.
    pub receivers: Vec<String>,
    /// Fields with the name. Without one, the first child that is a name, else the whole node.
    pub name: Vec<String>,
    /// Fields with the type.
    #[serde(rename = "type")]
    pub of: Vec<String>,
    /// Fields with the default value.
    pub default: Vec<String>,
    /// Kinds of parameters that may be left out though they have no default.
    pub optional: Vec<String>,
    /// Kinds of parameters that are named by all that is written: `*rest`.
    pub whole: Vec<String>,
    /// Whether names stand inside types, as in C: the type of a parameter, and what a function gives back, is what is
    /// written around the name.
    pub inside: bool,
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
            whole: Vec::new(),
            inside: false,
        }
    }
}

/// The placement of documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentationPlacement {
    /// In comments above a definition.
    #[default]
    Above,
    /// In a string at the start of its body.
    Inside,
}

/// The tags of documentation parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tags {
    /// Not at all, or by headings (`# Errors`, `Args:`, `Parameters` with a line below).
    #[default]
    Headings,
    /// `@param x text`, `@return text`, as in Javadoc and its kin, and in Doxygen.
    At,
    /// `<param name="x">text</param>`.
    Xml,
}

/// The syntax of documentation.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct CommentSettings {
    /// Its placement.
    pub place: DocumentationPlacement,
    /// How a comment that documents starts; empty: every comment on the lines directly above.
    pub marks: Vec<String>,
    /// How its parts are marked.
    pub tags: Tags,
    /// Whether it is written with HTML.
    pub html: bool,
    /// Kinds of nodes that may stand between it and the definition.
    pub between: Vec<String>,
    /// The start of a comment that documents the preceding definition.
    pub after: Vec<String>,
    /// Node kinds that are comments under another name.
    pub kinds: Vec<String>,
    /// Kinds of nodes whose edges a comment may stand beyond: before the first thing in one, or at the end of one.
    pub through: Vec<String>,
}

/// The rule that determines visibility.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VisibilityRule {
    /// Public, unless a capture overrides it.
    #[default]
    Everyone,
    /// A name that starts with `_` is private; one with `__` around it is not.
    Underscore,
    /// A name that starts with a capital is public.
    Capital,
    /// By a modifier (`public`, `private` …) in the definition.
    Modifier,
    /// By the last `public:`, `private` … above among the siblings.
    Section,
    /// What a module exports.
    Export,
    /// `pub`.
    Pub,
    /// What the file's list of exports names; everything where it has none.
    List,
}

/// Visibility settings.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VisibilitySettings {
    /// The rule.
    pub rule: VisibilityRule,
    /// The default visibility.
    pub default: crate::annotation::Visibility,
    /// The default visibility inside these kinds.
    pub inside: std::collections::BTreeMap<crate::annotation::Kind, crate::annotation::Visibility>,
    /// Modifiers that apply outside of types: C's `static`.
    pub outside: std::collections::BTreeMap<String, crate::annotation::Visibility>,
    /// Extensions of included files, where `outside` does not apply.
    pub shared: Vec<String>,
    /// Kinds whose members inherit their visibility by default.
    pub inherit: Vec<crate::annotation::Kind>,
    /// Modifiers that do not affect visibility in this language.
    pub ignore: Vec<String>,
}

impl Default for VisibilitySettings {
    fn default() -> Self {
        Self {
            rule: VisibilityRule::Everyone,
            default: crate::annotation::Visibility::Public,
            inside: std::collections::BTreeMap::default(),
            outside: std::collections::BTreeMap::default(),
            shared: Vec::new(),
            inherit: Vec::new(),
            ignore: Vec::new(),
        }
    }
}

/// Modifiers and decorators before a definition.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Modifiers {
    /// Kinds of child nodes that hold modifiers, or are one.
    pub holders: Vec<String>,
    /// Words (anonymous nodes) in a definition's own node that are modifiers.
    pub words: Vec<String>,
    /// Words in holders that are not modifiers: they belong to a type.
    pub skip: Vec<String>,
    /// Kinds of children of the callable node that are modifiers (`const` after the parameters of C++).
    pub after: Vec<String>,
    /// Kinds of nodes that are decorators, annotations or attributes.
    pub decorators: Vec<String>,
}

fn yes() -> bool {
    true
}

fn dot() -> String {
    ".".into()
}

impl LanguageSettings {
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
    /// Empty if the settings suffice.
    pub(crate) parameters: &'static str,
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
    parameters: OnceLock<Query>,
}

impl Grammar {
    pub(crate) fn new(tables: tree_sitter::Language, texts: Queries) -> Self {
        crate::memory::count_allocations();
        let (definitions, imports, branches, calls, parameters) = Default::default();
        Self { tables, texts, definitions, imports, branches, calls, parameters }
    }

    /// Definitions.
    pub fn definitions(&self) -> &Query {
        self.definitions.get_or_init(|| self.compile(&self.texts.definitions.concat()))
    }

    /// Imports.
    pub fn imports(&self) -> &Query {
        self.imports.get_or_init(|| self.compile(self.texts.imports))
    }

    /// Branches and nesting.
    pub fn branches(&self) -> &Query {
        self.branches.get_or_init(|| self.compile(self.texts.branches))
    }

    /// Calls.
    pub fn calls(&self) -> &Query {
        self.calls.get_or_init(|| self.compile(self.texts.calls))
    }

    /// Parameters, if the settings do not suffice.
    pub fn parameters(&self) -> Option<&Query> {
        let text = self.texts.parameters;
        (!text.is_empty()).then(|| self.parameters.get_or_init(|| self.compile(text)))
    }

    fn compile(&self, text: &str) -> Query {
        Query::new(&self.tables, text)
            .unwrap_or_else(|error| panic!("a built-in query is invalid for its grammar: {error}"))
    }
}
