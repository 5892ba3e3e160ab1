//! Who else schedules the same pods, and as whom this program would write.
//!
//! A Lease says who holds it and for how long it is good, not which pods its holder schedules. What is known is a
//! convention: kube-scheduler's own lease is `kube-system/kube-scheduler`, and its default profile serves
//! `default-scheduler`; a second scheduler mostly takes the name that it serves for its lease. So these leases are
//! looked at, save the one that this program itself is elected by: there the election does what is needed, and whoever
//! comes second stands by. A scheduler that is not elected at all leaves no trace, and is not found.
//!
//! Clocks are not trusted: a lease that looks stale is looked at again after a while, and counts as held if it has
//! changed meanwhile.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::api::{Str, Time};

use super::connect::words;
use super::elect::{LeaseName, record_of};
use super::lease::LeaseRecord;

/// The name that kube-scheduler serves if nobody says otherwise.
const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// Where the leases of a cluster's own components are.
const SYSTEM: &str = "kube-system";
/// The lease of kube-scheduler.
const DEFAULT_LEASE: &str = "kube-scheduler";
/// A holder renews at least so often, by upstream's defaults (`retryPeriod` is 2 s).
const SECOND_LOOK: Duration = Duration::from_secs(3);

/// A lease that is held by somebody who, by all that is known, serves a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The schedulerName.
    pub serves: Str,
    /// The lease, as `namespace/name`.
    pub lease: String,
    /// Who holds it.
    pub holder: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is served already: {} holds the lease {}", self.serves, self.holder, self.lease)
    }
}

/// As whom this program acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    /// The user's name.
    pub name: String,
    /// Whether the API server says so; else it is the kubeconfig's name for the user.
    pub is_told_by_server: bool,
}

/// What was found out before anything is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// As whom this program acts, if the server tells.
    pub who: Option<String>,
    /// The leases that others hold.
    pub holders: Vec<Holder>,
    /// The leases that could not be looked at, with the server's words.
    pub unread: Vec<(String, String)>,
}

impl Survey {
    /// Why nothing is to be written, if somebody else serves the same pods.
    pub fn refusal(&self) -> Option<String> {
        let all: Vec<String> = self.holders.iter().map(ToString::to_string).collect();
        (!all.is_empty()).then(|| {
            format!(
                "{}. Two schedulers would bind the same pods: stop that one, or take its lease (leaderElection), or \
                 say --serve-anyway or :arm anyway",
                all.join("; ")
            )
        })
    }
}

/// Looks at who serves these names and as whom this program acts. `own` is the lease that this program is elected by.
pub async fn survey(client: &Client, names: &[Str], own: Option<&LeaseName>) -> Survey {
    let mut survey = Survey { who: who_am_i(client).await, holders: Vec::new(), unread: Vec::new() };
    let mut stale = Vec::new();
    for (lease, serves) in candidates(names, own) {
        match read(client, &lease).await {
            Ok(None) => {}
            Ok(Some(record)) if record.holder.is_empty() => {}
            Ok(Some(record)) if is_fresh(&record, super::session::now()) => {
                survey.holders.push(holder(&lease, serves, record));
            }
            Ok(Some(record)) => stale.push((lease, serves, record)),
            Err(error) => survey.unread.push((text_of(&lease), error)),
        }
    }
    if stale.is_empty() {
        return survey;
    }
    sleep(SECOND_LOOK).await;
    for (lease, serves, first) in stale {
        match read(client, &lease).await {
            Ok(Some(record)) if record != first && !record.holder.is_empty() => {
                survey.holders.push(holder(&lease, serves, record));
            }
            _ => {}
        }
    }
    survey
}

fn holder(lease: &LeaseName, serves: Str, record: LeaseRecord) -> Holder {
    Holder { serves, lease: text_of(lease), holder: record.holder }
}

fn text_of(lease: &LeaseName) -> String {
    format!("{}/{}", lease.namespace, lease.name)
}

