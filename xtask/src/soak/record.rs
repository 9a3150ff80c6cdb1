//! The outcomes of calls: counts, times, and the expected audit entries.

use super::questions::{AnswerVerdict, AuditTrace, SoakQuestion};
use serde_json::Value;
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

/// The number of problems shown; the rest are only counted.
const SHOWN_PROBLEMS: usize = 12;

/// How often a request was sent and answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RequestCounts {
    pub(super) sent: u32,
    pub(super) answered: u32,
}

/// A call answered with the error that its server is gone.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerGoneAnswer {
    pub(super) server: u32,
    pub(super) asked_at: Instant,
    pub(super) at: Instant,
}

/// The results of one client, or of all clients of one transport.
#[derive(Debug, Default)]
pub(super) struct SoakRecord {
    pub(super) clients: u32,
    pub(super) sent: u32,
    pub(super) answered: u32,
    /// Cancelled, and not answered.
    pub(super) cancelled: u32,
    /// In flight when the client dropped its connection.
    pub(super) abandoned: u32,
    /// Neither answered nor cancelled.
    pub(super) lost: u32,
    /// Answers that belong to another call or client.
    pub(super) crossed: u32,
    /// Messages that don't belong to any call of the client that received them.
    pub(super) strays: u32,
    /// Connections that failed without being dropped on purpose.
    pub(super) broken: u32,
    /// Invalid answers.
    pub(super) wrong: u32,
    pub(super) progress: u32,
    pub(super) server_gone: Vec<ServerGoneAnswer>,
    /// Texts that a downstream server reported as signed.
    pub(super) signed: Vec<String>,
    pub(super) traces: HashMap<AuditTrace, RequestCounts>,
    pub(super) problems: Vec<String>,
    pub(super) micros: Vec<u32>,
}

impl SoakRecord {
    /// Records a request that was sent or is about to be.
    pub(super) fn record_sent(&mut self, question: &SoakQuestion) {
        self.sent += 1;
        if let Some(trace) = question.trace() {
            self.traces.entry(trace).or_default().sent += 1;
        }
    }

    /// Records an answer with the question's id.
    pub(super) fn answer(&mut self, question: &SoakQuestion, answer: &Value, asked_at: Instant) {
        match question.judge(answer) {
            AnswerVerdict::Own => {
                self.answered += 1;
                let took = u32::try_from(asked_at.elapsed().as_micros()).unwrap_or(u32::MAX);
                self.micros.push(took);
                self.signed.extend(question.signed_text().map(str::to_owned));
                self.expect_audit_entry(question);
            }
            AnswerVerdict::ServerGone => {
                let (desk, at) = (question.server().unwrap_or_default(), Instant::now());
                self.server_gone.push(ServerGoneAnswer { server: desk, asked_at, at });
                self.expect_audit_entry(question);
            }
            AnswerVerdict::Foreign(what) => {
                self.crossed += 1;
                self.note(format!("crossed: {what}"));
            }
            AnswerVerdict::Wrong(what) => {
                self.wrong += 1;
                self.note(what);
            }
        }
    }

    /// Expects an audit entry.
    fn expect_audit_entry(&mut self, question: &SoakQuestion) {
        if let Some(trace) = question.trace() {
            self.traces.entry(trace).or_default().answered += 1;
        }
    }

    /// Records an unsolicited message.
    pub(super) fn record_stray(&mut self, what: &str) {
        self.strays += 1;
        self.note(format!("crossed: {what}"));
    }

    /// Records a call without an answer that was not cancelled.
    pub(super) fn record_lost(&mut self, question: &SoakQuestion, why: &str) {
        self.lost += 1;
        self.note(format!(
            "lost: {} {} (id {}): {why}",
            question.method, question.target, question.id
        ));
    }

    /// Records a problem for the final report.
    pub(super) fn note(&mut self, what: String) {
        if self.problems.len() < SHOWN_PROBLEMS {
            self.problems.push(what);
        }
    }

    /// Adds the expected audit entries and the problems of another record.
    pub(super) fn note_all(&mut self, other: &Self) {
        for (trace, asked) in &other.traces {
            let own = self.traces.entry(*trace).or_default();
            own.sent += asked.sent;
            own.answered += asked.answered;
        }
        for problem in &other.problems {
            self.note(problem.clone());
        }
    }

    /// Adds all of another record.
    pub(super) fn merge(&mut self, other: Self) {
        self.clients += other.clients;
        self.sent += other.sent;
        self.answered += other.answered;
        self.cancelled += other.cancelled;
        self.abandoned += other.abandoned;
        self.lost += other.lost;
        self.crossed += other.crossed;
        self.strays += other.strays;
        self.broken += other.broken;
        self.wrong += other.wrong;
        self.progress += other.progress;
        self.note_all(&other);
        self.server_gone.extend(other.server_gone);
        self.signed.extend(other.signed);
        self.micros.extend(other.micros);
    }

    /// Returns the times within which these shares of the calls were answered.
    pub(super) fn percentiles<const N: usize>(&mut self, shares: [f64; N]) -> [Duration; N] {
        self.micros.sort_unstable();
        shares.map(|share| {
            let micros = super::watch::percentile(&self.micros, share).copied().unwrap_or(0);
            Duration::from_micros(micros.into())
        })
    }

