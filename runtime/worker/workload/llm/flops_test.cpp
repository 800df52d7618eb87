#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/profile/operator_work.h"
#include "runtime/worker/workload/llm/model.h"

namespace expc::workload::llm {
namespace {

TEST_CASE("what a device can do is measured with numbers as training has them") {
  for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    CAPTURE(type);
    const at::Tensor a = matrixOperand(64, at::TensorOptions(type)), b = matrixOperand(64, at::TensorOptions(type));
    CHECK((a.scalar_type() == type));
    CHECK(std::abs(a.to(at::kDouble).std().item<double>() - 1) < 0.1);
    CHECK(std::abs(a.to(at::kDouble).mean().item<double>()) < 0.1);
    CHECK_FALSE(at::equal(a, b));
  }
}

TEST_CASE("the rate is that of products that were made") {
  int waited = 0;
  CHECK(matrixRate(at::kFloat, at::kCPU, [&] { ++waited; }) > 0);
  CHECK(waited >= 3);  // the first, uncounted, and two more at least
}

TEST_CASE("operators compute what the model needs, and the scores of attention once more") {
  llama::Config config;
  config.vocabulary = 40, config.width = 32, config.layers = 2, config.heads = 4, config.kv_heads = 2;
  config.head_width = 8, config.mlp_width = 64, config.max_positions = 32;
  llama::DecoderOptions options;
  llama::Decoder decoder(config, options, 1, llama::randomWeights(5, at::kFloat));
  constexpr double kRows = 3, kTokens = 9, kSeen = kRows * kTokens * (kTokens + 1) / 2;
  const llama::Sequences input{at::randint(40, {3, 9}, at::kLong), {}, {}};
  const auto operations = profile::operatorWork(c10::kCPU, 0, [&] {
                            const at::Tensor loss = decoder.logits(decoder.hidden(input)).sum();
                            torch::autograd::grad({loss}, decoder.trainableTensors());
                          }).operations;
  const double again = 2 * double(config.queryWidth() * config.layers) * kSeen;
  REQUIRE(operations.size() == 1);
  CHECK(operations.at("fp32") == NeededFlops(decoder).of(kRows * kTokens, kSeen) + again);
}

}  // namespace
}  // namespace expc::workload::llm
