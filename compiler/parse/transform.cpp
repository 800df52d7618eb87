#include "compiler/parse/transform.h"

#include <llvm/Support/ConvertUTF.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "compiler/parse/parse.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(InvalidEscape, Error, "'{0}' is no escape; there are \\\" \\\\ \\n \\t \\r and \\u{{1F600}}");
EXPC_DIAGNOSTIC(DuplicateClause, Error, "{0} is given twice");

namespace {

/// How a lockstep factor is called everywhere.
ast::Identifier lockstepName(const std::vector<ast::Identifier>& parts, source::Range range) {
  std::string out;
  for (const ast::Identifier& part : parts) out += (out.empty() ? "(" : ", ") + part.name;
  return {out + ")", range};
}

std::optional<ast::Identifier> singleName(const ast::Expr& expr) {
  const auto* name = std::get_if<ast::NameExpr>(&expr.node);
  if (!name || name->name.parts.size() != 1) return std::nullopt;
  return name->name.parts.front();
}

}  // namespace

std::vector<uint32_t> Transform::children(uint32_t index) const {
  std::vector<uint32_t> out;
  for (uint32_t at = node(index).child; at != kNone; at = node(at).next) out.push_back(at);
  return out;
}

std::vector<uint32_t> Transform::children(uint32_t index, Rule rule) const {
  std::vector<uint32_t> out;
  for (uint32_t at = node(index).child; at != kNone; at = node(at).next)
    if (isRule(at, rule)) out.push_back(at);
  return out;
}

uint32_t Transform::child(uint32_t index, Rule rule) const {
  for (uint32_t at = node(index).child; at != kNone; at = node(at).next)
    if (isRule(at, rule)) return at;
  return kNone;
}

uint32_t Transform::child(uint32_t index, Token token) const {
  for (uint32_t at = node(index).child; at != kNone; at = node(at).next)
    if (isToken(at, token)) return at;
  return kNone;
}

std::vector<uint32_t> Transform::statements(uint32_t block, Rule item) const {
  std::vector<uint32_t> out;
  const bool wrapped = item != Rule::ReferenceItem && item != Rule::DesignItem && item != Rule::Setting;
  for (uint32_t at : children(block, item)) {
    const uint32_t inner = wrapped ? node(at).child : at;
    if (inner != kNone && !broken(at) && !broken(inner)) out.push_back(inner);
  }
  return out;
}

std::string Transform::doc(uint32_t index) const {
  auto found = tree_.docs.find(node(index).first_token);
  return found == tree_.docs.end() ? "" : found->second;
}

void Transform::checkCommas(uint32_t index, std::string_view what) {
  bool after_comma = false;
  for (uint32_t at = node(index).child; at != kNone; at = node(at).next) {
    const bool comma = isToken(at, Token::Comma);
    if (comma && after_comma) reporter_.syntaxError(range(at), fmt::format("{} after ','", what));
    after_comma = comma;
  }
}

ast::Identifier Transform::identifier(uint32_t index) const { return {std::string(text(index)), range(index)}; }

std::vector<ast::Identifier> Transform::identifiers(uint32_t words) const {
  std::vector<ast::Identifier> out;
  for (uint32_t word : children(words, Rule::Word)) out.push_back(identifier(word));
  return out;
}

ast::Identifier Transform::factorName(uint32_t index, std::vector<ast::Identifier>* parts) {
  const uint32_t words = child(index, Rule::Words);
  if (words == kNone) return identifier(index);
  std::vector<ast::Identifier> names = identifiers(words);
  ast::Identifier out = lockstepName(names, range(index));
  if (names.size() == 1)
    reporter_.syntaxError(out.range,
                          "the names of several factors, such as (loader, layout), or one name without brackets");
  if (parts) *parts = std::move(names);
  return out;
}

std::vector<ast::Identifier> Transform::factorNames(uint32_t index) {
  std::vector<ast::Identifier> out;
  for (uint32_t names : children(index, Rule::FactorNames))
    for (uint32_t name : children(names, Rule::FactorName)) out.push_back(factorName(name));
  return out;
}

ast::QualifiedName Transform::qualifiedName(uint32_t name) const {
  ast::QualifiedName out;
  out.range = range(name);
  for (uint32_t part : children(name))
    if (!isToken(part, Token::Dot)) out.parts.push_back(identifier(part));
  return out;
}

