//! The report as text for a model: facts, gaps, next steps, in at most about 1,500 tokens.

use super::report::{
    CommandPurpose, Depth, Documentation, EntryKind, History, Manifest, Nature, Purpose, Report,
    ReportLanguage,
};
use std::fmt::Write as _;

/// Appends formatted text to a string.
macro_rules! say {
    ($out:expr, $($text:tt)*) => {
        write!($out, $($text)*).expect("a string takes any text")
    };
}

/// Appends formatted text and a line break.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {
        writeln!($out, $($text)*).expect("a string takes any text")
    };
}

/// Formats a number with thousands separators.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count with its noun.
pub(super) fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(number))
}

/// Formats a number of bytes.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", bytes / 1024),
        _ => format!("{} MB", grouped(bytes / 1_048_576)),
    }
}

/// Formats the first `most` items and the number of others.
fn some<T>(items: &[T], most: usize, format: impl Fn(&T) -> String) -> String {
    let mut list = items.iter().take(most).map(format).collect::<Vec<_>>().join(", ");
    if items.len() > most {
        say!(list, " and {} more", items.len() - most);
    }
    list
}

/// Truncates a long name.
fn short(text: &str) -> String {
    cut(text, 40)
}

/// Truncates a long path at the start, because its end is most useful.
fn tail(path: &str) -> String {
    let length = path.chars().count();
    if length <= 48 {
        return path.to_owned();
    }
    std::iter::once('…').chain(path.chars().skip(length - 47)).collect()
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Describes something that was not found.
fn absent(report: &Report) -> &'static str {
    if report.complete { "none" } else { "none seen so far" }
}

/// Describes the structure by names and sizes.
pub(super) fn structure(report: &Report) -> String {
    let mut out = String::new();
    let found = &report.structure;
    line!(out, "# Repository {} (path {})", short(&report.name), tail(&report.path));
    let (files, folders) = (counted(found.files, "file"), counted(found.folders, "folder"));
    line!(out, "{files} in {folders}, {}.", size(found.bytes));
    let is_top = |path: &str| !path.trim_end_matches('/').contains('/');
    let mut top: Vec<_> = found.tree.iter().filter(|branch| is_top(&branch.path)).collect();
    top.sort_by_key(|branch| !branch.path.ends_with('/'));
    if !top.is_empty() {
        let tree = some(&top, 16, |branch| {
            let name = short(&branch.path);
            if branch.path.ends_with('/') {
                format!("{name} ({})", grouped(branch.files))
            } else {
                name
            }
        });
        line!(out, "Top level: {tree}.");
    }
    if !report.languages.is_empty() {
        let describe = |one: &ReportLanguage| {
            format!("{} {} % ({})", one.name, one.share, counted(one.files, "file"))
        };
        line!(out, "Languages by bytes: {}.", some(&report.languages, 6, describe));
    }
    if let Some(primary) = &report.primary_language {
        line!(out, "Primary language: {primary}.");
    }
    if !found.skipped.is_empty() {
        let skipped = some(&found.skipped, 5, |name| tail(name));
        line!(out, "Skipped (installed packages): {skipped}.");
    }
    if !found.submodules.is_empty() {
        let submodules = some(&found.submodules, 5, |name| tail(name));
        line!(out, "Skipped (submodules): {submodules}.");
    }
    out
}

/// Describes the manifests, and how to work with the project.
pub(super) fn stack(report: &Report) -> String {
    let mut out = String::new();
    if report.manifests.is_empty() {
        line!(out, "Package manifests: {}.", absent(report));
    } else {
        line!(out, "Ecosystems: {}.", report.ecosystems.join(", "));
        for manifest in report.manifests.iter().take(4) {
            line!(out, "- {}", describe_manifest(manifest));
        }
        if report.manifest_count > 4 {
            line!(out, "- and {}", counted(report.manifest_count - 4, "more manifest"));
        }
    }
    if let Some(sum) = report.dependencies.as_ref().filter(|sum| sum.direct + sum.locked > 0) {
        let (direct, development) = (grouped(sum.direct), grouped(sum.development));
        say!(out, "Dependencies: {direct} direct, {development} for development only");
        if sum.locked > 0 {
            say!(out, "; {} locked", grouped(sum.locked));
        }
        line!(out, ".");
    }
    work(report, &mut out);
    out
}

