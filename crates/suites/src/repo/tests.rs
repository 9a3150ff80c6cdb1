//! Tests of both tools on fixture projects.

mod bad_input;
mod findings;

use super::{report::*, *};
use docent_tool::{
    AnswerBlock, CallClient, CallStop, ClientQuery, FailureKind, Progress, SyslogLevel, ToolAnswer,
    ToolFailure, TypedTool, WorkSlot, no_client,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    sync::Mutex,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Records the events of a running call.
#[derive(Default)]
struct RecordingClient {
    steps: Mutex<Vec<Progress>>,
    logs: Mutex<Vec<(SyslogLevel, String, Value)>>,
    blocks: Mutex<Vec<AnswerBlock>>,
    /// Token cancelled at the first step, if set.
    cancel: Option<CancellationToken>,
    /// Number of times the call waited for a work slot.
    turns: Mutex<usize>,
}

impl CallClient for RecordingClient {
    fn progress(&self, progress: Progress) {
        self.steps.lock().unwrap().push(progress);
        self.cancel.iter().for_each(CancellationToken::cancel);
    }
    fn log(&self, level: SyslogLevel, logger: &str, data: Value) {
        self.logs.lock().unwrap().push((level, logger.to_owned(), data));
    }
    fn emit(&self, block: AnswerBlock) -> BoxedFuture<'_, ()> {
        self.blocks.lock().unwrap().push(block);
        Box::pin(std::future::ready(()))
    }
    fn ask<'a>(&'a self, _: &'a str, _: ClientQuery) -> BoxedFuture<'a, Result<Value, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::ClientLacks("questions"))))
    }
    fn state(&self) -> Option<String> {
        None
    }
    fn work_slot(&self) -> BoxedFuture<'_, WorkSlot> {
        *self.turns.lock().unwrap() += 1;
        Box::pin(std::future::ready(WorkSlot::default()))
    }
}

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn tool(root: &TempDir) -> AnalyzeRepository {
    let roots = ServedRoots::open(&[root.path().to_owned()]).unwrap();
    AnalyzeRepository { roots, kept: Arc::default() }
}

async fn analyze(
    root: &TempDir,
    path: &str,
    depth: Depth,
) -> Result<ToolAnswer<Report>, ToolError> {
    tool(root).call(AnalyzeArgs { path: path.into(), depth }, &no_client()).await
}

/// A small library: Cargo and npm, one broken link, one broken manifest, two open tasks.
fn library() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let at = root.path();
    write(
        at,
        "README.md",
        "# Lib\n\nLib turns one thing into another, for people who have the first and want the second.\n\n\
         ## Usage\n\n```rust\nlib::run()\n```\n\nThe rules are in `docs/rules.md`.\n\n\
         [guide](docs/guide.md) [gone](docs/gone.md#x) [part](docs/guide.md#nothing)\n",
    );
    let apache = include_str!("../../../../LICENSE");
    write(at, "LICENSE", apache);
    write(
        at,
        "Cargo.toml",
        "[package]\nname = 'lib'\nversion = '0.3.0'\ndescription = 'Turns one thing into another'\n\
         [dependencies]\nserde = '1'\n[dev-dependencies]\ntempfile = '3'\n",
    );
    write(
        at,
        "Cargo.lock",
        "version = 4\n[[package]]\nname = 'lib'\nversion = '0.3.0'\ndependencies = ['serde', 'tempfile']\n\
         [[package]]\nname = 'serde'\nversion = '1.0.9'\nsource = 'registry'\n\
         [[package]]\nname = 'tempfile'\nversion = '3.20.0'\nsource = 'registry'\n",
    );
    write(
        at,
        "src/lib.rs",
        "//! Lib.\n\n// TODO: more\n/// Runs.\npub fn run() {}\npub struct Bare;\n#[cfg(test)]\nmod tests {}\n",
    );
    write(
        at,
        "web/package.json",
        r#"{"name": "web", "dependencies": {"express": "^4"}, "scripts": {"test": "vitest"}}"#,
    );
    write(at, "web/app.ts", "export const a = 1; // FIXME\n");
    write(at, "web/app.test.ts", "test('a', () => {});\n");
    write(at, "web/node_modules/express/package.json", r#"{"name": "express"}"#);
    write(at, "broken/Cargo.toml", "[package\n");
    write(at, "tests/run.rs", "#[test]\nfn runs() {}\n");
    write(at, "docs/guide.md", "# Guide\n\n[up](../README.md) [page](other) [html](other.html)\n");
    write(at, "docs/other.md", "# Other\n");
    write(at, ".github/workflows/ci.yml", "on: push\n");
    write(at, "logo.png", b"\x89PNG\0\0\0\0");
    write(at, ".gitignore", "/out\n");
    write(at, "out/junk.rs", "fn junk() {}\n");
    write(at, ".env", "TOKEN=1\n");
    write(at, "tool", "#!/bin/sh\necho\n");
    root
}

