//! Taints and tolerations.
//!
//! Follows `Toleration.ToleratesTaint` of `k8s.io/api/core/v1` and `FindMatchingUntoleratedTaint` of
//! `k8s.io/component-helpers/scheduling/corev1`.

use crate::api::objects::{Taint, TaintEffect, Toleration};

/// Whether the toleration tolerates a taint of that key, value and effect. An empty key or effect stands for
/// all. `comparison` is the gate TaintTolerationComparisonOperators, without which `Gt` and `Lt` tolerate
/// nothing.
pub fn tolerates(
    toleration: &Toleration,
    key: &str,
    value: &str,
    effect: &TaintEffect,
    comparison: bool,
) -> bool {
    if !toleration.effect.is_empty() && toleration.effect != effect.as_str() {
        return false;
    }
    if !toleration.key.is_empty() && toleration.key.as_ref() != key {
        return false;
    }
    let compare = |is_right: fn(&i64, &i64) -> bool| {
        let numbers = canonical_integer(value).zip(canonical_integer(&toleration.value));
        comparison && numbers.is_some_and(|(taint, own)| is_right(&taint, &own))
    };
    match toleration.operator.as_str() {
        "" | "Equal" => toleration.value.as_ref() == value,
        "Exists" => true,
        "Lt" => compare(i64::lt),
        "Gt" => compare(i64::gt),
        _ => false,
    }
}

/// A whole number as a person would write it: no plus sign, no leading zeros, no `-0`.
fn canonical_integer(text: &str) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_canonical = text == "0" || digits.starts_with(|c: char| ('1'..='9').contains(&c));
    is_canonical.then_some(number)
}

/// Whether any of the tolerations tolerates the taint.
pub fn any_tolerates(tolerations: &[Toleration], taint: &Taint, comparison: bool) -> bool {
    tolerations
        .iter()
        .any(|toleration| tolerates(toleration, &taint.key, &taint.value, &taint.effect, comparison))
}

/// Whether the taint keeps pods off a node.
pub const fn repels(taint: &Taint) -> bool {
    matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute)
}

/// The first taint that keeps a pod with these tolerations off the node.
pub fn first_untolerated<'a>(
    taints: &'a [Taint],
    tolerations: &[Toleration],
    comparison: bool,
) -> Option<&'a Taint> {
    taints.iter().find(|taint| repels(taint) && !any_tolerates(tolerations, taint, comparison))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Str;

    fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
        Toleration {
            key: Str::from(key),
            operator: operator.into(),
            value: Str::from(value),
            effect: effect.into(),
            toleration_seconds: None,
        }
    }

    #[test]
    fn rules() {
        // Toleration; whether it tolerates gpu=a100:NoSchedule.
        for (toleration, expected) in [
            (toleration("gpu", "Equal", "a100", "NoSchedule"), true),
            (toleration("gpu", "", "a100", "NoSchedule"), true),
            (toleration("gpu", "Equal", "a100", ""), true),
            (toleration("gpu", "Equal", "h100", "NoSchedule"), false),
            (toleration("gpu", "Equal", "a100", "NoExecute"), false),
            (toleration("gpu", "Exists", "", "NoSchedule"), true),
            (toleration("", "Exists", "", ""), true),
            (toleration("tpu", "Exists", "", ""), false),
            (toleration("gpu", "Like", "a100", ""), false),
        ] {
            let tolerated = tolerates(&toleration, "gpu", "a100", &TaintEffect::NoSchedule, false);
            assert_eq!(tolerated, expected, "{toleration:?}");
        }
    }

    #[test]
    fn comparisons_need_the_gate_and_canonical_numbers() {
        let tolerated = |operator, own, taint, comparison| {
            let toleration = toleration("sla", operator, own, "");
            tolerates(&toleration, "sla", taint, &TaintEffect::NoSchedule, comparison)
        };
        assert!(tolerated("Gt", "900", "950", true), "the taint's value is above that of the toleration");
        assert!(!tolerated("Gt", "950", "950", true));
        assert!(tolerated("Lt", "950", "900", true));
        assert!(!tolerated("Lt", "950", "900", false), "the gate is off");
        for odd in ["0900", "+900", "-0", "", "9h"] {
            assert!(!tolerated("Gt", "-5000", odd, true), "{odd:?} is no number");
        }
        assert!(tolerated("Gt", "-5", "0", true));
    }
}
