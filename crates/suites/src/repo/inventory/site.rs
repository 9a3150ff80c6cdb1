//! Suggests a documentation site generator, with the reason.

use crate::repo::{
    facts::{DocumentFacts, DocumentFormat},
    report::{Document, DocumentKind, ProjectKind, Report, SuggestedSite},
};

/// Minimum number of guides for a site; with fewer guides and words, the README suffices.
const MIN_SITE_GUIDES: usize = 4;
const MIN_SITE_WORDS: u64 = 4000;
/// Number of documents above which most generators are slow.
const LARGE_SITE_DOCUMENTS: usize = 400;

/// Suggests a generator; `None` if the project has one or the README suffices.
pub(super) fn suggest(
    report: &Report,
    documents: &[&DocumentFacts],
    kinds: &[Document],
) -> Option<SuggestedSite> {
    if report.presence.docs_site.is_some() {
        return None;
    }
    let is_guide = |kind| {
        use DocumentKind as K;
        matches!(kind, K::Tutorial | K::HowTo | K::Reference | K::Explanation)
    };
    let guides = || kinds.iter().filter(|document| is_guide(document.kind));
    let words: u64 = guides().map(|document| document.words).sum();
    if guides().count() < MIN_SITE_GUIDES && words < MIN_SITE_WORDS {
        return None;
    }
    let formats = GuideFormats::of(documents, guides().map(|document| document.path.as_str()));
    by_format(&formats)
        .or_else(|| by_ecosystem(report, &formats))
        .or_else(|| Some(general(report, &formats)))
}

/// Formats of the guides.
struct GuideFormats {
    all: usize,
    restructured: usize,
    ascii: usize,
}

impl GuideFormats {
    fn of<'a>(documents: &[&DocumentFacts], guides: impl Iterator<Item = &'a str>) -> Self {
        let guides: std::collections::HashSet<&str> = guides.collect();
        let count = |format| {
            let fits = |it: &&&DocumentFacts| it.format == format && guides.contains(&*it.path);
            documents.iter().filter(fits).count()
        };
        let (restructured, ascii) =
            (count(DocumentFormat::Restructured), count(DocumentFormat::AsciiDoc));
        Self { all: guides.len(), restructured, ascii }
    }
}

fn site(name: &str, start: &str, reason: impl Into<String>) -> SuggestedSite {
    SuggestedSite { name: name.to_owned(), reason: reason.into(), start: start.to_owned() }
}

/// Suggests a generator that reads the guides' format natively.
fn by_format(formats: &GuideFormats) -> Option<SuggestedSite> {
    let (all, ascii, restructured) = (formats.all, formats.ascii, formats.restructured);
    if ascii * 2 > all {
        let reason = format!("{ascii} of {all} guides are AsciiDoc, which it reads natively");
        return Some(site("Antora", "npx antora antora-playbook.yml", reason));
    }
    (restructured * 2 > all).then(|| {
        let reason =
            format!("{restructured} of {all} guides are reStructuredText, which it reads natively");
        site("Sphinx", "sphinx-quickstart docs", reason)
    })
}

