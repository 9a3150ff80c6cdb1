//! Project facts in one list.

use super::super::markup::{MarkupBuffer, path, put, text};
use crate::repo::{
    render::{
        absence::none,
        figures::{count, counted, size},
        wording,
    },
    report::{Presence, Report},
};

pub(super) fn brief(_report: &Report) -> String {
    "Project type and standard files.".to_owned()
}

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "<dl class=\"facts\">");
    kind(out, report);
    let structure = &report.structure;
    row(out, "Size", |out| {
        let files = counted(structure.files, "file", "files");
        let folders = counted(structure.folders, "folder", "folders");
        put!(out, "{files} in {folders}, {}", size(structure.bytes));
        if structure.links > 0 {
            put!(out, ", {}", counted(structure.links, "symbolic link", "symbolic links"));
        }
    });
    if !report.ecosystems.is_empty() {
        row(out, "Ecosystems", |out| put!(out, "{}", text(&report.ecosystems.join(", "))));
    }
    presence(out, report, &report.presence);
    for (name, paths) in [("Skipped", &structure.skipped), ("Submodules", &structure.submodules)] {
        if !paths.is_empty() {
            row(out, name, |out| paths_in_line(out, paths));
        }
    }
    put!(out, "</dl>");
}

fn kind(out: &mut MarkupBuffer, report: &Report) {
    let project = report.project.as_ref();
    if let Some((project, name)) = project.and_then(|one| Some((one, wording::project(one.kind)?)))
    {
        row(out, "Kind", |out| {
            put!(out, "{name}");
            if !project.because.is_empty() {
                put!(out, " <span class=\"soft\">{}</span>", text(&project.because));
            }
        });
    }
    if let Some(project) = project.filter(|one| !one.frameworks.is_empty()) {
        row(out, "Built on", |out| put!(out, "{}", text(&project.frameworks.join(", "))));
    }
}

fn presence(out: &mut MarkupBuffer, report: &Report, presence: &Presence) {
    // Things that were not searched for may exist, so they are not highlighted.
    let class = if report.complete { "absent" } else { "soft" };
    let missing = format!("<span class=\"{class}\">{}</span>", none(report));
    row(out, "License", |out| match (&presence.licence_id, &presence.licence) {
        (Some(id), Some(file)) => put!(out, "{} <code>{}</code>", text(id), path(file)),
        (Some(id), None) => {
            put!(out, "{} <span class=\"soft\">from a manifest only</span>", text(id));
        }
        (None, Some(file)) => put!(out, "<code>{}</code>", path(file)),
        (None, None) => put!(out, "{missing}"),
    });
    let files = [
        ("README", &presence.readme),
        ("Changelog", &presence.changelog),
        ("Contributing guide", &presence.contributing),
    ];
    for (name, file) in files {
        row(out, name, |out| match file {
            Some(file) => put!(out, "<code>{}</code>", path(file)),
            None => put!(out, "{missing}"),
        });
    }
    row(out, "Tests", |out| {
        if presence.test_files + presence.inline_test_files == 0 {
            put!(out, "{missing}");
            return;
        }
        put!(out, "{}", counted(presence.test_files, "file", "files"));
        if presence.inline_test_files > 0 {
            put!(
                out,
                ", and in {}",
                counted(presence.inline_test_files, "source file", "source files")
            );
        }
        put!(out, " ");
        paths_in_line(out, &presence.test_places);
    });
    let folders = [
        ("Continuous integration", &presence.ci),
        ("Documentation folders", &presence.docs_folders),
    ];
    for (name, paths) in folders {
        row(out, name, |out| {
            if paths.is_empty() {
                put!(out, "{missing}");
            } else {
                paths_in_line(out, paths);
            }
        });
    }
    row(out, "Documents", |out| put!(out, "{}", count(presence.document_files)));
    row(out, "Documentation site", |out| match &presence.docs_site {
        Some(name) => put!(out, "{}", text(name)),
        None => put!(out, "{missing}"),
    });
}

fn row(out: &mut MarkupBuffer, name: &str, write: impl FnOnce(&mut MarkupBuffer)) {
    put!(out, "<div><dt>{name}</dt><dd>");
    write(out);
    put!(out, "</dd></div>");
}

/// Writes paths on a line or two; truncates long lists.
fn paths_in_line(out: &mut MarkupBuffer, paths: &[String]) {
    const MAX_INLINE_PATHS: usize = 8;
    for one in paths.iter().take(MAX_INLINE_PATHS) {
        put!(out, "<code>{}</code> ", path(one));
    }
    if let Some(more @ 1..) = paths.len().checked_sub(MAX_INLINE_PATHS) {
        put!(out, "<span class=\"soft\">and {more} more</span>");
    }
}
