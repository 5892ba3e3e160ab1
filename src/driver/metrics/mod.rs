//! Metrics of a scheduler that serves, under the names that kube-scheduler gives them.
//!
//! [`meter`] is told by the scheduler what it does and measures it; [`scrape`] adds what is only looked at when somebody
//! asks. What kube-scheduler has and this one does not stands in `docs/metrics.md`, with the reason.

pub mod families;
pub mod meter;
pub mod registry;
pub mod scrape;
pub mod work_queue;
