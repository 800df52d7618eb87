#include "runtime/worker/serve/child.h"

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <set>

#include "runtime/plan/json.h"
#include "runtime/worker/serve/memory_group.h"
#include "runtime/worker/serve/memory_policy.h"
#include "runtime/worker/serve/scratch.h"

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

/// A limit that each process has for itself, where a control group could not be made for all of them.
void limitMemory(uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  if (bytes > 0 && setrlimit(RLIMIT_DATA, &limit) != 0)
    std::fprintf(stderr, "the memory of the rank is not limited: %s\n", std::strerror(errno));
}

void redirect(int log_fd) {
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null_fd >= 0) dup2(null_fd, STDIN_FILENO);
  const int out_fd = log_fd >= 0 ? log_fd : null_fd;
  dup2(out_fd, STDOUT_FILENO);
  dup2(out_fd, STDERR_FILENO);
  if (null_fd >= 0) close(null_fd);
}

/// Lets go of the trial: of its log, and of the pipe whose end the engine waits for.
void leave(channel::Packet& packet) {
  std::fflush(nullptr);
  packet = {};
  redirect(-1);
}

int runRank(const plan::LaunchRequest& request, const channel::Packet& packet, const Child& child) {
  redirect(packet.log_fd);
  // A command gets what the request says and nothing else; a built-in workload has the server's environment besides.
  if (request.spec.command) clearenv();
  for (const std::string& entry : request.environment) {
    auto equals = entry.find('=');
    if (equals != std::string::npos) setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
  if (makeScratch()) setenv("TMPDIR", scratchFolder(getpid()).c_str(), 1);
  const int code = runGuarded(request, packet.event_fd, child);
  clearScratch();
  return code;
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

void runChild(const plan::LaunchRequest& request, channel::Packet packet, int done, pid_t server,
              const RankMemory& memory, const Child& child) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What it starts and loses stays with it while it lives: the server must not take that for what an ended rank left.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (getppid() != server) _exit(125);  // it died before the line above
  setpgid(0, 0);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  redirect(packet.log_fd);  // what the next line says is the first trial's
  memory.enter();
  if (!memory.made()) limitMemory(request.spec.memory_limit);
  takePlace(request.spec, request.rank);
  int code = runRank(request, packet, child);
  while (code == 0 && done >= 0) {
    leave(packet);
    if (!channel::sendPacket(done, std::to_string(code))) break;
    auto next = channel::receivePacket(done);
    if (!next) break;
    packet = std::move(*next);
    auto value = plan::parseJson(packet.text);
    auto again = value ? plan::launchRequestFromJson(*value) : llvm::Expected<plan::LaunchRequest>(value.takeError());
    if (!again) std::abort();  // the server has read it
    code = runRank(*again, packet, child);
  }
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
