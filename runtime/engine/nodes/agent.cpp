// The agent: serves one engine, with a LocalLauncher for its trials, and the line protocol of both ends.
//
// The agent has one loop: it waits for reports of its launcher or for messages, whichever comes first. Long work
// (copying, heating) happens inside a message, so it asks wanted() again and again whether the engine is still there.

#include "runtime/engine/nodes/agent.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <llvm/Support/Process.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <memory>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/launch/heat_up.h"
#include "runtime/machine/leases.h"
#include "runtime/machine/probe.h"
#include "runtime/machine/slots.h"

namespace expc::engine::nodes {
namespace {

using json::Object;
using json::Value;
using launch::RankReport;

/// The mark in front of each message; everything without it is noise of other programs.
constexpr llvm::StringLiteral kMark = "@expc ";

/// Reads in one call of receive(): enough for what is waiting, yet soon over if the other end writes without pause.
constexpr int kMostReads = 64;

// Set by the handler of SIGTERM.
volatile std::sig_atomic_t told_to_end = 0;

std::string variable(StringRef name) { return llvm::sys::Process::GetEnv(name).value_or(""); }

/// The numeric form of an IP address; "" for another kind of address.
std::string numberOf(const sockaddr* address) {
  char text[NI_MAXHOST] = "";
  const int family = address ? address->sa_family : AF_UNSPEC;
  if (family != AF_INET && family != AF_INET6) return "";
  const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 ? text : "";
}

/// This machine's own address towards another machine; "" if there is no route.
std::string addressTowards(const std::string& other) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_DGRAM;
  if (getaddrinfo(other.c_str(), "9", &hints, &found) != 0) return "";
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  // Connecting a datagram socket makes the kernel choose a route and a source address without sending anything.
  const Descriptor fd(socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const bool known = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  freeaddrinfo(found);
  return known ? numberOf(reinterpret_cast<const sockaddr*>(&own)) : "";
}

/// Describes this node. Its address is the one over which Slurm or sshd reached it, since a host's name may resolve to
/// another network; without one it is the host's name.
Introduction introduction(const Machine& machine) {
  const std::string slurm = variable("SLURM_LAUNCH_NODE_IPADDR"), node = variable("SLURMD_NODENAME");
  // SSH_CONNECTION: client address, client port, server address, server port (ssh(1)).
  const std::string ssh = StringRef(variable("SSH_CONNECTION")).rsplit(' ').first.rsplit(' ').second.str();
  const std::string own = slurm.empty() ? ssh : addressTowards(slurm);
  Introduction introduction{node.empty() ? machine.host : node, machine.host, "", machine};
  ifaddrs* all = nullptr;
  if (!own.empty() && getifaddrs(&all) == 0) {
    for (const ifaddrs* one = all; one; one = one->ifa_next) {
      if (numberOf(one->ifa_addr) != own) continue;
      introduction.address = own;
      introduction.interface = one->ifa_flags & IFF_LOOPBACK ? "" : one->ifa_name;
    }
    freeifaddrs(all);
  }
  return introduction;
}

/// One agent. Any error ends it: the engine is told and takes the node for lost.
class Agent {
 public:
  Agent(Lines& lines, const Machine& machine) : lines_(lines), machine_(machine) {}

  void serve() {
    lines_.send(Object{{"here", base::written(introduction(machine_))}});
    Error end = Error::success();
    while (!end) end = turn();
    lines_.send(Object{{"error", toString(std::move(end))}});
  }

 private:
  /// One round: sends reports, then handles messages.
  Error turn() {
    TRY(report());
    for (const Object& message : lines_.receive()) TRY(take(message));
    return wanted();
  }

  /// Waits for reports of the launcher, or for a message, and sends the reports. Without a launcher it waits for a
  /// message.
  Error report() {
    if (!launcher_) {
      pollfd wait{lines_.fd(), POLLIN, 0};
      poll(&wait, 1, -1);
      return wanted();
    }
    auto reports = launcher_->events(clock_.boot() + launch::kLongestWait, lines_.fd());
    // Whoever ends this agent ends its ranks, too, so how these end says nothing about the trial and is not sent.
    if (auto error = wanted()) {
      consumeError(reports.takeError());
      return error;
    }
    if (!reports) return reports.takeError();
    if (reports->empty()) return Error::success();
    json::Array all;
    for (RankReport& one : *reports) {
      const auto known = engines_number_.find(one.trial);
      if (known == engines_number_.end()) continue;
      // The launcher here has numbers of its own; the engine knows the trial by the number that it sent.
      keepStuck(one);
      one.trial = known->second;
      all.push_back(base::written(one));
    }
    lines_.send(Object{{"reports", std::move(all)}, {"now", clock_.boot()}});
    return Error::success();
  }

