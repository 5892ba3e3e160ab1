//! What `ParseQuantity` and the methods of `Quantity` of k8s.io/apimachinery v0.36.3 answer.
//!
//! The tables were printed by a program that calls that package.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::Format::{BinarySi, DecimalExponent, DecimalSi};
use super::*;

/// Text, Value, MilliValue, ScaledValue(Kilo), ScaledValue(Nano), canonical text, format.
const READS: &[(&str, i64, i64, i64, i64, &str, Format)] = &[
    ("0", 0, 0, 0, 0, "0", DecimalSi),
    ("1", 1, 1000, 1, 1_000_000_000, "1", DecimalSi),
    ("100m", 1, 100, 1, 100_000_000, "100m", DecimalSi),
    ("1m", 1, 1, 1, 1_000_000, "1m", DecimalSi),
    ("1u", 1, 1, 1, 1000, "1u", DecimalSi),
    ("1n", 1, 1, 1, 1, "1n", DecimalSi),
    ("250000u", 1, 250, 1, 250_000_000, "250m", DecimalSi),
    ("128974848000m", 128_974_848, 128_974_848_000, 128_975, 128_974_848_000_000_000, "128974848", DecimalSi),
    ("0.5", 1, 500, 1, 500_000_000, "500m", DecimalSi),
    ("1.5", 2, 1500, 1, 1_500_000_000, "1500m", DecimalSi),
    ("1.500", 2, 1500, 1, 1_500_000_000, "1500m", DecimalSi),
    ("1.", 1, 1000, 1, 1_000_000_000, "1", DecimalSi),
    (".5", 1, 500, 1, 500_000_000, "500m", DecimalSi),
    ("00012", 12, 12_000, 1, 12_000_000_000, "12", DecimalSi),
    ("+5", 5, 5000, 1, 5_000_000_000, "5", DecimalSi),
    ("-5", -5, -5000, -1, -5_000_000_000, "-5", DecimalSi),
    ("-1.5", -2, -1500, -1, -1_500_000_000, "-1500m", DecimalSi),
    ("-100m", -1, -100, -1, -100_000_000, "-100m", DecimalSi),
    ("1500m", 2, 1500, 1, 1_500_000_000, "1500m", DecimalSi),
    ("1001m", 2, 1001, 1, 1_001_000_000, "1001m", DecimalSi),
    ("0.1m", 1, 1, 1, 100_000, "100u", DecimalSi),
    ("0.0001", 1, 1, 1, 100_000, "100u", DecimalSi),
    ("0.1n", 1, 1, 1, 1, "1n", DecimalSi),
    ("1e-20", 1, 1, 1, 1, "1e-9", DecimalExponent),
    ("1e3", 1000, 1_000_000, 1, 1_000_000_000_000, "1e3", DecimalExponent),
    ("1E3", 1000, 1_000_000, 1, 1_000_000_000_000, "1e3", DecimalExponent),
    ("1.5e3", 1500, 1_500_000, 2, 1_500_000_000_000, "1500", DecimalExponent),
    ("12e6", 12_000_000, 12_000_000_000, 12_000, 12_000_000_000_000_000, "12e6", DecimalExponent),
    ("1e+3", 1000, 1_000_000, 1, 1_000_000_000_000, "1e3", DecimalExponent),
    ("1e-3", 1, 1, 1, 1_000_000, "1e-3", DecimalExponent),
    ("1e1", 10, 10_000, 1, 10_000_000_000, "10", DecimalExponent),
    ("1e2", 100, 100_000, 1, 100_000_000_000, "100", DecimalExponent),
    ("5e0", 5, 5000, 1, 5_000_000_000, "5", DecimalExponent),
    ("1k", 1000, 1_000_000, 1, 1_000_000_000_000, "1k", DecimalSi),
    ("1M", 1_000_000, 1_000_000_000, 1000, 1_000_000_000_000_000, "1M", DecimalSi),
    ("1G", 1_000_000_000, 1_000_000_000_000, 1_000_000, 1_000_000_000_000_000_000, "1G", DecimalSi),
    ("1T", 1_000_000_000_000, 1_000_000_000_000_000, 1_000_000_000, 0, "1T", DecimalSi),
    ("1P", 1_000_000_000_000_000, 1_000_000_000_000_000_000, 1_000_000_000_000, 0, "1P", DecimalSi),
    ("1E", 1_000_000_000_000_000_000, 0, 1_000_000_000_000_000, 0, "1E", DecimalSi),
    ("9E", 9_000_000_000_000_000_000, 0, 9_000_000_000_000_000, 0, "9E", DecimalSi),
    ("10E", 0, 0, 10_000_000_000_000_000, 0, "10E", DecimalSi),
    ("100E", 0, 0, 100_000_000_000_000_000, 0, "100E", DecimalSi),
    ("1e19", 0, 0, 10_000_000_000_000_000, 0, "10e18", DecimalExponent),
    ("1e28", 0, 0, 0, 0, "10e27", DecimalExponent),
    ("1e100", 0, 0, 0, 0, "10e99", DecimalExponent),
    ("1e4294967296", 1, 1000, 1, 1_000_000_000, "1", DecimalExponent),
    ("1e2147483647", 0, 1, 0, 1, "10e2147483646", DecimalExponent),
    ("1Ki", 1024, 1_024_000, 2, 1_024_000_000_000, "1Ki", BinarySi),
    ("1Mi", 1_048_576, 1_048_576_000, 1049, 1_048_576_000_000_000, "1Mi", BinarySi),
    ("1Gi", 1_073_741_824, 1_073_741_824_000, 1_073_742, 1_073_741_824_000_000_000, "1Gi", BinarySi),
    (
        "1Ti",
        1_099_511_627_776,
        1_099_511_627_776_000,
        1_099_511_628,
        -7_293_016_646_573_096_960,
        "1Ti",
        BinarySi,
    ),
    (
        "1Pi",
        1_125_899_906_842_624,
        1_125_899_906_842_624_000,
        1_125_899_906_843,
        2_882_303_761_517_117_440,
        "1Pi",
        BinarySi,
    ),
    ("1Ei", 1_152_921_504_606_846_976, -9_223_372_036_854_775_808, 1_152_921_504_606_847, 0, "1Ei", BinarySi),
    (
        "8Ei",
        9_223_372_036_854_775_807,
        -1000,
        9_223_372_036_854_776,
        -1_000_000_000,
        "9223372036854775807",
        BinarySi,
    ),
    ("7Ei", 8_070_450_532_247_928_832, -9_223_372_036_854_775_808, 8_070_450_532_247_929, 0, "7Ei", BinarySi),
    (
        "9999Ei",
        9_223_372_036_854_775_807,
        -1000,
        9_223_372_036_854_776,
        -1_000_000_000,
        "9223372036854775807",
        BinarySi,
    ),
    ("0.25Gi", 268_435_456, 268_435_456_000, 268_436, 268_435_456_000_000_000, "256Mi", BinarySi),
    ("1.5Gi", 1_610_612_736, 1_610_612_736_000, 1_610_613, 1_610_612_736_000_000_000, "1536Mi", BinarySi),
    ("0.5Ki", 512, 512_000, 1, 512_000_000_000, "512", BinarySi),
    ("0.0001Ki", 1, 103, 1, 102_400_000, "102400u", DecimalSi),
    ("1.1Ki", 1127, 1_126_400, 2, 1_126_400_000_000, "1126400m", BinarySi),
    (
        "-1.5Gi",
        -1_610_612_736,
        -1_610_612_736_000,
        -1_610_611,
        -1_610_612_736_000_000_000,
        "-1536Mi",
        BinarySi,
    ),
    ("-0.0001Ki", 1, -101, 1, -102_400_000, "-102400u", DecimalSi),
    (
        "-9999Ei",
        -9_223_372_036_854_775_807,
        1000,
        -9_223_372_036_854_774,
        1_000_000_000,
        "-9223372036854775807",
        BinarySi,
    ),
    ("1024", 1024, 1_024_000, 2, 1_024_000_000_000, "1024", DecimalSi),
    ("1023Ki", 1_047_552, 1_047_552_000, 1048, 1_047_552_000_000_000, "1023Ki", BinarySi),
    ("1024Ki", 1_048_576, 1_048_576_000, 1049, 1_048_576_000_000_000, "1Mi", BinarySi),
    ("1536Mi", 1_610_612_736, 1_610_612_736_000, 1_610_613, 1_610_612_736_000_000_000, "1536Mi", BinarySi),
    ("999Mi", 1_047_527_424, 1_047_527_424_000, 1_047_528, 1_047_527_424_000_000_000, "999Mi", BinarySi),
    (
        "9223372036854775807",
        9_223_372_036_854_775_807,
        -1000,
        9_223_372_036_854_776,
        -1_000_000_000,
        "9223372036854775807",
        DecimalSi,
    ),
    (
        "9223372036854775808",
        -9_223_372_036_854_775_808,
        0,
        9_223_372_036_854_776,
        0,
        "9223372036854775808",
        DecimalSi,
    ),
    ("-9223372036854775808", 0, 0, 0, 0, "-9223372036854775808", DecimalSi),
    (
        "18446744073709551615",
        -1,
        -1000,
        18_446_744_073_709_552,
        -1_000_000_000,
        "18446744073709551615",
        DecimalSi,
    ),
    (
        "99999999999999999999",
        7_766_279_631_452_241_919,
        200_376_420_520_688_664,
        100_000_000_000_000_000,
        7_886_392_055_514_347_008,
        "99999999999999999999",
        DecimalSi,
    ),
    (
        "123456789012345678",
        123_456_789_012_345_678,
        -5_670_419_503_621_183_312,
        123_456_789_012_346,
        -1_055_827_309_402_551_296,
        "123456789012345678",
        DecimalSi,
    ),
    (
        "1234567890123456789",
        1_234_567_890_123_456_789,
        -1_363_962_815_083_169_272,
        1_234_567_890_123_457,
        7_888_470_988_684_038_656,
        "1234567890123456789",
        DecimalSi,
    ),
    (
        "1234567890123456789m",
        1_234_567_890_123_457,
        1_234_567_890_123_456_789,
        1_234_567_890_124,
        1_096_246_371_337_547_584,
        "1234567890123456789m",
        DecimalSi,
    ),
    (
        "12345678901234567890123n",
        12_345_678_901_235,
        12_345_678_901_234_568,
        12_345_678_902,
        4_807_115_922_877_859_019,
        "12345678901234567890123n",
        DecimalSi,
    ),
    (
        "9007199254740993",
        9_007_199_254_740_993,
        9_007_199_254_740_993_000,
        9_007_199_254_741,
        4_611_686_019_427_387_904,
        "9007199254740993",
        DecimalSi,
    ),
    (
        "9223372036854775807m",
        9_223_372_036_854_776,
        9_223_372_036_854_775_807,
        9_223_372_036_855,
        -1_000_000,
        "9223372036854775807m",
        DecimalSi,
    ),
    ("3.14159265358979", 4, 3142, 1, 3_141_592_654, "3141592654n", DecimalSi),
    ("3.1415926535897932384626", 4, 3142, 1, 3_141_592_654, "3141592654n", DecimalSi),
    (
        "170141183460469231731687303715",
        -2_678_913_503_135_258_077,
        -4_135_612_447_373_092_680,
        679_850_617_224_118_152,
        -884_105_728,
        "170141183460469231731687303715",
        DecimalSi,
    ),
    (
        "1152921504606846976",
        1_152_921_504_606_846_976,
        -9_223_372_036_854_775_808,
        1_152_921_504_606_847,
        0,
        "1152921504606846976",
        DecimalSi,
    ),
    (
        "4611686018427387904",
        4_611_686_018_427_387_904,
        0,
        4_611_686_018_427_388,
        0,
        "4611686018427387904",
        DecimalSi,
    ),
    (".", 0, 0, 0, 0, "0", DecimalSi),
    ("+", 0, 0, 0, 0, "0", DecimalSi),
    ("-", 0, 0, 0, 0, "0", DecimalSi),
    ("m", 0, 0, 0, 0, "0", DecimalSi),
    ("Ki", 0, 0, 0, 0, "0", BinarySi),
    ("e3", 0, 0, 0, 0, "0", DecimalExponent),
    ("-.5Gi", -536_870_912, -536_870_912_000, -536_869, -536_870_912_000_000_000, "-512Mi", BinarySi),
    ("1.0e3", 1000, 1_000_000, 1, 1_000_000_000_000, "1e3", DecimalExponent),
    ("000", 0, 0, 0, 0, "0", DecimalSi),
    ("-0", 0, 0, 0, 0, "0", DecimalSi),
    ("0Ki", 0, 0, 0, 0, "0", BinarySi),
    ("0e5", 0, 0, 0, 0, "0", DecimalExponent),
    ("0.0Gi", 0, 0, 0, 0, "0", BinarySi),
];

