//! The sandbox as a Kubernetes API: what `--serve-api` serves, on the loopback interface.
//!
//! Clients read a [`mirror::Mirror`], which the session fills whenever something has changed; what they write becomes an
//! operation of the session, so that it can be taken back. Events and Leases are kept in the mirror alone: they change
//! nothing in the sandbox. Paths, answers, watches and tables are those of kube-apiserver v1.36 for the resources of
//! [`crate::driver::sandbox::resources`]; there is no admission by webhooks, no field management, no API aggregation and
//! no custom resources.

mod answer;
mod body;
mod connect;
mod discovery;
mod events;
mod filter;
pub mod mirror;
mod own;
mod protobuf;
pub mod publish;
mod reading;
mod route;
pub mod server;
mod status;
mod table;
mod tables;
mod watch;
mod writing;
