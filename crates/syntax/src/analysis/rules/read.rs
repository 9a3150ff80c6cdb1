//! Parsing of rules: one YAML document each, compiled for a grammar.

use super::{Confidence, RuleAnalysis, RuleSeverity};
use crate::language::Language;
use ast_grep_config::{
    DeserializeEnv, RuleCore, RuleCoreError, SerializableRuleCore, Severity as Written, from_str,
};
use ast_grep_core::Matcher;
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use std::{collections::HashSet, error::Error, fmt};

/// Why a document is not a valid rule.
#[derive(Debug, thiserror::Error)]
pub(super) enum RuleReadError {
    #[error("not a rule: {0}")]
    Yaml(String),
    #[error("`id` is missing")]
    NoId,
    #[error("rule {0}: `language` is missing")]
    NoLanguage(String),
    #[error("rule {id} is not valid for {language}: {}", chain(.reason))]
    Rule {
        id: String,
        language: &'static str,
        #[source]
        reason: Box<RuleCoreError>,
    },
    #[error("rule {0}: needs a `kind` or a `pattern`, or it would be tried on every node")]
    NoKind(String),
}

/// An error with its causes, in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(one) = cause {
        text.push_str(": ");
        text.push_str(&one.to_string());
        cause = one.source();
    }
    text
}

/// The metadata of a rule.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RuleMetadata {
    pub(super) analysis: RuleAnalysis,
    pub(super) category: String,
    pub(super) cwe: Option<String>,
    pub(super) confidence: Confidence,
    pub(super) fix: String,
    /// Whether a called name is matched by its import: `h.md5` as `hashlib.md5` after
    /// `import hashlib as h`.
    pub(super) imported: bool,
}

impl Default for RuleMetadata {
    fn default() -> Self {
        Self {
            analysis: RuleAnalysis::default(),
            category: "own".into(),
            cwe: None,
            confidence: Confidence::default(),
            fix: String::new(),
            imported: false,
        }
    }
}

/// The keys of a document. The matcher is parsed by the engine's own type.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleKeys {
    #[serde(default)]
    id: String,
    language: Option<Language>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    severity: Written,
    #[serde(default)]
    metadata: RuleMetadata,
    note: Option<String>,
    #[serde(rename = "rule")]
    _rule: Option<IgnoredAny>,
    #[serde(rename = "constraints")]
    _constraints: Option<IgnoredAny>,
    #[serde(rename = "utils")]
    _utils: Option<IgnoredAny>,
    #[serde(rename = "transform")]
    _transform: Option<IgnoredAny>,
    /// Example texts, used only by tests.
    #[serde(rename = "examples")]
    _examples: Option<IgnoredAny>,
    #[serde(rename = "url")]
    _url: Option<IgnoredAny>,
}

/// A parsed document, not yet compiled for a grammar.
pub(super) struct RuleDraft {
    pub(super) id: String,
    pub(super) language: Option<Language>,
    /// `None`: the rule is off.
    pub(super) severity: Option<RuleSeverity>,
    message: String,
    about: RuleMetadata,
    core: Option<SerializableRuleCore>,
}

impl RuleDraft {
    /// Parses one document.
    pub(super) fn read(text: &str) -> Result<Self, RuleReadError> {
        let wrong = |error: &dyn fmt::Display| {
            // The engine's message shows context lines; keep only the first line.
            RuleReadError::Yaml(error.to_string().lines().next().unwrap_or_default().to_owned())
        };
        let keys: RuleKeys = from_str(text).map_err(|error| wrong(&error))?;
        if keys.id.is_empty() {
            return Err(RuleReadError::NoId);
        }
        let severity = match keys.severity {
            Written::Off => None,
            Written::Error => Some(RuleSeverity::High),
            Written::Warning => Some(RuleSeverity::Medium),
            Written::Info => Some(RuleSeverity::Low),
            Written::Hint => Some(RuleSeverity::Info),
        };
        let core = severity.map(|_| from_str(text)).transpose().map_err(|error| wrong(&error))?;
        let mut about = keys.metadata;
        if let (true, Some(note)) = (about.fix.is_empty(), keys.note) {
            about.fix = note;
        }
        let message = if keys.message.is_empty() { keys.id.clone() } else { keys.message };
        let RuleKeys { id, language, .. } = keys;
        Ok(Self { id, language, severity, message, about, core })
    }

