//! Logs a panic as one line. Its message may contain user data, which Rust's default hook would write to standard error
//! unmasked.

use super::{REDACTOR, Redactor};
use docent_screen::one_line;
use std::{
    any::Any,
    backtrace::{Backtrace, BacktraceStatus},
    io::{self, Write as _},
    thread,
};

/// Sends the panics of every thread to the log from now on. A panic that only ends a call is logged here with its
/// location, and by the call with its reference.
pub(super) fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let redactor = REDACTOR.get().cloned().unwrap_or_default();
        log_panic(&place, &panic_text(info.payload(), &redactor));
    }));
}

/// Returns the message of a panic, masked and on one line.
fn panic_text(payload: &(dyn Any + Send), redactor: &Redactor) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    one_line(&redactor.mask(text.unwrap_or("without words"))).into_owned()
}

fn log_panic(place: &str, words: &str) {
    let this = thread::current();
    let thread = this.name().unwrap_or_default();
    // Empty unless `RUST_BACKTRACE` asks for it.
    let trace = Backtrace::capture();
    let is_asked = trace.status() == BacktraceStatus::Captured;
    let backtrace = is_asked.then(|| one_line(&trace.to_string()).into_owned());
    if tracing::enabled!(target: "docent::panic", tracing::Level::ERROR) {
        tracing::error!(target: "docent::panic", place, thread, backtrace, "panicked: {words}");
    } else {
        // Logging has not started, or `RUST_LOG` excludes this. If this fails too, there is nothing left to do.
        writeln!(io::stderr(), "panicked at {place}: {words}").unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::SecretText, logging::recent};
    use tracing_subscriber::{Registry, layer::SubscriberExt as _};

    fn redactor() -> Redactor {
        Redactor::new(&[SecretText::new("hunter2-hunter2".to_owned())])
    }

    #[test]
    fn what_a_panic_says_is_masked_and_on_one_line() {
        let words = "with hunter2-hunter2\nERROR forged \u{1b}[31m";
        let said: [Box<dyn Any + Send>; 2] = [Box::new(words), Box::new(words.to_owned())];
        for payload in said {
            let text = panic_text(&*payload, &redactor());
            assert!(text.starts_with("with [redacted"), "{text}");
            assert!(text.contains("forged") && !text.contains("hunter2"), "{text}");
            assert!(!text.contains(['\n', '\u{1b}']), "{text}");
        }
        assert_eq!(panic_text(&5, &redactor()), "without words");
    }

    #[test]
    fn a_panic_is_a_line_of_the_log_with_its_place() {
        let subscriber = Registry::default().with(recent::RecentLines(redactor()));
        tracing::subscriber::with_default(subscriber, || log_panic("src/here.rs:1:2", "so it was"));
        let lines = recent::lines_between(0, u64::MAX);
        let lines: Vec<String> =
            lines.iter().map(|line| serde_json::to_string(line).unwrap_or_default()).collect();
        let line = lines.iter().find(|line| line.contains("src/here.rs:1:2"));
        let line = line.unwrap_or_else(|| panic!("{lines:?}"));
        assert!(line.contains("ERROR") && line.contains("panicked: so it was"), "{line}");
    }
}
