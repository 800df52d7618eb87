#include "compiler/parse/cst.h"

namespace expc::parse {

std::string_view spelling(Token token) {
  switch (token) {
    case Token::EndOfFile:
      return "";
#define X(name, unused, text) \
  case Token::name:           \
    return text;
      EXPC_PARSE_TOKENS(X)
#undef X
  }
  return "";
}

Token tokenOf(std::string_view text) {
#define X(name, unused, written) \
  if (!text.empty() && text == written) return Token::name;
  EXPC_PARSE_TOKENS(X)
#undef X
  return Token::Identifier;
}

}  // namespace expc::parse
