//! Classifies a document's purpose: one of the four Diátaxis kinds, or a standard project document. Judges one document
//! by path, title and shape, strongest signal first.

use super::{decisions, wording};
use crate::repo::{
    facts::{DocumentFacts, DocumentFormat},
    report::DocumentKind,
    tree::{folder_of, name_of},
};

/// Folders with third-party documents or documents used as data.
const OTHERS: &str = "test, tests, testdata, test_data, fixtures, fixture, __tests__, \
    __snapshots__, __fixtures__, spec, specs, vendor, third_party, thirdparty, third-party, \
    node_modules, mocks, snapshots, corpus, testing, templates, template, skeleton, scaffold";

/// Documentation folders.
const DOCS: [&str; 3] = ["docs", "doc", "documentation"];

/// Names of standard project documents.
const NAMES: &[(DocumentKind, &str)] = &[
    (DocumentKind::Readme, "readme"),
    (
        DocumentKind::Legal,
        "license, licence, licenses, licences, copying, copyright, notice, notices, unlicense, \
         patents, eula, privacy, trademark, trademarks, third party notices, dco, cla",
    ),
    (
        DocumentKind::Changelog,
        "changelog, changes, history, news, releases, release notes, releasenotes, whatsnew, \
         what s new, change log",
    ),
    (
        DocumentKind::Community,
        "contributing, code of conduct, conduct, security, support, governance, maintainers, \
         authors, contributors, codeowners, funding, adopters, issue template, \
         pull request template, bug report, feature request, owners, credits, thanks, sponsors, \
         backers, security policy, community",
    ),
];

/// Folders of release notes.
const NOTES: &str = "changelog, changelogs, changes, releases, release-notes, release_notes, \
    whatsnew, announce, announcements";

/// Document kinds by folder and file name.
const PLACES: &[(DocumentKind, &str)] = &[
    (
        DocumentKind::Tutorial,
        "tutorial, tutorials, getting started, getting-started, gettingstarted, quickstart, \
         quick start, quick-start, walkthrough, walkthroughs, learn, first steps, lessons, lesson, \
         course, intro, onboarding, hello world, 教程, チュートリアル",
    ),
    (
        DocumentKind::HowTo,
        "howto, howtos, how to, how-to, how-tos, how-to-guides, guides, guide, recipes, recipe, \
         cookbook, faq, troubleshooting, migration, migrations, migrating, upgrading, upgrade, \
         deployment, deploying, install, installation, installing, setup, development, \
         debugging, releasing, runbook, runbooks, playbook, playbooks, best practices, \
         building, build, testing, usage, operations, tips",
    ),
    (
        DocumentKind::Reference,
        "reference, references, ref, api, apidocs, api-docs, api-reference, man, manual, cli, \
         commands, command line, configuration, config, options, settings, glossary, \
         specification, spec, schema, schemas, rules, syntax, cheatsheet, cheat sheet, \
         environment variables, error codes, flags, compatibility, limits, metrics",
    ),
    (
        DocumentKind::Explanation,
        "explanation, explanations, concepts, concept, architecture, design, background, \
         internals, rationale, topics, philosophy, overview, motivation, theory, discussion, \
         discussions, comparison, rfcs, rfc, proposals, proposal, principles, vision, why, \
         roadmap, how it works, introduction, about, deep dive, fundamentals, blog",
    ),
];

/// Document kinds by first words of the title.
const STARTS: &[(DocumentKind, &str)] = &[
    (
        DocumentKind::Tutorial,
        "getting started, get started, quick start, quickstart, your first, step by step, \
         learn, build your first, create your first, part 1, part 2, part 3, lesson, tutorial",
    ),
    (
        DocumentKind::HowTo,
        "how to, how do i, add, adding, avoid, build, building, change, changing, configure, \
         configuring, connect, connecting, create, creating, customize, customizing, debug, \
         debugging, define, defining, deploy, deploying, develop, developing, disable, enable, \
         enabling, extend, extending, generate, generating, handle, handling, implement, \
         implementing, install, installing, integrate, integrating, make, making, manage, \
         managing, migrate, migrating, monitor, monitoring, optimize, optimizing, publish, \
         publishing, release, releasing, remove, replace, run, running, secure, securing, \
         set up, setting up, setup, test, testing, troubleshoot, troubleshooting, update, \
         updating, upgrade, upgrading, use, using, work with, working with, write, writing",
    ),
    (DocumentKind::Reference, "api, reference, list of, options, glossary, command reference"),
    (
        DocumentKind::Explanation,
        "why, what is, what are, about, understanding, introduction to, overview, architecture, \
         design, background, concepts, how it works, how does, the design of, rationale",
    ),
];

