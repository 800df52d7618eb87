// Builds the index from the syntax tree (`declare…`) and answers look-ups. Repeated declarations keep the first
// one under their name; each still has a symbol of its own by place.

#include "compiler/check/names.h"

#include <algorithm>
#include <tuple>

#include "runtime/base/entry.h"

namespace expc::check {
namespace {

/// A place as a key: the file and the beginning.
uint64_t keyOf(source::Range range) { return uint64_t(range.file.index) << 32 | range.begin; }

}  // namespace

std::string_view toString(SymbolKind kind) {
  static constexpr std::string_view kNames[] = {"module",   "enum",      "level",     "unit",   "let",
                                                "workload", "service",   "parameter", "metric", "rule",
                                                "study",    "part",      "workload",  "factor", "comparison",
                                                "control",  "criterion", "preset",    "system", "reference"};
  return kNames[size_t(kind)];
}

unsigned Names::add(Symbol symbol) {
  const unsigned id = unsigned(symbols_.size());
  declared_.emplace(keyOf(symbol.range), id);
  // The first declaration of a name wins, as in the checker.
  if (symbol.parent) named_.emplace(std::tuple(*symbol.parent, symbol.kind, symbol.name), id);
  // A module's own beginning is no word in its text.
  if (symbol.kind != SymbolKind::Module) occurrences_.push_back({symbol.range, id, true});
  symbols_.push_back(std::move(symbol));
  return id;
}

template <typename Declared>
unsigned Names::add(SymbolKind kind, const Declared& declared, unsigned parent) {
  source::Range whole = declared.name.range;
  // Levels have no range beyond their name.
  if constexpr (requires { declared.range; }) whole = declared.range;
  return add({kind, declared.name.name, declared.name.range, whole, &declared, parent});
}

template <typename Declared>
void Names::addAll(SymbolKind kind, const std::vector<Declared>& all, unsigned parent) {
  for (const Declared& declared : all) add(kind, declared, parent);
}

void Names::declare(const load::Module& module) {
  using enum SymbolKind;
  const ast::Module& file = module.ast;
  // A file has no name of its own in its text: its beginning stands for it.
  const source::Range beginning{file.file, 0, 0};
  const unsigned own = add({Module, module.path, beginning, beginning, &module});
  for (const ast::EnumDecl& declared : file.enums) {
    const unsigned parent = add(Enum, declared, own);
    addAll(Level, declared.levels, parent);
  }
  addAll(Unit, file.units, own);
  addAll(Let, file.lets, own);
  addAll(Metric, file.metrics, own);
  for (const ast::WorkloadDecl& declared : file.workloads) declareWorkload(Workload, declared, own);
  for (const ast::WorkloadDecl& declared : file.services) declareWorkload(Service, declared, own);
  addAll(System, file.systems, own);
  addAll(Reference, file.references, own);
  for (const ast::PartDecl& declared : file.parts) declareStudy(declared, add(Part, declared, own));
  for (const ast::StudyDecl& declared : file.studies) declareStudy(declared, add(Study, declared, own));
  for (const ast::PresetDecl& declared : file.presets) declarePreset(declared, own);
}

void Names::declareWorkload(SymbolKind kind, const ast::WorkloadDecl& workload, unsigned file) {
  using enum SymbolKind;
  const unsigned parent = add(kind, workload, file);
  addAll(Parameter, workload.params, parent);
  addAll(Let, workload.lets, parent);
  for (const ast::MetricDecl& declared : workload.metrics)
    if (!declared.all) add(Metric, declared, parent);
  declareRules(workload.rules, parent);
}

void Names::declareStudy(const ast::StudyDecl& study, unsigned parent) {
  using enum SymbolKind;
  addAll(Parameter, study.params, parent);
  for (const ast::WorkloadUse& use : study.workloads)
    if (use.label) add({Label, use.label->name, use.label->range, use.range, &use, parent});
  addAll(Factor, study.factors, parent);
  addAll(Let, study.lets, parent);
  declareRules(study.rules, parent);
  addAll(Metric, study.metrics, parent);
  for (const ast::CompareDecl& declared : study.compares)
    if (!declared.stated) add(Comparison, declared, parent);
  addAll(Control, study.controls, parent);
  addAll(Criterion, study.criteria, parent);
  for (const ast::PresetDecl& declared : study.presets) declarePreset(declared, parent);
}

void Names::declareRules(const std::vector<ast::RuleDecl>& rules, unsigned parent) {
  for (const ast::RuleDecl& declared : rules)
    if (declared.name)
      add({SymbolKind::Rule, declared.name->name, declared.name->range, declared.range, &declared, parent});
}

void Names::declarePreset(const ast::PresetDecl& preset, unsigned parent) {
  const unsigned own = add(SymbolKind::Preset, preset, parent);
  addAll(SymbolKind::Criterion, preset.criteria, own);
}

void Names::note(source::Range range, source::Range declared) {
  const std::optional<unsigned> symbol = declaredAt(declared);
  // The parameter `workload` of a study with several workloads has no declaration: its place is the study's
  // name.
  if (!symbol || symbols_[*symbol].kind == SymbolKind::Study) return;
  // A factor's name is also a use of the parameter that it varies; remember the link instead of two meanings.
  if (const std::optional<unsigned> own = declaredAt(range); own && own != symbol) symbols_[*own].varies = symbol;
  occurrences_.push_back({range, *symbol, false});
}

void Names::sort() {
  const auto place = [](const Occurrence& one) {
    return std::tuple(one.range.file.index, one.range.begin, one.range.end, !one.declares, one.symbol);
  };
  std::ranges::stable_sort(occurrences_, {}, place);
  // Parts that are checked once for each study, such as a file's presets, noted the same use several times.
  const auto again = std::ranges::unique(occurrences_, {}, place);
  occurrences_.erase(again.begin(), again.end());
}

std::optional<unsigned> Names::declaredAt(source::Range range) const { return valueIn(declared_, keyOf(range)); }

std::optional<unsigned> Names::find(SymbolKind kind, std::string_view name, std::optional<unsigned> parent) const {
  return parent ? valueIn(named_, std::tuple(*parent, kind, std::string(name))) : std::nullopt;
}

const Occurrence* Names::at(source::FileId file, uint32_t offset) const {
  // The innermost: a part of `(loader, layout)` rather than the whole. An occurrence that holds the byte beats
  // one that ends there.
  const auto rank = [&](const Occurrence& one) {
    return std::tuple(offset == one.range.end, one.range.end - one.range.begin);
  };
  const Occurrence* best = nullptr;
  for (const Occurrence& one : occurrences_) {
    if (one.range.file != file || offset < one.range.begin || offset > one.range.end) continue;
    if (!best || rank(one) < rank(*best)) best = &one;
  }
  return best;
}

const ast::StudyDecl* Names::studyOf(const Symbol& symbol) const {
  for (std::optional<unsigned> at = symbol.parent; at; at = symbols_[*at].parent) {
    const Declaration& declared = symbols_[*at].declaration;
    if (const auto* study = std::get_if<const ast::StudyDecl*>(&declared)) return *study;
    if (const auto* part = std::get_if<const ast::PartDecl*>(&declared)) return *part;
  }
  return nullptr;
}

}  // namespace expc::check
