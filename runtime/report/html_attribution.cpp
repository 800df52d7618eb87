#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/format.h"
#include "runtime/report/attribution_text.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_table.h"
#include "runtime/report/html_text.h"
#include "runtime/report/layout.h"

namespace expc::report {
namespace {

constexpr size_t kCategories = 12;
constexpr size_t kMaxPairs = 200;
constexpr int kBarWidth = 100;  // pixels, both sides together

/// A bar to the left where the level takes less time than its baseline, to the right where it takes more.
std::string bar(double difference, double largest) {
  const double half = kBarWidth / 2.0;
  const double length = largest > 0 ? half * std::min(1.0, std::abs(difference) / largest) : 0;
  return fmt::format(
      "<svg class=\"shift\" width=\"{0}\" height=\"14\" aria-hidden=\"true\"><rect class=\"{1}\" x=\"{2:.1f}\" y=\"2\" "
      "width=\"{3:.1f}\" height=\"10\" rx=\"1.5\"/><line x1=\"{4}\" x2=\"{4}\" y1=\"0\" y2=\"14\"/></svg>",
      kBarWidth, difference < 0 ? "less" : "more", difference < 0 ? half - length : half, length, half);
}

std::string countText(double treated, double baseline) {
  if (treated == 0 && baseline == 0) return "";
  const auto plain = [](double count) { return fmt::format("{:.6g}", std::round(count * 100) / 100); };
  return treated == baseline ? plain(treated) + "×" : plain(treated) + "× / " + plain(baseline) + "×";
}

void addRow(HtmlTable& table, const analysis::CategoryShare& category, double largest, bool intervals) {
  const auto time = [](double seconds) { return html(analysis::formatQuantity(seconds, "s")); };
  table.row(category.rest || category.beside ? "quiet" : "")
      .head(html(categoryText(category)))
      .number(time(category.treated))
      .number(time(category.baseline))
      .number(html(differenceText(category.difference())));
  if (intervals) table.cell(html(intervalText(category)), "num quiet");
  table.cell(category.beside ? "" : bar(category.difference(), largest), "drawing")
      .number(html(shareText(category)))
      .cell(html(countText(category.treated_count, category.baseline_count)), "num quiet");
}

std::string viewTable(const analysis::AttributionView& view, const std::pair<std::string, std::string>& levels,
                      bool intervals) {
  const auto categories = shortened(view, kCategories);
  double largest = 0;
  for (const analysis::CategoryShare& category : categories)
    if (!category.beside) largest = std::max(largest, std::abs(category.difference()));
  HtmlTable table("cells", view.title);
  table.column(view.title).column(levels.first, true).column(levels.second, true).column("difference", true);
  if (intervals) table.column(std::string(intervalHead()), true);
  table.drawings("difference, drawn").column("share of it", true).column("in a step", true);
  for (const analysis::CategoryShare& category : categories) addRow(table, category, largest, intervals);
  return table.text() + (view.note.empty() ? "" : fmt::format("<p class=\"quiet\">{}.</p>", html(view.note)));
}

}  // namespace

std::string attributionSection(Page& page) {
  const auto all = analysis::attribute(page.plan, page.judgement, page.results);
  const std::string start = "<section id=\"profile\"><h2>Where the time went</h2>\n";
  if (all.empty()) {
    const std::string why = withoutAttribution(page.plan, page.judgement, page.results);
    return why.empty() ? "" : start + "<p class=\"quiet\">" + htmlProse(why) + ".</p></section>\n";
  }
  std::string out =
      start +
      "<p class=\"quiet\">From profile trials, which are slower "
      "than timed ones; means of a step over blocks that hold both levels. A description, not a verdict.</p>\n";
  if (std::vector<Chart> bars = profileCharts(page.plan, all); !bars.empty())
    out += page.figures(std::move(bars), "phases of a step");
  for (size_t i = 0; i < all.size() && i < kMaxPairs; ++i) {
    const analysis::Attribution& one = all[i];
    std::string uses = joined(one.comparisons);
    if (const std::string judged = judgedText(one); !judged.empty()) uses += "; " + judged;
    out += fmt::format("<article class=\"measure\"><h3>{}</h3><p class=\"quiet\">{}: {}.</p>",
                       html(pairText(page.plan, one)), html(uses), html(stepText(one)));
    for (const std::string& caution : cautions(page.plan, one))
      out += fmt::format("<p class=\"caution\"><b>Caution:</b> {}.</p>", html(caution));
    const auto levels = levelNames(page.plan, one);
    // The phases at a glance; the longer lists behind a click.
    for (size_t v = 0; v < one.views.size(); ++v) {
      if (v == 1) out += "<details><summary>More: calls, kernels, operators</summary>";
      out += viewTable(one.views[v], levels, one.interval.has_value());
    }
    if (one.views.size() > 1) out += "</details>";
    out += "</article>\n";
  }
  if (all.size() > kMaxPairs)
    out += fmt::format("<p class=\"quiet\">The first {} of {} pairs.</p>", kMaxPairs, all.size());
  return out + "</section>\n";
}

}  // namespace expc::report
