//! Full report as Markdown: facts, gaps, next steps, then details.

mod checks;
mod code;
mod documents;
mod facts;
mod history;
mod packages;
mod text;

use super::{
    absence::{ReportPart, reason},
    figures::to_u64,
    markup::{MarkupBuffer, put},
    wording,
};
use crate::repo::report::Report;
use text::{prose, table, words};

/// Renders the report as Markdown.
pub fn markdown(report: &Report) -> String {
    let mut out = MarkupBuffer::default();
    facts::write(&mut out, report);
    gaps(&mut out, report);
    code::commands(&mut out, report);
    code::write(&mut out, report);
    packages::write(&mut out, report);
    documents::write(&mut out, report);
    checks::coverage(&mut out, report);
    checks::links(&mut out, report);
    checks::drift(&mut out, report);
    checks::redundancy(&mut out, report);
    history::write(&mut out, report);
    limits(&mut out, report);
    format!("{}\n", out.finish().trim_end())
}

/// Explains why a part is missing.
fn absent(out: &mut MarkupBuffer, report: &Report, part: ReportPart) {
    put!(out, "{}\n\n", reason(report, part));
}

fn gaps(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Gaps\n\n");
    if report.gaps.is_empty() {
        let note = if report.complete {
            "No gaps found.\n\n"
        } else {
            "Gaps are unknown: some folders were not read.\n\n"
        };
        put!(out, "{note}");
    }
    let rows = report.gaps.iter().map(|gap| {
        vec![
            wording::severity(gap.severity).to_owned(),
            prose(&gap.gap),
            prose(&gap.cost),
            prose(&gap.next_step),
        ]
    });
    table(out, &["Severity", "Gap", "Impact", "What to do"], rows, to_u64(report.gaps.len()));
    if !report.next_steps.is_empty() {
        put!(out, "## Next steps\n\n");
        for (index, step) in report.next_steps.iter().enumerate() {
            put!(out, "{}. {}\n", index + 1, prose(step));
        }
        put!(out, "\n");
    }
}

/// Writes what this report does not cover, and why.
fn limits(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Limits\n\n");
    if !report.complete {
        put!(out, "Some folders were not read. Things that are not listed may still exist.\n\n");
    }
    if !report.missing.is_empty() {
        put!(out, "### Not finished\n\n");
        text::list(out, report.missing.iter().map(|part| words(part)));
    }
    let count = report.problem_count.max(to_u64(report.problems.len()));
    if count == 0 {
        put!(out, "Everything was read.\n\n");
        return;
    }
    put!(out, "### Could not be read\n\n");
    let rows = report.problems.iter().map(|one| vec![text::code(&one.path), prose(&one.reason)]);
    table(out, &["Path", "Problem"], rows, count);
}

#[cfg(test)]
mod tests;
