//! Figures, their ratios and whether docent reaches its targets, as one Markdown table and as JSON.

use super::{peer::PeerName, post::PostForm};
use serde_json::{Value, json};
use std::fmt;

/// The measures, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WireMeasure {
    /// CPU time of a call over pipes, 32 calls in flight.
    StdioCpu,
    /// CPU time of a call over HTTP, 32 connections.
    HttpCpu,
    /// Calls per second on one connection.
    OneConnection,
    /// Calls per second on 32 connections.
    ManyConnections,
    /// Time from exec to the answer of `initialize` over pipes.
    Start,
    /// Resident memory after one handshake over HTTP.
    IdleMemory,
    /// Resident memory after the load.
    LoadedMemory,
    /// Resident memory with this many silent clients over SSE.
    SseClients(usize),
    /// Resident memory with this many silent clients over WebSocket.
    WebSocketClients(usize),
}

impl fmt::Display for WireMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StdioCpu => f.write_str("CPU per call, stdio, 32 in flight (µs)"),
            Self::HttpCpu => f.write_str("CPU per call, HTTP, 32 connections (µs)"),
            Self::OneConnection => f.write_str("calls per second, HTTP, 1 connection"),
            Self::ManyConnections => f.write_str("calls per second, HTTP, 32 connections"),
            Self::Start => f.write_str("start to first answer, stdio (ms)"),
            Self::IdleMemory => f.write_str("idle RSS, HTTP (MB)"),
            Self::LoadedMemory => f.write_str("RSS after load, HTTP (MB)"),
            Self::SseClients(count) => write!(f, "RSS with {count} idle SSE clients (MB)"),
            Self::WebSocketClients(count) => {
                write!(f, "RSS with {count} idle WebSocket clients (MB)")
            }
        }
    }
}

/// A target for docent.
#[derive(Debug, Clone, Copy)]
enum WireTarget {
    FigureAtMost(f64),
    TimesRmcpAtMost(f64),
    TimesTypescriptAtLeast(f64),
}

impl WireMeasure {
    const fn aim(self) -> Option<WireTarget> {
        match self {
            Self::StdioCpu | Self::HttpCpu => Some(WireTarget::TimesRmcpAtMost(1.5)),
            Self::OneConnection | Self::ManyConnections => {
                Some(WireTarget::TimesTypescriptAtLeast(5.0))
            }
            Self::Start => Some(WireTarget::FigureAtMost(15.0)),
            Self::IdleMemory => Some(WireTarget::FigureAtMost(25.0)),
            Self::LoadedMemory => None,
            Self::SseClients(_) | Self::WebSocketClients(_) => {
                Some(WireTarget::FigureAtMost(100.0))
            }
        }
    }
}

impl WireTarget {
    /// Returns the target and whether the row reaches it; `None` if the base was not measured.
    fn verdict(self, row: &WireRowValues) -> Option<String> {
        let (text, met) = match self {
            Self::FigureAtMost(limit) => (format!("≤ {limit}"), row.median <= limit),
            Self::TimesRmcpAtMost(limit) => (format!("≤ {limit} × rmcp"), row.to_rmcp? <= limit),
            Self::TimesTypescriptAtLeast(limit) => {
                (format!("≥ {limit} × TypeScript"), row.to_typescript? >= limit)
            }
        };
        Some(format!("{text}: {}", if met { "yes" } else { "no" }))
    }
}

/// The server and form of call that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) peer: PeerName,
    pub(crate) form: PostForm,
}

impl Subject {
    /// A peer, if the form doesn't matter.
    pub(crate) const fn of(peer: PeerName) -> Self {
        Self { peer, form: PostForm::Session }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.peer.display_name())?;
        if self.form == PostForm::Session { Ok(()) } else { write!(f, ", {}", self.form) }
    }
}

#[derive(Debug)]
struct WireRow {
    measure: WireMeasure,
    subject: Subject,
    samples: Vec<f64>,
}

/// The values of a printed row.
struct WireRowValues {
    median: f64,
    least: f64,
    most: f64,
    to_rmcp: Option<f64>,
    to_typescript: Option<f64>,
}

