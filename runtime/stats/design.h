#pragma once

// Computes what a design can reach before it is run: the fewest repetitions for a claim, the expected half-width, and
// the chance to find a difference. Studies with several cells are left to simulate.

namespace expc::stats {

/// The smallest n at which a two-sided exact signed-rank interval exists at the level that Holm asks of the smallest
/// p-value among `cells` cells: 2 / 2^n <= (1 - confidence) / cells. For 95 %: 6 for one cell, 7 for 2-3, 8 for 4-6, 9
/// for 7-12, 10 for 13-25. With `cells` = 1 this is the number of pairs below which no cell can be decided at all.
/// `confidence` is in (0, 1); `cells` of 0 counts as 1. It is also that of values for the exact order-statistic
/// interval of a median, whose widest interval, from the smallest to the largest value, misses with the same 2 / 2^n.
unsigned minimumPairs(double confidence, unsigned cells = 1);

/// The half-width, as a fraction, that a paired ratio's interval can be expected to have when one run has the
/// coefficient of variation `noise` (0.01: 1 %) and `pairs` pairs are complete: about 0.018 for 6 pairs at 1 % noise
/// and 95 %, 0.010 for 10, 0.007 for 20. Infinity below minimumPairs(confidence).
///
/// The log ratio of two independent runs has a standard deviation of sqrt(2) * noise. Up to 50 pairs: the mean
/// half-width of the exact signed-rank interval over samples of a normal distribution, simulated with a fixed seed (the
/// same everywhere; error below 1 %). Above: z * sigma * sqrt(pi / (3 n)), by the asymptotic efficiency 3/pi of the
/// signed-rank test under normality.
double expectedHalfWidth(double noise, unsigned pairs, double confidence = 0.95);

/// The chance that the interval of a paired ratio excludes 1, if the arms differ by `effect` (0.025: 2.5 %) and have
/// the same normal noise. Computed from expectedHalfWidth and the asymptotic standard error of the Hodges-Lehmann
/// estimate. Within 0.05 of simulated studies from 8 pairs on.
double chanceToFind(double effect, double noise, unsigned pairs, double confidence = 0.95);

/// The smallest number of pairs at which chanceToFind reaches `chance`; 0 if more than 100,000 are needed.
unsigned pairsToFind(double effect, double noise, double chance, double confidence = 0.95);

}  // namespace expc::stats
