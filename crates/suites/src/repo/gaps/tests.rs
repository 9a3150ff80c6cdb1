use super::*;
use crate::repo::report::{
    Branch, BrokenLink, Changelog, Coverage, Covered, Dependency, DocumentKind, Documentation,
    Drift, Duplicate, Examples, FolderOwners, History, HotSpot, KindCount, LinkProblem, Links,
    Manifest, MentionKind, Outdated, Owner, Presence, Project, Purpose, Readme, ReadmeItem,
    Redundancy, Stale, Structure, SuggestedSite, Tool, Undocumented,
};
use Severity::{High, Low, Medium};

fn command(purpose: CommandPurpose, command: &str, source: &str) -> ProjectCommand {
    ProjectCommand { purpose, command: command.into(), folder: ".".into(), source: source.into() }
}

fn item(name: &str, found: bool, severity: Severity) -> ReadmeItem {
    ReadmeItem { item: name.into(), found, evidence: String::new(), line: None, severity }
}

/// A project without gaps at `standard`.
fn sound() -> Report {
    Report {
        depth: Depth::Standard,
        complete: true,
        primary_language: Some("Rust".into()),
        presence: Presence {
            readme: Some("README.md".into()),
            licence: Some("LICENSE".into()),
            licence_id: Some("MIT".into()),
            changelog: Some("CHANGELOG.md".into()),
            contributing: Some("CONTRIBUTING.md".into()),
            test_files: 3,
            ci: vec![".github/workflows/ci.yml".into()],
            ..Presence::default()
        },
        manifests: vec![Manifest {
            path: "Cargo.toml".into(),
            ecosystem: "Cargo".into(),
            name: Some("acme".into()),
            version: Some("1.2.0".into()),
            licence: Some("MIT".into()),
            ..Manifest::default()
        }],
        project: Some(Project {
            kind: ProjectKind::CommandLine,
            commands: vec![
                command(CommandPurpose::Build, "cargo build", "Cargo.toml"),
                command(CommandPurpose::Test, "cargo test", "Makefile:12"),
            ],
            ..Project::default()
        }),
        documentation: Some(Documentation {
            readme: Some(Readme {
                path: "README.md".into(),
                words: 300,
                code_blocks: 3,
                ..Readme::default()
            }),
            changelog: Some(Changelog { path: "CHANGELOG.md".into(), ..Changelog::default() }),
            ..Documentation::default()
        }),
        ..Report::default()
    }
}

/// A sound project with one change.
fn with(change: impl FnOnce(&mut Report)) -> Report {
    let mut report = sound();
    change(&mut report);
    report
}

fn documentation(report: &mut Report) -> &mut Documentation {
    report.documentation.as_mut().unwrap()
}

fn project(report: &mut Report) -> &mut Project {
    report.project.as_mut().unwrap()
}

fn lacking(name: &'static str, severity: Severity) -> impl Fn(&mut Report) {
    move |report| {
        let readme = documentation(report).readme.as_mut().unwrap();
        readme.items = vec![item("title", true, Low), item(name, false, severity)];
    }
}

fn find_gaps(report: &Report) -> Vec<(Severity, String, String)> {
    find(report).into_iter().map(|gap| (gap.severity, gap.gap, gap.next_step)).collect()
}

/// Each case changes one thing in a sound project and expects one gap.
fn check(cases: Vec<(Report, Severity, &str, &str)>) {
    for (report, severity, what, step) in cases {
        assert_eq!(find_gaps(&report), [(severity, what.to_owned(), step.to_owned())]);
    }
}

#[test]
fn a_sound_project_has_no_gaps() {
    assert_eq!(find(&sound()), []);
}

