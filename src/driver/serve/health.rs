//! `/healthz`, `/livez` and `/readyz`, with the checks and the texts of `k8s.io/apiserver/pkg/server/healthz`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::driver::live::lease::Watchdog;
use crate::driver::live::session::now;
use crate::driver::metrics::families::Metric;
use crate::driver::metrics::registry::Registry;

/// How the process stands.
#[derive(Debug, Default)]
pub struct Standing {
    /// Whether every kind has been listed.
    pub has_synced: AtomicBool,
    /// Whether it is about to end.
    pub is_ending: AtomicBool,
    /// Whether the lease was lost.
    pub has_lost_lease: AtomicBool,
    /// Whether a leader renews its lease.
    pub watchdog: Arc<Watchdog>,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Ping,
    LeaderElection,
    Shutdown,
    HandlerSync,
}

impl Check {
    const fn name(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::LeaderElection => "leaderElection",
            Self::Shutdown => "shutdown",
            Self::HandlerSync => "sched-handler-sync",
        }
    }

    fn ask(self, standing: &Standing) -> Result<(), &'static str> {
        let is = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        match self {
            Self::LeaderElection if is(&standing.has_lost_lease) || !standing.watchdog.is_well(now()) => {
                Err("failed election to renew leadership on lease kube-scheduler")
            }
            Self::Shutdown if is(&standing.is_ending) => Err("process is shutting down"),
            Self::HandlerSync if !is(&standing.has_synced) => Err("handlers are not fully synchronized"),
            _ => Ok(()),
        }
    }
}

/// The three endpoints.
#[derive(Clone, Debug)]
pub struct Health {
    standing: Arc<Standing>,
    registry: Arc<Registry>,
    is_elected: bool,
}

/// An answer: the status and the text.
pub type Answer = (u16, String);

impl Health {
    /// The endpoints of a process that takes part in an election, or does not.
    pub fn new(standing: Arc<Standing>, registry: Arc<Registry>, is_elected: bool) -> Self {
        Self { standing, registry, is_elected }
    }

    fn checks(&self, endpoint: &str) -> Vec<Check> {
        let elected = self.is_elected.then_some(Check::LeaderElection);
        match endpoint {
            "livez" => vec![Check::Ping],
            "readyz" => elected.into_iter().chain([Check::Shutdown, Check::HandlerSync]).collect(),
            // What has no check of its own answers to a ping.
            _ => vec![elected.unwrap_or(Check::Ping)],
        }
    }

