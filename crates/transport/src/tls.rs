//! TLS for the listener: certificates from files, reloaded on request, and the contents of client certificates.
//!
//! Does not authorize: a verified certificate is passed to the [`AccessControl`](crate::AccessControl).

use rustls::{
    RootCertStore, ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    server::{
        NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier,
        danger::ClientCertVerifier,
    },
};
use sha2::{Digest, Sha256};
use std::{
    fmt::Write,
    io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use x509_parser::{extensions::GeneralName, prelude::X509Certificate};

/// Paths of the certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate and the intermediate ones, PEM.
    pub chain: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// CA certificates for clients, PEM. Without it clients are not asked for a certificate.
    pub client_ca: Option<PathBuf>,
    /// Whether a client without a certificate is rejected.
    pub client_required: bool,
}

/// Why certificates cannot be used. Each variant names the file to fix.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is missing or not readable.
    #[error("cannot read {file}: check the path and the file's permissions")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// A file is not PEM, or does not contain what is expected.
    #[error("{file} does not contain {wanted} in PEM form")]
    NotPem {
        /// The file.
        file: PathBuf,
        /// The expected contents.
        wanted: &'static str,
        /// The cause.
        #[source]
        cause: pem::Error,
    },
    /// A file without a certificate.
    #[error("{file} contains no certificate: add a block that begins with BEGIN CERTIFICATE")]
    Empty {
        /// The file.
        file: PathBuf,
    },
    /// Certificate and key do not match, or one of them is of an unsupported kind.
    #[error("{chain} and {key} do not match: the key must belong to the first certificate")]
    Unusable {
        /// The certificates.
        chain: PathBuf,
        /// The key.
        key: PathBuf,
        /// The cause.
        #[source]
        cause: rustls::Error,
    },
    /// A certificate that cannot sign client certificates.
    #[error("{file} contains a certificate that cannot sign client certificates")]
    BadClientCa {
        /// The file.
        file: PathBuf,
        /// The cause.
        #[source]
        cause: rustls::Error,
    },
    /// The client CA certificates cannot be used as roots.
    #[error("cannot verify clients with {file}")]
    NoVerifier {
        /// The file.
        file: PathBuf,
        /// The cause.
        #[source]
        cause: VerifierBuilderError,
    },
    /// Client certificates are required, but nothing can verify them.
    #[error("client certificates are required, but no CA is configured: set client_ca")]
    NoClientCa,
}

/// The current certificates. Open connections keep those they began with.
pub struct TlsSettings {
    files: RwLock<TlsFiles>,
    current: RwLock<Arc<LoadedTls>>,
}

struct LoadedTls {
    config: Arc<ServerConfig>,
    warnings: Vec<String>,
}

impl TlsSettings {
    /// Loads certificates. An expired certificate is only a warning: replacing it must not need a restart.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let current = Arc::new(read(&files)?);
        Ok(Self { files: RwLock::new(files), current: RwLock::new(current) })
    }

    /// Reads the same files again. On an error the old certificates stay in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.replace(files)
    }

    /// Reads other files. On an error the old certificates stay in use.
    pub fn replace(&self, files: TlsFiles) -> Result<(), TlsError> {
        let current = Arc::new(read(&files)?);
        *self.files.write().unwrap_or_else(PoisonError::into_inner) = files;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
        Ok(())
    }

    /// Problems with certificates that are used anyway.
    pub fn warnings(&self) -> Vec<String> {
        self.current().warnings.clone()
    }

    fn current(&self) -> Arc<LoadedTls> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The server side of a handshake.
    pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        TlsAcceptor::from(Arc::clone(&self.current().config)).accept(stream).await
    }
}

