//! The README, and all other documents by purpose.

use super::{
    absent,
    text::{code, places, table, words},
};
use crate::repo::{
    render::{
        absence::{ReportPart, none},
        figures::{count, counted, to_u64},
        markup::{MarkupBuffer, put},
        wording,
    },
    report::{Changelog, Documentation, Readme, Report},
};

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## Documents\n\n");
    let Some(documentation) = &report.documentation else {
        return absent(out, report, ReportPart::Documentation);
    };
    put!(out, "### README\n\n");
    match &documentation.readme {
        Some(one) => readme(out, one),
        None => put!(out, "{}.\n\n", none(report)),
    }
    rest(out, report, documentation);
    if !documentation.kinds.is_empty() {
        put!(out, "### Documents by purpose\n\n");
        let rows = documentation
            .kinds
            .iter()
            .map(|one| vec![wording::document(one.kind).to_owned(), count(one.count)]);
        table(out, &["Kind", "#Documents"], rows, to_u64(documentation.kinds.len()));
    }
    if !documentation.decisions.is_empty() {
        put!(out, "### Decisions\n\n");
        let rows = documentation.decisions.iter().map(|one| {
            vec![
                words(&one.title),
                words(one.status.as_deref().unwrap_or_default()),
                code(&one.path),
            ]
        });
        table(out, &["Decision", "Status", "File"], rows, to_u64(documentation.decisions.len()));
    }
    if !documentation.api_docs.is_empty() {
        put!(out, "### Generated API references\n\n");
        let rows =
            documentation.api_docs.iter().map(|one| vec![words(&one.tool), code(&one.source)]);
        table(out, &["Generator", "Configured in"], rows, to_u64(documentation.api_docs.len()));
    }
    if !documentation.documents.is_empty() {
        put!(out, "### All documents\n\n");
        let rows = documentation.documents.iter().map(|one| {
            vec![
                code(&one.path),
                words(one.title.as_deref().unwrap_or_default()),
                wording::document(one.kind).to_owned(),
                words(&one.because),
                count(one.words),
            ]
        });
        let all = documentation.document_count.max(to_u64(documentation.documents.len()));
        table(out, &["File", "Title", "For", "Reason", "#Words"], rows, all);
    }
}

fn readme(out: &mut MarkupBuffer, readme: &Readme) {
    put!(
        out,
        "{}: {} of 100, {}, {}.\n\n",
        code(&readme.path),
        readme.score,
        counted(readme.words, "word", "words"),
        counted(readme.code_blocks, "code block", "code blocks")
    );
    let rows = readme.items.iter().map(|item| {
        vec![
            words(&wording::label(&item.item)),
            if item.found {
                "yes".to_owned()
            } else {
                format!("no ({})", wording::severity(item.severity))
            },
            words(&item.evidence),
            item.line.map(count).unwrap_or_default(),
        ]
    });
    table(out, &["Item", "There", "Evidence", "#Line"], rows, to_u64(readme.items.len()));
}

fn rest(out: &mut MarkupBuffer, report: &Report, documentation: &Documentation) {
    match &documentation.changelog {
        Some(one) => changelog(out, one),
        None => put!(out, "- Changelog: {}.\n", none(report).to_lowercase()),
    }
    let examples = &documentation.examples;
    let files = counted(examples.files, "file", "files");
    let blocks = counted(examples.code_blocks, "code block", "code blocks");
    let folders = if examples.folders.is_empty() {
        String::new()
    } else {
        format!(" in {}", places(&examples.folders))
    };
    put!(
        out,
        "- Examples: {files}{folders}; {blocks} in documents, {} without a language label.\n",
        count(examples.unlabelled)
    );
    if let Some(site) = &documentation.suggested_site {
        let reason = site.reason.trim_end_matches('.');
        put!(
            out,
            "- Suggested documentation site: {}, because {}. Start with {}.\n",
            words(&site.name),
            words(reason),
            code(&site.start)
        );
    }
    put!(out, "\n");
}

fn changelog(out: &mut MarkupBuffer, one: &Changelog) {
    put!(out, "- Changelog: {}, {}", code(&one.path), counted(one.releases, "release", "releases"));
    if let Some(newest) = &one.newest {
        put!(out, ", newest {}", code(newest));
    }
    if let Some(date) = &one.newest_date {
        put!(out, " of {}", words(date));
    }
    let end = match one.has_current_version {
        Some(true) => ". It covers the current version.\n",
        Some(false) => ". It has no entry for the current version.\n",
        None => ".\n",
    };
    put!(out, "{end}");
}
