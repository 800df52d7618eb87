#include "runtime/stats/symmetry.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/stats/distributions.h"

namespace expc::stats {
namespace {

constexpr size_t kFewest = 5, kPart = 128;

struct Skew {
  double eta = 0, variance = 0;
};

double sign(double value) { return value > 0 ? 1 : value < 0 ? -1 : 0; }

/// 1/3 for a triple with its long side above, -1/3 below, 0 for an even one.
double skewOf(double a, double b, double c) {
  return (sign(a + b - 2 * c) + sign(a + c - 2 * b) + sign(b + c - 2 * a)) / 3;
}

double choose(double n, unsigned k) { return k == 0 ? 1 : choose(n - 1, k - 1) * n / k; }

/// The U-statistic of one part, with the variance of Hollander & Wolfe (3.113): from the means of the triples that
/// share a value, and two values.
Skew triples(std::span<const double> values) {
  const size_t n = values.size();
  std::vector<double> ofOne(n), ofTwo(n * n);
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      for (size_t k = j + 1; k < n; ++k) {
        const double skew = skewOf(values[i], values[j], values[k]);
        sum += skew;
        for (const size_t one : {i, j, k}) ofOne[one] += skew;
        for (const size_t two : {i * n + j, i * n + k, j * n + k}) ofTwo[two] += skew;
      }
    }
  }
  const auto count = static_cast<double>(n);
  const double eta = sum / choose(count, 3);
  double one = 0, two = 0;
  for (size_t i = 0; i < n; ++i) {
    one += std::pow(ofOne[i] / choose(count - 1, 2) - eta, 2);
    for (size_t j = i + 1; j < n; ++j) two += std::pow(ofTwo[i * n + j] / (count - 2) - eta, 2);
  }
  const double variance =
      (3 * choose(count - 3, 2) * one / count + 3 * (count - 3) * two / choose(count, 2) + 1.0 / 9 - eta * eta) /
      choose(count, 3);
  return {eta, variance};
}

}  // namespace

double skewnessP(std::span<const double> values) {
  if (values.size() < kFewest) return 1;
  // Large enough to be farther than anything measured, and small enough to be added.
  constexpr double kFar = 1e300;
  std::vector<double> finite;
  for (const double value : values) finite.push_back(std::clamp(value, -kFar, kFar));
  const size_t parts = (finite.size() + kPart - 1) / kPart;
  double eta = 0, variance = 0;
  for (size_t part = 0; part < parts; ++part) {
    const size_t begin = finite.size() * part / parts, end = finite.size() * (part + 1) / parts;
    const Skew skew = triples(std::span(finite).subspan(begin, end - begin));
    eta += skew.eta;
    variance += skew.variance;
  }
  if (eta == 0 || variance <= 0) return eta == 0 ? 1 : 0;
  return 2 * normalCdf(-std::abs(eta) / std::sqrt(variance));
}

}  // namespace expc::stats
