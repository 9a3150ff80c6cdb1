//! `cargo xtask docs`: the pages under docs/reference that the docent binary generates.

use crate::{
    process::{self, OutputMode},
    workspace::XtaskWorkspace,
};
use anyhow::{Context, Result};
use std::{fs, path::Path, process::Command, time::Duration};

const BUILD_LIMIT: Duration = Duration::from_hours(1);
const RUN_LIMIT: Duration = Duration::from_secs(30);

/// docent's arguments for each reference, and its file. Add a line for a new reference.
const REFERENCES: [(&[&str], &str); 4] = [
    (&["config", "schema"], "docs/reference/docent.schema.json"),
    (&["config", "reference"], "docs/reference/configuration.md"),
    (&["config", "cli-reference"], "docs/reference/cli.md"),
    (&["config", "tools-reference"], "docs/reference/tools.md"),
];

/// Writes the references, or with `check` only compares them; returns how many differed.
pub(crate) fn run(workspace: &XtaskWorkspace, check: bool) -> Result<usize> {
    let mut build = workspace.cargo(["build", "--quiet", "-p", "docent"]);
    process::run(&mut build, BUILD_LIMIT, OutputMode::Kept)?.or_fail("cargo build -p docent")?;
    let docent = workspace.binary("debug", "docent");
    let mut differing = 0;
    for (arguments, file) in REFERENCES {
        let text = print(&docent, arguments).with_context(|| format!("generating {file}"))?;
        let path = workspace.root.join(file);
        if fs::read_to_string(&path).is_ok_and(|found| found == text) {
            continue;
        }
        differing += 1;
        if check {
            println!("{file} is out of date; run `cargo xtask docs`");
        } else {
            write(&path, &text)?;
            println!("wrote {file}");
        }
    }
    println!("docs: {} references, {differing} differed", REFERENCES.len());
    Ok(differing)
}

fn write(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Returns docent's standard output, run without any configuration.
fn print(docent: &Path, arguments: &[&str]) -> Result<String> {
    let nowhere = tempfile::tempdir()?;
    // Standard error goes to a file so that a log line can't end up in a reference.
    let errors = nowhere.path().join("stderr");
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "program=$1 errors=$2; shift 2; exec \"$program\" \"$@\" 2>\"$errors\"",
        "sh",
    ]);
    command.arg(docent).arg(&errors).args(arguments).current_dir(nowhere.path());
    command.env_clear().env("HOME", nowhere.path()).env("NO_COLOR", "1");
    let done = process::run(&mut command, RUN_LIMIT, OutputMode::Kept)?;
    let complaint = fs::read_to_string(&errors).unwrap_or_default();
    let what = format!("docent {}", arguments.join(" "));
    let text = done.or_fail(&what).with_context(|| complaint.trim().to_owned())?;
    Ok(text.trim_end().to_owned() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_reference_is_standard_output_alone() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        let script =
            "#!/bin/sh\necho \"log line\" >&2\necho \"$1 of $2\"\nls -A\n[ \"$1\" = schema ]\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(print(&program, &["schema", "x"]).unwrap(), "schema of x\nstderr\n");
        let problem = format!("{:#}", print(&program, &["other", "x"]).unwrap_err());
        assert!(
            problem.contains("log line") && problem.contains("docent other x failed"),
            "{problem}"
        );
    }
}
