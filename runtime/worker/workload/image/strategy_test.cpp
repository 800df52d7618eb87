// The three ways in which devices share a step, on the real model.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <stdexcept>

#include "runtime/data/images/sampler.h"
#include "runtime/worker/workload/image/parallel.h"

using namespace expc;
using namespace expc::workload::image;

namespace {

std::vector<int64_t> slice(const std::vector<int64_t>& of, int64_t begin, int64_t end) {
  return {of.begin() + begin, of.begin() + end};
}

model::MobileNetV2Options modelOptions(double dropout) {
  return {.width = 0.25, .dropout = dropout, .dtype = at::kDouble, .channels_last = true};
}

std::vector<ReplicaPlace> places(size_t count) { return std::vector<ReplicaPlace>(count); }

std::vector<at::Tensor> gradientsOf(model::MobileNetV2& model) {
  std::vector<at::Tensor> result;
  for (const auto& weight : model.parameterTensors()) {
    result.push_back(weight.grad().clone());
    weight.mutable_grad() = at::Tensor();
  }
  return result;
}

double furthest(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, (a[i] - b[i]).abs().max().item<double>());
  return worst;
}

std::vector<at::Tensor> buffersOf(const model::MobileNetV2& model) {
  std::vector<at::Tensor> result;
  for (const auto& buffer : model.buffers()) result.push_back(buffer.tensor.to(at::kDouble));
  return result;
}

/// Plain training of one model on a batch: its gradients.
std::vector<at::Tensor> plainGradients(model::MobileNetV2& model, const at::Tensor& images, const at::Tensor& labels) {
  at::cross_entropy_loss(model.forward(images), labels).backward();
  return gradientsOf(model);
}

struct Batch {
  at::Tensor images, labels;
  explicit Batch(int64_t count) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(5);
    images = at::randn({count, 3, 32, 32}, generator, at::kDouble).contiguous(at::MemoryFormat::ChannelsLast);
    labels = at::randint(10, {count}, generator, at::kLong);
  }
};

}  // namespace

TEST_CASE("device d trains on the same images whatever the strategy") {
  constexpr int64_t kCount = 103, kBatch = 8;
  for (const int64_t gpus : {1, 2, 4}) {
    CAPTURE(gpus);
    for (int64_t epoch : {0, 3}) {
      for (int64_t rank = 0; rank < gpus; ++rank) {
        const auto own = Portion::of(Strategy::DdpDs, gpus, kBatch, rank, kCount, 9);
        const auto whole = Portion::of(Strategy::Ddp, gpus, kBatch, rank, kCount, 9);
        const auto one = Portion::of(Strategy::Dp, gpus, kBatch, 0, kCount, 9);
        const auto mine = own.order(epoch), all = whole.order(epoch), alone = one.order(epoch);
        CHECK(whole.slice == rank);
        CHECK(whole.batch == kBatch * gpus);
        REQUIRE(int64_t(mine.size()) == own.images);
        REQUIRE(int64_t(all.size()) == own.images * gpus);
        REQUIRE(int64_t(alone.size()) == kCount);
        const int64_t batches = (own.images + kBatch - 1) / kBatch;
        for (int64_t k = 0; k < batches; ++k) {
          const int64_t begin = k * kBatch, end = std::min(own.images, begin + kBatch), share = end - begin;
          const int64_t at = begin * gpus + rank * share;
          CHECK(slice(mine, begin, end) == slice(all, at, at + share));
          if (share == kBatch && (k + 1) * kBatch * gpus <= kCount)
            CHECK(slice(mine, begin, end) == slice(alone, at, at + share));
        }
        // dp repeats no image to fill up the last batch.
        CHECK(std::set<int64_t>(alone.begin(), alone.end()).size() == kCount);
      }
    }
  }
}

TEST_CASE("a last batch that would leave a device one image is told") {
  CHECK(Portion::of(Strategy::DdpDs, 2, 8, 0, 2 * 8 * 3 + 2, 1).tail_is_single);
  CHECK(Portion::of(Strategy::Ddp, 2, 8, 0, 2 * 8 * 3 + 2, 1).tail_is_single);
  CHECK(Portion::of(Strategy::Dp, 2, 8, 0, 2 * 8 * 3 + 2, 1).tail_is_single);
  CHECK(Portion::of(Strategy::Dp, 2, 8, 0, 2 * 8 * 3 + 3, 1).tail_is_single);  // two and one
  CHECK_FALSE(Portion::of(Strategy::Dp, 2, 8, 0, 2 * 8 * 3 + 4, 1).tail_is_single);
  CHECK_FALSE(Portion::of(Strategy::Dp, 4, 8, 0, 4 * 8 * 3, 1).tail_is_single);
  CHECK(Portion::of(Strategy::Dp, 4, 8, 0, 4 * 8 * 3 + 10, 1).tail_is_single);  // three, three, three and one
}

