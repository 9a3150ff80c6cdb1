//! Runs work with a deadline and a cancellation token. A panic ends only the work that caused it.

use crate::call_client::RemoteCallClient;
use docent_tool::{BoxedFuture, CallClient as _, ToolError};
use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    task::Poll,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

/// Time for a tool to return what it has, after the deadline or once the server shuts down.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_millis(500);

/// When work must end.
#[derive(Debug, Clone)]
pub(crate) struct RunLimits {
    pub(crate) cancel: CancellationToken,
    pub(crate) deadline: Instant,
}

/// The outcome of work.
#[derive(Debug)]
pub(crate) enum RunOutcome<T> {
    /// It finished.
    Done(Result<T, ToolError>),
    /// It panicked with this message.
    Panicked(String),
    /// It was cancelled by the client and dropped.
    Cancelled,
    /// The grace period after the deadline, or after the shutdown, has passed; it was dropped.
    Late,
}

/// Runs work in place, sending its notifications concurrently. All of them have been sent when this returns.
pub(crate) async fn run_bounded<T>(
    work: BoxedFuture<'_, Result<T, ToolError>>,
    bounds: &RunLimits,
    listener: &RemoteCallClient,
) -> RunOutcome<T> {
    let mut work = pin!(catch_panic(work));
    // Most calls finish immediately, and need no timer.
    if let Poll::Ready(ended) = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
        listener.flush_all().await;
        return ended;
    }
    let finished = CancellationToken::new();
    let mut sending = pin!(listener.send_notifications(&finished));
    let ended = run_beside(sending.as_mut(), async {
        tokio::select! {
            biased;
            () = bounds.cancel.cancelled() => RunOutcome::Cancelled,
            ended = &mut work => ended,
            () = time_is_up(bounds, listener) => RunOutcome::Late,
        }
    })
    .await;
    if !matches!(ended, RunOutcome::Cancelled) {
        finished.cancel();
        sending.await;
    }
    ended
}

/// Waits for the end of the grace period. The time that the client takes to answer questions extends the deadline, but
/// not after a shutdown.
async fn time_is_up(bounds: &RunLimits, listener: &RemoteCallClient) {
    tokio::select! {
        () = deadline_has_passed(bounds, listener) => {}
        () = async {
            listener.shutdown_requested().wait().await;
            tokio::time::sleep(CANCEL_GRACE).await;
        } => {}
    }
}

async fn deadline_has_passed(bounds: &RunLimits, listener: &RemoteCallClient) {
    let end = tokio::time::Instant::from_std(bounds.deadline + CANCEL_GRACE);
    loop {
        let until = end + listener.time_waited();
        tokio::time::sleep_until(until).await;
        if end + listener.time_waited() <= until {
            return;
        }
    }
}

/// Runs `main` to its end while polling `side` concurrently.
async fn run_beside<T>(
    mut side: Pin<&mut impl Future<Output = ()>>,
    main: impl Future<Output = T>,
) -> T {
    let mut main = pin!(main);
    let mut side_ended = false;
    poll_fn(|cx| {
        if !side_ended {
            side_ended = side.as_mut().poll(cx).is_ready();
        }
        main.as_mut().poll(cx)
    })
    .await
}

async fn catch_panic<T>(mut work: BoxedFuture<'_, Result<T, ToolError>>) -> RunOutcome<T> {
    // After a panic the work is not polled again, but dropped.
    let polled = poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    });
    match polled.await {
        Ok(result) => RunOutcome::Done(result),
        Err(panic) => RunOutcome::Panicked(panic_message(&*panic)),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".into())
}

/// Runs something other than a call, such as a provider's list: `None` if it panicked or took too long.
pub(crate) async fn in_time<T>(work: BoxedFuture<'_, T>, limit: Duration, what: &str) -> Option<T> {
    let work: BoxedFuture<'_, Result<T, ToolError>> = Box::pin(async move { Ok(work.await) });
    match tokio::time::timeout(limit, catch_panic(work)).await {
        Ok(RunOutcome::Done(Ok(value))) => Some(value),
        Ok(RunOutcome::Panicked(words)) => {
            tracing::error!(what, panic = words, "a provider panicked");
            None
        }
        _ => {
            tracing::warn!(what, ?limit, "a provider did not answer in time");
            None
        }
    }
}