  /// Handles one message of the engine. An unknown one is an error, since both ends are of one build.
  Error take(const Object& message) {
    if (const Value* asked = message.get("describe")) return describe(*asked);
    if (const Value* data = message.get("copy")) return copy(*data);
    if (const Value* task = message.get("begin")) return begin(*task);
    if (const Object* heat = message.getObject("heat")) return heatCores(*heat);
    if (const Value* trial = message.get("start")) return start(*trial, message.getInteger("trial").value_or(0));
    const auto killed = message.getInteger("kill"), stopped = message.getInteger("stop");
    for (const auto& [own, engines] : engines_number_) {
      if (launcher_ && killed && engines == uint64_t(*killed)) launcher_->kill(own);
      if (launcher_ && stopped && engines == uint64_t(*stopped)) launcher_->stop(own);
    }
    if (killed || stopped) return Error::success();
    return failure("the engine sent an unknown request: agent and engine must be of one build");
  }

  /// Describes the workers at the given paths.
  Error describe(const Value& asked) {
    Object all;
    const json::Array* paths = asked.getAsArray();
    for (size_t i = 0; paths && i < paths->size(); ++i) {
      const std::string program = (*paths)[i].getAsString().value_or("").str();
      auto description = TRY(launch::describeWorker(program));
      all[program] = Object{{"build", description.build}, {"libraries", description.libraries}};
    }
    lines_.send(Object{{"described", std::move(all)}});
    return Error::success();
  }

  /// Error if nobody waits for this agent's work any more: SIGTERM came, or the engine is gone.
  Error wanted() const {
    if (told_to_end) return failure("its agent was told to stop");
    if (!lines_.hasPeer()) return failure("its standard input has ended");
    return Error::success();
  }

  /// Copies data to this node's scratch disk.
  Error copy(const Value& value) {
    auto task = TRY(base::readRecord<CopyTask>(value, "what is to be copied"));
    for (const inputs::ScratchCopy& one : task.copies) TRY(inputs::makeCopy(one, [this] { return wanted(); }));
    lines_.send(Object{{"copied", true}});
    return Error::success();
  }

  /// Leases the devices and makes the launcher.
  Error begin(const Value& value) {
    auto task = TRY(base::readRecord<AgentTask>(value, "what the engine asks"));
    slots_ = TRY(machine::slots(machine_, task.devices));
    const auto say = [this](std::string text) { lines_.send(Object{{"say", std::move(text)}}); };
    std::vector<std::string> notes;
    auto leases = machine::DeviceLeases::take(slots_, task.locks, task.owner, notes);
    for (std::string& note : notes) say(std::move(note));
    if (!leases) return leases.takeError();
    leases_ = std::move(*leases);
    // The engine's path of NVML need not exist here.
    if (!task.workers.nvml.empty()) task.workers.nvml = machine_.nvml_library;
    launcher_ = TRY(launch::launcherHere(std::move(task.workers), say, clock_, task.lanes));
    lines_.send(Object{{"begun", true}});
    return Error::success();
  }

  /// Heats the cores of all slots; the engine waits for the answer.
  Error heatCores(const Object& asked) {
    launch::heatUp(slots_, asked.getNumber("seconds").value_or(0), [this] { return llvm::errorToBool(wanted()); });
    TRY(wanted());
    lines_.send(Object{{"heated", true}});
    return Error::success();
  }

  /// Starts this node's ranks of the trial that the engine calls `number`.
  Error start(const Value& value, int64_t number) {
    auto request = TRY(base::readRecord<TrialRequest>(value, "a trial for this node"));
    if (!launcher_) return failure("the engine starts a trial before it describes the workers");
    auto own = TRY(launcher_->start(request));
    engines_number_[own] = uint64_t(number);
    return Error::success();
  }

  /// Notes stuck processes in the leases of all slots, so that later runs do not measure beside them. The report does
  /// not say which slots the process had.
  void keepStuck(const RankReport& report) const {
    for (const int pid : report.stuck)
      for (const machine::Slot& slot : slots_) leases_.block(slot, pid);
  }

