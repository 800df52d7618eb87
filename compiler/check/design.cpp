#include <algorithm>
#include <limits>

#include "compiler/check/checker.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(MissingDesign, Error, "the study '{0}' has no design", std::string_view);
EXPC_DIAGNOSTIC(MissingSetting, Error, "{0} trials need '{1}'", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(KindWithoutDesign, Error, "'{0}' comes from {1} trials, and the design has none", std::string_view,
                std::string_view);
EXPC_DIAGNOSTIC(BadUntil, Error, "the {0} repetitions {1}", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(UnusedDesign, Warning, "{0} trials are designed, but nothing measured comes from them",
                std::string_view);

struct SettingRule {
  std::string_view name;
  int64_t least, most;
  bool needed;
};

const std::vector<SettingRule> kTimed = {{"repeat", 1, 10'000, true},
                                         {"steps", 1, 1'000'000'000, true},
                                         {"epochs", 1, 1'000'000, false},
                                         {"warmup", 0, 1'000'000'000, false}};
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
      return diag::duplicateName(context_.emitter(), block.kind.range, "block", block.kind.name, at->second.range);
    at->second.range = block.kind.range;
    for (const ast::DesignSetting& setting : block.settings) {
      inKind(*kind, setting.name, *setting.value);
      until(*kind, setting);
    }
    const Settings& settings = at->second.settings;
    if (auto steps = settings.find("steps"), epochs = settings.find("epochs");
        steps != settings.end() && epochs != settings.end())
      diag::duplicateName(context_.emitter(), epochs->second.range, "length of trials", "epochs", steps->second.range);
  }

  void top(const ast::DesignSetting& setting) {
    top(setting.name, *setting.value);
    until(TrialKind::Timed, setting);
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
    diag::unknownName(context_.emitter(), name.range, "setting", name.name,
                      language::texts(language::Role::Setting, language::Design), " of a design");
  }

  void inKind(TrialKind kind, const ast::Identifier& name, const ast::Expr& value) {
    std::vector<std::string> names;
    for (const SettingRule& rule : rulesOf(kind)) {
      if (rule.name != name.name) {
        names.emplace_back(rule.name);
        continue;
      }
      auto* range = std::get_if<ast::RangeExpr>(&value.node);
      if (range && name.name == "repeat") return repeatRange(kind, name, value, *range);
      return whole(name, value, rule.least, rule.most, design_.kinds[kind].settings);
    }
    diag::unknownName(context_.emitter(), name.range, "setting", name.name, names,
                      fmt::format(" of {} trials", toString(kind)));
  }

  std::optional<TrialKind> kindOf(const ast::Identifier& word) {
    const int kind = language::indexOf(language::Role::Kind, word.name);
    if (kind >= 0) return static_cast<TrialKind>(kind);
    diag::unknownName(context_.emitter(), word.range, "kind of trial", word.name,
                      language::texts(language::Role::Kind));
    return std::nullopt;
  }

 private:
  using Settings = std::map<std::string, Setting>;

  void add(const ast::Identifier& name, Rational value, Settings& settings) {
    auto [at, fresh] = settings.emplace(name.name, Setting{value, std::nullopt, name.range});
    if (!fresh) diag::duplicateName(context_.emitter(), name.range, "setting", name.name, at->second.range);
  }

  Place place() { return context_.place(); }

  void whole(const ast::Identifier& name, const ast::Expr& expr, int64_t least, int64_t most, Settings& settings) {
    std::string what = fmt::format("'{}'", name.name);
    auto value = context_.expressions().constant(expr, place(), Type::integer(), what);
    if (!value) return;
    const Rational& number = *value->asNumber();
    if (number < Rational(least) || Rational(most) < number) {
      context_.emitter().emit(expr.range, errors::OutOfRange, what, number.toString(),
                              fmt::format("in {}..{}", least, most));
      return;
    }
    add(name, number, settings);
  }

  /// `repeat 10..20`, which `until` ends.
  void repeatRange(TrialKind kind, const ast::Identifier& name, const ast::Expr& value, const ast::RangeExpr& range) {
    if (!range.upper || range.step) {
      context_.emitter().emit(value.range, BadUntil, toString(kind), "must be a number, or a range such as 10..20");
      return;
    }
    Settings first, last;
    whole(name, *range.lower, 1, 10'000, first);
    whole(name, *range.upper, 1, 10'000, last);
    if (first.empty() || last.empty()) return;
    Setting setting = first.begin()->second;
    setting.most = last.begin()->second.value;
    if (*setting.most <= setting.value) {
      context_.emitter().emit(value.range, BadUntil, toString(kind), "must end above where they begin");
      return;
    }
    auto [at, fresh] = design_.kinds[kind].settings.emplace(name.name, setting);
    if (!fresh) diag::duplicateName(context_.emitter(), name.range, "setting", name.name, at->second.range);
  }

  /// Every condition of `until half_width(gain) <= 1% and half_width(step_time) <= 2ms`.
  void until(TrialKind kind, const ast::DesignSetting& setting) {
    bool ranged = setting.name.name == "repeat" && std::holds_alternative<ast::RangeExpr>(setting.value->node);
    if (!setting.until) {
      if (ranged)
        context_.emitter()
            .build(setting.value->range, BadUntil, toString(kind), "have a range, and nothing says when they end in it")
            .note({}, "write 'until half_width(gain) <= 1%' after the range")
            .emit();
      return;
    }
    if (ranged) return condition(kind, *setting.until);
    context_.emitter().emit(setting.until->range, BadUntil, toString(kind),
                            "need a range before 'until', as in 'repeat 10..20'");
  }

  void condition(TrialKind kind, const ast::Expr& expr) {
    auto* binary = std::get_if<ast::BinaryExpr>(&expr.node);
    if (binary && binary->op == ast::BinaryOp::And) {
      condition(kind, *binary->left);
      return condition(kind, *binary->right);
    }
    auto* call =
        binary && binary->op == ast::BinaryOp::LessEqual ? std::get_if<ast::CallExpr>(&binary->left->node) : nullptr;
    auto* name = call && joined(call->callee) == "half_width" && call->arguments.size() == 1 && !call->arguments[0].name
                     ? std::get_if<ast::NameExpr>(&call->arguments[0].value->node)
                     : nullptr;
    if (!name || name->name.parts.size() != 1) {
      context_.emitter()
          .build(expr.range, BadUntil, toString(kind), "can only end at the half-width of an interval")
          .note({}, "write 'until half_width(gain) <= 1%'")
          .emit();
      return;
    }
    Until until;
    until.range = expr.range;
    if (subject(kind, name->name.parts[0], until) && limit(*binary->right, until))
      design_.kinds[kind].until.push_back(until);
  }

  bool subject(TrialKind kind, const ast::Identifier& word, Until& until) {
    const Study& study = context_.study;
    const auto named = context_.subject(word);
    if (!named) return false;
    until.comparison = named->comparison;
    if (!named->comparison) until.metric = named->metric;
    const Metric& measured = study.metrics[named->metric];
    std::string why;
    if (measured.kind != kind)
      why = fmt::format("cannot end at '{}', which comes from {} trials", word.name, toString(measured.kind));
    else if (measured.exact)
      why = fmt::format("cannot end at '{}', which is exact and has no interval", word.name);
    else if (!named->comparison && measured.series)
      why = fmt::format("cannot end at '{}', which is a series and has no interval", word.name);
    if (why.empty()) return true;
    context_.emitter()
        .build(word.range, BadUntil, toString(kind), why)
        .note(measured.range, "the metric is declared here")
        .emit();
    return false;
  }

  /// A Share is of the estimate; anything else is in the subject's unit.
  bool limit(const ast::Expr& expr, Until& until) {
    auto value = context_.expressions().number(expr, place(), "the half-width");
    if (!value) return false;
    const Study& study = context_.study;
    Dimension of =
        until.comparison ? study.comparisons[*until.comparison].dimension : study.metrics[*until.metric].dimension;
    Dimension written = std::get<Value::Number>(value->node).dimension;
    until.half_width = *value->asNumber();
    until.relative = written == Dimension::share() && of != Dimension::share();
    if (!until.relative && written != of) {
      context_.emitter()
          .build(expr.range, errors::UnitMismatch, "the half-width", written.typeName(), "the interval", of.typeName())
          .note({}, "a share such as 1% is of the estimate")
          .emit();
      return false;
    }
    if (until.half_width.sign() > 0) return true;
    context_.emitter().emit(expr.range, errors::OutOfRange, "the half-width", value->toString(), "above 0");
    return false;
  }

  void budget(const ast::Identifier& name, const ast::Expr& expr) {
    auto value =
        context_.expressions().constant(expr, place(), Type::number(Dimension::of(Dimension::Time)), "'budget'");
    if (!value) return;
    if (value->asNumber()->sign() <= 0) {
      context_.emitter().emit(expr.range, errors::OutOfRange, "'budget'", value->toString(), "above 0s");
      return;
    }
    add(name, *value->asNumber(), design_.settings);
  }

  void order(const ast::Expr& expr) {
    auto* name = std::get_if<ast::NameExpr>(&expr.node);
    if (name && name->name.parts.size() == 1 && name->name.parts[0].name == "blocks") return;
    diag::unknownName(context_.emitter(), expr.range, "order", squeeze(context_.context.sources.text(expr.range)),
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
        .build(designs[1].range, diag::DuplicateName, "block", "design")
        .note(declaration.range, "the first one is here")
        .emit();
  if (declaration.shape && declaration.shape->name != "full")
    diag::unknownName(context.emitter(), declaration.shape->range, "shape of a design", declaration.shape->name,
                      {"full"});
  const size_t before = context.context.problems();
  Design design;
  design.range = declaration.range;
  DesignChecker checker(context, design);
  for (const ast::DesignKindBlock& block : declaration.kinds) checker.block(block);
  for (const ast::DesignSetting& setting : declaration.settings) checker.top(setting);
  if (context.context.problems() != before) return std::nullopt;
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
        std::vector<std::string> kinds;
        for (TrialKind one : {TrialKind::Timed, TrialKind::Quality, TrialKind::Profile})
          if (designed(context.study, one)) kinds.emplace_back(toString(one));
        diag::unknownName(context.emitter(), path.parts[1].range, "block", path.parts[1].name, kinds, " of the design");
        return false;
      }
      design.kinds[*kind].range = path.parts[1].range;
      checker.inKind(*kind, path.parts[2], value);
    }
  } else {
    diag::unknownName(context.emitter(), path.range, "setting", squeeze(context.context.sources.text(path.range)),
                      {"design.timed.repeat", "design.quality.repeat", "design.seed", "design.budget"});
  }
  return context.emitter().errors() == before;
}

/// How long a command runs is its own affair, unless it is told. Steps are needed where no epochs stand for them.
static bool needs(const Study& study, const SettingRule& rule, const Design::Kind& block) {
  if (rule.name == "steps" && block.settings.contains("epochs")) return false;
  if (!rule.needed || rule.name == "repeat") return rule.needed;
  std::string told = fmt::format("${{{}}}", rule.name);
  return std::any_of(study.uses.begin(), study.uses.end(), [&](const Use& use) {
    if (!use.workload->command) return true;
    const std::vector<std::string> arguments = argumentTexts(use.workload->command->program);
    return std::any_of(arguments.begin(), arguments.end(),
                       [&](const std::string& argument) { return argument.find(told) != std::string::npos; });
  });
}

namespace {

/// That a point runs out of memory is found by trying it, in trials of any kind.
void claimsHaveTrials(StudyContext& context, const Design& design, const Design* more,
                      const std::vector<Criterion>& criteria) {
  if (!design.kinds.empty() || (more && !more->kinds.empty())) return;
  for (const Criterion& criterion : criteria)
    if (criterion.infeasible)
      return context.emitter()
          .build(criterion.range, KindWithoutDesign, criterion.name, toString(TrialKind::Timed))
          .note(design.range, "write 'timed {{ repeat 1 }}' here: what runs out of memory is found by trying it")
          .emit();
}

}  // namespace

void checkDesignCovers(StudyContext& context, size_t before) {
  Study& study = context.study;
  if (!study.design) return;
  const Design& design = *study.design;
  std::map<TrialKind, bool> used;
  std::vector<const Criterion*> criteria;
  for (const Criterion& criterion : study.criteria) criteria.push_back(&criterion);
  for (unsigned index : study.measuredWith(criteria)) {
    const Metric& metric = study.metrics[index];
    used[metric.kind] = true;
    if (design.kinds.contains(metric.kind)) continue;
    context.emitter()
        .build(design.range, KindWithoutDesign, metric.name, toString(metric.kind))
        .note(metric.range, "the metric is declared here")
        .emit();
  }
  claimsHaveTrials(context, design, nullptr, study.criteria);
  for (const Change& preset : study.presets)
    claimsHaveTrials(context, design, preset.design ? &*preset.design : nullptr, preset.criteria);
  for (const Change& preset : study.presets)
    for (const Criterion& criterion : preset.criteria) {
      if (!criterion.metric) continue;
      const Metric& metric = study.metrics[*criterion.metric];
      used[metric.kind] = true;
      if (design.kinds.contains(metric.kind) || (preset.design && preset.design->kinds.contains(metric.kind))) continue;
      context.emitter().emit(criterion.range, KindWithoutDesign, metric.name, toString(metric.kind));
    }
  for (const auto& [kind, block] : design.kinds) {
    for (const SettingRule& rule : rulesOf(kind))
      if (needs(study, rule, block) && !block.settings.contains(std::string(rule.name)))
        context.emitter().emit(block.range, MissingSetting, toString(kind), rule.name);
    if (!used[kind] && context.context.problems() == before)
      context.emitter().emit(block.range, UnusedDesign, toString(kind));
  }
  // A kind that only a preset designs must be complete there.
  for (const Change& preset : study.presets) {
    if (!preset.design) continue;
    for (const auto& [kind, block] : preset.design->kinds) {
      if (design.kinds.contains(kind)) continue;
      for (const SettingRule& rule : rulesOf(kind))
        if (needs(study, rule, block) && !block.settings.contains(std::string(rule.name)))
          context.emitter().emit(block.range, MissingSetting, toString(kind), rule.name);
      if (!used[kind] && context.context.problems() == before)
        context.emitter().emit(block.range, UnusedDesign, toString(kind));
    }
  }
}

}  // namespace expc::check
