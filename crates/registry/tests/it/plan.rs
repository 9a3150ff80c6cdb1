//! Changing files and restoring them.

use docent_registry::{
    ChangeReceipt, ConfigChange, ConfigChangeError, LinkPolicy, McpClient, McpServerEntry,
    MissingFolders, undo,
};
use std::{fs, path::Path};

fn plan(path: &Path, before: Option<&str>, after: &str) -> ConfigChange {
    ConfigChange {
        client: McpClient::Cursor,
        name: "docent".to_owned(),
        path: path.to_owned(),
        before: before.map(str::to_owned),
        after: after.to_owned(),
        block: false,
        links: LinkPolicy::FollowOwn,
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
#[cfg(unix)]
fn a_file_is_changed_behind_its_link_and_put_back() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
    let backups = folder.path().join("backups");
    fs::write(&file, "old\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real.json", &link).unwrap();
    let plan = plan(&link, Some("old\n"), "new\n");
    let receipt = plan.apply(&backups, MissingFolders::Keep).unwrap();
    assert!(link.is_symlink());
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("new\n", 0o640));
    let backup = receipt.backup.clone().unwrap();
    // Only the user can read it, whatever the mode of the file is; undoing keeps the file's mode.
    assert_eq!((fs::read_to_string(&backup).unwrap().as_str(), mode(&backup)), ("old\n", 0o600));
    let receipt: ChangeReceipt =
        serde_json::from_str(&serde_json::to_string(&receipt).unwrap()).unwrap();
    undo(&receipt).unwrap();
    assert_eq!((fs::read_to_string(&file).unwrap().as_str(), mode(&file)), ("old\n", 0o640));
    let left: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    fs::remove_file(&file).unwrap();
    let dead = plan.apply(&backups, MissingFolders::Keep).unwrap_err();
    assert!(matches!(dead, ConfigChangeError::DeadLink { .. }), "{dead}");
}

#[test]
fn changes_by_others_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (file, backups) = (folder.path().join("a.json"), folder.path().join("b"));
    fs::write(&file, "theirs").unwrap();
    let refused =
        plan(&file, Some("old"), "new").apply(&backups, MissingFolders::Keep).unwrap_err();
    assert!(matches!(refused, ConfigChangeError::Changed { .. }), "{refused}");
    let refused = plan(&file, None, "new").apply(&backups, MissingFolders::Keep).unwrap_err();
    assert!(matches!(refused, ConfigChangeError::Changed { .. }), "{refused}");
    let receipt = plan(&file, Some("theirs"), "new").apply(&backups, MissingFolders::Keep).unwrap();
    fs::write(&file, "newer").unwrap();
    let refused = undo(&receipt).unwrap_err();
    assert!(refused.to_string().contains("has changed since"), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "newer");
}

#[test]
fn folders_are_made_when_that_is_wanted_and_go_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, backups) = (folder.path().join("a/b/c.json"), folder.path().join("backups"));
    let refused = plan(&file, None, "new").apply(&backups, MissingFolders::Keep).unwrap_err();
    assert!(matches!(refused, ConfigChangeError::NoFolder { .. }), "{refused}");
    let receipt = plan(&file, None, "new").apply(&backups, MissingFolders::Make).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    undo(&receipt).unwrap();
    assert!(!folder.path().join("a").exists());
}

#[test]
#[cfg(unix)]
fn a_link_of_a_project_is_refused_and_a_replaced_file_is_not_followed() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (victim, backups) = (root.join("victim"), root.join("backups"));
    fs::write(&victim, "{}").unwrap();
    symlink(&victim, root.join("link.json")).unwrap();
    fs::create_dir(root.join("real")).unwrap();
    fs::write(root.join("real/file.json"), "{}").unwrap();
    symlink("real", root.join("linked")).unwrap();
    for path in ["link.json", "linked/file.json"] {
        let plan = plan(&root.join(path), Some("{}"), "new").refusing_links();
        let error = plan.apply(&backups, MissingFolders::Make).unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("symbolic link"), "{path}: {cause}");
    }
    let file = root.join("file.json");
    fs::write(&file, "{}").unwrap();
    let receipt = plan(&file, Some("{}"), "new").apply(&backups, MissingFolders::Keep).unwrap();
    fs::remove_file(&file).unwrap();
    fs::write(&victim, "new").unwrap();
    symlink(&victim, &file).unwrap();
    undo(&receipt).unwrap_err();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "new");
    assert_eq!(fs::read_to_string(root.join("real/file.json")).unwrap(), "{}");
}

