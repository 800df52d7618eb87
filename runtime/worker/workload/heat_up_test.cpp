
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <chrono>

#include "runtime/protocol/trial.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/workload/workload.h"

using namespace expc;

namespace {

protocol::TrialSpec heatUpOf(llvm::json::Object settings) {
  protocol::TrialSpec spec;
  spec.workload = protocol::kHeatUp;
  spec.settings = std::move(settings);
  spec.slots = llvm::json::Array{llvm::json::Object{{"device", "cpu"}}};
  return spec;
}

/// The events of a rank of a worker that has no workload.
std::string eventsOf(const protocol::TrialSpec& spec, int& code) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  code = workload::runRank({{}, {device::cpuBackend()}}, spec, ends[1], std::chrono::steady_clock::now());
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, size);
  close(ends[0]);
  return text;
}

}  // namespace

TEST_CASE("a rank that is asked to keeps its device busy for so long and has a result without metrics") {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  int code = 1;
  const std::string events = eventsOf(heatUpOf(llvm::json::Object{{"seconds", 0.05}}), code);
  CHECK(Clock::now() - begin >= std::chrono::milliseconds(50));
  CHECK(code == 0);
  const size_t last = events.rfind('\n', events.size() - 2) + 1;
  const protocol::Event result = llvm::cantFail(protocol::eventFromLine(events.substr(last, events.size() - 1 - last)));
  CHECK((result.type == protocol::Event::Type::Result));
  CHECK(result.metrics.empty());
}

TEST_CASE("a heat-up without its time, or on a device that is not there, fails with a reason") {
  int code = 0;
  CHECK(eventsOf(heatUpOf({}), code).find("a heat-up needs its seconds") != std::string::npos);
  CHECK(code == 1);
  protocol::TrialSpec elsewhere = heatUpOf(llvm::json::Object{{"seconds", 0.01}});
  elsewhere.slots = llvm::json::Array{llvm::json::Object{{"device", "cuda"}}};
  CHECK(eventsOf(elsewhere, code).find("cuda") != std::string::npos);
  CHECK(code == 1);
}
