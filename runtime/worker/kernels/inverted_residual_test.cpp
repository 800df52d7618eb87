#include "runtime/worker/kernels/inverted_residual.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/worker/kernels/inverted_residual_loops.h"

namespace expc::kernels {
namespace {

constexpr NormOptions kOptions{0.1, 1e-5};

/// A block's tensors and what is asked of it.
struct BlockCase {
  int64_t batch, in, hidden, out, height, width, stride;
  bool skip;
};

// Channels that fill vectors of 16, 8, 4 and 2 and that do not; odd and even sides, single rows, columns and images;
// enough pixels for several pieces.
const std::vector<BlockCase> kBlockCases = {{2, 8, 48, 8, 5, 6, 1, true},      {1, 3, 18, 5, 9, 7, 2, false},
                                            {3, 24, 144, 24, 7, 7, 1, true},   {2, 5, 7, 1, 4, 4, 2, false},
                                            {1, 1, 1, 1, 3, 2, 1, true},       {2, 16, 96, 24, 16, 17, 2, false},
                                            {4, 10, 33, 10, 1, 9, 1, true},    {4, 12, 20, 9, 8, 1, 2, false},
                                            {1, 32, 64, 16, 30, 31, 1, false}, {5, 17, 130, 17, 12, 12, 1, true}};

at::TensorOptions like(at::ScalarType type) { return at::TensorOptions(type); }

ConvNormTensors layer(int64_t out, int64_t in, int64_t kernel) {
  return {at::randn({out, in, kernel, kernel}, like(at::kDouble)) / std::sqrt(double(in * kernel * kernel)),
          at::rand({out}, like(at::kDouble)) + 0.5, at::randn({out}, like(at::kDouble)),
          at::randn({out}, like(at::kDouble)), at::rand({out}, like(at::kDouble)) + 0.5};
}

struct BlockState {
  at::Tensor x;
  ConvNormTensors a, b, c;

