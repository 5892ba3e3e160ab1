//! The recordings that come with the program: short stories for whoever learns or teaches, with notes at their markers.
//!
//! They are made by the tests, which also see to it that they replay as they were (`tests/recordings/bundled.rs`).

/// A recording that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
    /// The file.
    pub bytes: &'static [u8],
}

macro_rules! bundled {
    ($name:literal, $about:literal) => {
        Bundled {
            name: $name,
            about: $about,
            bytes: include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/recordings/", $name, ".rec.zst")),
        }
    };
}

/// All of them, by name.
pub const BUNDLED: &[Bundled] = &[
    bundled!("backoff-storm", "pods without a node that are tried again and again, in bursts"),
    bundled!("flush-only", "a pod that would fit and is woken by nothing but the flush"),
    bundled!("gang-permit", "a gang that waits at Permit until it is complete, and one that never is"),
    bundled!("preemption-pdb", "who has to go when budgets protect some of the pods"),
    bundled!("spread-volumes", "a pod between its disk's zone and the rule to spread over zones"),
];

/// The recording of that name.
pub fn find(name: &str) -> Option<&'static Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name)
}
