//! The listener: TLS with a certificate of its own, HTTP/1.1 and 2, on the loopback interface only.
//!
//! kubectl sends its token only over TLS, so there is no plain HTTP.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::answer::{Served, answer_request};
use super::connect;
use super::mirror::Mirror;
use super::publish::Writer;
use crate::driver::serve::certs::{CertError, self_signed};

/// So many connections at once; more wait.
const CONNECTIONS: usize = 256;
/// So long a client has for its handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is one that other machines reach.
    #[error(
        "{0} is no loopback address: what is served here may be written by everybody who reads the token's file, \
             so it stays on this machine; take 127.0.0.1:PORT"
    )]
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    #[error("listening on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// No certificate can be made.
    #[error(transparent)]
    Cert(#[from] CertError),
    /// No random numbers.
    #[error("the system has no random numbers for a token")]
    NoToken,
    /// No threads.
    #[error("starting threads: {0}")]
    Threads(std::io::Error),
}

/// A server that runs. Dropping it ends it.
pub struct Server {
    /// `https://127.0.0.1:PORT`.
    pub url: String,
    /// A kubeconfig with address, certificate and token.
    pub kubeconfig: String,
    runtime: Option<Runtime>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Watches have no end of their own.
            runtime.shutdown_background();
        }
    }
}

/// A place to serve at, before anything is served.
#[derive(Debug)]
pub struct Place {
    listener: std::net::TcpListener,
    address: SocketAddr,
    tls: ServerConfig,
    cert: String,
    token: String,
}

impl Place {
    /// Takes an address of the loopback interface; port 0 is any free one.
    ///
    /// # Errors
    /// If it is another one or cannot be had.
    pub fn take(address: SocketAddr) -> Result<Self, ServeError> {
        if !address.ip().is_loopback() {
            return Err(ServeError::NotLoopback(address));
        }
        let refused = |error| ServeError::Listen(address, error);
        let listener = std::net::TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let (tls, cert) = self_signed(&address.ip().to_string())?;
        let token = connect::token().ok_or(ServeError::NoToken)?;
        Ok(Self { listener, address, tls, cert, token })
    }

    /// Its address: `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Serves what the mirror shows.
    ///
    /// # Errors
    /// If there are no threads for it.
    pub fn serve(self, mirror: Arc<Mirror>, writer: Writer) -> Result<Server, ServeError> {
        let url = self.url();
        let Self { listener, tls, cert, token, .. } = self;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("api")
            .enable_all()
            .build()
            .map_err(ServeError::Threads)?;
        let kubeconfig = connect::kubeconfig(&url, &cert, &token);
        let guard = runtime.enter();
        let listener = TcpListener::from_std(listener).map_err(ServeError::Threads)?;
        drop(guard);
        runtime.spawn(accept(listener, tls, Arc::new(Served { mirror, writer, token })));
        Ok(Server { url, kubeconfig, runtime: Some(runtime) })
    }
}

async fn accept(listener: TcpListener, tls: ServerConfig, served: Arc<Served>) {
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Such as too many open files: it may get better.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (acceptor, served) = (acceptor.clone(), Arc::clone(&served));
        tokio::spawn(async move {
            connection(stream, acceptor, served).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, served: Arc<Served>) {
    // Small answers are not held back.
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await else { return };
    let service = service_fn(move |request| {
        let served = Arc::clone(&served);
        async move { Ok::<_, Infallible>(answer_request(served, request).await) }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(HANDSHAKE);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(target: "api", "connection: {error}");
    }
}