    /// Whether every call has exactly one outcome.
    pub(super) fn is_balanced(&self) -> bool {
        let ends =
            [self.answered, self.cancelled, self.abandoned, self.lost, self.crossed, self.wrong];
        let gone = u32::try_from(self.server_gone.len()).unwrap_or(u32::MAX);
        self.sent == ends.iter().sum::<u32>() + gone
    }
}

/// A comparison of the audit log with the calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AuditComparison {
    pub(super) lines: u32,
    /// Answered calls without an entry.
    pub(super) missing: u32,
    /// Entries without a sent call.
    pub(super) surplus: u32,
    /// Lines that can't be parsed.
    pub(super) torn: u32,
}

/// Compares the audit log with the calls: an entry for each answered call, and none that was not sent.
pub(super) fn reconcile<'a>(
    lines: impl Iterator<Item = &'a str>,
    traces: &HashMap<AuditTrace, RequestCounts>,
) -> AuditComparison {
    let mut audited = AuditComparison::default();
    let mut found: HashMap<AuditTrace, u32> = HashMap::new();
    for line in lines {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            audited.torn += 1;
            continue;
        };
        // Entries about the log itself, and about requests rejected before they were calls.
        if line.get("kind").is_some() || line["method"] == "door" {
            continue;
        }
        audited.lines += 1;
        let text = |key: &str| line[key].as_str().unwrap_or_default();
        let method = text("method");
        let (target, digest) = match method {
            "resources/read" => (text("uri"), ""),
            "prompts/get" => (text("prompt"), text("digest")),
            _ => (text("tool"), text("digest")),
        };
        *found.entry(AuditTrace::of(text("principal"), method, target, digest)).or_default() += 1;
    }
    for (trace, asked) in traces {
        let lines = found.remove(trace).unwrap_or(0);
        audited.missing += asked.answered.saturating_sub(lines);
        audited.surplus += lines.saturating_sub(asked.sent);
    }
    audited.surplus += found.into_values().sum::<u32>();
    audited
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            flaky_server::SideEffects,
            questions::{QuestionKind, SoakIdentity},
        },
        *,
    };
    use serde_json::json;

    fn question(kind: QuestionKind, sequence: u32) -> SoakQuestion {
        SoakQuestion::new(&SoakIdentity::numbered(4), kind, (sequence, sequence))
    }

    #[test]
    fn every_call_has_one_outcome() {
        let mut record = SoakRecord::default();
        let now = Instant::now();
        let mut asked: Vec<SoakQuestion> =
            (1..=4).map(|n| question(QuestionKind::Query, n)).collect();
        asked.push(question(QuestionKind::FlakyServer(SideEffects::None), 5));
        for one in &asked {
            record.record_sent(one);
        }
        assert!(!record.is_balanced());
        record.answer(&asked[0], &json!({"result": asked[0].expected}), now);
        record.answer(&asked[1], &json!({"result": asked[0].expected}), now);
        record.answer(&asked[2], &json!({"error": "no"}), now);
        record.record_lost(&asked[3], "silence");
        record.answer(&asked[4], &json!({"error": {"message": "the server `desk2`: gone"}}), now);
        assert!(record.is_balanced());
        let counts = [record.answered, record.crossed, record.wrong, record.lost];
        assert_eq!((counts, record.problems.len()), ([1, 1, 1, 1], 3));
        let mut all = SoakRecord::default();
        all.merge(record);
        assert!(
            all.is_balanced()
                && all.sent == 5
                && all.traces.len() == 5
                && all.server_gone.len() == 1
        );
    }

    #[test]
    fn the_audit_log_is_compared_with_the_calls() {
        // The digest that docent writes for these arguments.
        let prompt = |client: &str| {
            let digest = "54b1ff1b6c9d6e2b1b2c1a8d";
            json!({"principal": client, "method": "prompts/get", "prompt": "p", "digest": digest})
        };
        let read = json!({"principal": "alpha", "method": "resources/read", "digest": "x",
                          "uri": "ast://project/clients/c0004.ts"})
        .to_string();
        let own = question(QuestionKind::ReadOwn, 1);
        let check = |sent, answered, lines: &[&str], expected: [u32; 4]| {
            let traces = HashMap::from([(own.trace().unwrap(), RequestCounts { sent, answered })]);
            let found = reconcile(lines.iter().copied(), &traces);
            let AuditComparison { lines: read, missing, surplus, torn } = found;
            assert_eq!([read, missing, surplus, torn], expected, "{sent} {answered} {lines:?}");
        };
        check(2, 2, &[&read, &read], [2, 0, 0, 0]);
        check(2, 1, &[&read], [1, 0, 0, 0]);
        check(2, 1, &[&read, &read], [2, 0, 0, 0]);
        check(2, 2, &[&read], [1, 1, 0, 0]);
        check(1, 1, &[&read, &read], [2, 0, 1, 0]);
        check(1, 1, &[&read, "{\"principal\":\"al"], [1, 0, 0, 1]);
        check(1, 1, &[&read, &prompt("beta").to_string()], [2, 0, 1, 0]);
        let others = [read.as_str(), r#"{"kind":"rotated_elsewhere"}"#, r#"{"method":"door"}"#];
        check(1, 1, &others, [1, 0, 0, 0]);
    }
}
