//! A file that costs more to parse than a file may is a listed problem in every tool, and the rest is answered.

use super::*;
use std::time::Duration;

const SKIPPED: &str = "skipped: parsing it exceeds the budget of ";

/// A project with a file that can't be parsed in linear time.
fn hostile() -> (TempDir, CodeSuite) {
    let (folder, suite) = project();
    put(folder.path(), "src/deep.py", &format!("loginUser\n{}", "((((((((\n".repeat(8_000)));
    (folder, suite)
}

/// The reasons that an answer lists for the file.
fn reasons(structured: &Value) -> Vec<String> {
    let all = structured["problems"].as_array().into_iter().flatten();
    let of_file = all.filter(|problem| problem["path"] == "src/deep.py");
    of_file.map(|problem| problem["reason"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_file_over_its_budget_is_a_listed_problem_in_every_tool() {
    let (_folder, suite) = hostile();
    let calls = [
        ("parse_files", json!({"files": ["src"]})),
        ("outline", json!({"path": "src"})),
        ("find_references", json!({"symbol": "loginUser"})),
        ("analyze_code", json!({"file": "src", "analysisType": "complexity"})),
        ("analyze_code", json!({"file": "src", "analysisType": "patterns"})),
        ("analyze_code", json!({"file": "src", "analysisType": "security"})),
        ("analyze_code", json!({"file": "src", "analysisType": "dependencies"})),
    ];
    for (tool, args) in calls {
        let got = call(&suite, tool, args.clone()).await.unwrap().structured.unwrap();
        let reasons = reasons(&got);
        assert_eq!(reasons.len(), 1, "{tool} {args}: {got}");
        assert!(reasons[0].starts_with(SKIPPED), "{tool} {args}: {reasons:?}");
    }
    let read = call(&suite, "read_symbol", json!({"symbol": "loginUser"})).await.unwrap();
    assert_eq!(read.structured.unwrap()["file"], "src/auth.ts", "the rest is answered");
}

#[tokio::test]
async fn a_file_over_its_budget_that_was_named_is_an_error_with_the_reason() {
    let (_folder, suite) = hostile();
    let calls = [
        ("outline", json!({"path": "src/deep.py"})),
        ("analyze_code", json!({"file": "src/deep.py", "analysisType": "complexity"})),
    ];
    for (tool, args) in calls {
        let error = call(&suite, tool, args).await.unwrap_err().to_string();
        assert!(error.contains(&format!("src/deep.py: {SKIPPED}")), "{tool}: {error}");
    }
    let error = annotations(&suite, "ast://project/src/deep.py").await.unwrap_err().to_string();
    assert!(error.contains(SKIPPED), "{error}");
}

#[tokio::test]
async fn the_index_lists_a_file_over_its_budget_and_has_the_rest() {
    let (folder, suite) = hostile();
    let got = loop {
        let got = call(&suite, "index_status", json!({})).await.unwrap().structured.unwrap();
        if got["freshness"] != "building" {
            break got;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let problems = got["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{got}");
    let want = format!("src/deep.py: {SKIPPED}");
    assert!(problems[0].as_str().unwrap().starts_with(&want), "{got}");
    assert_eq!(got["languages"], json!({"TypeScript": 2}));

    // A look at another file does not forget it.
    put(folder.path(), "src/later.ts", "export function later() {}\n");
    let got = loop {
        let got = call(&suite, "index_status", json!({})).await.unwrap().structured.unwrap();
        if got["languages"]["TypeScript"] == 3 {
            break got;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(got["problems"].as_array().unwrap(), problems, "{got}");
}
