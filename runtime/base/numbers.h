#pragma once

// Writes numbers with units as people read them: 1.52x, 97.5 %, 12.3 ms, 1.2 GiB, 512 img/s. Values come in base
// units; this is the only place that decides on units and digits.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/interval.h"

namespace expc::base {

/// The dimension of differences between shares, in percentage points: 25 % is five points above 20 %.
inline constexpr std::string_view kPoints = "points";

/// A unit in which people read numbers: it is worth `size` base units.
struct DisplayUnit {
  double size = 1;
  std::string symbol;  // "ms", "GiB", "%", "x", "" (a plain number)
};
/// The unit for values of up to `magnitude`.
DisplayUnit displayUnit(double magnitude, std::string_view unit, std::string_view dimension = "");

/// A value in the base unit `unit` ("s", "B", "x", "px", "img/s", "", …) as text with three significant digits, in
/// a unit that people use (ns to h, B to TiB). With the `dimension` "share" it is in per cent, with kPoints in
/// percentage points. Ratios keep at least two decimals, shares one. Whole numbers without a unit stay as they are.
/// Infinite values (timeouts) give "inf" or "-inf", NaN "?".
std::string formatQuantity(double value, std::string_view unit, std::string_view dimension = "");

/// The numbers that a value is held against: it gets more digits where it would print like one that it does not equal.
struct Bounds {
  std::vector<double> ends;
  /// The unit in which they are written, which values take, unless they are far smaller or larger. Size 0: unknown.
  DisplayUnit unit = {0, ""};

  Bounds(std::vector<double> ends = {}, DisplayUnit unit = {0, ""}) : ends(std::move(ends)), unit(std::move(unit)) {}
};

/// The style that the numbers of one column share.
struct ColumnStyle {
  /// The magnitude whose unit they have, unless they are a hundred times smaller. 0: there is no column.
  double magnitude = 0;
  /// Their decimals, unless an interval needs more; below 0: those of each number.
  int decimals = -1;

  ColumnStyle(double magnitude = 0, int decimals = -1) : magnitude(magnitude), decimals(decimals) {}
};

/// Both ends in one unit, with enough digits to tell them apart: "[1.48x, 1.57x]", "[12.31 ms, 12.38 ms]".
std::string formatInterval(const Interval& interval, std::string_view unit, std::string_view dimension = "",
                           const Bounds& bounds = {}, const ColumnStyle& column = {});

/// An estimate and its interval in one unit, with the same digits: "1.52x" and "[1.48x, 1.57x]".
struct EstimateText {
  std::string estimate, interval;
};
EstimateText formatParts(double estimate, const Interval& interval, std::string_view unit,
                         std::string_view dimension = "", const Bounds& bounds = {}, const ColumnStyle& column = {});
/// Both in one text: "1.52x [1.48x, 1.57x]".
std::string formatEstimate(double estimate, const Interval& interval, std::string_view unit,
                           std::string_view dimension = "", const Bounds& bounds = {});

/// A value with as many more digits as it needs to print differently from `bounds`: 1.1996 against a bound of 1.2
/// gives "1.1996x" and not "1.20x". Equal values print as in formatQuantity.
std::string formatAgainst(double value, const Bounds& bounds, std::string_view unit, std::string_view dimension = "",
                          const ColumnStyle& column = {});

/// A number of a column, with its interval where it has one.
struct ColumnValue {
  double value = 0;
  std::optional<Interval> interval;
};
/// The style of a column: the unit of its largest value, if the others are not small beside it, and the decimals that
/// half of the values have by themselves.
ColumnStyle columnStyle(std::span<const ColumnValue> values, std::string_view unit, std::string_view dimension,
                        const Bounds& bounds);

/// A duration: "250 ms", "4.2 s", "45 s", "3 min 20 s", "2 h 30 min", "4.0 days"; "?" if it is negative or not
/// finite.
std::string durationText(double seconds);

/// A confidence: "95 %", "99.9 %". It never rounds up to 100 %.
std::string formatConfidence(double confidence);

}  // namespace expc::base
