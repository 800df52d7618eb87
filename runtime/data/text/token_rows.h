#pragma once

// The rows that a study trains on. Conversations are read at once, tokens made only for rows that are asked for, by as
// many threads as the caller has: encoding all rows of a large set would take longer than many trainings. Rows can also
// be made up, with lengths like those of real sets. Lengths can be measured in advance, for those who plan batches by
// them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/text/dataset.h"
#include "runtime/data/text/tokenizer.h"

namespace expc::text {

/// The source of rows and of tokens.
struct TokenRowsOptions {
  DatasetOptions data;             // without a path rows are made up
  std::string parameter = "data";  // the parameter that names the rows
  int64_t synthetic = 0;           // the number of made-up rows; data.row_limit counts too
  bool longest = false;            // made-up rows have max_length tokens each, instead of lengths like the template's
  uint64_t seed = 0;               // the seed of made-up rows
  std::string tokenizer;           // a file or a folder; "": the model's own
  std::string model_folder;        // "": the model has none, and each byte of a text is a token
  int64_t vocabulary = 0;          // the model's size; tokens must be below it; 0: unknown
  int64_t max_length = 0;          // the most tokens of a text, at least 2; 0: no limit
};

/// The options with which other rows than those of the data are read: all rows of another file or folder.
/// @param questions rows are questions to the tuned model, and not held out
TokenRowsOptions apartFrom(TokenRowsOptions options, const std::string& path, bool questions);

/// Opens the tokenizer that the options name: a file, else the model's own, else bytes, which a note tells. An error,
/// which begins with `tokenizer: `, also if it has more tokens than `options.vocabulary`.
Expected<std::shared_ptr<const Tokenizer>> openTokenizer(const TokenRowsOptions& options,
                                                         std::vector<std::string>& notes);

/// The facts about an encoded text that planning needs.
struct TextSize {
  int64_t tokens = 0;
  int64_t learnt = 0;  // labels that are learnt; the first never is, since no token predicts it
  bool cut = false;
  double weight = 0;  // the sum of these labels' weights
};
/// The size of an encoded text.
TextSize sizeOf(const Sample& sample);

/// The sizes of a row, or of both texts of a pair.
struct RowSize {
  TextSize chosen, rejected;  // the second for pairs only
  bool pair = false;
  bool alike = false;  // both texts of a pair are the same up to the last token that is learnt

  /// Whether something is left to learn after cutting. Two texts that are the same have no preference to learn.
  bool learns() const { return chosen.learnt > 0 && (!pair || (rejected.learnt > 0 && !alike)); }
};

/// An encoded row.
struct TokenRow {
  Sample chosen;
  std::optional<Sample> rejected;  // for pairs
  double weight = 1;               // how much the row or pair counts among others (Example::weight)

  /// The sizes of the row's texts.
  RowSize size() const;
};

/// Rows of random tokens whose lengths and share of masked labels resemble the template's rows in the reference study.
/// Lengths lie between half their mean and 1.4 times it, and one in fifty rows up to 5.5 times; means are 119 tokens
/// for instruct, 57 for grammar, 167 for summarize and plain. All of instruct is learnt, of grammar the last half, of
/// summarize and plain the last fifth. The two texts of a pair have the same prompt, and for instruct the prompt is
/// half of them. Each row is drawn by itself, so a row depends on seed and number only.
struct SyntheticRows {
  Template kind = Template::Instruct;
  int64_t count = 0;
  bool pairs = false;
  Token vocabulary = 0;  // tokens are below it
  uint64_t seed = 0;
  size_t most = 0;       // the most tokens of a text; 0: no limit
  bool longest = false;  // all texts have `most` tokens

