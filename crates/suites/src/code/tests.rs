use super::*;
use crate::indexing::IndexPhase;
use docent_tool::{
    AnswerBlock, CallClient, CallStop, Progress, ShareSlot, SyslogLevel, ToolOutcome, no_client,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

mod budget;
mod freshness;
mod symbols;

const USERS: &str = r#"/** A person who can sign in. */
export interface User { id: string; email: string; }

export enum Role { Admin, Member }

/** Retrieves user by ID */
export async function getUserById(id: string): Promise<User> {
  if (!id) { throw new Error("id required"); }
  return { id, email: id + "@example.com" };
}
"#;
const AUTH: &str = r#"import { User, getUserById } from "./users";

/** Authenticates user with email/password */
export async function loginUser(email: string, password: string): Promise<User> {
  if (password.length < 8) { throw new Error("weak"); }
  return getUserById(email);
}

/** Validates JWT authentication token */
export function validateToken(token: string): boolean {
  return token.split(".").length === 3;
}

/** Draws the company logo in the page footer */
export function drawFooterLogo(width: number): string { return "logo:" + width; }
"#;

fn project() -> (TempDir, CodeSuite) {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "src/users.ts", USERS);
    put(folder.path(), "src/auth.ts", AUTH);
    put(folder.path(), "README.md", "# Sample");
    put(folder.path(), "odd.xyz", "odd");
    let roots = ServedRoots::open(&[folder.path().to_owned()]).unwrap();
    let index = crate::test_index(&folder.path().join(".docent"));
    let live = BackgroundIndex::new(roots.clone(), index);
    (folder, CodeSuite::new(roots, live))
}

fn put(root: &Path, path: &str, text: &str) {
    let full = root.join(path);
    fs::create_dir_all(full.parent().unwrap()).unwrap();
    fs::write(full, text).unwrap();
}

async fn call(suite: &CodeSuite, tool: &str, args: Value) -> Result<ToolOutcome, ToolError> {
    if matches!(tool, "query_annotations" | "read_symbol" | "index_status") {
        index_is_built(suite).await;
    }
    call_in(suite, tool, args, &no_client()).await
}

