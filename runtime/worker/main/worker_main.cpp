#include "runtime/worker/main/worker_main.h"

#include <unistd.h>

#include <cstdio>

#include "runtime/base/clock.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/serve/serve.h"
#include "runtime/worker/workload/image/training.h"
#include "runtime/worker/workload/llm/training.h"
#include "runtime/worker/workload/workload.h"

namespace expc::worker {
namespace {

constexpr char kHelp[] =
    R"(expc-worker runs the trials that expc plans. expc starts it; by hand it is for launchers and for debugging.

usage: expc-worker --serve FD     serve trials on a socket: how expc uses it
       expc-worker --trial FILE   run one rank of one trial in this process ("-": standard input). RANK, WORLD_SIZE, LOCAL_RANK,
                                  MASTER_ADDR and MASTER_PORT say which, as torchrun sets them (srun has SLURM_PROCID); without them
                                  it is the only rank. Events go to standard output, messages to standard error
       expc-worker --describe     print its workloads, parameters, metrics, libraries and build as JSON
       expc-worker --help         this text

EXPC_COMM_TIMEOUT_S: longest wait for another rank (300).
Exit codes: 0 the trial ended well, 1 it did not (the last event says why), 2 usage.
)";

using workload::Capabilities;

/// A new workload is added here.
std::vector<workload::Workload> registeredWorkloads() {
  return {workload::image::mobilenetV2(), workload::llm::finetune()};
}

/// {"v":1,"build","libraries","devices","workloads"}. `build` is the digest of this program's file.
json::Value describe(const Capabilities& capabilities) {
  json::Object libraries;
  json::Array devices, workloads;
  for (const auto& backend : capabilities.backends) {
    backend.libraries(libraries);
    devices.push_back(std::string(backend.name));
  }
  for (const auto& workload : capabilities.workloads) workloads.push_back(workload::toJson(workload));
  return json::Object{{"v", protocol::kTrialVersion},
                      {"build", serve::executableDigest()},
                      {"libraries", std::move(libraries)},
                      {"devices", std::move(devices)},
                      {"workloads", std::move(workloads)}};
}

}  // namespace

void workerMain(int argc, char** argv, const std::vector<device::Backend>& backends) {
  const Capabilities capabilities{registeredWorkloads(), backends};
  const auto rankFrom = [&](base::Clock::time_point (*start)()) -> serve::Child {
    return [&capabilities, start](const protocol::LaunchRequest& request, int event_fd) {
      const auto since = start();
      device::keepFreedMemory();
      return workload::runRank(capabilities, request.spec, event_fd, since);
    };
  };
  const int code = serve::runWorker(argc, argv,
                                    {.name = "expc-worker",
                                     .help = kHelp,
                                     .describe = [&] { return describe(capabilities); },
                                     .child = rankFrom(base::Clock::now),
                                     .alone = rankFrom(device::processStart)});
  std::fflush(nullptr);
  // Broken communicators are not taken down, nor libtorch's table of operators, which takes a third as long as its
  // making.
  _exit(code);
}

}  // namespace expc::worker
