// Small drawings inside table rows, as in a forest plot: the estimate as a dot, its interval as a bar, single blocks as
// faint dots, and the bound shaded. All rows of a table share one scale, so they can be compared by eye. SVG without
// script, with a text for screen readers.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/plan/evaluate.h"
#include "runtime/report/chart.h"
#include "runtime/report/html_text.h"
#include "runtime/report/paint.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {
namespace {

/// Size of a row's drawing, and the space at its sides, in pixels.
constexpr double kWidth = 260, kHeight = 26, kMiddle = kHeight / 2;
constexpr double kMargin = 8;
/// Above this many single values no dots are drawn: they would merge into a bar.
constexpr size_t kMaxDotsOfCell = 200;

/// Returns a vertical line over the whole height.
std::string upright(const char* style, double x) {
  return fmt::format("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{1:.1f}\" y1=\"0\" y2=\"{2}\"/>", style, x, kHeight);
}

/// The scale and the marks that all rows share.
struct Drawing {
  const std::optional<plan::Bound>& bound;
  std::optional<double> neutral;
  std::string_view unit, dimension;
  bool log;
  double low, high;

  /// Returns the position of a value in pixels. Values outside of the scale stick to its edge, slightly beyond it, so
  /// that they do not look like values there.
  double at(double value) const {
    const double position = log ? (value > 0 ? std::log(value) : -INFINITY) : value;
    const double share = (position - low) / (high - low);
    return kMargin + (kWidth - 2 * kMargin) * std::clamp(share, -0.02, 1.02);
  }

  /// Bound and neutral line, the same in every row.
  std::string marks() const {
    std::string out;
    if (bound) {
      using enum plan::Relation;
      const plan::Relation relation = bound->relation;
      double from = relation == LessEqual || relation == Less ? 0 : at(bound->low);
      double to =
          relation == GreaterEqual || relation == Greater ? kWidth : at(relation == Within ? bound->high : bound->low);
      // Equality is a line without width; make it visible.
      if (relation == Equal) from -= 0.75, to += 0.75;
      out += fmt::format("<rect class=\"ok\" x=\"{:.1f}\" y=\"0\" width=\"{:.1f}\" height=\"{}\"/>", from,
                         std::max(0.0, to - from), kHeight);
      for (const double end : plan::ends(*bound)) out += upright("bound", at(end));
    }
    return neutral ? out + upright("neutral", at(*neutral)) : out;
  }

  /// Returns the drawing of a cell.
  std::string row(const GridCell& cell) const {
    std::string out = fmt::format(
        "<svg class=\"forest\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" "
        "aria-label=\"{2}\">{3}",
        kWidth, kHeight, html(valueCell(cell).inText(" ")), marks());
    for (size_t i = 0; i < cell.values.size() && cell.values.size() <= kMaxDotsOfCell; ++i)
      if (std::isfinite(cell.values[i]))
        out += fmt::format("<circle class=\"block\" cx=\"{:.1f}\" cy=\"{}\" r=\"2.2\"/>", at(cell.values[i]),
                           kMiddle + 7.5);
    if (cell.interval)
      out += fmt::format("<line class=\"interval\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>",
                         at(cell.interval->low), at(cell.interval->high), kMiddle - 2, kMiddle - 2);
    // An estimate without an interval is drawn hollow, since it says less.
    if (cell.estimate && !std::isnan(*cell.estimate))
      out += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{}\" r=\"4.2\"/>",
                         cell.interval ? "estimate" : "estimate alone", at(*cell.estimate), kMiddle - 2);
    return out + "</svg>";
  }

  /// Returns the drawing of the scale, for the table's last row.
  std::string axis() const {
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
    const auto quantity = [&](double value) { return formatQuantity(value, unit, dimension); };
    // The bound, or the neutral value, is named first; an end of the scale only if its text does not run into that.
    if (bound) {
      const Bounds apart(std::vector{neutral.value_or(1)}, boundsOf(*bound).unit);
      for (const double end : plan::ends(*bound))
        if (free(at(end))) tick(formatAgainst(end, apart, unit, dimension), at(end), " class=\"bound-name\"");
    } else if (neutral) {
      tick(quantity(*neutral), at(*neutral), "");
    }
    for (const double end : {low, high})
      if (const double x = end == low ? kMargin : kWidth - kMargin; free(x))
        tick(quantity(log ? std::exp(end) : end), x, "");
    return out + "</svg>";
  }
};

}  // namespace

Forest forest(const std::vector<GridCell>& cells, const std::optional<plan::Bound>& bound,
              std::optional<double> neutral, bool ratio) {
  Extent extent;
  for (const GridCell& cell : cells) extent.add(cell);
  if (extent.empty()) return {};
  if (bound)
    for (const double end : plan::ends(*bound)) extent.add(end);
  // Bound and neutral value lie on the scale, so that a reader sees how far away they are.
  extent.add(neutral);
  Drawing drawing{bound, neutral, cells[0].unit, cells[0].dimension, ratio && extent.low > 0, extent.low, extent.high};
  double &low = drawing.low, &high = drawing.high;
  if (drawing.log) low = std::log(low), high = std::log(high);
  // Some air around the data; around a single value a small range, so that the scale has a length.
  const double pad = high > low ? 0.06 * (high - low) : std::max(0.05, 0.05 * std::fabs(high));
  low -= pad, high += pad;
  if (!drawing.log && extent.low >= 0) low = std::max(low, 0.0);  // the air is not named by a value that cannot be
  return {textsOf(cells, [&](const GridCell& cell) { return drawing.row(cell); }), drawing.axis()};
}

}  // namespace expc::report
