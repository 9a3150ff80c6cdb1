//! The rules that findings name, told to people who see one for the first time.

use crate::repo::{
    findings::{Check, Findings},
    report::Severity,
};
use std::{borrow::Cow, collections::BTreeMap};

/// One rule, as a SARIF log describes it.
#[derive(Debug)]
pub(super) struct SarifRule {
    pub(super) id: Cow<'static, str>,
    pub(super) name: String,
    pub(super) check: Check,
    pub(super) severity: Severity,
    pub(super) short: Cow<'static, str>,
    pub(super) full: Cow<'static, str>,
    pub(super) help: Cow<'static, str>,
}

/// A rule as it is written down: id, cost where nothing tells otherwise, what is wrong, why it counts, what to do.
type RuleRow = (&'static str, Severity, &'static str, &'static str, &'static str);

use Severity::{High, Low, Medium};

const LINKS: [RuleRow; 5] = [
    (
        "links/missing-file",
        High,
        "A link leads to a file that is not there.",
        "A relative link in a document names a file or a folder that does not exist in the repository.",
        "Point the link at the file's new place, or remove it.",
    ),
    (
        "links/missing-anchor",
        Medium,
        "A link leads to a heading that is not there.",
        "The file exists, but has no heading or anchor of that name. The reader lands at the top of the page.",
        "Use the anchor of the heading that is meant, or add the heading.",
    ),
    (
        "links/missing-image",
        Medium,
        "A picture is not there.",
        "A document shows a picture whose file does not exist in the repository.",
        "Add the picture, point to its new place, or remove it.",
    ),
    (
        "links/wrong-case",
        Medium,
        "A link is written in other letters than the file's name.",
        "The file exists under a name that differs in upper and lower case. The link breaks where case counts.",
        "Write the link exactly as the file is named.",
    ),
    (
        "links/outside",
        Low,
        "A link leads out of the repository.",
        "A relative link climbs above the top of the repository, so it leads nowhere for anyone else.",
        "Link to a file inside the repository, or to a full address.",
    ),
];

const COVERAGE: [RuleRow; 1] = [(
    "coverage/undocumented",
    Low,
    "A public symbol has no doc comment.",
    "Other code may use this symbol, and nothing says what it does.",
    "Say in one sentence what it does, then what it needs and how it fails.",
)];

const DRIFT: [RuleRow; 5] = [
    (
        "drift/symbol",
        Medium,
        "A document names a symbol that is no longer there.",
        "The document names a function, a type or a module that the code no longer has.",
        "Name the symbol of today, or remove the passage.",
    ),
    (
        "drift/file",
        Medium,
        "A document names a file that is no longer there.",
        "The document names a file or a folder that the repository no longer has.",
        "Name the file of today, or remove the passage.",
    ),
    (
        "drift/flag",
        High,
        "A document names an option that is no longer there.",
        "The document tells its reader to use an option that the program no longer knows.",
        "Name the option of today, or remove the passage.",
    ),
    (
        "drift/command",
        High,
        "A document names a command that is no longer there.",
        "The document tells its reader to run a script, a target or a subcommand that no longer exists.",
        "Name the command of today, or remove the passage.",
    ),
    (
        "drift/outdated",
        Low,
        "A document is older than the code that it describes.",
        "Files that the document names changed several times since the document last did.",
        "Read the document against the code, and mend it or confirm it.",
    ),
];

const README: [RuleRow; 14] = [
    readme(
        "readme/missing",
        High,
        "There is no README.",
        "Add a README that says what this is and how to start.",
    ),
    readme(
        "readme/title",
        Medium,
        "The README has no title.",
        "Begin with a heading that names the project.",
    ),
    readme(
        "readme/purpose",
        High,
        "The README does not say what the project is for.",
        "Say in two sentences what it does and for whom.",
    ),
    readme(
        "readme/status",
        Low,
        "The README does not say how mature the project is.",
        "Say whether it is stable, and which version is meant.",
    ),
    readme(
        "readme/requirements",
        Medium,
        "The README does not say what is needed first.",
        "List the languages, tools and versions that must be installed.",
    ),
    readme(
        "readme/installation",
        High,
        "The README does not say how to install it.",
        "Show the commands that install it, ready to copy.",
    ),
    readme(
        "readme/usage",
        High,
        "The README does not say how to use it.",
        "Show the first thing that a user does, step by step.",
    ),
    readme(
        "readme/example",
        Medium,
        "The README has no example.",
        "Add a short example that runs as it stands.",
    ),
    readme(
        "readme/configuration",
        Low,
        "The README does not say how to configure it.",
        "List the settings, or link to the page that does.",
    ),
    readme(
        "readme/tests",
        Medium,
        "The README does not say how to run the tests.",
        "Show the command that runs the tests.",
    ),
    readme(
        "readme/documentation",
        Low,
        "The README does not lead to further documentation.",
        "Link to the guides and the reference.",
    ),
    readme(
        "readme/help",
        Low,
        "The README does not say where to ask.",
        "Say where questions and bugs go.",
    ),
    readme(
        "readme/contributing",
        Low,
        "The README does not say how to take part.",
        "Link to the contributor's guide, or say what a change needs.",
    ),
    readme(
        "readme/licence",
        Medium,
        "The README does not name the licence.",
        "Name the licence and link to its text.",
    ),
];

const fn readme(
    id: &'static str,
    severity: Severity,
    short: &'static str,
    help: &'static str,
) -> RuleRow {
    (id, severity, short, "A newcomer reads the README first, and looks for this there.", help)
}

fn known(check: Check) -> &'static [RuleRow] {
    match check {
        Check::Links => &LINKS,
        Check::Coverage => &COVERAGE,
        Check::Drift => &DRIFT,
        Check::Readme => &README,
    }
}

/// Every rule of the checks that ran, and every other rule that a finding names, by id.
pub(super) fn collect_rules(findings: &Findings) -> Vec<SarifRule> {
    let mut all = BTreeMap::new();
    let checks = findings.checks.iter().copied();
    for check in checks.chain(findings.findings.iter().map(|finding| finding.check)) {
        for (id, severity, short, full, help) in known(check) {
            all.entry((*id).to_owned()).or_insert_with(|| SarifRule {
                id: Cow::Borrowed(id),
                name: name(id),
                check,
                severity: *severity,
                short: Cow::Borrowed(short),
                full: Cow::Borrowed(full),
                help: Cow::Borrowed(help),
            });
        }
    }
    for finding in &findings.findings {
        all.entry(finding.rule.clone()).or_insert_with(|| SarifRule {
            id: Cow::Owned(finding.rule.clone()),
            name: name(&finding.rule),
            check: finding.check,
            severity: finding.severity,
            short: Cow::Borrowed("The documentation needs mending."),
            full: Cow::Borrowed("The message of the finding says what is wrong."),
            help: Cow::Borrowed("Do what the message of the finding says."),
        });
    }
    all.into_values().collect()
}

/// The id in the form that SARIF asks of names: `links/missing-file` is `LinksMissingFile`.
fn name(id: &str) -> String {
    id.split(|character: char| !character.is_alphanumeric())
        .flat_map(|part| {
            let mut characters = part.chars();
            characters.next().into_iter().flat_map(char::to_uppercase).chain(characters)
        })
        .collect()
}
