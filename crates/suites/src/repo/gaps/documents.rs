//! Documentation gaps besides the README: missing and outdated documents.

use super::{can_be_absent, command, counted, describe_command, gap, has_code};
use crate::repo::report::{
    CommandPurpose, DocumentKind, Documentation, Gap, ProjectKind, Report, Severity,
};

/// Number of files above which a project is hard to navigate.
const LARGE_FOLDER_FILES: u64 = 60;

fn count(documentation: &Documentation, kind: DocumentKind) -> u64 {
    documentation.kinds.iter().find(|it| it.kind == kind).map_or(0, |it| it.count)
}

/// Broken links.
pub(super) fn broken_links(report: &Report) -> Vec<Gap> {
    let Some(links) = report.links.as_ref().filter(|links| links.broken_count > 0) else {
        return Vec::new();
    };
    let step = links.broken.first().map_or_else(
        || "Fix or remove the broken links.".to_owned(),
        |link| {
            let meant = link
                .suggestion
                .as_ref()
                .map_or(String::new(), |it| format!(" (did you mean `{it}`?)"));
            let more = if links.broken_count > 1 {
                format!(", then {}", others(links.broken_count - 1))
            } else {
                String::new()
            };
            format!("Fix `{}` at {}:{}{meant}{more}.", link.target, link.path, link.line)
        },
    );
    let what = counted(links.broken_count, "broken link");
    vec![gap(Severity::Medium, what, "Readers follow links to pages that do not exist.", step)]
}

/// Mentions of things that no longer exist.
pub(super) fn stale(report: &Report) -> Vec<Gap> {
    let Some(drift) = report.drift.as_ref().filter(|drift| drift.stale_count > 0) else {
        return Vec::new();
    };
    let step = drift.stale.first().map_or_else(
        || "Correct the outdated mentions.".to_owned(),
        |stale| {
            let meant = stale
                .suggestion
                .as_ref()
                .map_or(String::new(), |it| format!(" (did you mean `{it}`?)"));
            let more = if drift.stale_count > 1 {
                format!(", then {}", others(drift.stale_count - 1))
            } else {
                String::new()
            };
            format!("Correct `{}` at {}:{}{meant}{more}.", stale.mention, stale.path, stale.line)
        },
    );
    let what = format!("Documents mention {} no longer there", things(drift.stale_count));
    vec![gap(
        Severity::Medium,
        what,
        "Readers try things that do not work and stop trusting the rest.",
        step,
    )]
}

fn things(number: u64) -> String {
    if number == 1 { "1 thing that is".into() } else { format!("{number} things that are") }
}

fn others(number: u64) -> String {
    if number == 1 { "1 more".into() } else { format!("{number} more") }
}

/// Documents that no longer match the code.
pub(super) fn outdated(report: &Report) -> Vec<Gap> {
    let Some(drift) = report.drift.as_ref() else { return Vec::new() };
    let Some(first) = drift.outdated.first().filter(|first| first.changes >= 5) else {
        return Vec::new();
    };
    let changed = first.changed.first().map_or("the code it mentions", String::as_str);
    vec![gap(
        Severity::Medium,
        format!(
            "{} is from {}; the code it describes has changed {} times since",
            first.path, first.last_change, first.changes
        ),
        "It may describe old behavior.",
        format!("Compare {} with {changed} and correct it.", first.path),
    )]
}

/// A library without an API reference.
pub(super) fn reference(report: &Report) -> Vec<Gap> {
    let Some(documentation) = &report.documentation else { return Vec::new() };
    let library =
        report.project.as_ref().is_some_and(|project| project.kind == ProjectKind::Library);
    let referenced =
        !documentation.api_docs.is_empty() || count(documentation, DocumentKind::Reference) > 0;
    // A small library can be read as fast as a reference.
    if !library || referenced || !can_be_absent(report) || report.structure.files < 20 {
        return Vec::new();
    }
    let step = match command(report, CommandPurpose::Docs) {
        Some(command) => {
            format!(
                "Publish the output of {} and link it from the README.",
                describe_command(command)
            )
        }
        None => {
            format!("Generate an API reference from the doc comments with {}.", generator(report))
        }
    };
    vec![gap(
        Severity::Medium,
        "A library without an API reference",
        "Users have to read the source to learn the API.",
        step,
    )]
}

