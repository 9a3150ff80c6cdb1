//! Descriptions of the rules, for people who see one for the first time.

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

/// A rule row: id, default severity, problem, reason, fix.
type RuleRow = (&'static str, Severity, &'static str, &'static str, &'static str);

use Severity::{High, Low, Medium};

const LINKS: [RuleRow; 5] = [
    (
        "links/missing-file",
        High,
        "A link points to a file that does not exist.",
        "A relative link in a document names a file or a folder that does not exist in the repository.",
        "Point the link at the file's new location, or remove it.",
    ),
    (
        "links/missing-anchor",
        Medium,
        "A link points to a heading that does not exist.",
        "The file exists, but has no heading or anchor of that name. The reader lands at the top of the page.",
        "Use the anchor of the intended heading, or add the heading.",
    ),
    (
        "links/missing-image",
        Medium,
        "An image does not exist.",
        "A document shows an image whose file does not exist in the repository.",
        "Add the image, point to its new location, or remove it.",
    ),
    (
        "links/wrong-case",
        Medium,
        "A link differs from the file name in upper and lower case.",
        "The file exists under a name with different case. The link breaks on case-sensitive systems.",
        "Write the link exactly as the file is named.",
    ),
    (
        "links/outside",
        Low,
        "A link points outside the repository.",
        "A relative link goes above the repository root, so it is broken for everyone else.",
        "Link to a file inside the repository, or use a full URL.",
    ),
];

const COVERAGE: [RuleRow; 1] = [(
    "coverage/undocumented",
    Low,
    "A public symbol has no doc comment.",
    "Other code may use this symbol, and nothing says what it does.",
    "Describe what it does in one sentence, then what it needs and how it fails.",
)];

const DRIFT: [RuleRow; 5] = [
    (
        "drift/symbol",
        Medium,
        "A document mentions a symbol that no longer exists.",
        "The document mentions a function, type or module that the code no longer has.",
        "Name the current symbol, or remove the passage.",
    ),
    (
        "drift/file",
        Medium,
        "A document mentions a file that no longer exists.",
        "The document mentions a file or folder that the repository no longer has.",
        "Name the current file, or remove the passage.",
    ),
    (
        "drift/flag",
        High,
        "A document mentions an option that no longer exists.",
        "The document mentions an option that the program no longer supports.",
        "Name the current option, or remove the passage.",
    ),
    (
        "drift/command",
        High,
        "A document mentions a command that no longer exists.",
        "The document mentions a script, target or subcommand that no longer exists.",
        "Name the current command, or remove the passage.",
    ),
    (
        "drift/outdated",
        Low,
        "A document is older than the code it describes.",
        "Files that the document mentions have changed several times since the document last changed.",
        "Compare the document with the code, then update or confirm it.",
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
        "The README lists no requirements.",
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
        "Show the first steps of a user, one by one.",
    ),
    readme(
        "readme/example",
        Medium,
        "The README has no example.",
        "Add a short example that runs unchanged.",
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
        "The README does not link to further documentation.",
        "Link to the guides and the reference.",
    ),
    readme(
        "readme/help",
        Low,
        "The README does not say where to get help.",
        "Say where to ask questions and report bugs.",
    ),
    readme(
        "readme/contributing",
        Low,
        "The README does not say how to contribute.",
        "Link to the contributing guide, or say what a change needs.",
    ),
    readme(
        "readme/licence",
        Medium,
        "The README does not name the license.",
        "Name the license and link to its text.",
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

/// Returns all rules of the checks that ran, and other rules in findings, by id.
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
            short: Cow::Borrowed("The documentation needs a fix."),
            full: Cow::Borrowed("The finding's message describes the problem."),
            help: Cow::Borrowed("Follow the finding's message."),
        });
    }
    all.into_values().collect()
}

/// Converts an id to a SARIF name: `links/missing-file` is `LinksMissingFile`.
fn name(id: &str) -> String {
    id.split(|character: char| !character.is_alphanumeric())
        .flat_map(|part| {
            let mut characters = part.chars();
            characters.next().into_iter().flat_map(char::to_uppercase).chain(characters)
        })
        .collect()
}
