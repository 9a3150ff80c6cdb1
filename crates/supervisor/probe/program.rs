//! Programs that behave, and others.

use crate::{Outcome, say};
use rustix::process::setsid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::{
    io::{self, BufRead, Write},
    process::{Child, Command, ExitCode, Stdio},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::Duration,
};

/// Echoes each line until the end of input.
pub(crate) fn echo() -> Outcome {
    for line in io::stdin().lock().lines() {
        say(&line?);
    }
    Ok(ExitCode::SUCCESS)
}

/// Does nothing, whatever happens to standard input.
pub(crate) fn hang() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1000));
    }
}

/// Hangs, and is not ended by signals that can be caught.
pub(crate) fn stubborn() -> Outcome {
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    say(&format!("stubborn {}", std::process::id()));
    hang()
}

/// The same, out of its parent's session and group.
pub(crate) fn session() -> Outcome {
    setsid()?;
    stubborn()
}

/// Leaves a stubborn process in its own session, and ends: nothing links that process to its ancestors.
pub(crate) fn detach() -> Outcome {
    setsid()?;
    offspring("stubborn")?;
    Ok(ExitCode::SUCCESS)
}

/// Starts five descendants of four kinds, which print their pids. Then hangs, or exits and leaves them.
pub(crate) fn brood(leave: bool) -> Outcome {
    for role in ["stubborn", "stubborn", "hang", "session"] {
        let child = offspring(role)?;
        if role == "hang" {
            say(&format!("hang {}", child.id()));
        }
    }
    offspring("detach")?.wait()?;
    say("brood");
    if leave {
        // Waits for their output, so that they exist before this exits.
        let mut word = String::new();
        io::stdin().read_line(&mut word)?;
        return Ok(ExitCode::SUCCESS);
    }
    hang()
}

/// Starts the next one in its own session and exits at once, until the count is reached; the first one stays. A pid
/// that was read a moment ago can't be used to kill the running one.
pub(crate) fn hop(words: &[String]) -> Outcome {
    let [name, count] = words else { return Err("a name and a count".into()) };
    let count: u32 = count.parse()?;
    let first = setsid().is_err();
    if count > 0 {
        let count = (count - 1).to_string();
        let mut next = Command::new(std::env::current_exe()?);
        next.args(["hop", name, &count]).stdin(Stdio::null()).spawn()?;
    }
    if first {
        say("hop");
        hang()
    }
    Ok(ExitCode::SUCCESS)
}

/// Another process of this program, with the same standard output.
fn offspring(role: &str) -> io::Result<Child> {
    Command::new(std::env::current_exe()?).arg(role).stdin(Stdio::null()).spawn()
}

/// Writes N megabytes to standard error before anything else.
pub(crate) fn flood(megabytes: u64) -> Outcome {
    let noise = vec![b'x'; 1 << 16];
    for _ in 0..megabytes * 16 {
        io::stderr().write_all(&noise)?;
    }
    say("done");
    echo()
}

/// Lists its open descriptors, except that of the list itself.
pub(crate) fn descriptors() -> Outcome {
    let mut open: Vec<String> = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        if std::fs::read_link(entry.path())?.as_os_str()
            != format!("/proc/{}/fd", std::process::id()).as_str()
        {
            open.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    open.sort();
    say(&open.join(" "));
    Ok(ExitCode::SUCCESS)
}
