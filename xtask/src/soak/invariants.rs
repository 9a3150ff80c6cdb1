//! The invariants checked at the end of a soak.

use super::{
    faults::FaultLog,
    flaky_server,
    link::SoakTransport,
    record::{AuditComparison, SoakRecord},
    table::SoakInvariant,
    watch::{DescriptorCounts, MemorySamples},
};
use std::{collections::BTreeMap, process::ExitStatus, time::Duration};

/// Memory is still warming up in a shorter run.
const MIN_RUN_FOR_MEMORY: Duration = Duration::from_mins(1);
const MAX_GROWTH_PERCENT: f64 = 5.0;
/// The index keeps files open, a few more after edits than before; leaked clients would be hundreds.
const EXTRA_DESCRIPTORS: u32 = 16;
/// docent waits this long before it restarts a server that was killed several times in a row.
const MAX_RESTART_DELAY: Duration = Duration::from_secs(5);

/// What was observed during the soak.
pub(super) struct SoakObservations<'a> {
    pub(super) ways: &'a [(SoakTransport, SoakRecord)],
    pub(super) audited: AuditComparison,
    pub(super) samples: &'a MemorySamples,
    pub(super) length: Duration,
    /// Before the clients came and after they left.
    pub(super) descriptors: (DescriptorCounts, DescriptorCounts),
    /// docent's exit status on SIGTERM, and how long that took.
    pub(super) ended: (Option<ExitStatus>, Duration),
    /// docent's output.
    pub(super) log: &'a str,
    pub(super) faults: &'a FaultLog,
    pub(super) servers: FlakyServerResults,
}

/// Observations of the downstream servers.
#[derive(Debug, Default)]
pub(super) struct FlakyServerResults {
    /// How often each text was signed.
    pub(super) signed: BTreeMap<String, u32>,
    /// How many answered after the last kill.
    pub(super) restarted: u32,
    pub(super) warm: bool,
    /// Processes that outlived docent.
    pub(super) leftover: Vec<String>,
}

/// Checks all invariants.
pub(super) fn all(seen: &SoakObservations<'_>) -> Vec<SoakInvariant> {
    let sum =
        |of: fn(&SoakRecord) -> u32| seen.ways.iter().map(|(_, record)| of(record)).sum::<u32>();
    let none = |what, of: fn(&SoakRecord) -> u32| {
        let found = sum(of);
        SoakInvariant::new(what, found.to_string(), found == 0)
    };
    let silent: Vec<&str> = seen
        .ways
        .iter()
        .filter(|(_, record)| record.clients > 0 && record.answered == 0)
        .map(|(way, _)| way.name())
        .collect();
    let unbalanced = seen.ways.iter().filter(|(_, record)| !record.is_balanced()).count();
    let panics = seen.log.lines().filter(|line| line.contains("panicked")).count();
    let bad = seen.faults.problems().len();
    vec![
        none("no answer lost", |record| record.lost),
        none("no answer to another call, client or key", |record| record.crossed + record.strays),
        none("no answer wrong", |record| record.wrong),
        none("no connection broken by docent", |record| record.broken),
        SoakInvariant::new(
            "answers on every transport, one outcome per call",
            match (silent.is_empty(), unbalanced) {
                (true, 0) => sum(|record| record.answered).to_string(),
                (true, _) => format!("{unbalanced} transports with calls unaccounted for"),
                (false, _) => format!("none on {}", silent.join(", ")),
            },
            silent.is_empty() && unbalanced == 0,
        ),
        progress(sum(|record| record.progress), seen.length),
        audit(&seen.audited),
        memory(seen.samples, seen.length),
        descriptors(seen.descriptors, seen.samples.most_sockets),
        end(seen.ended),
        SoakInvariant::new("no panic in the log", panics.to_string(), panics == 0),
        server_gone_answers(seen),
        signed_once(seen),
        servers_restarted(seen),
        SoakInvariant::new(
            "no process left behind",
            match seen.servers.leftover.as_slice() {
                [] => "none".to_owned(),
                left => left.join(", "),
            },
            seen.servers.leftover.is_empty(),
        ),
        SoakInvariant::new("correct answers to faults", format!("{bad} wrong"), bad == 0),
    ]
}

/// Checks that progress arrived. Long calls are rare: a slow machine may make none in a few seconds.
fn progress(heard: u32, length: Duration) -> SoakInvariant {
    let holds = (heard > 0 || length >= MIN_RUN_FOR_MEMORY).then_some(heard > 0);
    SoakInvariant { what: "progress received", found: heard.to_string(), holds }
}

