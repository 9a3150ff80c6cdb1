//! What this report does not cover, and why.

use super::{
    super::{
        markup::{MarkupBuffer, put, text},
        table::{Cell, HtmlTable},
    },
    heading, note,
};
use crate::repo::{
    render::{
        figures::{counted, to_u64},
        wording,
    },
    report::{Depth, Report},
};

pub(super) fn brief(_report: &Report) -> String {
    "What this report does not cover, and why.".to_owned()
}

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    if report.depth < Depth::Deep {
        let depth = wording::depth(report.depth);
        note(
            out,
            &format!(
                "This is a {depth} report. Depth “deep” adds coverage, links, drift, duplicates and history."
            ),
        );
    }
    if !report.complete {
        note(out, "Some folders were not read. Things that are not listed may still exist.");
    }
    if !report.missing.is_empty() {
        heading(out, "Not finished");
        put!(out, "<ul class=\"plain\">");
        for part in &report.missing {
            put!(out, "<li>{}</li>", text(part));
        }
        put!(out, "</ul>");
    }
    heading(out, "Could not be read");
    let count = report.problem_count.max(to_u64(report.problems.len()));
    if count == 0 {
        return note(out, "Everything was read.");
    }
    note(out, &format!("{}.", counted(count, "problem", "problems")));
    let rows = report
        .problems
        .iter()
        .map(|one| vec![Cell::Place(&one.path, None), Cell::Prose(&one.reason)])
        .collect();
    HtmlTable::new("Could not be read", &["Path", "Problem"], rows).with_total(count).write(out);
}
