//! A minimal docent: starts a supervisor, may confine itself, and orders programs.

use crate::{Outcome, program, say};
use docent_supervisor::{
    Confinement, ConfinementMode, Launch, SupervisedChild, Supervisor, SupervisorSettings,
};
use std::{
    collections::BTreeSet,
    error::Error,
    fs, io,
    process::{Command, ExitCode},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    runtime::{Builder, Runtime},
};

fn keeper() -> io::Result<Supervisor> {
    Supervisor::start(SupervisorSettings::new(std::env::current_exe()?))
}

/// The pid of the supervisor itself, which is the guard's only child.
pub(crate) fn keeper_pid(keeper: &Supervisor) -> io::Result<u32> {
    let guard = keeper.guard_pid();
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(30) {
        let children = fs::read_to_string(format!("/proc/{guard}/task/{guard}/children"))?;
        if let Some(pid) = children.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
            return Ok(pid);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(io::Error::other("the guard has no child"))
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn launch(args: &[&str], mode: ConfinementMode) -> io::Result<Launch> {
    let own = std::env::current_exe()?;
    let confinement = Confinement::for_child([""; 0]).execute([own.clone()]);
    Ok(Launch::new(own, args.iter().copied(), confinement, mode))
}

/// Starts programs in each of the given modes, forwards their output, and waits to be killed.
pub(crate) fn wait_to_be_killed(modes: &[String]) -> Outcome {
    let keeper = keeper()?;
    say(&format!("keeper {}", keeper_pid(&keeper)?));
    say(&format!("guard {}", keeper.guard_pid()));
    runtime()?.block_on(async {
        let mut children = Vec::new();
        for mode in modes {
            let mut child = keeper.spawn(&launch(&["brood"], mode.parse()?)?).await?;
            say(&format!("brood {}", child.process.pid()));
            let mut lines = BufReader::new(&mut child.stdout).lines();
            // All but the detached one's parent print their pids, and the brood that it is done.
            for _ in 0..6 {
                say(&lines.next_line().await?.unwrap_or_default());
            }
            drop(lines);
            children.push(child);
            let stubborn = keeper.spawn(&launch(&["stubborn"], mode.parse()?)?).await?;
            let (line, stubborn) = ask(stubborn, "").await?;
            say(&line);
            children.push(stubborn);
        }
        say("ready");
        program::hang()
    })
}

/// Confines itself after the supervisor's start, so that it can't start processes, and orders one.
pub(crate) fn confined() -> Outcome {
    let keeper = keeper()?;
    docent_sandbox::confine(&Confinement::for_child([""; 0]).spawn(false), ConfinementMode::Auto)?;
    say(&format!("own child: {}", Command::new("/bin/true").spawn().is_ok()));
    runtime()?.block_on(async {
        for mode in [ConfinementMode::Off, ConfinementMode::Auto] {
            let child = keeper.spawn(&launch(&["echo"], mode)?).await?;
            let (answer, child) = ask(child, "hello").await?;
            say(&format!("{mode}: {answer}; {}", child.end(Duration::from_mins(1)).await));
        }
        let stubborn = keeper.spawn(&launch(&["stubborn"], ConfinementMode::Auto)?).await?;
        let (_, stubborn) = ask(stubborn, "").await?;
        let ended = stubborn.end(Duration::from_millis(10)).await;
        say(&format!("stubborn: {ended}"));
        Ok(ExitCode::SUCCESS)
    })
}

async fn ask(
    mut child: SupervisedChild,
    word: &str,
) -> Result<(String, SupervisedChild), Box<dyn Error>> {
    child.stdin.write_all(format!("{word}\n").as_bytes()).await?;
    let mut answer = String::new();
    BufReader::new(&mut child.stdout).read_line(&mut answer).await?;
    Ok((answer.trim_end().to_owned(), child))
}

/// What a process has open: descriptors, threads, children.
fn holdings(pid: u32) -> io::Result<(usize, usize, BTreeSet<String>)> {
    let count =
        |folder: &str| Ok::<_, io::Error>(fs::read_dir(format!("/proc/{pid}/{folder}"))?.count());
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok((count("fd")?, count("task")?, children.split_whitespace().map(Into::into).collect()))
}

/// Starts and stops N programs in turn, in every way of stopping, and reports whether anything is left.
pub(crate) fn rounds(count: u64) -> Outcome {
    let keeper = keeper()?;
    runtime()?.block_on(async {
        let mut before = None;
        for round in 0..=count {
            let child = keeper.spawn(&launch(&["echo"], ConfinementMode::Off)?).await?;
            let (answer, child) = ask(child, "hello").await?;
            assert_eq!(answer, "hello");
            match round % 3 {
                0 => drop(child.end(Duration::from_mins(1)).await),
                1 => {
                    let SupervisedChild { stdin, process, .. } = child;
                    drop(stdin);
                    process.ended().await;
                }
                _ => drop(child),
            }
            if before.is_none() {
                before = Some(settled(&keeper, None).await?);
            }
        }
        let before = before.ok_or("no round")?;
        let after = settled(&keeper, Some(&before)).await?;
        say(if before == after { "nothing is left" } else { "something is left" });
        say(&format!("{before:?} {after:?}"));
        Ok(ExitCode::SUCCESS)
    })
}

type Holdings = [(usize, usize, BTreeSet<String>); 2];

/// Waits until the resources of docent and its supervisor equal `expected`, or are stable without a program, or time is
/// up.
async fn settled(keeper: &Supervisor, expected: Option<&Holdings>) -> io::Result<Holdings> {
    let look =
        || Ok::<_, io::Error>([holdings(std::process::id())?, holdings(keeper_pid(keeper)?)?]);
    let mut now = look()?;
    for _ in 0..1000 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let last = std::mem::replace(&mut now, look()?);
        let same_without = || now[1].2.is_empty() && now == last;
        if expected.map_or_else(same_without, |expected| now == *expected) {
            break;
        }
    }
    Ok(now)
}

/// Measures the start of a supervisor, a program's round trip, and the memory of an idle supervisor.
pub(crate) fn measure(count: u64) -> Outcome {
    let mut starts = Vec::new();
    let mut keeper = keeper()?;
    for _ in 0..20 {
        keeper.close()?;
        let begin = Instant::now();
        keeper = self::keeper()?;
        starts.push(begin.elapsed());
    }
    let mut times = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    runtime()?.block_on(async {
        for _ in 0..count {
            for (at, mode) in [ConfinementMode::Off, ConfinementMode::Auto].into_iter().enumerate()
            {
                let launch = launch(&["echo"], mode)?;
                let begin = Instant::now();
                let child = keeper.spawn(&launch).await?;
                times[2 * at].push(begin.elapsed());
                let (_, child) = ask(child, "hello").await?;
                times[2 * at + 1].push(begin.elapsed());
                child.end(Duration::from_mins(1)).await;
            }
        }
        Ok::<_, Box<dyn Error>>(())
    })?;
    say(&format!("keeper start: {}", summary(starts)));
    let names = ["spawn, off", "first answer, off", "spawn, auto", "first answer, auto"];
    for (name, times) in names.into_iter().zip(times) {
        say(&format!("{name}: {}", summary(times)));
    }
    let memory = fs::read_to_string(format!("/proc/{}/smaps_rollup", keeper_pid(&keeper)?))?;
    for line in memory.lines().filter(|line| {
        line.starts_with("Rss") || line.starts_with("Pss:") || line.starts_with("Private_D")
    }) {
        say(line);
    }
    Ok(ExitCode::SUCCESS)
}

fn summary(mut times: Vec<Duration>) -> String {
    times.sort();
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    format!("least {:?}, p50 {:?}, p90 {:?}, {} times", at(0), at(50), at(90), times.len())
}
