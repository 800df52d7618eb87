#pragma once

// Cross entropy on top of the head, without ever holding the logits of more than a chunk of tokens. Only positions that
// predict a label are computed; sums are in fp32 (fp64 in fp64).

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace expc::llama {

/// Label of a token that is not learnt from.
inline constexpr int64_t kIgnored = -100;
/// Tokens whose logits are held at a time.
inline constexpr int64_t kHeadChunk = 512;

/// The positions of a batch that predict a label, and which.
struct Labelled {
  at::Tensor positions;  // int64 [n]: row * S + column
  at::Tensor targets;    // int64 [n]: the label of the column after
  at::Tensor rows;       // int64 [n]: the row
  int64_t count() const { return positions.size(0); }
};

/// From labels [B, S] on the CPU, as wide as the tokens: position t predicts label t + 1.
Labelled labelledPositions(const at::Tensor& labels);

/// Sum of -log p(target) over the positions. x [n, width] is the hidden state there, head [vocabulary, width].
/// Gradients of x and, if it needs one, of the head are computed along with the loss, so that the backward pass costs
/// nothing.
at::Tensor headLossSum(const at::Tensor& x, const at::Tensor& head, const at::Tensor& targets);

/// log p(target) of each position [n]. Where the head needs a gradient its logits are computed again in the backward
/// pass: they depend on what the gradient of each position is.
at::Tensor headLogProbs(const at::Tensor& x, const at::Tensor& head, const at::Tensor& targets);

/// The same from logits [n, vocabulary], which are kept.
at::Tensor logProbs(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace expc::llama