/// The results of one run.
#[derive(Debug, Default)]
pub(crate) struct WireTable {
    about: Vec<(&'static str, String)>,
    rows: Vec<WireRow>,
}

impl WireTable {
    /// Adds a line above the table.
    pub(crate) fn describe(&mut self, what: &'static str, text: &str) {
        self.about.push((what, text.to_owned()));
    }

    /// Adds a sample of a figure.
    pub(crate) fn add(&mut self, measure: WireMeasure, subject: Subject, sample: f64) {
        match self.rows.iter_mut().find(|row| row.measure == measure && row.subject == subject) {
            Some(row) => row.samples.push(sample),
            None => self.rows.push(WireRow { measure, subject, samples: vec![sample] }),
        }
        self.rows.sort_by_key(|row| row.measure);
    }

    fn figures(&self, row: &WireRow) -> WireRowValues {
        let median = median(&row.samples);
        let ratio = |peers: &[PeerName]| self.base(row, peers).map(|base| median / base);
        WireRowValues {
            median,
            least: row.samples.iter().copied().fold(f64::INFINITY, f64::min),
            most: row.samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            to_rmcp: ratio(&[PeerName::Rmcp]),
            to_typescript: ratio(&[PeerName::Typescript, PeerName::TypescriptV2]),
        }
    }

    /// The figure that a row is compared with: that of the first peer with the same form of call, or, if no peer
    /// has it, with the session form.
    fn base(&self, row: &WireRow, peers: &[PeerName]) -> Option<f64> {
        let of = |form| {
            let mut subjects = peers.iter().map(|peer| Subject { peer: *peer, form });
            subjects.find_map(|subject| {
                self.rows
                    .iter()
                    .find(|other| other.measure == row.measure && other.subject == subject)
            })
        };
        of(row.subject.form).or_else(|| of(PostForm::Session)).map(|base| median(&base.samples))
    }

    fn verdict(row: &WireRow, figures: &WireRowValues) -> Option<String> {
        if row.subject.peer.is_ours() { row.measure.aim()?.verdict(figures) } else { None }
    }

    /// Returns the results as JSON, with every sample.
    pub(crate) fn json(&self) -> Value {
        let about: serde_json::Map<_, _> =
            self.about.iter().map(|(what, text)| ((*what).to_owned(), json!(text))).collect();
        let rows: Vec<_> = self.rows.iter().map(|row| self.row_json(row)).collect();
        json!({ "about": about, "rows": rows })
    }

    fn row_json(&self, row: &WireRow) -> Value {
        let figures = self.figures(row);
        json!({
            "measure": row.measure.to_string(),
            "server": row.subject.peer.display_name(),
            "form": row.subject.form.to_string(),
            "median": figures.median,
            "min": figures.least,
            "max": figures.most,
            "samples": row.samples,
            "toRmcp": figures.to_rmcp,
            "toTypescript": figures.to_typescript,
            "aim": Self::verdict(row, &figures),
        })
    }
}

impl fmt::Display for WireTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Wire benchmark\n")?;
        for (what, text) in &self.about {
            writeln!(f, "- {what}: {text}")?;
        }
        writeln!(
            f,
            "- figures: the median of the samples and their range; × is the figure divided by that of the peer, called the\n  \
             same way (plain POST, which no peer has, by its session form); × TypeScript is version 1 of that SDK,\n  \
             and version 2 for stateless calls, which version 1 lacks; stdio and session calls are {},\n  \
             stateless calls {}; CPU is the server's own, from /proc\n",
            super::message::SESSION_REVISION,
            super::message::STATELESS_REVISION
        )?;
        writeln!(
            f,
            "| measure | server | figure | range | samples | × rmcp | × TypeScript | to reach |"
        )?;
        writeln!(f, "|---|---|--:|--:|--:|--:|--:|---|")?;
        for row in &self.rows {
            let figures = self.figures(row);
            writeln!(
                f,
                "| {} | {} | {} | {} – {} | {} | {} | {} | {} |",
                row.measure,
                row.subject,
                number(figures.median),
                number(figures.least),
                number(figures.most),
                row.samples.len(),
                times(figures.to_rmcp),
                times(figures.to_typescript),
                Self::verdict(row, &figures).unwrap_or_default()
            )?;
        }
        Ok(())
    }
}

