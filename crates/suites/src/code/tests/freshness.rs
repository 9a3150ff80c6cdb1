//! Changes on disk are announced and used in answers.

use super::*;

const EVENT_TIMEOUT: Duration = Duration::from_secs(15);

/// Receives changes until the wanted one.
async fn hear(changes: &mut broadcast::Receiver<ProviderChange>, wanted: &ProviderChange) {
    let heard = async { while changes.recv().await.unwrap() != *wanted {} };
    tokio::time::timeout(EVENT_TIMEOUT, heard)
        .await
        .unwrap_or_else(|_| panic!("not heard: {wanted:?}"));
}

#[tokio::test]
async fn a_changed_file_is_announced_and_reread() {
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
    hear(&mut changes, &ProviderChange::Updated(uri.into())).await;
    assert!(annotations(&suite, uri).await.unwrap().to_string().contains("deleteUser"));
}

#[tokio::test]
async fn reading_a_changed_file_first_does_not_hide_the_change() {
    let (folder, suite) = project();
    let uri = "ast://project/src/users.ts";
    assert!(suite.watch(uri));
    let mut changes = suite.changes().unwrap();
    put(folder.path(), "src/users.ts", "export function only() {}");
    annotations(&suite, uri).await.unwrap();
    hear(&mut changes, &ProviderChange::Updated(uri.into())).await;
}

/// Waits until the listed resources are as wanted, and returns their paths.
async fn listed(suite: &CodeSuite, wanted: &[&str]) {
    let end = Instant::now() + EVENT_TIMEOUT;
    loop {
        let all = suite.resources().await;
        let paths: Vec<String> = all.into_iter().filter_map(|one| one.title).collect();
        if paths == wanted {
            return;
        }
        assert!(Instant::now() < end, "{paths:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn files_that_come_and_go_change_the_list() {
    let (folder, suite) = project();
    put(folder.path(), ".gitignore", "ignored.ts\n");
    put(folder.path(), ".docentignore", "scratch/\n");
    call(&suite, "index_status", json!({})).await.unwrap();
    listed(&suite, &["src/auth.ts", "src/users.ts"]).await;
    let mut changes = suite.changes().unwrap();
    put(folder.path(), "src/ignored.ts", "function no() {}");
    put(folder.path(), "scratch/a.ts", "function no() {}");
    put(folder.path(), "src/new/deep/late.ts", "function late() {}");
    hear(&mut changes, &ProviderChange::Resources).await;
    listed(&suite, &["src/auth.ts", "src/users.ts", "src/new/deep/late.ts"]).await;
    put(folder.path(), "src/new/deep/later.ts", "function later() {}");
    listed(
        &suite,
        &["src/auth.ts", "src/users.ts", "src/new/deep/late.ts", "src/new/deep/later.ts"],
    )
    .await;
    fs::rename(folder.path().join("src/new"), folder.path().join("src/old")).unwrap();
    listed(
        &suite,
        &["src/auth.ts", "src/users.ts", "src/old/deep/late.ts", "src/old/deep/later.ts"],
    )
    .await;
    fs::remove_dir_all(folder.path().join("src/old")).unwrap();
    fs::remove_file(folder.path().join("src/users.ts")).unwrap();
    listed(&suite, &["src/auth.ts"]).await;
    fs::remove_file(folder.path().join(".gitignore")).unwrap();
    listed(&suite, &["src/auth.ts", "src/ignored.ts"]).await;
}

#[tokio::test]
async fn a_folder_can_be_subscribed_to() {
    let (folder, suite) = project();
    for uri in ["ast://project/src", "ast://project/src/"] {
        assert!(suite.watch(uri), "{uri}");
        let mut changes = suite.changes().unwrap();
        put(folder.path(), "src/deep/new.ts", "export function only() {}");
        hear(&mut changes, &ProviderChange::Updated(uri.into())).await;
        fs::remove_dir_all(folder.path().join("src/deep")).unwrap();
        hear(&mut changes, &ProviderChange::Updated(uri.into())).await;
    }
}

#[tokio::test]
async fn a_file_named_by_itself_is_found_whatever_the_project_ignores() {
    let (folder, suite) = project();
    put(folder.path(), ".gitignore", "ignored.ts\n");
    put(folder.path(), "ignored.ts", "/** Melts the cheese */\nexport function fondue() {}\n");
    call(&suite, "parse_files", json!({"files": ["ignored.ts"]})).await.unwrap();
    let end = Instant::now() + EVENT_TIMEOUT;
    loop {
        let args = json!({"query": "melts the cheese", "options": {"threshold": 0.0}});
        let got = call(&suite, "query_annotations", args).await.unwrap().structured.unwrap();
        if got["results"][0]["name"] == "fondue" {
            break;
        }
        assert!(Instant::now() < end, "{got}");
    }
}

#[tokio::test]
async fn a_call_waits_for_a_named_file_that_the_index_lacks() {
    let (folder, suite) = project();
    put(folder.path(), ".gitignore", "ignored.ts\n");
    put(folder.path(), "ignored.ts", "export function fondue() {}\n");
    index_is_built(&suite).await;
    for (file, waits) in [("src/users.ts", 0), ("ignored.ts", 1)] {
        let listener = Arc::new(RecordingAudience::default());
        let context = CallContext::new(listener.clone(), CancellationToken::new(), None);
        call_in(&suite, "parse_files", json!({"files": [file]}), &context).await.unwrap();
        assert_eq!(listener.waits.load(Ordering::Relaxed), waits, "{file}");
    }
}

#[tokio::test]
async fn a_subscriber_needs_nothing_parsed_before() {
    let (folder, suite) = project();
    let uri = "ast://project/src/users.ts";
    assert!(suite.watch(uri));
    let mut changes = suite.changes().unwrap();
    put(folder.path(), "src/users.ts", "export function only() {}");
    hear(&mut changes, &ProviderChange::Updated(uri.into())).await;
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
