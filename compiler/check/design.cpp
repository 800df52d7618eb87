#include <limits>

#include "compiler/check/checker.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(MissingDesign, Error, "the study '{0}' has no design", std::string_view);
EXPC_DIAGNOSTIC(MissingSetting, Error, "{0} trials need '{1}'", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(KindWithoutDesign, Error, "'{0}' comes from {1} trials, and the design has none", std::string_view,
                std::string_view);
EXPC_DIAGNOSTIC(UnusedDesign, Warning, "{0} trials are designed, but nothing measured comes from them",
                std::string_view);

struct SettingRule {
  std::string_view name;
  int64_t least, most;
  bool needed;
};

const std::vector<SettingRule> kTimed = {
    {"repeat", 1, 10'000, true}, {"steps", 1, 1'000'000'000, true}, {"warmup", 0, 1'000'000'000, false}};
const std::vector<SettingRule> kQuality = {{"repeat", 1, 10'000, true}, {"epochs", 1, 1'000'000, true}};

const std::vector<SettingRule>& rulesOf(TrialKind kind) { return kind == TrialKind::Quality ? kQuality : kTimed; }

class DesignChecker {
 public:
  DesignChecker(StudyContext& context, Design& design) : context_(context), design_(design) {}

  void block(const ast::DesignKindBlock& block) {
    auto kind = kindOf(block.kind);
    if (!kind) return;
    auto [at, fresh] = design_.kinds.try_emplace(*kind);
    if (!fresh)
      return errors::duplicateName(context_.emitter(), block.kind.range, "block", block.kind.name, at->second.range);
    at->second.range = block.kind.range;
    for (const ast::DesignSetting& setting : block.settings) inKind(*kind, setting.name, *setting.value);
  }

  void top(const ast::Identifier& name, const ast::Expr& value) {
    if (name.name == "order") return order(value);
    if (name.name == "seed") return whole(name, value, 0, std::numeric_limits<int64_t>::max(), design_.settings);
    if (name.name == "budget") return budget(name, value);
    for (const SettingRule& rule : kTimed) {
      if (rule.name != name.name) continue;
      auto [at, fresh] = design_.kinds.try_emplace(TrialKind::Timed);
      if (fresh) at->second.range = name.range;
      return inKind(TrialKind::Timed, name, value);
    }
    errors::unknownName(context_.emitter(), name.range, "setting", name.name,
                        {"order", "seed", "budget", "repeat", "steps", "warmup"}, " of a design");
  }

  void inKind(TrialKind kind, const ast::Identifier& name, const ast::Expr& value) {
    std::vector<std::string> names;
    for (const SettingRule& rule : rulesOf(kind)) {
      if (rule.name == name.name) return whole(name, value, rule.least, rule.most, design_.kinds[kind].settings);
      names.emplace_back(rule.name);
    }
    errors::unknownName(context_.emitter(), name.range, "setting", name.name, names,
                        fmt::format(" of {} trials", toString(kind)));
  }

  std::optional<TrialKind> kindOf(const ast::Identifier& word) {
    if (word.name == "timed") return TrialKind::Timed;
    if (word.name == "quality") return TrialKind::Quality;
    if (word.name == "profile") {
      context_.emitter().emit(word.range, errors::NotSupported, "a design of profile trials");
    } else {
      errors::unknownName(context_.emitter(), word.range, "kind of trial", word.name, {"timed", "quality"});
    }
    return std::nullopt;
  }

 private:
  using Settings = std::map<std::string, Setting>;

  void add(const ast::Identifier& name, Rational value, Settings& settings) {
    auto [at, fresh] = settings.emplace(name.name, Setting{value, name.range});
    if (!fresh) errors::duplicateName(context_.emitter(), name.range, "setting", name.name, at->second.range);
  }

  Place place() { return context_.place(); }

  void whole(const ast::Identifier& name, const ast::Expr& expr, int64_t least, int64_t most, Settings& settings) {
    std::string what = fmt::format("'{}'", name.name);
    auto value = context_.expressions().constant(expr, place(), Type::integer(), what);
    if (!value) return;
    const Rational& number = *value->asNumber();
    if (number < Rational(least) || Rational(most) < number) {
      context_.emitter().emit(expr.range, errors::OutOfRange, what, number.toString(),
                              fmt::format("{}..{}", least, most));
      return;
    }
    add(name, number, settings);
  }

  void budget(const ast::Identifier& name, const ast::Expr& expr) {
    auto value =
        context_.expressions().constant(expr, place(), Type::number(Dimension::of(Dimension::Time)), "'budget'");
    if (!value) return;
    if (value->asNumber()->sign() <= 0) {
      context_.emitter().emit(expr.range, errors::OutOfRange, "'budget'", value->toString(), "what is above 0s");
      return;
    }
    add(name, *value->asNumber(), design_.settings);
  }

  void order(const ast::Expr& expr) {
    auto* name = std::get_if<ast::NameExpr>(&expr.node);
    if (name && name->name.parts.size() == 1 && name->name.parts[0].name == "blocks") return;
    errors::unknownName(context_.emitter(), expr.range, "order", squeeze(context_.context.sources.text(expr.range)),
                        {"blocks"});
  }

  StudyContext& context_;
  Design& design_;
};

}  // namespace

std::optional<Design> checkDesign(StudyContext& context, const std::vector<ast::DesignDecl>& designs, bool partial) {
  if (designs.empty()) {
    if (!partial)
      context.emitter()
          .build(context.study.range, MissingDesign, context.study.name)
          .note({}, "write 'design full {{ timed {{ repeat 10  steps 300  warmup 30 }}  order blocks  seed 7 }}'")
          .emit();
    return std::nullopt;
  }
  const ast::DesignDecl& declaration = designs[0];
  if (designs.size() > 1)
    context.emitter()
        .build(designs[1].range, errors::DuplicateName, "block", "design")
        .note(declaration.range, "the first one is here")
        .emit();
  if (declaration.shape && declaration.shape->name != "full")
    errors::unknownName(context.emitter(), declaration.shape->range, "shape of a design", declaration.shape->name,
                        {"full"});
  size_t before = context.emitter().errors();
  Design design;
  design.range = declaration.range;
  DesignChecker checker(context, design);
  for (const ast::DesignKindBlock& block : declaration.kinds) checker.block(block);
  for (const ast::DesignSetting& setting : declaration.settings) checker.top(setting.name, *setting.value);
  if (context.emitter().errors() != before) return std::nullopt;
  return design;
}

/// Whether the study or one of its presets designs trials of a kind.
static bool designed(const Study& study, TrialKind kind) {
  for (const Change& preset : study.presets)
    if (preset.design && preset.design->kinds.contains(kind)) return true;
  return study.design && study.design->kinds.contains(kind);
}

bool checkDesignSetting(StudyContext& context, const ast::QualifiedName& path, const ast::Expr& value, bool known_kind,
                        Design& design) {
  size_t before = context.emitter().errors();
  DesignChecker checker(context, design);
  design.range = path.range;
  if (path.parts.size() == 2) {
    checker.top(path.parts[1], value);
  } else if (path.parts.size() == 3) {
    if (auto kind = checker.kindOf(path.parts[1])) {
      if (known_kind && !designed(context.study, *kind)) {
        errors::unknownName(context.emitter(), path.parts[1].range, "block", path.parts[1].name, {}, " of the design");
        return false;
      }
      design.kinds[*kind].range = path.parts[1].range;
      checker.inKind(*kind, path.parts[2], value);
    }
  } else {
    errors::unknownName(context.emitter(), path.range, "setting", squeeze(context.context.sources.text(path.range)),
                        {"design.timed.repeat", "design.quality.repeat", "design.seed", "design.budget"});
  }
  return context.emitter().errors() == before;
}

void checkDesignCovers(StudyContext& context) {
  Study& study = context.study;
  if (!study.design) return;
  const Design& design = *study.design;
  std::map<TrialKind, bool> used;
  std::vector<const Criterion*> criteria;
  for (const Criterion& criterion : study.criteria) criteria.push_back(&criterion);
  for (unsigned index : study.measuredWith(criteria)) {
    const Metric& metric = study.workload->metrics[index];
    used[metric.kind] = true;
    if (design.kinds.contains(metric.kind)) continue;
    context.emitter()
        .build(design.range, KindWithoutDesign, metric.name, toString(metric.kind))
        .note(metric.range, "the metric is declared here")
        .emit();
  }
  for (const Change& preset : study.presets)
    for (const Criterion& criterion : preset.criteria) {
      const Metric& metric = study.workload->metrics[criterion.metric];
      used[metric.kind] = true;
      if (design.kinds.contains(metric.kind) || (preset.design && preset.design->kinds.contains(metric.kind))) continue;
      context.emitter().emit(criterion.range, KindWithoutDesign, metric.name, toString(metric.kind));
    }
  for (const auto& [kind, block] : design.kinds) {
    for (const SettingRule& rule : rulesOf(kind))
      if (rule.needed && !block.settings.contains(std::string(rule.name)))
        context.emitter().emit(block.range, MissingSetting, toString(kind), rule.name);
    if (!used[kind]) context.emitter().emit(block.range, UnusedDesign, toString(kind));
  }
  // A kind that only a preset designs must be complete there.
  for (const Change& preset : study.presets) {
    if (!preset.design) continue;
    for (const auto& [kind, block] : preset.design->kinds) {
      if (design.kinds.contains(kind)) continue;
      for (const SettingRule& rule : rulesOf(kind))
        if (rule.needed && !block.settings.contains(std::string(rule.name)))
          context.emitter().emit(block.range, MissingSetting, toString(kind), rule.name);
    }
  }
}

}  // namespace expc::check
