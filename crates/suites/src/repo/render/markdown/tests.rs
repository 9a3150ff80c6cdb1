use super::markdown;
use crate::repo::{
    render::tests::sample,
    report::{Depth, Report},
};
use pulldown_cmark::{Event, Options, Parser, Tag};

const POISON: &str =
    "<script>x</script> | [a](b) ![c](d) `e` *f* __g__ \\| &lt; @octocat\n# h\n\n- i\u{202e}";

fn events(text: &str) -> Vec<Event<'_>> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH).collect()
}

fn plain(text: &str) -> String {
    let part = |event: &Event<'_>| match event {
        Event::Text(text) | Event::Code(text) => Some(text.to_string()),
        Event::SoftBreak | Event::End(_) => Some(" ".to_owned()),
        _ => None,
    };
    // Words that are escaped come in pieces.
    events(text).iter().filter_map(part).collect()
}

/// Returns the structure of a document, without its words.
fn shape(text: &str) -> Vec<String> {
    let part = |event: Event<'_>| match event {
        Event::Start(Tag::Heading { level, .. }) => Some(format!("{level}")),
        Event::Start(Tag::Table(columns)) => Some(format!("table of {}", columns.len())),
        Event::Start(
            tag @ (Tag::TableRow | Tag::TableHead | Tag::TableCell | Tag::Item | Tag::Paragraph),
        ) => Some(format!("{tag:?}")),
        Event::Start(tag) => {
            Some(format!("{tag:?}").split(['(', ' ']).next().unwrap_or_default().to_owned())
        }
        Event::Html(html) | Event::InlineHtml(html) if !matches!(&*html, "<code>" | "</code>") => {
            Some(format!("html {html}"))
        }
        _ => None,
    };
    events(text).into_iter().filter_map(part).collect()
}

#[test]
fn everything_in_the_report_is_rendered() {
    let report = sample::rich();
    let shown = plain(&markdown(&report));
    for word in sample::words(&report, &[]) {
        let want = word.replace('`', "");
        assert!(shown.contains(&want) || shown.contains(&super::wording::label(&want)), "{word}");
    }
}

#[test]
fn nothing_from_a_report_becomes_markup() {
    let clean = markdown(&sample::rich());
    let poisoned = markdown(&sample::poisoned(&sample::rich(), POISON));
    assert_eq!(shape(&poisoned), shape(&clean));
    assert!(!poisoned.contains('\u{202e}'));
    let rows: Vec<&str> = clean.lines().filter(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 100 && rows.iter().all(|row| row.ends_with('|')), "{}", rows.len());
}

#[test]
fn facts_come_before_gaps_before_steps_before_details() {
    for (name, report) in [("rich", sample::rich()), ("absurd", sample::absurd())] {
        let text = markdown(&report);
        let headings: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let want = [
            "Facts",
            "Gaps",
            "Next steps",
            "Getting started",
            "Languages",
            "Folders",
            "Open tasks",
            "Packages",
            "Documents",
            "Coverage",
            "Links",
            "Drift",
            "Duplicates",
            "History",
            "Limits",
        ];
        assert_eq!(headings, want, "{name}");
        assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{name}");
    }
}

#[test]
fn long_lists_are_cut() {
    let text = markdown(&sample::absurd());
    assert!(text.contains("and 89,950 more"), "links");
    assert!(text.contains("and 450 more"), "folders");
}

#[test]
fn what_is_not_there_has_its_reason() {
    let quick = markdown(&Report { depth: Depth::Quick, ..Report::default() });
    let parts = [
        "# Repository\n",
        "History: not in a quick report. Use depth “deep”.",
        "Commands and entry points: not in a quick report. Use depth “standard”.",
        "Gaps are unknown: some folders were not read.",
        "Everything was read.",
    ];
    for part in parts {
        assert!(quick.contains(part), "{part}\n{quick}");
    }
}