    fn ask(&self, endpoint: &str, check: Check) -> Result<(), &'static str> {
        let result = check.ask(&self.standing);
        let (status, is_good) = if result.is_ok() { ("success", 1.0) } else { ("error", 0.0) };
        self.registry.set(Metric::KubernetesHealthcheck, &[check.name(), endpoint], is_good);
        self.registry.add(Metric::KubernetesHealthchecksTotal, &[check.name(), status, endpoint], 1.0);
        result
    }

    /// What a path says; `None` if it is none of these.
    pub fn answer(&self, path: &str, query: &str) -> Option<Answer> {
        let path = path.strip_prefix('/')?;
        let (endpoint, check) = match path.split_once('/') {
            Some((endpoint, check)) => (endpoint, Some(check)),
            None => (path, None),
        };
        if !["healthz", "livez", "readyz"].contains(&endpoint) {
            return None;
        }
        let checks = self.checks(endpoint);
        let Some(name) = check.filter(|name| !name.is_empty()) else {
            return Some(self.all(endpoint, &checks, query));
        };
        let check = checks.into_iter().find(|check| check.name() == name)?;
        Some(match self.ask(endpoint, check) {
            Ok(()) => (200, "ok".to_owned()),
            Err(why) => (500, format!("internal server error: {why}\n")),
        })
    }

    fn all(&self, endpoint: &str, checks: &[Check], query: &str) -> Answer {
        let parameters = || query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let is_verbose = parameters().any(|(name, _)| name == "verbose");
        let mut excluded: Vec<&str> =
            parameters().filter(|(name, _)| *name == "exclude").map(|(_, value)| value).collect();
        let mut text = String::new();
        let mut failed = Vec::new();
        for check in checks {
            let name = check.name();
            if excluded.contains(&name) {
                excluded.retain(|excluded| *excluded != name);
                text.push_str(&format!("[+]{name} excluded: ok\n"));
                continue;
            }
            match self.ask(endpoint, *check) {
                Ok(()) => text.push_str(&format!("[+]{name} ok\n")),
                Err(_) => {
                    failed.push(name);
                    // Why is for the log alone.
                    text.push_str(&format!("[-]{name} failed: reason withheld\n"));
                }
            }
        }
        if !excluded.is_empty() {
            let names: Vec<String> = excluded.iter().map(|name| format!("{name:?}")).collect();
            let names = names.join(",");
            text.push_str(&format!("warn: some health checks cannot be excluded: no matches for {names}\n"));
        }
        if !failed.is_empty() {
            tracing::info!(v = 2, checks = failed.join(","), "{endpoint} check failed");
            return (500, format!("{text}{endpoint} check failed\n"));
        }
        if is_verbose { (200, format!("{text}{endpoint} check passed\n")) } else { (200, "ok".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::live::lease::{Election, ElectionOptions, LeaseRecord};
    use std::time::Duration;

    fn health(is_elected: bool) -> (Arc<Standing>, Health) {
        let standing = Arc::new(Standing::default());
        let health = Health::new(Arc::clone(&standing), Arc::new(Registry::default()), is_elected);
        (standing, health)
    }

    fn ok(text: &str) -> Option<Answer> {
        Some((200, text.to_owned()))
    }

    // The texts are what kube-scheduler v1.36.3 answered.
    #[test]
    fn every_endpoint_has_its_checks() {
        let (standing, health) = health(true);
        standing.has_synced.store(true, Ordering::Relaxed);
        for endpoint in ["/healthz", "/livez", "/readyz"] {
            assert_eq!(health.answer(endpoint, ""), ok("ok"));
        }
        let verbose = |endpoint: &str| health.answer(endpoint, "verbose");
        assert_eq!(verbose("/healthz"), ok("[+]leaderElection ok\nhealthz check passed\n"));
        assert_eq!(verbose("/livez"), ok("[+]ping ok\nlivez check passed\n"));
        let ready = "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n";
        assert_eq!(verbose("/readyz"), ok(ready));
        assert_eq!(health.answer("/livez/ping", ""), ok("ok"));
        assert_eq!(health.answer("/readyz/sched-handler-sync", ""), ok("ok"));
        assert_eq!(health.answer("/readyz/ping", ""), None);
        assert_eq!(health.answer("/nothing", ""), None);
        let excluded = "[+]leaderElection ok\n[+]shutdown excluded: ok\n[+]sched-handler-sync ok\n\
                        warn: some health checks cannot be excluded: no matches for \"foo\"\n\
                        readyz check passed\n";
        assert_eq!(health.answer("/readyz", "verbose&exclude=shutdown&exclude=foo"), ok(excluded));
    }

    #[test]
    fn what_is_not_good_is_named_without_a_reason() {
        let (standing, health) = health(false);
        let text = "[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n";
        assert_eq!(health.answer("/readyz", ""), Some((500, text.to_owned())));
        let text = "internal server error: handlers are not fully synchronized\n";
        assert_eq!(health.answer("/readyz/sched-handler-sync", ""), Some((500, text.to_owned())));
        assert_eq!(health.answer("/livez", ""), ok("ok"));
        standing.is_ending.store(true, Ordering::Relaxed);
        assert_eq!(health.answer("/readyz/shutdown", "").map(|(status, _)| status), Some(500));
    }

    #[test]
    fn a_leader_that_does_not_renew_its_lease_fails() {
        let (standing, health) = health(true);
        let options = ElectionOptions {
            identity: "a".to_owned(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        };
        let mut election = Election::new(options);
        let record = |holder: &str| LeaseRecord { holder: holder.to_owned(), ..LeaseRecord::default() };
        let long_ago = crate::api::Time::from_nanos(now().as_nanos() - 36_000_000_000);
        election.written(record("a"), long_ago);
        standing.watchdog.saw(&election);
        let text = "internal server error: failed election to renew leadership on lease kube-scheduler\n";
        assert_eq!(health.answer("/healthz/leaderElection", ""), Some((500, text.to_owned())));
        let withheld = "[-]leaderElection failed: reason withheld\nhealthz check failed\n";
        assert_eq!(health.answer("/healthz", ""), Some((500, withheld.to_owned())));
        assert_eq!(health.answer("/livez", ""), ok("ok"));
        election.written(record("a"), now());
        standing.watchdog.saw(&election);
        assert_eq!(health.answer("/healthz", ""), ok("ok"));
        election.written(record("b"), long_ago);
        standing.watchdog.saw(&election);
        assert_eq!(health.answer("/healthz", ""), ok("ok"));
    }
}
