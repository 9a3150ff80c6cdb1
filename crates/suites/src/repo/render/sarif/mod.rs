//! Findings as SARIF 2.1.0, for code scanning and editors. Does not know the absolute path of the checked folder.

mod rules;

use crate::repo::{
    findings::{Check, Finding, Findings},
    report::{Severity, Trouble},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rules::SarifRule;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Schema id; nothing is downloaded.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// URL of the docent project.
const DOCENT_URL: &str = "https://github.com/docent-mcp/docent";

/// Base id of the checked folder in all URIs.
const ROOT_BASE_ID: &str = "SRCROOT";

/// Characters escaped in a URI path. A colon must be escaped: in the first part it would look like a scheme.
const URI_ESCAPES: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Renders the findings as a SARIF log.
pub fn sarif(findings: &Findings) -> Value {
    let rules = rules::collect_rules(findings);
    let places: HashMap<&str, usize> =
        rules.iter().enumerate().map(|(index, rule)| (&*rule.id, index)).collect();
    let mut fingerprints = Fingerprints::default();
    let results: Vec<Value> = findings
        .findings
        .iter()
        .map(|finding| result(finding, places.get(&*finding.rule).copied(), &mut fingerprints))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "docent",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": DOCENT_URL,
                "rules": rules.iter().map(descriptor).collect::<Vec<_>>(),
                "notifications": NOTIFICATIONS.map(|(id, text)| json!({
                    "id": id, "shortDescription": { "text": text },
                })),
            } },
            "originalUriBaseIds": { ROOT_BASE_ID: {
                "description": { "text": message(&format!("The folder that was checked: {}", display_path(&findings.path))) },
            } },
            "invocations": [{
                "executionSuccessful": findings.missing.is_empty(),
                "toolExecutionNotifications": notifications(findings),
            }],
            "results": results,
        }],
    })
}

fn display_path(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

fn descriptor(rule: &SarifRule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.short },
        "fullDescription": { "text": rule.full },
        "help": { "text": rule.help },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": { "tags": ["documentation", check_name(rule.check)] },
    })
}

fn check_name(check: Check) -> &'static str {
    match check {
        Check::Links => "links",
        Check::Coverage => "coverage",
        Check::Drift => "drift",
        Check::Readme => "readme",
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low => "note",
    }
}

fn result(finding: &Finding, rule: Option<usize>, fingerprints: &mut Fingerprints) -> Value {
    let mut result = Map::new();
    result.insert("ruleId".into(), json!(finding.rule));
    if let Some(index) = rule {
        result.insert("ruleIndex".into(), json!(index));
    }
    result.insert("level".into(), json!(level(finding.severity)));
    let text = [&*finding.message, &*finding.fix].map(sentence).join(" ");
    result.insert("message".into(), json!({ "text": message(text.trim()) }));
    result.insert("locations".into(), json!([location(&finding.file, finding.line)]));
    result.insert(
        "partialFingerprints".into(),
        json!({ "docentFinding/v1": fingerprints.of(finding) }),
    );
    Value::Object(result)
}

fn location(file: &str, line: Option<u64>) -> Value {
    let address = utf8_percent_encode(display_path(file), URI_ESCAPES).to_string();
    let mut place = Map::new();
    place.insert("artifactLocation".into(), json!({ "uri": address, "uriBaseId": ROOT_BASE_ID }));
    if let Some(line) = line.filter(|line| *line > 0) {
        place.insert("region".into(), json!({ "startLine": line }));
    }
    json!({ "physicalLocation": place })
}

/// Ends the text with punctuation, so that another sentence can follow.
fn sentence(text: &str) -> String {
    let text = text.trim();
    match text.chars().last() {
        None | Some('.' | '!' | '?' | ':' | '…') => text.to_owned(),
        Some(_) => format!("{text}."),
    }
}

/// Escapes a SARIF message: braces would be placeholders, brackets links.
fn message(text: &str) -> String {
    let text = text.replace('{', "{{").replace('}', "}}");
    if text.contains("](") {
        text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
    } else {
        text
    }
}

/// Notification ids and descriptions.
const NOTIFICATIONS: [(&str, &str); 3] = [
    ("docent/unreadable", "Something could not be read."),
    ("docent/stopped", "The call was stopped before it finished."),
    ("docent/left-out", "There are more findings than this log contains."),
];

fn notifications(findings: &Findings) -> Vec<Value> {
    let notification = |index: usize, text: &str| {
        let (id, _) = NOTIFICATIONS[index];
        json!({
            "descriptor": { "id": id, "index": index },
            "level": "warning",
            "message": { "text": message(&sentence(text)) },
        })
    };
    let mut all: Vec<Value> = findings
        .problems
        .iter()
        .map(|Trouble { path, reason }| notification(0, &format!("{path} {reason}")))
        .collect();
    let listed = u64::try_from(findings.problems.len()).unwrap_or(u64::MAX);
    if let Some(more @ 1..) = findings.problem_count.checked_sub(listed) {
        all.push(notification(0, &format!("{more} more items could not be read")));
    }
    for part in &findings.missing {
        all.push(notification(1, &format!("The call was stopped before this was done: {part}")));
    }
    let listed = u64::try_from(findings.findings.len()).unwrap_or(u64::MAX);
    if let Some(more @ 1..) = findings.finding_count.checked_sub(listed) {
        all.push(notification(
            2,
            &format!("{more} more findings are not in this log; fix these first, then check again"),
        ));
    }
    all
}

/// Computes fingerprints of findings from their text, and numbers equal ones: lines move, words stay.
#[derive(Default)]
struct Fingerprints {
    seen: HashMap<u64, u64>,
}

impl Fingerprints {
    fn of(&mut self, finding: &Finding) -> String {
        let words = without_lines(&finding.message);
        let mut key = FNV_OFFSET_BASIS;
        for part in [&*finding.rule, &*finding.file, &*words] {
            for byte in part.bytes().chain([0]) {
                key = (key ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
            }
        }
        let order = self.seen.entry(key).or_default();
        *order += 1;
        format!("{key:016x}:{order}")
    }
}

/// FNV-1a: the hash must be stable across docent versions, which the standard library does not guarantee.
const FNV_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Strips numbers after a colon or the word "line".
fn without_lines(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for character in text.chars() {
        let counts_lines = || {
            let before = kept.trim_end();
            kept.ends_with(':') || before.ends_with("line") || before.ends_with("lines")
        };
        if !(character.is_ascii_digit() && counts_lines()) {
            kept.push(character);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
