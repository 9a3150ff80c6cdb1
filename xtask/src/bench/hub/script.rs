//! Code mode: the cost of an empty script, and of a hundred calls in one script compared with a hundred client calls.

use super::{
    HubBench,
    gateway_home::{BenchDownstream, BenchExposure, GatewayHome},
};
use crate::bench::{
    peer::eprint_step,
    pipe::PipeServer,
    repo::table::{RepoTarget, TreeSection},
};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::Instant;

const DOCENT: &str = "docent";
const TOOL: &str = "execute_mcp_code";
const CALL: &str = "call_mcp_tool";
/// Empty scripts per round.
const EMPTY_SCRIPTS_PER_ROUND: usize = 20;
const CALL_COUNT: usize = 100;
const EMPTY_SCRIPT: &str = "// nothing";
const SEQUENTIAL_SCRIPT: &str = r#"
import { echo } from "mcp-clients/s0";
let seen = 0;
for (let i = 0; i < 100; i++) {
    const said = await echo({ message: "this is call " + i });
    if (said !== "this is call " + i) throw new Error("call " + i + " got " + JSON.stringify(said));
    seen++;
}
console.log("seen " + seen);
"#;
const CONCURRENT_SCRIPT: &str = r#"
import { echo } from "mcp-clients/s0";
const all = await Promise.all(
    Array.from({ length: 100 }, (_, i) => echo({ message: "this is call " + i }))
);
all.forEach((said, i) => {
    if (said !== "this is call " + i) throw new Error("call " + i + " got " + JSON.stringify(said));
});
console.log("seen " + all.length);
"#;
const EXPECTED_OUTPUT: &str = "seen 100";

/// Adds the section.
pub(super) fn measure(bench: &HubBench<'_>) -> Result<TreeSection> {
    let mut section = TreeSection::without_base("Code mode, over stdio");
    section.describe(format!(
        "{EMPTY_SCRIPTS_PER_ROUND} empty scripts per round; scripts with {CALL_COUNT} calls check every answer; the client's own calls are \
         `{CALL}`, one after another"
    ));
    for round in 1..=bench.rounds {
        eprint_step(&format!("round {round} of {}: code mode", bench.rounds));
        let place =
            GatewayHome::new(BenchDownstream::many(&bench.echo, 1), BenchExposure::Discover)?;
        let (mut server, _) = match PipeServer::start(place.serve(bench.docent)) {
            Ok(started) => started,
            Err(problem) => {
                section.lack(DOCENT, &format!("{problem:#}"));
                break;
            }
        };
        if let Err(problem) = turn(&mut server, &mut section) {
            section.lack(DOCENT, &format!("{:#}", server.explain(problem)));
            break;
        }
    }
    Ok(section)
}

fn turn(server: &mut PipeServer, section: &mut TreeSection) -> Result<()> {
    let mut add = |measure: &str, aim, began: Instant| {
        section.add(measure, DOCENT, aim, began.elapsed().as_secs_f64() * 1e3);
    };
    let began = Instant::now();
    run(server, EMPTY_SCRIPT)?;
    add("the first empty script (ms)", None, began);
    for _ in 0..EMPTY_SCRIPTS_PER_ROUND {
        let began = Instant::now();
        run(server, EMPTY_SCRIPT)?;
        add("an empty script, p50 (ms)", Some(RepoTarget::AtMost(5.0)), began);
    }
    // The first call starts the downstream server, which is not measured.
    call(server, "warm")?;
    for (measure, code) in [
        ("a script with 100 calls in turn (ms)", SEQUENTIAL_SCRIPT),
        ("a script with 100 calls at once (ms)", CONCURRENT_SCRIPT),
    ] {
        let began = Instant::now();
        let said = run(server, code)?;
        add(measure, None, began);
        ensure!(said.contains(EXPECTED_OUTPUT), "the script with {CALL_COUNT} calls said {said}");
    }
    let began = Instant::now();
    for number in 0..CALL_COUNT {
        call(server, &format!("this is call {number}"))?;
    }
    add("100 calls of the client's own (ms)", None, began);
    Ok(())
}

fn run(server: &mut PipeServer, code: &str) -> Result<String> {
    let result = server.call(TOOL, &json!({"code": code, "allowedMcpIds": ["s0"]}))?;
    tool_text(TOOL, &result)
}

fn call(server: &mut PipeServer, message: &str) -> Result<()> {
    let arguments = json!({"server": "s0", "tool": "echo", "arguments": {"message": message}});
    let said = tool_text(CALL, &server.call(CALL, &arguments)?)?;
    ensure!(said.contains(message), "{message:?} was answered with {said}");
    Ok(())
}

fn tool_text(tool: &str, result: &Value) -> Result<String> {
    ensure!(result["isError"] != true, "{tool} answered {result}");
    Ok(result.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_tool_is_an_error() {
        assert_eq!(tool_text(TOOL, &json!({"content": []})).unwrap(), r#"{"content":[]}"#);
        let problem = tool_text(TOOL, &json!({"isError": true, "content": ["no"]})).unwrap_err();
        assert!(problem.to_string().contains("no"), "{problem}");
    }

    #[test]
    fn both_scripts_print_the_expected_output() {
        for code in [SEQUENTIAL_SCRIPT, CONCURRENT_SCRIPT] {
            assert!(code.contains(&CALL_COUNT.to_string()) && code.contains("\"seen \""), "{code}");
        }
        assert_eq!(EXPECTED_OUTPUT, format!("seen {CALL_COUNT}"));
    }
}
