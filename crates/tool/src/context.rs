//! The context of a running call: reporting, asking the client, and when to stop.

use crate::{AnswerBlock, BoxedFuture, Object, ToolError, ToolOutcome};
use serde_json::{Value, json};
use std::{
    cell::Cell,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::sync::SetOnce;
use tokio_util::sync::{CancellationToken, DropGuard};

/// Progress of a call. `done` only grows.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Units done.
    pub done: f64,
    /// Units in total, if known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: String,
    /// Further fields of another server's progress step, passed on unchanged.
    pub extra: Object,
}

/// Syslog levels, from least to most urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyslogLevel {
    /// For the tool's author.
    Debug,
    /// Normal operation.
    Info,
    /// Normal but noteworthy.
    Notice,
    /// Something is unusual.
    Warning,
    /// Something failed.
    Error,
    /// A part is unusable.
    Critical,
    /// Action is required immediately.
    Alert,
    /// Nothing works.
    Emergency,
}

/// A request to the client, with the protocol's parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientQuery {
    /// `sampling/createMessage`.
    Sample(Value),
    /// `elicitation/create`.
    Elicit(Value),
    /// `roots/list`.
    Roots,
}

/// Why a call must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallStop {
    /// The client no longer wants the answer.
    Cancelled,
    /// Time is up; partial results are wanted.
    Deadline,
}

impl fmt::Display for CallStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cancelled => "the client cancelled",
            Self::Deadline => "the deadline passed",
        })
    }
}

/// Identifies a call within another one, with the state it returned when it last asked the client something.
#[derive(Debug, Clone, Default)]
pub struct InnerRound {
    /// Its number within the outer call, if that numbers its calls itself: the same in each round of questions.
    pub nth: Option<usize>,
    /// The state of its own [`InputNeeded`](crate::InputNeeded), once the client has answered.
    pub state: Option<String>,
    /// Cancels it, in place of the token of the outer call: it may continue in the next round, after the request of
    /// this round has ended.
    pub cancel: Option<CancellationToken>,
}

/// A share of a limited resource; dropping it makes room for the next client.
pub type ShareSlot = Box<dyn Send>;

/// Permission to use a blocking thread.
#[derive(Default)]
pub struct WorkSlot {
    /// A small number that distinguishes clients whose work runs at the same time; `None` for work without a client.
    pub lane: Option<usize>,
    /// The share itself, if threads are shared out.
    pub held: Option<ShareSlot>,
}

impl fmt::Debug for WorkSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkSlot").field("lane", &self.lane).finish_non_exhaustive()
    }
}

/// The client of a running call. Implemented by the server, once per call.
pub trait CallClient: Send + Sync {
    /// Reports progress. Never waits; may drop steps that come too fast.
    fn progress(&self, progress: Progress);
    /// Sends a log message. Never waits.
    fn log(&self, level: SyslogLevel, logger: &str, data: Value);
    /// Relays a log message of another server, with fields that have no place of their own. Never waits.
    fn relay(&self, level: SyslogLevel, logger: &str, data: Value, _extra: Object) {
        self.log(level, logger, data);
    }
    /// Emits a piece of the answer. The pieces come first in the final answer, or reach the client at once.
    fn emit(&self, block: AnswerBlock) -> BoxedFuture<'_, ()>;
    /// Asks the client. The key identifies the question: a call that is run again with the answers asks under the same
    /// key.
    fn ask<'a>(
        &'a self,
        key: &'a str,
        ask: ClientQuery,
    ) -> BoxedFuture<'a, Result<Value, ToolError>>;
    /// The state that the tool asked to get back when it runs again with answers.
    fn state(&self) -> Option<String>;
    /// Identifies the client: calls with the same name come from the same client.
    #[expect(clippy::unnecessary_literal_bound, reason = "other implementations return a field")]
    fn client(&self) -> &str {
        ""
    }
    /// The key for limits per client: the same for all sessions and requests of one client.
    fn client_key(&self) -> &str {
        self.client()
    }
    /// The client's `_meta` of this request, without the protocol's own keys.
    fn meta(&self) -> Object {
        Object::new()
    }
    /// The minimum level of log messages that the client wants; `None` if it wants none.
    fn level(&self) -> Option<SyslogLevel> {
        None
    }
    /// The client's declared capabilities, in the protocol's form.
    fn capabilities(&self) -> Object {
        Object::new()
    }
    /// Passes a notification on to the client, unchanged. The call may be over.
    fn pass_on(&self, _method: &str, _params: Value) {}
    /// The number of the client's request in the traffic recording, if it is recorded.
    fn recorded(&self) -> Option<u64> {
        None
    }
    /// Calls a tool of a provider on behalf of the same client, with the same checks, limits and audit as a direct
    /// call.
    fn call<'a>(
        &'a self,
        _provider: &'a str,
        _tool: &'a str,
        _arguments: Object,
        _round: InnerRound,
    ) -> BoxedFuture<'a, Result<ToolOutcome, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::failed(
            "no other tool can be called from here",
        ))))
    }
    /// Whether the same client could call this tool of this provider.
    fn may_use(&self, _provider: &str, _tool: &str) -> bool {
        true
    }
    /// Waits for the client's turn on a blocking thread. The slot is kept until the work is done, even if the call has
    /// ended before.
    fn work_slot(&self) -> BoxedFuture<'_, WorkSlot> {
        Box::pin(std::future::ready(WorkSlot::default()))
    }
    /// Takes the client's share of index work; `None` if it has it already, and gets answers from the current index.
    fn index_slot(&self) -> Option<ShareSlot> {
        Some(Box::new(()))
    }
    /// How long the client has taken to answer questions. Extends the deadline by as much.
    fn time_waited(&self) -> Duration {
        Duration::ZERO
    }
    /// Set once the server shuts down and wants the answer at once: from then on the call behaves as if its deadline
    /// had passed.
    fn shutdown_requested(&self) -> Option<&SetOnce<()>> {
        None
    }
}

