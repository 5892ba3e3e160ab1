//! What a scheduler that serves shows over HTTPS: health, metrics, its configuration.
//!
//! Follows `cmd/kube-scheduler/app/server.go`. Profiles of the program (`/debug/pprof`) and pages that are no stable
//! interface (`/flagz`, `/statusz`) are not there.

pub mod auth;
pub mod authorities;
pub mod certs;
pub mod health;
pub mod http;
pub mod reload;
