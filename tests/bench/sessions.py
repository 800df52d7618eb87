#!/usr/bin/env python3
"""Sessions of pairs in NumPy, without the binary: how often they are judged, covered and pass, and whether a first folder's verdict stands.

Values are normal with a standard deviation of 1, and each session has an offset of its own (`apart`). Student's intervals stand for the
signed rank. The rules are those of runtime/stats/spreads.h and runtime/judge/looks.cpp. Needs numpy and scipy.

usage: sessions.py [--studies N] [--limit P]     (the p-value up to which two sessions count as different)"""
import argparse

import numpy
from scipy import stats

random = numpy.random.default_rng(1)


def reach(alpha, freedoms, error):
    return stats.t.isf(alpha / 2, freedoms) * error


def studies(n, sessions, pairs, apart, effect, limit):
    values = random.normal(effect, 1, (n, sessions, pairs)) + random.normal(0, apart, (n, sessions, 1))
    of_session, count = values.mean(2), sessions * pairs
    ratio = of_session.var(1, ddof=1) * pairs / values.var(2, ddof=1).mean(1)
    p = stats.f.sf(ratio, sessions - 1, count - sessions)
    centre, error = values.mean((1, 2)), values.reshape(n, count).std(1, ddof=1) / count**0.5
    of_means = of_session.std(1, ddof=1) / sessions**0.5
    two = sessions == 2

    def interval(alpha):
        """Its half-width; infinite where it is refused."""
        own = reach(alpha, count - 1, error)
        if two:
            return numpy.where(p <= limit, numpy.inf, own * numpy.maximum(1, ratio**0.5))
        return numpy.where(p <= 0.45, numpy.maximum(own, reach(alpha, sessions - 1, of_means)), own)

    half = interval(0.05)
    judged = numpy.isfinite(half)
    covered = abs(centre - effect) <= half
    first = values[:, 0]
    low = first.mean(1) - reach(0.05, pairs - 1, first.std(1, ddof=1) / pairs**0.5)
    stands = (low > 0) & (p > (limit if two else 0.2)) & (low <= centre) & (centre <= 2 * first.mean(1) - low)
    further = centre > interval(0.05 * 0.001 * (1 - 1 / sessions))  # the look at all, that nobody planned
    return (judged.mean(), covered[judged].mean(), (judged & ~covered).mean() / 2, (centre > half).mean(),
            numpy.median(half[judged]) / numpy.median(reach(0.05, count - 1, error)), (low > 0).mean(), further.mean(), (stands | further).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=40_000)
    parser.add_argument("--limit", type=float, default=0.05)
    options = parser.parse_args()
    print("sessions apart effect: judged, covered of these, missed on a side, passes, width of one session's; merged: first, last look, both")
    for sessions in (2, 3, 4):
        for apart, effect in ((0, 0), (0, 0.88), (0.3, 0), (0.5, 0), (1, 0), (2, 0)):
            print(sessions, apart, effect, *(f"{share:.3f}" for share in studies(options.studies, sessions, 10, apart, effect, options.limit)))


if __name__ == "__main__":
    main()