#[test]
fn a_readme_may_not_explain_the_project() {
    check(vec![
        (
            with(|report| {
                report.presence.readme = None;
                documentation(report).readme = None;
            }),
            High,
            "No README",
            "Write README.md: what it is and for whom, one example, `cargo build` (from Cargo.toml) and `cargo test` (from Makefile:12), the license.",
        ),
        (
            with(|report| {
                documentation(report).readme =
                    Some(Readme { path: "README.md".into(), words: 4, ..Readme::default() });
            }),
            High,
            "README.md has 4 words",
            "Say in README.md what the project does, for whom, and what it is not for.",
        ),
        (
            with(lacking("purpose", High)),
            High,
            "README.md does not say what this is",
            "Begin README.md with one sentence on what it is and for whom.",
        ),
        (
            with(|report| {
                project(report).summary = Some("Roads into rockets.".into());
                lacking("purpose", High)(report);
            }),
            High,
            "README.md does not say what this is",
            "Begin README.md with one sentence on what it is; the project describes itself as `Roads into rockets.`",
        ),
    ]);
    assert_eq!(find(&with(lacking("title", Low))), []);
}

#[test]
fn a_readme_may_not_help_to_begin() {
    check(vec![
        (
            with(lacking("installation", High)),
            High,
            "README.md does not say how to install it",
            "Add `cargo build` (from Cargo.toml) to README.md under a heading Installation.",
        ),
        (
            with(|report| {
                project(report).kind = ProjectKind::Library;
                lacking("installation", High)(report);
            }),
            High,
            "README.md does not say how to install it",
            "Add `cargo add acme` (named in Cargo.toml) to README.md under a heading Installation.",
        ),
        (
            with(lacking("usage", High)),
            High,
            "README.md does not show how to use it",
            "Add the shortest complete usage example with its result to README.md under a heading Usage.",
        ),
        (
            with(|report| {
                documentation(report).examples.folders = vec!["examples".into()];
                lacking("example", Medium)(report);
            }),
            Medium,
            "README.md has no example",
            "Show the shortest example of examples/ in README.md, and link the folder.",
        ),
        (
            with(|report| {
                project(report).toolchain = vec![Tool {
                    name: "Rust".into(),
                    requirement: "1.95".into(),
                    source: "Cargo.toml".into(),
                }];
                lacking("requirements", Medium)(report);
            }),
            Medium,
            "README.md lists no requirements",
            "Add Rust 1.95 (from Cargo.toml) to README.md under a heading Requirements.",
        ),
        (
            with(|report| {
                project(report).environment = vec!["ACME_FUEL".into()];
                lacking("configuration", Medium)(report);
            }),
            Medium,
            "README.md does not explain the settings",
            "Explain `ACME_FUEL` in README.md under a heading Configuration: meaning, default, example.",
        ),
        (
            with(lacking("tests", Medium)),
            Medium,
            "README.md does not say how to run the tests",
            "Add `cargo test` (from Makefile:12) to README.md under a heading Tests.",
        ),
    ]);
}

#[test]
fn a_readme_may_not_lead_further() {
    check(vec![
        (
            with(lacking("licence", Medium)),
            Medium,
            "README.md does not name the license",
            "Name MIT in README.md, with a link to LICENSE.",
        ),
        (
            with(|report| {
                report.presence.docs_folders = vec!["docs".into()];
                lacking("documentation", Low)(report);
            }),
            Low,
            "README.md does not link to the documentation",
            "Link docs/ from README.md.",
        ),
        (
            with(lacking("help", Low)),
            Low,
            "README.md does not say where to get help",
            "Say in README.md where to ask questions and report problems.",
        ),
        (
            with(lacking("contributing", Low)),
            Low,
            "README.md does not say how to contribute",
            "Link CONTRIBUTING.md from README.md.",
        ),
        (
            with(lacking("status", Low)),
            Low,
            "README.md does not say how mature it is",
            "Say in README.md how mature it is and whether it is maintained.",
        ),
    ]);
}

fn depends() -> Dependency {
    Dependency { name: "serde".into(), requirement: None, locked: None, purpose: Purpose::Runtime }
}

