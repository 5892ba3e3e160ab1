//! Resource quantities with the exact arithmetic of `k8s.io/apimachinery/pkg/api/resource`.
//!
//! Upstream keeps a quantity in one of two shapes: a 64-bit number with a power of ten, where the spelling allows
//! that, and otherwise a decimal of any size that was rounded up to billionths. The two round and overflow in
//! different ways, and a scheduler that is to decide alike has to do the same, so this type remembers which of
//! the two a quantity has. It does not keep the spelling: text is always the canonical form.
//!
//! The decimal shape is held in 128 bits. Amounts beyond about 1.7e29 units, which no cluster has, are cut to that.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};
use std::str::FromStr;

/// The exponent of billionths, the smallest part that a quantity keeps.
const NANO: i32 = -9;
/// The most decimal digits that upstream reads without falling back on the decimal shape.
const MAX_INT64_FACTORS: i32 = 18;
/// The cap of binary quantities, in billionths.
const MAX_BINARY_NANOS: i128 = i64::MAX as i128 * 1_000_000_000;

/// How a quantity is written: with which kind of suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Format {
    /// `12M`, powers of 1000.
    #[default]
    DecimalSi,
    /// `12Mi`, powers of 1024.
    BinarySi,
    /// `12e6`.
    DecimalExponent,
}

/// An amount of a resource. Comparison is by amount: `1Gi` equals `1024Mi`.
#[derive(Clone, Copy, Default)]
pub struct Quantity {
    /// The amount is `mantissa` times ten to the power of `scale`. In two halves, to keep the alignment of a `u64`.
    mantissa_high: i64,
    mantissa_low: u64,
    scale: i32,
    shape: Shape,
    format: Format,
}

/// Which of upstream's two representations a quantity has.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Shape {
    /// `int64Amount`: the mantissa fits 64 bits.
    #[default]
    Int64,
    /// `infDecAmount`.
    Decimal,
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a quantity: {reason}")]
pub struct QuantityError {
    /// What was read.
    pub text: String,
    /// What is wrong with it.
    pub reason: QuantityReason,
}

/// What is wrong with a text that is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityReason {
    /// Upstream's `ErrFormatWrong`.
    #[error("it must be a number and a suffix, like 500m, 1.5Gi or 2e3")]
    Format,
    /// Upstream's `ErrNumeric`.
    #[error("its number has no digits")]
    Number,
    /// Upstream's `ErrSuffix`.
    #[error("there is no suffix {0:?}, only n u m k M G T P E, Ki Mi Gi Ti Pi Ei and exponents like e3")]
    Suffix(String),
}

impl Quantity {
    /// The quantity 0.
    pub const ZERO: Self = Self::int64(0, 0, Format::DecimalSi);

    const fn int64(value: i64, scale: i32, format: Format) -> Self {
        Self::raw(value as i128, scale, Shape::Int64, format)
    }

