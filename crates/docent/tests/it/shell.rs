//! The shell client on docent itself, and what shells are offered to type.

use crate::{CliRun, TestHome};
use std::{
    io::Write as _,
    process::{Command, Stdio},
};

fn project() -> TestHome {
    let place = TestHome::new();
    place.write("a.py", "def hello():\n    \"\"\"Says hello.\"\"\"\n    return 1\n");
    place
}

#[test]
fn tools_are_listed_and_called() {
    let place = project();
    let tools = place.run(&["tools", "--json"]).ends(0).json();
    let names: Vec<&str> = tools["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.contains(&"analyze_repository"), "{names:?}");
    place
        .run(&["tools"])
        .ends(0)
        .prints("analyze_repository  ")
        .prints("path* string, depth quick|standard|deep");
    place.run(&["tools", "--tokens"]).ends(0).prints("total").prints("Estimated from");
    place.run(&["tools", "parse_files"]).ends(0).prints("docent call parse_files files:=");
    place.run(&["prompts"]).ends(0).prints("explain_file");
    place.run(&["resources"]).ends(0).prints("ast://project/{path}");
    assert!(!place.project().join(".docent").exists(), "a look at lists left something behind");
    place.run(&["call", "analyze_repository", "."]).ends(0).prints("Python");
    place
        .run(&["call", "analyze_repository", "path=.", "depth=quick", "--json"])
        .ends(0)
        .prints("\"structuredContent\"");
    place.run(&["call", "parse_files", "files=a.py"]).ends(0).prints("\"totalFiles\":1");
    place.run(&["resources", "ast://project/a.py"]).ends(0).prints("hello");
    place.run(&["prompts", "explain_file", "a.py"]).ends(0).prints("def hello");
    let recorded = std::fs::read_to_string(place.project().join(".docent/audit.jsonl")).unwrap();
    assert!(recorded.contains("parse_files"), "{recorded}");
}

#[test]
fn calls_end_with_their_codes() {
    let place = project();
    place.run(&["call", "analyze_repository", "path=nowhere"]).ends(1).says("does not exist");
    place.run(&["call", "analyze_repository"]).ends(2).says("path (string, required)");
    place
        .run(&["call", "analyse_repository", "."])
        .ends(2)
        .says("did you mean analyze_repository?");
    place
        .run(&["call", "analyze_repository", ".", "depth=-5"])
        .ends(2)
        .says("expects one of quick, standard, deep");
    place
        .run(&["call", "analyze_repository", "--json", "{"])
        .ends(2)
        .says("invalid JSON in --json");
    place.run(&["resources", "ast://project/none.py"]).ends(1).says("error: ");
    place.run(&["tools", "--server", "none"]).ends(2).says("unknown server none");
}

#[test]
fn arguments_come_from_standard_input() {
    let place = project();
    let mut command = place.command(&["call", "parse_files", "--json", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"files\": [\"a.py\"]}").unwrap();
    let ended = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && out.contains("\"totalFiles\":1"), "{out}");
}

/// bash itself, with the script and the program.
#[test]
fn bash_completes_commands() {
    let place = project();
    place.settings("mcp_servers.clock.command = \"clock\"");
    let program = env!("CARGO_BIN_EXE_docent");
    let bash_program = docent_testenv::or_skip!(docent_testenv::find_program("bash"));
    let script = "eval \"$(\"$0\" completions bash)\"; COMP_LINE=\"$1\"; COMP_POINT=${#COMP_LINE}; _docent \"$0\"; echo ${COMPREPLY[@]}";
    for (line, want) in [
        ("docent call analyze_rep", "analyze_repository"),
        ("docent call analyze_repository depth=q", "quick"),
        ("docent call analyze_repository dep", "depth="),
        ("docent tools --server cl", "clock"),
        ("docent inst", "install"),
        ("docent insp", "inspect"),
        ("docent pro", "prompts"),
    ] {
        let mut bash = Command::new(&bash_program);
        bash.args(["--norc", "-c", script, program, line]).current_dir(place.project());
        let run = CliRun::of(bash.env("HOME", place.project().parent().unwrap()));
        assert_eq!(run.ends(0).out.trim(), want, "{line} {}", run.err);
    }
}