/// Text and what is wrong with it.
const REFUSES: &[(&str, &str)] = &[
    ("1e99999999999999999999", "suffix"),
    ("", "format"),
    (" 1", "format"),
    ("1 ", "format"),
    ("1..5", "format"),
    ("1.5.5", "format"),
    ("abc", "format"),
    ("1x", "format"),
    ("1Qi", "format"),
    ("1KI", "format"),
    ("1ki", "suffix"),
    ("1K", "suffix"),
    ("1mi", "suffix"),
    ("1e", "suffix"),
    ("1E3i", "format"),
    ("1e3.5", "format"),
    ("1m3", "suffix"),
    ("1+3", "suffix"),
    ("1-", "suffix"),
    ("--1", "suffix"),
    ("+-1", "suffix"),
    ("0x10", "format"),
    ("1_000", "format"),
    ("NaN", "format"),
    ("Inf", "format"),
    ("1Gi ", "format"),
    ("１", "format"),
    ("1kk", "suffix"),
    ("1e0x10", "format"),
    ("1Ei5", "suffix"),
];

/// Two quantities, their sum, their difference, the sign of their comparison.
const SUMS: &[(&str, &str, &str, &str, i32)] = &[
    ("1", "1", "2", "0", 0),
    ("1Gi", "1G", "2073741824", "73741824", 1),
    ("500m", "1", "1500m", "-500m", -1),
    ("1", "500m", "1500m", "500m", 1),
    ("1Gi", "512Mi", "1536Mi", "512Mi", 1),
    ("0", "5Gi", "5Gi", "-5Gi", -1),
    ("0", "5e3", "5e3", "-5e3", -1),
    ("1.5Gi", "0.5Gi", "2Gi", "1Gi", 1),
    ("1e18", "1n", "1000000000000000000000000001e-9", "999999999999999999999999999e-9", 1),
    ("9223372036854775807", "1", "9223372036854775808", "9223372036854775806", 1),
    ("-9223372036854775807", "2", "-9223372036854775805", "-9223372036854775809", -1),
    ("9E", "9E", "18E", "0", 0),
    ("1e100", "1e99", "11e99", "9e99", 1),
    ("0.5", "500m", "1", "0", 0),
    ("1e19", "10E", "20e18", "0", 0),
    ("100n", "1u", "1100n", "-900n", -1),
    ("1Ki", "1", "1025", "1023", 1),
    ("1.1Ki", "1n", "1126400000001n", "1126399999999n", 1),
    ("-5", "3", "-2", "-8", -1),
    ("1e40", "1e40", "20e39", "0", 0),
];

