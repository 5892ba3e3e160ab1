//! The values of string and bytes literals, after cel-go's `parser/unescape.go`.

const BROKEN: &str = "unable to unescape string";
const BROKEN_OCTAL: &str = "unable to unescape octal sequence in string";
const NOT_A_CHARACTER: &str = "invalid unicode code point";

/// The bytes that a literal with its quotes stands for; `bytes` tells whether escapes are bytes or characters.
pub(super) fn unescape(literal: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let text = literal.replace("\r\n", "\n").replace('\r', "\n");
    let (raw, quoted) = match text.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, text.as_str()),
    };
    let quote = quoted.chars().next().filter(|c| matches!(c, '"' | '\'')).ok_or(BROKEN)?;
    let triple = quote.to_string().repeat(3);
    let content = if quoted.len() >= 6 && quoted.starts_with(&triple) {
        quoted.get(3..).and_then(|rest| rest.strip_suffix(&triple)).ok_or(BROKEN)?
    } else {
        quoted.get(1..).and_then(|rest| rest.strip_suffix(quote)).ok_or(BROKEN)?
    };
    if raw {
        return Ok(content.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(content.len());
    let mut rest = content;
    while let Some(c) = rest.chars().next() {
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        if c == '\\' {
            rest = escape(rest, bytes, &mut out)?;
        } else {
            push(&mut out, c);
        }
    }
    Ok(out)
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Reads what follows a backslash; gives the rest.
fn escape<'a>(text: &'a str, bytes: bool, out: &mut Vec<u8>) -> Result<&'a str, &'static str> {
    let kind = text.chars().next().ok_or("unable to unescape string, found '\\' as last character")?;
    let rest = text.get(kind.len_utf8()..).unwrap_or_default();
    let simple = match kind {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' => b'\\',
        '\'' => b'\'',
        '"' => b'"',
        '`' => b'`',
        '?' => b'?',
        'x' | 'X' => return numeric(rest, 2, 16, bytes, BROKEN, out),
        'u' if !bytes => return numeric(rest, 4, 16, bytes, BROKEN, out),
        'U' if !bytes => return numeric(rest, 8, 16, bytes, BROKEN, out),
        '0'..='3' => return numeric(text, 3, 8, bytes, BROKEN_OCTAL, out),
        _ => return Err(BROKEN),
    };
    out.push(simple);
    Ok(rest)
}

fn numeric<'a>(
    text: &'a str,
    digits: usize,
    radix: u32,
    bytes: bool,
    broken: &'static str,
    out: &mut Vec<u8>,
) -> Result<&'a str, &'static str> {
    let (number, rest) = text.split_at_checked(digits).ok_or(broken)?;
    if !number.chars().all(|c| c.is_digit(radix)) {
        return Err(broken);
    }
    let value = u32::from_str_radix(number, radix).map_err(|_| broken)?;
    if bytes {
        out.push(u8::try_from(value).map_err(|_| broken)?);
    } else {
        push(out, char::from_u32(value).ok_or(NOT_A_CHARACTER)?);
    }
    Ok(rest)
}
