//! Quantiles of the normal and of the gamma distribution, by `libm` alone, so that every machine has the
//! same.

/// Coefficients of a ratio of two polynomials, from the constant on; that of the denominator is 1.
struct Ratio([f64; 8], [f64; 7]);

impl Ratio {
    fn at(&self, x: f64) -> f64 {
        let above = self.0.iter().rev().fold(0.0, |sum, c| sum * x + c);
        above / (self.1.iter().rev().fold(0.0, |sum, c| sum * x + c) * x + 1.0)
    }
}

#[expect(clippy::excessive_precision, reason = "as printed")]
const MIDDLE: Ratio = Ratio(
    [
        3.387_132_872_796_366_608,
        133.141_667_891_784_377_45,
        1_971.590_950_306_551_442_7,
        13_731.693_765_509_461_125,
        45_921.953_931_549_871_457,
        67_265.770_927_008_700_853,
        33_430.575_583_588_128_105,
        2_509.080_928_730_122_672_7,
    ],
    [
        42.313_330_701_600_911_252,
        687.187_007_492_057_908_3,
        5_394.196_021_424_751_107_7,
        21_213.794_301_586_595_867,
        39_307.895_800_092_710_61,
        28_729.085_735_721_942_674,
        5_226.495_278_852_854_561,
    ],
);
#[expect(clippy::excessive_precision, reason = "as printed")]
const SIDE: Ratio = Ratio(
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_9,
        5.769_497_221_460_691_405_5,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        0.241_780_725_177_450_611_77,
        0.022_723_844_989_269_184_583_3,
        7.745_450_142_783_414_076_4e-4,
    ],
    [
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_4,
        0.689_767_334_985_100_004_55,
        0.148_103_976_427_480_074_59,
        0.015_198_666_563_616_457_196_6,
        5.475_938_084_995_344_946e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
);
#[expect(clippy::excessive_precision, reason = "as printed")]
const TAIL: Ratio = Ratio(
    [
        6.657_904_643_501_103_777_2,
        5.463_784_911_164_114_369_9,
        1.784_826_539_917_291_335_8,
        0.296_560_571_828_504_891_23,
        0.026_532_189_526_576_123_093,
        1.242_660_947_388_078_438_6e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        0.599_832_206_555_887_937_69,
        0.136_929_880_922_735_805_31,
        0.014_875_361_290_850_614_852_5,
        7.868_691_311_456_132_591e-4,
        1.846_318_317_510_054_681_8e-5,
        1.421_511_758_316_445_888_7e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
);

/// The quantile of the standard normal distribution, for `p` above 0 and below 1 (M. J. Wichura, Algorithm AS
/// 241: The Percentage Points of the Normal Distribution, Applied Statistics 37, 1988, PPND16).
pub(super) fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * MIDDLE.at(0.180_625 - q * q);
    }
    let r = libm::sqrt(-libm::log(p.min(1.0 - p)));
    let far = if r <= 5.0 { SIDE.at(r - 1.6) } else { TAIL.at(r - 5.0) };
    if q < 0.0 { -far } else { far }
}

/// The quantile of the gamma distribution with this shape and scale 1, for `p` above 0 and below 1, and
/// shapes of 1 and more: Newton's steps from the approximation of E. B. Wilson and M. M. Hilferty (The
/// Distribution of Chi-Square, PNAS 17, 1931).
pub(super) fn gamma_quantile(shape: f64, p: f64) -> f64 {
    let part = 1.0 / (9.0 * shape);
    let root = 1.0 - part + normal_quantile(p) * libm::sqrt(part);
    let mut x = shape * (root * root * root).max(1e-3);
    let log_gamma = libm::lgamma(shape);
    for _ in 0..20 {
        let density = libm::exp((shape - 1.0) * libm::log(x) - x - log_gamma);
        let step = excess(shape, x, density, p) / density;
        // Halley's correction of the step by the slope of the density.
        let step = step / (1.0 - 0.5 * (step * ((shape - 1.0) / x - 1.0)).clamp(-1.0, 1.0));
        x -= step;
        // The next step would have the cube of this one's error.
        if step.abs() <= 1e-7 * x {
            break;
        }
    }
    x
}

/// The distribution function at `x` less `p`: by the series of the incomplete gamma function, or beyond the
/// mean by the continued fraction of the rest (NIST Digital Library of Mathematical Functions, 8.11.4 and
/// 8.9.2).
fn excess(shape: f64, x: f64, density: f64, p: f64) -> f64 {
    if x < shape + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / shape, 1.0 / shape, shape);
        while term > 1e-17 * sum {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return sum * x * density - p;
    }
    // By the method of W. J. Lentz, as I. J. Thompson and A. R. Barnett have it (J. Comput. Phys. 64, 1986).
    let mut b = x + 1.0 - shape;
    let (mut c, mut d) = (f64::INFINITY, 1.0 / b);
    let mut fraction = d;
    for i in 1..500 {
        let a = -f64::from(i) * (f64::from(i) - shape);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    1.0 - p - fraction * x * density
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scipy.special.ndtri(p)` of scipy 1.17.
    const NORMAL: [(f64, f64); 6] = [
        (1e-12, -7.034483825301131),
        (0.01, -2.3263478740408408),
        (0.3, -0.5244005127080409),
        (0.6, 0.2533471031357997),
        (0.93, 1.475791028179171),
        (0.99999, 4.264890793923841),
    ];

    /// `scipy.special.gammaincinv(shape, p)`.
    const GAMMA: [(f64, f64, f64); 7] = [
        (82.64462809917356, 1e-09, 39.18059144548391),
        (82.64462809917356, 0.01, 62.97618839125856),
        (82.64462809917356, 0.5, 82.31153483514296),
        (82.64462809917356, 0.6, 84.63070556620066),
        (82.64462809917356, 0.999999, 133.25902665015207),
        (1.5, 0.3, 0.7118261215176399),
        (20.25, 0.9, 26.18850463800614),
    ];

    #[test]
    fn quantiles_are_those_of_scipy() {
        for (p, wanted) in NORMAL {
            let found = normal_quantile(p);
            assert!(
                (found - wanted).abs() <= 4e-15 * wanted.abs().max(0.1),
                "{p}: {found:e}, not {wanted:e}"
            );
        }
        for (shape, p, wanted) in GAMMA {
            let found = gamma_quantile(shape, p);
            assert!((found - wanted).abs() <= 1e-13 * wanted, "{shape}, {p}: {found:e}, not {wanted:e}");
        }
    }
}
