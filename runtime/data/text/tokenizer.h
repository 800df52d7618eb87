#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/data/text/splitter.h"
#include "runtime/data/text/vocabulary.h"

namespace expc::text {

/// Tokens that no text becomes, by name, and those among them that conversations are made of.
struct SpecialTokens {
  /// Llama 3's, behind a vocabulary of `first` tokens.
  static SpecialTokens llama3(Token first);
  /// By the names of Llama 3. An error: one that conversations need is missing.
  static llvm::Expected<SpecialTokens> named(std::vector<std::pair<std::string, Token>> all);

  Token begin_of_text = -1, end_of_text = -1;
  Token start_header = -1, end_header = -1;
  Token end_of_turn = -1;
  Token pad = -1;
  std::vector<std::pair<std::string, Token>> all;
};

/// Text to tokens and back: byte-level byte-pair encoding as Llama 3 has it. Several threads may use one.
class Tokenizer {
 public:
  /// A file in tiktoken's form or a tokenizer.json, told apart by its beginning, or a model's folder with one:
  /// tokenizer.json, tokenizer.model or original/tokenizer.model, in this order. Errors name the file, what is wrong
  /// and the way out.
  static llvm::Expected<Tokenizer> open(const std::string& path);
  /// Lines of base64 and rank; Llama 3's pattern and special tokens. `name` stands for the file in messages.
  static llvm::Expected<Tokenizer> fromTiktoken(llvm::StringRef bytes, const std::string& name);
  /// Hugging Face's form: BPE over bytes, special tokens as `added_tokens`.
  static llvm::Expected<Tokenizer> fromJson(llvm::StringRef bytes, const std::string& name);
  /// Needs no file: 256 tokens, the bytes, and the special tokens behind them.
  static Tokenizer bytes();

  /// Appends the tokens of `text`; special tokens are none of them, whatever it says. What is not UTF-8 counts as
  /// U+FFFD, as in Python. As in the recipes a text is cut every 400,000 characters and after 25,000 that are all white
  /// space or all not, so that no piece crosses those places. An error: tokenizer.json's own pattern gives up.
  llvm::Error encode(llvm::StringRef text, std::vector<Token>& out) const;

  /// The bytes of the tokens, special ones by name; not necessarily UTF-8. An error: an id that is none.
  llvm::Expected<std::string> decode(llvm::ArrayRef<Token> tokens) const;

  const SpecialTokens& special() const { return special_; }
  /// All ids that texts and conversations can have lie below it: a model's embedding needs as many rows.
  Token rows() const { return rows_; }
  /// What it was read from.
  const std::string& origin() const { return origin_; }

 private:
  Tokenizer(std::string origin, Vocabulary vocabulary, SpecialTokens special);
  static llvm::Expected<Tokenizer> fromObject(const llvm::json::Object& root, const std::string& name);
  llvm::Error encodeCut(llvm::StringRef text, std::vector<Token>& out) const;

  std::string origin_;
  Vocabulary vocabulary_;
  SpecialTokens special_;
  std::unordered_map<Token, size_t> special_names_;  // into special_.all
  Splitter splitter_;
  std::unique_ptr<PairMerges> pairs_;  // null: ranks
  bool whole_pieces_ = true;           // a piece that is a token needs no merges
  Token rows_ = 0;
};

}  // namespace expc::text
