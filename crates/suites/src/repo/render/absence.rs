//! Reasons why a part of the report is missing, in one line.

use super::wording;
use crate::repo::report::{Depth, Report};

/// A part of the report that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReportPart {
    Project,
    Dependencies,
    Documentation,
    Coverage,
    Links,
    Drift,
    History,
    Redundancy,
    Tasks,
}

impl ReportPart {
    /// Returns its name, minimum depth, and the words by which `missing` may refer to it.
    fn known(self) -> (&'static str, Depth, &'static [&'static str]) {
        match self {
            Self::Project => {
                ("Commands and entry points", Depth::Standard, &["project", "command"])
            }
            Self::Dependencies => {
                ("Dependencies", Depth::Standard, &["dependenc", "manifest", "package"])
            }
            Self::Documentation => {
                ("Documents", Depth::Standard, &["documentation", "document", "inventory"])
            }
            Self::Coverage => ("Coverage", Depth::Deep, &["coverage", "symbol"]),
            Self::Links => ("Links", Depth::Deep, &["link"]),
            Self::Drift => ("Drift", Depth::Deep, &["drift"]),
            Self::History => ("History", Depth::Deep, &["history", "git"]),
            Self::Redundancy => ("Duplicates", Depth::Deep, &["redundancy", "duplicate"]),
            Self::Tasks => ("Open tasks", Depth::Deep, &["task"]),
        }
    }
}

/// Explains why a part is missing: stopped, not deep enough, or nothing to report.
pub(super) fn reason(report: &Report, part: ReportPart) -> String {
    let (name, least, words) = part.known();
    let was_stopped = report.missing.iter().any(|missing| {
        let missing = missing.to_lowercase();
        words.iter().any(|word| missing.contains(word))
    });
    if was_stopped {
        format!(
            "{name}: not in this report, because the call was stopped. Call again with more time."
        )
    } else if report.depth < least {
        let (has, needs) = (wording::depth(report.depth), wording::depth(least));
        format!("{name}: not in a {has} report. Use depth “{needs}”.")
    } else if part == ReportPart::History {
        "History: no git repository found.".to_owned()
    } else {
        format!("{name}: nothing found.")
    }
}

/// Text for an empty list: none, or none seen yet.
pub(super) fn none(report: &Report) -> &'static str {
    if report.complete { "None found" } else { "None seen yet; some folders were not read" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_absence_has_its_reason() {
        let at = |depth, missing: &[&str]| Report {
            depth,
            missing: missing.iter().map(|&part| part.to_owned()).collect(),
            ..Report::default()
        };
        let cases = [
            (
                at(Depth::Quick, &[]),
                ReportPart::Links,
                "Links: not in a quick report. Use depth “deep”.",
            ),
            (
                at(Depth::Quick, &[]),
                ReportPart::Project,
                "Commands and entry points: not in a quick report. Use depth “standard”.",
            ),
            (
                at(Depth::Standard, &[]),
                ReportPart::Project,
                "Commands and entry points: nothing found.",
            ),
            (at(Depth::Deep, &[]), ReportPart::History, "History: no git repository found."),
            (
                at(Depth::Deep, &["Git history"]),
                ReportPart::History,
                "History: not in this report, because the call was stopped. Call again with more time.",
            ),
            (at(Depth::Deep, &["drift"]), ReportPart::Coverage, "Coverage: nothing found."),
        ];
        for (report, part, want) in cases {
            assert_eq!(reason(&report, part), want);
        }
    }
}
