// Licensed under the Apache License, Version 2.0. See LICENSE.

//! What repeated measurements say: medians, means of ratios, and how sure they are.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Samples drawn for an interval.
const RESAMPLES: usize = 10_000;

/// The same draws each time, so that the same times give the same interval.
const SEED: u64 = 1;

/// The middle value, of an even number the mean of the two in the middle; `None` of no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[middle - 1], upper) })
}

/// The geometric mean of positive values; `None` of no values.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
}

/// A ratio of times, and where it lies with a confidence of 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedRatio {
    /// The geometric mean of the ratios of pairs.
    pub ratio: f64,
    /// Lower and upper end; `None` where there are fewer than two pairs.
    pub interval: Option<(f64, f64)>,
}

/// The ratio of times that were measured in pairs, one right after the other: so that what slowed the machine
/// down for a while slowed both. `None` without pairs, or where a time is nought.
///
/// The interval is the percentile bootstrap's: pairs are drawn with replacement as often as there are pairs, ten
/// thousand times over, and 2.5 % of the means are cut off at each end.
pub fn paired_ratio(times: &[f64], baseline: &[f64]) -> Option<PairedRatio> {
    let ratios: Vec<f64> = times.iter().zip(baseline).map(|(time, base)| time / base).collect();
    if ratios.iter().any(|ratio| !ratio.is_finite() || *ratio <= 0.0) {
        return None;
    }
    let ratio = geometric_mean(&ratios)?;
    Some(PairedRatio { ratio, interval: bootstrap(&ratios) })
}

fn bootstrap(ratios: &[f64]) -> Option<(f64, f64)> {
    if ratios.len() < 2 {
        return None;
    }
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    let mut random = StdRng::seed_from_u64(SEED);
    let mut draw = || {
        let drawn = (0..logarithms.len()).map(|_| logarithms[random.random_range(0..logarithms.len())]);
        drawn.sum::<f64>() / logarithms.len() as f64
    };
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| draw()).collect();
    means.sort_by(f64::total_cmp);
    let cut = RESAMPLES / 40;
    Some((means[cut].exp(), means[RESAMPLES - 1 - cut].exp()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::odd(&[3.0, 1.0, 2.0], Some(2.0))]
    #[case::even(&[4.0, 1.0, 2.0, 3.0], Some(2.5))]
    #[case::none(&[], None)]
    fn medians(#[case] values: &[f64], #[case] expected: Option<f64>) {
        assert_eq!(median(values), expected);
    }

    #[test]
    fn twice_and_half_are_even() {
        assert!((geometric_mean(&[2.0, 0.5, 1.0]).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_constant_ratio_is_certain() {
        let ratio = paired_ratio(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        assert!((ratio.ratio - 2.0).abs() < 1e-12);
        let (low, high) = ratio.interval.unwrap();
        assert!((low - 2.0).abs() < 1e-12 && (high - 2.0).abs() < 1e-12);
    }

    /// Of normally distributed logarithms the interval is known: mean ± 1.96 σ/√n.
    #[test]
    fn the_interval_is_as_wide_as_theory_says() {
        let mut random = StdRng::seed_from_u64(7);
        let n = 400;
        let sigma = 0.2;
        let mut normal = || (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        let times: Vec<f64> = (0..n).map(|_| (0.1 + sigma * normal()).exp()).collect();
        let ratio = paired_ratio(&times, &vec![1.0; n]).unwrap();
        let (low, high) = ratio.interval.unwrap();
        let expected = 2.0 * 1.96 * sigma / (n as f64).sqrt();
        let width = high.ln() - low.ln();
        assert!((width / expected - 1.0).abs() < 0.15, "{width} where {expected} is expected");
        assert!(low < 0.1_f64.exp() && 0.1_f64.exp() < high, "{low} to {high}");
    }

    #[rstest]
    #[case::one_pair(&[3.0], &[2.0], Some(1.5))]
    #[case::none(&[], &[], None)]
    #[case::no_time(&[1.0], &[0.0], None)]
    fn too_little_for_an_interval(#[case] times: &[f64], #[case] base: &[f64], #[case] ratio: Option<f64>) {
        let found = paired_ratio(times, base);
        assert_eq!(found.is_some(), ratio.is_some());
        assert!(found.zip(ratio).is_none_or(|(found, ratio)| (found.ratio - ratio).abs() < 1e-12));
        assert_eq!(found.and_then(|found| found.interval), None);
    }
}