/// Text, and after RoundUp(Milli) the canonical text, Value and MilliValue.
const ROUNDED: &[(&str, &str, i64, i64)] = &[
    ("1", "1", 1, 1000),
    ("1500m", "1500m", 2, 1500),
    ("1u", "1m", 1, 1),
    ("250000u", "250m", 1, 250),
    ("250001u", "251m", 1, 251),
    ("1n", "1m", 1, 1),
    ("-1u", "-1m", -1, -1),
    ("0.0001Ki", "103m", 1, 103),
    ("1.1Ki", "1126400m", 1127, 1126400),
    ("-1.5Gi", "-1536Mi", -1610612736, -1610612736000),
    ("8Ei", "9223372036854775807", 9223372036854775807, -1000),
    ("9223372036854775808", "9223372036854775808", -9223372036854775808, 0),
    ("-9223372036854775808", "-9223372036854775808", 0, 0),
    ("1e100", "10e99", 0, 0),
    ("3.14159", "3142m", 4, 3142),
    ("0", "0", 0, 0),
    ("0.0Gi", "0", 0, 0),
    ("123456789012345678901n", "123456789012346m", 123456789013, 123456789012346),
];

fn read(text: &str) -> Quantity {
    text.parse().unwrap()
}

#[test]
fn values_round_and_overflow_as_upstream() {
    for &(text, value, milli, kilo, nano, _, _) in READS {
        let quantity = read(text);
        let found =
            (quantity.value(), quantity.milli_value(), quantity.scaled_value(3), quantity.scaled_value(-9));
        assert_eq!(found, (value, milli, kilo, nano), "{text:?}");
    }
}