/// Suggests the usual generator of the main language's ecosystem.
fn by_ecosystem(report: &Report, formats: &GuideFormats) -> Option<SuggestedSite> {
    let guides = formats.all;
    let library =
        report.project.as_ref().is_some_and(|project| project.kind == ProjectKind::Library);
    Some(match report.primary_language.as_deref()? {
        "Rust" => site(
            "mdBook",
            "mdbook init docs",
            format!(
                "a Rust project with {guides} Markdown guides: one binary, no other toolchain; rustdoc generates the reference"
            ),
        ),
        "Python" if library => site(
            "Sphinx",
            "sphinx-quickstart docs",
            format!(
                "a Python library: autodoc generates the reference from docstrings, MyST reads the {guides} Markdown guides"
            ),
        ),
        "Python" => site(
            "MkDocs Material",
            "mkdocs new .",
            format!(
                "a Python program with {guides} Markdown guides: installs with pip and needs one file"
            ),
        ),
        "JavaScript" | "TypeScript" | "JSX" | "TSX" | "Vue" | "Svelte" => {
            script_site(report, guides)
        }
        "Go" => site(
            "Hugo",
            "hugo new site website",
            format!(
                "a Go project with {guides} Markdown guides: one binary, no other toolchain; go doc generates the reference"
            ),
        ),
        "Ruby" => site(
            "Jekyll",
            "bundle exec jekyll new docs",
            format!(
                "a Ruby project with {guides} Markdown guides: a gem, and GitHub Pages builds it"
            ),
        ),
        "C#" | "F#" | "Visual Basic" => site(
            "DocFX",
            "docfx init",
            format!(
                "a .NET project with {guides} Markdown guides: it combines them with the reference from XML comments"
            ),
        ),
        "Java" | "Kotlin" | "Scala" | "Groovy" => site(
            "MkDocs Material",
            "mkdocs new .",
            format!(
                "{guides} Markdown guides; Javadoc or Dokka generates the reference; link to it"
            ),
        ),
        "Elixir" => site(
            "ExDoc",
            "mix docs",
            "an Elixir project: it combines guides (`extras`) with the reference",
        ),
        "Swift" => site(
            "DocC",
            "swift package generate-documentation",
            "a Swift project: it combines articles with the reference",
        ),
        _ => return None,
    })
}

/// Suggests a generator by the framework in use.
fn script_site(report: &Report, guides: usize) -> SuggestedSite {
    let frameworks =
        report.project.as_ref().map_or(&[][..], |project| project.frameworks.as_slice());
    let uses = |names: &[&str]| {
        let is_one = |it: &&String| names.iter().any(|name| it.eq_ignore_ascii_case(name));
        frameworks.iter().find(is_one).cloned()
    };
    if let Some(framework) = uses(&["Vue", "Nuxt", "Vite"]) {
        return site(
            "VitePress",
            "npx vitepress init",
            format!(
                "{framework} is in use: pages can show its components; {guides} Markdown guides need no changes"
            ),
        );
    }
    if let Some(framework) = uses(&["Astro", "Svelte", "SvelteKit", "Solid"]) {
        return site(
            "Starlight",
            "npm create astro@latest -- --template starlight",
            format!(
                "{framework} is in use: pages can show its components; {guides} Markdown guides need no changes"
            ),
        );
    }
    if let Some(framework) = uses(&["React", "Next.js", "Next", "Gatsby", "Remix", "React Native"])
    {
        return site(
            "Docusaurus",
            "npx create-docusaurus@latest website classic",
            format!("{framework} is in use: pages can show its components, with versioned docs"),
        );
    }
    site(
        "VitePress",
        "npx vitepress init",
        format!(
            "a project with npm and {guides} Markdown guides: they need no changes and no framework"
        ),
    )
}

