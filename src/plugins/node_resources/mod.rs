//! The plugins that count resources: NodeResourcesFit and NodeResourcesBalancedAllocation.

mod balanced_allocation;
mod fit;
mod fit_hints;
mod fit_placement;
mod resource_allocation;
mod strategies;

pub use balanced_allocation::BalancedAllocation;
pub use fit::Fit;
