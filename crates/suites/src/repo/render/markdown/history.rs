//! Git history: when, where, by whom.

use super::{
    absent,
    text::{code, table, words},
};
use crate::repo::{
    render::{
        absence::ReportPart,
        figures::{count, counted, percent, to_u64},
        markup::{MarkupBuffer, put},
    },
    report::{Ages, History, Releases, Report},
};

pub(super) fn write(out: &mut MarkupBuffer, report: &Report) {
    put!(out, "## History\n\n");
    let Some(history) = &report.history else { return absent(out, report, ReportPart::History) };
    span(out, history);
    hot_spots(out, history);
    people(out, history);
    releases(out, &history.releases);
    ages(out, &history.ages);
    if !history.months.is_empty() {
        put!(out, "### Commits by month\n\n");
        let rows =
            history.months.iter().rev().map(|one| vec![words(&one.month), count(one.commits)]);
        table(out, &["Month", "#Commits"], rows, to_u64(history.months.len()));
    }
}

fn span(out: &mut MarkupBuffer, history: &History) {
    put!(out, "{}", counted(history.commits, "commit", "commits"));
    if let Some(branch) = &history.branch {
        put!(out, " on {}", code(branch));
    }
    if let (Some(since), Some(until)) = (&history.since, &history.until) {
        put!(out, ", {} to {}", words(since), words(until));
    }
    let end = match (history.shallow, history.truncated) {
        (true, _) => {
            ". The clone is shallow: run `git fetch --unshallow` to see older commits.\n\n"
        }
        (false, true) => ". Older commits were not read.\n\n",
        (false, false) => ".\n\n",
    };
    put!(out, "{end}");
}

fn hot_spots(out: &mut MarkupBuffer, history: &History) {
    if !history.hot_spots.is_empty() {
        put!(out, "### Hot spots\n\n");
        let rows = history.hot_spots.iter().map(|one| {
            vec![
                code(&one.path),
                count(one.changes),
                count(one.complexity),
                count(one.lines),
                format!("{:.1}", one.score),
            ]
        });
        let columns = ["File", "#Changes", "#Complexity", "#Lines", "#Score"];
        table(out, &columns, rows, to_u64(history.hot_spots.len()));
    }
    if !history.churn.is_empty() {
        put!(out, "### Most changed files\n\n");
        let rows = history.churn.iter().map(|one| {
            vec![code(&one.path), count(one.changes), count(one.authors), words(&one.last_change)]
        });
        table(
            out,
            &["File", "#Changes", "#Authors", "Last changed"],
            rows,
            to_u64(history.churn.len()),
        );
    }
}

fn people(out: &mut MarkupBuffer, history: &History) {
    put!(out, "### People\n\n");
    put!(
        out,
        "{}. {} made more than half of the changes to current files.\n\n",
        counted(history.author_count, "author", "authors"),
        counted(history.bus_factor, "person", "people")
    );
    let rows = history.owners.iter().map(|one| {
        vec![words(&one.name), count(one.commits), percent(one.share), words(&one.last)]
    });
    let all = history.author_count.max(to_u64(history.owners.len()));
    table(out, &["Author", "#Commits", "#Share of changes", "Last commit"], rows, all);
    let rows = history.folders.iter().map(|one| {
        vec![
            code(&one.path),
            words(&one.main_author),
            percent(one.share),
            count(one.bus_factor),
            count(one.changes),
        ]
    });
    let columns = ["Folder", "Main author", "#Share", "#Bus factor", "#Changes"];
    table(out, &columns, rows, to_u64(history.folders.len()));
}

fn releases(out: &mut MarkupBuffer, releases: &Releases) {
    put!(out, "### Releases\n\n");
    if releases.count == 0 {
        put!(out, "No tag looks like a version.\n\n");
        return;
    }
    put!(out, "{}", counted(releases.count, "release", "releases"));
    if let Some(days) = releases.median_days {
        put!(out, ", median {} apart", counted(days, "day", "days"));
    }
    if let Some(commits) = releases.commits_since {
        put!(out, ", {} since the newest", counted(commits, "commit", "commits"));
    }
    put!(out, ".\n\n");
    let rows = releases.newest.iter().map(|one| vec![code(&one.tag), words(&one.date)]);
    table(out, &["Tag", "Date"], rows, releases.count);
}

fn ages(out: &mut MarkupBuffer, ages: &Ages) {
    if ages.month + ages.year + ages.three_years + ages.older == 0 {
        return;
    }
    put!(out, "### When files last changed\n\n");
    let steps = [
        ("up to a month ago", ages.month),
        ("up to a year ago", ages.year),
        ("up to three years ago", ages.three_years),
        ("earlier", ages.older),
    ];
    let rows = steps.iter().map(|(name, files)| vec![(*name).to_owned(), count(*files)]);
    table(out, &["Before the newest commit", "#Files"], rows, 4);
    if let Some(days) = ages.median_days {
        put!(
            out,
            "Half of the files changed within {} before it.\n\n",
            counted(days, "day", "days")
        );
    }
}