/// The error code for "try again later".
const OVERLOADED: i32 = -32000;

/// The state that a call within another one returned when it last asked the client something.
#[derive(Clone)]
struct InnerState(Option<String>);

/// The context passed to every call.
#[derive(Clone)]
pub struct CallContext {
    client: Arc<dyn CallClient>,
    cancel: CancellationToken,
    deadline: Option<Instant>,
    /// The state of a call within another one; overrides that of the outer call.
    inner_state: Option<InnerState>,
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

impl CallContext {
    /// Created by the server for each call.
    pub fn new(
        client: Arc<dyn CallClient>,
        cancel: CancellationToken,
        deadline: Option<Instant>,
    ) -> Self {
        Self { client, cancel, deadline, inner_state: None }
    }

    /// A copy for a call within this one, with a state of its own.
    #[must_use]
    pub fn with_state(mut self, state: Option<String>) -> Self {
        self.inner_state = Some(InnerState(state));
        self
    }

    /// Whether to stop now, and why. Cheap: check it in every loop that may run long.
    pub fn stop(&self) -> Option<CallStop> {
        if self.cancel.is_cancelled() {
            return Some(CallStop::Cancelled);
        }
        if self.client.shutdown_requested().is_some_and(SetOnce::initialized) {
            return Some(CallStop::Deadline);
        }
        let now = Instant::now();
        let is_late = |at| now >= at && now >= at + self.client.time_waited();
        self.deadline.is_some_and(is_late).then_some(CallStop::Deadline)
    }

    /// Waits until the call must stop.
    pub async fn stopped(&self) -> CallStop {
        let deadline = async {
            // The deadline moves while the client answers a question.
            while let Some(at) = self.deadline().map(tokio::time::Instant::from_std) {
                if tokio::time::Instant::now() >= at {
                    return;
                }
                tokio::time::sleep_until(at).await;
            }
            std::future::pending::<()>().await;
        };
        let hurried = async {
            match self.client.shutdown_requested() {
                Some(hurry) => *hurry.wait().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => CallStop::Cancelled,
            () = deadline => CallStop::Deadline,
            () = hurried => CallStop::Deadline,
        }
    }

    /// The deadline, as far as it is known now.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline.map(|at| at + self.client.time_waited())
    }

    /// Cancelled with the call.
    pub fn cancel_token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Reports progress.
    #[expect(clippy::cast_precision_loss, reason = "counts of files fit a double")]
    pub fn progress(&self, done: u64, total: Option<u64>, message: impl Into<String>) {
        let (done, total) = (done as f64, total.map(|t| t as f64));
        let (message, extra) = (message.into(), Object::new());
        self.client.progress(Progress { done, total, message, extra });
    }

    /// Passes a progress step on unchanged.
    pub fn report(&self, progress: Progress) {
        self.client.progress(progress);
    }

    /// Sends a log message.
    pub fn log(&self, level: SyslogLevel, logger: &str, data: impl Into<Value>) {
        self.client.log(level, logger, data.into());
    }

    /// Relays a log message of another server unchanged.
    pub fn relay(&self, level: SyslogLevel, logger: &str, data: Value, extra: Object) {
        self.client.relay(level, logger, data, extra);
    }

