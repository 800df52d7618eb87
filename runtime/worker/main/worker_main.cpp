#include "runtime/worker/main/worker_main.h"

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MemoryBuffer.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/plan/json.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/serve/memory_policy.h"
#include "runtime/worker/serve/serve.h"
#include "runtime/worker/workload/trial.h"

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

/// Libraries print to standard output now and then; events must not be torn. Gives back the descriptor that the caller
/// wrote to.
int takeStandardOutput() {
  std::fflush(stdout);
  const int events = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  return events;
}

llvm::Expected<plan::TrialSpec> readSpec(const char* path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file) return llvm::createStringError("cannot read " + llvm::Twine(path) + ": " + file.getError().message());
  auto value = plan::parseJson((*file)->getBuffer());
  if (!value) return value.takeError();
  return plan::trialSpecFromJson(*value);
}

int runTrialFile(const Capabilities& capabilities, const char* path) {
  const auto start = device::processStart();
  auto spec = readSpec(path);
  if (!spec) {
    std::fprintf(stderr, "expc-worker: %s: %s\n", path, llvm::toString(spec.takeError()).c_str());
    return 2;
  }
  const char* rank = std::getenv("RANK");
  const unsigned number = rank ? static_cast<unsigned>(std::strtoul(rank, nullptr, 10)) : 0;
  if (!device::bindToCores(serve::rankCores(*spec, number))) {
    std::fprintf(stderr, "expc-worker: the cores of rank %u are not ours to use; running where the system puts us\n",
                 number);
  }
  const std::string why = serve::bindMemory(serve::rankMemoryNodes(*spec, number));
  if (!why.empty())
    std::fprintf(stderr, "expc-worker: rank %u takes memory wherever the system puts it: %s\n", number, why.c_str());
  const int events = takeStandardOutput();
  device::keepFreedMemory();
  return workload::runRank(capabilities, *spec, events, start);
}

int serveTrials(const Capabilities& capabilities, const char* descriptor) {
  int fd = -1;
  if (!llvm::to_integer(llvm::StringRef(descriptor), fd, 10) || fcntl(fd, F_GETFD) == -1) {
    std::fprintf(stderr, "expc-worker: --serve %s: that is no open descriptor; expc passes one\n", descriptor);
    return 2;
  }
  return serve::run(fd, [&](const plan::LaunchRequest& request, int event_fd) {
    const auto start = std::chrono::steady_clock::now();
    device::keepFreedMemory();
    return workload::runRank(capabilities, request.spec, event_fd, start);
  });
}

int run(int argc, char** argv, const std::vector<device::Backend>& backends) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  const Capabilities capabilities{registeredWorkloads(), backends};
  if (command == "--serve" && argc == 3) return serveTrials(capabilities, argv[2]);
  if (command == "--trial" && argc == 3) return runTrialFile(capabilities, argv[2]);
  if (command == "--describe" && argc == 2) {
    std::puts(plan::prettyJson(describe(capabilities.workloads, backends)).c_str());
    return 0;
  }
  if (command == "--help" && argc == 2) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  std::fputs(kHelp, stderr);
  return 2;
}

}  // namespace

void workerMain(int argc, char** argv, const std::vector<device::Backend>& backends) {
  const int code = run(argc, argv, backends);
  std::fflush(nullptr);
  // Broken communicators are not taken down, nor libtorch's table of operators, which takes a third as long as its
  // making.
  _exit(code);
}

}  // namespace expc::worker