/// Waits for the index: a call waits only briefly, too short on a busy machine.
async fn index_is_built(suite: &CodeSuite) {
    let live = &suite.project.live;
    live.start();
    let end = Instant::now() + Duration::from_mins(1);
    while !matches!(live.phase(), IndexPhase::UpToDate | IndexPhase::Failed(_)) {
        assert!(Instant::now() < end, "{:?}", live.phase());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn call_in(
    suite: &CodeSuite,
    tool: &str,
    args: Value,
    context: &CallContext,
) -> Result<ToolOutcome, ToolError> {
    let found = suite.tools().into_iter().find(|one| one.name() == tool).unwrap();
    let Value::Object(args) = args else { panic!("arguments are an object") };
    found.call(args, context).await
}

fn text_of(outcome: &ToolOutcome) -> &str {
    match &outcome.content[0] {
        AnswerBlock::Text { text, .. } => text,
        other => panic!("{other:?}"),
    }
}

fn embedded(outcome: &ToolOutcome, uri: &str) -> Value {
    let found = outcome.content.iter().find_map(|block| match block {
        AnswerBlock::Embedded(Contents::Text { uri: at, mime, text }) if at == uri => {
            Some((mime.clone(), text.clone()))
        }
        _ => None,
    });
    let (mime, text) = found.unwrap();
    assert_eq!(mime.as_deref(), Some("application/json"));
    serde_json::from_str(&text).unwrap()
}

async fn annotations(suite: &CodeSuite, uri: &str) -> Result<Value, ToolError> {
    let mut contents = suite.read(uri, &no_client()).await.unwrap()?.contents;
    match contents.remove(0) {
        Contents::Text { uri: at, mime, text } => {
            assert_eq!((at.as_str(), mime.as_deref()), (uri, Some("application/json")));
            Ok(serde_json::from_str(&text).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn files_are_parsed_and_counted() {
    let (_folder, suite) = project();
    let got = call(
        &suite,
        "parse_files",
        json!({"files": ["src/users.ts", "src/auth.ts", "src/auth.ts"]}),
    )
    .await
    .unwrap();
    assert_eq!(
        text_of(&got),
        "Successfully parsed 2 files and extracted 6 annotations.\n\nFiles processed:\n\
         - src/users.ts: 3 annotations (1 function, 1 interface, 1 enum)\n\
         - src/auth.ts: 3 annotations (3 functions)\n\n\
         Annotations are now available for querying."
    );
    let summary = json!({"functions": 4, "interfaces": 1, "enums": 1});
    assert_eq!(
        embedded(&got, "ast://project/annotations"),
        json!({"totalFiles": 2, "totalAnnotations": 6, "summary": summary})
    );
    let mut structured = got.structured.unwrap();
    assert!(structured.as_object_mut().unwrap().remove("generation").is_some());
    let files = structured["files"].as_array_mut().unwrap().iter_mut();
    let definitions: Vec<Value> =
        files.map(|file| file.as_object_mut().unwrap().remove("definitions").unwrap()).collect();
    let get_user = &definitions[0][2];
    assert_eq!(
        (&get_user["name"], &get_user["type"], &get_user["line"], &get_user["description"]),
        (&json!("getUserById"), &json!("function"), &json!(7), &json!("Retrieves user by ID"))
    );
    assert_eq!(definitions[1].as_array().unwrap().len(), 3);
    assert_eq!(
        structured,
        json!({
            "totalFiles": 2, "totalAnnotations": 6, "summary": summary,
            "files": [
                {"path": "src/users.ts", "annotations": 3, "summary": {"functions": 1, "interfaces": 1, "enums": 1}},
                {"path": "src/auth.ts", "annotations": 3, "summary": {"functions": 3}}
            ],
            "problems": []
        })
    );
    assert!(!got.is_error && !got.partial);
}

#[tokio::test]
async fn definitions_are_listed_with_their_kind_and_class() {
    let (folder, suite) = project();
    let service = "export class UserService {\n  add(user: string): void {}\n}\n";
    put(folder.path(), "src/service.ts", service);
    let got = call(&suite, "parse_files", json!({"files": ["src/service.ts"]})).await.unwrap();
    let Some(AnswerBlock::Text { text, .. }) = got.content.last() else { panic!("{got:?}") };
    assert!(text.contains("\n1: class: "), "{text}");
    assert!(text.contains("\n2: method UserService.add: add(user: string)"), "{text}");
}

#[tokio::test]
async fn options_choose_what_is_parsed() {
    let (folder, suite) = project();
    put(folder.path(), "src/deep/x.py", "def f():\n    \"\"\"Says.\"\"\"\n");
    put(folder.path(), "src/odd.txt", "function odd() {}");
    let files = |got: ToolOutcome| {
        let files = got.structured.unwrap()["files"].clone();
        files
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["path"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let cases = [
        (json!({"files": ["src"]}), vec!["src/auth.ts", "src/deep/x.py", "src/users.ts"]),
        (
            json!({"files": ["src"], "options": {"recursive": false}}),
            vec!["src/auth.ts", "src/users.ts"],
        ),
        (json!({"files": ["."], "options": {"language": "python"}}), vec!["src/deep/x.py"]),
        (
            json!({"files": ["src/odd.txt"], "options": {"language": "javascript"}}),
            vec!["src/odd.txt"],
        ),
    ];
    for (args, want) in cases {
        assert_eq!(files(call(&suite, "parse_files", args.clone()).await.unwrap()), want, "{args}");
    }
    let said = annotations(&suite, "ast://project/src/deep/x.py").await.unwrap();
    assert_eq!(said["annotations"][0]["description"], "Says.");
    let definition = async |comments: bool| {
        let args = json!({"files": ["src/deep"], "options": {"includeComments": comments}});
        let got = call(&suite, "parse_files", args).await.unwrap();
        got.structured.unwrap()["files"][0]["definitions"][0].clone()
    };
    assert_eq!(definition(true).await["description"], "Says.");
    assert_eq!(definition(false).await.get("description"), None);
    let said = annotations(&suite, "ast://project/src/deep/x.py").await.unwrap();
    assert_eq!(said["annotations"][0]["description"], "Says.", "an option concerns one answer");
}

#[tokio::test]
async fn what_can_t_be_parsed_is_listed_beside_the_rest() {
    let (folder, suite) = project();
    put(folder.path(), "src/broken.ts", "function ok() {}\nclass { ]\n");
    put(folder.path(), "src/binary.ts", "const a = 1;\0");
    put(folder.path(), "src/large.ts", &"// long\n".repeat(300_000));
    let got =
        call(&suite, "parse_files", json!({"files": ["src", "none.ts", "../out.ts", "odd.xyz"]}))
            .await
            .unwrap();
    let structured = got.structured.clone().unwrap();
    assert_eq!(structured["totalFiles"], 3);
    let mut problems: Vec<String> = structured["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["path"].as_str().unwrap().to_owned())
        .collect();
    problems.sort();
    assert_eq!(
        problems,
        ["../out.ts", "none.ts", "odd.xyz", "src/binary.ts", "src/broken.ts", "src/large.ts"]
    );
    let text = text_of(&got);
    assert!(
        text.contains("- src/broken.ts: syntax error near line 2; the rest of the file was read"),
        "{text}"
    );
    assert!(text.contains("- src/binary.ts: not text: it contains NUL bytes"), "{text}");
    assert!(text.contains("src/large.ts: 2400000 bytes exceed the limit"), "{text}");
}

#[tokio::test]
async fn a_broken_file_is_not_answered_with_how_to_name_one() {
    let (folder, suite) = project();
    put(folder.path(), "broken.ts", "class { ] (((");
    put(folder.path(), "empty/notes.txt", "odd");
    for (files, want, is_hinted) in [
        (json!(["broken.ts"]), "broken.ts: could not be parsed: syntax error near line 1", false),
        (json!(["broken.ts", "none.ts"]), "could not be parsed: syntax error near line 1", false),
        (json!(["empty"]), "found no source file in a supported language", true),
    ] {
        let error = call(&suite, "parse_files", json!({"files": files})).await.unwrap_err();
        let ToolError::Failed(failure) = error else { panic!("{error}") };
        assert!(failure.message.contains(want), "{}", failure.message);
        assert_eq!(failure.hint.is_some(), is_hinted, "{files}");
    }
}

#[tokio::test]
#[cfg(unix)]
async fn paths_stay_inside_the_root() {
    let (folder, suite) = project();
    std::os::unix::fs::symlink("/etc", folder.path().join("link")).unwrap();
    for path in [
        "/etc/passwd",
        "link/passwd",
        "../../../../../../etc/passwd",
        "src/../../etc",
        "%2e%2e/x.ts",
        "a\0.ts",
    ] {
        for (tool, args) in [
            ("parse_files", json!({"files": [path]})),
            ("analyze_code", json!({"file": path, "analysisType": "security"})),
        ] {
            let error = call(&suite, tool, args).await.unwrap_err().to_string();
            assert!(!error.contains("root:"), "{tool} {path}: {error}");
        }
    }
    for path in [
        "../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "/etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "link/passwd",
        "",
        ".",
    ] {
        let uri = format!("ast://project/{path}");
        let error = annotations(&suite, &uri).await.unwrap_err();
        assert!(
            matches!(&error, ToolError::Failed(failure) if failure.kind.name() == "not_found"),
            "{uri}: {error}"
        );
        assert!(!suite.watch(&uri), "{uri}");
    }
}

#[tokio::test]
async fn a_missing_file_is_not_found() {
    let (_folder, suite) = project();
    let readme = annotations(&suite, "ast://project/README.md").await.unwrap();
    assert_eq!(readme["annotations"][0]["type"], "section", "{readme}");
    let not_found = |error: &ToolError| matches!(error, ToolError::Failed(failure) if failure.kind.name() == "not_found");
    let error = call(&suite, "parse_files", json!({"files": ["src/none.ts"]})).await.unwrap_err();
    assert!(not_found(&error), "{error}");
    let error = call(&suite, "parse_files", json!({"files": ["a.ts", "b.ts"]})).await.unwrap_err();
    assert!(not_found(&error) && error.to_string().contains("b.ts"), "{error}");
    let error =
        call(&suite, "analyze_code", json!({"file": "src/none.ts", "analysisType": "complexity"}))
            .await
            .unwrap_err();
    assert!(not_found(&error), "{error}");
    let error = annotations(&suite, "ast://project/src/none.ts").await.unwrap_err();
    assert!(not_found(&error), "{error}");
    let error = annotations(&suite, "ast://project/odd.xyz").await.unwrap_err();
    assert!(not_found(&error) && error.to_string().contains("supported: TypeScript"), "{error}");
    let error =
        call(&suite, "analyze_code", json!({"file": "odd.xyz", "analysisType": "complexity"}))
            .await
            .unwrap_err();
    assert!(matches!(&error, ToolError::Argument { field, .. } if field == "file"), "{error}");
    assert!(suite.read("techdoc://x/docs", &no_client()).await.is_none());
}

#[tokio::test]
async fn code_is_found_by_meaning_without_being_parsed_first() {
    let (_folder, suite) = project();
    let query = "functions that handle user authentication";
    let args = json!({"query": query, "options": {"limit": 2, "threshold": 0.0}});
    let got = call(&suite, "query_annotations", args).await.unwrap();
    let found = embedded(&got, "ast://project/query-results");
    let names: Vec<&str> =
        found.as_array().unwrap().iter().map(|hit| hit["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["loginUser", "validateToken"]);
    let why = &got.structured.as_ref().unwrap()["results"][0]["why"];
    assert_eq!(why["words"], 1.0, "{why}");
    assert_eq!(why["matched"][1], json!({"word": "authent", "fields": ["doc"]}), "{why}");
    let mut first = found[0].clone();
    let similarity = first["similarity"].take().as_f64().unwrap();
    assert!(similarity > 0.3 && similarity < 1.0, "{similarity}");
    assert_eq!(
        first,
        json!({
            "id": "function:src/auth.ts:loginUser",
            "name": "loginUser",
            "type": "function",
            "file": "src/auth.ts",
            "line": 4,
            "similarity": null,
            "signature": "async function loginUser(email: string, password: string): Promise<User>",
            "description": "Authenticates user with email/password",
            "snippetLine": 4,
            "snippet": "export async function loginUser(email: string, password: string): Promise<User> {\n  if (password.length < 8) { throw new Error(\"weak\"); }\n  return getUserById(email);\n}"
        })
    );
    assert_eq!(
        text_of(&got),
        format!(
            "Found 2 functions related to \"{query}\":\n\n\
             1. loginUser (src/auth.ts:4) - Authenticates user with email/password\n\
             2. validateToken (src/auth.ts:10) - Validates JWT authentication token\n\n\
             All results have similarity score > 0"
        )
    );
    let mut structured = got.structured.unwrap();
    for hit in structured["results"].as_array_mut().unwrap() {
        hit.as_object_mut().unwrap().remove("why").expect("only what a model reads leaves it out");
    }
    assert_eq!(structured["results"], found);
    assert_eq!((&structured["complete"], &structured["threshold"]), (&json!(true), &json!(0.0)));
    assert!(structured["generation"].as_u64().unwrap() > 0 && structured.get("notes").is_none());
    assert_eq!(structured.get("nearest"), None);
}

#[tokio::test]
async fn a_threshold_that_nothing_passes_offers_the_nearest() {
    let (_folder, suite) = project();
    let args = json!({"query": "user authentication", "options": {"threshold": 0.99}});
    let got = call(&suite, "query_annotations", args).await.unwrap();
    assert_eq!(embedded(&got, "ast://project/query-results"), json!([]));
    let text = text_of(&got);
    assert!(text.starts_with("Found nothing related to \"user authentication\" with similarity score > 0.99. Closest:\n\n1. loginUser"), "{text}");
    let structured = got.structured.unwrap();
    assert_eq!(structured["results"], json!([]));
    assert_eq!(structured["nearest"][0]["name"], "loginUser");
    let args = json!({"query": "user", "options": {"type": "interface", "threshold": 0.5}});
    let got = call(&suite, "query_annotations", args).await.unwrap();
    let names: Vec<Value> = got.structured.unwrap()["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["name"].clone())
        .collect();
    assert_eq!(names, ["User"]);
    let args = json!({"query": "user", "options": {"paths": ["docs/**"]}});
    let got = call(&suite, "query_annotations", args).await.unwrap();
    assert!(text_of(&got).starts_with("Found nothing related to \"user\""), "{}", text_of(&got));
    let args = json!({"query": "user", "options": {"paths": ["a{"]}});
    let error = call(&suite, "query_annotations", args).await.unwrap_err();
    assert!(
        matches!(&error, ToolError::Argument { field, .. } if field == "options.paths"),
        "{error}"
    );
}

#[tokio::test]
async fn every_analysis_answers() {
    let (_folder, suite) = project();
    let analyze = |kind: &'static str| {
        let suite = &suite;
        async move {
            call(suite, "analyze_code", json!({"file": "src/auth.ts", "analysisType": kind}))
                .await
                .unwrap()
        }
    };
    let got = analyze("complexity").await;
    assert_eq!(
        text_of(&got),
        "src/auth.ts (TypeScript): 3 functions, 15 lines, cyclomatic complexity 2, cognitive 1\n\
         - loginUser (line 4): cyclomatic 2 (low), cognitive 1, nesting 1, 2 parameters, 4 lines\n    \
         line 5: if (+1)\n\
         - validateToken (line 10): cyclomatic 1 (low), cognitive 0, nesting 0, 1 parameter, 3 lines\n\
         - drawFooterLogo (line 15): cyclomatic 1 (low), cognitive 0, nesting 0, 1 parameter, 1 line"
    );
    let structured = got.structured.unwrap();
    assert_eq!(
        (&structured["file"], &structured["language"], &structured["analysisType"]),
        (&json!("src/auth.ts"), &json!("typescript"), &json!("complexity"))
    );
    assert_eq!(structured["complexity"]["functions"][0]["cyclomatic"], 2);
    let got = analyze("dependencies").await;
    assert_eq!(
        text_of(&got),
        "src/auth.ts (TypeScript): 1 import, imported by 0 files\n- ./users (line 1) -> src/users.ts"
    );
    let structured = got.structured.unwrap();
    assert_eq!(structured["dependencies"]["imports"][0]["file"], "src/users.ts");
    for kind in ["patterns", "security"] {
        assert_eq!(analyze(kind).await.structured.unwrap()["findings"], json!([]), "{kind}");
    }
}

#[tokio::test]
async fn a_folder_is_analysed_as_a_whole() {
    let (folder, suite) = project();
    put(
        folder.path(),
        "src/bad.py",
        "import os, yaml\nfrom . import good\ndef f(a):\n    if a:\n        os.system(a)\n",
    );
    put(folder.path(), "src/good.py", "from . import bad\n");
    put(folder.path(), "src/__init__.py", "");
    put(folder.path(), "requirements.txt", "PyYAML==6.0.1\n");
    let analyze = |kind: &'static str| {
        let suite = &suite;
        async move {
            let args = json!({"file": "src", "analysisType": kind});
            call(suite, "analyze_code", args).await.unwrap().structured.unwrap()
        }
    };
    let found = analyze("complexity").await;
    let hardest: Vec<&Value> =
        found["hardest"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(hardest.len(), 5, "{found}");
    assert_eq!((&found["files"], &found["total"]), (&json!(5), &json!(5)));
    let found = analyze("security").await;
    assert_eq!(found["findings"][0]["file"], "src/bad.py", "{found}");
    assert_eq!(found["findings"][0]["cwe"], "CWE-78");
    let found = analyze("dependencies").await["folderDependencies"].clone();
    assert_eq!(found["cycles"][0]["path"], json!(["src/bad.py", "src/good.py", "src/bad.py"]));
    let yaml = json!({"name": "PyYAML", "version": "==6.0.1", "standard": false, "files": 1});
    assert!(found["packages"].as_array().unwrap().contains(&yaml), "{found}");
    put(folder.path(), "requirements.txt", "PyYAML==6.0.22\n");
    let again = analyze("dependencies").await["folderDependencies"]["packages"].to_string();
    assert!(again.contains("==6.0.22"), "a manifest that changed is read again: {again}");
    let args = json!({"file": "src/users.ts", "analysisType": "dependencies"});
    let users = call(&suite, "analyze_code", args).await.unwrap().structured.unwrap();
    assert_eq!(users["dependencies"]["dependents"], json!(["src/auth.ts"]));
}

#[tokio::test]
async fn a_project_has_rules_of_its_own() {
    let (folder, suite) = project();
    put(folder.path(), "a.py", "import os\nos.system(cmd)\nfrobnicate(1)\n");
    put(
        folder.path(),
        ".docent/rules/own.yml",
        "id: no-frobnicate\nlanguage: python\nmessage: frobnicate is not ours\nseverity: error\nrule: {pattern: frobnicate($A)}\n---\nid: os-system\nlanguage: python\nseverity: off\n---\nid: broken\nlanguage: python\nrule: {nonsense: 1}\n",
    );
    put(folder.path(), ".docent/.gitignore", "*\n");
    let args = json!({"file": "a.py", "analysisType": "security"});
    let found = call(&suite, "analyze_code", args).await.unwrap().structured.unwrap();
    let rules: Vec<&Value> =
        found["findings"].as_array().unwrap().iter().map(|one| &one["rule"]).collect();
    assert_eq!(rules, ["no-frobnicate"], "{found}");
    let problem = found["problems"][0]["path"].as_str().unwrap();
    assert!(problem.starts_with(".docent/rules/own.yml"), "{found}");
}

#[tokio::test]
async fn findings_say_where_and_what_to_do() {
    let (folder, suite) = project();
    put(folder.path(), "bad.py", "import os\nAPI_KEY = 'sk-0123456789'\nos.system(cmd)\n");
    let got = call(&suite, "analyze_code", json!({"file": "bad.py", "analysisType": "security"}))
        .await
        .unwrap();
    assert_eq!(
        text_of(&got),
        "bad.py (Python): 2 security findings\n\
         - line 2 [high, CWE-798] hard-coded-secret: hard-coded secret. API_KEY = '…'\n  \
         fix: read it from the environment or a secret store, and rotate the exposed one\n\
         - line 3 [high, CWE-78] os-system: the command is run through a shell. os.system(cmd)\n  \
         fix: use subprocess.run with a list of arguments"
    );
    assert!(!got.structured.unwrap().to_string().contains("0123456789"));
}

#[tokio::test]
async fn source_files_are_resources_before_anything_is_parsed() {
    let (_folder, suite) = project();
    let listed = suite.resources().await;
    assert_eq!(listed.len(), 2);
    assert_eq!(
        listed[1],
        ResourceInfo {
            uri: "ast://project/src/users.ts".into(),
            name: "users.ts".into(),
            title: Some("src/users.ts".into()),
            mime: Some("application/json".into()),
            ..ResourceInfo::default()
        }
    );
    let uris =
        ["src/users.ts", "src/none.ts", "../x.ts"].map(|path| format!("ast://project/{path}"));
    let about = "TypeScript: User, Role, getUserById".to_owned();
    assert_eq!(suite.describe(uris.to_vec()).await, [Some(about), None, None]);
    let users = annotations(&suite, "ast://project/src/users.ts").await.unwrap();
    let names: Vec<&Value> =
        users["annotations"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["User", "Role", "getUserById"]);
    let function = &users["annotations"][2];
    assert_eq!(function["parameters"], json!([{"name": "id", "type": "string"}]));
    assert_eq!(
        (&function["returnType"], &function["description"]),
        (&json!("Promise<User>"), &json!("Retrieves user by ID"))
    );
    let totals = annotations(&suite, "ast://project/annotations").await.unwrap();
    assert_eq!(
        totals,
        json!({"totalFiles": 2, "totalAnnotations": 6, "summary": {"functions": 4, "interfaces": 1, "enums": 1}})
    );
}

#[tokio::test]
async fn a_file_is_parsed_when_it_is_read() {
    let (_folder, suite) = project();
    let auth = annotations(&suite, "ast://project/src%2Fauth.ts").await.unwrap();
    assert_eq!(auth["annotations"].as_array().unwrap().len(), 3);
    assert_eq!(
        (&auth["file"], &auth["language"], &auth["imports"]),
        (&json!("src/auth.ts"), &json!("typescript"), &json!(["./users"]))
    );
    assert_eq!(auth["annotations"][0]["calls"], json!(["Error", "getUserById"]));
}

#[tokio::test]
async fn paths_are_completed() {
    let (_folder, suite) = project();
    assert_eq!(suite.templates()[0].uri_template, "ast://project/{path}");
    let target = CompletionTarget::Template("ast://project/{path}".into());
    let cases: [(&str, &[&str]); 5] = [
        ("", &["README.md", "src/auth.ts", "src/users.ts"]),
        ("src/u", &["src/users.ts"]),
        ("user", &["src/users.ts"]),
        ("zzz", &[]),
        ("../", &[]),
    ];
    for (typed, want) in cases {
        assert_eq!(
            suite.complete(&CompletionRequest::new(target.clone(), "path", typed)).await.values,
            want,
            "{typed}"
        );
    }
    assert!(
        suite
            .complete(&CompletionRequest::new(target.clone(), "other", ""))
            .await
            .values
            .is_empty()
    );
    assert!(
        suite
            .complete(&CompletionRequest::new(CompletionTarget::Prompt("x".into()), "path", ""))
            .await
            .values
            .is_empty()
    );
}

/// Records progress and waits.
#[derive(Default)]
struct RecordingAudience {
    steps: Mutex<Vec<Progress>>,
    /// Number of waits for an index update.
    waits: AtomicUsize,
}

impl CallClient for RecordingAudience {
    fn progress(&self, progress: Progress) {
        self.steps.lock().unwrap().push(progress);
    }
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
    fn index_slot(&self) -> Option<ShareSlot> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        Some(Box::new(()))
    }
}

#[tokio::test]
async fn progress_grows_and_says_what_is_done() {
    let (_folder, suite) = project();
    let listener = Arc::new(RecordingAudience::default());
    let context = CallContext::new(listener.clone(), CancellationToken::new(), None);
    call_in(&suite, "query_annotations", json!({"query": "user"}), &context).await.unwrap();
    let steps = listener.steps.lock().unwrap().clone();
    let done: Vec<f64> = steps.iter().map(|step| step.done).collect();
    assert!(done.is_sorted() && done.len() < 5, "{steps:?}");
    let listener = Arc::new(RecordingAudience::default());
    let context = CallContext::new(listener.clone(), CancellationToken::new(), None);
    call_in(&suite, "parse_files", json!({"files": ["src"]}), &context).await.unwrap();
    let steps = listener.steps.lock().unwrap().clone();
    let reported: Vec<(f64, Option<f64>, &str)> =
        steps.iter().map(|s| (s.done, s.total, s.message.as_str())).collect();
    let want = [(0.0, Some(2.0), "parsing src/auth.ts"), (2.0, Some(2.0), "parsed 2 files")];
    assert_eq!(reported, want);
}

#[tokio::test]
async fn a_stop_ends_the_work() {
    let (_folder, suite) = project();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let context = CallContext::new(Arc::new(RecordingAudience::default()), cancelled, None);
    let error =
        call_in(&suite, "parse_files", json!({"files": ["src"]}), &context).await.unwrap_err();
    assert!(matches!(error, ToolError::Stopped(CallStop::Cancelled)), "{error}");
    let context = CallContext::new(
        Arc::new(RecordingAudience::default()),
        CancellationToken::new(),
        Some(Instant::now()),
    );
    let note =
        "This is partial: time ran out before every file was parsed. Pass fewer files per call.";
    for (files, parsed) in [
        (json!(["src"]), "Parsed 0 files and extracted 0 annotations."),
        (
            json!(["src/users.ts", "src/auth.ts"]),
            "Parsed 0 of 2 files and extracted 0 annotations.",
        ),
    ] {
        let got = call_in(&suite, "parse_files", json!({"files": files}), &context).await.unwrap();
        assert!(got.partial);
        assert_eq!(text_of(&got), format!("{parsed}\n\n{note}"));
    }
}

#[tokio::test]
async fn schemas_are_as_callers_expect() {
    let (_folder, suite) = project();
    let tools: Vec<_> = suite.tools().iter().map(|tool| tool.info()).collect();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let want = [
        "parse_files",
        "query_annotations",
        "analyze_code",
        "read_symbol",
        "find_references",
        "outline",
        "index_status",
    ];
    assert_eq!(names, want);
    let schema = |n: usize| Value::Object((*tools[n].input_schema).clone());
    assert_eq!(schema(0)["required"], json!(["files"]));
    assert_eq!(schema(0)["properties"]["files"]["minItems"], 1);
    let options = &schema(1)["properties"]["options"]["properties"];
    assert_eq!(
        (&options["limit"]["default"], &options["threshold"]["default"]),
        (&json!(10), &json!(0.7))
    );
    assert_eq!(schema(2)["required"], json!(["file", "analysisType"]));
    let kinds = &schema(2)["properties"]["analysisType"]["enum"];
    assert_eq!(*kinds, json!(["complexity", "dependencies", "patterns", "security"]));
    for (tool, info) in tools.iter().enumerate() {
        for (name, property) in schema(tool)["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{name}");
        }
        assert!(info.output_schema.as_ref().unwrap().contains_key("properties"));
    }
}
