#pragma once

// What intervals and verdicts keep of their promises under noise of several shapes, found by simulation.

#include <cstdint>
#include <string>
#include <vector>

namespace expc::simulate {

/// A claim of one pair at its bound, under one shape of noise and one design.
struct Promise {
  std::string noise, design;
  double coverage = 0;      // share of the intervals that cover the median of the ratios
  double false_passes = 0;  // share of the studies that pass, and that fail, though the claim is at its bound
  double false_fails = 0;
  double repetitions = 0;     // mean
  double least_coverage = 0;  // what the docs promise
  bool kept = false;          // coverage and false decisions, within what chance does in so many studies
};

/// Simulates `studies` studies of each shape and design. The same seed gives the same numbers.
std::vector<Promise> examineStatistics(unsigned studies, uint64_t seed);

}  // namespace expc::simulate
