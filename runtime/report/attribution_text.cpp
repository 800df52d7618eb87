#include "runtime/report/attribution_text.h"

#include <fmt/format.h>

#include <cmath>

#include "runtime/analysis/format.h"
#include "runtime/report/layout.h"

namespace expc::report {

std::string pairText(const plan::Plan& plan, const analysis::Attribution& attribution) {
  const plan::Point* treated = plan.findPoint(attribution.treated);
  const plan::Point* baseline = plan.findPoint(attribution.baseline);
  if (!treated || !baseline) return attribution.treated + " against " + attribution.baseline;
  std::vector<std::string> differing, same;
  for (size_t f = 0; f < plan.factors.size(); ++f) {
    const std::string ours = plan.levelLabel(*treated, f), theirs = plan.levelLabel(*baseline, f);
    const std::string& name = plan.factors[f].name;
    if (ours != theirs)
      differing.push_back(fmt::format("{}={} against {}", name, ours, theirs));
    else if (plan.factors[f].levels.size() > 1)
      same.push_back(name + "=" + ours);
  }
  std::string text = joined(differing);
  if (!same.empty()) text += ", " + joined(same, " ");
  return text;
}

std::string stepText(const analysis::Attribution& attribution) {
  return fmt::format("a step takes {} against {} ({}); means of {} of each, in the same blocks",
                     analysis::formatQuantity(attribution.treated_seconds, "s"),
                     analysis::formatQuantity(attribution.baseline_seconds, "s"),
                     differenceText(attribution.difference()), counted(attribution.blocks, "profile trial"));
}

std::string categoryText(const analysis::CategoryShare& category) {
  return category.beside ? category.name + ", beside these" : category.name;
}

std::string differenceText(double seconds) {
  const std::string size = analysis::formatQuantity(std::abs(seconds), "s");
  return seconds > 0 ? "+" + size : seconds < 0 ? "-" + size : size;
}

std::string shareText(const analysis::CategoryShare& category) {
  if (!category.share) return "";
  const double percent = std::round(*category.share * 100);
  return fmt::format("{:.0f} %", percent == 0 ? 0 : percent);  // no minus in front of nothing
}

}  // namespace expc::report
