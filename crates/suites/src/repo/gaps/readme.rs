//! Gaps of the README.

use super::{can_be_absent, command, counted, describe_command, gap};
use crate::repo::report::{CommandPurpose, Gap, ProjectKind, Readme, Report, Severity, Tool};

/// No README at all.
pub(super) fn missing(report: &Report) -> Vec<Gap> {
    if report.presence.readme.is_some() || !can_be_absent(report) {
        return Vec::new();
    }
    let install =
        command(report, CommandPurpose::Install).or_else(|| command(report, CommandPurpose::Build));
    let test = command(report, CommandPurpose::Test);
    let commands: Vec<String> =
        [install, test].into_iter().flatten().map(describe_command).collect();
    let commands = if commands.is_empty() {
        "how to install and test it".to_owned()
    } else {
        commands.join(" and ")
    };
    vec![gap(
        Severity::High,
        "No README",
        "Newcomers can't see what this is or how to start.",
        format!("Write README.md: what it is and for whom, one example, {commands}, the license."),
    )]
}

/// A README that only names the project.
pub(super) fn nearly_empty(report: &Report) -> Vec<Gap> {
    let Some(readme) = readme(report).filter(|readme| readme.words < 30 && readme.code_blocks == 0)
    else {
        return Vec::new();
    };
    vec![gap(
        Severity::High,
        format!("{} has {}", readme.path, counted(readme.words, "word")),
        "It names the project but does not explain it.",
        format!("Say in {} what the project does, for whom, and what it is not for.", readme.path),
    )]
}

/// An item that the README may lack.
struct ReadmeGap {
    name: &'static str,
    /// What is wrong with the README.
    lack: &'static str,
    cost: &'static str,
    /// Builds the next step from the project's data; takes the path of the README.
    step: fn(&Report, &str) -> String,
}

/// Most important first.
const README_GAPS: [ReadmeGap; 12] = [
    ReadmeGap {
        name: "purpose",
        lack: "does not say what this is",
        cost: "Readers leave before they know whether it is for them.",
        step: say_purpose,
    },
    ReadmeGap {
        name: "installation",
        lack: "does not say how to install it",
        cost: "Users spend their first hour getting it to run.",
        step: add_installation,
    },
    ReadmeGap {
        name: "usage",
        lack: "does not show how to use it",
        cost: "Users do not see what it can do for them.",
        step: add_usage,
    },
    ReadmeGap {
        name: "example",
        lack: "has no example",
        cost: "Readers have to guess how to start using it.",
        step: add_example,
    },
    ReadmeGap {
        name: "requirements",
        lack: "lists no requirements",
        cost: "It fails on the wrong version without a clear error.",
        step: add_requirements,
    },
    ReadmeGap {
        name: "configuration",
        lack: "does not explain the settings",
        cost: "Users run it with the wrong settings, or cannot start it.",
        step: explain_settings,
    },
    ReadmeGap {
        name: "tests",
        lack: "does not say how to run the tests",
        cost: "Newcomers cannot check their first change.",
        step: add_tests,
    },
    ReadmeGap {
        name: "licence",
        lack: "does not name the license",
        cost: "Users have to look for the terms.",
        step: name_licence,
    },
    ReadmeGap {
        name: "documentation",
        lack: "does not link to the documentation",
        cost: "Readers won't find it.",
        step: link_documents,
    },
    ReadmeGap {
        name: "help",
        lack: "does not say where to get help",
        cost: "Users don't know where to get help.",
        step: |_, readme| format!("Say in {readme} where to ask questions and report problems."),
    },
    ReadmeGap {
        name: "contributing",
        lack: "does not say how to contribute",
        cost: "Contributions arrive in a form that has to be redone.",
        step: link_guide,
    },
    ReadmeGap {
        name: "status",
        lack: "does not say how mature it is",
        cost: "Users do not know whether to rely on it.",
        step: |_, readme| format!("Say in {readme} how mature it is and whether it is maintained."),
    },
];

/// Finds the items that the README lacks.
pub(super) fn items(report: &Report) -> Vec<Gap> {
    let Some(readme) = readme(report) else { return Vec::new() };
    let presence = &report.presence;
    let unlicensed = presence.licence.is_none() && presence.licence_id.is_none();
    let mut gaps = Vec::new();
    for known in &README_GAPS {
        let mut items = readme.items.iter();
        let lacking = items.find(|item| item.item == known.name && !item.found);
        // A project without a license has a more important gap.
        if let Some(item) = lacking.filter(|_| known.name != "licence" || !unlicensed) {
            let lack = format!("{} {}", readme.path, known.lack);
            gaps.push(gap(item.severity, lack, known.cost, (known.step)(report, &readme.path)));
        }
    }
    gaps
}

