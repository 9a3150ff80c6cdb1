//! Counters, and their Prometheus text.

use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

/// The outcome of a request, in metrics and in audit lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestOutcome {
    Ok,
    Error,
    Cancelled,
    Partial,
    Refused,
}

impl RequestOutcome {
    const ALL: [Self; 5] = [Self::Ok, Self::Error, Self::Cancelled, Self::Partial, Self::Refused];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Partial => "partial",
            Self::Refused => "refused",
        }
    }
}

/// Upper bounds of the buckets, in seconds.
const HISTOGRAM_BUCKETS: [(u64, &str); 8] = [
    (1_000, "0.001"),
    (5_000, "0.005"),
    (25_000, "0.025"),
    (100_000, "0.1"),
    (500_000, "0.5"),
    (2_500_000, "2.5"),
    (10_000_000, "10"),
    (60_000_000, "60"),
];

/// Counters of one tool.
#[derive(Debug, Default)]
pub(crate) struct ToolStats {
    ended: [AtomicU64; 5],
    micros: AtomicU64,
    buckets: [AtomicU64; HISTOGRAM_BUCKETS.len()],
}

impl ToolStats {
    pub(crate) fn count(&self, outcome: RequestOutcome, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.ended[outcome as usize].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
        if let Some(bucket) = HISTOGRAM_BUCKETS.iter().position(|(bound, _)| micros <= *bound) {
            self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl ToolStats {
    fn total(&self) -> u64 {
        self.ended.iter().map(|ended| ended.load(Ordering::Relaxed)).sum()
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a sum of microseconds fits a double for a century"
    )]
    fn seconds(&self) -> f64 {
        self.micros.load(Ordering::Relaxed) as f64 / 1e6
    }

    fn json(&self, name: &str) -> Value {
        let ok = self.ended[RequestOutcome::Ok as usize].load(Ordering::Relaxed);
        let calls = self.total();
        let buckets = HISTOGRAM_BUCKETS.iter().zip(&self.buckets).map(|((_, bound), bucket)| {
            json!([bound.parse::<f64>().unwrap_or_default(), bucket.load(Ordering::Relaxed)])
        });
        json!({
            "name": name,
            "calls": calls,
            "errors": calls.saturating_sub(ok),
            "seconds_sum": self.seconds(),
            "buckets": buckets.collect::<Vec<_>>(),
        })
    }
}

/// All counters.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    tools: Mutex<BTreeMap<String, Arc<ToolStats>>>,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) refused_token: AtomicU64,
    pub(crate) refused_rate: AtomicU64,
    pub(crate) refused_seat: AtomicU64,
    pub(crate) refused_crowded: AtomicU64,
    pub(crate) refused_audit: AtomicU64,
    pub(crate) panics: AtomicU64,
}

/// Values measured when the metrics are read.
pub(crate) struct Gauges {
    pub(crate) sessions: usize,
    pub(crate) streams: usize,
    pub(crate) tasks: usize,
    pub(crate) results: usize,
    pub(crate) result_bytes: usize,
    pub(crate) audit_failures: u64,
}

impl Metrics {
    /// The counters of one tool, the same for the lifetime of the server.
    pub(crate) fn tool(&self, name: &str) -> Arc<ToolStats> {
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tools.entry(name.to_owned()).or_default())
    }

    pub(crate) fn text(&self, gauges: &Gauges) -> String {
        let mut out = String::with_capacity(4096);
        self.calls(&mut out);
        head(&mut out, "docent_refused_total", "counter", "Rejected requests, by reason.");
        for (reason, count) in self.refusals() {
            line(&mut out, format_args!("docent_refused_total{{reason=\"{reason}\"}} {count}"));
        }
        for (name, kind, help, value) in self.plain(gauges) {
            head(&mut out, name, kind, help);
            line(&mut out, format_args!("{name} {value}"));
        }
        out
    }

    pub(crate) fn json(&self, gauges: &Gauges) -> Value {
        let refusals = self.refusals().map(|(reason, count)| (format!("refused_{reason}"), count));
        let plain = self.plain(gauges).map(|(name, _, _, value)| {
            (name.trim_start_matches("docent_").trim_end_matches("_total").to_owned(), value)
        });
        let counters: Map<String, Value> =
            refusals.into_iter().chain(plain).map(|(name, value)| (name, value.into())).collect();
        let tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        let tools = tools.iter().map(|(name, stats)| stats.json(name));
        json!({"counters": counters, "tools": tools.filter(|tool| tool["calls"] != 0).collect::<Vec<_>>()})
    }