/// Document kinds by words in the title.
const TITLES: &[(DocumentKind, &str)] = &[
    (DocumentKind::Tutorial, "tutorial, walkthrough, getting started, quick start, quickstart"),
    (DocumentKind::HowTo, "how to, guide, faq, troubleshooting, migration, recipes, cookbook"),
    (DocumentKind::Reference, "reference, api, specification, cheat sheet, glossary, settings"),
    (
        DocumentKind::Explanation,
        "architecture, concepts, internals, design, overview, rationale, philosophy, explained",
    ),
];

/// Classifies a document and gives the reason.
pub(super) fn classify(document: &DocumentFacts) -> (DocumentKind, String) {
    let stem = wording::plain(stem(&document.path));
    let folders: Vec<String> =
        folder_of(&document.path).split('/').rev().map(str::to_lowercase).collect();
    let tutorial = || stem.starts_with(" tutorial").then(|| by_name(&stem)).flatten();
    usual(&document.path, &stem, &folders)
        .or_else(tutorial)
        .or_else(|| declared(&folders))
        .or_else(|| by_name(&stem))
        .or_else(|| by_title(document.title.as_deref()?))
        .or_else(|| by_folder(&folders))
        .or_else(|| by_shape(document))
        .unwrap_or((DocumentKind::Other, "no clear signal".into()))
}

/// Whether a document is for readers of the project: not a fixture, third-party document or template.
pub(super) fn is_own(document: &DocumentFacts) -> bool {
    let is_ours = |part: &&str| DOCS.iter().any(|docs| part.eq_ignore_ascii_case(docs));
    let is_other = |part: &str| wording::each(OTHERS).any(|it| part.eq_ignore_ascii_case(it));
    let parts = || folder_of(&document.path).split('/');
    // Below a documentation folder, such names are topics.
    if parts().take_while(|part| !is_ours(part)).any(is_other) {
        return false;
    }
    let in_docs = || parts().any(|part| is_ours(&part)) && document.words > 50;
    let usual = || usual(&document.path, &wording::plain(stem(&document.path)), &[]).is_some();
    match document.format {
        DocumentFormat::Markdown | DocumentFormat::Restructured | DocumentFormat::AsciiDoc => true,
        // Text files are settings and lists more often than documents; pages are parts of a program.
        DocumentFormat::Text => usual() || in_docs(),
        DocumentFormat::Html => in_docs(),
    }
}

fn stem(path: &str) -> &str {
    let name = name_of(path);
    name.split_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

/// Classifies standard project documents.
fn usual(path: &str, stem: &str, folders: &[String]) -> Option<(DocumentKind, String)> {
    for (kind, names) in NAMES {
        let named = wording::each(names).find(|name| {
            let rest = wording::after(stem, name);
            // A README in another language, or of one package: `README-zh`, `LICENSE-MIT`.
            rest.is_some_and(|rest| {
                rest.is_empty() || (rest.len() < 14 && *kind != DocumentKind::Changelog)
            })
        });
        if let Some(name) = named {
            return Some((*kind, format!("the name `{name}`")));
        }
    }
    if folders.iter().any(|it| it == "issue_template" || it == "pull_request_template") {
        return Some((DocumentKind::Community, "a template for contributors".into()));
    }
    if let Some(folder) = folders.iter().find(|folder| wording::each(NOTES).any(|it| it == *folder))
    {
        return Some((DocumentKind::Changelog, format!("the folder `{folder}`")));
    }
    if wording::after(stem, "release")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Some((DocumentKind::Changelog, "the name of a release".into()));
    }
    decisions::is_record(path).then(|| (DocumentKind::Decision, "a numbered record".into()))
}

