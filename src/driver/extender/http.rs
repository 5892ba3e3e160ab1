//! Calls to extenders over the network.
//!
//! Follows `HTTPExtender.send` and `makeTransport` of `pkg/scheduler/extender.go`, and tells what goes wrong in the
//! words of Go's `net/http`, since they get into events and conditions. Every call has a connection of its own. A
//! redirect of status 307 or 308 is not followed, and a name and password in a URL are not sent.

use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

use super::http_errors::{awaiting_headers, reading_body};
use super::tls::{TlsError, tls_config};
use crate::api::Duration;
use crate::config::go_quoted;
use crate::driver::sandbox::simulator::ExtenderTransport;
use crate::framework::extender::{Extender, ExtenderAnswer, ExtenderCall, is_complete};

/// How much of a body is read at a time.
const CHUNK: usize = 16 * 1024;

/// The clients of a configuration's extenders.
#[derive(Debug)]
pub struct HttpTransport {
    /// In the order of the scheduler's list.
    clients: Vec<Client>,
}

#[derive(Debug)]
struct Client {
    agent: Agent,
    last_address: LastAddress,
    /// The name that the server's certificate must have, where it is not that of the URL; otherwise empty.
    server_name: String,
}

/// The first address that the last host name stood for.
type LastAddress = Arc<Mutex<Option<SocketAddr>>>;

impl HttpTransport {
    /// Clients for these extenders. Certificates are read from files where the configuration says so.
    ///
    /// # Errors
    /// An extender's certificates cannot be read or do not fit together.
    pub fn new(extenders: &[Extender]) -> Result<Self, TlsError> {
        let clients: Result<_, _> = extenders.iter().map(Client::new).collect();
        Ok(Self { clients: clients? })
    }
}

impl ExtenderTransport for HttpTransport {
    fn call(&self, call: &ExtenderCall) -> ExtenderAnswer {
        match self.clients.get(call.extender) {
            Some(client) => client.call(call).unwrap_or_else(ExtenderAnswer::Failed),
            None => {
                ExtenderAnswer::Failed(format!("Post {}: there is no such extender", go_quoted(&call.url)))
            }
        }
    }
}

impl Client {
    fn new(extender: &Extender) -> Result<Self, TlsError> {
        let url: Option<Uri> = extender.url_prefix.parse().ok();
        let server_name = extender.tls.as_ref().map(|tls| tls.server_name.clone()).unwrap_or_default();
        let timeout = Some(extender.http_timeout).filter(|timeout| *timeout != Duration::MAX);
        let mut config = Agent::config_builder()
            .tls_config(tls_config(extender)?)
            .timeout_global(timeout)
            .http_status_as_error(false)
            .max_idle_connections(0)
            .user_agent(concat!("schedscope/", env!("CARGO_PKG_VERSION")));
        if !server_name.is_empty() || url.as_ref().and_then(Uri::host).is_some_and(is_this_machine) {
            config = config.proxy(None);
        }
        let last_address = LastAddress::default();
        let resolver = Lookup {
            inner: DefaultResolver::default(),
            last_address: Arc::clone(&last_address),
            renamed: url.filter(|_| !server_name.is_empty()).map(|url| (server_name.clone(), url)),
        };
        let agent = Agent::with_parts(config.build(), DefaultConnector::default(), resolver);
        Ok(Self { agent, last_address, server_name })
    }

    fn call(&self, call: &ExtenderCall) -> Result<ExtenderAnswer, String> {
        let failed = |reason: &str| format!("Post {}: {reason}", go_quoted(&call.url));
        let scheme = call.url.split_once("://").map_or("", |(scheme, _)| scheme);
        if !matches!(scheme, "http" | "https") {
            return Err(failed(&format!("unsupported protocol scheme {scheme:?}")));
        }
        let url: Uri =
            call.url.parse().map_err(|error| format!("parse {}: {error}", go_quoted(&call.url)))?;
        let (renamed, host) = self.under_server_name(&url);
        let mut request = self.agent.post(renamed).header("Content-Type", "application/json");
        if let Some(host) = &host {
            request = request.header("Host", host);
        }
        let mut response = request.send(call.body.as_bytes()).map_err(|error| {
            let address = *self.last_address.lock().unwrap_or_else(PoisonError::into_inner);
            failed(&awaiting_headers(&error, address, &url))
        })?;
        let status = response.status().as_u16();
        // Of any other status the body is not looked at.
        let body = if status == 200 { read(&mut response.body_mut().as_reader())? } else { String::new() };
        Ok(ExtenderAnswer::Http { status, body })
    }

    /// The URL with the name of the certificate in the place of the host, and the host that is told to the server all
    /// the same.
    fn under_server_name(&self, url: &Uri) -> (Uri, Option<String>) {
        let authority = url.authority().filter(|_| !self.server_name.is_empty());
        let Some(authority) = authority else { return (url.clone(), None) };
        let port = authority.port().map(|port| format!(":{port}")).unwrap_or_default();
        let mut parts = url.clone().into_parts();
        parts.authority = format!("{}{port}", self.server_name).parse().ok();
        match Uri::from_parts(parts) {
            Ok(renamed) => (renamed, Some(authority.to_string())),
            Err(_) => (url.clone(), None),
        }
    }
}

/// Whether requests to that host never leave the machine, and so go through no proxy.
fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Reads a body. What breaks off after a complete value is complete: more than that is not read of an answer.
fn read(body: &mut impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK];
    let broken = loop {
        match body.read(&mut chunk) {
            Ok(0) => break None,
            Ok(length) => bytes.extend_from_slice(chunk.get(..length).unwrap_or_default()),
            Err(error) => break Some(error),
        }
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match broken {
        Some(error) if !is_complete(&text) => Err(reading_body(error)),
        _ => Ok(text),
    }
}

/// Looks host names up, and remembers for errors what came of it.
#[derive(Debug)]
struct Lookup {
    inner: DefaultResolver,
    last_address: LastAddress,
    /// A name that stands in the place of the host of that URL.
    renamed: Option<(String, Uri)>,
}

impl Resolver for Lookup {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let renamed = self.renamed.as_ref().filter(|(name, _)| uri.host() == Some(name));
        let uri = renamed.map_or(uri, |(_, url)| url);
        let found = self.inner.resolve(uri, config, timeout);
        let first = found.as_ref().ok().and_then(|addresses| addresses.iter().next().copied());
        *self.last_address.lock().unwrap_or_else(PoisonError::into_inner) = first;
        found.map_err(|error| match error {
            Error::Io(_) => Error::HostNotFound,
            other => other,
        })
    }
}
