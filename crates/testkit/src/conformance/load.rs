//! Tools that stress a server, for benchmarks and for tests of limits, deadlines and panics.

use super::literal::{LiteralCallResult, bare, text, typed};
use docent_tool::{AnswerBlock, AnyTool, CallContext, CallStop, ToolError, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Arguments of `echo`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Echo {
    /// Comes back as it is.
    message: String,
}

/// Arguments of `sleep`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sleep {
    /// Milliseconds.
    ms: u64,
}

/// Arguments of `big`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Big {
    /// Length of the text.
    #[schemars(range(max = 268_435_456))]
    bytes: usize,
}

/// Arguments of `pieces`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pieces {
    /// How many.
    #[schemars(range(max = 1000))]
    count: u32,
}

pub(super) fn tools() -> Vec<Arc<dyn AnyTool>> {
    vec![
        typed("echo", "Answers with the message it was given", |args: Echo, _| async move {
            Ok(text(args.message))
        }),
        typed("sleep", "Answers after this many milliseconds, or with how far it came", sleep),
        typed("big", "Answers with a text of this many bytes", |args: Big, _| async move {
            Ok(text(filler(args.bytes)))
        }),
        typed("pieces", "Hands over its answer in pieces", pieces),
        bare("panic", "Panics", |_| async { panic!("the panic tool was called") }),
    ]
}

async fn sleep(args: Sleep, context: CallContext) -> LiteralCallResult {
    let started = Instant::now();
    context.progress(0, Some(args.ms), "sleeping");
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(args.ms)) => Ok(text(format!("slept {} ms", args.ms))),
        stop = context.stopped() => match stop {
            CallStop::Cancelled => Err(ToolError::Stopped(stop)),
            CallStop::Deadline => {
                let slept = format!("slept {} of {} ms", started.elapsed().as_millis(), args.ms);
                Ok(ToolOutcome { partial: true, ..text(slept) })
            }
        },
    }
}

async fn pieces(args: Pieces, context: CallContext) -> LiteralCallResult {
    for n in 1..=args.count {
        context.emit(AnswerBlock::text(format!("piece {n}"))).await;
    }
    Ok(text(format!("{} pieces", args.count)))
}

/// Lines of sixteen bytes that count up, so that a missing or repeated part is visible.
fn filler(bytes: usize) -> String {
    let lines = (0_u64..).map(|line| format!("{line:015}\n"));
    let mut text = String::with_capacity(bytes + 16);
    text.extend(lines.take(bytes.div_ceil(16)));
    text.truncate(bytes);
    text
}
