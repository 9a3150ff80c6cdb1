//! The page around the sections: head, header with key figures, contents, footer.

use super::{
    markup::{MarkupBuffer, path, put, text},
    sections::{self, ReportPageSection},
};
use crate::repo::{
    render::{
        figures::{compact, count, percent, size, to_u64},
        wording,
    },
    report::Report,
};

pub(super) const STYLE: &str = include_str!("style.css");
pub(super) const SCRIPT: &str = include_str!("script.js");

/// Digest of the script, the only one allowed by the page's policy. A test compares the two.
pub(super) const SCRIPT_DIGEST: &str = "sha256-c8U2ZZZ4+Kkzfo5XBBXmf4hIrELsXXqQUNlSxEQ7Crw=";

/// Renders the report as a page without external requests.
pub fn html(report: &Report) -> String {
    let mut out = MarkupBuffer::default();
    head(&mut out, report);
    put!(out, "<body><a class=\"skip\" href=\"#main\">Skip to the report</a>");
    contents(&mut out, report);
    header(&mut out, report);
    put!(out, "<main id=\"main\">");
    for section in &sections::SECTIONS {
        write(&mut out, report, section);
    }
    put!(
        out,
        "</main><footer><p>Made by docent {} from <code>{}</code>, depth {}.</p></footer></body></html>\n",
        env!("CARGO_PKG_VERSION"),
        path(if report.path.is_empty() { "." } else { &report.path }),
        wording::depth(report.depth)
    );
    out.finish()
}

fn head(out: &mut MarkupBuffer, report: &Report) {
    put!(
        out,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src '{SCRIPT_DIGEST}'; img-src data:; base-uri 'none'; form-action 'none'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"referrer\" content=\"no-referrer\">\
         <title>{} – repository report</title><style>{STYLE}</style><script>{SCRIPT}</script></head>",
        text(name(report))
    );
}

fn name(report: &Report) -> &str {
    if report.name.is_empty() { "Repository" } else { &report.name }
}

fn contents(out: &mut MarkupBuffer, report: &Report) {
    put!(
        out,
        "<nav class=\"bar-top\" aria-label=\"Contents\"><div class=\"inner\"><a class=\"home\" href=\"#top\">{}</a><ul>",
        text(name(report))
    );
    for ReportPageSection { id, title, .. } in &sections::SECTIONS {
        put!(out, "<li><a href=\"#{id}\">{title}</a></li>");
    }
    put!(out, "</ul><button type=\"button\" id=\"theme\" hidden>Dark</button></div></nav>");
}

fn header(out: &mut MarkupBuffer, report: &Report) {
    put!(
        out,
        "<header id=\"top\"><p class=\"eyebrow\">Repository report</p><h1>{}</h1>",
        text(name(report))
    );
    if let Some(summary) = summary(report) {
        put!(out, "<p class=\"summary\">{}</p>", text(&summary));
    }
    let facts = facts(report);
    if !facts.is_empty() {
        put!(out, "<ul class=\"kicker\">");
        for fact in &facts {
            put!(out, "<li>{}</li>", text(fact));
        }
        put!(out, "</ul>");
    }
    put!(out, "<dl class=\"figures\">");
    for (label, value) in figures(report) {
        put!(out, "<div><dt>{label}</dt><dd>{value}</dd></div>");
    }
    put!(out, "</dl></header>");
}

/// Returns the project's own description, or ours.
fn summary(report: &Report) -> Option<String> {
    let project = report.project.as_ref();
    if let Some(own) =
        project.and_then(|project| project.summary.clone()).filter(|own| !own.trim().is_empty())
    {
        return Some(own);
    }
    let kind = project.and_then(|project| wording::project(project.kind));
    Some(match (kind, &report.primary_language) {
        (Some(kind), Some(language)) => format!("{kind}, mostly {language}."),
        (Some(kind), None) => format!("{kind}."),
        (None, Some(language)) => format!("A project mostly in {language}."),
        (None, None) => return None,
    })
}

fn facts(report: &Report) -> Vec<String> {
    let mut facts = Vec::new();
    facts.extend(
        report.project.as_ref().and_then(|one| wording::project(one.kind)).map(str::to_owned),
    );
    facts.extend(report.primary_language.clone());
    facts.extend(report.presence.licence_id.clone());
    if let Some(history) = &report.history {
        facts.extend(history.branch.clone().map(|branch| format!("branch {branch}")));
        facts.extend(history.until.clone().map(|until| format!("last commit {until}")));
    }
    facts
}

/// Returns the key figures, as far as known.
fn figures(report: &Report) -> Vec<(&'static str, String)> {
    let mut all = vec![("Files", count(report.structure.files))];
    match sections::code_lines(report) {
        0 => all.push(("Size", size(report.structure.bytes))),
        lines => all.push(("Lines of code", compact(lines))),
    }
    all.push(("Languages", count(to_u64(report.languages.len()))));
    if let Some(dependencies) = &report.dependencies {
        all.push(("Dependencies", count(dependencies.direct + dependencies.development)));
    }
    if let Some(readme) = report.documentation.as_ref().and_then(|one| one.readme.as_ref()) {
        all.push(("README, of 100", count(readme.score)));
    }
    if let Some(coverage) = report.coverage.as_ref().filter(|one| one.public > 0) {
        all.push(("Coverage", percent(coverage.percent)));
    }
    if let Some(links) = &report.links {
        all.push(("Broken links", count(links.broken_count)));
    }
    if let Some(history) = &report.history {
        all.push(("Bus factor", count(history.bus_factor)));
    }
    if report.documentation.is_none() {
        all.push(("Manifests", count(report.manifest_count)));
        all.push(("Documents", count(report.presence.document_files)));
    }
    all
}

fn write(out: &mut MarkupBuffer, report: &Report, section: &ReportPageSection) {
    let ReportPageSection { id, title, brief, write } = section;
    put!(
        out,
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\"><div class=\"side\"><h2 id=\"{id}-title\">{title}</h2>"
    );
    let brief = brief(report);
    if !brief.is_empty() {
        put!(out, "<p class=\"soft\">{}</p>", text(&brief));
    }
    put!(out, "</div><div class=\"content\">");
    write(out, report);
    put!(out, "</div></section>");
}
