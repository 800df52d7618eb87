// Runs the conformance suite on NCCL, with one rank per GPU, real (tests/on_gpu) or simulated.

#include "runtime/worker/comm/cuda/nccl.h"

#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/support/comm/conformance.h"

using namespace expc::comm;

namespace {

bool isNull(int index) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) throw std::runtime_error("the GPU has no properties");
  return std::string_view(properties.uuid.bytes, 4) == "null";
}

conformance::Place onItsGpu(Communicator& communicator, const Rendezvous& rendezvous) {
  const auto index = int(rendezvous.local_rank);
  c10::cuda::set_device(static_cast<c10::DeviceIndex>(index));
  addNccl(communicator, index);
  return {at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index)), !isNull(index)};
}

/// A simulated GPU whose fifth collective breaks the communicator.
conformance::Place onOneThatBreaks(Communicator& communicator, const Rendezvous& rendezvous) {
  setenv("NULLGPU_FAULTS", "communicator=5", 1);
  return onItsGpu(communicator, rendezvous);
}

/// Asked in a child, because a process that has started CUDA cannot fork ranks.
unsigned askedInAChild(int (*question)()) {
  const pid_t child = fork();
  if (child == 0) _exit(question());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? unsigned(WEXITSTATUS(status)) : 0;
}

int gpus() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("FAILED: %s\n", what.c_str());
  ++failures;
}

void runAll(unsigned world) {
  for (const auto& outcome : conformance::collectives(world, onItsGpu))
    expect(outcome.ended && outcome.said.empty(), std::to_string(world) + " ranks: " + outcome.said);
  if (world == 1) return;
  const auto all = conformance::interruptions();
  for (const bool dies : {true, false}) {
    const auto said = conformance::interruptedAll(world, dies, onItsGpu, conformance::kShortTimeout);
    for (size_t i = 0; i < all.size(); ++i)
      expect(said[i].find("rank 0 of " + std::to_string(world) + " lost the others in ") == 0,
             std::string(all[i].operation) + (dies ? " with a dead rank: " : " with a hanging rank: ") + said[i]);
  }
}

/// Either the watch or the next collective reports it, whichever is first.
void breakOne(unsigned world) {
  for (const auto& outcome : conformance::collectives(world, onOneThatBreaks))
    expect(outcome.said.find(" lost the others in ") != std::string::npos &&
               (outcome.said.find("the connection is broken") != std::string::npos ||
                outcome.said.find("network error") != std::string::npos),
           "a broken connection: " + outcome.said);
}

}  // namespace

int main() {
  expect(ncclMismatch(NCCL_VERSION_CODE).empty(), "the header's NCCL is refused");
  expect(ncclMismatch(22703).find("the system loaded 2.27.3") != std::string::npos, "another NCCL is not named");
  const unsigned count = askedInAChild(gpus);
  expect(count > 0, "CUDA sees no device");
  for (unsigned world = 1; world <= count; world *= 2) runAll(world);
  if (count > 0 && askedInAChild([]() -> int { return isNull(0); }) == 1) breakOne(std::min(count, 2u));
  if (failures == 0) std::printf("NCCL conforms on %u GPUs\n", count);
  return failures == 0 ? 0 : 1;
}