    fn refusals(&self) -> [(&'static str, u64); 5] {
        [
            ("token", &self.refused_token),
            ("rate", &self.refused_rate),
            ("seat", &self.refused_seat),
            ("crowded", &self.refused_crowded),
            ("audit", &self.refused_audit),
        ]
        .map(|(reason, counter)| (reason, counter.load(Ordering::Relaxed)))
    }

    /// Name, kind, help and value of metrics without labels.
    fn plain(&self, gauges: &Gauges) -> [(&'static str, &'static str, &'static str, u64); 8] {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            (
                "docent_tool_panics_total",
                "counter",
                "Calls that ended in a panic.",
                load(&self.panics),
            ),
            (
                "docent_audit_failures_total",
                "counter",
                "Audit lines that could not be written.",
                gauges.audit_failures,
            ),
            (
                "docent_calls_in_flight",
                "gauge",
                "Calls running or waiting.",
                self.in_flight.load(Ordering::Relaxed) as u64,
            ),
            ("docent_sessions", "gauge", "Sessions open.", gauges.sessions as u64),
            ("docent_streams", "gauge", "Streams open.", gauges.streams as u64),
            ("docent_tasks", "gauge", "Tasks running.", gauges.tasks as u64),
            (
                "docent_results",
                "gauge",
                "Stored answers with further parts.",
                gauges.results as u64,
            ),
            (
                "docent_result_bytes",
                "gauge",
                "Bytes of stored further parts.",
                gauges.result_bytes as u64,
            ),
        ]
    }

    fn calls(&self, out: &mut String) {
        let tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        head(out, "docent_tool_calls_total", "counter", "Finished calls, by tool and outcome.");
        for (tool, stats) in tools.iter() {
            for outcome in RequestOutcome::ALL {
                let count = stats.ended[outcome as usize].load(Ordering::Relaxed);
                if count > 0 {
                    let outcome = outcome.name();
                    line(
                        out,
                        format_args!(
                            "docent_tool_calls_total{{tool=\"{tool}\",outcome=\"{outcome}\"}} {count}"
                        ),
                    );
                }
            }
        }
        head(out, "docent_tool_call_seconds", "histogram", "Duration of calls, by tool.");
        for (tool, stats) in tools.iter() {
            let count = stats.total();
            if count == 0 {
                continue;
            }
            let mut below = 0;
            for ((_, bound), bucket) in HISTOGRAM_BUCKETS.iter().zip(&stats.buckets) {
                below += bucket.load(Ordering::Relaxed);
                line(
                    out,
                    format_args!(
                        "docent_tool_call_seconds_bucket{{tool=\"{tool}\",le=\"{bound}\"}} {below}"
                    ),
                );
            }
            let seconds = stats.seconds();
            line(
                out,
                format_args!(
                    "docent_tool_call_seconds_bucket{{tool=\"{tool}\",le=\"+Inf\"}} {count}"
                ),
            );
            line(out, format_args!("docent_tool_call_seconds_sum{{tool=\"{tool}\"}} {seconds}"));
            line(out, format_args!("docent_tool_call_seconds_count{{tool=\"{tool}\"}} {count}"));
        }
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    line(out, format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string can't fail.
    writeln!(out, "{text}").unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_prometheus_reads() {
        let metrics = Metrics::default();
        metrics.tool("echo").count(RequestOutcome::Ok, Duration::from_millis(2));
        metrics.tool("echo").count(RequestOutcome::Error, Duration::from_secs(3));
        metrics.refused_rate.fetch_add(2, Ordering::Relaxed);
        let gauges = Gauges {
            sessions: 3,
            streams: 0,
            tasks: 0,
            results: 0,
            result_bytes: 0,
            audit_failures: 1,
        };
        let json = metrics.json(&gauges);
        assert_eq!(json["counters"]["refused_rate"], 2);
        assert_eq!(json["tools"][0]["name"], "echo");
        assert_eq!(
            (&json["tools"][0]["calls"], &json["tools"][0]["errors"]),
            (&json!(2), &json!(1))
        );
        let text = metrics.text(&gauges);
        for want in [
            "docent_tool_calls_total{tool=\"echo\",outcome=\"ok\"} 1\n",
            "docent_tool_calls_total{tool=\"echo\",outcome=\"error\"} 1\n",
            "docent_tool_call_seconds_bucket{tool=\"echo\",le=\"0.001\"} 0\n",
            "docent_tool_call_seconds_bucket{tool=\"echo\",le=\"0.005\"} 1\n",
            "docent_tool_call_seconds_bucket{tool=\"echo\",le=\"10\"} 2\n",
            "docent_tool_call_seconds_bucket{tool=\"echo\",le=\"+Inf\"} 2\n",
            "docent_tool_call_seconds_count{tool=\"echo\"} 2\n",
            "docent_refused_total{reason=\"rate\"} 2\n",
            "# TYPE docent_sessions gauge\ndocent_sessions 3\n",
            "docent_audit_failures_total 1\n",
        ] {
            assert!(text.contains(want), "{want}\n{text}");
        }
    }
}
