//! Git history: when, where, by whom.

use super::{
    super::{
        bars::{Bar, bars},
        columns,
        markup::{MarkupBuffer, put, text},
        picture::{Caption, show},
        scatter,
        table::{Cell, HtmlTable, more},
    },
    absent, heading, note,
};
use crate::repo::{
    render::{
        absence::ReportPart,
        figures::{bounded, count, counted, part, percent, to_u64},
        wording,
    },
    report::{Ages, History, Releases, Report},
};

pub(super) fn brief(report: &Report) -> String {
    let Some(history) = &report.history else { return String::new() };
    let commits = counted(history.commits, "commit", "commits");
    match (&history.since, &history.until) {
        (Some(since), Some(until)) => {
            format!("{commits} from {} to {}.", wording::month(since), wording::month(until))
        }
        _ => format!("{commits}."),
    }
}

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    let Some(history) = &report.history else { return absent(out, report, ReportPart::History) };
    span(out, history);
    months(out, history);
    hot_spots(out, history);
    people(out, history);
    releases(out, &history.releases);
    ages(out, &history.ages);
    churn(out, history);
}

/// Describes which part of the history was read.
fn span(out: &mut MarkupBuffer, history: &History) {
    put!(out, "<p class=\"note\">{}", counted(history.commits, "commit", "commits"));
    if let Some(branch) = &history.branch {
        put!(out, " on {}", text(branch));
    }
    if let (Some(since), Some(until)) = (&history.since, &history.until) {
        put!(out, ", {} to {}", text(since), text(until));
    }
    let end = match (history.shallow, history.truncated) {
        (true, _) => {
            ". The clone is shallow: run <code>git fetch --unshallow</code> to see older commits.</p>"
        }
        (false, true) => ". Older commits were not read.</p>",
        (false, false) => ".</p>",
    };
    put!(out, "{end}");
}

fn months(out: &mut MarkupBuffer, history: &History) {
    heading(out, "Commits by month");
    if history.months.is_empty() {
        return note(out, "No commits.");
    }
    let most = history.months.iter().max_by_key(|month| month.commits);
    let description = most.map_or_else(String::new, |month| {
        format!(
            "{} months; most commits in {}: {}.",
            history.months.len(),
            month.month,
            count(month.commits)
        )
    });
    let caption = Caption { id: "months", title: "Commits by month", description: &description };
    show(out, caption, |frame| columns::draw(&history.months, &history.releases.newest, frame));
    if columns::has_release(&history.months, &history.releases.newest) {
        put!(
            out,
            "<p class=\"caption\"><svg width=\"10\" height=\"10\" aria-hidden=\"true\"><path class=\"w1\" d=\"M5 1l4 4l-4 4l-4 -4z\"/></svg> A release.</p>"
        );
    }
}

fn hot_spots(out: &mut MarkupBuffer, history: &History) {
    heading(out, "Hot spots");
    if history.hot_spots.is_empty() {
        return note(out, "No file has both many changes and high complexity.");
    }
    let worst: Vec<&str> = history.hot_spots.iter().take(3).map(|spot| &*spot.path).collect();
    let description = format!(
        "Changes on the x-axis, complexity on the y-axis, size by lines. The worst: {}.",
        worst.join(", ")
    );
    let caption = Caption {
        id: "spots",
        title: "Files by changes and complexity",
        description: &description,
    };
    show(out, caption, |frame| scatter::draw(&history.hot_spots, frame));
    let half = scatter::HOT_SCORE;
    put!(
        out,
        "<p class=\"caption\">Files that change often and are hard to change. Log scale on both axes; larger circles have more lines. <span class=\"warm\">Filled: a score of {half:.0} or more.</span></p>"
    );
    let rows = history
        .hot_spots
        .iter()
        .map(|one| {
            vec![
                Cell::Place(&one.path, None),
                Cell::Number(one.changes),
                Cell::Number(one.complexity),
                Cell::Number(one.lines),
                Cell::Score(one.score),
            ]
        })
        .collect();
    HtmlTable::new("Hot spots", &["File", "Changes", "Complexity", "Lines", "Score"], rows)
        .write(out);
}