#[test]
fn rounding_up_is_that_of_upstream() {
    for &(text, canonical, value, milli) in ROUNDED {
        let rounded = read(text).round_up(-3);
        assert_eq!(
            (rounded.to_string().as_str(), rounded.value(), rounded.milli_value()),
            (canonical, value, milli)
        );
    }
}

#[test]
fn text_is_the_canonical_form() {
    for &(text, _, _, _, _, canonical, format) in READS {
        let quantity = read(text);
        assert_eq!(quantity.format(), format, "{text:?}");
        assert_eq!(quantity.to_string(), canonical, "{text:?}");
    }
    // Upstream has no suffix for 10^21 and drops it; here the amount stays right.
    assert_eq!(read("1000E").to_string(), "1000E");
    assert_eq!(format!("{:>7}", read("1500m")), "  1500m");
}

#[test]
fn canonical_text_reads_as_the_same_amount() {
    for &(text, ..) in READS {
        let quantity = read(text);
        assert_eq!(read(&quantity.to_string()), quantity, "{text:?}");
    }
}

#[test]
fn refuses_what_upstream_refuses() {
    for &(text, kind) in REFUSES {
        let reason = text.parse::<Quantity>().unwrap_err().reason;
        let found = match reason {
            QuantityReason::Format => "format",
            QuantityReason::Number => "numeric",
            QuantityReason::Suffix(_) => "suffix",
        };
        assert_eq!(found, kind, "{text:?}");
    }
}

