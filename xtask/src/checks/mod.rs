//! `cargo xtask test`: the steps, their order, and their selection on the command line.

mod acceptance;
mod cargo_tests;
mod clients;
mod clone;
mod conformance;
mod container;
mod fuzzer;
mod hostile;
mod hub;
pub(crate) mod inspector;
mod oracles;
mod ordinary_user;
mod real;
mod relay;
mod release;
mod skips;
mod tally;

use crate::{
    install::{self, NodeRuntime},
    report::{CheckCounts, CheckReport},
    soak,
    workspace::XtaskWorkspace,
};
use anyhow::{Result, anyhow, ensure};
use std::{
    path::{Path, PathBuf},
    process::Command,
};

/// Which steps to run.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct StepSelection {
    /// Run only this step, with the build it needs; can be repeated
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    /// List the steps
    #[arg(long)]
    list: bool,
    /// Run only cases whose name contains this word (steps `cargo`, `clone`, `user`, `oracles`, `wire`, `clients`, `hub`,
    /// `inspector`, `fuzzer`, `real`)
    #[arg(long, short = 'k', value_name = "WORD")]
    filter: Option<String>,
}

/// One named step.
struct CheckStep {
    name: &'static str,
    about: &'static str,
    /// The step uses the release binaries.
    needs_build: bool,
    run: fn(&CheckContext<'_>) -> Result<CheckCounts>,
}

const BUILD: &str = "build";

/// Steps that only `ci` runs, unless `--only` names them.
const CI_STEPS: [&str; 2] = ["clone", "user"];
/// Steps that `ci` skips because [`CI_STEPS`] cover them.
const TEST_STEPS: [&str; 1] = ["cargo"];

const STEPS: [CheckStep; 17] = [
    CheckStep {
        name: "tools",
        about: "install Node, npm packages and Python clients under the target directory",
        needs_build: false,
        run: tools,
    },
    CheckStep {
        name: "container",
        about: "lint the Dockerfile and compose.yaml",
        needs_build: false,
        run: container::run,
    },
    CheckStep {
        name: "cargo",
        about: "run the workspace's unit, integration and documentation tests",
        needs_build: false,
        run: cargo_tests::run,
    },
    CheckStep {
        name: "clone",
        about: "replace `cargo` in `ci`: the same tests from a clone of this work tree under /tmp, in a folder with a space in its name",
        needs_build: false,
        run: clone::run,
    },
    CheckStep {
        name: "user",
        about: "run the tests of `clone` in `ci` again as an ordinary user, if root runs `ci`",
        needs_build: false,
        run: ordinary_user::run,
    },
    CheckStep {
        name: "oracles",
        about: "compare code metrics with radon, lizard, complexipy, grimp, bandit and TypeScript's own tools",
        needs_build: false,
        run: oracles::run,
    },
    CheckStep {
        name: BUILD,
        about: "build the release binary and the release conformance fixture",
        needs_build: false,
        run: release::build,
    },
    CheckStep {
        name: "wire",
        about: "run acceptance cases on the raw wire, on every transport",
        needs_build: true,
        run: acceptance::run,
    },
    CheckStep {
        name: "hostile",
        about: "attack docent with special files as paths, calls past their deadline, endless scripts, hostile source text",
        needs_build: true,
        run: hostile::run,
    },
    CheckStep {
        name: "conformance",
        about: "run the protocol's conformance suite against the fixture server, its security scenarios against docent",
        needs_build: true,
        run: conformance::run,
    },
    CheckStep {
        name: "conformance-client",
        about: "run the conformance suite's client scenarios, authorization included, against docent's client side",
        needs_build: false,
        run: conformance::run_client,
    },
    CheckStep {
        name: "clients",
        about: "connect the official Python and TypeScript clients over each transport they support",
        needs_build: true,
        run: clients::run,
    },
    CheckStep {
        name: "hub",
        about: "put real servers, servers of every revision and broken ones behind docent: nothing lost, changed or left behind",
        needs_build: true,
        run: hub::run,
    },
    CheckStep {
        name: "inspector",
        about: "test the inspector's page in Chromium on docent, server-everything and a server that misbehaves",
        needs_build: true,
        run: inspector::run,
    },
    CheckStep {
        name: "soak",
        about: "run 30 clients on the network transports for 10 s, with faults: no answer lost or mixed up, no leaks",
        needs_build: true,
        run: soak,
    },
    CheckStep {
        name: "fuzzer",
        about: "run mcp-fuzzer over HTTP and stdio: no crash, no hang, no 5xx, only JSON-RPC",
        needs_build: true,
        run: fuzzer::run,
    },
    CheckStep {
        name: "real",
        about: "analyze real packages and compare the reports with facts that a person checked",
        needs_build: true,
        run: real::run,
    },
];

/// State shared by the steps.
pub(crate) struct CheckContext<'a> {
    workspace: &'a XtaskWorkspace,
    filter: Option<&'a str>,
    /// The run belongs to `ci`, whose tests are compiled in a clone.
    is_ci: bool,
}

