//! URLs, as Go's `net/url` reads those of requests.
//!
//! Covers what selectors ask for: scheme, host, port, path and query. User names are read and kept as they are.

use std::collections::BTreeMap;
use std::fmt;

use crate::config::go_quoted;

/// A URL that was read.
#[derive(Clone, Debug)]
pub(super) struct Url {
    pub(super) scheme: String,
    user: Option<String>,
    pub(super) host: String,
    pub(super) escaped_path: String,
    query: Option<String>,
    fragment: Option<String>,
    opaque: Option<String>,
}

impl Url {
    /// Reads an absolute URL or an absolute path.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        Self::read(text).map_err(|why| format!("parse {}: {why}", go_quoted(text)))
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.chars().any(|c| c < ' ' || c == '\u{7f}') {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() {
            return Err("empty url".to_owned());
        }
        let (before, fragment) = match text.split_once('#') {
            Some((before, fragment)) => (before, Some(fragment.to_owned())),
            None => (text, None),
        };
        let (scheme, rest) = split_scheme(before)?;
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query.to_owned())),
            None => (rest, None),
        };
        let mut url = Self {
            scheme: scheme.to_ascii_lowercase(),
            user: None,
            host: String::new(),
            escaped_path: String::new(),
            query,
            fragment,
            opaque: None,
        };
        if !rest.starts_with('/') {
            if scheme.is_empty() {
                return Err("invalid URI for request".to_owned());
            }
            url.opaque = Some(rest.to_owned());
            return Ok(url);
        }
        let mut path = rest;
        if let Some(after) = rest.strip_prefix("//")
            && (!scheme.is_empty() || !rest.starts_with("///"))
            && !scheme.is_empty()
        {
            let (authority, rest) = after.split_at(after.find('/').unwrap_or(after.len()));
            path = rest;
            let (user, host) = match authority.rsplit_once('@') {
                Some((user, host)) => (Some(user.to_owned()), host),
                None => (None, authority),
            };
            check_host(host)?;
            url.user = user;
            host.clone_into(&mut url.host);
        }
        url.escaped_path = escape_path(path)?;
        Ok(url)
    }

    /// The host without its port and brackets.
    pub(super) fn hostname(&self) -> String {
        let (host, _) = self.split_port();
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_owned()
    }

    /// The port; empty where there is none.
    pub(super) fn port(&self) -> String {
        self.split_port().1.to_owned()
    }

    fn split_port(&self) -> (&str, &str) {
        match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !host.ends_with(':') => {
                (host, port)
            }
            _ => (&self.host, ""),
        }
    }

    /// Values by key.
    pub(super) fn query(&self) -> BTreeMap<String, Vec<String>> {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for part in self.query.iter().flat_map(|query| query.split('&')) {
            if part.is_empty() || part.contains(';') {
                continue;
            }
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if let (Some(key), Some(value)) = (unescape(key), unescape(value)) {
                values.entry(key).or_default().push(value);
            }
        }
        values
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (i, c) in text.char_indices() {
        match c {
            'a'..='z' | 'A'..='Z' => {}
            '0'..='9' | '+' | '-' | '.' if i > 0 => {}
            ':' if i > 0 => {
                let (scheme, rest) = text.split_at(i);
                return Ok((scheme, rest.get(1..).unwrap_or_default()));
            }
            ':' => return Err("missing protocol scheme".to_owned()),
            _ => break,
        }
    }
    Ok(("", text))
}

fn check_host(host: &str) -> Result<(), String> {
    let port = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or("missing ']' in host")?.1,
        None => host.find(':').and_then(|at| host.get(at..)).unwrap_or_default(),
    };
    if let Some(digits) = port.strip_prefix(':')
        && !digits.bytes().all(|b| b.is_ascii_digit())
    {
        return Err(format!("invalid port {} after host", go_quoted(port)));
    }
    match host.chars().find(|c| matches!(c, ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}')) {
        Some(c) => Err(format!("invalid character {} in host name", go_quoted(&c.to_string()))),
        None => Ok(()),
    }
}

fn hex(text: &str) -> Option<u8> {
    let digits = text.get(1..3)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u8::from_str_radix(digits, 16).ok()).flatten()
}

/// The path with everything escaped that has to be.
fn escape_path(path: &str) -> Result<String, String> {
    let mut out = String::new();
    for (i, c) in path.char_indices() {
        let rest = path.get(i..).unwrap_or_default();
        match c {
            '%' if hex(rest).is_none() => {
                let shown: String = rest.chars().take(3).collect();
                return Err(format!("invalid URL escape {}", go_quoted(&shown)));
            }
            'a'..='z' | 'A'..='Z' | '0'..='9' => out.push(c),
            '-' | '_' | '.' | '~' | '$' | '&' | '+' | ',' | '/' | ':' | ';' | '=' | '@' | '%' => out.push(c),
            '!' | '\'' | '(' | ')' | '*' | '[' | ']' => out.push(c),
            c => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    out.push_str(&format!("%{byte:02X}"));
                }
            }
        }
    }
    Ok(out)
}

fn unescape(text: &str) -> Option<String> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '%' => {
                out.push(hex(rest)?);
                3
            }
            '+' => {
                out.push(b' ');
                1
            }
            c => {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                c.len_utf8()
            }
        };
        rest = rest.get(taken..)?;
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(f, "{}:", self.scheme)?;
        }
        if let Some(opaque) = &self.opaque {
            f.write_str(opaque)?;
        } else {
            if !self.scheme.is_empty() || !self.host.is_empty() {
                f.write_str("//")?;
            }
            if let Some(user) = &self.user {
                write!(f, "{user}@")?;
            }
            write!(f, "{}{}", self.host, self.escaped_path)?;
        }
        if let Some(query) = &self.query {
            write!(f, "?{query}")?;
        }
        if let Some(fragment) = self.fragment.as_ref().filter(|fragment| !fragment.is_empty()) {
            write!(f, "#{fragment}")?;
        }
        Ok(())
    }
}
