#pragma once

// The loops of MobileNetV2's blocks in training over plain memory in NHWC, one table for each instruction set. No
// torch here.
//
// A tensor between two convolutions is never stored. The convolutions' raw outputs are, and each loop that reads one
// applies batch norm and ReLU6 on the way in. Every loop works on a piece of its tensor and returns the piece's own
// sums: a caller that cuts tensors the same way and adds pieces in order gets the same bits for any number of
// threads.
//
// Scratch memory is blockScratchSize() elements for each call that runs at the same time.

#include <cstddef>
#include <cstdint>

#include "runtime/worker/kernels/depthwise_loops.h"
#include "runtime/worker/kernels/elements.h"
#include "runtime/worker/kernels/loops.h"

namespace expc::kernels {

/// The length of arrays over channels, with zeros behind: rounded up to whole vectors of every instruction set.
inline int64_t paddedChannels(int64_t channels) { return (channels + 15) / 16 * 16; }

/// A batch norm as it is applied: x factor + offset. All arrays are [padded channels].
template <typename A>
struct Affine {
  const A *factor, *offset;
};

/// The gradient of a batch norm with respect to its input: from_g g + from_x x + constant.
template <typename A>
struct AffineGrad {
  const A *from_g, *from_x, *constant;
};

/// S is the type in which tensors are stored, A that in which sums are made.
///
/// z.. are raw outputs of convolutions; g.. are gradients of what batch norm and ReLU6 make of them (already zero
/// where ReLU6 cut), all [pixels][channels]. `sums` are [2][channels] and overwritten: sums of z and of z squared, or
/// of g and of g (z - mean).
/// stream: the written tensor does not fit the caches, so stores should go past them.
/// Weights are packed (pack); weight gradients are overwritten as [narrow][wide], see gradSize.
template <typename S>
struct BlockLoops {
  using A = typename Number<S>::Wide;
  const char* name;

  /// Elements of a packed [k][n] matrix.
  int64_t (*packed_size)(int64_t k, int64_t n);
  /// Packs the matrix b[k][n], whose element (k, n) lies at b[k row + n column].
  void (*pack)(const A* b, int64_t row, int64_t column, int64_t k, int64_t n, A* packed);

  /// z = x w for pixels [begin, end).
  void (*expand)(const S* x, int64_t in, const A* w, int64_t hidden, S* z, double* sums, int64_t begin, int64_t end,
                 bool stream, A* scratch);
  /// z for the network's first convolution: 3 x 3, stride 2, padding 1, of an image [batch][height][width][3]. The
  /// shape's `channels` are z's.
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

  /// Sums over g and g (z3 - mean) for a projection, which has no ReLU6: g is y's gradient.
  void (*grad_sums)(const S* g, const S* z3, int64_t channels, const A* mean, double* sums, int64_t begin, int64_t end);
  /// g from the gradient of the pooled values, with its sums.
  void (*pool_grad)(const S* pooled_grad, const S* z, int64_t pixels, int64_t channels, const Affine<A>& norm,
                    const A* mean, S* g, double* sums, int64_t begin, int64_t end);
  /// Makes g2 and its sums from y's gradient, and w's gradient [out][hidden].
  void (*project_grad)(const S* gy, const S* z3, int64_t out, const AffineGrad<A>& back, const S* z2, int64_t hidden,
                       const Affine<A>& norm, const A* mean, const A* w, S* g2, double* sums, A* grad, int64_t begin,
                       int64_t end, bool stream, A* scratch);
  /// Makes g1 and its sums from g2 for input rows [begin, end) of batch x height, and the taps' gradient [9][padded
  /// channels].
  void (*depthwise_grad)(const DepthwiseShape& shape, const S* g2, const S* z2, const AffineGrad<A>& back, const S* z1,
                         const Affine<A>& norm, const A* mean, const A* taps, S* g1, double* sums, double* grad,
                         int64_t begin, int64_t end, A* scratch);
  /// Makes gx (null if it is not wanted) from g1, with skip (may be null) added, and w's gradient [in][hidden].
  void (*expand_grad)(const S* g1, const S* z1, int64_t hidden, const AffineGrad<A>& back, const S* x, int64_t in,
                      const A* w, const S* skip, S* gx, A* grad, int64_t begin, int64_t end, A* scratch);
  /// Makes the gradient [27 rounded up][channels] of the first convolution's weight from g1.
  void (*first_grad)(const DepthwiseShape& shape, const S* g1, const S* z1, const AffineGrad<A>& back, const S* image,
                     A* grad, int64_t begin, int64_t end, A* scratch);
};

/// Row pitch of scratch matrices and weight gradients, in elements: a whole number of cache lines of floats, and an
/// odd number, so that the elements of a column do not fall on few cache sets.
inline int64_t pitchOf(int64_t channels) {
  const int64_t lines = (channels + 15) / 16;
  return (lines | 1) * 16;
}
/// Elements of a piece's weight gradient. `narrow` are the channels outside the block, rounded up to the eight rows
/// that addTransposed() writes at a time (matrix.inc).
inline int64_t gradSize(int64_t narrow, int64_t wide) { return (narrow + 7) / 8 * 8 * pitchOf(wide); }
/// Elements of scratch memory, enough for every loop of a block with these channels and sizes.
int64_t blockScratchSize(int64_t narrow, int64_t wide, const DepthwiseShape& shape);
/// Pixels of a tile, which the matrix loops make and multiply in the second cache; pieces are best cut at multiples.
constexpr int64_t kTilePixels = 96;

/// Bytes of a tensor beyond which it is assumed to have left the caches before it is read again.
constexpr size_t kCachedBytes = 16 << 20;

}  // namespace expc::kernels