    /// Compiles the rule for one grammar; `None` if it is off.
    pub(super) fn compile(
        &self,
        language: Language,
    ) -> Result<Option<CompiledRule>, RuleReadError> {
        let (Some(core), Some(severity)) = (&self.core, self.severity) else { return Ok(None) };
        let matcher = core.get_matcher(DeserializeEnv::new(language)).map_err(|error| {
            let (id, reason) = (self.id.clone(), Box::new(error));
            RuleReadError::Rule { id, language: language.name(), reason }
        })?;
        let kinds =
            matcher.potential_kinds().ok_or_else(|| RuleReadError::NoKind(self.id.clone()))?;
        let kinds = kinds.iter().filter_map(|kind| u16::try_from(kind).ok()).collect();
        Ok(Some(CompiledRule {
            id: self.id.clone(),
            severity,
            message: self.message.clone(),
            about: self.about.clone(),
            kinds,
            knows_secrets: matcher.defined_vars().contains("SECRET"),
            recurses: recurses(core),
            climbs: self.about.imported || climbs(core),
            matcher,
        }))
    }
}

/// A rule compiled for a grammar.
pub(super) struct CompiledRule {
    pub(super) id: String,
    pub(super) severity: RuleSeverity,
    pub(super) message: String,
    pub(super) about: RuleMetadata,
    pub(super) matcher: RuleCore,
    /// The node kinds that it can match.
    pub(super) kinds: Vec<u16>,
    /// Whether it captures a secret.
    pub(super) knows_secrets: bool,
    /// Whether matching may recurse as deep as the tree.
    pub(super) recurses: bool,
    /// Whether matching looks up parents and siblings of nodes.
    pub(super) climbs: bool,
}

impl fmt::Debug for CompiledRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompiledRule").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Whether matching asks for the parents or siblings of nodes, which the engine looks for from the root.
fn climbs(core: &SerializableRuleCore) -> bool {
    let Ok(whole) = serde_json::to_value(core) else { return true };
    let mut waiting = vec![&whole];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(fields) => {
                let asks = |(key, value): (&String, &Value)| {
                    let names = ["inside", "follows", "precedes", "nthChild"];
                    names.contains(&key.as_str()) && !value.is_null()
                };
                if fields.iter().any(asks) {
                    return true;
                }
                waiting.extend(fields.values());
            }
            Value::Array(items) => waiting.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}

/// Whether matching may recurse with the tree: the engine does so where `has` stops by a rule, and where it compares
/// two nodes because one metavariable stands twice. May say yes too often, never no.
fn recurses(core: &SerializableRuleCore) -> bool {
    let Ok(whole) = serde_json::to_value(core) else { return true };
    let mut names: HashSet<String> = HashSet::new();
    let mut waiting = vec![&whole];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(fields) => {
                if fields.get("stopBy").is_some_and(Value::is_object) {
                    return true;
                }
                waiting.extend(fields.values());
            }
            Value::Array(items) => waiting.extend(items),
            Value::String(text) => {
                if metavariables(text).any(|name| !names.insert(name.to_owned())) {
                    return true;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    false
}

/// The names after `$` that capture: `$_` and what starts with it matches without comparing.
fn metavariables(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let names = text
        .split('$')
        .skip(1)
        .map(move |rest| rest.split_once(|c| !is_name(c)).map_or(rest, |(name, _)| name));
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The documents of a file, each with the line it starts on. A line that starts with `---` always starts one.
pub(super) fn documents(text: &str) -> Vec<(usize, String)> {
    let mut all = vec![(1, String::new())];
    for (number, line) in text.lines().enumerate() {
        if line.trim_end() == "---" {
            all.push((number + 2, String::new()));
        } else if let Some((_, document)) = all.last_mut() {
            document.push_str(line);
            document.push('\n');
        }
    }
    let says = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    all.retain(|(_, document)| document.lines().any(says));
    all
}
