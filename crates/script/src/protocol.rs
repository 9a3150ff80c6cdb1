//! The messages between docent and a script worker, and their framing on the worker's pipes.
//!
//! A frame is the length of its JSON in four bytes, little-endian, and the JSON. Neither side reads a frame longer than
//! its limit. A worker's messages are untrusted: a script may have taken over the process.

use crate::check::ScriptModule;
use crate::{ConsoleLevel, ScriptErrorKind, ScriptLimits};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use std::io::{self, Read, Write};
use tokio::io::{AsyncRead, AsyncReadExt};

/// Bytes of a frame's length.
const FRAME_HEADER_BYTES: usize = 4;

/// Bytes of JSON that the arguments of one call may have.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 4 << 20;

/// Bytes of a frame in addition to its texts: names, numbers and punctuation.
const FRAME_OVERHEAD_BYTES: usize = 64 << 10;

/// Bytes per read.
const READ_CHUNK_BYTES: usize = 16 << 10;

/// Maximum bytes of one byte of text in JSON: `\u0000`.
const MAX_ESCAPED_BYTES: usize = 6;

/// What docent sends to a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToWorker {
    /// Run this script. The previous one has ended.
    Run {
        /// The script.
        code: String,
        /// Modules that it may import.
        modules: Vec<ScriptModule>,
        /// Its limits.
        limits: ScriptLimits,
    },
    /// A call has ended.
    Reply {
        /// The number that the script gave to the call.
        id: u32,
        /// Whether `json` is a result; otherwise it describes an error.
        ok: bool,
        /// The `CallToolResult`, or the error.
        json: Box<RawValue>,
    },
    /// End the script now.
    Stop(StopReason),
}

/// Why a script must stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StopReason {
    /// Its time limit has passed.
    Time,
    /// The client no longer wants the result.
    Cancelled,
}

/// What a worker sends to docent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromWorker {
    /// The script is being run.
    Started,
    /// The script printed something.
    Log { level: ConsoleLevel, text: String },
    /// The console's limit is reached: some of what was printed is missing.
    LogCut,
    /// The script calls a tool.
    Call { id: u32, server: String, tool: String, arguments: Box<RawValue> },
    /// The script has a value. With `cut`, it is a text: the beginning of the value's JSON.
    Done { value: Box<RawValue>, lost: Vec<String>, cut: bool },
    /// The script failed.
    Failed { kind: ScriptErrorKind, message: String, line: Option<u32>, column: Option<u32> },
}

/// The longest frame that docent accepts from a worker that runs under `limits`.
pub(crate) fn max_frame_bytes(limits: &ScriptLimits) -> usize {
    limits
        .output_bytes
        .saturating_mul(MAX_ESCAPED_BYTES)
        .saturating_add(MAX_ARGUMENT_BYTES)
        .saturating_add(FRAME_OVERHEAD_BYTES)
}

/// A message as a frame.
pub(crate) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; FRAME_HEADER_BYTES];
    serde_json::to_writer(&mut frame, message)?;
    let length = u32::try_from(frame.len() - FRAME_HEADER_BYTES)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a message is too long"))?;
    if let Some(header) = frame.first_chunk_mut() {
        *header = length.to_le_bytes();
    }
    Ok(frame)
}

/// Writes a message and flushes.
pub(crate) fn write(
    output: &mut (impl Write + ?Sized),
    message: &impl Serialize,
) -> io::Result<()> {
    output.write_all(&encode(message)?)?;
    output.flush()
}

