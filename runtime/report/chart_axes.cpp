// Axes and colours of charts. An axis of values gets a unit, a scale (linear or logarithmic) and a domain with some
// air; an axis of a factor puts numbers where they lie if they can be told apart there. These choices are made here
// rather than by Vega, so that all charts of a grid agree.

#include <algorithm>
#include <cmath>
#include <map>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/numbers.h"
#include "runtime/report/chart.h"
#include "runtime/report/grid.h"
#include "runtime/report/paint.h"

namespace expc::report {
namespace {

using json::Array;
using json::Object;
using json::Value;

/// The palette of Okabe and Ito ("Color Universal Design", 2008), which people with any of the common colour
/// deficiencies can tell apart. Its yellow is left out, since it is hard to see on white.
constexpr const char* kPalette[kColours] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                            "#E69F00", "#56B4E9", "#8C6D31", "#7F7F7F"};
constexpr const char* kShapes[] = {"circle", "square", "triangle-up", "diamond", "triangle-down", "cross"};
/// Values whose largest is more than this many times the smallest get a logarithmic axis.
constexpr double kLogSpread = 30;
/// If the widest distance of neighbours is more than this many times the narrowest, an axis of numbers would put levels
/// on top of each other.
constexpr double kUneven = 12;

/// The narrowest and the widest distance of neighbours among sorted numbers.
struct Distances {
  double narrow = INFINITY, wide = 0;
  explicit Distances(const std::vector<double>& places) {
    for (size_t i = 1; i < places.size(); ++i) {
      narrow = std::min(narrow, places[i] - places[i - 1]);
      wide = std::max(wide, places[i] - places[i - 1]);
    }
  }
  double unevenness() const { return narrow > 0 ? wide / narrow : INFINITY; }
};

/// Round numbers (1, 2 or 5 times a power of ten apart) between `low` and `high`. Vega names hardly
/// any ticks on a logarithmic axis of little more than a decade.
std::vector<double> roundNumbers(double low, double high) {
  const double raw = (high - low) / 5, power = std::pow(10, std::floor(std::log10(raw)));
  const double step = power * (raw < 1.5 * power ? 1 : raw < 3.5 * power ? 2 : raw < 7.5 * power ? 5 : 10);
  std::vector<double> numbers;
  for (double number = std::ceil(low / step) * step; number <= high; number += step)
    numbers.push_back(std::round(number / step) * step);
  return numbers;
}

/// Returns where numbers lie on a logarithmic axis. With `linear_to` above 0 the axis is linear about 0 as far as that
/// (symlog), so that 0 and negative numbers have a place.
std::vector<double> logarithms(std::vector<double> places, double linear_to) {
  for (double& place : places)
    place = linear_to > 0 ? (place < 0 ? -1 : 1) * std::log1p(std::abs(place) / linear_to) : std::log(place);
  return places;
}

}  // namespace

void Extent::add(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return;
  low = std::min(low, *value);
  high = std::max(high, *value);
  least = std::min(least, *value);
}

void Extent::add(const std::optional<stats::Interval>& interval) {
  const double before = least;
  if (interval) add(interval->low), add(interval->high);
  least = before;
}

void Extent::add(const GridCell& cell) {
  add(cell.estimate);
  add(cell.interval);
  for (const double value : cell.values) add(value);
}

bool addEnds(Object& row, const std::string& low, const std::string& high,
             const std::optional<stats::Interval>& interval, double factor) {
  if (!interval || !std::isfinite(interval->low) || !std::isfinite(interval->high)) return false;
  row[low] = factor * interval->low;
  row[high] = factor * interval->high;
  return true;
}

ValueAxis valueAxis(const std::string& subject, const std::string& unit, const std::string& dimension, Extent extent,
                    std::optional<double> neutral) {
  const double largest = std::max(std::fabs(extent.low), std::fabs(extent.high));
  const base::DisplayUnit shown = base::displayUnit(largest, unit, dimension);
  const double factor = 1 / shown.size;
  const std::string symbol = unit == "x" ? "×" : shown.symbol;
  // Ratios are symmetric on a logarithmic axis: 0.5x is as far from 1x as 2x.
  const bool cut = extent.low <= 0 && extent.least > 0 && extent.high > kLogSpread * extent.least;
  if (cut) extent.low = extent.least;
  const bool log = extent.low > 0 && (neutral == 1.0 || extent.high > kLogSpread * extent.low);
  const std::string how = symbol + (!log ? "" : symbol.empty() ? "log" : ", log");
  extent.add(neutral);
  double low = extent.low, high = extent.high;
  Object settings{{"subject", jsonText(subject)},
                  {"unit", framed(" (", symbol, ")")},
                  {"title", jsonText(how.empty() ? subject : fmt::format("{} ({})", subject, how))},
                  {"nice", !log},
                  {"extent", Array{factor * low, factor * high}}};
  if (neutral) settings["neutral"] = factor * *neutral;
  if (log) {
    const double pad = std::exp(std::max(0.03, 0.06 * std::log(high / low)));
    // On a logarithmic axis the air is a factor.
    low /= pad, high *= pad;
    settings["scale"] = "log";
    if (cut) settings["cut"] = true;
    if (high < kLogSpread * low) {
      settings["ticks"] = Array(roundNumbers(factor * low, factor * high));
      settings["tick_text"] = "format(datum.value, '.3~g')";
    }
  } else {
    // Zero belongs to the axis of a magnitude unless the values are close together and far from it.
    const bool zero = !neutral && low >= 0 && low < 0.6 * high;
    const double pad = high > low ? 0.08 * (high - low) : std::max(0.05 * std::fabs(high), 1e-12);
    low = zero ? 0 : low - pad, high += pad;
  }
  settings["domain"] = Array{factor * low, factor * high};
  return {factor, std::move(settings)};
}

