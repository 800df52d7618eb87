// The process of a rank, from the fork to its exit. The order of steps in runChild() matters: first
// what ties the process to its server, then its files (so that every later message lands in the
// trial's log), then priorities, memory and cores, and only then the trial. A process may run
// several trials in turn, so it checks after each that it is as it was.

#include "runtime/worker/serve/child.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/serve/event_writer.h"
#include "runtime/worker/serve/memory_group.h"

namespace expc::serve {
namespace {

constexpr double kMoment = 0.02;  // seconds that a process may wait for its next trial without being looked at again

/// The numbers in an array of a slot; empty if there is none.
std::vector<int> numbersOf(const json::Value& slot, StringRef name) {
  std::vector<int> result;
  const json::Object* object = slot.getAsObject();
  const json::Array* numbers = object ? object->getArray(name) : nullptr;
  if (!numbers) return result;
  for (const json::Value& entry : *numbers)
    if (auto number = entry.getAsInteger()) result.push_back(int(*number));
  return result;
}

/// Collects a list over all slots that the rank drives: its own, or all of them if it is the only
/// rank. If one slot is not bound, the whole process stays unbound.
std::vector<int> together(const protocol::TrialSpec& spec, unsigned rank, StringRef name) {
  std::set<int> result;
  for (size_t slot = 0; slot < spec.slots.size(); ++slot) {
    if (slot != rank && spec.world_size > 1) continue;
    const std::vector<int> own = numbersOf(spec.slots[slot], name);
    if (own.empty()) return {};
    result.insert(own.begin(), own.end());
  }
  return {result.begin(), result.end()};
}

// Memory policies are set by the kernel's own calls: libnuma would be one more library for two of
// them.
constexpr unsigned long kNodes = 1024, kBits = 8 * sizeof(unsigned long);
using NodeMask = std::array<unsigned long, kNodes / kBits>;

/// Limits the process's own data. This is the fallback if no control group could be made; a child
/// gets the limit anew, so several processes together may exceed it.
void limitMemory(uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  if (bytes > 0 && setrlimit(RLIMIT_DATA, &limit) != 0)
    std::fprintf(stderr, "the memory of the rank is not limited: %s\n", std::strerror(errno));
}

/// Makes this process the first one that the kernel ends if the machine runs out of memory.
void goFirst() {
  if (FILE* file = std::fopen("/proc/self/oom_score_adj", "w")) {
    std::fputs("1000", file);
    std::fclose(file);
  }
}

/// Opened once, before a trial can use up descriptors.
int nullDevice() {
  static const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  return fd;
}

/// Sends standard output and error to a log; to /dev/null if there is none.
void redirect(int log_fd) {
  const int out_fd = log_fd >= 0 ? log_fd : nullDevice();
  dup2(out_fd, STDOUT_FILENO);
  dup2(out_fd, STDERR_FILENO);
}

/// Tells the engine over `channel` that the rank ended well. All output is in the log before that,
/// since the engine then reads it.
bool tellEnd(int channel, uint64_t launch, protocol::Packet& packet) {
  std::fflush(nullptr);
  redirect(-1);
  packet.log_fd.close();
  return protocol::sendPacket(channel, canonicalJson(base::written(endOf(launch, getpid(), 0, base::bootSeconds()))));
}

/// The next launch from the channel; nothing if nobody will send one. A request that cannot be read
/// ends the process with a line in its log.
std::optional<protocol::LaunchRequest> nextLaunch(int channel, protocol::Packet& packet) {
  packet = {};
  auto next = protocol::receivePacket(channel);
  if (!next) return std::nullopt;
  packet = std::move(*next);
  auto value = parseJson(packet.text);
  auto request = value ? base::readRecord<protocol::LaunchRequest>(*value, "the launch request")
                       : Expected<protocol::LaunchRequest>(value.takeError());
  if (request && packet.event_fd >= 0 && packet.log_fd >= 0) return std::move(*request);
  redirect(packet.log_fd);
  std::fprintf(stderr, "the launch cannot be carried out: %s\n",
               request ? "it came without its two descriptors" : toString(request.takeError()).c_str());
  _exit(127);
}

/// Runs one trial in this process. @param changed what somebody has changed in this process for
/// good, "" if nothing: then the trial fails, since it would not be comparable with those before
/// @param clean becomes false if the trial left something behind
int runRank(const protocol::LaunchRequest& request, const protocol::Packet& packet, const std::string& changed,
            bool& clean, const Child& child) {
  redirect(packet.log_fd);
  if (!changed.empty()) {
    EventWriter(packet.event_fd)
        .failed("the process that starts trials is not as it was when the run began, and cannot be put back (" +
                changed + "): a program changed it; start the run again");
    return 1;
  }
  // A command gets exactly the request's environment. A built-in workload also keeps the server's,
  // which its libraries have read already.
  if (request.spec.command) clearenv();
  for (const std::string& entry : request.environment) {
    auto equals = entry.find('=');
    if (equals != std::string::npos) setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
  if (makeScratch()) setenv("TMPDIR", scratchFolder(getpid()).c_str(), 1);
  const int code = runGuarded(request, packet.event_fd, child);
  clean = clearScratch();
  return code;
}

}  // namespace

protocol::LaunchReply endOf(uint64_t launch, pid_t pid, int status, double at) {
  return {.type = protocol::LaunchReply::Type::Exited, .id = launch, .pid = pid, .status = status, .at = at};
}

std::string bindCores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores)
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  return cores.empty() || sched_setaffinity(0, sizeof set, &set) == 0 ? "" : std::strerror(errno);
}

