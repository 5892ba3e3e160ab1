//! A stable 64-bit digest (FNV-1a) of the scheduler's state.
//!
//! `std::hash` makes no promise about its output across versions, so recordings use this one. Everything that
//! goes in is length-prefixed or of fixed size, so that neighbouring fields cannot run into each other.

/// Collects bytes into a digest.
#[derive(Clone, Copy, Debug)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// An empty digest.
    pub fn new() -> Self {
        Self::default()
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Adds a number.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_le_bytes());
        self
    }

    /// Adds a signed number.
    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.bytes(&value.to_le_bytes());
        self
    }

    /// Adds a length or an index.
    pub fn len(&mut self, value: usize) -> &mut Self {
        self.u64(value as u64)
    }

    /// Adds a truth value.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.bytes(&[u8::from(value)]);
        self
    }

    /// Adds a text with its length.
    pub fn str(&mut self, text: &str) -> &mut Self {
        self.len(text.len());
        self.bytes(text.as_bytes());
        self
    }

    /// The digest of all that was added.
    pub const fn finish(&self) -> u64 {
        self.0
    }
}

/// What can be added to a [`Digest`].
pub trait Digestible {
    /// Adds the whole value, in an order that depends on the value alone.
    fn digest(&self, digest: &mut Digest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_texts_do_not_run_into_each_other() {
        let one = Digest::new().str("ab").str("c").finish();
        let two = Digest::new().str("a").str("bc").finish();
        assert_ne!(one, two);
    }

    #[test]
    fn value_is_fnv1a() {
        let mut digest = Digest::new();
        digest.bytes(b"foobar");
        assert_eq!(digest.finish(), 0x8594_4171_f739_67e8);
    }
}
