#pragma once

// The concrete tree as its readers see it: the parts of a node, names and texts. The readers are a chain of structs,
// one file for each group of constructs; each inherits the functions of the ones before: TreeReader here, Expressions
// in transform_expressions.h, Declarations in transform_declarations.h, and Transform in parse.cpp for studies, presets
// and whole files.
//
// Nodes are named by their index into Tree::nodes, kNone for "no such part". Statements with a syntax error are skipped
// by statements(), so the readers behind it may rely on the grammar: a part that the grammar requires is there.

#include <llvm/Support/ConvertUTF.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "compiler/parse/ast.h"
#include "compiler/parse/cst.h"
#include "compiler/parse/syntax_errors.h"
#include "runtime/base/entry.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(InvalidEscape, "invalid escape '{0}'; known are \\\" \\\\ \\n \\t \\r and \\u{{1F600}}");
EXPC_DIAGNOSTIC(DuplicateClause, "{0} is given twice");

/// Access to the parts of nodes, and the reading of names and texts. Borrows everything it is built from.
struct TreeReader {
  const source::SourceManager& sources;
  const Tree& tree;
  Reporter& reporter;

  TreeReader(const source::SourceManager& sources, const Tree& tree, Reporter& reporter)
      : sources(sources), tree(tree), reporter(reporter) {}

  // ---- the parts of a node

  const Node& node(uint32_t index) const { return tree.nodes[index]; }
  /// The children of a node from left to right.
  std::vector<uint32_t> children(uint32_t index) const {
    std::vector<uint32_t> out;
    for (uint32_t at = node(index).child; at; at = node(at).next) out.push_back(at);
    return out;
  }
  /// The children that are of one rule.
  std::vector<uint32_t> children(uint32_t index, Rule rule) const {
    std::vector<uint32_t> out = children(index);
    std::erase_if(out, [&](uint32_t at) { return !isRule(at, rule); });
    return out;
  }
  /// The first child of a rule, or kNone.
  uint32_t child(uint32_t index, Rule rule) const {
    uint32_t at = node(index).child;
    while (at && !isRule(at, rule)) at = node(at).next;
    return at;
  }
  /// The first child that is this token, or kNone.
  uint32_t child(uint32_t index, Token token) const {
    uint32_t at = node(index).child;
    while (at && !isToken(at, token)) at = node(at).next;
    return at;
  }
  bool has(uint32_t index, Token token) const { return child(index, token); }
  bool isRule(uint32_t index, Rule rule) const { return !node(index).is_token && node(index).rule == rule; }
  bool isToken(uint32_t index, Token token) const { return node(index).is_token && node(index).token == token; }
  source::Range range(uint32_t index) const { return {tree.file, node(index).begin, node(index).end}; }
  std::string_view text(uint32_t index) const { return sources.text(range(index)); }
  /// Whether a syntax error inside was reported. Errors inside a nested block do not count: only its broken statements
  /// are left out.
  bool broken(uint32_t index) const { return node(index).broken; }

  /// The statements of a block that were understood. Most items are a choice between kinds of statements; of these the
  /// statement itself is returned, of the others the item.
  std::vector<uint32_t> statements(uint32_t block, Rule item) const {
    std::vector<uint32_t> out;
    const bool wrapped = item != Rule::ReferenceItem && item != Rule::DesignItem && item != Rule::Setting;
    for (uint32_t at : children(block, item)) {
      const uint32_t inner = wrapped ? node(at).child : at;
      if (inner && !broken(at) && !broken(inner)) out.push_back(inner);
    }
    return out;
  }

  /// The doc comment in front of a node; "" if there is none.
  std::string doc(uint32_t index) const { return valueIn(tree.docs, node(index).first_token).value_or(""); }

  /// Reports commas in a row in a list in brackets; a comma before the closing bracket is allowed. `what` is the
  /// missing item. The grammar reads both, since this message is clearer than its own.
  void checkCommas(uint32_t index, std::string_view what) {
    bool after_comma = false;
    for (uint32_t at = node(index).child; at; at = node(at).next) {
      const bool comma = isToken(at, Token::Comma);
      if (comma && after_comma) reporter.syntaxError(range(at), fmt::format("{} after ','", what));
      after_comma = comma;
    }
  }

  // ---- names and texts

  /// The canonical name of a lockstep factor, `(loader, layout)`, by which results and command lines call it.
  static ast::Identifier lockstepName(const std::vector<ast::Identifier>& parts, source::Range range) {
    std::string out;
    for (const ast::Identifier& part : parts) out += (out.empty() ? "(" : ", ") + part.name;
    return {out + ")", range};
  }

  /// The name that an expression consists of; nothing for a dotted name or anything else.
  static std::optional<ast::Identifier> singleName(const ast::Expr& expr) {
    const auto* name = expr.as<ast::NameExpr>();
    if (!name || name->name.parts.size() != 1) return std::nullopt;
    return name->name.parts.front();
  }

  ast::Identifier identifier(uint32_t index) const { return {std::string(text(index)), range(index)}; }

  std::vector<ast::Identifier> identifiers(uint32_t words) const {
    std::vector<ast::Identifier> out;
    for (uint32_t word : children(words, Rule::Word)) out.push_back(identifier(word));
    return out;
  }

