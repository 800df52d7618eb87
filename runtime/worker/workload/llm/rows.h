#pragma once

// The rows of a trial, divided into those trained on and those held out, and put into places of a batch. A rank makes
// tokens of its own rows only.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/data/text/batches.h"
#include "runtime/data/text/token_rows.h"
#include "runtime/worker/workload/llm/parameters.h"

namespace expc::workload::llm {

/// How the ranks of a trial tell each other what each alone knows.
struct Ranks {
  int64_t rank = 0, count = 1;
  /// The largest of all ranks' values, place by place. Every rank calls it alike.
  std::function<std::vector<double>(std::vector<double>)> largest = nullptr;

  std::vector<double> largestOf(std::vector<double> own) const {
    return count == 1 ? std::move(own) : largest(std::move(own));
  }
};

/// Rows as tokens, which stay once they have been made.
class MadeRows {
 public:
  explicit MadeRows(text::TokenRows rows) : rows_(std::move(rows)), made_(static_cast<size_t>(rows_.count())) {}

  const text::TokenRows& source() const { return rows_; }
  /// Makes those that are not there.
  llvm::Error make(llvm::ArrayRef<int64_t> numbers);
  /// One that was made.
  const text::TokenRow& row(int64_t number) const { return *made_[static_cast<size_t>(number)]; }

 private:
  text::TokenRows rows_;
  std::vector<std::optional<text::TokenRow>> made_;
};

/// What takes a place in a batch: a row, a pair of rows, or a pack of rows. They are numbered from 0. What is asked of
/// an item, but for how much is learnt of it, is asked of one that was made.
class Items {
 public:
  enum class Kind { Rows, Pairs, Packs };

  /// One for each of these rows or pairs.
  Items(std::shared_ptr<MadeRows> rows, std::vector<int64_t> numbers);
  /// Packs of `size` tokens, of rows whose sizes are known before they are made.
  Items(std::shared_ptr<MadeRows> rows, std::vector<int64_t> numbers, llvm::ArrayRef<text::TextSize> sizes,
        int64_t size);

  Kind kind() const { return kind_; }
  int64_t count() const { return static_cast<int64_t>(learnt_.size()); }
  /// Makes tokens of items that have none. An error names file and row.
  llvm::Error make(llvm::ArrayRef<int64_t> items);
  /// From here on the others' items that they made are known by how much is learnt of them. Every rank calls it.
  void tell(const Ranks& ranks);

  /// Tokens of an item that are learnt: what it counts in the mean of a step. Of one that this rank made or was told
  /// of.
  int64_t learnt(int64_t item) const { return learnt_[static_cast<size_t>(item)]; }
  /// Tokens that are no padding, and how many tokens these see in all: n (n + 1) / 2 of a row of n.
  double tokens(int64_t item) const;
  double seen(int64_t item) const;
  /// Items side by side; of pairs all chosen rows first.
  text::TokenBatch batch(llvm::ArrayRef<int64_t> items) const;

 private:
  llvm::ArrayRef<int64_t> rowsOf(int64_t item) const;
  /// Lengths of its texts.
  std::vector<double> lengths(int64_t item) const;
  text::Pack pack(int64_t item) const;

  Kind kind_;
  std::shared_ptr<MadeRows> rows_;
  std::vector<int64_t> numbers_;
  std::vector<size_t> bounds_;   // where an item's numbers begin
  std::vector<int64_t> learnt_;  // 0: not known
  int64_t pack_size_ = 0;
};

struct RowSets {
  Items train, held_out;
  std::string origin;  // the file, or "synthetic(500)"
  std::vector<std::string> notes;
};

/// One row in ten, at least one and at most this many.
inline constexpr int64_t kMostHeldOut = 200;
int64_t heldOutOf(int64_t rows);

/// The tokenizer that the study names; "": the model's own.
std::string tokenizerPath(const Parameters& parameters, const std::string& root);

/// Reads the rows, or makes them up. Rows of which nothing is left to learn are left out: which these are is known of
/// short ones, of others tokens are made, each rank of its part of them. With `hold_out` heldOutOf(rows) rows are
/// apart: those that a permutation seeded with `seed` puts last. What is trained on stays in the file's order, packs
/// are made of it. `vocabulary` is the model's, `model_folder` its folder or "". Every rank calls it.
llvm::Expected<RowSets> openRows(const Parameters& parameters, const std::string& root, int64_t vocabulary,
                                 const std::string& model_folder, uint64_t seed, bool hold_out, const Ranks& ranks);

/// Which items each rank takes in which pass of which step. An epoch is a permutation of all items (torch's randperm,
/// seeded with the trial's seed and the epoch), of which rank r of W takes places r, r + W, …, as DistributedSampler
/// gives them out: W ranks with batches of B see in a pass what one rank with a batch of W B sees. Each step has
/// `accumulation` passes; items that make no whole step are left out of an epoch, others of the next one.
class Order {
 public:
  Order(int64_t count, int64_t ranks, int64_t batch, int64_t accumulation, uint64_t seed);

  int64_t stepsPerEpoch() const { return count_ / itemsPerStep(); }
  int64_t itemsPerStep() const { return ranks_ * batch_ * accumulation_; }
  int64_t accumulation() const { return accumulation_; }
  /// All items of a step, counted from 0 over all epochs: pass by pass, in each the ranks' in turn.
  const int64_t* ofStep(int64_t step);
  /// Those of one rank in one pass of it.
  std::vector<int64_t> items(int64_t step, int64_t pass, int64_t rank);

 private:
  int64_t count_, ranks_, batch_, accumulation_;
  uint64_t seed_;
  int64_t epoch_ = -1;  // whose order this is:
  std::vector<int64_t> order_;
};

}  // namespace expc::workload::llm
