//! The report told to a model: facts, gaps, next steps, in at most about 1,500 tokens.

use super::report::{Depth, Language, Manifest, Purpose, Report};
use std::fmt::Write as _;

/// Adds to a string, which takes any text.
macro_rules! say {
    ($out:expr, $($text:tt)*) => {
        write!($out, $($text)*).expect("a string takes any text")
    };
}

/// The same, and ends the line.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {
        writeln!($out, $($text)*).expect("a string takes any text")
    };
}

/// A number with a comma at every third digit.
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

/// A number of things.
pub(super) fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(number))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KB", bytes / 1024),
        _ => format!("{} MB", grouped(bytes / 1_048_576)),
    }
}

/// The first `most` items, and how many more there are.
fn some<T>(items: &[T], most: usize, tell: impl Fn(&T) -> String) -> String {
    let mut told = items.iter().take(most).map(tell).collect::<Vec<_>>().join(", ");
    if items.len() > most {
        say!(told, " and {} more", items.len() - most);
    }
    told
}

/// Cuts a name that is longer than a reader needs.
fn short(text: &str) -> String {
    cut(text, 40)
}

/// The same for a path, whose end tells most.
fn tail(path: &str) -> String {
    let length = path.chars().count();
    if length <= 40 {
        return path.to_owned();
    }
    std::iter::once('…').chain(path.chars().skip(length - 39)).collect()
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// What may be said of something that was not found.
fn absent(report: &Report) -> &'static str {
    if report.complete { "none" } else { "none seen so far" }
}

/// What names and sizes tell.
pub(super) fn structure(report: &Report) -> String {
    let mut out = String::new();
    let found = &report.structure;
    line!(out, "# Repository {} (path {})", short(&report.name), tail(&report.path));
    let (files, folders) = (counted(found.files, "file"), counted(found.folders, "folder"));
    line!(out, "{files} in {folders}, {}.", size(found.bytes));
    if !found.tree.is_empty() {
        let tree = some(&found.tree, 14, |branch| {
            let name = short(&branch.name);
            if branch.name.ends_with('/') {
                format!("{name} ({})", grouped(branch.files))
            } else {
                name
            }
        });
        line!(out, "Top level: {tree}.");
    }
    if !report.languages.is_empty() {
        let tell =
            |l: &Language| format!("{} {} % ({})", l.name, l.share, counted(l.files, "file"));
        line!(out, "Languages by bytes: {}.", some(&report.languages, 8, tell));
    }
    if let Some(primary) = &report.primary_language {
        line!(out, "Primary language: {primary}.");
    }
    if !found.skipped.is_empty() {
        line!(
            out,
            "Left out as installed packages: {}.",
            some(&found.skipped, 5, |name| tail(name))
        );
    }
    out
}

/// What the manifests tell.
pub(super) fn stack(report: &Report) -> String {
    let mut out = String::new();
    if report.manifests.is_empty() {
        line!(out, "Package manifests: {}.", absent(report));
        return out;
    }
    line!(out, "Ecosystems: {}.", report.ecosystems.join(", "));
    for manifest in report.manifests.iter().take(6) {
        line!(out, "- {}", told_manifest(manifest));
    }
    if report.manifest_count > 6 {
        line!(out, "- and {}", counted(report.manifest_count - 6, "more manifest"));
    }
    out
}

fn told_manifest(manifest: &Manifest) -> String {
    let mut told = format!("{} ({})", tail(&manifest.path), manifest.ecosystem);
    if let Some(name) = &manifest.name {
        say!(told, ": {}", short(name));
    }
    if let Some(version) = &manifest.version {
        say!(told, " {}", short(version));
    }
    if manifest.dependencies.is_empty() {
        return told;
    }
    let development =
        manifest.dependencies.iter().filter(|d| d.purpose == Purpose::Development).count();
    let all = manifest.dependencies.len();
    say!(told, "; {all} direct {}", if all == 1 { "dependency" } else { "dependencies" });
    if development > 0 {
        say!(told, " ({development} for development)");
    }
    told + ": " + &some(&manifest.dependencies, 7, |dependency| short(&dependency.name))
}