fn dependency(name: &str, requirement: &str, locked: Option<&str>, purpose: Purpose) -> Dependency {
    Dependency {
        name: name.into(),
        requirement: Some(requirement.into()),
        locked: locked.map(str::to_owned),
        purpose,
    }
}

#[tokio::test]
async fn quick_reports_names_and_sizes() {
    let root = library();
    let answer = analyze(&root, ".", Depth::Quick).await.unwrap();
    let report = answer.structured;
    assert_eq!((report.path.as_str(), report.depth, answer.partial), (".", Depth::Quick, false));
    assert_eq!(report.name, root.path().file_name().unwrap().to_str().unwrap());
    assert!(report.complete);
    assert_eq!(report.manifest_count, 3);
    let found = &report.structure;
    assert_eq!((found.files, found.folders, found.links), (16, 7, 0));
    let tree: Vec<_> =
        found.tree.iter().map(|branch| (branch.path.as_str(), branch.files)).collect();
    let want = [
        (".github/", 1),
        (".github/workflows/", 1),
        (".gitignore", 1),
        ("Cargo.lock", 1),
        ("Cargo.toml", 1),
        ("LICENSE", 1),
        ("README.md", 1),
        ("broken/", 1),
        ("docs/", 2),
        ("logo.png", 1),
        ("src/", 1),
        ("tests/", 1),
        ("tool", 1),
        ("web/", 3),
    ];
    assert_eq!(tree, want);
    let top = found.tree.iter().filter(|branch| !branch.path.trim_end_matches('/').contains('/'));
    assert_eq!(found.bytes, top.map(|branch| branch.bytes).sum::<u64>());
    assert_eq!(found.skipped, ["web/node_modules"]);
    assert_eq!(report.primary_language.as_deref(), Some("Rust"));
    let shell = report.languages.iter().find(|language| language.name == "Shell").unwrap();
    assert_eq!((shell.files, shell.nature), (1, Nature::Program));
    assert_eq!(report.ecosystems, ["Cargo", "npm"]);
    let names: Vec<_> = report.manifests.iter().map(|manifest| manifest.path.as_str()).collect();
    assert_eq!(names, ["Cargo.toml", "broken/Cargo.toml", "web/package.json"]);
    assert!(report.manifests.iter().all(|manifest| manifest.dependencies.is_empty()));
    assert!(report.languages.iter().all(|language| language.lines.is_none()));
    assert!(
        report.project.is_none() && report.documentation.is_none() && report.dependencies.is_none()
    );
    assert!(report.coverage.is_none() && report.links.is_none() && report.drift.is_none());
    assert_eq!((report.problem_count, report.missing.len()), (0, 0));
}

