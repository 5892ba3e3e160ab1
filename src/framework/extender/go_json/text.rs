//! JSON strings as Go reads them, and how Go compares the keys of objects.

/// The text of a string that is known to be well formed, with its quotation marks. Half a surrogate pair becomes
/// U+FFFD.
pub(super) fn unquote(item: &str) -> String {
    let inner = item.get(1..item.len().saturating_sub(1)).unwrap_or_default();
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(position) = rest.find('\\') {
        text.push_str(rest.get(..position).unwrap_or_default());
        let escape = rest.get(position..).unwrap_or_default();
        let (character, length) = unescape(escape);
        text.push(character);
        rest = escape.get(length..).unwrap_or_default();
    }
    text.push_str(rest);
    text
}

/// The character that an escape stands for, and the length of the escape.
fn unescape(escape: &str) -> (char, usize) {
    let character = match escape.as_bytes().get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => {
            let Some(high) = code_unit(escape) else { return (char::REPLACEMENT_CHARACTER, 6) };
            if let Some(character) = char::from_u32(high) {
                return (character, 6);
            }
            let low = code_unit(escape.get(6..).unwrap_or_default());
            return match (high, low) {
                (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
                    let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
                }
                _ => (char::REPLACEMENT_CHARACTER, 6),
            };
        }
        Some(other) => char::from(*other),
        None => return (char::REPLACEMENT_CHARACTER, 1),
    };
    (character, 2)
}

/// The number of `\u1234`.
fn code_unit(escape: &str) -> Option<u32> {
    u32::from_str_radix(escape.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

/// Whether a key is the name of a field, in whichever case. The two characters beyond ASCII whose other case is in
/// ASCII count too.
pub(super) fn is_name(key: &str, name: &str) -> bool {
    let folded = key.chars().map(|character| match character {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        _ => character.to_ascii_lowercase(),
    });
    folded.eq(name.chars().map(|character| character.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        assert_eq!(unquote(r#""a\n\"\\\/\u0041\ud83d\ude00""#), "a\n\"\\/A\u{1f600}");
    }

    #[test]
    fn half_a_pair_is_replaced() {
        assert_eq!(unquote(r#""\ud83dx\ude00\ud83d\ud83d\ude00""#), "\u{fffd}x\u{fffd}\u{fffd}\u{1f600}");
    }

    #[test]
    fn keys_are_compared_without_case() {
        assert!(is_name("nodenames", "NodeNames"));
        assert!(is_name("NODENAME\u{17f}", "NodeNames"));
        assert!(is_name("\u{212a}ey", "key"));
        assert!(!is_name("nodename", "NodeNames"));
    }
}