fn generator(report: &Report) -> &'static str {
    match report.primary_language.as_deref() {
        Some("Rust") => "rustdoc (`cargo doc`)",
        Some("Python") => "Sphinx autodoc or pdoc",
        Some("TypeScript" | "TSX") => "TypeDoc (`npx typedoc`)",
        Some("JavaScript" | "JSX") => "JSDoc (`npx jsdoc`)",
        Some("Java") => "Javadoc",
        Some("Kotlin") => "Dokka",
        Some("C" | "C++" | "C Header" | "C++ Header") => "Doxygen (`doxygen -g`)",
        Some("Ruby") => "YARD (`yard doc`)",
        Some("Elixir") => "ExDoc (`mix docs`)",
        Some("Swift") => "DocC",
        Some("C#") => "DocFX (`docfx init`)",
        Some("Dart") => "dartdoc (`dart doc`)",
        _ => "the documentation generator of its language",
    }
}

/// A large project explained only by the README.
pub(super) fn folder(report: &Report) -> Vec<Gap> {
    let written = report.documentation.as_ref().is_some_and(|it| {
        let guides = [DocumentKind::HowTo, DocumentKind::Tutorial, DocumentKind::Explanation];
        guides.iter().any(|kind| count(it, *kind) > 0)
    });
    let large = report.structure.files > LARGE_FOLDER_FILES;
    if !large
        || written
        || !report.presence.docs_folders.is_empty()
        || !has_code(report)
        || !can_be_absent(report)
    {
        return Vec::new();
    }
    let folders = report
        .structure
        .tree
        .iter()
        .filter(|branch| branch.path.ends_with('/') && branch.path.matches('/').count() == 1);
    let mut folders: Vec<_> = folders.filter(|branch| !branch.path.starts_with('.')).collect();
    folders.sort_by(|a, b| b.files.cmp(&a.files).then_with(|| a.path.cmp(&b.path)));
    let names: Vec<String> = folders.iter().take(3).map(|branch| branch.path.clone()).collect();
    let tour = if names.is_empty() { "the source".to_owned() } else { names.join(", ") };
    vec![gap(
        Severity::Medium,
        format!("{} files and no document besides the README", report.structure.files),
        "Only the source explains how the project works.",
        format!(
            "Start docs/architecture.md with a tour of {tour}: what each owns, and where to make changes."
        ),
    )]
}

/// Guides for experienced users, but no tutorial.
pub(super) fn tutorial(report: &Report) -> Vec<Gap> {
    let Some(documentation) = &report.documentation else { return Vec::new() };
    let how_to = count(documentation, DocumentKind::HowTo);
    let reference = count(documentation, DocumentKind::Reference);
    let explanation = count(documentation, DocumentKind::Explanation);
    if count(documentation, DocumentKind::Tutorial) > 0
        || how_to + reference + explanation < 8
        || !can_be_absent(report)
        || !has_code(report)
    {
        return Vec::new();
    }
    let place = report.presence.docs_folders.first().map_or("docs", String::as_str);
    vec![gap(
        Severity::Medium,
        format!("No tutorial among {} guides", how_to + reference + explanation),
        "Newcomers do not know where to begin.",
        format!("Write {place}/getting-started.md: a first result in ten minutes."),
    )]
}

