//! Manifests and their dependencies.

use super::{
    super::{
        bars::{Bar, bars},
        graph::PackageGraph,
        markup::{MarkupBuffer, put, text},
        picture::{Caption, WIDE_WIDTH, show_in},
        table::{Cell, HtmlTable},
    },
    absent, heading, note,
};
use crate::repo::{
    render::{
        absence::{ReportPart, none},
        figures::{count, counted, part, to_u64},
        wording,
    },
    report::{DependencySummary, Manifest, Report},
};

/// Maximum number of dependency rows.
const MAX_DEPENDENCY_ROWS: usize = 400;
/// Width of a graph with a list next to it.
const MAX_GRAPH_WIDTH_BESIDE_LIST: f64 = 500.0;

pub(super) fn brief(report: &Report) -> String {
    match report.manifest_count.max(to_u64(report.manifests.len())) {
        0 => String::new(),
        found => format!("{}.", counted(found, "manifest", "manifests")),
    }
}

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    match &report.dependencies {
        Some(summary) => sum_up(out, report, summary),
        None => absent(out, report, ReportPart::Dependencies),
    }
    manifests(out, report);
    dependencies(out, &report.manifests);
}

fn sum_up(out: &mut MarkupBuffer, report: &Report, summary: &DependencySummary) {
    put!(out, "<dl class=\"figures small\">");
    let figures = [
        (summary.direct, "direct"),
        (summary.development, "development only"),
        (summary.locked, "locked"),
    ];
    for (value, name) in figures {
        put!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", count(value));
    }
    put!(out, "</dl>");
    let graph = PackageGraph::new(&report.manifests, &summary.internal);
    let class = if graph.is_small() && !graph.is_empty() { "beside" } else { "below" };
    put!(out, "<div class=\"{class}\"><div>");
    heading(out, "Dependencies between packages here");
    draw(out, &graph);
    put!(out, "</div><div>");
    if !summary.most_used.is_empty() {
        heading(out, "Most used dependencies");
        let most = summary.most_used.iter().map(|used| used.by).max().unwrap_or_default();
        let shown: Vec<Bar<'_>> = summary
            .most_used
            .iter()
            .map(|used| Bar {
                name: &used.name,
                parts: vec![(part(used.by, most), "a1")],
                value: count(used.by),
                note: used.ecosystem.clone(),
            })
            .collect();
        bars(out, text("Packages by the number of manifests that depend on them"), &shown);
    }
    put!(out, "</div></div>");
    if !summary.lock_files.is_empty() {
        heading(out, "Lock files");
        let rows = summary
            .lock_files
            .iter()
            .map(|file| {
                vec![
                    Cell::Place(&file.path, None),
                    Cell::Word(&file.ecosystem),
                    Cell::Number(file.packages),
                ]
            })
            .collect();
        HtmlTable::new("Lock files", &["File", "Ecosystem", "Packages"], rows).write(out);
    }
}

fn draw(out: &mut MarkupBuffer, graph: &PackageGraph) {
    if graph.is_empty() {
        return note(out, "No package here depends on another.");
    }
    let description = graph.describe();
    let caption = Caption {
        id: "graph",
        title: "Dependencies between packages here",
        description: &description,
    };
    let wide = if graph.is_small() { MAX_GRAPH_WIDTH_BESIDE_LIST } else { WIDE_WIDTH };
    show_in(out, caption, wide, |frame| graph.draw(frame));
    put!(
        out,
        "<p class=\"caption\">Each package is above its dependencies. Indirect edges are omitted."
    );
    if graph.has_cycle() {
        put!(out, " <span class=\"warm\">Dashed lines are part of a cycle.</span>");
    }
    if graph.left_out > 0 {
        put!(
            out,
            " {} with fewer edges are not drawn.",
            counted(to_u64(graph.left_out), "package", "packages")
        );
    }
    put!(out, "</p>");
}

fn manifests(out: &mut MarkupBuffer, report: &Report) {
    heading(out, "Manifests");
    if report.manifests.is_empty() {
        return note(out, &format!("{}.", none(report)));
    }
    // Without a summary, no manifest was read: its counts are unknown, not zero.
    let is_read = report.dependencies.is_some();
    let counted_cell = |count| if is_read { Cell::Number(to_u64(count)) } else { Cell::Nothing };
    let rows = report
        .manifests
        .iter()
        .map(|manifest| {
            vec![
                Cell::Place(&manifest.path, None),
                titled(manifest),
                Cell::code(manifest.version.as_deref()),
                Cell::Word(manifest.manager.as_deref().unwrap_or(&manifest.ecosystem)),
                Cell::word(manifest.licence.as_deref()),
                Cell::code(manifest.lock_file.as_deref()),
                counted_cell(manifest.members.len()),
                counted_cell(manifest.dependencies.len()),
            ]
        })
        .collect();
    let columns =
        ["Manifest", "Name", "Version", "Manager", "License", "Lock file", "Members", "Depends on"];
    HtmlTable::new("Manifests", &columns, rows).with_total(report.manifest_count).write(out);
}

fn titled(manifest: &Manifest) -> Cell<'_> {
    match (manifest.name.as_deref(), manifest.description.as_deref()) {
        (None, None) => Cell::Nothing,
        (name, about) => Cell::Titled(name.unwrap_or("–"), about.unwrap_or_default()),
    }
}

fn dependencies(out: &mut MarkupBuffer, manifests: &[Manifest]) {
    let all: u64 = manifests.iter().map(|manifest| to_u64(manifest.dependencies.len())).sum();
    if all == 0 {
        return;
    }
    heading(out, "Dependencies");
    let rows = manifests
        .iter()
        .flat_map(|manifest| manifest.dependencies.iter().map(move |one| (manifest, one)))
        .take(MAX_DEPENDENCY_ROWS)
        .map(|(manifest, one)| {
            vec![
                Cell::Word(&one.name),
                Cell::code(one.requirement.as_deref()),
                Cell::code(one.locked.as_deref()),
                Cell::Word(wording::purpose(one.purpose)),
                Cell::Place(&manifest.path, None),
            ]
        })
        .collect();
    HtmlTable::new("Dependencies", &["Package", "Requirement", "Locked", "For", "Manifest"], rows)
        .with_total(all)
        .write(out);
}
