// Facts about rules and tokens: spellings, the blocks of the language and the words that begin their statements. Heads
// come from the table of words in words.cpp, so a new statement needs its word there and its rule in the
// grammar.

#include "compiler/parse/cst.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "compiler/parse/words.h"
#include "runtime/base/llvm.h"

namespace expc::parse {

/// Indexed by token: the end of the file, then the tokens of the grammar in their order.
static constexpr std::string_view kSpellings[] = {"",
#define X(name, token, text) text,
                                                  EXPC_PARSE_TOKENS(X)
#undef X
};

std::string_view spelling(Token token) { return kSpellings[size_t(token)]; }

Token tokenOf(std::string_view text) {
  const auto* found = std::ranges::find(kSpellings, text);
  return text.empty() || found == std::end(kSpellings) ? Token::Identifier
                                                       : static_cast<Token>(found - std::begin(kSpellings));
}

bool isName(std::string_view text) {
  const auto inName = [](unsigned char sign) { return sign == '_' || llvm::isAlnum(sign); };
  return !text.empty() && !llvm::isDigit(text[0]) && std::ranges::all_of(text, inName) && !isReserved(tokenOf(text));
}

namespace {

/// All blocks. The file must come first: blockOf() falls back to it.
constexpr Block kBlocks[] = {{Rule::File, "file", words::File, false, ""},
                             {Rule::WorkloadBody, "workload", words::Workload, false, ""},
                             {Rule::ServiceBody, "service", words::Service, false, ""},
                             {Rule::SystemBody, "system", words::None, true, "a property, such as 'gpus = 4',"},
                             {Rule::ReferenceBody, "reference", words::None, true,
                              "a name and what it is read from, such as 'time = column(total_time_s) * 1s',"},
                             {Rule::StudyBody, "study", words::Study, false, ""},
                             {Rule::PresetBody, "preset", words::Preset, true, ""},
                             {Rule::DesignBody, "design", words::None, true,
                              "a setting, such as 'repeat 10', or a kind of trial, such as 'timed { … }',"},
                             {Rule::KindBody, "kind of trial", words::None, true, "a setting, such as 'repeat 10',"}};

/// The description of a block; null if the rule is no block.
const Block* find(Rule rule) {
  const Block* found = std::ranges::find(kBlocks, rule, &Block::rule);
  return found == std::end(kBlocks) ? nullptr : found;
}

/// The words that begin statements of a block: those of the table of words, and in blocks with assignments or settings
/// also every token that may be a name there (`as` to `noise` in the order of the grammar).
std::vector<Token> heads(const Block& block) {
  std::vector<Token> result;
  for (const words::Word* word : words::words(words::Role::Head, block.words)) result.push_back(tokenOf(word->text));
  if (!block.names) return result;
  result.push_back(Token::Identifier);
  for (int token = int(Token::As); token <= int(Token::Noise); ++token) result.push_back(static_cast<Token>(token));
  return result;
}

}  // namespace

bool isBlock(Rule rule) { return find(rule) != nullptr; }

const Block& blockOf(Rule rule) {
  const Block* found = find(rule);
  return found ? *found : kBlocks[0];
}

bool isWholeFile(Rule rule) {
  return rule == Rule::File || rule == Rule::ValueFile || rule == Rule::SettingFile || rule == Rule::PointFile;
}

bool isStatement(Rule rule) {
  static constexpr Rule kStatements[] = {Rule::Declaration, Rule::WorkloadItem,  Rule::ServiceItem,
                                         Rule::SystemItem,  Rule::ReferenceItem, Rule::StudyItem,
                                         Rule::DesignItem,  Rule::Setting,       Rule::PresetItem};
  return isWholeFile(rule) || is_contained(kStatements, rule);
}

const std::vector<Token>& headsOf(Rule block) {
  // Computed once: the error recovery asks for every token that it skips.
  static const auto all = [] {
    std::array<std::vector<Token>, std::size(kBlocks)> out;
    std::ranges::transform(kBlocks, out.begin(), heads);
    return out;
  }();
  return all[&blockOf(block) - kBlocks];
}

bool isHead(Rule block, Token token) { return is_contained(headsOf(block), token); }

bool endsBlock(Rule block, Token token, Token after) {
  if (block == Rule::File) return false;
  if (token == Token::Study || token == Token::Enum || token == Token::Import || token == Token::Reference) return true;
  // `system box` declares; `system.gpus` is a value.
  if (token == Token::System) return isWord(after);
  return headsOf(block).front() == Token::Identifier && isHeadWord(token);
}

}  // namespace expc::parse
