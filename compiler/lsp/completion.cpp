// What may be typed next, by the kind of block.

#include "compiler/lsp/completion.h"

#include "compiler/parse/blocks.h"

namespace expc::lsp {

using check::SymbolKind;
using language::Role;
using parse::Rule;
using parse::Token;

llvm::json::Value completion(const Query& query, bool snippets) {
  if (!query.analysis.loaded) return llvm::json::Array{};
  return Completion(query, snippets).run();
}

Completion::Completion(const Query& query, bool snippets)
    : query_(query),
      snippets_(snippets),
      context_(contextAt(query.analysis.sources, query.analysis.tokens, query.offset)),
      root_(&query.analysis.program.modules.root()) {
  const source::FileId root = query.analysis.root;
  file_ = fileOf(root_);
  if (context_.study != parse::kNone) study_ = names().declaredAt({root, context_.study, 0});
  if (context_.workload != parse::kNone) workload_ = names().declaredAt({root, context_.workload, 0});
  if (workload_) workloads_.insert(*workload_);
  // Also where the line with the workload is the one that cannot be read yet.
  const Tokens& tokens = context_.study_tokens;
  for (size_t at = 0; at + 1 < tokens.size(); ++at) {
    if (tokens[at].kind != Token::Workload) continue;
    size_t first = at + 1;
    if (first + 2 < tokens.size() && tokens[first + 1].kind == Token::Assign) first += 2;
    std::vector<std::string_view> name;
    for (size_t part = first; part < tokens.size() && name.size() < 2; part += 2) {
      name.push_back(text(tokens[part]));
      if (part + 2 >= tokens.size() || tokens[part + 1].kind != Token::Dot) break;
    }
    if (const auto found = findWorkload(name)) workloads_.insert(*found);
  }
  if (const ast::StudyDecl* around = declaredStudy()) addWorkloads(*around);
}

llvm::json::Value Completion::run() {
  if (context_.inside != Context::Inside::Code || number() || member()) return std::move(items_);
  if (context_.in_enum) return std::move(items_);  // names of the user's
  if (context_.block == Rule::SystemBody) {
    words(Role::Property, Kind::Property);
    return std::move(items_);
  }
  if (context_.block == Rule::ReferenceBody) {
    reference();
    return std::move(items_);
  }
  switch (context_.block) {
    case Rule::StudyBody:
      study();
      break;
    case Rule::WorkloadBody:
      workload();
      break;
    case Rule::DesignBody:
    case Rule::KindBody:
      design();
      break;
    case Rule::PresetBody:
      preset();
      break;
    default:
      file();
  }
  follow();
  // A new line may go on with the statement above it or begin one.
  if (context_.line_start && context_.brackets == 0) heads();
  return std::move(items_);
}

void Completion::file() {
  switch (kindAt(0)) {
    case Token::EndOfFile:
      return heads();
    case Token::Import:
      return import();
    case Token::Let:
      if (lastOf({"="})) condition(3, false);
      return;
    default:
      return;
  }
}

void Completion::workload() {
  switch (kindAt(0)) {
    case Token::EndOfFile:
      return heads();
    case Token::Param:
      return paramDecl();
    case Token::Metric:
      return metricDecl();
    case Token::Let:
      if (lastOf({"="})) condition(3, false);
      return;
    case Token::Require:
    case Token::Exclude:
      return condition(1, false);
    default:
      if (textAt(0) != "estimate") return;
      if (size() == 1) return metrics(false);
      if (lastOf({"=", "when"})) condition(lastOf({"=", "when"}).value() + 1, false);
  }
}

void Completion::study() {
  switch (kindAt(0)) {
    case Token::EndOfFile:
      return heads();
    case Token::Workload:
      return workloadUse();
    case Token::Factor:
      return factor();
    case Token::Let:
      if (lastOf({"="})) condition(3, false);
      return;
    case Token::Require:
    case Token::Exclude:
      return condition(1, false);
    case Token::Measure:
      if (size() == 1 || lastKind() == Token::Comma) metrics(false);
      return;
    case Token::Metric:
      if (lastOf({"="})) condition(3, true);
      if (size() > 3) words(Role::Trait, Kind::Keyword);
      return;
    case Token::Compare:
      return compare();
    case Token::Control:
      return control();
    case Token::Criterion:
      return criterion();
    case Token::Table:
    case Token::Plot:
      return output();
    case Token::Design:
      if (size() == 1) clauses({"full"});
      return;
    default:
      return;
  }
}

void Completion::design() {
  if (size() == 0) return heads();
  if (textAt(0) == "order" && size() == 1) return clauses({"blocks"});
  if (const auto until = lastOf({"until"})) {
    if (const auto open = openBracket(); open && textAt(*open - (*open > 0)) == "half_width") return metrics(true);
    word(*language::find("half_width"), Kind::Function);
    return;
  }
  if (size() > 1 && context_.brackets == 0) heads();
}

void Completion::preset() {
  switch (kindAt(0)) {
    case Token::EndOfFile:
      return heads();
    case Token::Only:
      return only();
    case Token::Criterion:
      return criterion();
    case Token::Remove:
      if (size() == 2 || lastKind() == Token::Comma) declared(SymbolKind::Criterion, study_);
      return;
    default:
      return assignment();
  }
}

void Completion::reference() {
  if (lastOf({"="})) return word(*language::find("column"), Kind::Function);
  for (const ast::StudyDecl& study : root_->ast.studies) addWorkloads(study);
  metrics(false);
  parameters({});
}

// ---- proposing
// -------------------------------------------------------------------------------------------------------

void Completion::heads() {
  switch (context_.block) {
    case Rule::DesignBody:
      words(Role::Kind, Kind::Keyword);
      words(Role::Setting, Kind::Property, language::Design);
      return;
    case Rule::KindBody:
      return words(Role::Setting, Kind::Property, language::Stepped | language::Whole);
    case Rule::PresetBody:
      parameters({});
      break;
    default:
      break;
  }
  words(Role::Head, Kind::Keyword, parse::blockOf(context_.block).words);
}

/// The words that go on with the statement are those that the grammar lets come next. Words of expressions are left to
/// condition(), and where any name may stand, words that could be names are not told one by one.
void Completion::follow() {
  const auto next = [&](Token token) {
    return std::find(context_.expected.begin(), context_.expected.end(), token) != context_.expected.end();
  };
  if (context_.statement.empty()) return;
  if (context_.expected.size() == 1)
    if (const language::Word* only = language::find(parse::spelling(context_.expected[0]))) word(*only, Kind::Keyword);
  for (const Token token : context_.expected) {
    const language::Word* found = language::find(Role::Clause, parse::spelling(token));
    const bool name = parse::isWord(token) && next(Token::Identifier);
    const bool operation = token == Token::In && next(Token::And);
    if (found && !name && !operation) word(*found, Kind::Keyword);
  }
}

void Completion::words(Role role, Kind kind, uint8_t blocks) {
  for (const language::Word& one : language::words(role))
    if (blocks == language::Anywhere || one.blocks & blocks) word(one, kind);
}

void Completion::word(const language::Word& word, Kind kind) { propose(word.text, kind, "", word.doc, word.snippet); }

void Completion::clauses(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) word(*language::find(name), Kind::Keyword);
}

void Completion::propose(std::string_view label, Kind kind, std::string_view detail, std::string_view doc,
                         std::string_view snippet, std::optional<source::Range> range) {
  if (!seen_.insert(std::string(label)).second) return;
  const bool filled = snippets_ && !snippet.empty();
  llvm::json::Object item{{"label", clean(label)}, {"kind", static_cast<int>(kind)}};
  item["textEdit"] =
      llvm::json::Object{{"range", rangeJson(query_.workspace, query_.analysis, range.value_or(context_.word))},
                         {"newText", clean(filled ? snippet : label)}};
  if (filled) item["insertTextFormat"] = 2;
  if (!detail.empty()) item["detail"] = clean(detail);
  if (!doc.empty()) item["documentation"] = llvm::json::Object{{"kind", "markdown"}, {"value", clean(doc)}};
  items_.push_back(std::move(item));
}

}  // namespace expc::lsp