    /// Emits a piece of the answer before the rest.
    pub async fn emit(&self, block: AnswerBlock) {
        self.client.emit(block).await;
    }

    /// Asks the client's model for a completion.
    pub async fn sample(&self, key: &str, params: Value) -> Result<Value, ToolError> {
        self.client.ask(key, ClientQuery::Sample(params)).await
    }

    /// Asks the user at the client.
    pub async fn elicit(&self, key: &str, params: Value) -> Result<Value, ToolError> {
        self.client.ask(key, ClientQuery::Elicit(params)).await
    }

    /// Asks the client for its root folders.
    pub async fn client_roots(&self, key: &str) -> Result<Value, ToolError> {
        self.client.ask(key, ClientQuery::Roots).await
    }

    /// Identifies the client: calls with the same name come from the same client.
    pub fn client(&self) -> &str {
        self.client.client()
    }

    /// The key for limits per client: the same for all sessions and requests of one client.
    pub fn client_key(&self) -> &str {
        self.client.client_key()
    }

    /// The client's `_meta` of this request, without the protocol's own keys.
    pub fn meta(&self) -> Object {
        self.client.meta()
    }

    /// The minimum level of log messages that the client wants; `None` if it wants none.
    pub fn level(&self) -> Option<SyslogLevel> {
        self.client.level()
    }

    /// The client's declared capabilities, in the protocol's form.
    pub fn capabilities(&self) -> Object {
        self.client.capabilities()
    }

    /// Passes a notification on to the client, unchanged. The call may be over.
    pub fn pass_on(&self, method: &str, params: Value) {
        self.client.pass_on(method, params);
    }

    /// The number of the client's request in the traffic recording; messages sent because of it are recorded beside it.
    pub fn recorded(&self) -> Option<u64> {
        self.client.recorded()
    }

    /// Calls a tool of a provider on behalf of the same client, with the same checks and limits as a direct call.
    pub async fn call(
        &self,
        provider: &str,
        tool: &str,
        arguments: Object,
    ) -> Result<ToolOutcome, ToolError> {
        let round = InnerRound { nth: None, state: self.state(), cancel: None };
        self.call_in_round(provider, tool, arguments, round).await
    }

    /// Like `call`, for one of several calls, each of which may ask the client something and continue in another round.
    pub async fn call_in_round(
        &self,
        provider: &str,
        tool: &str,
        arguments: Object,
        round: InnerRound,
    ) -> Result<ToolOutcome, ToolError> {
        self.client.call(provider, tool, arguments, round).await
    }

    /// How long the client has taken to answer questions of this call.
    pub fn waited(&self) -> Duration {
        self.client.time_waited()
    }

    /// Whether the same client could call this tool of this provider.
    pub fn may_use(&self, provider: &str, tool: &str) -> bool {
        self.client.may_use(provider, tool)
    }

    /// Asks under a key.
    pub async fn ask(&self, key: &str, ask: ClientQuery) -> Result<Value, ToolError> {
        self.client.ask(key, ask).await
    }

    /// The state that the tool asked to get back when it runs again with answers.
    pub fn state(&self) -> Option<String> {
        match &self.inner_state {
            Some(InnerState(own)) => own.clone(),
            None => self.client.state(),
        }
    }

    /// Waits for the client's turn on a blocking thread, for an in-memory call with another audience.
    pub fn work_slot(&self) -> BoxedFuture<'_, WorkSlot> {
        self.client.work_slot()
    }

    /// Takes the client's share of index work; `None` if it has it already, and gets answers from the current index.
    pub fn index_slot(&self) -> Option<ShareSlot> {
        self.client.index_slot()
    }

    /// The error for work that got no thread in time because the client's other calls used all of its share.
    fn never_started(&self, stop: CallStop) -> ToolError {
        let is_late = self.deadline().is_some_and(|deadline| Instant::now() >= deadline);
        if stop == CallStop::Cancelled || !is_late {
            return ToolError::Stopped(stop);
        }
        ToolError::Refused {
            code: OVERLOADED,
            message: "too many calls at once: this client's other calls use all of its threads; \
                      wait for their answers, then try again"
                .into(),
            data: Some(json!({ "retryAfter": 1, "retryAfterMs": 1000 })),
        }
    }

    /// A context for work on another thread, and the guard that cancels it. A future keeps the guard, so that the work
    /// ends when the future is dropped or done.
    pub fn scoped(&self) -> (Self, DropGuard) {
        let context = Self { cancel: self.cancel.child_token(), ..self.clone() };
        let guard = context.cancel.clone().drop_guard();
        (context, guard)
    }

