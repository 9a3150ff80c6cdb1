//! The sections of the page, in reading order.

mod checks;
mod code;
mod documents;
mod gaps;
mod history;
mod limits;
mod overview;
mod packages;
mod start;

use super::markup::{MarkupBuffer, put, text};
use crate::repo::{
    render::absence::{ReportPart, reason},
    report::Report,
};
pub(super) use code::code_lines;

/// A section: title, one-line summary, and contents.
pub(super) struct ReportPageSection {
    /// Id in the page.
    pub(super) id: &'static str,
    /// Its heading.
    pub(super) title: &'static str,
    /// Summary line below the heading; may be empty.
    pub(super) brief: fn(&Report) -> String,
    /// Its contents.
    pub(super) write: fn(&mut MarkupBuffer, &Report),
}

/// All sections.
pub(super) const SECTIONS: [ReportPageSection; 12] = [
    ReportPageSection {
        id: "overview",
        title: "Overview",
        brief: overview::brief,
        write: overview::write,
    },
    ReportPageSection { id: "gaps", title: "Gaps", brief: gaps::brief, write: gaps::write },
    ReportPageSection {
        id: "start",
        title: "Getting started",
        brief: start::brief,
        write: start::write,
    },
    ReportPageSection { id: "code", title: "Code", brief: code::brief, write: code::write },
    ReportPageSection {
        id: "packages",
        title: "Packages",
        brief: packages::brief,
        write: packages::write,
    },
    ReportPageSection {
        id: "documents",
        title: "Documents",
        brief: documents::brief,
        write: documents::write,
    },
    ReportPageSection {
        id: "coverage",
        title: "Coverage",
        brief: checks::coverage_brief,
        write: checks::coverage,
    },
    ReportPageSection {
        id: "links",
        title: "Links",
        brief: checks::links_brief,
        write: checks::links,
    },
    ReportPageSection {
        id: "drift",
        title: "Drift",
        brief: checks::drift_brief,
        write: checks::drift,
    },
    ReportPageSection {
        id: "duplicates",
        title: "Duplicates",
        brief: checks::redundancy_brief,
        write: checks::redundancy,
    },
    ReportPageSection {
        id: "history",
        title: "History",
        brief: history::brief,
        write: history::write,
    },
    ReportPageSection { id: "limits", title: "Limits", brief: limits::brief, write: limits::write },
];

/// Explains why a part is missing.
fn absent(out: &mut MarkupBuffer, report: &Report, part: ReportPart) {
    note(out, &reason(report, part));
}

/// Writes a note.
fn note(out: &mut MarkupBuffer, line: &str) {
    put!(out, "<p class=\"note\">{}</p>", text(line));
}

/// Writes a subsection heading.
fn heading(out: &mut MarkupBuffer, title: &str) {
    put!(out, "<h3>{}</h3>", text(title));
}

/// Writes a list of paths or names.
fn list(out: &mut MarkupBuffer, items: &[String]) {
    put!(out, "<ul class=\"paths\">");
    for item in items {
        put!(out, "<li><code>{}</code></li>", super::markup::path(item));
    }
    put!(out, "</ul>");
}
