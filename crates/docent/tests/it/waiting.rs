//! What is said while another process holds the lock of the index.

use crate::TestHome;
use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::Stdio,
    sync::mpsc,
    thread,
    time::Duration,
};

/// Longer than anything here takes, on however busy a machine.
const EVENT_TIMEOUT: Duration = Duration::from_mins(1);

fn place() -> TestHome {
    let place = TestHome::new();
    fs::create_dir(place.project().join("manual")).unwrap();
    place.write("manual/a.md", "# Vacuum\n\nIt reclaims storage.\n");
    place.write("app.py", "def fetch_rows():\n    return []\n");
    place.run(&["docs", "add", "manual", "manual"]).ends(0);
    place.run(&["index"]).ends(0);
    place
}

/// Holds the lock in the name of a process.
fn hold(place: &TestHome, holder: u32) -> File {
    let path = place.index().join("lock");
    let mut file = File::options().write(true).open(path).unwrap();
    file.lock().unwrap();
    file.set_len(0).unwrap();
    writeln!(file, "{holder}").unwrap();
    file
}

#[test]
fn a_writer_says_for_whom_it_waits_and_goes_on() {
    for args in [&["index"][..], &["index", "--json"], &["docs", "sync"]] {
        let place = place();
        let held = hold(&place, std::process::id());
        place.write("new.py", "def new_rows():\n    return [1]\n");
        place.write("manual/b.md", "# Analyze\n\nIt counts rows.\n");
        let mut command = place.command(args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let reader = thread::spawn(move || {
            // The test may have seen enough.
            errors.lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
        });
        let line = lines.recv_timeout(EVENT_TIMEOUT).expect("nothing is said about the wait");
        assert!(line.starts_with("waiting for the index in "), "{args:?}: {line}");
        assert!(line.contains("another process is writing"), "{args:?}: {line}");
        assert!(line.contains("waiting since "), "{args:?}: {line}");
        assert!(!line.contains("kill"), "{args:?}: {line}");
        drop(held);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
        reader.join().unwrap();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert!(!text.contains("waiting"), "{args:?}: {text}");
        if args.contains(&"--json") {
            let report: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(report["changed"], 1, "{report}");
        }
    }
}

#[test]
fn a_question_says_for_whom_it_waits_and_answers_from_what_there_is() {
    let place = place();
    let held = hold(&place, std::process::id());
    place.write("new.py", "def new_rows():\n    return [1]\n");
    let run = place.run(&["search", "fetch rows", "--threshold", "0", "--json"]);
    assert!(run.err.contains("waiting for the index in "), "{}", run.err);
    assert_eq!(run.ends(0).json()["hits"][0]["name"], "fetch_rows");
    drop(held);
}

#[test]
fn a_lock_names_its_holder() {
    let place = place();
    place.write("new.py", "def new_rows():\n    return [1]\n");
    let mut child = place.command(&["index"]).stdout(Stdio::null()).spawn().unwrap();
    let id = child.id();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let holder = fs::read_to_string(place.index().join("lock")).unwrap();
    assert_eq!(holder.trim(), id.to_string());
}

#[test]
fn a_docent_that_holds_the_lock_is_named_with_the_way_to_end_it() {
    let place = place();
    let mut serving = place.command(&["serve"]);
    let mut holder =
        serving.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let held = hold(&place, holder.id());
    place.write("new.py", "def new_rows():\n    return [1]\n");
    let run = place.run(&["search", "fetch rows", "--threshold", "0"]);
    let advice = format!("let it finish, or end it with: kill {}", holder.id());
    assert!(run.err.contains(&advice), "{}", run.err);
    drop((held, holder.stdin.take()));
    holder.wait().unwrap();
}
