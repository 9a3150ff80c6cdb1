//! Validates arguments against a tool's schema before the call, with errors that a model can act on.

mod cost;
mod patterns;

use crate::catalog::{similar_names, truncate};
use docent_tool::Object;
use jsonschema::{PatternOptions, ValidationError, Validator, error::ValidationErrorKind};
use serde_json::{Value, json};
use std::{
    fmt,
    sync::{Arc, OnceLock},
};

/// Maximum bytes of a pattern's cache while matching.
const PATTERN_CACHE_BYTES: usize = 1 << 20;
/// Maximum names searched for a similar one.
const MAX_SUGGESTION_NAMES: usize = 250;
/// Maximum errors, and names of each, for which a similar name is searched.
const MAX_SUGGESTION_ERRORS: usize = 16;

/// One problem with the arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ArgumentProblem {
    /// Dotted path of the parameter.
    pub(crate) parameter: String,
    /// What is required.
    pub(crate) reason: String,
    /// The violated part of the schema, if there is one.
    pub(crate) accepted: Option<Value>,
}

impl ArgumentProblem {
    pub(crate) fn new(parameter: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { parameter: parameter.into(), reason: reason.into(), accepted: None }
    }

    /// The `data` of the error.
    pub(crate) fn data(&self) -> Value {
        let details =
            format!("Validation failed for parameter '{}': {}", self.parameter, self.reason);
        let mut data =
            json!({"parameter": self.parameter, "reason": self.reason, "details": details});
        if let Some(accepted) = &self.accepted {
            data["accepted"] = accepted.clone();
        }
        data
    }
}

impl fmt::Display for ArgumentProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A reason that starts with a verb continues after the name; any other is a separate sentence.
        let verbs = ["is ", "must ", "has ", "does ", "do ", "take "];
        let goes_on = verbs.iter().any(|verb| self.reason.starts_with(verb));
        let colon = if goes_on { "" } else { ":" };
        write!(f, "`{}`{colon} {}", self.parameter, self.reason)
    }
}

/// A schema, compiled on first use.
pub(crate) struct SchemaChecker {
    tool: String,
    schema: Arc<Object>,
    compiled: OnceLock<Option<(Validator, Value)>>,
}

impl SchemaChecker {
    pub(crate) fn new(tool: &str, schema: Arc<Object>) -> Self {
        Self { tool: tool.to_owned(), schema, compiled: OnceLock::new() }
    }

    fn compiled(&self) -> Option<&(Validator, Value)> {
        let compile = || {
            let schema = Value::Object(Object::clone(&self.schema));
            // Another server's schema may be broken, or meant to waste docent's time; its tool still checks its own
            // arguments.
            let warn = |error: &String| {
                tracing::warn!(target: "docent::tools", tool = self.tool, %error, "cannot compile the schema");
            };
            compiled(schema).inspect_err(warn).ok()
        };
        self.compiled.get_or_init(compile).as_ref()
    }

    /// Whether a value matches the schema. A schema that cannot be compiled matches anything; a value that takes too
    /// long to check matches nothing.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.compiled().is_none_or(|(validator, schema)| {
            cost::is_bounded(schema, value) && validator.is_valid(value)
        })
    }

    /// Returns the arguments if they are valid.
    pub(crate) fn check(&self, arguments: Object) -> Result<Object, ArgumentProblem> {
        let Some((validator, schema)) = self.compiled() else { return Ok(arguments) };
        let arguments = Value::Object(arguments);
        if let Some(problem) = first_problem(validator, schema, &arguments) {
            return Err(problem);
        }
        match arguments {
            Value::Object(arguments) => Ok(arguments),
            _ => Ok(Object::new()),
        }
    }
}

/// The schema in the form used for checking, and its validator.
fn compiled(mut schema: Value) -> Result<(Validator, Value), String> {
    if !cost::is_within_limits(&schema) {
        return Err("it is too large, or its parts refer to each other too often".to_owned());
    }
    patterns::loosen(&mut schema);
    let Some(room) = patterns::room(&schema) else {
        return Err("it has too many patterns, or too long ones".to_owned());
    };
    // Uses a linear-time engine, which does not compile patterns that need backtracking.
    let patterns = PatternOptions::regex().size_limit(room).dfa_size_limit(PATTERN_CACHE_BYTES);
    match jsonschema::options().with_pattern_options(patterns).build(&schema) {
        Ok(validator) => Ok((validator, schema)),
        Err(error) => Err(error.to_string()),
    }
}

