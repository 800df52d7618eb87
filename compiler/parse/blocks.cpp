#include "compiler/parse/blocks.h"

#include <algorithm>

#include "compiler/language/words.h"

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

bool isWholeFile(Rule rule) {
  return rule == Rule::File || rule == Rule::ValueFile || rule == Rule::SettingFile || rule == Rule::PointFile;
}

bool isStatement(Rule rule) {
  if (isWholeFile(rule)) return true;
  switch (rule) {
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

/// The heads that the table of words gives to `blocks`; where assignments or settings stand, whatever may be a name
/// too.
std::vector<Token> heads(uint8_t blocks, bool names) {
  std::vector<Token> result;
  for (const language::Word* word : language::words(language::Role::Head, blocks))
    result.push_back(tokenOf(word->text));
  if (!names) return result;
  result.push_back(Token::Identifier);
  for (int token = static_cast<int>(Token::As); token <= static_cast<int>(Token::Allow); ++token)
    result.push_back(static_cast<Token>(token));
  return result;
}

}  // namespace

uint8_t wordsBlock(Rule block) {
  switch (block) {
    case Rule::File:
      return language::File;
    case Rule::WorkloadBody:
      return language::Workload;
    case Rule::StudyBody:
      return language::Study;
    case Rule::PresetBody:
      return language::Preset;
    default:
      return language::None;
  }
}

const std::vector<Token>& headsOf(Rule block) {
  static const std::vector<Token> file = heads(language::File, false), workload = heads(language::Workload, false),
                                  study = heads(language::Study, false), preset = heads(language::Preset, true),
                                  names = heads(language::None, true);
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
      return names;
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