/// What is there for a reader, and what the contents tell.
pub(super) fn documentation(report: &Report) -> String {
    let mut out = String::new();
    let presence = &report.presence;
    let or_none =
        |found: &Option<String>| found.as_deref().map_or_else(|| absent(report).to_owned(), short);
    let licence = match (&presence.licence_id, &presence.licence) {
        (Some(id), Some(path)) => format!("{} ({})", short(id), short(path)),
        (Some(id), None) => format!("{} (by manifest)", short(id)),
        (None, Some(path)) => format!("{}, not identified", short(path)),
        (None, None) => absent(report).into(),
    };
    line!(
        out,
        "README: {}. Licence: {licence}. Changelog: {}. Contributor's guide: {}.",
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
        say!(tests, " in {}", some(&presence.test_places, 5, |path| tail(path)));
    }
    if presence.inline_test_files > 0 {
        say!(tests, ", and tests inside {}", counted(presence.inline_test_files, "source file"));
    }
    line!(out, "Tests: {tests}. CI: {ci}.");
    let folders = if presence.docs_folders.is_empty() {
        "no folder of their own".into()
    } else {
        presence.docs_folders.join(", ")
    };
    let site =
        presence.docs_site.as_ref().map_or_else(String::new, |site| format!(", built with {site}"));
    line!(out, "Documents: {}; {folders}{site}.", counted(presence.document_files, "file"));
    if let Some(readme) = &report.readme {
        let covers = if readme.covers.is_empty() {
            "nothing a newcomer looks for".into()
        } else {
            readme.covers.join(", ")
        };
        line!(
            out,
            "The README has {} and {}; it covers {covers}.",
            counted(readme.words, "word"),
            counted(readme.code_blocks, "code block")
        );
    }
    contents(report, &mut out);
    out
}

fn contents(report: &Report, out: &mut String) {
    let read: Vec<_> =
        report.languages.iter().filter(|language| language.lines.is_some()).collect();
    if !read.is_empty() {
        let tell = |language: &&Language| {
            let lines = language.lines.unwrap_or_default();
            let (name, code) = (&language.name, grouped(lines.code));
            match lines.comments {
                0 => format!("{name} {code}"),
                comments => format!("{name} {code} + {} of comments", grouped(comments)),
            }
        };
        line!(out, "Lines: {}.", some(&read, 6, tell));
    }
    let Some(facts) = &report.contents else { return };
    let lines = counted(facts.lines.total(), "line");
    let binary = counted(facts.binary_files, "binary file");
    line!(out, "Read {}, {lines}; passed over {binary}.", counted(facts.text_files, "text file"));
    if facts.text_files == 0 {
        return;
    }
    let most =
        some(&facts.open_task_files, 3, |tasks| format!("{} ({})", tail(&tasks.path), tasks.count));
    let most = if most.is_empty() { String::new() } else { format!(", most in {most}") };
    line!(out, "Open tasks (TODO, FIXME, HACK, XXX): {}{most}.", grouped(facts.open_tasks));
    line!(
        out,
        "Relative links in Markdown: {} checked, {} broken.",
        grouped(facts.links_checked),
        grouped(facts.broken_link_count)
    );
    for link in facts.broken_links.iter().take(5) {
        line!(out, "- {}:{} -> {}", tail(&link.path), link.line, tail(&link.target));
    }
}

/// What is lacking and what to do.
pub(super) fn conclusion(report: &Report) -> String {
    let mut out = String::new();
    if !report.missing.is_empty() {
        line!(out, "Partial answer. Missing: {}.", some(&report.missing, 6, Clone::clone));
    }
    if !report.gaps.is_empty() {
        line!(out, "## Documentation gaps, costliest first");
        for (at, gap) in report.gaps.iter().take(8).enumerate() {
            line!(out, "{}. [{:?}] {}. {}", at + 1, gap.severity, gap.gap, gap.cost);
        }
    } else if report.missing.is_empty() {
        line!(out, "No documentation gap was found at depth {:?}.", report.depth);
    }
    line!(out, "## Next steps");
    for step in &report.next_steps {
        line!(out, "- {}", cut(step, 160));
    }
    if report.next_steps.is_empty() && report.depth == Depth::Deep {
        line!(out, "- Read the largest documents against the code they describe.");
    }
    if report.problem_count > 0 {
        let told = some(&report.problems, 3, |trouble| {
            format!("{}: {}", tail(&trouble.path), cut(&trouble.reason, 80))
        });
        line!(out, "{} could not be read: {told}.", counted(report.problem_count, "thing"));
    }
    out
}