#[test]
fn licence_tests_and_automation_may_be_missing() {
    check(vec![
        (
            with(|report| {
                report.presence.licence = None;
                report.presence.licence_id = None;
                report.manifests[0].licence = None;
            }),
            High,
            "No license",
            "Choose a license and put its text into LICENSE.",
        ),
        (
            with(|report| report.presence.licence = None),
            Low,
            "No license file",
            "Add a LICENSE file with the text of MIT, which Cargo.toml names.",
        ),
        (
            with(|report| report.manifests[0].licence = Some("ISC".into())),
            Medium,
            "Cargo.toml says ISC, LICENSE is MIT",
            "Make Cargo.toml and LICENSE name the same license.",
        ),
        (
            with(|report| report.presence.test_files = 0),
            Medium,
            "No tests found",
            "Write a test of the main path that `cargo test` (from Makefile:12) runs.",
        ),
        (
            with(|report| report.presence.ci.clear()),
            Low,
            "No continuous integration",
            "Run `cargo build` (from Cargo.toml) and `cargo test` (from Makefile:12) on every change.",
        ),
        (
            with(|report| report.presence.contributing = None),
            Low,
            "No contributing guide",
            "Write CONTRIBUTING.md: `cargo test` (from Makefile:12), and how changes are reviewed.",
        ),
    ]);
}

#[test]
fn code_may_be_unlocked_unexplained_or_known_to_one() {
    check(vec![
        (
            with(|report| report.manifests[0].dependencies = vec![depends()]),
            Medium,
            "No lock file for Cargo.toml",
            "Create Cargo.lock with `cargo generate-lockfile` and commit it.",
        ),
        (
            with(|report| {
                let spot = HotSpot {
                    path: "src/a.rs".into(),
                    changes: 90,
                    complexity: 80,
                    lines: 500,
                    score: 100.0,
                };
                report.history = Some(History { hot_spots: vec![spot], ..History::default() });
                let symbol = Undocumented {
                    symbol: "a".into(),
                    kind: "function".into(),
                    path: "src/a.rs".into(),
                    line: 1,
                };
                report.coverage =
                    Some(Coverage { undocumented: vec![symbol; 3], ..Coverage::default() });
            }),
            Medium,
            "src/a.rs changed 90 times and has 3 public symbols without docs",
            "Describe at the top of src/a.rs what it owns, and document its public symbols.",
        ),
        (
            with(|report| {
                let owner = Owner {
                    name: "Ada".into(),
                    commits: 90,
                    share: 81.4,
                    last: "2026-01-31".into(),
                };
                let folder = FolderOwners {
                    path: "src/".into(),
                    changes: 9,
                    main_author: "Ada".into(),
                    share: 90.0,
                    bus_factor: 1,
                };
                report.history = Some(History {
                    commits: 99,
                    bus_factor: 1,
                    author_count: 4,
                    owners: vec![owner],
                    folders: vec![folder],
                    ..History::default()
                });
            }),
            Medium,
            "Ada made 81 % of the changes",
            "Ask Ada to write down how src/ works and why, before anything else.",
        ),
    ]);
    let library = with(|report| {
        project(report).kind = ProjectKind::Library;
        report.manifests[0].dependencies = vec![depends()];
    });
    assert_eq!(find(&library), []);
}

#[test]
fn documents_may_be_wrong() {
    let link = BrokenLink {
        path: "docs/a.md".into(),
        line: 7,
        target: "b.md".into(),
        problem: LinkProblem::MissingFile,
        suggestion: Some("c.md".into()),
    };
    let stale = Stale {
        path: "docs/a.md".into(),
        line: 8,
        mention: "launch()".into(),
        kind: MentionKind::Symbol,
        evidence: String::new(),
        severity: High,
        suggestion: None,
    };
    let outdated = Outdated {
        path: "docs/a.md".into(),
        last_change: "2024-01-31".into(),
        changed: vec!["src/a.rs".into()],
        changes: 12,
    };
    check(vec![
        (
            with(|report| {
                report.links =
                    Some(Links { broken_count: 2, broken: vec![link], ..Links::default() });
            }),
            Medium,
            "2 broken links",
            "Fix `b.md` at docs/a.md:7 (did you mean `c.md`?), then 1 more.",
        ),
        (
            with(|report| {
                report.drift =
                    Some(Drift { stale_count: 1, stale: vec![stale], ..Drift::default() });
            }),
            Medium,
            "Documents mention 1 thing that is no longer there",
            "Correct `launch()` at docs/a.md:8.",
        ),
        (
            with(|report| {
                report.drift = Some(Drift { outdated: vec![outdated], ..Drift::default() });
            }),
            Medium,
            "docs/a.md is from 2024-01-31; the code it describes has changed 12 times since",
            "Compare docs/a.md with src/a.rs and correct it.",
        ),
    ]);
}