std::string bindMemory(const std::vector<int>& nodes) {
  NodeMask mask{};
  bool any = false;
  // Nodes beyond the mask cannot be named; the kernel knows no more.
  for (const int node : nodes) {
    if (node < 0 || static_cast<unsigned long>(node) >= kNodes) continue;
    mask[static_cast<unsigned long>(node) / kBits] |= 1ul << (static_cast<unsigned long>(node) % kBits);
    any = true;
  }
  if (!any || syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), kNodes) == 0) return {};
  return std::strerror(errno);
}

void describePlace(json::Object& environment) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    json::Array cores;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
    environment["cores"] = std::move(cores);
  }
  NodeMask mask{};
  int policy = MPOL_DEFAULT;
  if (syscall(SYS_get_mempolicy, &policy, mask.data(), kNodes, nullptr, 0) != 0 || policy != MPOL_BIND) return;
  json::Array nodes;
  for (unsigned long node = 0; node < kNodes; ++node) {
    if (mask[node / kBits] >> (node % kBits) & 1) nodes.push_back(int64_t(node));
  }
  environment["memory_nodes"] = std::move(nodes);
}

void takePlace(const protocol::TrialSpec& spec, unsigned rank) {
  // The machine may allow fewer cores than the engine saw. That is worth a line in the log, not a
  // failed trial.
  if (const std::string why = bindCores(rankCores(spec, rank)); !why.empty())
    std::fprintf(stderr, "rank %u is not bound to its cores: %s\n", rank, why.c_str());
  if (const std::string why = bindMemory(rankMemoryNodes(spec, rank)); !why.empty())
    std::fprintf(stderr, "rank %u takes memory wherever the system puts it: %s\n", rank, why.c_str());
}

int runGuarded(const protocol::LaunchRequest& request, int event_fd, const Child& child) {
  try {
    return child(request, event_fd);
  } catch (const std::exception& error) {
    EventWriter(event_fd).failed(error.what());
  } catch (...) {
    EventWriter(event_fd).failed("an exception of unknown type ended the rank");
  }
  return 1;
}

void runChild(const protocol::LaunchRequest& request, protocol::Packet packet, pid_t server, const RankMemory& memory,
              const Standing& standing, const Child& child) {
  // If the server dies, so does this process.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Orphans of the rank's processes come to the rank and not to the server while it lives; the
  // server would take them for leftovers of an ended rank and kill them.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (getppid() != server) _exit(125);  // the server died before the prctl() above
  setpgid(0, 0);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const Descriptor channel = std::move(packet.next_fd);
  dup2(nullDevice(), STDIN_FILENO);
  // The next lines may print; their output belongs to the first trial's log.
  redirect(packet.log_fd);
  const std::string changed = standing.restore();
  memory.enter();
  // Without a group of its own, at least the process itself is limited. Not so a rehearsal: most of its address space
  // is never touched.
  if (request.spec.rehearsal) goFirst();
  if (!memory.made() && !request.spec.rehearsal) limitMemory(request.spec.memory_limit);
  takePlace(request.spec, request.rank);
  // Binding changes cores on purpose, so what later trials must equal is taken after it.
  const Standing own = Standing::ofThisProcess();
  bool clean = true;
  int code = runRank(request, packet, changed, clean, child);
  uint64_t launch = request.id;
  // Go on only while this process is as good as a new one. It ends after a kill for memory, because
  // the server reports that with its evidence once the process is gone; and if the trial changed
  // the process for good or left files that cannot be removed.
  while (code == 0 && clean && channel >= 0 && !memory.sawKill() && own.restore().empty()) {
    const double restored = base::bootSeconds();
    if (!tellEnd(channel, launch, packet)) break;
    const auto next = nextLaunch(channel, packet);
    if (!next) break;
    launch = next->id;
    // While the process waits, only strangers can change it. After a longer wait it is compared again; a change within
    // a moment is treated like one during a trial, which is undone after that trial.
    const bool waited = base::bootSeconds() - restored > kMoment;
    code = runRank(*next, packet, waited ? own.restore() : "", clean, child);
  }
  std::fflush(nullptr);
  _exit(code);  // exit handlers of libraries that the server loaded are not for a fork
}

std::vector<int> slotCores(const json::Value& slot) { return numbersOf(slot, "cores"); }
std::vector<int> rankCores(const protocol::TrialSpec& spec, unsigned rank) { return together(spec, rank, "cores"); }

unsigned localRanks() {
  unsigned count = 1;
  const char* text = std::getenv("LOCAL_WORLD_SIZE");
  return text && llvm::to_integer(StringRef(text), count, 10) && count > 0 ? count : 1;
}
std::vector<int> rankMemoryNodes(const protocol::TrialSpec& spec, unsigned rank) {
  return together(spec, rank, "memory_nodes");
}

std::string executableDigest() {
  auto file = llvm::MemoryBuffer::getFile("/proc/self/exe", /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) return "unknown";
  llvm::BLAKE3 hasher;
  hasher.update((*file)->getBuffer());
  // Eight bytes of the hash are enough to tell builds apart.
  return llvm::toHex(hasher.final<8>(), /*LowerCase=*/true);
}

}  // namespace expc::serve
