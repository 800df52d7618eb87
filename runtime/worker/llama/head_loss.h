#pragma once

// The cross entropy on top of the head, without ever holding the logits of more than a chunk of tokens: with a
// vocabulary of 128,256 they are often the largest tensor of a training. Only positions that predict a label are
// computed. Sums are in fp32 (fp64 in fp64).

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace expc::llama {

/// The label of a token that nothing is learnt from (torch's ignore_index).
inline constexpr int64_t kIgnored = -100;
/// The number of tokens whose logits are held at a time.
inline constexpr int64_t kHeadChunk = 512;

/// The positions of a batch that predict a label, and their labels.
struct Labelled {
  at::Tensor positions;  // int64 [n]: row * S + column
  at::Tensor targets;    // int64 [n]: the label of the next column
  at::Tensor rows;       // int64 [n]: the row
  at::Tensor weights;    // fp64 [n]: how much the label counts; undefined: all count 1
  int64_t count() const { return positions.size(0); }
  /// The sum of the labels' weights in each of so many rows, [rows], with the given type on the labels' device.
  at::Tensor perRow(int64_t row_count, at::ScalarType type) const;
};

/// Values times their weights (fp64, of the same shape); the values themselves if `weights` is undefined.
at::Tensor weighted(const at::Tensor& values, const at::Tensor& weights);

/// The labelled positions for labels [B, S] (int64, on the CPU, as wide as the tokens): position t predicts label t +
/// 1. `weights` (fp64 [B, S]) are those of the labels, or undefined.
Labelled labelledPositions(const at::Tensor& labels, const at::Tensor& weights = {});

/// The sum of -log p(target) over the positions, each times its weight if there are weights. x [n, width] are the
/// hidden states there, head is [vocabulary, width], targets are int64 [n], weights [n] in the type of sums and at most
/// 1, so that fp16 holds the gradients. The gradients of x and, if it needs one, of the head are computed together with
/// the loss: both need the logits, which are gone afterwards. The backward pass only scales them.
at::Tensor headLossSum(const at::Tensor& x, const at::Tensor& head, const at::Tensor& targets,
                       const at::Tensor& weights = {});

/// log p(target) of each position, [n]. If the head needs a gradient, the logits are computed again in the backward
/// pass, because its gradient depends on how much each position's result counts.
at::Tensor headLogProbs(const at::Tensor& x, const at::Tensor& head, const at::Tensor& targets);

/// log p(target) of each position from logits [n, vocabulary], which the node keeps.
at::Tensor logProbs(const at::Tensor& logits, const at::Tensor& targets);

}  // namespace expc::llama
