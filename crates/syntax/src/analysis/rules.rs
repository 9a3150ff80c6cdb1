//! Findings by rule. A rule is data: `languages/README.md` says how one is written.
//!
//! Owns what a finding says. How a rule is read is in [`read`], which rules hold in [`set`], how a tree is searched
//! in [`engine`].

mod engine;
mod names;
mod read;
mod set;

use super::AnalyzedSource;
use engine::RuleMatch;
use read::CompiledRule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use set::{RuleProblem, RuleSet};

/// Evidence is a line, not a file.
const MAX_EVIDENCE_CHARS: usize = 160;
/// Evidence is searched for secrets in as many bytes.
const MAX_SEARCHED_BYTES: usize = 10_000;
/// Where a file has more secrets, no evidence is shown.
const MAX_SECRETS: usize = 500;
/// What stands in evidence instead of a secret.
const SECRET_PLACEHOLDER: &str = "…";

/// Which of the analyses a rule belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleAnalysis {
    /// Idioms, designs and smells.
    Patterns,
    /// What an attacker could use.
    #[default]
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

/// How sure a finding is, surest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// What is seen is the weakness itself.
    High,
    /// It is one unless the code around it takes care.
    #[default]
    Medium,
    /// It depends on what the values are.
    Low,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Which rule found it.
    pub rule: String,
    /// What it is about.
    pub category: String,
    /// The weakness in the Common Weakness Enumeration, such as `CWE-89`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwe: Option<String>,
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// Where it starts, counted from 1.
    pub line: u32,
    /// The last line of it.
    pub end_line: u32,
    /// What is wrong, or what was recognised.
    pub message: String,
    /// The source there; secrets are not repeated.
    pub evidence: String,
    /// What to do about it.
    pub fix: String,
}

/// Everything that the built-in rules of one analysis find, worst first. Asks `stopped` while it looks.
pub fn check(source: &AnalyzedSource<'_>, analysis: RuleAnalysis, stopped: &dyn Fn() -> bool) -> Vec<Finding> {
    check_with(RuleSet::built_in(), source, analysis, stopped)
}

/// Everything that the rules of one analysis find, worst first. Asks `stopped` while it looks.
pub fn check_with(
    rules: &RuleSet,
    source: &AnalyzedSource<'_>,
    analysis: RuleAnalysis,
    stopped: &dyn Fn() -> bool,
) -> Vec<Finding> {
    // A rule that knows secrets is asked in every analysis, so that no other rule's evidence shows one.
    let used: Vec<&CompiledRule> = rules
        .of(source.language)
        .filter(|rule| rule.about.analysis == analysis || rule.knows_secrets)
        .collect();
    let hits = engine::search(source, &used, stopped);
    let mut secrets: Vec<&str> = hits
        .iter()
        .filter_map(|hit| hit.secret.clone())
        .filter_map(|at| source.text.get(at))
        .collect();
    // Of two secrets, one may be a part of the other.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    let of_analysis = hits.iter().filter(|hit| hit.rule.about.analysis == analysis);
    let mut findings: Vec<Finding> =
        of_analysis.map(|hit| finding(source, hit, &secrets)).collect();
    findings.sort_by(|a, b| (a.severity, a.line, &a.rule).cmp(&(b.severity, b.line, &b.rule)));
    findings.dedup_by(|a, b| a.rule == b.rule && a.line == b.line);
    findings
}

fn finding(source: &AnalyzedSource<'_>, hit: &RuleMatch<'_>, secrets: &[&str]) -> Finding {
    let about = &hit.rule.about;
    let hide = |text: String, secret: &&str| text.replace(secret, SECRET_PLACEHOLDER);
    let whole = source.text.get(hit.range.clone()).unwrap_or_default();
    // A secret may go on after the first line.
    let whole = whole.get(..whole.floor_char_boundary(MAX_SEARCHED_BYTES)).unwrap_or_default();
    let whole = if secrets.len() > MAX_SECRETS {
        SECRET_PLACEHOLDER.to_owned()
    } else {
        secrets.iter().fold(whole.to_owned(), hide)
    };
    let first = whole.lines().next().unwrap_or_default().trim();
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    Finding {
        rule: hit.rule.id.clone(),
        category: about.category.clone(),
        cwe: about.cwe.clone(),
        severity: hit.rule.severity,
        confidence: about.confidence,
        line: number(hit.lines.0),
        end_line: number(hit.lines.1),
        message: hit.rule.message.clone(),
        evidence: first.chars().take(MAX_EVIDENCE_CHARS).collect(),
        fix: about.fix.clone(),
    }
}

#[cfg(test)]
mod tests;
