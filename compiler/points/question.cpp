// Machine, PublishedValues, Question and Shape. Everything here is asked once for each point, so values that
// depend on few factors are remembered by their levels, and published rows are hashed.

#include "compiler/points/question.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "compiler/points/point_writer.h"
#include "runtime/base/format.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/design.h"

namespace expc::points {
namespace {

constexpr std::string_view kHost = "the host";
// Remembered estimates; then the memory is emptied.
constexpr size_t kMaxKnown = 1 << 16;

/// "94 GB", "80.5 GB": decimal units, as vendors state memory.
std::string bytesText(double bytes) {
  for (auto [unit, size] : {std::pair("TB", 1e12), {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}})
    if (bytes >= size) return fmt::format("{:.4g} {}", bytes / size, unit);
  return fmt::format("{:.4g} B", bytes);
}

/// A published value that is too large for a double counts as not published.
std::optional<double> finite(const plan::Reading& reading) {
  return reading.value && std::isfinite(*reading.value) ? reading.value : std::nullopt;
}

/// The values of a row's parameters as a key; "-" for a parameter that is not active.
std::string keyOf(const std::vector<const check::Value*>& values) {
  std::string key;
  for (const check::Value* value : values) key += (value ? value->toString() : "-") + '\n';
  return key;
}

/// Whether a preset or `-D` gives this workload another value than the study does, for a parameter that the
/// reference does not name.
bool runsElsewhere(const expand::Selected& selected, const check::Published& published, size_t use) {
  const check::Study& study = *selected.study;
  for (unsigned parameter = 0; parameter < study.workload->parameters.size(); ++parameter) {
    const bool runs = study.uses[use].parameter_of[parameter] >= 0;
    if (!runs || study.factor_of[parameter] >= 0 || is_contained(published.named, parameter)) continue;
    if (selected.arguments[use][parameter] != study.uses[use].arguments[parameter]) return true;
  }
  return false;
}

}  // namespace

Machine::Machine(const Space& space, const check::System* system, const check::Lookup& lookup)
    : space_(space), system_(system), at_(space.selected(), system, &lookup) {
  // Join the parts of each metric's estimate, with everything that they read.
  for (const check::Estimate& part : space_.study().workload->estimates) {
    auto found = std::ranges::find(estimates_, part.metric, &Estimate::metric);
    if (found == estimates_.end()) found = estimates_.insert(found, Estimate{part.metric, {}, {}, {}, {}, {}, {}});
    found->parts.push_back(&part);
    std::set<unsigned> factors(found->factors.begin(), found->factors.end());
    std::set<unsigned> parameters(found->parameters.begin(), found->parameters.end());
    for (const check::FormulaPtr& formula : {part.value, part.when}) {
      if (!formula) continue;
      Space::Reads reads = space_.readsOf(*formula);
      factors.insert(reads.factors.begin(), reads.factors.end());
      parameters.insert(reads.parameters.begin(), reads.parameters.end());
    }
    found->factors.assign(factors.begin(), factors.end());
    found->parameters.assign(parameters.begin(), parameters.end());
  }
  // A system adds the capacities, and the rules that ask about it.
  if (!system) return;
  for (Estimate& estimate : estimates_) {
    const bool of_host = space.study().metrics[estimate.metric].name == "host_memory_peak";
    estimate.of = of_host ? kHost : "a device";
    // Without a stated capacity every estimate fits.
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

const std::string& Machine::unavailable(Levels point) const {
  static const std::string kNone;
  for (const Rule& rule : rules_)
    if (rule.condition->at(point) == rule.excludes) return rule.why;
  return kNone;
}

std::string Machine::expectedInfeasible(Levels point, source::Range* place) {
  for (Estimate& estimate : estimates_) {
    if (!estimate.capacity) continue;
    const std::optional<double> bytes = bytesAt(estimate, point);
    // Try a point whose memory cannot be estimated.
    if (!bytes) continue;
    const Shared shared = sharedAt(estimate, point);
    if (*bytes * shared.processes <= shared.bytes) continue;
    if (place) *place = estimate.parts[0]->range;
    return fmt::format("{} is estimated at {}{}, and {} has {}", space_.study().metrics[estimate.metric].name,
                       bytesText(*bytes),
                       shared.processes > 1 ? fmt::format(" for each of {} processes", shared.processes) : "",
                       shared.of, bytesText(shared.bytes));
  }
  return "";
}

Machine::Shared Machine::sharedAt(const Estimate& estimate, Levels point) {
  Shared shared{1, *estimate.capacity, estimate.of};
  if (estimate.of != kHost) return shared;
  at_.set(point);
  if (at_.resolve()) return shared;
  const auto valueOf = [&](std::string_view name) -> const check::Value* {
    const auto& all = space_.study().workload->parameters;
    const auto found = std::ranges::find(all, name, &check::Parameter::name);
    return found == all.end() ? nullptr : at_.value(unsigned(found - all.begin()));
  };
  const auto known = [&](const char* property) {
    const auto& value = (*system_)[property];
    return value ? value->asNumber()->toDouble() : 0;
  };
  // A workload with a place for each rank has a process for each device; another has one, whose memory is estimated.
  const check::Value *devices = valueOf("gpus"), *place = valueOf("numa");
  if (!devices || !place) return shared;
  const double here = known("gpus"), sockets = known("sockets");
  shared.processes = devices->asNumber()->toDouble();
  if (here > 0) shared.processes = std::min(shared.processes, here);
  const auto* level = std::get_if<check::EnumValue>(&place->node);
  if (!level || level->type->levels[level->level].name == "any" || sockets < 2 || here < 1) return shared;
  // Bound to their sockets, over which a node's devices and memory are spread evenly.
  shared.processes = std::min(shared.processes, std::ceil(here / sockets));
  return {shared.processes, shared.bytes / sockets, "a socket"};
}

std::map<std::string, double> Machine::estimates(Levels point) {
  std::map<std::string, double> found;
  for (Estimate& estimate : estimates_)
    if (const auto bytes = bytesAt(estimate, point)) found[space_.study().metrics[estimate.metric].name] = *bytes;
  return found;
}

bool Machine::runs(const check::Comparison* comparison, Levels point) const {
  // Without rules about the system nothing is unavailable, and no term is walked.
  bool all = true;
  if (!rules_.empty())
    forEachRead(space_, comparison, point, [&](Levels read) { all = all && unavailable(read).empty(); });
  return all;
}

Machine::Infeasible Machine::infeasible(const check::Comparison* comparison, Levels point) {
  Infeasible first;
  if (std::ranges::any_of(estimates_, [](const Estimate& one) { return one.capacity.has_value(); }))
    forEachRead(space_, comparison, point, [&](Levels read) {
      if (!first.why.empty()) return;
      first.why = expectedInfeasible(read, &first.range);
      first.point.assign(read.begin(), read.end());
    });
  return first;
}

std::optional<double> Machine::bytesAt(Estimate& estimate, Levels point) {
  const auto key = expand::keyOf(space_.study(), estimate.factors, point);
  if (!key) return evaluate(estimate, point);
  if (estimate.known.size() == kMaxKnown) estimate.known.clear();
  auto [at, fresh] = estimate.known.try_emplace(*key);
  if (fresh) at->second = evaluate(estimate, point);
  return at->second;
}

std::optional<double> Machine::evaluate(const Estimate& estimate, Levels point) {
  at_.set(point);
  // A part whose `when` does not hold adds nothing; a part without a value leaves the whole estimate unknown.
  if (at_.resolve(estimate.parameters)) return std::nullopt;
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
  // No part applies to this point, or the formulas do not hold there.
  if (sum <= 0) return std::nullopt;
  return sum;
}

PublishedValues::PublishedValues(const Space& space, const check::Published& published)
    : space_(space), published_(published), at_(space.selected()) {
  for (size_t use = 0; use < space.study().uses.size(); ++use)
    elsewhere_.push_back(runsElsewhere(space.selected(), published, use));
  for (const check::Metric& metric : space.study().metrics)
    derived_.push_back(metric.derived ? toPlan(space.study(), metric).derived : nullptr);
  // Group the rows by which parameters they give, so that a point is looked up once in each group.
  for (size_t row = 0; row < published.rows.size(); ++row) {
    auto given = published.rows[row].parameters;
    std::ranges::sort(given, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<unsigned> parameters;
    std::vector<const check::Value*> values;
    for (const auto& [parameter, value] : given) {
      parameters.push_back(parameter);
      values.push_back(&value);
    }
    auto group = std::ranges::find(groups_, parameters, &Group::parameters);
    if (group == groups_.end()) group = groups_.insert(group, Group{parameters, {}});
    group->rows[keyOf(values)].push_back(row);
  }
}

std::optional<double> PublishedValues::read(unsigned metric, Levels point) {
  at_.set(point);
  if (elsewhere_[space_.use(point)] || at_.resolve()) return std::nullopt;
  // The first row of the file wins, whichever group it is in.
  std::optional<size_t> best;
  double value = 0;
  for (const Group& group : groups_) {
    std::vector<const check::Value*> values;
    for (unsigned parameter : group.parameters) values.push_back(at_.value(parameter));
    auto found = group.rows.find(keyOf(values));
    if (found == group.rows.end()) continue;
    for (size_t row : found->second)
      for (const auto& [published, number] : published_.rows[row].metrics)
        if (published == metric && (!best || row < *best)) {
          best = row;
          value = number.toDouble();
        }
  }
  return best ? std::optional(value) : std::nullopt;
}

std::optional<double> PublishedValues::of(unsigned metric, Levels point) {
  // A published value of the metric itself wins over one computed from others.
  if (auto value = read(metric, point)) return value;
  if (!derived_[metric]) return std::nullopt;
  // A derived metric reads published values at the same point; parameters in its formula have their values
  // there.
  const auto part = [&](const plan::MetricTerm& term) {
    return plan::Reading{read(unsigned(space_.study().findMetric(term.metric)), point)};
  };
  at_.set(point);
  if (at_.resolve()) return std::nullopt;
  const json::Object parameters = parametersOf(space_.selected(), at_);
  return finite(plan::evaluate(*derived_[metric], part, &parameters));
}

std::optional<double> PublishedValues::of(const check::Assertion& assertion, Levels point) {
  if (!assertion.comparison) return of(*assertion.metric, point);
  const check::Study& study = space_.study();
  // The points that the term reads. Instead of an id the term gets an index into this list.
  std::vector<std::vector<unsigned>> points;
  const auto name = [&](Levels at) {
    points.emplace_back(at.begin(), at.end());
    return std::to_string(points.size() - 1);
  };
  const plan::TermPtr term = Compared{space_, study.comparisons[*assertion.comparison], point}.term(name);
  const auto published = [&](const plan::MetricTerm& part) {
    return plan::Reading{of(unsigned(study.findMetric(part.metric)), points[std::stoul(part.place.point)])};
  };
  return finite(plan::evaluate(*term, published));
}

void findPinned(const Space& space, const std::vector<check::Pin>& pins, function_ref<bool(Levels)> visit) {
  // Restrict the walk to the pinned levels; then leave out points at which a pinned factor is not active.
  auto kept = space.selected().levels;
  for (const check::Pin& pin : pins)
    std::erase_if(kept[pin.factor], [&](unsigned level) { return level != pin.level; });
  expand::walk(space, {.levels = &kept}, [&](Levels point) {
    bool pinned = std::ranges::all_of(pins, [&](const check::Pin& pin) { return point[pin.factor] == pin.level; });
    return !pinned || visit(point);
  });
}

Question::Question(const Space& space, const check::Assertion& assertion, Machine& machine)
    : assertion_(assertion), machine_(machine) {
  const check::Study& study = space.study();
  if (!assertion.infeasible) comparison = study.comparison(assertion.comparison);
  if (assertion.like) reference_ = std::make_unique<PublishedValues>(space, study.references[*assertion.like]);
  for (const check::Quantifier& quantifier : assertion.quantifiers)
    where_.push_back(
        quantifier.where ? std::make_unique<expand::Condition>(space, quantifier.where, expand::View::Study) : nullptr);
}

Question::Answer Question::selects(Levels point) const {
  for (const check::Pin& pin : assertion_.pins)
    if (point[pin.factor] != pin.level) return Answer::No;
  Answer selected = Answer::Cell;
  for (size_t i = 0; i < where_.size(); ++i) {
    expand::Condition::Answer answer = where_[i] ? where_[i]->at(point) : expand::Condition::Answer::Yes;
    if (answer == expand::Condition::Answer::None) return Answer::Failed;
    if (answer == expand::Condition::Answer::Yes) continue;
    // A point that fails a `forall`'s condition is not asked about, even if an `exists` drops it as well.
    if (assertion_.quantifiers[i].kind != ast::QuantifierKind::Exists) return Answer::No;
    selected = Answer::Dropped;
  }
  return selected;
}

Question::Answer Question::at(Levels point, const Partner& value) {
  const Answer selected = selects(point);
  // The order matters: a missing partner hides everything after it, and a point that the reference lacks is not
  // counted as one that the system cannot run.
  if (selected == Answer::Failed) return selected;
  if (comparison && !value) return Answer::No;
  if (selected != Answer::Cell) return selected;
  if (reference_ && !(published = reference_->of(assertion_, point))) return Answer::Unpublished;
  if (assertion_.feasible && !machine_.infeasible(comparison, point).why.empty()) return Answer::Unfit;
  return machine_.runs(comparison, point) ? Answer::Cell : Answer::Unavailable;
}

void Question::reportFailure(Levels point, diag::Emitter& emitter) const {
  for (const auto& where : where_)
    if (where && where->at(point) == expand::Condition::Answer::None) return where->report(point, emitter);
}

void Reading::add(Levels point) {
  const std::vector<unsigned>& open = assertion_->open;
  if (several_.size() == open.size()) return;
  std::vector<unsigned> key, levels;
  for (const check::Quantifier& quantifier : assertion_->quantifiers)
    for (const unsigned factor : quantifier.factors) key.push_back(point[factor]);
  for (const unsigned factor : open) levels.push_back(point[factor]);
  const auto [at, fresh] = first_.try_emplace(std::move(key), levels);
  if (fresh) return;
  for (size_t i = 0; i < open.size(); ++i) {
    if (at->second[i] == levels[i] || is_contained(several_, open[i])) continue;
    several_.insert(std::ranges::upper_bound(several_, open[i]), open[i]);
    example_.assign(point.begin(), point.end());
  }
}

void Shape::add(Levels point) {
  Node* node = &root_;
  ++node->cells;
  // One level of groups for each quantifier but the last.
  for (size_t depth = 0; depth + 1 < assertion_->quantifiers.size(); ++depth) {
    std::vector<unsigned> key;
    for (unsigned factor : assertion_->quantifiers[depth].factors) key.push_back(point[factor]);
    node = &node->groups[std::move(key)];
    ++node->cells;
  }
}

int Shape::absentAmongOthers(const Node& node, size_t depth) const {
  if (depth + 1 >= assertion_->quantifiers.size()) return -1;
  const check::Quantifier& quantifier = assertion_->quantifiers[depth];
  for (size_t i = 0; i < quantifier.factors.size() && quantifier.kind == ast::QuantifierKind::Exists; ++i) {
    const auto absent = [&](const auto& group) { return group.first[i] == expand::kAbsent; };
    const auto count = std::ranges::count_if(node.groups, absent);
    if (count > 0 && size_t(count) < node.groups.size()) return int(quantifier.factors[i]);
  }
  for (const auto& [key, child] : node.groups)
    if (int factor = absentAmongOthers(child, depth + 1); factor >= 0) return factor;
  return -1;
}

unsigned Shape::needed(const Node& node, size_t depth, double confidence, ast::QuantifierKind certain,
                       uint64_t cells) const {
  // `cells` is the number of cells among which Holm's first step divides alpha. Below a quantifier that demands
  // all its cells it stays; one that demands a single cell multiplies it.
  auto least = [&](uint64_t count) {
    auto bounded = unsigned(std::min<uint64_t>(count, std::numeric_limits<unsigned>::max()));
    return stats::minimumPairs(confidence, bounded);
  };
  if (depth >= assertion_->quantifiers.size()) return least(cells);
  bool all = assertion_->quantifiers[depth].kind == certain;
  if (depth + 1 == assertion_->quantifiers.size()) return least(all ? cells : cells * node.cells);
  uint64_t inside = all ? cells : cells * node.groups.size();
  // All groups must be decided, so the hardest counts; or one of them, so the easiest does.
  unsigned result = 0;
  for (const auto& [key, child] : node.groups) {
    unsigned n = needed(child, depth + 1, confidence, certain, inside);
    result = result == 0 ? n : all ? std::max(result, n) : std::min(result, n);
  }
  return result;
}

}  // namespace expc::points
