//! Tests of the completions, also in real shells.

use super::*;
use crate::cli;
use docent_testenv::{find_program, or_skip};
use serde_json::json;
use std::{fs, process::Command as Program};

struct FixedCompletions;

impl CompletionSource for FixedCompletions {
    fn servers(&self) -> Vec<String> {
        vec!["time".into(), "git".into(), "$(reboot)".into()]
    }

    fn tools(&self, target: &ServerTarget) -> Vec<CompletionTool> {
        let tools = match target {
            ServerTarget::Docent => {
                json!([{"name": "search", "inputSchema": {"required": ["query"], "properties": {
                    "depth": {"type": "string", "enum": ["quick", "deep", "no; reboot"]},
                    "query": {"type": "string", "description": "What to\tlook for. More."},
                    "kinds": {"type": "array", "items": {"enum": ["class", "function"]}},
                    "exact": {"type": "boolean"},
                    "at": {"type": "object", "properties": {"line": {"type": "integer"}}},
                }}}])
            }
            ServerTarget::Server(name) if name == "time" => {
                json!([{"name": "now"}, {"name": "evil\nname"}, {"name": "`reboot`"}])
            }
            _ => json!([]),
        };
        tools.as_array().unwrap().iter().filter_map(CompletionTool::from_definition).collect()
    }
}

#[track_caller]
fn check(line: &str, want: &[&str]) {
    let command = cli::description();
    let answer = answer(CompletionShell::Bash, &[line.to_owned()], &command, &FixedCompletions);
    let got: Vec<&str> = answer.lines().collect();
    assert_eq!(got, want, "{line:?}");
}

#[test]
fn commands_and_flags() {
    check("docent ser", &["words", "serve", "servers"]);
    check("docent serve --trans", &["words", "--transport"]);
    check("docent serve --transport s", &["words", "stdio", "sse"]);
    check("docent serve --transport=s", &["words", "--transport=stdio", "--transport=sse"]);
    check("docent serve --root ", &["files"]);
    check("docent serve --port ", &["words"]);
    check("docent config sh", &["words", "show"]);
    check("docent completions ba", &["words", "bash"]);
    check("docent index ", &["files"]);
    check("docent __com", &["words"]);
    check("docent serve extra ", &["words"]);
    check("docent install cu", &["words", "cursor"]);
    check("docent install cursor ze", &["words", "zed"]);
    check("docent servers import ./x", &["files"]);
    check("docent servers import go", &["words", "goose"]);
    for command in ["test", "remove", "approve", "login"] {
        check(&format!("docent servers {command} "), &["words", "time", "git"]);
    }
    check("docent servers test time g", &["words", "git"]);
    check("docent servers approve time g", &["words"]);
    check("docent inspect ", &["words", "time", "git", "docent"]);
}

#[test]
fn servers_tools_and_arguments() {
    check("docent tools --server ", &["words", "time", "git", "docent"]);
    check("docent tools --server=g", &["words", "--server=git"]);
    check("docent tools t", &["words", "time"]);
    check("docent tools -s time ", &["words", "time", "git", "docent", "now"]);
    check("docent resources ", &["words", "time", "git", "docent"]);
    check("docent call ", &["words", "search"]);
    check("docent call --server time ", &["words", "now"]);
    check("docent call -s time ", &["words", "now"]);
    check("docent call --url http://x ", &["words"]);
    check(
        "docent call search ",
        &[
            "words", "query=", "depth=", "kinds=", "exact=", "at=", "at.line=", "time", "git",
            "docent",
        ],
    );
    check("docent call search query=x kinds=class q", &["words"]);
    check("docent call search query=x kinds=class ki", &["words", "kinds="]);
    check("docent call search depth=", &["words", "depth=quick", "depth=deep"]);
    check("docent call search depth=q", &["words", "depth=quick"]);
    check("docent call search kinds=class,f", &["words", "kinds=class,function"]);
    check("docent call search exact=", &["words", "exact=true", "exact=false"]);
    check("docent call search query=@src/", &["files"]);
    check("docent call 'search' \"query=a b\" de", &["words", "depth="]);
    check("docent call search --json de", &["words", "depth="]);
    check("docent call search --save ", &["files"]);
    check("docent call search -- x", &["files"]);
    check(
        "docent call search --",
        &[
            "words",
            "--json",
            "--save",
            "--server",
            "--url",
            "--header",
            "--root",
            "--config",
            "--verbose",
            "--help",
        ],
    );
}