fn folder(name: &str, public: u64, percent: f64) -> Covered {
    Covered { name: name.into(), public, documented: 0, percent }
}

#[test]
fn documents_may_be_missing() {
    let symbol = Undocumented {
        symbol: "A::b".into(),
        kind: "function".into(),
        path: "src/a.rs".into(),
        line: 5,
    };
    let kinds = |kind, count| vec![KindCount { kind, count }];
    check(vec![
        (
            with(|report| {
                project(report).kind = ProjectKind::Library;
                report.structure.files = 50;
            }),
            Medium,
            "A library without an API reference",
            "Generate an API reference from the doc comments with rustdoc (`cargo doc`).",
        ),
        (
            with(|report| {
                let branch = |path: &str, files| Branch { path: path.into(), files, bytes: 0 };
                report.structure = Structure {
                    files: 90,
                    tree: vec![
                        branch(".github/", 50),
                        branch("lib/", 9),
                        branch("src/", 30),
                        branch("src/a/", 20),
                    ],
                    ..Structure::default()
                };
            }),
            Medium,
            "90 files and no document besides the README",
            "Start docs/architecture.md with a tour of src/, lib/: what each owns, and where to make changes.",
        ),
        (
            with(|report| documentation(report).kinds = kinds(DocumentKind::HowTo, 9)),
            Medium,
            "No tutorial among 9 guides",
            "Write docs/getting-started.md: a first result in ten minutes.",
        ),
        (
            with(|report| {
                let folders = vec![folder("lib", 10, 0.0), folder("src", 40, 12.5)];
                report.coverage =
                    Some(Coverage { folders, undocumented: vec![symbol], ..Coverage::default() });
            }),
            Medium,
            "12 % of 40 public symbols in src are documented",
            "Document the public symbols of src, starting with `A::b` at src/a.rs:5.",
        ),
    ]);
}

#[test]
fn documents_may_be_careless() {
    check(vec![
        (
            with(|report| {
                documentation(report).changelog = Some(Changelog {
                    path: "CHANGELOG.md".into(),
                    releases: 1,
                    newest: Some("1.1.0".into()),
                    newest_date: None,
                    has_current_version: Some(false),
                });
            }),
            Low,
            "CHANGELOG.md lacks 1.2.0; its newest entry is 1.1.0",
            "Add 1.2.0 (from Cargo.toml) to CHANGELOG.md.",
        ),
        (
            with(|report| {
                report.presence.changelog = None;
                documentation(report).changelog = None;
            }),
            Low,
            "No changelog",
            "Start CHANGELOG.md with 1.2.0 (from Cargo.toml).",
        ),
        (
            with(|report| {
                let pair = Duplicate { one: "a.md".into(), other: "b.md".into(), alike: 92.0 };
                report.redundancy = Some(Redundancy {
                    duplicates: vec![pair.clone(), pair],
                    ..Redundancy::default()
                });
            }),
            Low,
            "a.md and b.md share 92 % of their text, and 1 more pair",
            "Keep one of a.md and b.md, and link it from the other.",
        ),
        (
            with(|report| {
                report.redundancy =
                    Some(Redundancy { dead: vec!["c.md".into()], ..Redundancy::default() });
            }),
            Low,
            "Nothing links to 1 document",
            "Link to c.md from a page its readers use, or remove it.",
        ),
        (
            with(|report| {
                documentation(report).examples =
                    Examples { code_blocks: 15, unlabelled: 12, ..Examples::default() }
            }),
            Low,
            "12 of 15 code blocks have no language label",
            "Label each code block with its language, as in ```sh.",
        ),
    ]);
}

