//! Scripts that wait for their client. It answers a question by sending the same request again, and the script
//! continues where it was, so that no call is repeated because of a question.

use super::code::SuspendedScriptCalls;
use crate::spec::hex;
use docent_script::{ScriptLimits, ScriptRun};
use docent_tool::ToolError;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use tokio_util::task::AbortOnDropHandle;

/// How long a script waits for its client; the same as for a call with questions.
const PARKED_SCRIPT_TTL: Duration = Duration::from_mins(10);

/// Scripts that may wait at the same time. Each occupies a process and counts as a running script.
const MAX_PARKED: usize = 8;

/// Scripts of one client that may wait at the same time.
const MAX_PARKED_PER_CLIENT: usize = 4;

/// State that the client sends back.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ParkedScriptState {
    script: String,
}

/// A script that waits for its client.
pub(super) struct ParkedScript {
    pub(super) client: String,
    pub(super) code: String,
    pub(super) limits: ScriptLimits,
    pub(super) run: ScriptRun,
    pub(super) pending: Arc<SuspendedScriptCalls>,
}

/// Scripts by id, each with the task that ends it when its client does not come back.
type ParkedScriptMap = HashMap<String, (ParkedScript, AbortOnDropHandle<()>)>;

/// All scripts that wait for their clients.
#[derive(Default)]
pub(crate) struct ParkedScripts {
    all: Arc<Mutex<ParkedScriptMap>>,
}

impl ParkedScripts {
    fn all(&self) -> MutexGuard<'_, ParkedScriptMap> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a script until its client comes back; returns the state that the client has to send.
    pub(super) fn park(&self, script: ParkedScript) -> Result<String, ToolError> {
        let mut random = [0_u8; 16];
        getrandom::fill(&mut random)
            .map_err(|error| ToolError::failed(format!("cannot generate random bytes: {error}")))?;
        let id = hex(&random);
        let state = serde_json::to_string(&ParkedScriptState { script: id.clone() })
            .map_err(|error| ToolError::Bug(Box::new(error)))?;
        let mut all = self.all();
        let own = all.values().filter(|(other, _)| other.client == script.client).count();
        if own >= MAX_PARKED_PER_CLIENT || all.len() >= MAX_PARKED {
            return Err(ToolError::failed(too_many(own)));
        }
        let (weak, own): (Weak<_>, _) = (Arc::downgrade(&self.all), id.clone());
        let given_up = tokio::spawn(async move {
            tokio::time::sleep(PARKED_SCRIPT_TTL).await;
            let Some(all) = weak.upgrade() else { return };
            // Dropped outside of the lock: its process is killed, and its calls are cancelled.
            let ended = all.lock().unwrap_or_else(PoisonError::into_inner).remove(&own);
            drop(ended);
        });
        all.insert(id, (script, AbortOnDropHandle::new(given_up)));
        Ok(state)
    }

    /// Takes the script that a state identifies; `None` if the state does not belong to a script.
    pub(super) fn resume(
        &self,
        state: Option<&str>,
        code: &str,
    ) -> Option<Result<ParkedScript, ToolError>> {
        let ParkedScriptState { script: id } = serde_json::from_str(state?).ok()?;
        let mut all = self.all();
        // A script whose caller sent other code by mistake keeps waiting.
        if all.get(&id).is_some_and(|(script, _)| script.code != code) {
            let other = "the script is waiting for an answer and can't be changed; send the same code, or run the new code without `requestState`";
            return Some(Err(ToolError::argument("code", other)));
        }
        let Some((script, _given_up)) = all.remove(&id) else {
            let gone = "the script waited too long for an answer and was ended; run it again";
            return Some(Err(ToolError::failed(gone)));
        };
        Some(Ok(script))
    }
}

/// Builds the error for a script that can't wait because too many do, `own` of them from the same client.
fn too_many(own: usize) -> String {
    let waiting = if own >= MAX_PARKED_PER_CLIENT {
        format!("{own} scripts of this client are already waiting for answers; answer one of them")
    } else {
        format!("{MAX_PARKED} scripts are already waiting for answers from other clients; wait")
    };
    let minutes = PARKED_SCRIPT_TTL.as_secs() / 60;
    format!("{waiting}, or try again in {minutes} minutes")
}
