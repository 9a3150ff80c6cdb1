//! Runs the parallel work of calls on separate thread pools per client.
//!
//! A pool finishes the work its threads have begun before it starts anything new. On a single pool, one client's search
//! through every file would block another client's short call until it is done. Concurrent clients therefore use
//! different pools, and the system shares the processors among them. Work outside of calls, and short index queries,
//! stay on the shared pool.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::OnceLock;

/// Maximum number of pools; further clients share them.
const MAX_POOLS: usize = 4;

static POOLS: [OnceLock<Option<ThreadPool>>; MAX_POOLS] = [const { OnceLock::new() }; MAX_POOLS];

/// Runs parallel work on the pool of the client whose call this thread serves.
pub(crate) fn run<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    // Work already on a pool stays on it.
    let is_in_pool = rayon::current_thread_index().is_some();
    let lane = docent_tool::current_lane().filter(|_| !is_in_pool);
    match lane.and_then(pool) {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

fn pool(lane: usize) -> Option<&'static ThreadPool> {
    let at = lane % MAX_POOLS;
    let build = || {
        let named = move |thread| format!("docent-calls-{at}-{thread}");
        let built = ThreadPoolBuilder::new().thread_name(named).build();
        built
            .inspect_err(
                |error| tracing::warn!(%error, "cannot start a thread pool; using the shared one"),
            )
            .ok()
    };
    POOLS.get(at)?.get_or_init(build).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use docent_tool::{
        AnswerBlock, BoxedFuture, CallClient, CallContext, ClientQuery, Progress, SyslogLevel,
        ToolError, WorkSlot,
    };
    use rayon::prelude::*;
    use serde_json::Value;
    use std::sync::{Arc, Condvar, Mutex};
    use tokio_util::sync::CancellationToken;

    /// A client with its own pool.
    struct PoolAudience(usize);

    impl CallClient for PoolAudience {
        fn progress(&self, _: Progress) {}
        fn log(&self, _: SyslogLevel, _: &str, _: Value) {}
        fn emit(&self, _: AnswerBlock) -> BoxedFuture<'_, ()> {
            Box::pin(std::future::ready(()))
        }
        fn ask<'a>(
            &'a self,
            _: &'a str,
            _: ClientQuery,
        ) -> BoxedFuture<'a, Result<Value, ToolError>> {
            Box::pin(std::future::ready(Err(ToolError::ClientLacks("questions"))))
        }
        fn state(&self) -> Option<String> {
            None
        }
        fn work_slot(&self) -> BoxedFuture<'_, WorkSlot> {
            Box::pin(std::future::ready(WorkSlot { lane: Some(self.0), held: None }))
        }
    }

    fn call_of(lane: usize) -> CallContext {
        CallContext::new(Arc::new(PoolAudience(lane)), CancellationToken::new(), None)
    }

    /// Closed until it is opened; counts who waits.
    #[derive(Default)]
    struct ThreadGate {
        state: Mutex<(usize, bool)>,
        changed: Condvar,
    }

    impl ThreadGate {
        fn wait_until(
            &self,
            act: impl FnOnce(&mut (usize, bool)),
            is_so: impl Fn(&(usize, bool)) -> bool,
        ) {
            let mut state = self.state.lock().unwrap();
            act(&mut state);
            self.changed.notify_all();
            drop(self.changed.wait_while(state, |state| !is_so(state)).unwrap());
        }
    }

    #[tokio::test]
    async fn one_client_s_parallel_work_keeps_no_other_waiting() {
        let gate = Arc::new(ThreadGate::default());
        let threads = rayon::current_num_threads();
        let closed = Arc::clone(&gate);
        let greedy = tokio::spawn(async move {
            let work = move |_: &CallContext| {
                let stay = |_| closed.wait_until(|state| state.0 += 1, |state| state.1);
                run(|| (0..threads * 8).into_par_iter().for_each(stay));
                Ok(())
            };
            call_of(0).blocking(work).await
        });
        let occupied = Arc::clone(&gate);
        let occupy = move || occupied.wait_until(|_| {}, |state| state.0 >= threads);
        tokio::task::spawn_blocking(occupy).await.unwrap();
        let sum = |_: &CallContext| Ok(run(|| (0..1000_u64).into_par_iter().sum::<u64>()));
        assert_eq!(call_of(1).blocking(sum).await.unwrap(), 499_500);
        let shared = || (0..1000_u64).into_par_iter().sum::<u64>();
        let shared = tokio::task::spawn_blocking(move || run(shared)).await;
        assert_eq!(shared.unwrap(), 499_500, "the pool that all share is free as well");
        assert!(!greedy.is_finished());
        gate.wait_until(|state| state.1 = true, |_| true);
        greedy.await.unwrap().unwrap();
    }
}
