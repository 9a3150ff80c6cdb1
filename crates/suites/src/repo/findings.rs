//! What `check_documentation` answers: findings, each with a place, a cost and a way to mend it.

use super::{
    report::{Severity, Trouble},
    text::counted,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to look at.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Relative links, anchors and pictures.
    Links,
    /// Public symbols without a doc comment.
    Coverage,
    /// Documents that the code has left behind.
    Drift,
    /// What a reader of the README needs.
    Readme,
}

/// Everything that is wrong with the documentation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// The folder that was checked, inside its root.
    pub path: String,
    /// What was looked at.
    pub checks: Vec<Check>,
    /// Costliest first, then by file and line; at most 1,000.
    pub findings: Vec<Finding>,
    /// How many there are.
    pub finding_count: u64,
    /// Parts that this answer lacks because the call was stopped.
    pub missing: Vec<String>,
    /// What could not be read; at most 100.
    pub problems: Vec<Trouble>,
    /// How many things could not be read.
    pub problem_count: u64,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Which rule: `links/missing-file`, `drift/symbol`, `coverage/undocumented`, `readme/installation` …
    pub rule: String,
    /// Which check.
    pub check: Check,
    /// Inside the checked folder.
    pub file: String,
    /// From 1; null where the whole file is meant.
    pub line: Option<u64>,
    /// What it costs.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

impl Finding {
    /// On one line, as compilers print theirs.
    pub fn line_of_text(&self) -> String {
        let Self { rule, file, message, fix, .. } = self;
        let place = self.line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
        let severity = match self.severity {
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
        };
        format!("{place}: {severity}: {message} [{rule}] {fix}")
    }
}

impl Findings {
    /// How many there are, and what the answer lacks.
    pub fn summary(&self) -> String {
        let mut told = match self.finding_count {
            0 => "No findings.".to_owned(),
            count => format!("{}.", counted(count, "finding")),
        };
        if !self.missing.is_empty() {
            told = format!("Partial answer. Missing: {}. {told}", self.missing.join(", "));
        }
        told
    }
}
