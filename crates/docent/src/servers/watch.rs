//! What docent does when the process that starts servers is killed.

use anyhow::anyhow;
use docent_keeper::{Supervisor, SupervisorEvent};
use tokio_util::sync::CancellationToken;

/// Watches the process that starts servers, for as long as docent serves.
pub(crate) struct KeeperWatch {
    gone: CancellationToken,
}

impl KeeperWatch {
    /// Begins to watch. Where no process is left that can start servers, `closing` is cancelled. Must be called inside a
    /// runtime.
    pub(crate) fn start(keeper: Option<Supervisor>, closing: &CancellationToken) -> Self {
        let gone = CancellationToken::new();
        if let Some(keeper) = keeper {
            let (gone, closing) = (gone.clone(), closing.clone());
            tokio::spawn(async move {
                let watching = keeper.watch(|event| {
                    report(event);
                    if event == SupervisorEvent::Gone && !closing.is_cancelled() {
                        gone.cancel();
                        closing.cancel();
                    }
                });
                if let Err(error) = watching.await {
                    tracing::warn!(%error, "the process that starts servers can't be watched");
                }
            });
        }
        Self { gone }
    }

    /// The outcome of serving: a failure where docent stops because it can start no server any more.
    pub(crate) fn outcome(&self, served: anyhow::Result<()>) -> anyhow::Result<()> {
        if self.gone.is_cancelled() {
            return served.and(Err(anyhow!(
                "the process that starts servers was killed together with its guard, and docent can't start another one: restart docent"
            )));
        }
        served
    }
}

fn report(event: SupervisorEvent) {
    match event {
        SupervisorEvent::Restarted(ended) => tracing::error!(
            "the process that starts servers has ended ({ended}), and all servers with it: it runs again, and servers are started when they are needed"
        ),
        SupervisorEvent::Unguarded(ended) => tracing::error!(
            "the guard of the process that starts servers has ended ({ended}): servers go on, but if that process is killed as well, docent exits; restart docent"
        ),
        SupervisorEvent::Gone => {
            tracing::error!(
                "the process that starts servers is gone: docent answers the calls that run, and exits"
            );
        }
    }
}
