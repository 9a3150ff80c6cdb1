//! Program, arguments and environment of a child.

use crate::stage::{ConfinementFixture, PROBE, requirements};
use docent_sandbox::{
    Confinement, ConfinementMode, Launch, SandboxError, SandboxSupport, clean_environment,
};
use docent_testenv::or_skip;
use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
    process::{Command, Output},
};

fn run(launch: Launch) -> Output {
    let launch = Launch { through: Some(PROBE.into()), ..launch };
    launch.command().unwrap().command.output().unwrap()
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn an_argument_arrives_as_one_and_as_it_is() {
    or_skip!(requirements());
    let hostile = [
        "-x",
        "--",
        "--version",
        "a b",
        "'",
        "\"",
        ";",
        "$(id)",
        "`id`",
        "$HOME",
        "*",
        "line\nline",
        "",
        "\\",
        "|",
        "&&",
        "{\"mode\":\"off\"}",
        "__confine",
        "ä\u{202e}",
    ];
    let mut args: Vec<OsString> = hostile.map(OsString::from).into();
    args.push(OsStr::from_bytes(b"\xff\xfe").to_owned());
    let mut expected = Vec::new();
    for arg in &args {
        expected.extend_from_slice(arg.as_bytes());
        expected.push(0);
    }
    for mode in [ConfinementMode::Off, ConfinementMode::Strict] {
        let printf = ["%s\\0".into()].into_iter().chain(args.clone());
        let output =
            run(Launch::new("/usr/bin/printf", printf, Confinement::for_child([""; 0]), mode));
        assert_eq!(output.stdout, expected, "{mode}: {output:?}");
    }
}

#[test]
fn a_program_is_looked_for_before_the_child_is_confined() {
    let stage = ConfinementFixture::new();
    let folder = stage.path("outside");
    let find = |program: &str, path: &str, cwd: Option<&Path>| {
        let mut launch =
            Launch::new(program, [""; 0], Confinement::default(), ConfinementMode::Off);
        launch.environment.kept.insert("PATH".into(), path.into());
        launch.cwd = cwd.map(Into::into);
        launch.command().map(|ready| ready.command.get_program().to_owned())
    };
    let path = folder.to_str().unwrap();
    let expected = folder.join("script").into_os_string();
    for (program, path, cwd) in [
        ("script", path, None),
        ("script", &format!("relative:/dev/null/missing::{path}"), None),
        (expected.to_str().unwrap(), "", None),
    ] {
        assert_eq!(find(program, path, cwd).unwrap(), expected, "{program} in {path}");
    }
    assert_eq!(
        find("./script", "", Some(&folder)).unwrap(),
        folder.join("./script").into_os_string()
    );
    for (program, path) in [
        ("script", ""),
        ("script", "."),
        ("file", path),
        ("outside", stage.path("").to_str().unwrap()),
        ("/dev/null/missing", ""),
        ("", path),
        ("..", path),
    ] {
        let refused = find(program, path, Some(&folder)).unwrap_err();
        assert!(matches!(refused, SandboxError::NoProgram { .. }), "{program:?} in {path:?}");
    }
}

#[test]
fn a_child_gets_no_more_of_the_environment_than_it_is_given() {
    or_skip!(requirements());
    let variables = |launch: Launch| String::from_utf8(run(launch).stdout).unwrap();
    for mode in [ConfinementMode::Off, ConfinementMode::Strict] {
        let mut launch =
            Launch::new("/usr/bin/env", [""; 0], Confinement::for_child([""; 0]), mode);
        let text = variables(launch.clone());
        assert!(!text.contains("CARGO"), "{text}");
        let pair = |name: &str| (OsString::from(name), OsString::from("v"));
        let configured = ["X", "LD_PRELOAD", "MCP_API_KEY", "DOCENT_TOKEN", "PATH"].map(pair);
        launch.environment = clean_environment([], configured);
        assert_eq!(variables(launch), "X=v\n", "{mode}");
    }
}

#[test]
fn the_hidden_subcommand_refuses_what_it_does_not_understand() {
    or_skip!(requirements());
    let description = r#"{"mode":"strict","confinement":{}}"#;
    for (args, says) in [
        (&[][..], "usage: __confine"),
        (&[description], "usage: __confine"),
        (&[description, "--"], "usage: __confine"),
        (&[description, "/bin/true"], "usage: __confine"),
        (&[description, "--", "true"], "usage: __confine"),
        (&["{}", "--", "/bin/true"], "missing field"),
        (&["[", "--", "/bin/true"], "EOF"),
        (&[r#"{"mode":"none","confinement":{}}"#, "--", "/bin/true"], "unknown variant"),
        (&[r#"{"mode":"off","confinement":{"x":1}}"#, "--", "/bin/true"], "unknown field"),
        (&[description, "--", "/dev/null/missing"], "can't be executed"),
        (&[description, "--", "/etc/passwd"], "can't be executed"),
    ] {
        let output = Command::new(PROBE).arg("__confine").args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(126), "{args:?}: {text}");
        assert!(text.starts_with("docent: ") && text.contains(says), "{args:?}: {text}");
    }
}

#[test]
fn a_path_that_is_not_text_is_refused() {
    or_skip!(requirements());
    let odd = OsStr::from_bytes(b"/srv/\xff");
    let launch = Launch::new(
        "/bin/true",
        [""; 0],
        Confinement::default().read([odd]),
        ConfinementMode::Strict,
    );
    assert!(matches!(launch.command(), Err(SandboxError::Description(_))));
}

/// A fake bubblewrap that records its arguments and runs what follows them.
#[test]
fn bubblewrap_goes_around_the_confined_child() {
    or_skip!(requirements());
    let stage = ConfinementFixture::new();
    let (stand_in, written) = (stage.path("out/bwrap"), stage.path("out/arguments"));
    script(
        &stand_in,
        &format!(
            "#!/bin/sh\necho \"$@\" > '{}'\nwhile [ \"$1\" != -- ]; do shift; done\nshift\nexec \"$@\"\n",
            written.display()
        ),
    );
    let offered = SandboxSupport { bubblewrap: Some(stand_in), ..SandboxSupport::look() };
    let outside = stage.path("outside/file");
    let mut launch = Launch::new("cat", [&outside], stage.confinement(), ConfinementMode::Strict);
    launch.through = Some(PROBE.into());
    launch.bubblewrap = true;
    launch.cwd = Some(stage.path("inside"));
    let mut ready = launch.command_with(&offered).unwrap();
    assert!(ready.report.missing().next().is_none());
    let output = ready.command.output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    let arguments = fs::read_to_string(written).unwrap();
    let inside = stage.path("inside").display().to_string();
    for expected in [
        "--unshare-all --die-with-parent",
        &format!("--ro-bind-try {inside} {inside}"),
        &format!("--ro-bind-try {PROBE} {PROBE}"),
        &format!("--chdir {inside} -- {PROBE} __confine "),
        &format!("/cat {}", outside.display()),
    ] {
        assert!(arguments.contains(expected), "{expected:?} in {arguments}");
    }
}

#[test]
fn a_child_dies_with_its_parent_where_that_is_asked_for() {
    or_skip!(requirements());
    let code = "import ctypes; n = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(n)); print(n.value)";
    for mode in [ConfinementMode::Off, ConfinementMode::Strict] {
        for (die_with_parent, expected) in [(false, "0"), (true, "9")] {
            let confinement = Confinement::for_child([""; 0]);
            let launch = Launch::new("/usr/bin/python3", ["-I", "-c", code], confinement, mode);
            let output = run(Launch { die_with_parent, ..launch });
            let text = String::from_utf8_lossy(&output.stdout);
            assert_eq!(text.trim(), expected, "{mode} {die_with_parent}: {output:?}");
        }
    }
    let gone = r#"{"mode":"off","confinement":{},"parent":1}"#;
    let output = Command::new(PROBE).args(["__confine", gone, "--", "/bin/true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(126));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has ended"), "{output:?}");
}
