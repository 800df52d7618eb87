#include "compiler/parse/blocks.h"

#include <algorithm>

namespace expc::parse {

bool isBlock(Rule rule) {
  return rule == Rule::File || rule == Rule::WorkloadBody || rule == Rule::StudyBody || rule == Rule::PresetBody ||
         rule == Rule::DesignBody || rule == Rule::KindBody;
}

bool isStatement(Rule rule) {
  switch (rule) {
    case Rule::File:
    case Rule::ValueFile:
    case Rule::Declaration:
    case Rule::WorkloadItem:
    case Rule::StudyItem:
    case Rule::DesignItem:
    case Rule::Setting:
    case Rule::PresetItem:
      return true;
    default:
      return false;
  }
}

const std::vector<Token>& headsOf(Rule block) {
  static const std::vector<Token> file = {Token::Import, Token::Ordered,  Token::Enum,
                                          Token::Let,    Token::Workload, Token::Study};
  static const std::vector<Token> workload = {Token::Version, Token::Param, Token::Metric, Token::Require,
                                              Token::Exclude};
  static const std::vector<Token> study = {
      Token::Workload, Token::Factor,    Token::Let,    Token::Require, Token::Exclude, Token::Measure, Token::Metric,
      Token::Compare,  Token::Criterion, Token::Design, Token::Table,   Token::Plot,    Token::Preset};
  static const std::vector<Token> words = {Token::Identifier, Token::As, Token::Ordered, Token::Version,
                                           Token::Confidence};
  static const std::vector<Token> preset = {Token::Only,    Token::Remove,     Token::Criterion,
                                            Token::Design,  Token::Identifier, Token::As,
                                            Token::Ordered, Token::Version,    Token::Confidence};
  switch (block) {
    case Rule::WorkloadBody:
      return workload;
    case Rule::StudyBody:
      return study;
    case Rule::PresetBody:
      return preset;
    case Rule::DesignBody:
    case Rule::KindBody:
      return words;
    default:
      return file;
  }
}

bool isHead(Rule block, Token token) {
  const std::vector<Token>& heads = headsOf(block);
  return std::find(heads.begin(), heads.end(), token) != heads.end();
}

bool endsBlock(Rule block, Token token) {
  if (block == Rule::File) return false;
  if (token == Token::Study || token == Token::Enum || token == Token::Import) return true;
  const bool design = block == Rule::DesignBody || block == Rule::KindBody;
  return design && isReserved(token) && token <= Token::Remove;
}

}  // namespace expc::parse
