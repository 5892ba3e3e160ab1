//! The server: connections over TLS, HTTP/1.1 and 2, and who answers which path.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::auth::{Guard, Verdict};
use super::health::{Health, Standing};
use crate::driver::live::session::Inspection;
use crate::driver::metrics::families::Metric;
use crate::driver::metrics::registry::{Family, Registry};
use crate::driver::metrics::scrape;
use crate::framework::RequestOptions;

/// So many connections at once; more wait.
const CONNECTIONS: usize = 256;
/// So long a client has for its handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// So long the scheduler is waited for.
const INSPECTION: Duration = Duration::from_secs(10);

/// What is answered.
#[derive(Debug)]
pub struct Endpoints {
    /// Health.
    pub health: Health,
    /// How the process stands.
    pub standing: Arc<Standing>,
    /// The metrics.
    pub registry: Arc<Registry>,
    /// The configuration, as `/configz` has it.
    pub configz: String,
    /// The way to the scheduler.
    pub inspections: UnboundedSender<Inspection>,
    /// How requests of pods are counted.
    pub requests: RequestOptions,
}

/// Takes connections until it is dropped.
pub async fn serve(listener: TcpListener, tls: ServerConfig, guard: Arc<Guard>, endpoints: Arc<Endpoints>) {
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(err = %error, "Unable to accept a connection");
                // Such as too many open files: it may get better.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let (acceptor, guard) = (acceptor.clone(), Arc::clone(&guard));
        let endpoints = Arc::clone(&endpoints);
        tokio::spawn(async move {
            connection(stream, peer, acceptor, guard, endpoints).await;
            drop(place);
        });
    }
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    acceptor: TlsAcceptor,
    guard: Arc<Guard>,
    endpoints: Arc<Endpoints>,
) {
    let stream = match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return tracing::info!(v = 4, %peer, err = %error, "TLS handshake error"),
        Err(_) => return tracing::info!(v = 4, %peer, "TLS handshake took too long"),
    };
    let certs: Arc<[CertificateDer<'static>]> = stream
        .get_ref()
        .1
        .peer_certificates()
        .unwrap_or_default()
        .iter()
        .map(|cert| cert.clone().into_owned())
        .collect();
    let service = service_fn(move |request: Request<Incoming>| {
        let (certs, guard, endpoints) = (Arc::clone(&certs), Arc::clone(&guard), Arc::clone(&endpoints));
        async move { Ok::<_, Infallible>(answer(&certs, &guard, &endpoints, &request).await) }
    });
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(hyper_util::rt::TokioTimer::new()).header_read_timeout(HANDSHAKE);
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::info!(v = 4, %peer, err = %error, "Connection error");
    }
}

type Answer = Response<Full<Bytes>>;

fn respond(status: u16, content_type: &'static str, text: String) -> Answer {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    response
}

const PLAIN: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// A `Status`, laid out as the real server lays it out.
fn refuse(code: u16, reason: &str, message: &str, has_details: bool) -> Answer {
    let mut status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason,
    });
    if has_details {
        status["details"] = json!({});
    }
    status["code"] = json!(code);
    respond(code, "application/json", serde_json::to_string_pretty(&status).unwrap_or_default())
}

async fn answer(
    certs: &[CertificateDer<'static>],
    guard: &Guard,
    endpoints: &Endpoints,
    request: &Request<Incoming>,
) -> Answer {
    let path = request.uri().path();
    // The API's verbs for paths are the methods.
    match guard.judge(certs, request.headers(), request.method().as_str(), path).await {
        Verdict::Allowed => {}
        Verdict::Unauthorized => return refuse(401, "Unauthorized", "Unauthorized", false),
        Verdict::Forbidden { message } => return refuse(403, "Forbidden", &message, true),
        Verdict::Failed { message } => {
            let message = format!("Internal Server Error: {path:?}: {message}");
            return refuse(500, "InternalError", &message, true);
        }
    }
    let query = request.uri().query().unwrap_or_default();
    if let Some((status, text)) = endpoints.health.answer(path, query) {
        return respond(status, PLAIN, text);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return respond(405, PLAIN, "Method Not Allowed\n".to_owned());
    }
    match path {
        "/metrics" => {
            endpoints.gauges().await;
            respond(200, PROMETHEUS, endpoints.registry.text(|family| !is_elsewhere(family)))
        }
        "/metrics/slis" => {
            let text = endpoints.registry.text(|family| family.name.starts_with("kubernetes_healthcheck"));
            respond(200, PROMETHEUS, text)
        }
        "/metrics/resources" => match endpoints.resources().await {
            Some(text) => respond(200, PROMETHEUS, text),
            None => respond(503, PLAIN, "the scheduler does not answer\n".to_owned()),
        },
        "/configz" => respond(200, "application/json", endpoints.configz.clone()),
        _ => respond(404, PLAIN, "404 page not found\n".to_owned()),
    }
}

/// What has an endpoint of its own.
fn is_elsewhere(family: &Family) -> bool {
    family.name.starts_with("kubernetes_healthcheck") || family.name.starts_with("kube_pod_resource")
}

impl Endpoints {
    /// Looks at the scheduler between two of its steps.
    async fn inspect<T: Send + 'static>(
        &self,
        look: impl FnOnce(&crate::driver::live::engine::Engine) -> T + Send + 'static,
    ) -> Option<T> {
        let (sender, receiver) = oneshot::channel();
        let inspection: Inspection = Box::new(move |engine| {
            // Nobody may wait for it any more.
            let _ = sender.send(look(engine));
        });
        self.inspections.send(inspection).ok()?;
        timeout(INSPECTION, receiver).await.ok()?.ok()
    }

    async fn gauges(&self) {
        scrape::put_process(&self.registry);
        if let Some(gauges) = self.inspect(|engine| engine.scheduler().gauges()).await {
            scrape::put_gauges(&self.registry, &gauges);
        }
    }

    /// Only the one that schedules tells of pods, so that they are not counted twice.
    async fn resources(&self) -> Option<String> {
        let pods = self.inspect(|engine| {
            let pods = &engine.informers().objects().pods;
            let is_leading = engine.mode() == crate::driver::live::engine::Mode::Operate;
            if is_leading { pods.values().cloned().collect() } else { Vec::new() }
        });
        let (pods, requests) = (pods.await?, self.requests);
        tokio::task::spawn_blocking(move || scrape::resources_text(&pods, requests)).await.ok()
    }

    /// Looks again and again whether every kind is known, until it is.
    pub async fn watch_for_sync(&self) {
        while !self.inspect(|engine| engine.informers().has_started()).await.unwrap_or(false) {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        self.standing.has_synced.store(true, Ordering::Relaxed);
        tracing::info!(v = 3, "Handlers synced");
    }

    /// Whether any deed is under way, as far as the scheduler says so.
    pub async fn has_deeds(&self) -> bool {
        self.inspect(|engine| engine.scheduler().has_pending_effects()).await.unwrap_or(false)
    }

    /// Says whether this is the leader.
    pub fn put_leader(&self, lease: &str, is_leader: bool) {
        let number = if is_leader { 1.0 } else { 0.0 };
        self.registry.set(Metric::LeaderElectionMasterStatus, &[lease], number);
    }
}
