// Padding and packing as torchtune's recipes do (padded_collate_sft, PackedDataset), so that batches, and with them
// losses, are equal.

#include "runtime/data/text/batches.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>
#include <iterator>

namespace expc::text {
namespace {

/// Counts the labels that are learnt. The first label of each row is left out, since the loss compares labels with the
/// logits one position before.
void countLearnt(TokenBatch& batch) {
  if (batch.columns == 0) return;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const auto begin = batch.labels.begin() + row * batch.columns;
    batch.learnt += std::count_if(begin + 1, begin + batch.columns, [](int64_t label) { return label != kMasked; });
  }
}

/// Whether a sample or pack has weights.
bool areWeighted(auto samples) {
  return llvm::any_of(samples, [](const auto* one) { return !one->weights.empty(); });
}

/// Appends the weights of a sample's or pack's labels.
void appendWeights(const auto& sample, std::vector<double>& weights) {
  const std::vector<double>& own = sample.weights;
  weights.insert(weights.end(), own.begin(), own.end());
  weights.resize(weights.size() + sample.tokens.size() - own.size(), 1);
}

}  // namespace

TokenBatch collate(ArrayRef<const Sample*> samples, Token pad) {
  TokenBatch batch;
  batch.rows = std::ssize(samples);
  for (const Sample* sample : samples) batch.columns = std::max(batch.columns, std::ssize(*sample));
  const auto size = size_t(batch.rows * batch.columns);
  batch.tokens.assign(size, pad);
  batch.labels.assign(size, kMasked);
  const bool weighted = areWeighted(samples);
  for (size_t row = 0; row < samples.size(); ++row) {
    const Sample& sample = *samples[row];
    const auto at = ptrdiff_t(row) * batch.columns;
    std::ranges::copy(sample.tokens, batch.tokens.begin() + at);
    std::ranges::copy(sample.labels, batch.labels.begin() + at);
    batch.real += std::ssize(sample);
    if (!weighted) continue;
    appendWeights(sample, batch.weights);
    batch.weights.resize(size_t(at + batch.columns), 1);
  }
  countLearnt(batch);
  return batch;
}

TokenBatch collatePairs(ArrayRef<const Sample*> chosen, ArrayRef<const Sample*> rejected, Token pad) {
  assert(chosen.size() == rejected.size());
  std::vector<const Sample*> all(chosen.begin(), chosen.end());
  llvm::append_range(all, rejected);
  return collate(all, pad);
}

Pack packOf(ArrayRef<const Sample*> samples, size_t size) {
  Pack pack;
  const bool weighted = areWeighted(samples);
  for (const Sample* sample : samples) {
    llvm::append_range(pack.tokens, sample->tokens);
    llvm::append_range(pack.labels, sample->labels);
    for (size_t i = 0; i < sample->size(); ++i) pack.positions.push_back(int32_t(i));
    pack.lengths.push_back(int32_t(sample->size()));
    if (weighted) appendWeights(*sample, pack.weights);
  }
  const size_t real = pack.tokens.size();
  assert(real > 0 && real <= size && "of packBounds");
  pack.real = int32_t(real);
  pack.tokens.resize(size, 0);
  pack.labels.resize(size, kMasked);
  if (weighted) pack.weights.resize(size, 1);
  if (size > real) pack.lengths.push_back(int32_t(size - real));
  // Positions of the padding go on from the last sample's, below `size`, as in torchtune; its labels are masked, so
  // they only must be valid.
  while (pack.positions.size() < size) pack.positions.push_back(std::min(pack.positions.back() + 1, int32_t(size) - 1));
  return pack;
}

std::vector<size_t> packBounds(ArrayRef<int64_t> lengths, int64_t size) {
  std::vector<size_t> bounds;
  int64_t filled = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (bounds.empty() || filled + lengths[i] > size) {
      bounds.push_back(i);
      filled = 0;
    }
    filled += lengths[i];
  }
  bounds.push_back(lengths.size());
  return bounds;
}

TokenBatch collatePacks(ArrayRef<const Pack*> packs) {
  TokenBatch batch;
  batch.rows = std::ssize(packs);
  const bool weighted = areWeighted(packs);
  for (const Pack* pack : packs) {
    if (weighted) appendWeights(*pack, batch.weights);
    assert(batch.columns == 0 || batch.columns == std::ssize(pack->tokens));
    batch.columns = std::ssize(pack->tokens);
    llvm::append_range(batch.tokens, pack->tokens);
    llvm::append_range(batch.labels, pack->labels);
    llvm::append_range(batch.positions, pack->positions);
    batch.lengths.emplace_back(pack->lengths.begin(), pack->lengths.end());
    batch.real += pack->real;
  }
  countLearnt(batch);
  return batch;
}

}  // namespace expc::text
