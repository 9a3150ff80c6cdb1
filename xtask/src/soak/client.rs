//! A soak client: sends one batch after another, cancels calls now and then, and checks that answers are its own.

use super::{
    link::{self, CancelOutcome, ClientLink, LinkEvent, SoakTransport},
    questions::{self, QuestionKind, SoakIdentity, SoakQuestion},
    random::XorShift,
    record::SoakRecord,
};
use anyhow::Result;
use serde_json::Value;
use std::{
    collections::HashMap,
    thread,
    time::{Duration, Instant},
};

/// Longer than docent's timeout of any tool.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(45);
/// The pause between two batches, half a second on average.
const MIN_PAUSE_MS: u32 = 200;
const PAUSE_RANGE_MS: u32 = 600;
/// More clients than this pause longer, which keeps the total rate about the same: a soak is not a benchmark.
const BUSY_CLIENTS: usize = 50;
/// The most calls that a client has in flight on one connection.
const MAX_BATCH_CALLS: u32 = 4;
/// One batch in this many ends with a dropped connection.
const DROP_EVERY_BATCHES: u32 = 60;
/// One batch in this many is followed by an orderly close and a new connection.
const LEAVE_EVERY_BATCHES: u32 = 40;

struct SentQuestion {
    question: SoakQuestion,
    asked_at: Instant,
    withdrawn: bool,
}

/// A client and what it has recorded.
pub(super) struct SoakClient {
    asker: SoakIdentity,
    way: SoakTransport,
    port: u16,
    random: XorShift,
    /// The factor of its pauses.
    patience: u32,
    /// Counts over all connections, so that no two questions of a client are the same.
    sequence: u32,
    record: SoakRecord,
}

/// One connection of a client.
struct SoakConnection {
    link: Box<dyn ClientLink>,
    pending: HashMap<u32, SentQuestion>,
    /// Cancelled calls on a connection that stays open: an answer may still arrive.
    withdrawn: HashMap<u32, SentQuestion>,
    /// Restarts with every connection, so that the ids of all clients collide.
    last_id: u32,
}

/// Whether the connection can still be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionState {
    Usable,
    Ended,
}

impl SoakClient {
    /// Creates the client with this number, out of `clients`.
    pub(super) fn numbered(number: usize, clients: usize, port: u16) -> Self {
        Self {
            asker: SoakIdentity::numbered(number),
            way: SoakTransport::of(number),
            port,
            random: XorShift::new(number as u64),
            patience: u32::try_from(clients / BUSY_CLIENTS).unwrap_or(u32::MAX).max(1),
            sequence: 0,
            record: SoakRecord { clients: 1, ..SoakRecord::default() },
        }
    }

    /// Asks until the time is over and returns the record.
    pub(super) fn run(mut self, end: Instant) -> (SoakTransport, SoakRecord) {
        // Clients don't all start at the same moment.
        thread::sleep(Duration::from_millis(self.random.below(1000).into()));
        while Instant::now() < end {
            if let Err(problem) = self.connection(end) {
                self.record.broken += 1;
                self.record.note(format!("{} {}: {problem:#}", self.way.name(), self.asker.name));
                // Don't retry in a tight loop if the server rejects everything.
                thread::sleep(Duration::from_millis(500));
            }
        }
        (self.way, self.record)
    }

    /// Runs one connection, from its opening to its end.
    fn connection(&mut self, end: Instant) -> Result<()> {
        let link = link::open(self.port, self.way, self.asker.principal)?;
        let (pending, withdrawn) = (HashMap::new(), HashMap::new());
        let mut talk = SoakConnection { link, pending, withdrawn, last_id: 0 };
        let mut result = Ok(ConnectionState::Usable);
        while Instant::now() < end && matches!(result, Ok(ConnectionState::Usable)) {
            result = self.batch(&mut talk);
            thread::sleep(self.pause());
        }
        let ended = result.map(|after| after == ConnectionState::Ended);
        if let Err(problem) = &ended {
            for (_, one) in talk.pending.drain().filter(|(_, one)| !one.withdrawn) {
                self.record.record_lost(&one.question, &format!("{problem:#}"));
            }
        }
        self.record.cancelled +=
            u32::try_from(talk.withdrawn.len() + talk.pending.len()).unwrap_or(0);
        if ended.is_ok_and(|ended| !ended) {
            return talk.link.leave();
        }
        Ok(())
    }