/// Checks a tool's schema. `Err` describes the problem: it is invalid, or checking against it may take too long. A
/// schema in an unknown dialect is not checked.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    if !cost::is_within_limits(schema) {
        return Err("it is too large, or its parts refer to each other too often".to_owned());
    }
    let Ok(dialect) = jsonschema::meta::validator_for(schema) else { return Ok(()) };
    dialect.validate(schema).map_err(|error| {
        let path = error.instance_path().as_str();
        let place = if path.is_empty() { "it" } else { path };
        format!("{} is not valid in a JSON Schema", truncate(place))
    })
}

fn first_problem(
    validator: &Validator,
    schema: &Value,
    arguments: &Value,
) -> Option<ArgumentProblem> {
    if !cost::is_bounded(schema, arguments) {
        let reason =
            "take too long to check against the schema: send fewer or less deeply nested values";
        return Some(ArgumentProblem::new("arguments", reason));
    }
    if validator.is_valid(arguments) {
        return None;
    }
    if !cost::can_collect_problems(schema, arguments) {
        let reason =
            "do not match the schema, and are too many to list the problems: send fewer values";
        return problem_at_the_top(schema, arguments)
            .or_else(|| Some(ArgumentProblem::new("arguments", reason)));
    }
    let errors: Vec<_> = validator.iter_errors(arguments).collect();
    most_helpful_error(schema, &errors).map(|error| problem_of(schema, error))
}

/// The most informative of several errors. A misspelled name causes a missing and an unexpected one: the second is more
/// useful.
fn most_helpful_error<'e, 'i>(
    schema: &Value,
    errors: &'e [ValidationError<'i>],
) -> Option<&'e ValidationError<'i>> {
    let misspelt = errors.iter().take(MAX_SUGGESTION_ERRORS).find(|error| {
        matches!(error.kind(), ValidationErrorKind::AdditionalProperties { unexpected }
            if unexpected.iter().take(MAX_SUGGESTION_ERRORS).any(|name| suggest_name(name, owning_part(schema, error)).is_some()))
    });
    misspelt.or(errors.first())
}

/// An obvious problem with the argument names, if nothing more can be reported.
fn problem_at_the_top(schema: &Value, arguments: &Value) -> Option<ArgumentProblem> {
    let node = resolve_reference(schema, schema);
    let given = arguments.as_object()?;
    let known = node.get("properties").and_then(Value::as_object);
    let is_closed = node.get("additionalProperties") == Some(&Value::Bool(false))
        && node.get("patternProperties").is_none();
    let is_odd = |name: &String| known.is_none_or(|known| !known.contains_key(name));
    let odd = given.keys().find(|name| is_closed && is_odd(name));
    let required = node.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required.filter_map(Value::as_str).find(|name| !given.contains_key(*name));
    match (odd, missing) {
        (Some(odd), Some(missing)) if suggest_name(odd, node).is_none() => {
            Some(missing_problem(schema, node, missing, missing.to_owned()))
        }
        (Some(odd), _) => Some(unexpected_problem(node, odd, truncate(odd))),
        (None, missing) => {
            missing.map(|missing| missing_problem(schema, node, missing, missing.to_owned()))
        }
    }
}

/// The known name most similar to an unknown one.
fn suggest_name<'a>(name: &str, node: &'a Value) -> Option<&'a str> {
    similar_names(name, properties(node).take(MAX_SUGGESTION_NAMES)).first().copied()
}

fn missing_problem(schema: &Value, node: &Value, name: &str, parameter: String) -> ArgumentProblem {
    let accepted = node.get("properties").and_then(|known| known.get(name));
    let accepted = accepted.map(|accepted| resolve_reference(schema, accepted).clone());
    ArgumentProblem { parameter, reason: "is required".into(), accepted }
}

fn unexpected_problem(node: &Value, name: &str, parameter: String) -> ArgumentProblem {
    let reason = match suggest_name(name, node) {
        Some(known) => format!("is not a parameter; did you mean `{known}`?"),
        None => "is not a parameter".to_owned(),
    };
    let known: Vec<&str> = properties(node).collect();
    ArgumentProblem { parameter, reason, accepted: Some(json!(known)) }
}

