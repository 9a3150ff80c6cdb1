//! What changes on disk is heard of and answered with.

use super::*;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(15);

/// Changes until the wanted one comes.
async fn hear(changes: &mut broadcast::Receiver<Change>, wanted: &Change) {
    let heard = async { while changes.recv().await.unwrap() != *wanted {} };
    tokio::time::timeout(SOON, heard).await.unwrap_or_else(|_| panic!("not heard: {wanted:?}"));
}

#[tokio::test]
async fn a_changed_file_is_announced_and_read_anew() {
    let (folder, suite) = project();
    call(&suite, "parse_files", json!({"files": ["src"]})).await.unwrap();
    let uri = "ast://project/src/users.ts";
    assert!(suite.watch(uri));
    let mut changes = suite.changes().unwrap();
    put(
        folder.path(),
        "src/users.ts",
        &format!("{USERS}\nexport function deleteUser(id: string): void {{}}\n"),
    );
    hear(&mut changes, &Change::Updated(uri.into())).await;
    assert!(annotations(&suite, uri).await.unwrap().to_string().contains("deleteUser"));
}

#[tokio::test]
async fn reading_a_changed_file_first_does_not_hide_the_change() {
    let (folder, suite) = project();
    let uri = "ast://project/src/users.ts";
    annotations(&suite, uri).await.unwrap();
    let mut changes = suite.changes().unwrap();
    put(folder.path(), "src/users.ts", "export function only() {}");
    annotations(&suite, uri).await.unwrap();
    hear(&mut changes, &Change::Updated(uri.into())).await;
}

#[tokio::test]
async fn files_that_come_and_go_change_the_list() {
    let (folder, suite) = project();
    put(folder.path(), ".gitignore", "ignored.ts\n");
    call(&suite, "parse_files", json!({"files": ["."]})).await.unwrap();
    let mut changes = suite.changes().unwrap();
    put(folder.path(), "src/ignored.ts", "function no() {}");
    put(folder.path(), "src/new/deep/late.ts", "function late() {}");
    hear(&mut changes, &Change::Updated("ast://project/src/new/deep/late.ts".into())).await;
    put(folder.path(), "src/new/deep/later.ts", "function later() {}");
    hear(&mut changes, &Change::Updated("ast://project/src/new/deep/later.ts".into())).await;
    fs::remove_dir_all(folder.path().join("src/new")).unwrap();
    hear(&mut changes, &Change::Updated("ast://project/src/new/deep/late.ts".into())).await;
    fs::remove_file(folder.path().join("src/users.ts")).unwrap();
    hear(&mut changes, &Change::Updated("ast://project/src/users.ts".into())).await;
    let left: Vec<String> = suite.resources().await.into_iter().map(|one| one.uri).collect();
    assert_eq!(left, ["ast://project/src/auth.ts"]);
}

#[tokio::test]
async fn a_subscriber_needs_nothing_parsed_before() {
    let (folder, suite) = project();
    let uri = "ast://project/src/users.ts";
    assert!(suite.watch(uri));
    let mut changes = suite.changes().unwrap();
    put(folder.path(), "src/users.ts", "export function only() {}");
    hear(&mut changes, &Change::Updated(uri.into())).await;
    assert!(!suite.watch("ast://project/src/none.ts"));
    assert!(!suite.watch("techdoc://x/docs"));
}

#[tokio::test]
async fn a_query_sees_an_edit_at_once() {
    let (folder, suite) = project();
    let ask = || {
        call(
            &suite,
            "query_annotations",
            json!({"query": "loginUser", "options": {"threshold": 0.5}}),
        )
    };
    ask().await.unwrap();
    put(folder.path(), "src/auth.ts", &format!("\n\n{AUTH}"));
    let got = ask().await.unwrap().structured.unwrap();
    assert_eq!(
        (&got["results"][0]["name"], &got["results"][0]["line"]),
        (&json!("loginUser"), &json!(6))
    );
}