/// Reads the next message, or `None` at the end. For the worker, which trusts docent and is limited by its process.
pub(crate) fn read<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<T>> {
    let mut header = [0; FRAME_HEADER_BYTES];
    match input.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u64::from(u32::from_le_bytes(header));
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Reads a worker's frames. Cancelling a read loses nothing.
pub(crate) struct FrameReader {
    output: Box<dyn AsyncRead + Send + Unpin>,
    buffer: Vec<u8>,
}

impl FrameReader {
    pub(crate) fn new(output: Box<dyn AsyncRead + Send + Unpin>) -> Self {
        Self { output, buffer: Vec::new() }
    }

    /// Whether all received data was read as frames.
    pub(crate) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The next message, or `None` when the worker has closed its output. An error is a frame that is longer than
    /// `max_bytes` or not a message.
    pub(crate) async fn next(&mut self, max_bytes: usize) -> io::Result<Option<FromWorker>> {
        loop {
            if let Some(message) = self.take(max_bytes)? {
                return Ok(Some(message));
            }
            self.buffer.reserve(READ_CHUNK_BYTES);
            if self.output.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Takes the first message of the buffer, if it is complete.
    fn take(&mut self, max_bytes: usize) -> io::Result<Option<FromWorker>> {
        let Some(header) = self.buffer.first_chunk() else { return Ok(None) };
        let length = usize::try_from(u32::from_le_bytes(*header)).unwrap_or(usize::MAX);
        if length > max_bytes {
            let problem = format!("a message of {length} bytes; {max_bytes} are allowed");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        let end = FRAME_HEADER_BYTES + length;
        let Some(body) = self.buffer.get(FRAME_HEADER_BYTES..end) else { return Ok(None) };
        let message = serde_json::from_slice(body)?;
        self.buffer.drain(..end);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn reader(bytes: Vec<u8>) -> FrameReader {
        FrameReader::new(Box::new(io::Cursor::new(bytes)))
    }

    #[tokio::test]
    async fn messages_survive_their_frames() {
        let arguments = RawValue::from_string(r#"{"a":[1,"é\u0000"]}"#.into()).unwrap();
        let call = FromWorker::Call { id: 7, server: "s".into(), tool: "t".into(), arguments };
        let bytes = [encode(&FromWorker::Started).unwrap(), encode(&call).unwrap()].concat();
        let mut frames = reader(bytes);
        assert!(matches!(frames.next(1000).await.unwrap(), Some(FromWorker::Started)));
        let Some(FromWorker::Call { id: 7, arguments, .. }) = frames.next(1000).await.unwrap()
        else {
            panic!()
        };
        assert_eq!(arguments.get(), r#"{"a":[1,"é\u0000"]}"#);
        assert!(frames.next(1000).await.unwrap().is_none() && frames.is_empty());
    }

    #[tokio::test]
    async fn what_is_not_a_frame_is_an_error() {
        let framed = |text: &str| {
            [u32::try_from(text.len()).unwrap().to_le_bytes().as_slice(), text.as_bytes()].concat()
        };
        for bytes in [
            framed("{}"),
            framed("7"),
            framed(r#""stopped""#),
            framed(r#"{"call":{"id":-1}}"#),
            framed(&"[".repeat(500)),
            u32::MAX.to_le_bytes().to_vec(),
            framed(&json!({"log": {"level": "log", "text": "x".repeat(1000)}}).to_string()),
        ] {
            assert!(reader(bytes.clone()).next(1000).await.is_err(), "{bytes:?}");
        }
        // A frame that the worker did not finish before it ended.
        let mut cut = encode(&FromWorker::Started).unwrap();
        cut.pop();
        assert!(reader(cut).next(1000).await.unwrap().is_none());
    }

    #[test]
    fn a_worker_reads_what_docent_writes() {
        let mut bytes = Vec::new();
        write(&mut bytes, &ToWorker::Stop(StopReason::Time)).unwrap();
        let json = RawValue::from_string("[1]".into()).unwrap();
        write(&mut bytes, &ToWorker::Reply { id: 1, ok: true, json }).unwrap();
        let mut input = bytes.as_slice();
        assert!(matches!(
            read::<ToWorker>(&mut input).unwrap(),
            Some(ToWorker::Stop(StopReason::Time))
        ));
        let reply = read::<ToWorker>(&mut input).unwrap();
        assert!(matches!(reply, Some(ToWorker::Reply { id: 1, ok: true, .. })), "{reply:?}");
        assert!(read::<ToWorker>(&mut input).unwrap().is_none());
    }
}