    const fn decimal(mantissa: i128, scale: i32, format: Format) -> Self {
        Self::raw(mantissa, scale, Shape::Decimal, format)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "splits a number into halves"
    )]
    const fn raw(mantissa: i128, scale: i32, shape: Shape, format: Format) -> Self {
        Self { mantissa_high: (mantissa >> 64) as i64, mantissa_low: mantissa as u64, scale, shape, format }
    }

    const fn mantissa(self) -> i128 {
        (self.mantissa_high as i128) << 64 | self.mantissa_low as i128
    }

    /// The low 64 bits of the mantissa, as Go's `big.Int.Int64` gives them.
    const fn mantissa_i64(self) -> i64 {
        self.mantissa_low.cast_signed()
    }

    /// A whole number of units (`NewQuantity` with `DecimalSI`).
    pub const fn from_value(value: i64) -> Self {
        Self::int64(value, 0, Format::DecimalSi)
    }

    /// A number of thousandths (`NewMilliQuantity` with `DecimalSI`).
    pub const fn from_milli(milli: i64) -> Self {
        Self::int64(milli, -3, Format::DecimalSi)
    }

    /// The same amount, written with another kind of suffix.
    #[must_use]
    pub const fn with_format(mut self, format: Format) -> Self {
        self.format = format;
        self
    }

    /// The kind of suffix that the quantity was written with.
    pub const fn format(self) -> Format {
        self.format
    }

    /// Whole units, rounded up (`Quantity.Value`). What does not fit comes out as upstream's overflow leaves it.
    pub const fn value(self) -> i64 {
        self.scaled_value(0)
    }

    /// Thousandths, rounded up (`Quantity.MilliValue`). What does not fit comes out as upstream's overflow leaves it.
    pub const fn milli_value(self) -> i64 {
        self.scaled_value(-3)
    }

    /// The amount in units of ten to the power of `scale`, rounded up (`Quantity.ScaledValue`).
    pub const fn scaled_value(self, scale: i32) -> i64 {
        match self.shape {
            Shape::Int64 if self.scale < scale => {
                divide_away_from_zero(self.mantissa_i64(), scale - self.scale)
            }
            Shape::Int64 => multiply_by_power(self.mantissa_i64(), self.scale.wrapping_sub(scale)),
            Shape::Decimal => self.scaled_decimal(scale),
        }
    }

    /// `scaledValue` of upstream's scale_int.go. It rounds negative numbers up by one too, and so does this.
    #[expect(clippy::cast_possible_truncation, reason = "Go's Int64 takes the low 64 bits")]
    const fn scaled_decimal(self, scale: i32) -> i64 {
        let digits = scale - self.scale;
        if digits == 0 {
            return self.mantissa_i64();
        }
        if digits < 0 {
            // Go's conversion of a float that is too large gives the smallest number.
            let power = if digits < -18 { i64::MIN } else { 10_i64.pow(digits.unsigned_abs()) };
            return self.mantissa_i64().wrapping_mul(power);
        }
        let mantissa = self.mantissa();
        if mantissa < i64::MAX as i128 && digits < 19 {
            let divisor = 10_i64.pow(digits.unsigned_abs());
            let low = self.mantissa_i64();
            return low / divisor + (low % divisor != 0) as i64;
        }
        if digits > 38 {
            return (mantissa != 0) as i64;
        }
        let divisor = 10_i128.pow(digits.unsigned_abs());
        (mantissa.div_euclid(divisor) as i64).wrapping_add((mantissa.rem_euclid(divisor) != 0) as i64)
    }

    /// The amount rounded away from zero to a multiple of ten to the power of `scale` (`Quantity.RoundUp`).
    #[must_use]
    pub const fn round_up(self, scale: i32) -> Self {
        let digits = scale.saturating_sub(self.scale);
        match self.shape {
            Shape::Int64 if digits <= 0 => self,
            Shape::Int64 => {
                Self::int64(divide_away_from_zero(self.mantissa_i64(), digits), scale, self.format)
            }
            Shape::Decimal if digits > 38 => Self::decimal(self.mantissa().signum(), scale, self.format),
            Shape::Decimal if digits >= 0 => {
                let (mantissa, divisor) = (self.mantissa(), 10_i128.pow(digits.unsigned_abs()));
                let up = if mantissa % divisor == 0 { 0 } else { mantissa.signum() };
                Self::decimal(mantissa / divisor + up, scale, self.format)
            }
            Shape::Decimal => match 10_i128.checked_pow(digits.unsigned_abs()) {
                Some(power) => match self.mantissa().checked_mul(power) {
                    Some(mantissa) => Self::decimal(mantissa, scale, self.format),
                    None => self,
                },
                None => self,
            },
        }
    }

    /// The product, in the decimal shape and with this one's suffix. Beyond the range it stays what it is.
    #[must_use]
    pub fn multiplied(self, factor: Self) -> Self {
        let scale = self.scale.saturating_add(factor.scale);
        match self.mantissa().checked_mul(factor.mantissa()) {
            Some(mantissa) => Self::decimal(mantissa, scale, self.format),
            None => self,
        }
    }

    /// The amount as a whole number, if the 64-bit shape holds it as one (`Quantity.AsInt64`).
    pub const fn as_int64(self) -> Option<i64> {
        match self.shape {
            Shape::Int64 if self.scale == 0 => Some(self.mantissa_i64()),
            Shape::Int64 if self.scale > 0 && self.scale <= 18 => {
                self.mantissa_i64().checked_mul(10_i64.pow(self.scale.unsigned_abs()))
            }
            _ => None,
        }
    }

    /// The amount as a double, about right (`Quantity.AsApproximateFloat64`).
    #[expect(clippy::cast_precision_loss, reason = "an approximation is what is asked for")]
    pub fn as_approximate_f64(self) -> f64 {
        let base = self.mantissa() as f64;
        if self.scale == 0 { base } else { base * 10_f64.powi(self.scale) }
    }

    /// Whether it is 0.
    pub const fn is_zero(self) -> bool {
        self.mantissa_high == 0 && self.mantissa_low == 0
    }

    /// -1, 0 or 1.
    pub const fn signum(self) -> i32 {
        if self.mantissa_high < 0 {
            -1
        } else if self.is_zero() {
            0
        } else {
            1
        }
    }

    /// The sum in the decimal shape.
    fn add_decimal(self, other: Self) -> Self {
        let (coarse, fine) = if self.scale >= other.scale { (self, other) } else { (other, self) };
        let sum = 10_i128
            .checked_pow(coarse.scale.abs_diff(fine.scale))
            .and_then(|power| coarse.mantissa().checked_mul(power))
            .and_then(|aligned| aligned.checked_add(fine.mantissa()));
        match sum {
            Some(mantissa) => Self::decimal(mantissa, fine.scale, self.format),
            // Beyond the range: the larger one stands for the sum.
            None if fine.is_zero() || !coarse.is_zero() => {
                Self::decimal(coarse.mantissa(), coarse.scale, self.format)
            }
            None => Self::decimal(fine.mantissa(), fine.scale, self.format),
        }
    }

    /// The sum if both have the 64-bit shape and the sum has too.
    fn add_int64(self, other: Self) -> Option<Self> {
        if self.shape != Shape::Int64 || other.shape != Shape::Int64 {
            return None;
        }
        if other.is_zero() {
            return Some(self);
        }
        if self.is_zero() {
            return Some(Self { format: self.format, ..other });
        }
        let scale = self.scale.min(other.scale);
        let align = |quantity: Self| {
            let power = 10_i64.checked_pow(quantity.scale.abs_diff(scale))?;
            quantity.mantissa_i64().checked_mul(power)
        };
        Some(Self::int64(align(self)?.checked_add(align(other)?)?, scale, self.format))
    }

    /// Mantissa without trailing zeros and the power of ten that goes with it: equal amounts give equal pairs.
    const fn normalized(self) -> (i128, i32) {
        let (mut mantissa, mut scale) = (self.mantissa(), self.scale);
        if mantissa == 0 {
            return (0, 0);
        }
        while mantissa % 10 == 0 {
            mantissa /= 10;
            scale = scale.saturating_add(1);
        }
        (mantissa, scale)
    }

    /// The amount as a whole number, if it is one that fits.
    fn as_whole(self) -> Option<i128> {
        let (mantissa, scale) = self.normalized();
        let power = u32::try_from(scale).ok()?;
        mantissa.checked_mul(10_i128.checked_pow(power)?)
    }
}

