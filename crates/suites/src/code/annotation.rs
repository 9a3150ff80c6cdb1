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
}

impl Kind {
    /// One of them.
    pub(crate) fn singular(self) -> &'static str {
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
        }
    }

    /// Several of them; the key of a summary.
    pub(crate) fn plural(self) -> &'static str {
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
        }
    }

    /// The kind that a query's capture names.
    pub(crate) fn captured(name: &str) -> Option<Self> {
        Some(match name {
            "function" => Self::Function,
            "method" => Self::Method,
            "class" => Self::Class,
            "interface" => Self::Interface,
            "enum" => Self::Enum,
            "struct" => Self::Struct,
            "trait" => Self::Trait,
            "type" => Self::Type,
            "constant" => Self::Constant,
            "module" => Self::Module,
            _ => return None,
        })
    }

    /// Whether it can be called.
    pub(crate) fn is_callable(self) -> bool {
        matches!(self, Self::Function | Self::Method)
    }

    /// Whether a function in it is a method.
    pub(crate) fn has_methods(self) -> bool {
        matches!(self, Self::Class | Self::Interface | Self::Enum | Self::Struct | Self::Trait)
    }
}

/// A parameter, as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Parameter {
    /// Its name or pattern.
    pub name: String,
    /// Its type, where one is written.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
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
    /// Its doc comment, as plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// First line, counted from 1.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// Whether other files can use it.
    pub exported: bool,
}

/// How many of each kind, in the order of [`Kind`]; only kinds that are there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Counts(BTreeMap<Kind, usize>);

impl Counts {
    /// Counts one more.
    pub(crate) fn add(&mut self, kind: Kind) {
        *self.0.entry(kind).or_default() += 1;
    }

    /// Adds those of another.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (kind, count) in &other.0 {
            *self.0.entry(*kind).or_default() += count;
        }
    }

    /// How many in all.
    pub(crate) fn total(&self) -> usize {
        self.0.values().sum()
    }

    /// `{"functions": 4, "interfaces": 1}`.
    pub(crate) fn summary(&self) -> Summary {
        Summary(
            self.0
                .iter()
                .map(|(kind, count)| (kind.plural().to_owned(), (*count).into()))
                .collect(),
        )
    }

    /// `4 functions, 1 interface`.
    pub(crate) fn words(&self) -> String {
        let word = |(kind, count): (&Kind, &usize)| {
            format!("{count} {}", if *count == 1 { kind.singular() } else { kind.plural() })
        };
        self.0.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

impl<'a> FromIterator<&'a Annotation> for Counts {
    fn from_iter<I: IntoIterator<Item = &'a Annotation>>(annotations: I) -> Self {
        let mut counts = Self::default();
        annotations.into_iter().for_each(|one| counts.add(one.kind));
        counts
    }
}

/// Counts by plural kind, in the order of [`Kind`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(with = "BTreeMap<String, usize>")]
pub struct Summary(serde_json::Map<String, serde_json::Value>);
