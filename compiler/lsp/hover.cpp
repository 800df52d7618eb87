// What a name is, in a few lines.

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include "compiler/check/expression.h"
#include "compiler/language/words.h"
#include "compiler/lsp/context.h"
#include "compiler/lsp/facts.h"
#include "compiler/lsp/features.h"
#include "compiler/value/dimension.h"

namespace expc::lsp {
namespace {

/// Text as it is written, on one line; shortened where it is long.
std::string written(const Analysis& analysis, source::Range range) {
  constexpr size_t kMost = 160;
  std::string text = check::squeeze(analysis.sources.text(range));
  if (text.size() <= kMost) return text;
  size_t cut = kMost;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return text.substr(0, cut) + " …";
}

/// The unit of a type's values: "px", "img/s"; "" where they have none.
std::string unitOf(const ast::TypeExpr& type) {
  if (type.shape != ast::TypeExpr::Shape::Named || type.name.parts.size() != 1) return "";
  std::optional<check::Dimension> dimension = check::findDimension(type.name.parts[0].name);
  for (const ast::Identifier& below : type.per) {
    const std::optional<check::Dimension> divisor = check::findDimension(below.name);
    if (!dimension || !divisor) return "";
    dimension = dimension->over(*divisor);
  }
  if (dimension == check::Dimension::share()) return "%";
  return dimension ? dimension->baseUnit() : "";
}

/// Markdown: a line of code, the doc comment, facts.
class Page {
 public:
  explicit Page(std::string head) : head_(std::move(head)) {}
  void doc(const std::string& text) {
    if (!text.empty()) parts_ += "\n\n" + text;
  }
  void fact(std::string_view what, const std::string& text) {
    if (!text.empty()) facts_ += fmt::format("\n- {}: {}", what, text);
  }
  void code(std::string_view what, const std::string& text) {
    if (!text.empty()) fact(what, "`" + text + "`");
  }
  std::string text() const { return "```exp\n" + head_ + "\n```" + parts_ + (facts_.empty() ? "" : "\n" + facts_); }

 private:
  std::string head_, parts_, facts_;
};

class Hover {
 public:
  Hover(const Query& query, const Symbol& symbol)
      : analysis_(query.analysis),
        index_(query.analysis.index),
        symbol_(symbol),
        most_(query.workspace.limits.typing) {}

  std::string text() {
    return std::visit([this](const auto* node) { return describe(*node); }, symbol_.declaration);
  }

 private:
  std::string describe(const Scope& scope) {
    const load::Module& module = *scope.file;
    std::string name = module.is_stdlib
                           ? "std." + module.prefix.substr(0, module.prefix.size() - !module.prefix.empty())
                           : "\"" + module.path + "\"";
    Page page("import " + name);
    const auto list = [](const auto& all) {
      std::string text;
      for (const auto& declaration : all) text += (text.empty() ? "" : ", ") + declaration.name.name;
      return text;
    };
    if (scope.ast) {
      page.code("workloads", list(scope.ast->workloads));
      page.code("enums", list(scope.ast->enums));
      page.code("values", list(scope.ast->lets));
      page.code("systems", list(scope.ast->systems));
    }
    return page.text();
  }

  std::string describe(const ast::EnumDecl& declaration) {
    Page page(written(analysis_, declaration.range));
    page.doc(declaration.doc);
    return page.text();
  }

  std::string describe(const ast::EnumLevel& level) {
    std::string text = level.name.name;
    std::string fields;
    for (const ast::EnumField& field : level.fields) {
      fields += fields.empty() ? "" : ", ";
      if (field.name) fields += field.name->name + " : ";
      if (field.type) fields += written(analysis_, field.type->range);
    }
    if (!fields.empty()) text += "(" + fields + ")";
    Page page(text);
    if (symbol_.owner) {
      const auto& owner = *std::get<const ast::EnumDecl*>(index_.symbols[*symbol_.owner].declaration);
      page.fact("level of", fmt::format("`{}`{}", owner.name.name, owner.ordered ? ", which is ordered" : ""));
      page.doc(owner.doc);
    }
    return page.text();
  }

  std::string describe(const ast::LetDecl& let) {
    Page page(written(analysis_, let.range));
    page.doc(let.doc);
    return page.text();
  }

