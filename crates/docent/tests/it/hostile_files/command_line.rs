//! Paths that come from the command line and from configuration.

use super::{Fixture, Session, Way, Writer, is_error, pipe, run};
use crate::Place;
use serde_json::json;
use std::fs;

#[test]
fn commands_refuse_a_pipe_as_their_path() {
    let fixture = Fixture::new();
    for (args, want) in [
        (&["analyze", "src/pipe.py"][..], "pipe.py"),
        (&["index", "src/pipe.py"], "not a directory"),
        (&["serve", "--root", "src/pipe.py"], "not a directory"),
        (&["serve", "--root", "src/socket.py"], "not a directory"),
        (&["docs", "add", "own", "src/pipe.py"], "not a regular file or directory (named pipe)"),
        (&["docs", "add", "own", "src/socket.py"], "not a regular file or directory (socket)"),
        (&["audit", "tail", "--file", "src/pipe.py"], "src/pipe.py"),
        (&["audit", "verify", "--file", "src/pipe.py"], "src/pipe.py"),
        (&["servers", "import", "src/pipe.py"], "neither a file nor a client"),
    ] {
        let (code, told) = run(&fixture.place, args);
        assert_ne!(code, 0, "{args:?}: {told}");
        assert!(told.contains(want), "{args:?}: no {want:?} in {told}");
    }
    fixture.writer.was_not_woken();
}

#[test]
fn a_collection_that_is_a_pipe_is_a_problem() {
    let place = Place::new();
    pipe(&place.project().join("manual.md"));
    place.write("docent.toml", "[docs.collections.inside]\npath = \"manual.md\"\n");
    let elsewhere = place.0.path().join("elsewhere.md");
    pipe(&elsewhere);
    place.settings(&format!("[docs.collections.outside]\npath = {elsewhere:?}\n"));
    let (_, told) = run(&place, &["docs", "sync"]);
    assert_eq!(told.matches("named pipe").count(), 2, "{told}");
}

/// A project may come with a pipe in the place of its file of settings; nothing waits for it.
#[test]
fn a_project_s_settings_may_be_a_pipe() {
    for name in ["docent.toml", "docent.json"] {
        let place = Place::new();
        pipe(&place.project().join(name));
        for args in [&["config", "show"][..], &["serve"], &["index"], &["docs", "list"]] {
            let (code, told) = run(&place, args);
            assert_eq!(code, 1, "{args:?}: {told}");
            assert!(told.contains("not a regular file (named pipe)"), "{args:?}: {told}");
            assert!(told.contains(name), "{args:?}: {told}");
        }
    }
}

/// A project's `.env` file is looked at in every start, for the variables that are ignored without `--env-file`.
#[test]
fn a_project_s_env_file_may_be_a_pipe() {
    let place = Place::new();
    let at = place.project().join(".env");
    pipe(&at);
    let writer = Writer::wait_at(at);
    for (args, code, want) in [
        (&["config", "show"][..], 0, "server.port"),
        (&["index"], 0, ""),
        (&["config", "show", "--env-file"], 1, "not a regular file (named pipe)"),
        (&["serve", "--env-file"], 1, "not a regular file (named pipe)"),
    ] {
        let (ended, told) = run(&place, args);
        assert_eq!(ended, code, "{args:?}: {told}");
        assert!(told.contains(want), "{args:?}: no {want:?} in {told}");
    }
    writer.was_not_woken();
}

/// A pipe on the command line is the user's own: `docent --config <(generate)`.
#[test]
fn settings_may_come_through_a_pipe_that_the_user_names() {
    let place = Place::new();
    let settings = place.0.path().join("settings.toml");
    pipe(&settings);
    let writer = std::thread::spawn({
        let settings = settings.clone();
        move || fs::write(settings, "limits.sessions = 7\n").unwrap()
    });
    let (code, told) = run(&place, &["config", "show", "--config", settings.to_str().unwrap()]);
    writer.join().unwrap();
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("limits.sessions = 7"), "{told}");
}

/// Files that the user's settings name: each is refused by its name, and none is waited for.
#[test]
fn files_that_settings_name_may_be_pipes() {
    let place = Place::new();
    let at = place.0.path().join("pipe");
    pipe(&at);
    for (settings, want) in [
        (format!("hub.registries = [{at:?}]\n"), "not a regular file (named pipe)"),
        (
            format!("[[server.auth.keys]]\nname = \"a\"\ntoken_file = {at:?}\nscopes = [\"*\"]\n"),
            "not a regular file (named pipe)",
        ),
        (
            format!(
                "server.transport = [\"http\"]\nserver.port = 0\nserver.tls.certificate = {at:?}\nserver.tls.key = {at:?}\n"
            ),
            "not a regular file",
        ),
        (format!("server.logging.file = {at:?}\n"), at.to_str().unwrap()),
    ] {
        place.settings(&settings);
        let (_, told) = run(&place, &["serve"]);
        assert!(told.contains(want), "{settings}: no {want:?} in {told}");
    }
}

/// The record of calls is opened with the first of them.
#[tokio::test(flavor = "multi_thread")]
async fn the_audit_file_may_be_a_pipe() {
    let place = Place::new();
    let at = place.0.path().join("pipe");
    pipe(&at);
    place.settings(&format!("audit.file = {at:?}\n"));
    let mut session = Session::open(&place, &[], Way::Stdio).await;
    let answer = session.call("outline", json!({})).await;
    assert!(!is_error(&answer), "{answer}");
}
