//! Prompts on a fixture project, with the tools of this crate.

use super::*;
use crate::repo::RepoSuite;
use docent_tool::{ToolAnswer, TypedTool, erase, no_client};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{fs, path::Path};
use tempfile::TempDir;

/// Echoes its query, in an early block and a late one.
struct EchoSearch;

#[derive(Deserialize, JsonSchema)]
struct EchoSearchArgs {
    query: String,
    max_results: u8,
    doc_type: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct EchoSearchAnswer {}

impl TypedTool for EchoSearch {
    const NAME: &'static str = "search_documentation";
    const TITLE: &'static str = "Search";
    const DESCRIPTION: &'static str = "Search.";
    type Args = EchoSearchArgs;
    type Answer = EchoSearchAnswer;

    async fn call(
        &self,
        args: EchoSearchArgs,
        context: &CallContext,
    ) -> Result<ToolAnswer<EchoSearchAnswer>, ToolError> {
        let collection = args.doc_type.unwrap_or_else(|| "all".into());
        context.emit(AnswerBlock::text(format!("early {}", args.query.len()))).await;
        Ok(ToolAnswer::new(EchoSearchAnswer {}, format!("late {collection} {}", args.max_results)))
    }
}

struct Docs;

impl ToolProvider for Docs {
    fn key(&self) -> &'static str {
        "docs"
    }
    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        vec![erase(EchoSearch)]
    }
}

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn suite(collections: &[&str]) -> (TempDir, PromptSuite) {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "README.md", "# Sample\n");
    write(root.path(), "src/main.rs", "fn main() {}\n");
    write(root.path(), "src/auth.ts", "export {};\n");
    write(root.path(), "long.txt", "é".repeat(60_000) + "x");
    write(root.path(), "logo.png", b"\x89PNG\0\xff");
    write(root.path(), ".env", "TOKEN=1");
    let roots = ServedRoots::open(&[root.path().to_owned()]).unwrap();
    let providers: Vec<Arc<dyn ToolProvider>> =
        vec![Arc::new(RepoSuite::new(roots.clone())), Arc::new(Docs)];
    let collections = collections.iter().map(|&name| name.to_owned()).collect();
    let suite = PromptSuite::new(roots, collections, &providers);
    (root, suite)
}

async fn render(
    suite: &PromptSuite,
    name: &str,
    arguments: Value,
) -> Result<PromptAnswer, ToolError> {
    suite.prompt(name, arguments.as_object().unwrap(), &no_client()).await
}