/// `negativeScaleInt64`: division by a power of ten, away from zero.
const fn divide_away_from_zero(value: i64, digits: i32) -> i64 {
    if digits > 18 {
        return value.signum();
    }
    let divisor = 10_i64.pow(digits.unsigned_abs());
    value / divisor + if value % divisor == 0 { 0 } else { value.signum() }
}

/// `positiveScaleInt64`: multiplication by a power of ten. On overflow upstream's callers go on with what it
/// returns, which depends on the power: the wrapped product where it has a short cut, 0 elsewhere.
const fn multiply_by_power(value: i64, digits: i32) -> i64 {
    match digits {
        1 | 2 | 3 | 6 | 9 if value == i64::MIN => 0,
        1 | 2 | 3 | 6 | 9 => value.wrapping_mul(10_i64.pow(digits.unsigned_abs())),
        _ if digits <= 0 || value == 0 => value,
        0..=18 => match value.checked_mul(10_i64.pow(digits.unsigned_abs())) {
            Some(product) => product,
            None => 0,
        },
        _ => 0,
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.mantissa().cmp(&other.mantissa());
        }
        let signs = self.signum().cmp(&other.signum());
        if signs != Ordering::Equal || self.is_zero() {
            return signs;
        }
        let (mantissa, scale) = self.normalized();
        let (other_mantissa, other_scale) = other.normalized();
        let align = |mantissa: i128, digits: u32| {
            10_i128.checked_pow(digits).and_then(|power| mantissa.checked_mul(power))
        };
        let digits = scale.abs_diff(other_scale);
        // Where aligning overflows, the one with the larger power of ten is further from zero.
        let away = |larger_is_self: bool| match (larger_is_self, self.signum() > 0) {
            (true, true) | (false, false) => Ordering::Greater,
            _ => Ordering::Less,
        };
        if scale >= other_scale {
            align(mantissa, digits).map_or_else(|| away(true), |aligned| aligned.cmp(&other_mantissa))
        } else {
            align(other_mantissa, digits).map_or_else(|| away(false), |aligned| mantissa.cmp(&aligned))
        }
    }
}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.normalized().hash(state);
    }
}

