#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "runtime/worker/profile/activity.h"
#include "runtime/worker/profile/range.h"

using namespace expc::profile;

namespace {

/// A record like those of c10d's work: it begins here and ends on another thread.
std::shared_ptr<at::RecordFunction> beginAsync(const char* name) {
  auto record = std::make_shared<at::RecordFunction>(at::RecordScope::USER_SCOPE);
  record->_setAsync();
  record->before(name);
  return record;
}

}  // namespace

TEST_CASE("own times of operators add up to the time they took") {
  const auto probe = makeOperatorProbe();
  auto a = at::randn({64, 64}).requires_grad_(true);
  at::mm(a, a);  // before it starts
  probe->start();
  const auto begin = std::chrono::steady_clock::now();
  {
    const Range step(Phase::Step);
    for (int i = 0; i < 5; ++i) at::mm(a, a).relu().sum().backward();
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Findings findings = probe->stop(wall);
  at::mm(a, a);  // after it

  REQUIRE(findings.breakdown.count("operator.aten::mm"));
  CHECK(findings.breakdown.at("operator.aten::mm").count == 5 * 3);  // forward, and two in backward
  CHECK(findings.breakdown.count("operator.MmBackward0"));
  CHECK_FALSE(findings.breakdown.count("operator.expc:step"));
  double sum = 0;
  for (const auto& [name, amount] : findings.breakdown) {
    CHECK(amount.seconds >= 0);
    sum += amount.seconds;
  }
  CHECK(sum > 0);
  CHECK(sum <= wall * 1.0001);
  REQUIRE(findings.all_reduce);
  CHECK(findings.all_reduce->count == 0);
  CHECK_FALSE(findings.device);
}

TEST_CASE("all-reduces are timed from their start to their end in another thread") {
  const auto probe = makeOperatorProbe();
  auto before = beginAsync("gloo:all_reduce");
  probe->start();
  auto one = beginAsync("gloo:all_reduce"), two = beginAsync("gloo:all_reduce"), other = beginAsync("gloo:broadcast");
  std::thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    one->end();
    two->end();
    other->end();
    before->end();
  }).detach();
  // stop() waits for records that are open.
  const Findings findings = probe->stop(0.01);
  CHECK(findings.all_reduce->count == 2);
  CHECK(findings.all_reduce->seconds >= 0.010);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

TEST_CASE("a probe starts anew, and one that is not stopped leaves nothing behind") {
  auto a = at::randn({8, 8});
  {
    makeOperatorProbe()->start();
  }
  for (int i = 0; i < 2; ++i) {
    const auto probe = makeOperatorProbe();
    probe->start();
    at::mm(a, a);
    std::thread([&] { at::mm(a, a); }).join();
    CHECK(probe->stop(1).breakdown.at("operator.aten::mm").count == 2);
  }
}

TEST_CASE("records are counted under names that a reader knows") {
  const auto named = [](std::string_view record) {
    bool call = false;
    const std::string name = operatorName(record, call);
    return name + (call ? "" : " (around)");
  };
  CHECK(named("aten::mm") == "aten::mm");
  CHECK(named("ConvolutionBackward0") == "ConvolutionBackward0");
  CHECK(named("autograd::engine::evaluate_function: ConvolutionBackward0") == "ConvolutionBackward0 (around)");
  CHECK(named("torch::autograd::AccumulateGrad") == "AccumulateGrad");
  CHECK(named("torch::autograd::CppNode<expc::kernels::(anonymous namespace)::Depthwise>") ==
        "backward of expc::kernels::Depthwise");
  CHECK(named("autograd::engine::evaluate_function: torch::autograd::CppNode<expc::X>") ==
        "backward of expc::X (around)");
  CHECK(named("") == "");
  CHECK(named("torch::autograd::CppNode<") == "CppNode<");
}
