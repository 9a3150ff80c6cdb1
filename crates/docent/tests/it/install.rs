//! `docent install` as people run it: what it shows, asks, writes, refuses and takes back.

use crate::{CliRun, TestHome};
use std::{
    fs,
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

const OWN: &str = "{\n  \"mcpServers\": {\n    \"git\": {\"command\": \"git-mcp\"}\n  }\n}\n";

/// A file of the user's, written or read.
struct ClientFile(PathBuf);

impl ClientFile {
    fn in_home(place: &TestHome, name: &str, text: &str) -> Self {
        let path = place.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        Self(path)
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.0).unwrap()
    }

    fn has(&self, words: &[&str], not: &[&str]) {
        let text = self.text();
        for word in words {
            assert!(text.contains(&format!("\"{word}\"")), "no {word} in {text}");
        }
        for word in not {
            assert!(!text.contains(&format!("\"{word}\"")), "{word} in {text}");
        }
    }
}

fn cursor(place: &TestHome) -> ClientFile {
    ClientFile::in_home(place, ".cursor/mcp.json", OWN)
}

fn done(place: &TestHome, args: &[&str]) -> CliRun {
    let run = place.run(&[&["install"], args, &["--yes"]].concat());
    run.ends(0);
    run
}

#[test]
fn nothing_is_written_that_was_not_shown_and_agreed_to() {
    let place = TestHome::new();
    let file = cursor(&place);
    place.run(&["install"]).ends(0).prints("cursor").prints("Cursor: installed");
    place.run(&["install", "cursor", "--dry-run"]).ends(0).prints("+    \"docent\"");
    place.run(&["install", "cursor"]).ends(1).says("--dry-run").says("--yes");
    assert_eq!(file.text(), OWN);
    let run = done(&place, &["cursor"]);
    run.prints("+    \"docent\"").prints("docent install --undo cursor").prints("Backup: ");
    let backup = run.out.lines().last().unwrap().split_once("Backup: ").unwrap().1;
    assert_eq!(fs::read_to_string(backup).unwrap(), OWN);
    assert!(backup.contains(".local/state/docent/install"), "{backup}");
    file.has(&["docent", "git"], &[]);
    done(&place, &["cursor"]).prints("already installed");
    place.run(&["install", "--undo", "cursor", "--dry-run"]).ends(0).prints("-    \"docent\"");
    place.run(&["install", "--undo", "cursor"]).ends(1).says("--yes");
    file.has(&["docent"], &[]);
    done(&place, &["--undo", "cursor"]).prints("-    \"docent\"").prints("restored");
    assert_eq!(file.text(), OWN);
    done(&place, &["--undo", "cursor"]).prints("docent is not installed");
    place.run(&["install", "--undo"]).ends(2).says("which client?");
    place.run(&["install", "notepad"]).ends(2).says("choose from claude-desktop");
}

/// At a terminal, which `script` is.
#[test]
fn a_person_is_asked() {
    let script_program = docent_testenv::or_skip!(docent_testenv::find_program("script"));
    let place = TestHome::new();
    let file = cursor(&place);
    let answer = |words: &str, answer: &str| {
        let mut script = Command::new(&script_program);
        // A shell reads the line, and the path may have a space in it.
        script.args(["-qec", &format!("\"$DOCENT\" install {words}"), "/dev/null"]);
        script.current_dir(place.project()).env_clear().env("HOME", place.0.path());
        script.env("PATH", "/usr/bin:/bin").env("DOCENT", env!("CARGO_BIN_EXE_docent"));
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(answer.as_bytes()).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success());
        String::from_utf8_lossy(&ended.stdout).into_owned()
    };
    let output = answer("cursor", "n\n");
    assert!(output.contains("Write this? [y/N]") && output.contains("unchanged"), "{output}");
    assert_eq!(file.text(), OWN);
    assert!(answer("cursor", "y\n").contains("installed; restart Cursor"));
    file.has(&["docent"], &[]);
    assert!(answer("--undo cursor", "n\n").contains("unchanged"));
    file.has(&["docent"], &[]);
    assert!(answer("--undo cursor", "y\n").contains("restored"));
    assert_eq!(file.text(), OWN);
}

