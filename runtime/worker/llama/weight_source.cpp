// Fills tensors from a source in pieces. A weight in NF4 that is spread over ranks is quantised by all of them
// together: each packs its own codes, and one sum over the ranks gives everyone the magnitudes of all blocks, from
// which scales, factors and mean follow.

#include "runtime/worker/llama/weight_source.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cassert>

#include "runtime/worker/llama/layers.h"

namespace expc::llama {

void fillFrom(const WeightSource& source, const TensorSpec& spec, int64_t first, const at::Tensor& to) {
  for (int64_t at = 0; at < to.numel(); at += kSourcePiece) {
    const int64_t count = std::min(kSourcePiece, to.numel() - at);
    const at::Tensor values = source(spec, first + at, count);
    // A source without values gives none for any other piece either.
    if (values.is_meta()) return;
    to.narrow(0, at, count).copy_(values.to(to.scalar_type()));
  }
}

at::Tensor loadedWeight(const WeightSource& source, const TensorSpec& spec, at::ScalarType dtype, at::Device device) {
  // On the CPU the source's tensor can be the weight itself, without a copy.
  if (device.is_cpu()) {
    const at::Tensor values = source(spec, 0, spec.elements());
    if (!values.is_meta()) return values.to(dtype).view(spec.shape);
  }
  const at::Tensor result = at::empty(spec.shape, at::TensorOptions().dtype(dtype).device(device));
  fillFrom(source, spec, 0, result.view(-1));
  return result;
}

void UnitLoader::add(const TensorSpec& spec, at::Tensor& weight, at::ScalarType dtype) {
  weight = at::empty(spec.shape, at::TensorOptions().dtype(dtype).device(at::kMeta));
  weights_.push_back({&spec, &weight, nullptr, {}});
}

void UnitLoader::add(const TensorSpec& spec, Nf4& weight) {
  weight = describeNf4(spec.shape[0], spec.shape[1], source_(spec, 0, 0).scalar_type());
  weights_.push_back({&spec, nullptr, &weight, {}});
}

void UnitLoader::fill(const at::Tensor* member, int64_t first, const at::Tensor& own) {
  for (Weight& weight : weights_) {
    if (member == weight.dense) return fillFrom(source_, *weight.spec, first, own);
    if (!weight.nf4) continue;
    if (member == &weight.nf4->packed) return pack(weight, first, own);
    // Members are filled in the order packed, scales, factors, mean: pack() makes what the others are copied from.
    for (const auto part : {&Nf4::scales, &Nf4::factors, &Nf4::mean}) {
      if (member != &(weight.nf4->*part)) continue;
      const at::Tensor& made = weight.scaled.*part;
      if (made.defined()) own.copy_(made.flatten().narrow(0, first, own.numel()));
      return;
    }
  }
  assert(false && "only what was added is filled");
}

void UnitLoader::pack(Weight& weight, int64_t first, const at::Tensor& own) {
  const TensorSpec& spec = *weight.spec;
  const at::ScalarType type = weight.nf4->type();
  assert(2 * first % Nf4::kBlock == 0 && 2 * own.numel() % Nf4::kBlock == 0 && "parts end between blocks");
  if (source_(spec, 0, 0).is_meta()) return;
  at::Tensor largest = at::zeros({spec.elements() / Nf4::kBlock}, at::TensorOptions().dtype(type));
  // Two codes a byte: part and pieces are counted in bytes here, values are twice as many.
  for (int64_t at = 0; at < own.numel(); at += kSourcePiece / 2) {
    const int64_t count = std::min(kSourcePiece / 2, own.numel() - at);
    const at::Tensor values = source_(spec, 2 * (first + at), 2 * count), here = largestOfBlocks(values),
                     codes = at::empty({count}, at::TensorOptions().dtype(at::kByte));
    packNf4(values, here, codes);
    own.narrow(0, at, count).copy_(codes);
    largest.narrow(0, 2 * (first + at) / Nf4::kBlock, here.numel()).copy_(here);
  }
  // Each block's codes are on one rank only, so the sum with the other ranks' zeros is the value itself, exactly.
  largest = largest.to(accumulateType(type));
  communicator_.allReduce(largest, comm::Reduction::Sum);
  scaleNf4(largest.to(type), weight.scaled);
}

}  // namespace expc::llama
