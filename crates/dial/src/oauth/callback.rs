//! The redirect target of the browser: a listener on this machine that accepts one redirect.

use crate::{TransportFailure, http_sender::shorten};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    time::{Duration, timeout},
};
use url::Url;

const CALLBACK_PATH: &str = "/callback";
/// Maximum length of a request head, which contains the code, and how long it may take.
const MAX_REQUEST_HEAD_BYTES: u64 = 16 * 1024;
const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the redirect URI for `port`.
pub(super) fn callback_uri(port: u16) -> String {
    format!("http://127.0.0.1:{port}{CALLBACK_PATH}")
}

/// Parameters of the redirect.
pub(super) struct CallbackParameters {
    pub(super) code: String,
    pub(super) issuer: Option<String>,
}

pub(super) struct CallbackListener {
    listener: TcpListener,
    port: u16,
}

impl CallbackListener {
    /// Listens on the wished port, or on any if that is taken and `any` is set.
    pub(super) async fn open(wished: Option<u16>, any: bool) -> Result<Self, TransportFailure> {
        let cannot_open = |error: std::io::Error| {
            TransportFailure::Unauthorized(format!(
                "cannot open a port for the browser's redirect: {error}"
            ))
        };
        let first = TcpListener::bind(("127.0.0.1", wished.unwrap_or(0))).await;
        let listener = match first {
            Err(_) if any => TcpListener::bind(("127.0.0.1", 0)).await.map_err(cannot_open)?,
            other => other.map_err(cannot_open)?,
        };
        let port = listener.local_addr().map_err(cannot_open)?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the redirect with this `state`. Other requests are refused and end nothing, because anyone on this
    /// machine can send them.
    pub(super) async fn wait(&self, state: &str) -> Result<CallbackParameters, TransportFailure> {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else { continue };
            let mut stream = BufReader::new(stream);
            let Ok(Some(target)) = timeout(REQUEST_HEAD_TIMEOUT, target(&mut stream)).await else {
                continue;
            };
            let verdict = parse_redirect(&target, state);
            let (status, text) = match &verdict {
                None => ("404 Not Found", "Not found."),
                Some(Ok(_)) => ("200 OK", "You are signed in. You can close this page."),
                Some(Err(_)) => {
                    ("400 Bad Request", "Sign-in failed. See the terminal for the reason.")
                }
            };
            let page =
                format!("<!doctype html><meta charset=utf-8><title>docent</title><p>{text}</p>");
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
                 Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{page}",
                page.len()
            );
            // If this fails the user sees a broken page; only the redirect's parameters matter.
            let _unseen = timeout(REQUEST_HEAD_TIMEOUT, stream.write_all(answer.as_bytes())).await;
            let _unsent = timeout(REQUEST_HEAD_TIMEOUT, stream.shutdown()).await;
            if let Some(verdict) = verdict {
                return verdict;
            }
        }
    }
}

/// Reads the target of a GET request. The rest of its head is read too, so that the answer is not lost.
async fn target(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = stream.take(MAX_REQUEST_HEAD_BYTES);
    let mut line = String::new();
    head.read_line(&mut line).await.ok()?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?.to_owned();
    loop {
        let mut rest = String::new();
        if head.read_line(&mut rest).await.ok()? == 0 || rest.trim().is_empty() {
            return Some(target);
        }
    }
}

/// Parses a request: not the redirect, a code, or an error.
fn parse_redirect(
    target: &str,
    state: &str,
) -> Option<Result<CallbackParameters, TransportFailure>> {
    let url = Url::parse("http://127.0.0.1").and_then(|base| base.join(target)).ok()?;
    if url.path() != CALLBACK_PATH {
        return None;
    }
    let value = |name: &str| {
        let mut found = url.query_pairs().filter(|(key, _)| key == name);
        let first = found.next().map(|(_, value)| value.into_owned());
        // A repeated parameter is ignored.
        first.filter(|_| found.next().is_none())
    };
    if state.is_empty() || value("state").as_deref() != Some(state) {
        return None;
    }
    let verdict = match (value("code"), value("error")) {
        (Some(code), None) => Ok(CallbackParameters { code, issuer: value("iss") }),
        (_, error) => {
            let error = error.unwrap_or_else(|| "no code was returned".to_owned());
            let why = value("error_description").unwrap_or_default();
            Err(TransportFailure::Unauthorized(format!(
                "sign-in failed: {}",
                shorten(&format!("{error} {why}"))
            )))
        }
    };
    Some(verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_judged() {
        let check = |target: &str, expected: Option<Result<(&str, Option<&str>), &str>>| match (
            parse_redirect(target, "s"),
            expected,
        ) {
            (None, None) => {}
            (Some(Ok(brought)), Some(Ok((code, issuer)))) => {
                assert_eq!((brought.code.as_str(), brought.issuer.as_deref()), (code, issuer));
            }
            (Some(Err(failure)), Some(Err(expected))) => {
                assert!(failure.to_string().contains(expected), "{failure}");
            }
            (found, _) => panic!("{target}: {:?}", found.map(|found| found.map(|_| ()))),
        };
        check("/callback?code=c&state=s", Some(Ok(("c", None))));
        check(
            "/callback?state=s&code=a%20b&iss=https://as.test",
            Some(Ok(("a b", Some("https://as.test")))),
        );
        check("/callback?code=c&state=t", None);
        check("/callback?code=c", None);
        check("/callback?code=c&state=s&state=s", None);
        check("/callback?code=c&code=d&state=s", Some(Err("no code")));
        check(
            "/callback?error=access_denied&error_description=not%20you&state=s",
            Some(Err("access_denied not you")),
        );
        check("/callback?error=access_denied&state=t", None);
        check("/callback?state=s", Some(Err("no code")));
        check("/favicon.ico", None);
        check("http://evil.test/callback?code=c&state=s", Some(Ok(("c", None))));
        check("//[", None);
        assert!(parse_redirect("/callback?code=c&state=", "").is_none());
    }

    #[tokio::test]
    async fn other_requests_change_nothing() {
        let door = CallbackListener::open(None, true).await.unwrap();
        let address = ("127.0.0.1", door.port());
        let requests = async {
            drop(TcpStream::connect(address).await.unwrap());
            let mut answers = Vec::new();
            for request in [
                "GET /favicon.ico HTTP/1.1\r\n\r\n",
                "GET /callback?code=evil&state=guess HTTP/1.1\r\n\r\n",
                "GET /callback?code=c&state=s HTTP/1.1\r\nHost: x\r\n\r\n",
            ] {
                let mut stream = TcpStream::connect(address).await.unwrap();
                stream.write_all(request.as_bytes()).await.unwrap();
                let mut answer = String::new();
                stream.read_to_string(&mut answer).await.unwrap();
                answers.push(answer.split("\r\n").next().unwrap().to_owned());
            }
            answers
        };
        let (brought, answers) = tokio::join!(door.wait("s"), requests);
        assert_eq!(brought.unwrap().code, "c");
        assert_eq!(
            answers,
            ["HTTP/1.1 404 Not Found", "HTTP/1.1 404 Not Found", "HTTP/1.1 200 OK"]
        );
    }
}