fn describe_manifest(manifest: &Manifest) -> String {
    let mut out = format!("{} ({})", tail(&manifest.path), manifest.ecosystem);
    if let Some(name) = &manifest.name {
        say!(out, ": {}", short(name));
    }
    if let Some(version) = &manifest.version {
        say!(out, " {}", short(version));
    }
    if !manifest.members.is_empty() {
        say!(out, "; {}", counted(manifest.members.len() as u64, "member"));
    }
    let asked: Vec<_> =
        manifest.dependencies.iter().filter(|d| d.purpose != Purpose::Workspace).collect();
    if asked.is_empty() {
        return out;
    }
    let development = asked.iter().filter(|d| d.purpose == Purpose::Development).count();
    let all = asked.len();
    say!(out, "; {all} direct {}", if all == 1 { "dependency" } else { "dependencies" });
    if development > 0 {
        say!(out, " ({development} for development)");
    }
    out + ": "
        + &some(&asked, 7, |dependency| {
            let version = dependency.locked.as_ref().or(dependency.requirement.as_ref());
            version.map_or_else(
                || short(&dependency.name),
                |version| format!("{} {}", short(&dependency.name), cut(version, 16)),
            )
        })
}

fn work(report: &Report, out: &mut String) {
    let Some(project) = &report.project else { return };
    if let Some(summary) = &project.summary {
        line!(out, "Description: {}", cut(summary, 200));
    }
    let kind = format!("{:?}", project.kind);
    let words = kind.chars().fold(String::new(), |mut words, c| {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
        words
    });
    let because = if project.because.is_empty() {
        String::new()
    } else {
        format!(" ({})", cut(&project.because, 100))
    };
    line!(out, "Kind: {words}{because}.");
    if !project.frameworks.is_empty() {
        line!(out, "Built on: {}.", some(&project.frameworks, 8, |name| short(name)));
    }
    let starts: Vec<_> =
        project.entry_points.iter().filter(|at| at.kind != EntryKind::Example).collect();
    if !starts.is_empty() {
        let describe = |at: &&super::report::EntryPoint| match &at.path {
            Some(path) => format!("{} ({})", short(&at.name), tail(path)),
            None => short(&at.name),
        };
        line!(out, "Entry points: {}.", some(&starts, 6, describe));
    }
    let purposes = [
        ("Install", CommandPurpose::Install),
        ("Build", CommandPurpose::Build),
        ("Test", CommandPurpose::Test),
        ("Run", CommandPurpose::Run),
        ("Lint", CommandPurpose::Lint),
    ];
    for (word, purpose) in purposes {
        if let Some(best) = project.commands.iter().find(|one| one.purpose == purpose) {
            let folder = if best.folder == "." {
                String::new()
            } else {
                format!(" in {}", tail(&best.folder))
            };
            line!(out, "{word}: `{}`{folder} ({})", cut(&best.command, 80), tail(&best.source));
        }
    }
    if !project.toolchain.is_empty() {
        let describe = |tool: &super::report::Tool| {
            format!("{} {}", short(&tool.name), cut(&tool.requirement, 20))
        };
        line!(out, "Needs: {}.", some(&project.toolchain, 5, describe));
    }
}

/// Describes the documentation and file contents.
pub(super) fn documentation(report: &Report) -> String {
    let mut out = String::new();
    let presence = &report.presence;
    let or_none =
        |found: &Option<String>| found.as_deref().map_or_else(|| absent(report).to_owned(), short);
    let licence = match (&presence.licence_id, &presence.licence) {
        (Some(id), Some(path)) => format!("{} ({})", short(id), short(path)),
        (Some(id), None) => format!("{} (by manifest)", short(id)),
        (None, Some(path)) if report.depth == Depth::Quick => short(path),
        (None, Some(path)) => format!("{}, not identified", short(path)),
        (None, None) => absent(report).into(),
    };
    line!(
        out,
        "README: {}. License: {licence}. Changelog: {}. Contributing guide: {}.",
        or_none(&presence.readme),
        or_none(&presence.changelog),
        or_none(&presence.contributing)
    );
    let ci = if presence.ci.is_empty() {
        absent(report).into()
    } else {
        some(&presence.ci, 3, |path| tail(path))
    };
    let mut tests = counted(presence.test_files, "file");
    if !presence.test_places.is_empty() {
        say!(tests, " in {}", some(&presence.test_places, 4, |path| tail(path)));
    }
    if presence.inline_test_files > 0 {
        say!(tests, ", and tests inside {}", counted(presence.inline_test_files, "source file"));
    }
    line!(out, "Tests: {tests}. CI: {ci}.");
    let folders = if presence.docs_folders.is_empty() {
        "no documentation folder".into()
    } else {
        presence.docs_folders.join(", ")
    };
    let site =
        presence.docs_site.as_ref().map_or_else(String::new, |site| format!(", built with {site}"));
    line!(out, "Documents: {}; {folders}{site}.", counted(presence.document_files, "file"));
    if let Some(found) = &report.documentation {
        inventory(found, &mut out);
    }
    lines(report, &mut out);
    contents(report, &mut out);
    if let Some(history) = report.history.as_ref().filter(|history| history.commits > 0) {
        past(history, &mut out);
    }
    out
}

