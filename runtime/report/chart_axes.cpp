#include "runtime/report/chart_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/analysis/format.h"
#include "runtime/plan/find.h"
#include "runtime/plan/json.h"
#include "runtime/report/grid.h"

namespace expc::report {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// Okabe and Ito's palette, told apart by people with any of the common colour deficiencies; yellow is left out for
/// white paper.
constexpr const char* kPalette[kColours] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                            "#E69F00", "#56B4E9", "#8C6D31", "#7F7F7F"};
constexpr const char* kShapes[] = {"circle", "square", "triangle-up", "diamond", "triangle-down", "cross"};
/// Values whose largest is more than this many times the smallest get a logarithmic axis.
constexpr double kLogSpread = 30;
/// Where the widest distance of neighbours is more than this many times the narrowest, an axis of numbers would put
/// levels on top of each other.
constexpr double kUneven = 12;

/// The widest distance of neighbours over the narrowest.
double unevenness(const std::vector<double>& places) {
  double narrow = HUGE_VAL, wide = 0;
  for (size_t i = 1; i < places.size(); ++i) {
    narrow = std::min(narrow, places[i] - places[i - 1]);
    wide = std::max(wide, places[i] - places[i - 1]);
  }
  return narrow > 0 ? wide / narrow : HUGE_VAL;
}

/// Round numbers between these, about six at equal distances; a library's logarithmic axis of little more than a decade
/// names hardly any.
std::vector<double> roundNumbers(double low, double high) {
  const double raw = (high - low) / 5, power = std::pow(10, std::floor(std::log10(raw)));
  const double step = power * (raw < 1.5 * power ? 1 : raw < 3.5 * power ? 2 : raw < 7.5 * power ? 5 : 10);
  std::vector<double> numbers;
  for (double number = std::ceil(low / step) * step; number <= high; number += step)
    numbers.push_back(std::round(number / step) * step);
  return numbers;
}

/// Where these lie on a logarithmic axis, which about 0 is linear as far as `linear_to`, if that is above 0.
std::vector<double> logarithms(std::vector<double> places, double linear_to) {
  for (double& place : places)
    place = linear_to > 0 ? (place < 0 ? -1 : 1) * std::log1p(std::abs(place) / linear_to) : std::log(place);
  return places;
}

}  // namespace

AxisUnit axisUnit(const std::string& unit, const std::string& dimension, double largest) {
  const analysis::DisplayUnit shown = analysis::displayUnit(largest, unit, dimension);
  return {1 / shown.size, unit == "x" ? "×" : shown.symbol};
}

void Extent::add(double value) {
  if (!std::isfinite(value)) return;
  low = std::min(low, value);
  high = std::max(high, value);
}

void Extent::add(const std::optional<double>& value) {
  if (value) add(*value);
}

ValueAxis valueAxis(const std::string& subject, const std::string& unit, const std::string& dimension, Extent extent,
                    std::optional<double> neutral) {
  const bool log = extent.low > 0 && (neutral == 1.0 || extent.high > kLogSpread * extent.low);
  return {subject, axisUnit(unit, dimension, extent.magnitude()), extent, neutral, log};
}

std::string ValueAxis::title() const {
  const std::string how = unit.symbol.empty() || !log ? unit.symbol + (log ? "log" : "") : unit.symbol + ", log";
  return how.empty() ? subject : fmt::format("{} ({})", subject, how);
}

Object ValueAxis::scale() const {
  double low = extent.low, high = extent.high;
  if (neutral) low = std::min(low, *neutral), high = std::max(high, *neutral);
  if (log) {
    const double pad = std::max(0.03, 0.06 * std::log(high / low));
    return Object{{"type", "log"},
                  {"domain", Array{unit.factor * low * std::exp(-pad), unit.factor * high * std::exp(pad)}},
                  {"nice", false}};
  }
  // Zero belongs to the axis of a magnitude unless the values are close together and far from it.
  const bool zero = !neutral && low >= 0 && low < 0.6 * high;
  const double pad = high > low ? 0.08 * (high - low) : std::max(0.05 * std::fabs(high), 1e-12);
  return Object{{"domain", Array{unit.factor * (zero ? 0 : low - pad), unit.factor * (high + pad)}},
                {"nice", true},
                {"zero", zero}};
}

Object ValueAxis::encoding(llvm::StringRef field) const {
  Object encoding = fieldOf(field, "quantitative");
  encoding["scale"] = scale();
  Object axis{{"title", plan::jsonText(title())}, {"tickCount", 6}};
  const Object* shown = encoding.getObject("scale");
  const Array& ends = *shown->getArray("domain");
  if (const double low = *ends[0].getAsNumber(), high = *ends[1].getAsNumber(); log && high < kLogSpread * low) {
    axis["values"] = Array(roundNumbers(low, high));
    axis["labelExpr"] = "format(datum.value, '.3~g')";
  }
  encoding["axis"] = std::move(axis);
  return encoding;
}