FactorAxis factorAxis(const Plan& plan, const std::string& factor, const std::set<unsigned>& shown) {
  const int index = base::findNamed(plan.factors, factor);
  const plan::Factor* declared = index < 0 ? nullptr : &plan.factors[index];
  std::vector<double> sorted;
  std::map<std::string, double> place_of;
  Array levels, places;
  for (const unsigned level : shown) {
    const std::string label = declared ? plan.levelLabel(size_t(index), level) : "";
    levels.push_back(jsonText(label));
    if (!declared || level >= declared->levels.size()) continue;
    // A truth value is no number, although readers of JSON would take it for one.
    const Value& value = declared->levels[level].value;
    if (value.kind() != Value::Number || !std::isfinite(*value.getAsNumber())) continue;
    sorted.push_back(*value.getAsNumber());
    places.push_back(sorted.back());
    place_of[label] = sorted.back();
  }
  // One level that is no number makes all of them words.
  const bool numbers = sorted.size() == shown.size() && sorted.size() > 1;
  FactorAxis axis;
  axis.settings = Object{
      {"factor", jsonText(factor)}, {"title", jsonText(factor)}, {"levels", std::move(levels)}, {"numbers", numbers}};
  if (!numbers) return axis;
  std::ranges::sort(sorted);
  const double low = sorted.front(), high = sorted.back(), even = Distances(sorted).unevenness();
  // With 0 or less among the levels, a linear axis is kept as long as it tells them apart; otherwise it is linear up to
  // the smallest magnitude.
  double linear_to = 0;
  for (const double place : sorted)
    if (low <= 0 && even > kUneven && place != 0)
      linear_to = linear_to > 0 ? std::min(linear_to, std::abs(place)) : std::abs(place);
  // Two levels are equally spaced on any axis. More get a logarithmic one if it spaces them more evenly.
  bool log = false;
  if (sorted.size() > 2 && (low > 0 || linear_to > 0)) {
    const std::vector<double> logs = logarithms(sorted, linear_to);
    log = Distances(logs).unevenness() < even;
    if (log) sorted = logs;
  }
  const Distances drawn(sorted);
  // Levels that no axis of numbers tells apart stand at equal distances, as words do.
  if (drawn.unevenness() > kUneven) return axis;
  axis.places = std::move(place_of);
  axis.narrowest = drawn.narrow / (sorted.back() - sorted.front());
  axis.settings["places"] = std::move(places);
  axis.settings["ends"] = Array{low, high};
  axis.settings["scale"] = linear_to > 0 ? "symlog" : log ? "log" : "linear";
  if (linear_to > 0) axis.settings["linear_to"] = linear_to;
  if (log) axis.settings["title"] = jsonText(factor + " (log)");
  return axis;
}

const char* colourOf(size_t level) { return kPalette[level % std::size(kPalette)]; }

Object seriesOf(const Plan& plan, const std::string& factor, const std::set<unsigned>& shown) {
  const size_t index = base::findNamed(plan.factors, factor);
  Array levels, colours, shapes;
  for (const unsigned one : shown) {
    levels.push_back(jsonText(plan.levelLabel(index, one)));
    const size_t level = one == plan::kInactive ? plan.factors[index].levels.size() : one;
    // Colours go by the level's index, not by its place in this chart, so that they agree between charts.
    colours.push_back(colourOf(level));
    shapes.push_back(kShapes[level % std::size(kShapes)]);
  }
  return Object{{"factor", jsonText(factor)},
                {"levels", std::move(levels)},
                {"colours", std::move(colours)},
                {"shapes", std::move(shapes)}};
}

}  // namespace expc::report
