//! DefaultBinder: a pod is bound by a `Binding` to the API server.
//!
//! Follows `plugins/defaultbinder/default_binder.go`. The call itself is an effect of the core.

use super::names;
use crate::api::Str;
use crate::framework::{BindAction, BindPlugin, CycleState, Handle, Plugin, PodInfo};

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultBinder;

impl Plugin for DefaultBinder {
    fn name(&self) -> &'static str {
        names::DEFAULT_BINDER
    }
    fn as_bind(&self) -> Option<&dyn BindPlugin> {
        Some(self)
    }
}

impl BindPlugin for DefaultBinder {
    fn bind(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) -> BindAction {
        BindAction::PostBinding
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::testing::TestWorld;
    use crate::plugins::fixtures::pod_info;

    #[test]
    fn every_pod_is_bound_through_the_api() {
        let world = TestWorld::default();
        let action =
            DefaultBinder.bind(&world.handle(), &mut CycleState::new(), &pod_info("{}"), &Str::from("n"));
        assert_eq!(action, BindAction::PostBinding);
    }
}