/// Checks that servers answer while they run: an error needs a kill.
fn server_gone_answers(seen: &SoakObservations<'_>) -> SoakInvariant {
    let kills = seen.faults.kills();
    let all = seen.ways.iter().flat_map(|(_, record)| &record.server_gone);
    let (mut count, mut unfounded) = (0, 0);
    for answer in all {
        count += 1;
        let killed = kills.iter().any(|(desk, at)| {
            *desk == answer.server && *at <= answer.at && *at + MAX_RESTART_DELAY >= answer.asked_at
        });
        unfounded += u32::from(!killed);
    }
    SoakInvariant::new(
        "errors that a server is gone: only if it was killed",
        format!("{count} errors, {unfounded} without a kill"),
        unfounded == 0,
    )
}

fn signed_once(seen: &SoakObservations<'_>) -> SoakInvariant {
    let twice = seen.servers.signed.values().filter(|times| **times > 1).count();
    let answered: Vec<&String> = seen.ways.iter().flat_map(|(_, record)| &record.signed).collect();
    let never = answered.iter().filter(|text| !seen.servers.signed.contains_key(**text)).count();
    SoakInvariant::new(
        "calls that are not idempotent: made once if answered, and never twice",
        format!(
            "{} made, {} answered; {never} never, {twice} twice",
            seen.servers.signed.len(),
            answered.len()
        ),
        twice + never == 0,
    )
}

fn servers_restarted(seen: &SoakObservations<'_>) -> SoakInvariant {
    let (kills, FlakyServerResults { restarted: back, warm, .. }) =
        (seen.faults.kills().len(), &seen.servers);
    let warm_word = if *warm { "the warm one" } else { "none" };
    SoakInvariant::new(
        "killed servers restarted: the warm one by itself, the others on demand",
        format!(
            "{kills} kills; {warm_word} ran by itself, {back} of {} answered",
            flaky_server::FLAKY_SERVERS
        ),
        kills > 0 && *warm && *back == flaky_server::FLAKY_SERVERS,
    )
}

fn audit(found: &AuditComparison) -> SoakInvariant {
    let AuditComparison { lines, missing, surplus, torn } = found;
    SoakInvariant::new(
        "one audit entry for each audited call",
        format!("{lines} entries; {missing} missing, {surplus} too many, {torn} torn"),
        *lines > 0 && missing + surplus + torn == 0,
    )
}

fn memory(samples: &MemorySamples, length: Duration) -> SoakInvariant {
    let what = "memory flat after the warm-up (less than 5 % growth over the last two thirds)";
    let Some(growth) = samples.growth() else {
        return SoakInvariant { what, found: "too few samples".to_owned(), holds: None };
    };
    let percent = growth.percent();
    SoakInvariant {
        what,
        found: format!(
            "{:.1} MB to {:.1} MB ({percent:+.1} %), at most {:.1} MB",
            growth.from, growth.to, growth.most
        ),
        holds: (length >= MIN_RUN_FOR_MEMORY).then_some(percent < MAX_GROWTH_PERCENT),
    }
}

fn descriptors((before, after): (DescriptorCounts, DescriptorCounts), most: u32) -> SoakInvariant {
    SoakInvariant::new(
        "sockets back to the start once the clients are gone",
        format!(
            "{} before, {most} at most, {} after; with files {} and {}",
            before.sockets, after.sockets, before.all, after.all
        ),
        after.sockets <= before.sockets && after.all <= before.all + EXTRA_DESCRIPTORS,
    )
}

