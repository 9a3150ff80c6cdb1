//! The structured result of `check_documentation`: findings with location, severity and fix.

use super::{
    report::{Severity, Trouble},
    text::counted,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What to check.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Relative links, anchors and images.
    Links,
    /// Public symbols without a doc comment.
    Coverage,
    /// Documents that no longer match the code.
    Drift,
    /// Items that a README reader needs.
    Readme,
}

/// All documentation findings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Findings {
    /// The checked folder, relative to its root.
    pub path: String,
    /// Checks that ran.
    pub checks: Vec<Check>,
    /// Most severe first, then by file and line; at most 1,000.
    pub findings: Vec<Finding>,
    /// Number of findings.
    pub finding_count: u64,
    /// Parts that are missing because the call was stopped.
    pub missing: Vec<String>,
    /// Paths that could not be read; at most 100.
    pub problems: Vec<Trouble>,
    /// Number of paths that could not be read.
    pub problem_count: u64,
}

/// One documentation problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// Rule id: `links/missing-file`, `drift/symbol`, `coverage/undocumented`, `readme/installation` …
    pub rule: String,
    /// Check that found it.
    pub check: Check,
    /// Path relative to the checked folder.
    pub file: String,
    /// Line number from 1; null for the whole file.
    pub line: Option<u64>,
    /// Severity.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub fix: String,
}

impl Finding {
    /// Formats the finding on one line, like a compiler message.
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
    /// Summarizes the number of findings and the missing parts.
    pub fn summary(&self) -> String {
        let mut summary = match self.finding_count {
            0 => "No findings.".to_owned(),
            count => format!("{}.", counted(count, "finding")),
        };
        if !self.missing.is_empty() {
            summary = format!("Partial answer. Missing: {}. {summary}", self.missing.join(", "));
        }
        summary
    }
}
