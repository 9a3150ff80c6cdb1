use super::*;
use docent_tool::{
    AnswerBlock, CallClient, CallStop, Progress, SyslogLevel, ToolOutcome, no_client,
};
use serde_json::{Value, json};
use std::{fs, path::Path, time::Duration};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const INDEXES: &str = "<html><head><title>11.2. Index Types</title></head><body><h1>11.2. Index Types</h1>
<p>CREATE INDEX creates an index on the specified column of a table. B-trees handle equality and range queries.</p>
<h2 id=\"hash\">Hash</h2><p>Hash indexes store a 32-bit hash code derived from the value of the indexed column.</p></body></html>";
const VACUUM: &str = "# Routine Vacuuming

VACUUM reclaims storage occupied by dead tuples.

## The Autovacuum Daemon

Autovacuum runs VACUUM and ANALYZE on its own when enough rows have changed.
";
const NETPLAN: &str =
    "# Network configuration\n\nNetplan renders YAML network configuration for networkd.\n";

fn put(root: &Path, path: &str, text: &str) {
    let full = root.join(path);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(full, text).unwrap();
}

fn project() -> (TempDir, DocsSuite) {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "docs/postgresql/indexes.html", INDEXES);
    put(folder.path(), "docs/postgresql/vacuum.md", VACUUM);
    put(folder.path(), "docs/ubuntu/network.md", NETPLAN);
    put(folder.path(), "docs/secret.md", "# outside");
    let mut postgresql =
        CollectionSettings::new("postgresql", "docs/postgresql", "PostgreSQL documentation");
    postgresql.url = Some("https://example.org/docs/".into());
    let ubuntu = CollectionSettings::new("ubuntu", "docs/ubuntu", "Ubuntu server guide");
    let suite = suite(folder.path(), vec![postgresql, ubuntu]);
    (folder, suite)
}

fn suite(folder: &Path, collections: Vec<CollectionSettings>) -> DocsSuite {
    let roots = ServedRoots::open(&[folder.to_owned()]).unwrap();
    DocsSuite::new(roots, collections, crate::test_index(&folder.join(".docent/index")))
}

