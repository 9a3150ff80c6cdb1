//! Project facts.

use super::text::{code, places, table, words};
use crate::repo::{
    render::{
        absence::none,
        figures::{count, counted, percent, size},
        markup::{MarkupBuffer, put},
        wording,
    },
    report::{Presence, Report},
};

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    let name = if report.name.is_empty() { "Repository" } else { &report.name };
    put!(out, "# {}\n\n", words(name));
    if let Some(summary) = report.project.as_ref().and_then(|project| project.summary.as_ref()) {
        put!(out, "{}\n\n", words(summary));
    }
    put!(out, "## Facts\n\n");
    let mut rows: Vec<(&str, String)> = Vec::new();
    project(&mut rows, report);
    structure(&mut rows, report);
    presence(&mut rows, report, &report.presence);
    figures(&mut rows, report);
    let path = if report.path.is_empty() { "." } else { &report.path };
    rows.push(("Analysed", format!("{}, depth {}", code(path), wording::depth(report.depth))));
    let all = crate::repo::render::figures::to_u64(rows.len());
    table(
        out,
        &["Fact", "Value"],
        rows.into_iter().map(|(fact, value)| vec![fact.to_owned(), value]),
        all,
    );
}

fn project(rows: &mut Vec<(&str, String)>, report: &Report) {
    if let Some(project) = &report.project {
        if let Some(kind) = wording::project(project.kind) {
            rows.push(("Kind", format!("{kind}: {}", words(&project.because))));
        }
        if !project.frameworks.is_empty() {
            rows.push(("Built on", words(&project.frameworks.join(", "))));
        }
    }
    if let Some(language) = &report.primary_language {
        rows.push(("Primary language", words(language)));
    }
    if !report.ecosystems.is_empty() {
        rows.push(("Ecosystems", words(&report.ecosystems.join(", "))));
    }
}

fn structure(rows: &mut Vec<(&str, String)>, report: &Report) {
    let structure = &report.structure;
    let files = counted(structure.files, "file", "files");
    let folders = counted(structure.folders, "folder", "folders");
    let links = counted(structure.links, "symbolic link", "symbolic links");
    rows.push(("Size", format!("{files} in {folders}, {}, {links}", size(structure.bytes))));
    if !structure.skipped.is_empty() {
        rows.push(("Skipped", places(&structure.skipped)));
    }
    if !structure.submodules.is_empty() {
        rows.push(("Submodules", places(&structure.submodules)));
    }
}

fn presence(rows: &mut Vec<(&str, String)>, report: &Report, presence: &Presence) {
    let missing = || none(report).to_owned();
    let file = |file: &Option<String>| file.as_ref().map_or_else(missing, |file| code(file));
    let folders = |all: &[String]| if all.is_empty() { missing() } else { places(all) };
    rows.push((
        "License",
        match (&presence.licence_id, &presence.licence) {
            (Some(id), Some(file)) => format!("{} in {}", words(id), code(file)),
            (Some(id), None) => format!("{} from a manifest only", words(id)),
            (None, found) => file(found),
        },
    ));
    rows.push(("README", file(&presence.readme)));
    rows.push(("Changelog", file(&presence.changelog)));
    rows.push(("Contributing guide", file(&presence.contributing)));
    let tests = if presence.test_files + presence.inline_test_files == 0 {
        missing()
    } else {
        let files = counted(presence.test_files, "file", "files");
        let inline = counted(presence.inline_test_files, "source file", "source files");
        format!("{files}, and in {inline}; {}", places(&presence.test_places))
    };
    rows.push(("Tests", tests));
    rows.push(("Continuous integration", folders(&presence.ci)));
    rows.push(("Documentation folders", folders(&presence.docs_folders)));
    rows.push(("Documents", count(presence.document_files)));
    rows.push((
        "Documentation site",
        presence.docs_site.as_ref().map_or_else(missing, |name| words(name)),
    ));
}

fn figures(rows: &mut Vec<(&str, String)>, report: &Report) {
    if let Some(readme) = report.documentation.as_ref().and_then(|one| one.readme.as_ref()) {
        rows.push(("README score", format!("{} out of 100", readme.score)));
    }
    if let Some(coverage) = &report.coverage {
        let symbols = counted(coverage.public, "public symbol", "public symbols");
        rows.push(("Coverage", format!("{} of {symbols}", percent(coverage.percent))));
    }
    if let Some(links) = &report.links {
        rows.push(("Broken links", count(links.broken_count)));
    }
    if let Some(drift) = &report.drift {
        rows.push(("Mentions of things that no longer exist", count(drift.stale_count)));
    }
    if let Some(history) = &report.history {
        rows.push(("Bus factor", count(history.bus_factor)));
    }
}
