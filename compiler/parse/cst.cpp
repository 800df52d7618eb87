#include "compiler/parse/cst.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <iterator>

namespace expc::parse {

/// By token: the end of the file, then those of the grammar.
static constexpr std::string_view kSpellings[] = {"",
#define X(name, token, text) text,
                                                  EXPC_PARSE_TOKENS(X)
#undef X
};

std::string_view spelling(Token token) { return kSpellings[static_cast<size_t>(token)]; }

Token tokenOf(std::string_view text) {
  const auto* found = std::ranges::find(kSpellings, text);
  return text.empty() || found == std::end(kSpellings) ? Token::Identifier
                                                       : static_cast<Token>(found - std::begin(kSpellings));
}

bool isName(std::string_view text) {
  const auto inName = [](unsigned char sign) { return sign == '_' || llvm::isAlnum(sign); };
  return !text.empty() && !llvm::isDigit(text[0]) && std::ranges::all_of(text, inName) && !isReserved(tokenOf(text));
}

}  // namespace expc::parse
