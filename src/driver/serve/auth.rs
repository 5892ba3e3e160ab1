//! Who asks, and whether they may: delegated to the API server as `k8s.io/apiserver` does it.
//!
//! What a front proxy says with a certificate of its authority, else a client certificate, else a bearer token by
//! TokenReview, else `system:anonymous`; who shows only what is not good is turned away. Paths that everybody may read
//! and members of `system:masters` need no further word, all others a SubjectAccessReview. Answers are kept for ten
//! seconds.

#![expect(clippy::disallowed_methods, reason = "answers are kept for a time")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::authorities::{Authorities, Word};
use crate::driver::live::connect::words;

/// How long an answer is good for.
const CACHE_TTL: Duration = Duration::from_secs(10);
/// So many answers are kept; then those that are not good any more go.
const CACHE_SIZE: usize = 4096;
/// How long the API server is waited for.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);

/// Somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Somebody of whom another one says all this.
    pub fn told(
        name: String,
        uid: String,
        groups: Vec<String>,
        extra: BTreeMap<String, Vec<String>>,
    ) -> Self {
        Self { name, uid, groups, extra }
    }

    /// The user of a certificate that is good: its common name, and its organizations as groups.
    pub fn of_certificate(cert: &CertificateDer<'_>) -> Option<Self> {
        let (_, cert) = X509Certificate::from_der(cert).ok()?;
        let name = cert.subject().iter_common_name().next()?.as_str().ok()?.to_owned();
        let groups = cert.subject().iter_organization();
        let groups = groups.filter_map(|group| Some(group.as_str().ok()?.to_owned())).collect();
        (!name.is_empty()).then(|| Self { name, uid: String::new(), groups, extra: BTreeMap::new() })
    }

    fn anonymous() -> Self {
        Self {
            name: "system:anonymous".to_owned(),
            uid: String::new(),
            groups: vec!["system:unauthenticated".to_owned()],
            extra: BTreeMap::new(),
        }
    }

    fn authenticated(mut self) -> Self {
        let group = "system:authenticated";
        if !self.groups.iter().any(|known| known == group) {
            self.groups.push(group.to_owned());
        }
        self
    }
}

/// Whether somebody may do what they ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They may.
    Allowed,
    /// They are not who they say.
    Unauthorized,
    /// They may not.
    Forbidden {
        /// The sentence for them.
        message: String,
    },
    /// Nobody could say.
    Failed {
        /// Why.
        message: String,
    },
}

/// What a guard knows.
pub struct GuardOptions {
    /// The client for TokenReviews; without one tokens are nobody's.
    pub reviews_tokens: Option<Client>,
    /// The client for SubjectAccessReviews; without one only what is always allowed is.
    pub reviews_access: Option<Client>,
    /// Whose word about clients counts.
    pub authorities: Arc<Authorities>,
    /// `--authorization-always-allow-paths`.
    pub open_paths: Vec<String>,
}

type Cache<T> = Mutex<BTreeMap<String, (Instant, T)>>;

/// Stands before the endpoints.
pub struct Guard {
    options: GuardOptions,
    users: Cache<Option<User>>,
    verdicts: Cache<(bool, String)>,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard")
    }
}

fn cached<T: Clone>(cache: &Cache<T>, key: &str) -> Option<T> {
    let cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    cache.get(key).filter(|(until, _)| *until > Instant::now()).map(|(_, value)| value.clone())
}

fn keep<T>(cache: &Cache<T>, key: String, value: T) {
    let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
    let now = Instant::now();
    if cache.len() >= CACHE_SIZE {
        cache.retain(|_, (until, _)| *until > now);
    }
    if cache.len() < CACHE_SIZE {
        cache.insert(key, (now + CACHE_TTL, value));
    }
}

impl Guard {
    /// A guard.
    pub fn new(options: GuardOptions) -> Self {
        Self { options, users: Cache::default(), verdicts: Cache::default() }
    }

    /// Whether a request may pass.
    pub async fn judge(
        &self,
        certs: &[CertificateDer<'static>],
        headers: &HeaderMap,
        method: &str,
        path: &str,
    ) -> Verdict {
        let Some(user) = self.user(certs, headers).await else {
            tracing::error!(
                err = "invalid bearer token or certificate",
                "Unable to authenticate the request"
            );
            return Verdict::Unauthorized;
        };
        if self.is_open(path) || user.groups.iter().any(|group| group == "system:masters") {
            return Verdict::Allowed;
        }
        let verb = method.to_ascii_lowercase();
        match self.may(&user, &verb, path).await {
            Ok((true, _)) => Verdict::Allowed,
            Ok((false, reason)) => {
                let reason = if reason.is_empty() { reason } else { format!(": {reason}") };
                let message = format!("forbidden: User {:?} cannot {verb} path {path:?}{reason}", user.name);
                Verdict::Forbidden { message }
            }
            Err(message) => Verdict::Failed { message },
        }
    }

    fn is_open(&self, path: &str) -> bool {
        self.options.open_paths.iter().any(|open| match open.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => path == open,
        })
    }

