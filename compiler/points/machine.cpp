#include "compiler/points/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace expc::points {
namespace {

constexpr size_t kMaxKnown = 1 << 16;

/// "94 GB", "80.5 GB"
std::string bytesText(double bytes) {
  for (auto [unit, size] : {std::pair("TB", 1e12), {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}})
    if (bytes >= size) return fmt::format("{:.4g} {}", bytes / size, unit);
  return fmt::format("{:.4g} B", bytes);
}

}  // namespace

Machine::Machine(const expand::Space& space, const check::System* system, const check::Lookup& lookup)
    : space_(space), at_(space.selected(), system, &lookup) {
  for (const check::Estimate& part : space_.study().workload->estimates) {
    auto found = std::ranges::find(estimates_, part.metric, &Estimate::metric);
    if (found == estimates_.end()) found = estimates_.insert(found, Estimate{part.metric, {}, {}, {}, {}, {}, {}});
    found->parts.push_back(&part);
    std::set<unsigned> factors(found->factors.begin(), found->factors.end());
    std::set<unsigned> parameters(found->parameters.begin(), found->parameters.end());
    for (const check::FormulaPtr& formula : {part.value, part.when}) {
      if (!formula) continue;
      expand::Space::Reads reads = space_.readsOf(*formula);
      factors.insert(reads.factors.begin(), reads.factors.end());
      parameters.insert(reads.parameters.begin(), reads.parameters.end());
    }
    found->factors.assign(factors.begin(), factors.end());
    found->parameters.assign(parameters.begin(), parameters.end());
  }
  if (!system) return;
  for (Estimate& estimate : estimates_) {
    const bool of_host = space.study().metrics[estimate.metric].name == "host_memory_peak";
    estimate.of = of_host ? "the host" : "a device";
    if (const auto& memory = (*system)[of_host ? "memory" : "gpu.memory"])
      estimate.capacity = memory->asNumber()->toDouble();
  }
  using Answer = expand::Condition::Answer;
  const check::Study& study = space.study();
  for (const check::Rule& rule : study.rules) {
    if (!rule.usesSystem()) continue;
    expand::View view = rule.of_workload ? expand::View::Workload : expand::View::Study;
    std::string why = !rule.because.empty() ? rule.because
                      : rule.name.empty()   ? fmt::format("a rule about the system excludes it: {}", rule.text)
                                            : fmt::format("rule '{}' excludes it", rule.name);
    rules_.push_back({std::make_unique<expand::Condition>(space, rule.condition, view, system),
                      rule.kind == ast::RuleKind::Require ? Answer::No : Answer::Yes, std::move(why)});
  }
}

const std::string& Machine::unavailable(expand::Levels point) const {
  static const std::string kNone;
  for (const Rule& rule : rules_)
    if (rule.condition->at(point) == rule.excludes) return rule.why;
  return kNone;
}

std::string Machine::expectedInfeasible(expand::Levels point, source::Range* place) {
  for (Estimate& estimate : estimates_) {
    if (!estimate.capacity) continue;
    const std::optional<double> bytes = bytesAt(estimate, point);
    if (!bytes || *bytes <= *estimate.capacity) continue;  // what cannot be estimated is tried
    if (place) *place = estimate.parts[0]->range;
    return fmt::format("{} is estimated at {}, and {} has {}", space_.study().metrics[estimate.metric].name,
                       bytesText(*bytes), estimate.of, bytesText(*estimate.capacity));
  }
  return "";
}

std::map<std::string, double> Machine::estimates(expand::Levels point) {
  std::map<std::string, double> found;
  for (Estimate& estimate : estimates_)
    if (const auto bytes = bytesAt(estimate, point)) found[space_.study().metrics[estimate.metric].name] = *bytes;
  return found;
}

bool Machine::runs(const check::Comparison* comparison, expand::Levels point) const {
  bool all = true;
  if (!rules_.empty())
    forEachRead(space_, comparison, point, [&](expand::Levels read) { all = all && unavailable(read).empty(); });
  return all;
}

Machine::Infeasible Machine::infeasible(const check::Comparison* comparison, expand::Levels point) {
  Infeasible first;
  if (std::ranges::any_of(estimates_, [](const Estimate& one) { return one.capacity.has_value(); }))
    forEachRead(space_, comparison, point, [&](expand::Levels read) {
      if (!first.why.empty()) return;
      first.why = expectedInfeasible(read, &first.range);
      first.point.assign(read.begin(), read.end());
    });
  return first;
}

/// Points that agree in the factors that the estimate reads share its value.
std::optional<double> Machine::bytesAt(Estimate& estimate, expand::Levels point) {
  const auto key = expand::keyOf(space_.study(), estimate.factors, point);
  if (!key) return evaluate(estimate, point);
  if (estimate.known.size() == kMaxKnown) estimate.known.clear();
  auto [at, fresh] = estimate.known.try_emplace(*key);
  if (fresh) at->second = evaluate(estimate, point);
  return at->second;
}

std::optional<double> Machine::evaluate(const Estimate& estimate, expand::Levels point) {
  at_.set(point);
  if (at_.settle(estimate.parameters)) return std::nullopt;
  double sum = 0;
  for (const check::Estimate* part : estimate.parts) {
    if (part->when) {
      check::Outcome when = at_.evaluate(*part->when, expand::View::Workload);
      const check::Value* holds = std::get_if<check::Value>(&when);
      if (!holds || !holds->asBool()) continue;
    }
    check::Outcome value = at_.evaluate(*part->value, expand::View::Workload);
    const check::Value* bytes = std::get_if<check::Value>(&value);
    if (!bytes) return std::nullopt;
    sum += bytes->asNumber()->toDouble();
  }
  if (sum <= 0) return std::nullopt;  // no part is about this point, or the estimate does not hold there
  return sum;
}

}  // namespace expc::points
