//! The README, and all other documents by purpose.

use super::{
    super::{
        bars::{Bar, bars},
        markup::{MarkupBuffer, path, put, text},
        table::{Cell, HtmlTable, mark},
    },
    absent, heading, note,
};
use crate::repo::{
    render::{
        absence::{ReportPart, none},
        figures::{count, counted, part, to_u64},
        wording,
    },
    report::{Changelog, Documentation, Readme, Report, SuggestedSite},
};

pub(super) fn brief(report: &Report) -> String {
    match &report.documentation {
        Some(documentation) => {
            format!("{}.", counted(documentation.document_count, "document", "documents"))
        }
        None => String::new(),
    }
}

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    let Some(documentation) = &report.documentation else {
        return absent(out, report, ReportPart::Documentation);
    };
    heading(out, "README");
    match &documentation.readme {
        Some(one) => readme(out, one),
        None => note(out, &format!("{}.", none(report))),
    }
    if let Some(site) = &documentation.suggested_site {
        suggest(out, site);
    }
    kinds(out, documentation);
    records(out, documentation);
    rest(out, report, documentation);
    documents(out, documentation);
}

fn readme(out: &mut MarkupBuffer, readme: &Readme) {
    put!(
        out,
        "<p class=\"score\"><span class=\"big\">{}</span> of 100 <span class=\"soft\"><code>{}</code>, {}, {}</span></p><ul class=\"checks\">",
        readme.score,
        path(&readme.path),
        counted(readme.words, "word", "words"),
        counted(readme.code_blocks, "code block", "code blocks")
    );
    for item in &readme.items {
        let (class, picture, label) = if item.found {
            ("found", "<path d=\"M3 8.5l3.5 3.5L13 5\"/>", "There")
        } else {
            ("lacking", "<path d=\"M4 4l8 8M12 4l-8 8\"/>", "Missing")
        };
        put!(
            out,
            "<li class=\"{class}\"><svg viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" role=\"img\" aria-label=\"{label}\">{picture}</svg>\
             <span class=\"item\">{}</span><span class=\"soft\">{}",
            text(&wording::label(&item.item)),
            text(&item.evidence)
        );
        if let Some(line) = item.line {
            put!(out, ", line {line}");
        }
        put!(out, "</span>");
        if !item.found {
            mark(out, item.severity);
        }
        put!(out, "</li>");
    }
    put!(out, "</ul>");
}

fn suggest(out: &mut MarkupBuffer, site: &SuggestedSite) {
    heading(out, "Suggested documentation site");
    put!(
        out,
        "<div class=\"commands\"><div class=\"command\"><p>{}: {}.</p><pre tabindex=\"0\"><code>{}</code></pre></div></div>",
        text(&site.name),
        text(site.reason.trim_end_matches('.')),
        text(&site.start)
    );
}

fn kinds(out: &mut MarkupBuffer, documentation: &Documentation) {
    if documentation.kinds.is_empty() {
        return;
    }
    heading(out, "Documents by purpose");
    let most = documentation.kinds.iter().map(|kind| kind.count).max().unwrap_or_default();
    let names: Vec<String> = documentation
        .kinds
        .iter()
        .map(|kind| wording::label(wording::document(kind.kind)))
        .collect();
    let shown: Vec<Bar<'_>> = documentation
        .kinds
        .iter()
        .zip(&names)
        .map(|(kind, name)| Bar {
            name,
            parts: vec![(part(kind.count, most), "a1")],
            value: count(kind.count),
            note: String::new(),
        })
        .collect();
    bars(out, text("Documents by kind"), &shown);
}

/// Decisions, changelog, generated API references.
fn records(out: &mut MarkupBuffer, documentation: &Documentation) {
    if !documentation.decisions.is_empty() {
        heading(out, "Decisions");
        let rows = documentation
            .decisions
            .iter()
            .map(|one| {
                vec![
                    Cell::Word(&one.title),
                    Cell::word(one.status.as_deref()),
                    Cell::Place(&one.path, None),
                ]
            })
            .collect();
        HtmlTable::new("Decisions", &["Decision", "Status", "File"], rows).write(out);
    }
    if !documentation.api_docs.is_empty() {
        heading(out, "Generated API references");
        let rows = documentation
            .api_docs
            .iter()
            .map(|one| vec![Cell::Word(&one.tool), Cell::Place(&one.source, None)])
            .collect();
        HtmlTable::new("Generated API references", &["Generator", "Configured in"], rows)
            .write(out);
    }
}

fn rest(out: &mut MarkupBuffer, report: &Report, documentation: &Documentation) {
    heading(out, "Changelog and examples");
    put!(out, "<dl class=\"facts\"><div><dt>Changelog</dt><dd>");
    match &documentation.changelog {
        Some(one) => changelog(out, one),
        None => put!(out, "<span class=\"absent\">{}</span>", none(report)),
    }
    let examples = &documentation.examples;
    put!(out, "</dd></div><div><dt>Examples</dt><dd>{}", counted(examples.files, "file", "files"));
    for folder in &examples.folders {
        put!(out, " <code>{}</code>", path(folder));
    }
    put!(
        out,
        "</dd></div><div><dt>Code blocks in documents</dt><dd>{}, {} without a language label</dd></div></dl>",
        counted(examples.code_blocks, "block", "blocks"),
        count(examples.unlabelled)
    );
}

fn changelog(out: &mut MarkupBuffer, one: &Changelog) {
    put!(out, "<code>{}</code> {}", path(&one.path), counted(one.releases, "release", "releases"));
    if let Some(newest) = &one.newest {
        put!(out, ", newest {}", text(newest));
    }
    if let Some(date) = &one.newest_date {
        put!(out, " of {}", text(date));
    }
    if one.has_current_version == Some(false) {
        put!(out, " <span class=\"absent\">It has no entry for the current version.</span>");
    }
}

fn documents(out: &mut MarkupBuffer, documentation: &Documentation) {
    if documentation.documents.is_empty() {
        return;
    }
    heading(out, "All documents");
    let rows = documentation
        .documents
        .iter()
        .map(|one| {
            vec![
                Cell::Place(&one.path, None),
                Cell::word(one.title.as_deref()),
                Cell::Word(wording::document(one.kind)),
                Cell::Word(&one.because),
                Cell::Number(one.words),
            ]
        })
        .collect();
    let all = documentation.document_count.max(to_u64(documentation.documents.len()));
    HtmlTable::new("All documents", &["File", "Title", "For", "Reason", "Words"], rows)
        .with_total(all)
        .write(out);
}
