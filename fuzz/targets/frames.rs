//! The frame reader: for any bytes in any pieces, each short line is returned complete and each long one is rejected.
#![no_main]

use docent_transport::LineFrames;
use libfuzzer_sys::fuzz_target;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, ReadBuf};

const LIMIT: usize = 64;

/// A reader that returns a few bytes at a time.
struct Pieces<'a> {
    rest: &'a [u8],
    size: usize,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let size = self.size.min(self.rest.len()).min(buf.remaining());
        let (now, later) = self.rest.split_at(size);
        buf.put_slice(now);
        self.rest = later;
        Poll::Ready(Ok(()))
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((first, rest)) = input.split_first() else { return };
    let mut lines = LineFrames::new(Pieces { rest, size: usize::from(*first) + 1 }, LIMIT);
    let expected = rest.split_inclusive(|byte| *byte == b'\n').map(|line| (line.len() <= LIMIT).then_some(line));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        for line in expected {
            let frame = lines.next().await.expect("a frame for every line");
            assert_eq!(frame.ok().as_deref(), line);
        }
        assert!(lines.next().await.is_none());
    });
});
