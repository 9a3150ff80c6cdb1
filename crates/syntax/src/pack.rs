//! What a language pack says: its settings, and its queries over the grammar.

use serde::Deserialize;
use std::sync::OnceLock;
use tree_sitter::Query;

/// `pack.toml`. Every list is tried in its order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a language")]
pub struct LanguageSettings {
    /// For people.
    pub name: String,
    /// Endings of files, without the dot, in small letters.
    #[serde(default)]
    pub endings: Vec<String>,
    /// Whole names of files, in small letters.
    #[serde(default)]
    pub names: Vec<String>,
    /// Files of another language's endings that are this one's all the same.
    #[serde(default)]
    pub claims: Claims,
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
    pub fields: CallableFields,
    /// How parameters are written.
    #[serde(default)]
    pub parameters: Parameters,
    /// How documentation is written.
    #[serde(default)]
    pub comments: CommentSettings,
    /// Who may use a definition.
    #[serde(default)]
    pub visibility: VisibilitySettings,
    /// What else is said before a definition.
    #[serde(default)]
    pub modifiers: Modifiers,
    /// Nodes that wrap a definition, so that comments and decorators stand before them: an export, a declaration.
    #[serde(default)]
    pub wrappers: Vec<String>,
    /// Nodes around a definition whose words are part of its signature (`const` of a declarator).
    #[serde(default)]
    pub heads: Vec<String>,
    /// Whether definitions of one name that follow each other are clauses of one.
    #[serde(default)]
    pub clauses: bool,
    /// How many definitions are shown of a file; where there are more, the deepest are left out.
    #[serde(default)]
    pub most: Option<usize>,
    /// How many blocks the grammar's scanner has room for. What nests deeper by its indentation is not read.
    #[serde(default)]
    pub deepest: Option<usize>,
    /// Types that are written apart from parameters.
    #[serde(default)]
    pub typed: TypeSignatureSettings,
    /// Attributes that stand above what they are about.
    #[serde(default)]
    pub attributes: AttributeSettings,
    /// What the grammar can't read.
    #[serde(default)]
    pub recover: Recover,
    /// When a callable without a body says again what one with a body says.
    #[serde(default)]
    pub repeats: Repeats,
    /// Whether a preprocessor changes the text before it is read.
    #[serde(default)]
    pub preprocessed: bool,
    /// Whether names are written with tags and entities of a page.
    #[serde(default)]
    pub markup: bool,
}

/// How definitions are told where the tree has errors.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Recover {
    /// By kind: the words at the start of a line, whatever their case. `$` is the name; a word with `?` may be left out; one with
    /// `*` only has to begin like that.
    pub heads: std::collections::BTreeMap<crate::annotation::Kind, Vec<Vec<String>>>,
    /// How the last line of a function starts. Anything else ends with the first line that ends with a semicolon.
    pub ends: Vec<String>,
}

/// How a file with an ending that languages share is told.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Claims {
    /// Endings, without the dot, in small letters.
    pub endings: Vec<String>,
    /// How lines start that only this language has; each ends as code does.
    pub signs: Vec<String>,
}

/// When a callable without a body says again what one with a body says.
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

/// How a type that is written apart says what is taken and given: `a -> b -> c`.
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
    /// Names of those that document what is below.
    pub describe: Vec<String>,
    /// Names of those that document what they stand in.
    pub inside: Vec<String>,
    /// Names of those that give the types of what is below.
    pub types: Vec<String>,
    /// Names of those that are shown as they are written.
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

/// Where documentation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DocumentationPlacement {
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
    /// `@param x text`, `@return text`, as in Javadoc and its kin, and in Doxygen.
    At,
    /// `<param name="x">text</param>`.
    Xml,
}

/// How documentation is written.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct CommentSettings {
    /// Where it stands.
    pub place: DocumentationPlacement,
    /// How a comment that documents starts; empty: every comment on the lines directly above.
    pub marks: Vec<String>,
    /// How its parts are marked.
    pub tags: Tags,
    /// Whether it is written with HTML.
    pub html: bool,
    /// Kinds of nodes that may stand between it and the definition.
    pub between: Vec<String>,
    /// How a comment starts that documents what stands before it.
    pub after: Vec<String>,
    /// Kinds of nodes that are comments though they are not called so.
    pub kinds: Vec<String>,
    /// Kinds of nodes whose edges a comment may stand beyond: before the first thing in one, or at the end of one.
    pub through: Vec<String>,
}

/// Who may use what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VisibilityRule {
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
    /// What the file's list of exports names; everything where it has none.
    List,
}

/// Who may use a definition.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VisibilitySettings {
    /// How it is told.
    pub rule: VisibilityRule,
    /// What holds where nothing is said.
    pub default: crate::annotation::Visibility,
    /// What holds inside these kinds where nothing is said.
    pub inside: std::collections::BTreeMap<crate::annotation::Kind, crate::annotation::Visibility>,
    /// Modifiers that say it of what stands in no type: C's `static`.
    pub outside: std::collections::BTreeMap<String, crate::annotation::Visibility>,
    /// Endings of files that others include: `outside` does not hold there.
    pub shared: Vec<String>,
    /// What holds in these is as visible as they are, where nothing is said.
    pub inherit: Vec<crate::annotation::Kind>,
    /// Modifiers that are not about this, though other languages have them for it.
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

/// What else is said before a definition.
#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub struct Modifiers {
    /// Kinds of child nodes that hold modifiers, or are one.
    pub holders: Vec<String>,
    /// Words (anonymous nodes) in a definition's own node that are modifiers.
    pub words: Vec<String>,
    /// Words in holders that are none: they belong to a type.
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
    /// Empty where settings say all of it.
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
        let (definitions, imports, branches, calls, parameters) = Default::default();
        Self { tables, texts, definitions, imports, branches, calls, parameters }
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

    /// How parameters are written, where settings can't say it.
    pub fn parameters(&self) -> Option<&Query> {
        let text = self.texts.parameters;
        (!text.is_empty()).then(|| self.parameters.get_or_init(|| self.compile(text)))
    }

    fn compile(&self, text: &str) -> Query {
        Query::new(&self.tables, text).unwrap_or_else(|error| {
            panic!("a query that is built in does not fit its grammar: {error}")
        })
    }
}