/// The problem inside the only alternative that the value could be meant for.
fn inner_problem<'e>(
    schema: &Value,
    error: &'e ValidationError<'_>,
) -> Option<&'e ValidationError<'static>> {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) =
        error.kind()
    else {
        return None;
    };
    let depth = error.instance_path().as_str().len();
    let is_inside = |error: &ValidationError<'_>| {
        error.instance_path().as_str().len() > depth
            || matches!(
                error.kind(),
                ValidationErrorKind::Required { .. }
                    | ValidationErrorKind::AdditionalProperties { .. }
            )
    };
    let mut meant = context.iter().filter(|errors| errors.iter().all(is_inside));
    match (meant.next(), meant.next()) {
        (Some(errors), None) => most_helpful_error(schema, errors),
        _ => None,
    }
}

fn problem_of(schema: &Value, error: &ValidationError<'_>) -> ArgumentProblem {
    if let Some(inner) = inner_problem(schema, error) {
        return problem_of(schema, inner);
    }
    let node = owning_part(schema, error);
    let path = dotted_path(error.instance_path().as_str());
    let under =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            missing_problem(schema, node, name, under(name))
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let name = unexpected.first().map(String::as_str).unwrap_or_default();
            unexpected_problem(node, name, under(&truncate(name)))
        }
        kind => {
            let reason = reason(kind, schema, node);
            let parameter = if path.is_empty() { "arguments".to_owned() } else { path };
            ArgumentProblem { parameter, reason, accepted: accepted_part(schema, node) }
        }
    }
}

/// The part of the schema with the violated keyword.
fn owning_part<'a>(schema: &'a Value, error: &ValidationError<'_>) -> &'a Value {
    let path = error.schema_path().as_str();
    let parent = path.rfind('/').and_then(|slash| path.get(..slash)).unwrap_or_default();
    schema.pointer(parent).unwrap_or(schema)
}

/// Resolves a `$ref` to another part of the same schema.
fn resolve_reference<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let mut node = node;
    // A reference to itself ends here.
    for _ in 0..16 {
        let place = node.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
        match place.and_then(|place| schema.pointer(place)) {
            Some(target) => node = target,
            None => break,
        }
    }
    node
}

fn properties(node: &Value) -> impl Iterator<Item = &str> {
    node.get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|known| known.keys().map(String::as_str))
}

fn dotted_path(pointer: &str) -> String {
    let names = pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"));
    names.collect::<Vec<_>>().join(".")
}

/// The relevant part of the schema, without texts for people.
fn accepted_part(schema: &Value, node: &Value) -> Option<Value> {
    let mut shown = without_prose(resolve_reference(schema, node))?;
    for branches in ["anyOf", "oneOf"] {
        let branches = shown.get_mut(branches).and_then(Value::as_array_mut);
        for branch in branches.into_iter().flatten() {
            if let Some(short) = without_prose(resolve_reference(schema, branch)) {
                *branch = Value::Object(short);
            }
        }
    }
    Some(Value::Object(shown))
}

fn without_prose(node: &Value) -> Option<Object> {
    let mut node = node.as_object()?.clone();
    for noise in ["description", "title", "examples", "default", "$schema", "properties", "$defs"] {
        node.remove(noise);
    }
    Some(node)
}

fn reason(kind: &ValidationErrorKind, schema: &Value, node: &Value) -> String {
    match kind {
        ValidationErrorKind::Enum { options } => one_of(options),
        ValidationErrorKind::Constant { expected_value } => {
            format!("must be {}", plain_text(expected_value))
        }
        ValidationErrorKind::MinLength { .. } | ValidationErrorKind::MaxLength { .. } => {
            format!("must be {}", characters(node))
        }
        ValidationErrorKind::Pattern { pattern } => format!("must match the pattern {pattern}"),
        ValidationErrorKind::Format { format } => format!("must be a valid {format}"),
        ValidationErrorKind::UniqueItems => "must not contain duplicate items".into(),
        ValidationErrorKind::MultipleOf { multiple_of } => {
            format!("must be a multiple of {multiple_of}")
        }
        ValidationErrorKind::MinProperties { limit } => {
            format!("must have at least {limit} properties")
        }
        ValidationErrorKind::MaxProperties { limit } => {
            format!("must have at most {limit} properties")
        }
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            alternatives(schema, node)
        }
        ValidationErrorKind::Type { .. }
        | ValidationErrorKind::Minimum { .. }
        | ValidationErrorKind::Maximum { .. }
        | ValidationErrorKind::ExclusiveMinimum { .. }
        | ValidationErrorKind::ExclusiveMaximum { .. }
        | ValidationErrorKind::MinItems { .. }
        | ValidationErrorKind::MaxItems { .. } => format!("must be {}", describe_schema(node)),
        other => format!("does not satisfy `{}` of the schema", other.keyword()),
    }
}

