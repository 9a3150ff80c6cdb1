//! A scripted server that records its requests.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};
use url::Url;

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct ProviderRequest {
    pub(crate) method: String,
    /// Path with query.
    pub(crate) path: String,
    pub(crate) body: String,
    headers: Vec<(String, String)>,
}

impl ProviderRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A scripted response.
#[derive(Debug, Clone)]
pub(crate) struct ProviderReply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Delay between two bytes of the response.
    drip: Option<Duration>,
    /// Whether to send no content length.
    chunked: bool,
}

impl ProviderReply {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new(), drip: None, chunked: false }
    }

    pub(crate) fn html(body: &str) -> Self {
        Self::new(200).with("content-type", "text/html; charset=utf-8").body(body.as_bytes())
    }

    pub(crate) fn to(place: &str) -> Self {
        Self::new(301).with("location", place)
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self
    }

    pub(crate) fn drip(mut self, pause: Duration) -> Self {
        self.drip = Some(pause);
        self
    }

    pub(crate) fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut lines = vec![format!("HTTP/1.1 {} X", self.status)];
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if self.chunked {
            lines.push("transfer-encoding: chunked".to_owned());
        } else if self.status != 304 {
            lines.push(format!("content-length: {}", self.body.len()));
        }
        lines.push("\r\n".to_owned());
        let head = lines.join("\r\n");
        let mut bytes = head.into_bytes();
        if self.chunked {
            for chunk in self.body.chunks(1 << 16) {
                bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        } else {
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }

    fn send(&self, stream: &mut TcpStream) -> std::io::Result<()> {
        let bytes = self.bytes();
        let Some(pause) = self.drip else { return stream.write_all(&bytes) };
        for byte in bytes {
            stream.write_all(&[byte])?;
            thread::sleep(pause);
        }
        Ok(())
    }
}

type Answer = dyn Fn(&ProviderRequest) -> ProviderReply + Send + Sync;

pub(crate) struct ProviderTestServer {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<ProviderRequest>>>,
}

impl ProviderTestServer {
    pub(crate) fn start(
        answer: impl Fn(&ProviderRequest) -> ProviderReply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answer, log): (Arc<Answer>, _) = (Arc::new(answer), Arc::clone(&asked));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                // Some tests disconnect on purpose.
                thread::spawn(move || serve(stream, &*answer, &log).ok());
            }
        });
        Self { address, asked }
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    pub(crate) fn rule(&self) -> String {
        self.address.to_string()
    }

    /// Requests since the last call.
    pub(crate) fn asked(&self) -> Vec<ProviderRequest> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }

    /// Paths requested since the last call.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.path).collect()
    }
}

fn serve(
    stream: TcpStream,
    answer: &Answer,
    log: &Mutex<Vec<ProviderRequest>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            lines.push(line.to_owned());
        }
        let mut words = lines[0].split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let header = |line: &String| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        let headers = lines[1..].iter().filter_map(header).collect();
        let mut asked = ProviderRequest { method, path, body: String::new(), headers };
        if let Some(length) = asked.header("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body)?;
            asked.body = String::from_utf8_lossy(&body).into_owned();
        }
        log.lock().unwrap().push(asked.clone());
        answer(&asked).send(&mut stream)?;
    }
}
