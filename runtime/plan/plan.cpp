#include "runtime/plan/plan.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/find.h"
#include "runtime/plan/labels.h"

namespace expc::plan {
namespace {

/// The value of a parameter that counts something; 0 if there is no such parameter, or it is not a positive number.
unsigned countOf(const Point& point, llvm::StringRef name) {
  const auto number = point.parameters.getInteger(name);
  return number && *number > 0 && *number <= INT32_MAX ? static_cast<unsigned>(*number) : 0;
}

}  // namespace

unsigned nodesOf(const Point& point) { return countOf(point, "nodes"); }

unsigned nodesOf(const Point& point, unsigned each) {
  const unsigned own = nodesOf(point);
  return own > 0 ? own : std::max(1u, devicesOf(point) / std::max(1u, each));
}

unsigned devicesOf(const Point& point) {
  const unsigned own = countOf(point, "gpus");
  return own > 0 ? own : std::max(1u, nodesOf(point));
}

const Point* Plan::findPoint(std::string_view id) const {
  // The index may be missing or out of date: it is used if it has the right size, and a miss is not trusted.
  if (by_id_.size() == points.size()) {
    const auto id_at = [&](uint32_t at) -> std::string_view { return points[at].id; };
    const auto place = std::ranges::lower_bound(by_id_, id, {}, id_at);
    if (place != by_id_.end() && id_at(*place) == id) return &points[*place];
  }
  const auto found = std::ranges::find(points, id, &Point::id);
  return found == points.end() ? nullptr : &*found;
}

void Plan::indexPoints() {
  // A stable sort by id: of equal ids, which no valid plan has, the first is found.
  by_id_.resize(points.size());
  std::iota(by_id_.begin(), by_id_.end(), 0u);
  std::ranges::stable_sort(by_id_, {}, [&](uint32_t at) -> std::string_view { return points[at].id; });
}

PlotKind Plot::kind(const Plan& plan) const {
  if (base::named(plan.factors, over)) return PlotKind::Factor;
  return plan.findMetric(over) ? PlotKind::Metrics : PlotKind::Series;
}

bool Plan::hasServices() const {
  return std::ranges::any_of(
      workloads, [](const Workload& workload) { return workload.command && !workload.command->services.empty(); });
}

bool Plan::readsInOutput(std::string_view metric) const {
  return std::ranges::any_of(workloads, [&](const Workload& workload) {
    return workload.command && base::named(workload.command->metrics, metric);
  });
}

const Metric* Plan::findMetric(std::string_view name) const { return base::named(metrics, name); }

std::string Plan::label(const Point& point) const {
  std::string text;
  const size_t count = std::min(point.levels.size(), factors.size());
  for (size_t i = 0; i < count; ++i) {
    if (point.levels[i] >= factors[i].levels.size()) continue;  // not active there
    addLabel(text, factors[i].name, factors[i].levels[point.levels[i]].label);
  }
  return text;
}

std::string Plan::levelLabel(size_t factor, unsigned level) const {
  const bool active = factor < factors.size() && level < factors[factor].levels.size();
  return active ? factors[factor].levels[level].label : "–";
}

std::vector<std::string> Plan::levelLabels(const std::vector<std::string>& of, const Cell& cell) const {
  std::vector<std::string> labels;
  for (size_t i = 0; i < std::min(of.size(), cell.levels.size()); ++i)
    labels.push_back(levelLabel(static_cast<size_t>(base::findNamed(factors, of[i])), cell.levels[i]));
  return labels;
}

std::string relationText(Relation relation, const std::string& end) {
  return wordOf(words::kRelation, relation).str() + " " + end;
}

const KindDesign* designOf(const Plan& plan, TrialKind kind) {
  const auto found = std::ranges::find(plan.design.kinds, kind, &KindDesign::kind);
  return found == plan.design.kinds.end() ? nullptr : &*found;
}

std::string_view toString(TrialKind kind) { return wordOf(words::kKind, kind); }

std::optional<std::string> whyNoName(std::string_view text) {
  if (text.empty()) return "is empty";
  if (text.front() == '.') return "begins with a dot";
  const bool controls = std::any_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; });
  if (controls) return "holds a control character";
  for (const char sign : {'/', '#'})
    if (text.find(sign) != text.npos) return std::string("holds a '") + sign + "'";
  return std::nullopt;
}

}  // namespace expc::plan