  std::string describe(const ast::WorkloadDecl& workload) {
    Page page("workload " + workload.name.name);
    page.doc(workload.doc);
    if (workload.version) page.fact("version", std::to_string(*workload.version));
    if (workload.command) page.code("runs", written(analysis_, workload.command->range));
    const auto list = [](const auto& all) {
      std::string text;
      for (const auto& declaration : all) text += (text.empty() ? "`" : ", `") + declaration.name.name + "`";
      return text;
    };
    page.fact("parameters", list(workload.params));
    page.fact("metrics", list(workload.metrics));
    return page.text();
  }

  std::string describe(const ast::ParamDecl& param) {
    Page page(fmt::format("param {} : {}", param.name.name, written(analysis_, param.type.range)));
    parameter(page, param, symbol_.scope);
    return page.text();
  }

  void parameter(Page& page, const ast::ParamDecl& param, const Scope* scope) {
    page.doc(param.doc);
    Expected expected;
    expected.type = &param.type;
    expected.scope = scope;
    if (const ast::EnumDecl* enumeration = expected.enumeration()) {
      std::string levels;
      for (const ast::EnumLevel& level : enumeration->levels) levels += (levels.empty() ? "" : ", ") + level.name.name;
      page.code(enumeration->ordered ? "values, in order" : "values", levels);
    } else if (param.type.refinement) {
      page.code("range", written(analysis_, param.type.refinement->range));
    }
    page.code("unit", unitOf(param.type));
    if (param.default_value)
      page.code("default", written(analysis_, param.default_value->range));
    else
      page.fact("default", "none; a study has to give it");
    if (param.when) page.code("active when", written(analysis_, param.when->range));
  }

  std::string describe(const ast::MetricDecl& metric) {
    if (metric.derived) {
      Page page(written(analysis_, metric.range));
      page.doc(metric.doc);
      if (symbol_.study)
        if (const check::Study* checked = checkedStudy(analysis_.program, *symbol_.study))
          if (const int index = checked->findMetric(symbol_.name); index >= 0)
            page.code("type", checked->metrics[index].dimension.typeName());
      if (metric.direction) page.fact("better", metric.direction->name);
      return page.text();
    }
    const std::string type = metric.type ? written(analysis_, metric.type->range) : "?";
    Page page(fmt::format("metric {} : {}", metric.name.name, type));
    page.doc(metric.doc);
    if (metric.type) page.code("unit", unitOf(*metric.type));
    if (metric.direction) page.fact("better", metric.direction->name);
    page.fact("yielded by", (metric.kind ? metric.kind->name : "timed") + " trials");
    if (metric.exact) page.fact("compared", "exactly");
    if (metric.series) page.fact("a series", "a value for each epoch or logged step");
    if (metric.source) page.code("read from", written(analysis_, metric.source->range));
    return page.text();
  }

  std::string describe(const ast::RuleDecl& rule) {
    Page page(written(analysis_, rule.range));
    page.doc(rule.doc);
    return page.text();
  }

  std::string describe(const ast::StudyDecl& study) {
    Page page("study " + study.name.name);
    page.doc(study.doc);
    const check::Study* checked = checkedStudy(analysis_.program, study);
    if (!checked) return page.text();
    const std::optional<PointCounts> counts = countPoints(*checked, most_);
    if (counts)
      page.fact("points", counts->points == counts->product
                              ? std::to_string(counts->points)
                              : fmt::format("{} of {} combinations", counts->points, counts->product));
    for (const check::Factor& factor : checked->factors)
      page.fact(fmt::format("factor `{}`", factor.name), fmt::format("`{}`", levelList(factor)));
    return page.text();
  }

  std::string describe(const ast::WorkloadUse& use) {
    Page page(written(analysis_, use.range));
    if (const FoundWorkload found = findWorkload(*symbol_.scope, use.name); found.declaration)
      page.doc(found.declaration->doc);
    return page.text();
  }

  std::string describe(const ast::FactorDecl& factor) {
    Page page(written(analysis_, factor.range));
    page.doc(factor.doc);
    if (symbol_.study) {
      if (const check::Study* checked = checkedStudy(analysis_.program, *symbol_.study)) levels(page, *checked);
      const std::vector<FoundWorkload> workloads = workloadsOf(*symbol_.scope, *symbol_.study);
      if (const FoundParameter found = findParameter(workloads, factor.name.name); found.declaration) {
        page.code("type", written(analysis_, found.declaration->type.range));
        parameter(page, *found.declaration, found.scope);
      }
    }
    return page.text();
  }

