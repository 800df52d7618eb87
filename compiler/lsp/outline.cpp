// The symbols of a document, as a tree.

#include "compiler/lsp/features.h"

namespace expc::lsp {
namespace {

// The protocol's kinds.
enum : int {
  kModule = 2,
  kClass = 5,
  kProperty = 7,
  kField = 8,
  kEnum = 10,
  kFunction = 12,
  kVariable = 13,
  kConstant = 14,
  kObject = 19,
  kKey = 20,
  kEnumMember = 22,
  kEvent = 24,
  kOperator = 25
};

class Outline {
 public:
  explicit Outline(const Query& query) : query_(query) {}

  llvm::json::Array of(const ast::Module& file) {
    llvm::json::Array all;
    for (const ast::EnumDecl& declaration : file.enums) {
      llvm::json::Array levels;
      for (const ast::EnumLevel& level : declaration.levels)
        levels.push_back(entry(level.name, level.name.range, kEnumMember, ""));
      all.push_back(entry(declaration.name, declaration.range, kEnum, "enum", std::move(levels)));
    }
    for (const ast::LetDecl& unit : file.units) all.push_back(entry(unit.name, unit.range, kConstant, "unit"));
    for (const ast::LetDecl& let : file.lets) all.push_back(entry(let.name, let.range, kConstant, "let"));
    for (const ast::WorkloadDecl& declaration : file.workloads) all.push_back(workload(declaration));
    for (const ast::SystemDecl& system : file.systems)
      all.push_back(entry(system.name, system.range, kObject, "system"));
    for (const ast::ReferenceDecl& reference : file.references)
      all.push_back(entry(reference.name, reference.range, kObject, "reference"));
    for (const ast::StudyDecl& declaration : file.studies) all.push_back(study(declaration));
    for (const ast::PresetDecl& preset : file.presets)
      all.push_back(entry(preset.name, preset.range, kEvent, "preset"));
    return all;
  }

 private:
  llvm::json::Value workload(const ast::WorkloadDecl& declaration) {
    llvm::json::Array parts;
    for (const ast::ParamDecl& param : declaration.params)
      parts.push_back(entry(param.name, param.range, kProperty, text(param.type.range)));
    for (const ast::LetDecl& let : declaration.lets) parts.push_back(entry(let.name, let.range, kConstant, "let"));
    for (const ast::MetricDecl& metric : declaration.metrics)
      parts.push_back(entry(metric.name, metric.range, kField, metric.type ? text(metric.type->range) : ""));
    for (const ast::RuleDecl& rule : declaration.rules)
      if (rule.name) parts.push_back(entry(*rule.name, rule.range, kOperator, "rule"));
    return entry(declaration.name, declaration.range, kClass, "workload", std::move(parts));
  }

  llvm::json::Value study(const ast::StudyDecl& declaration) {
    llvm::json::Array parts;
    for (const ast::WorkloadUse& use : declaration.workloads)
      if (!use.name.parts.empty())
        parts.push_back(entry(use.label ? *use.label : use.name.parts.back(), use.range, kClass, text(use.name.range)));
    for (const ast::FactorDecl& factor : declaration.factors)
      parts.push_back(entry(factor.name, factor.range, kProperty, factor.levels ? text(factor.levels->range) : ""));
    for (const ast::LetDecl& let : declaration.lets) parts.push_back(entry(let.name, let.range, kConstant, "let"));
    for (const ast::RuleDecl& rule : declaration.rules)
      if (rule.name) parts.push_back(entry(*rule.name, rule.range, kOperator, "rule"));
    for (const ast::MetricDecl& metric : declaration.metrics)
      parts.push_back(entry(metric.name, metric.range, kField, "metric"));
    for (const ast::CompareDecl& compare : declaration.compares)
      parts.push_back(entry(compare.name, compare.range, kFunction, text(compare.call_range)));
    for (const ast::ControlDecl& control : declaration.controls)
      parts.push_back(entry(control.name, control.range, kVariable, "control"));
    for (const ast::CriterionDecl& criterion : declaration.criteria)
      parts.push_back(entry(criterion.name, criterion.range, kKey, "criterion"));
    for (const ast::PresetDecl& preset : declaration.presets)
      parts.push_back(entry(preset.name, preset.range, kEvent, "preset"));
    return entry(declaration.name, declaration.range, kModule, "study", std::move(parts));
  }

  std::string text(source::Range range) const {
    constexpr size_t kMost = 60;
    const std::string_view written = query_.analysis.sources.text(range);
    if (written.size() > kMost || written.find('\n') != std::string_view::npos) return "";
    return std::string(written);
  }

  llvm::json::Value entry(const ast::Identifier& name, source::Range range, int kind, std::string detail,
                          llvm::json::Array children = {}) {
    // The name's range lies inside the whole one, whatever was written.
    llvm::json::Object result{{"name", clean(name.name.empty() ? "?" : name.name)},
                              {"kind", kind},
                              {"range", rangeJson(query_.workspace, query_.analysis, source::join(range, name.range))},
                              {"selectionRange", rangeJson(query_.workspace, query_.analysis, name.range)}};
    if (!detail.empty()) result["detail"] = clean(detail);
    if (!children.empty()) result["children"] = std::move(children);
    return result;
  }

  const Query& query_;
};

}  // namespace

llvm::json::Value outline(const Query& query) {
  if (query.analysis.loaded) return Outline(query).of(query.analysis.program.modules.root().ast);
  return llvm::json::Array{};
}

}  // namespace expc::lsp
