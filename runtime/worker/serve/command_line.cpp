// The command line of every worker: serving an engine, running one trial from a file, describing
// itself.

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MemoryBuffer.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/base/failure.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/serve/child.h"
#include "runtime/worker/serve/serve.h"

namespace expc::serve {
namespace {

/// Reads a trial's specification from a file, or from standard input for "-".
Expected<protocol::TrialSpec> readSpec(const char* path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file) return failure("{}", file.getError().message());
  auto value = TRY(parseJson((*file)->getBuffer()));
  return base::readRecord<protocol::TrialSpec>(value, "the trial's specification");
}

/// Runs one rank of the trial in this process; events go to standard output.
int runTrialFile(const char* path, const Worker& worker) {
  auto spec = readSpec(path);
  if (!spec) {
    std::fprintf(stderr, "%s: %s: %s\n", worker.name, path, toString(spec.takeError()).c_str());
    return 2;
  }
  protocol::LaunchRequest request;
  request.spec = std::move(*spec);
  const char* rank = std::getenv("RANK");
  request.rank = rank ? unsigned(std::strtoul(rank, nullptr, 10)) : 0;
  if (request.rank >= request.spec.world_size) {
    std::fprintf(stderr, "RANK is %u, and the trial has %u ranks\n", request.rank, request.spec.world_size);
    return 2;
  }
  // Events keep the original standard output, and everything that is printed goes to standard
  // error: the output of a library must not tear an event.
  std::fflush(stdout);
  const int events = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  takePlace(request.spec, request.rank);
  return runGuarded(request, events, worker.alone);
}

}  // namespace

int runWorker(int argc, char** argv, const Worker& worker) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "--serve" && argc == 3) {
    int fd = -1;
    if (llvm::to_integer(StringRef(argv[2]), fd, 10) && fcntl(fd, F_GETFD) != -1)
      return run(fd, worker.child, worker.reuse);
    std::fprintf(stderr, "%s: --serve %s: not an open descriptor; expc passes one\n", worker.name, argv[2]);
    return 2;
  }
  if (command == "--trial" && argc == 3) return runTrialFile(argv[2], worker);
  if (command == "--describe" && argc == 2) {
    std::puts(base::prettyJson(worker.describe()).c_str());
    return 0;
  }
  const bool help = command == "--help" && argc == 2;
  std::fputs(worker.help, help ? stdout : stderr);
  return help ? 0 : 2;
}

}  // namespace expc::serve
