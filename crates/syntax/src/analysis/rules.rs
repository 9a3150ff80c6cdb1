//! Findings by rule. A rule is data: a query with what it means, in `rules/`.

use super::Source;
use crate::language::{Language, Match, line_of, matches, text_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use tree_sitter::Query;

/// Evidence is a line, not a file.
const LONGEST_EVIDENCE: usize = 160;

/// Which of the analyses a rule belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Analysis {
    /// Idioms, designs and smells.
    Patterns,
    /// What an attacker could use.
    Security,
}

/// How much a finding matters, most first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Mend it now.
    High,
    /// Mend it soon.
    Medium,
    /// Worth a look.
    Low,
    /// Good to know.
    Info,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Which rule found it.
    pub rule: String,
    /// What it is about.
    pub category: String,
    /// How much it matters.
    pub severity: Severity,
    /// Where, counted from 1.
    pub line: u32,
    /// What is wrong, or what was recognised.
    pub message: String,
    /// The source there; secrets are not repeated.
    pub evidence: String,
    /// What to do about it.
    pub fix: String,
}

#[derive(Debug, Deserialize)]
struct RuleFile {
    rule: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    id: String,
    analysis: Analysis,
    category: String,
    severity: Severity,
    message: String,
    fix: String,
    query: String,
}

/// The rules of a language, compiled once.
fn rules(language: Language) -> &'static [(Rule, Query)] {
    static TYPESCRIPT: LazyLock<Vec<(Rule, Query)>> =
        LazyLock::new(|| compile(Language::TypeScript));
    static TSX: LazyLock<Vec<(Rule, Query)>> = LazyLock::new(|| compile(Language::Tsx));
    static JAVASCRIPT: LazyLock<Vec<(Rule, Query)>> =
        LazyLock::new(|| compile(Language::JavaScript));
    static PYTHON: LazyLock<Vec<(Rule, Query)>> = LazyLock::new(|| compile(Language::Python));
    static RUST: LazyLock<Vec<(Rule, Query)>> = LazyLock::new(|| compile(Language::Rust));
    static GO: LazyLock<Vec<(Rule, Query)>> = LazyLock::new(|| compile(Language::Go));
    static JAVA: LazyLock<Vec<(Rule, Query)>> = LazyLock::new(|| compile(Language::Java));
    match language {
        Language::TypeScript => &TYPESCRIPT,
        Language::Tsx => &TSX,
        Language::JavaScript => &JAVASCRIPT,
        Language::Python => &PYTHON,
        Language::Rust => &RUST,
        Language::Go => &GO,
        Language::Java => &JAVA,
    }
}

fn compile(language: Language) -> Vec<(Rule, Query)> {
    let script = include_str!("../../languages/javascript/rules.toml");
    let files: &[&str] = match language {
        Language::TypeScript | Language::Tsx => {
            &[script, include_str!("../../languages/typescript/rules.toml")]
        }
        Language::JavaScript => &[script],
        Language::Python => &[include_str!("../../languages/python/rules.toml")],
        Language::Rust => &[include_str!("../../languages/rust/rules.toml")],
        Language::Go => &[include_str!("../../languages/go/rules.toml")],
        Language::Java => &[include_str!("../../languages/java/rules.toml")],
    };
    let read = |text: &&str| {
        toml::from_str::<RuleFile>(text).expect("the rules that are built in are well-formed").rule
    };
    let with_query = |rule: Rule| {
        let query = Query::new(&language.grammar().tables, &rule.query);
        let query = query.unwrap_or_else(|error| {
            panic!("rule {} does not fit {}: {error}", rule.id, language.name())
        });
        (rule, query)
    };
    files.iter().flat_map(read).map(with_query).collect()
}

/// Everything that the rules of one analysis find, worst first. Asks `stopped` between rules.
pub fn check(source: &Source<'_>, analysis: Analysis, stopped: &dyn Fn() -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (rule, query) in rules(source.language).iter().filter(|(rule, _)| rule.analysis == analysis)
    {
        if stopped() {
            break;
        }
        for found in matches(query, source.tree.root_node(), source.text) {
            findings.extend(finding(source, rule, &found));
        }
    }
    findings.sort_by(|a, b| (a.severity, a.line, &a.rule).cmp(&(b.severity, b.line, &b.rule)));
    findings.dedup_by(|a, b| a.rule == b.rule && a.line == b.line);
    findings
}

fn finding(source: &Source<'_>, rule: &Rule, found: &Match<'_>) -> Option<Finding> {
    let at = found.get("at")?;
    let mut evidence = text_of(at, source.text).to_owned();
    if let Some(secret) = found.get("secret") {
        evidence = evidence.replace(text_of(secret, source.text), "…");
    }
    let line = evidence.lines().next().unwrap_or_default().trim();
    let evidence = line.chars().take(LONGEST_EVIDENCE).collect();
    Some(Finding {
        rule: rule.id.clone(),
        category: rule.category.clone(),
        severity: rule.severity,
        line: line_of(at),
        message: rule.message.clone(),
        evidence,
        fix: rule.fix.clone(),
    })
}

#[cfg(test)]
mod tests;
