//! How TLS is spoken with an extender, worked out of its configuration.
//!
//! Follows `makeTransport` of `pkg/scheduler/extender.go` and `TLSConfigFor` of `k8s.io/client-go/transport`: data go
//! before files; a client's certificate without its key is left out; HTTPS without an authority to check the server
//! by is not checked. Where nothing is said, the machine's own authorities count.

use std::fs;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::CertifiedKey;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use crate::framework::extender::{Extender, ExtenderTls};

/// Why TLS cannot be spoken with an extender.
#[derive(Debug, thiserror::Error)]
#[error("extender {extender:?}: {problem}")]
pub struct TlsError {
    /// The extender, by its URL prefix.
    pub extender: String,
    /// What is wrong.
    pub problem: TlsProblem,
}

/// What is wrong with the certificates of an extender.
#[derive(Debug, thiserror::Error)]
pub enum TlsProblem {
    /// A file cannot be read.
    #[error("open {path}: {error}")]
    File {
        /// The file.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// There are authorities, and they are not to be used.
    #[error("specifying a root certificates file with the insecure flag is not allowed")]
    InsecureWithAuthority,
    /// There is no certificate in what should hold the authorities.
    #[error("unable to load root certificates: unable to parse bytes as PEM block")]
    Authority,
    /// There is no certificate in what should hold the client's.
    #[error("tls: failed to find any PEM data in certificate input")]
    Certificate,
    /// The client's key cannot be read, or does not belong to its certificate.
    #[error("tls: {0}")]
    Key(String),
}

/// The settings of one extender.
pub(super) fn tls_config(extender: &Extender) -> Result<TlsConfig, TlsError> {
    settings(extender).map_err(|problem| TlsError { extender: extender.url_prefix.clone(), problem })
}

fn settings(extender: &Extender) -> Result<TlsConfig, TlsProblem> {
    let none = ExtenderTls::default();
    let tls = extender.tls.as_ref().unwrap_or(&none);
    let has_authority = !tls.ca_data.is_empty() || !tls.ca_file.is_empty();
    if has_authority && tls.insecure {
        return Err(TlsProblem::InsecureWithAuthority);
    }
    let is_unchecked = tls.insecure || extender.enable_https && !has_authority;
    let mut config = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::PlatformVerifier)
        .disable_verification(is_unchecked);
    if has_authority {
        let authorities = certificates(&pem(&tls.ca_data, &tls.ca_file)?);
        if authorities.is_empty() {
            return Err(TlsProblem::Authority);
        }
        config = config.root_certs(RootCerts::new_with_certs(&authorities));
    }
    let has_certificate = !tls.cert_data.is_empty() || !tls.cert_file.is_empty();
    let has_key = !tls.key_data.is_empty() || !tls.key_file.is_empty();
    if has_certificate && has_key {
        config = config.client_cert(Some(client_certificate(
            &pem(&tls.cert_data, &tls.cert_file)?,
            &pem(&tls.key_data, &tls.key_file)?,
        )?));
    }
    Ok(config.build())
}

/// The data, or else what is in the file.
fn pem(data: &[u8], file: &str) -> Result<Vec<u8>, TlsProblem> {
    if !data.is_empty() {
        return Ok(data.to_vec());
    }
    fs::read(file).map_err(|error| TlsProblem::File { path: file.to_owned(), error })
}

fn certificates(pem: &[u8]) -> Vec<Certificate<'static>> {
    let certificates = parse_pem(pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    });
    certificates.collect()
}

fn client_certificate(certificate: &[u8], key: &[u8]) -> Result<ClientCert, TlsProblem> {
    let chain = certificates(certificate);
    if chain.is_empty() {
        return Err(TlsProblem::Certificate);
    }
    let bad_key = |error: &dyn std::fmt::Display| TlsProblem::Key(error.to_string());
    // The client would take a key that does not fit for granted.
    let der = PrivateKeyDer::from_pem_slice(key).map_err(|error| bad_key(&error))?;
    let chain_der = chain.iter().map(|certificate| certificate.der().to_vec().into()).collect();
    CertifiedKey::from_der(chain_der, der, &ring::default_provider()).map_err(|error| bad_key(&error))?;
    let key = PrivateKey::from_pem(key).map_err(|error| bad_key(&error))?;
    Ok(ClientCert::new_with_certs(&chain, key))
}
