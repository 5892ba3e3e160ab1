//! Scenarios that come with the program.

/// A scenario with its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundled {
    /// The name.
    pub name: &'static str,
    /// What it is about, in a sentence.
    pub about: &'static str,
    /// The file, TOML.
    pub text: &'static str,
}

/// All of them.
pub const BUNDLED: [Bundled; 5] = [
    Bundled {
        name: "rush-hour",
        about: "a day of web traffic: replicas come and go by the hour, and the evening has the most",
        text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/scenarios/rush-hour.toml")),
    },
    Bundled {
        name: "zone-outage",
        about: "one of three zones goes away, and what ran there looks for room in the others",
        text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/scenarios/zone-outage.toml")),
    },
    Bundled {
        name: "node-upgrade",
        about: "nodes are drained one after the other, and come back",
        text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/scenarios/node-upgrade.toml")),
    },
    Bundled {
        name: "noisy-batch",
        about: "bursts of batch work fill the cluster beside a web service, which is more important",
        text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/scenarios/noisy-batch.toml")),
    },
    Bundled {
        name: "gang-training",
        about: "training jobs come at random, and each needs all of its workers at once",
        text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/scenarios/gang-training.toml")),
    },
];

/// The scenario of that name.
pub fn find(name: &str) -> Option<&'static Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name)
}
