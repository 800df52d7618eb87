// Intervals are ordered by their error, so every question is a binary search over k, which asks for O(log n)
// intervals. Each transformation keeps that order and wraps the functions of the object that it starts from.

#include "runtime/stats/nested_intervals.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <ranges>
#include <utility>
#include <vector>

namespace expc::stats {
namespace {

/// The first of 0 .. count - 1 where `holds` is true, which it stays from there on; `count` where it never is.
template <class Holds>
size_t firstWhere(size_t count, Holds holds) {
  const auto all = std::views::iota(size_t{0}, count);
  return size_t(std::ranges::partition_point(all, std::not_fn(holds)) - all.begin());
}

}  // namespace

NestedIntervals::NestedIntervals(std::optional<double> estimate, size_t count, Alpha alpha, Ends ends)
    : estimate_(estimate),
      // The search is left out if the last interval has a confidence: simulations make very many objects.
      count_(count > 0 && alpha(count - 1) < 1 ? count : firstWhere(count, [&](size_t k) { return alpha(k) >= 1; })),
      alpha_(std::move(alpha)),
      ends_(std::move(ends)) {}

NestedIntervals NestedIntervals::exactly(double value) {
  return {value, 1, [](size_t) { return 0.0; }, [value](size_t) { return std::pair(value, value); }};
}

std::optional<Interval> NestedIntervals::interval(double confidence) const {
  // `past` is the first interval that misses too often; the one before it is the narrowest that does not.
  const size_t past = firstWhere(count_, [&](size_t k) { return !significant(alpha_(k), 1.0 - confidence); });
  if (past == 0) return std::nullopt;
  const auto [low, high] = ends_(past - 1);
  return Interval{low, high, 1.0 - alpha_(past - 1)};
}

double NestedIntervals::smallestAlpha(const std::function<bool(double, double)>& holds) const {
  const size_t first = firstWhere(count_, [&](size_t k) {
    const auto [low, high] = ends_(k);
    return holds(low, high);
  });
  return first == count_ ? 1.0 : alpha_(first);
}

NestedIntervals NestedIntervals::afterWidthStop() const {
  if (count_ == 0) return *this;
  return {estimate_, count_, [alpha = alpha_](size_t k) { return alpha(k) / kWidthStopShare; }, ends_};
}

NestedIntervals NestedIntervals::reaching(std::function<std::pair<double, double>(double alpha)> other) const {
  NestedIntervals result = *this;
  if (count_ > 0)
    result.ends_ = [alpha = alpha_, ends = std::move(result.ends_), other = std::move(other)](size_t k) {
      const auto [low, high] = ends(k);
      const auto [lower, higher] = other(alpha(k));
      return std::pair(std::min(low, lower), std::max(high, higher));
    };
  return result;
}

NestedIntervals NestedIntervals::estimateAlone() const {
  NestedIntervals result;
  result.estimate_ = estimate_;
  return result;
}

NestedIntervals NestedIntervals::stretched(std::function<double(double)> factor, Scale scale) const {
  NestedIntervals result = *this;
  if (count_ > 0 && estimate_ && std::isfinite(*estimate_))
    result.ends_ = [alpha = alpha_, ends = std::move(result.ends_), centre = *estimate_,
                    by_ratio = scale == Scale::Logarithmic && *estimate_ > 0, factor = std::move(factor)](size_t k) {
      const auto [low, high] = ends(k);
      const double times = factor(alpha(k));
      const auto away = [&](double end) {
        return by_ratio && end >= 0 ? centre * std::pow(end / centre, times) : centre + times * (end - centre);
      };
      return std::pair(away(low), away(high));
    };
  return result;
}

NestedIntervals NestedIntervals::mapped(std::function<double(double)> increasing) const {
  NestedIntervals result = *this;
  if (result.estimate_) result.estimate_ = increasing(*result.estimate_);
  if (count_ > 0)
    result.ends_ = [ends = std::move(result.ends_), increasing = std::move(increasing)](size_t k) {
      const auto [low, high] = ends(k);
      return std::pair(increasing(low), increasing(high));
    };
  return result;
}

NestedIntervals NestedIntervals::computed(size_t questions) const {
  if (count_ == 0 || count_ > questions * std::bit_width(count_)) return *this;
  std::vector<std::pair<double, double>> all(count_);
  for (size_t k = 0; k < count_; ++k) all[k] = ends_(k);
  NestedIntervals result = *this;
  result.ends_ = [all = std::make_shared<const decltype(all)>(std::move(all))](size_t k) { return (*all)[k]; };
  return result;
}

}  // namespace expc::stats
