// What may be typed next: names by what the grammar was reading, words by what it lets come.

#include "compiler/lsp/completion.h"

#include <algorithm>

#include "compiler/parse/cst.h"

namespace expc::lsp {

using check::SymbolKind;
using language::Role;
using parse::Rule;
using parse::Token;

llvm::json::Value completion(const Query& query) {
  if (!query.analysis.loaded) return llvm::json::Array{};
  return Completion(query).run();
}

Completion::Completion(const Query& query)
    : query_(query),
      context_(contextAt(query.analysis.sources, query.analysis.tokens, query.offset)),
      root_(&query.analysis.program.modules.root()) {
  const source::FileId root = query.analysis.root;
  file_ = fileOf(root_);
  if (context_.study != parse::kNone) study_ = symbols().declaredAt({root, context_.study, 0});
  if (context_.workload != parse::kNone) workload_ = symbols().declaredAt({root, context_.workload, 0});
  if (workload_) workloads_.insert(*workload_);
  if (const ast::StudyDecl* around = declaredStudy()) addWorkloads(*around);
}

const Completion::Slot* Completion::slotOf(Rule rule, Token after) {
  using C = Completion;
  static constexpr auto kCondition = [](C& c) { c.condition(false); };
  static constexpr auto kFormula = [](C& c) { c.condition(true); };
  static constexpr auto kMetrics = [](C& c) { c.metrics(false); };
  static constexpr auto kSubjects = [](C& c) { c.metrics(true); };
  static constexpr auto kFactors = [](C& c) { c.factors(); };
  static constexpr auto kTypes = [](C& c) { c.types(); };
  static constexpr auto kWorkloads = [](C& c) { c.imported(SymbolKind::Workload); };
  static constexpr auto kLets = [](C& c) { c.lets(); };
  static constexpr Slot kSlots[] = {
      {Rule::ImportDecl, Token::Import, [](C& c) { c.modules("std."); }},
      {Rule::LetDecl, Token::Assign, kCondition, Reach::Condition},
      {Rule::Type, Token::EndOfFile, kTypes},
      {Rule::Type, Token::Slash, kTypes},
      {Rule::ParamDecl, Token::Assign, [](C& c) { c.values(c.typeBehindColon()); }},
      {Rule::ParamDecl, Token::When, kCondition, Reach::Condition},
      {Rule::ParamTrait, Token::With,
       [](C& c) {
         c.propose("strong scaling when", Kind::Keyword, "", "Where more of it share the same work, as of devices.");
       }},
      {Rule::ParamTrait, Token::When, kCondition, Reach::Condition},
      {Rule::MetricDecl, Token::Assign, kFormula, Reach::Condition},
      {Rule::MetricDecl, Token::From,
       [](C& c) {
         c.words(Role::Taken, Kind::Function);
         c.words(Role::Source, Kind::Function);
       }},
      {Rule::EstimateDecl, Token::Estimate, kMetrics},
      {Rule::EstimateDecl, Token::Assign, kCondition, Reach::Condition},
      {Rule::EstimateDecl, Token::When, kCondition, Reach::Condition},
      {Rule::RuleDecl, Token::Require, kCondition, Reach::Condition},
      {Rule::RuleDecl, Token::Exclude, kCondition, Reach::Condition},
      {Rule::WorkloadUse, Token::Workload, kWorkloads},
      {Rule::WorkloadUse, Token::Assign, kWorkloads},
      {Rule::WorkloadUse, Token::LeftParen, [](C& c) { c.arguments(); }, Reach::Operands},
      {Rule::FactorDecl, Token::Factor, [](C& c) { c.newFactors(); }},
      {Rule::FactorDecl, Token::In, [](C& c) { c.values(c.typeOf(c.nameBefore(Token::In))); }, Reach::Operands},
      {Rule::FactorDecl, Token::Baseline,
       [](C& c) {
         const std::vector<std::string> factor = c.nameBefore(Token::In);
         c.direct_ ? c.levelsOf(factor) : c.values(c.typeOf(factor));
       },
       Reach::Operands},
      {Rule::FactorDecl, Token::When, kCondition, Reach::Condition},
      {Rule::FactorName, Token::LeftParen,
       [](C& c) {
         if (c.kindAt(0) == Token::Factor) c.parameters();
       },
       Reach::Operands},
      {Rule::MeasureDecl, Token::Measure, kMetrics},
      {Rule::CompareDecl, Token::Assign, [](C& c) { c.comparison(); }, Reach::Operands},
      {Rule::CompareDecl, Token::Over, kFactors},
      {Rule::CompareDecl, Token::Against,
       [](C& c) {
         c.levelsOf(c.nameBefore(Token::Against));
         c.words({"previous"});
       }},
      {Rule::CompareDecl, Token::Allow,
       [](C& c) { c.propose("W0406", Kind::Keyword, "", "Some points of the comparison have no partner."); }},
      {Rule::Selectors, Token::LeftBracket, [](C& c) { c.selectors(); }, Reach::Operands},
      {Rule::CriterionDecl, Token::Colon, kSubjects},
      {Rule::Quantifier, Token::ForAll, kFactors},
      {Rule::Quantifier, Token::Exists, kFactors},
      {Rule::Quantifier, Token::Where, kCondition, Reach::Condition},
      {Rule::Claim, Token::Like, [](C& c) { c.imported(SymbolKind::Reference); }},
      {Rule::Claim, Token::Equal, kLets},
      {Rule::Claim, Token::Less, kLets},
      {Rule::Claim, Token::LessEqual, kLets},
      {Rule::Claim, Token::Greater, kLets},
      {Rule::Claim, Token::GreaterEqual, kLets},
      {Rule::TableDecl, Token::Table,
       [](C& c) {
         kSubjects(c);
         c.words(Role::Description, Kind::Keyword);
       }},
      {Rule::TableDecl, Token::Of, kMetrics},
      {Rule::TableDecl, Token::By, kFactors},
      {Rule::PlotDecl, Token::Plot, kSubjects},
      {Rule::PlotDecl, Token::Over,
       [](C& c) {
         c.factors();
         c.metrics(false);
         c.words(Role::Place, Kind::Keyword);
       }},
      {Rule::PlotDecl, Token::By, kFactors},
      {Rule::DesignDecl, Token::Design, [](C& c) { c.words({"full"}); }},
      {Rule::DesignItem, Token::Identifier,
       [](C& c) {
         if (c.last() == "order") c.words({"blocks"});
       }},
      {Rule::SettingValue, Token::Until,
       [](C& c) {
         if (c.direct_) c.words({"half_width"}, Kind::Function);
         if (c.context_.brackets > 0) c.metrics(true);
       },
       Reach::Operands},
      {Rule::OnlyClause, Token::Only, kFactors},
      {Rule::OnlyClause, Token::In, [](C& c) { c.levelsOf(c.nameBefore(Token::In)); }, Reach::Operands},
      {Rule::CriteriaClause, Token::Criterion, [](C& c) { c.declared(SymbolKind::Criterion, c.study_); }},
      {Rule::Assignment, Token::Assign, [](C& c) { c.values(c.typeOf({std::string(c.textAt(0))})); }},
      {Rule::ReferenceItem, Token::Assign, [](C& c) { c.words({"column"}, Kind::Function); }, Reach::Operands},
  };
  const auto* found =
      std::ranges::find_if(kSlots, [&](const Slot& slot) { return slot.rule == rule && slot.after == after; });
  return found == std::end(kSlots) ? nullptr : found;
}

llvm::json::Value Completion::run() {
  // The names in an enum are the user's.
  if (context_.inside != Context::Inside::Code || number() || member() || context_.in_enum) return std::move(items_);
  names();
  follow();
  // A new line may go on with the statement above it or begin one; items that begin with a name share lines.
  const bool item_ended = parse::isHead(context_.block, Token::Identifier) && afterOperand() &&
                          next(Token::Identifier) && (size() > 1 || context_.block == Rule::ReferenceBody);
  if (context_.brackets == 0 && (context_.statement.empty() || context_.line_start || item_ended)) heads();
  return std::move(items_);
}

bool Completion::next(Token token) const {
  return std::ranges::find(context_.expected, token) != context_.expected.end();
}

/// Names by the innermost rule that has a slot here.
void Completion::names() {
  for (const auto& [rule, begin] : context_.rules) {
    if (parse::isBlock(rule)) return;
    const Slot* slot = slotOf(rule, Token::EndOfFile);
    direct_ = begin >= context_.word.begin;
    unsigned depth = 0;
    for (size_t at = 0; at < size(); ++at) {
      if (context_.statement[at].range.begin < begin) continue;
      if (parse::closes(kindAt(at)) && depth > 0) --depth;
      if (const Slot* found = depth == 0 ? slotOf(rule, kindAt(at)) : nullptr) {
        slot = found;
        direct_ = at + 1 == size();
      }
      if (parse::opens(kindAt(at))) ++depth;
    }
    direct_ |= depth == 0 && lastKind() == Token::Comma;
    if (!slot || (!direct_ && slot->reach == Reach::List)) continue;
    if (direct_ || !afterOperand()) return slot->offer(*this);
    if (slot->reach == Reach::Condition) words({"and", "or", "in", "not"});
    return;
  }
}

/// The words that go on with the statement are those that the grammar lets come next. Where any name may stand, words
/// that could be names are not told one by one.
void Completion::follow() {
  if (context_.statement.empty()) return;
  if (context_.expected.size() == 1)
    if (const language::Word* only = language::find(parse::spelling(context_.expected[0]))) word(*only, Kind::Keyword);
  const bool name = next(Token::Identifier);
  for (const Token token : context_.expected) {
    const language::Word* found = language::find(Role::Clause, parse::spelling(token));
    const bool operation = token == Token::In && next(Token::And);
    if (found && !(name && parse::isWord(token)) && !operation) word(*found, Kind::Keyword);
  }
  const bool trait = kindAt(0) == Token::Metric && size() > 2 && context_.brackets == 0 && name && afterOperand();
  if (trait) words(Role::Trait, Kind::Keyword);
}

void Completion::heads() {
  switch (context_.block) {
    case Rule::DesignBody:
      words(Role::Kind, Kind::Keyword);
      return words(Role::Setting, Kind::Property, language::Design);
    case Rule::KindBody:
      return words(Role::Setting, Kind::Property, language::Stepped | language::Whole);
    case Rule::SystemBody:
      return words(Role::Property, Kind::Property);
    case Rule::ReferenceBody:
      for (const ast::StudyDecl& study : root_->ast.studies) addWorkloads(study);
      metrics(false);
      return parameters();
    case Rule::PresetBody:
      parameters();
      [[fallthrough]];
    default:
      words(Role::Head, Kind::Keyword, parse::blockOf(context_.block).words);
  }
}

// ---- proposing

void Completion::words(Role role, Kind kind, uint8_t blocks) {
  for (const language::Word& one : language::words(role))
    if (blocks == language::Anywhere || one.blocks & blocks) word(one, kind);
}

void Completion::words(std::initializer_list<std::string_view> texts, Kind kind) {
  for (const std::string_view text : texts) word(*language::find(text), kind);
}

void Completion::propose(std::string_view label, Kind kind, std::string_view detail, std::string_view doc,
                         std::string_view snippet) {
  if (!seen_.insert(std::string(label)).second) return;
  const bool filled = query_.workspace.snippets && !snippet.empty();
  llvm::json::Object item{{"label", clean(label)}, {"kind", static_cast<int>(kind)}};
  item["textEdit"] = editJson(query_, context_.word, filled ? snippet : label);
  if (filled) item["insertTextFormat"] = 2;
  if (!detail.empty()) item["detail"] = clean(detail);
  if (!doc.empty()) item["documentation"] = llvm::json::Object{{"kind", "markdown"}, {"value", clean(doc)}};
  items_.push_back(std::move(item));
}

}  // namespace expc::lsp