fn one_of(options: &Value) -> String {
    let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
    format!("must be one of {}", options.iter().map(plain_text).collect::<Vec<_>>().join(", "))
}

fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn alternatives(schema: &Value, node: &Value) -> String {
    let branches =
        ["anyOf", "oneOf"].into_iter().find_map(|key| node.get(key)).and_then(Value::as_array);
    let branches = branches.into_iter().flatten();
    let branches: Vec<String> =
        branches.map(|branch| describe_schema(resolve_reference(schema, branch))).collect();
    if branches.is_empty() {
        "must match one of the accepted forms".into()
    } else {
        format!("must be {}", branches.join(", or "))
    }
}

/// A schema in words: "an integer from 1 to 20".
fn describe_schema(node: &Value) -> String {
    if let Some(options) = node.get("enum") {
        return one_of(options).trim_start_matches("must be ").to_owned();
    }
    if let Some(constant) = node.get("const") {
        return plain_text(constant);
    }
    match node.get("type") {
        Some(Value::String(kind)) => describe_type(kind, node),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .map(|kind| describe_type(kind, node))
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "what the schema accepts".into(),
    }
}

fn describe_type(kind: &str, node: &Value) -> String {
    match kind {
        "string" => match bounds(node, "minLength", "maxLength") {
            (None, None) => "a string".into(),
            (Some(1), None) => "a non-empty string".into(),
            _ => format!("a string of {}", characters(node)),
        },
        "integer" => format!("an integer{}", range(node)),
        "number" => format!("a number{}", range(node)),
        "array" => match bounds(node, "minItems", "maxItems") {
            (None | Some(0), None) => "an array".into(),
            (Some(1), None) => "a non-empty array".into(),
            (least, most) => format!("an array of {}", span(least, most, "items")),
        },
        "object" => "an object".into(),
        "boolean" => "true or false".into(),
        other => other.to_owned(),
    }
}

fn bounds(node: &Value, least: &str, most: &str) -> (Option<u64>, Option<u64>) {
    (node.get(least).and_then(Value::as_u64), node.get(most).and_then(Value::as_u64))
}

fn characters(node: &Value) -> String {
    match bounds(node, "minLength", "maxLength") {
        (Some(1), None) => "a non-empty string".into(),
        (least, most) => span(least, most, "characters"),
    }
}

fn span(least: Option<u64>, most: Option<u64>, what: &str) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!("{least}-{most} {what}"),
        (Some(least), None) => format!("at least {least} {what}"),
        (None, Some(most)) => format!("at most {most} {what}"),
        (None, None) => what.to_owned(),
    }
}

