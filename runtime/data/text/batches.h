#pragma once

// Samples side by side: padded to the longest, or packed one behind the other.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <vector>

#include "runtime/data/text/conversation.h"

namespace expc::text {

/// rows x columns, row-major, ready to be wrapped in tensors of int64.
struct TokenBatch {
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> tokens, labels;
  /// Of packs only: positions within each sample, rows x columns, and the lengths of the samples of each row, padding
  /// being one more.
  std::vector<int64_t> positions;
  std::vector<std::vector<int64_t>> lengths;
  /// Tokens that are not padding, and labels that are learnt (kMasked and each row's first apart).
  int64_t real = 0, learnt = 0;

  int64_t padding() const { return rows * columns - real; }
};

/// Right padding to the longest: tokens with `pad`, labels with kMasked.
TokenBatch collate(llvm::ArrayRef<const Sample*> samples, Token pad);

/// All chosen ones, then all rejected ones, padded together to the longest.
TokenBatch collatePairs(llvm::ArrayRef<const Sample*> chosen, llvm::ArrayRef<const Sample*> rejected, Token pad);

/// Samples one behind the other, exactly `size` long.
struct Pack {
  std::vector<Token> tokens, labels;
  std::vector<int32_t> positions, lengths;
  int32_t real = 0;  // tokens before the padding, which is of token 0
};

/// Of samples that fit, at least one.
Pack packOf(llvm::ArrayRef<const Sample*> samples, size_t size);
/// Where packs of samples of these lengths begin, and behind the last the number of samples: in their order, one that
/// does not fit begins the next pack. The last one may be mostly padding.
std::vector<size_t> packBounds(llvm::ArrayRef<int64_t> lengths, int64_t size);

TokenBatch collatePacks(llvm::ArrayRef<const Pack*> packs);

}  // namespace expc::text
