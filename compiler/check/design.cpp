// Designs: how often and how long each kind of trial is measured, interim looks, adaptive repetitions, limits
// of validity. A study's design and the part of one in a preset are checked by the same code (DesignChecker);
// whether the whole covers what is measured is checked at the end (checkDesignCovers).

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <limits>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "runtime/base/entry.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/trial_report.h"
#include "runtime/plan/validity.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(MissingDesign, "the study '{0}' has no design");
EXPC_DIAGNOSTIC(MissingSetting, "{0} trials need the setting '{1}'");
EXPC_DIAGNOSTIC(KindWithoutDesign, "'{0}' is measured by {1} trials, but the design has none");
EXPC_DIAGNOSTIC(BadLooks, "the looks at {0} trials {1}");
EXPC_DIAGNOSTIC(BadUntil, "the {0} repetitions {1}");
EXPC_DIAGNOSTIC(UnusedDesign, "the design has {0} trials, but the study measures nothing with them");
EXPC_DIAGNOSTIC(UnusedSetting, "the '{0}' of {1} trials is never passed to a command of the study");

/// A whole-number setting: its name, its range, and whether a design must have it. Plans accept the same
/// ranges.
struct SettingRule {
  std::string_view name;
  int64_t least, most;
  bool needed;
};

const SettingRule kLook = {"looks", 1, 10'000, false};
const std::vector<SettingRule> kOfAll = {{"seed", 0, std::numeric_limits<int64_t>::max(), false},
                                         {"repeat_disturbed", 1, plan::kMostDisturbed, false},
                                         {"share", 1, plan::kMostShare, false}};
// Profiled trials have the settings of timed ones.
const std::vector<SettingRule> kTimed = {{"repeat", 1, 10'000, true},
                                         {"steps", 1, 1'000'000'000, true},
                                         {"epochs", 1, 1'000'000, false},
                                         {"warmup", 0, 1'000'000'000, false}};
/// The time limit of one trial. A duration, so it has no SettingRule.
constexpr std::string_view kTimes[] = {"timeout", "takes"};
bool isTime(std::string_view name) { return is_contained(kTimes, name); }
const std::vector<SettingRule> kQuality = {{"repeat", 1, 10'000, true}, {"epochs", 1, 1'000'000, true}};

/// The type of a limit's value.
Type typeOf(const plan::LimitRule& limit) {
  if (limit.unit == "share") return Type::number(Dimension::share());
  return limit.unit == "B" ? Type::number(Dimension::of(Dimension::Bytes)) : Type::integer();
}

const std::vector<SettingRule>& rulesOf(TrialKind kind) { return kind == TrialKind::Quality ? kQuality : kTimed; }

/// Adds checked settings to `design`.
struct DesignChecker {
  StudyScope& context;
  Design& design;
  diag::Emitter& emitter = context.emitter;
  const Study& study = context.study;
  /// The kinds of trial that the block has named so far.
  Once blocks = {};

  /// Checks the block of one kind of trial.
  void block(const ast::DesignKindBlock& block) {
    auto kind = kindOf(block.kind);
    if (!kind) return;
    if (!blocks.add(emitter, "block", block.kind)) return;
    const auto [at, fresh] = design.kinds.try_emplace(*kind);
    if (fresh) at->second.range = block.kind.range;
    for (const ast::DesignSetting& setting : block.settings) {
      inKind(*kind, setting.name, *setting.value);
      until(*kind, setting);
      looks(*kind, setting);
    }
    const Settings& settings = at->second.settings;
    // Either steps or epochs give the length.
    const Setting *steps = entryOf(settings, "steps"), *epochs = entryOf(settings, "epochs");
    if (steps && epochs) diag::duplicateName(emitter, epochs->range, "length of trials", "epochs", steps->range);
  }

  /// Checks a setting outside of blocks; one of timed trials may stand there too.
  void top(const ast::DesignSetting& setting) {
    top(setting.name, *setting.value, setting.range);
    until(TrialKind::Timed, setting);
    looks(TrialKind::Timed, setting);
  }

  /// Checks one setting by name; overrides, which have no `until` and no looks, enter here. `written` covers
  /// the whole setting.
  void top(const ast::Identifier& name, const ast::Expr& value, source::Range written) {
    if (name.name == "order" && context.written(value.range) == "blocks") return order(written);
    if (name.name == "restart") return restart(name, value);
    if (name.name == "budget") return duration(name, value, design.settings);
    if (const SettingRule* rule = named(kOfAll, name.name)) return add(name, whole(*rule, value), design.settings);
    if (const plan::LimitRule* limit = named(plan::kLimits, name.name)) return most(name, value, *limit);
    if (!named(kTimed, name.name) && !isTime(name.name))
      return void(
          unknownName(emitter, "setting", name, words::texts(words::Role::Setting, words::Design), " of a design"));
    auto [at, fresh] = design.kinds.try_emplace(TrialKind::Timed);
    if (fresh) at->second.range = name.range;
    inKind(TrialKind::Timed, name, value);
  }

  /// Checks a setting of one kind of trial.
  void inKind(TrialKind kind, const ast::Identifier& name, const ast::Expr& value) {
    if (isTime(name.name)) return duration(name, value, design.kinds[kind].settings);
    const std::vector<SettingRule>& rules = rulesOf(kind);
    const SettingRule* rule = named(rules, name.name);
    // The candidates are those of this kind of trial: `steps` is no setting of quality trials.
    if (!rule) {
      std::vector<std::string> names = namesOf(rules)();
      names.insert(names.end(), std::begin(kTimes), std::end(kTimes));
      return void(unknownName(emitter, "setting", name, names, fmt::format(" of {} trials", toString(kind))));
    }
    Settings& settings = design.kinds[kind].settings;
    // Only `repeat` may be a range.
    auto* range = name.name == "repeat" ? value.as<ast::RangeExpr>() : nullptr;
    if (!range) return add(name, whole(*rule, value), settings);
    // `repeat 10..20`: adaptive repetitions, which `until` ends.
    if (!range->upper || range->step)
      return void(emitter.emit(value.range, BadUntil, toString(kind), "must be a number, or a range such as 10..20"));
    const auto least = whole(*rule, *range->lower), most = whole(*rule, *range->upper);
    if (least && most && *most <= *least)
      emitter.emit(value.range, BadUntil, toString(kind), "must end above their beginning");
    else if (most)
      add(name, least, settings, most);
  }

  /// The kind of trial; the enumeration is in the order of the table of words.
  std::optional<TrialKind> kindOf(const ast::Identifier& word) {
    if (const auto kind = base::valueOf(plan::words::kKind, word.name)) return kind;
    return unknownName(emitter, "kind of trial", word, words::texts(words::Role::Kind));
  }

  using Settings = std::map<std::string, Setting>;

  /// Adds a setting; reports a repeated one.
  void add(const ast::Identifier& name, std::optional<Rational> value, Settings& settings,
           std::optional<Rational> most = {}) {
    if (!value) return;
    auto [at, fresh] = settings.emplace(name.name, Setting{*value, most, name.range});
    if (!fresh) duplicateName(emitter, "setting", name, at->second.range);
  }

  /// A whole number within the rule's range; nothing after a report.
  std::optional<Rational> whole(const SettingRule& rule, const ast::Expr& expr) {
    std::string what = fmt::format("'{}'", rule.name);
    auto value = context.constant(expr, Type::integer(), what);
    if (!value) return std::nullopt;
    const Rational& number = *value->asNumber();
    if (Rational(rule.least) <= number && number <= Rational(rule.most)) return number;
    return emitter.emit(expr.range, OutOfRange, what, number.toString(),
                        fmt::format("in {}..{}", rule.least, rule.most));
  }

  /// Checks `looks at 8, 14`: interim analyses, ascending and before the last repetition.
  void looks(TrialKind kind, const ast::DesignSetting& setting) {
    if (setting.looks.empty()) return;
    if (setting.name.name != "repeat")
      return void(emitter.emit(setting.name.range, BadLooks, toString(kind),
                               "go after `repeat`, as in `repeat 20 looks at 8, 14`"));
    // The setting itself was added before, or refused.
    const Design::Kind& block = design.kinds[kind];
    const Setting* repeat = entryOf(block.settings, "repeat");
    if (!repeat) return;
    std::vector<Look>& planned = design.kinds[kind].looks;
    for (const auto& expr : setting.looks) {
      const auto value = whole(kLook, *expr);
      if (!value) continue;
      const auto repetitions = unsigned(value->numerator());
      if (!planned.empty() && repetitions <= planned.back().repetitions)
        emitter.emit(expr->range, BadLooks, toString(kind), "must rise");
      else if (repeat->value <= Rational(repetitions))
        emitter.emit(expr->range, BadLooks, toString(kind),
                     fmt::format("must come before the last repetition, {}", repeat->value.toString()));
      else
        planned.push_back({repetitions, expr->range});
    }
  }

  /// Checks `until`. It and a range of repetitions need each other.
  void until(TrialKind kind, const ast::DesignSetting& setting) {
    bool ranged = setting.name.name == "repeat" && setting.value->as<ast::RangeExpr>();
    if (ranged && setting.until) return condition(kind, *setting.until);
    if (ranged)
      emitter.emit(setting.value->range, BadUntil, toString(kind), "have a range, but no rule when to stop in it")
          .note("write 'until half_width(gain) <= 1%' after the range");
    else if (setting.until)
      emitter.emit(setting.until->range, BadUntil, toString(kind),
                   "need a range before 'until', as in 'repeat 10..20'");
  }

  /// Checks one condition of `until half_width(gain) <= 1% and …`; recurses into `and`.
  void condition(TrialKind kind, const ast::Expr& expr) {
    auto* binary = expr.as<ast::BinaryExpr>();
    if (binary && binary->op == ast::BinaryOp::And) {
      condition(kind, *binary->left);
      return condition(kind, *binary->right);
    }
    // The only form: half_width(SUBJECT) <= LIMIT.
    auto* call = binary && binary->op == ast::BinaryOp::LessEqual ? binary->left->as<ast::CallExpr>() : nullptr;
    const bool width = call && joined(call->callee) == "half_width" && call->arguments.size() == 1;
    const ast::Identifier* word = width && !call->arguments[0].name ? wordOf(*call->arguments[0].value) : nullptr;
    if (!word)
      return void(emitter.emit(expr.range, BadUntil, toString(kind), "can stop only at the half-width of an interval")
                      .note("write 'until half_width(gain) <= 1%'"));
    Until until;
    until.range = expr.range;
    if (subject(kind, *word, until) && limit(*binary->right, until)) design.kinds[kind].until.push_back(until);
  }

  /// Sets the subject of a condition: it must come from this kind of trial and have an interval.
  bool subject(TrialKind kind, const ast::Identifier& word, Until& until) {
    const auto named = context.subject(word);
    if (!named) return false;
    until.comparison = named->comparison;
    if (!named->comparison) until.metric = named->metric;
    const Metric& measured = study.metrics[named->metric];
    const std::string why = measured.kind != kind ? fmt::format("is measured by {} trials", toString(measured.kind))
                            : measured.exact      ? "is exact and has no interval"
                            : !named->comparison && measured.series ? "is a series and has no interval"
                                                                    : "";
    if (why.empty()) return true;
    return emitter
        .emit(word.range, BadUntil, toString(kind), fmt::format("cannot stop at '{}', which {}", word.name, why))
        .note(measured.range, "the metric is declared here");
  }

  /// Sets the half-width: a Share is relative to the estimate, anything else is in the subject's unit.
  bool limit(const ast::Expr& expr, Until& until) {
    auto value = context.number(expr, "the half-width");
    if (!value) return false;
    const Dimension& of = study.dimensionOf(until.comparison, until.metric);
    const Dimension written = std::get<Value::Number>(value->node).dimension;
    until.half_width = *value->asNumber();
    until.relative = written == Dimension::share() && of != Dimension::share();
    if (until.relative || written == of) return context.context.positive(*value, expr.range, "the half-width");
    return emitter.emit(expr.range, UnitMismatch, "the half-width", written.typeName(), "the interval", of.typeName())
        .note("a share such as 1% is of the estimate");
  }

  /// Adds a time above zero.
  void duration(const ast::Identifier& name, const ast::Expr& expr, Settings& settings) {
    const Type time = Type::number(Dimension::of(Dimension::Time));
    const std::string what = fmt::format("'{}'", name.name);
    const auto value = context.constant(expr, time, what);
    if (value && context.context.positive(*value, expr.range, what)) add(name, *value->asNumber(), settings);
  }

  /// Adds a limit of validity, zero or more.
  void most(const ast::Identifier& name, const ast::Expr& expr, const plan::LimitRule& limit) {
    const std::string what = fmt::format("'{}'", name.name);
    const auto value = context.constant(expr, typeOf(limit), what);
    if (!value) return;
    if (value->asNumber()->sign() < 0)
      emitter.emit(expr.range, OutOfRange, what, value->asNumber()->toString(), "0 or more");
    else
      add(name, *value->asNumber(), design.settings);
  }

  /// Adds how long services live, as the number of plan::Restart.
  void restart(const ast::Identifier& name, const ast::Expr& expr) {
    const ast::Identifier* word = wordOf(expr);
    const auto restart = word ? base::valueOf(plan::words::kRestart, word->name) : std::nullopt;
    if (!restart)
      return void(diag::unknownName(emitter, expr.range, "lifetime of services", context.written(expr.range),
                                    {"block", "trial", "session"}));
    const auto served = [](const Use& use) { return !use.workload->services.empty(); };
    if (std::ranges::none_of(study.uses, served) && study.workload->valid)
      return void(emitter.emit(name.range, NotSupported, "'restart' in a study without a service")
                      .note("a workload names its service: 'service server'"));
    add(name, Rational(int64_t(*restart)), design.settings);
  }

  /// Warns of `order blocks`, which is what every design does. The fix takes the blanks around it as well.
  void order(source::Range written) {
    const StringRef text = context.context.sources.text(written.file);
    const StringRef before = text.take_front(written.begin).rtrim(" \t");
    const StringRef behind = text.drop_front(written.end).ltrim(" \t");
    source::Range removed = written;
    if (!before.ends_with("\n"))
      removed.begin = uint32_t(before.size());
    else if (behind.empty() || behind.front() == '\n' || behind.front() == '\r')
      removed.begin = uint32_t(before.size() - 1);
    else
      removed.end = uint32_t(text.size() - behind.size());
    emitter.emit(written, diag::DeprecatedSpelling, "'order blocks'", "leave it out, every design runs in blocks")
        .fix(removed, "");
  }
};

/// Whether a design has this kind of trial.
bool has(const std::optional<Design>& design, TrialKind kind) { return design && design->kinds.contains(kind); }

/// The kinds of trial that the study or one of its presets designs.
std::vector<std::string> designed(const Study& study) {
  std::vector<std::string> kinds;
  for (TrialKind kind : {TrialKind::Timed, TrialKind::Quality, TrialKind::Profile})
    if (has(study.design, kind) ||
        std::ranges::any_of(study.presets, [&](const Change& preset) { return has(preset.design, kind); }))
      kinds.emplace_back(toString(kind));
  return kinds;
}

/// Whether a setting of trials has an effect on some workload. Built-in ones read all of them; a command runs
/// as long as it likes unless an argument tells it.
bool reads(const Study& study, std::string_view setting) {
  // These work without the program's help: the engine repeats, starts uncounted runs as a warm-up, and stops at
  // the limit.
  if (setting == "repeat" || setting == "warmup" || isTime(setting)) return true;
  return std::ranges::any_of(study.uses,
                             [&](const Use& use) { return !use.workload->command || isTold(*use.workload, setting); });
}

/// Whether a design must state a setting: steps only if no epochs replace them, and nothing to programs that ask for
/// their trial, which run as long as they would by themselves if it does not say.
bool needs(const Study& study, const SettingRule& rule, const Design::Kind& block) {
  const bool asks = std::ranges::all_of(
      study.uses, [](const Use& use) { return use.workload->command && plan::asksTrial(*use.workload->command); });
  return rule.needed && !asks && !(rule.name == "steps" && block.settings.contains("epochs")) &&
         reads(study, rule.name);
}

/// Reports a setting that is missing. A workload of the study's own files may only lack its program.
void missing(StudyContext& context, TrialKind kind, const Design::Kind& block, const SettingRule& rule) {
  auto builder = context.emitter.emit(block.range, MissingSetting, toString(kind), rule.name);
  for (const Use& use : context.study.uses)
    if (use.workload->range.isValid() && !use.workload->command &&
        !context.context.sources.name(use.workload->range.file).starts_with("<stdlib>"))
      builder.note(use.workload->range,
                   "this workload has no program; with one, it needs no '{}': command [\"./run\", options]", rule.name);
}

/// Reports a claim that points run out of memory in a design without any trials: it is decided by trying them.
void claimsHaveTrials(StudyContext& context, const Design& design, const Design* more,
                      const std::vector<Criterion>& criteria) {
  if (!design.kinds.empty() || (more && !more->kinds.empty())) return;
  const auto claim = std::ranges::find_if(criteria, [](const Criterion& criterion) {
    return std::ranges::any_of(criterion.assertions, &Assertion::infeasible);
  });
  if (claim != criteria.end())
    context.emitter.emit(claim->range, KindWithoutDesign, claim->name, toString(TrialKind::Timed))
        .note(design.range, "write 'timed {{ repeat 1 }}' here: only a trial shows whether memory runs out");
}

}  // namespace

std::optional<Design> checkDesign(StudyScope& context, const std::vector<ast::DesignDecl>& designs, bool partial) {
  // A preset may leave the design as it is; a study needs one.
  if (designs.empty()) {
    if (!partial)
      context.emitter.emit(context.study.range, MissingDesign, context.study.name)
          .note("write 'design {{ timed {{ repeat 10  steps 300  warmup 30 }}  seed 7 }}'");
    return std::nullopt;
  }
  const size_t before = context.context.problems();
  Design design;
  design.range = designs[0].range;
  // Several blocks, such as a part's and the study's, are one design; a setting may be in one of them.
  for (const ast::DesignDecl& declaration : designs) {
    DesignChecker checker{context, design};
    for (const ast::DesignKindBlock& block : declaration.kinds) checker.block(block);
    for (const ast::DesignSetting& setting : declaration.settings) checker.top(setting);
  }
  if (context.context.problems() != before) return std::nullopt;
  return design;
}

bool checkDesignSetting(StudyScope& context, const ast::QualifiedName& path, const ast::Expr& value, bool known_kind,
                        Design& design) {
  size_t before = context.emitter.errors();
  DesignChecker checker{context, design};
  design.range = path.range;
  if (path.parts.size() == 2) {
    checker.top(path.parts[1], value, source::join(path.range, value.range));
  } else if (path.parts.size() == 3) {
    const ast::Identifier& block = path.parts[1];
    const auto kind = checker.kindOf(block);
    if (!kind) return false;
    // An override may change a designed kind, not invent one.
    if (const auto kinds = designed(context.study); known_kind && !named(kinds, block.name))
      return unknownName(context.emitter, "block", block, kinds, " of the design");
    design.kinds[*kind].range = block.range;
    checker.inKind(*kind, path.parts[2], value);
  } else {
    diag::unknownName(context.emitter, path.range, "setting", context.written(path.range),
                      {"design.timed.repeat", "design.quality.repeat", "design.seed", "design.budget"});
  }
  return context.emitter.errors() == before;
}

void checkDesignCovers(StudyContext& context, size_t before) {
  Study& study = context.study;
  if (!study.design) return;
  const Design& design = *study.design;
  std::map<TrialKind, bool> used;
  std::vector<const Criterion*> criteria;
  for (const Criterion& criterion : study.criteria) criteria.push_back(&criterion);
  // Every measured metric needs trials of its kind.
  for (unsigned index : study.measuredWith(criteria)) {
    const Metric& metric = study.metrics[index];
    used[metric.kind] = true;
    if (design.kinds.contains(metric.kind)) continue;
    context.emitter.emit(design.range, KindWithoutDesign, metric.name, toString(metric.kind))
        .note(metric.range, "the metric is declared here");
  }
  claimsHaveTrials(context, design, nullptr, study.criteria);
  // A preset may bring criteria, and trials for them.
  for (const Change& preset : study.presets) {
    claimsHaveTrials(context, design, preset.design ? &*preset.design : nullptr, preset.criteria);
    for (const Criterion& criterion : preset.criteria)
      for (const Assertion& assertion : criterion.assertions) {
        if (!assertion.metric) continue;
        const Metric& metric = study.metrics[*assertion.metric];
        used[metric.kind] = true;
        if (!design.kinds.contains(metric.kind) && !has(preset.design, metric.kind))
          context.emitter.emit(criterion.range, KindWithoutDesign, metric.name, toString(metric.kind));
      }
  }
  // Settings without an effect are warnings, and left out if there are errors.
  const auto heed = [&](TrialKind kind, const Design::Kind& block) {
    for (const auto& [name, setting] : block.settings)
      if (context.context.problems() == before && !reads(study, name))
        context.emitter.emit(setting.range, UnusedSetting, name, toString(kind))
            .note("write '${{{}}}' in an argument, or leave the setting out: it has no effect", name);
  };
  // A kind's block must have all required settings, and something measured must come from it.
  const auto complete = [&](TrialKind kind, const Design::Kind& block) {
    heed(kind, block);
    for (const SettingRule& rule : rulesOf(kind))
      if (needs(study, rule, block) && !block.settings.contains(std::string(rule.name)))
        missing(context, kind, block, rule);
    if (!used[kind] && context.context.problems() == before)
      context.emitter.emit(block.range, UnusedDesign, toString(kind));
  };
  for (const auto& [kind, block] : design.kinds) complete(kind, block);
  // A kind that only a preset designs must be complete there; others are completed by the study's block.
  for (const Change& preset : study.presets)
    if (preset.design)
      for (const auto& [kind, block] : preset.design->kinds)
        design.kinds.contains(kind) ? heed(kind, block) : complete(kind, block);
}

}  // namespace expc::check
