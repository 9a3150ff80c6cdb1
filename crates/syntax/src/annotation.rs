//! The annotation of one definition in a source file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind of a definition, in the order of summaries.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A free function.
    Function,
    /// A function of a type (method).
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
    /// A type alias.
    Type,
    /// A named value at the top level of a file or type.
    Constant,
    /// A module or namespace inside a file.
    Module,
    /// A macro.
    Macro,
    /// A property or field of a type.
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
    /// The singular name.
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

    /// The plural name, which is the key in a summary.
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

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.singular() == name)
    }

    /// Whether it can be called.
    pub fn is_callable(self) -> bool {
        matches!(self, Self::Function | Self::Method)
    }

    /// Whether functions inside it are methods.
    pub fn has_methods(self) -> bool {
        matches!(self, Self::Class | Self::Interface | Self::Enum | Self::Struct | Self::Trait)
    }
}

/// The visibility of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// Visible everywhere.
    Public,
    /// Visible to subtypes.
    Protected,
    /// Visible in its package, crate or module.
    Internal,
    /// Visible in its own file or type.
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

/// A parameter, as written.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Parameter {
    /// Its name or pattern.
    pub name: String,
    /// Its type, if written.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Its default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether it is optional.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// The parts of a doc comment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Doc {
    /// Its first sentence or paragraph.
    pub summary: String,
    /// Descriptions of parameters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<Said>,
    /// Description of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns: Option<String>,
    /// Descriptions of errors, by type if one is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub raises: Vec<Said>,
    /// The version or reason of its deprecation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecated: Option<String>,
}

/// A name with its description.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Said {
    /// The name.
    pub name: String,
    /// The description.
    pub text: String,
}

/// One definition in a source file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Annotation {
    /// Stable id: kind, file, qualified name, and a number if there are several.
    pub id: String,
    /// Its kind.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its name qualified by the enclosing types, functions and modules.
    pub qualified_name: String,
    /// Its signature, without the body, on one line.
    pub signature: String,
    /// Its parameters, without the receiver; absent if it is not callable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Vec<Parameter>>,
    /// Its return type, if written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_type: Option<String>,
    /// `async`, `static`, `abstract` and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub modifiers: Vec<String>,
    /// Its visibility.
    pub visibility: Visibility,
    /// Decorators, annotations and attributes, as written.
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
    /// The enclosing definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its complexity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complexity: Option<Figures>,
    /// The distinct names that it calls, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

/// The complexity of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Figures {
    /// Cyclomatic complexity: independent paths through it.
    pub cyclomatic: u32,
    /// Cognitive complexity.
    pub cognitive: u32,
}

/// Counts per kind, in the order of [`Kind`], without zeros.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KindCounts(BTreeMap<Kind, usize>);

impl KindCounts {
    /// Adds one.
    pub fn add(&mut self, kind: Kind) {
        *self.0.entry(kind).or_default() += 1;
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            *self.0.entry(*kind).or_default() += count;
        }
    }

    /// The total.
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
