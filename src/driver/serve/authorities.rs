//! Whose word about clients counts: the authority of their certificates, and front proxies that say who asks.
//!
//! Follows `DelegatingAuthenticationOptions` of `k8s.io/apiserver`: each of the two comes from a file, else from
//! `kube-system/extension-apiserver-authentication`, which is watched. What was known stays when that goes or is broken.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures::StreamExt as _;
use http::HeaderMap;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;

use super::auth::{User, name_of};
use super::certs::client_verifier;
use super::reload::follow;
use crate::driver::live::connect::words;
use crate::driver::metrics::registry::Registry;
use crate::driver::metrics::work_queue::WorkQueue;

/// The ConfigMap that the API server keeps.
const CONFIG_MAP: &str = "extension-apiserver-authentication";
/// How often its content is looked at although it has not changed.
const RECHECK: Duration = Duration::from_secs(60);

/// What a front proxy says in which header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyHeaders {
    /// The common names that a proxy may have; any, if empty.
    pub allowed_names: Vec<String>,
    /// Headers with the user's name, of which the first that is there counts.
    pub user: Vec<String>,
    /// The same for the uid.
    pub uid: Vec<String>,
    /// Headers with groups, which all count.
    pub group: Vec<String>,
    /// What headers with anything else begin with.
    pub extra_prefix: Vec<String>,
}

/// Where authorities are from.
#[derive(Clone, Debug)]
pub struct AuthorityOptions {
    /// `--client-ca-file`.
    pub client_ca: Option<PathBuf>,
    /// `--requestheader-client-ca-file`, and what stands with it.
    pub proxy_ca: Option<(PathBuf, ProxyHeaders)>,
    /// Whether what is not given is looked up in the cluster.
    pub looks_up: bool,
}

type Verifier = Arc<dyn ClientCertVerifier>;

struct Proxies {
    verifier: Verifier,
    headers: ProxyHeaders,
}

/// The authorities.
pub struct Authorities {
    options: AuthorityOptions,
    clients: RwLock<Option<(Vec<u8>, Verifier)>>,
    proxies: RwLock<Option<Arc<Proxies>>>,
    proxy_ca: RwLock<Vec<u8>>,
}

impl std::fmt::Debug for Authorities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authorities")
    }
}

/// What a certificate comes to.
#[derive(Debug, PartialEq, Eq)]
pub enum Word {
    /// It says who asks.
    Is(User),
    /// It says nothing about that.
    Nothing,
    /// It is not good.
    Refused,
}