  /// Copies of another type that require gradients. Weights and images are rounded to `rounding` first.
  BlockState to(at::ScalarType type, at::ScalarType rounding) const {
    const auto leaf = [&](const at::Tensor& t) { return t.to(type).clone().requires_grad_(true); };
    const auto copy = [&](const ConvNormTensors& l) {
      if (!l.weight.defined()) return ConvNormTensors{};
      return ConvNormTensors{leaf(l.weight.to(rounding)), leaf(l.scale), leaf(l.shift), l.mean.to(type).clone(),
                             l.variance.to(type).clone()};
    };
    return {leaf(x.to(rounding)), copy(a), copy(b), copy(c)};
  }
  /// Everything that a step changes or differentiates.
  std::vector<at::Tensor> results() const {
    std::vector<at::Tensor> all;
    if (x.grad().defined()) all.push_back(x.grad());
    for (const ConvNormTensors* l : {&a, &b, &c}) {
      if (!l->weight.defined()) continue;
      for (const at::Tensor& t : {l->weight.grad(), l->scale.grad(), l->shift.grad(), l->mean, l->variance})
        all.push_back(t);
    }
    return all;
  }
};

at::Tensor norm(const at::Tensor& z, const ConvNormTensors& l) {
  return at::batch_norm(z, l.scale, l.shift, l.mean, l.variance, true, kOptions.momentum, kOptions.epsilon, false);
}
at::Tensor plainRest(const at::Tensor& z1, const BlockState& s, int64_t stride) {
  const auto a1 = at::hardtanh(norm(z1, s.a), 0, 6);
  const auto a2 = at::hardtanh(norm(at::conv2d(a1, s.b.weight, {}, stride, 1, 1, a1.size(1)), s.b), 0, 6);
  return norm(at::conv2d(a2, s.c.weight), s.c);
}
at::Tensor plainBlock(const BlockState& s, const BlockCase& k) {
  const auto y = plainRest(at::conv2d(s.x, s.a.weight), s, k.stride);
  return k.skip ? s.x + y : y;
}
at::Tensor fusedBlock(const BlockState& s, const BlockCase& k) {
  return invertedResidual(s.x, s.a, s.b, s.c, k.stride, k.skip, kOptions);
}

BlockState stateOf(const BlockCase& k) {
  const auto x = at::randn({k.batch, k.in, k.height, k.width}, like(at::kDouble));
  return {x.contiguous(at::MemoryFormat::ChannelsLast), layer(k.hidden, k.in, 1), layer(k.hidden, 1, 3),
          layer(k.out, k.hidden, 1)};
}

/// The largest blockDifference as a share of the largest value, at least 1.
double blockDifference(const at::Tensor& a, const at::Tensor& b) {
  const auto wanted = b.to(at::kDouble);
  return ((a.to(at::kDouble) - wanted).abs().max() / wanted.abs().max().clamp_min(1)).item<double>();
}

void compare(const at::Tensor& y, const at::Tensor& wanted, const BlockState& ours, const BlockState& theirs,
             double bound) {
  CHECK(y.sizes() == wanted.sizes());
  CHECK(blockDifference(y.detach(), wanted.detach()) < bound);
  const auto g = at::randn_like(wanted.detach());
  y.backward(g.to(y.scalar_type()));
  wanted.backward(g.to(y.scalar_type()).to(at::kDouble));
  const auto a = ours.results(), b = theirs.results();
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    REQUIRE(a[i].sizes() == b[i].sizes());
    CHECK(blockDifference(a[i], b[i]) < 10 * bound);
  }
}

/// Calls work() with the loops of every instruction set that this processor has.
template <typename S, typename Work>
void withEachLoops(Work work) {
  for (const BlockLoops<S>* const* loops = allLoops<BlockLoops<S>>(); *loops != nullptr; ++loops) {
    CAPTURE(std::string((*loops)->name));
    chooseLoops<BlockLoops<S>>(*loops);
    work();
  }
  chooseLoops<BlockLoops<S>>(nullptr);
}
template <typename Work>
void withEachInstructionSet(at::ScalarType type, Work work) {
  if (type == at::kDouble)
    withEachLoops<double>(work);
  else if (type == at::kFloat)
    withEachLoops<float>(work);
  else
    withEachLoops<Bf16>(work);
}

TEST_CASE("a block equals its operators one after the other, gradients and running statistics too") {
  at::manual_seed(1);
  for (const BlockCase& k : kBlockCases) {
    CAPTURE(k.hidden);
    CAPTURE(k.height);
    CAPTURE(k.stride);
    const BlockState start = stateOf(k);
    for (const auto type : {at::kDouble, at::kFloat}) {
      withEachInstructionSet(type, [&] {
        const BlockState ours = start.to(type, type), theirs = start.to(at::kDouble, type);
        REQUIRE(servesBlocks(ours.x, type));
        const auto y = fusedBlock(ours, k);
        CHECK((y.scalar_type() == type));
        compare(y, plainBlock(theirs, k), ours, theirs, type == at::kDouble ? 1e-11 : 1e-5);
        CHECK(ours.x.grad().is_contiguous(at::MemoryFormat::ChannelsLast));
      });
    }
  }
}

TEST_CASE("the first block equals its operators") {
  at::manual_seed(2);
  for (const auto& [height, width, hidden] :
       {std::tuple{9, 12, 32}, {32, 31, 8}, {64, 64, 16}, {3, 3, 5}, {50, 37, 24}}) {
    CAPTURE(height);
    BlockState start{at::randn({3, 3, height, width}, like(at::kDouble)).contiguous(at::MemoryFormat::ChannelsLast),
                     layer(hidden, 3, 3), layer(hidden, 1, 3), layer(16, hidden, 1)};
    for (const auto type : {at::kDouble, at::kFloat}) {
      for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        start.a.weight = start.a.weight.contiguous(format);
        withEachInstructionSet(type, [&] {
          BlockState ours = start.to(type, type), theirs = start.to(at::kDouble, type);
          for (BlockState* s : {&ours, &theirs}) s->x = s->x.detach();
          compare(firstBlocks(ours.x, ours.a, ours.b, ours.c, kOptions),
                  plainRest(at::conv2d(theirs.x, theirs.a.weight, {}, 2, 1), theirs, 1), ours, theirs,
                  type == at::kDouble ? 1e-11 : 1e-5);
        });
      }
    }
  }
}

