// Describes the name, the word of the language or the number under the cursor, as Markdown: its declaration as code,
// its doc comment, and facts that the checker knows (types, units, numbers of points). Descriptions of parameters,
// metrics and words come from module_page.h and compiler/parse/words.h, so that the editor says the same as `expc doc`.

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "compiler/check/expression.h"
#include "compiler/check/value/dimension.h"
#include "compiler/editor/features.h"
#include "compiler/editor/module_page.h"
#include "compiler/parse/words.h"
#include "compiler/points/prepared.h"
#include "runtime/base/format.h"
#include "runtime/base/text.h"

namespace expc::editor {

using check::Occurrence;
using check::Symbol;

namespace {

/// The text at a range on one line, at most 160 bytes of it; the cut never splits a character.
std::string written(const Analysis& analysis, source::Range range) {
  constexpr size_t kMost = 160;
  std::string text = source::squeeze(analysis.sources.text(range));
  if (text.size() <= kMost) return text;
  size_t cut = kMost;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
  return text.substr(0, cut) + " …";
}

/// The base unit of a dimension, such as "px" or "img/s"; "" if it has none.
std::string unitOf(const check::Dimension& dimension) {
  return dimension == check::Dimension::share() ? "%" : dimension.baseUnit();
}

/// The number of points of a study, and how many of them have each level of each factor.
struct PointCounts {
  points::Seen seen;
  uint64_t points = 0;
  uint64_t product = 0;  // combinations of levels before the rules
};

/// Counts by walking the grid. Nothing if the study has an error or more than `most` combinations of levels, since a
/// hover must not take long.
std::optional<PointCounts> countPoints(const check::Study& study, uint64_t most) {
  if (!study.valid || productOf(study) > most) return std::nullopt;
  diag::Collector ignored;
  diag::Emitter emitter(ignored);
  const expand::Selected whole = expand::Selected::whole(study);
  const std::unique_ptr<expand::Space> space = expand::Space::compile(whole, emitter);
  if (!space) return std::nullopt;
  PointCounts counts{points::Seen(*space)};
  // Points are counted, not estimated: rules may leave out any combination.
  const expand::Walk walk = expand::walk(*space, {}, [&](expand::Levels point) {
    ++counts.points;
    counts.seen.add(point);
    return true;
  });
  if (walk.end != expand::Space::End::Done) return std::nullopt;
  counts.product = walk.product;
  return counts;
}

/// The first twelve levels of a factor in declared order; `count`, if given, adds a number behind each.
std::string levelList(const check::Factor& factor, const std::function<uint64_t(unsigned)>& count = {}) {
  constexpr unsigned kMost = 12;
  std::string text;
  for (unsigned at = 0; at < factor.levels.size() && at < kMost; ++at) {
    const std::string& label = factor.levels[at].label;
    text += (at == 0 ? "" : ", ") + (count ? fmt::format("`{}` ({})", label, count(at)) : label);
  }
  return factor.levels.size() > kMost ? text + ", …" : text;
}

/// A description in Markdown: a block of code, paragraphs, and a list of facts. Empty texts add nothing.
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

/// Describes a symbol, by the kind of its declaration.
class Hover {
 public:
  Hover(const Query& query, const Symbol& symbol)
      : analysis_(query.analysis), symbol_(symbol), most_(query.workspace.limits.typing) {}

  std::string text() {
    return std::visit([this](const auto* node) { return describe(*node); }, symbol_.declaration);
  }

 private:
  /// Declarations of all other kinds: the source itself and its comment.
  template <typename Declared>
  std::string describe(const Declared& declared) {
    Page page(written(analysis_, declared.range));
    page.doc(declared.doc);
    return page.text();
  }

  /// The names of declarations, joined by commas.
  template <typename Declared>
  static std::string list(const std::vector<Declared>& all) {
    return base::joined(base::textsOf(all, [](const Declared& declared) { return declared.name.name; }));
  }

  /// The name of an import: what the module declares.
  std::string describe(const load::Module& module) {
    // The prefix of a built-in module is its name with a dot.
    std::string name = module.is_stdlib
                           ? "std." + module.prefix.substr(0, module.prefix.size() - !module.prefix.empty())
                           : "\"" + module.path + "\"";
    Page page("import " + name);
    page.code("workloads", list(module.ast.workloads));
    page.code("services", list(module.ast.services));
    page.code("enums", list(module.ast.enums));
    page.code("values", list(module.ast.lets));
    page.code("systems", list(module.ast.systems));
    page.code("parts", list(module.ast.parts));
    return page.text();
  }

  std::string describe(const ast::EnumLevel& level) {
    // A level with fields is shown with them, as it is declared.
    std::string text = level.name.name;
    if (!level.fields.empty())
      text = written(analysis_, source::join(level.name.range, level.fields.back().type->range)) + ")";
    Page page(text);
    const auto& owner = *std::get<const ast::EnumDecl*>(parentOf(symbol_)->declaration);
    page.fact("level of", fmt::format("`{}`{}", owner.name.name, owner.ordered ? ", which is ordered" : ""));
    page.doc(owner.doc);
    return page.text();
  }

