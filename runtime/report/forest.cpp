#include "runtime/report/forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/analysis/format.h"
#include "runtime/plan/evaluate.h"
#include "runtime/report/chart.h"
#include "runtime/report/html_text.h"

namespace expc::report {
namespace {

constexpr double kWidth = 260, kHeight = 26, kMiddle = kHeight / 2;
constexpr double kMargin = 8;
/// Dots of single blocks beyond this are not drawn: they would be a bar.
constexpr size_t kMaxDots = 200;

std::string upright(const char* style, double x) {
  return fmt::format("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"0\" y2=\"{2}\"/>", style, x, kHeight);
}

}  // namespace

Forest::Forest(const std::vector<GridCell>& cells, std::optional<plan::Bound> bound, std::optional<double> neutral,
               bool ratio, std::string unit, std::string dimension)
    : bound_(std::move(bound)), neutral_(neutral), unit_(std::move(unit)), dimension_(std::move(dimension)) {
  Extent extent;
  for (const GridCell& cell : cells) extent.add(cell);
  if (extent.empty()) return;
  empty_ = false;
  if (bound_)
    for (const double end : plan::ends(*bound_)) extent.add(end);
  extent.add(neutral_);
  low_ = extent.low;
  high_ = extent.high;
  log_ = ratio && low_ > 0;
  if (log_) low_ = std::log(low_), high_ = std::log(high_);
  const double span = high_ - low_;
  const double pad = span > 0 ? 0.06 * span : std::max(0.05, 0.05 * std::fabs(high_));
  low_ -= pad;
  high_ += pad;
}

double Forest::at(double value) const {
  const double position = log_ ? (value > 0 ? std::log(value) : -HUGE_VAL) : value;
  const double share = (position - low_) / (high_ - low_);
  return kMargin + (kWidth - 2 * kMargin) * std::clamp(share, -0.02, 1.02);
}

std::string Forest::marks() const {
  std::string out;
  if (bound_) {
    using enum plan::Relation;
    const plan::Relation relation = bound_->relation;
    double from = relation == LessEqual || relation == Less ? 0 : at(bound_->low);
    double to =
        relation == GreaterEqual || relation == Greater ? kWidth : at(relation == Within ? bound_->high : bound_->low);
    if (relation == Equal) from -= 0.75, to += 0.75;
    out += fmt::format("<rect class=\"ok\" x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{}\"/>", from,
                       std::max(0.0, to - from), kHeight);
    for (const double end : plan::ends(*bound_)) out += upright("bound", at(end));
  }
  if (neutral_) out += upright("neutral", at(*neutral_));
  return out;
}

std::string Forest::row(const GridCell& cell) const {
  if (empty_) return "";
  std::string out = fmt::format(
      "<svg class=\"forest\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">",
      kWidth, kHeight, html(valueCell(cell, unit_, dimension_).inText(" ")));
  out += marks();
  for (size_t i = 0; i < cell.values.size() && cell.values.size() <= kMaxDots; ++i)
    if (std::isfinite(cell.values[i]))
      out +=
          fmt::format("<circle class=\"block\" cx=\"{:.1f}\" cy=\"{}\" r=\"2.2\"/>", at(cell.values[i]), kMiddle + 7.5);
  if (cell.interval)
    out += fmt::format("<line class=\"interval\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>",
                       at(cell.interval->low), at(cell.interval->high), kMiddle - 2, kMiddle - 2);
  if (cell.estimate && !std::isnan(*cell.estimate))
    out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{}\" r=\"4.2\"/>",
                       cell.interval ? "estimate" : "estimate alone", at(*cell.estimate), kMiddle - 2);
  return out + "</svg>";
}

std::string Forest::axis() const {
  if (empty_) return "";
  std::string out = fmt::format(
      "<svg class=\"forest axis\" viewBox=\"0 0 {0} 16\" width=\"{0}\" height=\"16\" aria-hidden=\"true\">"
      "<line class=\"scale\" x1=\"{1}\" x2=\"{2}\" y1=\"0.5\" y2=\"0.5\"/>",
      kWidth, kMargin, kWidth - kMargin);
  std::vector<double> named;  // where something stands already
  const auto tick = [&](const std::string& text, double x, std::string_view style) {
    const char* anchor = x < 0.2 * kWidth ? "start" : x > 0.8 * kWidth ? "end" : "middle";
    out += fmt::format("<text{} x=\"{:.1f}\" y=\"13\" text-anchor=\"{}\">{}</text>", style, x, anchor, html(text));
    named.push_back(x);
  };
  const auto free = [&](double x) {
    return std::ranges::all_of(named, [&](double other) { return std::fabs(other - x) > 0.3 * kWidth; });
  };
  const auto quantity = [&](double value) { return analysis::formatQuantity(value, unit_, dimension_); };
  // The bound, or the neutral value, is named first; an end only where it does not run into that.
  if (bound_) {
    const std::vector<double> apart = {neutral_.value_or(1)};
    for (const double end : plan::ends(*bound_))
      if (free(at(end))) tick(analysis::formatAgainst(end, apart, unit_, dimension_), at(end), " class=\"bound-name\"");
  } else if (neutral_) {
    tick(quantity(*neutral_), at(*neutral_), "");
  }
  for (const double end : {low_, high_})
    if (const double x = end == low_ ? kMargin : kWidth - kMargin; free(x))
      tick(quantity(log_ ? std::exp(end) : end), x, "");
  return out + "</svg>";
}

}  // namespace expc::report