impl Neg for Quantity {
    type Output = Self;
    fn neg(self) -> Self {
        let mantissa = match self.shape {
            Shape::Int64 => i128::from(self.mantissa_i64().wrapping_neg()),
            Shape::Decimal => self.mantissa().saturating_neg(),
        };
        Self::raw(mantissa, self.scale, self.shape, self.format)
    }
}

impl Add for Quantity {
    type Output = Self;
    /// The sum, in the format of the first operand unless that is 0 (`Quantity.Add`).
    fn add(mut self, other: Self) -> Self {
        if self.is_zero() {
            self.format = other.format;
        }
        self.add_int64(other).unwrap_or_else(|| self.add_decimal(other))
    }
}

impl Sub for Quantity {
    type Output = Self;
    /// The difference, in the format of the first operand unless that is 0 (`Quantity.Sub`).
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl AddAssign for Quantity {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Quantity {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

/// A quantity's text taken apart.
struct Parts<'a> {
    negative: bool,
    /// Digits before the point, without leading zeros; `0` if there are none.
    whole: &'a str,
    /// Digits after the point.
    fraction: &'a str,
    suffix: &'a str,
    /// Whether the number has any digit at all: `Ki` alone is read as 0.
    has_digits: bool,
}

/// Takes a text apart, as leniently as upstream does.
fn split(text: &str) -> Option<Parts<'_>> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let is_digit = |c: char| c.is_ascii_digit();
    let stripped = unsigned.trim_start_matches('0');
    let whole_end = stripped.find(|c| !is_digit(c)).unwrap_or(stripped.len());
    let (whole, rest) = stripped.split_at(whole_end);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.find(|c| !is_digit(c)).unwrap_or(rest.len())),
        None => ("", rest),
    };
    let after_letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let digits = after_letters.strip_prefix(['+', '-']).unwrap_or(after_letters);
    if !digits.chars().all(is_digit) {
        return None;
    }
    let has_digits = unsigned.len() > stripped.len() || !whole.is_empty() || !fraction.is_empty();
    Some(Parts { negative, whole: if whole.is_empty() { "0" } else { whole }, fraction, suffix, has_digits })
}

/// Base, exponent and format of a suffix.
fn interpret(suffix: &str) -> Option<(u32, i32, Format)> {
    let decimal = |exponent| Some((10, exponent, Format::DecimalSi));
    let binary = |exponent| Some((2, exponent, Format::BinarySi));
    match suffix {
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            // Upstream cuts the exponent to 32 bits.
            #[expect(clippy::cast_possible_truncation, reason = "as upstream does")]
            Some((10, exponent as i32, Format::DecimalExponent))
        }
    }
}