TEST_CASE("dp evaluates as one device does, in the batch's order") {
  at::set_num_threads(1);
  const Batch batch(22);
  model::MobileNetV2 plain(modelOptions(0), 3);
  plain.setTraining(false);
  for (const size_t count : {1, 2, 4}) {  // 22 images: 6, 6, 6 and 4 on four
    CAPTURE(count);
    model::MobileNetV2 first(modelOptions(0), 3);
    auto replicas = makeReplicas(first, modelOptions(0), places(count), std::nullopt, 1);
    const auto logits = replicas->evaluate(batch.images);
    CHECK((logits - plain.forward(batch.images)).abs().max().item<double>() < 1e-12);
    CHECK_FALSE(logits.requires_grad());
    CHECK(first.training());
  }
}

TEST_CASE("in training each replica of dp has its shard's statistics and only the first one's persist") {
  at::set_num_threads(1);
  const Batch batch(22);
  for (const size_t count : {2, 4}) {
    CAPTURE(count);
    const auto images = batch.images.chunk(int64_t(count)), labels = batch.labels.chunk(int64_t(count));
    // The reference by hand: each shard goes through a fresh model, and gradients are weighted by the shard's size.
    std::vector<at::Tensor> expected, statistics;
    for (size_t i = 0; i < count; ++i) {
      model::MobileNetV2 alone(modelOptions(0), 3);
      const double share = double(images[i].size(0)) / 22;
      auto gradients = plainGradients(alone, images[i], labels[i]);
      for (auto& gradient : gradients) gradient *= share;
      if (i == 0) {
        expected = gradients;
        statistics = buffersOf(alone);
      } else {
        for (size_t k = 0; k < expected.size(); ++k) expected[k] += gradients[k];
      }
    }
    model::MobileNetV2 first(modelOptions(0), 3);
    auto replicas = makeReplicas(first, modelOptions(0), places(count), std::nullopt, 1);
    replicas->backward(at::cross_entropy_loss(replicas->forward(batch.images), batch.labels));
    CHECK(furthest(gradientsOf(first), expected) < 1e-12);
    CHECK(furthest(buffersOf(first), statistics) < 1e-14);

    // A step later the others have the first one's weights and statistics again: they cannot have kept their own.
    model::MobileNetV2 same(modelOptions(0), 3);
    {
      at::NoGradGuard no_grad;
      for (size_t k = 0; k < expected.size(); ++k) {
        first.parameterTensors()[k].sub_(expected[k], 0.1);
        same.parameterTensors()[k].sub_(expected[k], 0.1);
      }
      for (size_t k = 0; k < statistics.size(); ++k) same.buffers()[k].tensor.copy_(statistics[k]);
    }
    same.setTraining(false);
    CHECK((replicas->evaluate(batch.images) - same.forward(batch.images)).abs().max().item<double>() < 1e-12);
  }
}

TEST_CASE("with fewer images than devices the last replicas have nothing to do") {
  const Batch batch(5);  // two, two and one of four
  model::MobileNetV2 first(modelOptions(0), 3), plain(modelOptions(0), 3);
  plain.setTraining(false);
  auto replicas = makeReplicas(first, modelOptions(0), places(4), std::nullopt, 1);
  CHECK((replicas->evaluate(batch.images) - plain.forward(batch.images)).abs().max().item<double>() < 1e-12);
}

TEST_CASE("dropout of a replica repeats with the seed and is its own") {
  at::set_num_threads(1);
  const Batch batch(16);
  const auto logits = [&](uint64_t seed) {
    model::MobileNetV2 first(modelOptions(0.5), 3);
    auto replicas = makeReplicas(first, modelOptions(0.5), places(2), std::nullopt, seed);
    return replicas->forward(batch.images).detach();
  };
  CHECK(logits(1).equal(logits(1)));
  CHECK_FALSE(logits(1).equal(logits(2)));
  // Replica 1 draws as rank 1 would from torch's own dropout.
  model::MobileNetV2 alone(modelOptions(0.5), 3);
  at::manual_seed(2);
  CHECK((alone.forward(batch.images.narrow(0, 8, 8)).detach() - logits(1).narrow(0, 8, 8)).abs().max().item<double>() <
        1e-12);
}

TEST_CASE("replicas compute in autocast's type") {
  const auto options = model::MobileNetV2Options{.width = 0.25, .channels_last = true};
  model::MobileNetV2 first(options, 3);
  auto replicas = makeReplicas(first, options, places(2), at::kBFloat16, 1);
  const auto logits = replicas->forward(at::randn({8, 3, 32, 32}));
  CHECK((logits.scalar_type() == at::kBFloat16));
  replicas->backward(at::cross_entropy_loss(logits.to(at::kFloat), at::zeros({8}, at::kLong)));
  for (const auto& weight : first.parameterTensors()) CHECK((weight.grad().scalar_type() == at::kFloat));
}

TEST_CASE("what a replica throws arrives at the caller, and the threads go on") {
  ReplicaThreads threads(std::vector<ReplicaPlace>(3));
  std::atomic<int> calls = 0;
  CHECK_THROWS_WITH(threads.run(3,
                                [&](size_t i) {
                                  ++calls;
                                  if (i > 0) throw std::runtime_error("replica " + std::to_string(i));
                                }),
                    "replica 1");
  CHECK(calls == 3);
  threads.run(2, [&](size_t) { ++calls; });
  CHECK(calls == 5);
}
