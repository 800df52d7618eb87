#pragma once

// The work of one thread of each CUDA kernel. The CPU's compiler compiles it too, so that a test without a GPU can
// run the threads' work one after the other and compare it with the CPU's loops (cuda_items_test.cpp). An "item" is a
// thread's share: usually N neighbouring values that one load and one store move.

#include <cstdint>

#include "runtime/worker/kernels/elements.h"

namespace expc::kernels::cuda {

/// N values that one access moves. Their address must be a multiple of the alignment; withPacks() checks it.
template <typename S, int N>
struct alignas(N * sizeof(S) < 16 ? N * sizeof(S) : 16) Pack {
  S at[N];
};
template <typename S, int N>
EXPC_ELEMENT Pack<S, N> packAt(const S* from) {
  return *reinterpret_cast<const Pack<S, N>*>(from);
}
template <typename S, int N>
EXPC_ELEMENT void putPack(S* to, const Pack<S, N>& pack) {
  *reinterpret_cast<Pack<S, N>*>(to) = pack;
}

/// n / by for values that are not negative. Both fit 32 bits nearly always, and a GPU divides those many times as
/// fast.
EXPC_ELEMENT int64_t quotient(int64_t n, int64_t by) {
  return ((n | by) >> 32) == 0 ? uint32_t(n) / uint32_t(by) : n / by;
}

/// The values of NF4 that one thread expands: the two codes of each of four bytes.
constexpr int kNf4Item = 8;
/// Values that share a scale, and blocks that share a factor (torchao's sizes).
constexpr int kNf4Block = 64, kNf4Group = 256;

/// Expands values [item * kNf4Item, (item + 1) * kNf4Item) of a matrix. `codes` are nf4Code<S> of all 16, the rest is
/// Nf4Memory's. Values are computed in S as torchao does, and only then cast.
template <typename S, typename As>
EXPC_ELEMENT void expandNf4(const uint8_t* packed, const int8_t* scales, const S* factors, const S* mean,
                            const typename Number<S>::Wide* codes, int64_t item, As* to) {
  using Wide = typename Number<As>::Wide;
  const int64_t block = item * kNf4Item / kNf4Block;
  const auto scale = nf4Scale<S>(scales[block], factors[block / kNf4Group], *mean);
  const auto bytes = packAt<uint8_t, kNf4Item / 2>(packed + item * (kNf4Item / 2));
  Pack<As, kNf4Item> values;
  for (int i = 0; i < kNf4Item / 2; ++i) {
    values.at[2 * i] = Number<As>::narrow(static_cast<Wide>(nf4Value<S>(codes[bytes.at[i] >> 4], scale)));
    values.at[2 * i + 1] = Number<As>::narrow(static_cast<Wide>(nf4Value<S>(codes[bytes.at[i] & 15], scale)));
  }
  putPack(to + item * kNf4Item, values);
}

/// The range of some values. joined() is that of two sets together.
struct Extent {
  float least, largest;
};
EXPC_ELEMENT Extent joined(Extent a, Extent b) {
  return {b.least < a.least ? b.least : a.least, b.largest > a.largest ? b.largest : a.largest};
}

/// The range of one member's part of a row: `members` threads share a row of `width` values (a multiple of N), and
/// each takes every members-th pack. Neighbouring threads so read neighbouring memory.
template <typename S, int N>
EXPC_ELEMENT Extent extentOf(const S* row, int64_t width, int member, int members) {
  const float first = Number<S>::wide(row[0]);
  Extent found = {first, first};
  for (int64_t at = int64_t{member} * N; at < width; at += int64_t{members} * N) {
    const auto pack = packAt<S, N>(row + at);
    for (const S value : pack.at) found = joined(found, {Number<S>::wide(value), Number<S>::wide(value)});
  }
  return found;
}
/// Rounds one member's part of a row to a grid. `inside` may be null.
template <typename S, int N>
EXPC_ELEMENT void roundPart(const S* row, int64_t width, int member, int members, const Grid& grid, S* y,
                            bool* inside) {
  const float inverse = 1.0F / grid.scale;
  for (int64_t at = int64_t{member} * N; at < width; at += int64_t{members} * N) {
    const auto pack = packAt<S, N>(row + at);
    Pack<S, N> values;
    Pack<bool, N> flags;
    for (int i = 0; i < N; ++i) {
      const float step = stepOf(Number<S>::wide(pack.at[i]), inverse, grid);
      values.at[i] = Number<S>::narrow(valueOf(step, grid));
      flags.at[i] = isInside(step, grid);
    }
    putPack(y + at, values);
    if (inside != nullptr) putPack(inside + at, flags);
  }
}

/// The gradient of N values through the rounding of rows of `width`, a multiple of N. y may be g.
template <typename S, int N>
EXPC_ELEMENT void roundGrad(const S* g, const bool* inside, const float* scale, int64_t width, int64_t item, S* y) {
  const int64_t at = item * N;
  const float of_row = scale[quotient(at, width)];
  const auto pack = packAt<S, N>(g + at);
  const auto flags = packAt<bool, N>(inside + at);
  Pack<S, N> values;
  for (int i = 0; i < N; ++i)
    values.at[i] = Number<S>::narrow(flags.at[i] ? throughRounding(Number<S>::wide(pack.at[i]), of_row) : 0.0F);
  putPack(y + at, values);
}

/// N values of the gated product, and of its gradients.
template <typename S, int N>
EXPC_ELEMENT void swiGlu(const S* gate, const S* up, int64_t item, S* y) {
  const auto a = packAt<S, N>(gate + item * N), b = packAt<S, N>(up + item * N);
  Pack<S, N> values;
  for (int i = 0; i < N; ++i)
    values.at[i] = Number<S>::narrow(gated<uint32_t>(Number<S>::wide(a.at[i]), Number<S>::wide(b.at[i])));
  putPack(y + item * N, values);
}
template <typename S, int N>
EXPC_ELEMENT void swiGluGrad(const S* gate, const S* up, const S* g, int64_t item, S* g_gate, S* g_up) {
  const auto a = packAt<S, N>(gate + item * N), b = packAt<S, N>(up + item * N), above = packAt<S, N>(g + item * N);
  Pack<S, N> towards_gate, towards_up;
  for (int i = 0; i < N; ++i) {
    const auto grad =
        gatedGrad<uint32_t>(Number<S>::wide(a.at[i]), Number<S>::wide(b.at[i]), Number<S>::wide(above.at[i]));
    towards_gate.at[i] = Number<S>::narrow(grad.gate);
    towards_up.at[i] = Number<S>::narrow(grad.up);
  }
  putPack(g_gate + item * N, towards_gate);
  putPack(g_up + item * N, towards_up);
}

/// Rotates N values, which are whole pairs of one head (DecoderLoops::turn). The remainders come from products and
/// quotient(), since % would divide in 64 bits.
template <typename S, int N>
EXPC_ELEMENT void turn(const S* x, const float* rotations, int64_t first, int64_t period, int64_t heads, int64_t width,
                       float sign, int64_t item, S* y) {
  const int64_t at = item * N, token = first + quotient(at, heads * width),
                angles = token - quotient(token, period) * period, column = at - quotient(at, width) * width;
  const auto by = packAt<float, N>(rotations + angles * width + column);
  const auto pack = packAt<S, N>(x + at);
  Pack<S, N> values;
  for (int i = 0; i < N; i += 2) {
    const float a = Number<S>::wide(pack.at[i]), b = Number<S>::wide(pack.at[i + 1]);
    const float cosine = by.at[i], sine = by.at[i + 1] * sign;
    values.at[i] = Number<S>::narrow(a * cosine - b * sine);
    values.at[i + 1] = Number<S>::narrow(b * cosine + a * sine);
  }
  putPack(y + at, values);
}

}  // namespace expc::kernels::cuda