#[test]
fn severity_ranks_then_cost() {
    let mut report = with(|report| {
        report.presence = Presence { readme: Some("README.md".into()), ..Presence::default() };
        report.manifests.clear();
        let readme = documentation(report).readme.as_mut().unwrap();
        readme.items = vec![
            item("purpose", false, High),
            item("tests", false, Medium),
            item("help", false, Low),
            item("usage", false, High),
            item("licence", false, Medium),
        ];
        documentation(report).changelog = None;
    });
    let gaps: Vec<(Severity, String)> =
        find(&report).into_iter().map(|gap| (gap.severity, gap.gap)).collect();
    let want = [
        (High, "No license"),
        (High, "README.md does not say what this is"),
        (High, "README.md does not show how to use it"),
        (Medium, "README.md does not say how to run the tests"),
        (Medium, "No tests found"),
        (Low, "README.md does not say where to get help"),
        (Low, "No continuous integration"),
        (Low, "No contributing guide"),
    ];
    assert_eq!(gaps, want.map(|(severity, gap)| (severity, gap.to_owned())));
    report.gaps = find(&report);
    let steps = next_steps(&report);
    assert_eq!(steps.len(), 7);
    assert_eq!(steps[0], "Choose a license and put its text into LICENSE.");
    assert_eq!(
        steps[6],
        "Call again with depth `deep` for undocumented symbols, broken links, outdated documents and history."
    );
}

#[test]
fn what_was_not_seen_is_not_called_absent() {
    let nothing = Report { primary_language: Some("Rust".into()), ..Report::default() };
    assert_eq!(find(&nothing), []);
    let unreached = with(|report| {
        report.missing = vec!["lines".into()];
        report.presence.test_files = 0;
    });
    assert_eq!(find(&unreached), []);
}

#[test]
fn quick_judges_by_presence_alone() {
    let report = Report {
        depth: Depth::Quick,
        complete: true,
        primary_language: Some("Go".into()),
        ..Report::default()
    };
    let want = [
        (High, "No README"),
        (Medium, "No license file"),
        (Medium, "No test files by name"),
        (Low, "No continuous integration"),
        (Low, "No changelog"),
        (Low, "No contributing guide"),
    ];
    let gaps: Vec<(Severity, String)> =
        find(&report).into_iter().map(|gap| (gap.severity, gap.gap)).collect();
    assert_eq!(gaps, want.map(|(severity, gap)| (severity, gap.to_owned())));
}

#[test]
fn documents_alone_need_no_tests() {
    let report = with(|report| {
        project(report).kind = ProjectKind::Documentation;
        report.presence = Presence {
            readme: Some("README.md".into()),
            licence: Some("LICENSE".into()),
            ..Presence::default()
        };
        documentation(report).changelog = None;
    });
    assert_eq!(find(&report), []);
}

#[test]
fn the_last_step_explains_how_to_learn_more() {
    let step = |depth, missing: &[&str], complete| {
        let missing = missing.iter().map(|it| (*it).to_owned()).collect();
        next_steps(&Report { depth, complete, missing, ..Report::default() })
    };
    let again = |with: &str, missing: &str| {
        vec![format!(
            "Call again with {with}a folder inside this one: this report is incomplete{missing}."
        )]
    };
    assert_eq!(
        step(Depth::Quick, &[], true),
        ["Call again with depth `standard` for dependencies, commands, license and README gaps."]
    );
    assert_eq!(step(Depth::Deep, &[], true), [""; 0]);
    assert_eq!(
        step(Depth::Deep, &["history", "links"], true),
        again("depth `standard`, or with ", " (missing: history, links)")
    );
    assert_eq!(step(Depth::Standard, &[], false), again("depth `quick`, or with ", ""));
    assert_eq!(step(Depth::Quick, &[], false), again("", ""));
    let site = SuggestedSite {
        name: "mdBook".into(),
        reason: "it fits".into(),
        start: "mdbook init docs".into(),
    };
    let report = with(|report| {
        report.depth = Depth::Deep;
        documentation(report).suggested_site = Some(site);
    });
    assert_eq!(
        next_steps(&report),
        ["Consider a documentation site with mdBook (`mdbook init docs`): it fits."]
    );
}
