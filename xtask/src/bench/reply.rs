//! Parses the HTTP/1.1 replies that MCP servers send: with a length or chunks, JSON or server-sent events.

use anyhow::{Context, Result, bail};

/// One complete reply.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HttpReply {
    /// The status code.
    pub(crate) status: u16,
    /// `Mcp-Session-Id`, if the server sent one.
    pub(crate) session: Option<String>,
    events: bool,
    body: Vec<u8>,
}

impl HttpReply {
    /// Returns the JSON messages in the body, whatever their framing.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &[u8]> {
        let data = |line| <[u8]>::strip_prefix(line, b"data:").map(<[u8]>::trim_ascii);
        let lines = self
            .body
            .split(|byte| *byte == b'\n')
            .filter_map(move |line| if self.events { data(line) } else { None });
        let whole = (!self.events).then(|| self.body.trim_ascii());
        // An event without data opens a stream and carries no message.
        lines.chain(whole).filter(|message| !message.is_empty())
    }

    /// The body as text, for an error.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

enum Framing {
    Length(usize),
    Chunks,
}

/// Parses the first reply in the buffer; returns it with its length, or `None` if it is incomplete.
pub(crate) fn parse(buffer: &[u8]) -> Result<Option<(HttpReply, usize)>> {
    let Some(head) = find(buffer, b"\r\n\r\n") else { return Ok(None) };
    let (head, rest) =
        (buffer.get(..head).unwrap_or_default(), buffer.get(head + 4..).unwrap_or_default());
    let before = buffer.len() - rest.len();
    let (mut reply, framing) = parse_head(head)?;
    let length = match framing {
        Framing::Length(length) => match rest.get(..length) {
            Some(body) => {
                reply.body.extend_from_slice(body);
                length
            }
            None => return Ok(None),
        },
        Framing::Chunks => match join_chunks(rest, &mut reply.body)? {
            Some(length) => length,
            None => return Ok(None),
        },
    };
    Ok(Some((reply, before + length)))
}

fn parse_head(head: &[u8]) -> Result<(HttpReply, Framing)> {
    let head = std::str::from_utf8(head).context("a reply's headers are not text")?;
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    let code = status.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut reply = HttpReply {
        status: code.with_context(|| format!("not a status line: {status:?}"))?,
        ..HttpReply::default()
    };
    let mut framing = Framing::Length(0);
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            framing =
                Framing::Length(value.parse().with_context(|| format!("Content-Length: {value}"))?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunks;
        } else if name.eq_ignore_ascii_case("content-type") {
            reply.events = value.starts_with("text/event-stream");
        } else if name.eq_ignore_ascii_case("mcp-session-id") {
            reply.session = Some(value.to_owned());
        }
    }
    Ok((reply, framing))
}

/// Appends the content of the chunks to `body`; returns their length, or `None` if the last one is missing.
fn join_chunks(chunks: &[u8], body: &mut Vec<u8>) -> Result<Option<usize>> {
    let mut at = 0;
    loop {
        let rest = chunks.get(at..).unwrap_or_default();
        let Some(line) = find(rest, b"\r\n") else { return Ok(None) };
        let size = std::str::from_utf8(rest.get(..line).unwrap_or_default()).unwrap_or_default();
        let size = size.split(';').next().unwrap_or_default().trim();
        let Ok(size) = usize::from_str_radix(size, 16) else {
            bail!("invalid chunk size: {size:?}")
        };
        let Some(chunk) = rest.get(line + 2..line + 2 + size + 2) else { return Ok(None) };
        body.extend_from_slice(chunk.get(..size).unwrap_or_default());
        at += line + 2 + size + 2;
        if size == 0 {
            return Ok(Some(at));
        }
    }
}

/// Returns the position of a needle.
pub(crate) fn find(hay: &[u8], needle: &[u8]) -> Option<usize> {
    hay.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &str, expected: &str) {
        let found = match parse(bytes.as_bytes()) {
            Ok(None) => "more".to_owned(),
            Ok(Some((reply, taken))) => {
                let messages: Vec<_> = reply.messages().map(String::from_utf8_lossy).collect();
                let left = bytes.len() - taken;
                format!("{} {:?} {} left {left}", reply.status, reply.session, messages.join(" + "))
            }
            Err(problem) => problem.to_string(),
        };
        assert_eq!(found, expected, "{bytes:?}");
    }

    #[test]
    fn replies() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "200 None {} left 0");
        check("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1", "200 None {} left 8");
        check("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{", "more");
        check("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n", "more");
        check("HTTP/1.1 202 Accepted\r\nMcp-Session-Id: a-b\r\n\r\n", "202 Some(\"a-b\")  left 0");
        check("hello\r\n\r\n", "not a status line: \"hello\"");
    }

    #[test]
    fn chunks_and_events() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n";
        let check = |body: &str, expected: &str| check(&format!("{head}{body}"), expected);
        check("d\r\ndata: {\"a\":1}\r\n", "more");
        check("f\r\ndata: {\"a\":1}\n\n\r\n0\r\n\r\n", "200 None {\"a\":1} left 0");
        check("8\r\ndata: {\"\r\n7\r\na\":1}\n\n\r\n0\r\n\r\n", "200 None {\"a\":1} left 0");
        check("14\r\ndata: \nid: 0/0\n\ndata\r\n5\r\n: {}\n\r\n0\r\n\r\n", "200 None {} left 0");
        check("zz\r\n", "invalid chunk size: \"zz\"");
    }
}
