#include "tests/format/properties.h"

#include <random>

#include "compiler/format/format.h"
#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/parse.h"
#include "runtime/base/format.h"
#include "tests/grammar/dump.h"

namespace expc::format_test {

namespace {

std::optional<std::string> formatted(const std::string& text) {
  source::SourceManager sources;
  diag::Collector said;
  diag::Emitter emitter(said);
  const auto file = parse::load(sources, "text.exp", text, emitter);
  return file ? format::format(sources, *file, emitter) : std::nullopt;
}

/// The tokens and comments of a text, a line each. A comment that ends a line of code says so.
std::string tokensOf(const std::string& text) {
  source::SourceManager sources;
  diag::Collector said;
  diag::Emitter emitter(said);
  const auto file = parse::load(sources, "text.exp", text, emitter);
  if (!file) return "not read";
  std::string out;
  for (const parse::LexedToken& token : parse::tokens(sources, *file)) {
    std::string_view written = sources.text(token.range);
    if (token.isComment()) written = written.substr(0, written.find_last_not_of(" \t") + 1);
    const bool after_code = token.isComment() && token.lines_before == 0 && !out.empty();
    out += fmt::format("{} {}{}\n", int(token.kind), after_code ? "after " : "", written);
  }
  return out;
}

std::string treeOf(const std::string& text) {
  source::SourceManager sources;
  diag::Collector said;
  diag::Emitter emitter(said);
  const auto file = parse::load(sources, "text.exp", text, emitter);
  return file ? ast::dump(parse::parse(sources, *file, emitter)) : "not read";
}

std::string difference(std::string_view what, const std::string& before, const std::string& after) {
  return fmt::format("{}:\n{}", what, format::unifiedDiff("text.exp", before, after));
}

}  // namespace

std::string scrambled(const std::string& text, unsigned seed) {
  source::SourceManager sources;
  diag::Collector said;
  diag::Emitter emitter(said);
  const auto file = parse::load(sources, "text.exp", text, emitter);
  if (!file) return text;
  std::mt19937 random(seed);
  // How often a gap has a line break, and how often a comment: from texts of one line to those of one token a line.
  // Some have longer names, so that lines overflow.
  const unsigned breaks = seed % 4 == 0 ? 0 : seed % 4 == 1 ? 10 : seed % 4 == 2 ? 40 : 80;
  const unsigned comments = seed % 3 == 0 ? 0 : 5;
  const unsigned longer = seed % 5 < 2 ? 40 : 0;
  static constexpr const char* kBlanks[] = {" ", "  ", "\t", "     "};
  static constexpr const char* kBreaks[] = {"\n", "\n\n", "\r\n  ", "\n \n\n\t"};
  static constexpr const char* kComments[] = {" // c\n", "//\n//d  \n", "\n// e\n", " /// f\n", "\n\n//// g\n\n"};
  const auto in_hundred = [&](unsigned share) { return random() % 100 < share; };
  std::string out;
  bool after_comment = false;
  for (const parse::LexedToken& token : parse::tokens(sources, *file)) {
    if (after_comment || in_hundred(breaks)) out += kBreaks[random() % std::size(kBreaks)];
    out += kBlanks[random() % std::size(kBlanks)];
    if (in_hundred(comments)) out += kComments[random() % std::size(kComments)];
    out += sources.text(token.range);
    // A percentile (`p99.9`) is a name that nothing can be appended to.
    const bool plain = sources.text(token.range).find('.') == std::string_view::npos;
    if (token.kind == parse::Token::Identifier && plain && in_hundred(longer))
      out += "_" + std::string(random() % 60, 'x');
    after_comment = token.isComment();
  }
  return out;
}

bool isFormatted(const std::string& text) { return formatted(text).has_value(); }

std::optional<std::string> brokenPromise(const std::string& text) {
  const std::optional<std::string> once = formatted(text);
  if (!once) return std::nullopt;
  const std::string tokens = tokensOf(text), tokens_after = tokensOf(*once);
  if (tokens != tokens_after) return difference("the tokens change", tokens, tokens_after);
  const std::string tree = treeOf(text), tree_after = treeOf(*once);
  if (tree != tree_after) return difference("the syntax tree changes", tree, tree_after);
  const std::optional<std::string> twice = formatted(*once);
  if (!twice) return "what it wrote cannot be read:\n" + *once;
  if (*twice != *once) return difference("formatting again changes it", *once, *twice);
  for (const char* end : {" \n", "\t\n", "\r"})
    if (once->find(end) != std::string::npos) return "blanks end a line:\n" + *once;
  if (once->find("\n\n\n") != std::string::npos || once->starts_with('\n') || once->ends_with("\n\n"))
    return "there are blank lines too many:\n" + *once;
  if ((format::unifiedDiff("text.exp", text, *once) == "") != (text == *once)) return "the diff says nothing";
  return std::nullopt;
}

}  // namespace expc::format_test
