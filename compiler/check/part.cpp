// Parts, and the constants of a study. `withParts` copies the statements of parts into the declaration of a study,
// each list in the order of the text, so that every later step sees one flat study. Statements keep their places, by
// which diagnostics, hovers and names of a file find the part.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "compiler/parse/parse.h"

namespace expc::check {
namespace {

// Limit on parts of one study, and so on their nesting: each level recurses.
constexpr size_t kMaxParts = 256;

/// Fills `out` with the statements of a study and its parts.
struct Flattener {
  Checking& context;
  ast::StudyDecl& out;
  Study& study;
  /// The parts whose statements are being added, to find circles.
  std::vector<const ast::PartDecl*> active = {};
  /// Each part with the list of statements that took it, and the place.
  std::map<const ast::PartDecl*, std::pair<const ast::StudyDecl*, source::Range>> used = {};
  /// Each preset's name with a list of statements that has it.
  std::set<std::pair<std::string, const ast::StudyDecl*>> presets = {};
  /// Every part was found.
  bool whole = true;

  void add(const ast::StudyDecl& from, ModuleScope& scope) {
    uint32_t at = 0;
    for (const ast::NamedUse& use : from.uses) {
      between(from, at, use.range.begin);
      at = use.range.begin;
      include(use, from, scope);
    }
    between(from, at, std::numeric_limits<uint32_t>::max());
  }

 private:
  /// Copies the statements that begin in bytes [begin, end) of their file.
  void between(const ast::StudyDecl& from, uint32_t begin, uint32_t end) {
    const auto each = [&](auto... lists) {
      const auto copy = [&](auto list) {
        std::ranges::copy_if(from.*list, std::back_inserter(out.*list),
                             [&](const auto& one) { return begin <= one.range.begin && one.range.begin < end; });
      };
      (copy(lists), ...);
    };
    using Study = ast::StudyDecl;
    each(&Study::workloads, &Study::params, &Study::factors, &Study::lets, &Study::rules, &Study::metrics,
         &Study::measures, &Study::compares, &Study::controls, &Study::criteria, &Study::confidences, &Study::expected,
         &Study::designs, &Study::tables, &Study::plots);
    for (const ast::PresetDecl& preset : from.presets)
      if (begin <= preset.range.begin && preset.range.begin < end) add(preset, from);
  }

  /// Adds a preset. One of the same name of another list is the same preset, to which this one adds its statements;
  /// twice in one list stays a mistake.
  void add(const ast::PresetDecl& preset, const ast::StudyDecl& from) {
    const bool fresh = presets.emplace(preset.name.name, &from).second;
    const auto known = std::ranges::find(out.presets, preset.name.name, [](const auto& one) { return one.name.name; });
    if (!fresh || known == out.presets.end()) return out.presets.push_back(preset);
    const auto each = [&](auto... lists) {
      const auto append = [&](auto list) { std::ranges::copy(preset.*list, std::back_inserter((*known).*list)); };
      (append(lists), ...);
    };
    using Preset = ast::PresetDecl;
    each(&Preset::assignments, &Preset::only, &Preset::claims, &Preset::criteria, &Preset::designs);
    if (known->doc.empty()) known->doc = preset.doc;
  }

  /// Reports a name that is no part of its file.
  void unknown(const ast::QualifiedName& name, const ModuleScope& where) {
    whole = false;
    const ast::Identifier& last = name.parts.back();
    if (where.workloads.contains(last.name))
      return void(context.emitter.emit(last.range, diag::UnknownName, "part", last.name, "")
                      .note("it is a workload: write 'workload {}'", joined(name)));
    unknownName(context.emitter, "part", last, namesOf(where.ast->parts));
  }