namespace {

/// Reads the escape at the front of `text` (which begins with a backslash) into `out`; returns its length, 0 if it is
/// none.
size_t readEscape(std::string_view text, std::string& out) {
  if (text.size() < 2) return 0;
  static constexpr std::string_view kWritten = "\"\\ntr", kMeant = "\"\\\n\t\r";
  if (const size_t simple = kWritten.find(text[1]); simple != std::string_view::npos) {
    out += kMeant[simple];
    return 2;
  }
  const size_t close = text.find('}');
  if (!text.starts_with("\\u{") || close == std::string_view::npos || close == 3 || close > 9) return 0;
  uint32_t code = 0;
  auto [end, error] = std::from_chars(text.data() + 3, text.data() + close, code, 16);
  char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char* past = bytes;
  // A zero would cut the text short for whoever hands it to the system.
  if (error != std::errc() || end != text.data() + close || code == 0 || !llvm::ConvertCodePointToUTF8(code, past))
    return 0;
  out.append(bytes, past);
  return close + 1;
}

}  // namespace

source::Range writtenRange(const source::SourceManager& sources, source::Range literal, size_t begin, size_t end) {
  const std::string_view written = sources.text(literal);
  const auto placeOf = [&](size_t offset) {
    std::string read;
    size_t at = 1;
    while (read.size() < offset && at < written.size()) {
      const size_t length = written[at] == '\\' ? readEscape(written.substr(at), read) : 0;
      if (length == 0) read += written[at];
      at += std::max<size_t>(length, 1);
    }
    return literal.begin + static_cast<uint32_t>(at);
  };
  return {literal.file, placeOf(begin), placeOf(end)};
}

std::string Transform::string(uint32_t index) {
  std::string_view written = text(index);
  written.remove_prefix(1);
  // A text that was not closed has been reported and has no quote to take off.
  std::string out;
  for (size_t at = 0; at < written.size();) {
    if (written[at] == '"') break;
    if (written[at] != '\\') {
      out += written[at++];
      continue;
    }
    const size_t length = readEscape(written.substr(at), out);
    if (length == 0) {
      const uint32_t begin = node(index).begin + 1 + static_cast<uint32_t>(at);
      uint32_t size = 2;
      while (at + size < written.size() && (static_cast<unsigned char>(written[at + size]) & 0xC0) == 0x80) ++size;
      size = std::min<uint32_t>(size, static_cast<uint32_t>(written.size() - at));
      reporter_.emit({tree_.file, begin, begin + size}, InvalidEscape, written.substr(at, size));
    }
    at += length == 0 ? std::min<size_t>(2, written.size() - at) : length;
  }
  return out;
}

std::optional<ast::Identifier> Transform::asName(const ast::Expr& expr, std::string_view sign) {
  if (auto name = singleName(expr)) return name;
  if (const auto* tuple = std::get_if<ast::TupleExpr>(&expr.node); tuple && sign == "=") {
    std::vector<ast::Identifier> names;
    for (const ast::ExprPtr& element : tuple->elements)
      if (auto name = singleName(*element)) names.push_back(std::move(*name));
    if (names.size() == tuple->elements.size()) return lockstepName(names, expr.range);
  }
  reporter_.syntaxError(expr.range, fmt::format("a single name before '{}'", sign));
  return std::nullopt;
}

void Transform::duplicate(uint32_t index, std::string_view what, source::Range first) {
  if (auto error = reporter_.build(range(index), DuplicateClause, what)) error->note(first, "the first is here").emit();
}

ast::Module Transform::module() {
  ast::Module out;
  out.file = tree_.file;
  if (tree_.nodes.empty()) return out;
  for (uint32_t declaration : statements(0, Rule::Declaration)) {
    take(declaration, Rule::ImportDecl, out.imports);
    take(declaration, Rule::EnumDecl, out.enums);
    take(declaration, Rule::UnitDecl, out.units);
    take(declaration, Rule::LetDecl, out.lets);
    take(declaration, Rule::MetricDecl, out.metrics);
    take(declaration, Rule::WorkloadDecl, out.workloads);
    take(declaration, Rule::SystemDecl, out.systems);
    take(declaration, Rule::ReferenceDecl, out.references);
    take(declaration, Rule::ConfidenceDecl, out.confidences);
    take(declaration, Rule::DesignDecl, out.designs);
    take(declaration, Rule::PresetDecl, out.presets);
    take(declaration, Rule::StudyDecl, out.studies);
  }
  return out;
}

ast::ExprPtr Transform::wholeValue() {
  return tree_.nodes.empty() || broken(0) ? nullptr : expressionIn(0, Rule::Value);
}

}  // namespace expc::parse
