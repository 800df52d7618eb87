#!/usr/bin/env python3
"""Prints the figures of scipy_test.cpp and serial_test.cpp that SciPy has no function for, from NumPy and SciPy alone: the median's
interpolated intervals (Hettmansperger & Sheather 1986) and how much wider serial correlation makes an interval.
usage: estimator_figures.py     (NumPy 2.4, SciPy 1.17)"""
import numpy as np
from scipy import stats


def differences(n):
    return np.array([(37 * i * i % 211) / 100.0 - 0.9 for i in range(1, n + 1)])


def median_interval(values, confidence):
    """The level of [x(k), x(n+1-k)] is that of the binomial; between two of them the ends are weighted so that the level is met."""
    n, values = len(values), np.sort(values)
    level = lambda k: 1 - 2 * stats.binom.cdf(k - 1, n, 0.5)
    k = max(k for k in range(1, n // 2 + 1) if level(k) >= confidence)
    part = (level(k) - confidence) / (level(k) - level(k + 1))
    part = np.floor(part * 64) / 64  # sixty-four intervals lie between two levels
    weight = (n - k) * part / (k + (n - 2 * k) * part)
    return values[k - 1] + weight * (values[k] - values[k - 1]), values[n - k] + weight * (values[n - k - 1] - values[n - k])


def correlation_at_most(values, alone):
    n = len(values)
    scores = stats.norm.ppf((stats.rankdata(values) - 0.375) / (n + 0.25))
    scores -= scores.mean()
    found, error = (scores[1:] @ scores[:-1]) / (scores @ scores) + 1 / n, n**-0.5
    seen = found / error
    assumed = alone and n < 8
    if seen <= (0.6 - 50 / n**2 if alone else 1.5 if n < 16 else 1.25) and not assumed:
        return 0
    clearly = np.clip(seen - 1, 0, 1) * min(1, 20 / n)
    errors = 1.3 + 0.5 * clearly if alone else 0.25 + 1.6 * clearly
    return np.clip((found + errors * error) / max(0.25, 1 - 3 / n), 0.6 if assumed else 0, 0.985)


def stretch(n, correlation, alpha):
    lags = np.arange(1, n)
    worth = max(1.3, n / (1 + 2 * np.sum((1 - lags / n) * correlation**lags)))
    freedoms = min(n - 1, max(worth - 1, 4))
    return np.sqrt((n - 1) / (worth - 1)) * stats.t.isf(alpha / 2, freedoms) / stats.t.isf(alpha / 2, n - 1)


if __name__ == "__main__":
    for n in (12, 50, 60):
        for confidence in (0.95, 0.99):
            print("interval", n, confidence, *map(repr, map(float, median_interval(differences(n), confidence))))
    slow = lambda n: np.array([0.25 * np.sin(i / 3) + (37 * i * i % 211) / 211 for i in range(n)])
    for n in (6, 12, 20, 60):
        print("at most", n, float(correlation_at_most(slow(n), True)), float(correlation_at_most(slow(n), False)))
    for n, correlation, alpha in ((10, 0.5, 0.05), (20, 0.9, 0.05), (50, 0.98, 0.01)):
        print("stretch", n, correlation, alpha, float(stretch(n, correlation, alpha)))
