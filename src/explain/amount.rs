//! Amounts of resources in Kubernetes' spelling, for a person to read.
//!
//! Exact spellings lose nothing; short ones fit a column and keep about three digits.

use crate::framework::resource::names;

const BINARY: [(i64, &str); 5] =
    [(1 << 50, "Pi"), (1 << 40, "Ti"), (1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")];

/// Thousandths of a core, exact: `1500m`, `4`.
pub fn cpu(milli: i64) -> String {
    if milli % 1000 == 0 { format!("{}", milli / 1000) } else { format!("{milli}m") }
}

/// Bytes, exact, in the largest unit that divides them: `3Gi`, `2560Mi`, `1000`.
pub fn bytes(amount: i64) -> String {
    if amount == 0 {
        return String::from("0");
    }
    match BINARY.iter().find(|(unit, _)| amount % unit == 0) {
        Some((unit, suffix)) => format!("{}{suffix}", amount / unit),
        None => format!("{amount}"),
    }
}

/// Bytes in at most six columns: `3Gi`, `2.5Gi`, `512Mi`; rounded towards zero.
pub fn bytes_short(amount: i64) -> String {
    let magnitude = amount.saturating_abs();
    let Some((unit, suffix)) = BINARY.iter().find(|(unit, _)| magnitude >= *unit) else {
        return format!("{amount}");
    };
    let whole = amount / unit;
    let tenths = i128::from(magnitude % unit) * 10 / i128::from(*unit);
    if tenths == 0 || whole.saturating_abs() >= 100 {
        format!("{whole}{suffix}")
    } else {
        format!("{whole}.{tenths}{suffix}")
    }
}

/// An amount of the named resource, exact.
pub fn exact(resource: &str, amount: i64) -> String {
    match resource {
        names::CPU => cpu(amount),
        _ if is_bytes(resource) => bytes(amount),
        _ => format!("{amount}"),
    }
}

/// An amount of the named resource for a column.
pub fn short(resource: &str, amount: i64) -> String {
    match resource {
        names::CPU => cpu_short(amount),
        _ if is_bytes(resource) => bytes_short(amount),
        _ => format!("{amount}"),
    }
}

/// Thousandths of a core in at most five columns up to 99999 cores: `1500m`, `4`, `16.1`; rounded towards zero.
pub fn cpu_short(milli: i64) -> String {
    let tenths = milli / 100;
    match milli {
        _ if milli % 1000 == 0 => format!("{}", milli / 1000),
        -999..10_000 => format!("{milli}m"),
        -99_999..1_000_000 if tenths % 10 != 0 => format!("{}.{}", tenths / 10, (tenths % 10).abs()),
        _ => format!("{}", milli / 1000),
    }
}

/// Several amounts of one resource that a sentence compares: one unit for CPU, and never two different amounts
/// that look the same.
pub(crate) fn comparable(resource: &str, amounts: &[i64]) -> Vec<String> {
    if resource == names::CPU {
        return amounts.iter().map(|amount| format!("{amount}m")).collect();
    }
    let rounded: Vec<String> = amounts.iter().map(|amount| short(resource, *amount)).collect();
    let is_ambiguous =
        amounts.iter().zip(&rounded).enumerate().any(|(i, (a, shown))| {
            amounts.iter().zip(&rounded).skip(i + 1).any(|(b, s)| a != b && shown == s)
        });
    if is_ambiguous { amounts.iter().map(|amount| exact(resource, *amount)).collect() } else { rounded }
}

/// How much of `whole` is `part`, in whole per cent, rounded down; absent if there is nothing to compare with.
pub fn percent(part: i64, whole: i64) -> Option<i64> {
    if whole <= 0 {
        return None;
    }
    i64::try_from(i128::from(part) * 100 / i128::from(whole)).ok()
}

fn is_bytes(resource: &str) -> bool {
    matches!(resource, names::MEMORY | names::EPHEMERAL_STORAGE)
        || resource.starts_with(names::HUGEPAGES_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GI: i64 = 1 << 30;

    #[test]
    fn exact_amounts_lose_nothing() {
        assert_eq!(cpu(1500), "1500m");
        assert_eq!(cpu(4000), "4");
        assert_eq!(bytes(3 * GI), "3Gi");
        assert_eq!(bytes(GI / 2 * 5), "2560Mi");
        assert_eq!(bytes(16_374_028 * 1024), "16374028Ki");
        assert_eq!(bytes(1000), "1000");
        assert_eq!(bytes(0), "0");
    }

    #[test]
    fn short_cpu_fits_five_columns() {
        let shown = [750, 3920, 4000, 16_150, 31_660, 20_050, 128_000, 999_999, 1_234_567].map(cpu_short);
        assert_eq!(shown, ["750m", "3920m", "4", "16.1", "31.6", "20", "128", "999.9", "1234"]);
    }

    #[test]
    fn short_amounts_fit_six_columns() {
        assert_eq!(bytes_short(GI / 2 * 5), "2.5Gi");
        assert_eq!(bytes_short(16_374_028 * 1024), "15.6Gi");
        assert_eq!(bytes_short(200 * GI + GI / 2), "200Gi");
        assert_eq!(bytes_short(-GI / 2 * 3), "-1.5Gi");
        for amount in [1, 1023, 1 << 20, GI - 1, i64::MAX, 999 * GI] {
            assert!(bytes_short(amount).len() <= 6, "{}", bytes_short(amount));
        }
    }

    #[test]
    fn compared_amounts_do_not_look_the_same_unless_they_are() {
        assert_eq!(comparable("memory", &[2 * GI, 2 * GI + 1024]), ["2Gi", "2097153Ki"]);
        assert_eq!(comparable("memory", &[2 * GI, GI]), ["2Gi", "1Gi"]);
        assert_eq!(comparable("cpu", &[1500, 4000]), ["1500m", "4000m"]);
    }

    #[test]
    fn percentages_do_not_overflow() {
        assert_eq!(percent(i64::MAX, i64::MAX), Some(100));
        assert_eq!(percent(1, 0), None);
    }
}
