#include "compiler/parse/contextual.h"

namespace expc::parse {

namespace {

/// Whether a name or an expression has to follow.
bool wantsOperand(Token token) {
  switch (token) {
    case Token::Over:
    case Token::By:
    case Token::Comma:
    case Token::Colon:
    case Token::ForAll:
    case Token::Exists:
    case Token::Only:
    case Token::Where:
    case Token::When:
    case Token::Require:
    case Token::Exclude:
    case Token::And:
    case Token::Or:
    case Token::Not:
    case Token::LeftParen:
    case Token::LeftBracket:
    case Token::Equal:
    case Token::NotEqual:
      return true;
    default:
      return false;
  }
}

/// Whether an expression that a name began goes on.
bool goesOn(Token token) {
  switch (token) {
    case Token::Dot:
    case Token::LeftParen:
    case Token::LeftBracket:
    case Token::Plus:
    case Token::Minus:
    case Token::Star:
    case Token::Slash:
    case Token::Coalesce:
    case Token::Equal:
    case Token::NotEqual:
    case Token::Less:
    case Token::LessEqual:
    case Token::Greater:
    case Token::GreaterEqual:
    case Token::Within:
    case Token::Like:
      return true;
    default:
      return false;
  }
}

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
  if (text == "infeasible" && previous == Token::Colon && !goesOn(next)) return Token::Infeasible;
  const bool clause = endsOperand(previous) && next != Token::Assign && next != Token::Dot;
  return clause && text == "always" ? Token::Always : clause && text == "give" ? Token::Give : token;
}

}  // namespace expc::parse
