#include "runtime/plan/plan.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "runtime/base/find.h"
#include "runtime/plan/labels.h"

namespace expc::plan {
namespace {

/// The value of a parameter that counts something; 0 if there is no such parameter, or it is not a positive number.
unsigned countOf(const Point& point, StringRef name) {
  const auto number = point.parameters.getInteger(name);
  return number && *number > 0 && *number <= INT32_MAX ? unsigned(*number) : 0;
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
  if (const Process* process = findProcess(id)) return &process->whole;
  const auto found = std::ranges::find(points, id, &Point::id);
  return found == points.end() ? nullptr : &*found;
}

const Plan::Process* Plan::findProcess(std::string_view id) const {
  const auto id_of = [](const Process& process) -> std::string_view { return process.whole.id; };
  const auto found = std::ranges::lower_bound(processes_, id, {}, id_of);
  return found == processes_.end() || id_of(*found) != id ? nullptr : &*found;
}

const Point& Plan::startedFor(const Point& point) const {
  const Process* process = point.process.empty() ? nullptr : findProcess(point.process);
  return process ? process->whole : point;
}

std::vector<const Point*> Plan::started() const {
  std::vector<const Point*> all;
  for (const Point& point : points)
    if (point.process.empty()) all.push_back(&point);
  for (const Process& process : processes_) all.push_back(&process.whole);
  return all;
}

bool Plan::tells(const Metric& metric, const Point& point) const {
  if (!metric.of_process || point.process.empty()) return true;
  const Process* process = findProcess(point.process);
  return !process || points[process->rows.front()].id == point.id;
}

/// The process of these rows as a point.
static Point wholeOf(const Plan& plan, const std::vector<unsigned>& rows) {
  const Point& first = plan.points[rows.front()];
  Point whole = first;
  whole.id = first.process;
  whole.process.clear();
  for (size_t i = 0; i < std::min(whole.levels.size(), plan.factors.size()); ++i)
    if (plan.factors[i].inside) whole.levels[i] = kInactive;
  // The program is asked for what can run here; where nothing can, the reason of the first says why.
  const bool any = std::ranges::any_of(rows, [&](unsigned row) { return plan.points[row].startable(); });
  if (any) whole.unavailable = whole.expected_infeasible = "";
  const std::optional<Command>& command = plan.workloads[first.workload].command;
  for (const CommandMetric& key : command ? command->inside : std::vector<CommandMetric>()) {
    json::Array levels;
    for (const unsigned row : rows) {
      const json::Value* level = plan.points[row].parameters.get(key.name);
      if (level && (!any || plan.points[row].startable()) && !is_contained(levels, *level)) levels.push_back(*level);
    }
    whole.parameters[key.name] = std::move(levels);
  }
  return whole;
}

void Plan::indexPoints() {
  processes_.clear();
  std::map<std::string_view, std::vector<unsigned>> rows;
  for (unsigned at = 0; at < points.size(); ++at)
    if (!points[at].process.empty()) rows[points[at].process].push_back(at);
  for (auto& [id, of] : rows) processes_.push_back({wholeOf(*this, of), std::move(of)});

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
    labels.push_back(levelLabel(size_t(base::findNamed(factors, of[i])), cell.levels[i]));
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
  const bool controls = std::ranges::any_of(text, [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; });
  if (controls) return "holds a control character";
  for (const char sign : {'/', '#'})
    if (text.find(sign) != text.npos) return std::string("holds a '") + sign + "'";
  return std::nullopt;
}

}  // namespace expc::plan
