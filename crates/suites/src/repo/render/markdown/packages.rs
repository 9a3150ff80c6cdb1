//! Manifests and their dependencies.

use super::{
    absent,
    text::{code, places, table, words},
};
use crate::repo::{
    render::{
        absence::{ReportPart, none},
        figures::{count, counted, to_u64},
        markup::{MarkupBuffer, put},
        wording,
    },
    report::{DependencySummary, Report},
};

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Packages\n\n");
    match &report.dependencies {
        Some(summary) => sum_up(out, summary),
        None => absent(out, report, ReportPart::Dependencies),
    }
    put!(out, "### Manifests\n\n");
    if report.manifests.is_empty() {
        put!(out, "{}.\n\n", none(report));
    }
    // Without a summary, no manifest was read: its count is unknown, not zero.
    let is_read = report.dependencies.is_some();
    let asked = |found| if is_read { count(to_u64(found)) } else { String::new() };
    let rows = report.manifests.iter().map(|one| {
        let text = |value: &Option<String>| value.as_deref().map(words).unwrap_or_default();
        let path = |value: &Option<String>| value.as_deref().map(code).unwrap_or_default();
        vec![
            code(&one.path),
            path(&one.name),
            path(&one.version),
            words(one.manager.as_deref().unwrap_or(&one.ecosystem)),
            text(&one.licence),
            text(&one.description),
            path(&one.lock_file),
            path(&one.workspace),
            places(&one.members),
            asked(one.dependencies.len()),
        ]
    });
    let columns = [
        "Manifest",
        "Name",
        "Version",
        "Manager",
        "Licence",
        "About",
        "Lock file",
        "Workspace",
        "Members",
        "#Dependencies",
    ];
    table(out, &columns, rows, report.manifest_count.max(to_u64(report.manifests.len())));
    let all: u64 = report.manifests.iter().map(|one| to_u64(one.dependencies.len())).sum();
    if all > 0 {
        put!(out, "### Dependencies\n\n");
        let asked = report
            .manifests
            .iter()
            .flat_map(|one| one.dependencies.iter().map(move |asked| (one, asked)));
        let rows = asked.map(|(manifest, one)| {
            vec![
                code(&one.name),
                code(one.requirement.as_deref().unwrap_or_default()),
                code(one.locked.as_deref().unwrap_or_default()),
                wording::purpose(one.purpose).to_owned(),
                code(&manifest.path),
            ]
        });
        table(out, &["Package", "Requirement", "Locked", "For", "Manifest"], rows, all);
    }
}

fn sum_up(out: &mut MarkupBuffer, summary: &DependencySummary) {
    put!(
        out,
        "{} direct, {} for development only, {} locked.\n\n",
        counted(summary.direct, "package is", "packages are"),
        count(summary.development),
        count(summary.locked)
    );
    if !summary.internal.is_empty() {
        put!(out, "### Dependencies between packages here\n\n");
        let rows = summary.internal.iter().map(|edge| vec![code(&edge.from), code(&edge.to)]);
        table(out, &["Manifest", "Depends on"], rows, to_u64(summary.internal.len()));
    }
    if !summary.most_used.is_empty() {
        put!(out, "### Most used dependencies\n\n");
        let rows = summary
            .most_used
            .iter()
            .map(|one| vec![code(&one.name), words(&one.ecosystem), count(one.by)]);
        table(out, &["Package", "Ecosystem", "#By"], rows, to_u64(summary.most_used.len()));
    }
    if !summary.lock_files.is_empty() {
        put!(out, "### Lock files\n\n");
        let rows = summary
            .lock_files
            .iter()
            .map(|one| vec![code(&one.path), words(&one.ecosystem), count(one.packages)]);
        table(out, &["File", "Ecosystem", "#Packages"], rows, to_u64(summary.lock_files.len()));
    }
}
