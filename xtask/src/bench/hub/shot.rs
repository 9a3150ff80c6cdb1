//! One call from a shell: a program that starts, starts a server, calls its tool and prints the answer.

use super::{
    HubBench,
    gateway::{Gateway, Program, node_program, official_inspector, python_program},
    gateway_home::{BenchDownstream, BenchExposure, GatewayHome},
};
use crate::{
    bench::{
        message::ECHO,
        peer::eprint_step,
        repo::table::{RepoTarget, TreeSection},
        usage,
    },
    process::{self, OutputMode},
};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::{path::Path, process::Command, time::Duration};

const RUN_LIMIT: Duration = Duration::from_mins(1);
/// The text that the tool must return; no program prints it by itself.
const EXPECTED_TEXT: &str = "one-shot-4711";
const DOCENT: &str = Gateway::Docent.display_name();
const INSPECTOR: &str = "inspector --cli";
const MCPORTER: &str = "mcporter";
const FASTMCP: &str = "fastmcp call";

/// A command-line client.
struct ShellClient {
    subject: &'static str,
    command: Box<dyn Fn() -> Command>,
    aim: Option<RepoTarget>,
}

/// Adds the section.
pub(super) fn measure(bench: &HubBench<'_>) -> Result<(TreeSection, Vec<String>)> {
    let place = GatewayHome::new(BenchDownstream::many(&bench.echo, 1), BenchExposure::Direct)?;
    let mut section = TreeSection::new("One call from a shell", DOCENT);
    section.describe(
        "`docent call echo message=… -- SERVER`, with the server's command like the others; with a server's name from the \
         user's configuration; and by the tool's name in the hub"
            .to_owned(),
    );
    let (mut clients, versions) = clients(bench, &place, &mut section);
    // Run each once unmeasured, to fill the page cache and check the answer.
    clients.retain(|client| match is_answered(&mut (client.command)()) {
        Ok(()) => true,
        Err(problem) => {
            section.lack(client.subject, &format!("{problem:#}"));
            false
        }
    });
    for round in 1..=bench.rounds {
        eprint_step(&format!("round {round} of {}: one call from a shell", bench.rounds));
        clients.retain(|ShellClient { subject, command, aim }| match usage::run(&mut command()) {
            Ok(used) => {
                section.add("wall time (ms)", subject, *aim, used.wall.as_secs_f64() * 1e3);
                section.add("CPU (ms)", subject, None, used.cpu.as_secs_f64() * 1e3);
                section.add("peak RSS (MB)", subject, None, used.peak_mb);
                true
            }
            Err(problem) => {
                section.lack(subject, &format!("in round {round}: {problem:#}"));
                false
            }
        });
    }
    Ok((section, versions))
}

fn is_answered(command: &mut Command) -> Result<()> {
    let what = command.get_program().display().to_string();
    let text = process::run(command, RUN_LIMIT, OutputMode::Kept)?.or_fail(&what)?;
    ensure!(text.contains(EXPECTED_TEXT), "the answer is not in what it prints: {text}");
    Ok(())
}

fn clients(
    bench: &HubBench<'_>,
    place: &GatewayHome,
    section: &mut TreeSection,
) -> (Vec<ShellClient>, Vec<String>) {
    let (workspace, server) = (bench.workspace, bench.echo.clone());
    let message = format!("message={EXPECTED_TEXT}");
    let mut clients = docent_clients(bench, place, &message);
    let mut versions = Vec::new();
    let home = place.home();
    let mut add = |subject, aim, program: Result<Program>, arguments: Vec<String>| match program {
        Ok((version, program, script)) => {
            versions.push(version);
            let home = home.clone();
            let command = move || {
                let mut command = Command::new(&program);
                command.args(&script).args(&arguments).env("HOME", &home).current_dir(&home);
                command
            };
            clients.push(ShellClient { subject, command: Box::new(command), aim });
        }
        Err(problem) => section.lack(subject, &format!("{problem:#}")),
    };
    let program = official_inspector(workspace);
    add(
        INSPECTOR,
        Some(RepoTarget::TimesAtLeast(20.0, DOCENT)),
        program,
        inspector(&server, &message),
    );
    let program = node_program(workspace, "mcporter", ("mcporter", "dist/cli.js"));
    add(MCPORTER, None, program, mcporter(&server, &message));
    let program = python_program(workspace, "fastmcp", "fastmcp");
    add(FASTMCP, None, program, fastmcp(&server, &json!({"message": EXPECTED_TEXT})));
    (clients, versions)
}

fn docent_clients(bench: &HubBench<'_>, place: &GatewayHome, message: &str) -> Vec<ShellClient> {
    let server = bench.echo.display().to_string();
    let tool = format!("s0__{ECHO}");
    let forms: [(&str, Vec<&str>); 3] = [
        (DOCENT, vec!["call", ECHO, message, "--", &server]),
        ("docent, a configured server", vec!["call", ECHO, message, "s0"]),
        ("docent, the hub's name", vec!["call", &tool, message]),
    ];
    let client = |(subject, arguments): (&'static str, Vec<&str>)| {
        let command = place.shell_command(bench.docent, &arguments);
        let again = move || copy(&command);
        ShellClient { subject, command: Box::new(again), aim: None }
    };
    forms.into_iter().map(client).collect()
}

/// Copies program, arguments, folder and environment; nothing is inherited.
fn copy(command: &Command) -> Command {
    let mut copy = Command::new(command.get_program());
    copy.args(command.get_args()).env_clear();
    copy.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    if let Some(folder) = command.get_current_dir() {
        copy.current_dir(folder);
    }
    copy
}

fn inspector(server: &Path, message: &str) -> Vec<String> {
    let server = server.display().to_string();
    let rest = ["--method", "tools/call", "--tool-name", ECHO, "--tool-arg", message];
    ["--cli".to_owned(), server].into_iter().chain(rest.map(str::to_owned)).collect()
}

fn mcporter(server: &Path, message: &str) -> Vec<String> {
    let server = server.display().to_string();
    // It names a tool by server and tool name.
    let tool = format!("s0.{ECHO}");
    vec![
        "call".into(),
        "--stdio".into(),
        server,
        "--name".into(),
        "s0".into(),
        tool,
        message.into(),
    ]
}

fn fastmcp(server: &Path, arguments: &Value) -> Vec<String> {
    let server = server.display().to_string();
    let json = arguments.to_string();
    // It takes the first word that is not an option as a server, so arguments can't be given as `key=value`.
    let words = ["--target", ECHO, "--input-json"].map(str::to_owned);
    ["call".to_owned(), "--command".to_owned(), server]
        .into_iter()
        .chain(words)
        .chain([json])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_must_be_printed() {
        let echo = |text: &str| {
            let mut command = Command::new("echo");
            command.arg(text);
            is_answered(&mut command)
        };
        echo(&format!("{{\"text\": \"{EXPECTED_TEXT}\"}}")).unwrap();
        assert!(echo("hello").unwrap_err().to_string().contains("hello"));
        is_answered(&mut Command::new("false")).unwrap_err();
    }

    #[test]
    fn a_copy_inherits_nothing() {
        let mut command = Command::new("/bin/sh");
        command.env_clear().env("HOME", "/h").current_dir("/");
        command.args(["-c", "echo $HOME $(pwd) $CARGO_MANIFEST_DIR"]);
        let said = copy(&command).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&said.stdout), "/h /\n");
    }
}