fn end((status, took): (Option<ExitStatus>, Duration)) -> SoakInvariant {
    SoakInvariant::new(
        "SIGTERM: exit 0 within 6 s",
        match status {
            Some(status) => format!("{status} after {:.1} s", took.as_secs_f64()),
            None => format!("still running after {:.1} s", took.as_secs_f64()),
        },
        status.is_some_and(|status| status.success()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soak::record::ServerGoneAnswer;
    use std::{os::unix::process::ExitStatusExt as _, time::Instant};

    /// A successful run, changed by the case.
    fn broken(
        change: impl FnOnce(&mut SoakRecord, &mut SoakObservations<'_>),
    ) -> Vec<&'static str> {
        let mut record =
            SoakRecord { clients: 2, sent: 9, answered: 9, progress: 1, ..SoakRecord::default() };
        let (samples, faults) = (MemorySamples::default(), FaultLog::default());
        faults.kill(1);
        let desks = FlakyServerResults {
            restarted: flaky_server::FLAKY_SERVERS,
            warm: true,
            ..FlakyServerResults::default()
        };
        let open = DescriptorCounts { all: 20, sockets: 2 };
        let mut seen = SoakObservations {
            ways: &[],
            audited: AuditComparison { lines: 9, ..AuditComparison::default() },
            samples: &samples,
            length: Duration::from_secs(10),
            descriptors: (open, open),
            ended: (Some(ExitStatus::from_raw(0)), Duration::from_secs(1)),
            log: "listening",
            faults: &faults,
            servers: desks,
        };
        change(&mut record, &mut seen);
        let ways = [(SoakTransport::Sse, record)];
        let seen = SoakObservations { ways: &ways, ..seen };
        let found = all(&seen).into_iter().filter(|one| one.holds == Some(false));
        found.map(|one| one.what).collect()
    }

    #[test]
    fn each_can_fail_alone() {
        assert_eq!(broken(|_, _| {}), [""; 0]);
        let check = |word: &str, found: &[&str]| {
            assert!(found.len() == 1 && found[0].contains(word), "{word}: {found:?}");
        };
        check("lost", &broken(|record, _| (record.lost, record.sent) = (1, 10)));
        check("another call", &broken(|record, _| record.strays = 1));
        check("another call", &broken(|record, _| (record.crossed, record.sent) = (1, 10)));
        check("wrong", &broken(|record, _| (record.wrong, record.sent) = (1, 10)));
        check("broken", &broken(|record, _| record.broken = 1));
        check("one outcome", &broken(|record, _| record.sent = 10));
        check("every transport", &broken(|record, _| (record.answered, record.sent) = (0, 0)));
        check(
            "progress",
            &broken(|record, seen| (record.progress, seen.length) = (0, MIN_RUN_FOR_MEMORY)),
        );
        assert_eq!(broken(|record, _| record.progress = 0), [""; 0], "too short to judge");
        check("audit", &broken(|_, seen| seen.audited.missing = 1));
        check("audit", &broken(|_, seen| seen.audited.surplus = 1));
        check("audit", &broken(|_, seen| seen.audited.torn = 1));
        check("sockets", &broken(|_, seen| seen.descriptors.1.sockets = 3));
        check("sockets", &broken(|_, seen| seen.descriptors.1.all = 40));
        check("SIGTERM", &broken(|_, seen| seen.ended.0 = None));
        check("SIGTERM", &broken(|_, seen| seen.ended.0 = Some(ExitStatus::from_raw(9))));
        check("panic", &broken(|_, seen| seen.log = "thread 'x' panicked at y"));
        let now = Instant::now();
        let gone = |desk| ServerGoneAnswer {
            server: desk,
            asked_at: now,
            at: now + Duration::from_secs(1),
        };
        assert_eq!(
            broken(|record, _| (record.server_gone, record.sent) = (vec![gone(1)], 10)),
            [""; 0]
        );
        check(
            "only if",
            &broken(|record, _| (record.server_gone, record.sent) = (vec![gone(0)], 10)),
        );
        let twice = BTreeMap::from([("a".to_owned(), 2)]);
        check("never twice", &broken(|_, seen| seen.servers.signed = twice));
        check("never twice", &broken(|record, _| record.signed = vec!["b".to_owned()]));
        check("restarted", &broken(|_, seen| seen.servers.restarted = 2));
        check("restarted", &broken(|_, seen| seen.servers.warm = false));
        check("left behind", &broken(|_, seen| seen.servers.leftover = vec!["7".to_owned()]));
        check("faults", &broken(|_, seen| seen.faults.problem("no 413".into())));
    }

    #[test]
    fn memory_is_judged_in_long_runs() {
        let check = |slope: f64, seconds: u32, expected: Option<bool>| {
            let samples = MemorySamples::of((0..=seconds).map(|at| 100.0 + slope * f64::from(at)));
            let found = memory(&samples, Duration::from_secs(seconds.into()));
            assert_eq!(found.holds, expected, "{slope} {seconds}: {}", found.found);
        };
        check(0.0, 120, Some(true));
        check(0.01, 120, Some(true));
        check(0.1, 120, Some(false));
        check(-0.1, 120, Some(true));
        check(1.0, 20, None);
    }
}
