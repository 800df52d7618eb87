#pragma once

// Text to tokens and back: byte-level byte-pair encoding, as Llama 3 has it, with ids equal to those of tiktoken and of
// Hugging Face's tokenizers for any text. The stages: cut long texts (tokenizer.cpp), split into pieces (splitter.h),
// merge byte pairs within a piece (vocabulary.h). Files in two formats are read by tiktoken_file.cpp and
// tokenizer_json.cpp.

#include <llvm/Support/JSON.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/text/splitter.h"
#include "runtime/data/text/vocabulary.h"

namespace expc::text {

/// Tokens that no text becomes, and the ones among them with which conversations are written.
struct SpecialTokens {
  /// Llama 3's special tokens, behind a vocabulary of `first` tokens.
  static SpecialTokens llama3(Token first);
  /// Finds the tokens that conversations need by Llama 3's names. An error if one is missing.
  static Expected<SpecialTokens> named(std::vector<std::pair<std::string, Token>> all);

  Token begin_of_text = -1, end_of_text = -1;
  Token start_header = -1, end_header = -1;
  Token end_of_turn = -1;
  Token pad = -1;
  std::vector<std::pair<std::string, Token>> all;  // by name
};

/// A tokenizer. Several threads may use one.
class Tokenizer {
 public:
  /// Opens a file in tiktoken's form or a tokenizer.json, told apart by its beginning, or the one in a model's folder:
  /// tokenizer.json, tokenizer.model or original/tokenizer.model, in this order. Errors name the file, the fault and a
  /// way out.
  static Expected<Tokenizer> open(const std::string& path);
  /// Reads tiktoken's form: lines of base64 and rank. Llama 3's pattern and special tokens are assumed. `name` stands
  /// for the file in messages.
  static Expected<Tokenizer> fromTiktoken(StringRef bytes, const std::string& name);
  /// Reads Hugging Face's form: BPE over bytes, with special tokens as `added_tokens`.
  static Expected<Tokenizer> fromJson(StringRef bytes, const std::string& name);
  /// A tokenizer that needs no file: 256 tokens for the bytes, and Llama 3's special tokens behind them.
  static Tokenizer bytes();

  /// Appends the tokens of `text`. Special tokens are never among them, whatever the text says. Invalid UTF-8 becomes
  /// U+FFFD, as in Python. As in the recipes, a text is cut every 400,000 characters, and within a run of white space
  /// or of other characters every 25,000, so that no piece spans those places. An error if the pattern of a
  /// tokenizer.json gives up.
  Error encode(StringRef text, std::vector<Token>& out) const;

  /// The bytes of the tokens, with special ones by name. Not necessarily UTF-8. An error for an id that does not exist.
  Expected<std::string> decode(ArrayRef<Token> tokens) const;

  /// The special tokens, for those who write conversations.
  const SpecialTokens& special() const { return special_; }
  /// The rows that a model's embedding needs: one more than the largest id that texts and conversations can have.
  Token rows() const { return rows_; }
  /// The name of the file it was read from.
  const std::string& origin() const { return origin_; }

 private:
  Tokenizer(std::string origin, Vocabulary vocabulary, SpecialTokens special);
  /// Reads fromJson()'s bytes; errors do not name the file.
  static Expected<Tokenizer> parse(StringRef bytes, const std::string& name);
  /// Appends the tokens of a text that needs no more cutting.
  Error encodeCut(StringRef text, std::vector<Token>& out) const;

  std::string origin_;
  Vocabulary vocabulary_;
  SpecialTokens special_;
  std::unordered_map<Token, size_t> special_names_;  // index into special_.all
  Splitter splitter_;
  std::unique_ptr<PairMerges> pairs_;  // null: ids are ranks, as in tiktoken
  bool whole_pieces_ = true;           // a piece that is a token as a whole is not merged
  Token rows_ = 0;
};

}  // namespace expc::text
