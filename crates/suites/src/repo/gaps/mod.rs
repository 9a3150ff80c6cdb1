//! Documentation gaps, ranked by their impact on a newcomer. Evaluates the report; reads nothing.

mod documents;
mod project;
mod readme;

use super::report::{CommandPurpose, Depth, Gap, ProjectCommand, ProjectKind, Report, Severity};

/// Maximum number of next steps, including how to learn more.
const MAX_NEXT_STEPS: usize = 7;

/// Next step that suggests the `standard` depth.
const STANDARD_DEPTH_STEP: &str = "Call again with depth `standard` for dependencies, commands, license and \
    README gaps.";
const DEEP_DEPTH_STEP: &str = "Call again with depth `deep` for undocumented symbols, broken links, outdated \
    documents and history.";

/// A rule that checks the report for gaps.
type Rule = fn(&Report) -> Vec<Gap>;

/// Rules in order of impact within one severity: first whether a newcomer may and can start, then whether the documents
/// are true, then what takes longer than it should.
const GAP_RULES: &[Rule] = &[
    readme::missing,
    project::licence,
    readme::nearly_empty,
    readme::items,
    documents::broken_links,
    documents::stale,
    project::licences_disagree,
    project::tests,
    documents::reference,
    documents::folder,
    documents::tutorial,
    documents::outdated,
    documents::coverage,
    project::hot_spots,
    project::lock_file,
    project::bus_factor,
    project::continuous_integration,
    documents::changelog,
    project::contributing,
    documents::redundant,
    documents::unlabelled,
];

/// Finds all gaps, most important first.
pub(super) fn find(report: &Report) -> Vec<Gap> {
    let mut gaps: Vec<Gap> = GAP_RULES.iter().flat_map(|rule| rule(report)).collect();
    // Stable: within one severity the order of the rules is the ranking.
    gaps.sort_by_key(|gap| gap.severity);
    gaps
}

/// Returns the next steps in order: the most important gaps, then how to learn more.
pub(super) fn next_steps(report: &Report) -> Vec<String> {
    let more = learn_more(report);
    let room = MAX_NEXT_STEPS - more.len();
    let steps = report.gaps.iter().map(|gap| gap.next_step.clone());
    steps.take(room).chain(more).collect()
}

/// Suggests how to get a more complete report.
fn learn_more(report: &Report) -> Vec<String> {
    let site = report.documentation.as_ref().and_then(|it| it.suggested_site.as_ref());
    let site = site.map(|site| {
        format!(
            "Consider a documentation site with {} (`{}`): {}.",
            site.name, site.start, site.reason
        )
    });
    let again = if !report.missing.is_empty() || !report.complete {
        let lighter = match report.depth {
            Depth::Quick => "",
            Depth::Standard => "depth `quick`, or with ",
            Depth::Deep => "depth `standard`, or with ",
        };
        let missing = if report.missing.is_empty() {
            String::new()
        } else {
            format!(" (missing: {})", report.missing.join(", "))
        };
        Some(format!(
            "Call again with {lighter}a folder inside this one: this report is incomplete{missing}."
        ))
    } else {
        match report.depth {
            Depth::Quick => Some(STANDARD_DEPTH_STEP.into()),
            Depth::Standard => Some(DEEP_DEPTH_STEP.into()),
            Depth::Deep => None,
        }
    };
    site.into_iter().chain(again).collect()
}

fn gap(
    severity: Severity,
    gap: impl Into<String>,
    cost: &str,
    next_step: impl Into<String>,
) -> Gap {
    Gap { gap: gap.into(), cost: cost.into(), severity, next_step: next_step.into() }
}

/// Whether something not found is really absent.
fn can_be_absent(report: &Report) -> bool {
    report.complete
}

/// Whether there is code to build, test and run.
fn has_code(report: &Report) -> bool {
    let kind = report.project.as_ref().map(|project| project.kind);
    let idle = matches!(kind, Some(ProjectKind::Documentation | ProjectKind::Data));
    !idle && report.primary_language.is_some()
}

/// Returns the best known command for a purpose, in the outermost folder.
fn command(report: &Report, purpose: CommandPurpose) -> Option<&ProjectCommand> {
    let commands = report.project.as_ref()?.commands.iter();
    let mut fitting = commands.filter(|command| command.purpose == purpose);
    let first = fitting.next()?;
    if first.folder == "." {
        return Some(first);
    }
    fitting.find(|command| command.folder == ".").or(Some(first))
}

/// Describes a command and its source.
fn describe_command(command: &ProjectCommand) -> String {
    let folder =
        if command.folder == "." { String::new() } else { format!(" in {}", command.folder) };
    format!("`{}`{folder} (from {})", command.command, command.source)
}

/// Formats a count with its noun.
fn counted(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

#[cfg(test)]
mod tests;