/// The leases whose holders serve one of the names, by convention.
fn candidates(names: &[Str], own: Option<&LeaseName>) -> Vec<(LeaseName, Str)> {
    let lease =
        |namespace: &str, name: &str| LeaseName { namespace: namespace.to_owned(), name: name.to_owned() };
    let mut all: Vec<(LeaseName, Str)> = Vec::new();
    for name in names {
        let mut leases = vec![lease(SYSTEM, name)];
        if &**name == DEFAULT_SCHEDULER {
            leases.insert(0, lease(SYSTEM, DEFAULT_LEASE));
        }
        leases.extend(own.map(|own| lease(&own.namespace, name)));
        for lease in leases {
            if Some(&lease) != own && !all.iter().any(|(known, _)| *known == lease) {
                all.push((lease, name.clone()));
            }
        }
    }
    all
}

/// Whether a lease is good by this machine's clock.
fn is_fresh(record: &LeaseRecord, now: Time) -> bool {
    let duration = Duration::from_secs(u64::try_from(record.duration_secs).unwrap_or_default());
    record.renewed.is_some_and(|renewed| renewed + duration > now)
}

async fn read(client: &Client, lease: &LeaseName) -> Result<Option<LeaseRecord>, String> {
    let api: Api<Lease> = Api::namespaced(client.clone(), &lease.namespace);
    let found = api.get_opt(&lease.name).await.map_err(|error| words(&error))?;
    Ok(found.as_ref().map(record_of))
}

/// The name under which the server knows this program (a `SelfSubjectReview`, which every user may make and which
/// changes nothing).
async fn who_am_i(client: &Client) -> Option<String> {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = http::Request::builder()
        .method("POST")
        .uri("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("Content-Type", "application/json")
        .body(serde_json::to_vec(&body).ok()?)
        .ok()?;
    let answer = client.request::<Value>(request).await.ok()?;
    answer.pointer("/status/userInfo/username")?.as_str().map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(namespace: &str, name: &str) -> LeaseName {
        LeaseName { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    fn texts(names: &[&str], own: Option<&LeaseName>) -> Vec<String> {
        let names: Vec<Str> = names.iter().map(|name| Str::from(*name)).collect();
        candidates(&names, own).iter().map(|(lease, serves)| format!("{}:{serves}", text_of(lease))).collect()
    }

    #[test]
    fn the_default_scheduler_is_served_by_the_holder_of_the_default_lease() {
        assert_eq!(
            texts(&["default-scheduler"], None),
            [
                "kube-system/kube-scheduler:default-scheduler",
                "kube-system/default-scheduler:default-scheduler"
            ]
        );
    }

    #[test]
    fn another_name_is_served_by_the_holder_of_a_lease_of_that_name() {
        let own = name("team", "lease");
        assert_eq!(texts(&["mine"], Some(&own)), ["kube-system/mine:mine", "team/mine:mine"]);
    }

    #[test]
    fn the_own_lease_is_left_to_the_election() {
        let own = name("kube-system", "kube-scheduler");
        assert_eq!(
            texts(&["default-scheduler"], Some(&own)),
            ["kube-system/default-scheduler:default-scheduler"]
        );
    }

    #[test]
    fn a_lease_is_fresh_for_as_long_as_it_says() {
        let record = LeaseRecord {
            holder: "a".to_owned(),
            duration_secs: 15,
            renewed: Some(Time::from_secs(100)),
            ..LeaseRecord::default()
        };
        assert!(is_fresh(&record, Time::from_secs(114)));
        assert!(!is_fresh(&record, Time::from_secs(115)));
    }

    #[test]
    fn the_refusal_names_holder_and_lease() {
        let holder = Holder {
            serves: "default-scheduler".into(),
            lease: "kube-system/kube-scheduler".to_owned(),
            holder: "cp-1_9f".to_owned(),
        };
        let survey = Survey { who: None, holders: vec![holder], unread: Vec::new() };
        let text = survey.refusal().unwrap_or_default();
        assert!(text.starts_with(
            "default-scheduler is served already: cp-1_9f holds the lease kube-system/kube-scheduler."
        ));
        assert!(text.contains("--serve-anyway"));
        assert_eq!(Survey { holders: Vec::new(), ..survey }.refusal(), None);
    }
}