    fn pause(&mut self) -> Duration {
        let pause = MIN_PAUSE_MS + self.random.below(PAUSE_RANGE_MS);
        Duration::from_millis(pause.into()).saturating_mul(self.patience)
    }

    /// Sends some questions and waits for their answers.
    fn batch(&mut self, talk: &mut SoakConnection) -> Result<ConnectionState> {
        let size = if self.way.is_duplex() { 1 + self.random.below(MAX_BATCH_CALLS) } else { 1 };
        let mut long = None;
        for _ in 0..size {
            let question = self.question(talk);
            let id = question.id;
            if question.params.contains_key("_meta") {
                long = Some(id);
            }
            self.record.record_sent(&question);
            let sent = talk.link.send(&question);
            let one = SentQuestion { question, asked_at: Instant::now(), withdrawn: false };
            talk.pending.insert(id, one);
            sent?;
        }
        if let Some(id) = long
            && self.random.once_in(2)
        {
            thread::sleep(Duration::from_millis(self.random.below(20).into()));
            if self.cancel_call(talk, id)? == ConnectionState::Ended {
                return Ok(ConnectionState::Ended);
            }
        }
        if self.random.once_in(DROP_EVERY_BATCHES) {
            self.abandon(talk);
            return Ok(ConnectionState::Ended);
        }
        self.collect(talk)?;
        if self.random.once_in(LEAVE_EVERY_BATCHES) {
            talk.link.leave()?;
            return Ok(ConnectionState::Ended);
        }
        Ok(ConnectionState::Usable)
    }

    fn question(&mut self, talk: &mut SoakConnection) -> SoakQuestion {
        talk.last_id += 1;
        self.sequence += 1;
        let kind = match QuestionKind::pick(&mut self.random) {
            // The stateless revision has no ping.
            QuestionKind::Ping if self.way == SoakTransport::Stateless => QuestionKind::Query,
            kind => kind,
        };
        SoakQuestion::new(&self.asker, kind, (talk.last_id, self.sequence))
    }

    fn cancel_call(&mut self, talk: &mut SoakConnection, id: u32) -> Result<ConnectionState> {
        if talk.link.cancel(id)? == CancelOutcome::Dropped {
            self.abandon(talk);
            return Ok(ConnectionState::Ended);
        }
        if self.way.is_duplex() {
            talk.withdrawn.extend(talk.pending.remove(&id).map(|one| (id, one)));
        } else if let Some(one) = talk.pending.get_mut(&id) {
            one.withdrawn = true;
        }
        Ok(ConnectionState::Usable)
    }

    /// Drops the connection in the middle of its calls, sometimes with a reset.
    fn abandon(&mut self, talk: &mut SoakConnection) {
        if self.random.once_in(2) {
            talk.link.reset();
        }
        self.record.abandoned += u32::try_from(talk.pending.len()).unwrap_or(0);
        talk.pending.clear();
    }

    /// Waits until every pending call is settled.
    fn collect(&mut self, talk: &mut SoakConnection) -> Result<()> {
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        while !talk.pending.is_empty() {
            let why = match talk.link.receive(deadline)? {
                LinkEvent::Message(message) => {
                    self.handle_message(talk, &message);
                    continue;
                }
                LinkEvent::Ended => "the reply ended without an answer",
                LinkEvent::TimedOut => "no answer in time",
            };
            for (_, one) in talk.pending.drain() {
                if one.withdrawn {
                    self.record.cancelled += 1;
                } else {
                    self.record.record_lost(&one.question, why);
                }
            }
        }
        Ok(())
    }