  Lines& lines_;
  const Machine& machine_;
  const launch::Clock& clock_ = launch::Clock::real();
  std::vector<machine::Slot> slots_;
  machine::DeviceLeases leases_;
  std::unique_ptr<Launcher> launcher_;
  std::map<uint64_t, uint64_t> engines_number_;  // the launcher's number of a trial -> the engine's
};

/// A handler instead of SIG_IGN, because started programs would inherit an ignored signal.
void nothing(int) {}
void noteEnd(int) { told_to_end = 1; }

/// Leaves to the engine the signals that a terminal or the end of a job sends to all processes; it ends the agents once
/// it knows their trials. SIGTERM ends this agent with all that it runs. Started programs get all signals as usual.
void leaveSignalsToTheEngine() {
  struct sigaction action{};
  action.sa_handler = nothing;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGHUP, SIGUSR1}) sigaction(signal, &action, nullptr);
  action.sa_handler = noteEnd;
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

bool Lines::hasPeer() const {
  // POLLRDHUP and POLLHUP show the end of the stream without reading what is still in it.
  pollfd ended{in_, POLLRDHUP, 0};
  return isOpen() && out_ >= 0 && poll(&ended, 1, 0) >= 0 && (ended.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0;
}

bool Lines::send(const Object& message) {
  if (files::writeAll(out_, kMark.str() + canonicalJson(Object(message)) + "\n") != 0) finish();
  return out_ >= 0;
}

void Lines::take(StringRef line, std::string& others, std::vector<Object>& messages) {
  // Text before the mark belongs to another program that wrote without a newline.
  const auto [before, text] = line.split(kMark);
  if (!before.empty()) others += before.str() + "\n";
  if (!line.contains(kMark)) {
    noise_ += line.size() + 1;
    return;
  }
  auto value = parseJson(text);
  if (Object* message = value ? value->getAsObject() : nullptr)
    messages.push_back(std::move(*message));
  else
    messages.push_back(Object{{"error", value ? "a message is not an object" : toString(value.takeError())}});
}

std::vector<Object> Lines::receive(size_t longest) {
  std::vector<Object> messages;
  std::string others;  // noise of other programs
  char piece[65536];
  pollfd more{in_, POLLIN, 0};
  // The number of reads is bounded, so a node that writes without pause does not keep the others waiting.
  for (int reads = 0; isOpen() && reads < kMostReads && poll(&more, 1, 0) == 1; ++reads) {
    const ssize_t size = read(in_, piece, sizeof piece);
    if (size < 0 && errno == EINTR) continue;
    if (size > 0) rest_.append(piece, size);
    size_t begin = 0;
    for (size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1)
      take(StringRef(rest_).slice(begin, end), others, messages);
    rest_.erase(0, begin);
    // Reached at the end of the stream, at an error, or with a line that is too long: the conversation is over.
    if (size > 0 && rest_.size() <= longest) continue;
    if (!rest_.empty()) others += rest_ + "\n";
    in_.close();
  }
  const Descriptor file(others.empty() || log_.empty() ? -1 : files::openLog(log_, files::Log::GoesOn));
  if (file >= 0) (void)files::writeAll(file, others);
  // Noise is bounded over the whole conversation, so a program that prints without end does not go unnoticed.
  if (noise_ <= longest || !isOpen()) return messages;
  messages.push_back(Object{{"error", fmt::format("it wrote more than {} MiB that no agent writes", longest >> 20)}});
  in_.close();
  return messages;
}

void describe(JsonRecord& io, Introduction& node) { io.required(EXPC_NAMED(node, name, address, interface, machine)); }

void describe(JsonRecord& io, CopyTask& task) {
  io.list("copies", task.copies,
          [](JsonRecord& one, inputs::ScratchCopy& copy) { one.required(EXPC_NAMED(copy, from, to, digest)); });
}

void describe(JsonRecord& io, AgentTask& task) {
  io.required(EXPC_NAMED(task.workers, built_in, command, environment, log, nvml));
  io.field("lanes", task.lanes, 1, launch::kMostRanks);
  io.required(EXPC_NAMED(task, devices, locks, owner));
}

void runAgent() {
  // Children must neither inherit the pipes to the engine nor write to them: move both away, read /dev/null instead,
  // and let stdout go where stderr goes.
  const auto moved = [](int fd) { return Descriptor(fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)); };
  Lines lines(moved(STDIN_FILENO), moved(STDOUT_FILENO));
  dup2(Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)), STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  // Probed while there is only one thread, as machine::readGpus() wants.
  const Machine machine = machine::probe();
  Agent agent(lines, machine);
  leaveSignalsToTheEngine();
  agent.serve();
}

}  // namespace expc::engine::nodes
