//! A live session made by hand: a forbidden kind, a comparison, an open prediction, a bind that waits for a person.

use std::sync::Arc;

use schedscope::api::{Duration, Kind, NamespacedName, Str, Time};
use schedscope::driver::live::connect::Target;
use schedscope::driver::live::engine::Mode;
use schedscope::driver::live::informers::InformerState;
use schedscope::driver::live::observer::{Agreement, Comparison, Decision};
use schedscope::driver::live::others::Who;
use schedscope::driver::live::session::Leadership;
use schedscope::driver::live::steering::SteeringView;
use schedscope::driver::live::view::{ConfirmRow, InformerRow, LiveView};
use schedscope::driver::session::SessionView;
use schedscope::scheduler::effect::EffectId;

/// A live session that observes, or that writes and asks before each bind. Names have `suffix` at their end.
pub fn live(is_armed: bool, suffix: &str) -> LiveView {
    let name = |name: &str| Str::from(format!("{name}{suffix}").as_str());
    let pod = |pod: &str| NamespacedName::new("shop", name(pod));
    let steering = SteeringView {
        leadership: if is_armed { Leadership::Unguarded } else { Leadership::None },
        lease: None,
        who: Who { name: name("ann").to_string(), is_told_by_server: true },
        survey: None,
        deeds: Vec::new(),
        n_deeds: 0,
        n_bound: 3,
        audit: None,
    };
    let row = |kind, state, n_objects| InformerRow {
        kind,
        state,
        n_objects,
        n_unreadable: 0,
        unreadable: Vec::new(),
        last_report: Some(Time::from_secs(3)),
        n_lists: 1,
        n_changes: 40,
    };
    let forbidden = InformerState::Forbidden { message: format!("csinodes is forbidden{suffix}") };
    LiveView {
        target: Target {
            context: name("prod").to_string(),
            is_of_kubeconfig: true,
            user: name("ann").to_string(),
            server: "https://api.example.com:6443/".to_owned(),
            is_insecure: false,
        },
        profiles: vec!["ours".into()],
        mode: if is_armed { Mode::Operate } else { Mode::Observe },
        is_confirming: is_armed,
        to_confirm: vec![ConfirmRow {
            id: EffectId(7),
            pod: pod("asks"),
            node: name("node-1"),
            age: Duration::from_secs(4),
        }],
        informers: vec![row(Kind::CSINode, forbidden, 0), row(Kind::Pod, InformerState::Listing, 12)],
        has_started: true,
        comparisons: Arc::new(vec![Comparison {
            number: 1,
            at: Time::ZERO,
            pod: pod("a"),
            ours: Some(Decision::Node(name("node-1"))),
            theirs: Decision::Node(name("node-2")),
            agreement: Agreement::Different,
            why: format!("node-1 leads node-2 by 3: ImageLocality +3{suffix}").as_str().into(),
        }]),
        counts: vec![(Agreement::Different, 1)],
        rate: Some(0.0),
        open: vec![(pod("b"), Decision::Node(name("node-3")), Duration::from_secs(61))],
        n_withheld: 2,
        operated: Vec::new(),
        steering: Arc::new(steering),
    }
}

/// A session on it.
pub fn on_live(view: SessionView, is_armed: bool, suffix: &str) -> SessionView {
    SessionView { live: Some(Arc::new(live(is_armed, suffix))), ..view }
}
