//! Addresses, networks and URLs.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use super::super::map::{Entries, Map};
use super::super::url::Url;
use super::super::value::{Fault, Outcome, Value};
use super::Native;
use crate::config::go_quoted;

pub(super) fn native(overload: &str) -> Option<Native> {
    Some(match overload {
        "string_to_ip" => |args| text(args, |text| address(text).map(Value::Ip).map_err(Fault::new)),
        "is_ip" => |args| text(args, |text| Ok(Value::Bool(address(text).is_ok()))),
        "ip_is_canonical" => |args| {
            text(args, |text| {
                let ip = address(text).map_err(Fault::new)?;
                Ok(Value::Bool(ip.to_string() == text))
            })
        },
        "ip_family" => |args| ip(args, |ip| Value::Int(if ip.is_ipv4() { 4 } else { 6 })),
        "ip_is_unspecified" => |args| ip(args, |ip| Value::Bool(ip.is_unspecified())),
        "ip_is_loopback" => |args| ip(args, |ip| Value::Bool(ip.is_loopback())),
        "ip_is_link_local_multicast" => |args| ip(args, |ip| Value::Bool(is_link_local_multicast(ip))),
        "ip_is_link_local_unicast" => |args| ip(args, |ip| Value::Bool(is_link_local_unicast(ip))),
        "ip_is_global_unicast" => |args| ip(args, |ip| Value::Bool(is_global_unicast(ip))),
        "ip_to_string" => |args| ip(args, |ip| Value::string(ip.to_string())),
        "string_to_cidr" => |args| text(args, cidr),
        "is_cidr" => |args| text(args, |text| Ok(Value::Bool(cidr(text).is_ok()))),
        "cidr_contains_ip_string" | "cidr_contains_ip_ip" => contains_ip,
        "cidr_contains_cidr_string" | "cidr_contains_cidr" => contains_cidr,
        "cidr_ip" => |args| network(args, |address, _| Value::Ip(address)),
        "cidr_prefix_length" => |args| network(args, |_, bits| Value::Int(i64::from(bits))),
        "cidr_masked" => {
            |args| network(args, |address, bits| Value::Cidr { address: masked(address, bits), bits })
        }
        "cidr_to_string" => |args| network(args, |address, bits| Value::string(format!("{address}/{bits}"))),
        "string_to_url" => |args| {
            text(args, |text| {
                let url = Url::parse(text).map_err(|error| {
                    Fault::new(format!("URL parse error during conversion from string: {error}"))
                })?;
                Ok(Value::Url(Arc::new(url)))
            })
        },
        "is_url_string" => |args| text(args, |text| Ok(Value::Bool(Url::parse(text).is_ok()))),
        "url_get_scheme" => |args| url(args, |url| Value::string(url.scheme.as_str())),
        "url_get_host" => |args| url(args, |url| Value::string(url.host.as_str())),
        "url_get_hostname" => |args| url(args, |url| Value::string(url.hostname())),
        "url_get_port" => |args| url(args, |url| Value::string(url.port())),
        "url_get_escaped_path" => |args| url(args, |url| Value::string(url.escaped_path.as_str())),
        "url_get_query" => |args| url(args, query),
        _ => return None,
    })
}

fn text(args: &[Value], apply: impl Fn(&str) -> Outcome) -> Outcome {
    match args {
        [Value::String(text)] => apply(text),
        _ => Err(Fault::no_overload()),
    }
}

fn ip(args: &[Value], apply: impl Fn(IpAddr) -> Value) -> Outcome {
    match args {
        [Value::Ip(ip)] => Ok(apply(*ip)),
        _ => Err(Fault::no_overload()),
    }
}

fn network(args: &[Value], apply: impl Fn(IpAddr, u8) -> Value) -> Outcome {
    match args {
        [Value::Cidr { address, bits }] => Ok(apply(*address, *bits)),
        _ => Err(Fault::no_overload()),
    }
}

fn url(args: &[Value], apply: impl Fn(&Url) -> Value) -> Outcome {
    match args {
        [Value::Url(url)] => Ok(apply(url)),
        _ => Err(Fault::no_overload()),
    }
}

fn query(url: &Url) -> Value {
    let mut entries = Entries::default();
    for (key, values) in url.query() {
        entries.put(Value::string(key), Value::list(values.into_iter().map(Value::string).collect()));
    }
    Value::Map(Map::new(entries))
}

/// An address as selectors may write it: no zone, no IPv4 address inside IPv6.
fn address(text: &str) -> Result<IpAddr, String> {
    let quoted = go_quoted(text);
    let (ip, zone) = parse_address(text)
        .map_err(|error| format!("IP Address {quoted} parse error during conversion from string: {error}"))?;
    if zone {
        return Err(format!("IP address {quoted} with zone value is not allowed"));
    }
    not_mapped(ip, &quoted)
}

fn not_mapped(ip: IpAddr, quoted: &str) -> Result<IpAddr, String> {
    match ip {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            Err(format!("IPv4-mapped IPv6 address {quoted} is not allowed"))
        }
        ip => Ok(ip),
    }
}

