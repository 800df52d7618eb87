#include "runtime/stats/serial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/procedures.h"

namespace expc::stats {
namespace {

/// Blom's normal scores; equal values share the score of their middle rank.
std::vector<double> scoresOf(std::span<const double> values) {
  std::vector<double> scores = ranksOf(values);
  for (double& score : scores) score = normalQuantile((score - 0.375) / (double(values.size()) + 0.25));
  return scores;
}

}  // namespace

void SerialCorrelation::add(std::span<const double> values, std::span<const int64_t> sessions) {
  const std::vector<double> scores = scoresOf(values);
  for (size_t i = 0; i < scores.size(); ++i) {
    squares_ += scores[i] * scores[i];
    if (i > 0 && sessions[i] == sessions[i - 1]) products_ += scores[i] * scores[i - 1], ++neighbours_;
  }
  values_ += values.size();
  ++samples_;
}

double SerialCorrelation::value() const {
  if (squares_ <= 0 || neighbours_ == 0) return 0;
  constexpr double kMost = 0.99;
  const double n = double(values_) / double(samples_), error = 1 / std::sqrt(double(values_));
  const double found = products_ / squares_ + 1 / n;
  if (n <= 3 || found <= error / 4) return 0;
  return std::min(kMost, (found + 5 * error / 8) / (1 - 3 / n));
}

double inflationOf(double correlation, std::span<const int64_t> sessions) {
  if (correlation <= 0 || sessions.empty()) return 1;
  std::map<int64_t, size_t> sizes;
  for (const int64_t session : sessions) ++sizes[session];
  double sum = 0;
  for (const auto& [session, size] : sizes) {
    sum += double(size);
    double power = correlation;
    // The signs of two normal values of correlation r have one of 2 asin(r) / pi.
    for (size_t k = 1; k < size && power > 1e-9; ++k, power *= correlation)
      sum += 2 * double(size - k) * 2 / std::numbers::pi * std::asin(power);
  }
  return sum / double(sessions.size());
}

}  // namespace expc::stats
