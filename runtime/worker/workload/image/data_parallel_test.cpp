// Data parallelism on the real model, through the real Gloo group and Reducer.

#include "runtime/worker/comm/data_parallel.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/worker/model/mobilenet_v2.h"
#include "tests/source_dir.h"
#include "tests/support/comm/ranks.h"

using namespace expc;
using namespace std::chrono_literals;

namespace {

/// One backward pass on this rank's share of a global batch of 32; every gradient, one after the other. Batch norm uses
/// its running statistics, since those of a batch are local by definition, and dropout is off.
std::vector<double> gradients(const comm::Rendezvous& rendezvous, at::ScalarType type, bool channels_last) {
  at::set_num_threads(1);
  auto communicator = comm::Communicator::open(rendezvous);
  // Each rank starts elsewhere: rank 0's weights must arrive.
  model::MobileNetV2 model({.width = 0.5, .dtype = type, .channels_last = channels_last}, 3 + rendezvous.rank);
  model.setTraining(false);
  std::vector<at::Tensor> buffers;
  for (const auto& buffer : model.buffers()) buffers.push_back(buffer.tensor);
  comm::DataParallel parallel(*communicator, model.parameterTensors(), buffers);

  at::manual_seed(1);
  auto images = at::randn({32, 3, 32, 32}, type);
  auto labels = at::randint(0, 10, {32}, at::kLong);
  const int64_t share = 32 / rendezvous.world_size;
  images = images.narrow(0, rendezvous.rank * share, share)
               .contiguous(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
  labels = labels.narrow(0, rendezvous.rank * share, share);
  parallel.beforeForward();
  auto loss = at::cross_entropy_loss(model.forward(images), labels);
  parallel.beforeBackward();
  loss.backward();
  std::vector<double> result;
  for (const auto& parameter : model.parameterTensors()) {
    auto gradient = parameter.grad().to(at::kDouble).contiguous();
    result.insert(result.end(), gradient.const_data_ptr<double>(),
                  gradient.const_data_ptr<double>() + gradient.numel());
  }
  communicator->shutdown();
  return result;
}

std::vector<double> asNumbers(const std::string& bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
  return values;
}

void checkSameGradients(at::ScalarType type, bool channels_last, double tolerance) {
  auto body = [&](const comm::Rendezvous& rendezvous) {
    auto values = gradients(rendezvous, type, channels_last);
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  };
  const auto whole = comm::runRanks(1, 30s, 120s, body);
  const auto halves = comm::runRanks(2, 30s, 120s, body);
  REQUIRE_MESSAGE(whole[0].said.rfind("exception", 0) != 0, whole[0].said);
  const auto expected = asNumbers(whole[0].said);
  REQUIRE(expected.size() > 500'000);
  double largest = 0;
  for (double value : expected) largest = std::max(largest, std::abs(value));
  CHECK(largest > 1e-3);  // there is something to compare
  for (const auto& half : halves) {
    REQUIRE_MESSAGE(half.said.size() == whole[0].said.size(), half.said.substr(0, 300));
    const auto found = asNumbers(half.said);
    double worst = 0;
    for (size_t i = 0; i < expected.size(); ++i) worst = std::max(worst, std::abs(found[i] - expected[i]));
    CHECK(worst < tolerance);
  }
}

std::string goldenBuckets(llvm::StringRef model, llvm::StringRef what) {
  auto file = llvm::MemoryBuffer::getFile(expc::test::sourceDir() + "/tests/parity/golden/distributed.json");
  REQUIRE(bool(file));
  auto value = llvm::json::parse((*file)->getBuffer());
  REQUIRE(bool(value));
  return value->getAsObject()->getObject("ddp")->getObject(model)->getString(what)->str();
}

void checkBuckets(int64_t classes, llvm::StringRef golden) {
  const auto outcomes = comm::runRanks(2, 30s, 120s, [&](const comm::Rendezvous& rendezvous) {
    at::set_num_threads(1);
    auto communicator = comm::Communicator::open(rendezvous);
    model::MobileNetV2 model({.classes = classes}, 0);
    comm::DataParallel parallel(*communicator, model.parameterTensors(), {});
    auto bytes = [&] {
      std::vector<std::string> texts;
      for (auto size : parallel.bucketBytes()) texts.push_back(std::to_string(size));
      return llvm::join(texts, ", ");
    };
    std::string said = bytes() + "\n";
    for (int step = 0; step < 2; ++step) {
      parallel.beforeForward();
      auto loss = model.forward(at::randn({2, 3, 32, 32})).sum();
      parallel.beforeBackward();
      loss.backward();
    }
    said += bytes() + "\n";
    std::vector<std::string> buckets;
    for (const auto& bucket : parallel.bucketParameters()) {
      std::vector<std::string> indices;
      for (auto index : bucket) indices.push_back(std::to_string(index));
      buckets.push_back(llvm::join(indices, " "));
    }
    said += llvm::join(buckets, ", ");
    communicator->shutdown();
    return said;
  });
  const std::string expected = goldenBuckets(golden, "initial_bucket_bytes") + "\n" +
                               goldenBuckets(golden, "rebuilt_bucket_bytes") + "\n" +
                               goldenBuckets(golden, "rebuilt_param_indices");
  for (const auto& outcome : outcomes) CHECK(outcome.said == expected);
}

}  // namespace

TEST_CASE("two ranks with batch 16 give the gradients of one rank with batch 32") {
  SUBCASE("fp32") { checkSameGradients(at::kFloat, false, 1e-5); }
  SUBCASE("fp32 channels last") { checkSameGradients(at::kFloat, true, 1e-5); }
  SUBCASE("fp64") { checkSameGradients(at::kDouble, false, 1e-12); }
}

TEST_CASE("buckets are those of torch.nn.parallel.DistributedDataParallel") {
  SUBCASE("10 classes") { checkBuckets(10, "mobilenet_v2_c10"); }
  SUBCASE("1000 classes") { checkBuckets(1000, "mobilenet_v2_c1000"); }
}
