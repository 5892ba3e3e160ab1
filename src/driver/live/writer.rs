//! Does the scheduler's deeds in the cluster.
//!
//! Requests go through a limiter (`clientConnection.qps` and `burst`), those for Events through another. Each waits as
//! long as the server asks for after 429, and is tried again where kube-scheduler does that. Nothing here is called while
//! the scheduler only observes.

use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::time::{Instant, sleep, sleep_until};

use crate::api::objects::Pod;
use crate::api::{Object, Str, Time};
use crate::driver::metrics::families::Metric;
use crate::driver::metrics::registry::Registry;
use crate::framework::{ApiWrite, WriteVerb};
use crate::scheduler::effect::{ApiFailure, ApiFailureReason, Effect, EffectKind};
use crate::scheduler::input::Input;

use super::connect::words;
use super::events::{EventRecorder, EventWrite};
use super::requests::{self, ApiRequest};

/// How often a request is sent again because the server asks for patience (client-go's `maxRetries`).
const PATIENCE: usize = 10;
/// `retry.DefaultBackoff`: 10 ms, five times as long each time, four tries.
const RETRY_PAUSE: Duration = Duration::from_millis(10);
const RETRY_FACTOR: u32 = 5;
const TRIES: usize = 4;
/// An Event that cannot be written is tried so often, so long apart.
const EVENT_TRIES: usize = 12;
const EVENT_PAUSE: Duration = Duration::from_secs(10);

/// Stands for an HTTP status where nothing may be written.
const CLOSED: u16 = 1;

/// How fast requests may follow each other: a bucket of `burst` tokens, of which `qps` are added each second.
#[derive(Debug)]
struct Limiter {
    interval: Duration,
    burst: u32,
    /// When the bucket would be full again.
    full_at: Mutex<Instant>,
}

impl Limiter {
    fn new(qps: f64, burst: u32) -> Self {
        let interval = if qps > 0.0 { Duration::from_secs_f64(1.0 / qps) } else { Duration::ZERO };
        Self { interval, burst: burst.max(1), full_at: Mutex::new(Instant::now()) }
    }

    async fn wait(&self) {
        let at = {
            let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            *full_at = (*full_at).max(now) + self.interval;
            // The bucket is `burst` tokens deep.
            full_at.checked_sub(self.interval * self.burst).unwrap_or(now)
        };
        sleep_until(at).await;
    }
}

/// The way to the API server.
#[derive(Clone, Debug)]
pub struct Writer {
    client: DebuggedClient,
    limiter: Arc<Limiter>,
    /// Events have a client of their own (`createClients`), and so as much again.
    event_limiter: Arc<Limiter>,
    events: Arc<Mutex<EventRecorder>>,
    /// Where requests are counted, and to which host they go.
    counted: Option<(Arc<Registry>, String)>,
    /// Whether anything may be sent. Looked at just before each request, so that what waits for its turn does not go
    /// out when the lease is lost meanwhile.
    is_open: Arc<AtomicBool>,
}

/// A client says nothing of itself: it holds credentials.
#[derive(Clone)]
struct DebuggedClient(Client);

impl std::fmt::Debug for DebuggedClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}

/// Why a request has failed.
#[derive(Clone, Debug)]
struct Refusal {
    /// The HTTP status; 0 if there was no answer, [`CLOSED`] if nothing was sent.
    code: u16,
    message: String,
    /// How long the server asks to be left alone.
    retry_after: Option<Duration>,
    ended: Ended,
}

/// How a request without an answer has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The connection was refused: the server has not seen the request.
    Refused,
    /// The connection broke: nobody knows what the server has done.
    Broken,
    /// Otherwise, or there was an answer.
    Otherwise,
}

impl Refusal {
    /// `util.Retriable`: internal errors, an unavailable service, conflicts, a refused connection.
    fn is_retriable(&self) -> bool {
        matches!(self.code, 409 | 500 | 503) || self.ended == Ended::Refused
    }

    /// The code as client-go's metrics have it.
    fn code_text(&self) -> String {
        if self.code == 0 { "<error>".to_owned() } else { self.code.to_string() }
    }

    /// How long to wait before the same request is sent once more by itself (client-go's `withRetry`): as long as the
    /// server says, and a second where reading broke off.
    fn pause(&self, method: &str) -> Option<Duration> {
        match self.ended {
            Ended::Broken if method == "GET" => Some(Duration::from_secs(1)),
            _ if self.code == 429 || self.code >= 500 => self.retry_after,
            _ => None,
        }
    }
}

