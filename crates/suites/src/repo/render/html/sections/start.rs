//! How to build, test and run it.

use super::{
    super::{
        markup::{MarkupBuffer, path, put, text},
        table::{Cell, HtmlTable},
    },
    absent, heading, note,
};
use crate::repo::{
    render::{absence::ReportPart, wording},
    report::{CommandPurpose, Project, ProjectCommand, Report},
};

pub(super) fn brief(report: &Report) -> String {
    match &report.project {
        Some(_) => "Commands from the project’s own files.".to_owned(),
        None => String::new(),
    }
}

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    let Some(project) = &report.project else { return absent(out, report, ReportPart::Project) };
    commands(out, &project.commands);
    needs(out, project);
    if !project.entry_points.is_empty() {
        heading(out, "Entry points");
        let rows = project
            .entry_points
            .iter()
            .map(|entry| {
                vec![
                    Cell::Code(&entry.name),
                    Cell::Word(wording::entry(entry.kind)),
                    Cell::place(entry.path.as_deref()),
                    Cell::Place(&entry.declared_in, None),
                ]
            })
            .collect();
        HtmlTable::new("Entry points", &["Name", "Kind", "Starts in", "Declared in"], rows)
            .write(out);
    }
}

/// Writes the best command of each purpose to copy, the others in a table.
fn commands(out: &mut MarkupBuffer, all: &[ProjectCommand]) {
    if all.is_empty() {
        return note(out, "No commands found in manifests, Makefiles, CI files or the README.");
    }
    let mut seen: Vec<CommandPurpose> = Vec::new();
    let (mut best, mut others) = (Vec::new(), Vec::new());
    for command in all {
        if seen.contains(&command.purpose) || command.purpose == CommandPurpose::Other {
            others.push(command);
        } else {
            seen.push(command.purpose);
            best.push(command);
        }
    }
    best.sort_by_key(|command| command.purpose);
    put!(out, "<div class=\"commands\">");
    for command in best {
        put!(
            out,
            "<div class=\"command\"><h3>{}</h3><pre tabindex=\"0\"><code>{}</code></pre><p class=\"soft\">",
            wording::command(command.purpose),
            text(&command.command)
        );
        if !matches!(&*command.folder, "." | "") {
            put!(out, "in <code>{}</code>, ", path(&command.folder));
        }
        put!(out, "from <code>{}</code></p></div>", path(&command.source));
    }
    put!(out, "</div>");
    if !others.is_empty() {
        heading(out, "More commands");
        let rows = others
            .into_iter()
            .map(|command| {
                vec![
                    Cell::Word(wording::command(command.purpose)),
                    Cell::Code(&command.command),
                    Cell::Code(&command.folder),
                    Cell::Place(&command.source, None),
                ]
            })
            .collect();
        HtmlTable::new("More commands", &["For", "Command", "In", "From"], rows).write(out);
    }
}

fn needs(out: &mut MarkupBuffer, project: &Project) {
    if !project.toolchain.is_empty() {
        heading(out, "Requirements");
        let rows = project
            .toolchain
            .iter()
            .map(|tool| {
                vec![
                    Cell::Word(&tool.name),
                    Cell::Code(&tool.requirement),
                    Cell::Place(&tool.source, None),
                ]
            })
            .collect();
        HtmlTable::new("Requirements", &["Tool", "Version", "From"], rows).write(out);
    }
    if !project.environment.is_empty() {
        heading(out, "Environment variables");
        super::list(out, &project.environment);
    }
}