FactorAxis factorAxis(const plan::Plan& plan, const std::string& factor, const std::set<std::string>& labels) {
  FactorAxis axis;
  axis.title = factor;
  std::map<std::pair<size_t, std::string>, std::optional<double>> levels;
  const plan::Factor* declared = plan::named(plan.factors, factor);
  for (const std::string& label : labels) {
    const size_t index = levelIndex(plan, factor, label);
    const bool known = declared && index < declared->levels.size();
    // A truth value is no number, although JSON readers would take it for one.
    const Value* value = known ? &declared->levels[index].value : nullptr;
    const auto number = value && value->kind() == Value::Number ? value->getAsNumber() : std::nullopt;
    levels[{index, label}] = number ? std::optional<double>(*number) : std::nullopt;
  }
  std::vector<double> places;
  for (const auto& [level, number] : levels) {
    axis.labels.push_back(level.second);
    if (number && std::isfinite(*number)) places.push_back(*number);
  }
  axis.numbers = places.size() == axis.labels.size() && places.size() > 1;
  if (!axis.numbers) return axis;
  std::vector<double> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  const double even = unevenness(sorted);
  // Where 0 is among them a linear axis is kept as long as it tells them apart.
  for (const double place : sorted)
    if (sorted[0] <= 0 && even > kUneven && place != 0)
      axis.linear_to = axis.linear_to > 0 ? std::min(axis.linear_to, std::abs(place)) : std::abs(place);
  const double even_log =
      sorted[0] > 0 || axis.linear_to > 0 ? unevenness(logarithms(sorted, axis.linear_to)) : HUGE_VAL;
  axis.log = even_log < even && sorted.size() > 2;
  if ((axis.log ? even_log : even) <= kUneven) axis.places = std::move(places);
  return axis;
}

void FactorAxis::place(Object& datum, const std::string& label) const {
  datum[name] = plan::jsonText(label);
  if (places.empty()) return;
  const size_t at = static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
  datum[name + "p"] = places[at];
}

Object FactorAxis::encoding(double padding) const {
  Object axis{{"title", plan::jsonText(!places.empty() && log ? title + " (log)" : title)},
              {"labelAngle", 0},
              {"grid", false},
              {"labelLimit", 160}};
  if (places.empty()) {
    Object encoding = fieldOf(name, "ordinal");
    encoding["sort"] = plan::jsonTexts(labels);
    encoding["scale"] = Object{{"type", "point"}, {"domain", plan::jsonTexts(labels)}, {"padding", 0.5}};
    encoding["axis"] = std::move(axis);
    return encoding;
  }
  Object encoding = fieldOf(name + "p", "quantitative");
  const auto [low, high] = std::minmax_element(places.begin(), places.end());
  encoding["scale"] = Object{{"type", linear_to > 0 ? "symlog"
                                      : log         ? "log"
                                                    : "linear"},
                             {"domain", Array{*low, *high}},
                             {"nice", false},
                             {"zero", false},
                             {"padding", padding}};
  if (log) encoding["scale"].getAsObject()->erase("zero");
  if (linear_to > 0) encoding["scale"].getAsObject()->insert({"constant", linear_to});
  axis["values"] = Array(places);
  axis["labelExpr"] = fmt::format("{0}Labels[indexof({0}Places, datum.value)]", name);
  axis["labelOverlap"] = "greedy";
  encoding["axis"] = std::move(axis);
  return encoding;
}

Array FactorAxis::parameters() const {
  if (places.empty()) return {};
  return Array{Object{{"name", name + "Labels"}, {"value", plan::jsonTexts(labels)}},
               Object{{"name", name + "Places"}, {"value", Array(places)}}};
}

double FactorAxis::narrowest() const {
  if (labels.size() < 2) return 1;
  if (places.empty()) return 1.0 / static_cast<double>(labels.size());
  std::vector<double> sorted = log ? logarithms(places, linear_to) : places;
  std::sort(sorted.begin(), sorted.end());
  double narrow = HUGE_VAL;
  for (size_t i = 1; i < sorted.size(); ++i) narrow = std::min(narrow, sorted[i] - sorted[i - 1]);
  return narrow / (sorted.back() - sorted.front());
}

const char* colourOf(size_t look) { return kPalette[look % std::size(kPalette)]; }
const char* shapeOf(size_t look) { return kShapes[look % std::size(kShapes)]; }

// A JSON value only points to a StringRef's text, so names are copied.
Object fieldOf(llvm::StringRef name, llvm::StringRef type) {
  return Object{{"field", name.str()}, {"type", type.str()}};
}

Object titled(llvm::StringRef name, llvm::StringRef type, const std::string& title) {
  return Object{{"field", name.str()}, {"type", type.str()}, {"title", plan::jsonText(title)}};
}

Object layerOf(Object mark, Object encoding, llvm::StringRef data) {
  return Object{{"data", Object{{"name", data.str()}}}, {"mark", std::move(mark)}, {"encoding", std::move(encoding)}};
}

Object noteBelow(const std::string& text) {
  return Object{{"text", plan::jsonText(text)}, {"orient", "bottom"}, {"anchor", "start"},      {"fontSize", 12},
                {"fontWeight", "normal"},       {"offset", 8},        {"color", "currentColor"}};
}

}  // namespace expc::report