/// Digits as a number, at most `i128::MAX`.
fn digits_to_number(digits: &str) -> i128 {
    digits.bytes().fold(0_i128, |number, digit| {
        number.saturating_mul(10).saturating_add(i128::from(digit.wrapping_sub(b'0')))
    })
}

impl Parts<'_> {
    /// The 64-bit shape, where upstream uses it.
    fn int64(&self, base: u32, exponent: i32, format: Format) -> Option<Quantity> {
        let length = |digits: &str| i32::try_from(digits.len()).unwrap_or(i32::MAX);
        let (precision, scale, factor) = if base == 10 {
            let digits = length(self.whole).saturating_add(length(self.fraction));
            (MAX_INT64_FACTORS.saturating_sub(digits), exponent, 1)
        } else if self.fraction.is_empty() {
            // An estimate of the digits that are left after the shift.
            (15_i32.saturating_sub(length(self.whole)) - exponent * 3 / 10 - 1, 0, 1_i64 << exponent)
        } else {
            return None;
        };
        let scale = scale.checked_sub(length(self.fraction))?;
        if precision < 0 || scale < NANO {
            return None;
        }
        let digits = i128::from(10_i64.pow(self.fraction.len().try_into().ok()?))
            .checked_mul(digits_to_number(self.whole))?
            .checked_add(digits_to_number(self.fraction))?;
        let value = i64::try_from(digits).ok()?.checked_mul(factor)?;
        Some(Quantity::int64(if self.negative { -value } else { value }, scale, format))
    }

    /// The decimal shape: rounded up to billionths, binary ones capped at 2^63-1.
    fn decimal(&self, base: u32, exponent: i32, format: Format) -> Quantity {
        let (mut nanos, exact) =
            if base == 10 { self.decimal_nanos(exponent) } else { self.binary_nanos(exponent) };
        nanos = nanos.saturating_add(i128::from(!exact));
        let mut format = format;
        if format == Format::BinarySi {
            if nanos > MAX_BINARY_NANOS {
                let max = i128::from(i64::MAX);
                return Quantity::decimal(if self.negative { -max } else { max }, 0, format);
            }
            if 0 < nanos && nanos < 1_000_000_000 {
                format = Format::DecimalSi;
            }
        }
        Quantity::decimal(if self.negative { -nanos } else { nanos }, NANO, format)
    }

    /// Billionths of a number with a power of ten, rounded down, and whether that is exact.
    fn decimal_nanos(&self, exponent: i32) -> (i128, bool) {
        let digits = [self.whole, self.fraction].concat();
        let fraction = i64::try_from(self.fraction.len()).unwrap_or(i64::MAX);
        let shift = i64::from(exponent).saturating_sub(fraction).saturating_sub(i64::from(NANO));
        if shift >= 0 {
            let number = digits_to_number(&digits);
            let power = u32::try_from(shift).ok().and_then(|shift| 10_i128.checked_pow(shift));
            return match power {
                _ if number == 0 => (0, true),
                Some(power) => (number.saturating_mul(power), true),
                None => (i128::MAX, true),
            };
        }
        let dropped = usize::try_from(shift.unsigned_abs()).unwrap_or(usize::MAX);
        let (kept, lost) = digits.split_at(digits.len().saturating_sub(dropped));
        (digits_to_number(kept), lost.bytes().all(|digit| digit == b'0'))
    }

    /// Billionths of a number with a power of two, rounded down, and whether that is exact.
    fn binary_nanos(&self, exponent: i32) -> (i128, bool) {
        let unit = 1_000_000_000_i128 << exponent;
        let mut exact = true;
        // The fraction times the unit, digit by digit from the last: rounding down at every step is rounding
        // down once.
        let fraction = self.fraction.bytes().rev().fold(0_i128, |carry, digit| {
            let sum = carry + unit * i128::from(digit.wrapping_sub(b'0'));
            exact &= sum % 10 == 0;
            sum / 10
        });
        (digits_to_number(self.whole).saturating_mul(unit).saturating_add(fraction), exact)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    /// `ParseQuantity`: no white space around the text.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason| QuantityError { text: text.to_owned(), reason };
        let parts = split(text).ok_or_else(|| error(QuantityReason::Format))?;
        let (base, exponent, format) =
            interpret(parts.suffix).ok_or_else(|| error(QuantityReason::Suffix(parts.suffix.to_owned())))?;
        if let Some(quantity) = parts.int64(base, exponent, format) {
            return Ok(quantity);
        }
        if !parts.has_digits {
            return Err(error(QuantityReason::Number));
        }
        Ok(parts.decimal(base, exponent, format))
    }
}

