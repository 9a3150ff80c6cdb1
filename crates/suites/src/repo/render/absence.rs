//! Why a part of the report is not there, in one plain line.

use super::wording;
use crate::repo::report::{Depth, Report};

/// A part of the report that may be absent.
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
    /// What it is called, the least depth that has it, and the words by which `missing` may name it.
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

/// Why the report lacks a part: it was stopped, it did not go deep enough, or there is nothing to tell.
pub(super) fn reason(report: &Report, part: ReportPart) -> String {
    let (name, least, words) = part.known();
    let was_stopped = report.missing.iter().any(|missing| {
        let missing = missing.to_lowercase();
        words.iter().any(|word| missing.contains(word))
    });
    if was_stopped {
        format!(
            "{name}: not in this report, because the call was stopped. Ask again with more time."
        )
    } else if report.depth < least {
        let (has, needs) = (wording::depth(report.depth), wording::depth(least));
        format!("{name}: not in a {has} report. Ask for depth “{needs}”.")
    } else if part == ReportPart::History {
        "History: no git repository was found here.".to_owned()
    } else {
        format!("{name}: nothing was found.")
    }
}

/// What to say where a list is empty: none, or none yet seen.
pub(super) fn none(report: &Report) -> &'static str {
    if report.complete { "None found" } else { "None seen; not every folder was read" }
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
                "Links: not in a quick report. Ask for depth “deep”.",
            ),
            (
                at(Depth::Quick, &[]),
                ReportPart::Project,
                "Commands and entry points: not in a quick report. Ask for depth “standard”.",
            ),
            (
                at(Depth::Standard, &[]),
                ReportPart::Project,
                "Commands and entry points: nothing was found.",
            ),
            (at(Depth::Deep, &[]), ReportPart::History, "History: no git repository was found here."),
            (
                at(Depth::Deep, &["Git history"]),
                ReportPart::History,
                "History: not in this report, because the call was stopped. Ask again with more time.",
            ),
            (at(Depth::Deep, &["drift"]), ReportPart::Coverage, "Coverage: nothing was found."),
        ];
        for (report, part, want) in cases {
            assert_eq!(reason(&report, part), want);
        }
    }
}
