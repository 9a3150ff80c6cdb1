//! Waits for the answer to a request, with a timeout that progress restarts and a total time limit.

use crate::RequestError;
use docent_dial::TransportFailure;
use serde_json::Value;
use std::{
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep},
};

/// Total time limit of a request, however much progress its server reports.
#[derive(Debug)]
pub struct TimeLimit {
    limit: Duration,
    began: OnceLock<Instant>,
    /// Time that doesn't count, such as what a person takes to answer a question.
    excused: Mutex<Duration>,
}

impl TimeLimit {
    /// Creates a limit that starts when the wait for the answer starts.
    pub fn new(limit: Duration) -> Self {
        Self { limit, began: OnceLock::new(), excused: Mutex::default() }
    }

    /// Excludes this time from the limit.
    pub(crate) fn excuse(&self, time: Duration) {
        *self.excused.lock().unwrap_or_else(PoisonError::into_inner) += time;
    }

    fn remaining(&self) -> Duration {
        let began = self.began.get_or_init(Instant::now);
        let excused = *self.excused.lock().unwrap_or_else(PoisonError::into_inner);
        self.limit.saturating_add(excused).saturating_sub(began.elapsed())
    }
}

/// Waits for an answer for `patience` after each notification of `heard`, and no longer than `limit` in total.
pub(crate) async fn wait_for_answer(
    mut answered: oneshot::Receiver<Result<Value, RequestError>>,
    patience: Option<Duration>,
    heard: &Notify,
    limit: Option<&TimeLimit>,
) -> Result<Result<Value, RequestError>, RequestError> {
    let gone = |_| TransportFailure::Lost("the connection ended".into()).into();
    loop {
        let left = limit.map(TimeLimit::remaining);
        // Checked here as well: a server may report progress faster than a timer is polled.
        if let (Some(Duration::ZERO), Some(limit)) = (left, limit) {
            return Err(RequestError::OverLimit(limit.limit));
        }
        let pause = match (patience, left) {
            (Some(patience), Some(left)) => Some(patience.min(left)),
            (patience, left) => patience.or(left),
        };
        let time_is_up = async {
            match pause {
                Some(pause) => sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = &mut answered => return answer.map_err(gone),
            () = heard.notified() => {}
            () = time_is_up => match patience {
                Some(patience) if left.is_none_or(|left| patience <= left) => {
                    return Err(RequestError::TimedOut(patience));
                }
                // The limit is checked again.
                _ => {}
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns how the wait for an answer that never comes ends, and when, with progress every `interval`.
    async fn ends(
        patience: Option<Duration>,
        interval: Duration,
        limit: Option<Arc<TimeLimit>>,
    ) -> (RequestError, Duration) {
        let (_reply, answered) = oneshot::channel();
        let heard = Arc::new(Notify::new());
        let begin = Instant::now();
        let hearing = Arc::clone(&heard);
        let progress = tokio::spawn(async move {
            loop {
                sleep(interval).await;
                hearing.notify_one();
            }
        });
        let error =
            wait_for_answer(answered, patience, &heard, limit.as_deref()).await.unwrap_err();
        progress.abort();
        (error, begin.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn progress_moves_the_timeout_up_to_the_limit() {
        let limit = |seconds| Some(Arc::new(TimeLimit::new(SECOND * seconds)));
        let patience = Some(5 * SECOND);
        let (error, time) = ends(patience, 60 * SECOND, limit(50)).await;
        assert!(matches!(error, RequestError::TimedOut(_)), "{error}");
        assert_eq!(time.as_secs(), 5);
        let (error, time) = ends(patience, 3 * SECOND, limit(50)).await;
        assert!(matches!(error, RequestError::OverLimit(_)), "{error}");
        assert_eq!(time.as_secs(), 50);
        let (error, time) = ends(None, 3 * SECOND, limit(50)).await;
        assert!(matches!(error, RequestError::OverLimit(_)), "{error}");
        assert_eq!(time.as_secs(), 50);
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_a_person_takes_does_not_count() {
        let limit = Arc::new(TimeLimit::new(50 * SECOND));
        limit.excuse(20 * SECOND);
        let (error, time) = ends(Some(5 * SECOND), 3 * SECOND, Some(limit)).await;
        assert!(matches!(error, RequestError::OverLimit(_)), "{error}");
        assert_eq!(time.as_secs(), 70);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_reports_without_a_pause_is_ended_as_well() {
        let (_reply, answered) = oneshot::channel();
        let heard = Notify::new();
        let limit = TimeLimit::new(SECOND);
        let mut waiting =
            std::pin::pin!(wait_for_answer(answered, Some(SECOND), &heard, Some(&limit)));
        for _ in 0..10_000 {
            heard.notify_one();
            tokio::time::advance(Duration::from_millis(1)).await;
            let polled =
                std::future::poll_fn(|cx| std::task::Poll::Ready(waiting.as_mut().poll(cx)));
            if let std::task::Poll::Ready(ended) = polled.await {
                assert!(matches!(ended, Err(RequestError::OverLimit(_))), "{ended:?}");
                return;
            }
        }
        panic!("it never ended");
    }
}
