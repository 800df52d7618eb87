#include "compiler/parse/blocks.h"

#include <algorithm>

namespace expc::parse {

bool isBlock(Rule rule) {
  switch (rule) {
    case Rule::File:
    case Rule::WorkloadBody:
    case Rule::SystemBody:
    case Rule::ReferenceBody:
    case Rule::StudyBody:
    case Rule::PresetBody:
    case Rule::DesignBody:
    case Rule::KindBody:
      return true;
    default:
      return false;
  }
}

bool isStatement(Rule rule) {
  switch (rule) {
    case Rule::File:
    case Rule::ValueFile:
    case Rule::Declaration:
    case Rule::WorkloadItem:
    case Rule::SystemItem:
    case Rule::ReferenceItem:
    case Rule::StudyItem:
    case Rule::DesignItem:
    case Rule::Setting:
    case Rule::PresetItem:
      return true;
    default:
      return false;
  }
}

namespace {

/// `heads` and whatever may be a name.
std::vector<Token> wordsAnd(std::vector<Token> heads) {
  heads.push_back(Token::Identifier);
  for (int token = static_cast<int>(Token::As); token <= static_cast<int>(Token::Like); ++token)
    heads.push_back(static_cast<Token>(token));
  return heads;
}

}  // namespace

const std::vector<Token>& headsOf(Rule block) {
  static const std::vector<Token> file = {Token::Import, Token::Ordered,   Token::Enum,   Token::Let,  Token::Workload,
                                          Token::System, Token::Reference, Token::Preset, Token::Study};
  static const std::vector<Token> workload = {Token::Version,  Token::Inputs,  Token::Outputs, Token::Prepare,
                                              Token::Expect,   Token::Param,   Token::Let,     Token::Metric,
                                              Token::Estimate, Token::Require, Token::Exclude};
  static const std::vector<Token> study = {
      Token::Workload, Token::Factor,  Token::Let,       Token::Require, Token::Exclude, Token::Measure, Token::Metric,
      Token::Compare,  Token::Control, Token::Criterion, Token::Design,  Token::Table,   Token::Plot,    Token::Preset};
  static const std::vector<Token> words = wordsAnd({});
  static const std::vector<Token> preset = wordsAnd({Token::Only, Token::Remove, Token::Criterion, Token::Design});
  switch (block) {
    case Rule::WorkloadBody:
      return workload;
    case Rule::StudyBody:
      return study;
    case Rule::PresetBody:
      return preset;
    case Rule::SystemBody:
    case Rule::ReferenceBody:
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

bool endsBlock(Rule block, Token token, Token after) {
  if (block == Rule::File) return false;
  if (token == Token::Study || token == Token::Enum || token == Token::Import || token == Token::Reference) return true;
  // `system box` declares; `system.gpus` is a value.
  if (token == Token::System) return isWord(after);
  const bool words = headsOf(block).front() == Token::Identifier;
  return words && isHeadWord(token);
}

}  // namespace expc::parse