  /// Reads the name of a factor: a word, or the parts of a lockstep factor, which also go to `parts`.
  ast::Identifier factorName(uint32_t index, std::vector<ast::Identifier>* parts = nullptr) {
    const uint32_t words = child(index, Rule::Words);
    if (!words) return identifier(index);
    std::vector<ast::Identifier> names = identifiers(words);
    ast::Identifier out = lockstepName(names, range(index));
    if (names.size() == 1)
      reporter.syntaxError(out.range,
                           "the names of several factors, such as (loader, layout), or one name without brackets");
    if (parts) *parts = std::move(names);
    return out;
  }

  /// The names in the list of factors below `index`; empty if it has no such list.
  std::vector<ast::Identifier> factorNames(uint32_t index) {
    std::vector<ast::Identifier> out;
    for (uint32_t names : children(index, Rule::FactorNames))
      for (uint32_t name : children(names, Rule::FactorName)) out.push_back(factorName(name));
    return out;
  }

  /// Reads a dotted name.
  ast::QualifiedName qualifiedName(uint32_t name) const {
    ast::QualifiedName out;
    out.range = range(name);
    for (uint32_t part : children(name))
      if (!isToken(part, Token::Dot)) out.parts.push_back(identifier(part));
    return out;
  }

  /// Appends the meaning of the escape at the front of `text` (which begins with a backslash) to `out`. Returns the
  /// bytes it takes in the source, 0 if it is no escape.
  static size_t readEscape(std::string_view text, std::string& out) {
    if (text.size() < 2) return 0;
    static constexpr std::string_view kWritten = "\"\\ntr", kMeant = "\"\\\n\t\r";
    if (const size_t simple = kWritten.find(text[1]); simple != std::string_view::npos) {
      out += kMeant[simple];
      return 2;
    }
    const size_t close = text.find('}');
    // One to six hexadecimal digits, as in Rust: Unicode ends at 10FFFF.
    if (!text.starts_with("\\u{") || close == std::string_view::npos || close == 3 || close > 9) return 0;
    uint32_t code = 0;
    auto [end, error] = std::from_chars(text.data() + 3, text.data() + close, code, 16);
    char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
    char* past = bytes;
    // A zero would cut the text short where it is passed to the system.
    if (error != std::errc() || end != text.data() + close || code == 0 || !llvm::ConvertCodePointToUTF8(code, past))
      return 0;
    out.append(bytes, past);
    return close + 1;
  }

  /// The value of a text in quotes; reports what is no escape, and keeps nothing of it.
  std::string string(uint32_t index) {
    std::string_view written = text(index);
    written.remove_prefix(1);
    // A text that was not closed has been reported and has no quote to take off.
    std::string out;
    // The loop ends at the closing quote; a text that was not closed has been reported and has none.
    for (size_t at = 0; at < written.size();) {
      if (written[at] == '"') break;
      if (written[at] != '\\') {
        out += written[at++];
        continue;
      }
      const size_t length = readEscape(written.substr(at), out);
      if (length == 0) {
        const uint32_t begin = node(index).begin + 1 + uint32_t(at);
        // The range of the message covers the backslash and one whole character.
        uint32_t size = 2;
        while (at + size < written.size() && (static_cast<unsigned char>(written[at + size]) & 0xC0) == 0x80) ++size;
        size = std::min<uint32_t>(size, uint32_t(written.size() - at));
        reporter.emit({tree.file, begin, begin + size}, InvalidEscape, written.substr(at, size));
      }
      at += length == 0 ? std::min<size_t>(2, written.size() - at) : length;
    }
    return out;
  }

  ast::Text textOf(uint32_t text) { return {string(text), range(text)}; }

  /// The name that an expression stands for, in `name: condition` and `name = value`; before `=` also the parts of a
  /// lockstep factor. Reports anything else. The grammar reads an expression in these places, because it cannot tell
  /// them apart by one token.
  std::optional<ast::Identifier> asName(const ast::Expr& expr, std::string_view sign) {
    if (auto name = singleName(expr)) return name;
    if (const auto* tuple = expr.as<ast::TupleExpr>(); tuple && sign == "=") {
      std::vector<ast::Identifier> names;
      for (const ast::ExprPtr& element : tuple->elements)
        if (auto name = singleName(*element)) names.push_back(std::move(*name));
      if (names.size() == tuple->elements.size()) return lockstepName(names, expr.range);
    }
    reporter.syntaxError(expr.range, fmt::format("a single name before '{}'", sign));
    return std::nullopt;
  }

  /// Reports that a clause is given a second time; `first` is where the first one stands.
  void duplicate(uint32_t index, std::string_view what, source::Range first) {
    reporter.emit(range(index), DuplicateClause, what).note(first, "the first is here");
  }

  // ---- statements

  /// Appends a declaration to a list: its range, then its doc comment and name if its type has them, then its own
  /// parts. `self` is the last reader of the chain, whose read() for this type is called.
  template <typename Self, typename T>
  static void add(Self& self, uint32_t index, std::vector<T>& to) {
    // Types differ in which of these members they have; a member that is missing is not read.
    T& out = to.emplace_back();
    out.range = self.range(index);
    if constexpr (requires { out.doc; }) out.doc = self.doc(index);
    if constexpr (requires { std::string(out.name.name); })
      if (const uint32_t name = self.child(index, Rule::Word)) out.name = self.identifier(name);
    self.read(index, out);
  }
  /// A function that adds a statement to the list of its kind: it does nothing if the statement is another.
  template <typename Self>
  static auto taking(Self& self, uint32_t index) {
    return [&self, index](Rule kind, auto& to) {
      if (self.isRule(index, kind)) add(self, index, to);
    };
  }
};

}  // namespace expc::parse
