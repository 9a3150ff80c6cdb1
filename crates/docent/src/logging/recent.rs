//! Keeps the last log lines for the inspector.

use super::Redactor;
use serde::Serialize;
use std::{
    collections::VecDeque,
    fmt::{self, Write as _},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::layer::{Context, Layer};

/// Maximum number of lines.
const MAX_RECENT_LINES: usize = 2000;
/// Maximum number of characters of one line.
const MAX_LINE_CHARS: usize = 2000;

/// A log line.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LogLine {
    /// Microseconds since 1970.
    pub(crate) at: u64,
    level: &'static str,
    target: &'static str,
    text: String,
}

static RECENT_LINES: Mutex<VecDeque<LogLine>> = Mutex::new(VecDeque::new());

fn recent_lines() -> MutexGuard<'static, VecDeque<LogLine>> {
    RECENT_LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the lines of a time range, in microseconds since 1970.
pub(crate) fn lines_between(from: u64, to: u64) -> Vec<LogLine> {
    recent_lines().iter().filter(|line| (from..=to).contains(&line.at)).cloned().collect()
}

/// The layer that keeps the lines.
pub(super) struct RecentLines(pub(super) Redactor);

impl<S: Subscriber> Layer<S> for RecentLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut words = LogText::default();
        event.record(&mut words);
        // No character has more than four bytes.
        let (masked, _) = self.0.mask_head(&words.0, 4 * MAX_LINE_CHARS);
        let text = docent_screen::one_line(&masked).chars().take(MAX_LINE_CHARS).collect();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let metadata = event.metadata();
        let line = LogLine {
            at: u64::try_from(since.as_micros()).unwrap_or(u64::MAX),
            level: metadata.level().as_str(),
            target: metadata.target(),
            text,
        };
        let mut kept = recent_lines();
        if kept.len() == MAX_RECENT_LINES {
            kept.pop_front();
        }
        kept.push_back(line);
    }
}

/// The message, followed by its fields.
#[derive(Default)]
struct LogText(String);

impl Visit for LogText {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let Self(text) = self;
        // Writing to a string can't fail.
        if field.name() == "message" {
            let rest = std::mem::take(text);
            write!(text, "{value:?}{rest}").unwrap_or_default();
        } else {
            write!(text, " {}={value:?}", field.name()).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_subscriber::layer::SubscriberExt as _;

    #[test]
    fn lines_are_kept_whole_and_masked() {
        let secret = crate::config::SecretText::new("hunter2-hunter2".to_owned());
        let layer = RecentLines(Redactor::new(&[secret]));
        let subscriber = tracing_subscriber::Registry::default().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(server = "one", "it said hunter2-hunter2\nand more");
        });
        let is_it = |line: &&LogLine| line.text.contains("server=one");
        let line = lines_between(0, u64::MAX).iter().find(is_it).cloned().unwrap();
        assert_eq!(line.level, "WARN");
        assert!(line.text.starts_with("it said"), "{}", line.text);
        assert!(!line.text.contains("hunter2") && !line.text.contains('\n'), "{}", line.text);
        assert!(lines_between(0, 1).is_empty());
    }
}
