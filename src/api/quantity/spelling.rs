//! A spelling of a quantity that is read back as the very same one, its shape and its power of ten included.
//!
//! The canonical form does not do that: `0.5` is written `500m`, and `1.5Gi` in the decimal shape is read back in
//! the 64-bit one. Recordings need both, since the two round and overflow in different ways.

use super::{Format, NANO, Quantity, Shape};

/// Suffixes of decimal quantities, with their powers of ten.
const DECIMAL: [(&str, i32); 10] =
    [("", 0), ("m", -3), ("k", 3), ("M", 6), ("G", 9), ("u", -6), ("n", -9), ("T", 12), ("P", 15), ("E", 18)];
/// Suffixes of binary quantities, in steps of 1024.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// So many digits behind the point keep a number out of the 64-bit shape.
const MANY_DIGITS: usize = 20;

impl Quantity {
    /// A text from which the same quantity is read: same amount, shape, power of ten and format. For an amount that
    /// arithmetic made and no text has it is the canonical form, which has the same amount.
    pub fn spelling(self) -> String {
        let canonical = self.to_string();
        if self.is_read_from(&canonical) {
            return canonical;
        }
        let other = self.candidates().into_iter().find(|text| self.is_read_from(text));
        other.unwrap_or(canonical)
    }

    /// Whether all of the two is the same, not just the amount.
    pub fn is_identical(self, other: Self) -> bool {
        let parts = |quantity: Self| (quantity.mantissa(), quantity.scale, quantity.format);
        parts(self) == parts(other) && self.shape == other.shape
    }

    fn is_read_from(self, text: &str) -> bool {
        text.parse::<Self>().is_ok_and(|read| read.is_identical(self))
    }

    fn candidates(self) -> Vec<String> {
        let mantissa = self.mantissa();
        let sign = if mantissa < 0 { "-" } else { "" };
        let digits = mantissa.unsigned_abs().to_string();
        match (self.shape, self.format) {
            (Shape::Int64, Format::DecimalExponent) => vec![format!("{mantissa}e{}", self.scale)],
            (Shape::Int64, Format::DecimalSi) => DECIMAL
                .iter()
                .filter_map(|(suffix, exponent)| {
                    let places =
                        usize::try_from(exponent - self.scale).ok().filter(|places| *places <= 36)?;
                    Some(format!("{sign}{}{suffix}", with_point(&digits, places)))
                })
                .collect(),
            (Shape::Int64, Format::BinarySi) => {
                let steps = BINARY.iter().enumerate();
                steps
                    .map(|(step, suffix)| {
                        format!("{sign}{}{suffix}", mantissa.unsigned_abs() >> (10 * (step + 1)))
                    })
                    .collect()
            }
            (Shape::Decimal, Format::BinarySi) if self.scale == 0 => vec![format!("{sign}{digits}Ei")],
            (Shape::Decimal, Format::BinarySi) => {
                // One 1024th has ten decimal places.
                let scaled = mantissa.unsigned_abs().checked_mul(10_000_000_000 / 1024);
                scaled
                    .map(|scaled| format!("{sign}{}Ki", with_point(&scaled.to_string(), 19)))
                    .into_iter()
                    .collect()
            }
            (Shape::Decimal, format) if self.scale == NANO => {
                let number = with_point(&digits, 9);
                let places = number.split_once('.').map_or(0, |(_, fraction)| fraction.len());
                let zeros = "0".repeat(MANY_DIGITS.saturating_sub(places));
                let suffix = if format == Format::DecimalExponent { "e0" } else { "" };
                vec![format!("{sign}{number}{zeros}{suffix}")]
            }
            (Shape::Decimal, _) => Vec::new(),
        }
    }
}

/// A number whose last `places` digits stand behind the point.
fn with_point(digits: &str, places: usize) -> String {
    if places == 0 {
        return digits.to_owned();
    }
    let padded = format!("{}{digits}", "0".repeat((places + 1).saturating_sub(digits.len())));
    let (whole, fraction) = padded.split_at(padded.len() - places);
    format!("{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use proptest::prelude::*;

    use super::*;

    fn survives(text: &str) {
        let quantity: Quantity = text.parse().unwrap();
        let read: Quantity = quantity.spelling().parse().unwrap();
        assert!(read.is_identical(quantity), "{text} became {}", quantity.spelling());
    }

    #[test]
    fn every_shape_and_format_is_read_back_as_it_was() {
        for text in [
            "0",
            "0m",
            "0Ki",
            "0.0Ki",
            "0e3",
            "0.000",
            "1",
            "-1",
            "100m",
            "0.5",
            "0.50",
            "-0.125",
            "1.5Gi",
            "0.1Ki",
            "-2.7Mi",
            "1024",
            "1Ki",
            "1024Ki",
            "123456789012Ki",
            "8Ei",
            "9Ei",
            "99999999999999999999Ei",
            "12e6",
            "1.5e3",
            "12E-3",
            "1e30",
            "-1e30",
            "0.0000000001",
            "1n",
            "1.5n",
            "1u",
            "123456789012345678",
            "1234567890123456789",
            "0.1234567890123456789",
            "1e-12",
            "500M",
            "0.3Gi",
            "3.000",
            "1000000000000000000E",
            "Ki",
            "+7",
            "5E",
            "5e0",
            "0.0009765625Ki",
        ] {
            survives(text);
        }
    }

    #[test]
    fn canonical_texts_stay_as_they_are() {
        for text in ["500m", "4", "64Gi", "110", "12e6", "1536Mi"] {
            assert_eq!(text.parse::<Quantity>().unwrap().spelling(), text);
        }
    }

    proptest! {
        #[test]
        fn whatever_can_be_read_survives(
            text in r"[+-]?[0-9]{0,24}(\.[0-9]{0,24})?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]{1,2})?"
        ) {
            if text.parse::<Quantity>().is_ok() {
                survives(&text);
            }
        }
    }
}
