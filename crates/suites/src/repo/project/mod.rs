//! Classifies a project, and finds how to build, test and run it.
//!
//! Owns all these conclusions; reads through the `sources` module, which checks each name once.

mod ci;
mod commands;
mod defaults;
mod entry_points;
mod environment;
mod frameworks;
mod kind;
mod purpose;
mod readme;
mod runners;
mod shell;
mod sources;
mod summary;
mod toolchain;

use super::{
    report::{EntryPoint, Manifest, Presence, Project, ProjectCommand, ProjectKind},
    tree::{HaltCheck, ProjectTree},
};
use crate::files::ReadFailure;
use commands::AvailableTargets;
use sources::ProjectSources;

/// Analyzes manifests, task runners, continuous integration and the README.
pub(super) fn describe(
    tree: &ProjectTree,
    manifests: &[Manifest],
    presence: &Presence,
    halt: HaltCheck<'_>,
) -> (Project, Vec<ReadFailure>) {
    let mut sources = ProjectSources::gather(tree, manifests, presence, halt);
    let mut problems = std::mem::take(&mut sources.problems);
    let summary = summary::describe(&sources);
    let entry_points = entry_points::find(&sources);
    let frameworks = frameworks::find(&sources);
    let (kind, because) = kind::judge(&sources, &frameworks, &entry_points, summary.as_deref());
    let commands = commands(&sources, &entry_points, kind, &mut problems);
    let (toolchain, troubles) = toolchain::find(&sources);
    problems.extend(troubles);
    let (environment, troubles) = environment::find(&sources);
    problems.extend(troubles);
    let frameworks = frameworks::names(&frameworks);
    let project = Project {
        kind,
        because,
        summary,
        frameworks,
        entry_points,
        commands,
        toolchain,
        environment,
    };
    (project, problems)
}

fn commands(
    sources: &ProjectSources<'_>,
    entry_points: &[EntryPoint],
    kind: ProjectKind,
    problems: &mut Vec<ReadFailure>,
) -> Vec<ProjectCommand> {
    let (offers, troubles) = runners::offers(sources);
    problems.extend(troubles);
    let mut candidates = commands::from_offers(sources, &offers);
    let workshop = AvailableTargets::new(sources, &offers);
    candidates.extend(readme::commands(sources, &workshop, kind));
    candidates.extend(defaults::commands(sources, entry_points));
    let (lines, troubles) = ci::commands(sources);
    problems.extend(troubles);
    candidates.extend(lines);
    commands::rank(sources, candidates)
}

#[cfg(test)]
mod tests;
