//! Findings by rule. Rules are data: `languages/README.md` describes their format.
//!
//! Owns the content of findings. [`read`] parses rules, [`set`] selects the active ones, [`engine`] searches the tree.

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

/// Maximum characters of evidence.
const MAX_EVIDENCE_CHARS: usize = 160;
/// Maximum bytes of evidence searched for secrets.
const MAX_SEARCHED_BYTES: usize = 10_000;
/// If a file has more secrets, no evidence is shown.
const MAX_SECRETS: usize = 500;
/// Replaces secrets in evidence.
const SECRET_PLACEHOLDER: &str = "…";

/// The analysis that a rule belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleAnalysis {
    /// Idioms, designs and smells.
    Patterns,
    /// Security weaknesses.
    #[default]
    Security,
}

/// The severity of a finding, highest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RuleSeverity {
    /// Fix it now.
    High,
    /// Fix it soon.
    Medium,
    /// Worth a look.
    Low,
    /// Good to know.
    Info,
}

/// The confidence of a finding, highest first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// The code shows the weakness itself.
    High,
    /// A weakness unless the surrounding code prevents it.
    #[default]
    Medium,
    /// Depends on the values.
    Low,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleFinding {
    /// The id of the rule.
    pub rule: String,
    /// Its category.
    pub category: String,
    /// The weakness in the Common Weakness Enumeration, such as `CWE-89`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwe: Option<String>,
    /// Its severity.
    pub severity: RuleSeverity,
    /// Its confidence.
    pub confidence: Confidence,
    /// First line, counted from 1.
    pub line: u32,
    /// Last line.
    pub end_line: u32,
    /// What is wrong, or what was recognized.
    pub message: String,
    /// The source text, with secrets masked.
    pub evidence: String,
    /// How to fix it.
    pub fix: String,
}

/// All findings of the built-in rules of one analysis, worst first. Polls `stopped`.
pub fn check(
    source: &AnalyzedSource<'_>,
    analysis: RuleAnalysis,
    stopped: &dyn Fn() -> bool,
) -> Vec<RuleFinding> {
    check_with(RuleSet::built_in(), source, analysis, stopped)
}

/// All findings of the rules of one analysis, worst first. Polls `stopped`.
pub fn check_with(
    rules: &RuleSet,
    source: &AnalyzedSource<'_>,
    analysis: RuleAnalysis,
    stopped: &dyn Fn() -> bool,
) -> Vec<RuleFinding> {
    // Rules that detect secrets run in every analysis, so that no other rule's evidence shows one.
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
    // Secrets may overlap.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    let of_analysis = hits.iter().filter(|hit| hit.rule.about.analysis == analysis);
    let mut findings: Vec<RuleFinding> =
        of_analysis.map(|hit| finding(source, hit, &secrets)).collect();
    findings.sort_by(|a, b| (a.severity, a.line, &a.rule).cmp(&(b.severity, b.line, &b.rule)));
    findings.dedup_by(|a, b| a.rule == b.rule && a.line == b.line);
    findings
}

fn finding(source: &AnalyzedSource<'_>, hit: &RuleMatch<'_>, secrets: &[&str]) -> RuleFinding {
    let about = &hit.rule.about;
    let hide = |text: String, secret: &&str| text.replace(secret, SECRET_PLACEHOLDER);
    let whole = source.text.get(hit.range.clone()).unwrap_or_default();
    // A secret may span several lines.
    let whole = whole.get(..whole.floor_char_boundary(MAX_SEARCHED_BYTES)).unwrap_or_default();
    let whole = if secrets.len() > MAX_SECRETS {
        SECRET_PLACEHOLDER.to_owned()
    } else {
        secrets.iter().fold(whole.to_owned(), hide)
    };
    let first = whole.lines().next().unwrap_or_default().trim();
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    RuleFinding {
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