fn range(node: &Value) -> String {
    let bound = |key: &str| node.get(key).filter(|value| value.is_number());
    let least = bound("minimum")
        .map(|v| format!("{v}"))
        .or(bound("exclusiveMinimum").map(|v| format!("above {v}")));
    let most = bound("maximum")
        .map(|v| format!("{v}"))
        .or(bound("exclusiveMaximum").map(|v| format!("below {v}")));
    match (least, most) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checker() -> SchemaChecker {
        let schema = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "minLength": 1, "description": "Where."},
                "query": {"type": "string", "minLength": 1, "maxLength": 1000},
                "depth": {"type": "string", "enum": ["quick", "standard", "deep"]},
                "files": {"type": "array", "minItems": 1, "items": {"type": "string"}},
                "max_results": {"type": "integer", "minimum": 1, "maximum": 20},
                "ratio": {"type": "number", "minimum": 0},
                "name": {"type": "string", "pattern": "^[a-z]+$"},
                "flag": {"type": "boolean"},
                "either": {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1}]},
                "options": {
                    "type": "object", "required": ["kind"], "additionalProperties": false,
                    "properties": {"limit": {"type": "integer", "minimum": 0}, "kind": {"type": "string"}}
                }
            },
            "required": ["path"],
            "additionalProperties": false
        });
        SchemaChecker::new("fixture", Arc::new(schema.as_object().unwrap().clone()))
    }

    #[test]
    fn every_problem_names_the_parameter_and_what_is_accepted() {
        let cases = [
            (json!({}), "path", "is required"),
            (json!({"path": 5}), "path", "must be a non-empty string"),
            (json!({"path": ""}), "path", "must be a non-empty string"),
            (json!({"path": "x", "query": ""}), "query", "must be 1-1000 characters"),
            (json!({"path": "x", "query": "q".repeat(1001)}), "query", "must be 1-1000 characters"),
            (json!({"path": "x", "query": 1}), "query", "must be a string of 1-1000 characters"),
            (
                json!({"path": "x", "depth": "bottomless"}),
                "depth",
                "must be one of quick, standard, deep",
            ),
            (json!({"path": "x", "files": []}), "files", "must be a non-empty array"),
            (json!({"path": "x", "files": "a"}), "files", "must be a non-empty array"),
            (json!({"path": "x", "files": ["a", 5]}), "files.1", "must be a string"),
            (
                json!({"path": "x", "max_results": 21}),
                "max_results",
                "must be an integer from 1 to 20",
            ),
            (
                json!({"path": "x", "max_results": "3"}),
                "max_results",
                "must be an integer from 1 to 20",
            ),
            (json!({"path": "x", "ratio": -1}), "ratio", "must be a number of at least 0"),
            (json!({"path": "x", "name": "A1"}), "name", "must match the pattern ^[a-z]+$"),
            (json!({"path": "x", "flag": "yes"}), "flag", "must be true or false"),
            (
                json!({"path": "x", "either": 0}),
                "either",
                "must be a string, or an integer of at least 1",
            ),
            (
                json!({"path": "x", "options": {"kind": "k", "limit": -1}}),
                "options.limit",
                "must be an integer of at least 0",
            ),
            (json!({"path": "x", "options": {}}), "options.kind", "is required"),
            (
                json!({"path": "x", "options": {"kind": "k", "limt": 1}}),
                "options.limt",
                "is not a parameter; did you mean `limit`?",
            ),
            (json!({"pth": "x"}), "pth", "is not a parameter; did you mean `path`?"),
            (json!({"path": "x", "zzzzzz": 1}), "zzzzzz", "is not a parameter"),
        ];
        let checker = checker();
        for (arguments, parameter, reason) in cases {
            let problem = checker.check(arguments.as_object().unwrap().clone()).unwrap_err();
            assert_eq!(
                (problem.parameter.as_str(), problem.reason.as_str()),
                (parameter, reason),
                "{arguments}"
            );
            let data = problem.data();
            assert_eq!((&data["parameter"], &data["reason"]), (&json!(parameter), &json!(reason)));
            assert!(data["details"].as_str().unwrap().contains(parameter), "{data}");
        }
    }

    #[test]
    fn the_target_of_a_reference_is_reported() {
        let schema = json!({
            "type": "object",
            "$defs": {
                "Model": {
                    "type": "object", "title": "Model", "properties": {"x": {"type": "integer"}}, "required": ["x"],
                    "additionalProperties": false
                },
                "Size": {"enum": ["s", "m"]},
            },
            "properties": {
                "o": {"anyOf": [{"$ref": "#/$defs/Model"}, {"type": "null"}], "default": null},
                "m": {"$ref": "#/$defs/Model"},
                "s": {"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]},
                "two": {"anyOf": [{"$ref": "#/$defs/Model"}, {"type": "object", "required": ["y"]}]},
            },
        });
        let checker = SchemaChecker::new("refs", Arc::new(schema.as_object().unwrap().clone()));
        let model = json!({"type": "object", "required": ["x"], "additionalProperties": false});
        let either = |other: Value| json!({"anyOf": [other, {"type": "null"}]});
        let cases = [
            (json!({"o": 5}), "o", "must be an object, or null", either(model.clone())),
            (json!({"o": {"x": "1"}}), "o.x", "must be an integer", json!({"type": "integer"})),
            (json!({"o": {}}), "o.x", "is required", json!({"type": "integer"})),
            (json!({"o": {"X": 1}}), "o.X", "is not a parameter", json!(["x"])),
            (json!({"m": 5}), "m", "must be an object", model.clone()),
            (
                json!({"s": "l"}),
                "s",
                "must be one of s, m, or null",
                either(json!({"enum": ["s", "m"]})),
            ),
            (
                json!({"two": {"z": 1}}),
                "two",
                "must be an object, or an object",
                json!({"anyOf": [model, {"type": "object", "required": ["y"]}]}),
            ),
        ];
        for (arguments, parameter, reason, accepted) in cases {
            let problem = checker.check(arguments.as_object().unwrap().clone()).unwrap_err();
            let got = (problem.parameter.as_str(), problem.reason.as_str());
            assert_eq!(got, (parameter, reason), "{arguments}");
            assert_eq!(problem.accepted, Some(accepted), "{arguments}");
        }
        let (endless, schema) =
            (json!({"$ref": "#/$defs/Loop"}), json!({"$defs": {"Loop": {"$ref": "#/$defs/Loop"}}}));
        assert_eq!(*resolve_reference(&schema, &endless), endless);
    }

    #[test]
    fn valid_arguments_are_returned_unchanged() {
        let arguments = json!({"path": "x", "options": {"kind": "k", "limit": 3}, "files": ["a"]});
        let got = checker().check(arguments.as_object().unwrap().clone()).unwrap();
        assert_eq!(Value::Object(got), arguments);
    }

    #[test]
    fn what_is_accepted_is_shown_without_prose() {
        let problem =
            checker().check(json!({"path": ""}).as_object().unwrap().clone()).unwrap_err();
        assert_eq!(problem.data()["accepted"], json!({"type": "string", "minLength": 1}));
    }

    #[test]
    fn a_broken_schema_accepts_everything() {
        let schema = json!({"type": "no such type"});
        let checker = SchemaChecker::new("broken", Arc::new(schema.as_object().unwrap().clone()));
        assert!(checker.check(Object::new()).is_ok());
    }

    #[test]
    fn a_schema_is_checked_before_its_tool_is_offered() {
        let link = |nth: u32| {
            let next = json!({"$ref": format!("#/$defs/d{}", nth + 1)});
            (format!("d{nth}"), json!({"allOf": [next, next]}))
        };
        let parts: Object = (0..40).map(link).collect();
        for (schema, want) in [
            (json!({"type": "object", "properties": {"x": {"type": "string"}}}), ""),
            (json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {}}), ""),
            // This dialect is unknown.
            (json!({"$schema": "https://example.org/own", "type": 7}), ""),
            (json!({"properties": {"x": {"$ref": "https://example.org/x.json"}}}), ""),
            (json!({"type": "whatever"}), "/type is not valid in a JSON Schema"),
            (json!({"properties": {"x": 7}}), "/properties/x is not valid in a JSON Schema"),
            (json!({"required": "x"}), "/required is not valid in a JSON Schema"),
            (
                json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": parts}),
                "it is too large, or its parts refer to each other too often",
            ),
        ] {
            assert_eq!(check_schema(&schema).err().unwrap_or_default(), want, "{schema}");
        }
    }

    #[test]
    fn a_schema_that_would_take_forever_accepts_everything() {
        let link = |nth: u32| {
            let next = json!({"$ref": format!("#/$defs/d{}", nth + 1)});
            (format!("d{nth}"), json!({"allOf": [next, next]}))
        };
        let mut parts: Object = (0..40).map(link).collect();
        parts.insert("d40".into(), json!({"type": "string"}));
        let schema = json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": parts});
        let checker = SchemaChecker::new("bomb", Arc::new(schema.as_object().unwrap().clone()));
        let arguments = json!({"x": "a"});
        assert!(checker.accepts(&arguments));
        assert!(checker.check(arguments.as_object().unwrap().clone()).is_ok());
    }

    #[test]
    fn arguments_that_would_take_forever_are_refused() {
        // Each level of the value is checked twice for each level above it.
        let link = |nth: u32| {
            let next = json!({"$ref": format!("#/$defs/d{}", nth + 1)});
            (format!("d{nth}"), json!({"items": next, "contains": next}))
        };
        let parts: Object = (0..40).map(link).chain([("d40".to_owned(), json!({}))]).collect();
        let schema = json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": parts});
        let checker = SchemaChecker::new("deep", Arc::new(schema.as_object().unwrap().clone()));
        let deep = |depth| (0..depth).fold(json!("a"), |inner, _| json!([inner]));
        let shallow = json!({"x": deep(3)});
        assert!(checker.accepts(&shallow));
        let problem = checker.check(json!({"x": deep(40)}).as_object().unwrap().clone());
        let problem = problem.unwrap_err();
        assert_eq!(problem.parameter, "arguments");
        assert!(problem.reason.contains("take too long to check"), "{problem}");
        assert!(!checker.accepts(&json!({"x": deep(40)})));
    }

    fn checking(schema: &Value) -> SchemaChecker {
        SchemaChecker::new("fixture", Arc::new(schema.as_object().unwrap().clone()))
    }

    #[test]
    fn lookaround_patterns_are_left_to_the_tool() {
        let email = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$";
        let checker = checking(&json!({
            "properties": {
                "to": {"type": "array", "items": {"type": "string", "pattern": email}},
                "text": {"type": "string", "pattern": "^(?:(?!<script).)*$"},
                "word": {"type": "string", "pattern": "^[a-z]+$"},
            },
        }));
        let check = |arguments: Value| checker.check(arguments.as_object().unwrap().clone());
        let many = vec!["ann@example.test"; 20_000];
        assert!(check(json!({"to": many, "text": "long ".repeat(100_000), "word": "a"})).is_ok());
        for (arguments, parameter, reason) in [
            (json!({"to": [5]}), "to.0", "must be a string"),
            (json!({"text": "a", "word": "B"}), "word", "must match the pattern ^[a-z]+$"),
        ] {
            let problem = check(arguments).unwrap_err();
            assert_eq!((&*problem.parameter, &*problem.reason), (parameter, reason));
        }
    }

    #[test]
    fn a_schema_with_expensive_patterns_accepts_everything() {
        // Blanks hide what looks around; repetitions within each other are large once they are written out.
        for pattern in ["(?x)^( ?=(a+)+$)a*$", r"^(\p{L}{1,90}){1,90}$"] {
            let checker =
                checking(&json!({"properties": {"x": {"type": "integer", "pattern": pattern}}}));
            assert!(checker.accepts(&json!({"x": "a"})), "{pattern}");
        }
        let each = |nth: usize| {
            (format!("x{nth}"), json!({"type": "integer", "pattern": format!("{nth}+")}))
        };
        let all =
            |most: usize| checking(&json!({"properties": (0..most).map(each).collect::<Object>()}));
        assert!(all(600).accepts(&json!({"x1": "a"})));
        assert!(!all(400).accepts(&json!({"x1": "a"})));
    }

    #[test]
    fn an_obvious_mistake_is_reported_among_very_many_values() {
        let checker = checking(&json!({
            "type": "object", "required": ["path"], "additionalProperties": false,
            "properties": {
                "path": {"type": "string"},
                "items": {"type": "array", "items": {"type": "integer"}},
            },
        }));
        let items: Vec<u32> = (0..200_000).collect();
        for (arguments, parameter, reason) in [
            (json!({"items": items}), "path", "is required"),
            (
                json!({"items": items, "pth": "a"}),
                "pth",
                "is not a parameter; did you mean `path`?",
            ),
            (json!({"items": items, "zzzzzz": 1}), "path", "is required"),
            (json!({"items": items, "path": "a", "zzzzzz": 1}), "zzzzzz", "is not a parameter"),
        ] {
            let problem = checker.check(arguments.as_object().unwrap().clone()).unwrap_err();
            assert_eq!((&*problem.parameter, &*problem.reason), (parameter, reason));
        }
        let problem = checker.check(
            [("items".to_owned(), json!(items)), ("path".to_owned(), json!(5))]
                .into_iter()
                .collect(),
        );
        assert!(problem.unwrap_err().reason.contains("too many to list the problems"));
    }

    #[test]
    fn a_tree_is_checked_at_every_depth() {
        let node = json!({
            "type": "object", "required": ["name"], "additionalProperties": false,
            "properties": {
                "name": {"type": "string"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
        });
        let schema =
            json!({"properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}});
        let checker = SchemaChecker::new("tree", Arc::new(schema.as_object().unwrap().clone()));
        let tree = |leaf: Value| {
            (0..30).fold(leaf, |inner, _| json!({"name": "n", "children": [inner, {"name": "m"}]}))
        };
        let check =
            |leaf: Value| checker.check([("root".to_owned(), tree(leaf))].into_iter().collect());
        assert!(check(json!({"name": "leaf"})).is_ok());
        let problem = check(json!({"name": 5})).unwrap_err();
        assert!(problem.parameter.ends_with("children.0.name"), "{problem}");
        assert_eq!(problem.reason, "must be a string");
    }
}
