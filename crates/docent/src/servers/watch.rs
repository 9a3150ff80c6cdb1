//! Handles the death of the supervisor process.

use anyhow::anyhow;
use docent_supervisor::{Supervisor, SupervisorEvent};
use tokio_util::sync::CancellationToken;

/// Watches the supervisor process for as long as docent serves.
pub(crate) struct KeeperWatch {
    gone: CancellationToken,
}

impl KeeperWatch {
    /// Starts watching. Cancels `closing` when no process is left that can start servers. Must be called in a runtime.
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
                    tracing::warn!(%error, "cannot watch the process that starts servers");
                }
            });
        }
        Self { gone }
    }

    /// Returns the outcome of serving: an error if docent stops because it can no longer start servers.
    pub(crate) fn outcome(&self, served: anyhow::Result<()>) -> anyhow::Result<()> {
        if self.gone.is_cancelled() {
            return served.and(Err(anyhow!(
                "the process that starts servers was killed together with its guard, and cannot be restarted: restart docent"
            )));
        }
        served
    }
}

fn report(event: SupervisorEvent) {
    match event {
        SupervisorEvent::Restarted(ended) => tracing::error!(
            "the process that starts servers ended ({ended}), and all servers with it: it was restarted, and servers start again when needed"
        ),
        SupervisorEvent::Unguarded(ended) => tracing::error!(
            "the guard of the process that starts servers ended ({ended}): servers keep running, but docent exits if that process ends too; restart docent"
        ),
        SupervisorEvent::Gone => {
            tracing::error!(
                "the process that starts servers is gone: docent finishes running calls and exits"
            );
        }
    }
}
