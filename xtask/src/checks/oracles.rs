//! The step that compares what docent reads in source files with what other programs read there: the scripts of
//! `tests/oracles`, each of which prints its figures as lines of JSON and fails below its floor.

use super::{Context, Npm};
use crate::{
    corpus::{self, Fetched, Package},
    install,
    process::{self, Output},
    report::Counts,
};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::{path::PathBuf, process::Command, time::Duration};

const FOLDER: &str = "tests/oracles";
const PINS: &str = "tests/real/oracles.toml";
const COMPILE_LIMIT: Duration = Duration::from_hours(1);
const RUN_LIMIT: Duration = Duration::from_mins(20);
/// Lines of a failed script that are shown besides its figures: missing and surplus entries.
const SHOWN: usize = 60;

/// A comparison script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Oracle {
    Complexity,
    PythonImports,
    TypeScriptImports,
    Security,
    Definitions,
}

impl Oracle {
    const ALL: [Self; 5] = [
        Self::Complexity,
        Self::PythonImports,
        Self::TypeScriptImports,
        Self::Security,
        Self::Definitions,
    ];

    const fn file(self) -> &'static str {
        match self {
            Self::Complexity => "complexity.py",
            Self::PythonImports => "imports.py",
            Self::TypeScriptImports => "imports.mjs",
            Self::Security => "security.py",
            Self::Definitions => "definitions.py",
        }
    }
}

/// Pinned packages that only oracles need.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pins {
    vulnerable: Package,
}

/// Something that an oracle needs, or why it is unavailable.
type Had<T> = Result<T, String>;

/// Everything the scripts need.
struct Bench<'a> {
    context: &'a Context<'a>,
    facts: PathBuf,
    rust_items: PathBuf,
    python: Had<PathBuf>,
    npm: Had<Npm>,
    django: Had<PathBuf>,
    zod: Had<PathBuf>,
    rayon: Had<PathBuf>,
    vulnerable: Had<PathBuf>,
}

pub(super) fn run(context: &Context<'_>) -> Result<Counts> {
    let wanted = |oracle: &Oracle| context.filter.is_none_or(|word| oracle.file().contains(word));
    let oracles: Vec<Oracle> = Oracle::ALL.into_iter().filter(wanted).collect();
    if oracles.is_empty() {
        return Ok(Counts::default());
    }
    let bench = Bench::prepare(context)?;
    Ok(oracles.into_iter().map(|oracle| bench.hold(oracle)).sum())
}

impl<'a> Bench<'a> {
    fn prepare(context: &'a Context<'a>) -> Result<Self> {
        let pins: Pins = corpus::expectations(context.workspace, PINS)?;
        let searched = |name: &str| corpus::search_package(context.workspace, name);
        Ok(Self {
            facts: example(context, "facts")?,
            rust_items: example(context, "rust_items")?,
            python: python(context),
            npm: npm(context),
            django: tree(context, &searched("django")?)?,
            zod: tree(context, &searched("zod")?)?.map(|tree| tree.join("src")),
            rayon: tree(context, &searched("rayon")?)?,
            vulnerable: tree(context, &pins.vulnerable)?.map(|tree| tree.join("examples")),
            context,
        })
    }

    fn hold(&self, oracle: Oracle) -> Counts {
        let name = oracle.file();
        let command = match self.command(oracle) {
            Ok(command) => command,
            Err(reason) => {
                println!("skipped: {name}: {reason}");
                return Counts::ONE_SKIPPED;
            }
        };
        judge(name, command).unwrap_or_else(|problem| {
            println!("FAIL  {name}: {problem:#}");
            Counts::ONE_FAILED
        })
    }

