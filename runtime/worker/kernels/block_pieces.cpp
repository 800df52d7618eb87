// The parts of block_pieces.h that need no template: scratch memory and the depthwise weight's gradient.

#include "runtime/worker/kernels/block_pieces.h"

#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace expc::kernels {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

}  // namespace

// aligned_alloc rather than a vector: loops store whole cache lines, and nothing needs clearing. The memory only grows.
void* threadScratch(size_t bytes) {
  constexpr size_t kLine = 64;
  static thread_local std::unique_ptr<void, Free> memory;
  static thread_local size_t size = 0;
  if (bytes > size) {
    memory.reset(std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine));
    if (!memory) {
      size = 0;
      throw std::bad_alloc();
    }
    size = bytes;
  }
  return memory.get();
}

// Mirrors what the loops carve from their scratch memory, for the larger of two uses: the matrix passes' two tiles
// and windows, or the row passes' sums of taps, row of inputs and ring of three rows with zeros around. Tile sums
// come first in both. A loop that takes more must be added here, for nothing checks its bounds.
int64_t blockScratchSize(int64_t narrow, int64_t wide, const DepthwiseShape& s) {
  const int64_t channels = paddedChannels(wide), columns = std::max(s.width, s.out_width) + 2;
  const int64_t windows = 32, products = kTilePixels * (pitchOf(wide) + pitchOf(narrow) + windows);
  const int64_t rows = 9 * channels + channels * columns + (3 * channels + 16) * columns;
  return 3 * paddedChannels(std::max(narrow, wide)) + std::max(products, rows);
}

at::Tensor TapsGrad::total(const at::Tensor& weight) const {
  at::Tensor to = at::empty_like(weight, weight.options().memory_format(at::MemoryFormat::Contiguous));
  const int64_t padded = paddedChannels(channels_);
  const auto fill = [&](auto* out) {
    for (int64_t c = 0; c < channels_; ++c) {
      for (int64_t k = 0; k < 9; ++k) {
        double sum = 0;
        for (int64_t i = 0; i < pieces_; ++i) sum += parts_[(i * 9 + k) * padded + c];
        out[c * 9 + k] = static_cast<std::remove_reference_t<decltype(*out)>>(sum);
      }
    }
  };
  if (weight.scalar_type() == at::kDouble)
    fill(to.mutable_data_ptr<double>());
  else
    fill(to.mutable_data_ptr<float>());
  return to;
}

}  // namespace expc::kernels