    /// Runs CPU or file work off the async threads. The work gets a context of its own and must check [`Self::stop`] in
    /// every loop that may run long: it is cancelled with this call, and also when this future is dropped, because a
    /// thread can't be interrupted from outside. Work that is still queued by then is not started.
    pub async fn blocking<T, F>(&self, work: F) -> Result<T, ToolError>
    where
        T: Send + 'static,
        F: FnOnce(&CallContext) -> Result<T, ToolError> + Send + 'static,
    {
        let slot = self.wait_for_work_slot().await?;
        let lane = slot.lane;
        let run = move |context: &Self| {
            // The thread is busy for as long as the work takes, even if the call has ended by then.
            let _busy = slot;
            work(context)
        };
        self.run_on_thread(lane, run).await
    }

    /// Waits for the client's turn on a blocking thread, for work in several steps: see [`Self::blocking_in`].
    pub async fn wait_for_work_slot(&self) -> Result<WorkSlot, ToolError> {
        tokio::select! {
            biased;
            slot = self.client.work_slot() => Ok(slot),
            stop = self.stopped() => Err(self.never_started(stop)),
        }
    }

    /// Like [`Self::blocking`], in a slot that the call has already; returns the slot for the next step. A step is
    /// started even when the deadline has passed, so that it can finish with the results of earlier steps.
    pub async fn blocking_in<T, F>(
        &self,
        slot: WorkSlot,
        work: F,
    ) -> Result<(T, WorkSlot), ToolError>
    where
        T: Send + 'static,
        F: FnOnce(&CallContext) -> Result<T, ToolError> + Send + 'static,
    {
        let lane = slot.lane;
        self.run_on_thread(lane, move |context| Ok((work(context)?, slot))).await
    }

    async fn run_on_thread<T, F>(&self, lane: Option<usize>, work: F) -> Result<T, ToolError>
    where
        T: Send + 'static,
        F: FnOnce(&Self) -> Result<T, ToolError> + Send + 'static,
    {
        let (context, _cancelled_on_drop) = self.scoped();
        let run = move || {
            if context.cancel.is_cancelled() {
                return Err(ToolError::Stopped(CallStop::Cancelled));
            }
            let _in_lane = LaneGuard::enter(lane);
            work(&context)
        };
        match tokio::task::spawn_blocking(run).await {
            Ok(result) => result,
            // A panic belongs to the call that caused it; the caller reports it.
            Err(failure) if failure.is_panic() => std::panic::resume_unwind(failure.into_panic()),
            Err(failure) => Err(ToolError::Bug(Box::new(failure))),
        }
    }
}

