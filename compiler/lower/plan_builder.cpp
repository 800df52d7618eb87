#include "compiler/lower/plan_builder.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <set>

#include "compiler/expand/lints.h"
#include "compiler/lower/points.h"
#include "compiler/lower/terms.h"

namespace expc::lower {

PlanBuilder::PlanBuilder(const check::Program& program, const check::Selected& selected, const expand::Grid& grid,
                         const Selection& selection, const SystemFacts& facts, diag::Emitter& emitter)
    : program_(program),
      selected_(selected),
      study_(*selected.study),
      grid_(grid),
      selection_(selection),
      facts_(facts),
      emitter_(emitter),
      index_(grid) {}

std::optional<plan::Plan> PlanBuilder::build() {
  header();
  factors();
  points();
  removed();
  design();
  outputs();
  if (!claims({})) return std::nullopt;
  plan_.digest = digest();
  // The machine comes last: the digest and the ids are the same everywhere.
  std::vector<bool> skip(grid_.size(), false);
  bool any = false;
  expand::Assignment at(selected_);
  for (size_t i = 0; i < grid_.size(); ++i) {
    at.set(grid_.point(i));
    if (!at.settle(nullptr, emitter_)) return std::nullopt;
    plan_.points[i].unavailable = unavailable(study_, at, facts_);
    skip[i] = !plan_.points[i].unavailable.empty();
    any |= skip[i];
  }
  if (any && !claims(skip)) return std::nullopt;
  return std::move(plan_);
}

void PlanBuilder::header() {
  plan_.study = study_.name;
  plan_.doc = study_.doc;
  plan_.source = std::string(program_.sources->name(program_.root));
  llvm::SmallString<128> folder(llvm::sys::path::parent_path(plan_.source));
  llvm::sys::fs::make_absolute(folder);
  llvm::sys::path::remove_dots(folder, /*remove_dot_dot=*/false);
  // "a.exp" in the working directory leaves a separator behind.
  while (folder.size() > 1 && llvm::sys::path::is_separator(folder.back())) folder.pop_back();
  plan_.root = std::string(folder.str());
  plan_.presets = selection_.presets;
  plan_.overrides = selection_.overrides;
  plan_.workloads = {{"", study_.workload->name, study_.workload->version, std::nullopt}};
  for (unsigned metric : study_.measuredWith(selected_.criteria))
    plan_.metrics.push_back(toPlan(study_.workload->metrics[metric]));
}

void PlanBuilder::factors() {
  for (unsigned index = 0; index < study_.factors.size(); ++index) {
    const check::Factor& declared = study_.factors[index];
    plan::Factor factor;
    factor.name = declared.name;
    factor.declared = declared.declared;
    for (unsigned level : selected_.levels[index]) {
      if (declared.baseline == level) factor.baseline = static_cast<unsigned>(factor.levels.size());
      factor.levels.push_back({declared.levels[level].label, toJson(declared.levels[level].value)});
    }
    plan_.factors.push_back(std::move(factor));
  }
}

void PlanBuilder::points() {
  expand::Assignment at(selected_);
  const auto& parameters = study_.workload->parameters;
  for (size_t i = 0; i < grid_.size(); ++i) {
    auto levels = grid_.point(i);
    at.set(levels);
    if (!at.settle(nullptr, emitter_)) return;
    plan::Point point;
    point.id = pointId(*study_.workload, at);
    for (unsigned factor = 0; factor < levels.size(); ++factor) {
      const auto& kept = selected_.levels[factor];
      point.levels.push_back(
          static_cast<unsigned>(std::lower_bound(kept.begin(), kept.end(), levels[factor]) - kept.begin()));
    }
    point.parameters = parametersOf(*study_.workload, at);
    for (unsigned parameter = 0; parameter < parameters.size(); ++parameter)
      if (const check::Value* value = at.value(parameter))
        collectPaths(*value, parameters[parameter].type, plan_.data_paths);
    plan_.points.push_back(std::move(point));
  }
}

void PlanBuilder::removed() {
  plan_.product = grid_.product;
  for (unsigned i = 0; i < study_.rules.size(); ++i) {
    const expand::Grid::Removed& removed = grid_.removed[i];
    if (removed.count == 0) continue;
    const check::Rule& rule = study_.rules[i];
    const source::SourceManager& sources = *program_.sources;
    source::Position position = sources.position(rule.range.file, rule.range.begin);
    plan::RemovedGroup group;
    group.rule = expand::ruleName(rule, sources);
    group.because = rule.because;
    group.location = fmt::format("{}:{}:{}", sources.name(rule.range.file), position.line, position.column);
    group.count = removed.count;
    for (const auto& example : removed.examples) {
      std::vector<std::string> labels;
      for (unsigned factor = 0; factor < example.size(); ++factor)
        labels.push_back(example[factor] == expand::kOpen ? "*" : study_.factors[factor].levels[example[factor]].label);
      group.examples.push_back(std::move(labels));
    }
    plan_.removed.push_back(std::move(group));
  }
}

void PlanBuilder::design() {
  std::set<check::TrialKind> measured;
  for (unsigned metric : study_.measuredWith(selected_.criteria))
    measured.insert(study_.workload->metrics[metric].kind);
  for (const auto& [kind, block] : selected_.design.kinds) {
    if (!measured.contains(kind)) continue;
    plan::KindDesign design;
    design.kind = toPlan(kind);
    auto value = [&](const char* name, int64_t otherwise) {
      auto found = block.settings.find(name);
      return found == block.settings.end() ? otherwise : found->second.value.numerator();
    };
    design.repeat = static_cast<unsigned>(value("repeat", 1));
    if (kind == check::TrialKind::Quality)
      design.settings = llvm::json::Object{{"epochs", value("epochs", 1)}};
    else
      design.settings = llvm::json::Object{{"steps", value("steps", 1)}, {"warmup", value("warmup", 0)}};
    plan_.design.kinds.push_back(std::move(design));
  }
  const auto& settings = selected_.design.settings;
  if (auto seed = settings.find("seed"); seed != settings.end())
    plan_.design.seed = static_cast<uint64_t>(seed->second.value.numerator());
  if (auto budget = settings.find("budget"); budget != settings.end())
    plan_.design.budget_seconds = budget->second.value.toDouble();
}

void PlanBuilder::outputs() {
  auto names = [&](const std::vector<unsigned>& factors) {
    std::vector<std::string> result;
    for (unsigned factor : factors) result.push_back(study_.factors[factor].name);
    return result;
  };
  for (const check::Output& output : study_.outputs) {
    if (output.plot)
      plan_.plots.push_back({output.subject, study_.factors[*output.over].name, names(output.by)});
    else
      plan_.tables.push_back({output.subject, names(output.by)});
  }
}

/// Of what the plan means, apart from where it was compiled and how it was asked for.
std::string PlanBuilder::digest() const {
  plan::Plan bare = plan_;
  bare.source.clear();
  bare.root.clear();
  bare.digest.clear();
  bare.presets.clear();
  bare.overrides.clear();
  for (plan::RemovedGroup& group : bare.removed) group.location.clear();
  return plan::shortHash(plan::canonicalJson(plan::toJson(bare)));
}

}  // namespace expc::lower