    /// `None` is somebody who shows what is not good.
    async fn user(&self, certs: &[CertificateDer<'static>], headers: &HeaderMap) -> Option<User> {
        let mut is_refused = false;
        if let Some((own, between)) = certs.split_first() {
            let authorities = &self.options.authorities;
            let words = [authorities.proxied(own, between, headers), authorities.client(own, between)];
            for word in words {
                match word {
                    Word::Is(user) => return Some(user.authenticated()),
                    Word::Refused => is_refused = true,
                    Word::Nothing => {}
                }
            }
        }
        let anonymous = || (!is_refused).then(User::anonymous);
        let authorization = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(token) = authorization.and_then(bearer_token) else { return anonymous() };
        // Without a reviewer a token says nothing.
        let Some(client) = self.options.reviews_tokens.clone() else { return anonymous() };
        if let Some(known) = cached(&self.users, token) {
            return known;
        }
        match review_token(client, token).await {
            Ok(user) => {
                let user = user.map(User::authenticated);
                keep(&self.users, token.to_owned(), user.clone());
                user
            }
            Err(error) => {
                tracing::error!(err = error, "Unable to review a token");
                None
            }
        }
    }

    async fn may(&self, user: &User, verb: &str, path: &str) -> Result<(bool, String), String> {
        let Some(client) = self.options.reviews_access.clone() else { return Ok((false, String::new())) };
        let key = format!("{user:?} {verb} {path}");
        if let Some(known) = cached(&self.verdicts, &key) {
            return Ok(known);
        }
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(user.name.clone()),
                uid: Some(user.uid.clone()).filter(|uid| !uid.is_empty()),
                groups: Some(user.groups.clone()),
                extra: Some(user.extra.clone()).filter(|extra| !extra.is_empty()),
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some(verb.to_owned()),
                }),
                resource_attributes: None,
            },
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(client);
        let params = PostParams::default();
        let answer = tokio::time::timeout(REVIEW_TIMEOUT, reviews.create(&params, &review));
        let answer = answer.await.map_err(|_| "the API server did not answer in time".to_owned())?;
        let status = answer.map_err(|error| words(&error))?.status.unwrap_or_default();
        let verdict = (status.allowed, status.reason.unwrap_or_default());
        keep(&self.verdicts, key, verdict.clone());
        Ok(verdict)
    }
}

fn bearer_token(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    let token = token.trim_start();
    let token = token.split(' ').next().unwrap_or_default();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The common name of a certificate.
pub(super) fn name_of(cert: &CertificateDer<'_>) -> Option<String> {
    let (_, cert) = X509Certificate::from_der(cert).ok()?;
    Some(cert.subject().iter_common_name().next()?.as_str().ok()?.to_owned())
}

/// Whose token it is; `None` is nobody.
async fn review_token(client: Client, token: &str) -> Result<Option<User>, String> {
    let reviews: Api<TokenReview> = Api::all(client);
    let spec = TokenReviewSpec { token: token.to_owned(), audiences: None };
    let review = TokenReview { spec, ..TokenReview::default() };
    let params = PostParams::default();
    let answer = tokio::time::timeout(REVIEW_TIMEOUT, reviews.create(&params, &review));
    let answer = answer.await.map_err(|_| "the API server did not answer in time".to_owned())?;
    let status = answer.map_err(|error| words(&error))?.status.unwrap_or_default();
    if status.authenticated != Some(true) {
        return Ok(None);
    }
    let user = status.user.unwrap_or_default();
    Ok(Some(User {
        name: user.username.unwrap_or_default(),
        uid: user.uid.unwrap_or_default(),
        groups: user.groups.unwrap_or_default(),
        extra: user.extra.unwrap_or_default(),
    }))
}

#[cfg(test)]
mod tests {
    use super::super::authorities::AuthorityOptions;
    use super::*;

    #[test]
    fn a_token_is_what_stands_behind_bearer() {
        assert_eq!(bearer_token("Bearer abc"), Some("abc"));
        assert_eq!(bearer_token("bearer abc def"), Some("abc"));
        assert_eq!(bearer_token("Basic abc"), None);
        assert_eq!(bearer_token("Bearer "), None);
        assert_eq!(bearer_token("Bearer"), None);
    }

    #[test]
    fn open_paths_are_meant_as_a_whole_or_up_to_a_star() {
        let authorities =
            Authorities::new(AuthorityOptions { client_ca: None, proxy_ca: None, looks_up: false });
        let Ok(authorities) = authorities else { unreachable!("nothing is read") };
        let options = GuardOptions {
            reviews_tokens: None,
            reviews_access: None,
            authorities: Arc::new(authorities),
            open_paths: vec!["/healthz".to_owned(), "/livez/*".to_owned()],
        };
        let guard = Guard::new(options);
        let opens = |path| guard.is_open(path);
        assert!(opens("/healthz") && opens("/livez/ping"));
        assert!(!opens("/healthz/ping") && !opens("/livez"));
    }
}
