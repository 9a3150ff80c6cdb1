//! Project files as resources.

use super::*;
use docent_tool::no_client;
use std::{fs, time::Duration};

/// Timeout for expected events.
const EVENT_TIMEOUT: Duration = Duration::from_secs(30);

struct FileSuiteProject {
    _dir: tempfile::TempDir,
    root: std::path::PathBuf,
    suite: FileSuite,
}

impl FileSuiteProject {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("root");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a b.ts"), "const a = 1;\n").unwrap();
        fs::write(root.join("logo.png"), b"\x89PNG\0").unwrap();
        fs::write(root.join("latin.txt"), b"caf\xe9 au lait, na\xefve\n").unwrap();
        fs::write(root.join(".env"), "TOKEN=1\n").unwrap();
        fs::write(dir.path().join("outside"), "x").unwrap();
        let suite = FileSuite::new(ServedRoots::open(std::slice::from_ref(&root)).unwrap());
        Self { _dir: dir, root, suite }
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", self.root.display())
    }

    async fn read(&self, uri: &str) -> Option<Result<ResourceReading, ToolError>> {
        self.suite.read(uri, &no_client()).await
    }

    /// Waits until a URI is reported as updated.
    async fn hears(&self, changes: &mut broadcast::Receiver<ProviderChange>, uri: &str) {
        let wait = async {
            while changes.recv().await.unwrap() != ProviderChange::Updated(uri.to_owned()) {}
        };
        tokio::time::timeout(EVENT_TIMEOUT, wait)
            .await
            .unwrap_or_else(|_| panic!("no update of {uri}"));
    }
}

#[tokio::test]
async fn text_is_sent_as_text_and_the_rest_as_base64() {
    let project = FileSuiteProject::new();
    let (spaced, logo, latin) =
        (project.uri("src/a%20b.ts"), project.uri("logo.png"), project.uri("latin.txt"));
    let text = |uri: &str, text: &str| Contents::Text {
        uri: uri.into(),
        mime: Some("text/plain".into()),
        text: text.into(),
    };
    let want = Contents::Blob {
        uri: logo.clone(),
        mime: Some("image/png".into()),
        blob: "iVBORwA=".into(),
    };
    for (uri, want) in [
        (&spaced, text(&spaced, "const a = 1;\n")),
        (&latin, text(&latin, "café au lait, naïve\n")),
        (&logo, want),
    ] {
        assert_eq!(project.read(uri).await.unwrap().unwrap().contents, [want]);
    }
}

#[test]
fn secrets_do_not_hide_behind_zeros() {
    let text = format!("key = 1\n{}", "# more\n".repeat(200));
    let wide = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    assert_eq!(decode(wide(u16::to_le_bytes)).unwrap(), text);
    assert_eq!(decode(wide(u16::to_be_bytes)).unwrap(), text);
    assert_eq!(decode(format!("{text}\0").into_bytes()).unwrap(), format!("{text}\0"));
    for data in [&b"\0\0\0\x01sqlite\0\0"[..], b"ab\0", b"\x01\0\x02\0\x03\0\x04\0"] {
        assert_eq!(decode(data.to_vec()), Err(data.to_vec()));
    }
}

#[tokio::test]
async fn what_may_not_be_read_is_refused_or_left_to_others() {
    let project = FileSuiteProject::new();
    let large = fs::File::create(project.root.join("large")).unwrap();
    large.set_len(MAX_FILE_BYTES + 1).unwrap();
    for path in [".env", "src", "large"] {
        let uri = project.uri(path);
        assert!(project.read(&uri).await.unwrap().is_err(), "{path}");
        assert_eq!(project.suite.watch(&uri), path == "large", "{path}");
    }
    for uri in [
        project.uri("none"),
        project.uri("../outside"),
        "file:///etc/passwd".into(),
        "ast://project/src".into(),
    ] {
        assert!(project.read(&uri).await.is_none(), "{uri}");
        assert!(!project.suite.watch(&uri), "{uri}");
    }
    for uri in [project.uri("src%2Fa"), format!("file://elsewhere{}", project.root.display())] {
        assert!(project.read(&uri).await.is_none_or(|read| read.is_err()), "{uri}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_and_special_files_are_treated_as_everywhere_else() {
    use std::os::unix::fs::symlink;
    let project = FileSuiteProject::new();
    symlink("src/a b.ts", project.root.join("inside")).unwrap();
    symlink("../outside", project.root.join("out")).unwrap();
    symlink(".env", project.root.join("secret")).unwrap();
    fs::hard_link(project.root.join(".env"), project.root.join("hard")).unwrap();
    let pipe = project.root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(project.read(&project.uri("inside")).await.unwrap().is_ok());
    for path in ["out", "secret", "hard", "pipe"] {
        let uri = project.uri(path);
        assert!(project.read(&uri).await.is_none_or(|read| read.is_err()), "{path}");
        assert!(!project.suite.watch(&uri), "{path}");
    }
}

#[tokio::test]
async fn subscribers_hear_of_writes_and_replaced_folders() {
    let project = FileSuiteProject::new();
    let uri = project.uri("src/a%20b.ts");
    let mut changes = project.suite.changes().unwrap();
    assert!(project.suite.can_watch(&uri) && project.suite.watch(&uri));
    fs::write(project.root.join("src/a b.ts"), "2").unwrap();
    project.hears(&mut changes, &uri).await;
    fs::write(project.root.join("src/new"), "3").unwrap();
    fs::rename(project.root.join("src/new"), project.root.join("src/a b.ts")).unwrap();
    project.hears(&mut changes, &uri).await;
    fs::rename(project.root.join("src"), project.root.join("old")).unwrap();
    project.hears(&mut changes, &uri).await;
    fs::create_dir(project.root.join("src")).unwrap();
    project.hears(&mut changes, &uri).await;
    fs::write(project.root.join("src/a b.ts"), "4").unwrap();
    project.hears(&mut changes, &uri).await;
}

#[tokio::test]
async fn a_subscription_ends_alone() {
    let project = FileSuiteProject::new();
    let (first, second) = (project.uri("src/a%20b.ts"), project.uri("latin.txt"));
    let mut changes = project.suite.changes().unwrap();
    assert!(project.suite.watch(&first) && project.suite.watch(&second));
    project.suite.unwatch(&first);
    project.suite.unwatch(&first);
    fs::write(project.root.join("src/a b.ts"), "2").unwrap();
    fs::write(project.root.join("latin.txt"), "2").unwrap();
    let heard = tokio::time::timeout(EVENT_TIMEOUT, changes.recv()).await.unwrap().unwrap();
    assert_eq!(heard, ProviderChange::Updated(second), "the other one is not reported any more");
}

#[tokio::test]
async fn each_root_has_a_template_whose_path_is_completed() {
    let project = FileSuiteProject::new();
    let templates = project.suite.templates();
    assert_eq!(templates.len(), 1);
    assert_eq!(templates[0].uri_template, project.uri("{+path}"));
    let target = || CompletionTarget::Template(templates[0].uri_template.clone());
    for (typed, want) in [("src/", vec!["src/a b.ts"]), ("lo", vec!["logo.png"]), (".e", vec![])] {
        let asked = CompletionRequest::new(target(), "path", typed);
        assert_eq!(project.suite.complete(&asked).await.values, want, "{typed}");
    }
}
