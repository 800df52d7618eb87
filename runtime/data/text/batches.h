#pragma once

// Samples of text as batches of tokens: padded to the longest one, or packed one behind the other into rows of equal
// length. Tensors of int64 wrap the result; no torch here.

#include <cstdint>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/text/conversation.h"

namespace expc::text {

/// A batch of rows x columns tokens with their labels, row-major.
struct TokenBatch {
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> tokens, labels;
  /// How much each label counts in a loss, rows x columns; empty: all count 1.
  std::vector<double> weights;
  /// How much each row or pair counts, where losses are taken by rows; empty: all count 1.
  std::vector<double> row_weights;
  /// For packs only: each token's position in its sample (rows x columns), and for each row the lengths of its samples.
  /// Padding counts as one more sample.
  std::vector<int64_t> positions;
  std::vector<std::vector<int64_t>> lengths;
  /// The number of tokens that are not padding, and the number of labels that are learnt: not kMasked, and not the
  /// first of a row, since no token predicts it.
  int64_t real = 0, learnt = 0;

  /// The number of tokens that are padding.
  int64_t padding() const { return rows * columns - real; }
};

/// Pads samples on the right to the longest: tokens with `pad`, labels with kMasked.
TokenBatch collate(ArrayRef<const Sample*> samples, Token pad);

/// Pads pairs for preference training: all chosen samples, then all rejected ones, to the longest of all.
TokenBatch collatePairs(ArrayRef<const Sample*> chosen, ArrayRef<const Sample*> rejected, Token pad);

/// Samples one behind the other, padded to a fixed size.
struct Pack {
  std::vector<Token> tokens, labels;
  std::vector<int32_t> positions, lengths;
  int32_t real = 0;             // tokens before the padding, which has token 0
  std::vector<double> weights;  // as in Sample
};

/// Packs samples, at least one, that fit into `size` tokens together.
Pack packOf(ArrayRef<const Sample*> samples, size_t size);
/// Cuts samples with these lengths into packs, greedily and in their order: a sample that does not fit begins the next
/// pack. Returns the index of each pack's first sample, then the number of samples. The last pack may be mostly
/// padding.
std::vector<size_t> packBounds(ArrayRef<int64_t> lengths, int64_t size);

/// Puts packs of equal size side by side.
TokenBatch collatePacks(ArrayRef<const Pack*> packs);

}  // namespace expc::text
