//! Commands, entry points, languages, folders and open tasks.

use super::{
    absent,
    text::{code, list, table, words},
};
use crate::repo::{
    render::{
        absence::ReportPart,
        figures::{count, counted, percent, size, to_u64},
        markup::{MarkupBuffer, put},
        wording,
    },
    report::Report,
};

/// How to build, test and run it.
pub(super) fn commands(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Getting started\n\n");
    let Some(project) = &report.project else { return absent(out, report, ReportPart::Project) };
    if project.commands.is_empty() {
        put!(out, "No commands found in manifests, Makefiles, CI files or the README.\n\n");
    }
    let rows = project.commands.iter().map(|one| {
        vec![
            wording::command(one.purpose).to_owned(),
            code(&one.command),
            code(&one.folder),
            code(&one.source),
        ]
    });
    table(out, &["For", "Command", "In", "From"], rows, to_u64(project.commands.len()));
    if !project.toolchain.is_empty() {
        put!(out, "### Requirements\n\n");
        let rows = project
            .toolchain
            .iter()
            .map(|one| vec![words(&one.name), code(&one.requirement), code(&one.source)]);
        table(out, &["Tool", "Version", "From"], rows, to_u64(project.toolchain.len()));
    }
    if !project.environment.is_empty() {
        put!(out, "### Environment variables\n\n");
        list(out, project.environment.iter().map(|name| code(name)));
    }
    if !project.entry_points.is_empty() {
        put!(out, "### Entry points\n\n");
        let rows = project.entry_points.iter().map(|one| {
            let path = one.path.as_deref().unwrap_or_default();
            vec![
                code(&one.name),
                wording::entry(one.kind).to_owned(),
                code(path),
                code(&one.declared_in),
            ]
        });
        table(
            out,
            &["Name", "Kind", "Starts in", "Declared in"],
            rows,
            to_u64(project.entry_points.len()),
        );
    }
}

/// Languages, folders, open tasks.
pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Languages\n\n");
    if report.languages.is_empty() {
        put!(out, "No files in a known language found.\n\n");
    }
    let rows = report.languages.iter().map(|one| {
        let lines = |of: fn(crate::repo::report::Lines) -> u64| {
            one.lines.map(|lines| count(of(lines))).unwrap_or_default()
        };
        vec![
            words(&one.name),
            wording::nature(one.nature).to_owned(),
            percent(one.share),
            count(one.files),
            size(one.bytes),
            lines(|lines| lines.code),
            lines(|lines| lines.comments),
            lines(|lines| lines.blanks),
        ]
    });
    let columns = ["Language", "Kind", "#Share", "#Files", "#Size", "#Code", "#Comments", "#Blank"];
    table(out, &columns, rows, to_u64(report.languages.len()));
    put!(out, "## Folders\n\n");
    if report.structure.tree.is_empty() {
        put!(out, "No files to measure.\n\n");
    }
    let mut tree: Vec<_> = report.structure.tree.iter().collect();
    tree.sort_by(|one, other| other.bytes.cmp(&one.bytes).then_with(|| one.path.cmp(&other.path)));
    let rows = tree.iter().map(|one| vec![code(&one.path), count(one.files), size(one.bytes)]);
    table(out, &["Folder or file", "#Files", "#Size"], rows, to_u64(tree.len()));
    put!(out, "## Open tasks\n\n");
    let Some(tasks) = &report.tasks else { return absent(out, report, ReportPart::Tasks) };
    put!(out, "{} (TODO, FIXME, HACK, XXX).\n\n", counted(tasks.count, "mark", "marks"));
    let rows = tasks.files.iter().map(|one| vec![code(&one.path), count(one.count)]);
    table(out, &["File", "#Marks"], rows, to_u64(tasks.files.len()));
}
