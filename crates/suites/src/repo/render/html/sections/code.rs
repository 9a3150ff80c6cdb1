//! Languages, folders and open tasks.

use super::{
    super::{
        bars::{Bar, bars, legend},
        folders::FolderSize,
        markup::{MarkupBuffer, text},
        picture::{Caption, show},
        table::{Cell, HtmlTable, more},
        tree, treemap,
    },
    absent, heading, note,
};
use crate::repo::{
    render::{
        absence::ReportPart,
        figures::{bounded, count, counted, part, percent, size, to_u64},
        wording,
    },
    report::{Lines, Nature, Report, ReportLanguage},
};

pub(super) fn brief(report: &Report) -> String {
    if report.languages.is_empty() {
        return String::new();
    }
    let languages = counted(to_u64(report.languages.len()), "language", "languages");
    match code_lines(report) {
        0 => format!("{languages}."),
        lines => format!("{languages}, {}.", counted(lines, "line of code", "lines of code")),
    }
}

/// Returns the lines of code in all languages.
pub(in super::super) fn code_lines(report: &Report) -> u64 {
    report.languages.iter().filter_map(|language| language.lines).map(|lines| lines.code).sum()
}

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    heading(out, "Languages");
    languages(out, &report.languages);
    heading(out, "Size by folder");
    folders(out, report);
    heading(out, "Open tasks");
    tasks(out, report);
}

fn languages(out: &mut MarkupBuffer, all: &[ReportLanguage]) {
    const MAX_LANGUAGE_BARS: usize = 24;
    if all.is_empty() {
        return note(out, "No files in a known language found.");
    }
    let longest =
        all.iter().filter_map(|one| one.lines.map(Lines::total)).max().unwrap_or_default();
    if longest > 0 {
        legend(out, &[("a1", "code"), ("a2", "comments"), ("a3", "blank lines")]);
    }
    let shown: Vec<Bar<'_>> =
        all.iter().take(MAX_LANGUAGE_BARS).map(|one| language(one, longest)).collect();
    bars(out, text("Languages by lines"), &shown);
    more(out, to_u64(all.len()), to_u64(shown.len()));
}

/// Draws lines relative to the longest language; bytes if lines were not counted.
fn language(one: &ReportLanguage, longest: u64) -> Bar<'_> {
    let files = counted(one.files, "file", "files");
    let (parts, note) = if let Some(lines) = one.lines.filter(|_| longest > 0) {
        let parts = [(lines.code, "a1"), (lines.comments, "a2"), (lines.blanks, "a3")];
        let parts = parts.map(|(value, tint)| (part(value, longest), tint)).into();
        (parts, format!("{} lines, {files}", count(lines.total())))
    } else {
        let tint = if one.nature == Nature::Program { "a1" } else { "a2" };
        (vec![(bounded(one.share) / 100.0, tint)], format!("{}, {files}", size(one.bytes)))
    };
    let kind = match one.nature {
        Nature::Program => String::new(),
        other => format!(", {}", wording::nature(other)),
    };
    Bar { name: &one.name, parts, value: percent(one.share), note: note + &kind }
}

fn folders(out: &mut MarkupBuffer, report: &Report) {
    let root = FolderSize::root(&report.structure);
    if root.folders.iter().all(|folder| folder.bytes == 0) {
        return note(out, "No files to measure.");
    }
    let largest: Vec<String> = root
        .folders
        .iter()
        .take(3)
        .map(|folder| format!("{} {}", folder.path, size(folder.bytes)))
        .collect();
    let description = format!("The largest: {}.", largest.join(", "));
    let caption = Caption { id: "treemap", title: "Size by folder", description: &description };
    show(out, caption, |frame| treemap::draw(&root, frame));
    let drawn = tree::shown(&root);
    if drawn > 0 {
        heading(out, "Folders");
        let caption = Caption { id: "tree", title: "Folders as a tree", description: &description };
        show(out, caption, |frame| tree::draw(&root, frame));
        more(out, report.structure.folders, to_u64(drawn));
    }
}

fn tasks(out: &mut MarkupBuffer, report: &Report) {
    let Some(tasks) = &report.tasks else { return absent(out, report, ReportPart::Tasks) };
    if tasks.count == 0 {
        return note(out, "No open tasks found.");
    }
    let marks = counted(tasks.count, "open task", "open tasks");
    note(out, &format!("{marks} (TODO, FIXME, HACK, XXX)."));
    let rows = tasks
        .files
        .iter()
        .map(|file| vec![Cell::Place(&file.path, None), Cell::Number(file.count)])
        .collect();
    HtmlTable::new("Files with the most open tasks", &["File", "Tasks"], rows).write(out);
}
