//! What is said of one definition in a source file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What kind of thing is defined. The order is the one in which they are counted.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A function of its own.
    Function,
    /// A function of a type.
    Method,
    /// A class.
    Class,
    /// An interface or protocol.
    Interface,
    /// An enumeration.
    Enum,
    /// A struct or union.
    Struct,
    /// A trait.
    Trait,
    /// A name for a type.
    Type,
    /// A value with a name at the top of a file or type.
    Constant,
    /// A module or namespace inside a file.
    Module,
    /// A macro.
    Macro,
    /// A named value of a type: a property or field.
    Property,
    /// A table or view of a database.
    Table,
    /// A section of a document.
    Section,
    /// A key of a data file.
    Key,
    /// An element of a page.
    Element,
    /// A rule of a style sheet.
    Rule,
    /// A block of a configuration.
    Block,
}

impl Kind {
    /// One of them.
    pub fn singular(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Class => "class",
            Self::Interface => "interface",
            Self::Enum => "enum",
            Self::Struct => "struct",
            Self::Trait => "trait",
            Self::Type => "type",
            Self::Constant => "constant",
            Self::Module => "module",
            Self::Macro => "macro",
            Self::Property => "property",
            Self::Table => "table",
            Self::Section => "section",
            Self::Key => "key",
            Self::Element => "element",
            Self::Rule => "rule",
            Self::Block => "block",
        }
    }

    /// Several of them; the key of a summary.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Function => "functions",
            Self::Method => "methods",
            Self::Class => "classes",
            Self::Interface => "interfaces",
            Self::Enum => "enums",
            Self::Struct => "structs",
            Self::Trait => "traits",
            Self::Type => "types",
            Self::Constant => "constants",
            Self::Module => "modules",
            Self::Macro => "macros",
            Self::Property => "properties",
            Self::Table => "tables",
            Self::Section => "sections",
            Self::Key => "keys",
            Self::Element => "elements",
            Self::Rule => "rules",
            Self::Block => "blocks",
        }
    }

    /// Every kind.
    pub const ALL: [Self; 18] = [
        Self::Function,
        Self::Method,
        Self::Class,
        Self::Interface,
        Self::Enum,
        Self::Struct,
        Self::Trait,
        Self::Type,
        Self::Constant,
        Self::Module,
        Self::Macro,
        Self::Property,
        Self::Table,
        Self::Section,
        Self::Key,
        Self::Element,
        Self::Rule,
        Self::Block,
    ];

    /// The kind that is called so.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.singular() == name)
    }

    /// Whether it can be called.
    pub fn is_callable(self) -> bool {
        matches!(self, Self::Function | Self::Method)
    }

    /// Whether a function in it is a method.
    pub fn has_methods(self) -> bool {
        matches!(self, Self::Class | Self::Interface | Self::Enum | Self::Struct | Self::Trait)
    }
}

/// Who may use a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Everybody.
    Public,
    /// Types that are made from its own.
    Protected,
    /// Its package, crate or module.
    Internal,
    /// Its own file or type.
    Private,
}

impl Visibility {
    /// The visibility that a modifier or a query's capture names.
    pub(crate) fn from_name(word: &str) -> Option<Self> {
        // `private[orders]` is open to a package, `private[this]` is not.
        if let Some((word, within)) = word.split_once('[') {
            let named = Self::named_alone(word)?;
            return Some(if named == Self::Private && within != "this]" {
                Self::Internal
            } else {
                named
            });
        }
        Self::named_alone(word)
    }

    fn named_alone(word: &str) -> Option<Self> {
        Some(match word {
            "public" | "open" | "pub" => Self::Public,
            "protected" => Self::Protected,
            "internal" | "package" => Self::Internal,
            "private" | "fileprivate" | "file" => Self::Private,
            _ => return None,
        })
    }
}

/// A parameter, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Parameter {
    /// Its name or pattern.
    pub name: String,
    /// Its type, where one is written.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// What it is where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether it may be left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// The parts of a doc comment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Doc {
    /// Its first sentence or paragraph.
    pub summary: String,
    /// What is said of parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<Said>,
    /// What is said of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns: Option<String>,
    /// What is said of errors, by their type where one is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub raises: Vec<Said>,
    /// Since when, or why, it should not be used any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
}

/// What is said of something with a name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Said {
    /// Of what.
    pub name: String,
    /// What.
    pub text: String,
}

/// One definition in a source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Annotation {
    /// Stays the same while other parts of the file change: kind, file and qualified name, and which one of several.
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its name with those of the types, functions and modules around it.
    pub qualified_name: String,
    /// Its head, without the body, on one line.
    pub signature: String,
    /// What it takes, without the receiver; left out where it can't be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<Parameter>>,
    /// What it gives back, where that is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_type: Option<String>,
    /// `async`, `static`, `abstract` and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modifiers: Vec<String>,
    /// Who may use it.
    pub visibility: Visibility,
    /// Decorators, annotations and attributes, as they are written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decorators: Vec<String>,
    /// Its doc comment, as plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The parts of its doc comment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc: Option<Doc>,
    /// First line, counted from 1.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Whether other files can use it.
    pub exported: bool,
    /// The definition that it stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// How hard it is to follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Figures>,
    /// The names of what it calls, each once, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

/// How hard a function is to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Figures {
    /// Independent ways through it.
    pub cyclomatic: u32,
    /// What a reader has to keep in mind.
    pub cognitive: u32,
}

/// How many of each kind, in the order of [`Kind`]; only kinds that are there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KindCounts(BTreeMap<Kind, usize>);

impl KindCounts {
    /// Counts one more.
    pub fn add(&mut self, kind: Kind) {
        *self.0.entry(kind).or_default() += 1;
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            *self.0.entry(*kind).or_default() += count;
        }
    }

    /// How many in all.
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// `{"functions": 4, "interfaces": 1}`.
    pub fn summary(&self) -> Summary {
        Summary(
            self.0
                .iter()
                .map(|(kind, count)| (kind.plural().to_owned(), (*count).into()))
                .collect(),
        )
    }

    /// `4 functions, 1 interface`.
    pub fn words(&self) -> String {
        let word = |(kind, count): (&Kind, &usize)| {
            format!("{count} {}", if *count == 1 { kind.singular() } else { kind.plural() })
        };
        self.0.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

impl<'a> FromIterator<&'a Annotation> for KindCounts {
    fn from_iter<I: IntoIterator<Item = &'a Annotation>>(annotations: I) -> Self {
        let mut counts = Self::default();
        annotations.into_iter().for_each(|one| counts.add(one.kind));
        counts
    }
}

impl FromIterator<(Kind, u32)> for KindCounts {
    fn from_iter<I: IntoIterator<Item = (Kind, u32)>>(kinds: I) -> Self {
        let mut counts = Self::default();
        for (kind, count) in kinds {
            *counts.0.entry(kind).or_default() += count as usize;
        }
        counts
    }
}

/// Counts by plural kind, in the order of [`Kind`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(with = "BTreeMap<String, usize>")]
pub struct Summary(serde_json::Map<String, serde_json::Value>);
