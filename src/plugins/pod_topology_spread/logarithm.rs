//! The natural logarithm of a whole number, to the last bit as Go computes it on every machine.
//!
//! The standard library leaves the last bit to the platform, and a replay must give the same scores everywhere.
//! Go follows FreeBSD's `e_log.c`: the argument is cut into `2^k * (1 + f)` with `1 + f` between the square root of
//! a half and that of two, and `log(1 + f)` is a polynomial in `s = f / (2 + f)`.

/// The logarithm of 2, as far as its product with an exponent is exact, and the rest.
const LN_2: [f64; 2] = [f64::from_bits(0x3fe6_2e42_fee0_0000), f64::from_bits(0x3dea_39ef_3579_3c76)];
/// The coefficients of `s^2`, `s^4` and so on: close to 2/3, 2/5, 2/7 ...
const POLYNOMIAL: [f64; 7] = [
    f64::from_bits(0x3fe5_5555_5555_5593),
    f64::from_bits(0x3fd9_9999_9997_fa04),
    f64::from_bits(0x3fd2_4924_9422_9359),
    f64::from_bits(0x3fcc_71c5_1d8e_78af),
    f64::from_bits(0x3fc7_4664_96cb_03de),
    f64::from_bits(0x3fc3_9a09_d078_c69f),
    f64::from_bits(0x3fc2_f112_df3e_5244),
];

/// `math.Log` of a number from 1 to 2^32 - 1.
pub(super) fn ln(number: u32) -> f64 {
    let mut exponent = 32 - number.max(1).leading_zeros();
    let mut fraction = f64::from(number.max(1)) / (1_u64 << exponent) as f64;
    if fraction < std::f64::consts::FRAC_1_SQRT_2 {
        fraction *= 2.0;
        exponent -= 1;
    }
    let (f, k) = (fraction - 1.0, f64::from(exponent));
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let [p1, p2, p3, p4, p5, p6, p7] = POLYNOMIAL;
    let odd = s2 * (p1 + s4 * (p3 + s4 * (p5 + s4 * p7)));
    let even = s4 * (p2 + s4 * (p4 + s4 * p6));
    let half_square = 0.5 * f * f;
    let [ln_2, ln_2_rest] = LN_2;
    k * ln_2 - ((half_square - (s * (half_square + (odd + even)) + k * ln_2_rest)) - f)
}

#[cfg(test)]
mod tests {
    use super::ln;

    /// Bits that Go's `math.Log` returns.
    #[test]
    fn the_bits_are_gos() {
        for (number, bits) in [
            (1, 0x0_u64),
            (2, 0x3fe6_2e42_fefa_39ef),
            (3, 0x3ff1_93ea_7aad_030a),
            (4, 0x3ff6_2e42_fefa_39ef),
            (5, 0x3ff9_c041_f7ed_8d33),
            (6, 0x3ffc_ab0b_fa2a_2002),
            (7, 0x3fff_2272_ae32_5a57),
            (10, 0x4002_6bb1_bbb5_5516),
            (12, 0x4003_e116_bcd3_9e7d),
            (22, 0x4008_ba74_773d_c5c8),
            (102, 0x4012_7ff8_df87_c7bd),
            (1002, 0x401b_a396_5d40_5f5f),
            (5002, 0x4021_0901_f6dc_84b9),
            (15002, 0x4023_3b5c_54bb_9573),
            (65537, 0x4026_2e44_fef9_39f0),
            (4_294_967_295, 0x4036_2e42_fef9_39ef),
        ] {
            assert_eq!(ln(number).to_bits(), bits, "ln({number})");
        }
    }

    /// FNV-1a over the bits of the first 100,000 logarithms, as a Go program gives it.
    #[test]
    fn so_are_those_of_all_sizes_of_a_cluster() {
        let fold = |hash: u64, number| (hash ^ ln(number).to_bits()).wrapping_mul(1_099_511_628_211);
        assert_eq!((1..=100_000).fold(14_695_981_039_346_656_037, fold), 3_223_871_401_236_377_394);
    }

    #[test]
    fn it_is_the_logarithm() {
        for number in 1..100_000_u32 {
            assert!((ln(number) - f64::from(number).ln()).abs() <= f64::from(number).ln() * f64::EPSILON);
        }
    }
}
