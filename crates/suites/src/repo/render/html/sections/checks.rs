//! Results of reading every file: coverage, links, drift, duplicates.

use super::{
    super::{
        bars::{Bar, bars},
        heat,
        markup::{MarkupBuffer, text},
        table::{Cell, HtmlTable, more},
    },
    absent, heading, list, note,
};
use crate::repo::{
    render::{
        absence::ReportPart,
        figures::{bounded, count, counted, percent, to_u64},
        wording,
    },
    report::{Coverage, Report},
};

pub(super) fn coverage_brief(report: &Report) -> String {
    match &report.coverage {
        Some(found) if found.public > 0 => format!(
            "{} of {} are documented.",
            count(found.documented),
            counted(found.public, "public symbol", "public symbols")
        ),
        _ => String::new(),
    }
}

pub(super) fn coverage(out: &mut MarkupBuffer, report: &Report) {
    let Some(found) = &report.coverage else { return absent(out, report, ReportPart::Coverage) };
    if found.public == 0 {
        note(out, "No public symbols found in supported languages.");
    } else {
        shares(out, found);
    }
    if !found.not_read.is_empty() {
        note(out, &format!("Not read (unsupported languages): {}.", found.not_read.join(", ")));
    }
    if !found.undocumented.is_empty() {
        heading(out, "Without a doc comment");
        let rows = found
            .undocumented
            .iter()
            .map(|one| {
                vec![
                    Cell::Code(&one.symbol),
                    Cell::Word(&one.kind),
                    Cell::Place(&one.path, Some(one.line)),
                ]
            })
            .collect();
        let all = found.public.saturating_sub(found.documented);
        HtmlTable::new(
            "Public symbols without a doc comment",
            &["Symbol", "Kind", "Location"],
            rows,
        )
        .with_total(all)
        .write(out);
    }
}

fn shares(out: &mut MarkupBuffer, found: &Coverage) {
    heading(out, "By language");
    let shown: Vec<Bar<'_>> = found
        .languages
        .iter()
        .map(|one| Bar {
            name: &one.name,
            parts: vec![(bounded(one.percent) / 100.0, "a1")],
            value: percent(one.percent),
            note: format!("{} of {}", count(one.documented), count(one.public)),
        })
        .collect();
    bars(out, text("Documented symbols by language"), &shown);
    if !found.folders.is_empty() {
        heading(out, "By folder");
        heat::scale(out);
        let left = to_u64(heat::heat(out, &found.folders));
        more(out, left, 0);
    }
}

pub(super) fn links_brief(report: &Report) -> String {
    match &report.links {
        Some(links) => format!(
            "{} of {} are broken. {} to other hosts were not checked.",
            count(links.broken_count),
            counted(links.checked, "link", "links"),
            count(links.external)
        ),
        None => String::new(),
    }
}

pub(super) fn links(out: &mut MarkupBuffer, report: &Report) {
    let Some(links) = &report.links else { return absent(out, report, ReportPart::Links) };
    if links.broken.is_empty() && links.broken_count == 0 {
        return note(out, "All relative links, anchors and images are valid.");
    }
    let rows = links
        .broken
        .iter()
        .map(|one| {
            vec![
                Cell::Place(&one.path, Some(one.line)),
                Cell::Code(&one.target),
                Cell::Word(wording::link(one.problem)),
                Cell::code(one.suggestion.as_deref()),
            ]
        })
        .collect();
    HtmlTable::new("Broken links", &["Location", "Link", "Problem", "Did you mean"], rows)
        .with_total(links.broken_count)
        .write(out);
}

pub(super) fn drift_brief(report: &Report) -> String {
    match &report.drift {
        Some(drift) => format!(
            "{} of {} in documents no longer exist.",
            count(drift.stale_count),
            counted(drift.checked, "name", "names")
        ),
        None => String::new(),
    }
}

pub(super) fn drift(out: &mut MarkupBuffer, report: &Report) {
    let Some(drift) = &report.drift else { return absent(out, report, ReportPart::Drift) };
    if drift.stale.is_empty() && drift.outdated.is_empty() {
        return note(out, "No outdated documents found.");
    }
    if !drift.stale.is_empty() {
        heading(out, "Mentions of things that no longer exist");
        let rows = drift
            .stale
            .iter()
            .map(|one| {
                vec![
                    Cell::Cost(one.severity),
                    Cell::Place(&one.path, Some(one.line)),
                    Cell::Code(&one.mention),
                    Cell::Word(wording::mention(one.kind)),
                    Cell::Prose(&one.evidence),
                    Cell::code(one.suggestion.as_deref()),
                ]
            })
            .collect();
        let columns = ["Confidence", "Location", "Mention", "Kind", "Why", "Did you mean"];
        HtmlTable::new("Mentions of things that no longer exist", &columns, rows)
            .with_total(drift.stale_count)
            .write(out);
    }
    if !drift.outdated.is_empty() {
        heading(out, "Documents older than their code");
        let rows = drift
            .outdated
            .iter()
            .map(|one| {
                vec![
                    Cell::Place(&one.path, None),
                    Cell::Word(&one.last_change),
                    Cell::Number(one.changes),
                    Cell::Places(&one.changed),
                ]
            })
            .collect();
        let columns = ["Document", "Last changed", "Changes since", "Files that changed"];
        HtmlTable::new("Documents older than their code", &columns, rows).write(out);
    }
}

pub(super) fn redundancy_brief(report: &Report) -> String {
    match &report.redundancy {
        Some(_) => "Duplicate, unlinked and empty documents.".to_owned(),
        None => String::new(),
    }
}

pub(super) fn redundancy(out: &mut MarkupBuffer, report: &Report) {
    let Some(found) = &report.redundancy else {
        return absent(out, report, ReportPart::Redundancy);
    };
    if found.duplicates.is_empty() && found.dead.is_empty() && found.empty.is_empty() {
        return note(out, "No duplicate, unlinked or empty documents found.");
    }
    if !found.duplicates.is_empty() {
        heading(out, "Similar documents");
        let rows = found
            .duplicates
            .iter()
            .map(|one| {
                vec![
                    Cell::Place(&one.one, None),
                    Cell::Place(&one.other, None),
                    Cell::Share(one.alike),
                ]
            })
            .collect();
        HtmlTable::new("Similar documents", &["One", "Other", "Similarity"], rows).write(out);
    }
    for (title, paths) in [("Not linked", &found.dead), ("Almost empty", &found.empty)] {
        if !paths.is_empty() {
            heading(out, title);
            list(out, paths);
        }
    }
}
