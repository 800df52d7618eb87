#include "runtime/engine/trial_request.h"

#include <doctest/doctest.h>

#include "runtime/base/json_record.h"
#include "runtime/engine/launch/worker_client.h"

using namespace expc;
using namespace expc::engine;

namespace {

std::vector<machine::Slot> gpuSlots(unsigned count) {
  std::vector<machine::Slot> slots(count);
  for (unsigned i = 0; i < count; ++i) {
    slots[i].gpu = true;
    slots[i].index = i;
    slots[i].uuid = "GPU-" + std::to_string(i);
    slots[i].cores = {int(2 * i), int(2 * i + 1)};
  }
  return slots;
}

std::string variable(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (entry.rfind(name + "=", 0) == 0) return entry.substr(name.size() + 1);
  return "not set";
}

machine::Machine twoSockets() {
  machine::Machine machine;
  machine.allowed = {0, 1, 2, 3};
  machine.packages = {machine::Package{{0, 1}}, machine::Package{{2, 3}}};
  machine.nodes = {{0, {0, 1}}, {1, {2, 3}}};
  return machine;
}

}  // namespace

TEST_CASE("each rank has its slot and sees its device") {
  launch::TrialRequest request;
  placeRanks(request, {{twoSockets(), gpuSlots(3), {0, 2}, ""}}, /*one_process=*/false);
  CHECK(request.spec.world_size == 2);
  REQUIRE(request.spec.slots.size() == 2);
  CHECK(request.spec.slots[1].getAsObject()->getString("uuid") == "GPU-2");
  REQUIRE(request.environment.size() == 2);
  CHECK(variable(request.environment[1], "RANK") == "1");
  CHECK(variable(request.environment[1], "WORLD_SIZE") == "2");
  CHECK(variable(request.environment[1], "CUDA_VISIBLE_DEVICES") == "GPU-2");
  CHECK(variable(request.environment[0], "MASTER_PORT") == variable(request.environment[1], "MASTER_PORT"));
}

TEST_CASE("one process has all the slots and sees their devices in their order") {
  launch::TrialRequest request;
  placeRanks(request, {{twoSockets(), gpuSlots(3), {0, 2}, ""}}, /*one_process=*/true);
  CHECK(request.spec.world_size == 1);
  CHECK(request.spec.slots.size() == 2);
  REQUIRE(request.environment.size() == 1);
  CHECK(variable(request.environment[0], "WORLD_SIZE") == "1");
  CHECK(variable(request.environment[0], "CUDA_VISIBLE_DEVICES") == "GPU-0,GPU-2");
  // The specification arrives as it was sent.
  request.spec.workload = "image.mobilenet_v2";
  auto read = base::readRecord<protocol::TrialSpec>(base::written(request.spec), "the trial's specification");
  REQUIRE_MESSAGE(bool(read), llvm::toString(read.takeError()));
  CHECK(read->slots.size() == 2);
}

TEST_CASE("a command with ranks has a process for each device, which sees all of them and has its own cores") {
  plan::Plan plan;
  plan.workloads.emplace_back().command.emplace().arguments = {"train"};
  plan::Point point;
  launch::TrialRequest request;
  request.spec.parameters["gpus"] = 2;
  request.nodes = {0, 1};
  const machine::Machine machine = twoSockets();
  const std::vector<machine::Slot> slots = gpuSlots(3);
  const std::vector<NodePart> parts = {{machine, slots, {0, 2}, ""}, {machine, slots, {1, 2}, ""}};
  completeForCommand(request, plan, point, parts, "n1", "/folder", {"HOME=/h"}, /*ranks=*/true);
  CHECK(request.spec.world_size == 4);
  REQUIRE(request.environment.size() == 4);
  const std::vector<std::string>& third = request.environment[3];
  for (const auto& [name, value] : {std::pair("RANK", "3"), std::pair("LOCAL_RANK", "1"), std::pair("WORLD_SIZE", "4"),
                                    std::pair("CUDA_VISIBLE_DEVICES", "GPU-1,GPU-2"), std::pair("MASTER_ADDR", "n1"),
                                    std::pair("OMP_NUM_THREADS", "2")})
    CHECK(variable(third, name) == value);
  CHECK(variable(third, "PET_MASTER_PORT") == variable(request.environment[0], "MASTER_PORT"));
  CHECK(*request.spec.slots[1].getAsObject()->getArray("cores") == llvm::json::Array{4, 5});
  keepOnePerNode(request);
  CHECK(request.spec.world_size == 2);
  CHECK(variable(request.environment[1], "RANK") == "2");
  // Without ranks the program starts its own, at a port of this trial.
  launch::TrialRequest one;
  one.spec.parameters["gpus"] = 2;
  completeForCommand(one, plan, point, {parts[0]}, "127.0.0.1", "/folder", {}, /*ranks=*/false);
  CHECK(one.spec.world_size == 1);
  CHECK(variable(one.environment[0], "RANK") == "not set");
  CHECK(variable(one.environment[0], "PET_MASTER_PORT") != "not set");
}

TEST_CASE("the parameter numa says where cores and memory are") {
  const auto slotWith = [](const char* numa) {
    launch::TrialRequest request;
    if (numa) request.spec.parameters["numa"] = numa;
    placeRanks(request, {{twoSockets(), gpuSlots(1), {0}, ""}}, false);
    return llvm::json::Object(*request.spec.slots[0].getAsObject());
  };
  for (auto near : {slotWith(nullptr), slotWith("near")}) {
    CHECK(*near.getArray("cores") == llvm::json::Array{0, 1});
    CHECK(*near.getArray("memory_nodes") == llvm::json::Array{0});
  }
  auto far = slotWith("far");
  CHECK(*far.getArray("cores") == llvm::json::Array{2, 3});
  CHECK(*far.getArray("memory_nodes") == llvm::json::Array{1});
  auto any = slotWith("any");
  CHECK(any.getArray("cores")->empty());
  CHECK(any.getInteger("threads") == 2);
  CHECK(any.get("memory_nodes") == nullptr);
}

TEST_CASE("a worker says with which levels one process drives all devices") {
  launch::WorkerDescription description;
  description.one_process.insert({"image.mobilenet_v2", "strategy", "dp"});
  CHECK(description.isOneProcess("image.mobilenet_v2", llvm::json::Object{{"strategy", "dp"}}));
  CHECK_FALSE(description.isOneProcess("image.mobilenet_v2", llvm::json::Object{{"strategy", "ddp"}}));
  CHECK_FALSE(description.isOneProcess("image.mobilenet_v2", llvm::json::Object{}));
  CHECK_FALSE(description.isOneProcess("null.idle", llvm::json::Object{{"strategy", "dp"}}));
}
