//! Event streams (`text/event-stream`): bytes in, events out.
//!
//! Pure: no I/O and no clock. Bytes may be split anywhere, even inside a character or between CR and LF. Events have a
//! size limit, so that a server can't fill the memory with an endless line.

use memchr::{memchr, memchr2};

/// One event with data. Without an `event:` field, its name is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEvent {
    /// Value of `event:`.
    pub name: String,
    /// The lines of `data:`, joined.
    pub data: String,
}

/// An event is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of more than {0} bytes")]
pub struct EventTooLong(pub usize);

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Parser for one event stream.
#[derive(Debug)]
pub struct EventReader {
    limit: usize,
    /// The line that has not ended yet.
    line: Vec<u8>,
    /// The byte order mark can only be at the very start.
    at_start: bool,
    /// The last line ended in CR: an LF that follows belongs to it.
    after_cr: bool,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    /// The id of the current event, and of later ones until another is given.
    coming_id: Option<String>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
}

impl EventReader {
    /// Creates a parser with a limit for a line and for the data of an event.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            at_start: true,
            after_cr: false,
            name: String::new(),
            data: Vec::new(),
            has_data: false,
            coming_id: None,
            last_id: None,
            retry_ms: None,
        }
    }

    /// Prepares for the same stream on another connection: drops an incomplete event, keeps the id and the pause.
    pub fn restart(&mut self) {
        *self = Self {
            coming_id: self.last_id.clone(),
            last_id: self.last_id.take(),
            retry_ms: self.retry_ms,
            ..Self::new(self.limit)
        };
    }

    /// Returns the id to resume the stream from. Events without data count too.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// Returns how long the server asks to wait before the stream is resumed.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Parses bytes and appends the events that they complete to `events`. After an error the stream is unusable.
    pub fn push(
        &mut self,
        bytes: &[u8],
        events: &mut Vec<ServerEvent>,
    ) -> Result<(), EventTooLong> {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            if self.after_cr {
                self.after_cr = false;
                if first == b'\n' {
                    rest = rest.get(1..).unwrap_or_default();
                    continue;
                }
            }
            let Some(end) = memchr2(b'\r', b'\n', rest) else {
                return self.keep(rest);
            };
            let (head, tail) = rest.split_at(end);
            self.after_cr = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            if self.line.is_empty() && !self.at_start {
                self.check_length(head.len())?;
                self.take_line(head, events)?;
            } else {
                self.keep(head)?;
                let line = std::mem::take(&mut self.line);
                let text = if std::mem::take(&mut self.at_start) {
                    line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line)
                } else {
                    &line
                };
                self.take_line(text, events)?;
            }
        }
        Ok(())
    }

    fn check_length(&self, length: usize) -> Result<(), EventTooLong> {
        // Allows for the name of the field, so that data of exactly the limit fits in one line.
        if length > self.limit.saturating_add(16) { Err(EventTooLong(self.limit)) } else { Ok(()) }
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        self.check_length(self.line.len().saturating_add(bytes.len()))?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn take_line(
        &mut self,
        line: &[u8],
        events: &mut Vec<ServerEvent>,
    ) -> Result<(), EventTooLong> {
        if line.is_empty() {
            self.end_event(events);
            return Ok(());
        }
        let (field, value) = match memchr(b':', line) {
            Some(at) => {
                let (field, value) = line.split_at(at);
                let value = value.get(1..).unwrap_or_default();
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, [].as_slice()),
        };
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                if self.data.len().saturating_add(value.len()) > self.limit {
                    return Err(EventTooLong(self.limit));
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"id" if memchr(0, value).is_none() => {
                self.coming_id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                // Only digits, so a parse error means a number that is too large.
                let text = String::from_utf8_lossy(value);
                self.retry_ms = Some(text.parse().unwrap_or(u64::MAX));
            }
            // Comments have an empty name; unknown fields are ignored.
            _ => {}
        }
        Ok(())
    }

    fn end_event(&mut self, events: &mut Vec<ServerEvent>) {
        self.last_id.clone_from(&self.coming_id);
        let name = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) && !data.is_empty() {
            let data = String::from_utf8(data)
                .unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned());
            events.push(ServerEvent { name, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(
        pieces: &[&[u8]],
        limit: usize,
    ) -> Result<(Vec<ServerEvent>, EventReader), EventTooLong> {
        let mut reader = EventReader::new(limit);
        let mut events = Vec::new();
        for piece in pieces {
            reader.push(piece, &mut events)?;
        }
        Ok((events, reader))
    }

    fn check(stream: &str, expected: &[(&str, &str)], id: Option<&str>, retry: Option<u64>) {
        for pieces in [vec![stream.as_bytes()], stream.as_bytes().chunks(1).collect()] {
            let (events, reader) = read(&pieces, 1000).unwrap();
            let found: Vec<_> =
                events.iter().map(|event| (event.name.as_str(), event.data.as_str())).collect();
            assert_eq!(found, expected, "{stream:?}");
            assert_eq!(reader.last_id(), id, "{stream:?}");
            assert_eq!(reader.retry_ms(), retry, "{stream:?}");
        }
    }

    #[test]
    fn events_are_read() {
        check("data: one\n\n", &[("", "one")], None, None);
        check("data:one\n\ndata: two\n\n", &[("", "one"), ("", "two")], None, None);
        check("event: endpoint\ndata: /messages\n\n", &[("endpoint", "/messages")], None, None);
        check("data: a\ndata\ndata:  b\n\n", &[("", "a\n\n b")], None, None);
        check(": comment\n\ndata: x\n\n", &[("", "x")], None, None);
        check("unknown: 1\nData: no\ndata: x\n\n", &[("", "x")], None, None);
        check("data: never ended\n", &[], None, None);
        check("", &[], None, None);
    }

    #[test]
    fn lines_end_in_any_of_three_ways() {
        for end in ["\n", "\r", "\r\n"] {
            let stream = format!("data: a{end}data: b{end}{end}data: c{end}{end}");
            check(&stream, &[("", "a\nb"), ("", "c")], None, None);
        }
        check("data: a\r\n\rdata: b\n\r\n", &[("", "a"), ("", "b")], None, None);
    }

    #[test]
    fn a_byte_order_mark_counts_at_the_start_alone() {
        check("\u{feff}data: a\n\n", &[("", "a")], None, None);
        check("\u{feff}\u{feff}data: a\n\n", &[], None, None);
        check("data: a\n\n\u{feff}data: b\n\n", &[("", "a")], None, None);
    }

    #[test]
    fn ids_and_pauses_are_kept() {
        check("id: 7\nretry: 500\ndata: \n\n", &[], Some("7"), Some(500));
        check("id: 7\ndata: a\n\ndata: b\n\n", &[("", "a"), ("", "b")], Some("7"), None);
        check("id: 7\ndata: a\n\nid: 8\ndata: b\n", &[("", "a")], Some("7"), None);
        check("id: 7\n\nid\n\n", &[], None, None);
        check("id: a\0b\nretry: -1\nretry: 5x\nretry:\n\n", &[], None, None);
        check("retry: 99999999999999999999999\n\n", &[], None, Some(u64::MAX));
        let (_, reader) = read(&[b"data: x\n\n"], 10).unwrap();
        assert_eq!(reader.last_id(), None);
        let mut events = Vec::new();
        let mut taken_up = EventReader::new(10);
        taken_up.push(b"id: 9\nretry: 5\ndata: x\n\nid: 10\ndata: cut o", &mut events).unwrap();
        taken_up.restart();
        taken_up.push(b"data: y\n\n", &mut events).unwrap();
        assert_eq!(events.iter().map(|event| event.data.as_str()).collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!((taken_up.last_id(), taken_up.retry_ms()), (Some("9"), Some(5)));
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        let (events, _) = read(&[b"data: a\xff\n\n"], 100).unwrap();
        assert_eq!(events[0].data, "a\u{fffd}");
    }

    #[test]
    fn events_are_bounded() {
        let fits = format!("data: {}\n\n", "x".repeat(100));
        assert_eq!(read(&[fits.as_bytes()], 100).unwrap().0[0].data.len(), 100);
        let long = format!("data: {}\n\n", "x".repeat(101));
        assert_eq!(read(&[long.as_bytes()], 100).unwrap_err(), EventTooLong(100));
        assert_eq!(read(&["x".repeat(200).as_bytes()], 100).unwrap_err(), EventTooLong(100));
        let lines = "data: 12345\n".repeat(30);
        assert_eq!(read(&[lines.as_bytes()], 100).unwrap_err(), EventTooLong(100));
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![
            Just("data: ".to_owned()),
            Just("data".to_owned()),
            Just("id: ".to_owned()),
            Just("retry: 1".to_owned()),
            Just("event: ".to_owned()),
            Just("\n".to_owned()),
            Just("\r".to_owned()),
            Just("\r\n".to_owned()),
            Just("\u{feff}".to_owned()),
            "[a-zé:\0 ]{0,6}",
        ];
        prop::collection::vec(word, 0..40).prop_map(|words| words.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn where_bytes_are_split_makes_no_difference(
            bytes in prop_oneof![text(), prop::collection::vec(any::<u8>(), 0..200)],
            cuts in prop::collection::vec(0_usize..200, 0..8),
        ) {
            let whole = read(&[&bytes], 40);
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut from = 0;
            for cut in cuts {
                pieces.push(&bytes[from..cut]);
                from = cut;
            }
            pieces.push(&bytes[from..]);
            match (whole, read(&pieces, 40)) {
                (Ok((one, left)), Ok((other, right))) => {
                    prop_assert_eq!(one, other);
                    prop_assert_eq!(left.last_id(), right.last_id());
                    prop_assert_eq!(left.retry_ms(), right.retry_ms());
                }
                (one, other) => prop_assert_eq!(one.is_err(), other.is_err()),
            }
        }

        #[test]
        fn what_is_written_is_read(
            lines in prop::collection::vec("[^\r\n]{0,20}", 1..4),
            name in "[a-z]{0,8}",
            id in "[^\r\n\0]{1,10}",
        ) {
            let data = lines.join("\n");
            prop_assume!(!data.is_empty());
            let mut stream = format!("id: {id}\nevent: {name}\n");
            for line in &lines {
                stream.push_str("data: ");
                stream.push_str(line);
                stream.push('\n');
            }
            stream.push('\n');
            let (events, reader) = read(&[stream.as_bytes()], 1000).unwrap();
            prop_assert_eq!(events, vec![ServerEvent { name, data }]);
            prop_assert_eq!(reader.last_id(), Some(id.as_str()));
        }
    }
}
