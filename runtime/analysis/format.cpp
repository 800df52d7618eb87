#include "runtime/analysis/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "runtime/stats/procedures.h"

namespace expc::analysis {
namespace {

/// How numbers of one place are written: divided, rounded, with a suffix.
struct Style {
  double divisor = 1;
  std::string suffix;
  int decimals = 0;

  std::string write(double value) const {
    if (std::isnan(value)) return "?";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    const double shown = value / divisor;
    const double size = std::abs(shown);
    // A value too small for the digits of its neighbours is zero among them.
    const bool tiny = shown != 0 && decimals >= kMaxDecimals && size < 0.5 * std::pow(10, -decimals);
    const std::string text =
        tiny || size >= 1e15 ? fmt::format("{:.3g}", shown) : fmt::format("{:.{}f}", shown, decimals);
    const bool negative_zero = text.find_first_not_of("-0.") == std::string::npos && text[0] == '-';
    return (negative_zero ? text.substr(1) : text) + suffix;
  }
  static constexpr int kMaxDecimals = 9;
};

struct Step {
  double below;  // the largest magnitude written with this divisor
  double divisor;
  const char* suffix;
};

constexpr double kForever = 1e300;
constexpr std::array<Step, 6> kTime = {{{1e-6, 1e-9, " ns"},
                                        {1e-3, 1e-6, " us"},
                                        {1, 1e-3, " ms"},
                                        {120, 1, " s"},
                                        {7200, 60, " min"},
                                        {kForever, 3600, " h"}}};
constexpr std::array<Step, 5> kBytes = {{{1024.0, 1, " B"},
                                         {1048576.0, 1024.0, " KiB"},
                                         {1073741824.0, 1048576.0, " MiB"},
                                         {1099511627776.0, 1073741824.0, " GiB"},
                                         {kForever, 1099511627776.0, " TiB"}}};

template <size_t N>
Style scaled(const std::array<Step, N>& steps, double magnitude) {
  for (const Step& step : steps) {
    if (magnitude < step.below) return {step.divisor, step.suffix, 0};
  }
  return {steps.back().divisor, steps.back().suffix, 0};
}

/// Three significant digits of a positive magnitude.
double rounded(double magnitude) {
  if (magnitude == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(magnitude)) - 2);
  return std::round(magnitude / unit) * unit;
}

bool isShare(std::string_view unit, std::string_view dimension) { return dimension == "share" || unit == "%"; }

/// The style for values up to `magnitude`; `whole`: all of them are whole numbers.
Style styleFor(double magnitude, bool whole, std::string_view unit, std::string_view dimension) {
  Style style;
  int least = 0;
  if (isShare(unit, dimension)) {
    style = {0.01, " %", 0};
    least = 1;
  } else if (unit == "x") {
    style = {1, "x", 0};
    least = 2;
  } else if (unit == "s") {
    style = magnitude == 0 ? Style{1, " s", 0} : scaled(kTime, rounded(magnitude));
  } else if (unit == "B" || unit == "B/s") {
    style = scaled(kBytes, magnitude);
    if (unit == "B/s") style.suffix += "/s";
    if (style.divisor == 1 && whole) return style;
  } else {
    if (!unit.empty()) style.suffix = " " + std::string(unit);
    if (whole) return style;
  }
  const double shown = rounded(magnitude / style.divisor);
  const int digits = shown == 0 ? 0 : 2 - static_cast<int>(std::floor(std::log10(shown) + 1e-12));
  // A share below 1 % keeps two decimals, not three digits: 0.25 %.
  const int most = isShare(unit, dimension) ? 2 : Style::kMaxDecimals;
  style.decimals = std::clamp(std::min(digits, most), least, Style::kMaxDecimals);
  if (isShare(unit, dimension) && shown >= 1) style.decimals = 1;
  return style;
}

double magnitudeOf(std::initializer_list<double> values) {
  double largest = 0;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

bool allWhole(std::initializer_list<double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v) || v == std::floor(v); });
}