impl From<Refusal> for ApiFailure {
    fn from(refusal: Refusal) -> Self {
        let reason = match refusal.code {
            404 => ApiFailureReason::NotFound,
            409 => ApiFailureReason::Conflict,
            _ => ApiFailureReason::Other,
        };
        Self { reason, message: refusal.message }
    }
}

/// What a deed has to do with beyond itself, as it was when the deed was decided.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The pod that an Event is about.
    pub regarding: Option<Arc<Pod>>,
    /// Another pod that an Event has to do with.
    pub related: Option<Arc<Pod>>,
}

impl Writer {
    /// A writer that sends `qps` requests a second, up to `burst` of them at once. `host` names the instance in Events.
    pub fn new(client: Client, qps: f64, burst: u32, host: &str) -> Self {
        Self {
            client: DebuggedClient(client),
            limiter: Arc::new(Limiter::new(qps, burst)),
            event_limiter: Arc::new(Limiter::new(qps, burst)),
            events: Arc::new(Mutex::new(EventRecorder::new(host))),
            is_open: Arc::new(AtomicBool::new(false)),
            counted: None,
        }
    }

    /// The same with its requests counted, as those to this server.
    #[must_use]
    pub fn counted(mut self, registry: Arc<Registry>, server: &str) -> Self {
        let host = server.split_once("://").map_or(server, |(_, rest)| rest);
        self.counted = Some((registry, host.trim_end_matches('/').to_owned()));
        self
    }