TEST_CASE("the last convolution and its mean equal their operators") {
  at::manual_seed(3);
  for (const auto& [in, channels, side] : {std::tuple{24, 80, 7}, {5, 33, 4}, {320, 1280, 1}, {16, 64, 13}}) {
    CAPTURE(channels);
    const BlockState start{at::randn({4, in, side, side}, like(at::kDouble)).contiguous(at::MemoryFormat::ChannelsLast),
                           layer(channels, in, 1),
                           {},
                           {}};
    for (const auto type : {at::kDouble, at::kFloat}) {
      withEachInstructionSet(type, [&] {
        BlockState ours, theirs;
        for (auto& [state, to] : {std::pair<BlockState&, at::ScalarType>{ours, type}, {theirs, at::kDouble}}) {
          const auto leaf = [&, to = to](const at::Tensor& t) {
            return t.to(type).to(to).clone().requires_grad_(true);
          };
          state.x = leaf(start.x);
          state.a = {leaf(start.a.weight), leaf(start.a.scale), leaf(start.a.shift), start.a.mean.to(to).clone(),
                     start.a.variance.to(to).clone()};
        }
        compare(lastPooled(ours.x, ours.a, kOptions),
                at::hardtanh(norm(at::conv2d(theirs.x, theirs.a.weight), theirs.a), 0, 6).mean({2, 3}), ours, theirs,
                type == at::kDouble ? 1e-11 : 2e-5);
      });
    }
  }
}

class Autocast {
 public:
  Autocast() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  }
  ~Autocast() {
    at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
};

/// Size of the blockDifference as a share of the size of what is wanted.
double blockDistance(const at::Tensor& a, const at::Tensor& b) {
  const auto wanted = b.to(at::kDouble);
  return ((a.to(at::kDouble) - wanted).norm() / wanted.norm()).item<double>();
}

/// Runs ours and torch's operators under autocast and the exact ones in fp64, forward and backward: ours shall be about
/// as near to the exact ones as torch's. forward(state, fused)
template <typename Forward>
void compareBf16(const BlockState& start, Forward forward) {
  const auto leaf = [&](at::ScalarType type) { return start.to(type, at::kBFloat16); };
  const BlockState torchs = leaf(at::kFloat), exact = leaf(at::kDouble);
  at::Tensor theirs;
  {
    const Autocast autocast;
    theirs = forward(torchs, false);
  }
  const auto wanted = forward(exact, false);
  const auto g = at::randn_like(wanted.detach()).to(at::kBFloat16);
  theirs.backward(g.to(theirs.scalar_type()));
  wanted.backward(g.to(at::kDouble));
  withEachInstructionSet(at::kBFloat16, [&] {
    const BlockState ours = leaf(at::kFloat);
    at::Tensor y;
    {
      const Autocast autocast;
      REQUIRE(servesBlocks(ours.x, at::kFloat));
      y = forward(ours, true);
    }
    CHECK((y.scalar_type() == at::kBFloat16));
    y.backward(g);
    CHECK(blockDistance(y.detach(), wanted.detach()) < 0.01);
    const auto a = ours.results(), b = torchs.results(), c = exact.results();
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      CAPTURE(i);
      CHECK((a[i].scalar_type() == at::kFloat));
      CHECK(blockDistance(a[i], c[i]) < 1.5 * blockDistance(b[i], c[i]) + 0.02);
    }
  });
}

