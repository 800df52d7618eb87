#include "runtime/worker/comm/data_parallel.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include "tests/support/comm/ranks.h"

using namespace expc::comm;
using namespace std::chrono_literals;

namespace {

/// Two linear layers as plain tensors: parameters are given different values on each rank on purpose.
struct Net {
  std::vector<at::Tensor> parameters;
  at::Tensor counter = at::zeros({1});

  explicit Net(double fill) {
    for (auto shape :
         {std::vector<int64_t>{4, 3}, std::vector<int64_t>{4}, std::vector<int64_t>{2, 4}, std::vector<int64_t>{2}}) {
      parameters.push_back(at::linspace(-1, 1, c10::multiply_integers(shape))
                               .reshape(shape)
                               .mul(fill)
                               .to(at::kDouble)
                               .requires_grad_(true));
    }
  }
  at::Tensor loss(const at::Tensor& x) const {
    auto hidden = at::relu(at::linear(x, parameters[0], parameters[1]));
    return at::linear(hidden, parameters[2], parameters[3]).square().mean();
  }
};

at::Tensor inputs() { return at::arange(24, at::kDouble).reshape({8, 3}).sin(); }

std::string flat(const std::vector<at::Tensor>& tensors) {
  std::string text;
  for (const auto& tensor : tensors) {
    auto values = tensor.detach().contiguous().view(-1);
    for (int64_t i = 0; i < values.numel(); ++i) text += std::to_string(values[i].item<double>()) + " ";
  }
  return text;
}

}  // namespace

TEST_CASE("every rank ends a backward pass with the mean of all gradients, step after step") {
  auto body = [](const Rendezvous& rendezvous) {
    at::set_num_threads(1);
    auto communicator = Communicator::open(rendezvous);
    Net net(rendezvous.rank == 0 ? 1.0 : 5.0);  // rank 0's values must win
    net.counter.fill_(double(rendezvous.rank));
    DataParallel parallel(*communicator, net.parameters, {net.counter},
                          {.first_bucket_bytes = 64, .bucket_bytes = 128});
    const int64_t share = 8 / rendezvous.world_size;
    auto x = inputs().narrow(0, rendezvous.rank * share, share);
    for (int step = 0; step < 3; ++step) {
      parallel.beforeForward();
      auto loss = net.loss(x);
      parallel.beforeBackward();
      loss.backward();
      at::NoGradGuard no_grad;
      for (auto& parameter : net.parameters) {
        parameter.sub_(parameter.grad(), 0.1);
        if (step < 2) parameter.mutable_grad() = at::Tensor();
      }
    }
    std::vector<at::Tensor> gradients;
    for (const auto& parameter : net.parameters) gradients.push_back(parameter.grad());
    auto text = flat(net.parameters) + "| " + flat(gradients) + "| " + flat({net.counter});
    communicator->shutdown();
    return text;
  };
  const auto alone = runRanks(1, 20s, 60s, body);
  const auto two = runRanks(2, 20s, 60s, body);
  const auto four = runRanks(4, 20s, 60s, body);
  REQUIRE(alone[0].said.find("exception") == std::string::npos);
  REQUIRE(alone[0].said.size() > 100);
  for (const auto& outcome : two) CHECK(outcome.said == alone[0].said);
  for (const auto& outcome : four) CHECK(outcome.said == alone[0].said);
}

TEST_CASE("buckets follow the order in which gradients came, within the limits") {
  auto outcomes = runRanks(2, 20s, 60s, [](const Rendezvous& rendezvous) {
    at::set_num_threads(1);
    auto communicator = Communicator::open(rendezvous);
    Net net(1.0);
    DataParallel parallel(*communicator, net.parameters, {}, {.first_bucket_bytes = 64, .bucket_bytes = 128});
    std::string text;
    auto describe = [&] {
      for (auto bytes : parallel.bucketBytes()) text += std::to_string(bytes) + " ";
      for (const auto& bucket : parallel.bucketParameters()) {
        text += "(";
        for (auto index : bucket) text += std::to_string(index);
        text += ")";
      }
    };
    describe();
    for (int step = 0; step < 2; ++step) {
      parallel.beforeForward();
      auto loss = net.loss(inputs());
      parallel.beforeBackward();
      loss.backward();
    }
    text += "| ";
    describe();
    communicator->shutdown();
    return text;
  });
  for (const auto& outcome : outcomes) CHECK(outcome.said == "208 (0123)| 80 128 (32)(10)");
}

TEST_CASE("a rank that dies in a step ends the others") {
  auto outcomes = runRanks(2, 20s, 60s, [](const Rendezvous& rendezvous) -> std::string {
    at::set_num_threads(1);
    auto communicator = Communicator::open(rendezvous);
    Net net(1.0);
    DataParallel parallel(*communicator, net.parameters, {net.counter});
    for (int step = 0; step < 5; ++step) {
      parallel.beforeForward();
      auto loss = net.loss(inputs());
      if (rendezvous.rank == 1 && step == 2) _exit(1);
      parallel.beforeBackward();
      loss.backward();
    }
    return "survived";
  });
  REQUIRE(outcomes[0].ended);
  CAPTURE(outcomes[0].said);
  CHECK(outcomes[0].said.find("exception") != std::string::npos);
}