#[test]
fn sums_differences_and_order_are_those_of_upstream() {
    for &(left, right, sum, difference, order) in SUMS {
        let (a, b) = (read(left), read(right));
        assert_eq!((a + b).to_string(), sum, "{left} + {right}");
        assert_eq!((a - b).to_string(), difference, "{left} - {right}");
        assert_eq!(a.cmp(&b) as i32, order, "{left} <=> {right}");
        assert_eq!(b.cmp(&a) as i32, -order, "{right} <=> {left}");
    }
}

#[test]
fn equal_amounts_are_equal_and_hash_alike() {
    use std::hash::BuildHasher;
    let hasher = rustc_hash::FxBuildHasher;
    for (left, right) in
        [("1Gi", "1024Mi"), ("0.5", "500m"), ("1.1Ki", "1126400m"), ("0", "0Ki"), ("1e3", "1k")]
    {
        let (a, b) = (read(left), read(right));
        assert_eq!(a, b);
        assert_eq!(hasher.hash_one(a), hasher.hash_one(b));
    }
    assert!(read("1e100") > read("1e99"));
    assert!(read("-1e100") < read("-1e99"));
    assert!(read("1e100") > read("1.1Ki"));
}

#[test]
fn numbers_of_manifests_are_read_without_quotes() {
    let from_json = |text: &str| serde_json::from_str::<Quantity>(text).map(|quantity| quantity.to_string());
    for (text, canonical) in [
        ("5", "5"),
        ("-3", "-3"),
        ("0.5", "500m"),
        ("1.5e3", "1500"),
        ("12e6", "12M"),
        ("1e+21", "1e21"),
        ("1e-7", "100e-9"),
        ("18446744073709551615", "18446744073709551615"),
        ("\" 5Gi \"", "5Gi"),
        ("null", "0"),
    ] {
        assert_eq!(from_json(text).unwrap(), canonical, "{text}");
    }
    for text in ["true", "\"\"", "\"a\"", "[]", "{}"] {
        assert!(from_json(text).is_err(), "{text}");
    }
    let refused = from_json("\"12Qm\"").unwrap_err().to_string();
    assert!(refused.starts_with("\"12Qm\" is not a quantity: it must be a number and a suffix"), "{refused}");
}

#[test]
fn hostile_texts_neither_panic_nor_take_long() {
    let long = "9".repeat(100_000);
    for text in [
        long.clone(),
        format!("0.{long}"),
        format!("0.{long}Ei"),
        format!("{long}Ei"),
        format!("1e{}", i32::MAX),
        format!("1e{}", i32::MIN),
        format!("0.{long}e{}", i32::MIN),
        format!("{long}e-{}", 100_000),
        "-9223372036854775808e2147483647".to_owned(),
        "e-20".to_owned(),
        "\0".to_owned(),
        "1\u{661}".to_owned(),
    ] {
        if let Ok(quantity) = text.parse::<Quantity>() {
            let _ = (
                quantity.value(),
                quantity.milli_value(),
                quantity + quantity,
                -quantity,
                quantity.to_string(),
            );
            for other in ["1n", "-9999Ei", "1e2147483647", "-9223372036854775808"] {
                let _ = (quantity + read(other), quantity - read(other), quantity.cmp(&read(other)));
            }
        }
    }
    assert_eq!("e-20".parse::<Quantity>().unwrap_err().reason, QuantityReason::Number);
    assert_eq!(read(&format!("0.{}Ki", "9".repeat(50))), read("1Ki"));
}
