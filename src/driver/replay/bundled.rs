//! The recordings that come with the program.

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

/// All of them, by name.
pub const BUNDLED: &[Bundled] = &[];

/// The recording of that name.
pub fn find(name: &str) -> Option<&'static Bundled> {
    BUNDLED.iter().find(|bundled| bundled.name == name)
}
