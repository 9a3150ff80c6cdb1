//! Pipes: one message per line, to the input of a program and from its output.

use crate::{
    ClientTransport, Outgoing, Running, TransportEvent, TransportFailure, TransportListener,
    message,
};
use serde_json::Value;
use std::sync::Arc;
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader,
    },
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

/// Maximum reported characters of a line that is not a message.
const MAX_NOISE_CHARS: usize = 500;

/// Opens a line over a pair of pipes. Messages longer than `message_bytes` are skipped and reported.
pub fn open<R, W>(
    reader: R,
    writer: W,
    message_bytes: usize,
    listener: Arc<dyn TransportListener>,
) -> Arc<dyn ClientTransport>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    tokio::spawn(async move {
        let mut reader = BufReader::with_capacity(64 * 1024, reader);
        let failure = match read(&mut reader, message_bytes, &*listener).await {
            Ok(()) => TransportFailure::Lost("the program ended its output".into()),
            Err(error) => TransportFailure::Lost(error.to_string()),
        };
        listener.event(TransportEvent::Closed(failure));
    });
    let (lines, waiting) = mpsc::channel(WRITE_QUEUE_LENGTH);
    let closing = CancellationToken::new();
    let stop = closing.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = write(writer, waiting) => {}
        }
    });
    Arc::new(PipeTransport { lines, closing })
}

/// Messages queued for a program that reads slowly.
const WRITE_QUEUE_LENGTH: usize = 64;

/// Writes whole lines one after the other, so that a caller that stops waiting leaves no partial line.
async fn write(mut writer: impl AsyncWrite + Unpin, mut waiting: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = waiting.recv().await {
        let written = async {
            writer.write_all(&line).await?;
            writer.flush().await
        };
        let written: std::io::Result<()> = written.await;
        if let Err(error) = written {
            // The end of its output reports that the program has ended.
            tracing::debug!(%error, "a program stopped reading its input");
            return;
        }
    }
}

struct PipeTransport {
    lines: mpsc::Sender<Vec<u8>>,
    closing: CancellationToken,
}

impl Drop for PipeTransport {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl ClientTransport for PipeTransport {
    fn send(&self, outgoing: Outgoing) -> Running<'_, Result<(), TransportFailure>> {
        Box::pin(async move {
            let mut bytes = serde_json::to_vec(&outgoing.message)
                .map_err(|error| TransportFailure::Unreachable(error.to_string()))?;
            bytes.push(b'\n');
            let closed = |_| TransportFailure::Unreachable("the program's input is closed".into());
            tokio::select! {
                biased;
                () = self.closing.cancelled() => Err(TransportFailure::Unreachable("the connection is closed".into())),
                sent = self.lines.send(bytes) => sent.map_err(closed),
            }
        })
    }

    fn close(&self) -> Running<'_, ()> {
        self.closing.cancel();
        Box::pin(std::future::ready(()))
    }
}

/// Calls `each` with every line of a stream, without its end; lines longer than `most` bytes are cut.
pub async fn each_line(
    reader: impl AsyncRead + Unpin,
    most: usize,
    mut each: impl FnMut(&[u8]),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            if !line.is_empty() {
                each(&line);
            }
            return Ok(());
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        let room = most.saturating_sub(line.len());
        line.extend_from_slice(part.get(..room.min(part.len())).unwrap_or_default());
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            each(&line);
            line.clear();
        }
    }
}

async fn read(
    reader: &mut (impl AsyncBufRead + Unpin),
    most: usize,
    listener: &dyn TransportListener,
) -> std::io::Result<()> {
    let mut line = Vec::new();
    let mut skipped = 0_usize;
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            take(&mut line, &mut skipped, listener);
            return Ok(());
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        if skipped > 0 || line.len() + part.len() > most {
            skipped += line.len() + part.len();
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            take(&mut line, &mut skipped, listener);
        }
    }
}

/// Handles a whole line, or one that was too long to keep.
fn take(line: &mut Vec<u8>, skipped: &mut usize, listener: &dyn TransportListener) {
    if *skipped > 0 {
        let text = format!("a line of {skipped} bytes, which is over the limit for messages");
        listener.event(TransportEvent::Noise(text));
        *skipped = 0;
        return;
    }
    if !line.trim_ascii().is_empty() {
        deliver(line, listener);
    }
    line.clear();
}