/// The folder with the most public symbols, if few are documented.
pub(super) fn coverage(report: &Report) -> Vec<Gap> {
    let Some(coverage) = &report.coverage else { return Vec::new() };
    let largest = coverage
        .folders
        .iter()
        .max_by(|a, b| a.public.cmp(&b.public).then_with(|| b.name.cmp(&a.name)));
    let Some(folder) = largest.filter(|it| it.public >= 20 && it.percent < 50.0) else {
        return Vec::new();
    };
    let in_folder = |path: &str| path.starts_with(folder.name.trim_start_matches("./"));
    let first = coverage.undocumented.iter().find(|it| in_folder(&it.path));
    let first = first.map_or(String::new(), |it| {
        format!(", starting with `{}` at {}:{}", it.symbol, it.path, it.line)
    });
    vec![gap(
        Severity::Medium,
        format!(
            "{:.0} % of {} public symbols in {} are documented",
            folder.percent, folder.public, folder.name
        ),
        "Users have to read the source to learn the API.",
        format!("Document the public symbols of {}{first}.", folder.name),
    )]
}

/// A missing changelog, or one without the current version.
pub(super) fn changelog(report: &Report) -> Vec<Gap> {
    let version = report
        .manifests
        .iter()
        .find_map(|manifest| Some((manifest.version.as_deref()?, &manifest.path)));
    let changelog = report.documentation.as_ref().and_then(|it| it.changelog.as_ref());
    if let Some(changelog) = changelog {
        let (Some(false), Some((version, manifest))) = (changelog.has_current_version, version)
        else {
            return Vec::new();
        };
        let newest = changelog
            .newest
            .as_ref()
            .map_or(String::new(), |newest| format!("; its newest entry is {newest}"));
        return vec![gap(
            Severity::Low,
            format!("{} lacks {version}{newest}", changelog.path),
            "Users can't tell what the current version changed.",
            format!("Add {version} (from {manifest}) to {}.", changelog.path),
        )];
    }
    // A changelog lists releases.
    let released =
        version.is_some() || report.history.as_ref().is_some_and(|it| it.releases.count > 0);
    let looked = report.presence.changelog.is_none() && can_be_absent(report) && has_code(report);
    if !looked || (report.documentation.is_some() && !released) {
        return Vec::new();
    }
    let first = version.map_or("the current version".to_owned(), |(version, manifest)| {
        format!("{version} (from {manifest})")
    });
    vec![gap(
        Severity::Low,
        "No changelog",
        "Users can't tell what an upgrade changes.",
        format!("Start CHANGELOG.md with {first}."),
    )]
}

/// Duplicate or unlinked documents.
pub(super) fn redundant(report: &Report) -> Vec<Gap> {
    let Some(redundancy) = &report.redundancy else { return Vec::new() };
    let mut gaps = Vec::new();
    if let Some(pair) = redundancy.duplicates.first() {
        let more = redundancy.duplicates.len() as u64 - 1;
        let more =
            if more == 0 { String::new() } else { format!(", and {}", counted(more, "more pair")) };
        gaps.push(gap(
            Severity::Low,
            format!(
                "{} and {} share {:.0} % of their text{more}",
                pair.one, pair.other, pair.alike
            ),
            "When one copy is corrected, readers still find the other.",
            format!("Keep one of {} and {}, and link it from the other.", pair.one, pair.other),
        ));
    }
    if let Some(first) = redundancy.dead.first() {
        gaps.push(gap(
            Severity::Low,
            format!("Nothing links to {}", counted(redundancy.dead.len() as u64, "document")),
            "Readers won't find them.",
            format!("Link to {first} from a page its readers use, or remove it."),
        ));
    }
    gaps
}

/// Code blocks without a language label.
pub(super) fn unlabelled(report: &Report) -> Vec<Gap> {
    let Some(examples) = report.documentation.as_ref().map(|it| &it.examples) else {
        return Vec::new();
    };
    let many = examples.unlabelled >= 10 && examples.unlabelled * 2 > examples.code_blocks;
    if !many {
        return Vec::new();
    }
    vec![gap(
        Severity::Low,
        format!(
            "{} of {} code blocks have no language label",
            examples.unlabelled, examples.code_blocks
        ),
        "They are not highlighted, and tools cannot check them.",
        "Label each code block with its language, as in ```sh.",
    )]
}