    /// Lets requests out, or none from now on; it begins with none. What waits already is refused, too.
    pub fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::SeqCst);
    }

    /// Does a deed. The answer is what the core is to be told; of an Event it wants to hear nothing.
    pub async fn carry_out(&self, effect: Effect, surroundings: Surroundings, now: Time) -> Option<Input> {
        let id = effect.id;
        let result = match effect.kind {
            EffectKind::Event(event) => {
                let write = {
                    let profile = surroundings.regarding.as_ref().map_or_else(
                        || Str::from("default-scheduler"),
                        |pod| pod.spec.scheduler_name.clone(),
                    );
                    let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
                    let (regarding, related) =
                        (surroundings.regarding.as_deref(), surroundings.related.as_deref());
                    events.record(&event, &profile, regarding, related, now)
                };
                if let Some(write) = write {
                    self.send_event(write).await;
                }
                return None;
            }
            // Extenders are called by those who know their clients.
            EffectKind::CallExtender(_) => return None,
            EffectKind::Write(write) => {
                let result = self.write(write).await.map_err(ApiFailure::from);
                return Some(Input::Written { id, result });
            }
            EffectKind::Bind { pod, uid, node } => self.send(&requests::bind(&pod, &uid, &node)).await,
            EffectKind::DeletePod { pod, uid } => match self.send(&requests::delete_pod(&pod, &uid)).await {
                // Another pod of the name is there by now: the victim is gone.
                Err(refusal) if refusal.code == 409 => Err(Refusal { code: 404, ..refusal }),
                result => result,
            },
            EffectKind::PatchPodStatus { pod, condition, nominated_node_name, base, .. } => {
                let node = nominated_node_name.as_ref();
                match requests::patch_pod_status(&pod, &base, condition.as_ref(), node, now) {
                    Some(request) => self.send_again(&request).await,
                    None => Ok(Value::Null),
                }
            }
            EffectKind::PatchPodGroupStatus { pod_group, condition, base } => {
                self.send_again(&requests::patch_pod_group_status(&pod_group, &base, &condition, now)).await
            }
        };
        Some(Input::EffectDone { id, result: result.map(|_| ()).map_err(ApiFailure::from) })
    }

    /// Writes series of Events that go on or have ended.
    pub async fn refresh_events(&self, now: Time) {
        let writes = self.events.lock().unwrap_or_else(PoisonError::into_inner).refresh(now);
        for write in writes {
            self.send_event(write).await;
        }
    }

    async fn send_event(&self, write: EventWrite) {
        for _ in 0..EVENT_TRIES {
            let mut result = self.send_by(&self.event_limiter, &write.request).await;
            if let (Err(refusal), Some(whole)) = (&result, &write.if_missing)
                && refusal.code == 404
            {
                result = self.send_by(&self.event_limiter, whole).await;
            }
            match result {
                // What never arrived is sent again; what was refused would be refused again.
                Err(refusal) if refusal.code == 0 => sleep(EVENT_PAUSE).await,
                Err(refusal) => {
                    tracing::debug!(target: "live", "an Event was refused: {}", refusal.message);
                    return;
                }
                Ok(_) => return,
            }
        }
        tracing::warn!(target: "live", "an Event could not be written");
    }

    /// A write of a plugin.
    async fn write(&self, write: ApiWrite) -> Result<Object, Refusal> {
        let kind = write.object.kind();
        let answer = match write.verb {
            WriteVerb::Create => self.send(&requests::create(&write.object)).await?,
            WriteVerb::Delete => {
                self.send(&requests::delete(&write.object)).await?;
                return Ok(write.object);
            }
            WriteVerb::PatchStatus => self.send_again(&requests::patch_status(&write.object)).await?,
            WriteVerb::Update | WriteVerb::UpdateStatus => {
                let path = requests::path_of(kind, &write.object.key(), "");
                let get = ApiRequest { method: "GET", path, content_type: "", body: Value::Null };
                let server = self.send(&get).await?;
                let known = parse(kind, &server)?;
                let wanted = &write.object.metadata().resource_version;
                if !wanted.is_empty() && *wanted != known.metadata().resource_version {
                    let message = format!(
                        "Operation cannot be fulfilled on {} {:?}: the object has been modified; please apply your \
                         changes to the latest version and try again",
                        kind.resource(),
                        &*write.object.metadata().name
                    );
                    return Err(refusal(409, message));
                }
                self.send(&requests::update(write.verb, server, &known, &write.object)).await?
            }
        };
        parse(kind, &answer)
    }

    /// Sends a request until it is answered, with pauses where kube-scheduler makes them.
    async fn send_again(&self, request: &ApiRequest) -> Result<Value, Refusal> {
        let mut pause = RETRY_PAUSE;
        for _ in 1..TRIES {
            match self.send(request).await {
                Err(refusal) if refusal.is_retriable() => sleep(pause).await,
                result => return result,
            }
            pause *= RETRY_FACTOR;
        }
        self.send(request).await
    }

    async fn send(&self, request: &ApiRequest) -> Result<Value, Refusal> {
        self.send_by(&self.limiter, request).await
    }

    async fn send_by(&self, limiter: &Limiter, request: &ApiRequest) -> Result<Value, Refusal> {
        let mut n_waits = 0;
        loop {
            let waits_since = Instant::now();
            limiter.wait().await;
            if let Some((registry, host)) = &self.counted {
                let waited = waits_since.elapsed().as_secs_f64();
                let labels = [host, request.method];
                registry.observe(Metric::RestClientRateLimiterDurationSeconds, &labels, waited);
            }
            if !self.is_open.load(Ordering::SeqCst) {
                return Err(refusal(CLOSED, "nothing is written any more".to_owned()));
            }
            let result = self.send_once(request).await;
            match result.as_ref().err().and_then(|refusal| refusal.pause(request.method)) {
                Some(pause) if n_waits < PATIENCE => {
                    n_waits += 1;
                    if let (Some((registry, host)), Err(refusal)) = (&self.counted, &result) {
                        let code = refusal.code_text();
                        let labels = [code.as_str(), host, request.method];
                        registry.add(Metric::RestClientRequestRetriesTotal, &labels, 1.0);
                    }
                    sleep(pause).await;
                }
                _ => return result,
            }
        }
    }

    async fn send_once(&self, request: &ApiRequest) -> Result<Value, Refusal> {
        let start = Instant::now();
        let result = self.send_uncounted(request).await;
        if let Some((registry, host)) = &self.counted {
            let code = match &result {
                Ok(_) if request.method == "POST" => "201".to_owned(),
                Ok(_) => "200".to_owned(),
                Err(refusal) => refusal.code_text(),
            };
            registry.add(Metric::RestClientRequestsTotal, &[&code, host, request.method], 1.0);
            let seconds = start.elapsed().as_secs_f64();
            registry.observe(Metric::RestClientRequestDurationSeconds, &[host, request.method], seconds);
        }
        result
    }

    fn count_bytes(&self, metric: Metric, method: &str, n: usize) {
        if let Some((registry, host)) = &self.counted {
            let n = u32::try_from(n).unwrap_or(u32::MAX);
            registry.observe(metric, &[host, method], f64::from(n));
        }
    }

    async fn send_uncounted(&self, request: &ApiRequest) -> Result<Value, Refusal> {
        let body = if request.body.is_null() {
            Vec::new()
        } else {
            serde_json::to_vec(&request.body).map_err(|error| refusal(0, error.to_string()))?
        };
        self.count_bytes(Metric::RestClientRequestSizeBytes, request.method, body.len());
        let mut builder = http::Request::builder().method(request.method).uri(&request.path);
        if !request.content_type.is_empty() {
            builder = builder.header(CONTENT_TYPE, request.content_type);
        }
        let http = builder.body(Body::from(body)).map_err(|error| refusal(0, error.to_string()))?;
        let (parts, body) = self.client.0.send(http).await.map_err(|error| unanswered(&error))?.into_parts();
        let body = body.collect_bytes().await.map_err(|error| unanswered(&error))?;
        self.count_bytes(Metric::RestClientResponseSizeBytes, request.method, body.len());
        if parts.status.is_success() {
            return serde_json::from_slice(&body).map_err(|error| refusal(0, error.to_string()));
        }
        // Not every server on the way answers with a Status.
        let said = serde_json::from_slice::<Value>(&body).ok();
        let message = said.as_ref().and_then(|status| status.get("message")?.as_str());
        let message =
            message.map_or_else(|| String::from_utf8_lossy(&body).trim().to_owned(), ToOwned::to_owned);
        match parts.status {
            StatusCode::FORBIDDEN => {
                tracing::warn!(target: "live", "{message}; the rule that is missing: {}", requests::rule(request));
            }
            StatusCode::UNPROCESSABLE_ENTITY => tracing::warn!(target: "live", "{message}"),
            _ => {}
        }
        let retry_after =
            parts.headers.get(RETRY_AFTER).and_then(|seconds| seconds.to_str().ok()?.parse().ok());
        let retry_after = retry_after.map(Duration::from_secs);
        Err(Refusal { retry_after, ..refusal(parts.status.as_u16(), message) })
    }
}