/// Adds decimals until each value that differs from a bound also prints differently.
void setApart(Style& style, std::initializer_list<double> values, std::span<const double> bounds) {
  for (const double value : values) {
    for (const double bound : bounds) {
      if (!std::isfinite(value) || !std::isfinite(bound)) continue;
      if (std::abs(value - bound) <= 1e-12 * std::abs(bound)) continue;
      while (style.decimals < Style::kMaxDecimals && style.write(value) == style.write(bound)) ++style.decimals;
    }
  }
}

/// One digit at least of the interval's width.
void showWidth(Style& style, const stats::Interval& interval) {
  const double width = (interval.high - interval.low) / style.divisor;
  if (!std::isfinite(width) || width <= 0) return;
  const int needed = -static_cast<int>(std::floor(std::log10(width)));
  style.decimals = std::clamp(needed, style.decimals, Style::kMaxDecimals);
}

std::string bracket(const Style& style, const stats::Interval& interval) {
  return "[" + style.write(interval.low) + ", " + style.write(interval.high) + "]";
}

}  // namespace

std::string formatQuantity(double value, std::string_view unit, std::string_view dimension) {
  return formatAgainst(value, {}, unit, dimension);
}

std::string formatAgainst(double value, std::span<const double> bounds, std::string_view unit,
                          std::string_view dimension) {
  Style style = styleFor(magnitudeOf({value}), allWhole({value}), unit, dimension);
  setApart(style, {value}, bounds);
  return style.write(value);
}

std::string formatInterval(const stats::Interval& interval, std::string_view unit, std::string_view dimension,
                           std::span<const double> bounds) {
  Style style =
      styleFor(magnitudeOf({interval.low, interval.high}), allWhole({interval.low, interval.high}), unit, dimension);
  showWidth(style, interval);
  setApart(style, {interval.low, interval.high}, bounds);
  return bracket(style, interval);
}

EstimateText formatParts(double estimate, const stats::Interval& interval, std::string_view unit,
                         std::string_view dimension, std::span<const double> bounds) {
  // As the estimate is written alone, unless its interval is of another size altogether.
  const double own = magnitudeOf({estimate}), largest = magnitudeOf({estimate, interval.low, interval.high});
  Style style =
      styleFor(own * 10 < largest ? largest : own, allWhole({estimate, interval.low, interval.high}), unit, dimension);
  showWidth(style, interval);
  setApart(style, {estimate, interval.low, interval.high}, bounds);
  return {style.write(estimate), bracket(style, interval)};
}

std::string formatEstimate(double estimate, const stats::Interval& interval, std::string_view unit,
                           std::string_view dimension, std::span<const double> bounds) {
  const EstimateText text = formatParts(estimate, interval, unit, dimension, bounds);
  return text.estimate + " " + text.interval;
}

std::string formatWithoutFailure(unsigned n) {
  return fmt::format("of further ones at most {:.0f} % would fail (95 % confidence)",
                     100 * stats::zeroFailuresBound(n));
}

bool showsLittle(unsigned n) { return stats::zeroFailuresBound(n) > 0.5; }

std::string formatConfidence(double confidence) {
  const double percent = confidence * 100;
  for (int decimals = 0; decimals < 4; ++decimals) {
    const double unit = std::pow(10, -decimals);
    if (std::abs(std::round(percent / unit) * unit - percent) < 1e-9)
      return fmt::format("{:.{}f} %", percent, decimals);
  }
  return fmt::format("{:.4g} %", percent);
}

namespace {

const plan::MetricTerm* soleMetric(const plan::Term& term) {
  if (const auto* metric = std::get_if<plan::MetricTerm>(&term.node)) return metric;
  if (const auto* scale = std::get_if<plan::ScaleTerm>(&term.node)) return soleMetric(*scale->term);
  const auto* operation = std::get_if<plan::OperationTerm>(&term.node);
  if (operation && operation->op == plan::OperationTerm::Op::Difference) return soleMetric(*operation->operands[0]);
  return nullptr;
}

}  // namespace

std::string_view dimensionOf(const plan::Plan& plan, const plan::Cell& cell) {
  if (!cell.term) return "";
  const plan::MetricTerm* metric = soleMetric(*cell.term);
  const plan::Metric* declared = metric ? plan.findMetric(metric->metric) : nullptr;
  return declared ? std::string_view(declared->dimension) : std::string_view();
}

}  // namespace expc::analysis
