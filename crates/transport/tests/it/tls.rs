//! TLS on real sockets, with certificates made for the test.

use crate::fixture::{SiteOptions, TestAccess, TestSite, request};
use docent_transport::tls::{TlsFiles, TlsSettings};
use futures::{SinkExt, StreamExt};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};
use rustls::{
    ClientConfig, HandshakeKind, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName},
};
use serde_json::json;
use std::{io, path::PathBuf, sync::Arc, time::Duration};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tokio_tungstenite::tungstenite::Message;

/// A certificate authority.
pub(crate) struct TestCertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    der: CertificateDer<'static>,
}

impl TestCertificateAuthority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let (pem, der) = (certificate.pem(), certificate.der().clone());
        Self { issuer: Issuer::new(params, key), pem, der }
    }

    fn sign(&self, params: &CertificateParams) -> SignedCertificate {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        SignedCertificate {
            pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            der: certificate.der().clone(),
            key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        }
    }
}

pub(crate) struct SignedCertificate {
    pem: String,
    key_pem: String,
    der: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn server_params() -> CertificateParams {
    CertificateParams::new(vec!["localhost".to_owned()]).unwrap()
}

/// A client's certificate with every kind of name.
fn client_params() -> CertificateParams {
    let mut params = CertificateParams::new(vec!["agent.example".to_owned()]).unwrap();
    params.subject_alt_names.push(SanType::Rfc822Name("ann@agent.example".try_into().unwrap()));
    params.subject_alt_names.push(SanType::URI("spiffe://agent.example/ann".try_into().unwrap()));
    params.distinguished_name.push(DnType::CommonName, "ann");
    params
}

/// A certificate that is valid only between these years.
fn dated(mut params: CertificateParams, (from, until): (i32, i32)) -> CertificateParams {
    params.not_before = rcgen::date_time_ymd(from, 1, 1);
    params.not_after = rcgen::date_time_ymd(until, 1, 1);
    params
}

/// A server's files, and their authority.
pub(crate) struct TlsKeyFiles {
    folder: TempDir,
    pub(crate) authority: TestCertificateAuthority,
}

impl TlsKeyFiles {
    pub(crate) fn new() -> Self {
        let keys =
            Self { folder: TempDir::new().unwrap(), authority: TestCertificateAuthority::new() };
        keys.write(&keys.authority.sign(&server_params()));
        keys
    }