  std::string describe(const ast::WorkloadDecl& workload) {
    Page page((workload.ready ? "service " : "workload ") + workload.name.name);
    page.doc(workload.doc);
    if (workload.version) page.fact("version", std::to_string(*workload.version));
    if (workload.command) page.code("runs", written(analysis_, workload.command->range));
    page.code("parameters", list(workload.params));
    page.code("metrics", list(workload.metrics));
    return page.text();
  }

  std::string describe(const ast::ParamDecl& param) {
    Page page(fmt::format("param {} : {}", param.name.name, written(analysis_, param.type.range)));
    parameter(page, symbol_);
    return page.text();
  }

  /// Adds the description of a parameter; a factor that varies it shows the same.
  void parameter(Page& page, const Symbol& symbol) {
    documented(page, *std::get<const ast::ParamDecl*>(symbol.declaration));
    const check::Workload* workload = workloadOf(symbol);
    const int index = workload ? workload->findParameter(symbol.name) : -1;
    const check::Type type = index < 0 ? check::Type::error() : workload->parameters[index].type;
    if (type.isEnum())
      page.code(type.enumeration->ordered ? "values, in order" : "values",
                base::joined(base::textsOf(type.enumeration->levels, &check::EnumType::Level::name)));
    if (type.isNumber()) page.code("unit", unitOf(type.dimension));
  }

  /// Adds the cells of the table that a module's page has for the declaration (`expc doc`), so that both say the same.
  template <typename Declared>
  void documented(Page& page, const Declared& declared) {
    const editor::Table table = editor::tableOf(analysis_.sources, declared);
    page.doc(table.rows[0].doc);
    for (size_t at = 1; at < table.columns.size(); ++at) {
      const editor::Column& column = table.columns[at];
      const std::string& cell = table.rows[0].cells[at];
      if (column.code && !cell.empty())
        page.code(column.head, cell);
      else
        page.fact(column.head, cell.empty() ? std::string(column.missing) : cell);
    }
  }

  std::string describe(const ast::MetricDecl& metric) {
    // A derived metric shows its formula, another one its type; the checker adds type or unit.
    const check::Metric* checked = checkedMetric();
    const std::string type = metric.type ? written(analysis_, metric.type->range) : "?";
    Page page(metric.derived ? written(analysis_, metric.range)
                             : fmt::format("metric {} : {}", metric.name.name, type));
    documented(page, metric);
    if (checked && metric.derived) page.code("type", checked->dimension.typeName());
    if (checked && !metric.derived) page.code("unit", unitOf(checked->dimension));
    return page.text();
  }

