//! The tables of docs/seeds.md, for the tests that walk the seed documents.

use std::{collections::VecDeque, fs, path::Path};

/// A walk through one seed's table, row by row, in the document's order.
pub(crate) struct Walk {
    seed: String,
    rows: VecDeque<Row>,
}

struct Row {
    lines: String,
    statement: String,
}

impl Walk {
    /// Reads the table whose heading starts with this number.
    pub(crate) fn of(seed: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/seeds.md");
        let text = fs::read_to_string(path).unwrap();
        let heading = format!("## {seed} ");
        let section = text.lines().skip_while(|line| !line.starts_with(&heading)).skip(1);
        let table = section.take_while(|line| !line.starts_with("## "));
        let rows = table.filter(|line| line.starts_with('|')).skip(2).map(parse_row).collect();
        Self { seed: seed.to_owned(), rows }
    }

    /// Moves on to the next row, which must have these lines of the document.
    #[track_caller]
    pub(crate) fn at(&mut self, lines: &str) {
        let Some(row) = self.rows.pop_front() else {
            panic!("docs/seeds.md has no row {lines} at the end of the table of seed {}", self.seed)
        };
        assert_eq!(row.lines, lines, "next in docs/seeds.md, seed {}: {}", self.seed, row.statement);
    }

    /// Ends the walk, at the end of the table.
    #[track_caller]
    pub(crate) fn end(&self) {
        let left: Vec<&str> = self.rows.iter().map(|row| row.lines.as_str()).collect();
        assert!(left.is_empty(), "rows of seed {} that no step of the walk shows: {left:?}", self.seed);
    }
}

/// Splits a row, whose verdict is `works` or `differs: ` and a reason.
fn parse_row(line: &str) -> Row {
    let line = line.replace("\\|", "\u{1}");
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [lines, statement, verdict] = cells[..] else { panic!("not three cells: {line}") };
    let has_reason = verdict.strip_prefix("differs: ").is_some_and(|reason| !reason.is_empty());
    assert!(verdict == "works" || has_reason, "neither works nor differs: {line}");
    Row { lines: lines.to_owned(), statement: statement.to_owned() }
}
