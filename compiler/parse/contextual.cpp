#include "compiler/parse/contextual.h"

#include <llvm/ADT/STLExtras.h>

namespace expc::parse {

namespace {

/// A name or an expression has to follow these.
constexpr Token kWantOperand[] = {Token::Over,        Token::By,    Token::Comma,   Token::Colon, Token::ForAll,
                                  Token::Exists,      Token::Only,  Token::Where,   Token::When,  Token::Require,
                                  Token::Exclude,     Token::And,   Token::Or,      Token::Not,   Token::LeftParen,
                                  Token::LeftBracket, Token::Equal, Token::NotEqual};

/// With these an expression goes on that a name began.
constexpr Token kGoOn[] = {Token::Dot,     Token::LeftParen,    Token::LeftBracket, Token::Plus,
                           Token::Minus,   Token::Star,         Token::Slash,       Token::Coalesce,
                           Token::Equal,   Token::NotEqual,     Token::Less,        Token::LessEqual,
                           Token::Greater, Token::GreaterEqual, Token::Within,      Token::Like};

bool wantsOperand(Token token) { return llvm::is_contained(kWantOperand, token); }

/// Whether a whole expression may end here.
bool endsOperand(Token token) {
  return token == Token::Number || token == Token::RightParen || token == Token::RightBracket || isWord(token);
}

}  // namespace

Token ContextualWords::settle(Token previous, Token token, std::string_view text, Token next) {
  if (token == Token::Workload && wantsOperand(previous) && !isWord(next) && next != Token::System)
    return Token::Identifier;
  if (isHeadWord(token)) head_ = token;
  if (token != Token::Identifier) return token;
  if (text == "keep" && next == Token::Criterion)
    return wantsOperand(previous) || previous == Token::Assign || previous == Token::In ? token : Token::Keep;
  if (head_ != Token::Criterion) return token;
  if (text == "infeasible" && previous == Token::Colon && !llvm::is_contained(kGoOn, next)) return Token::Infeasible;
  const bool clause = endsOperand(previous) && next != Token::Assign && next != Token::Dot;
  return clause && text == "always" ? Token::Always : clause && text == "give" ? Token::Give : token;
}

}  // namespace expc::parse
