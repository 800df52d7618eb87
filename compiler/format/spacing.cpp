#include "compiler/format/spacing.h"

namespace expc::format {

using parse::Rule;
using parse::Token;

namespace {

bool isCall(const Piece& left, const Piece& paren) {
  if (paren.rule == Rule::Arguments) return true;
  return parse::isWord(left.token) && !left.begins_statement && paren.rule != Rule::Group;
}

/// A name and its colon: `criterion fits:`, `forall gpus:`, but `param gpus : int`.
bool isLabel(const Piece& colon) {
  return colon.head == Token::Criterion || colon.head == Token::Require || colon.head == Token::Exclude;
}

/// Signs that stand close to what follows: `-x`, `by *2`.
bool isPrefix(const Piece& piece) {
  if (piece.token == Token::Minus) return piece.rule == Rule::Unary;
  return piece.token == Token::Star && (piece.rule == Rule::RangeTail || piece.rule == Rule::Refinement);
}

/// Whether what follows `..` is the end of the range rather than what comes after an open one (`1.. = 64`).
bool beginsOperand(const Piece& piece) {
  return piece.token == Token::Number || piece.token == Token::String || piece.token == Token::LeftParen ||
         piece.token == Token::Minus || piece.token == Token::True || piece.token == Token::False ||
         parse::isWord(piece.token) || piece.token == Token::System;
}

}  // namespace

bool beginsClause(const Piece& piece) {
  switch (piece.token) {
    case Token::With:
      return piece.rule == Rule::CriterionDecl || piece.rule == Rule::ParamTrait;
    case Token::Baseline:
    case Token::When:
    case Token::Because:
    case Token::Always:
      return piece.rule != Rule::AnyWord && piece.rule != Rule::ParamTrait;
    case Token::Allow:
      return piece.rule == Rule::CompareDecl;
    case Token::From:
      return piece.head == Token::Metric && piece.rule != Rule::AnyWord;
    default:
      return false;
  }
}

unsigned blanksBetween(const Piece& left, const Piece& right) {
  if (right.begins_statement) return left.brace_of_block && left.opens() ? 1 : 2;
  if (left.token == Token::LeftBrace || right.token == Token::RightBrace || right.token == Token::LeftBrace)
    return left.token == Token::LeftParen || left.token == Token::LeftBracket ? 0 : 1;
  if (left.opens() || right.closes() || right.token == Token::Comma) return 0;
  if (left.token == Token::Dot || right.token == Token::Dot) return 0;
  if (right.token == Token::Range) return 0;
  if (left.token == Token::Range) return beginsOperand(right) ? 0 : 1;
  if (isPrefix(left)) return 0;
  if (right.token == Token::LeftParen) return isCall(left, right) ? 0 : 1;
  if (right.token == Token::LeftBracket) return right.rule == Rule::Selectors && left.token != Token::Assign ? 0 : 1;
  if (right.token == Token::Colon) return isLabel(right) ? 0 : 1;
  return beginsClause(right) ? 2 : 1;
}

}  // namespace expc::format
