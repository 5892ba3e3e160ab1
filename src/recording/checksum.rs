//! The chain of checksums that runs through a recording, and the search for the bit that broke it.
//!
//! Each line ends with the CRC-32 of its text, begun with the checksum of the line before. So a line that was
//! changed, moved, left out or put in is found; and since a CRC is linear, the one flipped bit that explains a wrong
//! checksum can be worked out.

use crc32fast::Hasher;

/// What stands between the text of a line and its checksum.
const LEAD: &[u8] = br#","crc":""#;
/// What stands behind it.
const TRAIL: &[u8] = br#""}"#;
/// Digits of a checksum.
const DIGITS: usize = 8;
/// Bytes of a line that are not its text.
const SEAL: usize = LEAD.len() + DIGITS + TRAIL.len();

/// The checksum so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chain(u32);

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Break {
    /// One flipped bit in this byte of the line explains it. The byte behind the last one is the line feed.
    Flipped(usize),
    /// More than one bit is wrong, or lines are missing before it.
    Unknown,
}

impl Chain {
    /// Adds a text to the chain.
    fn extend(self, text: &[u8]) -> Self {
        let mut hasher = Hasher::new_with_initial(self.0);
        hasher.update(text);
        Self(hasher.finalize())
    }

    /// Ends a line: `line` is a JSON object without its closing brace. The line feed is added, too.
    pub(super) fn seal(&mut self, line: &mut Vec<u8>) {
        *self = self.extend(line);
        line.extend_from_slice(LEAD);
        line.extend_from_slice(&self.digits());
        line.extend_from_slice(TRAIL);
        line.push(b'\n');
    }

    fn digits(self) -> [u8; DIGITS] {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [b'0'; DIGITS];
        for (i, digit) in digits.iter_mut().enumerate() {
            let nibble = (self.0 >> (28 - 4 * i)) & 0xf;
            *digit = HEX.get(nibble as usize).copied().unwrap_or(b'0');
        }
        digits
    }

    /// Checks a line without its line feed. The answer is the chain behind it.
    pub(super) fn check(self, line: &[u8]) -> Result<Self, Break> {
        let next = split(line).map(|(text, seal)| (self.extend(text), seal));
        match next {
            Some((next, seal)) if seal == next.seal_bytes() => Ok(next),
            _ => Err(self.locate(line)),
        }
    }

    fn seal_bytes(self) -> [u8; SEAL] {
        let mut seal = [0; SEAL];
        let parts = LEAD.iter().chain(&self.digits()).chain(TRAIL).copied().collect::<Vec<u8>>();
        seal.copy_from_slice(parts.get(..SEAL).unwrap_or(&[0; SEAL]));
        seal
    }

    /// Looks for the one flipped bit that explains why a line does not check.
    fn locate(self, line: &[u8]) -> Break {
        if let Some(at) = self.flipped_line_feed(line) {
            return Break::Flipped(at);
        }
        let Some((text, seal)) = split(line) else { return Break::Flipped(line.len()) };
        let next = self.extend(text);
        let expected = next.seal_bytes();
        let wrong: Vec<(usize, u32)> = seal
            .iter()
            .zip(expected)
            .enumerate()
            .filter(|(_, (is, should))| **is != *should)
            .map(|(i, (is, should))| (i, (is ^ should).count_ones()))
            .collect();
        if let [(at, 1)] = wrong.as_slice() {
            return Break::Flipped(text.len() + at);
        }
        if let Some(checksum) = checksum_of(seal) {
            return flipped_byte(text, next.0 ^ checksum).map_or(Break::Unknown, Break::Flipped);
        }
        // The end of the line is not where its checksum is: a bit of a character made it a line feed.
        let could_be_line_feed = !seal.ends_with(TRAIL);
        if could_be_line_feed { Break::Flipped(line.len()) } else { Break::Unknown }
    }