fn deliver(line: &[u8], listener: &dyn TransportListener) {
    match message::parse(line) {
        Ok(Value::Array(batch)) if batch.iter().all(Value::is_object) => {
            for message in batch {
                listener.event(TransportEvent::Message { message, request: None });
            }
        }
        Ok(message @ Value::Object(_)) => {
            listener.event(TransportEvent::Message { message, request: None });
        }
        _ => {
            let text = String::from_utf8_lossy(line);
            listener
                .event(TransportEvent::Noise(text.trim().chars().take(MAX_NOISE_CHARS).collect()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    struct ChannelListener(mpsc::Sender<String>);

    impl TransportListener for ChannelListener {
        fn event(&self, event: TransportEvent) {
            let text = match event {
                TransportEvent::Message { message, .. } => message.to_string(),
                TransportEvent::Noise(text) => format!("noise {text}"),
                TransportEvent::Closed(failure) => format!("closed {failure}"),
                other => format!("{other:?}"),
            };
            self.0.try_send(text).unwrap();
        }
    }

    #[tokio::test]
    async fn lines_are_messages_and_the_rest_is_reported() {
        let (sender, mut heard) = mpsc::channel(64);
        let (here, there) = tokio::io::duplex(64);
        let (reader, writer) = tokio::io::split(there);
        let line = open(reader, writer, 100, Arc::new(ChannelListener(sender)));
        let (mut back, mut out) = tokio::io::split(here);
        let long = "x".repeat(500);
        let said = format!(
            "starting up...\n{{\"id\":1}}\r\n\n[{{\"id\":2}},{{\"id\":3}}]\n\"word\"\n{long}\n{{\"id\":4}}"
        );
        tokio::spawn(async move {
            out.write_all(said.as_bytes()).await.unwrap();
            out.shutdown().await.unwrap();
        });
        let mut all = Vec::new();
        while let Some(text) = heard.recv().await {
            let ended = text.starts_with("closed");
            all.push(text);
            if ended {
                break;
            }
        }
        assert_eq!(
            all,
            [
                "noise starting up...",
                "{\"id\":1}",
                "{\"id\":2}",
                "{\"id\":3}",
                "noise \"word\"",
                "noise a line of 500 bytes, which is over the limit for messages",
                "{\"id\":4}",
                "closed the connection was lost: the program ended its output",
            ]
        );
        line.send(json!({"id": 9}).into()).await.unwrap();
        let mut sent = vec![0; 9];
        tokio::io::AsyncReadExt::read_exact(&mut back, &mut sent).await.unwrap();
        assert_eq!(sent, b"{\"id\":9}\n");
        line.close().await;
        assert!(matches!(line.send(json!({}).into()).await, Err(TransportFailure::Unreachable(_))));
    }

    #[tokio::test]
    async fn an_abandoned_message_is_written_whole_or_not_at_all() {
        let (sender, _heard) = mpsc::channel(64);
        let (here, there) = tokio::io::duplex(64);
        let (reader, writer) = tokio::io::split(there);
        let line = open(reader, writer, 100, Arc::new(ChannelListener(sender)));
        let long = json!({"text": "x".repeat(100_000)});
        // The program does not read: the first message fills the pipe, and its sender stops waiting.
        let send = line.send(long.clone().into());
        drop(tokio::time::timeout(std::time::Duration::from_millis(20), send).await);
        line.send(json!({"id": 2}).into()).await.unwrap();
        let mut lines = BufReader::new(here).lines();
        assert_eq!(lines.next_line().await.unwrap(), Some(long.to_string()));
        assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("{\"id\":2}"));
    }

    #[tokio::test]
    async fn a_line_without_end_is_cut() {
        let text = format!("{}\nshort\nlast", "y".repeat(1000));
        let mut all = Vec::new();
        each_line(text.as_bytes(), 10, |line| all.push(line.to_vec())).await.unwrap();
        assert_eq!(all, [b"yyyyyyyyyy".to_vec(), b"short".to_vec(), b"last".to_vec()]);
    }
}
