#pragma once

// The rows of a trial: split into rows trained on and rows held out, packed if asked for, and assigned to the places
// of batches. A rank makes tokens of its own rows only, and tells the others what they must know of these.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/text/batches.h"
#include "runtime/data/text/questions.h"
#include "runtime/data/text/token_rows.h"
#include "runtime/plan/note.h"
#include "runtime/worker/workload/llm/parameters.h"

namespace expc::workload::llm {

/// The other ranks, as far as rows need them.
struct Ranks {
  int64_t rank = 0, count = 1;
  /// The largest of all ranks' values, element by element. A collective; unused with one rank.
  std::function<std::vector<double>(std::vector<double>)> largest = nullptr;

  std::vector<double> largestOf(std::vector<double> own) const {
    return count == 1 ? std::move(own) : largest(std::move(own));
  }
};

/// Rows as tokens. Each is made once and kept.
class MadeRows {
 public:
  explicit MadeRows(text::TokenRows rows) : rows_(std::move(rows)), made_(rows_.count()) {}

  const text::TokenRows& source() const { return rows_; }
  /// Makes the rows that are not there yet, on as many threads as torch has. An error names file and row.
  Error make(ArrayRef<int64_t> numbers);
  /// A row that was made.
  const text::TokenRow& row(int64_t number) const { return *made_[number]; }

 private:
  text::TokenRows rows_;
  std::vector<std::optional<text::TokenRow>> made_;
};

/// The things that take a place in a batch: rows, pairs of rows, or packs of rows, numbered from 0. Except for
/// weight(), an item must have been made on this rank before it is asked for.
class Items {
 public:
  enum class Kind { Rows, Pairs, Packs };

  /// An item for each of these rows or pairs. `by_rows`: losses are means over rows; those of pairs always are.
  Items(std::shared_ptr<MadeRows> rows, std::vector<int64_t> numbers, bool by_rows);
  /// Packs of `size` tokens each, made of rows whose sizes are known before their tokens are made.
  Items(std::shared_ptr<MadeRows> rows, std::vector<int64_t> numbers, ArrayRef<text::TextSize> sizes, int64_t size);

  Kind kind() const { return kind_; }
  int64_t count() const { return std::ssize(weights_); }
  /// Makes the tokens of items that have none. An error names file and row.
  Error make(ArrayRef<int64_t> items);
  /// Tells the other ranks the weights of the items that this one made, and learns those of theirs. A collective.
  void tell(const Ranks& ranks);

  /// An item's weight in the mean of a step: that of the row or pair if losses are taken by rows, else the sum over its
  /// learnt tokens. Known for items that this rank made or was told of.
  double weight(int64_t item) const { return weights_[item]; }
  double weight(ArrayRef<int64_t> items) const;
  /// The number of an item's tokens without padding, and of pairs of a token and one that it sees: n (n + 1) / 2 in a
  /// row of n.
  double tokens(int64_t item) const;
  double seen(int64_t item) const;
  /// The tokens of an item's longest text.
  double longest(int64_t item) const;
  /// The items as one batch; for pairs all chosen rows come first.
  text::TokenBatch batch(ArrayRef<int64_t> items) const;

 private:
  ArrayRef<int64_t> rowsOf(int64_t item) const;
  /// The lengths of an item's texts.
  std::vector<double> lengths(int64_t item) const;
  text::Pack pack(int64_t item) const;

  Kind kind_;
  std::shared_ptr<MadeRows> rows_;
  std::vector<int64_t> numbers_;
  std::vector<size_t> bounds_;   // the first number of each item, and the end
  std::vector<double> weights_;  // 0: not known
  bool by_rows_ = false;
  int64_t pack_size_ = 0;
};

/// Rows trained on and held out, with what a result says of them.
struct RowSets {
  Items train, held_out;
  std::string origin;  // the file, or "synthetic(500)"
  std::vector<plan::Note> notes;
  std::shared_ptr<const text::Tokenizer> tokenizer;  // null for made-up rows without one
};

/// The questions that the parameters name, and the tokenizer for answers.
struct Questions {
  std::vector<text::Question> all;
  std::shared_ptr<const text::Tokenizer> tokenizer;
};
/// @param known the tokenizer, if it is open already
Expected<Questions> openQuestions(const Parameters& parameters, const std::string& root, int64_t vocabulary,
                                  const std::string& model_folder, std::shared_ptr<const text::Tokenizer> known);

/// The number of held-out rows: one in ten, at least one, at most this many.
inline constexpr int64_t kMostHeldOut = 200;
int64_t heldOutOf(int64_t rows);

/// The path of the tokenizer that the study names; "" if it is the model's own.
std::string tokenizerPath(const Parameters& parameters, const std::string& root);

/// Reads the rows, or makes them up, and leaves out rows of which nothing would be learnt. Short rows are known to
/// have something; of the others each rank makes tokens of its part to find out. With `hold_out`, rows
/// are held out as parameters.validation says; without a choice heldOutOf(rows) of them, the last ones of a permutation
/// seeded with `seed`. The rest stays in the file's order, and packs are made of it. Rows that a column holds out are
/// never trained on. `vocabulary` is the model's size, `model_folder` its folder or "". A collective.
Expected<RowSets> openRows(const Parameters& parameters, const std::string& root, int64_t vocabulary,
                           const std::string& model_folder, uint64_t seed, bool hold_out, const Ranks& ranks);

/// The items that each rank takes in each pass of each step. An epoch is a permutation of all items (torch's
/// randperm, seeded with the trial's seed plus the epoch), of which rank r of W takes places r, r + W, …, as
/// DistributedSampler does: W ranks with batches of B see in a pass what one rank with a batch of W B sees. A step
/// has `accumulation` passes. Items that do not fill a step at an epoch's end are left out of that epoch; the next
/// one leaves out others.
class Order {
 public:
  Order(int64_t count, int64_t ranks, int64_t batch, int64_t accumulation, uint64_t seed);

  int64_t stepsPerEpoch() const { return count_ / itemsPerStep(); }
  int64_t itemsPerStep() const { return ranks_ * batch_ * accumulation_; }
  int64_t accumulation() const { return accumulation_; }
  /// All items of a step (counted from 0 over all epochs), pass by pass, and within a pass in the ranks' turn. Valid
  /// until the next call.
  const int64_t* ofStep(int64_t step);
  /// The items of one rank in one pass of a step.
  std::vector<int64_t> items(int64_t step, int64_t pass, int64_t rank);

 private:
  int64_t count_, ranks_, batch_, accumulation_;
  uint64_t seed_;
  int64_t epoch_ = -1;  // the epoch of `order_`
  std::vector<int64_t> order_;
};

}  // namespace expc::workload::llm
