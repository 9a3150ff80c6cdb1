//! The step that compares what docent reads in source files with what other programs read there: the scripts of
//! `tests/oracles`, each of which prints its figures as lines of JSON and fails below its floor.

use super::{CheckContext, Npm};
use crate::{
    corpus::{self, CorpusPackage, FetchOutcome},
    install,
    process::{self, OutputMode},
    report::CheckCounts,
};
use anyhow::{Context as _, Result};
use serde::Deserialize;
use std::{path::PathBuf, process::Command, time::Duration};

const FOLDER: &str = "tests/oracles";
const PINS: &str = "tests/real/oracles.toml";
const COMPILE_LIMIT: Duration = Duration::from_hours(1);
const RUN_LIMIT: Duration = Duration::from_mins(20);
/// Lines of a failed script that are shown besides its figures: missing and surplus entries.
const MAX_SHOWN_LINES: usize = 60;

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
struct OraclePins {
    vulnerable: CorpusPackage,
}

/// Something that an oracle needs, or why it is unavailable.
type OrReason<T> = Result<T, String>;

/// Everything the scripts need.
struct OracleSetup<'a> {
    context: &'a CheckContext<'a>,
    facts: PathBuf,
    rust_items: PathBuf,
    python: OrReason<PathBuf>,
    npm: OrReason<Npm>,
    django: OrReason<PathBuf>,
    zod: OrReason<PathBuf>,
    rayon: OrReason<PathBuf>,
    vulnerable: OrReason<PathBuf>,
}

pub(super) fn run(context: &CheckContext<'_>) -> Result<CheckCounts> {
    let wanted = |oracle: &Oracle| context.filter.is_none_or(|word| oracle.file().contains(word));
    let oracles: Vec<Oracle> = Oracle::ALL.into_iter().filter(wanted).collect();
    if oracles.is_empty() {
        return Ok(CheckCounts::default());
    }
    let bench = OracleSetup::prepare(context)?;
    Ok(oracles.into_iter().map(|oracle| bench.hold(oracle)).sum())
}

impl<'a> OracleSetup<'a> {
    fn prepare(context: &'a CheckContext<'a>) -> Result<Self> {
        let pins: OraclePins = corpus::expectations(context.workspace, PINS)?;
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

    fn hold(&self, oracle: Oracle) -> CheckCounts {
        let name = oracle.file();
        let command = match self.command(oracle) {
            Ok(command) => command,
            Err(reason) => {
                println!("skipped: {name}: {reason}");
                return CheckCounts::ONE_SKIPPED;
            }
        };
        judge(name, command).unwrap_or_else(|problem| {
            println!("FAIL  {name}: {problem:#}");
            CheckCounts::ONE_FAILED
        })
    }

    /// Returns the command that runs the script.
    fn command(&self, oracle: Oracle) -> OrReason<Command> {
        let mut command = if oracle == Oracle::TypeScriptImports {
            Command::new(&as_available(&self.npm)?.node.program)
        } else {
            let mut python = Command::new(as_available(&self.python)?);
            // Write nothing into the repository.
            python.arg("-B");
            python
        };
        command.arg(self.context.path(FOLDER).join(oracle.file())).arg("--facts").arg(&self.facts);
        match oracle {
            Oracle::Complexity => command.arg("--folder").arg(as_available(&self.django)?),
            Oracle::PythonImports => {
                command.args(["--package", "django", "--folder"]).arg(as_available(&self.django)?)
            }
            Oracle::TypeScriptImports => {
                let cruiser = as_available(&self.npm)?.modules().join("dependency-cruiser");
                command.arg("--folder").arg(as_available(&self.zod)?).arg("--cruiser").arg(cruiser)
            }
            Oracle::Security => {
                let bandit = as_available(&self.python)?.with_file_name("bandit");
                command.arg("--corpus").arg(as_available(&self.vulnerable)?);
                command.arg("--django").arg(as_available(&self.django)?).arg("--bandit").arg(bandit)
            }
            Oracle::Definitions => {
                let npm = as_available(&self.npm)?;
                command.arg("--python").arg(as_available(&self.django)?);
                command.arg("--typescript").arg(as_available(&self.zod)?);
                command.arg("--typescript-module").arg(npm.modules().join("typescript"));
                command.arg("--rust").arg(as_available(&self.rayon)?);
                command.arg("--rust-items").arg(&self.rust_items);
                // This script starts `node` by name.
                command.env("PATH", npm.node.path().map_err(|problem| problem.to_string())?)
            }
        };
        Ok(command)
    }
}

fn as_available<T>(thing: &OrReason<T>) -> OrReason<&T> {
    thing.as_ref().map_err(Clone::clone)
}

/// Builds an example of the syntax crate, which prints what docent or a reference program reads in a folder.
fn example(context: &CheckContext<'_>, name: &str) -> Result<PathBuf> {
    let mut build = context.workspace.cargo(["build", "--release", "-p", "docent-syntax"]);
    build.args(["--example", name]);
    process::run(&mut build, COMPILE_LIMIT, OutputMode::Kept)?.or_fail("cargo build")?;
    Ok(context.workspace.binary("release/examples", name))
}

fn python(context: &CheckContext<'_>) -> OrReason<PathBuf> {
    let pins = context.path(FOLDER).join("requirements.txt");
    install::python_environment(context.workspace, "oracles-python", &pins)
        .map_err(|problem| not_installed(&problem))
}

fn npm(context: &CheckContext<'_>) -> OrReason<Npm> {
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

fn tree(context: &CheckContext<'_>, package: &CorpusPackage) -> Result<OrReason<PathBuf>> {
    Ok(match corpus::fetch(context.workspace, package)? {
        FetchOutcome::Tree(tree) => Ok(tree),
        FetchOutcome::Unavailable(reason) => Err(format!("{package} can't be fetched ({reason})")),
    })
}

/// Runs a script and prints its figures, and the rest of its output if it fails.
fn judge(name: &str, mut command: Command) -> Result<CheckCounts> {
    let done = process::run(&mut command, RUN_LIMIT, OutputMode::Kept)
        .with_context(|| format!("running {name}"))?;
    let (figures, rest) = split(&done.text);
    for line in &figures {
        println!("{name}: {line}");
    }
    if done.success && !figures.is_empty() {
        return Ok(CheckCounts::ONE_PASSED);
    }
    let why = if done.success { "it printed no figures" } else { &done.ending };
    println!("FAIL  {name}: {why}\n{}", process::tail(&rest, MAX_SHOWN_LINES));
    Ok(CheckCounts::ONE_FAILED)
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
        let check = |script: &str, expected: CheckCounts| {
            assert_eq!(judge("oracle", shell(script)).unwrap(), expected, "{script}");
        };
        check("echo '{\"recall\": 1}'", CheckCounts::ONE_PASSED);
        check("echo '{\"recall\": 0.1}'; exit 1", CheckCounts::ONE_FAILED);
        check("echo nothing", CheckCounts::ONE_FAILED);
    }
}
