//! TLS for the listener: certificates from files, read again when asked, and what a client's certificate says.
//!
//! Decides who is who for nobody: a verified certificate is handed to the [`Door`](crate::Door) as it is.

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

/// Where certificates are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The server's certificate and those between it and the root, PEM.
    pub chain: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// Certificates that sign those of clients, PEM. Without it clients are not asked for one.
    pub client_ca: Option<PathBuf>,
    /// Whether a client without a certificate is refused.
    pub client_required: bool,
}

/// Why certificates can't be used. Each says which file to mend.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not there, or not ours to read.
    #[error("{file} can't be read: check the path and who may read it")]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A file is not PEM, or not of the kind that is wanted.
    #[error("{file} is not PEM with {wanted} in it")]
    NotPem {
        /// Which.
        file: PathBuf,
        /// What it should hold.
        wanted: &'static str,
        /// Why.
        #[source]
        cause: pem::Error,
    },
    /// A file holds no certificate.
    #[error("{file} holds no certificate: it needs a block that begins with BEGIN CERTIFICATE")]
    Empty {
        /// Which.
        file: PathBuf,
    },
    /// Certificate and key don't go together, or one of them is of no known kind.
    #[error("{chain} and {key} can't be used together: the key must be the first certificate's")]
    Unusable {
        /// The certificates.
        chain: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why.
        #[source]
        cause: rustls::Error,
    },
    /// A certificate can't sign those of clients.
    #[error("{file} holds a certificate that can't vouch for clients")]
    BadClientCa {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        cause: rustls::Error,
    },
    /// The certificates for clients are no set of roots.
    #[error("{file} can't be used to verify clients")]
    NoVerifier {
        /// Which.
        file: PathBuf,
        /// Why.
        #[source]
        cause: VerifierBuilderError,
    },
    /// Clients must show a certificate that nothing can verify.
    #[error("clients must show a certificate, but no file names who signs them: set client_ca")]
    NoClientCa,
}

/// Certificates in use. Connections that are open keep those that they began with.
pub struct TlsSettings {
    files: RwLock<TlsFiles>,
    current: RwLock<Arc<LoadedTls>>,
}

struct LoadedTls {
    config: Arc<ServerConfig>,
    warnings: Vec<String>,
}

impl TlsSettings {
    /// Reads certificates. A certificate that is out of date is a warning: replacing it must not need a restart.
    pub fn load(files: TlsFiles) -> Result<Self, TlsError> {
        let current = Arc::new(read(&files)?);
        Ok(Self { files: RwLock::new(files), current: RwLock::new(current) })
    }

    /// Reads the same files again. After an error the old certificates stay in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner).clone();
        self.replace(files)
    }

    /// Reads other files. After an error the old certificates stay in use.
    pub fn replace(&self, files: TlsFiles) -> Result<(), TlsError> {
        let current = Arc::new(read(&files)?);
        *self.files.write().unwrap_or_else(PoisonError::into_inner) = files;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = current;
        Ok(())
    }

    /// What is wrong with certificates that are used all the same.
    pub fn warnings(&self) -> Vec<String> {
        self.current().warnings.clone()
    }

    fn current(&self) -> Arc<LoadedTls> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The server's side of a handshake.
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
        // Of a session that is resumed nothing is verified again, and a certificate would count beyond its end.
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
            let reason = "it is not a regular file: put the PEM text into one";
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
    let told = |what: &str| format!("the certificate in {} {what}: replace it", file.display());
    if validity.is_valid() {
        return None;
    }
    let now = x509_parser::time::ASN1Time::now();
    Some(if now < validity.not_before {
        told(&format!("is not valid before {}", validity.not_before))
    } else {
        told(&format!("expired on {}", validity.not_after))
    })
}

/// A client's certificate, signed by one of those that vouch for clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    /// SHA-256 of the whole certificate, in lower-case hexadecimal.
    pub fingerprint: String,
    /// Whom it names: DNS names, mail addresses and URIs, then the common name.
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
    // A name that prints as another must not be taken for it.
    let is_plain = |name: &&str| !name.is_empty() && !name.contains(char::is_control);
    listed.chain(common).filter(is_plain).map(str::to_owned).collect()
}
