//! Parses JSON with and without comments, TOML and YAML. Size and depth are limited.

use crate::{client::FileSyntax, problem::EntryProblem};
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, ParseResult, ast, parse_to_ast,
    tokens::Token,
};
use serde_json::{Map, Value};
use toml_edit::{Document, Item, Table};

/// Maximum bytes of a file.
pub(crate) const MAX_FILE_BYTES: usize = 32 << 20;
/// Maximum events replayed for YAML aliases.
const MAX_ALIAS_EVENTS: usize = 10_000;

/// Splits the byte order mark from a text.
pub(crate) fn split_byte_order_mark(text: &str) -> (&'static str, &str) {
    text.strip_prefix('\u{feff}').map_or(("", text), |rest| ("\u{feff}", rest))
}

/// Parses a text without byte order mark. A blank text is an empty object.
pub(crate) fn parse(syntax: FileSyntax, text: &str) -> Result<Value, EntryProblem> {
    if text.len() > MAX_FILE_BYTES {
        return Err(EntryProblem::new(
            format!("the file is larger than {} MB", MAX_FILE_BYTES >> 20),
            "make it smaller, or name another file",
        ));
    }
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    match syntax {
        FileSyntax::Json | FileSyntax::JsonWithComments => {
            let tree = json(syntax, text)?.value;
            Ok(tree.map_or_else(|| Value::Object(Map::new()), Value::from))
        }
        FileSyntax::Toml => toml(text),
        FileSyntax::Yaml => match yaml(text)? {
            // Only comments.
            Value::Null => Ok(Value::Object(Map::new())),
            value => Ok(value),
        },
    }
}

/// Parses a JSON text to a tree with every token and comment.
pub(crate) fn json(syntax: FileSyntax, text: &str) -> Result<ParseResult<'_>, EntryProblem> {
    let lenient = syntax == FileSyntax::JsonWithComments;
    let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
    let options = ParseOptions {
        allow_comments: lenient,
        allow_loose_object_property_names: false,
        allow_trailing_commas: lenient,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &collect, &options).map_err(|error| {
        EntryProblem::new(format!("it is not valid JSON: {error}"), "fix the file there")
    })?;
    // The parser accepts comments after the value.
    let mut tokens = parsed.tokens.iter().flatten().map(|token| &token.token);
    let is_comment =
        |token: &Token<'_>| matches!(token, Token::CommentLine(_) | Token::CommentBlock(_));
    if !lenient && tokens.any(is_comment) {
        return Err(EntryProblem::new(
            "it is not valid JSON: it contains a comment, which this client does not support",
            "remove the comment",
        ));
    }
    Ok(parsed)
}

/// Returns the keys that an object has more than once.
pub(crate) fn repeated_keys<'a>(object: &'a ast::Object<'_>) -> Vec<&'a str> {
    let mut seen = std::collections::HashSet::new();
    let names = object.properties.iter().map(|property| property.name.as_str());
    names.filter(|name| !seen.insert(*name)).collect()
}

fn toml(text: &str) -> Result<Value, EntryProblem> {
    let document = toml_document(text)?;
    Ok(item_value(document.as_item()))
}

/// Parses a TOML text with the positions of everything in it.
pub(crate) fn toml_document(text: &str) -> Result<Document<&str>, EntryProblem> {
    Document::parse(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let what = first_line(error.message());
        EntryProblem::new(format!("it is not valid TOML: {what} on line {line}"), "fix the file")
    })
}

fn item_value(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => toml_value(value),
        Item::Table(table) => table_value(table),
        Item::ArrayOfTables(tables) => tables.iter().map(table_value).collect(),
    }
}

fn table_value(table: &Table) -> Value {
    table.iter().map(|(key, item)| (key.to_owned(), item_value(item))).collect()
}

fn toml_value(value: &toml_edit::Value) -> Value {
    use toml_edit::Value as Toml;
    match value {
        Toml::String(text) => text.value().clone().into(),
        Toml::Integer(number) => (*number.value()).into(),
        Toml::Float(number) => (*number.value()).into(),
        Toml::Boolean(flag) => (*flag.value()).into(),
        Toml::Datetime(date) => date.value().to_string().into(),
        Toml::Array(array) => array.iter().map(toml_value).collect(),
        Toml::InlineTable(table) => {
            table.iter().map(|(key, value)| (key.to_owned(), toml_value(value))).collect()
        }
    }
}

fn yaml(text: &str) -> Result<Value, EntryProblem> {
    let mut options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: 1_000_000,
            max_events: 4_000_000,
            max_depth: 32,
            max_recorded_anchor_events: MAX_ALIAS_EVENTS,
        },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::Error,
    };
    options.alias_limits.max_total_replayed_events = MAX_ALIAS_EVENTS;
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let reason = error.to_string();
        let reason = first_line(&reason).trim_start_matches("error: ");
        EntryProblem::new(format!("it is not valid YAML: {reason}"), "fix the file")
    })
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