    fn handle_message(&mut self, talk: &mut SoakConnection, message: &Value) {
        if let Some(method) = message["method"].as_str() {
            if method == "notifications/progress" {
                self.record.progress += 1;
                if !questions::is_own_progress(&self.asker, &message["params"]["progressToken"]) {
                    self.record.record_stray(&format!("{} heard {message}", self.asker.name));
                }
            }
            return;
        }
        let id = message["id"].as_u64().and_then(|id| u32::try_from(id).ok());
        let one = id.and_then(|id| talk.pending.remove(&id).or_else(|| talk.withdrawn.remove(&id)));
        if let Some(one) = one {
            self.record.answer(&one.question, message, one.asked_at);
        } else {
            let start: String = message.to_string().chars().take(300).collect();
            self.record.record_stray(&format!("{} got an unrelated {start}", self.asker.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
    };

    /// Starts a server that accepts one connection and sends one reply, made from the request's body.
    fn server(answer: fn(&Value) -> Option<String>) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut read = Vec::new();
            let asked = loop {
                let mut bytes = [0; 4096];
                let count = stream.read(&mut bytes).unwrap();
                read.extend_from_slice(&bytes[..count]);
                let text = String::from_utf8_lossy(&read).into_owned();
                let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
                if let Some(body) = body.and_then(|body| serde_json::from_str::<Value>(&body).ok())
                {
                    break body;
                }
            };
            if let Some(body) = answer(&asked) {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                stream.write_all((head + &body).as_bytes()).unwrap();
            }
        });
        port
    }

    fn ask(answer: fn(&Value) -> Option<String>) -> (SoakRecord, Result<()>) {
        let port = server(answer);
        let mut client = SoakClient::numbered(4, 1, port);
        assert_eq!(client.way, SoakTransport::Plain);
        let link = link::open(port, client.way, client.asker.principal).unwrap();
        let (pending, withdrawn) = (HashMap::new(), HashMap::new());
        let mut talk = SoakConnection { link, pending, withdrawn, last_id: 0 };
        let question = SoakQuestion::new(&client.asker, QuestionKind::Query, (1, 1));
        client.record.record_sent(&question);
        talk.link.send(&question).unwrap();
        let one = SentQuestion { question, asked_at: Instant::now(), withdrawn: false };
        talk.pending.insert(1, one);
        let result = client.collect(&mut talk);
        (client.record, result)
    }

    fn reply(id: u32, text: &str) -> String {
        json!({"jsonrpc": "2.0", "id": id, "result": {"text": text}}).to_string()
    }

    #[test]
    fn answers_of_other_clients_are_detected() {
        let check = |answer, expected: [u32; 5]| {
            let (record, result) = ask(answer);
            result.unwrap();
            let SoakRecord { answered, crossed, strays, wrong, lost, .. } = record;
            assert_eq!([answered, crossed, strays, wrong, lost], expected, "{:?}", record.problems);
        };
        check(|asked| Some(reply(1, &asked["params"].to_string())), [1, 0, 0, 0, 0]);
        check(|_| Some(reply(1, "late fee mark-alpha-c0006-000001")), [0, 1, 0, 0, 0]);
        check(|_| Some(reply(1, "late fee mark-beta-c0004-000001")), [0, 1, 0, 0, 0]);
        check(|_| Some(reply(1, "late fee mark-alpha-c0004-000002")), [0, 1, 0, 0, 0]);
        check(|asked| Some(reply(7, &asked["params"].to_string())), [0, 0, 1, 0, 1]);
        check(|_| Some(reply(1, "internal error")), [0, 0, 0, 1, 0]);
        check(|_| Some(String::new()), [0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_connection_that_breaks_is_an_error() {
        for answer in [|_: &Value| None, |_: &Value| Some("<html>".to_owned())] {
            let (record, result) = ask(answer);
            result.unwrap_err();
            assert_eq!(record.answered, 0);
        }
    }
}
