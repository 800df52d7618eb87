#include "compiler/expand/grid.h"

#include <limits>

namespace expc::expand {
namespace {

EXPC_DIAGNOSTIC(TooManyPoints, Error, "the study '{0}' has more than {1} points", std::string_view, uint64_t);

constexpr uint64_t kMaxSteps = 20'000'000;
constexpr uint64_t kMaxConflictSteps = 200'000;
constexpr size_t kExamples = 3;

uint64_t saturatingMultiply(uint64_t a, uint64_t b) {
  uint64_t result;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<uint64_t>::max() : result;
}

class Walker {
 public:
  enum class End { Done, Failed, TooLarge, Found };

  Walker(const check::Selected& selected, const std::vector<bool>& active, diag::Emitter& emitter)
      : selected_(selected), emitter_(emitter), at_(selected) {
    const check::Study& study = *selected.study;
    rules_at_.resize(study.factors.size() + 1);
    needs_.resize(study.rules.size());
    involved_.resize(study.factors.size());
    for (unsigned i = 0; i < study.rules.size(); ++i) {
      if (!active[i] || study.rules[i].usesSystem()) continue;
      needs_[i] = closure(*study.workload, study.rules[i].parameters);
      int last = -1;
      for (unsigned parameter : needs_[i]) {
        int factor = study.factor_of[parameter];
        last = std::max(last, factor);
        if (factor >= 0) involved_[factor] = true;
      }
      rules_at_[last + 1].push_back(i);
    }
    rest_.assign(study.factors.size() + 1, 1);
    for (size_t i = study.factors.size(); i-- > 0;)
      rest_[i] = saturatingMultiply(rest_[i + 1], selected.levels[i].size());
    grid.width = study.factors.size();
    grid.product = rest_[0];
    grid.removed.resize(study.rules.size());
  }

  /// With `first_only` it stops at the first point.
  End run(bool first_only) {
    first_only_ = first_only;
    most_steps_ = first_only ? kMaxConflictSteps : kMaxSteps;
    return descend(0);
  }

  Grid grid;

 private:
  /// All factors before `depth` are chosen.
  End descend(unsigned depth) {
    if (++steps_ > most_steps_) return End::TooLarge;
    for (unsigned rule : rules_at_[depth]) {
      bool failed = false;
      if (holds(rule, failed)) continue;
      if (failed) return End::Failed;
      remove(rule, depth);
      return End::Done;
    }
    if (depth == grid.width) {
      if (first_only_) return End::Found;
      if (grid.points == kMaxPoints) return End::TooLarge;
      for (unsigned factor = 0; factor < grid.width; ++factor) grid.levels.push_back(at_.level(factor));
      ++grid.points;
      return End::Done;
    }
    for (unsigned level : selected_.levels[depth]) {
      at_.set(depth, level);
      End end = descend(depth + 1);
      if (end != End::Done) return end;
      // What no rule looks at cannot make the rest empty.
      if (first_only_ && !involved_[depth]) break;
    }
    at_.set(depth, kOpen);
    return End::Done;
  }

  bool holds(unsigned index, bool& failed) {
    const check::Rule& rule = selected_.study->rules[index];
    failed = !at_.settle(&needs_[index], emitter_);
    if (failed) return false;
    check::Outcome outcome = check::evaluate(*rule.condition, at_.environment());
    if (const check::Failure* failure = std::get_if<check::Failure>(&outcome)) {
      reportAt(*failure, selected_, at_, emitter_);
      failed = true;
      return false;
    }
    return std::get<check::Value>(outcome).asBool() == (rule.kind == ast::RuleKind::Require);
  }

  void remove(unsigned rule, unsigned depth) {
    Grid::Removed& removed = grid.removed[rule];
    uint64_t more = rest_[depth];
    removed.count = removed.count + more < more ? std::numeric_limits<uint64_t>::max() : removed.count + more;
    if (removed.examples.size() == kExamples) return;
    std::vector<unsigned> example(grid.width, kOpen);
    for (unsigned factor = 0; factor < depth; ++factor) example[factor] = at_.level(factor);
    removed.examples.push_back(std::move(example));
  }

  const check::Selected& selected_;
  diag::Emitter& emitter_;
  Assignment at_;
  std::vector<std::vector<unsigned>> rules_at_;  // by the number of factors that must be chosen
  std::vector<std::vector<unsigned>> needs_;     // parameters each rule depends on
  std::vector<bool> involved_;                   // factors that some rule reads
  std::vector<uint64_t> rest_;                   // product of the levels from a factor on
  uint64_t steps_ = 0, most_steps_ = kMaxSteps;
  bool first_only_ = false;
};

}  // namespace

std::optional<Grid> expandGrid(const check::Selected& selected, diag::Emitter& emitter) {
  Walker walker(selected, std::vector<bool>(selected.study->rules.size(), true), emitter);
  switch (walker.run(false)) {
    case Walker::End::Failed:
      return std::nullopt;
    case Walker::End::TooLarge:
      emitter.build(selected.study->range, TooManyPoints, selected.study->name, kMaxPoints)
          .note({}, "restrict its factors with 'only' in a preset, with -D, or with rules over the first factors")
          .emit();
      return std::nullopt;
    default:
      return std::move(walker.grid);
  }
}

std::vector<unsigned> minimalConflict(const check::Selected& selected) {
  diag::Collector ignored;
  diag::Emitter quiet(ignored);
  const auto& rules = selected.study->rules;
  auto empty = [&](const std::vector<bool>& active) {
    return Walker(selected, active, quiet).run(true) == Walker::End::Done;
  };
  std::vector<bool> active(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) active[i] = !rules[i].usesSystem();
  if (!empty(active)) return {};
  // Dropping from the end keeps the first of several equally good sets.
  for (size_t i = rules.size(); i-- > 0;) {
    if (!active[i]) continue;
    active[i] = false;
    if (!empty(active)) active[i] = true;
  }
  std::vector<unsigned> result;
  for (unsigned i = 0; i < rules.size(); ++i)
    if (active[i]) result.push_back(i);
  return result;
}

}  // namespace expc::expand
