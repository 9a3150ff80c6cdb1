//! Figures of programs that run to their end, their ratios, and whether docent reaches its targets: one Markdown table
//! per tree, and JSON.

use crate::bench::{
    table::{median, number, times},
    usage::ResourceUsage,
};
use serde_json::{Value, json};
use std::fmt;

/// A target for docent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RepoTarget {
    /// The figure itself.
    AtMost(f64),
    /// The figure divided by that of the base.
    TimesBaseAtMost(f64),
    /// The figure divided by docent's: a peer must need this much more.
    TimesAtLeast(f64, &'static str),
    /// The figure divided by the largest of these subjects.
    TimesBestAtLeast(f64, &'static [&'static str]),
}

/// The maximum length of the reason why something was not measured, in characters.
const REASON_LENGTH: usize = 300;

#[derive(Debug)]
struct MeasureRow {
    measure: String,
    subject: String,
    aim: Option<RepoTarget>,
    samples: Vec<f64>,
}

impl MeasureRow {
    fn least(&self) -> f64 {
        self.samples.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn most(&self) -> f64 {
        self.samples.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// The measurements on one tree.
#[derive(Debug)]
pub(crate) struct TreeSection {
    title: String,
    /// The subject that others are divided by; `None` if figures are not compared.
    base: Option<&'static str>,
    about: Vec<String>,
    rows: Vec<MeasureRow>,
    /// Subjects that could not be measured, and why.
    lacks: Vec<(String, String)>,
}

impl TreeSection {
    /// Creates an empty one.
    pub(crate) fn new(title: impl Into<String>, base: &'static str) -> Self {
        Self { base: Some(base), ..Self::without_base(title) }
    }

    /// Creates a section whose figures are not compared with each other.
    pub(crate) fn without_base(title: impl Into<String>) -> Self {
        let (about, rows, lacks) = Default::default();
        Self { title: title.into(), base: None, about, rows, lacks }
    }

    /// Adds a line above the table.
    pub(crate) fn describe(&mut self, text: String) {
        self.about.push(text);
    }

    /// True until something was measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a sample. Rows of one measure are adjacent, in order of insertion.
    pub(crate) fn add(
        &mut self,
        measure: &str,
        subject: &str,
        aim: Option<RepoTarget>,
        sample: f64,
    ) {
        let same = |row: &&mut MeasureRow| row.measure == measure && row.subject == subject;
        if let Some(row) = self.rows.iter_mut().find(same) {
            return row.samples.push(sample);
        }
        let row = MeasureRow {
            measure: measure.to_owned(),
            subject: subject.to_owned(),
            aim,
            samples: vec![sample],
        };
        let after = self.rows.iter().rposition(|row| row.measure == measure);
        self.rows.insert(after.map_or(self.rows.len(), |last| last + 1), row);
    }

    /// Adds a row for a subject that could not be measured; only its first reason is kept.
    pub(crate) fn lack(&mut self, subject: &str, reason: &str) {
        if !self.lacks(subject) {
            // Line breaks and bars would break the Markdown table.
            let words: Vec<&str> = reason.split_whitespace().collect();
            let reason = words.join(" ").replace('|', "/");
            let reason: String = reason.chars().take(REASON_LENGTH).collect();
            self.lacks.push((subject.to_owned(), reason));
        }
    }

    /// Whether a subject could not be measured.
    pub(crate) fn lacks(&self, subject: &str) -> bool {
        self.lacks.iter().any(|(known, _)| known == subject)
    }

    /// Adds the resources used by one run, with the targets for its CPU time and memory.
    pub(crate) fn add_run(
        &mut self,
        subject: &str,
        used: ResourceUsage,
        aims: [Option<RepoTarget>; 2],
    ) {
        let [cpu, peak] = aims;
        self.add("CPU (ms)", subject, cpu, used.cpu.as_secs_f64() * 1e3);
        self.add("wall time (ms)", subject, None, used.wall.as_secs_f64() * 1e3);
        self.add("peak RSS (MB)", subject, peak, used.peak_mb);
    }

    fn ratio(&self, row: &MeasureRow) -> Option<f64> {
        self.ratio_to(row, self.base?)
    }

    fn ratio_to(&self, row: &MeasureRow, subject: &str) -> Option<f64> {
        let base = |other: &&MeasureRow| other.measure == row.measure && other.subject == subject;
        self.rows.iter().find(base).map(|base| median(&row.samples) / median(&base.samples))
    }

    fn ratio_to_best(&self, row: &MeasureRow, subjects: &[&str]) -> Option<f64> {
        let ratios = subjects.iter().filter_map(|subject| self.ratio_to(row, subject));
        ratios.min_by(f64::total_cmp)
    }

    /// Returns the target and whether the row reaches it; `None` if there is none or the base was not measured.
    fn verdict(&self, row: &MeasureRow) -> Option<String> {
        let (text, met) = match row.aim? {
            RepoTarget::AtMost(limit) => (format!("≤ {limit}"), median(&row.samples) <= limit),
            RepoTarget::TimesBaseAtMost(limit) => {
                (format!("≤ {limit} × {}", self.base?), self.ratio(row)? <= limit)
            }
            RepoTarget::TimesAtLeast(limit, subject) => {
                (format!("≥ {limit} × {subject}"), self.ratio_to(row, subject)? >= limit)
            }
            RepoTarget::TimesBestAtLeast(limit, subjects) => {
                let ratio = self.ratio_to_best(row, subjects)?;
                (format!("≥ {limit} × the best peer ({})", times(Some(ratio))), ratio >= limit)
            }
        };
        Some(format!("{text}: {}", if met { "yes" } else { "no" }))
    }

    fn row_json(&self, row: &MeasureRow) -> Value {
        json!({
            "measure": row.measure,
            "subject": row.subject,
            "median": median(&row.samples),
            "min": row.least(),
            "max": row.most(),
            "samples": row.samples,
            "toBase": self.ratio(row),
            "aim": self.verdict(row),
        })
    }
}

impl fmt::Display for TreeSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### {}\n", self.title)?;
        for text in &self.about {
            writeln!(f, "- {text}")?;
        }
        let (title, line) =
            self.base.map_or_else(Default::default, |base| (format!(" × {base} |"), "--:|"));
        writeln!(f, "\n| measure | subject | figure | range | samples |{title} to reach |")?;
        writeln!(f, "|---|---|--:|--:|--:|{line}---|")?;
        for row in &self.rows {
            let ratio = self.base.map(|_| format!(" {} |", times(self.ratio(row))));
            writeln!(
                f,
                "| {} | {} | {} | {} – {} | {} |{} {} |",
                row.measure,
                row.subject,
                number(median(&row.samples)),
                number(row.least()),
                number(row.most()),
                row.samples.len(),
                ratio.unwrap_or_default(),
                self.verdict(row).unwrap_or_default()
            )?;
        }
        let columns = if self.base.is_some() { " |" } else { "" };
        self.lacks.iter().try_for_each(|(subject, reason)| {
            writeln!(f, "| not measured | {subject} | | | |{columns} {reason} |")
        })
    }
}

/// The results of one run.
#[derive(Debug)]
pub(crate) struct RepoTable {
    title: &'static str,
    /// How the figures were made.
    note: &'static str,
    about: Vec<(&'static str, String)>,
    sections: Vec<TreeSection>,
}

impl RepoTable {
    /// Creates an empty one.
    pub(crate) fn new(title: &'static str, note: &'static str) -> Self {
        Self { title, note, about: Vec::new(), sections: Vec::new() }
    }

