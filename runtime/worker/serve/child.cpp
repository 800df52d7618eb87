#include "runtime/worker/serve/child.h"

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <set>

#include "runtime/worker/serve/memory_policy.h"

namespace expc::serve {
namespace {

void bindToCores(const plan::TrialSpec& spec, unsigned rank) {
  const std::vector<int> cores = rankCores(spec, rank);
  if (cores.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  }
  // A narrower mask than the engine saw is worth a word in the log, not the trial.
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    std::fprintf(stderr, "rank %u is not bound to its cores: %s\n", rank, std::strerror(errno));
  }
}

void bindToMemory(const plan::TrialSpec& spec, unsigned rank) {
  const std::string why = bindMemory(rankMemoryNodes(spec, rank));
  if (!why.empty()) std::fprintf(stderr, "rank %u takes memory wherever the system puts it: %s\n", rank, why.c_str());
}

void redirect(int log_fd) {
  int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd >= 0) dup2(null_fd, STDIN_FILENO);
  dup2(log_fd, STDOUT_FILENO);
  dup2(log_fd, STDERR_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

}  // namespace

void takePlace(const plan::TrialSpec& spec, unsigned rank) {
  bindToCores(spec, rank);
  bindToMemory(spec, rank);
}

int runGuarded(const plan::LaunchRequest& request, int event_fd, const Child& child) {
  try {
    return child(request, event_fd);
  } catch (const std::exception& error) {
    EventWriter(event_fd).failed(error.what());
  } catch (...) {
    EventWriter(event_fd).failed("an exception of unknown type ended the rank");
  }
  return 1;
}

void runChild(const plan::LaunchRequest& request, int event_fd, int log_fd, pid_t server, const Child& child) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != server) _exit(125);  // it died before the line above
  setpgid(0, 0);
  redirect(log_fd);
  close(log_fd);
  // A command gets what the request says and nothing else; a built-in workload has the server's environment besides.
  if (request.spec.command) clearenv();
  for (const std::string& entry : request.environment) {
    auto equals = entry.find('=');
    if (equals != std::string::npos) setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
  takePlace(request.spec, request.rank);
  const int code = runGuarded(request, event_fd, child);
  std::fflush(nullptr);
  _exit(code);  // the handlers of libraries that the server loaded are not for a forked process
}

namespace {

std::vector<int> numbersOf(const llvm::json::Value& slot, llvm::StringRef name) {
  std::vector<int> result;
  const llvm::json::Object* object = slot.getAsObject();
  const llvm::json::Array* numbers = object ? object->getArray(name) : nullptr;
  if (!numbers) return result;
  for (const llvm::json::Value& entry : *numbers) {
    if (auto number = entry.getAsInteger()) result.push_back(int(*number));
  }
  return result;
}

/// Of all slots that a rank drives. A slot that is not bound leaves the process unbound.
std::vector<int> together(const plan::TrialSpec& spec, unsigned rank, llvm::StringRef name) {
  std::set<int> result;
  for (size_t slot = 0; slot < spec.slots.size(); ++slot) {
    if (slot != rank && spec.world_size > 1) continue;
    const std::vector<int> own = numbersOf(spec.slots[slot], name);
    if (own.empty()) return {};
    result.insert(own.begin(), own.end());
  }
  return {result.begin(), result.end()};
}

}  // namespace

std::vector<int> slotCores(const llvm::json::Value& slot) { return numbersOf(slot, "cores"); }
std::vector<int> rankCores(const plan::TrialSpec& spec, unsigned rank) { return together(spec, rank, "cores"); }
std::vector<int> rankMemoryNodes(const plan::TrialSpec& spec, unsigned rank) {
  return together(spec, rank, "memory_nodes");
}

std::string executableDigest() {
  auto file = llvm::MemoryBuffer::getFile("/proc/self/exe", /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) return "unknown";
  llvm::BLAKE3 hasher;
  hasher.update((*file)->getBuffer());
  return llvm::toHex(hasher.final<8>(), /*LowerCase=*/true);
}

}  // namespace expc::serve
