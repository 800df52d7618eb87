#include "runtime/report/attribution_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "runtime/analysis/format.h"
#include "runtime/plan/find.h"
#include "runtime/report/layout.h"
#include "runtime/stats/design.h"

namespace expc::report {
namespace {

/// A criterion that compares timed trials of a built-in workload, and fails.
bool hasBuiltIn(const plan::Plan& plan) {
  return std::any_of(plan.workloads.begin(), plan.workloads.end(),
                     [](const plan::Workload& workload) { return !workload.command; });
}

bool comparisonFails(const plan::Plan& plan, const analysis::Judgement& judgement) {
  return hasBuiltIn(plan) &&
         std::any_of(plan.criteria.begin(), plan.criteria.end(), [&](const plan::Criterion& criterion) {
           const auto* judged = plan::named(judgement.criteria, criterion.name);
           return judged && judged->verdict == analysis::Verdict::Fail &&
                  std::any_of(criterion.cells.begin(), criterion.cells.end(), [](const plan::Cell& cell) {
                    return cell.kind == plan::TrialKind::Timed && cell.points.size() == 2;
                  });
         });
}

/// A word stands alone; "2", "300px" and "true" say nothing without their factor.
std::string levelName(const std::string& factor, const std::string& label) {
  const bool word =
      !label.empty() && std::isalpha(static_cast<unsigned char>(label[0])) && label != "true" && label != "false";
  return word ? label : factor + "=" + label;
}

}  // namespace

std::string judgedText(const analysis::Attribution& attribution) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> names = attribution.criteria;
  if (names.empty()) return "";
  const size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
  names.resize(names.size() - more);
  return "judged by " + joined(names) + (more ? fmt::format(" and {} more", more) : "");
}

std::pair<std::string, std::string> levelNames(const plan::Plan& plan, const analysis::Attribution& attribution) {
  const plan::Point* treated = plan.findPoint(attribution.treated);
  const plan::Point* baseline = plan.findPoint(attribution.baseline);
  std::pair<std::string, std::string> names{kThisLevel, "baseline"};
  size_t differing = 0;
  for (size_t f = 0; treated && baseline && f < plan.factors.size(); ++f) {
    const std::string ours = plan.levelLabel(*treated, f), theirs = plan.levelLabel(*baseline, f);
    if (ours == theirs) continue;
    ++differing;
    const std::string& factor = plan.factors[f].name;
    names = {levelName(factor, ours), levelName(factor, theirs)};
  }
  // Long ones would push the numbers out of the table; of several factors none is the name.
  constexpr size_t kLongest = 18;
  if (differing != 1 || std::max(names.first.size(), names.second.size()) > kLongest) return {kThisLevel, "baseline"};
  return names;
}

std::string withoutAttribution(const plan::Plan& plan, const analysis::Judgement& judgement,
                               const store::Results& results) {
  const bool designed = std::any_of(plan.design.kinds.begin(), plan.design.kinds.end(),
                                    [](const auto& design) { return design.kind == plan::TrialKind::Profile; });
  const bool pairs = std::any_of(plan.comparisons.begin(), plan.comparisons.end(), [](const auto& comparison) {
    return std::any_of(comparison.cells.begin(), comparison.cells.end(),
                       [](const plan::Cell& cell) { return cell.points.size() == 2; });
  });
  if (!pairs) return "";
  if (designed) {
    const bool ran = std::any_of(results.trials.begin(), results.trials.end(),
                                 [](const store::Trial& trial) { return trial.key->kind == plan::TrialKind::Profile; });
    return ran ? "not known: no block has profiles of both levels of a comparison" : "";
  }
  if (!comparisonFails(plan, judgement)) return "";
  return "not known: the design has no profile trials. " + profileAdvice(plan);
}

std::string profileAdvice(const plan::Plan& plan) {
  return hasBuiltIn(plan) ? "With `profile { repeat 1  steps 20  warmup 5 }` in the design and `measure profiled_time` "
                            "they say which phases and operators make a difference; what is measured already is kept"
                          : "Trials of commands have no profiles; times of their parts are metrics that they print";
}

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
  const std::string interval = attribution.interval ? fmt::format(", {} {}", intervalHead(),
                                                                  analysis::formatInterval(*attribution.interval, "s"))
                                                    : std::string();
  std::string text =
      fmt::format("a step takes {} against {} ({}{}); means of {} of each, in the same blocks",
                  analysis::formatQuantity(attribution.treated_seconds, "s"),
                  analysis::formatQuantity(attribution.baseline_seconds, "s"), differenceText(attribution.difference()),
                  interval, counted(attribution.blocks, "profile trial"));
  if (!attribution.interval)
    text += fmt::format("; intervals need {} of them", stats::minimumPairs(analysis::kConfidence));
  return text;
}

std::vector<std::string> cautions(const plan::Plan& plan, const analysis::Attribution& attribution) {
  std::vector<std::string> texts;
  if (const analysis::TimedEffect* none = attribution.mayBeNone()) {
    const plan::Comparison* found = plan::named(plan.comparisons, none->comparison);
    const std::string unit = found ? found->unit : "";
    texts.push_back(
        fmt::format("in the timed trials the difference may be none: the interval of {}, {}, includes it. "
                    "What is divided here may be noise, and explains nothing",
                    none->comparison, analysis::formatInterval(*none->interval, unit)));
  } else if (!attribution.timed.empty() &&
             std::none_of(attribution.timed.begin(), attribution.timed.end(),
                          [](const analysis::TimedEffect& one) { return one.interval.has_value(); })) {
    texts.push_back(fmt::format("whether the timed trials differ at all is not known: {} has no interval yet",
                                attribution.timed.front().comparison));
  }
  if (attribution.interval && attribution.interval->low <= 0 && attribution.interval->high >= 0)
    texts.push_back(
        "the profile trials themselves may take the same time: the interval of their difference includes 0");
  return texts;
}

std::string intervalHead() { return analysis::formatConfidence(analysis::kConfidence) + " interval"; }

std::string intervalText(const analysis::CategoryShare& category) {
  return category.interval ? analysis::formatInterval(*category.interval, "s") : std::string();
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