/// Returns the median.
pub(crate) fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        at(middle)
    } else {
        f64::midpoint(at(middle.saturating_sub(1)), at(middle))
    }
}

/// Formats a number with its significant digits.
pub(crate) fn number(value: f64) -> String {
    match value {
        0.0001..0.1 => format!("{value:.3}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Formats a ratio, or an empty string if there is no base.
pub(crate) fn times(ratio: Option<f64>) -> String {
    match ratio {
        Some(ratio) if ratio < 0.1 => format!("{ratio:.3}"),
        Some(ratio) => format!("{ratio:.2}"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        for (samples, expected) in [(&[3.0, 1.0, 2.0][..], 2.0), (&[4.0, 1.0], 2.5), (&[7.0], 7.0)]
        {
            assert_eq!(median(samples).to_bits(), f64::to_bits(expected), "{samples:?}");
        }
        assert!(median(&[]).is_nan());
    }

    #[track_caller]
    fn check(figures: &[(WireMeasure, PeerName, PostForm, f64)], expected: &[&str]) {
        let mut table = WireTable::default();
        for (measure, peer, form, sample) in figures {
            table.add(*measure, Subject { peer: *peer, form: *form }, *sample);
        }
        let text = table.to_string();
        let rows: Vec<&str> =
            text.lines().skip_while(|line| !line.starts_with("|---")).skip(1).collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn ratios_compare_the_same_form() {
        use WireMeasure::HttpCpu;
        let cpu = "CPU per call, HTTP, 32 connections (µs)";
        check(
            &[
                (HttpCpu, PeerName::Docent, PostForm::Session, 150.0),
                (HttpCpu, PeerName::Docent, PostForm::Plain, 80.0),
                (HttpCpu, PeerName::Docent, PostForm::Stateless, 80.0),
                (HttpCpu, PeerName::Rmcp, PostForm::Session, 100.0),
                (HttpCpu, PeerName::Rmcp, PostForm::Stateless, 50.0),
                (HttpCpu, PeerName::Typescript, PostForm::Session, 300.0),
                (HttpCpu, PeerName::TypescriptV2, PostForm::Session, 600.0),
                (HttpCpu, PeerName::TypescriptV2, PostForm::Stateless, 800.0),
            ],
            &[
                &format!(
                    "| {cpu} | docent | 150 | 150 – 150 | 1 | 1.50 | 0.50 | ≤ 1.5 × rmcp: yes |"
                ),
                &format!(
                    "| {cpu} | docent, plain POST | 80.0 | 80.0 – 80.0 | 1 | 0.80 | 0.27 | ≤ 1.5 × rmcp: yes |"
                ),
                &format!(
                    "| {cpu} | docent, stateless | 80.0 | 80.0 – 80.0 | 1 | 1.60 | 0.10 | ≤ 1.5 × rmcp: no |"
                ),
                &format!("| {cpu} | rmcp | 100 | 100 – 100 | 1 | 1.00 | 0.33 |  |"),
                &format!("| {cpu} | rmcp, stateless | 50.0 | 50.0 – 50.0 | 1 | 1.00 | 0.062 |  |"),
                &format!("| {cpu} | TypeScript SDK v1 | 300 | 300 – 300 | 1 | 3.00 | 1.00 |  |"),
                &format!("| {cpu} | TypeScript SDK v2 | 600 | 600 – 600 | 1 | 6.00 | 2.00 |  |"),
                &format!(
                    "| {cpu} | TypeScript SDK v2, stateless | 800 | 800 – 800 | 1 | 16.00 | 1.00 |  |"
                ),
            ],
        );
    }

    #[test]
    fn targets_without_a_base_are_not_judged() {
        check(
            &[
                (WireMeasure::Start, PeerName::DocentServe, PostForm::Session, 15.1),
                (WireMeasure::StdioCpu, PeerName::Docent, PostForm::Session, 20.0),
            ],
            &[
                "| CPU per call, stdio, 32 in flight (µs) | docent | 20.0 | 20.0 – 20.0 | 1 |  |  |  |",
                "| start to first answer, stdio (ms) | docent serve | 15.1 | 15.1 – 15.1 | 1 |  |  | ≤ 15: no |",
            ],
        );
    }
}