fn inventory(found: &Documentation, out: &mut String) {
    if let Some(readme) = &found.readme {
        let lacks: Vec<_> = readme.items.iter().filter(|item| !item.found).collect();
        say!(
            out,
            "The README has {} and scores {} out of 100",
            counted(readme.words, "word"),
            readme.score
        );
        if lacks.is_empty() {
            line!(out, ".");
        } else {
            // The item is called `licence` in JSON.
            let lacks = some(&lacks, 8, |item| item.item.replace("licence", "license"));
            line!(out, "; it lacks {lacks}.");
        }
    }
    if !found.kinds.is_empty() {
        let describe = |one: &super::report::KindCount| {
            format!("{} {}", kind_word(one.kind), grouped(one.count))
        };
        line!(out, "By kind: {}.", some(&found.kinds, 10, describe));
    }
    if let Some(changelog) = &found.changelog {
        say!(out, "The changelog lists {}", counted(changelog.releases, "release"));
        if let Some(newest) = &changelog.newest {
            say!(out, ", newest {}", short(newest));
        }
        line!(
            out,
            "{}.",
            if changelog.has_current_version == Some(false) {
                ", not the current version"
            } else {
                ""
            }
        );
    }
    if !found.api_docs.is_empty() {
        line!(
            out,
            "API reference: {}.",
            some(&found.api_docs, 3, |one| format!("{} ({})", one.tool, tail(&one.source)))
        );
    }
    if let Some(site) = &found.suggested_site {
        line!(out, "Suggested site generator: {}. {}", site.name, cut(&site.reason, 120));
    }
}

/// Names a kind of document.
fn kind_word(kind: super::report::DocumentKind) -> &'static str {
    use super::report::DocumentKind as K;
    match kind {
        K::Readme => "README",
        K::Tutorial => "tutorial",
        K::HowTo => "how-to",
        K::Reference => "reference",
        K::Explanation => "explanation",
        K::Decision => "decision",
        K::Changelog => "changelog",
        K::Community => "community",
        K::Legal => "legal",
        K::Other => "other",
    }
}

fn lines(report: &Report, out: &mut String) {
    let is_code = |one: &&ReportLanguage| one.lines.is_some() && one.nature != Nature::Data;
    let read: Vec<_> = report.languages.iter().filter(is_code).collect();
    if read.is_empty() {
        return;
    }
    let describe = |language: &&ReportLanguage| {
        let mut lines = language.lines.unwrap_or_default();
        lines.comments += language.embedded.unwrap_or_default().comments;
        let (name, code) = (&language.name, grouped(lines.code));
        match lines.comments {
            _ if language.nature == Nature::Prose => format!("{name} {}", grouped(lines.total())),
            0 => format!("{name} {code}"),
            comments => format!("{name} {code} + {} comments", grouped(comments)),
        }
    };
    line!(out, "Lines: {}.", some(&read, 5, describe));
}

