//! A client whose credentials may change while it is used.
//!
//! kube's own client reads the files of a client certificate once, and asks a credential plugin by itself, on a terminal
//! that may be somebody else's by then. So each request goes to a client of kube's that is made anew when the files say
//! something else (`client-go/transport/cert_rotation.go`) or the plugin gives another certificate, with the plugin's
//! token on it (`client-go/plugin/pkg/client/auth/exec`). Requests under way end on the connection they began on. Files
//! of tokens and of the server's authorities are reread by kube.

#![expect(clippy::disallowed_methods, reason = "credentials have an age")]

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use jiff::Timestamp;
use k8s_openapi::ByteString;
use kube::client::{Body, ClientBuilder};
use kube::config::AuthInfo;
use kube::{Client, Config};
use tokio::sync::Mutex;
use tower_service::Service;

use super::connect::words;
use super::plugin::{Credential, Plugin, PluginError, Terminal};
use crate::driver::serve::reload::mark;

/// Files are looked at when a request comes, but not more often than this.
const LOOK_EVERY: Duration = Duration::from_secs(10);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A client for the configuration. `patience` is how long an answer to anything but a watch may take.
///
/// # Errors
/// If its files cannot be read, or its plugin gives no credential.
pub async fn client(
    mut config: Config,
    terminal: &Terminal,
    patience: Option<Duration>,
) -> Result<Client, String> {
    let auth = &mut config.auth_info;
    let files: Vec<PathBuf> =
        [&auth.client_certificate, &auth.client_key].into_iter().flatten().map(PathBuf::from).collect();
    // What stands in the kubeconfig itself goes before a plugin.
    let plugin = auth.exec.take().filter(|_| !has_credential(auth));
    if files.is_empty() && plugin.is_none() && patience.is_none() {
        return Client::try_from(config).map_err(|error| words(&error));
    }
    let plugin = plugin.map(|exec| Plugin::new(exec, terminal.clone()));
    let namespace = config.default_namespace.clone();
    let mut state = State { client: None, mark: mark(&files), looked_at: Instant::now(), credential: None };
    if let Some(plugin) = &plugin {
        state.credential = Some(ask(plugin).await.map_err(|error| error.to_string())?);
    }
    state.client = Some(made(&config, state.credential.as_deref()).map_err(|error| words(&error))?);
    let shared = Shared { config, files, plugin, patience, state: Mutex::new(state) };
    Ok(ClientBuilder::new(Renewing(Arc::new(shared)), namespace).build())
}

/// Whether a person is named without a plugin.
fn has_credential(auth: &AuthInfo) -> bool {
    auth.token.is_some()
        || auth.token_file.is_some()
        || auth.username.is_some()
        || auth.client_certificate.is_some()
        || auth.client_certificate_data.is_some()
        || auth.auth_provider.is_some()
}

struct Shared {
    config: Config,
    files: Vec<PathBuf>,
    plugin: Option<Plugin>,
    patience: Option<Duration>,
    state: Mutex<State>,
}

struct State {
    client: Option<Client>,
    /// What the files said.
    mark: Option<u64>,
    looked_at: Instant,
    credential: Option<Arc<Credential>>,
}

async fn ask(plugin: &Plugin) -> Result<Arc<Credential>, PluginError> {
    let plugin = plugin.clone();
    let asked = tokio::task::spawn_blocking(move || plugin.ask()).await;
    let stopped = |_| PluginError::Unusable {
        command: String::new(),
        why: "the program ends before the plugin has answered",
    };
    asked.map_err(stopped)?.map(Arc::new)
}

/// A client of kube's for what is known now.
fn made(config: &Config, credential: Option<&Credential>) -> Result<Client, kube::Error> {
    let mut config = config.clone();
    if let Some((cert, key)) = credential.and_then(|credential| credential.pair.clone()) {
        // As a kubeconfig holds them.
        let in_kubeconfig = |text: String| {
            let value = serde_json::to_value(ByteString(text.into_bytes())).unwrap_or_default();
            value.as_str().unwrap_or_default().to_owned()
        };
        config.auth_info.client_certificate_data = Some(in_kubeconfig(cert));
        config.auth_info.client_key_data = Some(in_kubeconfig(key).into());
    }
    Client::try_from(config)
}

impl Shared {
    /// The client and the credential that are good now.
    async fn current(&self) -> Result<(Client, Option<Arc<Credential>>), BoxError> {
        let mut state = self.state.lock().await;
        if state.looked_at.elapsed() >= LOOK_EVERY {
            state.looked_at = Instant::now();
            let mark = mark(&self.files);
            // A file that is not there just now is being replaced.
            if mark.is_some() && mark != state.mark {
                match made(&self.config, state.credential.as_deref()) {
                    Ok(client) => {
                        state.client = Some(client);
                        state.mark = mark;
                        tracing::info!(target: "live", "the client certificate has changed and is read again");
                    }
                    // Such as a certificate whose key comes next.
                    Err(error) => {
                        tracing::warn!(target: "live", "the client certificate has changed and cannot be used: {}", words(&error));
                    }
                }
            }
        }
        let is_good = |credential: &Arc<Credential>| credential.is_good(Timestamp::now());
        if let Some(plugin) = &self.plugin
            && !state.credential.as_ref().is_some_and(is_good)
        {
            self.ask_again(&mut state, plugin).await?;
        }
        let client = state.client.clone().ok_or("there is no client")?;
        Ok((client, state.credential.clone()))
    }

    async fn ask_again(&self, state: &mut State, plugin: &Plugin) -> Result<(), BoxError> {
        let credential = ask(plugin).await?;
        let has_changed = state.credential.as_ref().is_none_or(|known| known.pair != credential.pair);
        if has_changed {
            state.client = Some(made(&self.config, Some(&credential))?);
        }
        state.credential = Some(credential);
        Ok(())
    }

    /// The server has turned a credential down: the plugin may have another, unless it was asked since.
    async fn refused(&self, credential: &Arc<Credential>) {
        let Some(plugin) = &self.plugin else { return };
        let mut state = self.state.lock().await;
        if !state.credential.as_ref().is_some_and(|known| Arc::ptr_eq(known, credential)) {
            return;
        }
        if let Err(error) = self.ask_again(&mut state, plugin).await {
            tracing::warn!(target: "live", "{error}");
        }
    }
}

/// An answer did not come in time.
#[derive(Debug, thiserror::Error)]
#[error("the API server has not answered within {0:?} (--request-timeout)")]
struct Late(Duration);

fn is_watch(uri: &http::Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true" || pair == "watch=1"))
}

#[derive(Clone)]
struct Renewing(Arc<Shared>);

impl Service<Request<Body>> for Renewing {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let (client, credential) = shared.current().await?;
            let token = credential.as_ref().and_then(|credential| credential.token.as_deref());
            if let Some(token) = token
                && !request.headers().contains_key(AUTHORIZATION)
            {
                let mut value = HeaderValue::from_str(&format!("Bearer {token}"))?;
                value.set_sensitive(true);
                request.headers_mut().insert(AUTHORIZATION, value);
            }
            let patience = shared.patience.filter(|_| !is_watch(request.uri()));
            let response = match patience {
                None => client.send(request).await?,
                Some(patience) => {
                    let late = |_| std::io::Error::new(std::io::ErrorKind::TimedOut, Late(patience));
                    tokio::time::timeout(patience, client.send(request)).await.map_err(late)??
                }
            };
            if let (StatusCode::UNAUTHORIZED, Some(credential)) = (response.status(), &credential) {
                shared.refused(credential).await;
            }
            Ok(response)
        })
    }
}