/// Suggests a generator for other projects.
fn general(report: &Report, formats: &GuideFormats) -> SuggestedSite {
    let guides = formats.all;
    if guides > LARGE_SITE_DOCUMENTS {
        return site(
            "Hugo",
            "hugo new site website",
            format!("{guides} documents: it builds thousands of pages in seconds"),
        );
    }
    if report.presence.ci.iter().any(|path| path.starts_with(".github/")) {
        return site(
            "Jekyll",
            "bundle exec jekyll new docs",
            format!("{guides} Markdown guides on GitHub, which builds it without setup"),
        );
    }
    site(
        "MkDocs Material",
        "mkdocs new .",
        format!("{guides} Markdown guides: it needs one file and brings search"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::report::{Presence, Project};

    /// Guides with these extensions, and the suggestion for them.
    fn suggested(report: &Report, endings: &[&str]) -> Option<SuggestedSite> {
        let format = |ending: &str| match ending {
            "rst" => DocumentFormat::Restructured,
            "adoc" => DocumentFormat::AsciiDoc,
            _ => DocumentFormat::Markdown,
        };
        let facts: Vec<DocumentFacts> = endings
            .iter()
            .enumerate()
            .map(|(at, ending)| DocumentFacts {
                path: format!("docs/{at}.{ending}").into(),
                format: format(ending),
                ..crate::repo::inventory::tests::facts("", "")
            })
            .collect();
        let guide = |facts: &DocumentFacts| Document {
            path: facts.path.to_string(),
            title: None,
            kind: DocumentKind::HowTo,
            because: String::new(),
            words: 10,
        };
        let kinds: Vec<Document> = facts.iter().map(guide).collect();
        suggest(report, &facts.iter().collect::<Vec<_>>(), &kinds)
    }

    fn project(language: &str, kind: ProjectKind, framework: &str) -> Report {
        let frameworks = if framework.is_empty() { vec![] } else { vec![framework.to_owned()] };
        Report {
            primary_language: Some(language.into()),
            project: Some(Project { kind, frameworks, ..Project::default() }),
            ..Report::default()
        }
    }

    #[test]
    fn every_ecosystem_has_one() {
        use ProjectKind::{CommandLine, Library, Service, WebApplication};
        let markdown = ["md"; 5];
        let cases = vec![
            (project("Rust", CommandLine, ""), "mdBook", "mdbook init docs"),
            (project("Python", CommandLine, ""), "MkDocs Material", "mkdocs new ."),
            (project("Python", Library, ""), "Sphinx", "sphinx-quickstart docs"),
            (
                project("TypeScript", WebApplication, "React"),
                "Docusaurus",
                "npx create-docusaurus@latest website classic",
            ),
            (project("TypeScript", WebApplication, "Nuxt"), "VitePress", "npx vitepress init"),
            (
                project("TypeScript", WebApplication, "Astro"),
                "Starlight",
                "npm create astro@latest -- --template starlight",
            ),
            (project("JavaScript", Library, ""), "VitePress", "npx vitepress init"),
            (project("Go", Service, ""), "Hugo", "hugo new site website"),
            (project("Ruby", Library, ""), "Jekyll", "bundle exec jekyll new docs"),
            (project("C#", Library, ""), "DocFX", "docfx init"),
            (project("Java", Library, ""), "MkDocs Material", "mkdocs new ."),
            (project("Elixir", Library, ""), "ExDoc", "mix docs"),
            (project("Swift", Library, ""), "DocC", "swift package generate-documentation"),
            (project("C", Library, ""), "MkDocs Material", "mkdocs new ."),
            (Report::default(), "MkDocs Material", "mkdocs new ."),
        ];
        for (report, name, start) in cases {
            let site = suggested(&report, &markdown).unwrap();
            assert_eq!((site.name.as_str(), site.start.as_str()), (name, start));
            assert!(!site.reason.is_empty() && !site.reason.ends_with('.'), "{}", site.reason);
        }
    }

    #[test]
    fn format_and_size_come_first() {
        let rust = project("Rust", ProjectKind::Library, "");
        let site = suggested(&rust, &["adoc", "adoc", "adoc", "md"]).unwrap();
        assert_eq!(
            (site.name.as_str(), site.reason.as_str()),
            ("Antora", "3 of 4 guides are AsciiDoc, which it reads natively")
        );
        assert_eq!(suggested(&rust, &["rst", "rst", "rst", "md"]).unwrap().name, "Sphinx");
        assert_eq!(suggested(&Report::default(), &["md"; 500]).unwrap().name, "Hugo");
        let ci = vec![".github/workflows/ci.yml".to_owned()];
        let github =
            Report { presence: Presence { ci, ..Presence::default() }, ..Report::default() };
        assert_eq!(suggested(&github, &["md"; 5]).unwrap().name, "Jekyll");
    }

    #[test]
    fn none_where_none_is_needed() {
        let rust = project("Rust", ProjectKind::Library, "");
        assert_eq!(suggested(&rust, &["md"; 3]), None);
        let configured = Presence { docs_site: Some("mdBook".into()), ..Presence::default() };
        assert_eq!(suggested(&Report { presence: configured, ..rust }, &["md"; 9]), None);
    }
}
