#pragma once

// The rows that a study trains on, made tokens when they are asked for, and how long they are.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/text/dataset.h"
#include "runtime/data/text/tokenizer.h"

namespace expc::text {

struct TokenRowsOptions {
  DatasetOptions data;       // without a path rows are made up,
  int64_t synthetic = 0;     // so many (data.row_limit counts too),
  bool longest = false;      // of max_length tokens each, instead of as many as the template's have,
  uint64_t seed = 0;         // the same for the same seed
  std::string tokenizer;     // a file or a folder; "": the model's own
  std::string model_folder;  // "": it has none, and each byte of a text is a token
  int64_t vocabulary = 0;    // of the model: tokens must lie below it
  int64_t max_length = 0;    // tokens, at least 2, that a text is cut at; 0: at none
};

/// What is to be known of a text in tokens without having them.
struct TextSize {
  int64_t tokens = 0;
  int64_t learnt = 0;  // labels that are, but for the first, which no token stands before
  bool cut = false;
};
TextSize sizeOf(const Sample& sample);

/// Of a row, or of a pair.
struct RowSize {
  TextSize chosen, rejected;  // the second of pairs only
  bool pair = false;
  bool alike = false;  // of a pair: up to the last token that is learnt, both texts are one

  /// Whether something is left to learn. Two texts that are one have no difference that could be.
  bool learns() const { return chosen.learnt > 0 && (!pair || (rejected.learnt > 0 && !alike)); }
};

struct TokenRow {
  Sample chosen;
  std::optional<Sample> rejected;  // of pairs

  RowSize size() const;
};

/// Rows of random tokens, in number and share of masked labels like the template's rows of the reference study: from
/// half their mean to 1.4 times, and one in fifty up to 5.5 times (119 tokens of instruct, 57 of grammar, 167 of
/// summarize and plain). Of
/// instruct all is learnt, of grammar the last half, of summarize and plain the last fifth; of pairs the prompts are
/// equal and half of instruct is one. Each row is drawn for itself: the same seed and number give the same.
struct SyntheticRows {
  Template kind = Template::Instruct;
  int64_t count = 0;
  bool pairs = false;
  Token vocabulary = 0;  // tokens are below it
  uint64_t seed = 0;
  size_t most = 0;       // tokens that a text is cut at; 0: at none
  bool longest = false;  // all are that long

  TokenRow row(int64_t number) const;
  /// Whether none is cut.
  bool areShort() const;
};

/// Reads all rows, and makes tokens of those that are asked for. Several threads may ask at once.
class TokenRows {
 public:
  TokenRows(std::shared_ptr<const Tokenizer> tokenizer, Dataset dataset, int64_t max_length);
  /// Errors begin with `data: ` or `tokenizer: `, and name the file and, of what is wrong in a row, the row.
  static llvm::Expected<TokenRows> open(const TokenRowsOptions& options);

  int64_t count() const;
  bool pairs() const;
  /// The file, or "synthetic(500)".
  const std::string& origin() const { return origin_; }
  /// The token behind rows that are shorter than others.
  Token pad() const { return pad_; }
  /// What a reader of results should know.
  const std::vector<std::string>& notes() const { return notes_; }

  /// The row of a number, from 0 in the file's order. An error names file and row.
  llvm::Expected<TokenRow> row(int64_t number) const;
  /// The same of many, by so many threads; the first error in the order of `numbers`.
  llvm::Expected<std::vector<TokenRow>> rows(llvm::ArrayRef<int64_t> numbers, unsigned threads) const;
  llvm::Expected<std::vector<RowSize>> sizes(llvm::ArrayRef<int64_t> numbers, unsigned threads) const;
  /// A digest that is equal for rows of equal conversations, in one build; 0 for made-up rows.
  uint64_t digest(int64_t number) const;
  /// Whether its text is so short that it is surely not cut, something of it is learnt, and the texts of a pair differ:
  /// known without tokens.
  bool isShort(int64_t number) const;

 private:
  TokenRows() = default;
  void take(Dataset dataset);
  llvm::Error openTokenizer(const TokenRowsOptions& options);
  llvm::Error makeUp(const TokenRowsOptions& options);
  llvm::Expected<Sample> sample(const Conversation& conversation, int64_t number) const;
  bool isShort(const Conversation& conversation) const;

  int64_t max_length_ = 0;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Dataset dataset_;
  SyntheticRows made_up_;  // where there is no data set
  std::string origin_;
  Token pad_ = 0;
  std::vector<std::string> notes_;
};

/// How long the rows are of which something is left to learn; of pairs both texts count.
struct RowLengths {
  std::vector<RowSize> rows;  // in the file's order

  int64_t count() const { return static_cast<int64_t>(rows.size()); }
  /// Tokens of the longest text: what a batch may be padded to.
  int64_t longest() const;
  /// Tokens of all rows.
  int64_t sum() const;
  /// The most tokens, without padding, and the most labels that are learnt, of any `batch` rows.
  int64_t mostTokens(int64_t batch) const;
  int64_t mostLearnt(int64_t batch) const;
};

/// Of all rows, which takes as long as making tokens of them (about 60 MB of English in a second and thread).
llvm::Expected<RowLengths> rowLengths(const TokenRows& rows, unsigned threads);

}  // namespace expc::text
