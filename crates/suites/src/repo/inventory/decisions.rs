//! Decision records: which documents are records, and their status.

use crate::{
    files::ReadFailure,
    repo::{
        facts::DocumentFacts,
        report::Decision,
        tree::{ProjectTree, folder_of, name_of},
    },
};

/// Number of lines searched for a status.
const STATUS_SEARCH_LINES: usize = 60;

/// Decision statuses, in lowercase.
const STATUSES: [&str; 16] = [
    "accepted",
    "proposed",
    "superseded",
    "deprecated",
    "rejected",
    "draft",
    "approved",
    "implemented",
    "withdrawn",
    "amended",
    "replaced",
    "obsolete",
    "adopted",
    "pending",
    "decided",
    "declined",
];

/// Whether a path is a record: numbered, in a decisions folder, and not an index or template.
pub(super) fn is_record(path: &str) -> bool {
    let folder = folder_of(path).to_ascii_lowercase();
    let name = name_of(path).to_ascii_lowercase();
    let last = folder.rsplit('/').next().unwrap_or_default();
    let strict = [
        "adr",
        "adrs",
        "decision-records",
        "decision_records",
        "architecture-decisions",
        "architecture-decision-records",
    ];
    let numbered = || {
        let start = name
            .strip_prefix("adr")
            .map_or(name.as_str(), |rest| rest.trim_start_matches(['-', '_']));
        start.chars().take_while(char::is_ascii_digit).count() >= 2
    };
    let aside = ["readme", "index", "template", "_template", "0000-template", "toc"];
    let is_aside = aside.iter().any(|it| name.starts_with(it)) || name.contains("template");
    // Folders called `decisions` may contain anything; a number is required.
    !is_aside && (strict.contains(&last) || (last == "decisions" && numbered()))
}

/// Returns the records among these documents, by path.
pub(super) fn read(
    tree: &ProjectTree,
    documents: &[&DocumentFacts],
) -> (Vec<Decision>, Vec<ReadFailure>) {
    let (mut decisions, mut problems) = (Vec::new(), Vec::new());
    for document in documents {
        let status = match tree.text(&document.path) {
            Ok(text) => status(&text),
            Err(problem) => {
                problems.push(problem);
                None
            }
        };
        let title = document.title.as_deref().unwrap_or_else(|| name_of(&document.path));
        decisions.push(Decision {
            path: document.path.to_string(),
            title: title.to_owned(),
            status,
        });
    }
    (decisions, problems)
}

/// Returns a record's status from front matter, a line of its own, or a section.
fn status(text: &str) -> Option<String> {
    let mut lines = text.lines().take(STATUS_SEARCH_LINES);
    while let Some(line) = lines.next() {
        let plain = line.trim_start_matches(['#', '*', '-', '|', '=', ' ']).to_ascii_lowercase();
        let Some(rest) = plain.strip_prefix("status") else { continue };
        let rest = rest.trim_matches(|c: char| !c.is_alphanumeric() && c != '~');
        if !rest.is_empty() {
            return known(rest);
        }
        // A section: its contents.
        return lines
            .by_ref()
            .find(|line| line.chars().any(char::is_alphanumeric))
            .and_then(|line| known(&line.to_ascii_lowercase()));
    }
    None
}

/// Returns the first known word that is not struck through.
fn known(text: &str) -> Option<String> {
    let standing: String = text.split("~~").step_by(2).collect::<Vec<_>>().join(" ");
    let mut words = standing.split(|c: char| !c.is_alphabetic());
    words
        .find_map(|word| STATUSES.iter().find(|status| **status == word))
        .map(|it| (*it).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::inventory::tests::facts;

    #[test]
    fn records_lie_in_folders_of_their_own() {
        let cases = [
            ("docs/adr/0001-use-rust.md", true),
            ("docs/adr/use-rust.md", true),
            ("docs/adr/README.md", false),
            ("docs/adr/template.md", false),
            ("docs/adr/0000-template.md", false),
            ("doc/architecture/decisions/0007-no-orm.md", true),
            ("docs/decisions/adr-012-cache.md", true),
            ("docs/decisions/overview.md", false),
            ("docs/guide/0001-start.md", false),
        ];
        for (path, want) in cases {
            assert_eq!(is_record(path), want, "{path}");
        }
    }

    #[test]
    fn a_status_is_found_in_many_places() {
        let cases = [
            ("---\nstatus: accepted\n---\n# T\n", Some("accepted")),
            ("# T\n\nStatus: Proposed\n", Some("proposed")),
            ("# T\n\n* Status: **Rejected**\n", Some("rejected")),
            ("# T\n\n## Status\n\nSuperseded by [2. Other](0002.md)\n", Some("superseded")),
            ("# T\n\n## Status\n\n~~Accepted~~ Deprecated\n", Some("deprecated")),
            ("# T\n\n**Status** | Draft\n", Some("draft")),
            ("# T\n\n## Status\n\nWe shall see.\n", None),
            ("# T\n\nNothing.\n", None),
        ];
        for (text, want) in cases {
            assert_eq!(status(text).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn records_are_read_and_those_that_cannot_be_are_problems() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("adr")).unwrap();
        std::fs::write(folder.path().join("adr/0001-a.md"), "# 1. Use A\n\nStatus: accepted\n")
            .unwrap();
        let (here, gone) = (facts("adr/0001-a.md", "# 1. Use A\n"), facts("adr/0002-b.md", ""));
        let (decisions, problems) = read(&ProjectTree::of(folder.path()), &[&here, &gone]);
        let decision = |path: &str, title: &str, status: Option<&str>| Decision {
            path: path.into(),
            title: title.into(),
            status: status.map(str::to_owned),
        };
        assert_eq!(
            decisions,
            [
                decision("adr/0001-a.md", "1. Use A", Some("accepted")),
                decision("adr/0002-b.md", "0002-b.md", None)
            ]
        );
        assert_eq!(
            problems.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(),
            ["adr/0002-b.md"]
        );
    }
}
