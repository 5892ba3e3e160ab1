//! A proxy between the program and the API server that does what networks and busy servers do.
//!
//! It speaks plain HTTP to the program and passes requests on as an administrator. A fault is for the next requests that
//! match, as many as it says; what was asked and answered is written down.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt as _, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::harness::ControlPlane;

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It is answered here with a status, and with how long to wait, if that is told.
    Answer(u16, Option<u64>),
    /// The connection breaks before the server has seen it.
    Broken,
    /// The server does it, and the connection breaks before the answer.
    AnswerLost,
    /// It is passed on so much later.
    Held(Duration),
    /// Each piece of the answer comes so much later.
    Slow(Duration),
    /// The watch is told that its place is gone (410).
    Gone,
}

/// A request and what the program was told.
#[derive(Clone, Debug)]
pub struct Exchange {
    pub method: String,
    /// The path and the query.
    pub path: String,
    /// The status; 0 where there was no answer.
    pub status: u16,
}

struct Rule {
    method: &'static str,
    /// What the path and the query have, all of it.
    parts: Vec<String>,
    fault: Fault,
    n_left: usize,
}

#[derive(Default)]
struct State {
    rules: VecDeque<Rule>,
    exchanges: Vec<Exchange>,
}

/// The proxy. It ends with the value.
pub struct Proxy {
    kubeconfig: PathBuf,
    state: Arc<Mutex<State>>,
    cut: watch::Sender<()>,
    _runtime: Runtime,
    _dir: tempfile::TempDir,
}

type Body = UnsyncBoxBody<Bytes, kube::Error>;

impl Proxy {
    pub fn start(cluster: &ControlPlane) -> Self {
        let runtime = Runtime::new().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let (cut, was_cut) = watch::channel(());
        let client = client(&runtime, &cluster.kubeconfig());
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(serve(listener, client, Arc::clone(&state), was_cut));
        let dir = tempfile::tempdir().unwrap();
        let kubeconfig = dir.path().join("kubeconfig");
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "proxy",
            "clusters": [{"name": "proxy", "cluster": {"server": server}}],
            "users": [{"name": "nobody", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "nobody"}}],
        });
        std::fs::write(&kubeconfig, text.to_string()).unwrap();
        Self { kubeconfig, state, cut, _runtime: runtime, _dir: dir }
    }

    /// The way to the cluster through it.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Does this to the next `n` requests with the method and all these parts in path and query.
    pub fn fault(&self, method: &'static str, parts: &[&str], fault: Fault, n: usize) {
        let parts = parts.iter().map(|part| (*part).to_owned()).collect();
        self.state.lock().unwrap().rules.push_back(Rule { method, parts, fault, n_left: n });
    }

    /// Breaks every connection.
    pub fn cut(&self) {
        self.cut.send_replace(());
    }

    /// What was asked with the method and this in path and query.
    pub fn exchanges(&self, method: &str, part: &str) -> Vec<Exchange> {
        let state = self.state.lock().unwrap();
        state
            .exchanges
            .iter()
            .filter(|exchange| exchange.method == method && exchange.path.contains(part))
            .cloned()
            .collect()
    }
}

fn client(runtime: &Runtime, kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    runtime.block_on(async {
        let mut config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        config.default_retry = false;
        Client::try_from(config).unwrap()
    })
}

async fn serve(listener: TcpListener, client: Client, state: Arc<Mutex<State>>, cut: watch::Receiver<()>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (client, state, mut cut) = (client.clone(), Arc::clone(&state), cut.clone());
        cut.mark_unchanged();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(client.clone(), Arc::clone(&state), request));
            let connection =
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                _ = connection => {}
                _ = cut.changed() => {}
            }
        });
    }
}

/// No answer: the connection breaks.
#[derive(Debug, thiserror::Error)]
#[error("broken on purpose")]
struct Break;

async fn answer(
    client: Client,
    state: Arc<Mutex<State>>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Break> {
    let method = request.method().to_string();
    let path = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let fault = {
        let mut state = state.lock().unwrap();
        let found = state.rules.iter_mut().find(|rule| {
            rule.n_left > 0 && rule.method == method && rule.parts.iter().all(|part| path.contains(part))
        });
        found.map(|rule| {
            rule.n_left -= 1;
            rule.fault.clone()
        })
    };
    let told = |status: u16| {
        let exchange = Exchange { method: method.clone(), path: path.clone(), status };
        state.lock().unwrap().exchanges.push(exchange);
    };
    match fault {
        Some(Fault::Answer(status, retry_after)) => {
            told(status);
            let mut response = Response::builder().status(status);
            if let Some(seconds) = retry_after {
                // As priority and fairness turns requests away: in plain words, and with a header.
                response = response.header("Retry-After", seconds);
                return Ok(response
                    .body(full("Too many requests, please try again later.\n".into()))
                    .unwrap());
            }
            let reason = match status {
                409 => "Conflict",
                500 => "InternalError",
                503 => "ServiceUnavailable",
                _ => "Unknown",
            };
            let body = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "on purpose", "reason": reason, "code": status,
            });
            return Ok(response.body(full(body.to_string())).unwrap());
        }
        Some(Fault::Gone) => {
            told(410);
            let event = json!({"type": "ERROR", "object": {
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": "too old resource version", "reason": "Expired", "code": 410,
            }});
            return Ok(Response::new(full(format!("{event}\n"))));
        }
        Some(Fault::Broken) => {
            told(0);
            return Err(Break);
        }
        Some(Fault::Held(pause)) => tokio::time::sleep(pause).await,
        _ => {}
    }
    let mut passed = Request::builder().method(&*method).uri(&path);
    for name in ["content-type", "accept"] {
        if let Some(value) = request.headers().get(name) {
            passed = passed.header(name, value);
        }
    }
    let body = request.into_body().collect().await.map_err(|_| Break)?.to_bytes();
    let passed = passed.body(kube::client::Body::from(body.to_vec())).unwrap();
    let Ok(response) = client.send(passed).await else {
        told(0);
        return Err(Break);
    };
    if matches!(fault, Some(Fault::AnswerLost)) {
        told(0);
        return Err(Break);
    }
    let (parts, body) = response.into_parts();
    told(parts.status.as_u16());
    let body = match fault {
        Some(Fault::Slow(pause)) => slow(body, pause),
        _ => body.boxed_unsync(),
    };
    let mut response = Response::builder().status(parts.status);
    for name in ["content-type", "retry-after"] {
        if let Some(value) = parts.headers.get(name) {
            response = response.header(name, value);
        }
    }
    Ok(response.body(body).unwrap())
}

fn full(text: String) -> Body {
    Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed_unsync()
}

/// A body whose pieces come later.
fn slow(body: kube::client::Body, pause: Duration) -> Body {
    let frames = stream::unfold(body, move |mut body| async move {
        let frame = body.frame().await?;
        tokio::time::sleep(pause).await;
        Some((frame, body))
    });
    StreamBody::new(frames.boxed()).boxed_unsync()
}

/// A pod's binding in paths.
pub fn binding(pod: &str) -> String {
    format!("/pods/{pod}/binding")
}

/// What a Binding says.
pub fn binding_to(pod: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"namespace": "default", "name": pod},
        "target": {"kind": "Node", "name": node},
    })
}
