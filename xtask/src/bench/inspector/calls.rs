//! What capture costs a call through `docent serve`: without the inspector, and with capture off, on, and on with
//! payloads. Each level of each round has its own server process; the order of the levels changes each round.

use crate::{
    bench::{
        code::percentile,
        hub::gateway_home::{BenchDownstream, BenchExposure, GatewayHome},
        load::{LoadResult, LoadStretch, Stopwatch},
        message::ECHO,
        peer::eprint_step,
        post::{self, EchoEndpoint, PostConnection, PostForm},
        repo::table::{RepoTarget, TreeSection},
        usage,
    },
    docent::DocentProgram,
    process::{BackgroundProcess, free_port},
};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::PathBuf,
    time::{Duration, Instant},
};

const START_LIMIT: Duration = Duration::from_mins(1);
const IN_FLIGHT: u32 = 16;
/// More than the ring buffer's capacity, so that dropping the oldest is measured too.
const WARM_UP: LoadStretch = LoadStretch { time: Duration::from_secs(10), calls: 6000 };
/// With capture off, a call may cost this much because the page exists.
const MAX_CAPTURE_OFF_RATIO: f64 = 1.02;

/// What is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaptureLevel {
    Without,
    Off,
    On,
    Payloads,
}

impl CaptureLevel {
    const ALL: [Self; 4] = [Self::Without, Self::Off, Self::On, Self::Payloads];

    const fn shown(self) -> &'static str {
        match self {
            Self::Without => "no inspector",
            Self::Off => "capture off",
            Self::On => "capture on",
            Self::Payloads => "capture on, with payloads",
        }
    }
}

/// Everything this part needs.
pub(super) struct CaptureBench<'a> {
    pub(super) docent: &'a DocentProgram,
    /// The downstream server.
    pub(super) echo: PathBuf,
    pub(super) measured: LoadStretch,
}

/// The measurements of one turn.
struct CaptureSample {
    /// Microseconds of each call, one at a time.
    times: Vec<f64>,
    one: LoadResult,
    many: LoadResult,
    memory_mb: f64,
}

impl CaptureBench<'_> {
    /// Measures all levels and returns the table.
    pub(super) fn measure(&self, rounds: u32) -> Result<TreeSection> {
        let mut section = TreeSection::new("Calls", CaptureLevel::Without.shown());
        section.describe(
            "a call of an echo tool through `docent serve --transport http`; no inspector is `server.inspector = false`"
                .to_owned(),
        );
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        for round in 1..=rounds {
            let mut states = CaptureLevel::ALL;
            let by = usize::try_from(round)? % states.len();
            states.rotate_left(by);
            for state in states {
                eprint_step(&format!("round {round} of {rounds}: {}", state.shown()));
                let turn = runtime.block_on(self.turn(state)).context(state.shown())?;
                add(&mut section, state, &turn);
            }
        }
        Ok(section)
    }

    async fn turn(&self, state: CaptureLevel) -> Result<CaptureSample> {
        let place = GatewayHome::new(BenchDownstream::many(&self.echo, 1), BenchExposure::Direct)?;
        let port = free_port()?;
        let mut command = place.serve(self.docent);
        command.args(["--transport", "http", "--port"]).arg(port.to_string());
        if state == CaptureLevel::Without {
            command.env("DOCENT_SERVER_INSPECTOR", "false");
        }
        let server = BackgroundProcess::listening(&mut command, port, START_LIMIT)?;
        if state != CaptureLevel::Without {
            capture(&server, port, state)?;
        }
        let without = Some(self.echo.as_path());
        let endpoint =
            EchoEndpoint { tools: vec![format!("s0__{ECHO}")], ..EchoEndpoint::at(port) };
        let mut many = Vec::new();
        for _ in 0..IN_FLIGHT {
            many.push(PostConnection::open_at(&endpoint, PostForm::Session).await?);
        }
        let (many, _) = post::drive_all(many, WARM_UP.begin(IN_FLIGHT)).await?;
        let mut alone = PostConnection::open_at(&endpoint, PostForm::Session).await?;
        let (mut times, stretch) = (Vec::new(), self.measured.begin(1));
        let watch = Stopwatch::start_without(without)?;
        while stretch.continues(0) {
            let began = Instant::now();
            alone.call().await?;
            times.push(began.elapsed().as_secs_f64() * 1e6);
        }
        let one = watch.stop(u32::try_from(times.len())?)?;
        let watch = Stopwatch::start_without(without)?;
        let (_many, calls) = post::drive_all(many, self.measured.begin(IN_FLIGHT)).await?;
        let many = watch.stop(calls)?;
        Ok(CaptureSample { times, one, many, memory_mb: usage::resident_mb_without(without)? })
    }
}