thread_local! {
    static LANE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The lane of the client whose call this thread works on, if any.
pub fn current_lane() -> Option<usize> {
    LANE.get()
}

/// Marks a thread as working on a call.
struct LaneGuard {
    before: Option<usize>,
}

impl LaneGuard {
    fn enter(lane: Option<usize>) -> Self {
        Self { before: LANE.replace(lane) }
    }
}

impl Drop for LaneGuard {
    fn drop(&mut self) {
        LANE.set(self.before);
    }
}

/// A context without client or deadline: for tests and in-memory callers.
pub fn no_client() -> CallContext {
    CallContext::new(Arc::new(NoClient), CancellationToken::new(), None)
}

struct NoClient;

impl CallClient for NoClient {
    fn progress(&self, _: Progress) {}
    fn log(&self, _: SyslogLevel, _: &str, _: Value) {}
    fn emit(&self, _: AnswerBlock) -> BoxedFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
    fn ask<'a>(&'a self, _: &'a str, _: ClientQuery) -> BoxedFuture<'a, Result<Value, ToolError>> {
        Box::pin(std::future::ready(Err(ToolError::ClientLacks("questions"))))
    }
    fn state(&self) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct SlowWorkSlots(Duration, SetOnce<()>);

    impl CallClient for SlowWorkSlots {
        fn progress(&self, _: Progress) {}
        fn log(&self, _: SyslogLevel, _: &str, _: Value) {}
        fn emit(&self, block: AnswerBlock) -> BoxedFuture<'_, ()> {
            NoClient.emit(block)
        }
        fn ask<'a>(
            &'a self,
            key: &'a str,
            ask: ClientQuery,
        ) -> BoxedFuture<'a, Result<Value, ToolError>> {
            NoClient.ask(key, ask)
        }
        fn state(&self) -> Option<String> {
            None
        }
        fn time_waited(&self) -> Duration {
            self.0
        }
        fn shutdown_requested(&self) -> Option<&SetOnce<()>> {
            Some(&self.1)
        }
    }

    #[test]
    fn answer_time_of_the_client_extends_the_deadline() {
        let (now, hour) = (Instant::now(), Duration::from_hours(1));
        let cases = [
            (Some(now), Duration::ZERO, Some(CallStop::Deadline)),
            (Some(now), hour, None),
            (Some(now + hour), Duration::ZERO, None),
            (None, Duration::ZERO, None),
        ];
        for (deadline, waited, want) in cases {
            let slow = SlowWorkSlots(waited, SetOnce::new());
            let context = CallContext::new(Arc::new(slow), CancellationToken::new(), deadline);
            assert_eq!(context.stop(), want, "{deadline:?} {waited:?}");
            assert_eq!(context.deadline(), deadline.map(|at| at + waited));
        }
    }

    #[tokio::test]
    async fn blocking_work_is_cancelled_when_its_future_is_dropped() {
        let (started, has_started) = tokio::sync::oneshot::channel();
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let context = no_client();
        let work = context.blocking(move |context| {
            started.send(()).expect("the test waits for it");
            while context.stop().is_none() {
                std::thread::yield_now();
            }
            ended.send(context.stop()).expect("the test waits for it");
            Ok(())
        });
        tokio::select! {
            biased;
            _ = work => panic!("nothing stopped it"),
            started = has_started => started.expect("it starts"),
        }
        assert_eq!(has_ended.await.expect("it ends"), Some(CallStop::Cancelled));
        assert_eq!(context.stop(), None, "the call itself continues");
    }

    /// A client with a lane.
    struct LaneTwoClient;

    impl CallClient for LaneTwoClient {
        fn progress(&self, _: Progress) {}
        fn log(&self, _: SyslogLevel, _: &str, _: Value) {}
        fn emit(&self, block: AnswerBlock) -> BoxedFuture<'_, ()> {
            NoClient.emit(block)
        }
        fn ask<'a>(
            &'a self,
            key: &'a str,
            ask: ClientQuery,
        ) -> BoxedFuture<'a, Result<Value, ToolError>> {
            NoClient.ask(key, ask)
        }
        fn state(&self) -> Option<String> {
            None
        }
        fn work_slot(&self) -> BoxedFuture<'_, WorkSlot> {
            Box::pin(std::future::ready(WorkSlot { lane: Some(2), held: None }))
        }
    }

    #[tokio::test]
    async fn blocking_work_has_the_lane_of_its_client() {
        let of_a_client = CallContext::new(Arc::new(LaneTwoClient), CancellationToken::new(), None);
        for (context, want) in [(no_client(), None), (of_a_client, Some(2))] {
            assert_eq!(context.blocking(|_| Ok(current_lane())).await.unwrap(), want);
        }
    }

    #[tokio::test]
    async fn a_slot_serves_several_steps_the_last_of_them_past_the_deadline() {
        let context = CallContext::new(
            Arc::new(LaneTwoClient),
            CancellationToken::new(),
            Some(Instant::now()),
        );
        let slot = LaneTwoClient.work_slot().await;
        let step = |context: &CallContext| Ok((current_lane(), context.stop()));
        let (first, slot) = context.blocking_in(slot, step).await.unwrap();
        let (second, slot) = context.blocking_in(slot, step).await.unwrap();
        assert_eq!([first, second], [(Some(2), Some(CallStop::Deadline)); 2]);
        assert_eq!(slot.lane, Some(2));
    }

    #[tokio::test]
    async fn blocking_work_of_a_cancelled_call_is_not_started() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let context = CallContext::new(Arc::new(NoClient), cancel, None);
        let result = context.blocking(|_| -> Result<(), _> { panic!("it was started") }).await;
        assert!(matches!(result, Err(ToolError::Stopped(CallStop::Cancelled))), "{result:?}");
    }

    #[tokio::test]
    async fn a_call_stops_at_shutdown_as_at_its_deadline() {
        let hour = Duration::from_hours(1);
        for deadline in [None, Some(Instant::now() + hour)] {
            let (slow, cancel) =
                (Arc::new(SlowWorkSlots(hour, SetOnce::new())), CancellationToken::new());
            let context = CallContext::new(Arc::clone(&slow) as _, cancel.clone(), deadline);
            assert_eq!(context.stop(), None);
            let hurry = async { slow.1.set(()).unwrap() };
            let (stopped, ()) = tokio::join!(context.stopped(), hurry);
            assert_eq!((stopped, context.stop()), (CallStop::Deadline, Some(CallStop::Deadline)));
            cancel.cancel();
            assert_eq!(context.stopped().await, CallStop::Cancelled, "no one waits for the answer");
            assert_eq!(context.stop(), Some(CallStop::Cancelled));
        }
    }
}