fn people(out: &mut MarkupBuffer, history: &History) {
    heading(out, "People");
    put!(
        out,
        "<p class=\"score\"><span class=\"big\">{}</span> {} made more than half of the changes to current files. <span class=\"soft\">{} in all.</span></p>",
        count(history.bus_factor),
        if history.bus_factor == 1 { "person" } else { "people" },
        counted(history.author_count, "author", "authors")
    );
    let shown: Vec<Bar<'_>> = history
        .owners
        .iter()
        .take(12)
        .map(|one| Bar {
            name: &one.name,
            parts: vec![(bounded(one.share) / 100.0, "a1")],
            value: percent(one.share),
            note: format!("{}, last {}", counted(one.commits, "commit", "commits"), one.last),
        })
        .collect();
    bars(out, text("Authors by their share of the changes"), &shown);
    more(out, history.author_count.max(to_u64(history.owners.len())), to_u64(shown.len()));
    if !history.folders.is_empty() {
        heading(out, "Who knows which folder");
        let rows = history
            .folders
            .iter()
            .map(|one| {
                vec![
                    Cell::Place(&one.path, None),
                    Cell::Word(&one.main_author),
                    Cell::Share(one.share),
                    Cell::Number(one.bus_factor),
                    Cell::Number(one.changes),
                ]
            })
            .collect();
        let columns = ["Folder", "Main author", "Share", "Bus factor", "Changes"];
        HtmlTable::new("Who knows which folder", &columns, rows).write(out);
    }
}

fn releases(out: &mut MarkupBuffer, releases: &Releases) {
    heading(out, "Releases");
    if releases.count == 0 {
        return note(out, "No tag looks like a version.");
    }
    put!(out, "<p class=\"note\">{}", counted(releases.count, "release", "releases"));
    if let Some(days) = releases.median_days {
        put!(out, ", median {} apart", counted(days, "day", "days"));
    }
    if let Some(commits) = releases.commits_since {
        put!(out, ", {} since the newest", counted(commits, "commit", "commits"));
    }
    put!(out, ".</p>");
    let rows = releases
        .newest
        .iter()
        .map(|one| vec![Cell::Code(&one.tag), Cell::Word(&one.date)])
        .collect();
    HtmlTable::new("Releases", &["Tag", "Date"], rows).with_total(releases.count).write(out);
}

fn ages(out: &mut MarkupBuffer, ages: &Ages) {
    let all = ages.month + ages.year + ages.three_years + ages.older;
    if all == 0 {
        return;
    }
    heading(out, "When files last changed");
    let steps = [
        ("Up to a month ago", ages.month),
        ("Up to a year ago", ages.year),
        ("Up to three years ago", ages.three_years),
        ("Earlier", ages.older),
    ];
    let most = steps.iter().map(|step| step.1).max().unwrap_or_default();
    let shown: Vec<Bar<'_>> = steps
        .iter()
        .map(|(name, files)| Bar {
            name,
            parts: vec![(part(*files, most), "a1")],
            value: count(*files),
            note: percent(part(*files, all) * 100.0),
        })
        .collect();
    bars(out, text("Files by their last change"), &shown);
    if let Some(days) = ages.median_days {
        note(
            out,
            &format!(
                "Half of the files changed within {} before the newest commit.",
                counted(days, "day", "days")
            ),
        );
    }
}

fn churn(out: &mut MarkupBuffer, history: &History) {
    if history.churn.is_empty() {
        return;
    }
    heading(out, "Most changed files");
    let rows = history
        .churn
        .iter()
        .map(|one| {
            vec![
                Cell::Place(&one.path, None),
                Cell::Number(one.changes),
                Cell::Number(one.authors),
                Cell::Word(&one.last_change),
            ]
        })
        .collect();
    HtmlTable::new("Most changed files", &["File", "Changes", "Authors", "Last changed"], rows)
        .write(out);
}