fn add(section: &mut TreeSection, state: CaptureLevel, turn: &CaptureSample) {
    let aim =
        (state == CaptureLevel::Off).then_some(RepoTarget::TimesBaseAtMost(MAX_CAPTURE_OFF_RATIO));
    let subject = state.shown();
    section.add("CPU per call, one at a time (µs)", subject, aim, turn.one.cpu_per_call());
    section.add("CPU per call, 16 in flight (µs)", subject, aim, turn.many.cpu_per_call());
    section.add("a call, p50 (µs)", subject, None, percentile(&turn.times, 50));
    section.add("calls per second, 16 in flight", subject, None, turn.many.calls_per_second());
    section.add("RSS after load (MB)", subject, None, turn.memory_mb);
}

/// Sets the capture level through the inspector URL that docent has logged.
fn capture(server: &BackgroundProcess, port: u16, state: CaptureLevel) -> Result<()> {
    let deadline = Instant::now() + START_LIMIT;
    let path = loop {
        if let Some(path) = address(&server.output(), port) {
            break path;
        }
        ensure!(Instant::now() < deadline, "docent logged no address of its inspector");
        std::thread::sleep(Duration::from_millis(20));
    };
    let wanted =
        json!({"on": state != CaptureLevel::Off, "payloads": state == CaptureLevel::Payloads})
            .to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    write!(
        stream,
        "POST {path}api/capture HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{wanted}",
        wanted.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "api/capture was answered with {answer}");
    Ok(())
}

/// Finds the inspector's path in a log, with the trailing slash.
fn address(log: &str, port: u16) -> Option<String> {
    let (_, after) = log.split_once(&format!("127.0.0.1:{port}/inspector/"))?;
    let token: String = after.chars().take_while(char::is_ascii_alphanumeric).collect();
    // The line may not be complete yet.
    (after.len() > token.len()).then(|| format!("/inspector/{token}/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_in_the_log() {
        let check = |log: &str, expected: Option<&str>| {
            assert_eq!(address(log, 80).as_deref(), expected, "{log}");
        };
        check(
            "a\nINFO inspector: http://127.0.0.1:80/inspector/0fa9/\nb",
            Some("/inspector/0fa9/"),
        );
        check("\"http://127.0.0.1:80/inspector/0fa9\"", Some("/inspector/0fa9/"));
        check("http://127.0.0.1:80/inspector/0f", None);
        check("http://127.0.0.1:81/inspector/0f/", None);
    }

    #[test]
    fn only_capture_off_has_a_target() {
        let mut section = TreeSection::new("Calls", CaptureLevel::Without.shown());
        let load = |micros| {
            LoadResult::from_figures(1, Duration::from_secs(1), Duration::from_micros(micros))
        };
        for (state, micros) in CaptureLevel::ALL.into_iter().zip([100, 103, 110, 120]) {
            let turn = CaptureSample {
                times: vec![1.0],
                one: load(micros),
                many: load(100),
                memory_mb: 1.0,
            };
            add(&mut section, state, &turn);
        }
        let text = section.to_string();
        assert!(
            text.contains(
                "| capture off | 103 | 103 – 103 | 1 | 1.03 | ≤ 1.02 × no inspector: no |"
            ),
            "{text}"
        );
        assert!(
            text.contains(
                "| capture off | 100 | 100 – 100 | 1 | 1.00 | ≤ 1.02 × no inspector: yes |"
            ),
            "{text}"
        );
        assert_eq!(text.matches("≤ 1.02").count(), 2, "{text}");
    }
}
