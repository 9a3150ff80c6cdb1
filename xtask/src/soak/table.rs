//! Formats the results of a soak as tables.

use super::{link::SoakTransport, record::SoakRecord};
use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    time::Duration,
};

/// An invariant and whether it was satisfied.
#[derive(Debug)]
pub(super) struct SoakInvariant {
    pub(super) what: &'static str,
    pub(super) found: String,
    /// `None` if the run was too short to tell.
    pub(super) holds: Option<bool>,
}

impl SoakInvariant {
    /// Creates an invariant with a known result.
    pub(super) fn new(what: &'static str, found: String, holds: bool) -> Self {
        Self { what, found, holds: Some(holds) }
    }

    const fn word(&self) -> &'static str {
        match self.holds {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "too short to tell",
        }
    }
}

/// The printed results.
#[derive(Debug)]
pub(super) struct SoakOutcome {
    /// One per transport, in order.
    pub(super) ways: Vec<(SoakTransport, SoakRecord)>,
    pub(super) faults: BTreeMap<&'static str, u32>,
    pub(super) invariants: Vec<SoakInvariant>,
    pub(super) problems: Vec<String>,
    /// Remarks that are neither good nor bad.
    pub(super) notes: Vec<String>,
}

impl SoakOutcome {
    /// True if no invariant is violated.
    pub(super) fn is_good(&self) -> bool {
        self.invariants.iter().all(|one| one.holds != Some(false))
    }

    /// Formats the three tables, with the problems below them.
    pub(super) fn print(&mut self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        self.write(&mut text).ok();
        text
    }

    fn write(&mut self, out: &mut String) -> fmt::Result {
        writeln!(
            out,
            "| transport | clients | calls | answered | cancelled | dropped | server gone | lost | crossed | wrong | p50 (ms) | p99 (ms) | max (ms) |"
        )?;
        writeln!(out, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
        let mut all = SoakRecord::default();
        for (way, mut record) in self.ways.drain(..) {
            row(out, way.name(), &mut record)?;
            all.merge(record);
        }
        row(out, "all", &mut all)?;
        writeln!(out, "\n| fault | times |\n|---|--:|")?;
        for (what, times) in &self.faults {
            writeln!(out, "| {what} | {times} |")?;
        }
        writeln!(out, "\n| invariant | found | holds |\n|---|---|---|")?;
        for one in &self.invariants {
            writeln!(out, "| {} | {} | {} |", one.what, one.found, one.word())?;
        }
        writeln!(out)?;
        for note in &self.notes {
            writeln!(out, "- {note}")?;
        }
        if !self.problems.is_empty() {
            writeln!(out, "\nproblems:")?;
        }
        for problem in &self.problems {
            writeln!(out, "- {problem}")?;
        }
        Ok(())
    }
}

fn row(out: &mut String, name: &str, record: &mut SoakRecord) -> fmt::Result {
    let [p50, p99, max] = record.percentiles([0.5, 0.99, 1.0]).map(milliseconds);
    writeln!(
        out,
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {p50} | {p99} | {max} |",
        record.clients,
        record.sent,
        record.answered,
        record.cancelled,
        record.abandoned,
        record.server_gone.len(),
        record.lost,
        record.crossed + record.strays,
        record.wrong,
    )
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violated_invariant_is_bad_and_an_undecided_one_is_not() {
        let check = |holds, good, word: &str| {
            let one = SoakInvariant { what: "lost calls", found: "3".into(), holds };
            let record =
                SoakRecord { clients: 2, sent: 5, answered: 2, lost: 3, ..SoakRecord::default() };
            let mut outcome = SoakOutcome {
                ways: vec![(SoakTransport::Sse, record)],
                faults: BTreeMap::from([("file removed", 7)]),
                invariants: vec![one],
                problems: vec!["lost: x".into()],
                notes: vec!["a note".into()],
            };
            assert_eq!(outcome.is_good(), good, "{holds:?}");
            let text = outcome.print();
            for line in [
                "| SSE | 2 | 5 | 2 | 0 | 0 | 0 | 3 | 0 | 0 | 0.0 | 0.0 | 0.0 |",
                "| all | 2 | 5 | 2 | 0 | 0 | 0 | 3 |",
                "| file removed | 7 |",
                &format!("| lost calls | 3 | {word} |"),
                "- a note\n",
                "- lost: x",
            ] {
                assert!(text.contains(line), "{line} is not in\n{text}");
            }
        };
        check(Some(true), true, "yes");
        check(Some(false), false, "**no**");
        check(None, true, "too short to tell");
    }
}
