//! Documentation gaps and next steps.

use super::{
    super::{
        markup::{MarkupBuffer, prose, put},
        table::mark,
    },
    note,
};
use crate::repo::{
    render::figures::{counted, to_u64},
    report::Report,
};

pub(super) fn brief(report: &Report) -> String {
    match report.gaps.len() {
        0 => String::new(),
        found => format!("{}, most important first.", counted(to_u64(found), "gap", "gaps")),
    }
}

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    if report.gaps.is_empty() {
        note(
            out,
            if report.complete {
                "No gaps found."
            } else {
                "Gaps are unknown: some folders were not read."
            },
        );
    } else {
        put!(out, "<ol class=\"gaps\">");
        for gap in &report.gaps {
            put!(out, "<li>");
            mark(out, gap.severity);
            put!(
                out,
                "<div><p class=\"gap\">{}</p><p class=\"soft\">{}</p><p class=\"step\">{}</p></div></li>",
                prose(&gap.gap),
                prose(&gap.cost),
                prose(&gap.next_step)
            );
        }
        put!(out, "</ol>");
    }
    if !report.next_steps.is_empty() {
        put!(out, "<h3>What to do next</h3><ol class=\"steps\">");
        for step in &report.next_steps {
            put!(out, "<li><span>{}</span></li>", prose(step));
        }
        put!(out, "</ol>");
    }
}
