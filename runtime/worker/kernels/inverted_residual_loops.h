#pragma once

// The loops of MobileNetV2's blocks in training over plain memory in NHWC, compiled once for each instruction set. No
// torch here.
//
// What lies between two convolutions is never stored: the convolutions' raw outputs are, and whoever reads one applies
// batch norm and ReLU6 on the way in. Every loop works on a piece of its tensor and returns the piece's own sums, so
// that a caller which cuts tensors the same way and adds pieces in order gets the same bits whatever the threads.

#include <cstddef>
#include <cstdint>

#include "runtime/worker/kernels/depthwise_loops.h"
#include "runtime/worker/kernels/elements.h"
#include "runtime/worker/kernels/loops.h"

namespace expc::kernels {

/// Arrays over channels are this long, zeros behind: rounded up to whole vectors of every instruction set.
inline int64_t paddedChannels(int64_t channels) { return (channels + 15) / 16 * 16; }

/// A batch norm as it is applied: x factor + offset. All arrays are padded.
template <typename A>
struct Affine {
  const A *factor, *offset;
};

/// Its gradient: from_g g + from_x x + constant.
template <typename A>
struct AffineGrad {
  const A *from_g, *from_x, *constant;
};

/// S: how tensors are stored. A: what sums are made in.
///
/// z..: raw outputs of convolutions, g..: gradients of what batch norm and ReLU6 make of them (already zero where ReLU6
/// cut), all [pixels][channels]. `sums`: [2][channels], sum of z and of z squared, or of g and of g (z - mean).
/// stream: what is written does not fit the caches, and should not go through them.
/// Weights are packed (pack); weight gradients come as [narrow][wide], see gradSize.
template <typename S>
struct BlockLoops {
  using A = typename Number<S>::Wide;
  const char* name;

  /// Elements of a packed [k][n] matrix.
  int64_t (*packed_size)(int64_t k, int64_t n);
  /// b[k][n] lies at b[k row + n column].
  void (*pack)(const A* b, int64_t row, int64_t column, int64_t k, int64_t n, A* packed);

  /// z = x w for pixels [begin, end).
  void (*expand)(const S* x, int64_t in, const A* w, int64_t hidden, S* z, double* sums, int64_t begin, int64_t end,
                 bool stream, A* scratch);
  /// The network's first convolution: 3 x 3, stride 2, padding 1, of an image [batch][height][width][3]. shape: its
  /// `channels` are z's.
  void (*first)(const DepthwiseShape& shape, const S* image, const A* w, S* z, double* sums, int64_t begin, int64_t end,
                A* scratch);
  /// z2 = depthwise(ReLU6(norm(z1))) for output rows [begin, end) of batch x out_height. taps: [9][padded channels].
  void (*depthwise)(const DepthwiseShape& shape, const S* z1, const Affine<A>& norm, const A* taps, S* z2, double* sums,
                    int64_t begin, int64_t end, A* scratch);
  /// z3 = ReLU6(norm(z2)) w for pixels [begin, end).
  void (*project)(const S* z2, int64_t hidden, const Affine<A>& norm, const A* w, int64_t out, S* z3, double* sums,
                  int64_t begin, int64_t end, A* scratch);
  /// y = norm(z3) + x (x may be null).
  void (*finish)(const S* z3, const S* x, int64_t channels, const Affine<A>& norm, S* y, int64_t begin, int64_t end);
  /// pooled[image][channels] = mean of ReLU6(norm(z)) over an image's pixels, for images [begin, end).
  void (*pool)(const S* z, int64_t pixels, int64_t channels, const Affine<A>& norm, S* pooled, int64_t begin,
               int64_t end);

  /// Sums over g as it is (no ReLU6), of z3.
  void (*grad_sums)(const S* g, const S* z3, int64_t channels, const A* mean, double* sums, int64_t begin, int64_t end);
  /// g of what was pooled, with its sums.
  void (*pool_grad)(const S* pooled_grad, const S* z, int64_t pixels, int64_t channels, const Affine<A>& norm,
                    const A* mean, S* g, double* sums, int64_t begin, int64_t end);
  /// From y's gradient to g2 and to w's gradient [out][hidden].
  void (*project_grad)(const S* gy, const S* z3, int64_t out, const AffineGrad<A>& back, const S* z2, int64_t hidden,
                       const Affine<A>& norm, const A* mean, const A* w, S* g2, double* sums, A* grad, int64_t begin,
                       int64_t end, bool stream, A* scratch);
  /// From g2 to g1 for input rows [begin, end) of batch x height, and to the taps' gradient [9][padded channels].
  void (*depthwise_grad)(const DepthwiseShape& shape, const S* g2, const S* z2, const AffineGrad<A>& back, const S* z1,
                         const Affine<A>& norm, const A* mean, const A* taps, S* g1, double* sums, double* grad,
                         int64_t begin, int64_t end, A* scratch);
  /// From g1 to gx (null if nobody asks), skip (may be null) added, and to w's gradient [in][hidden].
  void (*expand_grad)(const S* g1, const S* z1, int64_t hidden, const AffineGrad<A>& back, const S* x, int64_t in,
                      const A* w, const S* skip, S* gx, A* grad, int64_t begin, int64_t end, A* scratch);
  /// From g1 to the gradient [27 rounded up][channels] of the first convolution's weight.
  void (*first_grad)(const DepthwiseShape& shape, const S* g1, const S* z1, const AffineGrad<A>& back, const S* image,
                     A* grad, int64_t begin, int64_t end, A* scratch);
};

/// Row pitch of scratch matrices and weight gradients: whole cache lines, an odd number of them, so that a column does
/// not fall on few cache sets.
inline int64_t pitchOf(int64_t channels) {
  const int64_t lines = (channels + 15) / 16;
  return (lines | 1) * 16;
}
/// Elements of a weight gradient's piece; narrow: the channels outside of the block.
inline int64_t gradSize(int64_t narrow, int64_t wide) { return (narrow + 7) / 8 * 8 * pitchOf(wide); }
/// Elements of scratch memory, enough for every loop of a block.
int64_t blockScratchSize(int64_t narrow, int64_t wide, const DepthwiseShape& shape);
/// Pixels that the matrix loops treat at once; pieces are best cut at multiples.
constexpr int64_t kTilePixels = 96;

/// What is larger will not be in a cache when it is read next.
constexpr size_t kCachedBytes = 16 << 20;

}  // namespace expc::kernels