fn read(files: &TlsFiles) -> Result<LoadedTls, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let chain = certificates(&files.chain)?;
    let key = PrivateKeyDer::from_pem_slice(&bytes(&files.key)?).map_err(|cause| {
        TlsError::NotPem { file: files.key.clone(), wanted: "a private key", cause }
    })?;
    let mut warnings = Vec::new();
    if let Some(first) = chain.first() {
        warnings.extend(out_of_date(&files.chain, first));
    }
    let unusable =
        |cause| TlsError::Unusable { chain: files.chain.clone(), key: files.key.clone(), cause };
    let verifier = match &files.client_ca {
        Some(file) => Some(verifier(file, files.client_required, Arc::clone(&provider))?),
        None if files.client_required => return Err(TlsError::NoClientCa),
        None => None,
    };
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = match verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    if files.client_ca.is_some() {
        // A resumed session is not verified again, so a certificate would remain valid after its end.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    Ok(LoadedTls { config: Arc::new(config), warnings })
}

fn verifier(
    file: &Path,
    required: bool,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots
            .add(certificate)
            .map_err(|cause| TlsError::BadClientCa { file: file.to_owned(), cause })?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let builder = if required { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|cause| TlsError::NoVerifier { file: file.to_owned(), cause })
}

fn bytes(file: &Path) -> Result<Vec<u8>, TlsError> {
    let read = || {
        // Opening a pipe would block the start until another program writes to it.
        if !std::fs::metadata(file)?.is_file() {
            let reason = "not a regular file: put the PEM text into one";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        std::fs::read(file)
    };
    read().map_err(|cause| TlsError::Unreadable { file: file.to_owned(), cause })
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Vec<_> =
        CertificateDer::pem_slice_iter(&bytes(file)?).collect::<Result<_, _>>().map_err(
            |cause| TlsError::NotPem { file: file.to_owned(), wanted: "certificates", cause },
        )?;
    if found.is_empty() {
        return Err(TlsError::Empty { file: file.to_owned() });
    }
    Ok(found)
}

fn out_of_date(file: &Path, certificate: &CertificateDer<'_>) -> Option<String> {
    let (_, certificate) = x509_parser::parse_x509_certificate(certificate).ok()?;
    let validity = certificate.validity();
    let warning = |what: &str| format!("the certificate in {} {what}: replace it", file.display());
    if validity.is_valid() {
        return None;
    }
    let now = x509_parser::time::ASN1Time::now();
    Some(if now < validity.not_before {
        warning(&format!("is not valid before {}", validity.not_before))
    } else {
        warning(&format!("expired on {}", validity.not_after))
    })
}

/// A verified client certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// SHA-256 of the whole certificate, in lower-case hexadecimal.
    pub fingerprint: String,
    /// Its names: DNS names, mail addresses and URIs, then the common name.
    pub names: Vec<String>,
}

impl Certificate {
    /// Reads a certificate that the handshake has verified.
    pub(crate) fn of_peer(stream: &TlsStream<TcpStream>) -> Option<Self> {
        stream.get_ref().1.peer_certificates()?.first().map(|der| Self::read(der))
    }

    fn read(der: &[u8]) -> Self {
        let fingerprint = Sha256::digest(der).iter().fold(String::new(), |mut hex, byte| {
            // Writing to a string can't fail.
            write!(hex, "{byte:02x}").unwrap_or_default();
            hex
        });
        let parsed = x509_parser::parse_x509_certificate(der);
        let names = parsed.map(|(_, certificate)| names(&certificate)).unwrap_or_default();
        Self { fingerprint, names }
    }
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let listed = alternative.iter().flat_map(|names| &names.value.general_names);
    let listed = listed.filter_map(|name| match name {
        GeneralName::DNSName(name) | GeneralName::RFC822Name(name) | GeneralName::URI(name) => {
            Some(*name)
        }
        _ => None,
    });
    let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    // A name with invisible characters could be mistaken for another.
    let is_plain = |name: &&str| !name.is_empty() && !name.contains(char::is_control);
    listed.chain(common).filter(is_plain).map(str::to_owned).collect()
}