#[tokio::test]
async fn standard_adds_lines_dependencies_and_documents() {
    let root = library();
    let report = analyze(&root, ".", Depth::Standard).await.unwrap().structured;
    let rust = report.languages.iter().find(|language| language.name == "Rust").unwrap();
    assert_eq!((rust.files, rust.lines), (2, Some(Lines { code: 6, comments: 1, blanks: 1 })));
    assert_eq!(rust.embedded.map(|lines| lines.comments), Some(2));
    let share: f64 = report.languages.iter().map(|language| language.share).sum();
    assert!((share - 100.0).abs() < 0.5, "{share}");
    let cargo = report.manifests.iter().find(|one| one.path == "Cargo.toml").unwrap();
    assert_eq!((cargo.name.as_deref(), cargo.version.as_deref()), (Some("lib"), Some("0.3.0")));
    let asked = [
        dependency("serde", "1", Some("1.0.9"), Purpose::Runtime),
        dependency("tempfile", "3", Some("3.20.0"), Purpose::Development),
    ];
    assert_eq!(cargo.dependencies, asked);
    let npm = report.manifests.iter().find(|one| one.path == "web/package.json").unwrap();
    assert_eq!(npm.dependencies, [dependency("express", "^4", None, Purpose::Runtime)]);
    let sum = report.dependencies.as_ref().unwrap();
    assert_eq!((sum.direct, sum.development, sum.locked), (2, 1, 2));
    assert_eq!(report.problem_count, 1);
    assert_eq!(report.problems[0].path, "broken/Cargo.toml");
    assert!(report.problems[0].reason.starts_with("is not valid TOML"), "{:?}", report.problems);
    let want = Presence {
        readme: Some("README.md".into()),
        licence: Some("LICENSE".into()),
        licence_id: Some("Apache-2.0".into()),
        changelog: None,
        contributing: None,
        test_files: 2,
        inline_test_files: 2,
        test_places: vec!["tests".into(), "web".into()],
        ci: vec![".github/workflows/ci.yml".into()],
        docs_folders: vec!["docs".into()],
        document_files: 3,
        docs_site: None,
    };
    assert_eq!(report.presence, want);
    let project = report.project.as_ref().unwrap();
    let test = project.commands.iter().find(|one| one.purpose == CommandPurpose::Test).unwrap();
    assert_eq!((test.command.as_str(), test.folder.as_str()), ("cargo test", "."));
    let documentation = report.documentation.as_ref().unwrap();
    let readme = documentation.readme.as_ref().unwrap();
    let found =
        |name: &str| readme.items.iter().find(|item| item.item == name).map(|item| item.found);
    assert_eq!(
        (found("usage"), found("installation"), found("title")),
        (Some(true), Some(false), Some(true))
    );
    assert_eq!((documentation.document_count, readme.code_blocks), (3, 1));
    assert!(
        report.gaps.iter().any(|gap| gap.severity == Severity::High && gap.gap.contains("install")),
        "{:?}",
        report.gaps
    );
    assert!(report.gaps.is_sorted_by_key(|gap| gap.severity));
    assert!((2..=7).contains(&report.next_steps.len()), "{:?}", report.next_steps);
    assert!(report.coverage.is_none() && report.links.is_none() && report.history.is_none());
}

#[tokio::test]
async fn deep_holds_files_against_each_other() {
    let root = library();
    let report = analyze(&root, ".", Depth::Deep).await.unwrap().structured;
    let tasks = report.tasks.unwrap();
    assert_eq!(tasks.count, 2);
    let file = |path: &str| TaskFile { path: path.into(), count: 1 };
    assert_eq!(tasks.files, [file("src/lib.rs"), file("web/app.ts")]);
    let links = report.links.unwrap();
    assert_eq!((links.checked, links.broken_count), (6, 2));
    let broken: Vec<_> =
        links.broken.iter().map(|link| (link.line, link.target.as_str(), link.problem)).collect();
    let want = [
        (13, "docs/gone.md#x", LinkProblem::MissingFile),
        (13, "docs/guide.md#nothing", LinkProblem::MissingAnchor),
    ];
    assert_eq!(broken, want);
    let coverage = report.coverage.unwrap();
    assert_eq!((coverage.public, coverage.documented), (3, 1));
    let bare: Vec<_> = coverage
        .undocumented
        .iter()
        .map(|one| (one.symbol.as_str(), one.path.as_str(), one.line))
        .collect();
    assert_eq!(bare, [("Bare", "src/lib.rs", 6), ("a", "web/app.ts", 1)]);
    assert!(coverage.not_read.is_empty(), "{:?}", coverage.not_read);
    let drift = report.drift.unwrap();
    let stale: Vec<_> =
        drift.stale.iter().map(|one| (one.line, one.mention.as_str(), one.kind)).collect();
    assert_eq!(stale, [(11, "docs/rules.md", MentionKind::File)]);
    assert!(report.redundancy.is_some() && report.history.is_none());
    let gap = report.gaps.iter().find(|gap| gap.gap.contains("broken")).unwrap();
    assert!(gap.next_step.contains("README.md:13"), "{gap:?}");
}

