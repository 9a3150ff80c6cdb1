//! Paths that come from the command line and from configuration.

use super::{
    HostileProject, HostileSession, PipeWriter, TransportUnderTest, command, is_error, pipe, run,
};
use crate::TestHome;
use serde_json::json;
use std::{fs, io::Write as _, process::Stdio};

#[test]
fn commands_refuse_a_pipe_as_their_path() {
    let fixture = HostileProject::new();
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
        (&["config", "import", "src/waited.py"], "not a regular file (named pipe)"),
        (&["config", "import", "src/socket.py"], "not a regular file (socket)"),
        (&["call", "outline", "--json", "@src/waited.py"], "not a regular file (named pipe)"),
        (&["call", "outline", "--json", "@src/socket.py"], "not a regular file (socket)"),
        (&["call", "outline", "path=@src/waited.py"], "not a regular file (named pipe)"),
        (&["analyze", "manual", "--output", "src/pipe.py"], "not a regular file (named pipe)"),
        (&["analyze", "manual", "--output", "src/socket.py"], "not a regular file (socket)"),
    ] {
        let (code, text) = run(&fixture.place, args);
        assert_ne!(code, 0, "{args:?}: {text}");
        assert!(text.contains(want), "{args:?}: no {want:?} in {text}");
    }
    fixture.writer.was_not_woken();
}

/// What docent was started with may be a pipe, as `<(...)` and `| docent ... /dev/stdin` make one.
#[test]
fn streams_that_are_open_already_are_read_and_written() {
    let place = TestHome::new();
    place.write("app.py", "def fetch_rows():\n    return []\n");
    for (args, input, want) in [
        (
            &["config", "import", "/dev/stdin", "--dry-run"][..],
            "version: '1.0'\n",
            "nothing written",
        ),
        (&["config", "import", "/dev/fd/0", "--dry-run"], "version: '1.0'\n", "nothing written"),
        (&["call", "outline", "--json", "@/dev/stdin"], "{\"path\": \"app.py\"}", "fetch_rows"),
        (&["call", "outline", "path=@/proc/self/fd/0"], "app.py", "fetch_rows"),
        (&["analyze", "--json", "--output", "/dev/stdout"], "", "wrote /dev/stdout"),
        (&["analyze", "--json", "--output", "/dev/null"], "", "wrote /dev/null"),
    ] {
        let mut command = command(&place, args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        let text = String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap();
        assert!(ended.status.success(), "{args:?}: {text}");
        assert!(text.contains(want), "{args:?}: no {want:?} in {text}");
        assert_eq!(args.contains(&"/dev/stdout"), text.contains("\"structure\""), "{text}");
    }
}

/// A server that docent runs may have put a pipe in the place of the key in the user's cache.
#[test]
fn the_key_of_the_index_may_be_a_pipe() {
    let place = TestHome::new();
    pipe(&place.0.path().join(".cache/docent/key"));
    let (code, text) = run(&place, &["index"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("key: it is not a regular file"), "{text}");
}

#[test]
fn a_collection_that_is_a_pipe_is_a_problem() {
    let place = TestHome::new();
    pipe(&place.project().join("manual.md"));
    place.write("docent.toml", "[docs.collections.inside]\npath = \"manual.md\"\n");
    let elsewhere = place.0.path().join("elsewhere.md");
    pipe(&elsewhere);
    place.settings(&format!("[docs.collections.outside]\npath = {elsewhere:?}\n"));
    let (_, text) = run(&place, &["docs", "sync"]);
    assert_eq!(text.matches("named pipe").count(), 2, "{text}");
}

/// A project may come with a pipe in the place of its file of settings; nothing waits for it.
#[test]
fn a_project_s_settings_may_be_a_pipe() {
    for name in ["docent.toml", "docent.json"] {
        let place = TestHome::new();
        pipe(&place.project().join(name));
        for args in [&["config", "show"][..], &["serve"], &["index"], &["docs", "list"]] {
            let (code, text) = run(&place, args);
            assert_eq!(code, 1, "{args:?}: {text}");
            assert!(text.contains("not a regular file (named pipe)"), "{args:?}: {text}");
            assert!(text.contains(name), "{args:?}: {text}");
        }
    }
}

/// A project's `.env` file is looked at in every start, for the variables that are ignored without `--env-file`.
#[test]
fn a_project_s_env_file_may_be_a_pipe() {
    let place = TestHome::new();
    let at = place.project().join(".env");
    pipe(&at);
    let writer = PipeWriter::wait_at(at);
    for (args, code, want) in [
        (&["config", "show"][..], 0, "server.port"),
        (&["index"], 0, ""),
        (&["config", "show", "--env-file"], 1, "not a regular file (named pipe)"),
        (&["serve", "--env-file"], 1, "not a regular file (named pipe)"),
    ] {
        let (ended, text) = run(&place, args);
        assert_eq!(ended, code, "{args:?}: {text}");
        assert!(text.contains(want), "{args:?}: no {want:?} in {text}");
    }
    writer.was_not_woken();
}

/// A pipe on the command line is the user's own: `docent --config <(generate)`.
#[test]
fn settings_may_come_through_a_pipe_that_the_user_names() {
    let place = TestHome::new();
    let settings = place.0.path().join("settings.toml");
    pipe(&settings);
    let writer = std::thread::spawn({
        let settings = settings.clone();
        move || fs::write(settings, "limits.sessions = 7\n").unwrap()
    });
    let (code, text) = run(&place, &["config", "show", "--config", settings.to_str().unwrap()]);
    writer.join().unwrap();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("limits.sessions = 7"), "{text}");
}

/// Files that the user's settings name: each is refused by its name, and none is waited for.
#[test]
fn files_that_settings_name_may_be_pipes() {
    let place = TestHome::new();
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
        let (_, text) = run(&place, &["serve"]);
        assert!(text.contains(want), "{settings}: no {want:?} in {text}");
    }
}

/// The record of calls is opened with the first of them.
#[tokio::test(flavor = "multi_thread")]
async fn the_audit_file_may_be_a_pipe() {
    let place = TestHome::new();
    let at = place.0.path().join("pipe");
    pipe(&at);
    place.settings(&format!("audit.file = {at:?}\n"));
    let mut session = HostileSession::open(&place, &[], TransportUnderTest::Stdio).await;
    let answer = session.call("outline", json!({})).await;
    assert!(!is_error(&answer), "{answer}");
}