  /// The row of a number from 0 to below `count`.
  TokenRow row(int64_t number) const;
  /// Whether no row is ever cut.
  bool areShort() const;
};

/// The error that no row of `parameter` has anything to learn.
Error nothingToLearn(const std::string& parameter, int64_t rows, const std::string& origin, int64_t max_length);

/// Refuses a column of parts that leaves no row to train on or to evaluate.
Error checkParts(const std::string& column, const std::string& origin, int64_t trained, int64_t held_out);

/// The rows of a study, by number. Several threads may ask at once.
class TokenRows {
 public:
  /// Rows of a data set that was read by the caller.
  TokenRows(std::shared_ptr<const Tokenizer> tokenizer, Dataset dataset, int64_t max_length);
  /// Reads all rows and the tokenizer. Errors begin with `tokenizer: ` or `options.parameter`, and name the file, and
  /// the row if one is at fault.
  /// @param known the tokenizer that the options name, if it is open already
  static Expected<TokenRows> open(const TokenRowsOptions& options, std::shared_ptr<const Tokenizer> known = nullptr);

  /// The number of rows.
  int64_t count() const;
  /// Whether rows have two answers.
  bool pairs() const;
  /// The source of the rows: the file, or "synthetic(500)".
  const std::string& origin() const { return origin_; }
  /// The tokenizer; null for made-up rows whose options name none.
  const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  /// The token that fills up rows that are shorter than others.
  Token pad() const { return tokenizer_ ? tokenizer_->special().pad : 0; }
  /// Remarks for readers of the results, such as that answers were borrowed.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Whether the data set has more rows than DatasetOptions::byte_limit let in.
  bool inPart() const { return dataset_.in_part; }
  /// The conversations of a row of a data set.
  const Example& example(int64_t number) const { return dataset_.examples[number]; }
  /// Encodes a row; numbers count from 0 in the file's order. Errors name file and row.
  Expected<TokenRow> row(int64_t number) const;
  /// Encodes several rows with so many threads. The error is the first one in the order of `numbers`.
  Expected<std::vector<TokenRow>> rows(ArrayRef<int64_t> numbers, unsigned threads) const;
  /// Encodes several rows as rows() does, and keeps only their sizes.
  Expected<std::vector<RowSize>> sizes(ArrayRef<int64_t> numbers, unsigned threads) const;
  /// A digest that is equal for rows with equal conversations, within one build; 0 for made-up rows. With `loosely`
  /// also for rows that differ only in case and white space.
  uint64_t digest(int64_t number, bool loosely = false) const;
  /// Whether the column of parts holds a row out.
  bool isHeldOut(int64_t number) const { return !dataset_.held_out.empty() && dataset_.held_out[number]; }
  /// Whether a row is surely usable, as far as can be known without its tokens: so short that it is not cut, with
  /// something to learn, and with different texts if it is a pair.
  bool isShort(int64_t number) const;

 private:
  TokenRows() = default;
  void take(Dataset dataset);
  void makeUp(const TokenRowsOptions& options);
  Expected<Sample> sample(const Conversation& conversation, int64_t number) const;
  bool isShort(const Conversation& conversation) const;

  int64_t max_length_ = 0;
  std::shared_ptr<const Tokenizer> tokenizer_;
  Dataset dataset_;
  SyntheticRows made_up_;  // used if there is no data set
  std::string origin_, parameter_ = "data";
  std::vector<std::string> notes_;
};

/// The sizes of all rows from which something can be learnt. Both texts of a pair count.
struct RowLengths {
  std::vector<RowSize> rows;  // in the file's order

  int64_t count() const { return int64_t(rows.size()); }
  /// The tokens of the longest text: the most that a batch can be padded to.
  int64_t longest() const;
  /// Tokens of the longer text of a row, in the middle of all rows; 0 without rows.
  int64_t usual() const;
  /// The tokens of all rows.
  int64_t sum() const;
  /// The most tokens (without padding) and the most learnt labels that any `batch` rows can have together. They bound
  /// the memory of a step.
  int64_t mostTokens(int64_t batch) const;
  int64_t mostLearnt(int64_t batch) const;

 private:
  std::vector<int64_t> sorted() const;
};

/// Measures all rows. Takes as long as encoding them: about 60 MB of English per second and thread.
Expected<RowLengths> rowLengths(const TokenRows& rows, unsigned threads);

}  // namespace expc::text