/// What it is called when no answer came.
fn unanswered(error: &kube::Error) -> Refusal {
    let message = words(error);
    let ended = match kind_of(error) {
        Some(ErrorKind::ConnectionRefused) => Ended::Refused,
        Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof) => Ended::Broken,
        _ if message.contains("connection closed before message completed") => Ended::Broken,
        _ => Ended::Otherwise,
    };
    Refusal { ended, ..refusal(0, message) }
}

/// The system's word for it, if it has one.
fn kind_of(error: &(dyn std::error::Error + 'static)) -> Option<ErrorKind> {
    if let Some(io) = error.downcast_ref::<std::io::Error>() {
        return Some(io.kind());
    }
    kind_of(error.source()?)
}

fn refusal(code: u16, message: String) -> Refusal {
    Refusal { code, message, retry_after: None, ended: Ended::Otherwise }
}

fn parse(kind: crate::api::Kind, value: &Value) -> Result<Object, Refusal> {
    Object::deserialize_kind(kind, value).map_err(|error| refusal(0, error.to_string()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use crate::api::{NamespacedName, Uid};
    use crate::scheduler::effect::EffectId;

    fn bind() -> Effect {
        let kind = EffectKind::Bind {
            pod: NamespacedName::new("shop", "a"),
            uid: Uid::from("u"),
            node: "n1".into(),
        };
        Effect { id: EffectId(1), kind }
    }

    async fn error_of(writer: &Writer) -> String {
        let input = writer.carry_out(bind(), Surroundings::default(), Time::ZERO).await;
        let Some(Input::EffectDone { result: Err(failure), .. }) = input else { return String::new() };
        failure.message
    }

    #[tokio::test]
    async fn what_waits_for_its_turn_when_writing_ends_does_not_go_out() {
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let writer = Writer::new(Client::try_from(config).unwrap(), 5.0, 1, "host");
        assert_eq!(error_of(&writer).await, "nothing is written any more");
        writer.set_open(true);
        // The bucket holds one token, and that was taken: this one waits.
        let waiting = tokio::spawn({
            let writer = writer.clone();
            async move { error_of(&writer).await }
        });
        tokio::task::yield_now().await;
        writer.set_open(false);
        assert_eq!(waiting.await.unwrap(), "nothing is written any more");
    }
}