fn contents(report: &Report, out: &mut String) {
    if let Some(coverage) = report.coverage.as_ref().filter(|coverage| coverage.public > 0) {
        let (public, percent) = (counted(coverage.public, "public symbol"), coverage.percent);
        let worst = coverage.folders.iter().filter(|folder| folder.public >= 10).take(3);
        let worst: Vec<_> =
            worst.map(|one| format!("{} {} %", tail(&one.name), one.percent)).collect();
        let lead = if worst.is_empty() { "" } else { "; least in " };
        line!(out, "Doc comments: {percent} % of {public}{lead}{}.", worst.join(", "));
    }
    if let Some(links) = &report.links {
        line!(
            out,
            "Relative links: {} checked, {} broken.",
            grouped(links.checked),
            grouped(links.broken_count)
        );
        for link in links.broken.iter().take(3) {
            line!(out, "- {}:{} -> {}", tail(&link.path), link.line, tail(&link.target));
        }
    }
    if let Some(drift) = &report.drift {
        let stale = counted(drift.stale_count, "mention");
        line!(
            out,
            "Drift: {stale} of things that no longer exist; {} older than the code.",
            counted(drift.outdated.len() as u64, "document")
        );
        for stale in drift.stale.iter().take(3) {
            line!(
                out,
                "- {}:{} names `{}`: {}",
                tail(&stale.path),
                stale.line,
                short(&stale.mention),
                cut(&stale.evidence, 80)
            );
        }
        if let Some(old) = drift.outdated.first() {
            line!(
                out,
                "- {} last changed {}; the code it mentions changed {} since",
                tail(&old.path),
                old.last_change,
                counted(old.changes, "time")
            );
        }
    }
    if let Some(redundancy) = &report.redundancy {
        let counts = [
            (
                redundancy.duplicates.len(),
                "pair of similar documents",
                "pairs of similar documents",
            ),
            (
                redundancy.dead.len(),
                "document that nothing links to",
                "documents that nothing links to",
            ),
            (redundancy.empty.len(), "empty document", "empty documents"),
        ];
        let parts: Vec<_> = counts
            .iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
            .collect();
        if !parts.is_empty() {
            line!(out, "Redundancy: {}.", parts.join(", "));
        }
    }
    if let Some(tasks) = report.tasks.as_ref().filter(|tasks| tasks.count > 0) {
        let most = some(&tasks.files, 3, |file| format!("{} ({})", tail(&file.path), file.count));
        line!(
            out,
            "Open tasks (TODO, FIXME, HACK, XXX): {}, most in {most}.",
            grouped(tasks.count)
        );
    }
}

fn past(history: &History, out: &mut String) {
    let since = history.since.as_deref().unwrap_or("?");
    let bounded = if history.truncated { " read" } else { "" };
    line!(
        out,
        "History: {}{bounded} since {since} by {}; bus factor {}.",
        counted(history.commits, "commit"),
        counted(history.author_count, "author"),
        history.bus_factor
    );
    if !history.hot_spots.is_empty() {
        let describe = |spot: &super::report::HotSpot| {
            format!("{} ({} changes)", tail(&spot.path), spot.changes)
        };
        line!(
            out,
            "Hot spots (often changed and complex): {}.",
            some(&history.hot_spots, 4, describe).split(" and ").next().unwrap_or_default()
        );
    }
    if let Some(newest) = history.releases.newest.first() {
        let since = history
            .releases
            .commits_since
            .map_or_else(String::new, |count| format!(", {} since", counted(count, "commit")));
        line!(
            out,
            "Releases: {}, newest {} of {}{since}.",
            grouped(history.releases.count),
            short(&newest.tag),
            newest.date
        );
    }
}

/// Summarizes for the log how the analysis ended and what it found.
pub(super) fn completion(report: &Report) -> String {
    let files = counted(report.structure.files, "file");
    if !report.missing.is_empty() {
        return format!("Repository analysis stopped at the deadline: {files} seen");
    }
    let gaps = counted(report.gaps.len() as u64, "documentation gap");
    format!("Repository analysis completed: {files}, {gaps}")
}

/// Lists the gaps and next steps.
pub(super) fn conclusion(report: &Report) -> String {
    let mut out = String::new();
    if !report.missing.is_empty() {
        line!(out, "Partial answer. Missing: {}.", some(&report.missing, 6, Clone::clone));
    }
    if !report.gaps.is_empty() {
        line!(out, "## Documentation gaps, most important first");
        for (at, gap) in report.gaps.iter().take(8).enumerate() {
            line!(
                out,
                "{}. [{:?}] {}. {}",
                at + 1,
                gap.severity,
                cut(&gap.gap, 100),
                cut(&gap.cost, 100)
            );
        }
    } else if report.missing.is_empty() {
        line!(out, "No documentation gaps found at depth {:?}.", report.depth);
    }
    line!(out, "## Next steps");
    for step in &report.next_steps {
        line!(out, "- {}", cut(step, 160));
    }
    if report.next_steps.is_empty() && report.depth == Depth::Deep {
        line!(out, "- Compare the largest documents with the code they describe.");
    }
    if report.problem_count > 0 {
        let problems = some(&report.problems, 3, |trouble| {
            format!("{}: {}", tail(&trouble.path), cut(&trouble.reason, 80))
        });
        line!(out, "{} could not be read: {problems}.", counted(report.problem_count, "item"));
    }
    out
}