  void include(const ast::NamedUse& use, const ast::StudyDecl& from, ModuleScope& scope) {
    ModuleScope* where = context.scopeOf(use.name, scope);
    whole &= where != nullptr;
    if (!where) return;
    const ast::Identifier& name = use.name.parts.back();
    const int index = use.name.parts.size() > 2 ? -1 : findNamed(where->ast->parts, name.name);
    if (index < 0) return unknown(use.name, *where);
    const ast::PartDecl& part = where->ast->parts[index];
    context.note(name.range, part.name.range);
    if (is_contained(active, &part)) return void(context.emitter.emit(name.range, LetCycle, "part", name.name));
    // Two parts may use a third one: its statements are taken once. Twice in one list is a slip.
    if (const auto [at, fresh] = used.try_emplace(&part, std::pair(&from, use.range)); !fresh) {
      if (at->second.first == &from) duplicateName(context.emitter, "use of", name, at->second.second);
      return;
    }
    if (study.parts.size() == kMaxParts)
      return void(
          context.emitter.emit(name.range, NotSupported, fmt::format("a study with more than {} parts", kMaxParts)));
    study.parts.push_back({part.name.name, part.name.range, part.range, use.range});
    study.scopes_of_parts.emplace_back(part.range.file, where);
    active.push_back(&part);
    add(part, *where);
    active.pop_back();
  }
};

/// Resolves the constants of a study. A text of `-D` takes the place of the value in the file.
struct ConstantChecker {
  StudyContext& context;

  void run(const ast::ParamDecl& declaration) {
    const ast::Identifier& name = declaration.name;
    for (const ast::ExprPtr* clause : {&declaration.when, &declaration.strong})
      if (*clause) context.emitter.emit((*clause)->range, NotSupported, "a condition of a study's constant");
    const auto [type, allowed] = resolveType(context.context, declaration.type, context.scopeAt(declaration.range));
    if (!declaration.value)
      return void(context.emitter.emit(name.range, NotSupported, "a study's constant without a value")
                      .note("write 'param {} : … = …'; -D may replace it", name.name));
    Constant constant{name.name, "", type, {}, name.range};
    // The value in the file is checked even where -D replaces it.
    valueOf(*declaration.value, type, allowed, constant);
    const std::vector<std::string>& overrides = context.context.program.overrides;
    const auto given = std::find_if(overrides.rbegin(), overrides.rend(),
                                    [&](const std::string& text) { return setsConstant(text, name.name); });
    if (given != overrides.rend()) {
      const auto file = parse::load(context.context.sources, "-D", *given, context.emitter);
      const auto setting = file ? parse::parseSetting(context.context.sources, *file, context.emitter) : std::nullopt;
      if (setting) valueOf(*setting->assignment.value, type, allowed, constant);
      constant.given_by = *given;
    }
    context.study.constants.push_back(std::move(constant));
  }

 private:
  void valueOf(const ast::Expr& expr, const Type& type, const std::optional<Refinement>& allowed, Constant& constant) {
    const std::string what = fmt::format("'{}'", constant.name);
    ExpressionScope place{&context.scope};
    place.study = &context.study;
    if (auto value = context.context.constant(expr, place, type, what, allowed)) constant.value = std::move(value);
  }
};

}  // namespace

const ast::StudyDecl& withParts(Checking& context, ModuleScope& scope, const ast::StudyDecl& declaration, Study& study,
                                bool& whole) {
  if (declaration.uses.empty()) return declaration;
  auto flat = std::make_unique<ast::StudyDecl>();
  static_cast<ast::Declaration&>(*flat) = declaration;
  Flattener parts{context, *flat, study};
  parts.add(declaration, scope);
  whole = parts.whole;
  context.program.flat.push_back(std::move(flat));
  return *context.program.flat.back();
}

ModuleScope& scopeAt(const Study& study, source::Range text, ModuleScope& otherwise) {
  const auto found =
      std::ranges::find(study.scopes_of_parts, text.file, &std::pair<source::FileId, ModuleScope*>::first);
  return found == study.scopes_of_parts.end() ? otherwise : *found->second;
}

bool setsConstant(std::string_view text, std::string_view name) {
  const StringRef written = StringRef(text).split('=').first;
  return written.size() < text.size() && written.trim() == StringRef(name);
}

void checkConstants(StudyContext& context) {
  for (const ast::ParamDecl& declaration : context.declaration->params)
    if (isFresh(context.emitter, "parameter", declaration.name, context.study.constants) &&
        isFresh(context.emitter, "parameter", declaration.name, context.study.workload->parameters))
      ConstantChecker{context}.run(declaration);
}

}  // namespace expc::check