TEST_CASE("in bf16 a block is as near to fp64 as torch's operators under autocast") {
  at::manual_seed(4);
  // Also odd numbers of channels and of pixels: bf16 is multiplied in pairs.
  for (const BlockCase& k : {BlockCase{4, 24, 144, 24, 14, 14, 1, true},
                             {8, 16, 96, 24, 15, 14, 2, false},
                             {3, 9, 35, 17, 13, 11, 1, false}})
    compareBf16(stateOf(k),
                [&](const BlockState& s, bool fused) { return fused ? fusedBlock(s, k) : plainBlock(s, k); });
}

TEST_CASE("in bf16 the first block and the last convolution are as near to fp64 as torch's") {
  at::manual_seed(7);
  const auto images = at::randn({3, 3, 31, 29}, like(at::kDouble)).contiguous(at::MemoryFormat::ChannelsLast);
  const BlockState first{images, layer(24, 3, 3), layer(24, 1, 3), layer(16, 24, 1)};
  compareBf16(first, [](const BlockState& s, bool fused) {
    const auto x = s.x.detach();
    return fused ? firstBlocks(x, s.a, s.b, s.c, kOptions) : plainRest(at::conv2d(x, s.a.weight, {}, 2, 1), s, 1);
  });
  const BlockState last{
      at::randn({8, 21, 7, 7}, like(at::kDouble)).contiguous(at::MemoryFormat::ChannelsLast), layer(50, 21, 1), {}, {}};
  compareBf16(last, [](const BlockState& s, bool fused) {
    if (fused) return lastPooled(s.x, s.a, kOptions);
    return at::hardtanh(norm(at::conv2d(s.x, s.a.weight), s.a), 0, 6).mean({2, 3});
  });
}

TEST_CASE("a channel far from zero, a constant one and one with scale zero") {
  at::manual_seed(5);
  const BlockCase k{4, 16, 32, 16, 12, 12, 1, true};
  BlockState start = stateOf(k);
  start.x.select(1, 3).add_(300);
  start.a.weight.select(0, 5).zero_();
  start.b.scale.data_ptr<double>()[7] = 0;
  start.c.scale.data_ptr<double>()[2] = 0;
  const BlockState ours = start.to(at::kFloat, at::kFloat), theirs = start.to(at::kDouble, at::kFloat);
  // The offset costs fp32 digits before any arithmetic here.
  compare(fusedBlock(ours, k), plainBlock(theirs, k), ours, theirs, 1e-3);
  const BlockState again = start.to(at::kDouble, at::kDouble), reference = start.to(at::kDouble, at::kDouble);
  compare(fusedBlock(again, k), plainBlock(reference, k), again, reference, 1e-9);
}

TEST_CASE("the number of threads changes no bit") {
  at::manual_seed(6);
  const int before = at::get_num_threads();
  const BlockCase k{8, 24, 144, 24, 28, 28, 1, true};
  const BlockState start = stateOf(k);
  for (const auto type : {at::kFloat, at::kDouble}) {
    std::vector<at::Tensor> first;
    for (int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      const BlockState s = start.to(type, type);
      const auto y = fusedBlock(s, k);
      y.square().sum().backward();
      auto all = s.results();
      all.push_back(y.detach());
      for (size_t i = 0; i < first.size(); ++i) CHECK(at::equal(all[i], first[i]));
      first = all;
    }
  }
  at::set_num_threads(before);
}

TEST_CASE("what it does not serve is left to torch") {
  const auto x = at::zeros({2, 4, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast);
  CHECK(servesBlocks(x, at::kFloat));
  CHECK_FALSE(servesBlocks(x.contiguous(), at::kFloat));
  CHECK_FALSE(servesBlocks(x, at::kDouble));
  CHECK_FALSE(servesBlocks(x.to(at::kHalf), at::kHalf));
  CHECK_FALSE(servesBlocks(x.to(at::kBFloat16), at::kFloat));
  const Autocast autocast;
  CHECK(servesBlocks(x, at::kFloat));
  CHECK(servesBlocks(x.to(at::kBFloat16), at::kFloat));
  CHECK_FALSE(servesBlocks(x.to(at::kDouble), at::kDouble));
}

}  // namespace
}  // namespace expc::kernels