#[tokio::test]
async fn a_folder_inside_is_analysed_by_itself() {
    let root = library();
    let report = analyze(&root, "web", Depth::Standard).await.unwrap().structured;
    assert_eq!((report.path.as_str(), report.structure.files), ("web", 3));
    assert_eq!(report.primary_language.as_deref(), Some("TypeScript"));
    assert_eq!(report.manifests[0].path, "package.json");
    assert_eq!(report.presence.test_places, ["."]);
    let costliest: Vec<_> = report.gaps.iter().take(2).map(|gap| gap.gap.as_str()).collect();
    assert_eq!(costliest, ["No README", "No license"]);
}

#[tokio::test]
async fn an_empty_folder_has_an_answer() {
    let root = tempfile::tempdir().unwrap();
    let report = analyze(&root, ".", Depth::Deep).await.unwrap().structured;
    assert_eq!((report.structure.files, report.primary_language), (0, None));
    assert_eq!(report.gaps[0].gap, "No README");
}

#[tokio::test]
async fn a_path_that_is_not_a_folder_here_is_an_error() {
    let root = library();
    let missing = analyze(&root, "no/such/place", Depth::Quick).await.unwrap_err();
    let ToolError::Failed(ToolFailure { kind: FailureKind::NotFound, message, .. }) = missing
    else {
        panic!("{missing:?}")
    };
    assert_eq!(message, "Repository path does not exist");
    for path in ["..", "/etc", "file:///etc", "src/\0", "README.md", "C:\\x"] {
        let error = analyze(&root, path, Depth::Quick).await.unwrap_err();
        assert!(
            matches!(&error, ToolError::Argument { field, .. } if field == "path"),
            "{path}: {error:?}"
        );
    }
}

fn crowd(root: &TempDir, files: usize) {
    for n in 0..files {
        write(root.path(), &format!("src/m{n}.ts"), "/** Doc */\nexport const a = 1;\n".repeat(50));
    }
}

fn heard(
    listener: &Arc<RecordingClient>,
    cancel: CancellationToken,
    deadline: Option<Instant>,
) -> CallContext {
    CallContext::new(Arc::clone(listener) as Arc<dyn CallClient>, cancel, deadline)
}

#[tokio::test]
async fn progress_grows_and_sections_come_early() {
    let root = library();
    crowd(&root, 1100);
    let listener = Arc::new(RecordingClient::default());
    let context = heard(&listener, CancellationToken::new(), None);
    let args = AnalyzeArgs { path: ".".into(), depth: Depth::Deep };
    let answer = tool(&root).call(args, &context).await.unwrap();
    let steps = listener.steps.lock().unwrap();
    assert!(steps.len() >= 8, "{steps:?}");
    assert!(steps.windows(2).all(|pair| pair[0].done < pair[1].done), "{steps:?}");
    assert!(steps.iter().all(|step| !step.message.is_empty()));
    assert!(
        steps.iter().all(|step| step.total.is_none_or(|total| step.done <= total)),
        "{steps:?}"
    );
    // From the end of the walk on, every step has the same total, which the last one reaches.
    let walked = steps.iter().position(|step| step.message == "Reading manifests").unwrap();
    let last = steps.last().unwrap();
    assert_eq!((Some(last.done), &*last.message), (last.total, "Analysis complete"));
    assert!(steps[walked..].iter().all(|step| step.total == last.total), "{steps:?}");
    let logs = listener.logs.lock().unwrap();
    let levels: Vec<_> = logs.iter().map(|(level, logger, _)| (*level, logger.as_str())).collect();
    assert_eq!(levels, [(SyslogLevel::Debug, "docent.repo"), (SyslogLevel::Info, "docent.repo")]);
    assert_eq!(logs[1].2["files"], 1116);
    let (first, sentence) = logs[1].2.as_object().unwrap().iter().next().unwrap();
    let sentence = sentence.as_str().unwrap();
    assert!(
        first == "message" && sentence.starts_with("Repository analysis completed: 1,116 files, "),
        "{sentence}"
    );
    assert_eq!(listener.blocks.lock().unwrap().len(), 3);
    assert!(
        matches!(answer.content.as_slice(), [AnswerBlock::Text { .. }, AnswerBlock::Link(_)]),
        "{:?}",
        answer.content
    );
}