#[test]
fn each_entry_of_each_file_is_undone_by_itself() {
    let place = TestHome::new();
    let file = cursor(&place);
    done(&place, &["cursor", "--name", "a"]);
    done(&place, &["cursor", "--name", "b"]).prints("--undo cursor --name b");
    done(&place, &["cursor", "--undo", "--name", "a"]).prints("removed");
    file.has(&["b", "git"], &["a"]);
    done(&place, &["cursor", "--undo", "--name", "b"]);
    file.has(&["git"], &["a", "b"]);
    let (text, project) = (file.text(), ClientFile(place.project().join(".cursor/mcp.json")));
    done(&place, &["cursor"]);
    done(&place, &["cursor", "--project"]).prints("--undo cursor --project");
    done(&place, &["cursor", "--undo"]);
    assert_eq!(file.text(), text);
    project.has(&["docent"], &[]);
    done(&place, &["cursor", "--undo", "--project"]);
    assert!(!place.project().join(".cursor").exists(), "what was made is gone with it");
}

#[test]
fn what_was_there_first_comes_back() {
    let place = TestHome::new();
    let file = cursor(&place);
    done(&place, &["cursor"]);
    place.run(&["install", "cursor", "--root", ".", "--yes"]).ends(1).says("with --force");
    done(&place, &["cursor", "--root", ".", "--force"]);
    file.has(&["--root"], &[]);
    done(&place, &["--undo", "cursor"]).prints("restored");
    assert_eq!(file.text(), OWN);
    // A change made by the user between the two is kept.
    done(&place, &["cursor"]);
    fs::write(&file.0, file.text().replace("git-mcp", "git-two")).unwrap();
    done(&place, &["cursor", "--root", ".", "--force"]);
    done(&place, &["--undo", "cursor"]).prints("removed");
    assert_eq!(file.text(), OWN.replace("git-mcp", "git-two"));
}

#[test]
fn what_is_not_docent_s_is_left_alone() {
    let place = TestHome::new();
    let foreign = OWN.replace("\"git\"", "\"docent\"");
    let file = ClientFile::in_home(&place, ".cursor/mcp.json", &foreign);
    place
        .run(&["install", "cursor", "--yes"])
        .ends(1)
        .says("replace it with --force, or choose another name with --name");
    place.run(&["install", "--undo", "cursor", "--yes"]).ends(1).says("is not docent's");
    assert_eq!(file.text(), foreign);
    done(&place, &["cursor", "--force"]);
    file.has(&["serve"], &["git-mcp"]);
    done(&place, &["--undo", "cursor"]);
    assert_eq!(file.text(), foreign);
    done(&place, &["--undo", "cursor", "--force"]).prints("removed");
    file.has(&[], &["docent"]);
}

#[test]
fn what_can_t_be_written_is_not_asked_about() {
    let place = TestHome::new();
    // Without a terminal a question would be an error of its own.
    let want = "is the client installed? Start it once, or pass --force";
    place.run(&["install", "cursor"]).ends(1).says(want);
    place.run(&["install", "cursor", "--dry-run"]).ends(0).prints("mcpServers");
    place.run(&["install", "cursor", "--force", "--yes"]).ends(0).prints("installed");
}

#[test]
fn one_client_that_fails_hides_none_of_the_others() {
    let place = TestHome::new();
    let file = cursor(&place);
    let gemini =
        ClientFile::in_home(&place, ".gemini/settings.json", &OWN.replace("\"git\"", "\"docent\""));
    let before = gemini.text();
    let run = place.run(&["install", "gemini", "cursor", "--yes"]);
    run.ends(1).prints("installed; restart Cursor");
    assert!(run.err.contains("error: gemini: ") && run.err.contains("--force"), "{}", run.err);
    file.has(&["docent"], &[]);
    assert_eq!(gemini.text(), before);
}