#[test]
fn zsh_and_fish_hear_what_a_word_is_for() {
    let words: Vec<String> = ["call", "search", "q"].map(str::to_owned).to_vec();
    let answer = answer(CompletionShell::Fish, &words, &cli::description(), &FixedCompletions);
    assert_eq!(answer, "words\nquery=\trequired. What to look for.\n");
}

/// Runs a shell with a program called docent that answers as docent would. The error is that the shell is not
/// installed.
fn in_shell(shell: &str, arguments: &[&str], script: &str) -> Result<String, String> {
    let shell = find_program(shell)?;
    let place = tempfile::tempdir().unwrap();
    let stub = place.path().join("docent");
    // The request goes to a file; the completions come from one.
    let text = "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.asked\"\ncat \"$0.answer\"\n";
    fs::write(&stub, text).unwrap();
    let mut rights = fs::metadata(&stub).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o755);
    fs::set_permissions(&stub, rights).unwrap();
    let path = format!("{}:/usr/bin:/bin", place.path().display());
    let ran = Program::new(shell)
        .args(arguments)
        .arg(script.replace("PLACE", &place.path().display().to_string()))
        .env("PATH", path)
        .env("HOME", place.path())
        .current_dir(place.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
fn bash_completes() {
    let ask = |line: &str, answer: &str| {
        let script = format!(
            "printf '%b' '{answer}' > docent.answer\n{}\nCOMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}\n\
             COMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:@'\n_docent docent\nprintf '[%s]' \"${{COMPREPLY[@]}}\"\ncat docent.asked | tr '\\n' ' '",
            script(CompletionShell::Bash)
        );
        in_shell("bash", &["--norc", "-c"], &script)
    };
    let got = or_skip!(ask("docent call search dep", "words\\ndepth=\\n"));
    assert_eq!(got, "[depth=]__complete bash -- docent call search dep ");
    let got = ask("docent call search depth=q", "words\\ndepth=quick\\ndepth=quite\\n").unwrap();
    assert!(got.starts_with("[quick][quite]"), "{got}");
    let got = ask("docent call search query=@docent.an", "files\\n").unwrap();
    assert!(got.starts_with("[docent.answer]"), "{got}");
    assert!(ask("docent x", "").unwrap().starts_with("[]"));
}

#[test]
fn fish_completes() {
    let script = format!(
        "printf 'words\\ndepth=\\tHow deep\\nquery=\\trequired\\n' > docent.answer\n{}\ncomplete -C 'docent call search '; tr '\\n' ' ' < docent.asked",
        script(CompletionShell::Fish)
    );
    let got = or_skip!(in_shell("fish", &["--no-config", "-c"], &script));
    assert_eq!(got, "depth=\tHow deep\nquery=\trequired\n__complete fish -- call search  ");
}

/// zsh completes only while a user types, so a substitute function receives the candidates.
#[test]
fn zsh_completes() {
    let script = format!(
        "printf 'words\\ndepth=\\tHow deep\\nserve\\t\\n' > docent.answer\n\
         compadd() {{ print -r -- \"compadd $*\"; print -rl -- \"${{(@)plain}}\" \"${{(@)open}}\" \"${{(@)open_about}}\" }}\n\
         compdef() {{ :; }}\n{}\nwords=(docent call search dep); CURRENT=4\n_docent\ntr '\\n' ' ' < docent.asked",
        script(CompletionShell::Zsh)
    );
    let got = or_skip!(in_shell("zsh", &["-f", "-c"], &script));
    assert!(got.contains("compadd -Q -l -S  -d open_about -a open"), "{got}");
    assert!(got.contains("depth=  -- How deep"), "{got}");
    assert!(got.ends_with("__complete zsh -- call search dep "), "{got}");
}
