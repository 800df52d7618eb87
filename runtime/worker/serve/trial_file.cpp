#include <fcntl.h>
#include <llvm/Support/MemoryBuffer.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/plan/json.h"
#include "runtime/worker/serve/child.h"

namespace expc::serve {
namespace {

llvm::Expected<plan::TrialSpec> readSpec(const char* path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file) return llvm::createStringError(file.getError().message());
  auto value = plan::parseJson((*file)->getBuffer());
  if (!value) return value.takeError();
  return plan::trialSpecFromJson(*value);
}

}  // namespace

int runTrialFile(const char* path, const Child& child) {
  auto spec = readSpec(path);
  if (!spec) {
    std::fprintf(stderr, "%s: %s\n", path, llvm::toString(spec.takeError()).c_str());
    return 2;
  }
  plan::LaunchRequest request;
  request.spec = std::move(*spec);
  const char* rank = std::getenv("RANK");
  request.rank = rank ? static_cast<unsigned>(std::strtoul(rank, nullptr, 10)) : 0;
  if (request.rank >= request.spec.world_size) {
    std::fprintf(stderr, "RANK is %u, and the trial has %u ranks\n", request.rank, request.spec.world_size);
    return 2;
  }
  // What a library prints must not tear an event.
  std::fflush(stdout);
  const int events = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  takePlace(request.spec, request.rank);
  return runGuarded(request, events, child);
}

}  // namespace expc::serve
