//! What went wrong with a request, in the words of Go's `net/http`, `net` and `crypto/tls`, as far as they can be
//! known: addresses of this end of a connection are left out.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use rustls::{AlertDescription, CertificateError, InvalidMessage};
use ureq::Error;
use ureq::http::Uri;

/// Why there is no response.
pub(super) fn awaiting_headers(error: &Error, address: Option<SocketAddr>, url: &Uri) -> String {
    match error {
        Error::Timeout(_) => timeout(),
        Error::HostNotFound => format!("dial tcp: lookup {}: no such host", url.host().unwrap_or_default()),
        Error::Io(error) => io_error(error, address),
        Error::Rustls(error) => tls_error(error),
        Error::Protocol(error) => format!("net/http: HTTP/1.x transport connection broken: {error}"),
        Error::TooManyRedirects => "stopped after 10 redirects".to_owned(),
        other => other.to_string(),
    }
}

/// Why a body breaks off.
pub(super) fn reading_body(error: io::Error) -> String {
    match Error::from(error) {
        Error::Timeout(_) => {
            "context deadline exceeded (Client.Timeout or context cancellation while reading body)".to_owned()
        }
        Error::Io(error) if error.kind() == ErrorKind::UnexpectedEof => "unexpected EOF".to_owned(),
        Error::Io(error) => io_error(&error, None),
        other => other.to_string(),
    }
}

fn timeout() -> String {
    "context deadline exceeded (Client.Timeout exceeded while awaiting headers)".to_owned()
}

fn io_error(error: &io::Error, address: Option<SocketAddr>) -> String {
    if let Some(error) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        return tls_error(error);
    }
    let at = |deed: &str, what: &str| match address {
        Some(address) => format!("{deed} tcp {address}: {what}"),
        None => format!("{deed} tcp: {what}"),
    };
    match error.kind() {
        ErrorKind::ConnectionRefused => at("dial", "connect: connection refused"),
        ErrorKind::NetworkUnreachable => at("dial", "connect: network is unreachable"),
        ErrorKind::HostUnreachable => at("dial", "connect: no route to host"),
        ErrorKind::ConnectionReset => at("read", "read: connection reset by peer"),
        ErrorKind::BrokenPipe => at("write", "write: broken pipe"),
        ErrorKind::UnexpectedEof => "EOF".to_owned(),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => timeout(),
        _ => error.to_string(),
    }
}

fn tls_error(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(error) => {
            format!("tls: failed to verify certificate: x509: {}", certificate_error(error))
        }
        rustls::Error::AlertReceived(alert) => format!("remote error: tls: {}", alert_text(*alert)),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "http: server gave HTTP response to HTTPS client".to_owned()
        }
        other => format!("tls: {other}"),
    }
}

fn certificate_error(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        CertificateError::NotValidForNameContext { expected, presented } => {
            let name = expected.to_str();
            // They come as `DnsName("a.example.com")`.
            let names = presented.iter().map(|name| name.split('"').nth(1).unwrap_or(name));
            let names = names.collect::<Vec<_>>().join(", ");
            if matches!(expected, rustls::pki_types::ServerName::IpAddress(_)) {
                return format!(
                    "cannot validate certificate for {name} because it doesn't contain any IP SANs"
                );
            }
            format!("certificate is valid for {names}, not {name}")
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        other => other.to_string(),
    }
}

/// `CertificateRequired` as `certificate required`.
fn alert_text(alert: AlertDescription) -> String {
    let mut text = String::new();
    for character in format!("{alert:?}").chars() {
        if character.is_ascii_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.push(character.to_ascii_lowercase());
    }
    text
}
