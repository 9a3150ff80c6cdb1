//! Scores the README item by item. Judges by contents, not by headings alone.

mod finders;
mod marks;

use super::{
    outline::{DocumentOutline, OutlineContent, OutlinePart, OutlineSection},
    wording,
};
use crate::repo::{
    facts::DocumentFacts,
    report::{ProjectKind, Readme, ReadmeItem, Report, Severity},
    tree::{ProjectTree, name_of},
};
use marks::{is_badge, is_generic, is_informative, sentence_of, short};

/// Inputs for judging an item.
struct ReadmeContext<'a> {
    outline: DocumentOutline,
    tree: &'a ProjectTree,
    report: &'a Report,
    /// The contributing guide, if there is one.
    contributing: Option<&'a DocumentFacts>,
}

/// Location and text of a match.
#[derive(Debug, PartialEq, Eq)]
struct ReadmeEvidence {
    line: u64,
    text: String,
}

impl ReadmeEvidence {
    fn new(line: u64, text: impl Into<String>) -> Self {
        Self { line, text: text.into() }
    }
}

/// An item that a reader needs.
struct ReadmeCriterion {
    name: &'static str,
    severity: Severity,
    /// Its weight in the score.
    weight: u64,
    /// Whether this project needs it.
    is_asked: fn(&ReadmeContext<'_>) -> bool,
    find: fn(&ReadmeContext<'_>) -> Option<ReadmeEvidence>,
    /// Description of what was searched for.
    sought: &'static str,
}

const README_CRITERIA: [ReadmeCriterion; 13] = [
    ReadmeCriterion {
        name: "title",
        severity: Severity::Low,
        weight: 4,
        is_asked: |_| true,
        find: finders::title,
        sought: "a first heading that names the project",
    },
    ReadmeCriterion {
        name: "purpose",
        severity: Severity::High,
        weight: 16,
        is_asked: |_| true,
        find: finders::purpose,
        sought: "a sentence below the title that describes it",
    },
    ReadmeCriterion {
        name: "status",
        severity: Severity::Low,
        weight: 4,
        is_asked: has_code,
        find: finders::status,
        sought: "a badge, or a word on how mature and how maintained it is",
    },
    ReadmeCriterion {
        name: "requirements",
        severity: Severity::Medium,
        weight: 6,
        is_asked: has_code,
        find: finders::requirements,
        sought: "required versions of languages, systems or tools",
    },
    ReadmeCriterion {
        name: "installation",
        severity: Severity::High,
        weight: 16,
        is_asked: has_code,
        find: finders::installation,
        sought: "a command that installs it, or an installation section",
    },
    ReadmeCriterion {
        name: "usage",
        severity: Severity::High,
        weight: 14,
        is_asked: has_code,
        find: finders::usage,
        sought: "a section or code that shows how to use it",
    },
    ReadmeCriterion {
        name: "example",
        severity: Severity::Medium,
        weight: 10,
        is_asked: has_code,
        find: finders::example,
        sought: "a code block besides installation, or a link to examples",
    },
    ReadmeCriterion {
        name: "configuration",
        severity: Severity::Medium,
        weight: 5,
        is_asked: is_configurable,
        find: finders::configuration,
        sought: "a section on settings, or the names of its environment variables",
    },
    ReadmeCriterion {
        name: "tests",
        severity: Severity::Medium,
        weight: 6,
        is_asked: has_tests,
        find: finders::tests,
        sought: "a command that runs the tests, here or in the contributing guide",
    },
    ReadmeCriterion {
        name: "documentation",
        severity: Severity::Low,
        weight: 5,
        is_asked: has_more_to_read,
        find: finders::documentation,
        sought: "a link to further documents",
    },
    ReadmeCriterion {
        name: "help",
        severity: Severity::Low,
        weight: 4,
        is_asked: has_code,
        find: finders::help,
        sought: "instructions on where to ask or to report a problem",
    },
    ReadmeCriterion {
        name: "contributing",
        severity: Severity::Low,
        weight: 4,
        is_asked: has_code,
        find: finders::contributing,
        sought: "a section on contributing, or a link to the contributing guide",
    },
    ReadmeCriterion {
        name: "licence",
        severity: Severity::Medium,
        weight: 6,
        is_asked: |_| true,
        find: finders::licence,
        sought: "the name of the license, or a link to it",
    },
];

/// Reads and scores the README.
pub(super) fn judge(
    tree: &ProjectTree,
    report: &Report,
    documents: &[DocumentFacts],
    path: &str,
    text: &str,
) -> Readme {
    let contributing = report.presence.contributing.as_deref();
    let reading = ReadmeContext {
        outline: DocumentOutline::read(name_of(path), text),
        tree,
        report,
        contributing: contributing.and_then(|path| documents.iter().find(|it| *it.path == *path)),
    };
    let (mut items, mut reached, mut all) = (Vec::new(), 0, 0);
    for item in README_CRITERIA.iter().filter(|item| (item.is_asked)(&reading)) {
        let found = (item.find)(&reading);
        all += item.weight;
        reached += if found.is_some() { item.weight } else { 0 };
        let in_vain = || format!("looked for {}", item.sought);
        items.push(ReadmeItem {
            item: item.name.to_owned(),
            found: found.is_some(),
            line: found.as_ref().map(|evidence| evidence.line),
            evidence: found.map_or_else(in_vain, |evidence| evidence.text),
            severity: item.severity,
        });
    }
    Readme {
        path: path.to_owned(),
        words: reading.outline.words(),
        code_blocks: reading.outline.code_blocks(),
        // Rounded.
        score: (reached * 200 + all) / (all * 2),
        items,
    }
}

fn kind(reading: &ReadmeContext<'_>) -> ProjectKind {
    reading.report.project.as_ref().map_or(ProjectKind::Unknown, |project| project.kind)
}

fn has_code(reading: &ReadmeContext<'_>) -> bool {
    let idle = matches!(kind(reading), ProjectKind::Documentation | ProjectKind::Data);
    !idle && reading.report.primary_language.is_some()
}

fn has_tests(reading: &ReadmeContext<'_>) -> bool {
    let presence = &reading.report.presence;
    has_code(reading) && presence.test_files + presence.inline_test_files > 0
}

fn has_more_to_read(reading: &ReadmeContext<'_>) -> bool {
    let presence = &reading.report.presence;
    presence.docs_site.is_some()
        || !presence.docs_folders.is_empty()
        || kind(reading) == ProjectKind::Library
}

fn is_configurable(reading: &ReadmeContext<'_>) -> bool {
    let project = reading.report.project.as_ref();
    let variables = project.is_some_and(|project| !project.environment.is_empty());
    let is_sample = |name: &str| {
        let name = name.to_ascii_lowercase();
        let marks = [".example", ".sample", ".dist", ".template"];
        let sample = marks.iter().any(|mark| name.contains(mark));
        sample && ["env", "config", "settings"].iter().any(|word| name.contains(word))
    };
    let mut top = reading.tree.files().iter().filter(|file| file.folder().is_empty());
    has_code(reading) && (variables || top.any(|file| is_sample(file.name())))
}

impl ReadmeContext<'_> {
    /// Returns the title: the first outermost heading, or the first heading, if plausible.
    fn title(&self) -> Option<usize> {
        let sections = &self.outline.sections;
        let alone = sections.iter().filter(|section| section.level == 1).count() == 1;
        let fits = |section: &OutlineSection| {
            let name = !section.heading.is_empty() && !is_generic(&section.heading);
            name && (alone && section.level == 1 || !wording::names_any(&section.heading))
        };
        let headings = || sections.iter().enumerate().filter(|(_, section)| section.level > 0);
        let first = headings().take(3).find(|(_, section)| section.level == 1);
        let found = first.or_else(|| headings().next()).filter(|(_, section)| fits(section));
        found.map(|(at, _)| at)
    }

    /// Returns the names of the project and its packages, in lowercase.
    fn names(&self) -> impl Iterator<Item = String> {
        let manifests = self.report.manifests.iter().take(3);
        let packages = manifests.filter_map(|manifest| manifest.name.as_deref());
        let names = packages.chain([self.report.name.as_str()]);
        names.filter(|name| name.len() > 1).map(str::to_ascii_lowercase)
    }

    /// Whether a link points to the project's own pages, judging by its URL.
    fn is_own(&self, target: &str) -> bool {
        const OTHERS: &str = "wikipedia.org, wiktionary.org, nodejs.org, mozilla.org, python.org, \
            docs.github.com, docs.npmjs.com, doc.rust-lang.org, microsoft.com";
        const HOSTS: &str = "readthedocs., docs.rs/, .github.io, pkg.go.dev, hexdocs.pm, /wiki";
        let target = target.to_ascii_lowercase();
        let hosted = wording::each(HOSTS).any(|host| target.contains(host));
        let label = target.split_once("://").and_then(|(_, rest)| rest.split('.').next());
        let is_named = |name: String| {
            target.contains(&name) || label.is_some_and(|it| it.len() > 3 && name.contains(it))
        };
        let named = || self.names().next().is_none() || self.names().any(is_named);
        !wording::each(OTHERS).any(|other| target.contains(other)) && (!hosted || named())
    }

    fn parts(&self) -> impl Iterator<Item = &OutlinePart> {
        self.outline.sections.iter().flat_map(|section| &section.parts)
    }

    fn prose(&self) -> impl Iterator<Item = (u64, &str)> {
        self.parts().filter_map(|part| match &part.matter {
            OutlineContent::Prose { text, .. } => Some((part.line, text.as_str())),
            _ => None,
        })
    }

    fn links(&self) -> impl Iterator<Item = (u64, &str, &str)> {
        self.parts().filter_map(|part| match &part.matter {
            OutlineContent::Link { text, target } => {
                Some((part.line, text.as_str(), target.as_str()))
            }
            _ => None,
        })
    }

    /// Returns line, text and target of badges.
    fn badges(&self) -> impl Iterator<Item = (u64, &str, &str)> {
        self.parts().filter_map(|part| match &part.matter {
            OutlineContent::Picture { text, target } if is_badge(target) => {
                Some((part.line, text.as_str(), target.as_str()))
            }
            _ => None,
        })
    }

    /// Finds a badge whose text or target contains one of these parts.
    fn badge_with(&self, list: &'static str) -> Option<ReadmeEvidence> {
        let fits = |(_, text, target): &(u64, &str, &str)| {
            let both = format!("{text} {target}").to_ascii_lowercase();
            wording::each(list).any(|part| both.contains(part))
        };
        let (line, text, target) = self.badges().find(fits)?;
        let shown = if text.is_empty() { target } else { text };
        Some(ReadmeEvidence::new(line, format!("badge `{}`", short(shown))))
    }

    /// Finds a non-empty section on a topic.
    fn section_on(&self, topic: &str) -> Option<ReadmeEvidence> {
        let title = self.title();
        let sections = self.outline.sections.iter().enumerate();
        let mut on_topic = sections.filter(|(at, section)| {
            Some(*at) != title && section.level > 0 && wording::names(&section.heading, topic)
        });
        on_topic.find_map(|(at, section)| {
            let filled = self.outline.section_parts(at).any(|part| is_informative(part, topic));
            let evidence = || format!("section `{}`", short(&section.heading));
            filled.then(|| ReadmeEvidence::new(section.line, evidence()))
        })
    }

    /// Finds a link whose text has one of these words, or whose target has one of these parts; `^` anchors a part to
    /// the start of the target. Links for contributors count only if the words ask for them.
    fn link_on(&self, words: &'static str, targets: &'static str) -> Option<ReadmeEvidence> {
        let wanted = |(_, text, target): &(u64, &str, &str)| {
            let both = format!("{text} {target}").to_ascii_lowercase();
            let inner = both.contains("contribut") || both.contains("development");
            words.contains("contribut") || !inner
        };
        let by_text = |(_, text, _): &(u64, &str, &str)| {
            let text = wording::plain(text);
            let brief = text.split_whitespace().count() <= 3;
            brief && wording::each(words).any(|word| wording::has(&text, word))
        };
        let by_target = |(_, _, target): &(u64, &str, &str)| {
            let lower = target.to_ascii_lowercase();
            let fits = |part: &str| match part.strip_prefix('^') {
                Some(start) => lower.trim_start_matches("./").starts_with(start),
                None => lower.contains(part),
            };
            wording::each(targets).any(fits) && self.is_own(target)
        };
        let links = || self.links().filter(wanted);
        let (line, text, target) = links().find(by_text).or_else(|| links().find(by_target))?;
        let shown = if text.is_empty() { target } else { text };
        Some(ReadmeEvidence::new(line, format!("link `{}` to {}", short(shown), short(target))))
    }

    /// Finds a sentence with one of these phrases.
    fn sentence_with(&self, phrases: &'static str) -> Option<ReadmeEvidence> {
        self.prose().find_map(|(line, text)| {
            let plain = wording::plain(text);
            let phrase = wording::each(phrases).find(|phrase| wording::has(&plain, phrase))?;
            Some(ReadmeEvidence::new(line, format!("`{}`", short(sentence_of(text, phrase)))))
        })
    }

    /// Returns line and text of code, blocks first, and whether it is in a section for contributors.
    fn code(&self) -> impl Iterator<Item = (u64, &str, bool)> {
        let sections = || self.outline.sections.iter().map(|it| (it, is_for_developers(it)));
        let blocks = sections().flat_map(|(section, inner)| {
            section.parts.iter().filter_map(move |part| match &part.matter {
                // A block starts with its fence.
                OutlineContent::Code { text, .. } => Some((part.line + 1, text.as_str(), inner)),
                _ => None,
            })
        });
        let inline = sections().flat_map(|(section, inner)| {
            section.parts.iter().flat_map(move |part| {
                let code = match &part.matter {
                    OutlineContent::Prose { code, .. } => code.as_slice(),
                    _ => &[],
                };
                code.iter().map(move |code| (part.line, code.as_str(), inner))
            })
        });
        blocks.chain(inline)
    }
}

/// Whether a section is for contributors.
fn is_for_developers(section: &OutlineSection) -> bool {
    ["contributing", "tests"].iter().any(|topic| wording::names(&section.heading, topic))
}

#[cfg(test)]
mod tests;
