//! Display names of the report's enums.

use crate::repo::report::{
    CommandPurpose, Depth, DocumentKind, EntryKind, LinkProblem, MentionKind, Nature, ProjectKind,
    Purpose, Severity,
};

/// Name of a depth.
pub(super) fn depth(depth: Depth) -> &'static str {
    match depth {
        Depth::Quick => "quick",
        Depth::Standard => "standard",
        Depth::Deep => "deep",
    }
}

/// Name of a severity.
pub(super) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::High => "High",
        Severity::Medium => "Medium",
        Severity::Low => "Low",
    }
}

/// Name of a project kind; `None` if unknown.
pub(super) fn project(kind: ProjectKind) -> Option<&'static str> {
    Some(match kind {
        ProjectKind::Monorepo => "Monorepo",
        ProjectKind::Library => "Library",
        ProjectKind::CommandLine => "Command-line program",
        ProjectKind::Service => "Network service",
        ProjectKind::WebApplication => "Web application",
        ProjectKind::DesktopApplication => "Desktop application",
        ProjectKind::MobileApplication => "Mobile application",
        ProjectKind::Plugin => "Plugin",
        ProjectKind::Documentation => "Documentation",
        ProjectKind::Data => "Data or configuration",
        ProjectKind::Infrastructure => "Infrastructure as code",
        ProjectKind::Unknown => return None,
    })
}

/// Name of a command purpose.
pub(super) fn command(purpose: CommandPurpose) -> &'static str {
    match purpose {
        CommandPurpose::Install => "Install",
        CommandPurpose::Build => "Build",
        CommandPurpose::Test => "Test",
        CommandPurpose::Run => "Run",
        CommandPurpose::Lint => "Lint",
        CommandPurpose::Format => "Format",
        CommandPurpose::Docs => "Documentation",
        CommandPurpose::Bench => "Benchmark",
        CommandPurpose::Release => "Release",
        CommandPurpose::Other => "Other",
    }
}

/// Name of an entry point kind.
pub(super) fn entry(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::Binary => "binary",
        EntryKind::Library => "library",
        EntryKind::Script => "script",
        EntryKind::Example => "example",
        EntryKind::Container => "container",
    }
}

/// Name of a dependency purpose.
pub(super) fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Runtime => "runtime",
        Purpose::Optional => "optional",
        Purpose::Peer => "peer",
        Purpose::Build => "build",
        Purpose::Development => "development",
        Purpose::Workspace => "workspace",
    }
}

/// Name of a document kind.
pub(super) fn document(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Readme => "readme",
        DocumentKind::Tutorial => "tutorial",
        DocumentKind::HowTo => "how-to",
        DocumentKind::Reference => "reference",
        DocumentKind::Explanation => "explanation",
        DocumentKind::Decision => "decision",
        DocumentKind::Changelog => "changelog",
        DocumentKind::Community => "community",
        DocumentKind::Legal => "legal",
        DocumentKind::Other => "other",
    }
}

/// Name of a language's nature.
pub(super) fn nature(nature: Nature) -> &'static str {
    match nature {
        Nature::Program => "program",
        Nature::Markup => "markup",
        Nature::Data => "data",
        Nature::Prose => "prose",
    }
}

/// Description of a link problem.
pub(super) fn link(problem: LinkProblem) -> &'static str {
    match problem {
        LinkProblem::MissingFile => "no such file",
        LinkProblem::MissingAnchor => "no such heading",
        LinkProblem::MissingImage => "no such image",
        LinkProblem::WrongCase => "wrong case",
        LinkProblem::Outside => "outside the repository",
    }
}

/// Name of a mention kind.
pub(super) fn mention(kind: MentionKind) -> &'static str {
    match kind {
        MentionKind::Symbol => "symbol",
        MentionKind::File => "file",
        MentionKind::Flag => "option",
        MentionKind::Command => "command",
    }
}

/// Formats `2026-11-15` as `November 2026`; other text is unchanged.
pub(super) fn month(date: &str) -> String {
    const NAMES: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let mut parts = date.split('-');
    let year = parts.next().unwrap_or_default();
    let month = parts.next().and_then(|month| month.parse::<usize>().ok());
    match month.and_then(|month| NAMES.get(month.checked_sub(1)?)) {
        Some(name) => format!("{name} {year}"),
        None => date.to_owned(),
    }
}

/// Capitalizes the first letter.
pub(super) fn label(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_labels_read_well() {
        let cases = [
            (month("2026-11-15"), "November 2026"),
            (month("2026-01"), "January 2026"),
            (month("2026-13"), "2026-13"),
            (month("2026-00"), "2026-00"),
            (month("soon"), "soon"),
            (label("usage"), "Usage"),
            (label(""), ""),
        ];
        for (got, want) in cases {
            assert_eq!(got, want);
        }
    }
}
