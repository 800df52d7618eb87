#pragma once

// Numbers with units as people read them: 1.52x, 97.5 %, 12.3 ms, 1.2 GiB, 512 img/s. The one place that decides
// digits.

#include <span>
#include <string>
#include <string_view>

#include "runtime/base/interval.h"

namespace expc::base {

/// The dimension of what lies between two shares: 25 % is five points above 20 %, and a fourth more.
inline constexpr std::string_view kPoints = "points";

/// A unit that people read numbers in: of `size` base units.
struct DisplayUnit {
  double size = 1;
  std::string symbol;  // "ms", "GiB", "%", "x", "" (a plain number)
};
/// The one for values of up to `magnitude`.
DisplayUnit displayUnit(double magnitude, std::string_view unit, std::string_view dimension = "");

/// `value` in the base unit `unit` ("s", "B", "x", "px", "img/s", "", …) as text with three sensible digits, scaled to
/// a unit people use (ns to h, B to TiB). A `dimension` of "share" prints as per cent, kPoints as points. Ratios and
/// shares keep at least two and one decimals. Whole numbers without a unit print as they are. Infinite values
/// (timeouts) print as "inf" or
/// "-inf", NaN as "?".
std::string formatQuantity(double value, std::string_view unit, std::string_view dimension = "");

/// The two ends with one unit and enough digits to tell them apart: "[1.48x, 1.57x]", "[12.31 ms, 12.38 ms]". With
/// `bounds`, more digits where an end would otherwise print like a bound that it is not. `beside`, here and below: the
/// largest magnitude in the same table, whose unit all share that are no hundred times smaller; 0: nothing is beside
/// it.
std::string formatInterval(const Interval& interval, std::string_view unit, std::string_view dimension = "",
                           std::span<const double> bounds = {}, double beside = 0);

/// An estimate and its interval with one unit and the same digits: "1.52x" and "[1.48x, 1.57x]". With `bounds`, more
/// digits where one of them would otherwise print like a bound that it is not.
struct EstimateText {
  std::string estimate, interval;
};
EstimateText formatParts(double estimate, const Interval& interval, std::string_view unit,
                         std::string_view dimension = "", std::span<const double> bounds = {}, double beside = 0);
/// Both: "1.52x [1.48x, 1.57x]".
std::string formatEstimate(double estimate, const Interval& interval, std::string_view unit,
                           std::string_view dimension = "", std::span<const double> bounds = {});

/// `value` with as many more digits as it takes to print differently from `bounds`: 1.1996 against a bound of 1.2
/// prints as "1.1996x" and not as "1.20x". Equal values print as formatQuantity does.
std::string formatAgainst(double value, std::span<const double> bounds, std::string_view unit,
                          std::string_view dimension = "", double beside = 0);

/// "250 ms", "4.2 s", "45 s", "3 min 20 s", "2 h 30 min", "4.0 days".
std::string durationText(double seconds);

/// "95 %", "99.9 %".
std::string formatConfidence(double confidence);

}  // namespace expc::base