fn read<T>(lock: &RwLock<T>) -> std::sync::RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl Authorities {
    /// The authorities of the files; those of the cluster come later.
    ///
    /// # Errors
    /// A file cannot be read, or there is no authority in it.
    pub fn new(options: AuthorityOptions) -> Result<Self, String> {
        let authorities = Self {
            options,
            clients: RwLock::default(),
            proxies: RwLock::default(),
            proxy_ca: RwLock::default(),
        };
        authorities.read_client_ca().map_err(|error| format!("--client-ca-file: {error}"))?;
        authorities.read_proxy_ca().map_err(|error| format!("--requestheader-client-ca-file: {error}"))?;
        Ok(authorities)
    }

    /// Whether anything was new.
    fn read_client_ca(&self) -> Result<bool, String> {
        let Some(path) = &self.options.client_ca else { return Ok(false) };
        let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        self.set_client_ca(text).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn read_proxy_ca(&self) -> Result<bool, String> {
        let Some((path, headers)) = &self.options.proxy_ca else { return Ok(false) };
        let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        self.set_proxies(text, headers.clone()).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn set_client_ca(&self, text: Vec<u8>) -> Result<bool, String> {
        if read(&self.clients).as_ref().is_some_and(|(known, _)| *known == text) {
            return Ok(false);
        }
        let verifier = client_verifier(&text)?;
        *write(&self.clients) = Some((text, verifier));
        Ok(true)
    }

    fn set_proxies(&self, text: Vec<u8>, headers: ProxyHeaders) -> Result<bool, String> {
        let known = read(&self.proxies).clone();
        if known.is_some_and(|known| known.headers == headers) && *read(&self.proxy_ca) == text {
            return Ok(false);
        }
        let verifier = client_verifier(&text)?;
        *write(&self.proxies) = Some(Arc::new(Proxies { verifier, headers }));
        *write(&self.proxy_ca) = text;
        Ok(true)
    }

    /// Who asks, if the certificate is of an authority of clients.
    pub fn client(&self, own: &CertificateDer<'_>, between: &[CertificateDer<'_>]) -> Word {
        let Some((_, verifier)) = read(&self.clients).clone() else { return Word::Nothing };
        if verifier.verify_client_cert(own, between, UnixTime::now()).is_err() {
            return Word::Refused;
        }
        User::of_certificate(own).map_or(Word::Nothing, Word::Is)
    }

    /// Who asks, if the certificate is of a front proxy that says so.
    pub fn proxied(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        headers: &HeaderMap,
    ) -> Word {
        let Some(proxies) = read(&self.proxies).clone() else { return Word::Nothing };
        if proxies.verifier.verify_client_cert(own, between, UnixTime::now()).is_err() {
            return Word::Refused;
        }
        let allowed = &proxies.headers.allowed_names;
        if !allowed.is_empty() && !name_of(own).is_some_and(|name| allowed.contains(&name)) {
            return Word::Refused;
        }
        user_of_headers(&proxies.headers, headers).map_or(Word::Nothing, Word::Is)
    }

    /// Keeps them up to date, for as long as it is waited for.
    pub async fn keep(self: &Arc<Self>, client: Option<Client>, registry: &Arc<Registry>) {
        let options = &self.options;
        let client_ca = async {
            let Some(path) = &options.client_ca else { return };
            let queue = WorkQueue::new(registry, "DynamicCABundle-client-ca-bundle");
            follow("client-ca-bundle", vec![path.clone()], queue, || self.read_client_ca()).await;
        };
        let proxy_ca = async {
            let Some((path, _)) = &options.proxy_ca else { return };
            let queue = WorkQueue::new(registry, "DynamicCABundle-request-header");
            follow("request-header", vec![path.clone()], queue, || self.read_proxy_ca()).await;
        };
        let lacks_any = options.client_ca.is_none() || options.proxy_ca.is_none();
        let cluster = async {
            match client.filter(|_| options.looks_up && lacks_any) {
                Some(client) => self.follow_config_map(client, registry).await,
                None if options.looks_up && lacks_any => tracing::warn!(
                    "No authentication-kubeconfig provided in order to lookup {CONFIG_MAP} in kube-system, so what \
                     it says of client certificates does not count"
                ),
                None => {}
            }
        };
        tokio::join!(client_ca, proxy_ca, cluster);
    }

    async fn follow_config_map(&self, client: Client, registry: &Arc<Registry>) {
        let bundles = WorkQueue::new(registry, "DynamicConfigMapCABundle-client-ca");
        let headers = WorkQueue::new(registry, "RequestHeaderAuthRequestController");
        let maps: Api<ConfigMap> = Api::namespaced(client, "kube-system");
        let config = watcher::Config::default().fields(&format!("metadata.name={CONFIG_MAP}"));
        let mut events = std::pin::pin!(watcher::watcher(maps, config).default_backoff());
        let mut rechecks = tokio::time::interval(RECHECK);
        rechecks.reset();
        let mut found: Option<ConfigMap> = None;
        let mut told: Vec<String> = Vec::new();
        loop {
            let event = tokio::select! {
                event = events.next() => match event {
                    Some(event) => event,
                    None => return,
                },
                _ = rechecks.tick() => Ok(Event::InitDone),
            };
            match event {
                Ok(Event::Init) => {
                    found = None;
                    continue;
                }
                Ok(Event::InitApply(map)) => {
                    found = Some(map);
                    continue;
                }
                Ok(Event::Apply(map)) => found = Some(map),
                Ok(Event::Delete(_)) => found = None,
                Ok(Event::InitDone) => {}
                Err(error) => {
                    let error = words(&error);
                    if told != [error.as_str()] {
                        tracing::warn!(
                            err = error,
                            "Unable to get configmap/{CONFIG_MAP} in kube-system. Usually fixed by 'kubectl create \
                             rolebinding -n kube-system ROLEBINDING_NAME --role=extension-apiserver-authentication-\
                             reader --serviceaccount=YOUR_NS:YOUR_SA'"
                        );
                        told = vec![error];
                    }
                    continue;
                }
            }
            let data = found.as_ref().and_then(|map| map.data.as_ref());
            let mut errors = Vec::new();
            for result in self.take_config_map(data, &bundles, &headers) {
                match result {
                    Ok(false) => {}
                    Ok(true) => tracing::info!(v = 2, "Loaded new authorities of {CONFIG_MAP}"),
                    Err(error) => errors.push(error),
                }
            }
            for error in errors.iter().filter(|error| !told.contains(error)) {
                tracing::warn!(err = error, "Some client certificates are not accepted");
            }
            told = errors;
        }
    }

    /// Takes over what the ConfigMap says of what no file does.
    fn take_config_map(
        &self,
        data: Option<&BTreeMap<String, String>>,
        bundles: &WorkQueue,
        headers: &WorkQueue,
    ) -> Vec<Result<bool, String>> {
        let get = |key: &str| data.and_then(|data| data.get(key)).filter(|text| !text.is_empty());
        let bundle = |key: &str| get(key).ok_or_else(|| format!("missing content for CA bundle {key:?}"));
        let mut results = Vec::new();
        if self.options.client_ca.is_none() {
            let take = || bundle("client-ca-file").and_then(|text| self.set_client_ca(text.clone().into()));
            results.push(bundles.run(take));
        }
        if self.options.proxy_ca.is_none() {
            let list = |key: &str| match get(key) {
                None => Ok(Vec::new()),
                Some(text) => serde_json::from_str(text).map_err(|error| format!("{key}: {error}")),
            };
            let read = headers.run(|| {
                Ok::<_, String>(ProxyHeaders {
                    allowed_names: list("requestheader-allowed-names")?,
                    user: list("requestheader-username-headers")?,
                    uid: list("requestheader-uid-headers")?,
                    group: list("requestheader-group-headers")?,
                    extra_prefix: list("requestheader-extra-headers-prefix")?,
                })
            });
            results.push(read.and_then(|proxy_headers| {
                bundles.run(|| {
                    let text = bundle("requestheader-client-ca-file")?;
                    self.set_proxies(text.clone().into(), proxy_headers)
                })
            }));
        }
        results
    }
}

/// Who a front proxy says that asks.
fn user_of_headers(names: &ProxyHeaders, headers: &HeaderMap) -> Option<User> {
    let values = |name: &str| {
        let values = headers.get_all(name).into_iter();
        values.filter_map(|value| value.to_str().ok()).filter(|value| !value.is_empty())
    };
    let first = |names: &[String]| {
        // As Go does, only the first value of a header counts.
        names.iter().find_map(|name| {
            let value = headers.get(name.as_str())?.to_str().ok()?;
            (!value.is_empty()).then(|| value.to_owned())
        })
    };
    let name = first(&names.user)?;
    let groups = names.group.iter().flat_map(|name| values(name)).map(ToOwned::to_owned).collect();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for prefix in names.extra_prefix.iter().map(|prefix| prefix.to_ascii_lowercase()) {
        for header in headers.keys() {
            let Some(key) = header.as_str().strip_prefix(&prefix) else { continue };
            let list = extra.entry(unescaped(key)).or_default();
            list.extend(
                headers
                    .get_all(header)
                    .into_iter()
                    .filter_map(|value| value.to_str().ok())
                    .map(ToOwned::to_owned),
            );
        }
    }
    Some(User::told(name, first(&names.uid).unwrap_or_default(), groups, extra))
}

/// The key with its `%` escapes undone, or as it is if they are broken.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = key.as_bytes();
    while let Some((&byte, more)) = rest.split_first() {
        rest = more;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let value = digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let Some(value) = value else { return key.to_owned() };
        bytes.push(value);
        rest = rest.get(2..).unwrap_or_default();
    }
    String::from_utf8(bytes).unwrap_or_else(|_| key.to_owned())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};

    fn names() -> ProxyHeaders {
        let list = |text: &str| vec![text.to_owned()];
        ProxyHeaders {
            allowed_names: Vec::new(),
            user: vec!["X-Remote-User".to_owned(), "X-User".to_owned()],
            uid: list("X-Remote-Uid"),
            group: list("X-Remote-Group"),
            extra_prefix: list("X-Remote-Extra-"),
        }
    }

    fn told(headers: &[(&str, &str)]) -> Option<User> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
        }
        user_of_headers(&names(), &map)
    }

    // As the tests of k8s.io/apiserver's requestheader.go have it.
    #[test]
    fn a_front_proxy_tells_name_groups_and_the_rest_in_headers() {
        assert_eq!(told(&[("x-remote-group", "g")]), None);
        let user = told(&[
            ("x-user", "second"),
            ("x-remote-group", "a"),
            ("x-remote-group", "b"),
            ("x-remote-extra-acme.com%2Fproject", "p"),
            ("x-remote-extra-100%", "q"),
            ("x-remote-uid", "u"),
        ]);
        let extra = [("100%", "q"), ("acme.com/project", "p")];
        let extra = extra.map(|(key, value)| (key.to_owned(), vec![value.to_owned()])).into();
        let groups = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(user, Some(User::told("second".to_owned(), "u".to_owned(), groups, extra)));
    }
}