fn readme(report: &Report) -> Option<&Readme> {
    report.documentation.as_ref()?.readme.as_ref()
}

/// Returns the known commands for these purposes, in order.
fn known(report: &Report, purposes: &[CommandPurpose]) -> Option<String> {
    let commands: Vec<String> = purposes
        .iter()
        .filter_map(|purpose| command(report, *purpose))
        .map(describe_command)
        .collect();
    (!commands.is_empty()).then(|| commands.join(", then "))
}

fn say_purpose(report: &Report, readme: &str) -> String {
    match report.project.as_ref().and_then(|project| project.summary.as_deref()) {
        Some(summary) => {
            format!(
                "Begin {readme} with one sentence on what it is; the project describes itself as `{summary}`"
            )
        }
        None => format!("Begin {readme} with one sentence on what it is and for whom."),
    }
}

fn add_installation(report: &Report, readme: &str) -> String {
    let purposes = [CommandPurpose::Install, CommandPurpose::Build];
    let commands = adding(report).or_else(|| known(report, &purposes));
    let commands = commands.unwrap_or("the commands that install it on a fresh machine".into());
    format!("Add {commands} to {readme} under a heading Installation.")
}

fn add_usage(report: &Report, readme: &str) -> String {
    let commands = known(report, &[CommandPurpose::Run]);
    let what = commands.unwrap_or("the shortest complete usage example".into());
    format!("Add {what} with its result to {readme} under a heading Usage.")
}

fn add_example(report: &Report, readme: &str) -> String {
    let examples = report.documentation.as_ref().map(|it| &it.examples);
    match examples.and_then(|examples| examples.folders.first()) {
        Some(folder) => {
            format!("Show the shortest example of {folder}/ in {readme}, and link the folder.")
        }
        None => format!("Add one complete example that can be copied to {readme}."),
    }
}

fn add_requirements(report: &Report, readme: &str) -> String {
    let tools = report.project.as_ref().map_or(&[][..], |project| project.toolchain.as_slice());
    let label = |tool: &Tool| format!("{} {} (from {})", tool.name, tool.requirement, tool.source);
    let tools = tools.iter().take(4).map(label).collect::<Vec<_>>().join(", ");
    let tools = if tools.is_empty() { "the required tools and versions" } else { &tools };
    format!("Add {tools} to {readme} under a heading Requirements.")
}

fn explain_settings(report: &Report, readme: &str) -> String {
    let names = report.project.as_ref().map_or(&[][..], |project| project.environment.as_slice());
    let names = names.iter().take(4).map(|name| format!("`{name}`")).collect::<Vec<_>>();
    let names = if names.is_empty() { "its settings".to_owned() } else { names.join(", ") };
    format!("Explain {names} in {readme} under a heading Configuration: meaning, default, example.")
}

fn add_tests(report: &Report, readme: &str) -> String {
    let place = report.presence.test_places.first().map(|place| format!(" in {place}/"));
    let unknown = || format!("the command that runs the tests{}", place.unwrap_or_default());
    let commands = known(report, &[CommandPurpose::Test]).unwrap_or_else(unknown);
    format!("Add {commands} to {readme} under a heading Tests.")
}

fn name_licence(report: &Report, readme: &str) -> String {
    let file = report.presence.licence.as_deref();
    let name = report.presence.licence_id.as_deref().or(file).unwrap_or("the license");
    let link = file.map_or(String::new(), |file| format!(", with a link to {file}"));
    format!("Name {name} in {readme}{link}.")
}

fn link_documents(report: &Report, readme: &str) -> String {
    let folder = report.presence.docs_folders.first().map(|folder| format!("{folder}/"));
    format!("Link {} from {readme}.", folder.unwrap_or("the reference".into()))
}

fn link_guide(report: &Report, readme: &str) -> String {
    match &report.presence.contributing {
        Some(guide) => format!("Link {guide} from {readme}."),
        None => format!("Say in {readme} whether contributions are welcome, and how to make them."),
    }
}

/// Returns the command that adds this library to another project.
fn adding(report: &Report) -> Option<String> {
    let library = report.project.as_ref().is_some_and(|it| it.kind == ProjectKind::Library);
    let named = report.manifests.iter().filter(|_| library);
    named.into_iter().find_map(|manifest| {
        let name = manifest.name.as_deref()?;
        let command = match manifest.ecosystem.as_str() {
            "Cargo" => "cargo add",
            "npm" => "npm install",
            "Python" => "pip install",
            "Go" => "go get",
            "Ruby" => "bundle add",
            "PHP" => "composer require",
            "Dart" => "dart pub add",
            ".NET" => "dotnet add package",
            _ => return None,
        };
        Some(format!("`{command} {name}` (named in {})", manifest.path))
    })
}
