//! Certificates: the server's own, read or made, and those that clients may show.
//!
//! As `SecureServingOptions` of `k8s.io/apiserver` has them: without files a certificate is made for `localhost`, in
//! memory or into `--cert-dir`. A client is asked for a certificate and needs none; whether what it shows is good is
//! decided with the request, so that a bad one is answered with 401.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig, SignatureScheme};
use thiserror::Error as ThisError;

/// The name of the files in `--cert-dir`.
const PAIR_NAME: &str = "kube-scheduler";

/// Where the server's certificate is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertOptions {
    /// `--tls-cert-file`: the certificate, and those between it and the authority.
    pub cert_file: Option<PathBuf>,
    /// `--tls-private-key-file`.
    pub key_file: Option<PathBuf>,
    /// `--cert-dir`: where one is made that is not given.
    pub dir: Option<PathBuf>,
}

/// Why there is no certificate.
#[derive(Debug, ThisError)]
pub enum CertError {
    /// One file without the other.
    #[error("--tls-cert-file and --tls-private-key-file belong together: only one of them is given")]
    HalfAPair,
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: String,
    },
    /// None could be made.
    #[error("making a certificate: {0}")]
    Making(String),
    /// The pair does not go together, or cannot be used.
    #[error("the server's certificate: {0}")]
    Unusable(String),
}

fn file_error(path: &Path, error: &dyn std::fmt::Display) -> CertError {
    CertError::File { path: path.to_owned(), error: error.to_string() }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The server's certificate, which may change.
#[derive(Debug)]
pub struct ServingCert {
    /// Where it is from, unless it was made in memory.
    files: Option<[PathBuf; 2]>,
    current: RwLock<Arc<CertifiedKey>>,
}

impl ServingCert {
    /// Reads it, or makes one.
    ///
    /// # Errors
    /// The certificate is not there, cannot be made, or cannot be used.
    pub fn new(options: &CertOptions) -> Result<Self, CertError> {
        let files = match (&options.cert_file, &options.key_file) {
            (Some(cert_file), Some(key_file)) => Some([cert_file.clone(), key_file.clone()]),
            (None, None) => options.dir.as_deref().map(made_in).transpose()?,
            _ => return Err(CertError::HalfAPair),
        };
        let pair = match &files {
            Some([cert_file, key_file]) => read_pair(cert_file, key_file)?,
            None => {
                let (cert, key) = make_pair()?;
                parse_pair(cert.as_bytes(), key.as_bytes())?
            }
        };
        Ok(Self { files, current: RwLock::new(Arc::new(usable(pair)?)) })
    }

    /// The files that it is from; none, if it was made in memory.
    pub fn files(&self) -> Vec<PathBuf> {
        self.files.iter().flatten().cloned().collect()
    }

    /// Reads the files again. Whether anything was new.
    ///
    /// # Errors
    /// They cannot be read or used; then what was known stays.
    pub fn reload(&self) -> Result<bool, CertError> {
        let Some([cert_file, key_file]) = &self.files else { return Ok(false) };
        let new = usable(read_pair(cert_file, key_file)?)?;
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let is_new = current.cert != new.cert;
        *current = Arc::new(new);
        Ok(is_new)
    }
}

impl ResolvesServerCert for ServingCert {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// The pair in `--cert-dir`, which is made if it is not there.
fn made_in(dir: &Path) -> Result<[PathBuf; 2], CertError> {
    let cert_file = dir.join(format!("{PAIR_NAME}.crt"));
    let key_file = dir.join(format!("{PAIR_NAME}.key"));
    if !(cert_file.exists() && key_file.exists()) {
        let (cert, key) = make_pair()?;
        fs::create_dir_all(dir).map_err(|error| file_error(dir, &error))?;
        write(&cert_file, &cert, 0o644)?;
        write(&key_file, &key, 0o600)?;
    }
    Ok([cert_file, key_file])
}

/// How connections are taken with a certificate that is made now for an address, and that certificate, in PEM.
///
/// # Errors
/// The certificate cannot be made.
pub fn self_signed(address: &str) -> Result<(ServerConfig, String), CertError> {
    let (cert, key) = make_pair_for(address)?;
    let pair = usable(parse_pair(cert.as_bytes(), key.as_bytes())?)?;
    let serving = ServingCert { files: None, current: RwLock::new(Arc::new(pair)) };
    Ok((server_config(Arc::new(serving))?, cert))
}

/// How connections are taken.
///
/// # Errors
/// If TLS cannot be set up at all.
pub fn server_config(cert: Arc<ServingCert>) -> Result<ServerConfig, CertError> {
    let unusable = |error: Error| CertError::Unusable(error.to_string());
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_client_cert_verifier(Arc::new(AnyCertificate(provider())))
        .with_cert_resolver(cert);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// The pair, if key and certificate go together.
fn usable((certs, key): Pair) -> Result<CertifiedKey, CertError> {
    CertifiedKey::from_der(certs, key, &provider()).map_err(|error| CertError::Unusable(error.to_string()))
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), CertError> {
    let written = fs::OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(mode)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| file_error(path, &error))
}

type Pair = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn read_pair(cert_file: &Path, key_file: &Path) -> Result<Pair, CertError> {
    let read = |path: &Path| fs::read(path).map_err(|error| file_error(path, &error));
    let (cert, key) = (read(cert_file)?, read(key_file)?);
    let certs = parse_certs(&cert).map_err(|error| file_error(cert_file, &error))?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| {
        // What is in it is not said.
        file_error(key_file, &"there is no private key in it that can be read")
    })?;
    Ok((certs, key))
}

fn parse_pair(cert: &[u8], key: &[u8]) -> Result<Pair, CertError> {
    let certs = parse_certs(cert).map_err(CertError::Making)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| CertError::Making(error.to_string()))?;
    Ok((certs, key))
}

fn parse_certs(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let certs: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certs = certs.map_err(|error| error.to_string())?;
    if certs.is_empty() { Err("there is no certificate in it".to_owned()) } else { Ok(certs) }
}

fn make_pair() -> Result<(String, String), CertError> {
    make_pair_for("127.0.0.1")
}

fn make_pair_for(address: &str) -> Result<(String, String), CertError> {
    let names = vec!["localhost".to_owned(), address.to_owned()];
    let made =
        rcgen::generate_simple_self_signed(names).map_err(|error| CertError::Making(error.to_string()))?;
    Ok((made.cert.pem(), made.signing_key.serialize_pem()))
}

/// Judges certificates of clients.
///
/// # Errors
/// If there is no authority in the text.
pub fn client_verifier(authorities: &[u8]) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for cert in parse_certs(authorities)? {
        roots.add(cert).map_err(|error| error.to_string())?;
    }
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider())
        .build()
        .map_err(|error| error.to_string())
}

/// Asks for a certificate and takes any whose key the client has.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ClientCertVerifier for AnyCertificate {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