impl fmt::Display for Quantity {
    /// The canonical form (`CanonicalizeBytes`): no fraction, and the largest suffix that loses nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.pad("0");
        }
        let whole = if self.format == Format::BinarySi { self.as_whole() } else { None };
        let text = match whole {
            Some(whole) if whole.unsigned_abs() >= 1024 => binary_text(whole),
            _ => self.decimal_text(),
        };
        f.pad(&text)
    }
}

fn binary_text(whole: i128) -> String {
    let mut whole = whole;
    let mut suffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
    let mut suffix = "";
    while whole % 1024 == 0 {
        let Some(next) = suffixes.next() else { break };
        suffix = next;
        whole /= 1024;
    }
    format!("{whole}{suffix}")
}

impl Quantity {
    fn decimal_text(self) -> String {
        let (mantissa, scale) = self.normalized();
        let exponent = scale - scale.rem_euclid(3);
        let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
        if self.format == Format::DecimalExponent {
            let number = format!("{mantissa}{}", zeros(scale - exponent));
            return if exponent == 0 { number } else { format!("{number}e{exponent}") };
        }
        // There is no suffix above E.
        let exponent = exponent.min(18);
        let suffix = match exponent {
            -9 => "n",
            -6 => "u",
            -3 => "m",
            3 => "k",
            6 => "M",
            9 => "G",
            12 => "T",
            15 => "P",
            18 => "E",
            _ => "",
        };
        format!("{mantissa}{}{suffix}", zeros(scale - exponent))
    }
}

impl fmt::Debug for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl serde::Serialize for Quantity {
    /// The canonical form for people and API servers; elsewhere a spelling that loses nothing.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_str(&self.spelling())
        }
    }
}

impl<'de> serde::Deserialize<'de> for Quantity {
    /// From a text, around which white space is allowed, or from a number as manifests have it unquoted.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor)
    }
}

struct QuantityVisitor;

impl QuantityVisitor {
    fn parse<E: serde::de::Error>(text: &str) -> Result<Quantity, E> {
        text.trim().parse().map_err(E::custom)
    }
}

impl serde::de::Visitor<'_> for QuantityVisitor {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity like 500m, 1.5Gi or 2e3")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Quantity, E> {
        Self::parse(text)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Quantity, E> {
        Self::parse(&number.to_string())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Quantity, E> {
        Self::parse(&number.to_string())
    }

    fn visit_i128<E: serde::de::Error>(self, number: i128) -> Result<Quantity, E> {
        Self::parse(&number.to_string())
    }

    fn visit_u128<E: serde::de::Error>(self, number: u128) -> Result<Quantity, E> {
        Self::parse(&number.to_string())
    }

    /// A float passes through JSON on its way to the API server, which writes it in the shortest form.
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Quantity, E> {
        let size = number.abs();
        if size != 0.0 && !(1e-6..1e21).contains(&size) {
            Self::parse(&format!("{number:e}"))
        } else {
            Self::parse(&number.to_string())
        }
    }

    /// Go's decoder leaves the empty value where it reads `null`.
    fn visit_unit<E: serde::de::Error>(self) -> Result<Quantity, E> {
        Ok(Quantity::ZERO)
    }
}

mod spelling;
#[cfg(test)]
mod tests;
