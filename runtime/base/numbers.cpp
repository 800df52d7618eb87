// A style (unit, decimals, suffix) is chosen once for all numbers that stand together, and then each is written
// with it. Digits come from the largest number; intervals and bounds may add some, so that different numbers never
// look equal.

#include "runtime/base/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "runtime/base/format.h"

namespace expc::base {
namespace {

/// The way in which numbers that stand together are written: divided, rounded, with a suffix.
struct Style {
  double divisor = 1;
  std::string suffix;
  int decimals = 0;

  std::string write(double value) const {
    if (std::isnan(value)) return "?";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    const double shown = value / divisor;
    const double size = std::abs(shown);
    // A value too small for the decimals of its neighbours is written as zero; if there cannot be more decimals,
    // with an exponent instead.
    const bool tiny = shown != 0 && decimals >= kMaxDecimals && size < 0.5 * std::pow(10, -decimals);
    const std::string text =
        tiny || size >= 1e15 ? fmt::format("{:.3g}", shown) : fmt::format("{:.{}f}", shown, decimals);
    // "-0.00" would suggest a direction.
    const bool negative_zero = text.find_first_not_of("-0.") == std::string::npos && text[0] == '-';
    return (negative_zero ? text.substr(1) : text) + suffix;
  }
  static constexpr int kMaxDecimals = 9;
};

/// A unit and the magnitudes that it is used for.
struct Step {
  double below;  // the first magnitude that is too large for this unit
  double size;
  const char* symbol;
};

constexpr double kForever = 1e300;
/// Minutes and hours begin late, since 90 s reads better than 1.5 min.
constexpr std::array<Step, 6> kTime = {
    {{1e-6, 1e-9, "ns"}, {1e-3, 1e-6, "us"}, {1, 1e-3, "ms"}, {120, 1, "s"}, {7200, 60, "min"}, {kForever, 3600, "h"}}};
constexpr std::array<Step, 5> kBytes = {{{0x1p10, 1, "B"},
                                         {0x1p20, 0x1p10, "KiB"},
                                         {0x1p30, 0x1p20, "MiB"},
                                         {0x1p40, 0x1p30, "GiB"},
                                         {kForever, 0x1p40, "TiB"}}};
/// The first unit whose range holds the magnitude.
template <size_t N>
DisplayUnit scaled(const std::array<Step, N>& steps, double magnitude) {
  for (const Step& step : steps)
    if (magnitude < step.below) return {step.size, step.symbol};
  return {steps.back().size, steps.back().symbol};
}

/// A positive magnitude rounded to three significant digits, so that 999.9 ms is already 1.00 s.
double rounded(double magnitude) {
  if (magnitude == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(magnitude)) - 2);
  return std::round(magnitude / unit) * unit;
}

/// Whether values are shares or differences of shares, which are written in per cent.
bool isShare(std::string_view unit, std::string_view dimension) {
  return dimension == "share" || dimension == kPoints || unit == "%";
}

/// Values that are this many times smaller than the largest one beside them get a unit of their own.
constexpr double kFarBelow = 100;

/// Values keep the unit of their bound between these multiples of it.
constexpr double kLeastOfUnit = 0.01, kMostOfUnit = 1e5;

bool isWhole(double value) { return !std::isfinite(value) || value == std::floor(value); }

/// How values are to be written, apart from their size.
struct Manner {
  std::string_view unit, dimension;
  const Bounds& bounds;
  const ColumnStyle& column;
};

/// The unit for values of up to `magnitude`: that of their bound, else of their column, else their own.
DisplayUnit unitFor(double magnitude, const Manner& manner) {
  const auto& [unit, dimension, bounds, column] = manner;
  const double size = bounds.unit.size;
  if (size > 0 && (magnitude == 0 || (magnitude >= kLeastOfUnit * size && magnitude < kMostOfUnit * size)) &&
      !isShare(unit, dimension))
    return bounds.unit;
  const bool far_below = magnitude * kFarBelow < column.magnitude;
  return displayUnit(far_below || column.magnitude <= 0 ? magnitude : column.magnitude, unit, dimension);
}

/// The style for values, if their largest magnitude is taken to be `magnitude`.
Style styleFor(std::initializer_list<double> values, double magnitude, const Manner& manner) {
  const auto& [unit, dimension, bounds, column] = manner;
  const DisplayUnit shown_in = unitFor(magnitude, manner);
  Style style{shown_in.size, (shown_in.symbol == "x" || shown_in.symbol.empty() ? "" : " ") + shown_in.symbol, 0};
  const bool share = isShare(shown_in.symbol, dimension), time = unit == "s";
  if (!share && !time && unit != "x" && shown_in.size == 1 && std::ranges::all_of(values, isWhole)) return style;
  if (column.decimals >= 0 && magnitude * kFarBelow >= column.magnitude) {
    style.decimals = column.decimals;
    return style;
  }
  // Least decimals by kind; three significant digits decide beyond that.
  const int least = share ? 1 : unit == "x" ? 2 : 0;
  const double shown = rounded(magnitude / style.divisor);
  const int digits = shown == 0 ? 0 : 2 - int(std::floor(std::log10(shown) + 1e-12));
  // A share below 1 % keeps two decimals instead of three digits: 0.25 %.
  const int most = share ? 2 : Style::kMaxDecimals;
  style.decimals = std::clamp(std::min(digits, most), least, Style::kMaxDecimals);
  if (share && shown >= 1) style.decimals = 1;
  return style;
}

/// The largest magnitude of the finite values.
double magnitudeOf(std::initializer_list<double> values) {
  double largest = 0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

Style styleFor(std::initializer_list<double> values, const Manner& manner) {
  return styleFor(values, magnitudeOf(values), manner);
}

/// Adds decimals until every value that differs from a bound also prints differently. The slack is that of
/// plan::satisfies: values that count as equal may print alike.
void setApart(Style& style, std::initializer_list<double> values, const Bounds& bounds) {
  for (const double value : values) {
    for (const double bound : bounds.ends) {
      if (!std::isfinite(value) || !std::isfinite(bound)) continue;
      if (std::abs(value - bound) <= 1e-12 * std::abs(bound)) continue;
      while (style.decimals < Style::kMaxDecimals && style.write(value) == style.write(bound)) ++style.decimals;
    }
  }
}

/// Adds decimals until the interval's width has at least one digit.
void showWidth(Style& style, const Interval& interval) {
  const double width = (interval.high - interval.low) / style.divisor;
  if (!std::isfinite(width) || width <= 0) return;
  const int needed = -int(std::floor(std::log10(width)));
  style.decimals = std::clamp(needed, style.decimals, Style::kMaxDecimals);
}

std::string bracket(const Style& style, const Interval& interval) {
  return "[" + style.write(interval.low) + ", " + style.write(interval.high) + "]";
}

}  // namespace

DisplayUnit displayUnit(double magnitude, std::string_view unit, std::string_view dimension) {
  if (isShare(unit, dimension)) return {0.01, std::string(dimension == kPoints ? kPoints : "%")};
  // A time per something is scaled like a time: "31.6 us/sample".
  if (unit == "s" || unit.starts_with("s/")) {
    DisplayUnit time = magnitude == 0 ? DisplayUnit{1, "s"} : scaled(kTime, rounded(magnitude));
    time.symbol += unit.substr(1);
    return time;
  }
  if (unit != "B" && unit != "B/s") return {1, std::string(unit)};
  DisplayUnit bytes = scaled(kBytes, magnitude);
  bytes.symbol += unit.substr(1);
  return bytes;
}

std::string formatQuantity(double value, std::string_view unit, std::string_view dimension) {
  return formatAgainst(value, {}, unit, dimension);
}

std::string formatAgainst(double value, const Bounds& bounds, std::string_view unit, std::string_view dimension,
                          const ColumnStyle& column) {
  Style style = styleFor({value}, {unit, dimension, bounds, column});
  setApart(style, {value}, bounds);
  return style.write(value);
}

std::string formatInterval(const Interval& interval, std::string_view unit, std::string_view dimension,
                           const Bounds& bounds, const ColumnStyle& column) {
  Style style = styleFor({interval.low, interval.high}, {unit, dimension, bounds, column});
  showWidth(style, interval);
  setApart(style, {interval.low, interval.high}, bounds);
  return bracket(style, interval);
}

/// The style of an estimate with its interval: that of the estimate alone, unless its interval is of another size
/// altogether.
static Style styleOf(double estimate, const Interval& interval, const Manner& manner) {
  const auto values = {estimate, interval.low, interval.high};
  const double own = magnitudeOf({estimate}), largest = magnitudeOf(values);
  Style style = styleFor(values, own * 10 < largest ? largest : own, manner);
  showWidth(style, interval);
  return style;
}

EstimateText formatParts(double estimate, const Interval& interval, std::string_view unit, std::string_view dimension,
                         const Bounds& bounds, const ColumnStyle& column) {
  Style style = styleOf(estimate, interval, {unit, dimension, bounds, column});
  setApart(style, {estimate, interval.low, interval.high}, bounds);
  return {style.write(estimate), bracket(style, interval)};
}

std::string formatEstimate(double estimate, const Interval& interval, std::string_view unit, std::string_view dimension,
                           const Bounds& bounds) {
  const EstimateText text = formatParts(estimate, interval, unit, dimension, bounds);
  return text.estimate + " " + text.interval;
}

ColumnStyle columnStyle(std::span<const ColumnValue> values, std::string_view unit, std::string_view dimension,
                        const Bounds& bounds) {
  double least = INFINITY, most = 0;
  for (const ColumnValue& one : values)
    if (const double size = magnitudeOf({one.value}); size > 0)
      least = std::min(least, size), most = std::max(most, size);
  ColumnStyle column(most < 50 * least ? most : most <= 1000 * least ? least : 0);
  std::vector<int> decimals;
  for (const ColumnValue& one : values) {
    if (!std::isfinite(one.value) || magnitudeOf({one.value}) * kFarBelow < column.magnitude) continue;
    const Manner manner{unit, dimension, bounds, column};
    const Style style = one.interval ? styleOf(one.value, *one.interval, manner) : styleFor({one.value}, manner);
    decimals.push_back(style.decimals);
  }
  if (column.magnitude == 0 || decimals.empty()) return column;
  const size_t middle = (decimals.size() - 1) / 2;
  std::ranges::nth_element(decimals, decimals.begin() + ptrdiff_t(middle));
  column.decimals = decimals[middle];
  return column;
}

std::string durationText(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 0.95) return fmt::format("{:.0f} ms", 1000 * seconds);
  const auto whole = uint64_t(std::llround(seconds));
  // From 9.95 s on two digits would round to 10, so whole seconds are written.
  if (seconds < 9.95) return fmt::format("{:.2g} s", seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 600)
    return whole % 60 ? fmt::format("{} min {} s", whole / 60, whole % 60) : fmt::format("{} min", whole / 60);
  if (whole < 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (whole < 48 * 3600) {
    const uint64_t minutes = (whole + 30) / 60;
    return minutes % 60 ? fmt::format("{} h {} min", minutes / 60, minutes % 60) : fmt::format("{} h", minutes / 60);
  }
  return fmt::format("{:.1f} days", seconds / 86400);
}

std::string formatConfidence(double confidence) {
  const double percent = confidence * 100;
  // The fewest decimals that show the confidence exactly; typical ones need none or one.
  for (int decimals = 0; decimals < 4; ++decimals) {
    const double unit = std::pow(10, -decimals);
    const double rounded = std::round(percent / unit) * unit;
    if (std::abs(rounded - percent) < 1e-9 && (rounded < 100 || confidence >= 1))
      return fmt::format("{:.{}f} %", percent, decimals);
  }
  if (percent < 99) return fmt::format("{:.4g} %", percent);
  // Keep two digits of the missing part, so that nothing less than certain is called 100 %.
  const int decimals = 1 - int(std::floor(std::log10(100 - percent)));
  return fmt::format("{:.{}f} %", percent, std::clamp(decimals, 2, 14));
}

}  // namespace expc::base