/// Folders named after the Diátaxis kinds: the project has sorted its documents itself.
fn declared(folders: &[String]) -> Option<(DocumentKind, String)> {
    let kinds = [
        (DocumentKind::Tutorial, "tutorial, tutorials"),
        (DocumentKind::HowTo, "how-to, how-to-guides, howto, how-tos, howtos"),
        (DocumentKind::Reference, "reference, references, ref, api-reference"),
        (DocumentKind::Explanation, "explanation, explanations, concepts"),
    ];
    folders.iter().find_map(|folder| {
        let fits =
            |(_, list): &&(DocumentKind, &'static str)| wording::each(list).any(|it| it == folder);
        let (kind, _) = kinds.iter().find(fits)?;
        Some((*kind, format!("the folder `{folder}`")))
    })
}

fn by_name(stem: &str) -> Option<(DocumentKind, String)> {
    // Trailing numbers order parts: `tutorial01`.
    let bare = stem.trim().trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let whole = PLACES.iter().find(|(_, list)| wording::each(list).any(|name| name == bare));
    whole.map(|(kind, _)| (*kind, format!("the name `{bare}`")))
}

fn by_title(title: &str) -> Option<(DocumentKind, String)> {
    let plain = wording::plain(title);
    for (kind, list) in STARTS {
        if let Some(start) =
            wording::each(list).find(|start| wording::after(&plain, start).is_some())
        {
            return Some((*kind, format!("the title begins with `{start}`")));
        }
    }
    for (kind, list) in TITLES {
        if let Some(word) = wording::each(list).find(|word| wording::has(&plain, word)) {
            return Some((*kind, format!("`{word}` in the title")));
        }
    }
    None
}

fn by_folder(folders: &[String]) -> Option<(DocumentKind, String)> {
    folders.iter().find_map(|folder| {
        let (kind, _) =
            PLACES.iter().find(|(_, list)| wording::each(list).any(|it| it == folder))?;
        Some((*kind, format!("the folder `{folder}`")))
    })
}

/// Classifies by headings and code blocks, if there are enough of both.
fn by_shape(document: &DocumentFacts) -> Option<(DocumentKind, String)> {
    let headings: Vec<&str> = document.headings.iter().skip(1).map(|it| &*it.text).collect();
    let most = |fits: &dyn Fn(&str) -> bool| {
        headings.len() >= 3 && headings.iter().filter(|it| fits(it)).count() * 2 > headings.len()
    };
    let is_step = |heading: &str| {
        let lower = heading.to_lowercase();
        let step = lower.strip_prefix("step ").unwrap_or(&lower);
        step.starts_with(|c: char| c.is_ascii_digit())
    };
    let is_action =
        |heading: &str| by_title(heading).is_some_and(|(kind, _)| kind == DocumentKind::HowTo);
    if most(&is_symbol) {
        return Some((DocumentKind::Reference, "most headings are names of code".into()));
    }
    let blocks = document.code_blocks.len();
    if most(&is_step) && blocks >= 2 {
        return Some((DocumentKind::Tutorial, "its headings are numbered steps with code".into()));
    }
    if most(&is_action) {
        return Some((DocumentKind::HowTo, "most headings are things to do".into()));
    }
    let prose = document.words >= 400 && blocks == 0;
    prose.then(|| (DocumentKind::Explanation, "long prose without code".into()))
}

/// Whether a heading is a code name.
fn is_symbol(heading: &str) -> bool {
    let name = heading.trim_matches('`');
    let one = !name.is_empty() && !name.contains(' ');
    let call = name.contains('(') && name.ends_with(')');
    let joined = ["::", "_", "->", "()"].iter().any(|mark| name.contains(mark))
        || name
            .split_once('.')
            .is_some_and(|(one, two)| !one.is_empty() && two.starts_with(char::is_alphabetic));
    let humped = name
        .chars()
        .zip(name.chars().skip(1))
        .any(|(one, two)| one.is_lowercase() && two.is_uppercase());
    name.starts_with("--")
        || call
        || (one && (joined || humped))
        || (heading.starts_with('`') && heading.ends_with('`'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::inventory::tests::facts;
    use DocumentKind as K;

    #[test]
    fn the_surest_sign_decides() {
        let steps = "# Rockets\n\n## 1. Fuel\n```\na\n```\n## 2. Fire\n```\nb\n```\n## 3. Fly\n";
        let symbols = "# Module\n\n## `launch()`\n## fuel_level\n## Rocket::new\n## Notes\n";
        let actions = "# Rockets\n\n## Create a rocket\n## Add fuel\n## Run it\n";
        let prose = format!("# Rockets\n\n{}\n", "word ".repeat(500));
        let cases: [(&str, &str, DocumentKind, &str); 36] = [
            ("README.md", "", K::Readme, "the name `readme`"),
            ("docs/README.zh-CN.md", "", K::Readme, "the name `readme`"),
            ("README_ja.md", "", K::Readme, "the name `readme`"),
            ("LICENSE-MIT.md", "", K::Legal, "the name `license`"),
            ("NOTICE.txt", "", K::Legal, "the name `notice`"),
            ("CHANGELOG.md", "", K::Changelog, "the name `changelog`"),
            ("docs/releases/4.2.txt", "", K::Changelog, "the folder `releases`"),
            ("docs/release-2.0.md", "", K::Changelog, "the name of a release"),
            ("CONTRIBUTING.md", "", K::Community, "the name `contributing`"),
            (".github/CODE_OF_CONDUCT.md", "", K::Community, "the name `code of conduct`"),
            (".github/ISSUE_TEMPLATE/bug.md", "", K::Community, "a template for contributors"),
            ("docs/adr/0001-use-a.md", "# How to A", K::Decision, "a numbered record"),
            ("docs/tutorials/install.md", "", K::Tutorial, "the folder `tutorials`"),
            ("docs/how-to/architecture.md", "", K::HowTo, "the folder `how-to`"),
            ("docs/reference/x.md", "# How to look", K::Reference, "the folder `reference`"),
            ("docs/ref/tutorial.md", "", K::Tutorial, "the name `tutorial`"),
            ("docs/intro/tutorial01.md", "", K::Tutorial, "the name `tutorial`"),
            ("docs/explanation/x.md", "", K::Explanation, "the folder `explanation`"),
            ("ARCHITECTURE.md", "", K::Explanation, "the name `architecture`"),
            ("docs/getting-started.md", "", K::Tutorial, "the name `getting started`"),
            ("docs/guides/configuration.md", "", K::Reference, "the name `configuration`"),
            ("docs/faq.md", "", K::HowTo, "the name `faq`"),
            ("docs/a.md", "# How to fly", K::HowTo, "the title begins with `how to`"),
            ("docs/a.md", "# Deploying rockets", K::HowTo, "the title begins with `deploying`"),
            (
                "docs/a.md",
                "# Getting started with rockets",
                K::Tutorial,
                "the title begins with `getting started`",
            ),
            ("docs/a.md", "# Why rockets?", K::Explanation, "the title begins with `why`"),
            ("docs/a.md", "# Rocket API", K::Reference, "`api` in the title"),
            ("docs/a.md", "# Rockets: a tutorial", K::Tutorial, "`tutorial` in the title"),
            ("docs/guides/a.md", "# Rockets", K::HowTo, "the folder `guides`"),
            ("docs/internals/a.md", "# Rockets", K::Explanation, "the folder `internals`"),
            ("docs/a.md", steps, K::Tutorial, "its headings are numbered steps with code"),
            ("docs/a.md", symbols, K::Reference, "most headings are names of code"),
            ("docs/a.md", actions, K::HowTo, "most headings are things to do"),
            ("docs/a.md", &prose, K::Explanation, "long prose without code"),
            ("docs/a.md", "# Rockets", K::Other, "no clear signal"),
            ("docs/rearchitecture.md", "", K::Other, "no clear signal"),
        ];
        for (path, text, kind, because) in cases {
            assert_eq!(classify(&facts(path, text)), (kind, because.to_owned()), "{path} {text}");
        }
    }

    #[test]
    fn documents_of_others_and_data_are_not_ours() {
        let long = "word ".repeat(60);
        let cases = [
            ("docs/a.md", "", true),
            ("tests/fixtures/a.md", "", false),
            ("docs/testing/a.md", "", true),
            ("tests/docs/a.md", "", false),
            ("vendor/x/README.md", "", false),
            ("src/templates/page.md", "", false),
            ("docs/ref/templates/index.md", "", true),
            ("requirements.txt", long.as_str(), false),
            ("README.txt", "", true),
            ("docs/topic.txt", long.as_str(), true),
            ("docs/robots.txt", "", false),
            ("web/index.html", long.as_str(), false),
            ("docs/index.html", long.as_str(), true),
        ];
        for (path, text, want) in cases {
            assert_eq!(is_own(&facts(path, text)), want, "{path}");
        }
    }

    #[test]
    fn symbols_differ_from_words() {
        let cases = [
            ("launch()", true),
            ("Rocket::new", true),
            ("fuel_level", true),
            ("camelCase", true),
            ("os.path", true),
            ("--dry-run", true),
            ("`word`", true),
            ("launch(a, b)", true),
            ("Usage", false),
            ("Launch the rocket", false),
            ("etc.", false),
            ("", false),
        ];
        for (heading, want) in cases {
            assert_eq!(is_symbol(heading), want, "{heading}");
        }
    }
}
