//! What the documentation lacks, ranked by what it costs a newcomer. Judges the report; reads nothing.

use super::{
    report::{Depth, Gap, Report, Severity},
    text::counted,
};

fn gap(
    severity: Severity,
    gap: impl Into<String>,
    cost: &str,
    next_step: impl Into<String>,
) -> Gap {
    Gap { gap: gap.into(), cost: cost.into(), severity, next_step: next_step.into() }
}

/// Every gap, costliest first.
pub(super) fn find(report: &Report) -> Vec<Gap> {
    let mut gaps = Vec::new();
    readme(report, &mut gaps);
    project(report, &mut gaps);
    documents(report, &mut gaps);
    // Stable: within one severity the order above is the ranking.
    gaps.sort_by_key(|gap| gap.severity);
    gaps
}

fn readme(report: &Report, gaps: &mut Vec<Gap>) {
    if report.presence.readme.is_none() {
        gaps.push(gap(
            Severity::High,
            "No README",
            "A newcomer can't tell what this is or how to start.",
            "Write README.md: what it is, how to install it, one example, how to test it, the licence.",
        ));
    }
    let Some(readme) = &report.readme else { return };
    if readme.words < 30 {
        gaps.push(gap(
            Severity::High,
            format!("The README has {}", counted(readme.words, "word")),
            "It names the project and does not explain it.",
            "Say in the README what the project does, for whom, and what it is not for.",
        ));
    }
    let topics = [
        (
            "installation",
            Severity::High,
            "The first hour goes into getting it to run.",
            "Add the commands that install it on a fresh machine.",
        ),
        (
            "usage",
            Severity::High,
            "Nobody sees what it can do for them.",
            "Add one complete example with its output.",
        ),
        (
            "tests",
            Severity::Medium,
            "A first change can't be checked.",
            "Add the command that runs the tests.",
        ),
    ];
    for (topic, severity, cost, step) in topics {
        if readme.lacks.iter().any(|lack| lack == topic) {
            gaps.push(gap(
                severity,
                format!("The README says nothing of {topic}"),
                cost,
                format!("README: {step}"),
            ));
        }
    }
}

fn project(report: &Report, gaps: &mut Vec<Gap>) {
    let presence = &report.presence;
    if presence.licence.is_none() && presence.licence_id.is_none() {
        let cost = "Without one, others may not use, change or share it.";
        gaps.push(gap(
            Severity::High,
            "No licence",
            cost,
            "Choose a licence and put its text into LICENSE.",
        ));
    } else if presence.licence.is_none() {
        let cost = "A manifest names a licence whose text does not come with the project.";
        gaps.push(gap(
            Severity::Low,
            "No licence file",
            cost,
            "Put the licence's text into LICENSE.",
        ));
    }
    let has_code = report.primary_language.is_some();
    // Tests may stand in sources that were not reached.
    let looked = report.missing.is_empty();
    if has_code && looked && presence.test_files == 0 && presence.inline_test_files == 0 {
        let what =
            if report.depth == Depth::Quick { "No test files by name" } else { "No tests found" };
        let cost = "Tests are the documentation that can't be wrong; there is none.";
        gaps.push(gap(
            Severity::Medium,
            what,
            cost,
            "Write a test for the main path, and the command that runs it.",
        ));
    }
    if has_code && presence.ci.is_empty() {
        let cost = "Nobody knows whether the instructions still work.";
        gaps.push(gap(
            Severity::Low,
            "No continuous integration",
            cost,
            "Run build and tests on every change.",
        ));
    }
}

fn documents(report: &Report, gaps: &mut Vec<Gap>) {
    let presence = &report.presence;
    if let Some(contents) = &report.contents
        && contents.broken_link_count > 0
    {
        let first = contents
            .broken_links
            .first()
            .map_or(String::new(), |link| format!(", first at {}:{}", link.path, link.line));
        gaps.push(gap(
            Severity::Medium,
            counted(contents.broken_link_count, "broken relative link"),
            "Readers end at pages that are not there.",
            format!("Mend or remove the broken links{first}."),
        ));
    }
    let large = report.structure.files > 30;
    if large && presence.docs_folders.is_empty() {
        let cost = "Beyond the README, the source is the only explanation.";
        gaps.push(gap(
            Severity::Medium,
            "No folder of documentation",
            cost,
            "Start docs/ with a tour of the source and one how-to.",
        ));
    }
    if let Some(lines) = report
        .languages
        .iter()
        .find(|l| Some(&l.name) == report.primary_language.as_ref())
        .and_then(|l| l.lines)
        && lines.code > 1000
        && lines.comments * 50 < lines.code
    {
        let language = report.primary_language.as_deref().unwrap_or("source");
        gaps.push(gap(
            Severity::Low,
            format!("{} comment lines for {} lines of {language}", lines.comments, lines.code),
            "Why the code is as it is has to be guessed.",
            "Document the public types and functions of the most used module first.",
        ));
    }
    if presence.contributing.is_none() {
        let cost = "Contributors have to ask how changes are made here.";
        gaps.push(gap(
            Severity::Low,
            "No contributor's guide",
            cost,
            "Write CONTRIBUTING.md: set-up, tests, style, review.",
        ));
    }
    if presence.changelog.is_none() {
        let cost = "Users can't tell what an upgrade changes.";
        gaps.push(gap(
            Severity::Low,
            "No changelog",
            cost,
            "Start CHANGELOG.md with the current version.",
        ));
    }
}

/// What to do next, in order: the costliest gaps, then how to learn more.
pub(super) fn next_steps(report: &Report) -> Vec<String> {
    let mut steps: Vec<String> =
        report.gaps.iter().take(5).map(|gap| gap.next_step.clone()).collect();
    if !report.missing.is_empty() {
        let lighter = if report.depth == Depth::Quick { "" } else { "depth `quick` or " };
        steps.push(format!(
            "Call again with {lighter}a folder inside this one for a complete answer in time."
        ));
    } else if report.depth < Depth::Deep {
        steps.push("Call again with depth `deep` for open tasks and broken links.".into());
    }
    steps
}