#[test]
#[cfg(unix)]
fn a_backup_that_was_replaced_is_not_put_back() {
    use std::{os::unix::fs::symlink, process::Command};
    let folder = tempfile::tempdir().unwrap();
    let (file, backups) = (folder.path().join("a.json"), folder.path().join("b"));
    fs::write(&file, "old").unwrap();
    let receipt = plan(&file, Some("old"), "new").apply(&backups, MissingFolders::Keep).unwrap();
    let backup = receipt.backup.clone().unwrap();
    let is_refused = |want: &str| {
        let errors = [undo(&receipt).unwrap_err(), ConfigChange::restore(&receipt).unwrap_err()];
        for error in errors {
            let cause = std::error::Error::source(&error).unwrap().to_string();
            assert!(cause.contains(want), "{cause}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    };
    let victim = folder.path().join("victim");
    fs::write(&victim, "secret").unwrap();
    fs::remove_file(&backup).unwrap();
    symlink(&victim, &backup).unwrap();
    is_refused("symbolic link");
    fs::remove_file(&backup).unwrap();
    assert!(Command::new("mkfifo").arg(&backup).status().unwrap().success());
    is_refused("not a regular file");
}

#[test]
fn backups_do_not_overwrite_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (file, backups) = (folder.path().join("a.json"), folder.path().join("b"));
    fs::write(&file, "0").unwrap();
    for number in 0..3 {
        let (before, after) = (number.to_string(), (number + 1).to_string());
        plan(&file, Some(&before), &after).apply(&backups, MissingFolders::Keep).unwrap();
    }
    let mut kept: Vec<_> = fs::read_dir(&backups)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    kept.sort();
    assert_eq!(kept, ["0", "1", "2"]);
}

#[test]
fn a_diff_names_the_file() {
    let diff = plan(Path::new("x.json"), Some("a\nb\n"), "a\nc\n").diff();
    assert_eq!(diff, "--- x.json\n+++ x.json\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    let diff = plan(Path::new("x.json"), None, "a\n").diff();
    assert_eq!(diff, "--- /dev/null\n+++ x.json\n@@ -0,0 +1 @@\n+a\n");
}

#[test]
fn docent_is_installed_and_taken_out() {
    let folder = tempfile::tempdir().unwrap();
    let (file, backups) = (folder.path().join("mcp.json"), folder.path().join("b"));
    let text = "{\n  // mine\n  \"a\": 1\n}\n";
    fs::write(&file, text).unwrap();
    let server = McpServerEntry::program("docent", "docent", &["serve"]);
    let plan = ConfigChange::install(McpClient::Cursor, &file, &server, false).unwrap();
    let receipt = plan.apply(&backups, MissingFolders::Keep).unwrap();
    assert!(receipt.block && !plan.is_empty());
    assert!(ConfigChange::install(McpClient::Cursor, &file, &server, false).unwrap().is_empty());
    let other = McpServerEntry::program("docent", "other", &[]);
    let refused =
        ConfigChange::install(McpClient::Cursor, &file, &other, false).unwrap_err().to_string();
    assert!(refused.starts_with(&file.display().to_string()), "{refused}");
    // The file was changed by someone else, so only the entry is removed.
    let now = fs::read_to_string(&file).unwrap().replace("\"a\": 1", "\"a\": 2");
    fs::write(&file, now).unwrap();
    undo(&receipt).unwrap_err();
    let plan =
        ConfigChange::remove(McpClient::Cursor, &file, &receipt.name, receipt.block).unwrap();
    plan.apply(&backups, MissingFolders::Keep).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), text.replace("\"a\": 1", "\"a\": 2"));
    assert!(ConfigChange::remove(McpClient::Cursor, &file, "docent", true).unwrap().is_empty());
    fs::write(&file, b"\xff").unwrap();
    let refused = ConfigChange::install(McpClient::Cursor, &file, &server, false).unwrap_err();
    assert!(refused.to_string().contains("UTF-8"), "{refused}");
    let refused =
        ConfigChange::install(McpClient::Cursor, folder.path(), &server, false).unwrap_err();
    assert!(matches!(refused, ConfigChangeError::Io { .. }), "{refused}");
}
