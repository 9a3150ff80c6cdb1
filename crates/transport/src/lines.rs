//! Newline-delimited frames from a pipe, bounded in size. Handles bytes, not messages.

use crate::frame_transport::Frames;
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// A frame exceeded the limit; its bytes were discarded and the next frame can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTooLong;

/// Reads frames that end at a newline or at the end of the pipe.
///
/// All state is in the struct, so dropping a pending `next` loses nothing.
#[derive(Debug)]
pub struct LineFrames<R> {
    reader: R,
    limit: usize,
    buffer: BytesMut,
    /// How much of `buffer` is known to contain no newline.
    searched: usize,
    /// Skipping the rest of an oversized frame.
    skipping: bool,
    ended: bool,
}

impl<R: AsyncRead + Unpin + Send> LineFrames<R> {
    /// Frames of at most `limit` bytes, newline included.
    pub fn new(reader: R, limit: usize) -> Self {
        let buffer = BytesMut::with_capacity(8 * 1024);
        Self { reader, limit, buffer, searched: 0, skipping: false, ended: false }
    }

    /// The next frame; `None` at the end. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Bytes, FrameTooLong>> {
        loop {
            if let Some(frame) = self.take() {
                return Some(frame);
            }
            if self.ended {
                let rest = self.buffer.split().freeze();
                self.searched = 0;
                return (!rest.is_empty() && !self.skipping).then_some(Ok(rest));
            }
            match self.reader.read_buf(&mut self.buffer).await {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "cannot read from the pipe");
                    self.ended = true;
                }
            }
        }
    }

    /// A complete frame from the buffered bytes.
    fn take(&mut self) -> Option<Result<Bytes, FrameTooLong>> {
        let newline = self.buffer.iter().skip(self.searched).position(|byte| *byte == b'\n');
        if let Some(offset) = newline {
            let frame = self.buffer.split_to(self.searched + offset + 1).freeze();
            self.searched = 0;
            if std::mem::take(&mut self.skipping) {
                return self.take();
            }
            return Some(if frame.len() > self.limit { Err(FrameTooLong) } else { Ok(frame) });
        }
        if self.skipping {
            self.buffer.clear();
        } else if self.buffer.len() > self.limit {
            self.buffer.clear();
            self.searched = 0;
            self.skipping = true;
            return Some(Err(FrameTooLong));
        }
        self.searched = self.buffer.len();
        None
    }
}

impl<R: AsyncRead + Unpin + Send> Frames for LineFrames<R> {
    fn next(&mut self) -> impl Future<Output = Option<Result<Bytes, FrameTooLong>>> + Send {
        Self::next(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn frames(input: &[u8], limit: usize) -> Vec<String> {
        let mut lines = LineFrames::new(input, limit);
        let mut seen = Vec::new();
        while let Some(frame) = lines.next().await {
            seen.push(match frame {
                Ok(bytes) => String::from_utf8_lossy(&bytes).trim_end().to_owned(),
                Err(FrameTooLong) => "too long".to_owned(),
            });
        }
        seen
    }

    #[tokio::test]
    async fn frames_end_at_newlines_bounds_and_the_end() {
        assert_eq!(frames(b"{}\n[]\n", 4).await, ["{}", "[]"]);
        assert_eq!(frames(b"{}\nlast", 8).await, ["{}", "last"]);
        assert_eq!(frames(b"123456789\n{}\n", 4).await, ["too long", "{}"]);
        assert_eq!(frames(b"123456789", 4).await, ["too long"]);
        assert_eq!(frames(b"", 4).await, [""; 0]);
    }

    #[tokio::test]
    async fn an_oversized_frame_is_not_kept() {
        let mut input = vec![b'a'; 1 << 20];
        input.extend_from_slice(b"\n{}\n");
        let mut lines = LineFrames::new(&input[..], 1024);
        assert_eq!(lines.next().await, Some(Err(FrameTooLong)));
        assert!(lines.buffer.capacity() < 64 * 1024, "{}", lines.buffer.capacity());
        assert_eq!(lines.next().await.unwrap().unwrap(), "{}\n");
    }
}