/// Repeats a query until the answer is as wanted: changes are detected by watching, not by polling.
async fn eventually(suite: &DocsSuite, query: &str, want: &[&str]) {
    let mut got = Vec::new();
    for _ in 0..300 {
        got = sources(&call(suite, "search_documentation", json!({"query": query})).await.unwrap());
        if got == want {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{query}: {got:?} is not {want:?}");
}

async fn call(suite: &DocsSuite, tool: &str, args: Value) -> Result<ToolOutcome, ToolError> {
    call_in(suite, tool, args, &no_client()).await
}

async fn call_in(
    suite: &DocsSuite,
    tool: &str,
    args: Value,
    context: &CallContext,
) -> Result<ToolOutcome, ToolError> {
    let found = suite.tools().into_iter().find(|one| one.name() == tool).unwrap();
    let Value::Object(args) = args else { panic!("arguments are an object") };
    // A busy machine may answer before everything is indexed, with a note.
    for _ in 0..100 {
        let outcome = found.call(args.clone(), context).await?;
        if !outcome.partial {
            return Ok(outcome);
        }
    }
    panic!("the documents are never read");
}

fn text_of(outcome: &ToolOutcome) -> &str {
    match &outcome.content[0] {
        AnswerBlock::Text { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

fn sources(outcome: &ToolOutcome) -> Vec<String> {
    let results = outcome.structured.as_ref().unwrap()["results"].as_array().unwrap();
    results.iter().map(|hit| hit["metadata"]["source"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn the_section_that_answers_comes_first() {
    let (_folder, suite) = project();
    let args = json!({"query": "How do I create an index in PostgreSQL?", "max_results": 3, "doc_type": "postgresql"});
    let got = call(&suite, "search_documentation", args).await.unwrap();
    let AnswerBlock::Text { text, metadata, score } = got.content[0].clone() else {
        panic!("{:?}", got.content)
    };
    let passage = "CREATE INDEX creates an index on the specified column of a table. B-trees handle equality and range queries.";
    let cited = format!(
        "source: postgresql/indexes.html | section: 11.2. Index Types | score: {}",
        score.unwrap()
    );
    assert_eq!(text, format!("{cited}\n\n{passage}"));
    let metadata = Value::Object(metadata.unwrap());
    assert_eq!(
        metadata,
        json!({
            "source": "postgresql/indexes.html",
            "section": "11.2. Index Types",
            "title": "11.2. Index Types",
            "collection": "postgresql",
            "path": ["11.2. Index Types"],
            "url": "https://example.org/docs/indexes.html",
            "next": "hash"
        })
    );
    let structured = got.structured.unwrap();
    let why = json!({"words": 0.2918, "meaning": 0.3273, "matched": [
        {"word": "creat", "fields": ["body"]},
        {"word": "index", "fields": ["name", "path", "signature", "body"]},
    ]});
    assert_eq!(
        structured["results"][0],
        json!({"text": passage, "metadata": metadata, "score": score.unwrap(), "why": why})
    );
    let scores: Vec<f64> = structured["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["score"].as_f64().unwrap())
        .collect();
    assert!(scores.len() >= 2 && scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{scores:?}");
    assert_eq!(
        structured["results"][1]["metadata"]["url"],
        "https://example.org/docs/indexes.html#hash"
    );
    assert_eq!(structured["results"][1]["metadata"]["path"], json!(["11.2. Index Types", "Hash"]));
    // What the second line cites can be read on as it is.
    let AnswerBlock::Text { text, .. } = &got.content[1] else { panic!("{:?}", got.content) };
    let section = "11.2. Index Types > Hash";
    let start = format!("source: postgresql/indexes.html | section: {section} | score: 0.");
    assert!(text.starts_with(&start), "{text}");
    let args = json!({"document_id": "postgresql/indexes.html", "section": section});
    let read = call(&suite, "get_document", args).await.unwrap();
    assert!(text_of(&read).starts_with("## Hash"), "{}", text_of(&read));
}

#[tokio::test]
async fn a_chapter_keeps_its_contents_and_search_leaves_them_out() {
    let folder = tempfile::tempdir().unwrap();
    let page = |name: &str, body: &str| {
        let head = "<head><meta name='generator' content='DocBook XSL Stylesheets'></head>";
        put(folder.path(), &format!("pg/{name}.html"), &format!("<html>{head}<body>{body}"));
    };
    let contents =
        "<div class='toc'><dl><dt><a href='lamps-arc.html'>4.1. Arc lamps</a></dt></dl></div>";
    page("lamps", &format!("<h2>Chapter 4. Lamps</h2>{contents}<p>A lamp is seen from afar.</p>"));
    page("lamps-arc", "<h2>4.1. Arc lamps</h2><p>Arc lamps burn carbon rods.</p>");
    page("bookindex", "<h2>Index</h2><p>Arc lamps, see lamps.</p>");
    let suite = suite(folder.path(), vec![CollectionSettings::new("pg", "pg", "")]);
    let got = call(&suite, "get_document", json!({"document_id": "pg/lamps.html"})).await.unwrap();
    let link = "- [4.1. Arc lamps](techdoc://pg/docs/lamps-arc.html)";
    assert_eq!(
        text_of(&got),
        format!("## Chapter 4. Lamps\n\n{link}\n\nA lamp is seen from afar.")
    );
    let got = call(&suite, "search_documentation", json!({"query": "arc lamps"})).await.unwrap();
    assert_eq!(sources(&got)[0], "pg/lamps-arc.html");
    for hit in got.structured.unwrap()["results"].as_array().unwrap() {
        assert!(!hit["text"].as_str().unwrap().contains("4.1."), "{hit}");
    }
}

#[tokio::test]
async fn a_long_query_without_hits_is_not_repeated_whole() {
    let (_folder, suite) = project();
    let query = "zq ".repeat(333);
    let got = call(&suite, "search_documentation", json!({"query": query})).await.unwrap();
    // Its first 80 characters.
    let quoted = "zq ".repeat(27);
    let want = format!("No match in the documentation (all) for \"{}…\".", quoted.trim_end());
    assert_eq!(text_of(&got), want);
}

#[tokio::test]
async fn a_collection_is_listed_by_its_title() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "pg/a.md", "# A\n\ntext\n");
    let mut titled = CollectionSettings::new("pg", "pg", "PostgreSQL 16 official documentation");
    titled.title = Some("PostgreSQL Documentation".into());
    let suite = suite(folder.path(), vec![titled, CollectionSettings::new("other", "pg", "")]);
    let listed = suite.resources().await;
    let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["PostgreSQL Documentation", "other"]);
    let text = suite.read("techdoc://pg/docs", &no_client()).await.unwrap().unwrap();
    let Contents::Text { text, .. } = &text.contents[0] else { panic!() };
    assert!(text.starts_with("# PostgreSQL Documentation\n"), "{text}");
}

#[tokio::test]
async fn collections_and_limits_are_kept_to() {
    let (_folder, suite) = project();
    let search = |args: Value| call(&suite, "search_documentation", args);
    let cases: [(Value, &[&str]); 5] = [
        (json!({"query": "network configuration"}), &["ubuntu/network.md"]),
        (json!({"query": "network configuration", "doc_type": "all"}), &["ubuntu/network.md"]),
        (json!({"query": "network configuration", "doc_type": "postgresql"}), &[]),
        (json!({"query": "autovacuum", "max_results": 1}), &["postgresql/vacuum.md"]),
        (json!({"query": "outside"}), &[]),
    ];
    for (args, want) in cases {
        assert_eq!(sources(&search(args.clone()).await.unwrap()), want, "{args}");
    }
    let got = search(json!({"query": "zebra"})).await.unwrap();
    assert_eq!(text_of(&got), "No match in the documentation (all) for \"zebra\".");
    let error = search(json!({"query": "x", "doc_type": "solaris"})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument `doc_type`: unknown collection solaris; expected one of all, postgresql, ubuntu"
    );
}

#[tokio::test]
async fn schemas_name_the_collections_in_order() {
    let (_folder, suite) = project();
    let tools: Vec<_> = suite.tools().iter().map(|tool| tool.info()).collect();
    let schema = |n: usize| Value::Object((*tools[n].input_schema).clone());
    let search = schema(0);
    assert_eq!(
        (tools[0].name.as_str(), tools[1].name.as_str()),
        ("search_documentation", "get_document"),
    );
    assert_eq!(search["required"], json!(["query"]));
    assert_eq!(search["properties"]["doc_type"]["enum"], json!(["all", "postgresql", "ubuntu"]));
    assert_eq!(search["properties"]["doc_type"]["default"], "all");
    let query = &search["properties"]["query"];
    assert_eq!((&query["minLength"], &query["maxLength"]), (&json!(1), &json!(1000)));
    let results = &search["properties"]["max_results"];
    assert_eq!(
        (&results["minimum"], &results["maximum"], &results["default"]),
        (&json!(1), &json!(20), &json!(5))
    );
    assert_eq!(schema(1)["required"], json!(["document_id"]));
    assert_eq!(schema(1)["properties"]["document_id"]["minLength"], 1);
    for tool in 0..2 {
        for (name, property) in schema(tool)["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{name}");
        }
    }
}

#[tokio::test]
async fn a_document_is_read_whole() {
    let (_folder, suite) = project();
    let got =
        call(&suite, "get_document", json!({"document_id": "postgresql/vacuum.md"})).await.unwrap();
    assert_eq!(text_of(&got), VACUUM.trim_end());
    assert_eq!(
        got.structured.unwrap(),
        json!({
            "id": "postgresql/vacuum.md",
            "title": "Routine Vacuuming",
            "metadata": {
                "source": "postgresql/vacuum.md", "section": "Routine Vacuuming", "title": "Routine Vacuuming",
                "collection": "postgresql", "url": "https://example.org/docs/vacuum.md"
            },
            "sections": [
                {"heading": "Routine Vacuuming", "level": 1, "anchor": "routine-vacuuming"},
                {"heading": "The Autovacuum Daemon", "level": 2, "anchor": "the-autovacuum-daemon"}
            ],
            "bytes": VACUUM.trim_end().len()
        })
    );
    for id in ["vacuum.md", "techdoc://postgresql/docs/vacuum.md"] {
        assert_eq!(
            text_of(&call(&suite, "get_document", json!({"document_id": id})).await.unwrap()),
            VACUUM.trim_end(),
            "{id}"
        );
    }
    let got = call(&suite, "get_document", json!({"document_id": "postgresql/indexes.html"}))
        .await
        .unwrap();
    assert!(
        text_of(&got).starts_with("# 11.2. Index Types\n\nCREATE INDEX creates"),
        "{}",
        text_of(&got)
    );
}

#[tokio::test]
async fn a_section_is_read_alone() {
    let (_folder, suite) = project();
    let get = |section: &'static str| {
        call(
            &suite,
            "get_document",
            json!({"document_id": "postgresql/indexes.html", "section": section}),
        )
    };
    for section in ["Hash", "hash", "#hash", "11.2. Index Types > Hash"] {
        let got = get(section).await.unwrap();
        assert!(text_of(&got).starts_with("## Hash\n\nHash indexes store"), "{section}");
        let structured = got.structured.unwrap();
        assert_eq!(structured["metadata"]["section"], "Hash");
        assert_eq!(structured["bytes"], json!(text_of(&get(section).await.unwrap()).len()));
    }
    let ToolError::Failed(failure) = get("Hush").await.unwrap_err() else { panic!() };
    assert_eq!(failure.message, "11.2. Index Types has no section named Hush");
    assert_eq!(failure.hint.as_deref(), Some("similar sections: Hash"));
    let ToolError::Failed(failure) = get("zzz").await.unwrap_err() else { panic!() };
    let first = "its first sections: 11.2. Index Types, Hash";
    assert_eq!(failure.hint.as_deref(), Some(first));
}

#[tokio::test]
#[cfg(unix)]
async fn only_what_lies_in_a_collection_is_found() {
    let (folder, suite) = project();
    std::os::unix::fs::symlink("/etc", folder.path().join("docs/postgresql/link")).unwrap();
    std::os::unix::fs::symlink(
        folder.path().join("docs/secret.md"),
        folder.path().join("docs/postgresql/alias.md"),
    )
    .unwrap();
    let ids = [
        "postgresql/none.html",
        "/etc/passwd",
        "link/passwd",
        "postgresql/link/passwd",
        "postgresql/../secret.md",
        "../secret.md",
        "docs/secret.md",
        "secret.md",
        "alias.md",
        "postgresql/",
        "postgresql",
        "..",
        "%2e%2e/secret.md",
        "techdoc://postgresql/docs/../secret.md",
        "techdoc://none/docs/vacuum.md",
        "file:///etc/passwd",
        "a\0b",
    ];
    for id in ids {
        let ToolError::Failed(failure) =
            call(&suite, "get_document", json!({"document_id": id})).await.unwrap_err()
        else {
            panic!("{id}")
        };
        assert_eq!(
            (failure.kind.name(), failure.message.as_str()),
            ("not_found", "Document not found"),
            "{id}"
        );
        let hint = failure.hint.unwrap();
        let says_how =
            ["similar ids: ", "no similar id; "].iter().any(|start| hint.starts_with(start));
        assert!(says_how && !hint.contains("secret"), "{id}: {hint}");
    }
    for uri in [
        "techdoc://postgresql/docs/../secret.md",
        "techdoc://postgresql/docs/%2e%2e/secret.md",
        "techdoc://none/docs",
        "techdoc://x",
    ] {
        let error = suite.read(uri, &no_client()).await.unwrap().unwrap_err();
        assert!(
            matches!(&error, ToolError::Failed(failure) if failure.kind.name() == "not_found"),
            "{uri}: {error}"
        );
    }
}

#[tokio::test]
async fn the_nearest_id_is_offered() {
    let (_folder, suite) = project();
    let error = call(&suite, "get_document", json!({"document_id": "postgresql/vacum.md"}))
        .await
        .unwrap_err();
    let ToolError::Failed(failure) = error else { panic!("{error}") };
    assert_eq!(failure.hint.unwrap(), "similar ids: postgresql/vacuum.md");
    let error = call(&suite, "get_document", json!({"document_id": "postgresql/nope.html"}))
        .await
        .unwrap_err();
    let ToolError::Failed(failure) = error else { panic!("{error}") };
    let lists = "techdoc://postgresql/docs, techdoc://ubuntu/docs";
    assert_eq!(
        failure.hint.unwrap(),
        format!("no similar id; find ids with search_documentation or in these resources: {lists}")
    );
}

#[tokio::test]
async fn edits_are_seen_by_the_next_call() {
    let (folder, suite) = project();
    let find = |query: &'static str| call(&suite, "search_documentation", json!({"query": query}));
    assert_eq!(sources(&find("zebra").await.unwrap()), Vec::<String>::new());
    put(folder.path(), "docs/ubuntu/deep/animals.txt", "A zebra is striped.");
    eventually(&suite, "zebra", &["ubuntu/deep/animals.txt"]).await;
    put(folder.path(), "docs/ubuntu/deep/animals.txt", "A giraffe is tall, and taller than that.");
    // A hit is checked again before it is returned.
    assert_eq!(sources(&find("zebra").await.unwrap()), Vec::<String>::new());
    eventually(&suite, "giraffe", &["ubuntu/deep/animals.txt"]).await;
    fs::remove_file(folder.path().join("docs/ubuntu/deep/animals.txt")).unwrap();
    assert_eq!(sources(&find("giraffe").await.unwrap()), Vec::<String>::new());
}

#[tokio::test]
async fn a_folder_that_is_missing_is_a_problem_beside_the_rest() {
    let (folder, _) = project();
    put(folder.path(), "docs/postgresql/large.txt", &"x".repeat(9 << 20));
    let mut broken = CollectionSettings::new("broken", "docs/ubuntu", "An invalid pattern");
    broken.exclude = vec!["[".into()];
    let collections = vec![
        CollectionSettings::new("none", "docs/none", "Nothing"),
        CollectionSettings::new("out", "../..", "Outside"),
        broken,
        CollectionSettings::new("file", "docs/secret.md", "A file"),
        CollectionSettings::new("postgresql", "docs/postgresql", "PostgreSQL"),
    ];
    let suite = suite(folder.path(), collections);
    let got = call(&suite, "search_documentation", json!({"query": "vacuum"})).await.unwrap();
    assert_eq!(sources(&got)[0], "postgresql/vacuum.md");
    let problems = got.structured.unwrap()["problems"].clone();
    let paths: Vec<&str> = problems
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths, ["docs/none", "../..", "broken", "large.txt"]);
    let got = call(&suite, "search_documentation", json!({"query": "outside"})).await.unwrap();
    assert_eq!(sources(&got), ["file/secret.md"], "a file is a collection of one");
    let (folder, _) = project();
    let empty = tests::suite(folder.path(), Vec::new());
    let got = call(&empty, "search_documentation", json!({"query": "vacuum"})).await.unwrap();
    assert!(text_of(&got).starts_with("No documentation is configured"), "{}", text_of(&got));
}

#[tokio::test]
async fn collections_are_resources() {
    let (_folder, suite) = project();
    let listed = suite.resources().await;
    assert_eq!(
        listed[0],
        ResourceInfo {
            uri: "techdoc://postgresql/docs".into(),
            name: "postgresql".into(),
            title: None,
            about: Some("PostgreSQL documentation".into()),
            mime: Some("application/x-documentation".into()),
            size: None,
            ..ResourceInfo::default()
        }
    );
    assert_eq!(listed.len(), 2);
    let contents =
        suite.read("techdoc://postgresql/docs", &no_client()).await.unwrap().unwrap().contents;
    assert_eq!(
        contents,
        [Contents::Text {
            uri: "techdoc://postgresql/docs".into(),
            mime: Some("application/x-documentation".into()),
            text: "# PostgreSQL documentation\n\n\
                - [11.2. Index Types](techdoc://postgresql/docs/indexes.html)\n\
                - [Routine Vacuuming](techdoc://postgresql/docs/vacuum.md)\n"
                .into(),
        }]
    );
    let uri = "techdoc://postgresql/docs/vacuum.md";
    let document = suite.read(uri, &no_client()).await.unwrap().unwrap().contents;
    assert_eq!(
        document,
        [Contents::Text {
            uri: uri.into(),
            mime: Some("text/markdown".into()),
            text: VACUUM.trim_end().into()
        }]
    );
    assert!(suite.read("ast://project/x", &no_client()).await.is_none());
}

#[tokio::test]
async fn templates_are_completed() {
    let (_folder, suite) = project();
    let templates: Vec<String> =
        suite.templates().into_iter().map(|template| template.uri_template).collect();
    assert_eq!(
        templates,
        ["techdoc://{doc_type}/{collection}", "techdoc://{doc_type}/{collection}/{+path}"]
    );
    let target = CompletionTarget::Template(templates[1].clone());
    let cases: [(&str, &str, &[&str]); 5] = [
        ("doc_type", "", &["postgresql", "ubuntu"]),
        ("collection", "d", &["docs"]),
        ("path", "", &["indexes.html", "network.md", "vacuum.md"]),
        ("path", "v", &["vacuum.md"]),
        ("other", "", &[]),
    ];
    for (argument, typed, want) in cases {
        assert_eq!(
            suite.complete(&CompletionRequest::new(target.clone(), argument, typed)).await.values,
            want,
            "{argument} {typed}"
        );
    }
    assert!(
        suite
            .complete(&CompletionRequest::new(
                CompletionTarget::Template("x".into()),
                "collection",
                ""
            ))
            .await
            .values
            .is_empty()
    );
}

#[tokio::test]
async fn a_changed_document_is_announced() {
    let (folder, suite) = project();
    let uri = "techdoc://postgresql/docs/vacuum.md";
    let mut changes = suite.changes().unwrap();
    assert!(suite.watch(uri));
    assert!(suite.watch("techdoc://postgresql/docs"));
    assert!(!suite.watch("techdoc://none/docs"));
    assert!(!suite.watch("ast://project/x"));
    put(folder.path(), "docs/postgresql/vacuum.md", "# Short\n");
    for wanted in ["techdoc://postgresql/docs", uri] {
        let heard = async {
            while changes.recv().await.unwrap() != ProviderChange::Updated(wanted.into()) {}
        };
        tokio::time::timeout(Duration::from_secs(15), heard).await.unwrap();
    }
    let document = suite.read(uri, &no_client()).await.unwrap().unwrap().contents;
    assert!(matches!(&document[0], Contents::Text { text, .. } if text == "# Short"));
}

#[tokio::test]
async fn a_subscription_that_has_ended_is_forgotten() {
    let (folder, suite) = project();
    let ended = "techdoc://postgresql/docs/indexes.html";
    let kept = "techdoc://postgresql/docs/vacuum.md";
    let mut changes = suite.changes().unwrap();
    assert!(suite.watch(ended) && suite.watch(kept));
    assert!(suite.can_watch(kept), "looking ends nothing");
    suite.unwatch(ended);
    put(folder.path(), "docs/postgresql/indexes.html", "<h1>Short</h1>");
    put(folder.path(), "docs/postgresql/vacuum.md", "# Short\n");
    let heard = async {
        loop {
            match changes.recv().await.unwrap() {
                ProviderChange::Updated(uri) if uri == kept => return,
                change => assert_ne!(change, ProviderChange::Updated(ended.into())),
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(15), heard).await.unwrap();
}

/// An audience that ignores everything.
struct SilentDocsAudience;

impl CallClient for SilentDocsAudience {
    fn progress(&self, _: Progress) {}
    fn log(&self, _: SyslogLevel, _: &str, _: Value) {}
    fn emit(&self, _: AnswerBlock) -> BoxedFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
    fn ask<'a>(
        &'a self,
        _: &'a str,
        _: docent_tool::ClientQuery,
    ) -> BoxedFuture<'a, Result<Value, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::ClientLacks("questions"))))
    }
    fn state(&self) -> Option<String> {
        None
    }
}

#[tokio::test]
async fn a_stop_ends_the_reading() {
    let (_folder, suite) = project();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let context = CallContext::new(Arc::new(SilentDocsAudience), cancelled, None);
    let error = call_in(&suite, "search_documentation", json!({"query": "vacuum"}), &context)
        .await
        .unwrap_err();
    assert!(matches!(error, ToolError::Stopped(CallStop::Cancelled)), "{error}");
}

/// An archive of these files.
fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

#[tokio::test]
async fn what_an_archive_holds_is_found_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("docs.tar");
    fs::write(
        &archive,
        tar(&[("a/x.md", "# Zebra\n\nStriped."), ("x.md", "# Lion\n\nIt roars."), ("x.png", "p")]),
    )
    .unwrap();
    let suite = suite(folder.path(), vec![CollectionSettings::new("zoo", "docs.tar", "Animals")]);
    let find = |query: &'static str| call(&suite, "search_documentation", json!({"query": query}));
    assert_eq!(sources(&find("zebra").await.unwrap()), ["zoo/docs.tar/a/x.md"]);
    for (id, want) in [
        ("zoo/docs.tar/a/x.md", "# Zebra\n\nStriped."),
        ("zoo/docs.tar/x.md", "# Lion\n\nIt roars."),
    ] {
        let got = call(&suite, "get_document", json!({"document_id": id})).await.unwrap();
        assert_eq!(text_of(&got), want);
    }
    for id in [
        "zoo/docs.tar",
        "zoo/docs.tar/none.md",
        "zoo/docs.tar/x.png",
        "zoo/docs.tar/../docs.tar/x.md",
    ] {
        let error = call(&suite, "get_document", json!({"document_id": id})).await.unwrap_err();
        assert!(error.to_string().contains("Document not found"), "{id}: {error}");
    }
    fs::write(&archive, tar(&[("x.md", "# Giraffe\n\nIt is tall.")])).unwrap();
    eventually(&suite, "giraffe", &["zoo/docs.tar/x.md"]).await;
    assert_eq!(sources(&find("zebra").await.unwrap()), Vec::<String>::new());
    let listed = call(&suite, "list_collections", json!({})).await.unwrap().structured.unwrap();
    assert_eq!(listed["collections"][0]["documents"], 1, "{listed}");
}

#[tokio::test]
async fn long_documents_are_read_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    let paragraph = |n: usize| format!("Paragraph {n} {}", "says nothing new ".repeat(40));
    let text: Vec<String> = (0..500).map(paragraph).collect();
    put(folder.path(), "long.md", &format!("# Long\n\n{}\n", text.join("\n\n")));
    let suite = suite(folder.path(), vec![CollectionSettings::new("a", "long.md", "")]);
    let get = |page: Value| call(&suite, "get_document", page);
    let first = get(json!({"document_id": "a/long.md"})).await.unwrap();
    let shown = first.structured.as_ref().unwrap();
    assert_eq!(shown["page"], 1);
    let pages = shown["pages"].as_u64().unwrap();
    assert!(pages > 5, "{pages}");
    let mut all = Vec::new();
    for page in 1..=pages {
        let got = get(json!({"document_id": "a/long.md", "page": page})).await.unwrap();
        all.push(text_of(&got).to_owned());
    }
    assert_eq!(all[0], text_of(&first));
    assert!(all.iter().all(|page| page.len() < 30_000));
    let all = all.join("\n\n");
    assert!((0..500).all(|n| all.contains(&format!("Paragraph {n} "))));
    let error = get(json!({"document_id": "a/long.md", "page": pages + 1})).await.unwrap_err();
    assert_eq!(error.to_string(), format!("argument `page`: Long has {pages} pages"));
}

#[tokio::test]
async fn of_several_versions_the_newest_answers_unless_one_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut collections = Vec::new();
    for version in ["9", "16", "15"] {
        let text = format!("# Vacuum\n\nVACUUM reclaims storage, says {version}.\n");
        put(folder.path(), &format!("pg{version}/vacuum.md"), &text);
        let name = format!("pg{version}");
        let mut one = CollectionSettings::new(&name, &name, "PostgreSQL");
        one.kind = Some("postgresql".into());
        one.version = Some(version.into());
        collections.push(one);
    }
    let suite = suite(folder.path(), collections);
    let find = |query: &'static str, doc_type: &'static str| {
        call(&suite, "search_documentation", json!({"query": query, "doc_type": doc_type}))
    };
    for (query, doc_type, want) in [
        ("what reclaims storage", "all", "pg16/vacuum.md"),
        ("what reclaims storage", "postgresql", "pg16/vacuum.md"),
        ("what reclaims storage", "pg9", "pg9/vacuum.md"),
        ("what reclaims storage in 15", "postgresql", "pg15/vacuum.md"),
    ] {
        let got = find(query, doc_type).await.unwrap();
        assert_eq!(sources(&got), [want], "{query} {doc_type}");
        let version = &got.structured.unwrap()["results"][0]["metadata"]["version"];
        assert_eq!(format!("pg{}/vacuum.md", version.as_str().unwrap()), want);
    }
    let uris: Vec<String> = suite.resources().await.into_iter().map(|one| one.uri).collect();
    assert_eq!(
        uris,
        ["techdoc://postgresql/pg9", "techdoc://postgresql/pg16", "techdoc://postgresql/pg15"]
    );
}

#[tokio::test]
async fn links_lead_to_documents_by_their_addresses() {
    let folder = tempfile::tempdir().unwrap();
    put(
        folder.path(),
        "m/a/one.html",
        "<h1>One</h1><p>See <a href='../two.html#x'>two</a>, <a href='gone.html'>gone</a>, \
         <a href='https://example.org/'>out</a>, <a href='#here'>here</a>.</p>",
    );
    put(folder.path(), "m/two.html", "<h1>Two</h1><h2 id=x>X</h2><p>Second.</p>");
    let suite = suite(folder.path(), vec![CollectionSettings::new("m", "m", "")]);
    let got = call(&suite, "get_document", json!({"document_id": "m/a/one.html"})).await.unwrap();
    assert_eq!(
        text_of(&got),
        "# One\n\nSee [two](techdoc://m/docs/two.html#x), gone, [out](https://example.org/), \
         [here](techdoc://m/docs/a/one.html#here)."
    );
    let section =
        suite.read("techdoc://m/docs/two.html#x", &no_client()).await.unwrap().unwrap().contents;
    assert!(matches!(&section[0], Contents::Text { text, .. } if text == "## X\n\nSecond."));
}

#[tokio::test]
async fn collections_can_be_replaced() {
    let (_folder, suite) = project();
    let mut changes = suite.changes().unwrap();
    suite.replace(vec![CollectionSettings::new("ubuntu", "docs/ubuntu", "Ubuntu server guide")]);
    assert_eq!(changes.recv().await.unwrap(), ProviderChange::Tools);
    assert_eq!(changes.recv().await.unwrap(), ProviderChange::Resources);
    assert_eq!(suite.collections(), ["ubuntu"]);
    eventually(&suite, "vacuum dead tuples", &[]).await;
    eventually(&suite, "network configuration", &["ubuntu/network.md"]).await;
}

#[tokio::test]
async fn without_a_collection_the_tools_that_need_one_are_off() {
    let (folder, suite) = project();
    let off = |suite: &DocsSuite| -> Vec<String> {
        let infos = suite.tools().into_iter().map(|tool| tool.info());
        let off = infos.filter(|info| info.disabled.is_some());
        let is_described = |info: &docent_tool::ToolInfo| {
            info.listed_description().starts_with("Off: no documentation is configured; ")
        };
        off.inspect(|info| assert!(is_described(info), "{info:?}")).map(|info| info.name).collect()
    };
    assert_eq!(off(&suite), [""; 0]);
    suite.replace(Vec::new());
    assert_eq!(off(&suite), ["search_documentation", "get_document"]);
    let empty = tests::suite(folder.path(), Vec::new());
    let error = call(&empty, "get_document", json!({"document_id": "a.md"})).await.unwrap_err();
    let ToolError::Failed(failure) = error else { panic!("{error}") };
    assert_eq!(failure.message, "Document not found");
    assert!(failure.hint.unwrap().contains("`docent docs add NAME FOLDER`"));
}

#[tokio::test]
async fn words_that_mean_the_same_find_each_other() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "m/a.md", "# Cluster\n\nKubernetes restarts what has failed.\n");
    put(folder.path(), "m/b.md", "# Other\n\nNothing is said of it here.\n");
    let groups = [vec!["k8s".to_owned(), "kubernetes".to_owned()]];
    let synonyms = Arc::new(Synonyms::parse(&groups).unwrap());
    let plain = suite(folder.path(), vec![CollectionSettings::new("m", "m", "")]);
    let suite = plain.with_synonyms(synonyms);
    let find = |suite: &DocsSuite| {
        let suite = suite.clone();
        async move { call(&suite, "search_documentation", json!({"query": "k8s"})).await.unwrap() }
    };
    assert_eq!(sources(&find(&suite).await), ["m/a.md"]);
    assert_ne!(sources(&find(&plain).await), ["m/a.md"]);
}