  std::string describe(const ast::StudyDecl& study) {
    Page page("study " + study.name.name);
    page.doc(study.doc);
    const check::Study* checked = editor::checkedStudy(analysis_.program, study);
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

  /// A workload's use in a study.
  std::string describe(const ast::WorkloadUse& use) {
    Page page(written(analysis_, use.range));
    const source::Range name = use.name.parts.back().range;
    // The symbol stands for the use; its documentation is that of the workload used.
    if (const Occurrence* used = analysis_.names().at(name.file, name.begin))
      if (const auto* found = std::get_if<const ast::WorkloadDecl*>(&symbolAt(used->symbol).declaration))
        page.doc((*found)->doc);
    return page.text();
  }

  std::string describe(const ast::FactorDecl& factor) {
    Page page(written(analysis_, factor.range));
    page.doc(factor.doc);
    if (const check::Study* checked = checkedStudy()) levels(page, *checked);
    if (symbol_.varies) parameter(page, symbolAt(*symbol_.varies));
    return page.text();
  }

  /// Adds a factor's levels, with the number of points of each where they can be counted.
  void levels(Page& page, const check::Study& study) {
    const int index = study.findFactor(symbol_.name);
    if (index < 0) return;
    const check::Factor& factor = study.factors[index];
    const std::optional<PointCounts> counts = countPoints(study, most_);
    if (!counts) return page.code("levels", levelList(factor));
    // Counts show at once which levels the rules have thinned out.
    page.fact(fmt::format("{} levels (points of {})", factor.levels.size(), counts->points),
              levelList(factor, [&](unsigned level) { return counts->seen.count(index, level); }));
    if (factor.baseline) page.code("baseline", factor.levels[*factor.baseline].label);
  }

  std::string describe(const ast::CompareDecl& compare) {
    Page page(written(analysis_, compare.range));
    page.doc(compare.doc);
    if (const check::Study* checked = checkedStudy())
      if (const int index = checked->findComparison(symbol_.name); index >= 0)
        page.code("type", checked->comparisons[index].dimension.typeName());
    if (const words::Word* function = words::find(words::Role::Comparison, compare.call.callee.parts.back().name))
      page.doc(std::string(function->doc));
    return page.text();
  }

  const Symbol& symbolAt(unsigned id) const { return analysis_.names().symbols()[id]; }
  const Symbol* parentOf(const Symbol& symbol) const { return symbol.parent ? &symbolAt(*symbol.parent) : nullptr; }

  /// The checked form of the workload in which a symbol is declared; null if there is none.
  const check::Workload* workloadOf(const Symbol& symbol) const {
    const Symbol* parent = parentOf(symbol);
    return parent ? checkedWorkload(analysis_.program, parent->range) : nullptr;
  }
  /// The checked form of the metric: in the study, or in a workload, which may have taken it from a module.
  const check::Metric* checkedMetric() const {
    const auto among = [&](const std::vector<check::Metric>& all) {
      const auto found = std::ranges::find(all, symbol_.range, &check::Metric::range);
      return found == all.end() ? nullptr : &*found;
    };
    const check::Metric* found = nullptr;
    if (const check::Study* study = checkedStudy()) found = among(study->metrics);
    // A workload may take it from a module.
    for (const auto& workload : analysis_.program.workloads)
      if (!found) found = among(workload->metrics);
    return found;
  }
  /// The checked form of the study in which the symbol is declared; null if there is none.
  const check::Study* checkedStudy() const {
    const ast::StudyDecl* study = analysis_.names().studyOf(symbol_);
    return study ? editor::checkedStudy(analysis_.program, *study) : nullptr;
  }

  Analysis& analysis_;
  const Symbol& symbol_;
  uint64_t most_;
};

/// The token that holds the place, or else the one that ends there.
const parse::LexedToken* tokenAt(const Analysis& analysis, uint32_t offset) {
  const parse::LexedToken* ending = nullptr;
  for (const parse::LexedToken& token : analysis.tokens) {
    if (token.kind == parse::Token::EndOfFile || offset < token.range.begin || offset > token.range.end) continue;
    if (offset < token.range.end) return &token;
    ending = &token;
  }
  return ending;
}

/// The property of a machine that is named at a token: `system.gpu.memory`, or `gpu.memory` in the braces of a system.
const words::Word* propertyAt(const Query& query, const parse::LexedToken& token) {
  const std::string_view all = query.analysis.sources.text(query.analysis.root);
  uint32_t begin = token.range.begin;
  // Back over the dots to the beginning of the whole name; the token is only a part of it.
  while (begin > 0 && (all[begin - 1] == '.' || llvm::isAlnum(all[begin - 1]))) --begin;
  StringRef name(all.data() + begin, token.range.end - begin);
  // In the braces of a system names have no prefix.
  const bool of_system = name.consume_front("system.");
  const Context context = contextAt(query.analysis.sources, query.analysis.tokens, token.range.begin);
  if (!of_system && context.block != parse::Rule::SystemBody) return nullptr;
  return words::find(words::Role::Property, name);
}

/// The description of a word of the language; "" if it is none.
std::string ofWord(const Query& query, const parse::LexedToken& token) {
  const words::Word* word = propertyAt(query, token);
  if (!word) word = words::find(query.analysis.sources.text(token.range));
  return word ? fmt::format("```exp\n{}\n```\n\n{}", word->text, word->doc) : "";
}

/// The value of a number's units in base units, "1GiB = 1073741824B", and their types; "" if the number has no unit, or
/// one that a module declares.
std::string ofNumber(StringRef number) {
  std::string lines, types;
  llvm::SmallVector<StringRef, 2> names;
  // `120img/s` is two units, one above and one below the stroke.
  number.drop_while([](char sign) { return llvm::isDigit(sign) || sign == '.'; }).split(names, '/');
  for (const StringRef name : names) {
    const words::Unit* unit = words::findUnit(name);
    if (!unit) return "";
    // The base unit of a type is the one with factor 1.
    const auto base = std::ranges::find_if(words::units(), [&](const words::Unit& other) {
      return other.type == unit->type && other.above == other.below;
    });
    lines +=
        fmt::format("1{} = {}{}", unit->text, unit->above, unit->below == 1 ? "" : fmt::format("/{}", unit->below));
    lines += base == words::units().end() ? "\n" : fmt::format("{}\n", base->text);
    types += fmt::format("{}`{}`", types.empty() ? "" : " / ", unit->type);
  }
  return fmt::format("```exp\n{}```\n\n{}", lines, types);
}

}  // namespace

json::Value hover(const Query& query) {
  std::string text;
  source::Range range;
  // Names come first: a word of the language may be a name as well.
  if (const Symbol* symbol = query.symbol()) {
    text = Hover(query, *symbol).text();
    range = query.name()->range;
  } else if (const parse::LexedToken* token = tokenAt(query.analysis, query.offset)) {
    range = token->range;
    text = token->kind == parse::Token::Number ? ofNumber(query.analysis.sources.text(range)) : ofWord(query, *token);
  }
  if (text.empty()) return nullptr;
  return json::Object{{"contents", json::Object{{"kind", "markdown"}, {"value", jsonText(text)}}},
                      {"range", rangeJson(query, range)}};
}

}  // namespace expc::editor