fn collect_text(listener: &RecordingClient, answer: &ToolAnswer<Report>) -> String {
    let blocks = listener.blocks.lock().unwrap();
    let texts = blocks.iter().chain(&answer.content).filter_map(|block| match block {
        AnswerBlock::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn the_text_is_facts_then_gaps_then_steps() {
    let root = library();
    let listener = Arc::new(RecordingClient::default());
    let args = AnalyzeArgs { path: ".".into(), depth: Depth::Deep };
    let answer =
        tool(&root).call(args, &heard(&listener, CancellationToken::new(), None)).await.unwrap();
    let text = collect_text(&listener, &answer);
    let order = [
        "(path .)",
        "16 files in 7 folders",
        "Primary language: Rust",
        "Ecosystems: Cargo, npm",
        "- Cargo.toml (Cargo): lib 0.3.0; 2 direct dependencies (1 for development): serde 1.0.9, tempfile 3.20.0",
        "Description: Turns one thing into another",
        "Test: `cargo test`",
        "License: Apache-2.0 (LICENSE)",
        "Tests: 2 files in tests, web, and tests inside 2 source files",
        "README.md:13 -> docs/gone.md#x",
        "## Documentation gaps",
        "1. [High]",
        "## Next steps",
        "1 item could not be read",
    ];
    let mut from = 0;
    for part in order {
        let at = text.match_indices(part).map(|(at, _)| at).find(|at| *at >= from);
        from = at.unwrap_or_else(|| panic!("{part:?} is not after {from} in\n{text}"));
    }
}

#[tokio::test]
async fn the_text_stays_short_however_much_there_is() {
    let root = tempfile::tempdir().unwrap();
    let long = "n".repeat(200);
    for n in 0..60 {
        let many = (0..50).map(|d| format!("{long}{d} = '1'")).collect::<Vec<_>>().join("\n");
        write(
            root.path(),
            &format!("{long}{n}/Cargo.toml"),
            format!("[package]\nname='{long}'\nversion='1.0.0-{long}'\n[dependencies]\n{many}"),
        );
        write(root.path(), &format!("{long}{n}/tests/{long}.rs"), "// TODO\n");
        write(root.path(), &format!("{long}{n}/a.md"), format!("[a]({long}.md)\n"));
        write(root.path(), &format!(".github/workflows/{long}{n}.yml"), "on: push\n");
    }
    let listener = Arc::new(RecordingClient::default());
    let args = AnalyzeArgs { path: ".".into(), depth: Depth::Deep };
    let answer =
        tool(&root).call(args, &heard(&listener, CancellationToken::new(), None)).await.unwrap();
    let text = collect_text(&listener, &answer);
    // A token is about four characters.
    assert!(text.chars().count() < 6000, "{} characters:\n{text}", text.chars().count());
}

#[tokio::test]
async fn the_deadline_gives_what_was_found_so_far() {
    let root = library();
    crowd(&root, 3000);
    for (limit, lacking) in
        [(Duration::ZERO, "the rest of the folders"), (Duration::from_millis(20), "")]
    {
        let listener = Arc::new(RecordingClient::default());
        let context = heard(&listener, CancellationToken::new(), Some(Instant::now() + limit));
        let args = AnalyzeArgs { path: ".".into(), depth: Depth::Deep };
        let answer = tool(&root).call(args, &context).await.unwrap();
        assert!(answer.partial, "{limit:?}");
        let report = &answer.structured;
        assert!(report.missing[0].starts_with(lacking), "{:?}", report.missing);
        let text = collect_text(&listener, &answer);
        assert!(text.contains("Partial answer. Missing: "), "{text}");
        if report.missing[0].starts_with("the rest") {
            assert!(
                !report.complete
                    && text.contains("README: none seen so far")
                        == report.presence.readme.is_none()
            );
            assert!(report.gaps.is_empty(), "nothing may be called absent that was not looked for");
        }
    }
}

#[tokio::test]
async fn all_phases_have_one_turn_on_a_thread() {
    let root = library();
    let listener = Arc::new(RecordingClient::default());
    let context = heard(&listener, CancellationToken::new(), None);
    let args = AnalyzeArgs { path: ".".into(), depth: Depth::Deep };
    tool(&root).call(args, &context).await.unwrap();
    // With a second slot, earlier results could be lost at the deadline.
    assert_eq!(*listener.turns.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_cancelled_call_stops() {
    let root = library();
    let cancel = CancellationToken::new();
    let listener =
        Arc::new(RecordingClient { cancel: Some(cancel.clone()), ..RecordingClient::default() });
    let args = AnalyzeArgs { path: ".".into(), depth: Depth::Deep };
    let stopped = tool(&root).call(args, &heard(&listener, cancel, None)).await.unwrap_err();
    assert!(matches!(stopped, ToolError::Stopped(CallStop::Cancelled)), "{stopped:?}");
    assert_eq!(listener.steps.lock().unwrap().len(), 1, "work went on after the cancel");
}

#[tokio::test]
async fn the_link_opens_the_full_report() {
    let root = library();
    let suite = RepoSuite::new(ServedRoots::open(&[root.path().to_owned()]).unwrap());
    let tool = AnalyzeRepository { roots: suite.roots.clone(), kept: Arc::clone(&suite.kept) };
    let args = AnalyzeArgs { path: "web".into(), depth: Depth::Standard };
    let answer = tool.call(args, &no_client()).await.unwrap();
    let Some(AnswerBlock::Link(link)) = answer.content.last() else {
        panic!("{:?}", answer.content)
    };
    assert_eq!(link.uri, "repository://standard/web");
    // The summarized report is read, not later changes.
    write(root.path(), "web/later.ts", "export {}\n");
    for (uri, files) in [(link.uri.as_str(), 3), ("repository://quick/web", 4)] {
        let contents = suite.read(uri, &no_client()).await.unwrap().unwrap().contents;
        let [
            Contents::Text { mime: Some(first), text, .. },
            Contents::Text { mime: Some(second), text: json, .. },
        ] = contents.as_slice()
        else {
            panic!("{contents:?}")
        };
        assert_eq!((first.as_str(), second.as_str()), ("text/markdown", "application/json"));
        assert!(text.contains("# "), "{text}");
        let report: Report = serde_json::from_str(json).unwrap();
        assert_eq!(report.structure.files, files, "{uri}");
    }
    assert!(suite.read("repository://standard/none", &no_client()).await.unwrap().is_err());
    assert!(suite.read("other://standard/web", &no_client()).await.is_none());
    let target = CompletionTarget::Template(address::TEMPLATE.into());
    assert_eq!(
        suite.complete(&CompletionRequest::new(target.clone(), "depth", "d")).await.values,
        ["deep"]
    );
    assert_eq!(
        suite.complete(&CompletionRequest::new(target, "path", "we")).await.values[0],
        "web"
    );
}

#[test]
fn the_schema_is_what_clients_expect() {
    let root = tempfile::tempdir().unwrap();
    let info = erase(tool(&root)).info();
    let schema = Value::Object(info.input_schema.as_ref().clone());
    assert_eq!(schema["required"], json!(["path"]));
    assert_eq!(schema["properties"]["depth"]["enum"], json!(["quick", "standard", "deep"]));
    assert_eq!(schema["properties"]["path"]["minLength"], 1);
    let output = Value::Object(info.output_schema.unwrap().as_ref().clone());
    assert_eq!(output["properties"]["structure"]["properties"]["files"]["type"], "integer");
}