fn texts(answer: &PromptAnswer) -> Vec<&str> {
    answer
        .messages
        .iter()
        .map(|message| match &message.content {
            AnswerBlock::Text { text, .. } | AnswerBlock::Embedded(Contents::Text { text, .. }) => {
                text.as_str()
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn a_file_comes_with_its_text() {
    let (root, suite) = suite(&[]);
    for (name, arguments, want) in [
        ("explain_file", json!({"path": "src/main.rs"}), "Explain the file src/main.rs"),
        ("review_file", json!({"path": "src/main.rs"}), "correctness first"),
        (
            "review_file",
            json!({"path": "./src/main.rs", "focus": "overflow"}),
            "Focus on: overflow.",
        ),
    ] {
        let answer = render(&suite, name, arguments).await.unwrap();
        assert!(texts(&answer)[0].contains(want), "{answer:?}");
        let uri = format!("file://{}/src/main.rs", root.path().canonicalize().unwrap().display());
        let mime = Some("text/x-rust".to_owned());
        let file = Contents::Text { uri, mime, text: "fn main() {}\n".into() };
        assert_eq!(answer.messages[1].content, AnswerBlock::Embedded(file));
        assert_eq!(answer.messages.len(), 2);
        assert!(answer.about.is_some());
    }
}

#[tokio::test]
async fn a_long_file_is_cut_between_characters_and_says_so() {
    let (_root, suite) = suite(&[]);
    let answer = render(&suite, "explain_file", json!({"path": "long.txt"})).await.unwrap();
    let parts = texts(&answer);
    assert_eq!(parts[1].len(), 102_400);
    assert!(parts[2].contains("Only the first 102400 of 120001 bytes of long.txt"), "{}", parts[2]);
}

#[tokio::test]
async fn a_repository_comes_with_its_facts_and_readme() {
    let (_root, suite) = suite(&[]);
    for arguments in [json!({}), json!({"path": "."}), json!({"path": ""})] {
        let answer = render(&suite, "document_repository", arguments).await.unwrap();
        let parts = texts(&answer);
        assert!(
            parts[1].contains("(path .)") && parts[1].contains("## Documentation gaps"),
            "{}",
            parts[1]
        );
        assert_eq!(parts[2], "# Sample\n");
    }
    let inside = render(&suite, "document_repository", json!({"path": "src"})).await.unwrap();
    assert_eq!(texts(&inside).len(), 2);
}

#[tokio::test]
async fn an_answer_comes_with_what_was_found() {
    let (_root, configured) = suite(&["postgresql", "ubuntu"]);
    let question = "q".repeat(2000);
    let answer =
        render(&configured, "answer_from_docs", json!({"question": question})).await.unwrap();
    assert_eq!(texts(&answer)[1], "early 1000\n\nlate all 8");
    assert!(texts(&answer)[0].contains(&question));
    let wanted = json!({"question": "why", "collection": "ubuntu"});
    let answer = render(&configured, "answer_from_docs", wanted).await.unwrap();
    assert_eq!(texts(&answer)[1], "early 3\n\nlate ubuntu 8");
    let (_root, bare) = suite(&[]);
    let answer = render(&bare, "answer_from_docs", json!({"question": "why"})).await.unwrap();
    assert_eq!(texts(&answer)[1], "No documentation is configured, so nothing was found.");
}

#[tokio::test]
async fn what_is_not_there_is_an_error_that_helps() {
    let (_root, suite) = suite(&["postgresql"]);
    let cases = [
        ("explain_file", json!({"path": "src/mian.rs"}), "did you mean src/main.rs?"),
        ("explain_file", json!({}), "argument `path`: is missing"),
        ("explain_file", json!({"path": 5}), "argument `path`: must be a string"),
        ("explain_file", json!({"path": "src"}), "src is a folder"),
        ("explain_file", json!({"path": "logo.png"}), "logo.png is not UTF-8 text"),
        ("explain_file", json!({"path": ".env"}), "is not served"),
        ("review_file", json!({"path": "../../etc/passwd"}), "outside the served roots"),
        ("document_repository", json!({"path": "scr"}), "did you mean src?"),
        ("document_repository", json!({"path": "README.md"}), "is not a folder"),
        ("answer_from_docs", json!({}), "argument `question`: is missing"),
        (
            "answer_from_docs",
            json!({"question": "x", "collection": "postgres"}),
            "did you mean postgresql?",
        ),
        ("sing", json!({}), "unknown prompt: sing"),
    ];
    for (name, arguments, want) in cases {
        let error = render(&suite, name, arguments.clone()).await.unwrap_err().to_string();
        assert!(error.contains(want), "{name} {arguments}: {error}");
    }
}

#[tokio::test]
async fn arguments_complete_from_what_is_there() {
    let (root, suite) = suite(&["postgresql", "ubuntu"]);
    let cases: [(&str, &str, &str, &[&str]); 8] = [
        ("explain_file", "path", "src/", &["src/auth.ts", "src/main.rs"]),
        ("review_file", "path", "./src/m", &["src/main.rs"]),
        ("review_file", "path", "mn", &["src/main.rs"]),
        ("document_repository", "path", "", &[".", "src"]),
        ("answer_from_docs", "collection", "p", &["postgresql"]),
        ("answer_from_docs", "question", "w", &[]),
        ("explain_file", "focus", "w", &[]),
        ("sing", "path", "s", &[]),
    ];
    for (prompt, argument, typed, want) in cases {
        let found = suite
            .complete(&CompletionRequest::new(
                CompletionTarget::Prompt(prompt.into()),
                argument,
                typed,
            ))
            .await;
        assert_eq!(found.values, want, "{prompt} {argument} {typed}");
    }
    drop(root);
}

#[test]
fn every_prompt_is_described() {
    let (_root, suite) = suite(&[]);
    let prompts = suite.prompts();
    let names: Vec<_> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(names, ["explain_file", "review_file", "document_repository", "answer_from_docs"]);
    assert!(
        prompts
            .iter()
            .all(|prompt| prompt.about.is_some()
                && prompt.arguments.iter().all(|a| a.about.is_some()))
    );
}