/// `netip.ParseAddr`: the address, and whether it has a zone.
fn parse_address(text: &str) -> Result<(IpAddr, bool), String> {
    let failed = |what: &str, at: &str| {
        let at = if at.is_empty() { String::new() } else { format!(" (at {})", go_quoted(at)) };
        format!("ParseAddr({}): {what}{at}", go_quoted(text))
    };
    match text.find(['.', ':', '%']).and_then(|at| text.as_bytes().get(at)) {
        Some(b'.') => parse_v4(text).map(|ip| (IpAddr::V4(ip), false)).map_err(|(what, at)| failed(what, at)),
        Some(b':') => {
            let (address, zone) = text.split_once('%').map_or((text, None), |(a, z)| (a, Some(z)));
            if zone == Some("") {
                return Err(failed("zone must be a non-empty string", ""));
            }
            let ip: Ipv6Addr = address.parse().map_err(|_| failed("unable to parse IP", ""))?;
            Ok((IpAddr::V6(ip), zone.is_some()))
        }
        Some(_) => Err(failed("missing IPv6 address", "")),
        None => Err(failed("unable to parse IP", "")),
    }
}

fn parse_v4(text: &str) -> Result<Ipv4Addr, (&'static str, &str)> {
    let mut fields = [0_u8; 4];
    let mut position = 0;
    let mut value: u16 = 0;
    let mut digits = 0;
    for (i, b) in text.bytes().enumerate() {
        let rest = text.get(i..).unwrap_or_default();
        match b {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u16::from(b - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                if digits == 0 || i + 1 == text.len() {
                    return Err(("IPv4 field must have at least one digit", rest));
                }
                if position == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                if let Some(field) = fields.get_mut(position) {
                    *field = u8::try_from(value).unwrap_or(u8::MAX);
                }
                position += 1;
                value = 0;
                digits = 0;
            }
            _ => return Err(("unexpected character", rest)),
        }
    }
    if position < 3 {
        return Err(("IPv4 address too short", ""));
    }
    fields[3] = u8::try_from(value).unwrap_or(u8::MAX);
    Ok(Ipv4Addr::from(fields))
}

/// `netip.ParsePrefix`.
fn parse_prefix(text: &str) -> Result<(IpAddr, u8), String> {
    let failed = |what: &str| format!("netip.ParsePrefix({}): {what}", go_quoted(text));
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| failed("no '/'"))?;
    let (ip, zone) = parse_address(address).map_err(|error| failed(&error))?;
    if zone {
        return Err(failed("IPv6 zones cannot be present in a prefix"));
    }
    let bad_bits = || failed(&format!("bad bits after slash: {}", go_quoted(bits)));
    if bits.is_empty() || !bits.bytes().all(|b| b.is_ascii_digit()) || bits.len() > 1 && bits.starts_with('0')
    {
        return Err(bad_bits());
    }
    let bits: u64 = bits.parse().map_err(|_| bad_bits())?;
    let most = if ip.is_ipv4() { 32 } else { 128 };
    match u8::try_from(bits) {
        Ok(bits) if bits <= most => Ok((ip, bits)),
        _ => Err(failed("prefix length out of range")),
    }
}

fn cidr(text: &str) -> Outcome {
    const PARSE: &str = "network address parse error during conversion from string";
    let (address, bits) =
        parse_prefix(text).map_err(|error| Fault::new(format!("{PARSE}: {PARSE}: {error}")))?;
    let address =
        not_mapped(address, &go_quoted(text)).map_err(|error| Fault::new(format!("{PARSE}: {error}")))?;
    Ok(Value::Cidr { address, bits })
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from(u32::from(ip) & mask))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from(u128::from(ip) & mask))
        }
    }
}

fn is_within(ip: IpAddr, network: IpAddr, bits: u8) -> bool {
    ip.is_ipv4() == network.is_ipv4() && masked(ip, bits) == masked(network, bits)
}

fn contains_ip(args: &[Value]) -> Outcome {
    let (network, bits, ip) = match args {
        [Value::Cidr { address, bits }, Value::Ip(ip)] => (*address, *bits, *ip),
        // A text that is no address is told as a wrong argument.
        [Value::Cidr { address: network, bits }, Value::String(text)] => {
            (*network, *bits, address(text).map_err(|_| Fault::no_overload())?)
        }
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Bool(is_within(ip, network, bits)))
}

fn contains_cidr(args: &[Value]) -> Outcome {
    let [Value::Cidr { address, bits }, other] = args else { return Err(Fault::no_overload()) };
    let other = match other {
        Value::String(text) => cidr(text)?,
        other => other.clone(),
    };
    let Value::Cidr { address: inner, bits: inner_bits } = other else { return Err(Fault::no_overload()) };
    Ok(Value::Bool(*bits <= inner_bits && is_within(inner, *address, *bits)))
}

fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => matches!(ip.octets(), [224, 0, 0, _]),
        IpAddr::V6(ip) => ip.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
    }
}

fn is_link_local_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments().first().is_some_and(|first| first & 0xffc0 == 0xfe80),
    }
}

fn is_global_unicast(ip: IpAddr) -> bool {
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !ip.is_unspecified()
        && !broadcast
        && !ip.is_loopback()
        && !ip.is_multicast()
        && !is_link_local_unicast(ip)
}
