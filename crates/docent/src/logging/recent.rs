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
const LINES: usize = 2000;
/// Maximum number of characters of one line.
const WIDTH: usize = 2000;

/// A log line.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Line {
    /// Microseconds since 1970.
    pub(crate) at: u64,
    level: &'static str,
    target: &'static str,
    text: String,
}

static KEPT: Mutex<VecDeque<Line>> = Mutex::new(VecDeque::new());

fn kept() -> MutexGuard<'static, VecDeque<Line>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the lines of a time range, in microseconds since 1970.
pub(crate) fn between(from: u64, to: u64) -> Vec<Line> {
    kept().iter().filter(|line| (from..=to).contains(&line.at)).cloned().collect()
}

/// The layer that keeps the lines.
pub(super) struct Recent(pub(super) Redactor);

impl<S: Subscriber> Layer<S> for Recent {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut words = Words::default();
        event.record(&mut words);
        // No character has more than four bytes.
        let (masked, _) = self.0.mask_head(&words.0, 4 * WIDTH);
        let text = docent_screen::one_line(&masked).chars().take(WIDTH).collect();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let metadata = event.metadata();
        let line = Line {
            at: u64::try_from(since.as_micros()).unwrap_or(u64::MAX),
            level: metadata.level().as_str(),
            target: metadata.target(),
            text,
        };
        let mut kept = kept();
        if kept.len() == LINES {
            kept.pop_front();
        }
        kept.push_back(line);
    }
}

/// The message, followed by its fields.
#[derive(Default)]
struct Words(String);

impl Visit for Words {
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
        let secret = crate::config::Secret::new("hunter2-hunter2".to_owned());
        let layer = Recent(Redactor::new(&[secret]));
        let subscriber = tracing_subscriber::Registry::default().with(layer);
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(server = "one", "it said hunter2-hunter2\nand more");
        });
        let is_it = |line: &&Line| line.text.contains("server=one");
        let line = between(0, u64::MAX).iter().find(is_it).cloned().unwrap();
        assert_eq!(line.level, "WARN");
        assert!(line.text.starts_with("it said"), "{}", line.text);
        assert!(!line.text.contains("hunter2") && !line.text.contains('\n'), "{}", line.text);
        assert!(between(0, 1).is_empty());
    }
}