impl CheckContext<'_> {
    fn path(&self, relative: &str) -> PathBuf {
        self.workspace.root.join(relative)
    }

    /// A binary of the build step.
    fn release_binary(&self, name: &str) -> Result<PathBuf> {
        let path = self.workspace.binary("release", name);
        ensure!(
            path.is_file(),
            "{} is missing because the step `{BUILD}` failed",
            self.workspace.display_path(&path)
        );
        Ok(path)
    }

    /// The npm packages of the client programs and of the conformance suite, and the Node that runs them.
    fn npm(&self) -> Result<Npm> {
        let node = install::node(self.workspace)?;
        let pins = self.path("tests/clients/typescript");
        let folder = install::npm_packages(self.workspace, &node, "clients", &pins)?;
        Ok(Npm { node, folder })
    }

    /// An interpreter with one major version of the Python client.
    fn python(&self, version: &str) -> Result<PathBuf> {
        let pins = self.path(&format!("tests/clients/python/requirements-{version}.txt"));
        install::python_environment(self.workspace, &format!("python-{version}"), &pins)
    }
}

/// Installed npm packages.
struct Npm {
    node: NodeRuntime,
    folder: PathBuf,
}

impl Npm {
    fn modules(&self) -> PathBuf {
        self.folder.join("node_modules")
    }

    fn script(&self, script: &Path) -> Command {
        let mut command = Command::new(&self.node.program);
        command.arg(script);
        command
    }
}

/// Runs the selected steps; true when nothing failed.
pub(crate) fn run(workspace: &XtaskWorkspace, selection: &StepSelection) -> Result<bool> {
    if selection.list {
        for step in &STEPS {
            println!("{:18} {}", step.name, step.about);
        }
        return Ok(true);
    }
    let chosen = choose(&selection.only)?;
    let mut report = CheckReport::default();
    let context = CheckContext { workspace, filter: selection.filter.as_deref(), is_ci: false };
    run_steps(&context, &chosen, &mut report);
    Ok(report.print())
}

/// Runs the steps that `ci` shares with `test`.
pub(crate) fn run_all(workspace: &XtaskWorkspace, report: &mut CheckReport) {
    let steps = STEPS.iter().filter(|step| !TEST_STEPS.contains(&step.name));
    let context = CheckContext { workspace, filter: None, is_ci: true };
    run_steps(&context, &steps.collect::<Vec<_>>(), report);
}

fn run_steps(context: &CheckContext<'_>, steps: &[&CheckStep], report: &mut CheckReport) {
    let mut built = true;
    for step in steps {
        let counts = report.step(step.name, || {
            // Otherwise the binaries of an earlier build would be tested.
            ensure!(built || !step.needs_build, "not run: the step `{BUILD}` failed");
            (step.run)(context)
        });
        built &= step.name != BUILD || counts.failed == 0;
    }
}

fn choose(only: &[String]) -> Result<Vec<&'static CheckStep>> {
    if let Some(unknown) =
        only.iter().find(|name| STEPS.iter().all(|step| step.name != name.as_str()))
    {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(anyhow!("unknown step `{unknown}`; expected one of: {}", known.join(", ")));
    }
    let asked = |step: &CheckStep| match only {
        [] => !CI_STEPS.contains(&step.name),
        _ => only.iter().any(|name| name == step.name),
    };
    let build = STEPS.iter().any(|step| asked(step) && step.needs_build);
    Ok(STEPS.iter().filter(|step| asked(step) || (build && step.name == BUILD)).collect())
}

fn tools(context: &CheckContext<'_>) -> Result<CheckCounts> {
    context.npm()?;
    for version in clients::PYTHON_VERSIONS {
        context.python(version)?;
    }
    fuzzer::environment(context)?;
    hub::HubTestServers::install(context)?;
    inspector::InspectorChecks::install(context.workspace)?;
    println!("installed under {}", context.workspace.display_path(&context.workspace.tools()));
    Ok(CheckCounts::ONE_PASSED)
}

fn soak(context: &CheckContext<'_>) -> Result<CheckCounts> {
    soak::short(&context.release_binary("docent")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &[&str]) -> Result<Vec<&'static str>> {
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        Ok(choose(&only)?.iter().map(|step| step.name).collect())
    }

    #[test]
    fn steps_are_chosen_with_the_build_they_need() {
        let all = names(&[]).unwrap();
        assert_eq!(all.len(), STEPS.len() - CI_STEPS.len());
        assert!(all.contains(&"cargo") && !all.contains(&"clone"));
        assert_eq!(names(&["clone"]).unwrap(), ["clone"]);
        assert_eq!(names(&["cargo"]).unwrap(), ["cargo"]);
        assert_eq!(names(&["clients", "wire"]).unwrap(), ["build", "wire", "clients"]);
        let said = names(&["wires"]).unwrap_err().to_string();
        assert!(said.contains("`wires`") && said.contains("conformance"), "{said}");
    }
}
