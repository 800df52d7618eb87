#pragma once

// The rows of a trial as tokens, divided into those trained on and those held out, and put into places of a batch.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/worker/text/batches.h"
#include "runtime/worker/text/dataset.h"
#include "runtime/worker/workload/llm/parameters.h"

namespace expc::workload::llm {

/// What takes a place in a batch: a row, a pair of rows, or a pack of rows. They are numbered from 0.
class Items {
 public:
  enum class Kind { Rows, Pairs, Packs };

  /// Rows, or pairs if there are rejected ones. `pad` is the token behind rows that are shorter than others.
  Items(std::vector<text::Sample> chosen, std::vector<text::Sample> rejected, text::Token pad);
  explicit Items(std::vector<text::Pack> packs);

  Kind kind() const { return kind_; }
  int64_t count() const;
  /// Tokens of an item that are learnt: what it counts in the mean of a step.
  int64_t learnt(int64_t item) const { return sizes_[static_cast<size_t>(item)].learnt; }
  /// Tokens that are no padding, and how many tokens these see in all: n (n + 1) / 2 of a row of n.
  double tokens(int64_t item) const { return sizes_[static_cast<size_t>(item)].tokens; }
  double seen(int64_t item) const { return sizes_[static_cast<size_t>(item)].seen; }
  /// Items side by side; of pairs all chosen rows first.
  text::TokenBatch batch(llvm::ArrayRef<int64_t> items) const;

 private:
  struct Size {
    int64_t learnt = 0;
    double tokens = 0, seen = 0;
  };
  static void addText(Size& size, int64_t length);

  Kind kind_;
  std::vector<text::Sample> chosen_, rejected_;
  std::vector<text::Pack> packs_;
  std::vector<Size> sizes_;
  text::Token pad_ = 0;
};

struct RowSets {
  Items train, held_out;
  std::string origin;  // the file, or "500 rows made up"
  std::vector<std::string> notes;
};

/// One row in ten, at least one and at most this many.
inline constexpr int64_t kMostHeldOut = 200;
int64_t heldOutOf(int64_t rows);

/// The tokenizer that the study names; "": the model's own.
std::string tokenizerPath(const Parameters& parameters, const std::string& root);

/// Reads and tokenizes the rows, or makes them up. Rows of which nothing is left to learn are left out. With `hold_out`
/// heldOutOf(rows) rows are apart: those that a permutation seeded with `seed` puts last. What is trained on stays in
/// the file's order, packs are made of it. `vocabulary` is the model's, `model_folder` its folder or "".
llvm::Expected<RowSets> openRows(const Parameters& parameters, const std::string& root, int64_t vocabulary,
                                 const std::string& model_folder, uint64_t seed, bool hold_out);

}  // namespace expc::workload::llm
