//! Results of reading every file: coverage, links, drift, duplicates.

use super::{
    absent,
    text::{code, list, place, places, prose, table, words},
};
use crate::repo::{
    render::{
        absence::ReportPart,
        figures::{count, counted, percent, to_u64},
        markup::{MarkupBuffer, put},
        wording,
    },
    report::{Covered, Report},
};

pub(super) fn coverage(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Coverage\n\n");
    let Some(found) = &report.coverage else { return absent(out, report, ReportPart::Coverage) };
    put!(
        out,
        "{} of {} are documented ({}).\n\n",
        count(found.documented),
        counted(found.public, "public symbol", "public symbols"),
        percent(found.percent)
    );
    if !found.not_read.is_empty() {
        let languages = words(&found.not_read.join(", "));
        put!(out, "Not read (unsupported languages): {languages}.\n\n");
    }
    for (title, parts, is_path) in
        [("Language", &found.languages, false), ("Folder", &found.folders, true)]
    {
        let row = |one: &Covered| {
            let name = if is_path { code(&one.name) } else { words(&one.name) };
            vec![name, count(one.public), count(one.documented), percent(one.percent)]
        };
        table(
            out,
            &[title, "#Public", "#Documented", "#Share"],
            parts.iter().map(row),
            to_u64(parts.len()),
        );
    }
    if !found.undocumented.is_empty() {
        put!(out, "### Without a doc comment\n\n");
        let rows = found
            .undocumented
            .iter()
            .map(|one| vec![code(&one.symbol), words(&one.kind), place(&one.path, Some(one.line))]);
        let all =
            found.public.saturating_sub(found.documented).max(to_u64(found.undocumented.len()));
        table(out, &["Symbol", "Kind", "Location"], rows, all);
    }
}

pub(super) fn links(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Links\n\n");
    let Some(links) = &report.links else { return absent(out, report, ReportPart::Links) };
    put!(
        out,
        "{} of {} are broken. {} to other hosts were not checked.\n\n",
        count(links.broken_count),
        counted(links.checked, "link", "links"),
        count(links.external)
    );
    let rows = links.broken.iter().map(|one| {
        vec![
            place(&one.path, Some(one.line)),
            code(&one.target),
            wording::link(one.problem).to_owned(),
            code(one.suggestion.as_deref().unwrap_or_default()),
        ]
    });
    let all = links.broken_count.max(to_u64(links.broken.len()));
    table(out, &["Location", "Link", "Problem", "Did you mean"], rows, all);
}

pub(super) fn drift(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Drift\n\n");
    let Some(drift) = &report.drift else { return absent(out, report, ReportPart::Drift) };
    put!(
        out,
        "{} of {} in documents no longer exist.\n\n",
        count(drift.stale_count),
        counted(drift.checked, "name", "names")
    );
    let rows = drift.stale.iter().map(|one| {
        vec![
            wording::severity(one.severity).to_owned(),
            place(&one.path, Some(one.line)),
            code(&one.mention),
            wording::mention(one.kind).to_owned(),
            prose(&one.evidence),
            code(one.suggestion.as_deref().unwrap_or_default()),
        ]
    });
    let all = drift.stale_count.max(to_u64(drift.stale.len()));
    table(out, &["Confidence", "Location", "Mention", "Kind", "Why", "Did you mean"], rows, all);
    if !drift.outdated.is_empty() {
        put!(out, "### Documents older than their code\n\n");
        let rows = drift.outdated.iter().map(|one| {
            vec![code(&one.path), words(&one.last_change), count(one.changes), places(&one.changed)]
        });
        let columns = ["Document", "Last changed", "#Changes since", "Files that changed"];
        table(out, &columns, rows, to_u64(drift.outdated.len()));
    }
}

pub(super) fn redundancy(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Duplicates\n\n");
    let Some(found) = &report.redundancy else {
        return absent(out, report, ReportPart::Redundancy);
    };
    if found.duplicates.is_empty() && found.dead.is_empty() && found.empty.is_empty() {
        put!(out, "No duplicate, unlinked or empty documents found.\n\n");
    }
    let rows = found
        .duplicates
        .iter()
        .map(|one| vec![code(&one.one), code(&one.other), percent(one.alike)]);
    table(out, &["One", "Other", "#Similarity"], rows, to_u64(found.duplicates.len()));
    for (title, paths) in [("Not linked", &found.dead), ("Almost empty", &found.empty)] {
        if !paths.is_empty() {
            put!(out, "### {title}\n\n");
            list(out, paths.iter().map(|path| code(path)));
        }
    }
}