  void levels(Page& page, const check::Study& study) {
    const int index = study.findFactor(symbol_.name);
    if (index < 0) return;
    const check::Factor& factor = study.factors[index];
    const std::optional<PointCounts> counts = countPoints(study, most_);
    if (!counts) return page.code("levels", levelList(factor));
    std::string text;
    constexpr size_t kMost = 12;
    for (size_t at = 0; at < factor.levels.size() && at < kMost; ++at)
      text += fmt::format("{}`{}` ({})", text.empty() ? "" : ", ", factor.levels[at].label, counts->levels[index][at]);
    if (factor.levels.size() > kMost) text += ", …";
    page.fact(fmt::format("{} levels (points of {})", factor.levels.size(), counts->points), text);
    if (factor.baseline) page.code("baseline", factor.levels[*factor.baseline].label);
  }

  std::string describe(const ast::CompareDecl& compare) {
    Page page(written(analysis_, compare.range));
    page.doc(compare.doc);
    if (symbol_.study)
      if (const check::Study* checked = checkedStudy(analysis_.program, *symbol_.study))
        if (const int index = checked->findComparison(symbol_.name); index >= 0)
          page.code("type", checked->comparisons[index].dimension.typeName());
    if (const language::Word* function =
            compare.call.callee.parts.empty()
                ? nullptr
                : language::find(language::Role::Comparison, compare.call.callee.parts[0].name))
      page.doc(std::string(function->doc));
    return page.text();
  }

  std::string describe(const ast::CriterionDecl& criterion) { return withDoc(criterion); }
  std::string describe(const ast::ControlDecl& control) { return withDoc(control); }
  std::string describe(const ast::SystemDecl& system) { return withDoc(system); }
  std::string describe(const ast::ReferenceDecl& reference) { return withDoc(reference); }
  std::string describe(const ast::PresetDecl& preset) { return withDoc(preset); }

  template <typename Declared>
  std::string withDoc(const Declared& declared) {
    Page page(written(analysis_, declared.range));
    page.doc(declared.doc);
    return page.text();
  }

  Analysis& analysis_;
  const Index& index_;
  const Symbol& symbol_;
  uint64_t most_;
};

/// The token that holds the place, or ends there.
const parse::LexedToken* tokenAt(const Analysis& analysis, uint32_t offset) {
  const parse::LexedToken* ending = nullptr;
  for (const parse::LexedToken& token : analysis.tokens) {
    if (token.kind == parse::Token::EndOfFile || offset < token.range.begin || offset > token.range.end) continue;
    if (offset < token.range.end) return &token;
    ending = &token;
  }
  return ending;
}

/// The property of a machine that is named there: `system.gpu.memory`, or `gpu.memory` in the braces of a system.
const language::Word* propertyAt(const Query& query, const parse::LexedToken& token) {
  const std::string_view all = query.analysis.sources.text(query.analysis.root);
  uint32_t begin = token.range.begin;
  while (begin > 0 && (all[begin - 1] == '.' || llvm::isAlnum(all[begin - 1]))) --begin;
  llvm::StringRef name(all.data() + begin, token.range.end - begin);
  const bool of_system = name.consume_front("system.");
  const Context context = contextAt(query.analysis.sources, query.analysis.tokens, token.range.begin);
  if (!of_system && context.block != parse::Rule::SystemBody) return nullptr;
  return language::find(language::Role::Property, name);
}

}  // namespace

llvm::json::Value hover(const Query& query) {
  std::string text;
  source::Range range;
  if (const Use* use = query.use()) {
    text = Hover(query, query.analysis.index.symbols[use->symbol]).text();
    range = use->range;
  } else if (const parse::LexedToken* token = tokenAt(query.analysis, query.offset);
             token && (parse::isReserved(token->kind) || parse::isWord(token->kind))) {
    const std::string_view written = query.analysis.sources.text(token->range);
    const language::Word* word = propertyAt(query, *token);
    if (!word) word = language::find(written);
    if (!word) return nullptr;
    text = fmt::format("```exp\n{}\n```\n\n{}", word->text, word->doc);
    range = token->range;
  } else {
    return nullptr;
  }
  return llvm::json::Object{{"contents", llvm::json::Object{{"kind", "markdown"}, {"value", clean(text)}}},
                            {"range", rangeJson(query.workspace, query.analysis, range)}};
}

}  // namespace expc::lsp
