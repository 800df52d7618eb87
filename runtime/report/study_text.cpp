#include "runtime/report/study_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/format.h"
#include "runtime/plan/find.h"
#include "runtime/plan/json.h"
#include "runtime/report/layout.h"

namespace expc::report {
namespace {

/// A parameter as the language writes it where that is plain: text without quotes, a variant as name(value).
std::string parameterText(const llvm::json::Value& value) {
  if (const auto text = value.getAsString()) return text->str();
  if (const auto* object = value.getAsObject(); object && object->size() == 1) {
    const std::string list = plan::canonicalJson(object->begin()->second);
    llvm::StringRef payload = list;
    if (payload.consume_front("[")) payload.consume_back("]");
    return fmt::format("{}({})", llvm::StringRef(object->begin()->first).str(), payload.str());
  }
  return plan::canonicalJson(value);
}

}  // namespace

std::string selectionText(const plan::Plan& plan) {
  std::vector<std::string> texts;
  for (const std::string& preset : plan.presets) texts.push_back("preset " + preset);
  for (const std::string& text : plan.overrides) texts.push_back("-D " + text);
  return joined(texts);
}

std::string untilText(const plan::Plan& plan, const plan::Until& until) {
  return fmt::format("half_width({}) <= {}", until.subject, widthText(plan, until, until.half_width));
}

std::string widthText(const plan::Plan& plan, const plan::Until& until, double width) {
  if (until.relative) return analysis::formatQuantity(width, "", "share");
  if (const plan::Comparison* comparison = plan::named(plan.comparisons, until.subject))
    return analysis::formatQuantity(width, comparison->unit);
  const plan::Metric* metric = plan.findMetric(until.subject);
  return analysis::formatQuantity(width, metric ? metric->unit : "", metric ? metric->dimension : "");
}

std::string workloadText(const plan::Plan& plan) {
  std::vector<std::string> texts;
  for (const plan::Workload& workload : plan.workloads) {
    std::string text = fmt::format("{} version {}", workload.name, workload.version);
    if (workload.command) text = workload.name + ", the command " + joined(workload.command->arguments, " ");
    const bool named = workload.label.empty() || workload.label == workload.name;
    texts.push_back(named ? text : workload.label + " = " + text);
  }
  return joined(texts, "; ");
}

std::vector<Paragraph> studyHead(const plan::Plan& plan, const std::string& selected, const std::string& beside) {
  std::vector<Paragraph> head{{.text = "", .of = "study " + plan.study + selected}};
  if (!plan.doc.empty()) head.push_back({plan.doc});
  head.push_back({(plan.workloads.size() > 1 ? "workloads " : "workload ") + workloadText(plan) + beside});
  return head;
}

std::vector<std::pair<std::string, std::string>> fixedParameters(const plan::Plan& plan) {
  std::vector<std::pair<std::string, std::string>> fixed;
  if (plan.points.empty()) return fixed;
  for (const auto& [key, value] : plan.points[0].parameters) {
    const llvm::StringRef name = key;
    const bool factor =
        std::ranges::any_of(plan.factors, [&](const plan::Factor& candidate) { return name == candidate.name; });
    const bool same = std::ranges::all_of(plan.points, [&](const plan::Point& point) {
      const llvm::json::Value* other = point.parameters.get(name);
      return other && *other == value;
    });
    if (factor || !same) continue;
    fixed.emplace_back(name.str(), parameterText(value));
  }
  std::ranges::sort(fixed);
  return fixed;
}

std::string placeText(const plan::Plan& plan, const plan::Place& place) {
  const plan::Point* point = plan.findPoint(place.point);
  return (point ? plan.label(*point) : place.point) + (place.control.empty() ? "" : " (control " + place.control + ")");
}

}  // namespace expc::report