    /// Whether a line that checks is followed by more: then its line feed is no longer one.
    fn flipped_line_feed(self, line: &[u8]) -> Option<usize> {
        let mut from = 0;
        loop {
            let rest = line.get(from..)?;
            let at = from + rest.windows(LEAD.len()).position(|window| window == LEAD)?;
            let end = at + SEAL;
            let text = line.get(..at)?;
            if line.get(at..end)? == self.extend(text).seal_bytes()
                && line.get(end).is_some_and(|byte| (byte ^ b'\n').count_ones() == 1)
            {
                return Some(end);
            }
            from = at + 1;
        }
    }
}

/// The text of a line and its seal.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    line.split_at_checked(line.len().checked_sub(SEAL)?)
}

/// The checksum of a seal that is a seal.
fn checksum_of(seal: &[u8]) -> Option<u32> {
    let digits = seal.strip_prefix(LEAD)?.strip_suffix(TRAIL)?;
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let text = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(is_digit))?;
    u32::from_str_radix(text, 16).ok()
}

/// The byte of `text` in which one flipped bit changes the checksum by `difference`.
pub(super) fn flipped_byte(text: &[u8], difference: u32) -> Option<usize> {
    // What each bit of the last byte changes; a step back through the text is one more byte behind it.
    let mut changes: [u32; 8] = std::array::from_fn(|bit| advance(1 << bit));
    for at in (0..text.len()).rev() {
        if changes.contains(&difference) {
            return Some(at);
        }
        for change in &mut changes {
            *change = advance(*change);
        }
    }
    None
}

/// One byte of zeros goes through the register of the CRC (reflected polynomial of IEEE 802.3).
const fn advance(register: u32) -> u32 {
    let mut register = register;
    let mut bit = 0;
    while bit < 8 {
        register = if register & 1 == 1 { (register >> 1) ^ 0xedb8_8320 } else { register >> 1 };
        bit += 1;
    }
    register
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(chain: &mut Chain, text: &str) -> Vec<u8> {
        let mut line = text.as_bytes().to_vec();
        chain.seal(&mut line);
        line.pop();
        line
    }

    #[test]
    fn a_line_ends_with_the_checksum_of_itself_and_all_before() {
        let mut chain = Chain::default();
        let first = sealed(&mut chain, "{\"a\":1");
        assert_eq!(first, format!("{{\"a\":1,\"crc\":\"{:08x}\"}}", crc32fast::hash(b"{\"a\":1")).as_bytes());
        let second = sealed(&mut chain, "{\"a\":1");
        assert_ne!(first, second);
        let behind = Chain::default().check(&first).and_then(|behind| behind.check(&second));
        assert_eq!(behind, Ok(chain));
        assert_eq!(Chain::default().check(&second), Err(Break::Unknown), "a line is missing");
    }

    #[test]
    fn every_flipped_bit_is_found_where_it_is() {
        let before = Chain(0x1234_5678);
        let line =
            sealed(&mut before.clone(), "{\"t\":\"1.000000001\",\"in\":\"deleted\",\"name\":\"some-pod\"");
        for at in 0..line.len() {
            for bit in 0..8 {
                let mut damaged = line.clone();
                damaged[at] ^= 1 << bit;
                if damaged[at] == b'\n' {
                    // The reader sees what is before it as a line.
                    damaged.truncate(at);
                }
                let found = before.check(&damaged);
                assert_eq!(found, Err(Break::Flipped(at)), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn a_line_feed_that_is_none_any_more_is_found() {
        let before = Chain::default();
        let mut chain = before;
        let mut line = sealed(&mut chain, "{\"a\":1");
        let end = line.len();
        line.push(b'\n' ^ 4);
        assert_eq!(before.check(&line), Err(Break::Flipped(end)));
        line.extend(sealed(&mut chain, "{\"b\":2"));
        assert_eq!(before.check(&line), Err(Break::Flipped(end)));
    }
}
