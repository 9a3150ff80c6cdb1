//! The whole report as Markdown: facts, gaps, next steps, then details.

mod checks;
mod code;
mod documents;
mod facts;
mod history;
mod packages;
mod text;

use super::{
    absence::{ReportPart, reason},
    figures::whole,
    markup::{MarkupBuffer, put},
    wording,
};
use crate::repo::report::Report;
use text::{prose, table, words};

/// The report as Markdown.
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

/// Says why a part is not there.
fn absent(out: &mut MarkupBuffer, report: &Report, part: ReportPart) {
    put!(out, "{}\n\n", reason(report, part));
}

fn gaps(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Gaps\n\n");
    if report.gaps.is_empty() {
        let told = if report.complete {
            "No gaps were found.\n\n"
        } else {
            "No gaps can be told: not every folder was read.\n\n"
        };
        put!(out, "{told}");
    }
    let rows = report.gaps.iter().map(|gap| {
        vec![
            wording::severity(gap.severity).to_owned(),
            prose(&gap.gap),
            prose(&gap.cost),
            prose(&gap.next_step),
        ]
    });
    table(out, &["Cost", "Gap", "What it costs", "What to do"], rows, whole(report.gaps.len()));
    if !report.next_steps.is_empty() {
        put!(out, "## Next steps\n\n");
        for (index, step) in report.next_steps.iter().enumerate() {
            put!(out, "{}. {}\n", index + 1, prose(step));
        }
        put!(out, "\n");
    }
}

/// What this report does not tell, and why.
fn limits(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Limits\n\n");
    if !report.complete {
        put!(out, "Not every folder was seen. What is not listed may still be there.\n\n");
    }
    if !report.missing.is_empty() {
        put!(out, "### Stopped before\n\n");
        text::list(out, report.missing.iter().map(|part| words(part)));
    }
    let count = report.problem_count.max(whole(report.problems.len()));
    if count == 0 {
        put!(out, "Everything could be read.\n\n");
        return;
    }
    put!(out, "### Could not be read\n\n");
    let rows = report.problems.iter().map(|one| vec![text::code(&one.path), prose(&one.reason)]);
    table(out, &["Path", "What is wrong"], rows, count);
}

#[cfg(test)]
mod tests;
