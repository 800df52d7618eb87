// Does the work of all threads of CUDA's kernels on the CPU, one after the other, and compares it with the CPU's
// loops.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "runtime/worker/kernels/cuda/items.h"
#include "runtime/worker/kernels/decoder_loops.h"

namespace expc::kernels {
namespace {

constexpr int64_t kRows = 6, kWidth = 64, kCount = kRows * kWidth;

/// Memory aligned for packs of the widest kind.
template <typename S>
struct alignas(16) Values {
  S at[kCount];
};

template <typename S>
std::unique_ptr<Values<S>> some(unsigned seed, float by = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  auto values = std::make_unique<Values<S>>();
  for (S& value : values->at) value = Number<S>::narrow(by * normal(generator));
  return values;
}

template <typename S>
bool same(const Values<S>& a, const Values<S>& b) {
  return std::memcmp(a.at, b.at, sizeof(a.at)) == 0;
}

/// Equal within some units of the last place: the CPU's compiler may fuse products with sums, CUDA's does not.
template <typename S>
void checkNear(const Values<S>& a, const Values<S>& b) {
  for (int64_t i = 0; i < kCount; ++i) {
    const float x = Number<S>::wide(a.at[i]), y = Number<S>::wide(b.at[i]);
    CHECK(std::abs(x - y) <= 4 * Number<S>::kEpsilon * std::max(1.0F, std::abs(y)));
  }
}

struct Rounded {
  std::vector<float> scale = std::vector<float>(kRows);
  Values<bool> inside{};
};

/// Shares a row among members as the kernel does.
template <typename S, int N>
void roundByMembers(const S* x, int members, int bits, S* y, Rounded& rounded) {
  for (int64_t row = 0; row < kRows; ++row) {
    const S* from = x + row * kWidth;
    cuda::Extent extent = cuda::extentOf<S, N>(from, kWidth, 0, members);
    for (int member = 1; member < members; ++member)
      extent = cuda::joined(extent, cuda::extentOf<S, N>(from, kWidth, member, members));
    const Grid grid = bits == 8 ? int8Grid<S>(extent.least, extent.largest) : int4Grid<S>(extent.least, extent.largest);
    rounded.scale[size_t(row)] = grid.scale;
    for (int member = 0; member < members; ++member)
      cuda::roundPart<S, N>(from, kWidth, member, members, grid, y + row * kWidth, rounded.inside.at + row * kWidth);
  }
}

template <typename S, int N>
void checkRounding(int members) {
  CAPTURE(N);
  CAPTURE(members);
  const DecoderLoops<S>& loops = loopsOf<DecoderLoops<S>>();
  const auto x = some<S>(1), g = some<S>(2);
  for (const int bits : {8, 4}) {
    CAPTURE(bits);
    Values<S> expected, found;
    Rounded on_host, on_card;
    (bits == 8 ? loops.round_to_int8 : loops.round_to_int4)(x->at, kRows, kWidth, expected.at, on_host.inside.at,
                                                            on_host.scale.data());
    roundByMembers<S, N>(x->at, members, bits, found.at, on_card);
    CHECK(same(expected, found));
    CHECK(same(on_host.inside, on_card.inside));
    CHECK(on_host.scale == on_card.scale);
    loops.round_grad(g->at, on_host.inside.at, on_host.scale.data(), kRows, kWidth, expected.at);
    for (int64_t item = 0; item < kCount / N; ++item)
      cuda::roundGrad<S, N>(g->at, on_card.inside.at, on_card.scale.data(), kWidth, item, found.at);
    CHECK(same(expected, found));
  }
}

template <typename S, int N>
void checkSingles() {
  const DecoderLoops<S>& loops = loopsOf<DecoderLoops<S>>();
  const auto gate = some<S>(3, 9), up = some<S>(4), g = some<S>(5);
  Values<S> expected, expected_up, found, found_up;
  loops.swiglu(gate->at, up->at, kCount, expected.at);
  for (int64_t item = 0; item < kCount / N; ++item) cuda::swiGlu<S, N>(gate->at, up->at, item, found.at);
  checkNear(found, expected);
  loops.swiglu_grad(gate->at, up->at, g->at, kCount, expected.at, expected_up.at);
  for (int64_t item = 0; item < kCount / N; ++item)
    cuda::swiGluGrad<S, N>(gate->at, up->at, g->at, item, found.at, found_up.at);
  checkNear(found, expected);
  checkNear(found_up, expected_up);
}

template <typename S, int N>
void checkTurn() {
  constexpr int64_t kHeads = 4, kHeadWidth = 16, kFirst = 1, kPeriod = 4;
  const auto angles = some<float>(6);
  const auto x = some<S>(7);
  for (const float sign : {1.0F, -1.0F}) {
    Values<S> expected, found;
    loopsOf<DecoderLoops<S>>().turn(x->at, angles->at, kFirst, kPeriod, kRows, kHeads, kHeadWidth, sign, expected.at);
    for (int64_t item = 0; item < kCount / N; ++item)
      cuda::turn<S, N>(x->at, angles->at, kFirst, kPeriod, kHeads, kHeadWidth, sign, item, found.at);
    checkNear(found, expected);
  }
}

TEST_CASE("a card's threads round as the CPU does, bit for bit, however they share a row") {
  for (const int members : {1, 8, 32, 256}) {
    checkRounding<float, 1>(members);
    checkRounding<float, 4>(members);
    checkRounding<Bf16, 1>(members);
    checkRounding<Bf16, 8>(members);
  }
}

TEST_CASE("a card's threads gate and turn as the CPU does") {
  checkSingles<float, 1>();
  checkSingles<float, 4>();
  checkSingles<Bf16, 1>();
  checkSingles<Bf16, 8>();
  checkTurn<float, 2>();
  checkTurn<float, 4>();
  checkTurn<Bf16, 2>();
  checkTurn<Bf16, 8>();
}

TEST_CASE("bf16 is rounded to the nearest, ties to even, and what is no number stays none") {
  const auto bits = [](uint32_t of) { return Number<Bf16>::narrow(asBits<float>(of)).bits; };
  CHECK(bits(0x3f808000) == 0x3f80);
  CHECK(bits(0x3f818000) == 0x3f82);
  CHECK(bits(0x3f808001) == 0x3f81);
  CHECK(std::isnan(Number<Bf16>::wide(Number<Bf16>::narrow(asBits<float>(uint32_t{0x7fffffff})))));
}

}  // namespace
}  // namespace expc::kernels