    /// Returns the command that runs the script.
    fn command(&self, oracle: Oracle) -> Had<Command> {
        let mut command = if oracle == Oracle::TypeScriptImports {
            Command::new(&had(&self.npm)?.node.program)
        } else {
            let mut python = Command::new(had(&self.python)?);
            // Write nothing into the repository.
            python.arg("-B");
            python
        };
        command.arg(self.context.path(FOLDER).join(oracle.file())).arg("--facts").arg(&self.facts);
        match oracle {
            Oracle::Complexity => command.arg("--folder").arg(had(&self.django)?),
            Oracle::PythonImports => {
                command.args(["--package", "django", "--folder"]).arg(had(&self.django)?)
            }
            Oracle::TypeScriptImports => {
                let cruiser = had(&self.npm)?.modules().join("dependency-cruiser");
                command.arg("--folder").arg(had(&self.zod)?).arg("--cruiser").arg(cruiser)
            }
            Oracle::Security => {
                let bandit = had(&self.python)?.with_file_name("bandit");
                command.arg("--corpus").arg(had(&self.vulnerable)?);
                command.arg("--django").arg(had(&self.django)?).arg("--bandit").arg(bandit)
            }
            Oracle::Definitions => {
                let npm = had(&self.npm)?;
                command.arg("--python").arg(had(&self.django)?);
                command.arg("--typescript").arg(had(&self.zod)?);
                command.arg("--typescript-module").arg(npm.modules().join("typescript"));
                command.arg("--rust").arg(had(&self.rayon)?);
                command.arg("--rust-items").arg(&self.rust_items);
                // This script starts `node` by name.
                command.env("PATH", npm.node.path().map_err(|problem| problem.to_string())?)
            }
        };
        Ok(command)
    }
}

fn had<T>(thing: &Had<T>) -> Had<&T> {
    thing.as_ref().map_err(Clone::clone)
}

/// Builds an example of the syntax crate, which prints what docent or a reference program reads in a folder.
fn example(context: &Context<'_>, name: &str) -> Result<PathBuf> {
    let mut build = context.workspace.cargo(["build", "--release", "-p", "docent-syntax"]);
    build.args(["--example", name]);
    process::run(&mut build, COMPILE_LIMIT, Output::Kept)?.or_fail("cargo build")?;
    Ok(context.workspace.binary("release/examples", name))
}

fn python(context: &Context<'_>) -> Had<PathBuf> {
    let pins = context.path(FOLDER).join("requirements.txt");
    install::python_environment(context.workspace, "oracles-python", &pins)
        .map_err(|problem| not_installed(&problem))
}

fn npm(context: &Context<'_>) -> Had<Npm> {
    let install = || {
        let node = install::node(context.workspace)?;
        let pins = context.path(FOLDER);
        let folder = install::npm_packages(context.workspace, &node, "oracles-npm", &pins)?;
        anyhow::Ok(Npm { node, folder })
    };
    install().map_err(|problem| not_installed(&problem))
}

fn not_installed(problem: &anyhow::Error) -> String {
    format!("its tools can't be installed ({})", corpus::reason(&format!("{problem:#}")))
}

fn tree(context: &Context<'_>, package: &Package) -> Result<Had<PathBuf>> {
    Ok(match corpus::fetch(context.workspace, package)? {
        Fetched::Tree(tree) => Ok(tree),
        Fetched::Away(reason) => Err(format!("{package} can't be fetched ({reason})")),
    })
}

/// Runs a script and prints its figures, and the rest of its output if it fails.
fn judge(name: &str, mut command: Command) -> Result<Counts> {
    let done = process::run(&mut command, RUN_LIMIT, Output::Kept)
        .with_context(|| format!("running {name}"))?;
    let (figures, rest) = split(&done.text);
    for line in &figures {
        println!("{name}: {line}");
    }
    if done.success && !figures.is_empty() {
        return Ok(Counts::ONE_PASSED);
    }
    let why = if done.success { "it printed no figures" } else { &done.ending };
    println!("FAIL  {name}: {why}\n{}", process::tail(&rest, SHOWN));
    Ok(Counts::ONE_FAILED)
}

/// Splits output into the lines that are JSON objects and the others.
fn split(text: &str) -> (Vec<&str>, String) {
    let is_figures = |line: &&str| {
        serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line).is_ok()
    };
    let (figures, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(is_figures);
    (figures, rest.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn figures_are_separated_from_differences() {
        let text = "missing a b\n{\"recall\": 0.99}\n[1]\n{extra\n{\"language\": \"python\"}\n";
        let (figures, rest) = split(text);
        assert_eq!(figures, ["{\"recall\": 0.99}", "{\"language\": \"python\"}"]);
        assert_eq!(rest, "missing a b\n[1]\n{extra");
    }

    #[test]
    fn a_script_must_print_figures() {
        let check = |script: &str, expected: Counts| {
            assert_eq!(judge("oracle", shell(script)).unwrap(), expected, "{script}");
        };
        check("echo '{\"recall\": 1}'", Counts::ONE_PASSED);
        check("echo '{\"recall\": 0.1}'; exit 1", Counts::ONE_FAILED);
        check("echo nothing", Counts::ONE_FAILED);
    }
}