    fn put(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn write(&self, signed: &SignedCertificate) {
        self.put("chain.pem", &signed.pem);
        self.put("key.pem", &signed.key_pem);
    }

    fn files(&self, clients: Option<&TestCertificateAuthority>, client_required: bool) -> TlsFiles {
        TlsFiles {
            chain: self.folder.path().join("chain.pem"),
            key: self.folder.path().join("key.pem"),
            client_ca: clients.map(|authority| self.put("clients.pem", &authority.pem)),
            client_required,
        }
    }

    pub(crate) fn tls(
        &self,
        clients: Option<&TestCertificateAuthority>,
        required: bool,
    ) -> Arc<TlsSettings> {
        Arc::new(TlsSettings::load(self.files(clients, required)).unwrap())
    }

    /// A client that trusts the server's authority.
    pub(crate) fn client(&self, own: Option<&SignedCertificate>) -> ClientConfig {
        client(&self.authority, own)
    }
}

fn client(trusted: &TestCertificateAuthority, own: Option<&SignedCertificate>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der.clone()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    match own {
        None => builder.with_no_client_auth(),
        Some(own) => {
            builder.with_client_auth_cert(vec![own.der.clone()], own.key.clone_key()).unwrap()
        }
    }
}

async fn connect(
    site: &TestSite,
    client: impl Into<Arc<ClientConfig>>,
) -> io::Result<TlsStream<TcpStream>> {
    let client: Arc<ClientConfig> = client.into();
    let socket = TcpStream::connect(("127.0.0.1", site.port)).await?;
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(client).connect(name, socket).await
}

/// The response to bytes, which may be a rejection of the handshake.
async fn say(site: &TestSite, client: ClientConfig, bytes: &str) -> io::Result<String> {
    let mut stream = connect(site, client).await?;
    stream.write_all(bytes.as_bytes()).await?;
    let mut heard = Vec::new();
    timeout(Duration::from_secs(30), stream.read_to_end(&mut heard)).await.expect("hangs")?;
    Ok(String::from_utf8_lossy(&heard).into_owned())
}

/// The response to a request without a body.
pub(crate) async fn ask(site: &TestSite, client: ClientConfig, head: &str) -> io::Result<String> {
    say(site, client, &site.raw(head, &[], "")).await
}

async fn site(tls: Arc<TlsSettings>, door: TestAccess) -> TestSite {
    TestSite::build(door, SiteOptions { tls: Some(tls), ..SiteOptions::default() }).await
}

#[tokio::test]
async fn requests_are_answered_over_tls_only() {
    let keys = TlsKeyFiles::new();
    let site = site(keys.tls(None, false), TestAccess::default()).await;
    let heard = ask(&site, keys.client(None), "GET /healthz").await.unwrap();
    assert!(heard.starts_with("HTTP/1.1 200"), "{heard}");
    let mut config = keys.client(None);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = connect(&site, config).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let mut in_the_clear = TcpStream::connect(("127.0.0.1", site.port)).await.unwrap();
    in_the_clear.write_all(site.raw("GET /healthz", &[], "").as_bytes()).await.unwrap();
    let mut heard = Vec::new();
    let ended = timeout(Duration::from_secs(30), in_the_clear.read_to_end(&mut heard)).await;
    assert!(ended.is_ok() && !heard.starts_with(b"HTTP"), "{heard:?}");
}

#[tokio::test]
async fn a_socket_works_over_tls() {
    let keys = TlsKeyFiles::new();
    let clients = TestCertificateAuthority::new();
    let door = TestAccess { token: Some("t"), ..TestAccess::default() };
    let site = site(keys.tls(Some(&clients), true), door).await;
    let stream = connect(&site, keys.client(Some(&clients.sign(&client_params())))).await.unwrap();
    let (mut socket, _) =
        tokio_tungstenite::client_async(format!("ws://localhost:{}/ws", site.port), stream)
            .await
            .unwrap();
    // Its certificate is enough: `initialize` needs no token.
    let opening = request(1, "initialize", &json!({})).to_string();
    socket.send(Message::text(opening)).await.unwrap();
    let answer = timeout(Duration::from_secs(30), socket.next()).await.unwrap().unwrap().unwrap();
    assert!(answer.to_text().unwrap().contains("serverInfo"), "{answer}");
}

#[tokio::test]
async fn clients_are_known_by_their_certificates() {
    let (keys, clients, strangers) =
        (TlsKeyFiles::new(), TestCertificateAuthority::new(), TestCertificateAuthority::new());
    let door = TestAccess { token: Some("t"), ..TestAccess::default() };
    let known = clients.sign(&client_params());
    let foreign = strangers.sign(&client_params());
    let [past, future] =
        [(2001, 2002), (2900, 2901)].map(|years| clients.sign(&dated(client_params(), years)));
    let call = request(1, "tools/call", &json!({"name": "echo"})).to_string();
    // Whether a certificate is required; which is presented; the response, or none if the handshake fails.
    let names =
        "\\\"principal\\\":\\\"agent.example ann@agent.example spiffe://agent.example/ann ann\\\"";
    for (required, own, want) in [
        (true, Some(&known), Some(names)),
        (true, Some(&foreign), None),
        (true, Some(&past), None),
        (true, Some(&future), None),
        (true, None, None),
        (false, Some(&known), Some(names)),
        (false, Some(&foreign), None),
        (false, Some(&past), None),
        (false, Some(&future), None),
        (false, None, Some("HTTP/1.1 401")),
    ] {
        let site = site(keys.tls(Some(&clients), required), door).await;
        let headers = [("Content-Type", "application/json")];
        let bytes = site.raw("POST /mcp", &headers, &call);
        let heard = say(&site, keys.client(own), &bytes).await;
        let got = heard.as_deref().unwrap_or_default();
        match want {
            Some(want) => assert!(got.contains(want), "{required}: {heard:?}"),
            None => assert!(!got.contains("HTTP"), "{required}: {heard:?}"),
        }
        assert_eq!(site.tally.handshakes_failed(), u64::from(want.is_none()), "{required}");
    }
}

#[tokio::test]
async fn a_client_s_certificate_is_verified_on_every_connection() {
    let (keys, clients) = (TlsKeyFiles::new(), TestCertificateAuthority::new());
    let own = clients.sign(&client_params());
    for (authority, next) in [(None, HandshakeKind::Resumed), (Some(&clients), HandshakeKind::Full)]
    {
        let site = site(keys.tls(authority, false), TestAccess::default()).await;
        let client = Arc::new(keys.client(Some(&own)));
        for want in [HandshakeKind::Full, next] {
            let mut stream = connect(&site, Arc::clone(&client)).await.unwrap();
            stream.write_all(site.raw("GET /healthz", &[], "").as_bytes()).await.unwrap();
            // The session ticket arrives before the response.
            let mut heard = Vec::new();
            let read = timeout(Duration::from_secs(30), stream.read_to_end(&mut heard)).await;
            read.expect("hangs").unwrap();
            assert!(heard.starts_with(b"HTTP/1.1 200"), "{heard:?}");
            assert_eq!(stream.get_ref().1.handshake_kind(), Some(want), "{}", authority.is_some());
        }
    }
}

#[tokio::test]
async fn certificates_are_replaced_while_the_server_runs() {
    let (keys, next) = (TlsKeyFiles::new(), TestCertificateAuthority::new());
    let tls = keys.tls(None, false);
    let site = site(Arc::clone(&tls), TestAccess::default()).await;
    let (old_client, new_client) = (|| keys.client(None), || client(&next, None));
    assert!(ask(&site, old_client(), "GET /healthz").await.is_ok());
    keys.put("key.pem", "no key");
    assert!(tls.reload().is_err());
    assert!(ask(&site, old_client(), "GET /healthz").await.is_ok(), "the old one stays in use");
    keys.write(&next.sign(&server_params()));
    tls.reload().unwrap();
    assert!(ask(&site, old_client(), "GET /healthz").await.is_err());
    assert!(ask(&site, new_client(), "GET /healthz").await.is_ok());
}

/// Checks the error for invalid files, with all its causes.
#[track_caller]
fn check(files: TlsFiles, want: &str) {
    use std::error::Error;
    let error = TlsSettings::load(files).err().expect("it loads");
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    assert!(message.contains(want), "{message}");
}

#[test]
fn unusable_files_are_named() {
    let keys = TlsKeyFiles::new();
    let good = keys.files(None, false);
    let missing = keys.folder.path().join("none.pem");
    let text = keys.put("text.pem", "hello");
    let broken =
        keys.put("broken.pem", "-----BEGIN CERTIFICATE-----\n!!\n-----END CERTIFICATE-----\n");
    let garbage = keys
        .put("garbage.pem", "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n");
    let other_key = keys.put("other.pem", &keys.authority.sign(&server_params()).key_pem);
    check(TlsFiles { chain: missing.clone(), ..good.clone() }, "none.pem: check the path");
    check(TlsFiles { key: missing, ..good.clone() }, "none.pem: check the path");
    check(TlsFiles { chain: text.clone(), ..good.clone() }, "text.pem contains no certificate");
    check(
        TlsFiles { key: text.clone(), ..good.clone() },
        "text.pem does not contain a private key",
    );
    check(TlsFiles { chain: broken, ..good.clone() }, "broken.pem does not contain certificates");
    check(TlsFiles { chain: garbage.clone(), ..good.clone() }, "do not match");
    check(TlsFiles { key: other_key, ..good.clone() }, "do not match");
    check(TlsFiles { client_ca: Some(text), ..good.clone() }, "text.pem contains no certificate");
    check(TlsFiles { client_ca: Some(garbage), ..good.clone() }, "cannot sign client certificates");
    check(TlsFiles { client_required: true, ..good }, "set client_ca");
}

#[test]
fn an_expired_certificate_is_a_warning() {
    let keys = TlsKeyFiles::new();
    assert!(keys.tls(None, false).warnings().is_empty());
    for (from, until, want) in [(2001, 2002, "expired on"), (2900, 2901, "is not valid before")] {
        keys.write(&keys.authority.sign(&dated(server_params(), (from, until))));
        let warnings = keys.tls(None, false).warnings();
        assert!(matches!(&warnings[..], [one] if one.contains(want)), "{warnings:?}");
    }
}
