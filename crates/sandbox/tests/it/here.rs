//! `confine` on the calling process itself.

use crate::stage::{PROBE, requirements};
use docent_sandbox::{Confinement, ConfinementMode};
use docent_testenv::or_skip;
use std::process::Command;

fn probe(mode: ConfinementMode, confinement: &Confinement, act: &str) -> String {
    let description = serde_json::to_string(confinement).unwrap();
    let args = ["here", &mode.to_string(), &description, act];
    let output = Command::new(PROBE).args(args).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_process_is_bound_from_then_on() {
    or_skip!(requirements());
    let system = Confinement::for_child(["/srv"]);
    let alone = system.clone().spawn(false);
    for (mode, confinement, act, expected) in [
        (ConfinementMode::Strict, &system, "exec", "exit status: 0"),
        (ConfinementMode::Strict, &alone, "exec", "error: Operation not permitted (os error 1)"),
        (ConfinementMode::Auto, &alone, "exec", "error: Operation not permitted (os error 1)"),
        (ConfinementMode::Off, &alone, "exec", "exit status: 0"),
        (ConfinementMode::Strict, &alone, "thread", "a thread ran"),
        (
            ConfinementMode::Strict,
            &alone,
            "second-thread",
            "error: the process has 2 threads; it must be confined before it starts any",
        ),
        (
            ConfinementMode::Auto,
            &alone,
            "second-thread",
            "error: the process has 2 threads; it must be confined before it starts any",
        ),
        (ConfinementMode::Off, &alone, "second-thread", "confined beside true"),
    ] {
        assert_eq!(probe(mode, confinement, act), expected, "{mode} {act}");
    }
}

#[test]
fn a_sealed_process_names_nothing_and_works_on() {
    // Independently of the paths, which Landlock checks.
    let open = Confinement::default().read(["/"]).write(["/"]).spawn(true);
    let sealed = open.clone().sealed(true);
    let denied = "error: Operation not permitted (os error 1)";
    for act in ["read", "write", "signal"] {
        let done = if act == "signal" { "error: No such process (os error 3)" } else { "done" };
        assert_eq!(probe(ConfinementMode::Off, &open, act), done, "{act}");
        assert_eq!(probe(ConfinementMode::Strict, &sealed, act), denied, "{act}");
    }
    assert_eq!(probe(ConfinementMode::Strict, &sealed, "thread"), "a thread ran");
}

#[test]
fn paths_that_are_not_there_are_skipped_and_reported() {
    or_skip!(requirements());
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").to_string_lossy().into_owned();
    let confinement = Confinement::default().read([&missing, "relative", "/usr"]).write([""]);
    let report = probe(ConfinementMode::Strict, &confinement, "report");
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let skipped: Vec<_> = report["skipped"].as_array().unwrap().iter().collect();
    assert_eq!(skipped.len(), 3, "{report}");
    assert_eq!(skipped[0]["path"], missing);
    assert!(skipped[0]["reason"].as_str().unwrap().starts_with("No such file"), "{report}");
    assert_eq!(skipped[1]["reason"], "the path is not absolute");
    assert_eq!(report["mode"], "strict");
    for control in report["controls"].as_array().unwrap() {
        assert_eq!(control["state"], "in-force", "{control}");
    }
}