    /// Adds a line above all tables.
    pub(crate) fn describe(&mut self, what: &'static str, text: String) {
        self.about.push((what, text));
    }

    /// Adds a tree.
    pub(crate) fn push(&mut self, section: TreeSection) {
        self.sections.push(section);
    }

    /// Returns the results as JSON, with every sample.
    pub(crate) fn json(&self) -> Value {
        let about: serde_json::Map<_, _> =
            self.about.iter().map(|(what, text)| ((*what).to_owned(), json!(text))).collect();
        let sections = self.sections.iter().map(|section| {
            let rows: Vec<_> = section.rows.iter().map(|row| section.row_json(row)).collect();
            json!({
                "title": section.title,
                "about": section.about,
                "base": section.base,
                "rows": rows,
                "notMeasured": section.lacks,
            })
        });
        json!({ "about": about, "sections": sections.collect::<Vec<_>>() })
    }
}

impl fmt::Display for RepoTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "## {}\n", self.title)?;
        for (what, text) in &self.about {
            writeln!(f, "- {what}: {text}")?;
        }
        writeln!(f, "- figures: {}", self.note)?;
        self.sections.iter().try_for_each(|section| write!(f, "{section}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(section: &TreeSection, expected: &[&str]) {
        let text = section.to_string();
        let rows: Vec<&str> =
            text.lines().skip_while(|line| !line.starts_with("|---")).skip(1).collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn measures_are_adjacent_and_compared_with_the_base() {
        let mut section = TreeSection::new("A tree", "tokei");
        for (sample, factor) in [(100.0, 1.0), (300.0, 2.0), (200.0, 1.6)] {
            section.add("CPU (ms)", "tokei", None, sample);
            section.add("peak RSS (MB)", "tokei", None, 10.0);
            let aim = Some(RepoTarget::TimesBaseAtMost(1.5));
            section.add("CPU (ms)", "docent", aim, sample * factor);
            section.add("peak RSS (MB)", "docent", Some(RepoTarget::AtMost(300.0)), sample + 50.0);
        }
        check(
            &section,
            &[
                "| CPU (ms) | tokei | 200 | 100 – 300 | 3 | 1.00 |  |",
                "| CPU (ms) | docent | 320 | 100 – 600 | 3 | 1.60 | ≤ 1.5 × tokei: no |",
                "| peak RSS (MB) | tokei | 10.0 | 10.0 – 10.0 | 3 | 1.00 |  |",
                "| peak RSS (MB) | docent | 250 | 150 – 350 | 3 | 25.00 | ≤ 300: yes |",
            ],
        );
        assert!(section.to_string().starts_with("\n### A tree\n\n\n| measure |"));
    }

    #[test]
    fn a_target_without_its_base_is_not_judged() {
        let mut section = TreeSection::new("A tree", "tokei");
        section.add("CPU (ms)", "docent", Some(RepoTarget::TimesBaseAtMost(1.5)), 1.0);
        check(&section, &["| CPU (ms) | docent | 1.0 | 1.0 – 1.0 | 1 |  |  |"]);
        let mut table = RepoTable::new("Figures", "one run");
        table.push(section);
        let row = &table.json()["sections"][0]["rows"][0];
        assert_eq!((&row["median"], &row["aim"]), (&json!(1.0), &Value::Null));
        assert!(table.to_string().starts_with("## Figures\n\n- figures: one run\n\n### A tree\n"));
    }

    #[test]
    fn a_target_may_require_a_peer_to_need_more() {
        let mut section = TreeSection::new("A tree", "parser");
        for (subject, aim, sample) in [
            ("docent", None, 10.0),
            ("slow", Some(RepoTarget::TimesAtLeast(4.0, "docent")), 50.0),
            ("fast", Some(RepoTarget::TimesAtLeast(4.0, "docent")), 30.0),
            ("alone", Some(RepoTarget::TimesAtLeast(4.0, "unknown")), 30.0),
        ] {
            section.add("CPU (ms)", subject, aim, sample);
        }
        check(
            &section,
            &[
                "| CPU (ms) | docent | 10.0 | 10.0 – 10.0 | 1 |  |  |",
                "| CPU (ms) | slow | 50.0 | 50.0 – 50.0 | 1 |  | ≥ 4 × docent: yes |",
                "| CPU (ms) | fast | 30.0 | 30.0 – 30.0 | 1 |  | ≥ 4 × docent: no |",
                "| CPU (ms) | alone | 30.0 | 30.0 – 30.0 | 1 |  |  |",
            ],
        );
    }

    #[test]
    fn a_target_may_require_docent_to_beat_the_best() {
        let mut section = TreeSection::new("Calls", "docent");
        let aim = |limit| Some(RepoTarget::TimesBestAtLeast(limit, &["slow", "fast", "absent"]));
        section.add("calls", "docent", aim(10.0), 900.0);
        section.add("calls", "near", aim(11.0), 900.0);
        section.add("calls", "slow", None, 10.0);
        section.add("calls", "fast", None, 90.0);
        section.add("others", "docent", aim(10.0), 900.0);
        check(
            &section,
            &[
                "| calls | docent | 900 | 900 – 900 | 1 | 1.00 | ≥ 10 × the best peer (10.00): yes |",
                "| calls | near | 900 | 900 – 900 | 1 | 1.00 | ≥ 11 × the best peer (10.00): no |",
                "| calls | slow | 10.0 | 10.0 – 10.0 | 1 | 0.011 |  |",
                "| calls | fast | 90.0 | 90.0 – 90.0 | 1 | 0.10 |  |",
                "| others | docent | 900 | 900 – 900 | 1 | 1.00 |  |",
            ],
        );
    }

    #[test]
    fn a_missing_subject_has_a_row() {
        let mut section = TreeSection::new("Calls", "docent");
        section.add("calls", "docent", None, 1.0);
        section.lack("peer", "it said:\n a|b");
        section.lack("peer", "again");
        check(
            &section,
            &[
                "| calls | docent | 1.0 | 1.0 – 1.0 | 1 | 1.00 |  |",
                "| not measured | peer | | | | | it said: a/b |",
            ],
        );
        let mut section = TreeSection::without_base("Calls");
        section.lack("peer", "x");
        check(&section, &["| not measured | peer | | | | x |"]);
    }

    #[test]
    fn without_a_base_there_is_no_base_column() {
        let mut section = TreeSection::without_base("Calls");
        section.add("wall time (ms)", "docent", Some(RepoTarget::AtMost(5.0)), 4.0);
        check(&section, &["| wall time (ms) | docent | 4.0 | 4.0 – 4.0 | 1 | ≤ 5: yes |"]);
        assert!(
            section.to_string().contains("| samples | to reach |\n|---|---|--:|--:|--:|---|\n")
        );
    }
}
